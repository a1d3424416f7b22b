/* SPDX-License-Identifier: MIT */
/*
 * verbs - the lockref family's list of verbs, written once for every implementation.
 *
 * An implementation includes this after core.h, with two macros:
 *
 *   HF__LOCKREF        its name
 *   HF__LOCKREF_LIMIT  failed swaps after which the lock is taken; 0 = always the lock
 *
 * What each verb does, returns and orders is documented once: in lockref.h, for the default.
 * No include guard: this is meant to be included again and again.
 */
#pragma GCC system_header
#define HF__V(verb) HF__PASTE4(hf_lockref_, HF__LOCKREF, _, verb)

#define HF__SLOW(verb) HF__PASTE4(hf__lockref_, HF__LOCKREF, _, verb)

/* What the first swap did not settle: one copy of each, out of line. */
HF_SLOW bool HF__SLOW(get)(hf_lockref_t *l, int32_t least)
{
	return hf__lockref_get(l, least, HF__LOCKREF_LIMIT);
}

HF_SLOW int32_t HF__SLOW(put_return)(hf_lockref_t *l)
{
	return hf__lockref_put(l, 0, false, HF__LOCKREF_LIMIT);
}

HF_SLOW bool HF__SLOW(put_or_lock)(hf_lockref_t *l)
{
	return hf__lockref_put(l, 1, true, HF__LOCKREF_LIMIT) >= 0;
}

HF_INLINE void HF__V(get)(hf_lockref_t *l)
{
	if (HF__LOCKREF_LIMIT == 0 || HF_UNLIKELY(!hf__lockref_try_get(l, 0)))
		(void)HF__SLOW(get)(l, INT32_MIN);
}

HF_INLINE HF_MUST_CHECK bool HF__V(get_not_zero)(hf_lockref_t *l)
{
	if (HF__LOCKREF_LIMIT != 0 && HF_LIKELY(hf__lockref_try_get(l, 1)))
		return true;
	return HF__SLOW(get)(l, 1);
}

HF_INLINE HF_MUST_CHECK bool HF__V(get_not_dead)(hf_lockref_t *l)
{
	if (HF__LOCKREF_LIMIT != 0 && HF_LIKELY(hf__lockref_try_get(l, 0)))
		return true;
	return HF__SLOW(get)(l, 0);
}

HF_INLINE HF_MUST_CHECK int32_t HF__V(put_return)(hf_lockref_t *l)
{
	int32_t count;

	if (HF__LOCKREF_LIMIT != 0 && HF_LIKELY(hf__lockref_try_put(l, 0, &count)))
		return count;
	return HF__SLOW(put_return)(l);
}

HF_INLINE HF_MUST_CHECK bool HF__V(put_or_lock)(hf_lockref_t *l)
	HF_TRY_ACQUIRE(false, l) HF_NO_THREAD_SAFETY_ANALYSIS
{
	int32_t count;

	if (HF__LOCKREF_LIMIT != 0 && HF_LIKELY(hf__lockref_try_put(l, 1, &count)))
		return true;
	return HF__SLOW(put_or_lock)(l);
}

#undef HF__SLOW
#undef HF__V
#undef HF__LOCKREF
#undef HF__LOCKREF_LIMIT
