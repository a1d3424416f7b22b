/* SPDX-License-Identifier: MIT */
/*
 * verbs - the lockref family's list of verbs, written once for every implementation.
 *
 * An implementation includes this after core.h, with two macros:
 *
 *   HF_DETAIL_LOCKREF        its name
 *   HF_DETAIL_LOCKREF_LIMIT  failed swaps after which the lock is taken; 0 = always the lock
 *
 * What each verb does, returns and orders is documented once: in lockref.h, for the default.
 * No include guard: this is meant to be included again and again.
 */
#pragma GCC system_header
#define HF_DETAIL_V(verb) HF_DETAIL_PASTE4(hf_lockref_, HF_DETAIL_LOCKREF, _, verb)

#define HF_DETAIL_SLOW(verb) HF_DETAIL_PASTE4(hf_detail_lockref_, HF_DETAIL_LOCKREF, _, verb)

/* What the first swap did not settle: one copy of each, out of line. */
HF_SLOW bool HF_DETAIL_SLOW(get)(hf_lockref_t *l, int32_t least)
{
	return hf_detail_lockref_get(l, least, HF_DETAIL_LOCKREF_LIMIT);
}

HF_SLOW int32_t HF_DETAIL_SLOW(put_return)(hf_lockref_t *l)
{
	return hf_detail_lockref_put(l, 0, false, HF_DETAIL_LOCKREF_LIMIT);
}

HF_SLOW bool HF_DETAIL_SLOW(put_or_lock)(hf_lockref_t *l)
{
	return hf_detail_lockref_put(l, 1, true, HF_DETAIL_LOCKREF_LIMIT) >= 0;
}

HF_INLINE void HF_DETAIL_V(get)(hf_lockref_t *l)
{
	if (HF_DETAIL_LOCKREF_LIMIT == 0 || HF_UNLIKELY(!hf_detail_lockref_try_get(l, 0)))
		(void)HF_DETAIL_SLOW(get)(l, INT32_MIN);
}

HF_INLINE HF_MUST_CHECK bool HF_DETAIL_V(get_not_zero)(hf_lockref_t *l)
{
	if (HF_DETAIL_LOCKREF_LIMIT != 0 && HF_LIKELY(hf_detail_lockref_try_get(l, 1)))
		return true;
	return HF_DETAIL_SLOW(get)(l, 1);
}

HF_INLINE HF_MUST_CHECK bool HF_DETAIL_V(get_not_dead)(hf_lockref_t *l)
{
	if (HF_DETAIL_LOCKREF_LIMIT != 0 && HF_LIKELY(hf_detail_lockref_try_get(l, 0)))
		return true;
	return HF_DETAIL_SLOW(get)(l, 0);
}

HF_INLINE HF_MUST_CHECK int32_t HF_DETAIL_V(put_return)(hf_lockref_t *l)
{
	int32_t count;

	if (HF_DETAIL_LOCKREF_LIMIT != 0 && HF_LIKELY(hf_detail_lockref_try_put(l, 0, &count)))
		return count;
	return HF_DETAIL_SLOW(put_return)(l);
}

HF_INLINE HF_MUST_CHECK bool HF_DETAIL_V(put_or_lock)(hf_lockref_t *l)
	HF_TRY_ACQUIRE(false, l) HF_NO_THREAD_SAFETY_ANALYSIS
{
	int32_t count;

	if (HF_DETAIL_LOCKREF_LIMIT != 0 && HF_LIKELY(hf_detail_lockref_try_put(l, 1, &count)))
		return true;
	return HF_DETAIL_SLOW(put_or_lock)(l);
}

#undef HF_DETAIL_SLOW
#undef HF_DETAIL_V
#undef HF_DETAIL_LOCKREF
#undef HF_DETAIL_LOCKREF_LIMIT
