/* SPDX-License-Identifier: MIT */
/*
 * table - descriptors and open files.
 *
 *   used   1 1 0 1 ...          a bit a descriptor; under the spinlock
 *   slot   f g . h ...          read without it (T4)
 *   free   -> file -> file      whose count is 0; the memory goes only with the table
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "internal.h"

#define DEFAULT_LIMIT 1024

HF_TMPFS_API int hf_tmpfs_table_new(struct hf_tmpfs_table **table, struct hf_tmpfs *fs,
				    unsigned int limit)
{
	struct hf_tmpfs_table *new;
	size_t slots, words;

	if (limit == 0)
		limit = DEFAULT_LIMIT;
	if (limit > HF_TMPFS_DESCRIPTORS_MAX)
		return -EINVAL;
	slots = limit * sizeof(new->slot[0]);
	words = (limit + 63) / 64 * sizeof(uint64_t);
	new = hf__new(fs, HF__KIND_TABLE, sizeof(*new) + slots + words, 0);
	if (!new)
		return -ENOMEM;
	memset((char *)new + sizeof(new->block), 0,
	       sizeof(*new) - sizeof(new->block) + slots + words);
	new->limit = limit;
	hf_spinlock_init(&new->lock);
	new->used = (uint64_t *)(void *)((char *)new->slot + slots);
	if (limit % 64)
		new->used[limit / 64] = UINT64_MAX << limit % 64; /* those that aren't there */
	pthread_mutex_lock(&fs->tables_lock);
	hf__list_add_last(&fs->tables, &new->siblings);
	pthread_mutex_unlock(&fs->tables_lock);
	*table = new;
	return 0;
}

HF_TMPFS_API void hf_tmpfs_table_free(struct hf_tmpfs_table *table)
{
	struct hf_tmpfs *fs = table->block.fs;

	for (unsigned int fd = 0; fd < table->limit; fd++)
		(void)hf_tmpfs_close(table, (int)fd);
	while (table->slabs) {
		struct hf__files *slab = HF__OBJECT(table->slabs, struct hf__files, block);

		table->slabs = slab->block.next;
		for (int i = 0; i < HF__FILES; i++)
			pthread_mutex_destroy(&slab->file[i].lock);
		hf__delete(&slab->block);
	}
	pthread_mutex_lock(&fs->tables_lock);
	hf__list_remove(&table->siblings);
	pthread_mutex_unlock(&fs->tables_lock);
	hf__delete(&table->block);
}

/* ---- descriptors --------------------------------------------------------------------------- */

/* Spinlock held. The lowest that is free, from now on taken; -1 = none. */
static int take_descriptor(struct hf_tmpfs_table *table)
{
	unsigned int words = (table->limit + 63) / 64;

	for (; table->lowest < words; table->lowest++) {
		uint64_t *word = &table->used[table->lowest];
		int bit;

		if (*word == UINT64_MAX)
			continue;
		bit = __builtin_ctzll(~*word);
		*word |= (uint64_t)1 << bit;
		return (int)(table->lowest * 64) + bit;
	}
	return -1;
}

/* Spinlock held. */
static void give_descriptor(struct hf_tmpfs_table *table, unsigned int fd)
{
	table->used[fd / 64] &= ~((uint64_t)1 << fd % 64);
	if (fd / 64 < table->lowest)
		table->lowest = fd / 64;
}

/* ---- open files ---------------------------------------------------------------------------- */

HF__TMPFS struct hf__file *hf__file_get(struct hf_tmpfs_table *table, int fd)
{
	struct hf__file *file;

	if (fd < 0 || (unsigned int)fd >= table->limit)
		return NULL;
	for (;;) {
		file = atomic_load_explicit(&table->slot[fd], memory_order_acquire);
		if (!file)
			return NULL;
		if (HF_LIKELY(hf_refcount_inc_not_zero_acquire(&file->refs))) {
			if (HF_LIKELY(atomic_load_explicit(&table->slot[fd],
							   memory_order_acquire) == file))
				return file;
			hf__file_put(table, file); /* T4: it became another one in between */
		}
	}
}

/* Spinlock held. */
static void to_pool(struct hf_tmpfs_table *table, struct hf__file *file)
{
	file->dentry = NULL;
	file->inode = NULL;
	file->next_free = table->free;
	table->free = file;
}

HF__TMPFS void hf__file_put(struct hf_tmpfs_table *table, struct hf__file *file)
{
	struct hf__dentry *dentry;

	if (HF_LIKELY(!hf_refcount_dec_and_test(&file->refs)))
		return;
	hf_spinlock_lock(&table->lock);
	dentry = file->dentry;
	to_pool(table, file);
	hf_spinlock_unlock(&table->lock);
	hf__dentry_put(dentry);
}

/* A descriptor, and a file for it. The spinlock is not held where memory is allocated (L4). */
static int take_both(struct hf_tmpfs_table *table, struct hf__file **file)
{
	struct hf__files *slab = NULL;
	int fd;

	for (;;) {
		hf_spinlock_lock(&table->lock);
		if (slab) {
			slab->block.next = table->slabs;
			table->slabs = &slab->block;
			table->files += HF__FILES;
			for (int i = HF__FILES - 1; i >= 0; i--)
				to_pool(table, &slab->file[i]);
		}
		if (table->free)
			break;
		hf_spinlock_unlock(&table->lock);
		slab = hf__new(table->block.fs, HF__KIND_FILES, sizeof(*slab), 0);
		if (!slab)
			return -ENOMEM;
		memset(slab->file, 0, sizeof(slab->file));
		for (int i = 0; i < HF__FILES; i++)
			pthread_mutex_init(&slab->file[i].lock, NULL);
	}
	fd = take_descriptor(table);
	if (fd >= 0) {
		*file = table->free;
		table->free = (*file)->next_free;
	}
	hf_spinlock_unlock(&table->lock);
	return fd >= 0 ? fd : -EMFILE;
}

/* What Linux asks of a file that is there, in its order. */
static int may_open(const struct hf__inode *inode, int flags)
{
	bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);

	if ((flags & O_CREAT) && hf__is_dir(inode))
		return -EISDIR;
	if ((flags & O_DIRECTORY) && !hf__is_dir(inode))
		return -ENOTDIR;
	if (inode->type == S_IFLNK)
		return -ELOOP;
	if (hf__is_dir(inode) && writes)
		return -EISDIR;
	return 0;
}

/* The entry to be opened, with a reference. */
static int find_entry(struct hf_tmpfs *fs, const char *path, int flags, mode_t mode,
		      struct hf__dentry **dentry)
{
	int error;

	if (flags & O_CREAT)
		error = hf__create(fs, path, flags, mode, dentry);
	else
		error = hf__walk_entry(fs, path, !(flags & O_NOFOLLOW), dentry);
	if (error)
		return error;
	error = may_open((*dentry)->inode, flags);
	if (!error && (flags & O_TRUNC))
		error = hf__truncate((*dentry)->inode, 0);
	if (error)
		hf__dentry_put(*dentry);
	return error;
}

HF_TMPFS_API int hf_tmpfs_open(struct hf_tmpfs_table *table, const char *path, int flags,
			       mode_t mode)
{
	struct hf__dentry *dentry;
	struct hf__file *file = NULL;
	int fd, error;

	if ((flags & O_ACCMODE) == O_ACCMODE || (flags & O_CREAT && flags & O_DIRECTORY))
		return -EINVAL;
	/* First, so that nothing is made or cut off for want of a descriptor. */
	fd = take_both(table, &file);
	if (fd < 0)
		return fd;
	error = find_entry(table->block.fs, path, flags, mode, &dentry);
	if (error) {
		hf_spinlock_lock(&table->lock);
		give_descriptor(table, (unsigned int)fd);
		to_pool(table, file);
		hf_spinlock_unlock(&table->lock);
		return error;
	}
	file->flags = flags;
	file->dentry = dentry;
	file->inode = dentry->inode;
	file->position = 0;
	hf_refcount_set_release(&file->refs, 1); /* T4 */
	atomic_store_explicit(&table->slot[fd], file, memory_order_release);
	return fd;
}

HF_TMPFS_API int hf_tmpfs_close(struct hf_tmpfs_table *table, int fd)
{
	struct hf__dentry *dentry = NULL;
	struct hf__file *file;

	if (fd < 0 || (unsigned int)fd >= table->limit)
		return -EBADF;
	hf_spinlock_lock(&table->lock);
	file = atomic_load_explicit(&table->slot[fd], memory_order_relaxed);
	if (!file) {
		hf_spinlock_unlock(&table->lock);
		return -EBADF;
	}
	/* First nobody finds it there, then its reference goes (T4). */
	atomic_store_explicit(&table->slot[fd], NULL, memory_order_release);
	give_descriptor(table, (unsigned int)fd);
	if (hf_refcount_dec_and_test(&file->refs)) {
		dentry = file->dentry;
		to_pool(table, file);
	}
	hf_spinlock_unlock(&table->lock);
	if (dentry)
		hf__dentry_put(dentry);
	return 0;
}

HF_TMPFS_API int hf_tmpfs_dup(struct hf_tmpfs_table *table, int fd)
{
	struct hf__file *file = hf__file_get(table, fd);
	int new;

	if (!file)
		return -EBADF;
	hf_spinlock_lock(&table->lock);
	new = take_descriptor(table);
	hf_spinlock_unlock(&table->lock);
	if (new < 0) {
		hf__file_put(table, file);
		return -EMFILE;
	}
	/* Our reference is the new descriptor's. */
	atomic_store_explicit(&table->slot[new], file, memory_order_release);
	return new;
}

/* ---- readdir ------------------------------------------------------------------------------- */

/* Through the fault guard: an entry is given whole, or not at all to be counted. */
static bool give(struct hf_tmpfs_dirent *to, const char *name, size_t length,
		 const struct hf__inode *inode, int64_t next)
{
	struct hf_tmpfs_dirent entry = { .inode = inode->number, .next = next };

	entry.type = inode->type == S_IFDIR ? DT_DIR : inode->type == S_IFLNK ? DT_LNK : DT_REG;
	memcpy(entry.name, name, length);
	return hf_copy_to_nofault(to, &entry, sizeof(entry)) == 0;
}

/* Directory's and file's mutex held. The position is the cookie of the last entry given. */
static int give_entries(struct hf__file *file, struct hf_tmpfs_dirent *to, int count)
{
	struct hf__inode *dir = file->inode;
	struct hf__list *at = dir->children.next;
	int given = 0;

	while (at != &dir->children &&
	       HF__OBJECT(at, struct hf__dentry, siblings)->cookie <= file->position)
		at = at->next;
	while (given < count) {
		struct hf__dentry *dentry = HF__OBJECT(at, struct hf__dentry, siblings);
		int64_t next = file->position + 1;
		bool ok;

		if (next <= 1) {
			next = 1;
			ok = give(&to[given], ".", 1, dir, next);
		} else if (next == 2) {
			ok = give(&to[given], "..", 2,
				  atomic_load_explicit(&dir->parent, memory_order_acquire), next);
		} else if (at != &dir->children) {
			next = dentry->cookie;
			ok = give(&to[given], dentry->name, dentry->length, dentry->inode, next);
			at = at->next;
		} else {
			break;
		}
		if (!ok)
			return given > 0 ? given : -EFAULT;
		file->position = next;
		given++;
	}
	return given;
}

HF_TMPFS_API int hf_tmpfs_readdir(struct hf_tmpfs_table *table, int fd, struct hf_tmpfs_dirent *to,
				  int count)
{
	struct hf__file *file = hf__file_get(table, fd);
	int given;

	if (!file)
		return -EBADF;
	if (!hf__is_dir(file->inode)) {
		hf__file_put(table, file);
		return -ENOTDIR;
	}
	pthread_mutex_lock(&file->lock);
	hf__rcu_read_lock(); /* the parent, which a rename may change */
	pthread_mutex_lock(&file->inode->lock);
	given = file->inode->removed ? -ENOENT : give_entries(file, to, count);
	pthread_mutex_unlock(&file->inode->lock);
	hf__rcu_read_unlock();
	pthread_mutex_unlock(&file->lock);
	hf__file_put(table, file);
	return given;
}
