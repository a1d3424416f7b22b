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
#define HF__V(verb) HF__PASTE4(hf_lockref_, HF__LOCKREF, _, verb)

HF_INLINE void HF__V(get)(hf_lockref_t *l)
{
	(void)hf__lockref_get(l, INT32_MIN, HF__LOCKREF_LIMIT, HF_ARCH_WAIT_LOCKREF, NULL);
}

HF_INLINE HF_MUST_CHECK bool HF__V(get_not_zero)(hf_lockref_t *l)
{
	return hf__lockref_get(l, 1, HF__LOCKREF_LIMIT, HF_ARCH_WAIT_LOCKREF, NULL);
}

HF_INLINE HF_MUST_CHECK bool HF__V(get_not_dead)(hf_lockref_t *l)
{
	return hf__lockref_get(l, 0, HF__LOCKREF_LIMIT, HF_ARCH_WAIT_LOCKREF, NULL);
}

HF_INLINE HF_MUST_CHECK int32_t HF__V(put_return)(hf_lockref_t *l)
{
	return hf__lockref_put(l, 0, false, HF__LOCKREF_LIMIT, HF_ARCH_WAIT_LOCKREF, NULL);
}

HF_INLINE HF_MUST_CHECK bool HF__V(put_or_lock)(hf_lockref_t *l)
{
	return hf__lockref_put(l, 1, true, HF__LOCKREF_LIMIT, HF_ARCH_WAIT_LOCKREF, NULL) >= 0;
}

#undef HF__V
#undef HF__LOCKREF
#undef HF__LOCKREF_LIMIT
