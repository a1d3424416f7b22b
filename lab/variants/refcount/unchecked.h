/* SPDX-License-Identifier: MIT */
#ifndef LAB_VARIANTS_REFCOUNT_UNCHECKED_H
#define LAB_VARIANTS_REFCOUNT_UNCHECKED_H
/*
 * unchecked - a refcount that is a plain atomic counter: the baseline that others are measured
 * against.
 *
 * Use when / not when
 *   Not to count references: it neither detects nor repairs misuse. An overflow wraps around, which
 *   leads to a use after free, and an increment of 0 revives a dead object.
 *
 * It has the operations that the lab measures; the others, and the orderings, are those of
 * holdfast/refcount.h. There is no saturated zone: negative counts are counts like any other. An
 * IMMORTAL count changes without a report, and becomes a live count, which can be freed, only after
 * 2^29 more puts than gets, or 2^30 + 2^29 more gets than puts.
 */
#include <holdfast/refcount.h>

HF_INLINE void hf_refcount_unchecked_inc(hf_refcount_t *r)
{
	(void)hf_atomic32_fetch_add_relaxed(&r->refs, 1);
}

HF_INLINE HF_MUST_CHECK bool hf_refcount_unchecked_inc_not_zero(hf_refcount_t *r)
{
	uint32_t value = hf_atomic32_load_relaxed(&r->refs);

	do {
		if (HF_UNLIKELY(value == 0))
			return false;
	} while (HF_UNLIKELY(!hf_atomic32_try_cmpxchg_relaxed(&r->refs, &value, value + 1)));
	return true;
}

HF_INLINE HF_MUST_CHECK bool hf_refcount_unchecked_inc_not_zero_acquire(hf_refcount_t *r)
{
	if (!hf_refcount_unchecked_inc_not_zero(r))
		return false;
	hf_atomic32_fence_acquire(&r->refs);
	return true;
}

HF_INLINE HF_MUST_CHECK bool hf_refcount_unchecked_dec_and_test(hf_refcount_t *r)
{
	if (hf_atomic32_fetch_sub_release(&r->refs, 1) != 1)
		return false;
	hf_atomic32_fence_acquire(&r->refs);
	return true;
}

HF_INLINE void hf_refcount_unchecked_dec(hf_refcount_t *r)
{
	(void)hf_atomic32_fetch_sub_release(&r->refs, 1);
}

#endif
