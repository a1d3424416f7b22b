/* SPDX-License-Identifier: MIT */
/* inode - creation, references, times and attributes. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "inode.h"

/* As in Linux, a long target counts as a page. */
static int new_target(struct hf_tmpfs *fs, const char *text, struct tmpfs_target **target)
{
	size_t size = strlen(text) + 1;

	if (!tmpfs_reserve(&fs->pages_used, fs->page_limit, tmpfs_target_pages(size - 1)))
		return -ENOSPC;
	*target = tmpfs_object_new(fs, TMPFS_KIND_TARGET, sizeof(struct tmpfs_target) + size);
	if (!*target) {
		tmpfs_unreserve(&fs->pages_used, tmpfs_target_pages(size - 1));
		return -ENOMEM;
	}
	memcpy((*target)->text, text, size);
	return 0;
}

/* Sets owner and group of a new inode: see hf_tmpfs_act_as(). */
static void set_owner(struct tmpfs_inode *made, const struct tmpfs_inode *dir)
{
	tmpfs_caller(&made->uid, &made->gid);
	if (!dir || !(dir->mode & S_ISGID))
		return;
	made->gid = dir->gid;
	if (tmpfs_is_dir(made))
		made->mode |= S_ISGID;
}

TMPFS_PRIVATE int tmpfs_inode_new(struct hf_tmpfs *fs, const struct tmpfs_inode *dir,
				  const struct tmpfs_made *what, struct tmpfs_inode **inode)
{
	struct tmpfs_inode *made;
	struct tmpfs_target *target = NULL;
	int error;

	if (!tmpfs_reserve(&fs->inodes_used, fs->inode_limit, 1))
		return -ENOSPC;
	made = tmpfs_object_new(fs, TMPFS_KIND_INODE, sizeof(*made));
	error = made ? 0 : -ENOMEM;
	if (made && what->target)
		error = new_target(fs, what->target, &target);
	if (error) {
		if (made)
			tmpfs_object_delete(&made->block);
		tmpfs_unreserve(&fs->inodes_used, 1);
		return error;
	}
	memset((char *)made + sizeof(made->block), 0, sizeof(*made) - sizeof(made->block));
	hf_refcount_set(&made->refs, 1);
	made->type = what->mode & S_IFMT;
	made->mode = what->mode & 07777;
	made->device = what->device;
	made->number = atomic_fetch_add_explicit(&fs->next_inode, 1, memory_order_relaxed) + 1;
	hf_mutex_init(&made->contents);
	hf_mutex_init(&made->lock);
	hf_spinlock_init(&made->times);
	made->links = tmpfs_is_dir(made) ? 2 : 1;
	set_owner(made, dir);
	made->atime = made->mtime = made->ctime = tmpfs_clock_now(&fs->clock);
	atomic_init(&made->next_cookie, 3); /* behind "." and ".." */
	if (target) {
		made->target = target;
		atomic_store_explicit(&made->size, strlen(target->text), memory_order_relaxed);
	}
	*inode = made;
	return 0;
}

TMPFS_PRIVATE void tmpfs_inode_put(struct tmpfs_inode *inode)
{
	/* Freeing a directory drops its reference to its parent, and so on upwards. */
	while (inode && hf_refcount_dec_and_test(&inode->refs)) {
		struct tmpfs_inode *parent =
			atomic_load_explicit(&inode->parent, memory_order_relaxed);
		struct tmpfs_names *names =
			atomic_load_explicit(&inode->names, memory_order_relaxed);

		/* Without an open file no thread reads these pages: no grace period is needed. */
		tmpfs_pages_free(&inode->tree);
		tmpfs_unreserve(&inode->block.fs->inodes_used, 1);
		/* A walk may still be reading the target, the names or the parent. */
		if (inode->target) {
			inode->block.next = &inode->target->block;
			tmpfs_unreserve(&inode->block.fs->pages_used,
					tmpfs_target_pages(inode->size));
		}
		if (names)
			inode->block.next = &names->block;
		if (parent == inode)
			parent = NULL;
		tmpfs_object_delete_later(&inode->block);
		inode = parent;
	}
}

/* ---- times --------------------------------------------------------------------------------- */

#define DAY (24 * 60 * 60)

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* Under `times`. As with `relatime`, an update is due after a change, or after a day. */
static void set_atime_due(struct tmpfs_inode *inode)
{
	bool fresh = is_later(&inode->atime, &inode->mtime) &&
		     is_later(&inode->atime, &inode->ctime);

	atomic_store_explicit(&inode->atime_due, fresh ? inode->atime.tv_sec + DAY : 0,
			      memory_order_relaxed);
}

TMPFS_PRIVATE void tmpfs_touch_attributes(struct tmpfs_inode *inode)
{
	struct timespec now = tmpfs_clock_now(&inode->block.fs->clock);

	hf_spinlock_lock(&inode->times);
	inode->ctime = now;
	set_atime_due(inode);
	hf_spinlock_unlock(&inode->times);
}

TMPFS_PRIVATE void tmpfs_touch(struct tmpfs_inode *inode)
{
	struct timespec now = tmpfs_clock_now(&inode->block.fs->clock);

	hf_spinlock_lock(&inode->times);
	inode->mtime = inode->ctime = now;
	set_atime_due(inode);
	hf_spinlock_unlock(&inode->times);
}

TMPFS_PRIVATE void tmpfs_accessed(struct tmpfs_inode *inode)
{
	struct timespec now;

	if (inode->block.fs->options.noatime)
		return;
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	if (TMPFS_LIKELY(now.tv_sec <
			 atomic_load_explicit(&inode->atime_due, memory_order_relaxed)))
		return;
	now = tmpfs_clock_now(&inode->block.fs->clock);
	hf_spinlock_lock(&inode->times);
	inode->atime = now;
	set_atime_due(inode);
	hf_spinlock_unlock(&inode->times);
}

/* ---- attributes ---------------------------------------------------------------------------- */

TMPFS_PRIVATE void tmpfs_inode_stat(struct tmpfs_inode *inode, struct stat *to)
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
	if (tmpfs_is_dir(inode)) /* as in Linux's tmpfs: 20 bytes a name, also for "." and ".." */
		to->st_size = (off_t)(20 * (inode->tree.items + 2));
	else
		to->st_blocks = (blkcnt_t)((inode->tree.items +
					    tmpfs_target_pages(inode->target ? inode->size : 0)) *
					   (HF_TMPFS_PAGE / 512));
	hf_spinlock_lock(&inode->times);
	to->st_atim = inode->atime;
	to->st_mtim = inode->mtime;
	to->st_ctim = inode->ctime;
	hf_spinlock_unlock(&inode->times);
	hf_mutex_unlock(&inode->lock);
}

TMPFS_PRIVATE int tmpfs_set_attributes(struct tmpfs_inode *inode,
				       const struct hf_tmpfs_attributes *to)
{
	const unsigned int known = HF_TMPFS_SET_MODE | HF_TMPFS_SET_UID | HF_TMPFS_SET_GID |
				   HF_TMPFS_SET_ATIME | HF_TMPFS_SET_MTIME;
	struct timespec now;

	if (to->set & ~known)
		return -EINVAL;
	hf_mutex_lock(&inode->lock);
	if (to->set & HF_TMPFS_SET_MODE)
		inode->mode = to->mode & 07777;
	if (to->set & HF_TMPFS_SET_UID)
		inode->uid = to->uid;
	if (to->set & HF_TMPFS_SET_GID)
		inode->gid = to->gid;
	now = tmpfs_clock_now(&inode->block.fs->clock);
	hf_spinlock_lock(&inode->times);
	if (to->set & HF_TMPFS_SET_ATIME)
		inode->atime = to->atime.tv_nsec == UTIME_NOW ? now : to->atime;
	if (to->set & HF_TMPFS_SET_MTIME)
		inode->mtime = to->mtime.tv_nsec == UTIME_NOW ? now : to->mtime;
	inode->ctime = now;
	set_atime_due(inode);
	hf_spinlock_unlock(&inode->times);
	hf_mutex_unlock(&inode->lock);
	return 0;
}
