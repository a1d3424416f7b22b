/* SPDX-License-Identifier: MIT */
/* inode - what a name stands for, from its first reference to its last; attributes. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "internal.h"

static struct hf__target *new_target(struct hf_tmpfs *fs, const char *text)
{
	size_t size = strlen(text) + 1;
	struct hf__target *target = hf__new(fs, HF__KIND_TARGET, sizeof(struct hf__target) + size);

	if (target)
		memcpy(target->text, text, size);
	return target;
}

/* Owner and mode of what is made in a directory: see hf_tmpfs_act_as(). */
static void set_owner(struct hf__inode *made, const struct hf__inode *dir)
{
	struct hf_tmpfs_caller caller = hf__caller();
	const mode_t group_runs = S_ISGID | S_IXGRP;

	made->uid = caller.uid;
	made->gid = caller.gid;
	if (!dir || !(dir->mode & S_ISGID))
		return;
	made->gid = dir->gid;
	if (hf__is_dir(made))
		made->mode |= S_ISGID;
	else if ((made->mode & group_runs) == group_runs && !caller.privileged &&
		 caller.gid != dir->gid)
		made->mode &= ~(mode_t)S_ISGID;
}

HF__TMPFS int hf__inode_new(struct hf_tmpfs *fs, const struct hf__inode *dir,
			    const struct hf__made *what, struct hf__inode **inode)
{
	struct hf__inode *made;
	struct hf__target *target = NULL;

	if (!hf__reserve(&fs->inodes_used, fs->inode_limit, 1))
		return -ENOSPC;
	made = hf__new(fs, HF__KIND_INODE, sizeof(*made));
	if (made && what->target) {
		target = new_target(fs, what->target);
		if (!target) {
			hf__delete(&made->block);
			made = NULL;
		}
	}
	if (!made) {
		hf__unreserve(&fs->inodes_used, 1);
		return -ENOMEM;
	}
	memset((char *)made + sizeof(made->block), 0, sizeof(*made) - sizeof(made->block));
	hf_refcount_set(&made->refs, 1);
	made->type = what->mode & S_IFMT;
	made->mode = what->mode & 07777;
	made->device = what->device;
	made->number = atomic_fetch_add_explicit(&fs->next_inode, 1, memory_order_relaxed) + 1;
	hf_mutex_init(&made->lock);
	hf_spinlock_init(&made->times);
	made->links = hf__is_dir(made) ? 2 : 1;
	set_owner(made, dir);
	made->atime = made->mtime = made->ctime = hf__now();
	atomic_init(&made->next_cookie, 3); /* behind "." and ".." */
	if (target) {
		made->target = target;
		atomic_store_explicit(&made->size, strlen(target->text), memory_order_relaxed);
	}
	*inode = made;
	return 0;
}

HF__TMPFS void hf__inode_put(struct hf__inode *inode)
{
	/* A directory's end drops its parent's reference, and so on upwards. */
	while (inode && hf_refcount_dec_and_test(&inode->refs)) {
		struct hf__inode *parent =
			atomic_load_explicit(&inode->parent, memory_order_relaxed);
		struct hf__names *names = atomic_load_explicit(&inode->names, memory_order_relaxed);

		/* No open file, so nobody reads these pages: nothing to wait for. */
		hf__pages_free(inode);
		hf__xattrs_free(inode);
		hf__unreserve(&inode->block.fs->inodes_used, 1);
		/* A walk may still stand here, and read the target, the names or the parent. */
		if (inode->target)
			inode->block.next = &inode->target->block;
		else if (names)
			inode->block.next = &names->block;
		if (parent == inode)
			parent = NULL;
		hf__delete_later(&inode->block);
		inode = parent;
	}
}

/* ---- times --------------------------------------------------------------------------------- */

#define DAY (24 * 60 * 60)

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* Lock of the times held. As with `relatime`: after a change, or a day. */
static void set_atime_due(struct hf__inode *inode)
{
	bool fresh = is_later(&inode->atime, &inode->mtime) &&
		     is_later(&inode->atime, &inode->ctime);

	atomic_store_explicit(&inode->atime_due, fresh ? inode->atime.tv_sec + DAY : 0,
			      memory_order_relaxed);
}

HF__TMPFS void hf__touch_attributes(struct hf__inode *inode)
{
	struct timespec now = hf__now();

	hf_spinlock_lock(&inode->times);
	inode->ctime = now;
	set_atime_due(inode);
	hf_spinlock_unlock(&inode->times);
}

HF__TMPFS void hf__touch(struct hf__inode *inode)
{
	struct timespec now = hf__now();

	hf_spinlock_lock(&inode->times);
	inode->mtime = inode->ctime = now;
	set_atime_due(inode);
	hf_spinlock_unlock(&inode->times);
}

HF__TMPFS void hf__accessed(struct hf__inode *inode)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	if (HF_LIKELY(now.tv_sec < atomic_load_explicit(&inode->atime_due, memory_order_relaxed)))
		return;
	now = hf__now();
	hf_spinlock_lock(&inode->times);
	inode->atime = now;
	set_atime_due(inode);
	hf_spinlock_unlock(&inode->times);
}

/* ---- attributes ---------------------------------------------------------------------------- */

/* Of a regular file's mode, what lets who runs it act as its owner or group. */
static mode_t setuid_bits(const struct hf__inode *inode)
{
	mode_t bits = 0;

	if (inode->type == S_IFREG)
		bits = inode->mode & S_ISUID;
	if (inode->type == S_IFREG && (inode->mode & S_IXGRP))
		bits |= inode->mode & S_ISGID;
	return bits;
}

HF__TMPFS void hf__drop_setuid(struct hf__inode *inode)
{
	mode_t bits = setuid_bits(inode);

	if (HF_UNLIKELY(bits != 0) && !hf__caller().privileged)
		inode->mode &= ~bits;
}

HF__TMPFS void hf__inode_stat(struct hf__inode *inode, struct stat *to)
{
	memset(to, 0, sizeof(*to));
	hf_mutex_lock(&inode->lock);
	to->st_ino = inode->number;
	to->st_mode = inode->type | inode->mode;
	to->st_nlink = inode->links;
	to->st_rdev = inode->device;
	to->st_uid = inode->uid;
	to->st_gid = inode->gid;
	to->st_size = (off_t)atomic_load_explicit(&inode->size, memory_order_relaxed);
	to->st_blksize = HF_TMPFS_PAGE;
	if (!hf__is_dir(inode))
		to->st_blocks = (blkcnt_t)(inode->items * (HF_TMPFS_PAGE / 512));
	hf_spinlock_lock(&inode->times);
	to->st_atim = inode->atime;
	to->st_mtim = inode->mtime;
	to->st_ctim = inode->ctime;
	hf_spinlock_unlock(&inode->times);
	hf_mutex_unlock(&inode->lock);
}

static int stat_path(struct hf_tmpfs *fs, const char *path, bool follow, struct stat *to)
{
	struct hf__dentry *dentry;
	int error = hf__walk_entry(hf__root(fs), path, follow, &dentry);

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

HF_TMPFS_API void hf_tmpfs_node_stat(struct hf_tmpfs_node *node, struct stat *to)
{
	hf__inode_stat(hf__inode_of(node), to);
}

static int set_attributes(struct hf__inode *inode, const struct hf_tmpfs_attributes *to)
{
	const unsigned int known = HF_TMPFS_SET_MODE | HF_TMPFS_SET_UID | HF_TMPFS_SET_GID |
				   HF_TMPFS_SET_ATIME | HF_TMPFS_SET_MTIME;

	if (to->set & ~known)
		return -EINVAL;
	hf_mutex_lock(&inode->lock);
	if (to->set & (HF_TMPFS_SET_UID | HF_TMPFS_SET_GID))
		inode->mode &= ~setuid_bits(inode);
	if (to->set & HF_TMPFS_SET_MODE)
		inode->mode = to->mode & 07777;
	if (to->set & HF_TMPFS_SET_UID)
		inode->uid = to->uid;
	if (to->set & HF_TMPFS_SET_GID)
		inode->gid = to->gid;
	hf_spinlock_lock(&inode->times);
	if (to->set & HF_TMPFS_SET_ATIME)
		inode->atime = to->atime;
	if (to->set & HF_TMPFS_SET_MTIME)
		inode->mtime = to->mtime;
	hf_spinlock_unlock(&inode->times);
	hf__touch_attributes(inode);
	hf_mutex_unlock(&inode->lock);
	return 0;
}

HF_TMPFS_API int hf_tmpfs_setattr(struct hf_tmpfs *fs, const char *path, bool follow,
				  const struct hf_tmpfs_attributes *to)
{
	struct hf__dentry *dentry;
	int error = hf__walk_entry(hf__root(fs), path, follow, &dentry);

	if (error)
		return error;
	error = set_attributes(dentry->inode, to);
	hf__dentry_put(dentry);
	return error;
}

HF_TMPFS_API int hf_tmpfs_node_setattr(struct hf_tmpfs_node *node,
				       const struct hf_tmpfs_attributes *to)
{
	return set_attributes(hf__inode_of(node), to);
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
