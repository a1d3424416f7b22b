/* SPDX-License-Identifier: MIT */
/*
 * holder_loops - gets and puts for the table `holder`; compiled once for each lock half, with
 * HF_LOCKREF_LOCK, LAB_HOLDER_SYMBOL and LAB_HOLDER_WAITS.
 */
#include "holder.h"

#include <stdbool.h>

#include "holdfast/lockref.h"

/* The stop flag is looked at after every pair: one may take milliseconds. */
#define PAIRS(name, type, prefix)                                                                  \
	static uint64_t name##_pairs(void *ref, const int *stop)                                   \
	{                                                                                          \
		type *l = (type *)ref;                                                             \
		bool failed = false;                                                               \
		uint64_t n = 0;                                                                    \
                                                                                                   \
		while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {                                 \
			prefix##_get(l);                                                           \
			if (!prefix##_put_or_lock(l)) {                                            \
				name##_unlock(l);                                                  \
				failed = true;                                                     \
			}                                                                          \
			if (++n % HOLDER_BATCH == 0)                                               \
				prefix##_get(l);                                                   \
		}                                                                                  \
		return failed ? 0 : n;                                                             \
	}

#define LOCK(name, type, prefix)                                                                   \
	static void name##_init(void *ref)                                                         \
	{                                                                                          \
		prefix##_init((type *)ref, 1);                                                     \
	}                                                                                          \
	static int32_t name##_read(void *ref)                                                      \
	{                                                                                          \
		return prefix##_read((const type *)ref);                                           \
	}                                                                                          \
	static void name##_lock(void *ref)                                                         \
	{                                                                                          \
		prefix##_lock((type *)ref);                                                        \
	}                                                                                          \
	static void name##_unlock(void *ref)                                                       \
	{                                                                                          \
		prefix##_unlock((type *)ref);                                                      \
	}

LOCK(bounded, hf_lockref_t, hf_lockref)
PAIRS(bounded, hf_lockref_t, hf_lockref_bounded)
#define locked_unlock bounded_unlock
PAIRS(locked, hf_lockref_t, hf_lockref_locked)
LOCK(waitfree, hf_lockref_waitfree_t, hf_lockref_waitfree)
PAIRS(waitfree, hf_lockref_waitfree_t, hf_lockref_waitfree)

static const struct holder_kind kinds[] = {
	{ "bounded, " LAB_HOLDER_WAITS, bounded_init, bounded_read, bounded_lock, bounded_unlock,
	  bounded_pairs },
	{ "locked, " LAB_HOLDER_WAITS, bounded_init, bounded_read, bounded_lock, bounded_unlock,
	  locked_pairs },
	{ "waitfree, " LAB_HOLDER_WAITS, waitfree_init, waitfree_read, waitfree_lock,
	  waitfree_unlock, waitfree_pairs },
};

const struct holder_half LAB_HOLDER_SYMBOL = { kinds, sizeof(kinds) / sizeof(kinds[0]) };
