/* SPDX-License-Identifier: MIT */
#ifndef LAB_VARIANTS_LOCKREF_LOCKED_H
#define LAB_VARIANTS_LOCKREF_LOCKED_H
/*
 * locked - a lockref that always takes the lock.
 *
 * Use when / not when
 *   As the baseline, and where the object is contended nearly always. put_return waits for the lock
 *   instead of returning that it is held, so the holder of the lock must not call it.
 *
 * The type, state, orderings and all other operations are those of holdfast/lockref.h.
 */
#include <holdfast/lockref.h>

/* Takes a reference if the count is at least @least; reports misuse. */
HF_SLOW bool hf_lockref_locked_get_from(hf_lockref_t *l, int32_t least)
{
	int32_t count;

	hf_env_lockref_lock(hf_detail_lockref_lock(l));
	count = hf_detail_lockref_count_locked(l);
	if (count >= least)
		hf_detail_lockref_set_count_locked(l, hf_detail_lockref_plus_one(count));
	hf_env_lockref_unlock(hf_detail_lockref_lock(l));
	HF_DETAIL_LOCKREF_NOTE(0, true);
	if (count < least)
		return false;
	if (HF_UNLIKELY((uint32_t)count >= (uint32_t)HF_LOCKREF_MAX))
		return hf_detail_lockref_get_misuse(l, count);
	return true;
}

HF_INLINE void hf_lockref_locked_get(hf_lockref_t *l)
{
	(void)hf_lockref_locked_get_from(l, INT32_MIN);
}

HF_INLINE HF_MUST_CHECK bool hf_lockref_locked_get_not_zero(hf_lockref_t *l)
{
	return hf_lockref_locked_get_from(l, 1);
}

HF_INLINE HF_MUST_CHECK bool hf_lockref_locked_get_not_dead(hf_lockref_t *l)
{
	return hf_lockref_locked_get_from(l, 0);
}

HF_SLOW int32_t hf_lockref_locked_put_return(hf_lockref_t *l)
{
	int32_t count;

	HF_DETAIL_LOCKREF_NOTE(0, true);
	hf_env_lockref_lock(hf_detail_lockref_lock(l));
	count = hf_detail_lockref_count_locked(l);
	if (count > 0) {
		count = hf_detail_lockref_minus_one(count);
		hf_detail_lockref_set_count_locked(l, count);
	} else {
		count = -1;
	}
	hf_env_lockref_unlock(hf_detail_lockref_lock(l));
	return count;
}

HF_SLOW HF_MUST_CHECK bool hf_lockref_locked_put_or_lock(hf_lockref_t *l)
	HF_TRY_ACQUIRE(false, l) HF_NO_THREAD_SAFETY_ANALYSIS
{
	HF_DETAIL_LOCKREF_NOTE(0, true);
	hf_env_lockref_lock(hf_detail_lockref_lock(l));
	if (!hf_detail_lockref_put_locked(l))
		return false;
	hf_env_lockref_unlock(hf_detail_lockref_lock(l));
	return true;
}

#endif
