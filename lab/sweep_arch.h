/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_SWEEP_ARCH_H
#define HF_LAB_SWEEP_ARCH_H
/*
 * sweep_arch - this machine's arch files with other wait policies, so that a sweep can call the
 * public operations.
 *
 * It replaces arch.h's own choice by HF_ARCH_HEADER, as ports do. The build defines one of the two:
 *
 *   LAB_COUNT_SWAP              the wait policy after a failed swap of a count, whatever the number
 *                               of processors
 *   LAB_HINTS, LAB_INSTRUCTION  the spin hint is LAB_HINTS times this instruction (a string), and a
 *                               waiter for its turn or node checks again after each hint
 */
#undef HF_ARCH_HEADER
#undef HF_ARCH_H /* arch.h is being read; it is included again without HF_ARCH_HEADER */
#ifdef LAB_HINTS
#define hf_arch_relax hf_arch_relax_of_this_machine
#endif
#include "holdfast/internal/arch.h"

#ifdef LAB_COUNT_SWAP
#undef HF_ARCH_WAIT_COUNT_FEW
#undef HF_ARCH_WAIT_COUNT_MANY
#define HF_ARCH_WAIT_COUNT_FEW LAB_COUNT_SWAP
#define HF_ARCH_WAIT_COUNT_MANY LAB_COUNT_SWAP
#endif

#ifdef LAB_HINTS
#undef HF_ARCH_WAIT_MY_TURN
#undef HF_ARCH_WAIT_MY_NODE
#define HF_ARCH_WAIT_MY_TURN HF_WAIT_HINT
#define HF_ARCH_WAIT_MY_NODE HF_WAIT_HINT
#undef hf_arch_relax

HF_INLINE void hf_arch_relax(void)
{
	for (int i = 0; i < LAB_HINTS; i++)
		__asm__ volatile(LAB_INSTRUCTION ::: "memory");
}
#endif

#endif
