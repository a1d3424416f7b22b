/* SPDX-License-Identifier: MIT */
/*
 * verbs - the refcount family's list of verbs, written once for every implementation.
 *
 * An implementation includes this after it has defined HF_DETAIL_REFCOUNT, its name, and
 *
 *   hf_detail_refcount_<name>_inc, _dec_and_test, _dec, _dec_not_one        of one reference
 *   hf_detail_refcount_<name>_add, _add_not_zero, _sub_and_test, _dec_old   with *old, unless old is NULL
 *
 * A pointer `old` that is NULL is a constant here, so nothing is left of it in the code.
 *
 * What each verb does, returns and orders is documented once: in refcount.h, for the default.
 * No include guard: this is meant to be included again and again.
 */
#pragma GCC system_header
#define HF_DETAIL_V(verb) HF_DETAIL_PASTE4(hf_refcount_, HF_DETAIL_REFCOUNT, _, verb)
#define HF_DETAIL_RAW(verb) HF_DETAIL_PASTE4(hf_detail_refcount_, HF_DETAIL_REFCOUNT, _, verb)

HF_INLINE void HF_DETAIL_V(set)(hf_refcount_t *r, int32_t n)
{
	hf_atomic32_store_relaxed(&r->refs, (uint32_t)n);
}

HF_INLINE void HF_DETAIL_V(set_release)(hf_refcount_t *r, int32_t n)
{
	hf_atomic32_store_release(&r->refs, (uint32_t)n);
}

HF_INLINE int32_t HF_DETAIL_V(read)(const hf_refcount_t *r)
{
	return hf_detail_refcount_read(r);
}

HF_INLINE void HF_DETAIL_V(add)(int32_t i, hf_refcount_t *r)
{
	HF_DETAIL_RAW(add)(i, r, NULL);
}

HF_INLINE void HF_DETAIL_V(add_old)(int32_t i, hf_refcount_t *r, int32_t *old)
{
	HF_DETAIL_RAW(add)(i, r, old);
}

HF_INLINE void HF_DETAIL_V(inc)(hf_refcount_t *r)
{
	HF_DETAIL_RAW(inc)(r);
}

HF_INLINE void HF_DETAIL_V(inc_old)(hf_refcount_t *r, int32_t *old)
{
	HF_DETAIL_RAW(add)(1, r, old);
}

HF_INLINE HF_MUST_CHECK bool HF_DETAIL_V(add_not_zero)(int32_t i, hf_refcount_t *r)
{
	return HF_DETAIL_RAW(add_not_zero)(i, r, NULL, false);
}

HF_INLINE HF_MUST_CHECK bool HF_DETAIL_V(add_not_zero_old)(int32_t i, hf_refcount_t *r,
							   int32_t *old)
{
	return HF_DETAIL_RAW(add_not_zero)(i, r, old, false);
}

HF_INLINE HF_MUST_CHECK bool HF_DETAIL_V(add_not_zero_acquire)(int32_t i, hf_refcount_t *r)
{
	return HF_DETAIL_RAW(add_not_zero)(i, r, NULL, true);
}

HF_INLINE HF_MUST_CHECK bool HF_DETAIL_V(add_not_zero_acquire_old)(int32_t i, hf_refcount_t *r,
								   int32_t *old)
{
	return HF_DETAIL_RAW(add_not_zero)(i, r, old, true);
}

HF_INLINE HF_MUST_CHECK bool HF_DETAIL_V(inc_not_zero)(hf_refcount_t *r)
{
	return HF_DETAIL_RAW(add_not_zero)(1, r, NULL, false);
}

HF_INLINE HF_MUST_CHECK bool HF_DETAIL_V(inc_not_zero_old)(hf_refcount_t *r, int32_t *old)
{
	return HF_DETAIL_RAW(add_not_zero)(1, r, old, false);
}

HF_INLINE HF_MUST_CHECK bool HF_DETAIL_V(inc_not_zero_acquire)(hf_refcount_t *r)
{
	return HF_DETAIL_RAW(add_not_zero)(1, r, NULL, true);
}

HF_INLINE HF_MUST_CHECK bool HF_DETAIL_V(inc_not_zero_acquire_old)(hf_refcount_t *r, int32_t *old)
{
	return HF_DETAIL_RAW(add_not_zero)(1, r, old, true);
}

HF_INLINE void HF_DETAIL_V(dec)(hf_refcount_t *r)
{
	HF_DETAIL_RAW(dec)(r);
}

HF_INLINE void HF_DETAIL_V(dec_old)(hf_refcount_t *r, int32_t *old)
{
	HF_DETAIL_RAW(dec_old)(r, old);
}

HF_INLINE HF_MUST_CHECK bool HF_DETAIL_V(sub_and_test)(int32_t i, hf_refcount_t *r)
{
	return HF_DETAIL_RAW(sub_and_test)(i, r, NULL);
}

HF_INLINE HF_MUST_CHECK bool HF_DETAIL_V(sub_and_test_old)(int32_t i, hf_refcount_t *r,
							   int32_t *old)
{
	return HF_DETAIL_RAW(sub_and_test)(i, r, old);
}

HF_INLINE HF_MUST_CHECK bool HF_DETAIL_V(dec_and_test)(hf_refcount_t *r)
{
	return HF_DETAIL_RAW(dec_and_test)(r);
}

HF_INLINE HF_MUST_CHECK bool HF_DETAIL_V(dec_and_test_old)(hf_refcount_t *r, int32_t *old)
{
	return HF_DETAIL_RAW(sub_and_test)(1, r, old);
}

HF_INLINE HF_MUST_CHECK bool HF_DETAIL_V(dec_if_one)(hf_refcount_t *r)
{
	uint32_t one = 1;

	if (!hf_atomic32_try_cmpxchg_release(&r->refs, &one, 0))
		return false;
	hf_atomic32_fence_acquire(&r->refs);
	return true;
}

HF_INLINE HF_MUST_CHECK bool HF_DETAIL_V(dec_not_one)(hf_refcount_t *r)
{
	return HF_DETAIL_RAW(dec_not_one)(r);
}

#undef HF_DETAIL_V
#undef HF_DETAIL_RAW
#undef HF_DETAIL_REFCOUNT
