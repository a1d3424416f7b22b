/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_GENERIC_CPU_H
#define HF_ARCH_GENERIC_CPU_H
#pragma GCC system_header
/* cpu, for any processor - reports no features. For src/cpu/cpu.c. */
#include "../../compiler.h"
#include "../../env.h"
#include "../../cpu_feature.h"

/* hf_arch_cpu_read - what the processor reports; *cpu is zero before. */
HF_INLINE void hf_arch_cpu_read(struct hf_detail_cpu *cpu)
{
	(void)cpu;
}

#endif
