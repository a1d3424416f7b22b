/* SPDX-License-Identifier: MIT */
/* walk - path lookup, without locks, and without references to the directories on the way (T1). */
#include <errno.h>
#include <string.h>

#include "walk.h"

static const char *skip_slashes(const char *p)
{
	while (*p == '/')
		p++;
	return p;
}

/* "." and "..", which a directory lists but does not contain, are for the caller to resolve. */
static bool is_name(const char *name, size_t length)
{
	return length > 0 && !(name[0] == '.' && (length == 1 || (length == 2 && name[1] == '.')));
}

/* Walks to the last name. In a read-side section. */
static int walk_to_parent(struct tmpfs_walk *walk, struct tmpfs_inode *dir, const char *path)
{
	const char *name = skip_slashes(path), *rest;

	if (*path == '/')
		dir = dir->block.fs->root;
	for (;; name = rest) {
		const char *end = strchrnul(name, '/');
		size_t length = (size_t)(end - name);
		struct tmpfs_dentry *dentry;

		if (!tmpfs_is_dir(dir))
			return dir->type == S_IFLNK ? -ELOOP : -ENOTDIR;
		if (!is_name(name, length))
			return -EINVAL;
		if (length > HF_TMPFS_NAME_MAX)
			return -ENAMETOOLONG;
		rest = skip_slashes(end);
		if (!*rest) {
			*walk = (struct tmpfs_walk){ dir, name, length };
			return 0;
		}
		dentry = tmpfs_lookup(dir, name, length);
		if (!dentry)
			return -ENOENT;
		dir = dentry->inode;
	}
}

TMPFS_PRIVATE int tmpfs_walk_entry(struct tmpfs_inode *dir, const char *path,
				   struct tmpfs_dentry **found)
{
	struct tmpfs_walk walk;
	int error;

	for (;;) {
		tmpfs_rcu_read_lock();
		error = walk_to_parent(&walk, dir, path);
		if (!error) {
			*found = tmpfs_lookup(walk.dir, walk.name, walk.length);
			error = *found ? 0 : -ENOENT;
		}
		/* Dead: removed or replaced since the lookup. Walk again. */
		if (error || TMPFS_LIKELY(hf_lockref_get_not_dead(&(*found)->ref)))
			break;
		tmpfs_rcu_read_unlock();
	}
	tmpfs_rcu_read_unlock();
	return error;
}

TMPFS_PRIVATE int tmpfs_walk_parent(struct tmpfs_inode *dir, const char *path,
				    struct tmpfs_walk *walk)
{
	int error;

	tmpfs_rcu_read_lock();
	error = walk_to_parent(walk, dir, path);
	/* A directory whose count is 0 has been removed. */
	if (!error && !hf_refcount_inc_not_zero(&walk->dir->refs))
		error = -ENOENT;
	tmpfs_rcu_read_unlock();
	return error;
}
