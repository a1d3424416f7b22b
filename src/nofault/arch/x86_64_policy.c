/* SPDX-License-Identifier: MIT */
/* x86_64_policy - one rule, and a table of the processors to which it does not apply. */
#include "x86_64_policy.h"

#include "holdfast/internal/arch_access.h"

#if HF_ARCH_HAS_REP

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NEVER_FROM UINT64_MAX
#define MIB ((uint64_t)1 << 20)

/*
 * For every processor without a row: right for the Zen 3 and 5 that were measured. Feature flags
 * alone do not decide where a repeated instruction begins: an Emerald Rapids with FSRS stores 192 B
 * to 2 KiB in 1.4 to 4.4 times the loop's time; from 16 MiB on it is as fast as the loop, and twice
 * as fast on a Zen 4.
 */
static const struct hf_detail_policy rule = { HF_DETAIL_VECTORS_AVX512, HF_DETAIL_VECTORS_MIXED,
					      16 * MIB, 32 * MIB, "the rule" };

/* The exceptions. The first matching row decides. */
static const struct {
	const char *vendor;
	uint32_t family, model_from, model_to;
	struct hf_detail_policy policy;
} processors[] = {
	/* clang-format off */
	{ "AuthenticAMD", 0x19, 0x10, 0x1f,
	  { HF_DETAIL_VECTORS_AVX512, HF_DETAIL_VECTORS_AVX2, 16 * MIB, 32 * MIB,
	    "Zen 4 (family 25 model 17): copies of 512 B to 4 KiB by 64 bytes take up to 1.35 "
	    "times those by 32" } },
	{ "GenuineIntel", 6, 0xcf, 0xcf,
	  { HF_DETAIL_VECTORS_AVX512, HF_DETAIL_VECTORS_AVX512, 16 * MIB, 32 * MIB,
	    "Emerald Rapids (family 6 model 207): copies of 129 to 256 B by 32 bytes take up to "
	    "1.37 times those by 64" } },
	{ "GenuineIntel", 6, 0xa7, 0xa7,
	  { HF_DETAIL_VECTORS_AVX512, HF_DETAIL_VECTORS_AVX512, 16 * MIB, 32 * MIB,
	    "Xeon (family 6 model 167): copies of 129 to 256 B by 32 bytes take up to 1.30 times "
	    "those by 64" } },
	{ "GenuineIntel", 6, 0x55, 0x55,
	  { HF_DETAIL_VECTORS_AVX2, HF_DETAIL_VECTORS_AVX2, 16 * MIB, 32 * MIB,
	    "Skylake-X, Cascade Lake, Cooper Lake: not measured; their clock falls where registers "
	    "of 64 bytes are used" } },
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
	struct hf_detail_policy policy = rule;

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
	/*
	 * Intel's repeated move is faster than a loop of 32 bytes, but not than one of 64: an
	 * Emerald Rapids moves 4 to 16 KiB in .63 to .92 of the time of the former. On no measured
	 * AMD processor it is.
	 */
	if (policy.copy == HF_DETAIL_VECTORS_AVX2 && same_vendor(cpu->vendor, "GenuineIntel") &&
	    has_all(cpu, HF_DETAIL_CPU_FSRM))
		policy.copy_repeat_from = 4096;
	if (!has_all(cpu, HF_DETAIL_CPU_ERMS))
		policy.clear_repeat_from = policy.copy_repeat_from = NEVER_FROM;
	return policy;
}

#endif
