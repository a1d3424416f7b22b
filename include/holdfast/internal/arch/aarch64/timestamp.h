/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_AARCH64_TIMESTAMP_H
#define HF_ARCH_AARCH64_TIMESTAMP_H
#pragma GCC system_header
/*
 * timestamp, for AArch64 - ISB, then CNTVCT_EL0.
 *
 * The generic timer: often 25 to 100 MHz, so that one tick is 10 to 40 ns; 1 GHz from Armv8.6 on.
 * For the lab; no primitive reads time.
 */
#include "../../compiler.h"
#include "../../env.h"

/* hf_arch_timestamp - a counter of time, of unknown rate, read in order; 0 = there is none. */
HF_INLINE uint64_t hf_arch_timestamp(void)
{
	uint64_t value;

	__asm__ volatile("isb\n\tmrs	%0, cntvct_el0\n\tisb" : "=r"(value)::"memory");
	return value;
}

#endif
