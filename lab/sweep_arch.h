/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_SWEEP_ARCH_H
#define HF_LAB_SWEEP_ARCH_H
/*
 * sweep_arch - this machine's arch files, with other waiting: so that a sweep calls the public
 * operations.
 *
 * It stands in through the seam that arch.h leaves for ports. The build sets one of two:
 *
 *   LAB_COUNT_SWAP              the wait policy after a failed swap of a count, on few processors
 *                               and on many
 *   LAB_HINTS, LAB_INSTRUCTION  the spin hint is so many times this instruction (a string), and
 *                               whoever awaits a turn or a node looks again after each hint
 */
#undef HF_ARCH_HEADER
#undef HF_ARCH_H /* arch.h is under way; this time without a replacement */
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
