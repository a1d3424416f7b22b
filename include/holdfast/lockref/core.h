/* SPDX-License-Identifier: MIT */
#ifndef HF_LOCKREF_CORE_H
#define HF_LOCKREF_CORE_H
#pragma GCC system_header
/*
 * core - one body for each lockref verb; the implementations differ in how often they retry.
 *
 * State
 *      63                         32 31                          0
 *     |        count, signed        |      a lock (lock.h)        |
 *
 *     lock half   count        meaning
 *     0           1..MAX       live: one 64-bit compare-and-swap changes the count
 *     0           0            no references; still found, may be revived (get, not_dead)
 *     not 0       any          the lock has a holder or waiters: changes go through the lock
 *     any         negative     dead (mark_dead stores -128): never revived
 *     any         INT32_MAX    pinned: an overflow was stopped here; puts leave it, it leaks
 *
 * Invariants
 *   I1  a compare-and-swap of the whole word changes the count only while the lock half is 0, and
 *       leaves the lock half as it is.
 *   I2  so while the lock is held only its holder changes the count (by a store to its half).
 *   I3  the count goes to 0 by put_return only, or under the lock; to dead only under the lock.
 *   I4  after at most `limit` failed swaps (and the first one, which is inline) the lock is taken,
 *       which makes the others' swaps stop too (I1): the retries of all are bounded once one
 *       thread has reached its limit.
 *   I5  the dead stay dead: no verb but set_count changes a negative count.
 *
 * Ordering  table in lockref.h. A swap that drops a reference is a release; taking the lock reads
 *           the word that these swaps made, and is an acquire: the thread that then finds the
 *           last reference sees what was done with the others.
 */
#include "../report.h"
#include "../internal/wait.h"
#include "lock.h"

/* A lock and a count of references; its word is for the verbs only. */
typedef struct HF_CAPABILITY("lockref") hf_lockref {
	hf_atomic64_t word;
} hf_lockref_t;

HF_STATIC_ASSERT(HF_ATOMIC_IS_MODEL || sizeof(hf_lockref_t) == 8, "one 64-bit word");

/* What mark_dead stores, and the most references. */
#define HF_LOCKREF_DEAD (-128)
#define HF_LOCKREF_MAX INT32_MAX

/* A lock that is free, and this many references (a constant). */
#define HF_LOCKREF_INIT(count)                                                                     \
	{                                                                                          \
		HF_ATOMIC_INIT((uint64_t)(uint32_t)(count) << 32)                                  \
	}

#define HF_DETAIL_LOCKREF_ONE ((uint64_t)1 << 32)
#define HF_DETAIL_LOCKREF_UNBOUNDED 0xffffffffu

/* A program that counts them defines it before: failed swaps of an operation; was the lock taken? */
#ifndef HF_DETAIL_LOCKREF_NOTE
#define HF_DETAIL_LOCKREF_NOTE(retries, fallback) ((void)(retries), (void)(fallback))
#endif

HF_INLINE hf_detail_lockref_lock_t *hf_detail_lockref_lock(hf_lockref_t *l)
{
	return hf_detail_lockref_lock_of(&l->word);
}

/* The lock is held: no other thread changes the count (I2). */
HF_INLINE int32_t hf_detail_lockref_count_locked(const hf_lockref_t *l)
{
	return (int32_t)hf_atomic64_load_high32_relaxed(&l->word);
}

HF_INLINE void hf_detail_lockref_set_count_locked(hf_lockref_t *l, int32_t count)
{
	hf_atomic64_store_high32_relaxed(&l->word, (uint32_t)count);
}

/* Returns true. Is called last: then compilers jump here, and the call site is the get's. */
HF_COLD bool hf_detail_lockref_get_misuse(hf_lockref_t *l, int32_t count)
{
	hf_report_at(count < 0 ? HF_REPORT_LOCKREF_DEAD : HF_REPORT_LOCKREF_OVF, l,
		     HF_DETAIL_CALL_SITE);
	return true;
}

/* What get makes of a count: one more; but pinned at the top, and the dead stay as they are. */
HF_INLINE uint64_t hf_detail_lockref_plus_one(uint64_t word)
{
	return HF_UNLIKELY((uint32_t)hf_detail_lockref_count(word) >= (uint32_t)HF_LOCKREF_MAX)
		       ? word
		       : word + HF_DETAIL_LOCKREF_ONE;
}

/* What put makes of a count above 0: one less, but pinned at the top. */
HF_INLINE uint64_t hf_detail_lockref_minus_one(uint64_t word)
{
	return HF_UNLIKELY(hf_detail_lockref_count(word) == HF_LOCKREF_MAX)
		       ? word
		       : word - HF_DETAIL_LOCKREF_ONE;
}

/* Another failed swap: may it be retried? */
HF_INLINE bool hf_detail_lockref_again(uint32_t *retries, uint32_t limit, hf_wait_t *wait)
{
	if (++*retries >= limit && limit != HF_DETAIL_LOCKREF_UNBOUNDED)
		return false;
	hf_wait_retry(wait, HF_ARCH_WAIT_LOCKREF_MANY);
	return true;
}

/*
 * Most gets: the lock is free, the count is from `least` (0 or 1) on and not pinned, the first swap
 * succeeds. False: nothing done, hf_detail_lockref_get() has the rest.
 */
HF_INLINE bool hf_detail_lockref_try_get(hf_lockref_t *l, int32_t least)
{
	uint64_t word = hf_atomic64_load_relaxed(&l->word);
	uint32_t above = (uint32_t)hf_detail_lockref_count(word) - (uint32_t)least;

	if (!hf_detail_lockref_unlocked(word) ||
	    HF_UNLIKELY(above >= (uint32_t)HF_LOCKREF_MAX - (uint32_t)least))
		return false;
	return HF_LIKELY(
		hf_atomic64_try_cmpxchg_relaxed(&l->word, &word, word + HF_DETAIL_LOCKREF_ONE));
}

/* The same for a put that keeps `keep` (0 or 1); *count is the count now. */
HF_INLINE bool hf_detail_lockref_try_put(hf_lockref_t *l, int32_t keep, int32_t *count)
{
	uint64_t word = hf_atomic64_load_relaxed(&l->word);
	uint64_t less = word - HF_DETAIL_LOCKREF_ONE;
	uint32_t above = (uint32_t)hf_detail_lockref_count(less) - (uint32_t)keep;

	if (!hf_detail_lockref_unlocked(word) ||
	    HF_UNLIKELY(above >= (uint32_t)HF_LOCKREF_MAX - 1 - (uint32_t)keep))
		return false;
	*count = hf_detail_lockref_count(less);
	return HF_LIKELY(hf_atomic64_try_cmpxchg_release(&l->word, &word, less));
}

/*
 * get, get_not_zero and get_not_dead: one more reference if the count is at least `least`
 * (INT32_MIN: whatever it is, and reported if that is misuse).
 */
HF_INLINE bool hf_detail_lockref_get(hf_lockref_t *l, int32_t least, uint32_t limit)
{
	hf_wait_t wait = HF_WAIT_INIT;
	uint32_t retries = 0;
	bool fallback = limit == 0;
	bool done;
	uint64_t word = limit ? hf_atomic64_load_relaxed(&l->word) : 0;

	while (limit != 0) {
		if (!hf_detail_lockref_unlocked(word)) {
			fallback = true;
			break;
		}
		if (hf_detail_lockref_count(word) < least)
			break;
		if (HF_LIKELY(hf_atomic64_try_cmpxchg_relaxed(
			    &l->word, &word, hf_detail_lockref_plus_one(word)))) /* I1 */
			break;
		if (!hf_detail_lockref_again(&retries, limit, &wait)) {
			fallback = true; /* I4 */
			break;
		}
	}
	if (HF_UNLIKELY(fallback)) {
		HF_DETAIL_LOCKREF_LOCK(lock)(hf_detail_lockref_lock(l));
		word = (uint64_t)(uint32_t)hf_detail_lockref_count_locked(l) << 32;
		if (hf_detail_lockref_count(word) >= least)
			hf_detail_lockref_set_count_locked(
				l, hf_detail_lockref_count(hf_detail_lockref_plus_one(word)));
		HF_DETAIL_LOCKREF_LOCK(unlock)(hf_detail_lockref_lock(l));
	}
	HF_DETAIL_LOCKREF_NOTE(retries, fallback);
	done = hf_detail_lockref_count(word) >= least;
	/* Negative, or INT32_MAX: one unsigned comparison. */
	if (done &&
	    HF_UNLIKELY((uint32_t)hf_detail_lockref_count(word) >= (uint32_t)HF_LOCKREF_MAX))
		return hf_detail_lockref_get_misuse(l, hf_detail_lockref_count(word));
	return done;
}

/*
 * put_return and put_or_lock: one reference less if more than `keep` are there. Else, or if it
 * could not be swapped: with keep_lock the lock is held on return.
 * Return: the count now; -1 = nothing was dropped.
 */
HF_INLINE int32_t hf_detail_lockref_put(hf_lockref_t *l, int32_t keep, bool keep_lock,
					uint32_t limit) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf_wait_t wait = HF_WAIT_INIT;
	uint32_t retries = 0;
	uint64_t word = limit ? hf_atomic64_load_relaxed(&l->word) : 0;
	int32_t count;

	while (limit != 0 && hf_detail_lockref_unlocked(word)) {
		uint64_t less = hf_detail_lockref_minus_one(word);

		if (hf_detail_lockref_count(word) <= keep)
			break;
		if (HF_LIKELY(hf_atomic64_try_cmpxchg_release(&l->word, &word, less))) { /* I1 */
			HF_DETAIL_LOCKREF_NOTE(retries, false);
			return hf_detail_lockref_count(less);
		}
		if (!hf_detail_lockref_again(&retries, limit, &wait))
			break; /* I4 */
	}
	HF_DETAIL_LOCKREF_NOTE(retries, true);
	if (!keep_lock && limit != 0)
		return -1;
	HF_DETAIL_LOCKREF_LOCK(lock)(hf_detail_lockref_lock(l));
	word = (uint64_t)(uint32_t)hf_detail_lockref_count_locked(l) << 32;
	count = -1;
	if (hf_detail_lockref_count(word) > keep) {
		count = hf_detail_lockref_count(hf_detail_lockref_minus_one(word));
		hf_detail_lockref_set_count_locked(l, count);
	} else if (keep_lock) {
		return -1;
	}
	HF_DETAIL_LOCKREF_LOCK(unlock)(hf_detail_lockref_lock(l));
	return count;
}

#endif
