/* SPDX-License-Identifier: MIT */
/* Finds, checks and moves the records of a mapped file that another process truncates. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <holdfast/nofault.h>

#include "must.h"

int main(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), at, equal, left;
	static const char records[] = "first\nsecond\nthird\n";
	char *file;
	uint32_t found = 0;

	file = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(file != MAP_FAILED);
	must(munmap(file + page, page) == 0); /* the second page is unmapped */
	must(hf_nofault_install() == 0);      /* once, at the start of the program */

	/* The last bytes of the file, which ends in the middle of a record. */
	left = hf_copy_nofault(file + page - 16, records, strlen(records));
	printf("%zu of %zu bytes written\n", strlen(records) - left, strlen(records));
	must(left == 3);

	/* Find the end of each record. */
	for (const char *record = file + page - 16;; record += at + 1) {
		int error = hf_find_nofault(record, '\n', 100, &at);

		printf("%.*s: %s\n", (int)at, record, error ? "cut off" : "whole");
		if (error) {
			must(error == -HF_EFAULT && at == 3);
			break;
		}
	}

	/* The 16 bytes before the fault are equal. */
	must(hf_compare_nofault(file + page - 16, records, strlen(records), &equal) == -HF_EFAULT);
	must(equal == 16);

	/*
	 * Move the records up by 6. They overlap, so the move starts at the end, and faults at
	 * once.
	 */
	left = hf_move_nofault(file + page - 10, file + page - 16, 16);
	printf("%zu of 16 bytes moved\n", 16 - left);
	must(left == 16 && memcmp(file + page - 16, records, 16) == 0);

	/* Moved down by 6 they fit. The word before them is an atomic count of the records. */
	left = hf_move_nofault(file + page - 22, file + page - 16, 16);
	must(left == 0);
	must(hf_fill_nofault(file + page - 32, 0, 10) == 0);
	must(hf_fetch_add32_nofault(file + page - 32, 2, &found) == 0 && found == 0);
	printf("records: %u\n", found + 2);
	return 0;
}
