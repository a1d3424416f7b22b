/* SPDX-License-Identifier: MIT */
/* zeros - pages of zeros in place of lost ones: zeros.h. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "zeros.h"

/* ThreadSanitizer's interceptor reports mmap() as a write to the range: a race with readers. */
static void *map_once(void *at, size_t len, int prot, int flags, int fd, uint64_t offset)
{
#if HF_TSAN
	return (void *)syscall(SYS_mmap, at, len, prot, flags, fd, offset);
#else
	return mmap(at, len, prot, flags, fd, (off_t)offset);
#endif
}

void *hf_detail_map(void *at, size_t len, int prot, int flags, int fd, uint64_t offset)
{
	void *mapped = map_once(at, len, prot, flags, fd, offset);

	/*
	 * After mlockall(MCL_FUTURE) the new mapping will be locked, and is counted beside the one
	 * that it replaces: near RLIMIT_MEMLOCK that is too much. So do not count the old one.
	 */
	if (mapped == MAP_FAILED && errno == EAGAIN && flags & MAP_FIXED &&
	    !syscall(SYS_munlock, at, len))
		mapped = map_once(at, len, prot, flags, fd, offset);
	return mapped;
}

/* The tag is above all addresses that a mapping gets unless it asks for one. */
#define ZEROS_MARK (UINT64_C(1) << 62)
#define TAG_SHIFT 48
#define TAG_MASK ((uint64_t)(HF_DETAIL_ZEROS_TAGS - 1) << TAG_SHIFT)

hf_atomic32_t hf_detail_zeros_mark;

/* So zeros may be anonymous memory. */
static bool lacks_mark(void)
{
	return hf_atomic32_load_relaxed(&hf_detail_zeros_mark) == HF_DETAIL_MARK_LACKS;
}

static bool is_anonymous(const struct hf_detail_mapping *m)
{
	return !m->shared && !m->device && !m->inode;
}

bool hf_detail_is_zeros(const struct hf_detail_mapping *m)
{
	if (m->shared)
		return false;
	/* Executable, too: READ_IMPLIES_EXEC makes so what is mapped for reading. */
	if (m->device || m->inode)
		return ((m->offset - m->from) & ~TAG_MASK) == ZEROS_MARK;
	return lacks_mark() && m->readable && !m->writable && !m->executable;
}

bool hf_detail_may_be_zeros(const struct hf_detail_mapping *m)
{
	return hf_detail_is_zeros(m) ||
	       (lacks_mark() && is_anonymous(m) && m->readable && m->writable);
}

/* Checks what it opens: somebody may have put another file there. Returns a descriptor, or -1. */
static int open_dev_zero(void)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/zero", O_RDONLY | O_CLOEXEC);
	struct stat file;

	if (fd >= 0 &&
	    (fstat(fd, &file) || !S_ISCHR(file.st_mode) || file.st_rdev != makedev(1, 5))) {
		(void)syscall(SYS_close, fd);
		fd = -1;
	}
	return fd;
}

/*
 * Looks once, at a mapping for the purpose, whether the mark is shown: before zeros are mapped, so
 * that a thread that meets them knows.
 */
static void look_for_mark(int dev_zero)
{
	uint32_t unknown = HF_DETAIL_MARK_UNKNOWN;
	struct hf_detail_mapping m;
	void *at;

	if (hf_atomic32_load_relaxed(&hf_detail_zeros_mark) != unknown)
		return;
	at = hf_detail_map(NULL, 1, PROT_READ, MAP_PRIVATE, dev_zero, ZEROS_MARK);
	if (at == MAP_FAILED)
		return;
	if (!hf_detail_mapping_at((uintptr_t)at, &m))
		(void)hf_atomic32_try_cmpxchg_relaxed(&hf_detail_zeros_mark, &unknown,
						      is_anonymous(&m) ? HF_DETAIL_MARK_LACKS
								       : HF_DETAIL_MARK_SHOWN);
	(void)syscall(SYS_munmap, at, 1);
}

/* Did mmap() fail for a reason that anonymous memory has, too? */
static bool is_refused_to_all(int error)
{
	return error == ENOMEM || error == EAGAIN || error == EINVAL;
}

bool hf_detail_map_zeros(uintptr_t from, uintptr_t to, int prot, int tag)
{
	const int flags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
	int fd = tag != HF_DETAIL_ZEROS_UNMARKED ? open_dev_zero() : -1;
	void *at = (void *)from, *mapped = MAP_FAILED;

	if (fd >= 0) {
		look_for_mark(fd);
		mapped = hf_detail_map(at, to - from, prot, flags, fd,
				       (ZEROS_MARK | (uint64_t)tag << TAG_SHIFT) + from);
		(void)syscall(SYS_close, fd);
	}
	if (fd < 0 || (mapped == MAP_FAILED && !is_refused_to_all(errno))) {
		hf_atomic32_store_relaxed(&hf_detail_zeros_mark, HF_DETAIL_MARK_LACKS);
		mapped = hf_detail_map(at, to - from, prot, flags | MAP_ANONYMOUS, -1, 0);
	}
	return mapped == at;
}

uint32_t hf_detail_zeros_tag(const struct hf_detail_mapping *zeros)
{
	return zeros->device || zeros->inode
		       ? (uint32_t)(((zeros->offset - zeros->from) & TAG_MASK) >> TAG_SHIFT)
		       : 0;
}

bool hf_detail_open_zeros(const struct hf_detail_mapping *m, uintptr_t from, uintptr_t to)
{
	from = from > m->from ? from : m->from;
	to = to < m->to ? to : m->to;
	return mprotect((void *)from, to - from, PROT_READ | PROT_WRITE) == 0;
}
