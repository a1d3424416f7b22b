/* SPDX-License-Identifier: MIT */
/*
 * node - the program's references to inodes (T7).
 *
 *   fs->nodes  -> inode: references 3   all three together: 1 of its refcount
 *              -> inode: references 1
 *
 * The number is wider than a refcount, because a mount's kernel adds a reference at each lookup and
 * drops them later, all at once. The list lets the check find unlinked inodes.
 */
#include "node.h"

TMPFS_PRIVATE struct hf_tmpfs_node *tmpfs_node_get(struct tmpfs_inode *inode)
{
	struct hf_tmpfs *fs = inode->block.fs;

	hf_spinlock_lock(&fs->nodes_lock);
	if (inode->node.references++ == 0) {
		hf_refcount_inc(&inode->refs);
		tmpfs_list_add_last(&fs->nodes, &inode->node.siblings);
	}
	hf_spinlock_unlock(&fs->nodes_lock);
	return &inode->node;
}

HF_TMPFS_API void hf_tmpfs_node_get(struct hf_tmpfs_node *node)
{
	(void)tmpfs_node_get(tmpfs_inode_of(node));
}

HF_TMPFS_API void hf_tmpfs_node_put(struct hf_tmpfs_node *node, uint64_t count)
{
	struct tmpfs_inode *inode = tmpfs_inode_of(node);
	struct hf_tmpfs *fs = inode->block.fs;
	bool last = false, good;

	hf_spinlock_lock(&fs->nodes_lock);
	good = count <= node->references;
	if (good && count > 0) {
		node->references -= count;
		last = node->references == 0;
	}
	if (last)
		tmpfs_list_remove(&node->siblings);
	hf_spinlock_unlock(&fs->nodes_lock);
	if (!good)
		hf_report(HF_REPORT_SUB_UAF, node);
	if (last)
		tmpfs_inode_put(inode);
}

HF_TMPFS_API void hf_tmpfs_nodes_put(struct hf_tmpfs *fs)
{
	while (fs->nodes.next != &fs->nodes) {
		struct hf_tmpfs_node *node =
			TMPFS_OBJECT(fs->nodes.next, struct hf_tmpfs_node, siblings);

		hf_tmpfs_node_put(node, node->references);
	}
}
