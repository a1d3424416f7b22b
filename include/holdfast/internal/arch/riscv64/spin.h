/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_RISCV64_SPIN_H
#define HF_ARCH_RISCV64_SPIN_H
#pragma GCC system_header
/*
 * spin, for 64-bit RISC-V - plain loads, and PAUSE (Zihintpause), which older processors execute as
 * a FENCE that orders nothing.
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
