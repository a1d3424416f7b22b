/* SPDX-License-Identifier: MIT */
#ifndef HF_REFCOUNT_ASM_H
#define HF_REFCOUNT_ASM_H
#pragma GCC system_header
/*
 * asm - saturating, with the flags of the atomic instruction itself as the test.
 *
 * Use when / not when
 *   The default where the processor has it (x86-64, AArch64). Not under a model checker, which
 *   reads no inline assembly: there, and on other processors, it is `saturating`.
 *
 * State, window, invariants
 *   Those of saturating.h. inc, dec and dec_and_test are what programs use most; each is
 *   one atomic instruction and one or two branches, the repair is a call out of line. All other
 *   verbs, and the forms that return the old value, are those of saturating.h.
 *
 * Ordering  that of the family (refcount.h).
 * Source    arch/<cpu>/refcount.h has the instructions, with the reason for each.
 */
#include "saturating.h"

HF_COLD void hf_detail_refcount_asm_inc_misuse(hf_refcount_t *r, int32_t old)
{
	hf_detail_refcount_repair(r, old, old == 0 ? HF_REPORT_ADD_UAF : HF_REPORT_ADD_OVF,
				  HF_DETAIL_CALL_SITE);
}

HF_INLINE void hf_detail_refcount_asm_inc(hf_refcount_t *r)
{
	int32_t before;

	if (!HF_ARCH_HAS_REFCOUNT)
		hf_detail_refcount_saturating_inc(r);
	else if (HF_UNLIKELY(hf_arch_refcount_inc((uint32_t *)&r->refs, &before)))
		hf_detail_refcount_asm_inc_misuse(r, before);
}

HF_INLINE bool hf_detail_refcount_asm_dec_and_test(hf_refcount_t *r)
{
	enum hf_arch_refcount_sub is;

	if (!HF_ARCH_HAS_REFCOUNT)
		return hf_detail_refcount_saturating_dec_and_test(r);
	is = hf_arch_refcount_dec_and_test((uint32_t *)&r->refs);
	if (HF_LIKELY(is == HF_ARCH_SUB_LIVE))
		return false;
	if (HF_UNLIKELY(is == HF_ARCH_SUB_MISUSE)) {
		hf_detail_refcount_saturate_one(r, HF_REPORT_SUB_UAF);
		return false;
	}
	hf_atomic32_fence_acquire(&r->refs); /* I3 */
	return true;
}

HF_INLINE void hf_detail_refcount_asm_dec(hf_refcount_t *r)
{
	if (!HF_ARCH_HAS_REFCOUNT)
		hf_detail_refcount_saturating_dec(r);
	else if (HF_UNLIKELY(hf_arch_refcount_dec((uint32_t *)&r->refs)))
		hf_detail_refcount_saturate_one(r, HF_REPORT_DEC_LEAK);
}

HF_INLINE void hf_detail_refcount_asm_add(int32_t i, hf_refcount_t *r, int32_t *old)
{
	hf_detail_refcount_saturating_add(i, r, old);
}

HF_INLINE bool hf_detail_refcount_asm_add_not_zero(int32_t i, hf_refcount_t *r, int32_t *old,
						   bool acquire)
{
	return hf_detail_refcount_saturating_add_not_zero(i, r, old, acquire);
}

HF_INLINE bool hf_detail_refcount_asm_sub_and_test(int32_t i, hf_refcount_t *r, int32_t *old)
{
	return hf_detail_refcount_saturating_sub_and_test(i, r, old);
}

HF_INLINE void hf_detail_refcount_asm_dec_old(hf_refcount_t *r, int32_t *old)
{
	hf_detail_refcount_saturating_dec_old(r, old);
}

HF_INLINE bool hf_detail_refcount_asm_dec_not_one(hf_refcount_t *r)
{
	return hf_detail_refcount_saturating_dec_not_one(r);
}

/*
 * verbs.h makes hf_refcount_asm_set, hf_refcount_asm_set_release, hf_refcount_asm_read,
 * hf_refcount_asm_add, hf_refcount_asm_add_old, hf_refcount_asm_inc, hf_refcount_asm_inc_old,
 * hf_refcount_asm_add_not_zero, hf_refcount_asm_add_not_zero_old,
 * hf_refcount_asm_add_not_zero_acquire, hf_refcount_asm_add_not_zero_acquire_old,
 * hf_refcount_asm_inc_not_zero, hf_refcount_asm_inc_not_zero_old,
 * hf_refcount_asm_inc_not_zero_acquire, hf_refcount_asm_inc_not_zero_acquire_old,
 * hf_refcount_asm_dec, hf_refcount_asm_dec_old, hf_refcount_asm_sub_and_test,
 * hf_refcount_asm_sub_and_test_old, hf_refcount_asm_dec_and_test,
 * hf_refcount_asm_dec_and_test_old, hf_refcount_asm_dec_if_one, hf_refcount_asm_dec_not_one.
 */
#define HF_DETAIL_REFCOUNT asm
#include "verbs.h"

#endif
