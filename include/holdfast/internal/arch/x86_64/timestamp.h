/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_X86_64_TIMESTAMP_H
#define HF_ARCH_X86_64_TIMESTAMP_H
#pragma GCC system_header
/*
 * timestamp, for x86-64 - RDTSC between two LFENCEs.
 *
 * Constant in rate and the same on all cores of the processors of the last decade. The fences make
 * it wait for the loads and read-modify-writes before it; a store may still be in the store buffer.
 * For the lab; no primitive reads time.
 */
#include "../../compiler.h"
#include "../../env.h"

/* hf_arch_timestamp - a counter of time, of unknown rate, read in order; 0 = there is none. */
HF_INLINE uint64_t hf_arch_timestamp(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high)::"memory");
	return (uint64_t)high << 32 | low;
}

#endif
