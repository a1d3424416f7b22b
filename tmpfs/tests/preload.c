/* SPDX-License-Identifier: MIT */
/*
 * preload - loaded into a server by LD_PRELOAD: makes allocations fail on request, and reports
 * another size of memory.
 *
 *   PRELOAD_CONTROL  a file of 16 bytes: { allocations before the first failure (0 = none fails),
 *                    number of failures, failures so far, unused }
 *   PRELOAD_PAGES    pages of memory that sysinfo() reports
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static struct {
	uint32_t until, failing, failed;
} * control;

static void *(*next_mmap)(void *, size_t, int, int, int, off_t);

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("PRELOAD_CONTROL");
	int file = path ? open(path, O_RDWR) : -1;
	void *at;

	next_mmap = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
	if (file < 0)
		return;
	at = next_mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (at != MAP_FAILED)
		control = at;
}

static int fails(void)
{
	uint32_t until = control ? __atomic_load_n(&control->until, __ATOMIC_RELAXED) : 0;

	if (until == 0)
		return 0;
	if (until > 1) {
		__atomic_fetch_sub(&control->until, 1, __ATOMIC_RELAXED);
		return 0;
	}
	if (__atomic_fetch_sub(&control->failing, 1, __ATOMIC_RELAXED) <= 1)
		__atomic_store_n(&control->until, 0, __ATOMIC_RELAXED);
	__atomic_fetch_add(&control->failed, 1, __ATOMIC_RELAXED);
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	return fails() ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **to, size_t alignment, size_t size)
{
	void *at = fails() ? NULL : __libc_memalign(alignment, size);

	if (!at)
		return ENOMEM;
	*to = at;
	return 0;
}

void *mmap(void *where, size_t size, int protection, int flags, int file, off_t at)
{
	if ((flags & MAP_ANONYMOUS) && fails())
		return MAP_FAILED;
	return next_mmap(where, size, protection, flags, file, at);
}

int sysinfo(struct sysinfo *to)
{
	int (*next)(struct sysinfo *) = (int (*)(struct sysinfo *))dlsym(RTLD_NEXT, "sysinfo");
	const char *pages = getenv("PRELOAD_PAGES");
	int result = next(to);

	if (pages) {
		to->totalram = strtoul(pages, NULL, 10) * 4096;
		to->mem_unit = 1;
	}
	return result;
}
