/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_AARCH64_REFCOUNT_H
#define HF_ARCH_AARCH64_REFCOUNT_H
#pragma GCC system_header
/*
 * refcount, for AArch64 - LSE's LDADD, or LDXR/STXR; then arithmetic that sets the flags.
 *
 * For refcount/asm.h, which draws the zones of the count. "Misuse" here is a count that was, or
 * now is, outside 1..INT32_MAX.
 *
 * The exclusive pair computes the new value anyway: ADDS/SUBS there costs nothing, and STXR and
 * CBNZ leave the flags alone. LDADD returns only the old value, so the sum is formed again.
 */
#include "../../compiler.h"
#include "../../env.h"

/* Flags as outputs: gcc from 10 on, clang from 15 on. Without them there is nothing to gain here. */
#if !defined(__GCC_ASM_FLAG_OUTPUTS__)
#include "../generic/refcount.h"
#else

/* 1 where these functions use the flags of the operation and not a comparison in C. */
#define HF_ARCH_HAS_REFCOUNT 1

/* What became of a subtraction. */
enum hf_arch_refcount_sub { HF_ARCH_SUB_LIVE, HF_ARCH_SUB_ZERO, HF_ARCH_SUB_MISUSE };

/* hf_arch_refcount_inc - *p += 1. Returns true on misuse; *old is the count before. Relaxed. */
HF_INLINE bool hf_arch_refcount_inc(uint32_t *p, int32_t *old)
{
	int32_t before;
	bool misuse;

#if defined(__ARM_FEATURE_ATOMICS)
	/* N of the last comparison: old is not above 0 (forced), or old + 1 overflows. */
	__asm__ volatile("	ldadd	%w[one], %w[before], %[p]\n"
			 "	cmp	%w[before], #0\n"
			 "	ccmn	%w[before], #1, #8, gt\n"
			 : [before] "=&r"(before), "=@ccmi"(misuse)
			 : [p] "Q"(*p), [one] "r"(1)
			 : "memory");
#else
	uint32_t after, failed;

	/* The new value is here already: 1 or less, and it was not above 0 or has overflowed. */
	__asm__ volatile("1:	ldxr	%w[before], %[p]\n"
			 "	add	%w[after], %w[before], #1\n"
			 "	stxr	%w[failed], %w[after], %[p]\n"
			 "	cbnz	%w[failed], 1b\n"
			 "	cmp	%w[after], #1\n"
			 : [before] "=&r"(before), [after] "=&r"(after), [failed] "=&r"(failed),
			   "=@ccle"(misuse)
			 : [p] "Q"(*p)
			 : "memory");
#endif
	*old = before;
	return HF_UNLIKELY(misuse);
}

/* hf_arch_refcount_dec - *p -= 1. Returns true on misuse, which 0 is one of. Release. */
HF_INLINE bool hf_arch_refcount_dec(uint32_t *p)
{
	int32_t before;
	bool not_above_zero;

#if defined(__ARM_FEATURE_ATOMICS)
	__asm__ volatile("	ldaddl	%w[minus_one], %w[before], %[p]\n"
			 "	cmp	%w[before], #1\n"
			 : [before] "=&r"(before), "=@ccle"(not_above_zero)
			 : [p] "Q"(*p), [minus_one] "r"(-1)
			 : "memory");
#else
	uint32_t failed;

	__asm__ volatile("1:	ldxr	%w[before], %[p]\n"
			 "	subs	%w[before], %w[before], #1\n"
			 "	stlxr	%w[failed], %w[before], %[p]\n"
			 "	cbnz	%w[failed], 1b\n"
			 : [before] "=&r"(before), [failed] "=&r"(failed), "=@ccle"(not_above_zero)
			 : [p] "Q"(*p)
			 : "memory");
#endif
	return HF_UNLIKELY(not_above_zero);
}

/* hf_arch_refcount_dec_and_test - *p -= 1. ZERO: it is 0 now, and was 1. Release. */
HF_INLINE enum hf_arch_refcount_sub hf_arch_refcount_dec_and_test(uint32_t *p)
{
	int32_t left;
	bool not_above_zero;

#if defined(__ARM_FEATURE_ATOMICS)
	__asm__ volatile("	ldaddl	%w[minus_one], %w[left], %[p]\n"
			 "	subs	%w[left], %w[left], #1\n"
			 : [left] "=&r"(left), "=@ccle"(not_above_zero)
			 : [p] "Q"(*p), [minus_one] "r"(-1)
			 : "memory");
#else
	uint32_t failed;

	__asm__ volatile("1:	ldxr	%w[left], %[p]\n"
			 "	subs	%w[left], %w[left], #1\n"
			 "	stlxr	%w[failed], %w[left], %[p]\n"
			 "	cbnz	%w[failed], 1b\n"
			 : [left] "=&r"(left), [failed] "=&r"(failed), "=@ccle"(not_above_zero)
			 : [p] "Q"(*p)
			 : "memory");
#endif
	if (HF_LIKELY(!not_above_zero))
		return HF_ARCH_SUB_LIVE;
	return left == 0 ? HF_ARCH_SUB_ZERO : HF_ARCH_SUB_MISUSE;
}

#endif /* __GCC_ASM_FLAG_OUTPUTS__ */
#endif
