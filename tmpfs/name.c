/* SPDX-License-Identifier: MIT */
/* name - create, link, remove, rename. All under the directory's mutex (L2). */
#include <errno.h>
#include <string.h>

#include "holdfast/nofault.h"

#include "name.h"
#include "node.h"
#include "walk.h"

static void touch_change(struct tmpfs_inode *inode)
{
	hf_mutex_lock(&inode->lock);
	tmpfs_touch_attributes(inode);
	hf_mutex_unlock(&inode->lock);
}

/* ---- make ---------------------------------------------------------------------------------- */

/* Creates an inode with the walk's name, which does not exist. Under the directory's mutex. */
static int make(struct tmpfs_walk *walk, const struct tmpfs_made *what, struct tmpfs_dentry **made)
{
	struct tmpfs_inode *dir = walk->dir, *inode;
	struct tmpfs_dentry *dentry = tmpfs_dentry_new(dir->block.fs, walk->name, walk->length);
	int error;

	if (!dentry)
		return -ENOMEM;
	error = tmpfs_inode_new(dir->block.fs, dir, what, &inode);
	if (error) {
		tmpfs_object_delete(&dentry->block);
		return error;
	}
	if (tmpfs_is_dir(inode)) {
		hf_refcount_inc(&dir->refs);
		atomic_store_explicit(&inode->parent, dir, memory_order_release);
	}
	error = tmpfs_dentry_add(dir, dentry, inode);
	if (error) {
		tmpfs_inode_put(inode);
		tmpfs_object_delete(&dentry->block);
		return error;
	}
	if (tmpfs_is_dir(inode))
		dir->links++;
	tmpfs_touch(dir);
	*made = dentry;
	return 0;
}

/* Adds a link to a file. As make(). */
static int make_link(struct tmpfs_walk *walk, struct tmpfs_inode *inode)
{
	struct hf_tmpfs *fs = inode->block.fs;
	struct tmpfs_dentry *dentry = tmpfs_dentry_new(fs, walk->name, walk->length);
	int error;

	if (!dentry)
		return -ENOMEM;
	hf_mutex_lock(&inode->lock); /* L3 */
	if (inode->links == 0) {
		error = -ENOENT; /* unlinked since it was found */
	} else if (!tmpfs_reserve(&fs->inodes_used, fs->inode_limit, 1)) {
		error = -ENOSPC;
	} else {
		hf_refcount_inc(&inode->refs);
		error = tmpfs_dentry_add(walk->dir, dentry, inode);
		if (error)
			tmpfs_unreserve(&fs->inodes_used, 1);
	}
	if (!error) {
		inode->links++;
		tmpfs_touch_attributes(inode);
	}
	hf_mutex_unlock(&inode->lock);
	if (error) {
		if (error == -ENOMEM)
			tmpfs_inode_put(inode); /* the caller has one, too */
		tmpfs_object_delete(&dentry->block);
		return error;
	}
	tmpfs_touch(walk->dir);
	return 0;
}

/* Adds a name that must not exist, for `linked`, or for a new inode if that is NULL. */
static int add_name(struct hf_tmpfs_node *dir, const char *path, const struct tmpfs_made *what,
		    struct tmpfs_inode *linked, struct hf_tmpfs_node **node)
{
	struct tmpfs_dentry *made = NULL;
	struct tmpfs_walk walk;
	int error = tmpfs_walk_parent(tmpfs_inode_of(dir), path, &walk);

	if (error)
		return error;
	hf_mutex_lock(&walk.dir->lock);
	if (walk.dir->removed)
		error = -ENOENT;
	else if (tmpfs_lookup(walk.dir, walk.name, walk.length))
		error = -EEXIST;
	else if (linked && tmpfs_is_dir(linked))
		error = -EPERM;
	else if (linked)
		error = make_link(&walk, linked);
	else
		error = make(&walk, what, &made);
	if (!error && node)
		*node = tmpfs_node_get(made->inode);
	hf_mutex_unlock(&walk.dir->lock);
	tmpfs_inode_put(walk.dir);
	return error;
}

HF_TMPFS_API int hf_tmpfs_mkdir(struct hf_tmpfs_node *dir, const char *path, mode_t mode,
				struct hf_tmpfs_node **node)
{
	const struct tmpfs_made what = { .mode = S_IFDIR | (mode & 07777) };

	return add_name(dir, path, &what, NULL, node);
}

HF_TMPFS_API int hf_tmpfs_symlink(const char *target, struct hf_tmpfs_node *dir, const char *path,
				  struct hf_tmpfs_node **node)
{
	const struct tmpfs_made what = { .mode = S_IFLNK | 0777, .target = target };
	size_t length = strnlen(target, HF_TMPFS_TARGET_MAX + 1);

	if (length == 0)
		return -ENOENT;
	if (length > HF_TMPFS_TARGET_MAX)
		return -ENAMETOOLONG;
	return add_name(dir, path, &what, NULL, node);
}

HF_TMPFS_API int hf_tmpfs_mknod(struct hf_tmpfs_node *dir, const char *path, mode_t mode,
				dev_t device, struct hf_tmpfs_node **node)
{
	struct tmpfs_made what = { .mode = mode };

	switch (mode & S_IFMT) {
	case 0:
		what.mode |= S_IFREG;
		break;
	case S_IFREG:
	case S_IFIFO:
	case S_IFSOCK:
		break;
	case S_IFCHR:
	case S_IFBLK:
		what.device = device;
		break;
	case S_IFDIR:
		return -EPERM;
	default:
		return -EINVAL;
	}
	return add_name(dir, path, &what, NULL, node);
}

HF_TMPFS_API int hf_tmpfs_link(struct hf_tmpfs_node *node, struct hf_tmpfs_node *dir,
			       const char *path)
{
	struct tmpfs_inode *inode = tmpfs_inode_of(node);

	if (inode->block.fs != tmpfs_inode_of(dir)->block.fs)
		return -EXDEV;
	return add_name(dir, path, NULL, inode, NULL);
}

TMPFS_PRIVATE int tmpfs_create(struct tmpfs_inode *dir, const char *path, int flags, mode_t mode,
			       struct tmpfs_dentry **found)
{
	const struct tmpfs_made what = { .mode = S_IFREG | (mode & 07777) };
	struct tmpfs_walk walk;
	int error = tmpfs_walk_parent(dir, path, &walk);

	if (error)
		return error;
	hf_mutex_lock(&walk.dir->lock);
	*found = tmpfs_lookup(walk.dir, walk.name, walk.length);
	if (walk.dir->removed)
		error = -ENOENT;
	else if (!*found)
		error = make(&walk, &what, found);
	else if (flags & O_EXCL)
		error = -EEXIST;
	if (!error)
		hf_lockref_get(&(*found)->ref);
	hf_mutex_unlock(&walk.dir->lock);
	tmpfs_inode_put(walk.dir);
	return error;
}

/* ---- remove -------------------------------------------------------------------------------- */

/* Drops a link. */
static void drop_link(struct tmpfs_inode *inode)
{
	hf_mutex_lock(&inode->lock); /* L3 */
	inode->links--;
	tmpfs_touch_attributes(inode);
	/* The inode itself is uncounted when it is freed, an additional link now. */
	if (inode->links > 0)
		tmpfs_unreserve(&inode->block.fs->inodes_used, 1);
	hf_mutex_unlock(&inode->lock);
}

/* Marks an empty directory as removed: from now on no name can be added. */
static int mark_removed(struct tmpfs_inode *inode)
{
	int error = 0;

	hf_mutex_lock(&inode->lock); /* L2: its parent's is held */
	if (inode->tree.items > 0) {
		error = -ENOTEMPTY;
	} else {
		inode->removed = true;
		inode->links = 0;
		tmpfs_touch_attributes(inode);
	}
	hf_mutex_unlock(&inode->lock);
	return error;
}

static int unlink_locked(struct tmpfs_walk *walk, struct tmpfs_dentry **gone)
{
	struct tmpfs_dentry *dentry = tmpfs_lookup(walk->dir, walk->name, walk->length);

	if (!dentry)
		return -ENOENT;
	if (tmpfs_is_dir(dentry->inode))
		return -EISDIR;
	drop_link(dentry->inode);
	*gone = dentry;
	return 0;
}

static int rmdir_locked(struct tmpfs_walk *walk, struct tmpfs_dentry **gone)
{
	struct tmpfs_dentry *dentry = tmpfs_lookup(walk->dir, walk->name, walk->length);
	int error;

	if (!dentry)
		return -ENOENT;
	if (!tmpfs_is_dir(dentry->inode))
		return -ENOTDIR;
	error = mark_removed(dentry->inode);
	if (error)
		return error;
	walk->dir->links--;
	*gone = dentry;
	return 0;
}

static int remove_name(struct hf_tmpfs_node *dir, const char *path, bool is_dir)
{
	struct tmpfs_dentry *gone = NULL;
	struct tmpfs_walk walk;
	int error = tmpfs_walk_parent(tmpfs_inode_of(dir), path, &walk);

	if (error)
		return error;
	hf_mutex_lock(&walk.dir->lock);
	error = is_dir ? rmdir_locked(&walk, &gone) : unlink_locked(&walk, &gone);
	if (gone) {
		tmpfs_dentry_remove(walk.dir, gone);
		tmpfs_touch(walk.dir);
	}
	hf_mutex_unlock(&walk.dir->lock);
	if (gone)
		tmpfs_dentry_put(gone); /* T2: the tree's reference */
	tmpfs_inode_put(walk.dir);
	return error;
}

HF_TMPFS_API int hf_tmpfs_unlink(struct hf_tmpfs_node *dir, const char *path)
{
	return remove_name(dir, path, false);
}

HF_TMPFS_API int hf_tmpfs_rmdir(struct hf_tmpfs_node *dir, const char *path)
{
	return remove_name(dir, path, true);
}

/* ---- rename -------------------------------------------------------------------------------- */

/* One of the two names: its dentry now, and its dentry after the rename. */
struct side {
	struct tmpfs_walk walk;
	struct tmpfs_dentry *dentry, *fresh;
};

struct renaming {
	struct side from, to;
	unsigned int flags;
	struct tmpfs_inode *trap; /* entry of the upper directory that leads to the lower one */
	struct tmpfs_inode *parents[2]; /* references to be dropped at the end */
};

/* The child of `top` that is `from` or its ancestor; NULL = `top` is not an ancestor. Under L1. */
static struct tmpfs_inode *child_towards(const struct tmpfs_inode *top, struct tmpfs_inode *from)
{
	for (;;) {
		struct tmpfs_inode *parent =
			atomic_load_explicit(&from->parent, memory_order_relaxed);

		if (parent == from)
			return NULL;
		if (parent == top)
			return from;
		from = parent;
	}
}

/* L1, L2. */
static void lock_both(struct hf_tmpfs *fs, struct renaming *r) TMPFS_NO_ANALYSIS
{
	struct tmpfs_inode *first = r->from.walk.dir, *second = r->to.walk.dir;

	r->trap = NULL;
	if (first == second) {
		hf_mutex_lock(&first->lock);
		return;
	}
	hf_mutex_lock(&fs->rename);
	r->trap = child_towards(first, second);
	if (!r->trap) {
		r->trap = child_towards(second, first);
		if (r->trap || first->number > second->number) {
			struct tmpfs_inode *other = first;

			first = second;
			second = other;
		}
	}
	hf_mutex_lock(&first->lock);
	hf_mutex_lock(&second->lock);
}

static void unlock_both(struct hf_tmpfs *fs, struct renaming *r) TMPFS_NO_ANALYSIS
{
	hf_mutex_unlock(&r->from.walk.dir->lock);
	if (r->from.walk.dir == r->to.walk.dir)
		return;
	hf_mutex_unlock(&r->to.walk.dir->lock);
	hf_mutex_unlock(&fs->rename);
}

/*
 * Looks up both names; errors are checked in Linux's order. *same: both are one inode, nothing to
 * do.
 */
static int find_both(struct renaming *r, bool *same)
{
	struct side *from = &r->from, *to = &r->to;
	bool exchange = r->flags & HF_TMPFS_EXCHANGE, is_dir;

	from->dentry = tmpfs_lookup(from->walk.dir, from->walk.name, from->walk.length);
	if (!from->dentry)
		return -ENOENT;
	to->dentry = tmpfs_lookup(to->walk.dir, to->walk.name, to->walk.length);
	if (to->dentry && (r->flags & HF_TMPFS_NOREPLACE))
		return -EEXIST;
	if (!to->dentry && exchange)
		return -ENOENT;
	is_dir = tmpfs_is_dir(from->dentry->inode);
	if (from->dentry->inode == r->trap)
		return -EINVAL;
	if (to->dentry && to->dentry->inode == r->trap)
		return exchange ? -EINVAL : -ENOTEMPTY;
	*same = to->dentry && to->dentry->inode == from->dentry->inode;
	if (*same)
		return 0;
	if (to->walk.dir->removed)
		return -ENOENT;
	if (!to->dentry || exchange || is_dir == tmpfs_is_dir(to->dentry->inode))
		return 0;
	return is_dir ? -ENOTDIR : -EISDIR;
}

/* Adds the new name if it does not exist: the last step that can fail with -ENOMEM. */
static int add_fresh(struct renaming *r)
{
	struct tmpfs_inode *inode = r->from.dentry->inode;
	int error;

	if (r->to.dentry)
		return 0;
	hf_refcount_inc(&inode->refs);
	error = tmpfs_dentry_add(r->to.walk.dir, r->to.fresh, inode);
	if (error)
		tmpfs_inode_put(inode);
	else
		r->to.fresh = NULL;
	return error;
}

/* Gives the inode of `from` the name of `to`, by a new dentry with its own reference. */
static void move(struct renaming *r, struct side *from, struct side *to)
{
	struct tmpfs_inode *inode = from->dentry->inode, *parent = to->walk.dir;

	if (tmpfs_is_dir(inode) && from->walk.dir != parent) {
		from->walk.dir->links--;
		parent->links++;
		r->parents[from == &r->to] = from->walk.dir;
		hf_refcount_inc(&parent->refs);
		atomic_store_explicit(&inode->parent, parent, memory_order_release);
	}
	if (!to->dentry)
		return; /* add_fresh() */
	hf_refcount_inc(&inode->refs);
	tmpfs_dentry_replace(parent, to->dentry, to->fresh, inode);
	to->fresh = NULL;
}

/* Nothing has changed if it fails. */
static int rename_locked(struct renaming *r)
{
	struct side *from = &r->from, *to = &r->to;
	bool exchange = r->flags & HF_TMPFS_EXCHANGE;
	struct tmpfs_inode *victim = to->dentry && !exchange ? to->dentry->inode : NULL;
	int error = add_fresh(r);

	if (error)
		return error;
	if (victim && tmpfs_is_dir(victim)) {
		error = mark_removed(victim);
		if (error)
			return error;
		to->walk.dir->links--;
	} else if (victim) {
		drop_link(victim);
	}
	/* Add the new name before removing the old one, so that the file always has a name. */
	move(r, from, to);
	if (exchange) {
		move(r, to, from);
	} else {
		tmpfs_dentry_remove(from->walk.dir, from->dentry);
	}
	tmpfs_touch(from->walk.dir);
	tmpfs_touch(to->walk.dir);
	touch_change(from->dentry->inode);
	if (exchange)
		touch_change(to->dentry->inode);
	return 0;
}

/* Both directories are referenced. */
static int rename_walked(struct hf_tmpfs *fs, struct renaming *r)
{
	bool same = false, exchange = r->flags & HF_TMPFS_EXCHANGE;
	int error = 0;

	r->to.fresh = tmpfs_dentry_new(fs, r->to.walk.name, r->to.walk.length);
	if (exchange)
		r->from.fresh = tmpfs_dentry_new(fs, r->from.walk.name, r->from.walk.length);
	if (!r->to.fresh || (exchange && !r->from.fresh))
		error = -ENOMEM;
	if (!error) {
		lock_both(fs, r);
		error = find_both(r, &same);
		if (!error && !same)
			error = rename_locked(r);
		unlock_both(fs, r);
		/* T2: drop the tree's references to the removed dentries. */
		if (!error && !same) {
			tmpfs_dentry_put(r->from.dentry);
			if (r->to.dentry)
				tmpfs_dentry_put(r->to.dentry);
		}
	}
	for (int i = 0; i < 2; i++)
		tmpfs_inode_put(r->parents[i]);
	if (r->to.fresh)
		tmpfs_object_delete(&r->to.fresh->block);
	if (r->from.fresh)
		tmpfs_object_delete(&r->from.fresh->block);
	return error;
}

HF_TMPFS_API int hf_tmpfs_rename(struct hf_tmpfs_node *from_dir, const char *from,
				 struct hf_tmpfs_node *to_dir, const char *to, unsigned int flags)
{
	struct tmpfs_inode *first = tmpfs_inode_of(from_dir), *second = tmpfs_inode_of(to_dir);
	struct renaming r = { .flags = flags };
	int error;

	if (first->block.fs != second->block.fs)
		return -EXDEV;
	if (flags && flags != HF_TMPFS_NOREPLACE && flags != HF_TMPFS_EXCHANGE)
		return -EINVAL;
	error = tmpfs_walk_parent(first, from, &r.from.walk);
	if (error)
		return error;
	error = tmpfs_walk_parent(second, to, &r.to.walk);
	if (!error) {
		error = rename_walked(first->block.fs, &r);
		tmpfs_inode_put(r.to.walk.dir);
	}
	tmpfs_inode_put(r.from.walk.dir);
	return error;
}

/* ---- readlink ------------------------------------------------------------------------------ */

HF_TMPFS_API ssize_t hf_tmpfs_readlink(struct hf_tmpfs_node *node, char *to, size_t size)
{
	struct tmpfs_inode *inode = tmpfs_inode_of(node);
	size_t length;

	if (size == 0 || inode->type != S_IFLNK)
		return -EINVAL;
	length = strnlen(inode->target->text, size);
	if (hf_copy_to_nofault(to, inode->target->text, length))
		return -EFAULT;
	tmpfs_accessed(inode);
	return (ssize_t)length;
}
