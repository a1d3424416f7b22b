/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_NAME_H
#define HF_TMPFS_NAME_H
/* name - names come and go. L1, L2. */
#include "dentry.h"

/* open(O_CREAT): the entry, made if it is not there. */
TMPFS_PRIVATE int tmpfs_create(struct tmpfs_inode *dir, const char *path, int flags, mode_t mode,
			       struct tmpfs_dentry **found);
/* open(O_TMPFILE): an inode without a name, in the directory that the path leads to. */
TMPFS_PRIVATE int tmpfs_create_nameless(struct tmpfs_inode *dir, const char *path, int flags,
					mode_t mode, struct tmpfs_inode **made);

/* A further name for an inode, which the caller has: link(). */
TMPFS_PRIVATE int tmpfs_link_inode(struct tmpfs_inode *dir, const char *path,
				   struct tmpfs_inode *inode);

#endif
