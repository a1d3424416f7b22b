/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_ARCH_X86_64_NOFAULT_POLICY_H
#define HF_SRC_ARCH_X86_64_NOFAULT_POLICY_H
/*
 * nofault_policy - which clear and which copy are the default: a function of what the processor is.
 *
 * Pure: nothing is measured or asked here, so a test replays the choice for every processor whose
 * measurements are archived (docs/results), on whatever processor it runs.
 *
 * Source  docs/design/0010-choosing-clear-and-copy.md
 */
#include "holdfast/internal/cpu_feature.h"

/* The loop that all sizes below the thresholds take. */
enum hf_detail_vectors {
	HF_DETAIL_VECTORS_SSE2,
	HF_DETAIL_VECTORS_AVX2,
	HF_DETAIL_VECTORS_AVX512,
	HF_DETAIL_VECTORS_MIXED, /* as AVX512, but copies of up to 384 bytes by 32 */
};

struct hf_detail_policy {
	enum hf_detail_vectors vectors;
	/* The repeated instruction from here on; bytes, UINT64_MAX = never. */
	uint64_t clear_repeat_from, copy_repeat_from;
	const char *why; /* the measurement behind it, for people */
};

/* hf_detail_policy_of - the choice for this processor. Ordering: none. */
struct hf_detail_policy hf_detail_policy_of(const struct hf_detail_cpu *cpu)
	__attribute__((visibility("hidden")));

/* What calibration asks: nanoseconds (any unit) of one operation; 0 = no time left. */
typedef uint64_t (*hf_detail_policy_time_t)(void *state, bool repeat, size_t size, size_t offset);

/* The sizes that calibration asks for: powers of two, bytes. */
#define HF_DETAIL_POLICY_CALIBRATE_LEAST ((size_t)16)
#define HF_DETAIL_POLICY_CALIBRATE_MOST ((size_t)512 << 10)

/**
 * hf_detail_policy_calibrate - lower a threshold of the table where live timings say so
 * @from: the table's; gets the least size from which on the repeated instruction is better than the
 *        loop by 1/32 at every size asked for, aligned and misaligned, if that is less
 *
 * It never raises a threshold: the table's were measured on a quiet machine, this one may be busy.
 *
 * Return: false = there was no time, and *from is as it was
 */
bool hf_detail_policy_calibrate(uint64_t *from, hf_detail_policy_time_t time, void *state)
	__attribute__((visibility("hidden")));

#endif
