/* SPDX-License-Identifier: MIT */
/* region - Linux user space: guarded ranges of file mappings. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <ucontext.h>
#include <unistd.h>

#include "../env/env.h"
#include "../nofault/implementation.h"
#include "../nofault/fault.h"
#include "../profile/probe.h"
#include "holdfast/report.h"
#include "mapping.h"
#include "region_list.h"

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

/* ---- a thread that ends --------------------------------------------------------------------- */

static pthread_key_t region_key;
static bool has_region_key;
/* Rounds of this thread's key destructors; 0 = the key is not set. */
static __thread int region_rounds __attribute__((tls_model("initial-exec")));

/*
 * Other destructors may still end the thread's regions. So this function asks to be called again,
 * until the last round but one, as that of validation does. The regions may have been in stack
 * frames that are gone: none of them is read.
 */
static void region_end_of_thread(void *value)
{
	uint64_t newest = hf_atomic64_load_relaxed(&self.top);

	(void)value;
	if (newest && ++region_rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
		(void)pthread_setspecific(region_key, &self);
		return;
	}
	region_rounds = 0;
	if (newest) {
		hf_detail_regions_drop(&all, &self, my_shard());
		hf_report_at(HF_REPORT_REGION_OPEN_AT_EXIT, (void *)(uintptr_t)newest, NULL);
	}
}

static void open_own(hf_region_t *r)
{
	if (region_rounds == 0 && has_region_key) {
		region_rounds = 1;
		(void)pthread_setspecific(region_key, &self);
	}
	hf_detail_regions_add(&all, &self, my_shard(), r);
}

/* ---- a fault ------------------------------------------------------------------------------ */

static uintptr_t down(uintptr_t address, uintptr_t size)
{
	return address & ~(size - 1);
}

static uintptr_t up(uintptr_t address, uintptr_t size)
{
	return (address + size - 1) & ~(size - 1);
}

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

/*
 * Zeros are a private mapping of /dev/zero, which the kernel treats as anonymous memory but shows
 * as a file with an offset: ZEROS_MARK plus the address. It stays so when the mapping is cut in two
 * or its protection changes.
 */
#define ZEROS_MARK (UINT64_C(1) << (sizeof(void *) == 8 ? 62 : 43))

/* 1 = /dev/zero could not be had once, so zeros may be anonymous memory. */
static hf_atomic32_t zeros_lack_mark;

/* A mapping that is not known: any, and writable. */
static const struct hf_detail_mapping anything = { .to = UINTPTR_MAX, .writable = true };

/* Without a mark: those that nobody has written to. */
static bool is_zeros(const struct hf_detail_mapping *m)
{
	if (m->shared || m->executable)
		return false;
	if (m->device || m->inode)
		return m->offset == ZEROS_MARK + m->from;
	return hf_atomic32_load_relaxed(&zeros_lack_mark) && m->readable && !m->writable;
}

/* Somebody may have put another file there: reading that would not end. */
static int open_zeros(void)
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

/* @marked: else anonymous, of which pages merge with the next. */
static bool map_zeros(struct hf_detail_region_pages lost, int prot, bool marked)
{
	const int flags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
	void *at = (void *)(uintptr_t)lost.from;
	size_t len = (size_t)(lost.to - lost.from);
	int fd = marked ? open_zeros() : -1;
	void *mapped = MAP_FAILED;

	if (fd >= 0) {
		mapped = map(at, len, prot, flags, fd, ZEROS_MARK + lost.from);
		(void)syscall(SYS_close, fd);
	}
	if (mapped == MAP_FAILED) {
		hf_atomic32_store_relaxed(&zeros_lack_mark, 1);
		mapped = map(at, len, prot, flags | MAP_ANONYMOUS, -1, 0);
	}
	return mapped == at;
}

/* The end of the zeros that follow @to without a gap, at most @end. */
static uintptr_t zeros_behind(uintptr_t to, uintptr_t end)
{
	struct hf_detail_mapping m;

	while (to < end && !hf_detail_mapping_at(to, &m) && m.from <= to && is_zeros(&m))
		to = m.to;
	return to < end ? to : end;
}

/* Replaces pages by zeros after the loss was noted. Sets errno. */
static bool replace(hf_region_t *r, struct hf_detail_region_pages lost, bool marked)
{
	int prot = PROT_READ;

	if (hf_atomic64_load_seq_cst(&r->written) != HF_DETAIL_REGION_NONE)
		prot |= PROT_WRITE;
	return map_zeros(lost, prot, marked);
}

/*
 * The device and the inode that mappings of this file show, by one that nobody can access. Its
 * length suits a file of huge pages, too. Returns 0 or -errno.
 */
static int look_up_file(int fd, int flags, const struct stat *file, struct hf_detail_mapping *m)
{
	size_t len = up(file->st_blksize > 0 ? (size_t)file->st_blksize : 1, all.page);
	void *at = map(NULL, len, PROT_NONE, (flags & MAP_TYPE) | MAP_NORESERVE, fd, 0);
	int error;

	if (at == MAP_FAILED)
		return -errno;
	error = hf_detail_mapping_at((uintptr_t)at, m);
	(void)syscall(SYS_munmap, at, len);
	return error;
}

/*
 * Has this mapping, at @address, what the region's file has there? Mappings show what fstat()
 * returns, except on a few file systems. Returns 0; -EEXIST: something else; -errno.
 */
static int is_same(const hf_region_t *r, uintptr_t address, const struct hf_detail_mapping *m)
{
	bool shared = (r->flags & MAP_TYPE) != MAP_PRIVATE;
	struct hf_detail_mapping shown;
	struct stat file;
	int error;

	if (m->shared != shared ||
	    m->offset + (address - m->from) != r->offset + (address - r->base))
		return -EEXIST;
	if (fstat(r->fd, &file))
		return -errno;
	if (m->inode == file.st_ino &&
	    m->device == hf_detail_mapping_device(major(file.st_dev), minor(file.st_dev)))
		return 0;
	error = look_up_file(r->fd, r->flags, &file, &shown);
	if (error)
		return error;
	return m->device == shown.device && m->inode == shown.inode ? 0 : -EEXIST;
}

/*
 * Is this, in which a page was lost at @address, the mapping of the region? One that does not know
 * its file, or whose file has been closed, takes any mapping of a file for it.
 */
static bool is_of_region(const hf_region_t *r, uintptr_t address, const struct hf_detail_mapping *m)
{
	if (!m->device && !m->inode)
		return false;
	return r->fd < 0 || is_same(r, address, m) != -EEXIST;
}

/*
 * Replaces the page of `address` and all after it, as far as the region and the mapping that has
 * lost it reach: behind that may be memory of others (G6). If the mapping is not known, the page
 * alone, which is lost for certain.
 */
static bool lose(hf_region_t *r, uintptr_t address)
{
	uintptr_t page = down(address, all.page), first = down(r->base, all.page);
	uintptr_t end = up(r->base + r->len, all.page);
	struct hf_detail_region_pages lost = { page, page + all.page, 0 }, noted;
	struct hf_detail_mapping m;
	int error = hf_detail_mapping_at(page, &m);
	bool is_replaced = !error && is_zeros(&m); /* by another thread */

	/* Unmapped, or about to be replaced by another thread: the access is repeated, and judged anew. */
	if (error == -ENOENT || (!error && m.from > page))
		return true;
	if (error)
		m = anything;
	else if (!is_replaced && !is_of_region(r, page, &m))
		return false;
	else
		lost.to = end < m.to ? end : m.to;
	if (!is_replaced) {
		hf_detail_region_set_access(r, m.writable ? HF_DETAIL_REGION_WRITABLE
							  : HF_DETAIL_REGION_READ_ONLY);
		lost.access = hf_atomic32_load_relaxed(&r->access);
	}
	noted = lost;
	noted.to = zeros_behind(lost.to, end);
	hf_detail_regions_note(&all, r, noted); /* G1 */
	if (is_replaced || replace(r, lost, !error))
		return true;
	/* EINVAL: a huge page can only be replaced as a whole, if it lies in the region. */
	first = first > m.from ? first : m.from;
	end = end < m.to ? end : m.to;
	for (uintptr_t size = 2 * all.page; errno == EINVAL && size <= (uintptr_t)1 << 30;
	     size *= 2) {
		struct hf_detail_region_pages huge = { down(address, size),
						       up((uintptr_t)lost.to, size), lost.access };

		if (huge.from < first || huge.to > end)
			break;
		hf_detail_regions_note(&all, r, huge);
		if (replace(r, huge, !error))
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

/* Makes zeros between these addresses, that one mapping has, writable. */
static bool open_zeros_of(const struct hf_detail_mapping *m, uintptr_t from, uintptr_t to)
{
	from = from > m->from ? from : m->from;
	to = to < m->to ? to : m->to;
	return mprotect((void *)from, to - from, PROT_READ | PROT_WRITE) == 0;
}

/* Notes a write at `address` in all regions. Called between hf_grace_enter() and _leave(). */
static void note_write(const hf_region_t *r, uint64_t address)
{
	struct hf_detail_region_pages opened = { address, up(r->base + r->len, all.page), 0 };

	hf_detail_regions_each(&all, written_visit, &opened);
}

/*
 * Makes the lost part of a region writable, as far as the mapping of `address` reaches: G6. Called
 * between hf_grace_enter() and _leave().
 */
static bool open_lost(hf_region_t *r, uintptr_t address)
{
	uintptr_t from = down((uintptr_t)hf_atomic64_load_seq_cst(&r->lost), all.page);
	struct hf_detail_mapping m;
	int error = hf_detail_mapping_at(address, &m);

	if (error == -ENOENT || (!error && (m.from > address || !is_zeros(&m))))
		return false;
	if (error) {
		m.from = down(address, all.page);
		m.to = m.from + all.page;
	}
	note_write(r, address);
	return open_zeros_of(&m, from, up(r->base + r->len, all.page));
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

/* What a lost page leaves hf_region_call() by, and what a callee must keep. */
struct call_frame {
	sigjmp_buf where;
	struct hf_arch_fp_control control;
};

#if HF_ARCH_HAS_SITES
/* Where the return from the signal continues, on the thread's stack. */
static __attribute__((noreturn)) void leave_call(struct call_frame *frame)
{
	siglongjmp(frame->where, 1);
}

/*
 * The kernel restores what it has saved at the signal: the mask, vector registers, protection keys,
 * an alternate stack with SS_AUTODISARM. A jump out of the handler would lose that.
 */
static void leave_region(struct call_frame *frame, void *context, sigjmp_buf **jump)
{
	ucontext_t *u = (ucontext_t *)context;

	(void)jump;
	HF_ARCH_CONTEXT_CALL(u, leave_call, frame);
}
#else
static void leave_region(struct call_frame *frame, void *context, sigjmp_buf **jump)
{
	(void)context;
	*jump = &frame->where;
}
#endif

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
		leave_region((struct call_frame *)r->jump, context, jump);
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
	uintptr_t start = (uintptr_t)base & ~HF_ARCH_TAG_BITS, end = start + len;
	int error;

	if (!start || !len || end < start || up(end, all.page) < end)
		return -HF_EINVAL;
	if (is_open(r))
		return -EBUSY;
	error = hf_detail_nofault_install_unless_chosen();
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
		open_own(region);
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
	open_own(region);
	return 0;
}

int hf_region_begin_process(hf_region_t *region, const void *base, size_t len)
{
	int error = prepare(region, base, len);

	if (error)
		return error;
	region->of_process = (uint64_t)(uintptr_t)&self;
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

/*
 * Code under the region may have unmapped the file, and something else may be mapped there now,
 * which must not be overwritten (G6). So all of [from, to) must be zeros, or the file, if it was not
 * lost there or the end of another region has mapped it already. Returns 0 or -errno.
 */
static int still_ours(const hf_region_t *r, uintptr_t from, uintptr_t to)
{
	struct hf_detail_mapping m;
	int error = 0;

	for (; !error && from < to; from = m.to) {
		error = hf_detail_mapping_at(from, &m);
		if (error == -ENOENT || (!error && m.from > from))
			error = -EEXIST;
		else if (!error && !is_zeros(&m))
			error = is_same(r, from, &m);
	}
	return error;
}

/* Maps the file again from the first lost page on: R5. Returns 0 or -errno. */
static int map_again(const hf_region_t *r, uintptr_t from)
{
	struct hf_detail_region_pages healed = { from, up(r->base + r->len, all.page), 0 };
	uint64_t offset = r->offset + from - r->base;
	int flags = r->flags & ~MAP_LOCKED, error = still_ours(r, from, healed.to);

#ifdef MAP_FIXED_NOREPLACE
	flags &= ~MAP_FIXED_NOREPLACE;
#endif
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
	/* Not by mmap(), whose errors are about the file: mlock() has limits. */
	if (!error && r->flags & MAP_LOCKED)
		(void)mlock((void *)from, healed.to - from);
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

struct reporter {
	uintptr_t from, to;
	bool found;
};

/* Does this region report the loss of all these pages? Then its end will settle it. */
static void reporter_visit(struct hf_detail_regions *regions, hf_region_t *r, void *data)
{
	struct reporter *other = (struct reporter *)data;
	uint64_t lost = hf_atomic64_load_seq_cst(&r->lost);

	(void)regions;
	if (!r->jump && lost != HF_DETAIL_REGION_NONE &&
	    down((uintptr_t)lost, all.page) <= other->from &&
	    other->to <= up(r->base + r->len, all.page))
		other->found = true;
}

/* Makes all zeros writable. Returns 0 or -errno. */
static int open_all(uintptr_t from, uintptr_t to)
{
	struct hf_detail_mapping m;

	for (uintptr_t at = from; at < to; at = m.to) {
		int error = hf_detail_mapping_at(at, &m);

		if (error == -ENOENT || (!error && m.from >= to))
			break;
		if (error)
			return error;
		if (is_zeros(&m) && !open_zeros_of(&m, at, to))
			return -errno;
	}
	return 0;
}

/* The zeros stay; they become writable if the mapping was. Returns 0 or -errno. */
static int leave_zeros(hf_region_t *r, uint64_t lost)
{
	struct reporter other = { down((uintptr_t)lost, all.page), up(r->base + r->len, all.page),
				  false };
	uint32_t parity;
	int error = 0;

	if (hf_atomic32_load_relaxed(&r->access) != HF_DETAIL_REGION_WRITABLE)
		return 0;
	parity = hf_grace_enter(&all.grace);
	hf_detail_regions_each(&all, reporter_visit, &other);
	if (!other.found) {
		note_write(r, lost);
		error = open_all(other.from, other.to);
	}
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

/* For an exception, a pthread_exit() or a cancellation that leaves the function: see -fexceptions. */
static void end_of_call(hf_region_t *volatile *region)
{
	if (*region && hf_region_end(*region, NULL)) {}
}

int hf_region_call(const void *base, size_t len, void (*function)(void *), void *arg,
		   struct hf_region_fault *fault)
{
	hf_region_t region, *volatile open __attribute__((cleanup(end_of_call))) = NULL;
	struct call_frame frame;
	size_t bad;
	int error = prepare(&region, base, len);

	if (error)
		return error;
	region.jump = &frame;
	frame.control = hf_arch_fp_control_save();
	open = &region;
	if (sigsetjmp(frame.where, 0) == 0) {
		open_own(&region);
		function(arg);
	} else {
		hf_arch_fp_control_restore(frame.control);
	}
	open = NULL;
	bad = hf_region_end(&region, fault);
	return bad < len ? -HF_EFAULT : 0;
}

/* ---- start, fork -------------------------------------------------------------------------- */

static void count_loss(struct hf_detail_regions *regions, hf_region_t *r, void *data)
{
	(void)data;
	if (hf_atomic64_load_relaxed(&r->lost) != HF_DETAIL_REGION_NONE)
		(void)hf_atomic32_fetch_add_relaxed(&regions->losses, 1);
}

/*
 * Only this thread exists in the child; the memory of the others' regions may be reused, which is
 * on their stacks perhaps.
 */
static void drop_of_others(void)
{
	hf_atomic64_t *at = &all.process.top;

	while (hf_atomic64_load_relaxed(at)) {
		hf_region_t *r = hf_detail_region_of(hf_atomic64_load_relaxed(at));

		if (r->of_process == (uint64_t)(uintptr_t)&self)
			at = &r->below;
		else
			hf_atomic64_store_relaxed(at, hf_atomic64_load_relaxed(&r->below));
	}
}

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
	drop_of_others();
	hf_detail_regions_each(&all, count_loss, NULL);
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
	hf_env_yield();
	errno = error;
}

__attribute__((constructor(101))) static void start_region(void)
{
	bind_regions_early();
	all.page = (uint64_t)getpagesize();
	hf_atomic64_store_seq_cst(&hf_detail_fault_hook, (uint64_t)(uintptr_t)handle_region);
	(void)pthread_atfork(NULL, NULL, region_in_child);
	has_region_key = pthread_key_create(&region_key, region_end_of_thread) == 0;
}

__attribute__((destructor(101))) static void end_region(void)
{
	if (has_region_key)
		(void)pthread_key_delete(region_key);
	has_region_key = false;
}
