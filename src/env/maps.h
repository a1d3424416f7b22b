/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_MAPS_H
#define HF_SRC_MAPS_H
/*
 * maps - Linux user space: what is mapped: the lines of /proc/self/maps, one at a time, or what is
 * at an address now.
 *
 * By system calls alone: signal handlers run this, the C library's functions for files are points
 * of cancellation, and sanitizers intercept them. Small: it lies on an alternate stack. Page tables
 * are not read, so the time does not grow with resident memory; without PROCMAP_QUERY (Linux 6.11)
 * it grows with the number of mappings.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_detail_mapping {
	uintptr_t from, to;
	/*
	 * The file's, as mappings show them; both 0 = anonymous. On some file systems (btrfs,
	 * overlayfs) fstat() returns others.
	 */
	uint64_t device, inode;
	uint64_t offset; /* of `from` in the file */
	uint64_t page;   /* bytes of one, which may be a huge page; 0 = not known */
	bool readable, writable, executable, shared;
};

static inline uint64_t hf_detail_mapping_device(unsigned int major, unsigned int minor)
{
	return (uint64_t)major << 32 | minor;
}

/* Zeros, but for the file, which the caller opens and closes. */
struct hf_detail_maps {
	int file, at, got;
	char buffer[128];
};

/*
 * Reads a line, and sets all of @mapping but `page`. @path: gets the end of the file's path, as far
 * as there is room, with a 0; or NULL. Returns false at the end. May change errno.
 */
bool hf_detail_maps_next(struct hf_detail_maps *maps, struct hf_detail_mapping *mapping, char *path,
			 size_t room) __attribute__((visibility("hidden")));

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
