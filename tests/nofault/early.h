/* SPDX-License-Identifier: MIT */
/* early - a region in a static constructor, before anybody has called hf_nofault_install(). */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "holdfast/region.h"

/* Returns whether the region's loss, of a whole file, became zeros and was reported. */
static inline bool region_without_install(void)
{
	size_t len = (size_t)sysconf(_SC_PAGESIZE);
	int file = (int)syscall(SYS_memfd_create, "early", 0u);
	struct hf_region_fault fault = { 0, 0, 0 };
	volatile const char *map;
	hf_region_t region;
	bool zero;

	if (file < 0 || ftruncate(file, (off_t)len))
		return false;
	map = (volatile const char *)mmap(NULL, len, PROT_READ, MAP_SHARED, file, 0);
	if (map == (volatile const char *)MAP_FAILED || ftruncate(file, 0) ||
	    hf_region_begin(&region, (const void *)(uintptr_t)map, len))
		return false;
	zero = !map[1];
	(void)close(file);
	return hf_region_end(&region, &fault) == 0 && zero;
}
