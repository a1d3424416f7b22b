/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_RISCV64_REFCOUNT_H
#define HF_ARCH_RISCV64_REFCOUNT_H
#pragma GCC system_header
/*
 * refcount, for RISC-V of 64 bits - AMOADD, then one comparison with what was added.
 *
 * For refcount/asm.h, which draws the zones of the count. "Misuse" here is a count that was, or
 * now is, outside 1..INT32_MAX.
 *
 * There are no flags, and an addend must be in a register: the 1 that is added there is also what
 * the new value is compared with. The compiler would make it a second time.
 */
#include "../../compiler.h"
#include "../../env.h"

/* 1 where these functions have something that the compiler would not find. */
#define HF_ARCH_HAS_REFCOUNT 1

/* What became of a subtraction. */
enum hf_arch_refcount_sub { HF_ARCH_SUB_LIVE, HF_ARCH_SUB_ZERO, HF_ARCH_SUB_MISUSE };

/* hf_arch_refcount_inc - *p += 1. Returns true on misuse; *old is the count before. Relaxed. */
HF_INLINE bool hf_arch_refcount_inc(uint32_t *p, int32_t *old)
{
	long one = 1; /* a whole register: no sign to extend */
	uint32_t after;

	__asm__("" : "+r"(one)); /* the compiler no longer knows that this is 1 */
	after = __atomic_fetch_add(p, (uint32_t)one, __ATOMIC_RELAXED) + (uint32_t)one;
	*old = (int32_t)(after - 1);
	/* 1 or less, and it was not above 0 or has overflowed. */
	return HF_UNLIKELY((int32_t)after <= one);
}

/* hf_arch_refcount_dec - *p -= 1. Returns true on misuse, which 0 is one of. Release. */
HF_INLINE bool hf_arch_refcount_dec(uint32_t *p)
{
	return HF_UNLIKELY((int32_t)__atomic_fetch_sub(p, 1, __ATOMIC_RELEASE) <= 1);
}

/* hf_arch_refcount_dec_and_test - *p -= 1. ZERO: it is 0 now, and was 1. Release. */
HF_INLINE enum hf_arch_refcount_sub hf_arch_refcount_dec_and_test(uint32_t *p)
{
	int32_t old = (int32_t)__atomic_fetch_sub(p, 1, __ATOMIC_RELEASE);

	if (HF_LIKELY(old > 1))
		return HF_ARCH_SUB_LIVE;
	return old == 1 ? HF_ARCH_SUB_ZERO : HF_ARCH_SUB_MISUSE;
}

#endif
