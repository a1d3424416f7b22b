/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_TABLE_H
#define HF_TMPFS_TABLE_H
/* table - descriptors and open files. T4, L0, L4. */
#include "dentry.h"

struct tmpfs_file {
	_Alignas(64) hf_refcount_t refs; /* T4: the memory is reused for files only */
	int flags;
	struct tmpfs_dentry *dentry; /* NULL: opened by node; the file holds the inode */
	struct tmpfs_inode *inode;   /* the dentry's, if there is one */
	hf_mutex_t lock;             /* held during reads and writes that use the position */
	int64_t position;
	uint64_t listing_end; /* T9: the listing ends before this cookie */
	struct tmpfs_file *next_free;
};

/* With 8 bytes for its slot: docs/tmpfs.md, "Memory". */
_Static_assert(sizeof(struct tmpfs_file) + 8 <= 128, "an open file takes at most 128 bytes");

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
	_Alignas(64) hf_spinlock_t lock; /* L4: guards all that follows, except reads of slots */
	struct tmpfs_file *free;
	unsigned int files;  /* in all slabs */
	unsigned int lowest; /* all bitmap words before this one are full */
	uint64_t *used;      /* one bit for each descriptor that is open or being opened */
	_Atomic(struct tmpfs_file *) slot[];
};

TMPFS_PRIVATE struct tmpfs_file *tmpfs_file_get(struct hf_tmpfs_table *table, int fd);
TMPFS_PRIVATE void tmpfs_file_put(struct hf_tmpfs_table *table, struct tmpfs_file *file);

#endif
