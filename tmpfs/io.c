/* SPDX-License-Identifier: MIT */
/* io - calls by descriptor: read, write, seek, size, fallocate, splice, attributes, flink. */
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "holdfast/nofault.h"

#include "data.h"
#include "name.h"
#include "table.h"

/* ---- calls --------------------------------------------------------------------------------- */

struct transfer {
	const struct iovec *pieces;
	int count;
	bool is_write;
	bool is_at; /* use `at` and not the file's position */
	off_t at;
};

static ssize_t move_all(struct tmpfs_inode *inode, const struct transfer *what, uint64_t at)
{
	size_t done = 0;
	int error = 0;

	for (int i = 0; i < what->count && !error; i++) {
		const struct iovec *piece = &what->pieces[i];
		size_t size = (size_t)tmpfs_least(piece->iov_len, TMPFS_RW_MAX - done), moved;
		bool fault = false;

		if (what->is_write) {
			if (at + done + size > TMPFS_SIZE_MAX)
				size = (size_t)(TMPFS_SIZE_MAX - at - done);
			moved = tmpfs_write_pages(inode, piece->iov_base, size, at + done, &error);
			if (!error && moved < tmpfs_least(piece->iov_len, TMPFS_RW_MAX - done))
				error = -EFBIG;
		} else {
			moved = tmpfs_read_pages(inode, piece->iov_base, size, at + done, &fault);
			error = fault ? -EFAULT : 0;
		}
		done += moved;
		if (moved < size)
			break;
	}
	return done > 0 ? (ssize_t)done : error;
}

static ssize_t move_at(struct tmpfs_file *file, const struct transfer *what, int64_t *at)
{
	struct tmpfs_inode *inode = file->inode;
	ssize_t done;

	if (!what->is_write) {
		done = move_all(inode, what, (uint64_t)*at);
		if (!(file->flags & O_NOATIME))
			tmpfs_accessed(inode);
		return done;
	}
	hf_mutex_lock(&inode->lock);
	if (file->flags & O_APPEND)
		*at = (int64_t)tmpfs_size(inode);
	done = move_all(inode, what, (uint64_t)*at);
	if (done > 0) {
		tmpfs_drop_setuid(inode);
		tmpfs_touch(inode);
	}
	hf_mutex_unlock(&inode->lock);
	return done;
}

/* The total size; -1 if it exceeds SSIZE_MAX. */
static ssize_t total_of(const struct iovec *pieces, int count)
{
	size_t total = 0;

	for (int i = 0; i < count; i++) {
		if (pieces[i].iov_len > (size_t)SSIZE_MAX - total)
			return -1;
		total += pieces[i].iov_len;
	}
	return (ssize_t)total;
}

/* With the file's position in *at, under the file's mutex. */
static ssize_t transfer_from(struct tmpfs_file *file, const struct transfer *what, int64_t *at)
{
	ssize_t total = total_of(what->pieces, what->count);

	if (total < 0 || *at > TMPFS_SIZE_MAX - total)
		return -EINVAL;
	if (tmpfs_is_dir(file->inode))
		return -EISDIR;
	return move_at(file, what, at);
}

static ssize_t transfer(struct hf_tmpfs_table *table, int fd, const struct transfer *what)
{
	int not_for = what->is_write ? O_RDONLY : O_WRONLY;
	struct tmpfs_file *file;
	ssize_t done;
	int64_t at;

	if (what->is_at && what->at < 0)
		return -EINVAL;
	file = tmpfs_file_get(table, fd);
	if (!file)
		return -EBADF;
	if ((file->flags & O_ACCMODE) == not_for) {
		done = -EBADF;
	} else if (what->is_at) {
		at = what->at;
		done = transfer_from(file, what, &at);
	} else {
		hf_mutex_lock(&file->lock);
		at = file->position;
		done = transfer_from(file, what, &at);
		if (done > 0)
			file->position = at + done; /* with O_APPEND, `at` is the old end */
		hf_mutex_unlock(&file->lock);
	}
	tmpfs_file_put(table, file);
	return done;
}

static ssize_t transfer_one(struct hf_tmpfs_table *table, int fd, bool is_write, const void *memory,
			    size_t size, bool is_at, off_t at)
{
	struct iovec piece = { (void *)(uintptr_t)memory, size };
	struct transfer what = { &piece, 1, is_write, is_at, at };

	return transfer(table, fd, &what);
}

static ssize_t transfer_many(struct hf_tmpfs_table *table, int fd, bool is_write,
			     const struct iovec *pieces, int count)
{
	struct iovec copy[IOV_MAX];
	struct transfer what = { copy, count, is_write, false, 0 };

	if (count < 0 || count > IOV_MAX)
		return -EINVAL;
	if (hf_copy_from_nofault(copy, pieces, (size_t)count * sizeof(copy[0])))
		return -EFAULT;
	return transfer(table, fd, &what);
}

HF_TMPFS_API ssize_t hf_tmpfs_read(struct hf_tmpfs_table *table, int fd, void *to, size_t size)
{
	return transfer_one(table, fd, false, to, size, false, 0);
}

HF_TMPFS_API ssize_t hf_tmpfs_pread(struct hf_tmpfs_table *table, int fd, void *to, size_t size,
				    off_t at)
{
	return transfer_one(table, fd, false, to, size, true, at);
}

HF_TMPFS_API ssize_t hf_tmpfs_readv(struct hf_tmpfs_table *table, int fd, const struct iovec *to,
				    int count)
{
	return transfer_many(table, fd, false, to, count);
}

HF_TMPFS_API ssize_t hf_tmpfs_write(struct hf_tmpfs_table *table, int fd, const void *from,
				    size_t size)
{
	return transfer_one(table, fd, true, from, size, false, 0);
}

HF_TMPFS_API ssize_t hf_tmpfs_pwrite(struct hf_tmpfs_table *table, int fd, const void *from,
				     size_t size, off_t at)
{
	return transfer_one(table, fd, true, from, size, true, at);
}

HF_TMPFS_API ssize_t hf_tmpfs_writev(struct hf_tmpfs_table *table, int fd, const struct iovec *from,
				     int count)
{
	return transfer_many(table, fd, true, from, count);
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

/* ---- splice -------------------------------------------------------------------------------- */

struct spliced {
	struct tmpfs_block block;
	struct hf_tmpfs_buffer buffer;
	_Alignas(64) char data[HF_TMPFS_PAGE];
};

HF_TMPFS_API void hf_tmpfs_buffer_free(struct hf_tmpfs_buffer *buffer)
{
	tmpfs_object_delete(&TMPFS_OBJECT(buffer, struct spliced, buffer)->block);
}

/*
 * The sink keeps its pieces and may change them, so each piece is a separate page, even of a hole.
 */
static ssize_t splice_pages(struct tmpfs_inode *inode, size_t size, uint64_t at,
			    int (*sink)(void *data, struct hf_tmpfs_buffer *buffer), void *data)
{
	size_t done = 0;

	while (done < size) {
		struct spliced *piece =
			tmpfs_object_new(inode->block.fs, TMPFS_KIND_BUFFER, sizeof(*piece));
		size_t in = (at + done) % HF_TMPFS_PAGE;
		bool fault = false;
		int error;

		if (!piece)
			return done ? (ssize_t)done : -ENOMEM;
		piece->buffer.fs = inode->block.fs;
		piece->buffer.data = piece->data;
		piece->buffer.size = tmpfs_read_pages(
			inode, piece->data, (size_t)tmpfs_least(size - done, HF_TMPFS_PAGE - in),
			at + done, &fault);
		/* The memory is reused: don't leak its old contents. */
		tmpfs_clear_own(piece->data + piece->buffer.size,
				HF_TMPFS_PAGE - piece->buffer.size);
		in = piece->buffer.size; /* the sink may free it */
		error = in ? sink(data, &piece->buffer) : 0;
		if (error || in == 0) {
			tmpfs_object_delete(&piece->block);
			return done ? (ssize_t)done : error;
		}
		done += in;
	}
	return (ssize_t)done;
}

HF_TMPFS_API ssize_t hf_tmpfs_splice(struct hf_tmpfs_table *table, int fd, size_t size, off_t at,
				     int (*sink)(void *data, struct hf_tmpfs_buffer *buffer),
				     void *data)
{
	struct tmpfs_file *file;
	ssize_t done;

	if (at < 0)
		return -EINVAL;
	file = tmpfs_file_get(table, fd);
	if (!file)
		return -EBADF;
	if ((file->flags & O_ACCMODE) == O_WRONLY)
		done = -EBADF;
	else if (tmpfs_is_dir(file->inode))
		done = -EISDIR;
	else
		done = splice_pages(file->inode, (size_t)tmpfs_least(size, TMPFS_RW_MAX),
				    (uint64_t)at, sink, data);
	tmpfs_file_put(table, file);
	return done;
}

/* ---- attributes, names --------------------------------------------------------------------- */

HF_TMPFS_API int hf_tmpfs_fstat(struct hf_tmpfs_table *table, int fd, struct stat *to)
{
	struct tmpfs_file *file = tmpfs_file_get(table, fd);

	if (!file)
		return -EBADF;
	tmpfs_inode_stat(file->inode, to);
	tmpfs_file_put(table, file);
	return 0;
}

HF_TMPFS_API int hf_tmpfs_fsetattr(struct hf_tmpfs_table *table, int fd,
				   const struct hf_tmpfs_attributes *to)
{
	struct tmpfs_file *file = tmpfs_file_get(table, fd);
	int error;

	if (!file)
		return -EBADF;
	error = tmpfs_set_attributes(file->inode, to);
	tmpfs_file_put(table, file);
	return error;
}

HF_TMPFS_API int hf_tmpfs_flink(struct hf_tmpfs_table *table, int fd, const char *to)
{
	struct tmpfs_file *file = tmpfs_file_get(table, fd);
	int error;

	if (!file)
		return -EBADF;
	error = tmpfs_link_inode(tmpfs_root(table->block.fs), to, file->inode);
	tmpfs_file_put(table, file);
	return error;
}
