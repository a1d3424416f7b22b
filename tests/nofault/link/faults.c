/* SPDX-License-Identifier: MIT */
/* faults - for run.py: needs its own inlined sites, and the library's, to be kept by the linker. */
#include <holdfast/nofault.h>

int main(void)
{
	char *const bad = (char *)(uintptr_t)4096;
	static char good[300];
	uint64_t word;

	if (hf_nofault_install())
		return 2;
	for (size_t len = 1; len <= sizeof(good); len++) {
		if (hf_copy_nofault(good, bad, len) != len ||
		    hf_copy_nofault(bad, good, len) != len || hf_clear_nofault(bad, len) != len)
			return 1;
	}
	return hf_load64_nofault(&word, bad) == -HF_EFAULT ? 0 : 1;
}
