/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_RISCV64_TIMESTAMP_H
#define HF_ARCH_RISCV64_TIMESTAMP_H
#pragma GCC system_header
/*
 * timestamp, for RISC-V of 64 bits - RDTIME, between two fences.
 *
 * Of a constant rate and the same on all harts (RISC-V unprivileged ISA, Zicntr). For the lab; no
 * primitive reads time.
 */
#include "../../compiler.h"
#include "../../env.h"

/* hf_arch_timestamp - a counter of time, of unknown rate, read in order; 0 = there is none. */
HF_INLINE uint64_t hf_arch_timestamp(void)
{
	uint64_t time;

	__asm__ volatile("fence\n\trdtime %0\n\tfence" : "=r"(time) : : "memory");
	return time;
}

#endif
