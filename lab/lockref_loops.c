/* SPDX-License-Identifier: MIT */
/*
 * lockref_loops - get and put by the public operations of one lockref. Compiled once for each row
 * (lab/CMakeLists.txt), so that these are compile-time constants, as they are for users:
 *
 *   LAB_SYMBOL, LAB_NAME, LAB_KIND   the symbol that is defined, the row's name and kind
 *   LAB_OPERATIONS                   prefix of get and put_or_lock: hf_lockref, ...
 *   LAB_LOCKREF                      prefix of the type and of the other operations
 *   LAB_PAIRS_PER_CHECK              pairs between two loads of the stop flag
 *   LAB_COUNTED                      1 = count failed swaps
 *   HF_LOCKREF_RETRIES, HF_LOCKREF_LOCK_HEADER, LAB_COUNT_SWAP (sweep_arch.h)
 *
 * Only the swaps of the out-of-line paths are counted, not the first swap, which is inline.
 */
#include "lockref_loops.h"

#if LAB_COUNTED
static __thread struct lockref_stats *counting;
#define HF_DETAIL_LOCKREF_NOTE(retries, fallback) lockref_stats_add(counting, retries, fallback)
#endif

#include "holdfast/lockref_waitfree.h"
#include "counts.h"

#ifndef LAB_WAIT
#define LAB_BASE NULL
#define LAB_WAIT NULL
#endif

#define COUNT(operation) HF_DETAIL_PASTE(LAB_OPERATIONS, _##operation)
#define LOCKREF(operation) HF_DETAIL_PASTE(LAB_LOCKREF, _##operation)

static void init(void *ref)
{
	LOCKREF(init)((LOCKREF(t) *)ref, 1);
}

static int32_t read_count(const void *ref)
{
	return LOCKREF(read)((const LOCKREF(t) *)ref);
}

static void lock(void *ref)
{
	LOCKREF(lock)((LOCKREF(t) *)ref);
}

static void unlock(void *ref)
{
	LOCKREF(unlock)((LOCKREF(t) *)ref);
}

static uint64_t pairs(void *state, int thread, const int *stop)
{
	struct lab_lockref *hot = (struct lab_lockref *)state;
	LOCKREF(t) *ref = (LOCKREF(t) *)(void *)hot->ref;
	uint64_t n = 0;
	int failed = 0;

#if LAB_COUNTED
	counting = &hot->counts[thread].stats;
#else
	(void)thread;
#endif
	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		for (int i = 0; i < LAB_PAIRS_PER_CHECK; i++) {
			COUNT(get)(ref);
			if (!COUNT(put_or_lock)(ref)) {
				unlock(ref);
				failed = 1;
			}
		}
		n += LAB_PAIRS_PER_CHECK;
		if (n % LAB_LOCKREF_BATCH == 0)
			COUNT(get)(ref);
	}
	if (failed)
		__atomic_store_n(&hot->failed, 1, __ATOMIC_RELAXED);
	return n;
}

const struct lab_lockref_loops LAB_SYMBOL = {
	LAB_NAME, LAB_KIND, LAB_BASE, LAB_WAIT, init, read_count, lock, unlock, pairs,
};
