/* SPDX-License-Identifier: MIT */
#ifndef LAB_VARIANTS_LOCKREF_UNBOUNDED_H
#define LAB_VARIANTS_LOCKREF_UNBOUNDED_H
/*
 * unbounded - a lockref that retries its compare-and-swap until it succeeds, or the lock is held.
 *
 * Use when / not when
 *   Where the lab shows that few retries are needed. Not for an object that many cores use at once:
 *   the retries grow with the cores, to about 25 for each success at 28 threads on one machine.
 *
 * The type, state, orderings and all other operations are those of holdfast/lockref.h. Its
 * invariants hold, but for lockref I4: there is no limit after which the lock is taken.
 */
#include <holdfast/lockref.h>

/* Takes a reference if the count is at least @least; the rest as hf_detail_lockref_get_slow(). */
HF_SLOW bool hf_lockref_unbounded_get_slow(hf_lockref_t *l, int32_t least)
{
	hf_wait_t wait = HF_WAIT_INIT;
	uint32_t retries = 0;
	bool fallback = false;
	uint64_t word = hf_atomic64_load_relaxed(&l->word);
	int32_t count;

	for (;;) {
		count = hf_detail_lockref_count(word);
		if (!hf_detail_lockref_unlocked(word)) {
			fallback = true;
			break;
		}
		if (count < least ||
		    HF_LIKELY(hf_atomic64_try_cmpxchg_relaxed(
			    &l->word, &word,
			    HF_DETAIL_LOCKREF_WORD(hf_detail_lockref_plus_one(count)))))
			break;
		retries++;
		hf_wait_retry(&wait, HF_ARCH_WAIT_COUNT_MANY);
	}
	if (HF_UNLIKELY(fallback)) {
		hf_env_lockref_lock(hf_detail_lockref_lock(l));
		count = hf_detail_lockref_count_locked(l);
		if (count >= least)
			hf_detail_lockref_set_count_locked(l, hf_detail_lockref_plus_one(count));
		hf_env_lockref_unlock(hf_detail_lockref_lock(l));
	}
	HF_DETAIL_LOCKREF_NOTE(retries, fallback);
	if (count < least)
		return false;
	if (HF_UNLIKELY((uint32_t)count >= (uint32_t)HF_LOCKREF_MAX))
		return hf_detail_lockref_get_misuse(l, count);
	return true;
}

/* Puts by compare-and-swap. Returns the new count, or -1 if the lock is held or the count <=
 * @keep. */
HF_INLINE int32_t hf_lockref_unbounded_put_swaps(hf_lockref_t *l, int32_t keep)
{
	hf_wait_t wait = HF_WAIT_INIT;
	uint32_t retries = 0;
	uint64_t word = hf_atomic64_load_relaxed(&l->word);

	while (hf_detail_lockref_unlocked(word) && hf_detail_lockref_count(word) > keep) {
		int32_t less = hf_detail_lockref_minus_one(hf_detail_lockref_count(word));

		if (HF_LIKELY(hf_atomic64_try_cmpxchg_release(&l->word, &word,
							      HF_DETAIL_LOCKREF_WORD(less)))) {
			HF_DETAIL_LOCKREF_NOTE(retries, false);
			return less;
		}
		retries++;
		hf_wait_retry(&wait, HF_ARCH_WAIT_COUNT_MANY);
	}
	HF_DETAIL_LOCKREF_NOTE(retries, true);
	return -1;
}

HF_SLOW int32_t hf_lockref_unbounded_put_return_slow(hf_lockref_t *l)
{
	return hf_lockref_unbounded_put_swaps(l, 0);
}

HF_SLOW bool hf_lockref_unbounded_put_or_lock_slow(hf_lockref_t *l) HF_NO_THREAD_SAFETY_ANALYSIS
{
	if (hf_lockref_unbounded_put_swaps(l, 1) >= 0)
		return true;
	hf_env_lockref_lock(hf_detail_lockref_lock(l));
	if (!hf_detail_lockref_put_locked(l))
		return false;
	hf_env_lockref_unlock(hf_detail_lockref_lock(l));
	return true;
}

HF_INLINE void hf_lockref_unbounded_get(hf_lockref_t *l)
{
	if (HF_UNLIKELY(!hf_detail_lockref_try_get(l, 0)))
		(void)hf_lockref_unbounded_get_slow(l, INT32_MIN);
}

HF_INLINE HF_MUST_CHECK bool hf_lockref_unbounded_get_not_zero(hf_lockref_t *l)
{
	if (HF_LIKELY(hf_detail_lockref_try_get(l, 1)))
		return true;
	return hf_lockref_unbounded_get_slow(l, 1);
}

HF_INLINE HF_MUST_CHECK bool hf_lockref_unbounded_get_not_dead(hf_lockref_t *l)
{
	if (HF_LIKELY(hf_detail_lockref_try_get(l, 0)))
		return true;
	return hf_lockref_unbounded_get_slow(l, 0);
}

HF_INLINE HF_MUST_CHECK int32_t hf_lockref_unbounded_put_return(hf_lockref_t *l)
{
	int32_t count;

	if (HF_LIKELY(hf_detail_lockref_try_put(l, 0, &count)))
		return count;
	return hf_lockref_unbounded_put_return_slow(l);
}

HF_INLINE HF_MUST_CHECK bool hf_lockref_unbounded_put_or_lock(hf_lockref_t *l)
	HF_TRY_ACQUIRE(false, l) HF_NO_THREAD_SAFETY_ANALYSIS
{
	int32_t count;

	if (HF_LIKELY(hf_detail_lockref_try_put(l, 1, &count)))
		return true;
	return hf_lockref_unbounded_put_or_lock_slow(l);
}

#endif
