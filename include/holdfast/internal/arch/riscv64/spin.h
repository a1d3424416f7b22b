/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_RISCV64_SPIN_H
#define HF_ARCH_RISCV64_SPIN_H
#pragma GCC system_header
/*
 * spin, for RISC-V of 64 bits - PAUSE (Zihintpause), which older processors take for a FENCE that
 * orders nothing; plain loads.
 */
#include "../../compiler.h"
#include "../../env.h"
#include "constants.h"

/* hf_arch_relax - the spin hint: PAUSE, as a number, since older assemblers don't know it. */
HF_INLINE void hf_arch_relax(void)
{
	__asm__ volatile(".4byte 0x0100000f" ::: "memory");
}

#include "../prefetch_portable.h"
#include "../wait_portable.h"

#endif
