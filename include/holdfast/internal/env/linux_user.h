/* SPDX-License-Identifier: MIT */
#ifndef HF_ENV_LINUX_USER_H
#define HF_ENV_LINUX_USER_H
#pragma GCC system_header
/*
 * env, Linux user space - threads are preempted, come and go, and take signals.
 *
 * There are no queue nodes: a queue of waiters stops when its head is preempted (spinlock.h).
 * Parking loses no wake-up, since the kernel checks the word and puts the thread to sleep in one
 * step: a waiter either sees a change of the word or is woken after it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../compiler.h"
#include "../../version.h"

/*
 * On a library function or variable that inlined code uses: its symbol has the layout number, so
 * headers and library of different layouts don't link (version.h).
 */
#define HF_DETAIL_LINKED(name) __asm__(#name "_layout" HF_DETAIL_STRING(HF_DETAIL_LAYOUT))

HF_BEGIN_DECLS

/* The sites (nofault/site.h) of an object. Every translation unit does so; a range counts once. */
void hf_detail_sites_register(const void *start, const void *end)
	HF_DETAIL_LINKED(hf_detail_sites_register) HF_API_EACH;
void hf_detail_sites_unregister(const void *start, const void *end)
	HF_DETAIL_LINKED(hf_detail_sites_unregister) HF_API_EACH;

HF_END_DECLS

/*
 * For nofault.h. The linker defines the two symbols if the section exists; else it would search
 * shared libraries for them, and warn. So the constructor creates the section.
 */
#define HF_ENV_REGISTER_SITES                                                                      \
	extern const char hf_detail_sites_start[] __asm__("__start_hf_nofault_sites")              \
		__attribute__((weak, visibility("hidden")));                                       \
	extern const char hf_detail_sites_end[] __asm__("__stop_hf_nofault_sites")                 \
		__attribute__((weak, visibility("hidden")));                                       \
	__attribute__((constructor(102))) static void hf_detail_sites_loaded(void)                 \
	{                                                                                          \
		__asm__ volatile(HF_DETAIL_SITE_NONE);                                             \
		hf_detail_sites_register(hf_detail_sites_start, hf_detail_sites_end);              \
	}                                                                                          \
	__attribute__((destructor(102))) static void hf_detail_sites_unloaded(void)                \
	{                                                                                          \
		hf_detail_sites_unregister(hf_detail_sites_start, hf_detail_sites_end);            \
	}

/* Empty: user space can't disable preemption. */
HF_INLINE void hf_env_preempt_disable(void)
{
}

HF_INLINE void hf_env_preempt_enable(void)
{
}

#define HF_ENV_HAS_REGION 1
#define HF_ENV_HAS_PLACES 1 /* a report names the object of a call site */
#define HF_ENV_HAS_IRQ 0
#define HF_ENV_HAS_VARIABLES 1
#define HF_ENV_HAS_FORK 1
#define HF_ENV_HAS_PROFILE 1

/* ---- Spinning ----------------------------------------------------------------------------- */

HF_BEGIN_DECLS

/* Spin hints per 65,536 ns. Measured before main(); until then, from arch/<cpu>/constants.h. */
extern uint32_t hf_detail_spin_rate HF_API_EACH;

/* Processors that the process may run on. Counted once, before main(); 1 before that. */
extern uint32_t hf_detail_processors HF_API_EACH;

HF_END_DECLS

/* As in bare.h, here and below. */
HF_INLINE uint32_t hf_env_spin_hints(uint32_t ns)
{
	return (uint32_t)((uint64_t)ns * hf_detail_spin_rate >> 16) + 1;
}

HF_INLINE uint32_t hf_env_processors(void)
{
	return hf_detail_processors;
}

/* ---- Parking: by futex -------------------------------------------------------------------- */

#define HF_ENV_HAS_PARK 1

/* A deadline that never comes. */
#define HF_ENV_FOREVER UINT64_MAX

/* Which threads may wait at a word: those of this process, or of all that map its memory. */
enum hf_env_scope { HF_ENV_PRIVATE, HF_ENV_SHARED };

/* Why a thread is awake. */
enum hf_env_parked {
	HF_ENV_WOKEN,   /* by hf_env_unpark(), or spuriously: check the word again */
	HF_ENV_CHANGED, /* the word was not as expected: did not park */
	HF_ENV_TIMEOUT  /* the deadline has passed; no wake-up was consumed */
};

struct hf_atomic32;

HF_BEGIN_DECLS

/*
 * All of these: any thread; errno is kept; no ordering unless stated. Those without HF_API are
 * called by the library alone. The scope is the same for all calls with a word.
 */

/*
 * Park, if a word of 4 bytes still has the expected value, until the deadline (hf_env_deadline()).
 * A signal handler may run meanwhile, and does not end it. If the word is changed before
 * hf_env_unpark(), this thread sees the change or is woken. If the kernel refuses, as in a process
 * that may not use futexes, it returns HF_ENV_WOKEN, and the caller's loop spins.
 */
enum hf_env_parked hf_env_park(const struct hf_atomic32 *word, uint32_t expected, uint64_t deadline,
			       enum hf_env_scope scope);

/*
 * Wake at most n threads that are parked at a word, in the order of parking; any signal handler,
 * too. The word was changed before, and may be freed already: at worst another's waiter is woken
 * spuriously. Returns how many were woken.
 */
uint32_t hf_env_unpark(const struct hf_atomic32 *word, uint32_t n, enum hf_env_scope scope);

/*
 * Wake one thread that is parked at a word, which was changed before, and move the others to the
 * word @to. If the word does not have the expected value, all are woken.
 */
void hf_env_requeue(const struct hf_atomic32 *word, uint32_t expected, const struct hf_atomic32 *to,
		    enum hf_env_scope scope);

/* The time this many nanoseconds from now, of a clock that is never set; or HF_ENV_FOREVER. */
uint64_t hf_env_deadline(uint64_t nanoseconds) HF_API;

/*
 * A full memory barrier in every thread of this process, at some moment during the call: the caller
 * then sees what that thread did before it, and after it that thread sees what the caller did
 * before the call (hf_atomic_fence_light()). False = not done: membarrier() is unavailable, or this
 * process has used up its share (an eighth of wall time).
 */
bool hf_env_barrier_all(void);

/* The same, however much was used: where the barrier can't be done without. */
bool hf_env_barrier_now(void);

/* Block all signals in this thread: returns the mask before; restore that. */
uint64_t hf_env_signals_block(void);
void hf_env_signals_restore(uint64_t before);

/*
 * A number, not 0, that no other living thread of the process has. All copies of the library agree
 * on it, and the thread of a fork's child keeps its parent's. Makes no system call.
 */
uint64_t hf_env_thread(void) HF_API __attribute__((__const__));

/* Yields this processor to another runnable thread. */
void hf_env_yield(void) HF_API;

/* The number of the processor that runs this thread; stale at any time. */
uint32_t hf_env_processor(void);

/*
 * Is this thread of the class SCHED_FIFO, SCHED_RR or SCHED_DEADLINE? Asks the kernel at each 64th
 * call of a thread, so the answer may be of its earlier class.
 */
bool hf_env_is_real_time(void);

HF_END_DECLS

#endif
