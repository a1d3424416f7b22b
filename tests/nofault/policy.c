/* SPDX-License-Identifier: MIT */
/*
 * policy - computes the choice of clear and copy for any processor, for replay.py.
 *
 *   policy choose VENDOR FAMILY MODEL [FEATURE...]
 *       prints the vectors of a clear and of a copy, CLEAR_FROM COPY_FROM WHY; a threshold that is
 *       never reached is "never"
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/nofault/arch/x86_64_policy.h"

static const struct {
	const char *name;
	uint32_t feature;
} names[] = {
	{ "erms", HF_DETAIL_CPU_ERMS },       { "fsrm", HF_DETAIL_CPU_FSRM },
	{ "fsrs", HF_DETAIL_CPU_FSRS },       { "avx2", HF_DETAIL_CPU_AVX2 },
	{ "avx512f", HF_DETAIL_CPU_AVX512F }, { "avx512vl", HF_DETAIL_CPU_AVX512VL },
};

static void print_size(uint64_t size)
{
	if (size == UINT64_MAX)
		printf("never");
	else
		printf("%" PRIu64, size);
}

static int choose(int argc, char **argv)
{
	static const char *const vectors[] = { "sse2", "avx2", "avx512", "mixed" };
	struct hf_detail_cpu cpu = { 0, 0, 0, 0, "" };
	struct hf_detail_policy policy;

	if (argc < 3 || strlen(argv[0]) >= sizeof(cpu.vendor))
		return 2;
	strcpy(cpu.vendor, argv[0]);
	cpu.family = (uint32_t)strtoul(argv[1], NULL, 10);
	cpu.model = (uint32_t)strtoul(argv[2], NULL, 10);
	for (int i = 3; i < argc; i++) {
		uint32_t before = cpu.features;

		for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++) {
			if (!strcmp(argv[i], names[j].name))
				cpu.features |= names[j].feature;
		}
		if (cpu.features == before) {
			fprintf(stderr, "policy: no feature %s\n", argv[i]);
			return 2;
		}
	}
	policy = hf_detail_policy_of(&cpu);
	printf("%s %s ", vectors[policy.clear], vectors[policy.copy]);
	print_size(policy.clear_repeat_from);
	printf(" ");
	print_size(policy.copy_repeat_from);
	printf(" %s\n", policy.why);
	return 0;
}

int main(int argc, char **argv)
{
	int status = 2;

	if (argc > 2 && !strcmp(argv[1], "choose"))
		status = choose(argc - 2, argv + 2);
	if (status == 2)
		fprintf(stderr, "usage: policy choose VENDOR FAMILY MODEL [FEATURE...]\n");
	return status;
}
