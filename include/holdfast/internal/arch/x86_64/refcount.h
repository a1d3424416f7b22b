/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_X86_64_REFCOUNT_H
#define HF_ARCH_X86_64_REFCOUNT_H
#pragma GCC system_header
/*
 * refcount, for x86-64 - the flags that the LOCK-prefixed instruction leaves are the test.
 *
 * For refcount/asm.h, which draws the zones of the count. "Misuse" here is a count that was, or
 * now is, outside 1..INT32_MAX.
 *
 * SUB sets ZF for "now 0" and SF != OF ("less") for "the true result is below 0". No flag of INC
 * shows that the count was 0, so inc must fetch the old value (XADD); what it checks then is that
 * the new one is not negative (SF of the XADD itself) and the old one was above 0.
 */
#include "../../compiler.h"
#include "../../env.h"

/* ThreadSanitizer sees no assembly. */
#if HF_TSAN
#include "../generic/refcount.h"
#else

/* 1 where these functions use the flags of the operation and not a comparison in C. */
#define HF_ARCH_HAS_REFCOUNT 1

/* What became of a subtraction. */
enum hf_arch_refcount_sub { HF_ARCH_SUB_LIVE, HF_ARCH_SUB_ZERO, HF_ARCH_SUB_MISUSE };

/* hf_arch_refcount_inc - *p += 1. Returns true on misuse; *old is the count before. Relaxed. */
HF_INLINE bool hf_arch_refcount_inc(uint32_t *p, int32_t *old)
{
	int32_t value = 1;
	bool negative;

	__asm__ volatile("lock xaddl %[value], %[p]"
			 : [value] "+r"(value), [p] "+m"(*p), "=@ccs"(negative)
			 :
			 : "memory");
	*old = value;
	if (HF_UNLIKELY(negative))
		return true;
	return HF_UNLIKELY(value <= 0);
}

/* hf_arch_refcount_dec - *p -= 1. Returns true on misuse, which 0 is one of. Release. */
HF_INLINE bool hf_arch_refcount_dec(uint32_t *p)
{
	bool not_above_zero;

	__asm__ volatile("lock subl $1, %[p]"
			 : [p] "+m"(*p), "=@ccle"(not_above_zero)
			 :
			 : "memory");
	return HF_UNLIKELY(not_above_zero);
}

/* hf_arch_refcount_dec_and_test - *p -= 1. ZERO: it is 0 now, and was 1. Release. */
HF_INLINE enum hf_arch_refcount_sub hf_arch_refcount_dec_and_test(uint32_t *p)
{
	__asm__ goto("	lock subl $1, %[p]\n"
		     "	jl	%l[misuse]\n"
		     "	je	%l[zero]\n"
		     :
		     : [p] "m"(*p)
		     : "memory", "cc"
		     : misuse, zero);
	return HF_ARCH_SUB_LIVE;
zero:
	return HF_ARCH_SUB_ZERO;
misuse:
	return HF_ARCH_SUB_MISUSE;
}

#endif /* HF_TSAN */
#endif
