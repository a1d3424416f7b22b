/* SPDX-License-Identifier: MIT */
/* Prints the features that this processor reports. */
#include <stdio.h>

#include <holdfast/internal/cpu.h>

int main(void)
{
	printf("vendor %s, family %u, model %u\n", hf_cpu_vendor(), hf_cpu_family(),
	       hf_cpu_model());
	printf("fast `rep stosb`: %s; short ones too: %s\n", hf_cpu_has_erms() ? "yes" : "no",
	       hf_cpu_has_fsrs() ? "yes" : "no");
	printf("vectors of 32 bytes: %s; DC ZVA clears %u bytes\n",
	       hf_cpu_has_avx2() ? "yes" : "no", hf_cpu_zva_size());
	return 0;
}
