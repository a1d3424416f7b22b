/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_X86_64_SPIN_H
#define HF_ARCH_X86_64_SPIN_H
#pragma GCC system_header
/* spin, for x86-64 - PAUSE, PREFETCHW, plain loads. */
#include "../../compiler.h"
#include "../../env.h"
#include "constants.h"

/* hf_arch_relax - the spin hint: PAUSE. Leaves the pipeline to the sibling thread for a while. */
HF_INLINE void hf_arch_relax(void)
{
	__asm__ volatile("pause" ::: "memory");
}

/* hf_arch_prefetch_store - bring the line that holds *p here, ready to be written. A hint. */
HF_INLINE void hf_arch_prefetch_store(const void *p)
{
	__asm__ volatile("prefetchw %0" ::"m"(*(const char *)p));
}

#include "../wait_portable.h"

#endif
