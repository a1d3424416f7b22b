/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_HANDOFF_ARCH_H
#define HF_LAB_HANDOFF_ARCH_H
/*
 * handoff_arch - this machine's arch files, with another spin hint: HANDOFF_HINT times the
 * instruction HANDOFF_INSTRUCTION (a string). For the table `handoff`, which asks what a wait
 * loop's body does to a lock; it stands in through the seam that arch.h leaves for ports.
 */
#undef HF_ARCH_HEADER
#undef HF_ARCH_H /* arch.h is under way; this time without a replacement */
#define hf_arch_relax hf_arch_relax_of_this_machine
#include "holdfast/arch.h"
#undef hf_arch_relax

HF_INLINE void hf_arch_relax(void)
{
	for (int i = 0; i < HANDOFF_HINT; i++)
		__asm__ volatile(HANDOFF_INSTRUCTION ::: "memory");
}

#endif
