/* SPDX-License-Identifier: MIT */
/* region - Linux user space: guarded ranges of file mappings. */
#define _GNU_SOURCE /* MAP_ANONYMOUS, MADV_POPULATE_WRITE */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "../env/env.h"
#include "../nofault/nofault.h"
#include "../nofault/fault.h"
#include "../profile/probe.h"
#include "region_list.h"

/* Linux 5.14; older headers don't have them. */
#define HF_DETAIL_POPULATE_READ 22
#define HF_DETAIL_POPULATE_WRITE 23
#define HF_DETAIL_SET_VMA 0x53564d41
#define HF_DETAIL_SET_VMA_ANON_NAME 0

static struct hf_detail_regions all = { .page = 4096 }; /* the page is set before main() */

/* For debuggers: a name that does not collide with a program's. */
static const struct hf_detail_regions *const hf_detail_regions_here __attribute__((used)) = &all;
HF_DETAIL_DEBUGGERS_KNOW(HF_DETAIL_REGION_SHARDS == 16 &&
			 sizeof(struct hf_detail_region_shard) == 64 &&
			 offsetof(struct hf_detail_regions, process) == 16 * 64 &&
			 offsetof(struct hf_detail_region_thread, next) == 8);
HF_DETAIL_DEBUGGERS_KNOW(offsetof(hf_region_t, lost) == 8 && offsetof(hf_region_t, written) == 16 &&
			 offsetof(hf_region_t, fd) == 28 && offsetof(hf_region_t, base) == 32 &&
			 offsetof(hf_region_t, jump) == 32 + 2 * sizeof(void *));

/* This thread's list. */
static __thread struct hf_detail_region_thread self __attribute__((tls_model("initial-exec")));

/* The stacks of threads lie at equal distances, so the low bits would be the same for all. */
static struct hf_detail_region_shard *my_shard(void)
{
	uint64_t mixed = (uint64_t)(uintptr_t)&self * 0x9e3779b97f4a7c15u;

	return &all.shard[(mixed >> 32) % HF_DETAIL_REGION_SHARDS];
}

static uintptr_t down(uintptr_t address, uintptr_t size)
{
	return address & ~(size - 1);
}

static uintptr_t up(uintptr_t address, uintptr_t size)
{
	return (address + size - 1) & ~(size - 1);
}

/* ---- a fault ------------------------------------------------------------------------------ */

static bool has_page_of(const hf_region_t *r, uintptr_t address)
{
	return address >= down(r->base, all.page) && address < up(r->base + r->len, all.page);
}

/* Called by the owner, or between hf_grace_enter() and _leave(). */
static hf_region_t *find_region_in(const struct hf_detail_region_thread *thread, uintptr_t address)
{
	hf_region_t *r = hf_detail_region_of(hf_atomic64_load_seq_cst(&thread->top));

	for (size_t n = 0; r; n++) {
		if (n == HF_DETAIL_REGION_MOST)
			return NULL; /* R3 */
		if (has_page_of(r, address))
			break;
		r = hf_detail_region_of(hf_atomic64_load_seq_cst(&r->below));
	}
	return r;
}

/* Returns the region that serves a fault of this thread at @address, or NULL. */
static hf_region_t *find_region(uintptr_t address)
{
	hf_region_t *r = find_region_in(&self, address);

	return r ? r : find_region_in(&all.process, address);
}

/*
 * Is the mapping of this missing page writable? The kernel checks the protection before it finds
 * the page missing (EFAULT). If the kernel knows neither request, assume that it is.
 */
static uint32_t probe_access(void *page)
{
	if (!madvise(page, all.page, HF_DETAIL_POPULATE_WRITE) || errno != EINVAL)
		return HF_DETAIL_REGION_WRITABLE;
	if (!madvise(page, all.page, HF_DETAIL_POPULATE_READ) || errno != EINVAL)
		return HF_DETAIL_REGION_READ_ONLY;
	return HF_DETAIL_REGION_WRITABLE;
}

/*
 * mmap(). ThreadSanitizer's interceptor reports it as a write to the whole range, hence as a race
 * with each thread that reads it: bypass that.
 */
static void *map(void *at, size_t len, int prot, int flags, int fd, uint64_t offset)
{
#if HF_TSAN
	return (void *)syscall(SYS_mmap, at, len, prot, flags, fd, offset);
#else
	return mmap(at, len, prot, flags, fd, (off_t)offset);
#endif
}

static const char zeros_name[] = "holdfast zeros";
static hf_atomic32_t zeros_have_names;

/*
 * Notes the loss in all regions that overlap the pages, then replaces the pages by zeros. Sets
 * errno.
 */
static bool replace(hf_region_t *r, struct hf_detail_region_pages lost)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
	void *at = (void *)(uintptr_t)lost.from;
	int prot = PROT_READ;

	hf_detail_regions_note(&all, r, lost); /* G1 */
	if (hf_atomic64_load_seq_cst(&r->written) != HF_DETAIL_REGION_NONE)
		prot |= PROT_WRITE;
	if (map(at, (size_t)(lost.to - lost.from), prot, flags, -1, 0) != at)
		return false;
	/* So that still_zeros() recognises them. Linux 5.17 with CONFIG_ANON_VMA_NAME. */
	if (!syscall(SYS_prctl, HF_DETAIL_SET_VMA, HF_DETAIL_SET_VMA_ANON_NAME, lost.from,
		     lost.to - lost.from, zeros_name))
		hf_atomic32_store_relaxed(&zeros_have_names, 1);
	return true;
}

/*
 * Replaces the range from the page of `address` up to its end, or up to pages replaced before, so
 * that data written there stays. If another thread has just replaced the page, it is replaced
 * again, which is also right and needs no waiting (G4).
 */
static bool lose(hf_region_t *r, uintptr_t address)
{
	uintptr_t first = down(r->base, all.page), end = up(r->base + r->len, all.page);
	uint64_t before = hf_atomic64_load_seq_cst(&r->lost);
	struct hf_detail_region_pages lost = { down(address, all.page), end, 0 };

	if (before != HF_DETAIL_REGION_NONE && down((uintptr_t)before, all.page) > lost.from)
		lost.to = down((uintptr_t)before, all.page);
	if (hf_atomic32_load_relaxed(&r->access) == HF_DETAIL_REGION_UNKNOWN)
		hf_detail_region_set_access(r, probe_access((void *)(uintptr_t)lost.from));
	lost.access = hf_atomic32_load_relaxed(&r->access);
	if (replace(r, lost))
		return true;
	/* EINVAL: a huge page can only be replaced as a whole, if it lies in the region. */
	for (uintptr_t size = 2 * all.page; errno == EINVAL && size <= (uintptr_t)1 << 30;
	     size *= 2) {
		struct hf_detail_region_pages huge = { down(address, size),
						       up((uintptr_t)lost.to, size), lost.access };

		if (huge.from < first || huge.to > end)
			break;
		if (replace(r, huge))
			return true;
	}
	return false;
}

static void written_visit(struct hf_detail_regions *regions, hf_region_t *r, void *data)
{
	const struct hf_detail_region_pages *opened = (const struct hf_detail_region_pages *)data;
	uint64_t lost = hf_atomic64_load_seq_cst(&r->lost), none = HF_DETAIL_REGION_NONE;

	(void)regions;
	if (lost == HF_DETAIL_REGION_NONE || r->base >= opened->to ||
	    opened->from >= r->base + r->len)
		return;
	/* In other regions, writes will not fault any more: note the whole loss as written. */
	if (opened->from >= lost && has_page_of(r, (uintptr_t)opened->from))
		lost = opened->from < r->base + r->len ? opened->from : r->base + r->len - 1;
	(void)hf_atomic64_try_cmpxchg_seq_cst(&r->written, &none, lost);
}

/*
 * Makes the lost part of a region writable and notes the write at `address`. Called between
 * hf_grace_enter() and _leave().
 */
static bool open_lost(hf_region_t *r, uint64_t address)
{
	uintptr_t from = down((uintptr_t)hf_atomic64_load_seq_cst(&r->lost), all.page);
	struct hf_detail_region_pages opened = { address, up(r->base + r->len, all.page), 0 };

	hf_detail_regions_each(&all, written_visit, &opened);
	return mprotect((void *)from, (size_t)(opened.to - from), PROT_READ | PROT_WRITE) == 0;
}

/* Is it a write into the lost part of a mapping that was writable? */
static bool may_open(const hf_region_t *r, uintptr_t address, const void *context)
{
	uint64_t lost = hf_atomic64_load_seq_cst(&r->lost);

	if (r->jump || lost == HF_DETAIL_REGION_NONE || address < down((uintptr_t)lost, all.page) ||
	    hf_atomic32_load_relaxed(&r->access) != HF_DETAIL_REGION_WRITABLE)
		return false;
#if HF_ARCH_HAS_SITES
	/* The page is not executable: fetching an instruction from it is a bug. */
	if (down((uintptr_t)HF_ARCH_CONTEXT_PC((const ucontext_t *)context), all.page) ==
	    down(address, all.page))
		return false;
#else
	(void)context;
#endif
	return true;
}

/* Before the jump out of hf_region_call(): removes regions that its function has not ended. */
static void close_newer(hf_region_t *r, uint32_t parity)
{
	uint64_t me = (uint64_t)(uintptr_t)r;
	bool newer = hf_atomic64_load_seq_cst(&self.top) != me;

	hf_atomic64_store_seq_cst(&self.top, me); /* G3 */
	hf_grace_leave(&all.grace, parity);
	/* Their memory will be reused. G4: do not wait while our own parity is held. */
	while (newer && (hf_atomic32_load_seq_cst(&all.grace.inside[0]) ||
			 hf_atomic32_load_seq_cst(&all.grace.inside[1])))
		hf_env_yield();
}

static bool handle_region(int signal, const siginfo_t *info, void *context, sigjmp_buf **jump)
{
	uintptr_t address = (uintptr_t)info->si_addr;
	bool is_lost = signal == SIGBUS && info->si_code == BUS_ADRERR; /* G5 */
	bool is_write = signal == SIGSEGV && info->si_code == SEGV_ACCERR;
	int error = errno;
	bool done = false;
	uint32_t parity;
	hf_region_t *r;

	if (!is_lost && !is_write)
		return false;
	parity = hf_grace_enter(&all.grace); /* G2 */
	r = find_region(address);
	if (r && is_lost && r->jump) {
		hf_detail_region_note(&all, r,
				      down(address, all.page) > r->base ? down(address, all.page)
									: r->base);
		HF_DETAIL_PROBE3(region_fault, address, r, signal);
		close_newer(r, parity);
		*jump = (sigjmp_buf *)r->jump;
		errno = error;
		return true;
	}
	if (r && is_lost)
		done = lose(r, address);
	else if (r && may_open(r, address, context))
		done = open_lost(r, address);
	if (done)
		HF_DETAIL_PROBE3(region_fault, address, r, signal);
	hf_grace_leave(&all.grace, parity);
	errno = error;
	return done;
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
	bool found = is_in(&self, r);

	if (!found && hf_atomic64_load_relaxed(&all.process.top)) {
		hf_mutex_lock(&all.lock);
		found = is_in(&all.process, r);
		hf_mutex_unlock(&all.lock);
	}
	return found;
}

static int prepare(hf_region_t *r, const void *base, size_t len)
{
	uintptr_t start = (uintptr_t)base, end = start + len;
	int error;

	if (!start || !len || end < start || up(end, all.page) < end)
		return -HF_EINVAL;
	if (is_open(r))
		return -EBUSY;
	error = hf_detail_nofault_ensure();
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
	int error = prepare(region, base, len);

	if (!error)
		hf_detail_regions_add(&all, &self, my_shard(), region);
	return error;
}

int hf_region_begin_file(hf_region_t *region, const void *base, size_t len, int prot, int flags,
			 int fd, uint64_t offset)
{
	int error = prepare(region, base, len);
	int sharing = flags & MAP_TYPE; /* MAP_SHARED_VALIDATE is both bits */

	if (error)
		return error;
	if (fd < 0)
		return -EBADF;
	if ((sharing != MAP_SHARED && sharing != MAP_PRIVATE && sharing != MAP_SHARED_VALIDATE) ||
	    flags & MAP_ANONYMOUS || (offset ^ (uintptr_t)base) & (all.page - 1) ||
	    offset > (uint64_t)INT64_MAX - len)
		return -HF_EINVAL;
	hf_atomic32_store_relaxed(&region->access, prot & PROT_WRITE ? HF_DETAIL_REGION_WRITABLE
								     : HF_DETAIL_REGION_READ_ONLY);
	region->fd = fd;
	region->prot = prot;
	region->flags = flags;
	region->offset = offset;
	hf_detail_regions_add(&all, &self, my_shard(), region);
	return 0;
}

int hf_region_begin_process(hf_region_t *region, const void *base, size_t len)
{
	int error = prepare(region, base, len);

	if (error)
		return error;
	region->of_process = 1;
	hf_mutex_lock(&all.lock);
	hf_detail_regions_add(&all, &all.process, NULL, region);
	hf_mutex_unlock(&all.lock);
	return 0;
}

/* ---- end ---------------------------------------------------------------------------------- */

static bool remove_region(hf_region_t *r)
{
	bool found = hf_detail_regions_remove(&self, my_shard(), r);

	if (!found) {
		hf_mutex_lock(&all.lock);
		found = hf_detail_regions_remove(&all.process, NULL, r);
		hf_mutex_unlock(&all.lock);
	}
	if (found)
		hf_detail_regions_wait(&all); /* G2 */
	return found;
}

/* The first line of a mapping in /proc/self/smaps. */
struct map_line {
	uintptr_t from, to;
	uint64_t inode;
	char access[5], name[32];
};

/* Returns false for other lines. */
static bool read_mapping(const char *line, struct map_line *m)
{
	m->name[0] = 0;
	return sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %" SCNu64 " %31[^\n]", &m->from,
		      &m->to, m->access, &m->inode, m->name) >= 4;
}

/* Flags that a new mapping lacks, as smaps names them, and the madvise() that sets each. */
static const struct {
	char name[4];
	int advice;
} advices[] = {
	{ " dd", MADV_DONTDUMP },   { " dc", MADV_DONTFORK }, { " rr", MADV_RANDOM },
	{ " sr", MADV_SEQUENTIAL }, { " hg", MADV_HUGEPAGE }, { " nh", MADV_NOHUGEPAGE },
};

/* Errors are ignored: mlock() has limits. */
static void set_flags(uintptr_t from, uintptr_t to, const char *flags)
{
	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++) {
		if (strstr(flags, advices[i].name))
			(void)madvise((void *)from, to - from, advices[i].advice);
	}
	if (strstr(flags, " lf"))
		(void)syscall(SYS_mlock2, from, to - from, 1 /* MLOCK_ONFAULT */);
	else if (strstr(flags, " lo"))
		(void)mlock((void *)from, to - from);
}

enum { FLAGS_LENGTH = 160 }; /* sscanf() below reads 159 characters */

/*
 * Code under the region may have unmapped the file, and something else may be mapped there now,
 * which must not be overwritten. So all of [from, to) must be our zeros, or the file, if the end of
 * another region has mapped it already. Zeros are recognised by name; on a kernel without names,
 * they are anonymous and read-only or, after a write, made with MAP_NORESERVE ("nr"). @flags gets
 * the flags of the same file's page before the range or, if there is none, after it. Returns 0 or
 * -errno.
 */
static int still_zeros(const hf_region_t *r, uintptr_t from, uintptr_t to, char *flags)
{
	bool named = hf_atomic32_load_relaxed(&zeros_have_names) != 0, inside = false;
	bool written = hf_atomic64_load_seq_cst(&r->written) != HF_DETAIL_REGION_NONE;
	const uintptr_t start = from;
	char line[PATH_MAX + 128];
	struct map_line m, next;
	struct stat file;
	FILE *maps;

	memset(&m, 0, sizeof(m));
	if (fstat(r->fd, &file))
		return -errno;
	maps = fopen("/proc/self/smaps", "re");
	if (!maps)
		return -errno;
	while (fgets(line, sizeof(line), maps)) {
		if (read_mapping(line, &next)) {
			m = next;
			inside = m.from <= from && from < m.to;
			if (m.from > from && (from < to || m.from > to))
				break; /* a hole: it was unmapped; or nothing of interest follows */
			if (inside && (m.inode ? m.inode == file.st_ino
				       : named ? strstr(m.name, zeros_name) != NULL
					       : !written && strcmp(m.access, "r--p") == 0))
				from = m.to;
		} else if (strncmp(line, "VmFlags:", 8) == 0) {
			if (inside && from < to && !named && written && !m.inode &&
			    strstr(line, " nr"))
				from = m.to;
			if (m.inode == file.st_ino && ((m.from < start && m.to >= start) ||
						       (m.from <= to && m.to > to && !flags[0])))
				(void)sscanf(line, "%159[^\n]", flags);
		}
	}
	(void)fclose(maps);
	return from < to ? -EEXIST : 0;
}

/* Maps the file again from the first lost page on: R5. Returns 0 or -errno. */
static int map_again(const hf_region_t *r, uintptr_t from)
{
	struct hf_detail_region_pages healed = { from, up(r->base + r->len, all.page), 0 };
	uint64_t offset = r->offset + from - r->base;
	char had[FLAGS_LENGTH] = "";
	int flags = r->flags, error = 0;

#ifdef MAP_FIXED_NOREPLACE
	flags &= ~MAP_FIXED_NOREPLACE;
#endif
	error = still_zeros(r, from, healed.to, had);
	if (error)
		return error;
	hf_mutex_lock(&all.lock);
	hf_detail_regions_heal_begin(&all);
	if (map((void *)from, healed.to - from, r->prot, flags | MAP_FIXED, r->fd, offset) ==
	    MAP_FAILED)
		error = -errno;
	else
		hf_detail_regions_heal_end(&all, healed);
	hf_mutex_unlock(&all.lock);
	if (!error)
		set_flags(from, healed.to, had);
	return error;
}

/* Bytes of the region that lie within the file now; also finds a loss that caused no fault. */
static size_t file_has(const hf_region_t *r)
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

struct heir {
	uintptr_t from, to;
	bool found;
};

/* Does this region report the loss of all these pages? Then its end will settle it. */
static void heir_visit(struct hf_detail_regions *regions, hf_region_t *r, void *data)
{
	struct heir *heir = (struct heir *)data;
	uint64_t lost = hf_atomic64_load_seq_cst(&r->lost);

	(void)regions;
	if (!r->jump && lost != HF_DETAIL_REGION_NONE &&
	    down((uintptr_t)lost, all.page) <= heir->from &&
	    heir->to <= up(r->base + r->len, all.page))
		heir->found = true;
}

/* The zeros stay; they become writable if the mapping was. Returns 0 or -errno. */
static int leave_zeros(hf_region_t *r, uint64_t lost)
{
	struct heir heir = { down((uintptr_t)lost, all.page), up(r->base + r->len, all.page),
			     false };
	uint32_t parity;
	int error = 0;

	if (hf_atomic32_load_relaxed(&r->access) != HF_DETAIL_REGION_WRITABLE ||
	    hf_atomic64_load_seq_cst(&r->written) != HF_DETAIL_REGION_NONE)
		return 0;
	parity = hf_grace_enter(&all.grace);
	hf_detail_regions_each(&all, heir_visit, &heir);
	if (!heir.found && !open_lost(r, lost))
		error = -errno;
	hf_grace_leave(&all.grace, parity);
	return error;
}

/*
 * G1: as long as the zeros are mapped, a region that begins must find an open one to inherit the
 * loss from. So a region that knows its file maps it again while it is still open. A later loss is
 * noted in the region of the thread that faults, too, and settled by its end. Returns 0 or -errno.
 */
static int map_again_while_open(const hf_region_t *r, uint64_t *mapped)
{
	uint64_t lost;
	int error = 0;

	while ((lost = hf_atomic64_load_seq_cst(&r->lost)) != *mapped) {
		error = map_again(r, down((uintptr_t)lost, all.page));
		*mapped = lost;
	}
	return error;
}

/* Settles a loss after the region was removed from its list. Returns 0 or -errno. */
static int settle(hf_region_t *r, uint64_t lost)
{
	if (r->jump)
		return 0;
	return r->fd >= 0 ? map_again(r, down((uintptr_t)lost, all.page)) : leave_zeros(r, lost);
}

size_t hf_region_end(hf_region_t *region, struct hf_region_fault *fault)
{
	struct hf_region_fault found = { 0, 0, 0 };
	int kept = errno;
	uint64_t lost, written, mapped = HF_DETAIL_REGION_NONE;

	/* G1: a loss is noted before its zeros can be read; order those reads before the loads. */
	hf_atomic64_fence_acquire(&region->lost);
	if (is_in(&self, region) && region->fd >= 0)
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
		(void)hf_atomic32_fetch_sub_release(&all.losses, 1); /* R2 */
	}
	if (written != HF_DETAIL_REGION_NONE)
		found.written = written > region->base ? (size_t)(written - region->base) : 0;
	if (region->fd >= 0) {
		size_t has = file_has(region);

		if (has < found.bad)
			found.bad = has;
	}
	if (fault)
		*fault = found;
	errno = kept;
	return found.bad;
}

/* ---- a function --------------------------------------------------------------------------- */

int hf_region_call(const void *base, size_t len, void (*function)(void *), void *arg,
		   struct hf_region_fault *fault)
{
	hf_region_t region;
	sigjmp_buf where;
	int error = prepare(&region, base, len);

	if (error)
		return error;
	region.jump = &where;
	if (sigsetjmp(where, 0) == 0) {
		hf_detail_regions_add(&all, &self, my_shard(), &region);
		function(arg);
	}
	return hf_region_end(&region, fault) < len ? -HF_EFAULT : 0;
}

/* ---- start, fork -------------------------------------------------------------------------- */

static void count_loss(struct hf_detail_regions *regions, hf_region_t *r, void *data)
{
	(void)data;
	if (hf_atomic64_load_relaxed(&r->lost) != HF_DETAIL_REGION_NONE)
		(void)hf_atomic32_fetch_add_relaxed(&regions->losses, 1);
}

/* Only this thread exists in the child; the memory of the others' regions may be reused. */
static void region_in_child(void)
{
	struct hf_detail_region_shard *mine = my_shard();

	for (unsigned int i = 0; i < HF_DETAIL_REGION_SHARDS; i++) {
		hf_atomic64_store_relaxed(&all.shard[i].top, 0);
		hf_mutex_init(&all.shard[i].lock);
	}
	hf_mutex_init(&all.lock);
	hf_atomic64_store_relaxed(&self.next, 0);
	if (hf_atomic64_load_relaxed(&self.top))
		hf_atomic64_store_relaxed(&mine->top, (uint64_t)(uintptr_t)&self);
	hf_atomic32_store_relaxed(&all.grace.inside[0], 0);
	hf_atomic32_store_relaxed(&all.grace.inside[1], 0);
	hf_atomic32_store_relaxed(&all.losses, 0);
	hf_detail_regions_each(&all, count_loss, NULL);
}

/* As bind_early() in signals.c. A length of 0 maps nothing. */
static void bind_regions_early(void)
{
	int error = errno;

	(void)mmap(NULL, 0, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)mprotect(NULL, 0, PROT_NONE);
	(void)madvise(NULL, 0, MADV_NORMAL);
	hf_env_yield();
	errno = error;
}

__attribute__((constructor(101))) static void start_region(void)
{
	bind_regions_early();
	all.page = (uint64_t)getpagesize();
	hf_atomic64_store_seq_cst(&hf_detail_fault_hook, (uint64_t)(uintptr_t)handle_region);
	(void)pthread_atfork(NULL, NULL, region_in_child);
}
