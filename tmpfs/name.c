/* SPDX-License-Identifier: MIT */
/* name - names come and go: create, link, remove, rename. All under the directory's mutex (L2). */
#include <errno.h>
#include <string.h>

#include "internal.h"

static void touch(struct hf__inode *dir)
{
	dir->mtime = dir->ctime = hf__now();
}

static void touch_change(struct hf__inode *inode)
{
	pthread_mutex_lock(&inode->lock);
	inode->ctime = hf__now();
	pthread_mutex_unlock(&inode->lock);
}

/* ---- make ---------------------------------------------------------------------------------- */

/* The walk's name for a new inode. The directory's mutex is held, and the name is not there. */
static int make(struct hf__walk *walk, mode_t mode, const char *target, struct hf__dentry **made)
{
	struct hf__inode *dir = walk->dir, *inode;
	struct hf__dentry *dentry = hf__dentry_new(walk->fs, walk->name, walk->length);
	int error;

	if (!dentry)
		return -ENOMEM;
	error = hf__inode_new(walk->fs, mode, target, &inode);
	if (error) {
		hf__delete(&dentry->block);
		return error;
	}
	if (hf__is_dir(inode)) {
		hf_refcount_inc(&dir->refs);
		atomic_store_explicit(&inode->parent, dir, memory_order_release);
		dir->links++;
	}
	hf__dentry_add(dir, dentry, inode);
	touch(dir);
	*made = dentry;
	return 0;
}

/* One more link of a file. As make(). */
static int make_link(struct hf__walk *walk, struct hf__inode *inode)
{
	struct hf_tmpfs *fs = walk->fs;
	struct hf__dentry *dentry = hf__dentry_new(fs, walk->name, walk->length);
	int error = 0;

	if (!dentry)
		return -ENOMEM;
	pthread_mutex_lock(&inode->lock); /* L3 */
	if (inode->links == 0) {
		error = -ENOENT; /* unlinked since it was found */
	} else if (!hf__reserve(&fs->inodes_used, fs->inode_limit, 1)) {
		error = -ENOSPC;
	} else {
		inode->links++;
		inode->ctime = hf__now();
	}
	pthread_mutex_unlock(&inode->lock);
	if (error) {
		hf__delete(&dentry->block);
		return error;
	}
	hf_refcount_inc(&inode->refs);
	hf__dentry_add(walk->dir, dentry, inode);
	touch(walk->dir);
	return 0;
}

/* mkdir, symlink and link: the name must not be there. */
static int add_name(struct hf_tmpfs *fs, const char *path, mode_t mode, const char *target,
		    struct hf__inode *linked)
{
	struct hf__dentry *made;
	struct hf__walk walk;
	int error = hf__walk_parent(fs, path, &walk);

	if (error)
		return error;
	pthread_mutex_lock(&walk.dir->lock);
	if (walk.last != HF__LAST_NAME)
		error = -EEXIST;
	else if (walk.too_long)
		error = -ENAMETOOLONG;
	else if (walk.dir->removed)
		error = -ENOENT;
	else if (hf__lookup_locked(walk.dir, walk.name, walk.length))
		error = -EEXIST;
	else if (walk.slash && !S_ISDIR(mode))
		error = -ENOENT;
	else if (linked && hf__is_dir(linked))
		error = -EPERM;
	else if (linked)
		error = make_link(&walk, linked);
	else
		error = make(&walk, mode, target, &made);
	pthread_mutex_unlock(&walk.dir->lock);
	hf__inode_put(walk.dir);
	return error;
}

HF_TMPFS_API int hf_tmpfs_mkdir(struct hf_tmpfs *fs, const char *path, mode_t mode)
{
	return add_name(fs, path, S_IFDIR | (mode & 07777), NULL, NULL);
}

HF_TMPFS_API int hf_tmpfs_symlink(struct hf_tmpfs *fs, const char *target, const char *path)
{
	size_t length = strnlen(target, HF_TMPFS_PATH_MAX);

	if (length == 0)
		return -ENOENT;
	if (length == HF_TMPFS_PATH_MAX)
		return -ENAMETOOLONG;
	return add_name(fs, path, S_IFLNK | 0777, target, NULL);
}

HF_TMPFS_API int hf_tmpfs_link(struct hf_tmpfs *fs, const char *from, const char *to)
{
	struct hf__dentry *dentry;
	int error = hf__walk_entry(fs, from, false, &dentry);

	if (error)
		return error;
	error = add_name(fs, to, 0, NULL, dentry->inode);
	hf__dentry_put(dentry);
	return error;
}

HF__TMPFS int hf__create(struct hf_tmpfs *fs, const char *path, int flags, mode_t mode,
			 struct hf__dentry **found)
{
	bool follow = !(flags & (O_NOFOLLOW | O_EXCL));
	struct hf__dentry *dentry;
	struct hf__walk walk;
	bool again;
	int error;

	do {
		error = hf__walk_create(fs, path, follow, &walk);
		if (error)
			return error;
		again = false;
		pthread_mutex_lock(&walk.dir->lock);
		if (walk.last != HF__LAST_NAME)
			error = flags & O_EXCL ? -EEXIST : -EISDIR;
		else if (walk.slash)
			error = -EISDIR;
		else if (walk.too_long)
			error = -ENAMETOOLONG;
		else if (walk.dir->removed)
			error = -ENOENT;
		if (!error) {
			dentry = hf__lookup_locked(walk.dir, walk.name, walk.length);
			if (!dentry)
				error = make(&walk, S_IFREG | (mode & 07777), NULL, &dentry);
			else if (flags & O_EXCL)
				error = -EEXIST;
			else
				again = follow && dentry->inode->type == S_IFLNK; /* just made */
		}
		if (!error && !again) {
			hf_lockref_get(&dentry->ref);
			*found = dentry;
		}
		pthread_mutex_unlock(&walk.dir->lock);
		hf__inode_put(walk.dir);
	} while (again);
	return error;
}

/* ---- remove -------------------------------------------------------------------------------- */

/* A link less. */
static void drop_link(struct hf__inode *inode)
{
	pthread_mutex_lock(&inode->lock); /* L3 */
	inode->links--;
	inode->ctime = hf__now();
	/* The inode's own place in the limit goes with its memory, those of further links now. */
	if (inode->links > 0)
		hf__unreserve(&inode->block.fs->inodes_used, 1);
	pthread_mutex_unlock(&inode->lock);
}

/* A directory that is empty: from now on nothing is put into it. */
static int close_down(struct hf__inode *inode)
{
	int error = 0;

	pthread_mutex_lock(&inode->lock); /* L2: its parent's is held */
	if (inode->entries > 0) {
		error = -ENOTEMPTY;
	} else {
		inode->removed = true;
		inode->links = 0;
		inode->ctime = hf__now();
	}
	pthread_mutex_unlock(&inode->lock);
	return error;
}

static int unlink_locked(struct hf__walk *walk, struct hf__dentry **gone)
{
	struct hf__dentry *dentry = hf__lookup_locked(walk->dir, walk->name, walk->length);

	if (!dentry)
		return -ENOENT;
	if (hf__is_dir(dentry->inode))
		return -EISDIR;
	if (walk->slash)
		return -ENOTDIR;
	drop_link(dentry->inode);
	*gone = dentry;
	return 0;
}

static int rmdir_locked(struct hf__walk *walk, struct hf__dentry **gone)
{
	struct hf__dentry *dentry = hf__lookup_locked(walk->dir, walk->name, walk->length);
	int error;

	if (!dentry)
		return -ENOENT;
	if (!hf__is_dir(dentry->inode))
		return -ENOTDIR;
	error = close_down(dentry->inode);
	if (error)
		return error;
	walk->dir->links--;
	*gone = dentry;
	return 0;
}

static int remove_name(struct hf_tmpfs *fs, const char *path, bool is_dir)
{
	struct hf__dentry *gone = NULL;
	struct hf__walk walk;
	int error = hf__walk_parent(fs, path, &walk);

	if (error)
		return error;
	pthread_mutex_lock(&walk.dir->lock);
	if (walk.last != HF__LAST_NAME && !is_dir)
		error = -EISDIR;
	else if (walk.last == HF__LAST_DOTDOT)
		error = -ENOTEMPTY;
	else if (walk.last == HF__LAST_DOT)
		error = -EINVAL;
	else if (walk.last == HF__LAST_ROOT)
		error = -EBUSY;
	else if (walk.too_long)
		error = -ENAMETOOLONG;
	else
		error = is_dir ? rmdir_locked(&walk, &gone) : unlink_locked(&walk, &gone);
	if (gone) {
		hf__dentry_remove(walk.dir, gone);
		touch(walk.dir);
	}
	pthread_mutex_unlock(&walk.dir->lock);
	if (gone)
		hf__dentry_put(gone); /* T2: the tree's reference */
	hf__inode_put(walk.dir);
	return error;
}

HF_TMPFS_API int hf_tmpfs_unlink(struct hf_tmpfs *fs, const char *path)
{
	return remove_name(fs, path, false);
}

HF_TMPFS_API int hf_tmpfs_rmdir(struct hf_tmpfs *fs, const char *path)
{
	return remove_name(fs, path, true);
}

/* ---- rename -------------------------------------------------------------------------------- */

/* One of the two sides: a name, what it stands for, and what will stand in its place. */
struct side {
	struct hf__walk walk;
	struct hf__dentry *dentry, *new;
};

struct renaming {
	struct side from, to;
	unsigned int flags;
	struct hf__inode *trap;       /* the way between the two directories begins with it */
	struct hf__inode *parents[2]; /* references to be dropped at the end */
};

/* The entry of `top` through which one comes to `from`; NULL = `top` is not above it. Needs L1. */
static struct hf__inode *child_towards(const struct hf__inode *top, struct hf__inode *from)
{
	for (;;) {
		struct hf__inode *parent =
			atomic_load_explicit(&from->parent, memory_order_relaxed);

		if (parent == from)
			return NULL;
		if (parent == top)
			return from;
		from = parent;
	}
}

/* L1, L2. */
static void lock_both(struct hf_tmpfs *fs, struct renaming *r)
{
	struct hf__inode *first = r->from.walk.dir, *second = r->to.walk.dir;

	r->trap = NULL;
	if (first == second) {
		pthread_mutex_lock(&first->lock);
		return;
	}
	pthread_mutex_lock(&fs->rename);
	r->trap = child_towards(first, second);
	if (!r->trap) {
		r->trap = child_towards(second, first);
		if (r->trap || first->number > second->number) {
			struct hf__inode *other = first;

			first = second;
			second = other;
		}
	}
	pthread_mutex_lock(&first->lock);
	pthread_mutex_lock(&second->lock);
}

static void unlock_both(struct hf_tmpfs *fs, struct renaming *r)
{
	pthread_mutex_unlock(&r->from.walk.dir->lock);
	if (r->from.walk.dir == r->to.walk.dir)
		return;
	pthread_mutex_unlock(&r->to.walk.dir->lock);
	pthread_mutex_unlock(&fs->rename);
}

/* Finds both, and says what Linux says, in its order. *same: nothing is to be done. */
static int find_both(struct renaming *r, bool *same)
{
	struct side *from = &r->from, *to = &r->to;
	bool exchange = r->flags & HF_TMPFS_EXCHANGE, is_dir;

	if (from->walk.too_long)
		return -ENAMETOOLONG;
	from->dentry = hf__lookup_locked(from->walk.dir, from->walk.name, from->walk.length);
	if (!from->dentry)
		return -ENOENT;
	if (to->walk.too_long)
		return -ENAMETOOLONG;
	to->dentry = hf__lookup_locked(to->walk.dir, to->walk.name, to->walk.length);
	if (to->dentry && (r->flags & HF_TMPFS_NOREPLACE))
		return -EEXIST;
	if (!to->dentry && exchange)
		return -ENOENT;
	is_dir = hf__is_dir(from->dentry->inode);
	if (exchange && to->walk.slash && !hf__is_dir(to->dentry->inode))
		return -ENOTDIR;
	if (!is_dir && (from->walk.slash || (to->walk.slash && !exchange)))
		return -ENOTDIR;
	if (from->dentry->inode == r->trap)
		return -EINVAL;
	if (to->dentry && to->dentry->inode == r->trap)
		return exchange ? -EINVAL : -ENOTEMPTY;
	*same = to->dentry && to->dentry->inode == from->dentry->inode;
	if (*same)
		return 0;
	if (to->walk.dir->removed)
		return -ENOENT;
	if (!to->dentry || exchange || is_dir == hf__is_dir(to->dentry->inode))
		return 0;
	return is_dir ? -ENOTDIR : -EISDIR;
}

/* What stood on one side now stands on the other. Its dentry is a new one, with a new reference. */
static void move(struct renaming *r, struct side *from, struct side *to)
{
	struct hf__inode *inode = from->dentry->inode, *parent = to->walk.dir;

	hf_refcount_inc(&inode->refs);
	if (hf__is_dir(inode) && from->walk.dir != parent) {
		from->walk.dir->links--;
		parent->links++;
		r->parents[from == &r->to] = from->walk.dir;
		hf_refcount_inc(&parent->refs);
		atomic_store_explicit(&inode->parent, parent, memory_order_release);
	}
	if (to->dentry)
		hf__dentry_replace(parent, to->dentry, to->new, inode);
	else
		hf__dentry_add(parent, to->new, inode);
	to->new = NULL;
}

/* Nothing fails any more, but for a directory in the way that is not empty. */
static int rename_locked(struct renaming *r)
{
	struct side *from = &r->from, *to = &r->to;
	bool exchange = r->flags & HF_TMPFS_EXCHANGE;
	struct hf__inode *victim = to->dentry && !exchange ? to->dentry->inode : NULL;
	int error;

	if (victim && hf__is_dir(victim)) {
		error = close_down(victim);
		if (error)
			return error;
		to->walk.dir->links--;
	} else if (victim) {
		drop_link(victim);
	}
	/* First the new name, then the old one goes: never neither. */
	move(r, from, to);
	if (exchange)
		move(r, to, from);
	else
		hf__dentry_remove(from->walk.dir, from->dentry);
	touch(from->walk.dir);
	touch(to->walk.dir);
	touch_change(from->dentry->inode);
	if (exchange)
		touch_change(to->dentry->inode);
	return 0;
}

static int last_components(const struct renaming *r)
{
	if (r->from.walk.last != HF__LAST_NAME)
		return -EBUSY;
	if (r->to.walk.last != HF__LAST_NAME)
		return r->flags & HF_TMPFS_NOREPLACE ? -EEXIST : -EBUSY;
	return 0;
}

/* Both directories are referenced. */
static int rename_walked(struct hf_tmpfs *fs, struct renaming *r)
{
	struct hf__walk *from = &r->from.walk, *to = &r->to.walk;
	bool same = false;
	int error = last_components(r);

	if (error)
		return error;
	r->to.new = hf__dentry_new(fs, to->name, to->length);
	if (r->flags & HF_TMPFS_EXCHANGE)
		r->from.new = hf__dentry_new(fs, from->name, from->length);
	if (!r->to.new || (!r->from.new && (r->flags & HF_TMPFS_EXCHANGE))) {
		error = -ENOMEM;
	} else {
		lock_both(fs, r);
		error = find_both(r, &same);
		if (!error && !same)
			error = rename_locked(r);
		unlock_both(fs, r);
		/* T2: the tree's references to what is out of it. */
		if (!error && !same) {
			hf__dentry_put(r->from.dentry);
			if (r->to.dentry)
				hf__dentry_put(r->to.dentry);
		}
	}
	for (int i = 0; i < 2; i++)
		hf__inode_put(r->parents[i]);
	if (r->to.new)
		hf__delete(&r->to.new->block);
	if (r->from.new)
		hf__delete(&r->from.new->block);
	return error;
}

HF_TMPFS_API int hf_tmpfs_rename(struct hf_tmpfs *fs, const char *from, const char *to,
				 unsigned int flags)
{
	struct renaming r = { .flags = flags };
	int error;

	if (flags != 0 && flags != HF_TMPFS_NOREPLACE && flags != HF_TMPFS_EXCHANGE)
		return -EINVAL;
	error = hf__walk_parent(fs, from, &r.from.walk);
	if (error)
		return error;
	error = hf__walk_parent(fs, to, &r.to.walk);
	if (!error) {
		error = rename_walked(fs, &r);
		hf__inode_put(r.to.walk.dir);
	}
	hf__inode_put(r.from.walk.dir);
	return error;
}

/* ---- readlink ------------------------------------------------------------------------------ */

HF_TMPFS_API ssize_t hf_tmpfs_readlink(struct hf_tmpfs *fs, const char *path, char *to, size_t size)
{
	struct hf__dentry *dentry;
	ssize_t result;

	if (size == 0)
		return -EINVAL;
	result = hf__walk_entry(fs, path, false, &dentry);
	if (result)
		return result;
	if (dentry->inode->type == S_IFLNK) {
		size_t length = strlen(dentry->inode->target->text);

		if (length > size)
			length = size;
		result = (ssize_t)length;
		if (hf_copy_to_nofault(to, dentry->inode->target->text, length))
			result = -EFAULT;
	} else {
		result = -EINVAL;
	}
	hf__dentry_put(dentry);
	return result;
}
