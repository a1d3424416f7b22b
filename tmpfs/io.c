/* SPDX-License-Identifier: MIT */
/* io - calls by descriptor: read, write, seek, size, fallocate, fstat. */
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "data.h"
#include "table.h"

/* ---- calls --------------------------------------------------------------------------------- */

static ssize_t read_at(struct tmpfs_file *file, char *to, size_t size, uint64_t at)
{
	bool fault = false;
	size_t done = tmpfs_read_pages(file->inode, to, size, at, &fault);

	if (!(file->flags & O_NOATIME))
		tmpfs_accessed(file->inode);
	return done == 0 && fault ? -EFAULT : (ssize_t)done;
}

/* With O_APPEND, sets *at to the end of the file. */
static ssize_t write_at(struct tmpfs_file *file, const char *from, size_t size, int64_t *at)
{
	struct tmpfs_inode *inode = file->inode;
	int error = 0;
	size_t done, room;

	hf_mutex_lock(&inode->contents);
	if (file->flags & O_APPEND)
		*at = (int64_t)tmpfs_size(inode);
	room = (size_t)tmpfs_least(size, (uint64_t)(TMPFS_SIZE_MAX - *at));
	done = tmpfs_write_pages(inode, from, room, (uint64_t)*at, &error);
	if (done > 0)
		tmpfs_touch(inode);
	hf_mutex_unlock(&inode->contents);
	if (done > 0)
		return (ssize_t)done;
	return !error && room < size ? -EFBIG : error;
}

static ssize_t transfer_at(struct tmpfs_file *file, bool is_write, void *memory, size_t size,
			   int64_t *at)
{
	if (size > (size_t)SSIZE_MAX || *at > TMPFS_SIZE_MAX - (int64_t)size)
		return -EINVAL;
	if (tmpfs_is_dir(file->inode))
		return -EISDIR;
	size = (size_t)tmpfs_least(size, TMPFS_RW_MAX);
	return is_write ? write_at(file, memory, size, at)
			: read_at(file, memory, size, (uint64_t)*at);
}

/* `where`: NULL = the file's position, which is then updated. */
static ssize_t transfer(struct hf_tmpfs_table *table, int fd, bool is_write, void *memory,
			size_t size, const off_t *where)
{
	struct tmpfs_file *file;
	ssize_t done;
	int64_t at;

	if (where && *where < 0)
		return -EINVAL;
	file = tmpfs_file_get(table, fd);
	if (!file)
		return -EBADF;
	if ((file->flags & O_ACCMODE) == (is_write ? O_RDONLY : O_WRONLY)) {
		done = -EBADF;
	} else if (where) {
		at = *where;
		done = transfer_at(file, is_write, memory, size, &at);
	} else {
		hf_mutex_lock(&file->lock);
		at = file->position;
		done = transfer_at(file, is_write, memory, size, &at);
		if (done > 0)
			file->position = at + done;
		hf_mutex_unlock(&file->lock);
	}
	tmpfs_file_put(table, file);
	return done;
}

HF_TMPFS_API ssize_t hf_tmpfs_read(struct hf_tmpfs_table *table, int fd, void *to, size_t size)
{
	return transfer(table, fd, false, to, size, NULL);
}

HF_TMPFS_API ssize_t hf_tmpfs_pread(struct hf_tmpfs_table *table, int fd, void *to, size_t size,
				    off_t at)
{
	return transfer(table, fd, false, to, size, &at);
}

HF_TMPFS_API ssize_t hf_tmpfs_write(struct hf_tmpfs_table *table, int fd, const void *from,
				    size_t size)
{
	return transfer(table, fd, true, (void *)(uintptr_t)from, size, NULL);
}

HF_TMPFS_API ssize_t hf_tmpfs_pwrite(struct hf_tmpfs_table *table, int fd, const void *from,
				     size_t size, off_t at)
{
	return transfer(table, fd, true, (void *)(uintptr_t)from, size, &at);
}

/* ---- position ------------------------------------------------------------------------------ */

static int64_t new_position(struct tmpfs_file *file, int64_t offset, int whence)
{
	struct tmpfs_inode *inode = file->inode;
	int64_t base = 0;

	switch (whence) {
	case SEEK_SET:
		break;
	case SEEK_CUR:
		base = file->position;
		break;
	case SEEK_END:
		if (tmpfs_is_dir(inode))
			return -EINVAL;
		base = (int64_t)tmpfs_size(inode);
		break;
	case SEEK_DATA:
	case SEEK_HOLE:
		if (tmpfs_is_dir(inode))
			return -EINVAL;
		return tmpfs_seek(inode, offset, whence == SEEK_DATA);
	default:
		return -EINVAL;
	}
	if (__builtin_add_overflow(base, offset, &base) || base < 0)
		return -EINVAL;
	return base;
}

HF_TMPFS_API off_t hf_tmpfs_lseek(struct hf_tmpfs_table *table, int fd, off_t offset, int whence)
{
	struct tmpfs_file *file = tmpfs_file_get(table, fd);
	int64_t position;

	if (!file)
		return -EBADF;
	hf_mutex_lock(&file->lock);
	position = new_position(file, offset, whence);
	if (position >= 0)
		file->position = position;
	hf_mutex_unlock(&file->lock);
	tmpfs_file_put(table, file);
	return position;
}

/* ---- size and space ------------------------------------------------------------------------- */

HF_TMPFS_API int hf_tmpfs_ftruncate(struct hf_tmpfs_table *table, int fd, off_t size)
{
	struct tmpfs_file *file;
	int error = -EINVAL;

	if (size < 0)
		return -EINVAL;
	file = tmpfs_file_get(table, fd);
	if (!file)
		return -EBADF;
	if ((file->flags & O_ACCMODE) != O_RDONLY)
		error = tmpfs_truncate(file->inode, size);
	tmpfs_file_put(table, file);
	return error;
}

HF_TMPFS_API int hf_tmpfs_fallocate(struct hf_tmpfs_table *table, int fd, int mode, off_t at,
				    off_t size)
{
	const int punch_hole = HF_TMPFS_FALLOC_PUNCH_HOLE | HF_TMPFS_FALLOC_KEEP_SIZE;
	struct tmpfs_file *file = tmpfs_file_get(table, fd);
	int error = 0;

	if (!file)
		return -EBADF;
	if (at < 0 || size <= 0)
		error = -EINVAL;
	else if (mode != 0 && mode != HF_TMPFS_FALLOC_KEEP_SIZE && mode != punch_hole)
		error = -EOPNOTSUPP;
	else if ((file->flags & O_ACCMODE) == O_RDONLY)
		error = -EBADF;
	else if (at > TMPFS_SIZE_MAX - size)
		error = -EFBIG;
	else
		error = tmpfs_allocate(file->inode, mode, (uint64_t)at,
				       (uint64_t)at + (uint64_t)size);
	tmpfs_file_put(table, file);
	return error;
}

/* ---- attributes ---------------------------------------------------------------------------- */

HF_TMPFS_API int hf_tmpfs_fstat(struct hf_tmpfs_table *table, int fd, struct stat *to)
{
	struct tmpfs_file *file = tmpfs_file_get(table, fd);

	if (!file)
		return -EBADF;
	tmpfs_inode_stat(file->inode, to);
	tmpfs_file_put(table, file);
	return 0;
}
