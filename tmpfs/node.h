/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_NODE_H
#define HF_TMPFS_NODE_H
/* node - inodes in the hands of the program. T7. */
#include "inode.h"

/* One more reference to the node of an inode that the caller has. */
TMPFS_PRIVATE struct hf_tmpfs_node *tmpfs_node_get(struct tmpfs_inode *inode);

#endif
