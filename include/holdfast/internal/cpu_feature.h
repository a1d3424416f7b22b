/* SPDX-License-Identifier: MIT */
#ifndef HF_CPU_FEATURE_H
#define HF_CPU_FEATURE_H
#pragma GCC system_header
/*
 * cpu_feature - what arch/<cpu>/cpu.h fills in for src/cpu/cpu.c.
 *
 * Source  Intel SDM vol. 2, CPUID; AMD APM vol. 3, appendix E; Arm ARM, ID_AA64ISAR0/2_EL1,
 *         DCZID_EL0
 */
#include "compiler.h"
#include "env.h"

/* A feature of another processor is absent. */
enum hf_detail_cpu_feature {
	/* x86-64: `rep stosq` and `rep movsq` are worth it. No CPUID bit says so: cpu.h. */
	HF_DETAIL_CPU_REP_GOOD = 1 << 0,
	HF_DETAIL_CPU_ERMS = 1 << 1, /* enhanced `rep movsb` and `rep stosb`: 7.0 EBX bit 9 */
	HF_DETAIL_CPU_FSRM = 1 << 2, /* fast short `rep movsb`: 7.0 EDX bit 4 */
	HF_DETAIL_CPU_FSRS = 1 << 3, /* fast short `rep stosb`: 7.1 EAX bit 11 */
	HF_DETAIL_CPU_FZRM = 1 << 4, /* fast `rep movsb` of length 0: 7.1 EAX bit 10 */
	/* Vectors, where the system saves them: XCR0. */
	HF_DETAIL_CPU_AVX2 = 1 << 5,    /* of 32 bytes: 7.0 EBX bit 5 */
	HF_DETAIL_CPU_AVX512F = 1 << 6, /* of 64 bytes: 7.0 EBX bit 16 */
	HF_DETAIL_CPU_LSE = 1 << 7,     /* AArch64: atomics in one instruction: ISAR0.Atomic */
	HF_DETAIL_CPU_MOPS = 1 << 8,    /* AArch64: memory copy and set: ISAR2.MOPS */
	/* x86-64: AVX512F's on 16 and 32 bytes, on bytes (BW); and BMI2: 7.0 EBX bits 31, 30, 8. */
	HF_DETAIL_CPU_AVX512VL = 1 << 9,
};

struct hf_detail_cpu {
	uint32_t features; /* enum hf_detail_cpu_feature */
	uint32_t zva_size; /* AArch64: the bytes that DC ZVA clears, or 0 */
	/* x86-64: display family, model, and the vendor's 12 letters in CPUID. Elsewhere 0, "". */
	uint32_t family, model;
	char vendor[13];
};

#endif
