/* SPDX-License-Identifier: MIT */
/*
 * walk - from a path to what it names, without a lock and without a reference on the way (T1).
 *
 *   rest    "b/c/d"     what is left of the string at hand
 *   stack   "y/z"       what is left of those in which a symlink was found on the way
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

static const char *skip_slashes(const char *p)
{
	while (*p == '/')
		p++;
	return p;
}

static struct hf_detail_inode *parent_of(struct hf_detail_inode *dir)
{
	return atomic_load_explicit(&dir->parent, memory_order_acquire);
}

/* Goes on with a symlink's target, from the directory that it stands in. */
static int follow(struct hf_detail_walk *walk, const struct hf_detail_inode *link,
		  const char *behind)
{
	if (++walk->links > HF_TMPFS_SYMLINKS)
		return -ELOOP;
	if (*behind)
		walk->stack[walk->depth++] = behind;
	walk->rest = link->target->text;
	if (*walk->rest == '/')
		walk->dir = hf_detail_root(walk->fs);
	return 0;
}

/* Up to the last component, which stays in name and length. Read side held. */
static int to_last(struct hf_detail_walk *walk)
{
	for (;;) {
		struct hf_detail_dentry *dentry;
		const char *name = skip_slashes(walk->rest), *behind, *end;
		size_t length;
		int error;

		if (!*name && walk->depth) {
			walk->rest = walk->stack[--walk->depth];
			continue;
		}
		end = strchrnul(name, '/');
		length = (size_t)(end - name);
		behind = skip_slashes(end);
		walk->name = name;
		walk->length = length;
		walk->last = length == 0 ? HF_DETAIL_LAST_ROOT : HF_DETAIL_LAST_NAME;
		if (length == 1 && name[0] == '.')
			walk->last = HF_DETAIL_LAST_DOT;
		if (length == 2 && name[0] == '.' && name[1] == '.')
			walk->last = HF_DETAIL_LAST_DOTDOT;
		if (!*behind && !walk->depth) {
			walk->slash |= *end == '/';
			return 0;
		}
		walk->rest = behind;
		if (walk->last == HF_DETAIL_LAST_DOT)
			continue;
		if (walk->last == HF_DETAIL_LAST_DOTDOT) {
			walk->dir = parent_of(walk->dir);
			continue;
		}
		if (length > HF_TMPFS_NAME_MAX)
			return -ENAMETOOLONG;
		dentry = hf_detail_lookup(walk->dir, name, length);
		if (!dentry)
			return -ENOENT;
		if (dentry->inode->type == S_IFLNK) {
			error = follow(walk, dentry->inode, behind);
			if (error)
				return error;
		} else if (hf_detail_is_dir(dentry->inode)) {
			walk->dir = dentry->inode;
		} else {
			return -ENOTDIR;
		}
	}
}

/* Read side held. */
static int start(struct hf_detail_walk *walk, struct hf_detail_inode *dir, const char *path)
{
	size_t length = strnlen(path, HF_TMPFS_PATH_MAX);

	if (length == 0)
		return -ENOENT;
	if (length == HF_TMPFS_PATH_MAX)
		return -ENAMETOOLONG;
	walk->fs = dir->block.fs;
	walk->dir = *path == '/' ? hf_detail_root(walk->fs) : dir;
	walk->slash = false;
	walk->rest = path;
	walk->links = walk->depth = 0;
	if (!hf_detail_is_dir(walk->dir))
		return -ENOTDIR;
	return to_last(walk);
}

/*
 * The last component's dentry, if it is there; symlinks are followed if so wished. What is to be
 * created is not sought behind a slash: it would be a directory.
 */
static int last_entry(struct hf_detail_walk *walk, bool to_follow, bool creating,
		      struct hf_detail_dentry **found)
{
	for (;;) {
		struct hf_detail_dentry *dentry;
		int error;

		*found = NULL;
		if (creating && (walk->slash || walk->last != HF_DETAIL_LAST_NAME))
			return 0;
		if (walk->last == HF_DETAIL_LAST_DOTDOT)
			walk->dir = parent_of(walk->dir);
		if (walk->last != HF_DETAIL_LAST_NAME) {
			*found = atomic_load_explicit(&walk->dir->self, memory_order_acquire);
			return 0;
		}
		if (walk->length > HF_TMPFS_NAME_MAX)
			return -ENAMETOOLONG;
		dentry = hf_detail_lookup(walk->dir, walk->name, walk->length);
		if (!dentry || dentry->inode->type != S_IFLNK || !to_follow) {
			*found = dentry;
			return 0;
		}
		error = follow(walk, dentry->inode, "");
		if (!error)
			error = to_last(walk);
		if (error)
			return error;
	}
}

HF_DETAIL_TMPFS int hf_detail_walk_entry(struct hf_detail_inode *dir, const char *path,
					 bool to_follow, struct hf_detail_dentry **found)
{
	struct hf_detail_walk walk;
	struct hf_detail_dentry *dentry;
	int error;

	for (;;) {
		hf_detail_rcu_read_lock();
		error = start(&walk, dir, path);
		if (!error)
			error = last_entry(&walk, to_follow || walk.slash, false, &dentry);
		if (!error && !dentry)
			error = -ENOENT;
		if (!error && walk.slash && !hf_detail_is_dir(dentry->inode))
			error = -ENOTDIR;
		/* Dead: the name has gone since, or has a new dentry. Look again. */
		if (error || HF_LIKELY(hf_lockref_get_not_dead(&dentry->ref)))
			break;
		hf_detail_rcu_read_unlock();
	}
	hf_detail_rcu_read_unlock();
	*found = dentry;
	return error;
}

/* Makes what a walk found outlive the read side: the directory's reference, the name's copy. */
static int keep(struct hf_detail_walk *walk)
{
	/* A directory without references has been removed. */
	if (!hf_refcount_inc_not_zero(&walk->dir->refs))
		return -ENOENT;
	walk->too_long = walk->length > HF_TMPFS_NAME_MAX;
	if (walk->too_long)
		walk->length = 0;
	memcpy(walk->copy, walk->name, walk->length);
	walk->copy[walk->length] = '\0';
	walk->name = walk->copy;
	return 0;
}

HF_DETAIL_TMPFS int hf_detail_walk_parent(struct hf_detail_inode *dir, const char *path,
					  struct hf_detail_walk *walk)
{
	int error;

	hf_detail_rcu_read_lock();
	error = start(walk, dir, path);
	if (!error)
		error = keep(walk);
	hf_detail_rcu_read_unlock();
	return error;
}

HF_DETAIL_TMPFS int hf_detail_walk_create(struct hf_detail_inode *dir, const char *path,
					  bool to_follow, struct hf_detail_walk *walk)
{
	struct hf_detail_dentry *dentry;
	int error;

	hf_detail_rcu_read_lock();
	error = start(walk, dir, path);
	if (!error)
		error = last_entry(walk, to_follow, true, &dentry);
	if (!error)
		error = keep(walk);
	hf_detail_rcu_read_unlock();
	return error;
}
