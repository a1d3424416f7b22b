/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_NODE_H
#define HF_TMPFS_NODE_H
/* node - the program's references to inodes. T7. */
#include "inode.h"

/* Adds a reference to an inode's node. The caller has a reference to the inode. */
TMPFS_PRIVATE struct hf_tmpfs_node *tmpfs_node_get(struct tmpfs_inode *inode);

#endif
