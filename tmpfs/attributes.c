/* SPDX-License-Identifier: MIT */
/* attributes - stat and setattr by path. By node they are in inode.c, by descriptor in io.c. */
#include "walk.h"

static int stat_path(struct hf_tmpfs *fs, const char *path, bool follow, struct stat *to)
{
	struct tmpfs_dentry *dentry;
	int error = tmpfs_walk_entry(tmpfs_root(fs), path, follow, &dentry);

	if (error)
		return error;
	tmpfs_inode_stat(dentry->inode, to);
	tmpfs_dentry_put(dentry);
	return 0;
}

HF_TMPFS_API int hf_tmpfs_stat(struct hf_tmpfs *fs, const char *path, struct stat *to)
{
	return stat_path(fs, path, true, to);
}

HF_TMPFS_API int hf_tmpfs_lstat(struct hf_tmpfs *fs, const char *path, struct stat *to)
{
	return stat_path(fs, path, false, to);
}

HF_TMPFS_API int hf_tmpfs_setattr(struct hf_tmpfs *fs, const char *path, bool follow,
				  const struct hf_tmpfs_attributes *to)
{
	struct tmpfs_dentry *dentry;
	int error = tmpfs_walk_entry(tmpfs_root(fs), path, follow, &dentry);

	if (error)
		return error;
	error = tmpfs_set_attributes(dentry->inode, to);
	tmpfs_dentry_put(dentry);
	return error;
}
