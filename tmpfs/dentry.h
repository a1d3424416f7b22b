/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_DENTRY_H
#define HF_TMPFS_DENTRY_H
/* dentry - a name in a directory. T2, T8, T9. */
#include "holdfast/lockref.h"

#include "inode.h"

struct tmpfs_dentry {
	struct tmpfs_block block;
	/* T8: consecutive tables alternate between the two chains. */
	_Atomic(struct tmpfs_dentry *) chain[2];
	hf_lockref_t ref; /* T2 */
	/* Constant once the dentry is published. */
	struct tmpfs_inode *dir;   /* its directory; not dereferenced after removal */
	struct tmpfs_inode *inode; /* a reference (T3) */
	uint64_t hash;
	uint64_t cookie; /* T9: its index in the directory's tree */
	uint8_t length;
	char name[];
};

TMPFS_PRIVATE struct tmpfs_dentry *tmpfs_dentry_new(struct hf_tmpfs *fs, const char *name,
						    size_t length);
TMPFS_PRIVATE void tmpfs_dentry_put(struct tmpfs_dentry *dentry);
/*
 * In a read-side section or under the directory's mutex, which keeps the name from being removed.
 */
TMPFS_PRIVATE struct tmpfs_dentry *tmpfs_lookup(struct tmpfs_inode *dir, const char *name,
						size_t length);
/*
 * Under the directory's mutex. The dentry takes over the caller's reference to the inode. `add` may
 * fail with -ENOMEM, changing nothing; `replace` keeps the name's cookie (T9).
 */
TMPFS_PRIVATE int tmpfs_dentry_add(struct tmpfs_inode *dir, struct tmpfs_dentry *dentry,
				   struct tmpfs_inode *inode);
TMPFS_PRIVATE void tmpfs_dentry_replace(struct tmpfs_inode *dir, struct tmpfs_dentry *old,
					struct tmpfs_dentry *dentry, struct tmpfs_inode *inode);
TMPFS_PRIVATE void tmpfs_dentry_remove(struct tmpfs_inode *dir, struct tmpfs_dentry *dentry);
/* The first entry with this cookie or a later one. In a read-side section or under the mutex. */
TMPFS_PRIVATE struct tmpfs_dentry *tmpfs_dentry_from(struct tmpfs_inode *dir, uint64_t cookie);
/* The hash of a name, with the file system's key. */
TMPFS_PRIVATE uint64_t tmpfs_hash(const struct hf_tmpfs *fs, const char *name, size_t length);

#endif
