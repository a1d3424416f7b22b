/* SPDX-License-Identifier: MIT */
/*
 * walk - path lookup, without locks, and without references to the directories on the way (T1).
 *
 *   rest    "b/c/d"     the remainder of the current path or symlink target
 *   stack   "y/z"       the remainders of the paths in which symlinks were found
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

/* Continues with a symlink's target, from the symlink's directory. */
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

/* Walks to the last component, and leaves it in `name` and `length`. In a read-side section. */
static int walk_to_parent(struct tmpfs_walk *walk)
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

/* In a read-side section. */
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
	return walk_to_parent(walk);
}

/*
 * Looks up the last component; *found = NULL if it does not exist. With `creating`, a name with a
 * slash behind it is not looked up: it could only be a directory.
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
			error = walk_to_parent(walk);
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
		/* Dead: removed or replaced since the lookup. Walk again. */
		if (error || TMPFS_LIKELY(hf_lockref_get_not_dead(&dentry->ref)))
			break;
		tmpfs_rcu_read_unlock();
	}
	tmpfs_rcu_read_unlock();
	*found = dentry;
	return error;
}

/* Takes a reference to the directory and copies the name, for use after the read-side section. */
static int keep(struct tmpfs_walk *walk)
{
	/* A directory whose count is 0 has been removed. */
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

TMPFS_PRIVATE int tmpfs_walk_parent(struct tmpfs_inode *dir, const char *path, bool to_follow,
				    struct tmpfs_walk *walk)
{
	struct tmpfs_dentry *dentry;
	int error;

	tmpfs_rcu_read_lock();
	error = start(walk, dir, path);
	if (!error && to_follow)
		error = last_entry(walk, true, true, &dentry);
	if (!error)
		error = keep(walk);
	tmpfs_rcu_read_unlock();
	return error;
}
