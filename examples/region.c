/* SPDX-License-Identifier: MIT */
/*
 * region - the checksum of a mapped file that is truncated meanwhile, by code that does not expect
 * that.
 */
#define _GNU_SOURCE /* memfd_create */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <holdfast/region.h>

#include "must.h"

#define SIZE 30000

/* Stands for code that you cannot change. */
static unsigned long checksum(const unsigned char *bytes, size_t len)
{
	unsigned long sum = 5381;

	for (size_t i = 0; i < len; i++)
		sum = sum * 33 ^ bytes[i];
	return sum;
}

/* Returns how many bytes were there. Another process may truncate the file at any moment. */
static size_t print_sum(int file, off_t truncate_to)
{
	void *map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, file, 0);
	struct hf_region_fault fault;
	hf_region_t region;
	unsigned long sum;

	must(map != MAP_FAILED);
	must(hf_region_begin_file(&region, map, SIZE, PROT_READ, MAP_SHARED, file, 0) == 0);
	must(ftruncate(file, truncate_to) == 0);
	sum = checksum((const unsigned char *)map, SIZE);
	/* Only hf_region_end() shows whether these were the file's bytes. */
	if (hf_region_end(&region, &fault) == SIZE)
		printf("%016lx\n", sum);
	else
		printf("no checksum: only %zu of %d bytes are there\n", fault.bad, SIZE);
	munmap(map, SIZE);
	return fault.bad;
}

int main(void)
{
	static const char line[] = "a line of text\n";
	int file = memfd_create("file", MFD_CLOEXEC);

	must(file >= 0);
	must(hf_nofault_install() == 0); /* once, at the start of the program */
	while (lseek(file, 0, SEEK_CUR) < SIZE)
		must(write(file, line, sizeof(line) - 1) > 0);
	must(print_sum(file, SIZE) == SIZE);
	must(print_sum(file, 10000) == 10000);
	close(file);
	return 0;
}
