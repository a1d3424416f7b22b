/* SPDX-License-Identifier: MIT */
/* inode - what a name stands for, from its first reference to its last; attributes. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static struct hf__target *new_target(struct hf_tmpfs *fs, const char *text)
{
	size_t size = strlen(text) + 1;
	struct hf__target *target =
		hf__new(fs, HF__KIND_TARGET, sizeof(struct hf__target) + size, 0);

	if (target)
		memcpy(target->text, text, size);
	return target;
}

HF__TMPFS int hf__inode_new(struct hf_tmpfs *fs, mode_t mode, const char *text,
			    struct hf__inode **inode)
{
	struct hf__inode *new;
	struct hf__target *target = NULL;

	if (!hf__reserve(&fs->inodes_used, fs->inode_limit, 1))
		return -ENOSPC;
	new = hf__new(fs, HF__KIND_INODE, sizeof(*new), 0);
	if (new &&text) {
		target = new_target(fs, text);
		if (!target) {
			hf__delete(&new->block);
			new = NULL;
		}
	}
	if (!new) {
		hf__unreserve(&fs->inodes_used, 1);
		return -ENOMEM;
	}
	memset((char *)new + sizeof(new->block), 0, sizeof(*new) - sizeof(new->block));
	hf_refcount_set(&new->refs, 1);
	new->type = mode &S_IFMT;
	new->mode = mode & 07777;
	new->number = atomic_fetch_add_explicit(&fs->next_inode, 1, memory_order_relaxed) + 1;
	pthread_mutex_init(&new->lock, NULL);
	new->links = hf__is_dir(new) ? 2 : 1;
	new->uid = geteuid();
	new->gid = getegid();
	new->atime = new->mtime = new->ctime = hf__now();
	hf__list_init(&new->children);
	new->next_cookie = 3; /* behind "." and ".." */
	if (target) {
		new->target = target;
		atomic_store_explicit(&new->size, strlen(text), memory_order_relaxed);
	}
	*inode = new;
	return 0;
}

HF__TMPFS void hf__inode_put(struct hf__inode *inode)
{
	/* A directory's end drops its parent's reference, and so on upwards. */
	while (inode && hf_refcount_dec_and_test(&inode->refs)) {
		struct hf__inode *parent =
			atomic_load_explicit(&inode->parent, memory_order_relaxed);

		/* No open file, so nobody reads these pages: nothing to wait for. */
		hf__pages_free(inode);
		hf__unreserve(&inode->block.fs->inodes_used, 1);
		pthread_mutex_destroy(&inode->lock);
		/* A walk may still stand here, and read the target or the parent. */
		if (inode->target)
			inode->block.next = &inode->target->block;
		if (parent == inode)
			parent = NULL;
		hf__delete_later(&inode->block);
		inode = parent;
	}
}

/* ---- attributes ---------------------------------------------------------------------------- */

HF__TMPFS void hf__inode_stat(struct hf__inode *inode, struct stat *to)
{
	memset(to, 0, sizeof(*to));
	pthread_mutex_lock(&inode->lock);
	to->st_ino = inode->number;
	to->st_mode = inode->type | inode->mode;
	to->st_nlink = inode->links;
	to->st_uid = inode->uid;
	to->st_gid = inode->gid;
	to->st_size = (off_t)atomic_load_explicit(&inode->size, memory_order_relaxed);
	to->st_blksize = HF_TMPFS_PAGE;
	to->st_blocks = (blkcnt_t)(inode->pages * (HF_TMPFS_PAGE / 512));
	to->st_atim = inode->atime;
	to->st_mtim = inode->mtime;
	to->st_ctim = inode->ctime;
	pthread_mutex_unlock(&inode->lock);
}

static int stat_path(struct hf_tmpfs *fs, const char *path, bool follow, struct stat *to)
{
	struct hf__dentry *dentry;
	int error = hf__walk_entry(fs, path, follow, &dentry);

	if (error)
		return error;
	hf__inode_stat(dentry->inode, to);
	hf__dentry_put(dentry);
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

HF_TMPFS_API int hf_tmpfs_fstat(struct hf_tmpfs_table *table, int fd, struct stat *to)
{
	struct hf__file *file = hf__file_get(table, fd);

	if (!file)
		return -EBADF;
	hf__inode_stat(file->inode, to);
	hf__file_put(table, file);
	return 0;
}

static int set_attributes(struct hf__inode *inode, const struct hf_tmpfs_attributes *to)
{
	const unsigned int known = HF_TMPFS_SET_MODE | HF_TMPFS_SET_UID | HF_TMPFS_SET_GID |
				   HF_TMPFS_SET_ATIME | HF_TMPFS_SET_MTIME;

	if (to->set & ~known)
		return -EINVAL;
	pthread_mutex_lock(&inode->lock);
	if (to->set & HF_TMPFS_SET_MODE)
		inode->mode = to->mode & 07777;
	if (to->set & HF_TMPFS_SET_UID)
		inode->uid = to->uid;
	if (to->set & HF_TMPFS_SET_GID)
		inode->gid = to->gid;
	if (to->set & HF_TMPFS_SET_ATIME)
		inode->atime = to->atime;
	if (to->set & HF_TMPFS_SET_MTIME)
		inode->mtime = to->mtime;
	inode->ctime = hf__now();
	pthread_mutex_unlock(&inode->lock);
	return 0;
}

HF_TMPFS_API int hf_tmpfs_setattr(struct hf_tmpfs *fs, const char *path, bool follow,
				  const struct hf_tmpfs_attributes *to)
{
	struct hf__dentry *dentry;
	int error = hf__walk_entry(fs, path, follow, &dentry);

	if (error)
		return error;
	error = set_attributes(dentry->inode, to);
	hf__dentry_put(dentry);
	return error;
}

HF_TMPFS_API int hf_tmpfs_fsetattr(struct hf_tmpfs_table *table, int fd,
				   const struct hf_tmpfs_attributes *to)
{
	struct hf__file *file = hf__file_get(table, fd);
	int error;

	if (!file)
		return -EBADF;
	error = set_attributes(file->inode, to);
	hf__file_put(table, file);
	return error;
}
