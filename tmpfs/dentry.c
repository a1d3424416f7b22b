/* SPDX-License-Identifier: MIT */
/*
 * dentry - a name in a directory; found by its hash (T8), listed by its cookie (T9).
 *
 *   names   [ . | . | . | . ]      a bucket: the chain of names whose hashes end in these bits
 *             |       |
 *             b       a - c
 *
 * A table that becomes too small or too large is rebuilt under the directory's mutex. The new table
 * chains the names by their other link, so readers of the old table can finish in the old chains.
 * The table after it reuses the old links, so it may be built only when a grace period has passed
 * since this one was published.
 */
#include <errno.h>
#include <string.h>

#include "dentry.h"

#define BUCKETS_LEAST 8
#define BUCKETS_MOST ((uint64_t)1 << 28)

TMPFS_PRIVATE uint64_t tmpfs_hash(const struct hf_tmpfs *fs, const char *name, size_t length)
{
	return tmpfs_siphash(1, 3, &fs->key, name, length);
}

TMPFS_PRIVATE struct tmpfs_dentry *tmpfs_dentry_new(struct hf_tmpfs *fs, const char *name,
						    size_t length)
{
	struct tmpfs_dentry *dentry =
		tmpfs_object_new(fs, TMPFS_KIND_DENTRY, sizeof(struct tmpfs_dentry) + length + 1);

	if (!dentry)
		return NULL;
	atomic_init(&dentry->chain[0], NULL);
	atomic_init(&dentry->chain[1], NULL);
	hf_lockref_init(&dentry->ref, 1); /* the tree's */
	dentry->dir = NULL;
	dentry->inode = NULL;
	dentry->hash = tmpfs_hash(fs, name, length);
	dentry->cookie = 0;
	dentry->length = (uint8_t)length;
	memcpy(dentry->name, name, length);
	dentry->name[length] = '\0';
	return dentry;
}

TMPFS_PRIVATE void tmpfs_dentry_put(struct tmpfs_dentry *dentry)
{
	struct tmpfs_inode *inode = dentry->inode;

	if (TMPFS_LIKELY(hf_lockref_put_or_lock(&dentry->ref)))
		return;
	/*
	 * The last reference, so the dentry is out of the tree (T2). A walk that still finds it
	 * sees it dead.
	 */
	hf_lockref_mark_dead(&dentry->ref);
	hf_lockref_unlock(&dentry->ref);
	tmpfs_object_delete_later(&dentry->block);
	tmpfs_inode_put(inode);
}

/* ---- by name ------------------------------------------------------------------------------- */

static struct tmpfs_dentry *link_load(_Atomic(struct tmpfs_dentry *) *link)
{
	return atomic_load_explicit(link, memory_order_acquire);
}

static void link_store(_Atomic(struct tmpfs_dentry *) *link, struct tmpfs_dentry *dentry)
{
	atomic_store_explicit(link, dentry, memory_order_release);
}

TMPFS_PRIVATE struct tmpfs_dentry *tmpfs_lookup(struct tmpfs_inode *dir, const char *name,
						size_t length)
{
	struct tmpfs_names *names = atomic_load_explicit(&dir->names, memory_order_acquire);
	struct tmpfs_dentry *dentry;
	uint64_t hash;

	if (!names)
		return NULL;
	hash = tmpfs_hash(dir->block.fs, name, length);
	for (dentry = link_load(&names->bucket[hash & names->mask]); dentry;
	     dentry = link_load(&dentry->chain[names->which])) {
		if (dentry->hash == hash && dentry->length == length &&
		    memcmp(dentry->name, name, length) == 0)
			break;
	}
	return dentry;
}

/* The rest: under the directory's mutex. */

static struct tmpfs_names *names_of(struct tmpfs_inode *dir)
{
	return atomic_load_explicit(&dir->names, memory_order_relaxed);
}

static void hash_in(struct tmpfs_names *names, struct tmpfs_dentry *dentry)
{
	_Atomic(struct tmpfs_dentry *) *bucket = &names->bucket[dentry->hash & names->mask];

	link_store(&dentry->chain[names->which], link_load(bucket));
	link_store(bucket, dentry);
}

/* The link that points to a dentry, which is in the table. */
static _Atomic(struct tmpfs_dentry *) *link_to(struct tmpfs_names *names,
					       struct tmpfs_dentry *dentry)
{
	_Atomic(struct tmpfs_dentry *) *link = &names->bucket[dentry->hash & names->mask];

	while (link_load(link) != dentry)
		link = &link_load(link)->chain[names->which];
	return link;
}

static struct tmpfs_names *names_new(struct hf_tmpfs *fs, uint64_t buckets, unsigned int which)
{
	struct tmpfs_names *names = tmpfs_object_new(
		fs, TMPFS_KIND_NAMES, sizeof(*names) + buckets * sizeof(names->bucket[0]));

	if (!names)
		return NULL;
	names->mask = buckets - 1;
	names->which = which;
	for (uint64_t i = 0; i < buckets; i++)
		atomic_init(&names->bucket[i], NULL);
	return names;
}

/* T8. If no memory is available the old table stays: only lookups become slower. */
static void rebuild_names(struct tmpfs_inode *dir)
{
	struct tmpfs_names *old = names_of(dir), *names;
	uint64_t buckets = BUCKETS_LEAST;

	while (buckets < 2 * dir->tree.items && buckets < BUCKETS_MOST)
		buckets *= 2;
	names = names_new(dir->block.fs, buckets, !old->which);
	if (!names)
		return;
	for (uint64_t i = 0; i <= old->mask; i++) {
		for (struct tmpfs_dentry *at = link_load(&old->bucket[i]); at;
		     at = link_load(&at->chain[old->which]))
			hash_in(names, at);
	}
	atomic_store_explicit(&dir->names, names, memory_order_release);
	dir->names_stamp = tmpfs_stamp(dir->block.fs);
	tmpfs_object_delete_later(&old->block);
}

static void grow_names(struct tmpfs_inode *dir)
{
	uint64_t buckets = names_of(dir)->mask + 1;

	if (dir->tree.items <= buckets || buckets >= BUCKETS_MOST)
		return;
	if (dir->tree.items > 4 * buckets && !tmpfs_passed(dir->block.fs, dir->names_stamp))
		tmpfs_collect(dir->block.fs);
	if (tmpfs_passed(dir->block.fs, dir->names_stamp))
		rebuild_names(dir);
}

static void shrink_names(struct tmpfs_inode *dir)
{
	uint64_t buckets = names_of(dir)->mask + 1;

	if (buckets > BUCKETS_LEAST && dir->tree.items < buckets / 8 &&
	    tmpfs_passed(dir->block.fs, dir->names_stamp))
		rebuild_names(dir);
}

/* ---- by cookie ----------------------------------------------------------------------------- */

TMPFS_PRIVATE struct tmpfs_dentry *tmpfs_dentry_from(struct tmpfs_inode *dir, uint64_t cookie)
{
	while (cookie < TMPFS_INDEX_END) {
		uint64_t hole;
		struct tmpfs_block *block = tmpfs_tree_find(&dir->tree, cookie, &hole);

		if (block)
			return TMPFS_OBJECT(block, struct tmpfs_dentry, block);
		cookie += hole;
	}
	return NULL;
}

/* ---- in and out ---------------------------------------------------------------------------- */

/* Sets the fields that a walk reads, before the dentry is published. */
static void fill_dentry(struct tmpfs_inode *dir, struct tmpfs_dentry *dentry,
			struct tmpfs_inode *inode, uint64_t cookie)
{
	dentry->dir = dir;
	dentry->inode = inode;
	dentry->cookie = cookie;
}

TMPFS_PRIVATE int tmpfs_dentry_add(struct tmpfs_inode *dir, struct tmpfs_dentry *dentry,
				   struct tmpfs_inode *inode)
{
	uint64_t cookie = atomic_load_explicit(&dir->next_cookie, memory_order_relaxed);
	struct tmpfs_names *names = names_of(dir);
	int error;

	if (!names) {
		names = names_new(dir->block.fs, BUCKETS_LEAST, 0);
		if (!names)
			return -ENOMEM;
		atomic_store_explicit(&dir->names, names, memory_order_release);
	}
	fill_dentry(dir, dentry, inode, cookie);
	error = tmpfs_tree_insert(&dir->tree, cookie, &dentry->block);
	if (error)
		return error;
	atomic_store_explicit(&dir->next_cookie, cookie + 1, memory_order_release);
	hash_in(names, dentry);
	grow_names(dir);
	return 0;
}

TMPFS_PRIVATE void tmpfs_dentry_replace(struct tmpfs_inode *dir, struct tmpfs_dentry *old,
					struct tmpfs_dentry *dentry, struct tmpfs_inode *inode)
{
	struct tmpfs_names *names = names_of(dir);

	fill_dentry(dir, dentry, inode, old->cookie);
	tmpfs_tree_replace(&dir->tree, dentry->cookie, &dentry->block);
	/* A single store: a reader finds either the old dentry or the new one. */
	link_store(&dentry->chain[names->which], link_load(&old->chain[names->which]));
	link_store(link_to(names, old), dentry);
}

TMPFS_PRIVATE void tmpfs_dentry_remove(struct tmpfs_inode *dir, struct tmpfs_dentry *dentry)
{
	struct tmpfs_names *names = names_of(dir);

	link_store(link_to(names, dentry), link_load(&dentry->chain[names->which]));
	tmpfs_tree_remove(&dir->tree, dentry->cookie);
	shrink_names(dir);
}
