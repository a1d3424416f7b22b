/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_NAME_H
#define HF_TMPFS_NAME_H
/* name - creating and removing names. L1, L2. */
#include "dentry.h"

/* open(O_CREAT): finds the entry, or creates it. */
TMPFS_PRIVATE int tmpfs_create(struct tmpfs_inode *dir, const char *path, int flags, mode_t mode,
			       struct tmpfs_dentry **found);

#endif
