/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_AARCH64_CPU_H
#define HF_ARCH_AARCH64_CPU_H
#pragma GCC system_header
/*
 * cpu, for AArch64 - the ID registers, which Linux lets user space read (it traps and answers).
 * For src/cpu/cpu.c.
 */
#include "../../compiler.h"
#include "../../env.h"
#include "../../cpu_feature.h"

/* hf_arch_cpu_read - what the processor reports; *cpu is zero before. */
HF_INLINE void hf_arch_cpu_read(struct hf_detail_cpu *cpu)
{
	uint64_t isar0, isar2, zva;

	__asm__ volatile("mrs %0, id_aa64isar0_el1" : "=r"(isar0));
	__asm__ volatile("mrs %0, s3_0_c0_c6_2" : "=r"(isar2)); /* ID_AA64ISAR2_EL1 */
	__asm__ volatile("mrs %0, dczid_el0" : "=r"(zva));
	if (isar0 >> 20 & 15)
		cpu->features |= HF_DETAIL_CPU_LSE;
	if (isar2 >> 16 & 15)
		cpu->features |= HF_DETAIL_CPU_MOPS;
	if (!(zva & 16))
		cpu->zva_size = 4u << (zva & 15);
}

#endif
