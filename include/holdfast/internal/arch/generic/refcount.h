/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_GENERIC_REFCOUNT_H
#define HF_ARCH_GENERIC_REFCOUNT_H
#pragma GCC system_header
/*
 * refcount, for any processor - add and subtract, then look at what was there.
 *
 * For refcount/asm.h, which draws the zones of the count. "Misuse" here is a count that was, or
 * now is, outside 1..INT32_MAX.
 *
 * Arguments
 *   p     the count
 *   old   gets the count before
 *
 * Context   any
 */
#include "../../compiler.h"
#include "../../env.h"

/* 1 where these functions use the flags of the operation and not a comparison in C. */
#define HF_ARCH_HAS_REFCOUNT 0

/* What became of a subtraction. */
enum hf_arch_refcount_sub { HF_ARCH_SUB_LIVE, HF_ARCH_SUB_ZERO, HF_ARCH_SUB_MISUSE };

/* hf_arch_refcount_inc - *p += 1. Returns true on misuse. Ordering: none. */
HF_INLINE bool hf_arch_refcount_inc(uint32_t *p, int32_t *old)
{
	*old = (int32_t)__atomic_fetch_add(p, 1, __ATOMIC_RELAXED);
	return (int32_t)((uint32_t)*old + 1) <= 1; /* wrapped around, if need be */
}

/* hf_arch_refcount_dec - *p -= 1. Returns true on misuse, which 0 is one of. Ordering: release. */
HF_INLINE bool hf_arch_refcount_dec(uint32_t *p)
{
	return (int32_t)__atomic_fetch_sub(p, 1, __ATOMIC_RELEASE) <= 1;
}

/*
 * hf_arch_refcount_dec_and_test - *p -= 1. Returns HF_ARCH_SUB_ZERO: it is 0 now, and was 1; or one
 * of the other two. Ordering: release.
 */
HF_INLINE enum hf_arch_refcount_sub hf_arch_refcount_dec_and_test(uint32_t *p)
{
	int32_t old = (int32_t)__atomic_fetch_sub(p, 1, __ATOMIC_RELEASE);

	if (old == 1)
		return HF_ARCH_SUB_ZERO;
	return old <= 0 ? HF_ARCH_SUB_MISUSE : HF_ARCH_SUB_LIVE;
}

#endif
