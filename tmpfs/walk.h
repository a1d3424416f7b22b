/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_WALK_H
#define HF_TMPFS_WALK_H
/* walk - from a path to a name in a directory. T1. */
#include "dentry.h"

/* The last name of a path, which it points into, and the directory to look it up in. */
struct tmpfs_walk {
	struct tmpfs_inode *dir; /* a reference */
	const char *name;
	size_t length;
};

/*
 * A path starts at `dir`, to which the caller has a reference; with a slash, at the root. This
 * finds the dentry of its last name, with a reference:
 */
TMPFS_PRIVATE int tmpfs_walk_entry(struct tmpfs_inode *dir, const char *path,
				   struct tmpfs_dentry **found);
/* This finds the directory only. */
TMPFS_PRIVATE int tmpfs_walk_parent(struct tmpfs_inode *dir, const char *path,
				    struct tmpfs_walk *walk);

#endif
