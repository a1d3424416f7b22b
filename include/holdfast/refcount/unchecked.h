/* SPDX-License-Identifier: MIT */
#ifndef HF_REFCOUNT_UNCHECKED_H
#define HF_REFCOUNT_UNCHECKED_H
#pragma GCC system_header
/*
 * unchecked - a plain atomic count: the baseline that the others are measured against.
 *
 * Use when / not when
 *   Not to count references: it finds no misuse and repairs none. An overflow wraps around to a
 *   use after free, an increment of 0 brings the dead back.
 *
 * State     type.h; but there is no saturated zone: negative counts are counts like any other. So an
 *           IMMORTAL one moves, reports nothing, and is not freed before 2^29 puts more than gets
 *           make a live count of it, or 2^30 + 2^29 gets more than puts.
 * Ordering  that of the family (refcount.h).
 */
#include "type.h"

HF_INLINE void hf_detail_refcount_unchecked_add(int32_t i, hf_refcount_t *r, int32_t *old)
{
	int32_t before = (int32_t)hf_atomic32_fetch_add_relaxed(&r->refs, (uint32_t)i);

	if (old)
		*old = before;
}

HF_INLINE void hf_detail_refcount_unchecked_inc(hf_refcount_t *r)
{
	hf_detail_refcount_unchecked_add(1, r, NULL);
}

HF_INLINE bool hf_detail_refcount_unchecked_add_not_zero(int32_t i, hf_refcount_t *r, int32_t *old,
							 bool acquire)
{
	uint32_t value = hf_atomic32_load_relaxed(&r->refs);
	bool done;

	do {
		uint32_t sum = value + (uint32_t)i;

		if (HF_UNLIKELY(value == 0)) {
			if (old)
				*old = 0;
			return false;
		}
		done = acquire ? hf_atomic32_try_cmpxchg_acquire(&r->refs, &value, sum)
			       : hf_atomic32_try_cmpxchg_relaxed(&r->refs, &value, sum);
	} while (HF_UNLIKELY(!done));
	if (old)
		*old = (int32_t)value;
	return true;
}

HF_INLINE bool hf_detail_refcount_unchecked_sub_and_test(int32_t i, hf_refcount_t *r, int32_t *old)
{
	int32_t before = (int32_t)hf_atomic32_fetch_sub_release(&r->refs, (uint32_t)i);

	if (old)
		*old = before;
	if (before != i)
		return false;
	hf_atomic32_fence_acquire(&r->refs);
	return true;
}

HF_INLINE bool hf_detail_refcount_unchecked_dec_and_test(hf_refcount_t *r)
{
	return hf_detail_refcount_unchecked_sub_and_test(1, r, NULL);
}

HF_INLINE void hf_detail_refcount_unchecked_dec_old(hf_refcount_t *r, int32_t *old)
{
	int32_t before = (int32_t)hf_atomic32_fetch_sub_release(&r->refs, 1);

	if (old)
		*old = before;
}

HF_INLINE void hf_detail_refcount_unchecked_dec(hf_refcount_t *r)
{
	hf_detail_refcount_unchecked_dec_old(r, NULL);
}

HF_INLINE bool hf_detail_refcount_unchecked_dec_not_one(hf_refcount_t *r)
{
	uint32_t value = hf_atomic32_load_relaxed(&r->refs);

	do {
		if (value == 1)
			return false;
	} while (!hf_atomic32_try_cmpxchg_release(&r->refs, &value, value - 1));
	return true;
}

/*
 * verbs.h makes hf_refcount_unchecked_set, hf_refcount_unchecked_set_release,
 * hf_refcount_unchecked_read, hf_refcount_unchecked_add, hf_refcount_unchecked_add_old,
 * hf_refcount_unchecked_inc, hf_refcount_unchecked_inc_old, hf_refcount_unchecked_add_not_zero,
 * hf_refcount_unchecked_add_not_zero_old, hf_refcount_unchecked_add_not_zero_acquire,
 * hf_refcount_unchecked_add_not_zero_acquire_old, hf_refcount_unchecked_inc_not_zero,
 * hf_refcount_unchecked_inc_not_zero_old, hf_refcount_unchecked_inc_not_zero_acquire,
 * hf_refcount_unchecked_inc_not_zero_acquire_old, hf_refcount_unchecked_dec,
 * hf_refcount_unchecked_dec_old, hf_refcount_unchecked_sub_and_test,
 * hf_refcount_unchecked_sub_and_test_old, hf_refcount_unchecked_dec_and_test,
 * hf_refcount_unchecked_dec_and_test_old, hf_refcount_unchecked_dec_if_one,
 * hf_refcount_unchecked_dec_not_one.
 */
#define HF_DETAIL_REFCOUNT unchecked
#include "verbs.h"

#endif
