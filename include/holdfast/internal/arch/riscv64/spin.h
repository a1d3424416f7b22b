/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_RISCV64_SPIN_H
#define HF_ARCH_RISCV64_SPIN_H
#pragma GCC system_header
/*
 * spin, for 64-bit RISC-V - plain loads, and PAUSE (Zihintpause), which older processors execute as
 * a FENCE that orders nothing. The constants are the generic ones: nothing was measured.
 */
#include "../../compiler.h"
#include "../../env.h"
#include "../generic/constants.h"

/* hf_arch_relax - the spin hint: PAUSE, as a number, since older assemblers don't know it. */
HF_INLINE void hf_arch_relax(void)
{
	__asm__ volatile(".4byte 0x0100000f" ::: "memory");
}

#include "../wait_portable.h"

#endif
