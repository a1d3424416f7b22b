/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_TABLE_H
#define HF_TMPFS_TABLE_H
/* table - descriptors and open files. T4, L0, L4. */
#include "dentry.h"

struct tmpfs_file {
	_Alignas(64) hf_refcount_t refs; /* T4: its memory stays a file's */
	int flags;
	struct tmpfs_dentry *dentry; /* NULL: opened by node, the file has the inode's reference */
	struct tmpfs_inode *inode;   /* the dentry's, if there is one */
	hf_mutex_t lock;             /* held over a read or write that moves the position */
	int64_t position;
	uint64_t listing_end; /* T9: cookies from here on are not of this listing */
	struct tmpfs_file *next_free;
};

#define TMPFS_FILES 32

struct tmpfs_files {
	struct tmpfs_block block;
	struct tmpfs_file file[TMPFS_FILES];
};

struct hf_tmpfs_table {
	struct tmpfs_block block;
	struct tmpfs_list siblings;
	unsigned int limit;
	struct tmpfs_block *slabs;
	_Alignas(64) hf_spinlock_t lock; /* L4: of all that follows, but for reading slots */
	struct tmpfs_file *free;
	unsigned int files;  /* in all slabs */
	unsigned int lowest; /* no free descriptor is in a word of the bitmap before this */
	uint64_t *used;      /* a bit a descriptor: taken, or about to be */
	_Atomic(struct tmpfs_file *) slot[];
};

TMPFS_PRIVATE struct tmpfs_file *tmpfs_file_get(struct hf_tmpfs_table *table, int fd);
TMPFS_PRIVATE void tmpfs_file_put(struct hf_tmpfs_table *table, struct tmpfs_file *file);

#endif
