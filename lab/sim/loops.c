/* SPDX-License-Identifier: MIT */
/*
 * loops - the shipping headers, compiled for a simulated processor: once for each of SIM_X86_64 and
 * SIM_AARCH64. The headers' functions are static, and hf_sim_arch_<name> is the only symbol
 * defined.
 */
#include <stdint.h>

#include "sim.h"

/* Knobs replace constants, so static assertions about them can't be evaluated. */
#include "holdfast/internal/compiler.h"
#undef HF_STATIC_ASSERT
#define HF_STATIC_ASSERT(cond, text) _Static_assert(1, text)
#define HF_LOCKREF_RETRIES hf_sim_knobs.retries
#define HF_SPINLOCK_QUEUED_PASSES hf_sim_knobs.passes
#define HF_SPINLOCK_QUEUED_PATIENCE_NS hf_sim_knobs.patience_ns
#define HF_DETAIL_LOCKREF_NOTE(retries, fallback) ((void)(retries), hf_sim_fallback(fallback))

/* The lock half spins: with the mutex the table would measure parking. */
#define HF_LOCKREF_LOCK_HEADER "lockref/queued_lock.h"

#include "holdfast/lockref_waitfree.h"
#include "holdfast/rcuref.h"
#include "holdfast/spinlock.h"
#include "holdfast/spinlock_ticket.h"
#include "variants/spinlocks.h"

#include "counts.h"

/* ---- lockref: get, put -------------------------------------------------------------------- */

static void pause_for(double ns)
{
	if (ns > 0)
		hf_sim_work(ns);
}

static void misuse(void)
{
	__builtin_trap();
}

/*
 * The knob `beside`: in open() and close() the threads of a process contend for one more lock, that
 * of the file table, which each call holds for a short time: an MCS lock on arm64 since Linux 4.19.
 */
enum { BESIDE = 512, TABLE_OF_FILES = 768 }; /* bytes from the object */

static void beside(void *object)
{
	void *lock = (char *)object + BESIDE;
	uint64_t *word = (uint64_t *)(void *)((char *)object + TABLE_OF_FILES);

	if (!hf_sim_knobs.beside)
		return;
	hf_spinlock_mcs_lock((hf_spinlock_mcs_t *)lock);
	hf_sim_store(word, 8, hf_sim_load(word, 8) + 1, 0);
	hf_spinlock_mcs_unlock((hf_spinlock_mcs_t *)lock);
}

#define LOCKREF_LOOP(name, kind, type)                                                             \
	static void lockref_##name##_body(void *object, double between, double work)               \
	{                                                                                          \
		type *ref = (type *)object;                                                        \
                                                                                                   \
		while (!hf_sim_done()) {                                                           \
			kind##_get(ref);                                                           \
			beside(object);                                                            \
			pause_for(between);                                                        \
			if (!hf_sim_knobs.single && !kind##_put_or_lock(ref))                      \
				misuse();                                                          \
			beside(object);                                                            \
			hf_sim_op();                                                               \
			pause_for(work);                                                           \
		}                                                                                  \
	}

static void lockref_init(void *object)
{
	*(uint64_t *)object = (uint64_t)1 << 32;
}

static bool lockref_check(const void *object, uint64_t operations)
{
	return *(const uint64_t *)object == (1 + (hf_sim_knobs.single ? operations : 0)) << 32;
}

#define OUR_LOOP(name, functions) LOCKREF_LOOP(name, functions, hf_lockref_t)
LAB_LOCKREFS(OUR_LOOP)
LOCKREF_LOOP(waitfree, hf_lockref_waitfree, hf_lockref_waitfree_t)

/* ---- refcount, rcuref --------------------------------------------------------------------- */

#define COUNT_LOOP(name, take, drop)                                                               \
	static void name##_body(void *object, double between, double work)                         \
	{                                                                                          \
		while (!hf_sim_done()) {                                                           \
			take;                                                                      \
			pause_for(between);                                                        \
			if (!hf_sim_knobs.single && (drop))                                        \
				misuse();                                                          \
			hf_sim_op();                                                               \
			pause_for(work);                                                           \
		}                                                                                  \
	}

static void count_init(void *object)
{
	*(uint32_t *)object = 1;
}

static bool count_check(const void *object, uint64_t operations)
{
	return *(const uint32_t *)object == 1 + (hf_sim_knobs.single ? operations : 0);
}

/* Without `asm`, which is the same swap or add. */
#define REFCOUNTS(X)                                                                               \
	X(unchecked, hf_refcount_unchecked)                                                        \
	X(cmpxchg, hf_refcount_cmpxchg)                                                            \
	X(saturating, hf_refcount)
#define REFCOUNT_LOOP(name, functions)                                                             \
	COUNT_LOOP(refcount_##name, functions##_inc((hf_refcount_t *)object),                      \
		   functions##_dec_and_test((hf_refcount_t *)object))
REFCOUNTS(REFCOUNT_LOOP)

COUNT_LOOP(inc_not_zero, if (!hf_refcount_inc_not_zero((hf_refcount_t *)object)) misuse(),
	   hf_refcount_dec_and_test((hf_refcount_t *)object))
COUNT_LOOP(rcuref, if (!hf_rcuref_get((hf_rcuref_t *)object)) misuse(),
	   hf_rcuref_put((hf_rcuref_t *)object))

static void zero_init(void *object)
{
	*(uint64_t *)object = 0;
}

static bool zero_check(const void *object, uint64_t operations)
{
	return *(const uint32_t *)object == (hf_sim_knobs.single ? operations : 0);
}

/* ---- locks: lock, increment a word in another line, unlock -------------------------------- */

enum { COUNTER = 256 }; /* bytes from the lock */

static void section(void *object, double between)
{
	uint64_t *counter = (uint64_t *)(void *)((char *)object + COUNTER);

	hf_sim_store(counter, 8, hf_sim_load(counter, 8) + 1, 0);
	pause_for(between);
}

#define LOCK_LOOP(name, kind)                                                                      \
	static void name##_body(void *object, double between, double work)                         \
	{                                                                                          \
		while (!hf_sim_done()) {                                                           \
			int64_t start = hf_sim_time(), locked, last;                               \
                                                                                                   \
			kind##_lock((kind##_t *)object);                                           \
			locked = hf_sim_time();                                                    \
			section(object, between);                                                  \
			last = hf_sim_time();                                                      \
			kind##_unlock((kind##_t *)object);                                         \
			hf_sim_spent(locked - start, hf_sim_time() - last);                        \
			hf_sim_op();                                                               \
			pause_for(work);                                                           \
		}                                                                                  \
	}

#define SPINLOCK_LOOP(name, functions, ...) LOCK_LOOP(spinlock_##name, functions)

LAB_SPINLOCKS(SPINLOCK_LOOP)
LOCK_LOOP(spinlock_ticket, hf_spinlock_ticket)
LOCK_LOOP(spinlock_small, hf_spinlock)

static void lock_init(void *object)
{
	*(uint64_t *)object = 0;
	*(uint64_t *)(void *)((char *)object + COUNTER) = 0;
}

static bool lock_check(const void *object, uint64_t operations)
{
	return *(const uint64_t *)(const void *)((const char *)object + COUNTER) == operations;
}

/* ---- The message benchmark ---------------------------------------------------------------- */

/* Two threads pass a word back and forth by compare-and-swap; an operation is half a round trip. */
static void message_body(void *object, double between, double work)
{
	uint32_t mine = hf_sim_thread() & 1;
	hf_atomic32_t *word = (hf_atomic32_t *)object;

	(void)between;
	(void)work;
	while (!hf_sim_done()) {
		uint32_t expected = mine;

		if (hf_atomic32_try_cmpxchg_relaxed(word, &expected, mine ^ 1))
			hf_sim_op();
	}
}

static bool any_check(const void *object, uint64_t operations)
{
	(void)object;
	(void)operations;
	return true;
}

/* ---- The list ----------------------------------------------------------------------------- */

#define LOCKREF_ROW(name, functions)                                                               \
	{ "lockref", #name, false, lockref_init, lockref_##name##_body, lockref_check },
#define REFCOUNT_ROW(name, functions)                                                              \
	{ "refcount", #name, false, count_init, refcount_##name##_body, count_check },
#define SPINLOCK_ROW(name)                                                                         \
	{                                                                                          \
		"spinlock", #name, true, lock_init, spinlock_##name##_body, lock_check             \
	}

static const struct hf_sim_variant variants[] = {
	LAB_LOCKREFS(LOCKREF_ROW) /* */
	{ "lockref", "waitfree", false, lockref_init, lockref_waitfree_body, lockref_check },
	REFCOUNTS(REFCOUNT_ROW) /* */
	{ "rcuref", "rcuref", false, zero_init, rcuref_body, zero_check },
	{ "rcuref", "inc_not_zero", false, count_init, inc_not_zero_body, count_check },
	SPINLOCK_ROW(cas),
	SPINLOCK_ROW(cas_release),
	SPINLOCK_ROW(cas_prefetch),
	SPINLOCK_ROW(wfe),
	SPINLOCK_ROW(ticket),
	SPINLOCK_ROW(mcs),
	SPINLOCK_ROW(queued), /* where processors are owned */
	SPINLOCK_ROW(small),  /* in user space */
	{ "message", "message", false, zero_init, message_body, any_check },
};

/* Undoes sim_knobs.h, so that constants.h defines the constants again. */
#undef HF_ARCH_X86_64_CONSTANTS_H
#undef HF_ARCH_AARCH64_CONSTANTS_H
#undef HF_ARCH_BACKOFF_MIN_NS
#undef HF_ARCH_BACKOFF_MAX_NS
#undef HF_ARCH_PENDING_NS
#undef HF_ARCH_WAIT_LOCK_SWAP
#undef HF_ARCH_WAIT_COUNT_FEW
#undef HF_ARCH_WAIT_COUNT_MANY
#undef HF_ARCH_WAIT_FREE_LOCK
#undef HF_ARCH_WAIT_MY_TURN
#undef HF_ARCH_WAIT_MY_NODE
#undef HF_ARCH_WAIT_QUEUE

#if defined(SIM_AARCH64)
#include "holdfast/internal/arch/aarch64/constants.h"
#define SIM_NAME aarch64
#else
#include "holdfast/internal/arch/x86_64/constants.h"
#define SIM_NAME x86_64
#endif

const struct hf_sim_arch HF_DETAIL_PASTE(hf_sim_arch_, SIM_NAME) = {
	/* simulate() replaces the zeros by the values of defaults.c. */
	{ HF_ARCH_WAIT_LOCK_SWAP, HF_ARCH_WAIT_COUNT_FEW, HF_ARCH_WAIT_COUNT_MANY,
	  HF_ARCH_WAIT_FREE_LOCK, HF_ARCH_WAIT_MY_TURN, HF_ARCH_WAIT_MY_NODE, HF_ARCH_WAIT_QUEUE, 0,
	  0, 0, false, false },
	variants,
	sizeof(variants) / sizeof(variants[0]),
};
