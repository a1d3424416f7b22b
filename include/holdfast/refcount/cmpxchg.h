/* SPDX-License-Identifier: MIT */
#ifndef HF_REFCOUNT_CMPXCHG_H
#define HF_REFCOUNT_CMPXCHG_H
#pragma GCC system_header
/*
 * cmpxchg - look first, then compare-and-swap: no bad value is ever visible.
 *
 * Use when / not when
 *   Where a bad value must never be visible, however briefly. Else saturating or asm: a
 *   compare-and-swap loop costs more, and retries more the more threads there are.
 *
 * State      type.h. Each transition goes straight to its result:
 *
 *     live --add--> live, or SATURATED (overflow)      0 --add--> SATURATED
 *     live --sub--> live, or 0, or SATURATED (underflow)
 *     SATURATED --any--> SATURATED                     IMMORTAL --any--> IMMORTAL
 *
 * Invariants
 *   I1  the value after each operation is live, 0, SATURATED, or IMMORTAL as before.
 *   I2  *_and_test is true only for the swap that made the count 0.
 *
 * Ordering  that of the family (refcount.h).
 * Source    The scheme of Linux's checked counts before 2019, with the zones of type.h.
 */
#include "type.h"

/* live + i; or what is not to be changed: I1. */
HF_INLINE int32_t hf_detail_refcount_cmpxchg_sum(int32_t value, int32_t i)
{
	int32_t sum = hf_detail_refcount_sum(value, i);

	return HF_UNLIKELY(value <= 0 || sum <= 0) ? hf_detail_refcount_repaired(value) : sum;
}

HF_INLINE void hf_detail_refcount_cmpxchg_add(int32_t i, hf_refcount_t *r, int32_t *old)
{
	uint32_t value = hf_atomic32_load_relaxed(&r->refs);
	int32_t sum;

	do {
		sum = hf_detail_refcount_cmpxchg_sum((int32_t)value, i);
	} while (!hf_atomic32_try_cmpxchg_relaxed(&r->refs, &value, (uint32_t)sum));
	if (old)
		*old = (int32_t)value;
	if (HF_UNLIKELY(sum < 0))
		hf_detail_refcount_misuse(r, (int32_t)value,
					  value == 0 ? HF_REPORT_ADD_UAF : HF_REPORT_ADD_OVF);
}

HF_INLINE void hf_detail_refcount_cmpxchg_inc(hf_refcount_t *r)
{
	hf_detail_refcount_cmpxchg_add(1, r, NULL);
}

HF_INLINE bool hf_detail_refcount_cmpxchg_add_not_zero(int32_t i, hf_refcount_t *r, int32_t *old,
						       bool acquire)
{
	uint32_t value = hf_atomic32_load_relaxed(&r->refs);
	int32_t sum = 0;
	bool done = false;

	while (value && !done) {
		sum = hf_detail_refcount_cmpxchg_sum((int32_t)value, i);
		done = acquire ? hf_atomic32_try_cmpxchg_acquire(&r->refs, &value, (uint32_t)sum)
			       : hf_atomic32_try_cmpxchg_relaxed(&r->refs, &value, (uint32_t)sum);
	}
	if (old)
		*old = (int32_t)value;
	if (done && HF_UNLIKELY(sum < 0))
		hf_detail_refcount_misuse(r, (int32_t)value, HF_REPORT_ADD_NOT_ZERO_OVF);
	return done;
}

/* value - i for a test (0 is the last reference); or what is not to be changed: I1. */
HF_INLINE int32_t hf_detail_refcount_cmpxchg_difference(int32_t value, int32_t i)
{
	return HF_UNLIKELY(value <= 0 || i <= 0 || value < i) ? hf_detail_refcount_repaired(value)
							      : value - i;
}

HF_INLINE bool hf_detail_refcount_cmpxchg_sub_and_test(int32_t i, hf_refcount_t *r, int32_t *old)
{
	uint32_t value = hf_atomic32_load_relaxed(&r->refs);
	int32_t left;

	do {
		left = hf_detail_refcount_cmpxchg_difference((int32_t)value, i);
	} while (!hf_atomic32_try_cmpxchg_release(&r->refs, &value, (uint32_t)left));
	if (old)
		*old = (int32_t)value;
	if (left == 0) { /* I2 */
		hf_atomic32_fence_acquire(&r->refs);
		return true;
	}
	if (HF_UNLIKELY(left < 0))
		hf_detail_refcount_misuse(r, (int32_t)value, HF_REPORT_SUB_UAF);
	return false;
}

HF_INLINE bool hf_detail_refcount_cmpxchg_dec_and_test(hf_refcount_t *r)
{
	return hf_detail_refcount_cmpxchg_sub_and_test(1, r, NULL);
}

HF_INLINE void hf_detail_refcount_cmpxchg_dec_old(hf_refcount_t *r, int32_t *old)
{
	uint32_t value = hf_atomic32_load_relaxed(&r->refs);
	int32_t left;

	do {
		left = HF_UNLIKELY((int32_t)value <= 1)
			       ? hf_detail_refcount_repaired((int32_t)value)
			       : (int32_t)value - 1;
	} while (!hf_atomic32_try_cmpxchg_release(&r->refs, &value, (uint32_t)left));
	if (old)
		*old = (int32_t)value;
	if (HF_UNLIKELY(left < 0))
		hf_detail_refcount_misuse(r, (int32_t)value, HF_REPORT_DEC_LEAK);
}

HF_INLINE void hf_detail_refcount_cmpxchg_dec(hf_refcount_t *r)
{
	hf_detail_refcount_cmpxchg_dec_old(r, NULL);
}

HF_INLINE bool hf_detail_refcount_cmpxchg_dec_not_one(hf_refcount_t *r)
{
	uint32_t value = hf_atomic32_load_relaxed(&r->refs);
	int32_t left;

	do {
		if (value == 1)
			return false;
		left = hf_detail_refcount_cmpxchg_difference((int32_t)value, 1);
	} while (!hf_atomic32_try_cmpxchg_release(&r->refs, &value, (uint32_t)left));
	if (HF_UNLIKELY(value == 0))
		hf_detail_refcount_misuse(r, 0, HF_REPORT_SUB_UAF);
	return true;
}

/*
 * verbs.h makes hf_refcount_cmpxchg_set, hf_refcount_cmpxchg_set_release,
 * hf_refcount_cmpxchg_read, hf_refcount_cmpxchg_add, hf_refcount_cmpxchg_add_old,
 * hf_refcount_cmpxchg_inc, hf_refcount_cmpxchg_inc_old, hf_refcount_cmpxchg_add_not_zero,
 * hf_refcount_cmpxchg_add_not_zero_old, hf_refcount_cmpxchg_add_not_zero_acquire,
 * hf_refcount_cmpxchg_add_not_zero_acquire_old, hf_refcount_cmpxchg_inc_not_zero,
 * hf_refcount_cmpxchg_inc_not_zero_old, hf_refcount_cmpxchg_inc_not_zero_acquire,
 * hf_refcount_cmpxchg_inc_not_zero_acquire_old, hf_refcount_cmpxchg_dec,
 * hf_refcount_cmpxchg_dec_old, hf_refcount_cmpxchg_sub_and_test,
 * hf_refcount_cmpxchg_sub_and_test_old, hf_refcount_cmpxchg_dec_and_test,
 * hf_refcount_cmpxchg_dec_and_test_old, hf_refcount_cmpxchg_dec_if_one,
 * hf_refcount_cmpxchg_dec_not_one.
 */
#define HF_DETAIL_REFCOUNT cmpxchg
#include "verbs.h"

#endif
