/* SPDX-License-Identifier: MIT */
/* x86_64_policy - a table with a row for each kind of processor that was measured. */
#include "x86_64_policy.h"

#include "holdfast/internal/arch_nofault.h"

#if HF_ARCH_HAS_REP

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NEVER_FROM UINT64_MAX
#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

/*
 * The first matching row decides. Feature flags alone do not: repeated instructions (ERMS, FSRM,
 * FSRS) and vectors of 64 bytes are used only where a row says so. Processors without a row get the
 * loop of 32 bytes, which was good on all that were measured.
 */
static const struct {
	const char *vendor;
	uint32_t family, model_from, model_to;
	struct hf_detail_policy policy;
} processors[] = {
	/* clang-format off */
	{ "AuthenticAMD", 0x19, 0x00, 0x0f,
	  { HF_DETAIL_VECTORS_AVX2, HF_DETAIL_VECTORS_AVX2, 16 * MIB, 16 * MIB,
	    "Zen 3 (family 25 model 1): vectors win up to half of a core complex's cache" } },
	{ "AuthenticAMD", 0x19, 0x10, 0x1f,
	  { HF_DETAIL_VECTORS_AVX512, HF_DETAIL_VECTORS_AVX2, 16 * MIB, 32 * MIB,
	    "Zen 4 (family 25 model 17): masks halve the time to compare or find up to 15 bytes; "
	    "copies of 512 B to 4 KiB by 64 bytes take up to 1.3 times those by 32; a repeated "
	    "store takes half of the loop's time at 64 MiB" } },
	{ "AuthenticAMD", 0x1a, 0x00, 0xff,
	  { HF_DETAIL_VECTORS_AVX512, HF_DETAIL_VECTORS_MIXED, MIB, 64 * KIB,
	    "Zen 5 (family 26 model 2): a repeated store takes half of the loop's time at 64 MiB "
	    "and 5 times as long at 256 B; a repeated move wins above the size of the first cache; "
	    "misaligned copies by 64 bytes lose up to 384 B" } },
	{ "GenuineIntel", 6, 143, 143,
	  { HF_DETAIL_VECTORS_AVX512, HF_DETAIL_VECTORS_AVX512, MIB, MIB,
	    "Sapphire Rapids: the core of family 6 model 207" } },
	{ "GenuineIntel", 6, 207, 207,
	  { HF_DETAIL_VECTORS_AVX512, HF_DETAIL_VECTORS_AVX512, MIB, MIB,
	    "Emerald Rapids (family 6 model 207): from 192 B to 2 KiB its FSRS takes 1.4 to 4.4 "
	    "times libc's time, vectors of 64 bytes 0.8 to 1.1" } },
	/* clang-format on */
};

static bool same_vendor(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static bool has_all(const struct hf_detail_cpu *cpu, uint32_t features)
{
	return (cpu->features & features) == features;
}

/* A hypervisor, or a test, may hide features. */
static enum hf_detail_vectors usable(const struct hf_detail_cpu *cpu,
				     enum hf_detail_vectors vectors)
{
	if (vectors >= HF_DETAIL_VECTORS_AVX512 &&
	    !has_all(cpu, HF_DETAIL_CPU_AVX512F | HF_DETAIL_CPU_AVX512VL | HF_DETAIL_CPU_AVX2))
		vectors = HF_DETAIL_VECTORS_AVX2;
	if (vectors == HF_DETAIL_VECTORS_AVX2 && !has_all(cpu, HF_DETAIL_CPU_AVX2))
		vectors = HF_DETAIL_VECTORS_SSE2;
	return vectors;
}

struct hf_detail_policy hf_detail_policy_of(const struct hf_detail_cpu *cpu)
{
	struct hf_detail_policy policy = { HF_DETAIL_VECTORS_AVX2, HF_DETAIL_VECTORS_AVX2,
					   NEVER_FROM, NEVER_FROM, "never measured: vectors" };

	for (size_t i = 0; i < COUNT(processors); i++) {
		if (same_vendor(processors[i].vendor, cpu->vendor) &&
		    processors[i].family == cpu->family && processors[i].model_from <= cpu->model &&
		    cpu->model <= processors[i].model_to) {
			policy = processors[i].policy;
			break;
		}
	}
	policy.clear = usable(cpu, policy.clear);
	policy.copy = usable(cpu, policy.copy);
	if (!has_all(cpu, HF_DETAIL_CPU_ERMS))
		policy.clear_repeat_from = policy.copy_repeat_from = NEVER_FROM;
	return policy;
}

bool hf_detail_policy_calibrate(uint64_t *from, hf_detail_policy_time_t time, void *state)
{
	uint64_t best = NEVER_FROM;

	for (size_t size = HF_DETAIL_POLICY_CALIBRATE_MOST;
	     size >= HF_DETAIL_POLICY_CALIBRATE_LEAST; size /= 2) {
		for (size_t offset = 0; offset <= 1; offset++) {
			uint64_t loop = time(state, false, size, offset);
			uint64_t repeat = time(state, true, size, offset);

			if (!loop || !repeat)
				return false;
			if (repeat > loop - loop / 32)
				goto out;
		}
		best = size;
	}
out:
	if (best < *from)
		*from = best;
	return true;
}

#endif
