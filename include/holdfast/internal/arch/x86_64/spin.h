/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_X86_64_SPIN_H
#define HF_ARCH_X86_64_SPIN_H
#pragma GCC system_header
/* spin, for x86-64 - PAUSE, plain loads. */
#include "../../compiler.h"
#include "../../env.h"
#include "constants.h"

/* hf_arch_relax - the spin hint: PAUSE. Leaves the pipeline to the sibling thread for a while. */
HF_INLINE void hf_arch_relax(void)
{
	__asm__ volatile("pause" ::: "memory");
}

#include "../wait_portable.h"

#endif
