/* SPDX-License-Identifier: MIT */
/* attributes - finding nodes, stat and setattr. By descriptor they are in io.c. */
#include "node.h"
#include "walk.h"

HF_TMPFS_API struct hf_tmpfs_node *hf_tmpfs_root(struct hf_tmpfs *fs)
{
	return &fs->root->node;
}

HF_TMPFS_API int hf_tmpfs_lookup(struct hf_tmpfs_node *dir, const char *path,
				 struct hf_tmpfs_node **node)
{
	struct tmpfs_dentry *dentry;
	int error = tmpfs_walk_entry(tmpfs_inode_of(dir), path, &dentry);

	if (error)
		return error;
	*node = tmpfs_node_get(dentry->inode);
	tmpfs_dentry_put(dentry);
	return 0;
}

HF_TMPFS_API void hf_tmpfs_stat(struct hf_tmpfs_node *node, struct stat *to)
{
	tmpfs_inode_stat(tmpfs_inode_of(node), to);
}

HF_TMPFS_API int hf_tmpfs_setattr(struct hf_tmpfs_node *node, const struct hf_tmpfs_attributes *to)
{
	return tmpfs_set_attributes(tmpfs_inode_of(node), to);
}
