/* SPDX-License-Identifier: MIT */
/* data - the contents of a file: read, write, size, holes. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "holdfast/nofault.h"

#include "data.h"

static void set_size(struct tmpfs_inode *inode, uint64_t size)
{
	atomic_store_explicit(&inode->size, size, memory_order_release);
}

static bool is_data(struct tmpfs_page *page)
{
	return page && atomic_load_explicit(&page->written, memory_order_acquire);
}

TMPFS_PRIVATE void tmpfs_clear_own(char *memory, size_t size)
{
	if (hf_clear_nofault(memory, size) != 0)
		abort();
}

/* ---- read ---------------------------------------------------------------------------------- */

/*
 * Reads a hole: clears the buffer. With -DHF_TMPFS_COPY_HOLES it copies a page of zeros instead, so
 * that the lab can compare the two.
 */
static size_t read_hole(char *to, size_t size)
{
#ifdef HF_TMPFS_COPY_HOLES
	static _Alignas(64) const char zeros[HF_TMPFS_PAGE];

	while (size > 0) {
		size_t count = (size_t)tmpfs_least(size, sizeof(zeros));
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

TMPFS_PRIVATE size_t tmpfs_read_pages(struct tmpfs_inode *inode, char *to, size_t size, uint64_t at,
				      bool *fault)
{
	size_t done = 0;

	while (done < size) {
		uint64_t end = tmpfs_size(inode), position = at + done, hole = 1, most;
		size_t in = position % HF_TMPFS_PAGE, count, left;
		struct tmpfs_page *page;

		if (position >= end)
			break;
		most = tmpfs_least(size - done, end - position);
		tmpfs_rcu_read_lock(); /* T5 */
		page = tmpfs_page_find(&inode->tree, position / HF_TMPFS_PAGE, &hole);
		if (is_data(page)) {
			count = (size_t)tmpfs_least(most, HF_TMPFS_PAGE - in);
			left = hf_copy_to_nofault(to + done, page->data + in, count);
			tmpfs_rcu_read_unlock();
		} else {
			tmpfs_rcu_read_unlock();
			hole = page ? 1 : hole;
			count = (size_t)tmpfs_least(most, hole * HF_TMPFS_PAGE - in);
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

/* Fills a new page and then publishes it (T6). *count: bytes written. */
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
	tmpfs_clear_own(page->data, in);
	left = hf_copy_from_nofault(page->data + in, from, size);
	tmpfs_clear_own(page->data + in + size - left, HF_TMPFS_PAGE - in - size + left);
	atomic_store_explicit(&page->written, true, memory_order_relaxed);
	error = left == size ? -EFAULT : tmpfs_page_insert(&inode->tree, index, page);
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

TMPFS_PRIVATE size_t tmpfs_write_pages(struct tmpfs_inode *inode, const char *from, size_t size,
				       uint64_t at, int *error)
{
	size_t done = 0;

	while (done < size && !*error) {
		uint64_t position = at + done, hole;
		size_t in = position % HF_TMPFS_PAGE;
		size_t count = (size_t)tmpfs_least(size - done, HF_TMPFS_PAGE - in);
		struct tmpfs_page *page =
			tmpfs_page_find(&inode->tree, position / HF_TMPFS_PAGE, &hole);

		if (page)
			*error = write_old(page, from + done, in, &count);
		else
			*error =
				write_new(inode, from + done, in, &count, position / HF_TMPFS_PAGE);
		done += count;
		if (count > 0 && at + done > tmpfs_size(inode))
			set_size(inode, at + done);
	}
	return done;
}

/* ---- seek -------------------------------------------------------------------------------- */

TMPFS_PRIVATE int64_t tmpfs_seek(struct tmpfs_inode *inode, int64_t at, bool want_data)
{
	uint64_t size = tmpfs_size(inode), index, hole;

	if (at < 0 || (uint64_t)at >= size)
		return -ENXIO;
	for (index = (uint64_t)at / HF_TMPFS_PAGE; index * HF_TMPFS_PAGE < size;) {
		struct tmpfs_page *page;
		bool found;

		tmpfs_rcu_read_lock();
		page = tmpfs_page_find(&inode->tree, index, &hole);
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

/* ---- size and holes ------------------------------------------------------------------------ */

/* Clears a part of one page, if the page exists: bytes behind the end must be 0 (T6). */
static void clear_part(struct tmpfs_inode *inode, uint64_t begin, uint64_t end)
{
	uint64_t hole;
	struct tmpfs_page *page;

	if (begin == end)
		return;
	page = tmpfs_page_find(&inode->tree, begin / HF_TMPFS_PAGE, &hole);
	if (page)
		tmpfs_clear_own(page->data + begin % HF_TMPFS_PAGE, end - begin);
}

TMPFS_PRIVATE int tmpfs_truncate(struct tmpfs_inode *inode, int64_t to)
{
	uint64_t size = (uint64_t)to, page_end, old;

	if (to < 0)
		return -EINVAL;
	hf_mutex_lock(&inode->contents);
	old = tmpfs_size(inode);
	set_size(inode, size);
	if (size <= old) {
		/* Pages that fallocate took behind the end are freed, too. */
		page_end = (size + HF_TMPFS_PAGE - 1) / HF_TMPFS_PAGE;
		clear_part(inode, size, page_end * HF_TMPFS_PAGE);
		tmpfs_pages_remove(&inode->tree, page_end, UINT64_MAX / HF_TMPFS_PAGE);
	}
	tmpfs_touch(inode);
	hf_mutex_unlock(&inode->contents);
	return 0;
}

HF_TMPFS_API int hf_tmpfs_truncate(struct hf_tmpfs_node *node, off_t size)
{
	struct tmpfs_inode *inode = tmpfs_inode_of(node);

	if (tmpfs_is_dir(inode))
		return -EISDIR;
	return inode->type == S_IFREG ? tmpfs_truncate(inode, size) : -EINVAL;
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
	tmpfs_pages_remove(&inode->tree, first, behind);
}

/* Ends take_pages() for the pages it has visited: keeps the fresh ones, or removes them again. */
static void settle_pages(struct tmpfs_inode *inode, uint64_t first, uint64_t end, bool keep)
{
	uint64_t hole = 1;

	for (uint64_t index = first; index < end; index += hole) {
		struct tmpfs_page *page = tmpfs_page_find(&inode->tree, index, &hole);

		if (!page)
			continue;
		hole = 1;
		if (page->fresh && !keep)
			tmpfs_pages_remove(&inode->tree, index, index + 1);
		else if (page->fresh)
			page->fresh = false;
		else if (keep) /* as in Linux, a second fallocate makes it count as data */
			atomic_store_explicit(&page->written, true, memory_order_release);
	}
}

/* Allocates the missing pages; on an error, none. */
static int take_pages(struct tmpfs_inode *inode, uint64_t first, uint64_t end)
{
	struct hf_tmpfs *fs = inode->block.fs;
	int error = end - first > fs->page_limit ? -ENOSPC : 0;
	uint64_t index;

	for (index = first; index < end && !error; index++) {
		uint64_t hole;
		struct tmpfs_page *page = tmpfs_page_find(&inode->tree, index, &hole);

		if (page)
			continue;
		error = tmpfs_page_new(fs, &page);
		if (error)
			break;
		tmpfs_clear_own(page->data, HF_TMPFS_PAGE);
		page->fresh = true;
		error = tmpfs_page_insert(&inode->tree, index, page);
		if (error)
			tmpfs_page_free(page);
	}
	settle_pages(inode, first, index, !error);
	return error;
}

TMPFS_PRIVATE int tmpfs_allocate(struct tmpfs_inode *inode, int mode, uint64_t begin, uint64_t end)
{
	int error = 0;

	hf_mutex_lock(&inode->contents);
	if (mode & HF_TMPFS_FALLOC_PUNCH_HOLE) {
		punch(inode, begin, end);
	} else {
		error = take_pages(inode, begin / HF_TMPFS_PAGE,
				   (end + HF_TMPFS_PAGE - 1) / HF_TMPFS_PAGE);
		if (!error && !mode && end > tmpfs_size(inode))
			set_size(inode, end);
	}
	if (!error)
		tmpfs_touch(inode);
	hf_mutex_unlock(&inode->contents);
	return error;
}
