/* SPDX-License-Identifier: MIT */
/*
 * table - descriptors and open files.
 *
 *   used   1 1 0 1 ...          one bit for each descriptor; under the spinlock
 *   slot   f g . h ...          read without the spinlock (T4)
 *   free   -> file -> file      their counts are 0; freed only with the table
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "holdfast/nofault.h"

#include "data.h"
#include "name.h"
#include "node.h"
#include "table.h"
#include "walk.h"

#define DEFAULT_LIMIT 1024

HF_TMPFS_API int hf_tmpfs_table_new(struct hf_tmpfs_table **table, struct hf_tmpfs *fs,
				    unsigned int limit)
{
	struct hf_tmpfs_table *made;
	size_t slots, words;

	if (limit == 0)
		limit = DEFAULT_LIMIT;
	if (limit > HF_TMPFS_DESCRIPTORS_MAX)
		return -EINVAL;
	slots = limit * sizeof(made->slot[0]);
	words = (limit + 63) / 64 * sizeof(uint64_t);
	made = tmpfs_object_new(fs, TMPFS_KIND_TABLE, sizeof(*made) + slots + words);
	if (!made)
		return -ENOMEM;
	memset((char *)made + sizeof(made->block), 0,
	       sizeof(*made) - sizeof(made->block) + slots + words);
	made->limit = limit;
	hf_spinlock_init(&made->lock);
	made->used = (uint64_t *)(void *)((char *)made->slot + slots);
	if (limit % 64)
		made->used[limit / 64] = UINT64_MAX << limit % 64; /* beyond the limit */
	hf_mutex_lock(&fs->tables_lock);
	tmpfs_list_add_last(&fs->tables, &made->siblings);
	hf_mutex_unlock(&fs->tables_lock);
	*table = made;
	return 0;
}

HF_TMPFS_API void hf_tmpfs_table_free(struct hf_tmpfs_table *table)
{
	struct hf_tmpfs *fs = table->block.fs;

	for (unsigned int fd = 0; fd < table->limit; fd++)
		(void)hf_tmpfs_close(table, (int)fd);
	while (table->slabs) {
		struct tmpfs_files *slab = TMPFS_OBJECT(table->slabs, struct tmpfs_files, block);

		table->slabs = slab->block.next;
		tmpfs_object_delete(&slab->block);
	}
	hf_mutex_lock(&fs->tables_lock);
	tmpfs_list_remove(&table->siblings);
	hf_mutex_unlock(&fs->tables_lock);
	tmpfs_object_delete(&table->block);
}

/* ---- descriptors --------------------------------------------------------------------------- */

/* Spinlock held. Reserves the lowest free descriptor; -1 = none. */
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
static void free_descriptor(struct hf_tmpfs_table *table, unsigned int fd)
{
	table->used[fd / 64] &= ~((uint64_t)1 << fd % 64);
	if (fd / 64 < table->lowest)
		table->lowest = fd / 64;
}

/* ---- open files ---------------------------------------------------------------------------- */

TMPFS_PRIVATE struct tmpfs_file *tmpfs_file_get(struct hf_tmpfs_table *table, int fd)
{
	struct tmpfs_file *file;

	if (fd < 0 || (unsigned int)fd >= table->limit)
		return NULL;
	for (;;) {
		file = atomic_load_explicit(&table->slot[fd], memory_order_acquire);
		if (!file)
			return NULL;
		if (TMPFS_LIKELY(hf_refcount_inc_not_zero_acquire(&file->refs))) {
			if (TMPFS_LIKELY(atomic_load_explicit(&table->slot[fd],
							      memory_order_acquire) == file))
				return file;
			tmpfs_file_put(table, file); /* T4: the memory was reused in between */
		}
	}
}

/* Spinlock held. */
static void file_free(struct hf_tmpfs_table *table, struct tmpfs_file *file)
{
	file->dentry = NULL;
	file->inode = NULL;
	file->next_free = table->free;
	table->free = file;
}

/* Drops a file's reference to its dentry or, if it has none, to its inode. */
static void drop(struct tmpfs_dentry *dentry, struct tmpfs_inode *inode)
{
	if (dentry)
		tmpfs_dentry_put(dentry);
	else
		tmpfs_inode_put(inode);
}

TMPFS_PRIVATE void tmpfs_file_put(struct hf_tmpfs_table *table, struct tmpfs_file *file)
{
	struct tmpfs_dentry *dentry;
	struct tmpfs_inode *inode;

	if (TMPFS_LIKELY(!hf_refcount_dec_and_test(&file->refs)))
		return;
	hf_spinlock_lock(&table->lock);
	dentry = file->dentry;
	inode = file->inode;
	file_free(table, file);
	hf_spinlock_unlock(&table->lock);
	drop(dentry, inode);
}

/* Reserves a descriptor and a file. Memory is allocated without the spinlock (L4). */
static int alloc_file(struct hf_tmpfs_table *table, struct tmpfs_file **file)
{
	struct tmpfs_files *slab = NULL;
	int fd;

	for (;;) {
		hf_spinlock_lock(&table->lock);
		if (slab) {
			slab->block.next = table->slabs;
			table->slabs = &slab->block;
			table->files += TMPFS_FILES;
			for (int i = TMPFS_FILES - 1; i >= 0; i--)
				file_free(table, &slab->file[i]);
		}
		if (table->free)
			break;
		hf_spinlock_unlock(&table->lock);
		slab = tmpfs_object_new(table->block.fs, TMPFS_KIND_FILES, sizeof(*slab));
		if (!slab)
			return -ENOMEM;
		memset(slab->file, 0, sizeof(slab->file));
		for (int i = 0; i < TMPFS_FILES; i++)
			hf_mutex_init(&slab->file[i].lock);
	}
	fd = take_descriptor(table);
	if (fd >= 0) {
		*file = table->free;
		table->free = (*file)->next_free;
	}
	hf_spinlock_unlock(&table->lock);
	return fd >= 0 ? fd : -EMFILE;
}

/* Linux's checks for opening an existing file, in its order. */
static int may_open(const struct tmpfs_inode *inode, int flags)
{
	bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);

	if (inode->type == S_IFLNK)
		return -ELOOP;
	if ((flags & O_CREAT) && tmpfs_is_dir(inode))
		return -EISDIR;
	if ((flags & O_DIRECTORY) && !tmpfs_is_dir(inode))
		return -ENOTDIR;
	if (!tmpfs_is_dir(inode) && inode->type != S_IFREG)
		return -ENXIO; /* no driver or peer */
	if (tmpfs_is_dir(inode) && writes)
		return -EISDIR;
	return 0;
}

/* Sets the file's dentry, or its inode, with a reference. */
static int find_file(struct tmpfs_file *file, struct tmpfs_inode *dir, const char *path, int flags,
		     mode_t mode, struct hf_tmpfs_node **node)
{
	int error = 0;

	file->dentry = NULL;
	file->inode = dir;
	if (!path)
		hf_refcount_inc(&dir->refs);
	else if (flags & O_CREAT)
		error = tmpfs_create(dir, path, flags, mode, &file->dentry);
	else
		error = tmpfs_walk_entry(dir, path, &file->dentry);
	if (error)
		return error;
	if (file->dentry)
		file->inode = file->dentry->inode;
	error = may_open(file->inode, flags);
	if (!error && (flags & O_TRUNC))
		error = tmpfs_truncate(file->inode, 0);
	if (error)
		drop(file->dentry, file->inode);
	else if (node)
		*node = tmpfs_node_get(file->inode);
	return error;
}

HF_TMPFS_API int hf_tmpfs_open(struct hf_tmpfs_table *table, struct hf_tmpfs_node *dir,
			       const char *path, int flags, mode_t mode,
			       struct hf_tmpfs_node **node)
{
	struct tmpfs_inode *start = dir ? tmpfs_inode_of(dir) : table->block.fs->root;
	struct tmpfs_file *file = NULL;
	int fd, error;

	if (start->block.fs != table->block.fs)
		return -EXDEV;
	if (!path)
		flags &= ~O_CREAT;
	if ((flags & O_ACCMODE) == O_ACCMODE || (flags & O_CREAT && flags & O_DIRECTORY))
		return -EINVAL;
	/* First, so that an open which fails with EMFILE creates and truncates nothing. */
	fd = alloc_file(table, &file);
	if (fd < 0)
		return fd;
	error = find_file(file, start, path, flags, mode, node);
	if (error) {
		hf_spinlock_lock(&table->lock);
		free_descriptor(table, (unsigned int)fd);
		file_free(table, file);
		hf_spinlock_unlock(&table->lock);
		return error;
	}
	file->flags = flags;
	file->position = 0;
	file->listing_end = 0;
	hf_refcount_set_release(&file->refs, 1); /* T4 */
	atomic_store_explicit(&table->slot[fd], file, memory_order_release);
	return fd;
}

HF_TMPFS_API int hf_tmpfs_close(struct hf_tmpfs_table *table, int fd)
{
	struct tmpfs_dentry *dentry = NULL;
	struct tmpfs_inode *inode = NULL;
	struct tmpfs_file *file;

	if (fd < 0 || (unsigned int)fd >= table->limit)
		return -EBADF;
	hf_spinlock_lock(&table->lock);
	file = atomic_load_explicit(&table->slot[fd], memory_order_relaxed);
	if (!file) {
		hf_spinlock_unlock(&table->lock);
		return -EBADF;
	}
	/* Clear the slot before dropping its reference, so that no new reader finds it (T4). */
	atomic_store_explicit(&table->slot[fd], NULL, memory_order_release);
	free_descriptor(table, (unsigned int)fd);
	if (hf_refcount_dec_and_test(&file->refs)) {
		dentry = file->dentry;
		inode = file->inode;
		file_free(table, file);
	}
	hf_spinlock_unlock(&table->lock);
	drop(dentry, inode);
	return 0;
}

HF_TMPFS_API int hf_tmpfs_dup(struct hf_tmpfs_table *table, int fd)
{
	struct tmpfs_file *file = tmpfs_file_get(table, fd);
	int made;

	if (!file)
		return -EBADF;
	hf_spinlock_lock(&table->lock);
	made = take_descriptor(table);
	hf_spinlock_unlock(&table->lock);
	if (made < 0) {
		tmpfs_file_put(table, file);
		return -EMFILE;
	}
	/* The new descriptor takes over our reference. */
	atomic_store_explicit(&table->slot[made], file, memory_order_release);
	return made;
}

/* ---- readdir ------------------------------------------------------------------------------- */

/* Copies an entry by nofault; false = it was not stored completely, so it must not be counted. */
static bool fill_entry(struct hf_tmpfs_dirent *to, const char *name, size_t length,
		       const struct tmpfs_inode *inode, uint64_t next)
{
	struct hf_tmpfs_dirent entry = { .inode = inode->number, .next = (int64_t)next };

	entry.type = (unsigned char)IFTODT(inode->type);
	memcpy(entry.name, name, length);
	return hf_copy_to_nofault(to, &entry, sizeof(entry)) == 0;
}

/*
 * Called with the file's mutex held, in a read-side section. The position is the cookie of the last
 * entry returned; "." and ".." have cookies 1 and 2.
 */
static int fill_entries(struct tmpfs_file *file, struct hf_tmpfs_dirent *to, int count)
{
	struct tmpfs_inode *dir = file->inode;
	int given = 0;

	/* T9: leave out names created from now on, so that the listing ends. */
	if (file->position == 0 || file->listing_end == 0)
		file->listing_end = atomic_load_explicit(&dir->next_cookie, memory_order_acquire);
	for (; given < count; given++) {
		uint64_t next = (uint64_t)file->position + 1;
		bool ok;

		if (next <= 2) {
			const struct tmpfs_inode *parent =
				atomic_load_explicit(&dir->parent, memory_order_acquire);

			/* The first `next` characters of "..": "." is the directory itself. */
			ok = fill_entry(&to[given], "..", (size_t)next, next == 1 ? dir : parent,
					next);
		} else {
			const struct tmpfs_dentry *dentry = tmpfs_dentry_from(dir, next);

			if (!dentry || dentry->cookie >= file->listing_end)
				break;
			next = dentry->cookie;
			ok = fill_entry(&to[given], dentry->name, dentry->length, dentry->inode,
					next);
		}
		if (!ok)
			return given > 0 ? given : -EFAULT;
		file->position = (int64_t)next;
	}
	return given;
}

HF_TMPFS_API int hf_tmpfs_readdir(struct hf_tmpfs_table *table, int fd, struct hf_tmpfs_dirent *to,
				  int count)
{
	struct tmpfs_file *file = tmpfs_file_get(table, fd);
	int given;

	if (!file)
		return -EBADF;
	if (!tmpfs_is_dir(file->inode)) {
		tmpfs_file_put(table, file);
		return -ENOTDIR;
	}
	hf_mutex_lock(&file->lock);
	tmpfs_rcu_read_lock();
	given = -ENOENT;
	if (!atomic_load_explicit(&file->inode->removed, memory_order_acquire))
		given = fill_entries(file, to, count);
	tmpfs_rcu_read_unlock();
	hf_mutex_unlock(&file->lock);
	if (given > 0 && !(file->flags & O_NOATIME))
		tmpfs_accessed(file->inode);
	tmpfs_file_put(table, file);
	return given;
}
