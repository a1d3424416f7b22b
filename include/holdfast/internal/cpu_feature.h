/* SPDX-License-Identifier: MIT */
#ifndef HF_CPU_FEATURE_H
#define HF_CPU_FEATURE_H
#pragma GCC system_header
/* cpu_feature - the bits that arch/<cpu>/cpu.h fills in for src/cpu/cpu.c. See cpu.h. */
#include "compiler.h"
#include "env.h"

enum hf_detail_cpu_feature {
	HF_DETAIL_CPU_REP_GOOD = 1 << 0,
	HF_DETAIL_CPU_ERMS = 1 << 1,
	HF_DETAIL_CPU_FSRM = 1 << 2,
	HF_DETAIL_CPU_FSRS = 1 << 3,
	HF_DETAIL_CPU_FZRM = 1 << 4,
	HF_DETAIL_CPU_AVX2 = 1 << 5,
	HF_DETAIL_CPU_AVX512F = 1 << 6,
	HF_DETAIL_CPU_LSE = 1 << 7,
	HF_DETAIL_CPU_MOPS = 1 << 8,
	HF_DETAIL_CPU_AVX512VL = 1 << 9,
};

struct hf_detail_cpu {
	uint32_t features; /* enum hf_detail_cpu_feature */
	uint32_t zva_size; /* bytes */
	uint32_t family, model;
	char vendor[13];
};

#endif
