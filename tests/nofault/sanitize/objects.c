/* SPDX-License-Identifier: MIT */
/* objects - for run.py: what a sanitizer must report, and what it must not. Exit status 0 = it did not. */
#include <stdlib.h>
#include <string.h>

#include <holdfast/nofault.h>

static const char source[64] = "abcdefgh";
static char global[16];
/* MemorySanitizer looks at what decides. */
static int uses(const char *p, size_t len)
{
	int sum = 0;

	for (size_t i = 0; i < len; i++)
		sum += p[i];
	if (sum == 12345)
		abort();
	return 0;
}

int main(int argc, char **argv)
{
	const char *wanted = argc > 1 ? argv[1] : "";
	char *block = (char *)malloc(24), variable[16];
	uint64_t word = 0;

	if (!block || hf_nofault_install())
		return 9;
	if (!strcmp(wanted, "copy over a block"))
		return hf_copy_nofault(block, source, 64) != 0;
	if (!strcmp(wanted, "copy from behind a block"))
		return hf_copy_nofault(global, block + 16, 16) != 0;
	if (!strcmp(wanted, "clear over a variable"))
		return hf_clear_nofault(variable, 17) != 0;
	if (!strcmp(wanted, "clear over a global"))
		return hf_clear_nofault(global, 17) != 0;
	if (!strcmp(wanted, "load behind a block"))
		return hf_load64_nofault(&word, block + 20) != 0;
	if (!strcmp(wanted, "store to a freed block")) {
		free(block);
		return hf_store64_nofault(block, 1) != 0;
	}
	if (!strcmp(wanted, "use of what was not copied")) {
		if (hf_copy_nofault(block, (const char *)(uintptr_t)4096, 24) != 24)
			return 1;
		return uses(block, 24);
	}
	/* "nothing": all that is right, and what is nowhere */
	if (hf_copy_nofault(block, source, 24) || uses(block, 24))
		return 1;
	if (hf_clear_nofault(variable, sizeof(variable)) || uses(variable, sizeof(variable)))
		return 1;
	if (hf_load64_nofault(&word, source) || (word & 1) == 0)
		return 1;
	free(block);
	block = (char *)malloc(24);
	if (!block || hf_strncpy_nofault(block, source, 24) != 8 || uses(block, 9))
		return 1;
	if (hf_copy_nofault(variable, (const char *)(uintptr_t)4096, 16) != 16 ||
	    hf_copy_nofault(variable, (const char *)(UINTPTR_MAX - 3), 16) != 16 ||
	    hf_load64_nofault(&word, (const char *)(uintptr_t)0x100000000) != -HF_EFAULT)
		return 2;
	free(block);
	return 0;
}
