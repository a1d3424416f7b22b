/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_WALK_H
#define HF_TMPFS_WALK_H
/* walk - from a path to what it names. T1. */
#include "dentry.h"

enum tmpfs_last { TMPFS_LAST_NAME, TMPFS_LAST_DOT, TMPFS_LAST_DOTDOT, TMPFS_LAST_ROOT };

/* Where a path leads: the last component, and the directory that it is to be looked up in. */
struct tmpfs_walk {
	struct hf_tmpfs *fs;
	struct tmpfs_inode *dir; /* tmpfs_walk_parent(): a reference */
	enum tmpfs_last last;
	bool slash;    /* something ended in a slash: it must be a directory */
	bool too_long; /* tmpfs_walk_parent(): as name it is; said when it is looked up */
	const char *name;
	size_t length;
	/* What is still to be walked: this, then the stack from its top. */
	const char *rest;
	unsigned int links, depth;
	const char *stack[HF_TMPFS_SYMLINKS];
	char copy[HF_TMPFS_NAME_MAX + 1]; /* tmpfs_walk_parent(): of the name */
};

/* All from `dir`, or from the root if the path begins with a slash. The caller has `dir`. */

/* The entry that a path leads to, with a reference. */
TMPFS_PRIVATE int tmpfs_walk_entry(struct tmpfs_inode *dir, const char *path, bool follow,
				   struct tmpfs_dentry **found);
/* The directory of its last component, with a reference; the last one is not followed. */
TMPFS_PRIVATE int tmpfs_walk_parent(struct tmpfs_inode *dir, const char *path,
				    struct tmpfs_walk *walk);
/* The same for open(O_CREAT): the last one is followed, until it is no symlink. */
TMPFS_PRIVATE int tmpfs_walk_create(struct tmpfs_inode *dir, const char *path, bool follow,
				    struct tmpfs_walk *walk);

#endif
