/* SPDX-License-Identifier: MIT */
#ifndef HF_CPU_FEATURE_H
#define HF_CPU_FEATURE_H
#pragma GCC system_header
/* cpu_feature - the bits that arch/<cpu>/cpu.h fills in for src/cpu.c. See cpu.h. */
#include "compiler.h"
#include "env.h"

enum hf__cpu_feature {
	HF__CPU_REP_GOOD = 1 << 0,
	HF__CPU_ERMS = 1 << 1,
	HF__CPU_FSRM = 1 << 2,
	HF__CPU_FSRS = 1 << 3,
	HF__CPU_FZRM = 1 << 4,
	HF__CPU_AVX2 = 1 << 5,
	HF__CPU_AVX512F = 1 << 6,
	HF__CPU_LSE = 1 << 7,
	HF__CPU_MOPS = 1 << 8,
	HF__CPU_AVX512VL = 1 << 9,
};

struct hf__cpu {
	uint32_t features; /* enum hf__cpu_feature */
	uint32_t zva_size; /* bytes */
	uint32_t family, model;
	char vendor[13];
};

#endif
