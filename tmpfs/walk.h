/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_WALK_H
#define HF_TMPFS_WALK_H
/* walk - path lookup. T1. */
#include "dentry.h"

enum tmpfs_last { TMPFS_LAST_NAME, TMPFS_LAST_DOT, TMPFS_LAST_DOTDOT, TMPFS_LAST_ROOT };

/* The state of a walk, and its result: the last component and the directory to look it up in. */
struct tmpfs_walk {
	struct hf_tmpfs *fs;
	struct tmpfs_inode *dir; /* tmpfs_walk_parent(): a reference */
	enum tmpfs_last last;
	bool slash;    /* a path or target ended in a slash: the result must be a directory */
	bool too_long; /* tmpfs_walk_parent(): the last name; reported when it is looked up */
	const char *name;
	size_t length;
	/* The remaining path: this, then the stack from its top. */
	const char *rest;
	unsigned int links, depth;
	const char *stack[HF_TMPFS_SYMLINKS];
	char copy[HF_TMPFS_NAME_MAX + 1]; /* tmpfs_walk_parent(): of the name */
};

/*
 * In these two a path starts at `dir`, to which the caller has a reference; with a slash, at the
 * root. The dentry of a path, with a reference:
 */
TMPFS_PRIVATE int tmpfs_walk_entry(struct tmpfs_inode *dir, const char *path, bool follow,
				   struct tmpfs_dentry **found);
/* The directory of its last component, with a reference. `follow`: follows symlinks at the end. */
TMPFS_PRIVATE int tmpfs_walk_parent(struct tmpfs_inode *dir, const char *path, bool follow,
				    struct tmpfs_walk *walk);

#endif
