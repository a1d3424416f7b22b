/* SPDX-License-Identifier: MIT */
#ifndef HF_ENV_LINUX_USER_H
#define HF_ENV_LINUX_USER_H
/*
 * env, Linux user space - threads are preempted, come and go, and take signals.
 *
 * Slots        A thread that first needs a queue node claims one of HF_SLOTS slots, and gives it
 *              back when it ends (a pthread key's destructor; fork's child frees the others'). A
 *              slot has HF_NODES nodes. A node's index is 1 + slot * HF_NODES + n: 15 bits, never
 *              0.
 *
 * Invariants   N1  a node is in use by at most one lock operation at a time.
 *              N2  a signal handler leaves this thread's set of used nodes as it found it, because
 *                  it gives back every node that it takes: so plain reads and writes of the set,
 *                  each one instruction, are safe against it.
 *              N3  running out (of slots, or of nodes in a slot) is not an error: the index is 0,
 *                  and every lock has a way on without a node.
 *              P1  parking loses no wake-up: the kernel looks at the word and puts the thread to
 *                  sleep in one step, as seen by the waker. So if the word is changed first and its
 *                  waiters are woken second, a waiter either sees the change or is woken.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../compiler.h"

/* Threads that can have nodes at one time. At most 4095, so that an index has 15 bits. */
#ifndef HF_SLOTS
#define HF_SLOTS 4095
#endif
#define HF_NODES 8

HF_BEGIN_DECLS

/* What a thread knows of itself. Zero until it first waits for a lock. */
struct hf__thread {
	uint32_t base; /* index of the slot's first node; 0 = no slot yet */
	uint32_t used; /* one bit a node */
};
/* Volatile, and named itself and not by a pointer: gcc's check for null takes its address for null. */
extern __thread volatile struct hf__thread hf__thread HF_API
	__attribute__((tls_model("initial-exec")));

/* Claims a slot for this thread. False if there is none. Async-signal-safe. */
bool hf__slot_claim(void) HF_API;

/*
 * Hand over the sites (nofault/site.h) from `start` to `end`, of one executable or shared object,
 * and take them back. Every translation unit does so; the same range counts once.
 */
void hf__sites_register(const void *start, const void *end) HF_API_EACH;
void hf__sites_unregister(const void *start, const void *end) HF_API_EACH;

HF_END_DECLS

/*
 * HF_ENV_REGISTER_SITES - for nofault.h: what does that when the object is loaded, and unloaded.
 * The linker defines the two symbols where there are sites; where there are none they are NULL.
 */
#define HF_ENV_REGISTER_SITES                                                                      \
	extern const char hf__sites_start[] __asm__("__start_hf_nofault_sites")                    \
		__attribute__((weak, visibility("hidden")));                                       \
	extern const char hf__sites_end[] __asm__("__stop_hf_nofault_sites")                       \
		__attribute__((weak, visibility("hidden")));                                       \
	__attribute__((constructor(102))) static void hf__sites_loaded(void)                       \
	{                                                                                          \
		hf__sites_register(hf__sites_start, hf__sites_end);                                \
	}                                                                                          \
	__attribute__((destructor(102))) static void hf__sites_unloaded(void)                      \
	{                                                                                          \
		hf__sites_unregister(hf__sites_start, hf__sites_end);                              \
	}

/**
 * hf_env_node_get - take a queue node for this thread
 *
 * Context:  any thread, any signal handler
 * Ordering: none
 * Return:   its index, 1 to 32767; 0 = none is free
 */
HF_INLINE uint32_t hf_env_node_get(void)
{
	uint32_t used;
	unsigned int n = 0;

	if (HF_UNLIKELY(!hf__thread.base) && !hf__slot_claim())
		return 0;
	/* Nearly always the first is free; not every processor has an instruction that finds it. */
	for (used = hf__thread.used; HF_UNLIKELY(used & 1u << n);) {
		if (++n == HF_NODES)
			return 0;
	}
	hf__thread.used = used | 1u << n; /* N2 */
	return hf__thread.base + n;
}

/**
 * hf_env_node_put - give back what hf_env_node_get() returned, by the same thread
 *
 * Ordering: none
 */
HF_INLINE void hf_env_node_put(uint32_t index)
{
	hf__thread.used = hf__thread.used & ~(1u << (index - hf__thread.base)); /* N2 */
}

/* hf_env_preempt_disable, hf_env_preempt_enable - hold off preemption. A thread here cannot. */
HF_INLINE void hf_env_preempt_disable(void)
{
}

HF_INLINE void hf_env_preempt_enable(void)
{
}

/* No interrupts here: the interrupt-saving forms of the locks do not exist. */
#define HF_ENV_HAS_IRQ 0

/* ---- Spinning ----------------------------------------------------------------------------- */

HF_BEGIN_DECLS

/* Spin hints in 65,536 ns. Measured before main(); before that, what arch/<cpu>/constants.h says. */
extern uint32_t hf__spin_rate HF_API_EACH;

HF_END_DECLS

/**
 * hf_env_spin_hints - how many spin hints take about so long?
 * @ns: nanoseconds
 *
 * Ordering: none
 * Return:   at least 1
 */
HF_INLINE uint32_t hf_env_spin_hints(uint32_t ns)
{
	return (uint32_t)((uint64_t)ns * hf__spin_rate >> 16) + 1;
}

/* ---- Parking: by futex -------------------------------------------------------------------- */

#define HF_ENV_HAS_PARK 1

/* A deadline that never comes. */
#define HF_ENV_FOREVER UINT64_MAX

/* Who may wait at a word: threads of this process, or of all that have its memory mapped. */
enum hf_env_scope { HF_ENV_PRIVATE, HF_ENV_SHARED };

enum hf_env_parked {
	HF_ENV_WOKEN,   /* by hf_env_unpark(), or for no reason: look at the word again */
	HF_ENV_CHANGED, /* the word was not as expected: did not park */
	HF_ENV_TIMEOUT  /* the deadline has come; no wake-up was used up */
};

struct hf_atomic32;

HF_BEGIN_DECLS

/**
 * hf_env_park - park while a word is as it was
 * @word:     4 bytes, shared by waiters and wakers
 * @expected: park only if it is that
 * @deadline: in nanoseconds, of hf_env_deadline(); HF_ENV_FOREVER = none
 * @scope:    the same as that of hf_env_unpark()
 *
 * Context:  any thread; a signal handler may run meanwhile, and does not end it. errno is kept
 * Ordering: none for the caller's data; but see P1
 * Errors:   where the kernel refuses, as in a process that may not use futexes, HF_ENV_WOKEN: the
 *           caller's loop becomes one that retries
 * Return:   why it is awake
 */
enum hf_env_parked hf_env_park(const struct hf_atomic32 *word, uint32_t expected, uint64_t deadline,
			       enum hf_env_scope scope) HF_API;

/**
 * hf_env_unpark - wake threads that are parked at a word, in the order of parking
 * @word:  may be gone already: then no thread, or one that is parked elsewhere, is woken for
 *         nothing
 * @n:     at most so many
 * @scope: the same as that of hf_env_park()
 *
 * Context:  any thread, any signal handler. errno is kept
 * Ordering: none for the caller's data; change the word first (P1)
 * Return:   how many were woken
 */
uint32_t hf_env_unpark(const struct hf_atomic32 *word, uint32_t n, enum hf_env_scope scope) HF_API;

/**
 * hf_env_requeue - wake one thread that is parked at a word, and have the others wait at another
 * @word:     where they are parked
 * @expected: if the word is not that, all are woken
 * @to:       where they will be woken
 * @scope:    the same as that of hf_env_park()
 *
 * Context:  any thread. errno is kept
 * Ordering: none; change the word first (P1)
 */
void hf_env_requeue(const struct hf_atomic32 *word, uint32_t expected, const struct hf_atomic32 *to,
		    enum hf_env_scope scope) HF_API;

/**
 * hf_env_deadline - the moment that comes so many nanoseconds from now
 *
 * Ordering: none
 * Return:   nanoseconds of a clock that is never set; HF_ENV_FOREVER if that is beyond its end
 */
uint64_t hf_env_deadline(uint64_t nanoseconds) HF_API;

/**
 * hf_env_barrier_all - a full memory barrier in every thread of this process
 *
 * At some moment between the call and its return each of the others has had one: what it did
 * before that moment the caller sees afterwards; what it does after it sees what the caller did
 * before. Or not, and false: where the kernel can't or may not, and where this process has used up
 * its share (the calls take at most an eighth of the time).
 *
 * Context:  any thread. errno is kept
 * Ordering: sequentially consistent if true; see hf_atomic_fence_light()
 * Return:   true = done
 */
bool hf_env_barrier_all(void) HF_API;

/**
 * hf_env_signals_block - keep all signals from this thread
 *
 * Context:  any thread. errno is kept
 * Return:   those that were blocked before, for hf_env_signals_restore()
 */
uint64_t hf_env_signals_block(void) HF_API;
void hf_env_signals_restore(uint64_t before) HF_API;

/* hf_env_yield - let another runnable thread have this processor. Ordering: none. */
void hf_env_yield(void) HF_API;

HF_END_DECLS

#endif
