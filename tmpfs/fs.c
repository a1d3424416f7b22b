/* SPDX-License-Identifier: MIT */
/* fs - creating and freeing a file system; limits. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "holdfast/nofault.h"

#include "dentry.h"

static uint64_t left(uint64_t limit, uint64_t used)
{
	return limit > used ? limit - used : 0;
}

HF_TMPFS_API int hf_tmpfs_statfs(struct hf_tmpfs *fs, struct statvfs *to)
{
	uint64_t pages = atomic_load_explicit(&fs->pages_used, memory_order_relaxed);
	uint64_t inodes = atomic_load_explicit(&fs->inodes_used, memory_order_relaxed);
	uint64_t page_limit = atomic_load_explicit(&fs->page_limit, memory_order_relaxed);
	uint64_t inode_limit = atomic_load_explicit(&fs->inode_limit, memory_order_relaxed);

	memset(to, 0, sizeof(*to));
	to->f_bsize = HF_TMPFS_PAGE;
	to->f_frsize = HF_TMPFS_PAGE;
	to->f_namemax = HF_TMPFS_NAME_MAX;
	if (page_limit != UINT64_MAX) {
		to->f_blocks = page_limit;
		to->f_bfree = to->f_bavail = left(page_limit, pages);
	}
	if (inode_limit != UINT64_MAX) {
		to->f_files = inode_limit;
		to->f_ffree = to->f_favail = left(inode_limit, inodes);
	}
	return 0;
}

/* ---- beginning and end --------------------------------------------------------------------- */

static int make_root(struct hf_tmpfs *fs)
{
	const struct tmpfs_made what = { .mode = S_IFDIR | S_ISVTX | 0777 };
	int error = tmpfs_inode_new(fs, NULL, &what, &fs->root);

	if (!error)
		atomic_store_explicit(&fs->root->parent, fs->root, memory_order_relaxed);
	return error;
}

/* liburcu aborts if it can't map a page for the thread, so check that mmap() works first. */
HF_TMPFS_API int hf_tmpfs_thread_begin(void)
{
	const size_t size = (size_t)64 << 10;
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return -ENOMEM;
	munmap(page, size);
	urcu_bp_register_thread();
	return 0;
}

static uint64_t pages_of(uint64_t size)
{
	return size ? (size - 1) / HF_TMPFS_PAGE + 1 : UINT64_MAX;
}

/*
 * Set the limits before checking the usage: a concurrent reservation is then checked against the
 * old limit or the new one.
 */
HF_TMPFS_API int hf_tmpfs_resize(struct hf_tmpfs *fs, uint64_t size, uint64_t inodes)
{
	uint64_t pages_before, inodes_before, pages = pages_of(size);
	int error = 0;

	inodes = inodes ? inodes : UINT64_MAX;
	hf_mutex_lock(&fs->tables_lock); /* one at a time */
	pages_before = atomic_exchange(&fs->page_limit, pages);
	inodes_before = atomic_exchange(&fs->inode_limit, inodes);
	if (atomic_load(&fs->pages_used) > pages || atomic_load(&fs->inodes_used) > inodes) {
		atomic_store(&fs->page_limit, pages_before);
		atomic_store(&fs->inode_limit, inodes_before);
		error = -EINVAL;
	}
	hf_mutex_unlock(&fs->tables_lock);
	return error;
}

/* A random key for hashing names. */
static int make_key(struct tmpfs_siphash_key *key)
{
	ssize_t got;

	do
		got = getrandom(key, sizeof(*key), 0);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : 0; /* getrandom() never splits so few bytes */
}

HF_TMPFS_API int hf_tmpfs_new(struct hf_tmpfs **fs, const struct hf_tmpfs_options *options)
{
	struct hf_tmpfs_options chosen = { .allocate = NULL };
	struct hf_tmpfs *made;
	int error;

	if (options)
		chosen = *options;
	if (!chosen.allocate != !chosen.release)
		return -EINVAL;
	tmpfs_choose_memory(&chosen);
	if (!chosen.own_handler) {
		error = hf_nofault_install();
		if (error)
			return error;
	}
	made = chosen.allocate(chosen.data, sizeof(*made));
	if (!made)
		return -ENOMEM;
	memset(made, 0, sizeof(*made));
	made->options = chosen;
	atomic_init(&made->page_limit, pages_of(chosen.size));
	atomic_init(&made->inode_limit, chosen.inodes ? chosen.inodes : UINT64_MAX);
	hf_mutex_init(&made->rename);
	hf_mutex_init(&made->tables_lock);
	hf_mutex_init(&made->collecting);
	tmpfs_list_init(&made->tables);
	hf_spinlock_init(&made->nodes_lock);
	tmpfs_list_init(&made->nodes);
	tmpfs_clock_begin(&made->clock);
	error = make_key(&made->key);
	if (!error)
		error = hf_tmpfs_thread_begin();
	if (!error)
		error = tmpfs_begin_trim(made);
	if (!error) {
		error = make_root(made);
		if (error)
			tmpfs_end_trim(made);
	}
	if (error) {
		(void)tmpfs_memory_end(&made->memory);
		tmpfs_clock_end(&made->clock);
		chosen.release(chosen.data, made);
		return error;
	}
	*fs = made;
	return 0;
}

/* Empties the tree bottom-up, without recursion. */
static void remove_all(struct hf_tmpfs *fs)
{
	struct tmpfs_inode *at = fs->root;

	for (;;) {
		struct tmpfs_dentry *dentry = tmpfs_dentry_from(at, 0);

		if (dentry) {
			struct tmpfs_inode *inode = dentry->inode;

			if (tmpfs_is_dir(inode) && inode->tree.items) {
				at = inode;
				continue;
			}
			tmpfs_dentry_remove(at, dentry);
			inode->links -= tmpfs_is_dir(inode) ? 2 : 1;
			if (!tmpfs_is_dir(inode) && inode->links)
				tmpfs_unreserve(&fs->inodes_used, 1);
			tmpfs_dentry_put(dentry);
		} else if (at != fs->root) {
			at = atomic_load_explicit(&at->parent, memory_order_relaxed);
		} else {
			return;
		}
	}
}

HF_TMPFS_API int hf_tmpfs_free(struct hf_tmpfs *fs)
{
	bool busy, unclean;

	hf_mutex_lock(&fs->tables_lock);
	busy = fs->tables.next != &fs->tables;
	hf_mutex_unlock(&fs->tables_lock);
	if (busy || fs->nodes.next != &fs->nodes)
		return -EBUSY;
	remove_all(fs);
	tmpfs_inode_put(fs->root);
	tmpfs_end_trim(fs);
	tmpfs_collect(fs);
	unclean = atomic_load(&fs->pages_used) != 0 || atomic_load(&fs->inodes_used) != 0;
	unclean |= atomic_load(&fs->waiting_bytes) != 0;
	for (int kind = 0; kind < TMPFS_KINDS; kind++)
		unclean |= atomic_load(&fs->allocated[kind]) != 0;
	unclean |= !tmpfs_memory_end(&fs->memory);
	tmpfs_clock_end(&fs->clock);
	fs->options.release(fs->options.data, fs);
	return unclean ? -EUCLEAN : 0;
}
