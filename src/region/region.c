/* SPDX-License-Identifier: MIT */
/* region - Linux user space: regions begin and end. regions.h lists the files of this folder. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../env/env.h"
#include "../nofault/implementation.h"
#include "holdfast/report.h"
#include "regions.h"

struct hf_detail_regions hf_detail_open_regions = {
	.process = { .is_listed = true }, .page = 4096, /* set before main() */
};

/* For debuggers. */
static const struct hf_detail_regions *const hf_detail_regions_here
	__attribute__((used)) = &hf_detail_open_regions;
HF_DETAIL_DEBUGGERS_KNOW(offsetof(struct hf_detail_regions, process) == 8 &&
			 offsetof(struct hf_detail_region_thread, next) == 8);
HF_DETAIL_DEBUGGERS_KNOW(offsetof(hf_region_t, lost) == 8 && offsetof(hf_region_t, written) == 16 &&
			 offsetof(hf_region_t, fd) == 28 && offsetof(hf_region_t, base) == 32 &&
			 offsetof(hf_region_t, jump) == 32 + 2 * sizeof(void *));

__thread struct hf_detail_region_thread hf_detail_my_regions;

/* ---- a thread that ends --------------------------------------------------------------------- */

static pthread_key_t region_key;
static bool has_region_key;
/* Rounds of this thread's key destructors; 0 = the key is not set. */
static __thread int region_rounds __attribute__((tls_model("initial-exec")));

/*
 * Other destructors may still end the thread's regions. So this function asks to be called again,
 * until the last round but one. The regions may have been in frames that are gone: none is read.
 */
static void region_end_of_thread(void *value)
{
	uint64_t newest = hf_atomic64_load_relaxed(&hf_detail_my_regions.top);

	(void)value;
	if (newest && ++region_rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
		(void)pthread_setspecific(region_key, &hf_detail_my_regions);
		return;
	}
	region_rounds = 0;
	hf_detail_my_regions.leaves = true; /* if another destructor begins one */
	if (hf_detail_my_regions.is_listed)
		hf_detail_regions_drop(&hf_detail_open_regions, &hf_detail_my_regions);
	if (newest)
		hf_report_at(HF_REPORT_REGION_OPEN_AT_EXIT, (void *)(uintptr_t)newest, NULL);
}

void hf_detail_region_open(hf_region_t *r)
{
	if (HF_UNLIKELY(region_rounds == 0)) {
		region_rounds = 1;
		if (!has_region_key || pthread_setspecific(region_key, &hf_detail_my_regions))
			hf_detail_my_regions.leaves = true;
	}
	if (hf_detail_regions_add(&hf_detail_open_regions, &hf_detail_my_regions, r))
		hf_detail_region_inherit(r);
}

/* ---- begin -------------------------------------------------------------------------------- */

static bool is_in(const struct hf_detail_region_thread *thread, const hf_region_t *r)
{
	uint64_t at = hf_atomic64_load_relaxed(&thread->top);

	for (size_t n = 0; at && n < HF_DETAIL_REGION_MOST; n++) {
		if (hf_detail_region_of(at) == r)
			return true;
		at = hf_atomic64_load_relaxed(&hf_detail_region_of(at)->below);
	}
	return false;
}

/* Has it begun and not ended? Adding it again would make its list a circle. */
static bool is_open(const hf_region_t *r)
{
	struct hf_detail_regions *all = &hf_detail_open_regions;
	bool found = is_in(&hf_detail_my_regions, r);

	if (!found && hf_atomic64_load_relaxed(&all->process.top)) {
		hf_mutex_lock(&all->lock);
		found = is_in(&all->process, r);
		hf_mutex_unlock(&all->lock);
	}
	return found;
}

int hf_detail_region_prepare(hf_region_t *r, const void *base, size_t len)
{
	uintptr_t start = (uintptr_t)base & ~HF_ARCH_TAG_BITS, end = start + len;
	int error;

	if (!start || !len || end < start || hf_detail_page_up(end) < end)
		return -HF_EINVAL;
	if (is_open(r))
		return -EBUSY;
	error = hf_detail_handler_is_chosen() ? 0 : hf_nofault_install();
	if (error)
		return error;
	memset(r, 0, sizeof(*r));
	hf_atomic64_store_relaxed(&r->lost, HF_DETAIL_REGION_NONE);
	hf_atomic64_store_relaxed(&r->written, HF_DETAIL_REGION_NONE);
	r->fd = -1;
	r->base = start;
	r->len = len;
	return 0;
}

int hf_region_begin(hf_region_t *region, const void *base, size_t len)
{
	int error = hf_detail_region_prepare(region, base, len);

	if (!error)
		hf_detail_region_open(region);
	return error;
}

int hf_region_begin_file(hf_region_t *region, const void *base, size_t len, int prot, int flags,
			 int fd, uint64_t offset)
{
	int error = hf_detail_region_prepare(region, base, len);
	int sharing = flags & MAP_TYPE; /* MAP_SHARED_VALIDATE is both bits */

	if (error)
		return error;
	if (fd < 0)
		return -EBADF;
	if ((sharing != MAP_SHARED && sharing != MAP_PRIVATE && sharing != MAP_SHARED_VALIDATE) ||
	    flags & MAP_ANONYMOUS ||
	    (offset ^ (uintptr_t)base) & (hf_detail_open_regions.page - 1) ||
	    offset > (uint64_t)INT64_MAX - len)
		return -HF_EINVAL;
	hf_atomic32_store_relaxed(&region->access, prot & PROT_WRITE ? HF_DETAIL_REGION_WRITABLE
								     : HF_DETAIL_REGION_READ_ONLY);
	region->fd = fd;
	region->prot = prot;
	region->flags = flags;
	region->offset = offset;
	error = hf_detail_region_know_file(region);
	if (!error)
		hf_detail_region_open(region);
	return error;
}

int hf_region_begin_process(hf_region_t *region, const void *base, size_t len)
{
	struct hf_detail_regions *all = &hf_detail_open_regions;
	int error = hf_detail_region_prepare(region, base, len);
	bool may_inherit;

	if (error)
		return error;
	region->of_process = (uint64_t)(uintptr_t)&hf_detail_my_regions;
	hf_mutex_lock(&all->lock);
	may_inherit = hf_detail_regions_add(all, &all->process, region);
	hf_mutex_unlock(&all->lock);
	if (may_inherit)
		hf_detail_region_inherit(region);
	return 0;
}

/* ---- end ---------------------------------------------------------------------------------- */

static bool remove_region(hf_region_t *r)
{
	struct hf_detail_regions *all = &hf_detail_open_regions;
	bool found = hf_detail_regions_remove(all, &hf_detail_my_regions, r);

	if (!found) {
		hf_mutex_lock(&all->lock);
		found = hf_detail_regions_remove(all, &all->process, r);
		hf_mutex_unlock(&all->lock);
	}
	if (found)
		hf_detail_regions_wait(all); /* G2 */
	return found;
}

/*
 * G1: as long as the zeros are mapped, a region that begins must find an open one that has lost
 * them. So a region that knows its file maps it again while it is still open. A later loss is
 * noted in the region of the thread that faults, too, and settled by its end. Returns 0 or -errno.
 */
static int map_again_while_open(hf_region_t *r, uint64_t *mapped)
{
	uint64_t lost;
	int error = 0;

	while ((lost = hf_atomic64_load_seq_cst(&r->lost)) != *mapped) {
		error = hf_detail_region_map_again(r, lost);
		*mapped = lost;
	}
	return error;
}

/* Settles a loss after the region was removed from its list. Returns 0 or -errno. */
static int settle(hf_region_t *r, uint64_t lost)
{
	if (r->jump)
		return 0;
	return r->fd >= 0 ? hf_detail_region_map_again(r, lost)
			  : hf_detail_region_leave_zeros(r, lost);
}

size_t hf_region_end(hf_region_t *region, struct hf_region_fault *fault)
{
	struct hf_region_fault found = { 0, 0, 0 };
	int kept = errno;
	uint64_t lost, written, mapped = HF_DETAIL_REGION_NONE;

	/* G1: a loss is noted before its zeros can be read; order those reads before the loads. */
	hf_atomic64_fence_acquire(&region->lost);
	if (is_in(&hf_detail_my_regions, region) && region->fd >= 0)
		found.error = map_again_while_open(region, &mapped);
	if (!remove_region(region)) {
		found.error = -HF_EINVAL;
		if (fault)
			*fault = found;
		return 0;
	}
	/* G1: as above. */
	hf_atomic64_fence_acquire(&region->lost);
	lost = hf_atomic64_load_seq_cst(&region->lost);
	written = hf_atomic64_load_seq_cst(&region->written);
	found.bad = found.written = region->len;
	if (HF_UNLIKELY(lost != HF_DETAIL_REGION_NONE)) {
		found.bad = (size_t)(lost - region->base);
		if (lost != mapped)
			found.error = settle(region, lost);
		(void)hf_atomic32_fetch_sub_release(&hf_detail_open_regions.losses, 1); /* R2 */
	}
	if (written != HF_DETAIL_REGION_NONE)
		found.written = written > region->base ? (size_t)(written - region->base) : 0;
	if (region->fd >= 0) {
		size_t has = hf_detail_region_file_has(region);

		if (has < found.bad)
			found.bad = has;
	}
	if (fault)
		*fault = found;
	errno = kept;
	return found.bad;
}

/* ---- start, fork -------------------------------------------------------------------------- */

static void count_loss(struct hf_detail_regions *regions, hf_region_t *r, void *data)
{
	(void)data;
	if (hf_atomic64_load_relaxed(&r->lost) != HF_DETAIL_REGION_NONE)
		(void)hf_atomic32_fetch_add_relaxed(&regions->losses, 1);
}

/*
 * Only this thread exists in the child. The regions of the others may be on their stacks, whose
 * memory may be reused.
 */
static void drop_of_others(void)
{
	hf_atomic64_t *at = &hf_detail_open_regions.process.top;

	while (hf_atomic64_load_relaxed(at)) {
		hf_region_t *r = hf_detail_region_of(hf_atomic64_load_relaxed(at));

		if (r->of_process == (uint64_t)(uintptr_t)&hf_detail_my_regions)
			at = &r->below;
		else
			hf_atomic64_store_relaxed(at, hf_atomic64_load_relaxed(&r->below));
	}
}

static void region_in_child(void)
{
	struct hf_detail_regions *all = &hf_detail_open_regions;
	struct hf_detail_region_thread *mine = &hf_detail_my_regions;

	hf_mutex_init(&all->lock);
	hf_atomic64_store_relaxed(&mine->next, 0);
	hf_atomic64_store_relaxed(&all->threads, mine->is_listed ? (uint64_t)(uintptr_t)mine : 0);
	hf_atomic32_store_relaxed(&all->grace.inside[0], 0);
	hf_atomic32_store_relaxed(&all->grace.inside[1], 0);
	hf_atomic32_store_relaxed(&all->losses, 0);
	drop_of_others();
	hf_detail_regions_each(all, count_loss, NULL);
}

/* As bind_early() in install.c. A length of 0 maps nothing. */
static void bind_regions_early(void)
{
	int error = errno;
	struct stat file;

	(void)mmap(NULL, 0, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)mprotect(NULL, 0, PROT_NONE);
	(void)fstat(-1, &file);
	(void)syscall(SYS_close, -1);
	(void)hf_env_deadline(0);
	hf_env_yield();
	errno = error;
}

__attribute__((constructor(101))) static void start_region(void)
{
	bind_regions_early();
	hf_detail_open_regions.page = (uint64_t)getpagesize();
	hf_atomic64_store_seq_cst(&hf_detail_fault_hook,
				  (uint64_t)(uintptr_t)hf_detail_region_handle);
	(void)pthread_atfork(NULL, NULL, region_in_child);
	has_region_key = pthread_key_create(&region_key, region_end_of_thread) == 0;
}

__attribute__((destructor(101))) static void end_region(void)
{
	if (has_region_key)
		(void)pthread_key_delete(region_key);
	has_region_key = false;
}
