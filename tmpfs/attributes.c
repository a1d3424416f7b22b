/* SPDX-License-Identifier: MIT */
/* attributes - finding nodes, stat and setattr. By descriptor they are in io.c. */
#include "node.h"
#include "walk.h"

HF_TMPFS_API struct hf_tmpfs_node *hf_tmpfs_root(struct hf_tmpfs *fs)
{
	return &tmpfs_root(fs)->node;
}

HF_TMPFS_API int hf_tmpfs_lookup(struct hf_tmpfs_node *dir, const char *path,
				 struct hf_tmpfs_node **node)
{
	struct tmpfs_found found;
	int error = tmpfs_find(dir, path, false, &found);

	if (error)
		return error;
	*node = tmpfs_node_get(found.inode);
	tmpfs_found_put(&found);
	return 0;
}

HF_TMPFS_API int hf_tmpfs_stat(struct hf_tmpfs_node *node, const char *path, bool follow,
			       struct stat *to)
{
	struct tmpfs_found found;
	int error = tmpfs_find(node, path, follow, &found);

	if (error)
		return error;
	tmpfs_inode_stat(found.inode, to);
	tmpfs_found_put(&found);
	return 0;
}

HF_TMPFS_API struct timespec hf_tmpfs_birth(struct hf_tmpfs_node *node)
{
	return tmpfs_inode_of(node)->birth;
}

HF_TMPFS_API int hf_tmpfs_setattr(struct hf_tmpfs_node *node, const char *path, bool follow,
				  const struct hf_tmpfs_attributes *to)
{
	struct tmpfs_found found;
	int error = tmpfs_find(node, path, follow, &found);

	if (error)
		return error;
	error = tmpfs_set_attributes(found.inode, to);
	tmpfs_found_put(&found);
	return error;
}
