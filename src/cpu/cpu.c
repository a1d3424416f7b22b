/* SPDX-License-Identifier: MIT */
/* cpu - what the processor reports, read once. */
#include "holdfast/internal/arch_access.h"
#include "holdfast/internal/atomic.h"
#include "cpu.h"
#include "../env/env.h"

#if HF_ENV_HAS_VARIABLES
#include <string.h>
#endif

static struct hf_detail_cpu cpu;
static hf_atomic32_t cpu_known = HF_ATOMIC_INIT(0); /* 1 = being read, 2 = read */

/*
 * Threads and signal handlers may call this concurrently: one of them fills in the shared copy, and
 * until it is complete the others use what they have read themselves.
 */
struct hf_detail_cpu hf_detail_cpu_known(void)
{
	struct hf_detail_cpu mine = { 0, 0, 0, 0, "" };
	uint32_t nobody = 0;

	if (HF_LIKELY(hf_atomic32_load_acquire(&cpu_known) == 2))
		return cpu;
	hf_arch_cpu_read(&mine);
	if (hf_atomic32_try_cmpxchg_acquire(&cpu_known, &nobody, 1)) {
		cpu = mine;
		hf_atomic32_store_release(&cpu_known, 2);
	}
	return mine;
}

bool hf_detail_cpu_has(enum hf_detail_cpu_feature feature)
{
	return hf_detail_cpu_known().features & (uint32_t)feature;
}

#if HF_ENV_HAS_VARIABLES
static const struct {
	const char *name;
	uint32_t feature;
} names[] = {
	{ "rep_good", HF_DETAIL_CPU_REP_GOOD }, { "erms", HF_DETAIL_CPU_ERMS },
	{ "fsrm", HF_DETAIL_CPU_FSRM },         { "fsrs", HF_DETAIL_CPU_FSRS },
	{ "fzrm", HF_DETAIL_CPU_FZRM },         { "avx2", HF_DETAIL_CPU_AVX2 },
	{ "avx512f", HF_DETAIL_CPU_AVX512F },   { "avx512vl", HF_DETAIL_CPU_AVX512VL },
	{ "lse", HF_DETAIL_CPU_LSE },           { "mops", HF_DETAIL_CPU_MOPS },
};

bool hf_detail_cpu_hide(const char *list)
{
	bool all = true;
	size_t len;

	(void)hf_detail_cpu_known();
	for (; *list; list += len + (list[len] == ',')) {
		uint32_t feature = 0;

		len = strcspn(list, ",");
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			if (strlen(names[i].name) == len && !strncmp(names[i].name, list, len))
				feature = names[i].feature;
		}
		all &= feature != 0;
		/* The AVX-512 loops use AVX2, too: without it, neither can be used. */
		if (feature == HF_DETAIL_CPU_AVX2)
			feature |= HF_DETAIL_CPU_AVX512F | HF_DETAIL_CPU_AVX512VL;
		if (feature == HF_DETAIL_CPU_AVX512F)
			feature |= HF_DETAIL_CPU_AVX512VL;
		cpu.features &= ~feature;
	}
	return all;
}

/* This reference also links env/linux_user.c, with its constructor, into static programs. */
static void (*const hides)(void) __attribute__((used)) = hf_detail_env_hide_features;
#endif

unsigned int hf_detail_cpu_zva_size(void)
{
	/* Every larger clear calls this: don't copy the whole structure. */
	if (HF_LIKELY(hf_atomic32_load_acquire(&cpu_known) == 2))
		return cpu.zva_size;
	return hf_detail_cpu_known().zva_size;
}
