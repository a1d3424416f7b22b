/* SPDX-License-Identifier: MIT */
#ifndef HF_REFCOUNT_SATURATING_H
#define HF_REFCOUNT_SATURATING_H
#pragma GCC system_header
/*
 * saturating - operate with one unconditional add, then look at what was there.
 *
 * Use when / not when
 *   Wherever references are counted; the default on processors without an `asm` of their own.
 *
 * State      type.h. Operation first, repair second:
 *
 *     old          add i: old + i                sub i: old - i
 *     live         live, or past INT32_MAX*      live, or 0 (the last reference), or below 0*
 *     0            *                             *
 *     negative     *                             *           * = store SATURATED and report
 *     immortal     stays                         stays       = store IMMORTAL, report nothing
 *
 * The window
 *   Between the bad operation and its repair other threads see the bad value, and operate on it.
 *   After an overflow it is INT32_MIN. Increments then find it negative and repair it too;
 *   decrements may take it to INT32_MAX and on downwards, each looking harmless. For that to become
 *   0 while references exist, 2^31 - 1 = 2,147,483,647 decrements must be done in the window; and
 *   the window ends with a store of SATURATED, from which 2^30 = 1,073,741,824 operations in one
 *   direction, begun before the store and not yet repaired, would be needed to leave the negative
 *   half. Each operation is one thread's, and Linux has at most 2^22 = 4,194,304 threads: short by
 *   factors of 512 and 256.
 *   After an underflow, or an increment of 0, the bad value is -1 or 1, next to 0: a few more
 *   misuses inside the window can take it to 1, and dec_and_test can then return true to one of
 *   them. The count was dead before all of that began: these are uses after free already, and
 *   reported as such. A count can report them, it cannot undo them.
 *
 * Invariants
 *   I1  an operation that sees a bad old or a bad new value stores SATURATED before it returns.
 *   I2  SATURATED is preserved, and so is IMMORTAL: an operation on a negative count finds old < 0, so it stores it
 *       again, or IMMORTAL. Between the operation and that store others see a value near it. (A
 *       test of the new value alone would not do: SATURATED - i is not below SATURATED's
 *       zone, but neither is it SATURATED.)
 *   I3  *_and_test is true only for old == i with i > 0: never for a saturated or a dead count.
 *   I4  not_zero never touches a count that is 0.
 *
 * Ordering  that of the family (refcount.h).
 * Source    LKML 2019-10, "lib/refcount: Improve performance of generic REFCOUNT_FULL code";
 *           docs/design/0003-refcount-window.md.
 */
#include "../internal/wait.h"
#include "type.h"

/*
 * Was i added to a live count, and is it still one? sum is the new value, wrapped around: from
 * 1..INT32_MAX - i it goes to i + 1..INT32_MAX, and from everywhere else to i or below.
 */
HF_INLINE bool hf_detail_refcount_added(int32_t sum, int32_t i)
{
	return sum > i;
}

HF_INLINE void hf_detail_refcount_saturating_add(int32_t i, hf_refcount_t *r, int32_t *old)
{
	int32_t before = (int32_t)hf_atomic32_fetch_add_relaxed(&r->refs, (uint32_t)i);
	int32_t sum = hf_detail_refcount_sum(before, i);

	if (old)
		*old = before;
	if (HF_UNLIKELY(!hf_detail_refcount_added(sum, i))) { /* I1, I2 */
		enum hf_report_kind kind = sum == i ? HF_REPORT_ADD_UAF : HF_REPORT_ADD_OVF;

		if (!old && __builtin_constant_p(i) && i == 1)
			hf_detail_refcount_saturate_one(r, kind);
		else
			hf_detail_refcount_saturate(r, before, kind);
	}
}

HF_INLINE void hf_detail_refcount_saturating_inc(hf_refcount_t *r)
{
	hf_detail_refcount_saturating_add(1, r, NULL);
}

/*
 * The rest of add_not_zero, whose look or failed swap found `value`, not 0. Is called last: then
 * compilers jump here, and the call site is the caller's.
 *
 * After the wait the value is an old one, and a swap with it may fail: then the next wait is longer.
 */
HF_COLD bool hf_detail_refcount_saturating_add_again(int32_t i, hf_refcount_t *r, int32_t *old,
						     uint32_t value, bool acquire)
{
	hf_wait_t wait = HF_WAIT_INIT;

	while (hf_detail_refcount_added((int32_t)(value + (uint32_t)i), i)) {
		uint32_t sum = value + (uint32_t)i;

		hf_wait_retry(&wait, HF_ARCH_WAIT_REFCOUNT_MANY);
		if (acquire ? hf_atomic32_try_cmpxchg_acquire(&r->refs, &value, sum)
			    : hf_atomic32_try_cmpxchg_relaxed(&r->refs, &value, sum)) {
			if (old)
				*old = (int32_t)value;
			return true;
		}
	}
	if (old)
		*old = (int32_t)value;
	if (value != 0) /* I1, I2 */
		hf_detail_refcount_repair(r, (int32_t)value, HF_REPORT_ADD_NOT_ZERO_OVF,
					  HF_DETAIL_CALL_SITE);
	return value != 0; /* I4 */
}

HF_INLINE bool hf_detail_refcount_saturating_add_not_zero(int32_t i, hf_refcount_t *r, int32_t *old,
							  bool acquire)
{
	uint32_t value = hf_atomic32_load_relaxed(&r->refs), sum = value + (uint32_t)i;

	if (HF_LIKELY(hf_detail_refcount_added((int32_t)sum, i)) &&
	    HF_LIKELY(acquire ? hf_atomic32_try_cmpxchg_acquire(&r->refs, &value, sum)
			      : hf_atomic32_try_cmpxchg_relaxed(&r->refs, &value, sum))) {
		if (old)
			*old = (int32_t)value;
		return true;
	}
	if (value == 0) {
		if (old)
			*old = 0;
		return false; /* I4 */
	}
	return hf_detail_refcount_saturating_add_again(i, r, old, value, acquire);
}

HF_INLINE bool hf_detail_refcount_saturating_sub_and_test(int32_t i, hf_refcount_t *r, int32_t *old)
{
	int32_t before = (int32_t)hf_atomic32_fetch_sub_release(&r->refs, (uint32_t)i);

	if (old)
		*old = before;
	if (HF_LIKELY(before > i) && HF_LIKELY(before > 0))
		return false;
	if (HF_LIKELY(before == i) && HF_LIKELY(i > 0)) {
		hf_atomic32_fence_acquire(&r->refs); /* I3 */
		return true;
	}
	hf_detail_refcount_saturate(r, before, HF_REPORT_SUB_UAF); /* I1, I2 */
	return false;
}

HF_INLINE bool hf_detail_refcount_saturating_dec_and_test(hf_refcount_t *r)
{
	return hf_detail_refcount_saturating_sub_and_test(1, r, NULL);
}

HF_INLINE void hf_detail_refcount_saturating_dec_old(hf_refcount_t *r, int32_t *old)
{
	int32_t before = (int32_t)hf_atomic32_fetch_sub_release(&r->refs, 1);

	if (old)
		*old = before;
	if (HF_UNLIKELY(before <= 1)) { /* I1, I2 */
		if (!old)
			hf_detail_refcount_saturate_one(r, HF_REPORT_DEC_LEAK);
		else
			hf_detail_refcount_saturate(r, before, HF_REPORT_DEC_LEAK);
	}
}

HF_INLINE void hf_detail_refcount_saturating_dec(hf_refcount_t *r)
{
	hf_detail_refcount_saturating_dec_old(r, NULL);
}

/* As hf_detail_refcount_saturating_add_again(): the rest of dec_not_one. */
HF_COLD bool hf_detail_refcount_saturating_dec_again(hf_refcount_t *r, uint32_t value)
{
	hf_wait_t wait = HF_WAIT_INIT;

	while ((int32_t)value > 1) {
		hf_wait_retry(&wait, HF_ARCH_WAIT_REFCOUNT_MANY);
		if (hf_atomic32_try_cmpxchg_release(&r->refs, &value, value - 1))
			return true;
	}
	if (value == 0)
		hf_detail_refcount_repair(r, 0, HF_REPORT_SUB_UAF, HF_DETAIL_CALL_SITE);
	return value != 1; /* I2: saturated stays so; this was not the last */
}

HF_INLINE bool hf_detail_refcount_saturating_dec_not_one(hf_refcount_t *r)
{
	uint32_t value = hf_atomic32_load_relaxed(&r->refs);

	if (HF_LIKELY((int32_t)value > 1) &&
	    HF_LIKELY(hf_atomic32_try_cmpxchg_release(&r->refs, &value, value - 1)))
		return true;
	if (value == 1)
		return false;
	return hf_detail_refcount_saturating_dec_again(r, value);
}

/*
 * verbs.h makes hf_refcount_saturating_set, hf_refcount_saturating_set_release,
 * hf_refcount_saturating_read, hf_refcount_saturating_add, hf_refcount_saturating_add_old,
 * hf_refcount_saturating_inc, hf_refcount_saturating_inc_old,
 * hf_refcount_saturating_add_not_zero, hf_refcount_saturating_add_not_zero_old,
 * hf_refcount_saturating_add_not_zero_acquire, hf_refcount_saturating_add_not_zero_acquire_old,
 * hf_refcount_saturating_inc_not_zero, hf_refcount_saturating_inc_not_zero_old,
 * hf_refcount_saturating_inc_not_zero_acquire, hf_refcount_saturating_inc_not_zero_acquire_old,
 * hf_refcount_saturating_dec, hf_refcount_saturating_dec_old,
 * hf_refcount_saturating_sub_and_test, hf_refcount_saturating_sub_and_test_old,
 * hf_refcount_saturating_dec_and_test, hf_refcount_saturating_dec_and_test_old,
 * hf_refcount_saturating_dec_if_one, hf_refcount_saturating_dec_not_one.
 */
#define HF_DETAIL_REFCOUNT saturating
#include "verbs.h"

#endif
