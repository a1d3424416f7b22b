/* SPDX-License-Identifier: MIT */
/*
 * walk - from a path to what it names, without a lock and without a reference on the way (T1).
 *
 *   rest    "b/c/d"     what is left of the string at hand
 *   stack   "y/z"       what is left of those in which a symlink was found on the way
 */
#include <errno.h>
#include <string.h>

#include "walk.h"

static const char *skip_slashes(const char *p)
{
	while (*p == '/')
		p++;
	return p;
}

static struct tmpfs_inode *parent_of(struct tmpfs_inode *dir)
{
	return atomic_load_explicit(&dir->parent, memory_order_acquire);
}

/* Goes on with a symlink's target, from the directory that it stands in. */
static int follow(struct tmpfs_walk *walk, const struct tmpfs_inode *link, const char *behind)
{
	if (++walk->links > HF_TMPFS_SYMLINKS)
		return -ELOOP;
	if (*behind)
		walk->stack[walk->depth++] = behind;
	walk->rest = link->target->text;
	if (*walk->rest == '/')
		walk->dir = tmpfs_root(walk->fs);
	return 0;
}

/* Up to the last component, which stays in name and length. Read side held. */
static int to_last(struct tmpfs_walk *walk)
{
	for (;;) {
		struct tmpfs_dentry *dentry;
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
		walk->last = length == 0 ? TMPFS_LAST_ROOT : TMPFS_LAST_NAME;
		if (length == 1 && name[0] == '.')
			walk->last = TMPFS_LAST_DOT;
		if (length == 2 && name[0] == '.' && name[1] == '.')
			walk->last = TMPFS_LAST_DOTDOT;
		if (!*behind && !walk->depth) {
			walk->slash |= *end == '/';
			return 0;
		}
		walk->rest = behind;
		if (walk->last == TMPFS_LAST_DOT)
			continue;
		if (walk->last == TMPFS_LAST_DOTDOT) {
			walk->dir = parent_of(walk->dir);
			continue;
		}
		if (length > HF_TMPFS_NAME_MAX)
			return -ENAMETOOLONG;
		dentry = tmpfs_lookup(walk->dir, name, length);
		if (!dentry)
			return -ENOENT;
		if (dentry->inode->type == S_IFLNK) {
			error = follow(walk, dentry->inode, behind);
			if (error)
				return error;
		} else if (tmpfs_is_dir(dentry->inode)) {
			walk->dir = dentry->inode;
		} else {
			return -ENOTDIR;
		}
	}
}

/* Read side held. */
static int start(struct tmpfs_walk *walk, struct tmpfs_inode *dir, const char *path)
{
	size_t length = strnlen(path, HF_TMPFS_PATH_MAX);

	if (length == 0)
		return -ENOENT;
	if (length == HF_TMPFS_PATH_MAX)
		return -ENAMETOOLONG;
	walk->fs = dir->block.fs;
	walk->dir = *path == '/' ? tmpfs_root(walk->fs) : dir;
	walk->slash = false;
	walk->rest = path;
	walk->links = walk->depth = 0;
	if (!tmpfs_is_dir(walk->dir))
		return -ENOTDIR;
	return to_last(walk);
}

/*
 * The last component's dentry, if it is there; symlinks are followed if so wished. What is to be
 * created is not sought behind a slash: it would be a directory.
 */
static int last_entry(struct tmpfs_walk *walk, bool to_follow, bool creating,
		      struct tmpfs_dentry **found)
{
	for (;;) {
		struct tmpfs_dentry *dentry;
		int error;

		*found = NULL;
		if (creating && (walk->slash || walk->last != TMPFS_LAST_NAME))
			return 0;
		if (walk->last == TMPFS_LAST_DOTDOT)
			walk->dir = parent_of(walk->dir);
		if (walk->last != TMPFS_LAST_NAME) {
			*found = atomic_load_explicit(&walk->dir->self, memory_order_acquire);
			return 0;
		}
		if (walk->length > HF_TMPFS_NAME_MAX)
			return -ENAMETOOLONG;
		dentry = tmpfs_lookup(walk->dir, walk->name, walk->length);
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

TMPFS_PRIVATE int tmpfs_walk_entry(struct tmpfs_inode *dir, const char *path, bool to_follow,
				   struct tmpfs_dentry **found)
{
	struct tmpfs_walk walk;
	struct tmpfs_dentry *dentry = NULL;
	int error;

	for (;;) {
		tmpfs_rcu_read_lock();
		error = start(&walk, dir, path);
		if (!error)
			error = last_entry(&walk, to_follow || walk.slash, false, &dentry);
		if (!error && !dentry)
			error = -ENOENT;
		if (!error && walk.slash && !tmpfs_is_dir(dentry->inode))
			error = -ENOTDIR;
		/* Dead: the name has gone since, or has a new dentry. Look again. */
		if (error || TMPFS_LIKELY(hf_lockref_get_not_dead(&dentry->ref)))
			break;
		tmpfs_rcu_read_unlock();
	}
	tmpfs_rcu_read_unlock();
	*found = dentry;
	return error;
}

/* Makes what a walk found outlive the read side: the directory's reference, the name's copy. */
static int keep(struct tmpfs_walk *walk)
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

TMPFS_PRIVATE int tmpfs_walk_parent(struct tmpfs_inode *dir, const char *path,
				    struct tmpfs_walk *walk)
{
	int error;

	tmpfs_rcu_read_lock();
	error = start(walk, dir, path);
	if (!error)
		error = keep(walk);
	tmpfs_rcu_read_unlock();
	return error;
}

TMPFS_PRIVATE int tmpfs_walk_create(struct tmpfs_inode *dir, const char *path, bool to_follow,
				    struct tmpfs_walk *walk)
{
	struct tmpfs_dentry *dentry;
	int error;

	tmpfs_rcu_read_lock();
	error = start(walk, dir, path);
	if (!error)
		error = last_entry(walk, to_follow, true, &dentry);
	if (!error)
		error = keep(walk);
	tmpfs_rcu_read_unlock();
	return error;
}
