/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_DATA_H
#define HF_TMPFS_DATA_H
/* data - what is in a file. T5, T6. */
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

/* Of memory of our own, which is there. As the readers' copies: not for a sanitizer to compare. */
TMPFS_PRIVATE void tmpfs_clear_own(char *memory, size_t size);
/* Returns the bytes moved; fewer than `size` at the end of the file, or with *fault. */
TMPFS_PRIVATE size_t tmpfs_read_pages(struct tmpfs_inode *inode, char *to, size_t size, uint64_t at,
				      bool *fault);
/* Mutex held. Returns the bytes moved; *error says why not all. */
TMPFS_PRIVATE size_t tmpfs_write_pages(struct tmpfs_inode *inode, const char *from, size_t size,
				       uint64_t at, int *error);
TMPFS_PRIVATE int tmpfs_truncate(struct tmpfs_inode *inode, int64_t size);
/* fallocate() of what is between the two. */
TMPFS_PRIVATE int tmpfs_allocate(struct tmpfs_inode *inode, int mode, uint64_t begin, uint64_t end);
/* The first byte from `at` on that is data, or is none. */
TMPFS_PRIVATE int64_t tmpfs_seek(struct tmpfs_inode *inode, int64_t at, bool want_data);

#endif
