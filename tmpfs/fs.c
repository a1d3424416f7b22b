/* SPDX-License-Identifier: MIT */
/* fs - a file system from its beginning to its end: memory, limits. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

#define BUCKETS 64 /* at the start; the table grows with its names */

static void *default_allocate(void *data, size_t size)
{
	(void)data;
	return aligned_alloc(64, (size + 63) / 64 * 64);
}

static void default_release(void *data, void *memory)
{
	(void)data;
	free(memory);
}

HF__TMPFS struct timespec hf__now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now;
}

/* ---- memory -------------------------------------------------------------------------------- */

/* Where an object begins, from its block. */
static void *start_of(struct hf__block *block)
{
	if (block->kind == HF__KIND_DENTRY)
		return HF__OBJECT(block, struct hf__dentry, block);
	return block;
}

HF__TMPFS void *hf__new(struct hf_tmpfs *fs, enum hf__kind kind, size_t size, size_t offset)
{
	char *memory = fs->options.allocate(fs->options.data, size);
	struct hf__block *block;

	if (!memory)
		return NULL;
	block = (struct hf__block *)(void *)(memory + offset);
	memset(block, 0, sizeof(*block));
	block->fs = fs;
	block->kind = kind;
	atomic_fetch_add_explicit(&fs->allocated[kind], 1, memory_order_relaxed);
	return memory;
}

HF__TMPFS void hf__delete(struct hf__block *block)
{
	struct hf_tmpfs *fs = block->fs;

	atomic_fetch_sub_explicit(&fs->allocated[block->kind], 1, memory_order_relaxed);
	fs->options.release(fs->options.data, start_of(block));
}

static void delete_chain(struct rcu_head *head)
{
	struct hf__block *block = HF__OBJECT(head, struct hf__block, rcu);

	hf__rcu_callback_begin();
	while (block) {
		struct hf__block *next = block->next;

		hf__delete(block);
		block = next;
	}
	hf__rcu_callback_end();
}

HF__TMPFS void hf__delete_later(struct hf__block *chain)
{
	if (chain)
		hf__rcu_call(&chain->rcu, delete_chain);
}

/* ---- limits -------------------------------------------------------------------------------- */

HF__TMPFS bool hf__reserve(atomic_uint_least64_t *used, uint64_t limit, uint64_t count)
{
	uint64_t old = atomic_load_explicit(used, memory_order_relaxed);

	/* No add that is taken back: it would have others fail for space that is there. */
	do {
		if (count > limit || old > limit - count)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		used, &old, old + count, memory_order_relaxed, memory_order_relaxed));
	return true;
}

HF__TMPFS void hf__unreserve(atomic_uint_least64_t *used, uint64_t count)
{
	atomic_fetch_sub_explicit(used, count, memory_order_relaxed);
}

static uint64_t left(uint64_t limit, uint64_t used)
{
	return limit > used ? limit - used : 0;
}

HF_TMPFS_API int hf_tmpfs_statfs(struct hf_tmpfs *fs, struct statvfs *to)
{
	uint64_t pages = atomic_load_explicit(&fs->pages_used, memory_order_relaxed);
	uint64_t inodes = atomic_load_explicit(&fs->inodes_used, memory_order_relaxed);

	memset(to, 0, sizeof(*to));
	to->f_bsize = HF_TMPFS_PAGE;
	to->f_frsize = HF_TMPFS_PAGE;
	to->f_namemax = HF_TMPFS_NAME_MAX;
	if (fs->page_limit != UINT64_MAX) {
		to->f_blocks = fs->page_limit;
		to->f_bfree = to->f_bavail = left(fs->page_limit, pages);
	}
	if (fs->inode_limit != UINT64_MAX) {
		to->f_files = fs->inode_limit;
		to->f_ffree = to->f_favail = left(fs->inode_limit, inodes);
	}
	return 0;
}

/* ---- beginning and end --------------------------------------------------------------------- */

/* The root has a dentry, so that it can be opened; it has no name and is in no table. */
static int make_root(struct hf_tmpfs *fs)
{
	struct hf__dentry *root = hf__dentry_new(fs, "", 0);
	struct hf__inode *inode;
	int error;

	if (!root)
		return -ENOMEM;
	error = hf__inode_new(fs, S_IFDIR | 0777, NULL, &inode);
	if (error) {
		hf__delete(&root->block);
		return error;
	}
	inode->mode |= S_ISVTX;
	root->dir = inode;
	root->inode = inode;
	atomic_store_explicit(&inode->parent, inode, memory_order_relaxed);
	atomic_store_explicit(&inode->self, root, memory_order_relaxed);
	fs->root = root;
	return 0;
}

HF_TMPFS_API int hf_tmpfs_new(struct hf_tmpfs **fs, const struct hf_tmpfs_options *options)
{
	struct hf_tmpfs_options chosen = { .allocate = NULL };
	struct hf_tmpfs *new;
	int error;

	if (options)
		chosen = *options;
	if (!chosen.allocate != !chosen.release)
		return -EINVAL;
	if (!chosen.allocate) {
		chosen.allocate = default_allocate;
		chosen.release = default_release;
	}
	if (!chosen.own_handler) {
		error = hf_nofault_install();
		if (error)
			return error;
	}
	new = chosen.allocate(chosen.data, sizeof(*new));
	if (!new)
		return -ENOMEM;
	memset(new, 0, sizeof(*new));
	new->options = chosen;
	new->page_limit = chosen.size ? (chosen.size - 1) / HF_TMPFS_PAGE + 1 : UINT64_MAX;
	new->inode_limit = chosen.inodes ? chosen.inodes : UINT64_MAX;
	pthread_mutex_init(&new->rename, NULL);
	pthread_mutex_init(&new->tables_lock, NULL);
	hf__list_init(&new->tables);
	new->names = cds_lfht_new_flavor(BUCKETS, BUCKETS, 0,
					 CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING,
					 &urcu_bp_flavor, NULL);
	error = new->names ? make_root(new) : -ENOMEM;
	if (error) {
		if (new->names)
			cds_lfht_destroy(new->names, NULL);
		hf__rcu_barrier(); /* an inode that make_root() gave up */
		pthread_mutex_destroy(&new->rename);
		pthread_mutex_destroy(&new->tables_lock);
		chosen.release(chosen.data, new);
		return error;
	}
	*fs = new;
	return 0;
}

/* Empties the tree, without recursion: a directory's entries go before it does. */
static void remove_all(struct hf_tmpfs *fs)
{
	struct hf__inode *at = fs->root->inode;

	for (;;) {
		if (at->children.next != &at->children) {
			struct hf__dentry *dentry =
				HF__OBJECT(at->children.next, struct hf__dentry, siblings);
			struct hf__inode *inode = dentry->inode;

			if (hf__is_dir(inode) && inode->entries) {
				at = inode;
				continue;
			}
			hf__dentry_remove(at, dentry);
			inode->links -= hf__is_dir(inode) ? 2 : 1;
			if (!hf__is_dir(inode) && inode->links)
				hf__unreserve(&fs->inodes_used, 1);
			hf__dentry_put(dentry);
		} else if (at != fs->root->inode) {
			at = atomic_load_explicit(&at->parent, memory_order_relaxed);
		} else {
			return;
		}
	}
}

HF_TMPFS_API int hf_tmpfs_free(struct hf_tmpfs *fs)
{
	bool busy, unclean;

	pthread_mutex_lock(&fs->tables_lock);
	busy = fs->tables.next != &fs->tables;
	pthread_mutex_unlock(&fs->tables_lock);
	if (busy)
		return -EBUSY;
	remove_all(fs);
	hf__dentry_put(fs->root);
	hf__rcu_barrier();
	unclean = atomic_load(&fs->pages_used) != 0 || atomic_load(&fs->inodes_used) != 0;
	for (int kind = 0; kind < HF__KINDS; kind++)
		unclean |= atomic_load(&fs->allocated[kind]) != 0;
	unclean |= cds_lfht_destroy(fs->names, NULL) != 0;
	pthread_mutex_destroy(&fs->rename);
	pthread_mutex_destroy(&fs->tables_lock);
	fs->options.release(fs->options.data, fs);
	return unclean ? -EUCLEAN : 0;
}
