/* SPDX-License-Identifier: MIT */
/* Accesses to memory that may be unmapped, with an exact count of the bytes done. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <holdfast/nofault.h>

#include "must.h"

int main(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *map =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char buffer[100];
	const char *why;
	uint32_t word = 0;
	size_t left;

	must(map != MAP_FAILED);
	must(munmap(map + page, page) == 0); /* the second page is unmapped */

	must(hf_nofault_install() == 0); /* once, at the start of the program */
	if (hf_nofault_check(&why) != HF_NOFAULT_READY)
		printf("here %s\n", why);

	left = hf_clear_nofault(map + page - 17, 64);
	printf("cleared %zu of 64 bytes, %zu left\n", 64 - left, left);
	must(left == 64 - 17);

	left = hf_copy_nofault(buffer, map + page - 60, sizeof(buffer));
	printf("copied %zu of 100 bytes\n", sizeof(buffer) - left);
	must(left == 40);

	if (hf_load32_nofault(&word, map + page))
		printf("no word at %p: signal %d\n", hf_nofault_last().address,
		       hf_nofault_last().signal);
	must(hf_nofault_last().address == map + page);
	return 0;
}
