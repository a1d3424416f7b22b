/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_ARCH_X86_64_NOFAULT_POLICY_H
#define HF_SRC_ARCH_X86_64_NOFAULT_POLICY_H
/*
 * x86_64_policy - chooses the default clear and copy for a kind of processor: a pure function, so a
 * test can replay the choice for every processor whose measurements are archived.
 *
 * Source  docs/design/0010-choosing-clear-and-copy.md
 */
#include "holdfast/internal/cpu_feature.h"

/* The vectors of the loop, for all sizes below the thresholds. */
enum hf_detail_vectors {
	HF_DETAIL_VECTORS_SSE2,
	HF_DETAIL_VECTORS_AVX2,
	HF_DETAIL_VECTORS_AVX512,
	HF_DETAIL_VECTORS_MIXED, /* of copies: 32 bytes at a time up to 384 bytes, 64 above */
};

struct hf_detail_policy {
	/* `clear` also decides for fill, compare and find; a move never gains by more than AVX2. */
	enum hf_detail_vectors clear, copy;
	/* The repeated instruction from here on; bytes, UINT64_MAX = never. */
	uint64_t clear_repeat_from, copy_repeat_from;
	const char *why; /* the measurement that is the reason, for people */
};

struct hf_detail_policy hf_detail_policy_of(const struct hf_detail_cpu *cpu)
	__attribute__((visibility("hidden")));

#endif
