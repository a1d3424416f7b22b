/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_AARCH64_SPIN_H
#define HF_ARCH_AARCH64_SPIN_H
#pragma GCC system_header
/*
 * spin, for AArch64 - WFE on the exclusive monitor.
 *
 * A load-exclusive arms this core's monitor; the store that changes the word clears it, which is an
 * event that ends WFE. So the unlock needs no SEV, and the waiters do not access the line while
 * they wait (Arm ARM, "Wait for Event"; the "Litmus" lock of the Zephyr discussion). An event that
 * is already pending ends the first WFE at once: hence "not for long" below.
 * User space may use WFE on Linux, where the kernel's event stream bounds the wait to about 100 us.
 */
#include "../../compiler.h"
#include "../../env.h"
#include "constants.h"

/*
 * hf_arch_relax - the spin hint: ISB, which flushes the pipeline and so takes some tens of cycles
 * on every core. YIELD is a NOP on the cores sold so far (the complaint in the lockref discussion).
 */
HF_INLINE void hf_arch_relax(void)
{
	__asm__ volatile("isb" ::: "memory");
}

/* hf_arch_wait_change32 - wait while *p == old, but not for long. Returns *p. Acquire. */
HF_INLINE uint32_t hf_arch_wait_change32(uint32_t *p, uint32_t old)
{
	uint32_t value;

	__asm__ volatile("	ldaxr	%w[value], %[p]\n"
			 "	cmp	%w[value], %w[old]\n"
			 "	b.ne	1f\n"
			 "	wfe\n"
			 "1:\n"
			 : [value] "=&r"(value)
			 : [p] "Q"(*p), [old] "r"(old)
			 : "memory", "cc");
	return value;
}

/* hf_arch_wait_zero_set32 - wait until *p is 0, then make it 1. Acquire. */
HF_INLINE void hf_arch_wait_zero_set32(uint32_t *p)
{
	uint32_t scratch;

	__asm__ volatile("	prfm	pstl1keep, %[p]\n"
			 "1:	ldaxr	%w[scratch], %[p]\n"
			 "	cbnz	%w[scratch], 2f\n"
			 "	stxr	%w[scratch], %w[one], %[p]\n"
			 "	cbz	%w[scratch], 3f\n"
			 "	b	1b\n"
			 "2:	wfe\n"
			 "	b	1b\n"
			 "3:\n"
			 : [scratch] "=&r"(scratch)
			 : [p] "Q"(*p), [one] "r"(1)
			 : "memory");
}

#endif
