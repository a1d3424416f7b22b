/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_DATA_H
#define HF_TMPFS_DATA_H
/* data - the contents of a file. T5, T6. */
#include "inode.h"

#define TMPFS_SIZE_MAX INT64_MAX /* of a file */
#define TMPFS_RW_MAX 0x7ffff000  /* bytes that one call moves */

static inline uint64_t tmpfs_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t tmpfs_size(struct tmpfs_inode *inode)
{
	return atomic_load_explicit(&inode->size, memory_order_acquire);
}

/*
 * Clears our own memory by nofault, as readers copy it: ThreadSanitizer does not see either access.
 */
TMPFS_PRIVATE void tmpfs_clear_own(char *memory, size_t size);
/* Returns the bytes read; fewer than `size` at the end of the file, or if *fault is set. */
TMPFS_PRIVATE size_t tmpfs_read_pages(struct tmpfs_inode *inode, char *to, size_t size, uint64_t at,
				      bool *fault);
/* Under `contents`. Returns the bytes written; if fewer than `size`, *error is the reason. */
TMPFS_PRIVATE size_t tmpfs_write_pages(struct tmpfs_inode *inode, const char *from, size_t size,
				       uint64_t at, int *error);
TMPFS_PRIVATE int tmpfs_truncate(struct tmpfs_inode *inode, int64_t size);
/* fallocate() for the range from `begin` up to `end`. */
TMPFS_PRIVATE int tmpfs_allocate(struct tmpfs_inode *inode, int mode, uint64_t begin, uint64_t end);
/* The first byte of data, or of a hole, at or after `at`. */
TMPFS_PRIVATE int64_t tmpfs_seek(struct tmpfs_inode *inode, int64_t at, bool want_data);

#endif
