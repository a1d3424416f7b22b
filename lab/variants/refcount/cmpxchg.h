/* SPDX-License-Identifier: MIT */
#ifndef LAB_VARIANTS_REFCOUNT_CMPXCHG_H
#define LAB_VARIANTS_REFCOUNT_CMPXCHG_H
/*
 * cmpxchg - a refcount that loads first, then compares and swaps: no bad value is ever visible.
 *
 * Use when / not when
 *   Where a bad value must never be visible, however briefly. Otherwise holdfast/refcount.h: a
 *   compare-and-swap loop costs more, and its retries grow with the number of threads.
 *
 * It has the operations that the lab measures; the others, the table of misuse and the orderings
 * are those of holdfast/refcount.h.
 *
 * State      Each transition goes straight to its result:
 *
 *     live --inc--> live, or SATURATED (overflow)      0 --inc--> SATURATED
 *     live --dec--> live, or 0                         0 --dec--> SATURATED
 *     SATURATED --any--> SATURATED                     IMMORTAL --any--> IMMORTAL
 *
 * Invariants
 *   I1  The value after each operation is live, 0, SATURATED, or IMMORTAL as before.
 *   I2  dec_and_test returns true only for the swap that made the count 0.
 *
 * Source     The scheme of Linux's checked counts before 2019, with the zones of
 * holdfast/refcount.h.
 */
#include <holdfast/refcount.h>

/* As hf_detail_refcount_saturate(), for a count that needs no repair. */
HF_COLD void hf_refcount_cmpxchg_misuse(hf_refcount_t *r, int32_t old, enum hf_report_kind kind)
{
	hf_detail_refcount_report(r, old, kind, HF_DETAIL_CALL_SITE);
}

/* @value + @i, or the repaired value on misuse (I1). */
HF_INLINE int32_t hf_refcount_cmpxchg_sum(int32_t value, int32_t i)
{
	int32_t sum = (int32_t)((uint32_t)value + (uint32_t)i);

	return HF_UNLIKELY(value <= 0 || sum <= 0) ? hf_detail_refcount_repaired(value) : sum;
}

HF_INLINE void hf_refcount_cmpxchg_inc(hf_refcount_t *r)
{
	uint32_t value = hf_atomic32_load_relaxed(&r->refs);
	int32_t sum;

	do {
		sum = hf_refcount_cmpxchg_sum((int32_t)value, 1);
	} while (!hf_atomic32_try_cmpxchg_relaxed(&r->refs, &value, (uint32_t)sum));
	if (HF_UNLIKELY(sum < 0))
		hf_refcount_cmpxchg_misuse(r, (int32_t)value,
					   value == 0 ? HF_REPORT_ADD_UAF : HF_REPORT_ADD_OVF);
}

HF_INLINE HF_MUST_CHECK bool hf_refcount_cmpxchg_add_not_zero(int32_t i, hf_refcount_t *r)
{
	uint32_t value = hf_atomic32_load_relaxed(&r->refs);
	int32_t sum;

	do {
		if (value == 0)
			return false;
		sum = hf_refcount_cmpxchg_sum((int32_t)value, i);
	} while (!hf_atomic32_try_cmpxchg_relaxed(&r->refs, &value, (uint32_t)sum));
	if (HF_UNLIKELY(sum < 0))
		hf_refcount_cmpxchg_misuse(r, (int32_t)value, HF_REPORT_ADD_NOT_ZERO_OVF);
	return true;
}

HF_INLINE HF_MUST_CHECK bool hf_refcount_cmpxchg_inc_not_zero(hf_refcount_t *r)
{
	return hf_refcount_cmpxchg_add_not_zero(1, r);
}

HF_INLINE HF_MUST_CHECK bool hf_refcount_cmpxchg_inc_not_zero_acquire(hf_refcount_t *r)
{
	if (!hf_refcount_cmpxchg_inc_not_zero(r))
		return false;
	hf_atomic32_fence_acquire(&r->refs);
	return true;
}

HF_INLINE HF_MUST_CHECK bool hf_refcount_cmpxchg_dec_and_test(hf_refcount_t *r)
{
	uint32_t value = hf_atomic32_load_relaxed(&r->refs);
	int32_t left;

	do {
		left = HF_UNLIKELY((int32_t)value <= 0)
			       ? hf_detail_refcount_repaired((int32_t)value)
			       : (int32_t)value - 1;
	} while (!hf_atomic32_try_cmpxchg_release(&r->refs, &value, (uint32_t)left));
	if (left == 0) { /* I2 */
		hf_atomic32_fence_acquire(&r->refs);
		return true;
	}
	if (HF_UNLIKELY(left < 0))
		hf_refcount_cmpxchg_misuse(r, (int32_t)value, HF_REPORT_SUB_UAF);
	return false;
}

HF_INLINE void hf_refcount_cmpxchg_dec(hf_refcount_t *r)
{
	uint32_t value = hf_atomic32_load_relaxed(&r->refs);
	int32_t left;

	do {
		left = HF_UNLIKELY((int32_t)value <= 1)
			       ? hf_detail_refcount_repaired((int32_t)value)
			       : (int32_t)value - 1;
	} while (!hf_atomic32_try_cmpxchg_release(&r->refs, &value, (uint32_t)left));
	if (HF_UNLIKELY(left < 0))
		hf_refcount_cmpxchg_misuse(r, (int32_t)value, HF_REPORT_DEC_LEAK);
}

#endif
