/* SPDX-License-Identifier: MIT */
/* file - the file of a region that knows it: regions.h. */
#define _GNU_SOURCE /* MAP_TYPE */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "regions.h"
#include "zeros.h"

int hf_detail_region_know_file(hf_region_t *r)
{
	struct stat file;

	/* After another error no mapping matches, so one is looked at at the first loss. */
	if (fstat(r->fd, &file))
		return errno == EBADF ? -EBADF : 0;
	r->device = hf_detail_mapping_device(major(file.st_dev), minor(file.st_dev));
	r->inode = file.st_ino;
	return 0;
}

int hf_detail_region_compare_file(const hf_region_t *r, uintptr_t address,
				  const struct hf_detail_mapping *m)
{
	bool shared = (r->flags & MAP_TYPE) != MAP_PRIVATE;

	if (m->shared != shared ||
	    m->offset + (address - m->from) != r->offset + (address - r->base))
		return -EEXIST;
	/* Anonymous memory has neither; nor has a file that could not be looked up. */
	if ((m->device || m->inode) && m->device == r->device && m->inode == r->inode)
		return 0;
	return r->known == HF_DETAIL_REGION_BY_MAPPING ? -EEXIST : -EAGAIN;
}

/* Makes a mapping that nobody can access. Its length suits a file of huge pages, too. */
static int look_up(const hf_region_t *r, struct hf_detail_mapping *shown)
{
	struct stat file;
	size_t len;
	void *at;
	int error;

	if (fstat(r->fd, &file))
		return -errno;
	len = hf_detail_page_up(file.st_blksize > 0 ? (size_t)file.st_blksize : 1);
	at = hf_detail_map(NULL, len, PROT_NONE, (r->flags & MAP_TYPE) | MAP_NORESERVE, r->fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	error = hf_detail_mapping_at((uintptr_t)at, shown);
	(void)syscall(SYS_munmap, at, len);
	return error;
}

int hf_detail_region_look_up_file(hf_region_t *r)
{
	struct hf_detail_mapping shown;
	int error = look_up(r, &shown);

	r->known = error ? HF_DETAIL_REGION_NOT_KNOWN : HF_DETAIL_REGION_BY_MAPPING;
	if (!error) {
		r->device = shown.device;
		r->inode = shown.inode;
	}
	return error;
}

/*
 * Code under the region may have unmapped the file, and something else may be mapped there now,
 * which must not be overwritten (G6). So all of [from, to) must be zeros, or the file: where it was
 * not lost, or the end of another region has mapped it already. Returns 0 or -errno.
 */
static int still_ours(hf_region_t *r, uintptr_t from, uintptr_t to)
{
	struct hf_detail_mapping m;
	int error = 0;

	for (; !error && from < to; from = m.to) {
		error = hf_detail_mapping_at(from, &m);
		if (error == -ENOENT || (!error && m.from > from))
			return -EEXIST;
		if (error || hf_detail_is_zeros(&m))
			continue;
		error = hf_detail_region_compare_file(r, from, &m);
		if (error != -EAGAIN)
			continue;
		error = hf_detail_region_look_up_file(r);
		if (!error)
			error = hf_detail_region_compare_file(r, from, &m);
	}
	return error;
}

int hf_detail_region_map_again(hf_region_t *r, uint64_t lost)
{
	uintptr_t from = hf_detail_page_down((uintptr_t)lost), end = hf_detail_region_end_page(r);
	uint64_t offset = r->offset + from - r->base;
	int flags = r->flags & ~MAP_LOCKED, error = still_ours(r, from, end);

#ifdef MAP_FIXED_NOREPLACE
	flags &= ~MAP_FIXED_NOREPLACE;
#endif
	if (error)
		return error;
	if (hf_detail_map((void *)from, end - from, r->prot, flags | MAP_FIXED, r->fd, offset) ==
	    MAP_FAILED)
		return -errno;
	/* Not by mmap(), whose errors are about the file: mlock() has limits. */
	if (r->flags & MAP_LOCKED)
		(void)mlock((void *)from, end - from);
	return 0;
}

size_t hf_detail_region_file_has(const hf_region_t *r)
{
	struct stat file;
	uint64_t size;

	if (fstat(r->fd, &file) || !S_ISREG(file.st_mode))
		return r->len; /* a device has no length */
	size = (uint64_t)file.st_size;
	if (size >= r->offset + r->len)
		return r->len;
	return size > r->offset ? (size_t)(size - r->offset) : 0;
}
