/* SPDX-License-Identifier: MIT */
/* data - what is in a file: read, write, size, holes. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t size_of(struct tmpfs_inode *inode)
{
	return atomic_load_explicit(&inode->size, memory_order_acquire);
}

static void set_size(struct tmpfs_inode *inode, uint64_t size)
{
	atomic_store_explicit(&inode->size, size, memory_order_release);
}

static bool is_data(struct tmpfs_page *page)
{
	return page && atomic_load_explicit(&page->written, memory_order_acquire);
}

/* Of memory of our own, which is there. As the readers' copies: not for a sanitizer to compare. */
static void clear_own(char *memory, size_t size)
{
	if (hf_clear_nofault(memory, size) != 0)
		abort();
}

/* ---- read ---------------------------------------------------------------------------------- */

/*
 * A hole: cleared in the buffer. -DHF_TMPFS_COPY_HOLES copies a page of zeros instead, for the lab to
 * say which is faster.
 */
static size_t read_hole(char *to, size_t size)
{
#ifdef HF_TMPFS_COPY_HOLES
	static _Alignas(64) const char zeros[HF_TMPFS_PAGE];

	while (size > 0) {
		size_t count = (size_t)least(size, sizeof(zeros));
		size_t left = hf_copy_to_nofault(to, zeros, count);

		to += count - left;
		size -= count - left;
		if (left)
			break;
	}
	return size;
#else
	return hf_clear_nofault(to, size);
#endif
}

/* Returns the bytes moved; fewer than `size` at the end of the file, or with *fault. */
static size_t read_pages(struct tmpfs_inode *inode, char *to, size_t size, uint64_t at, bool *fault)
{
	size_t done = 0;

	while (done < size) {
		uint64_t end = size_of(inode), position = at + done, hole = 1, most;
		size_t in = position % HF_TMPFS_PAGE, count, left;
		struct tmpfs_page *page;

		if (position >= end)
			break;
		most = least(size - done, end - position);
		tmpfs_rcu_read_lock(); /* T5 */
		page = tmpfs_page_find(inode, position / HF_TMPFS_PAGE, &hole);
		if (is_data(page)) {
			count = (size_t)least(most, HF_TMPFS_PAGE - in);
			left = hf_copy_to_nofault(to + done, page->data + in, count);
			tmpfs_rcu_read_unlock();
		} else {
			tmpfs_rcu_read_unlock();
			hole = page ? 1 : hole;
			count = (size_t)least(most, hole * HF_TMPFS_PAGE - in);
			left = read_hole(to + done, count);
		}
		done += count - left;
		if (left) {
			*fault = true;
			break;
		}
	}
	return done;
}

/* ---- write --------------------------------------------------------------------------------- */

/* A page that is not there yet: filled, and then published (T6). *count: bytes moved. */
static int write_new(struct tmpfs_inode *inode, const char *from, size_t in, size_t *count,
		     uint64_t index)
{
	size_t size = *count, left;
	struct tmpfs_page *page;
	int error;

	*count = 0;
	error = tmpfs_page_new(inode->block.fs, &page);
	if (error)
		return error;
	clear_own(page->data, in);
	left = hf_copy_from_nofault(page->data + in, from, size);
	clear_own(page->data + in + size - left, HF_TMPFS_PAGE - in - size + left);
	atomic_store_explicit(&page->written, true, memory_order_relaxed);
	error = left == size ? -EFAULT : tmpfs_page_insert(inode, index, page);
	if (error) {
		tmpfs_page_free(page);
		return error;
	}
	*count = size - left;
	return left ? -EFAULT : 0;
}

static int write_old(struct tmpfs_page *page, const char *from, size_t in, size_t *count)
{
	size_t left = hf_copy_from_nofault(page->data + in, from, *count);

	*count -= left;
	if (*count > 0)
		atomic_store_explicit(&page->written, true, memory_order_release);
	return left ? -EFAULT : 0;
}

/* Mutex held. Returns the bytes moved; *error says why not all. */
static size_t write_pages(struct tmpfs_inode *inode, const char *from, size_t size, uint64_t at,
			  int *error)
{
	size_t done = 0;

	while (done < size && !*error) {
		uint64_t position = at + done, hole;
		size_t in = position % HF_TMPFS_PAGE;
		size_t count = (size_t)least(size - done, HF_TMPFS_PAGE - in);
		struct tmpfs_page *page = tmpfs_page_find(inode, position / HF_TMPFS_PAGE, &hole);

		if (page)
			*error = write_old(page, from + done, in, &count);
		else
			*error =
				write_new(inode, from + done, in, &count, position / HF_TMPFS_PAGE);
		done += count;
		if (count > 0 && at + done > size_of(inode))
			set_size(inode, at + done);
	}
	return done;
}

/* ---- calls --------------------------------------------------------------------------------- */

struct transfer {
	const struct iovec *pieces;
	int count;
	bool is_write;
	bool is_at; /* at `at`, and not at the file's position */
	off_t at;
};

static ssize_t move_all(struct tmpfs_inode *inode, const struct transfer *what, uint64_t at)
{
	size_t done = 0;
	int error = 0;

	for (int i = 0; i < what->count && !error; i++) {
		const struct iovec *piece = &what->pieces[i];
		size_t size = (size_t)least(piece->iov_len, TMPFS_RW_MAX - done), moved;
		bool fault = false;

		if (what->is_write) {
			if (at + done + size > TMPFS_SIZE_MAX)
				size = (size_t)(TMPFS_SIZE_MAX - at - done);
			moved = write_pages(inode, piece->iov_base, size, at + done, &error);
			if (!error && moved < least(piece->iov_len, TMPFS_RW_MAX - done))
				error = -EFBIG;
		} else {
			moved = read_pages(inode, piece->iov_base, size, at + done, &fault);
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
		*at = (int64_t)size_of(inode);
	done = move_all(inode, what, (uint64_t)*at);
	if (done > 0) {
		tmpfs_drop_setuid(inode);
		tmpfs_touch(inode);
	}
	hf_mutex_unlock(&inode->lock);
	return done;
}

/* The total; -1 = too much for a count. */
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

/* From a position that is given, or the file's, whose mutex is then held. */
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
			file->position = at + done; /* `at` was the end, with O_APPEND */
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

/* The first byte from `at` on that is data, or is none. */
static int64_t seek_data_or_hole(struct tmpfs_inode *inode, int64_t at, bool want_data)
{
	uint64_t size = size_of(inode), index, hole;

	if (at < 0 || (uint64_t)at >= size)
		return -ENXIO;
	for (index = (uint64_t)at / HF_TMPFS_PAGE; index * HF_TMPFS_PAGE < size;) {
		struct tmpfs_page *page;
		bool found;

		tmpfs_rcu_read_lock();
		page = tmpfs_page_find(inode, index, &hole);
		found = is_data(page);
		tmpfs_rcu_read_unlock();
		if (found == want_data) {
			int64_t begin = (int64_t)(index * HF_TMPFS_PAGE);

			return begin > at ? begin : at;
		}
		index += page ? 1 : hole;
	}
	return want_data ? -ENXIO : (int64_t)size;
}

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
		base = (int64_t)size_of(inode);
		break;
	case SEEK_DATA:
	case SEEK_HOLE:
		if (tmpfs_is_dir(inode))
			return -EINVAL;
		return seek_data_or_hole(inode, offset, whence == SEEK_DATA);
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

/* ---- size and holes ------------------------------------------------------------------------ */

/* The part of one page that is there: 0 from now on, as what is behind the end has to be (T6). */
static void clear_part(struct tmpfs_inode *inode, uint64_t begin, uint64_t end)
{
	uint64_t hole;
	struct tmpfs_page *page;

	if (begin == end)
		return;
	page = tmpfs_page_find(inode, begin / HF_TMPFS_PAGE, &hole);
	if (page)
		clear_own(page->data + begin % HF_TMPFS_PAGE, end - begin);
}

TMPFS_PRIVATE int tmpfs_truncate(struct tmpfs_inode *inode, int64_t to)
{
	uint64_t size = (uint64_t)to, page_end, old;

	if (to < 0)
		return -EINVAL;
	hf_mutex_lock(&inode->lock);
	old = size_of(inode);
	set_size(inode, size);
	if (size <= old) {
		/* What fallocate took behind the end goes, too. */
		page_end = (size + HF_TMPFS_PAGE - 1) / HF_TMPFS_PAGE;
		clear_part(inode, size, page_end * HF_TMPFS_PAGE);
		tmpfs_pages_remove(inode, page_end, UINT64_MAX / HF_TMPFS_PAGE);
	}
	tmpfs_drop_setuid(inode);
	tmpfs_touch(inode);
	hf_mutex_unlock(&inode->lock);
	return 0;
}

/* By name or node: of what it may not be. */
static int truncate_inode(struct tmpfs_inode *inode, int64_t to)
{
	if (tmpfs_is_dir(inode))
		return -EISDIR;
	if (inode->type != S_IFREG)
		return -EINVAL;
	return tmpfs_truncate(inode, to);
}

HF_TMPFS_API int hf_tmpfs_node_truncate(struct hf_tmpfs_node *node, off_t size)
{
	return size < 0 ? -EINVAL : truncate_inode(tmpfs_inode_of(node), size);
}

HF_TMPFS_API int hf_tmpfs_truncate(struct hf_tmpfs *fs, const char *path, off_t size)
{
	struct tmpfs_dentry *dentry;
	int error;

	if (size < 0)
		return -EINVAL;
	error = tmpfs_walk_entry(tmpfs_root(fs), path, true, &dentry);
	if (error)
		return error;
	error = truncate_inode(dentry->inode, size);
	tmpfs_dentry_put(dentry);
	return error;
}

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

static void punch(struct tmpfs_inode *inode, uint64_t begin, uint64_t end)
{
	uint64_t first = (begin + HF_TMPFS_PAGE - 1) / HF_TMPFS_PAGE, behind = end / HF_TMPFS_PAGE;

	if (first > behind) { /* within one page */
		clear_part(inode, begin, end);
		return;
	}
	clear_part(inode, begin, first * HF_TMPFS_PAGE);
	clear_part(inode, behind * HF_TMPFS_PAGE, end);
	tmpfs_pages_remove(inode, first, behind);
}

/* Behind what take_pages() has looked at: of the fresh pages it keeps all, or takes them out again. */
static void settle_pages(struct tmpfs_inode *inode, uint64_t first, uint64_t end, bool keep)
{
	uint64_t hole = 1;

	for (uint64_t index = first; index < end; index += hole) {
		struct tmpfs_page *page = tmpfs_page_find(inode, index, &hole);

		if (!page)
			continue;
		hole = 1;
		if (page->fresh && !keep)
			tmpfs_pages_remove(inode, index, index + 1);
		else if (page->fresh)
			page->fresh = false;
		else if (keep) /* taken once more, it counts as data: as Linux has it */
			atomic_store_explicit(&page->written, true, memory_order_release);
	}
}

/* Takes what is missing, or nothing. */
static int take_pages(struct tmpfs_inode *inode, uint64_t first, uint64_t end)
{
	struct hf_tmpfs *fs = inode->block.fs;
	int error = end - first > fs->page_limit ? -ENOSPC : 0;
	uint64_t index;

	for (index = first; index < end && !error; index++) {
		uint64_t hole;
		struct tmpfs_page *page = tmpfs_page_find(inode, index, &hole);

		if (page)
			continue;
		error = tmpfs_page_new(fs, &page);
		if (error)
			break;
		clear_own(page->data, HF_TMPFS_PAGE);
		page->fresh = true;
		error = tmpfs_page_insert(inode, index, page);
		if (error)
			tmpfs_page_free(page);
	}
	settle_pages(inode, first, index, !error);
	return error;
}

static int allocate(struct tmpfs_inode *inode, int mode, uint64_t begin, uint64_t end)
{
	int error = 0;

	hf_mutex_lock(&inode->lock);
	if (mode & HF_TMPFS_FALLOC_PUNCH_HOLE) {
		punch(inode, begin, end);
	} else {
		error = take_pages(inode, begin / HF_TMPFS_PAGE,
				   (end + HF_TMPFS_PAGE - 1) / HF_TMPFS_PAGE);
		if (!error && !mode && end > size_of(inode))
			set_size(inode, end);
	}
	if (!error) {
		tmpfs_drop_setuid(inode);
		tmpfs_touch(inode);
	}
	hf_mutex_unlock(&inode->lock);
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
		error = allocate(file->inode, mode, (uint64_t)at, (uint64_t)at + (uint64_t)size);
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

/* A sink keeps what it gets, and may change it: so each piece, of a hole too, is a page of its own. */
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
		piece->buffer.size = read_pages(inode, piece->data,
						(size_t)least(size - done, HF_TMPFS_PAGE - in),
						at + done, &fault);
		/* Not what was in this memory before. */
		clear_own(piece->data + piece->buffer.size, HF_TMPFS_PAGE - piece->buffer.size);
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
		done = splice_pages(file->inode, (size_t)least(size, TMPFS_RW_MAX), (uint64_t)at,
				    sink, data);
	tmpfs_file_put(table, file);
	return done;
}
