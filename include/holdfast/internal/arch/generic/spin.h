/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_GENERIC_SPIN_H
#define HF_ARCH_GENERIC_SPIN_H
#pragma GCC system_header
/* spin, for any processor - with compiler builtins only. */
#include "../../compiler.h"
#include "../../env.h"
#include "constants.h"

/* hf_arch_relax - the spin hint. No instruction is common to all: this is for the compiler only. */
HF_INLINE void hf_arch_relax(void)
{
	__asm__ volatile("" ::: "memory");
}

#include "../wait_portable.h"

#endif
