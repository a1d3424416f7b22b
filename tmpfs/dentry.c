/* SPDX-License-Identifier: MIT */
/* dentry - a name in a directory, and the table of all names. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct key {
	const struct hf__inode *dir;
	const char *name;
	size_t length;
};

/* Eight bytes at a time; the directory's number makes the same name differ between directories. */
static uint64_t hash_of(const struct hf__inode *dir, const char *name, size_t length)
{
	const uint64_t odd = 0x9e3779b97f4a7c15u;
	uint64_t hash = (dir->number ^ length) * odd;
	uint64_t word;

	for (; length >= 8; name += 8, length -= 8) {
		memcpy(&word, name, 8);
		hash = (hash ^ (hash >> 29) ^ word) * odd;
	}
	word = 0;
	memcpy(&word, name, length);
	hash = (hash ^ (hash >> 29) ^ word) * odd;
	return hash ^ (hash >> 32);
}

static int is_key(struct cds_lfht_node *node, const void *data)
{
	const struct key *key = data;
	const struct hf__dentry *dentry;

	hf__rcu_found(node);
	dentry = HF__OBJECT(node, struct hf__dentry, node);
	return dentry->dir == key->dir && dentry->length == key->length &&
	       memcmp(dentry->name, key->name, key->length) == 0;
}

HF__TMPFS struct hf__dentry *hf__dentry_new(struct hf_tmpfs *fs, const char *name, size_t length)
{
	struct hf__dentry *dentry = hf__new(fs, HF__KIND_DENTRY,
					    sizeof(struct hf__dentry) + length + 1,
					    offsetof(struct hf__dentry, block));

	if (!dentry)
		return NULL;
	cds_lfht_node_init(&dentry->node);
	hf_lockref_init(&dentry->ref, 1); /* the tree's */
	dentry->dir = NULL;
	dentry->inode = NULL;
	dentry->hash = 0;
	hf__list_init(&dentry->siblings);
	dentry->cookie = 0;
	dentry->length = (uint8_t)length;
	memcpy(dentry->name, name, length);
	dentry->name[length] = '\0';
	return dentry;
}

HF__TMPFS void hf__dentry_put(struct hf__dentry *dentry)
{
	struct hf__inode *inode = dentry->inode;

	if (HF_LIKELY(hf_lockref_put_or_lock(&dentry->ref)))
		return;
	/* The last one, so the tree's has gone (T2). A walk may still find it, and sees it dead. */
	hf_lockref_mark_dead(&dentry->ref);
	hf_lockref_unlock(&dentry->ref);
	hf__delete_later(&dentry->block);
	hf__inode_put(inode);
}

HF__TMPFS struct hf__dentry *hf__lookup(struct hf_tmpfs *fs, const struct hf__inode *dir,
					const char *name, size_t length)
{
	struct key key = { dir, name, length };
	struct cds_lfht_node *node;
	struct cds_lfht_iter iter;

	cds_lfht_lookup(fs->names, hash_of(dir, name, length), is_key, &key, &iter);
	node = cds_lfht_iter_get_node(&iter);
	return node ? HF__OBJECT(node, struct hf__dentry, node) : NULL;
}

HF__TMPFS struct hf__dentry *hf__lookup_locked(struct hf__inode *dir, const char *name,
					       size_t length)
{
	struct hf__dentry *dentry;

	hf__rcu_read_lock();
	dentry = hf__lookup(dir->block.fs, dir, name, length);
	hf__rcu_read_unlock();
	return dentry;
}

/* All that a walk reads of it is there before it is published. */
static void fill(struct hf__inode *dir, struct hf__dentry *dentry, struct hf__inode *inode)
{
	dentry->dir = dir;
	dentry->inode = inode;
	dentry->hash = hash_of(dir, dentry->name, dentry->length);
	dentry->cookie = dir->next_cookie++;
	hf__list_add_last(&dir->children, &dentry->siblings);
	if (hf__is_dir(inode))
		atomic_store_explicit(&inode->self, dentry, memory_order_release);
	hf__rcu_publish(&dentry->node);
}

HF__TMPFS void hf__dentry_add(struct hf__inode *dir, struct hf__dentry *dentry,
			      struct hf__inode *inode)
{
	fill(dir, dentry, inode);
	dir->entries++;
	hf__rcu_read_lock();
	cds_lfht_add(dir->block.fs->names, dentry->hash, &dentry->node);
	hf__rcu_read_unlock();
}

HF__TMPFS void hf__dentry_replace(struct hf__inode *dir, struct hf__dentry *old,
				  struct hf__dentry *dentry, struct hf__inode *inode)
{
	struct key key = { dir, old->name, old->length };
	struct cds_lfht_iter iter;

	fill(dir, dentry, inode);
	hf__list_remove(&old->siblings);
	hf__rcu_read_lock();
	cds_lfht_lookup(dir->block.fs->names, old->hash, is_key, &key, &iter);
	/* It is there, and stays there: the mutex is held. */
	if (cds_lfht_replace(dir->block.fs->names, &iter, old->hash, is_key, &key, &dentry->node))
		abort();
	hf__rcu_read_unlock();
}

HF__TMPFS void hf__dentry_remove(struct hf__inode *dir, struct hf__dentry *dentry)
{
	hf__list_remove(&dentry->siblings);
	dir->entries--;
	hf__rcu_read_lock();
	if (cds_lfht_del(dir->block.fs->names, &dentry->node))
		abort();
	hf__rcu_read_unlock();
}
