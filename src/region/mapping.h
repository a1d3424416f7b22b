/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_REGION_MAPPING_H
#define HF_SRC_REGION_MAPPING_H
/*
 * mapping - what is mapped at an address now.
 *
 * Asks the kernel for one mapping: PROCMAP_QUERY (Linux 6.11), else the lines of /proc/self/maps.
 * Neither reads page tables, so the time does not grow with resident memory; the lines take longer
 * the more mappings there are.
 */
#include "../env/maps.h"

/*
 * The mapping of an address or, if there is none, the next above. Async-signal-safe; may change
 * errno. Returns 0; -ENOENT: no mapping there or above; -errno: /proc can't be read.
 */
int hf_detail_mapping_at(uintptr_t address, struct hf_detail_mapping *mapping)
	__attribute__((visibility("hidden")));

/* The same. @path: gets the file's path, of a long one the end; else "" or a word in brackets. */
int hf_detail_mapping_named(uintptr_t address, struct hf_detail_mapping *mapping, char *path,
			    size_t room) __attribute__((visibility("hidden")));

#endif
