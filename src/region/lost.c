/* SPDX-License-Identifier: MIT */
/*
 * lost - a fault under a region: lost pages are replaced by zeros, and the first write there is
 * noted. G1 to G6 are in region_list.h.
 *
 * System calls between hf_grace_enter() and _leave(), for which begins and ends of other threads
 * wait: those for /proc/self/maps and /dev/zero; mmap, munmap, munlock, mprotect. None of them
 * waits for a file's server.
 */
#define _GNU_SOURCE /* REG_RIP */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "../env/env.h"
#include "../profile/probe.h"
#include "regions.h"
#include "zeros.h"

/* A mapping that is not known: any, and writable. */
static const struct hf_detail_mapping anything = { .to = UINTPTR_MAX, .writable = true };

static bool has_page_of(const hf_region_t *r, uintptr_t address)
{
	return address >= hf_detail_page_down(r->base) && address < hf_detail_region_end_page(r);
}

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
	hf_region_t *r = find_region_in(&hf_detail_my_regions, address);

	return r ? r : find_region_in(&hf_detail_open_regions.process, address);
}

/* ---- a write into the lost part ------------------------------------------------------------- */

/* A write at `address`, for which pages [from, to) become writable. */
struct region_write {
	uint64_t address, from, to;
};

static void written_visit(struct hf_detail_regions *regions, hf_region_t *r, void *data)
{
	const struct region_write *write = (const struct region_write *)data;
	uint64_t lost = hf_atomic64_load_seq_cst(&r->lost), none = HF_DETAIL_REGION_NONE;

	(void)regions;
	if (lost == HF_DETAIL_REGION_NONE || r->base >= write->to ||
	    write->from >= r->base + r->len)
		return;
	/* In other regions, writes will not fault any more: note the whole loss as written. */
	if (write->address >= lost && has_page_of(r, (uintptr_t)write->address))
		lost = write->address < r->base + r->len ? write->address : r->base + r->len - 1;
	(void)hf_atomic64_try_cmpxchg_seq_cst(&r->written, &none, lost);
}

/*
 * Notes a write in all regions that have some of these pages, before they become writable: in @r
 * first (G1). Called inside.
 */
static void note_write(hf_region_t *r, struct region_write write)
{
	written_visit(&hf_detail_open_regions, r, &write);
	hf_detail_regions_each(&hf_detail_open_regions, written_visit, &write);
}

/* ---- a lost page ---------------------------------------------------------------------------- */

/* How a fault is answered. */
enum answer {
	PASS_ON,
	REPEAT, /* the access is repeated, and judged anew if it faults again; or the detour */
	LOOK_UP_FILE, /* the same, after hf_detail_region_look_up_file(), not inside */
};

/* Replaces pages by zeros after the loss was noted. Sets errno. */
static bool replace(hf_region_t *r, struct hf_detail_region_pages lost, int tag)
{
	uintptr_t from = (uintptr_t)lost.from, to = (uintptr_t)lost.to;

	/*
	 * Writable at once if a write was noted. Limits (RLIMIT_DATA, overcommit_memory 2) count
	 * writable pages; where they refuse, each page becomes writable by a fault of its own.
	 */
	if (hf_atomic64_load_seq_cst(&r->written) != HF_DETAIL_REGION_NONE) {
		note_write(r, (struct region_write){ from, from, to });
		if (hf_detail_map_zeros(from, to, PROT_READ | PROT_WRITE, tag))
			return true;
		if (errno != ENOMEM)
			return false;
	}
	return hf_detail_map_zeros(from, to, PROT_READ, tag);
}

/* A huge page can only be replaced as a whole, if it lies in [first, end). */
static bool replace_huge(hf_region_t *r, uintptr_t address, struct hf_detail_region_pages lost,
			 uintptr_t first, uintptr_t end, int tag)
{
	uint64_t most = UINT64_C(1) << 30;

	for (uint64_t size = 2 * hf_detail_open_regions.page; errno == EINVAL && size <= most;
	     size *= 2) {
		struct hf_detail_region_pages huge = { address & ~(size - 1),
						       (lost.to + size - 1) & ~(size - 1),
						       lost.access };

		if (huge.from < first || huge.to > end)
			break;
		hf_detail_regions_note(&hf_detail_open_regions, r, huge);
		if (replace(r, huge, tag))
			return true;
	}
	return false;
}

/*
 * Does this mapping, in which a page was lost at @address, belong to the region? A region that does
 * not know its file, or whose file cannot be mapped, accepts any mapping of a file.
 */
static enum answer belongs(const hf_region_t *r, uintptr_t address,
			   const struct hf_detail_mapping *m)
{
	int error;

	if (!m->device && !m->inode)
		return PASS_ON;
	error = r->fd < 0 ? 0 : hf_detail_region_compare_file(r, address, m);
	if (error == -EAGAIN && r->known == HF_DETAIL_REGION_BY_FSTAT)
		return LOOK_UP_FILE;
	return error == -EEXIST ? PASS_ON : REPEAT;
}

/*
 * Replaces the page of `address` and all after it, as far as the region and the mapping that has
 * lost it reach: behind that may be memory of others (G6). If the mapping is not known, the page
 * alone, which is lost for certain. Called inside.
 */
static enum answer replace_lost(hf_region_t *r, uintptr_t address)
{
	uintptr_t page = hf_detail_page_down(address), first = hf_detail_page_down(r->base);
	uintptr_t end = hf_detail_region_end_page(r);
	struct hf_detail_regions *all = &hf_detail_open_regions;
	struct hf_detail_region_pages lost = { page, page + all->page, 0 };
	struct hf_detail_mapping m;
	enum answer answer = REPEAT;
	int error = hf_detail_mapping_at(page, &m), tag = error ? HF_DETAIL_ZEROS_UNMARKED : 0;
	bool is_replaced = !error && hf_detail_may_be_zeros(&m); /* by another thread */

	/* Unmapped, or about to be replaced by another thread. */
	if (error == -ENOENT || (!error && m.from > page))
		return REPEAT;
	if (error)
		m = anything;
	else if (!is_replaced)
		answer = belongs(r, page, &m);
	if (answer != REPEAT)
		return answer;
	if (!error && !is_replaced)
		lost.to = end < m.to ? end : m.to;
	if (!is_replaced) {
		hf_detail_region_set_access(r, m.writable ? HF_DETAIL_REGION_WRITABLE
							  : HF_DETAIL_REGION_READ_ONLY);
		lost.access = hf_atomic32_load_relaxed(&r->access);
	}
	hf_detail_regions_note(all, r, lost); /* G1 */
	if (is_replaced || replace(r, lost, tag))
		return REPEAT;
	return replace_huge(r, address, lost, first > m.from ? first : m.from,
			    end < m.to ? end : m.to, tag)
		       ? REPEAT
		       : PASS_ON;
}

/*
 * Makes the lost part of a region writable, as far as the mapping of `address` reaches (G6); the
 * page alone where that is more than a limit of writable memory allows. Called inside.
 */
static bool open_lost(hf_region_t *r, uintptr_t address)
{
	uintptr_t from = hf_detail_page_down((uintptr_t)hf_atomic64_load_seq_cst(&r->lost));
	uintptr_t end = hf_detail_region_end_page(r), page = hf_detail_page_down(address);
	uintptr_t behind = page + (uintptr_t)hf_detail_open_regions.page;
	struct hf_detail_mapping m;
	struct region_write write;
	int error = hf_detail_mapping_at(address, &m);

	if (error == -ENOENT || (!error && (m.from > address || !hf_detail_may_be_zeros(&m))))
		return false;
	if (error) {
		m.from = page;
		m.to = behind;
	}
	write = (struct region_write){ address, from > m.from ? from : m.from,
				       end < m.to ? end : m.to };
	note_write(r, write);
	return hf_detail_open_zeros(&m, from, end) ||
	       (errno == ENOMEM && hf_detail_open_zeros(&m, page, behind));
}

/* Is it a write into the lost part of a mapping that was writable? */
static bool may_open(const hf_region_t *r, uintptr_t address)
{
	uint64_t lost = hf_atomic64_load_seq_cst(&r->lost);

	return !r->jump && lost != HF_DETAIL_REGION_NONE &&
	       address >= hf_detail_page_down((uintptr_t)lost) &&
	       hf_atomic32_load_relaxed(&r->access) == HF_DETAIL_REGION_WRITABLE;
}

/* Was an instruction to be fetched from this page? That is a bug, whatever the page is. */
static bool is_fetch(uintptr_t address, const void *context)
{
#if HF_ARCH_HAS_SITES
	return hf_detail_page_down((uintptr_t)HF_ARCH_CONTEXT_PC((const ucontext_t *)context)) ==
	       hf_detail_page_down(address);
#else
	(void)address;
	(void)context;
	return false;
#endif
}

bool hf_detail_region_handle(int signal, const siginfo_t *info, void *context,
			     struct hf_detail_detour *detour)
{
	struct hf_detail_regions *all = &hf_detail_open_regions;
	uintptr_t address = (uintptr_t)info->si_addr;
	/* G5. BUS_ADRALN: gVisor's code for it; handler.c has excluded unaligned accesses. */
	bool is_lost = signal == SIGBUS &&
		       (info->si_code == BUS_ADRERR || info->si_code == BUS_ADRALN);
	bool is_write = signal == SIGSEGV && info->si_code == SEGV_ACCERR;
	enum answer answer = PASS_ON;
	int error = errno;
	uint32_t parity;
	hf_region_t *r;

	if ((!is_lost && !is_write) || is_fetch(address, context))
		return false;
	parity = hf_grace_enter(&all->grace); /* G2 */
	r = find_region(address);
	if (r && is_lost && r->jump) {
		uintptr_t page = hf_detail_page_down(address);

		hf_detail_region_note(all, r, page > r->base ? page : r->base);
		*detour = (struct hf_detail_detour){ hf_detail_region_leave_call, r };
		answer = REPEAT;
	} else if (r && is_lost) {
		answer = replace_lost(r, address);
	} else if (r && may_open(r, address) && open_lost(r, address)) {
		answer = REPEAT;
	}
	if (answer == REPEAT)
		HF_DETAIL_PROBE3(region_fault, address, r, signal);
	hf_grace_leave(&all->grace, parity);
	if (answer == LOOK_UP_FILE) /* it knows its file, so it is this thread's, and stays open */
		(void)hf_detail_region_look_up_file(r);
	errno = error;
	return answer != PASS_ON;
}

/* ---- a region that begins after a loss ------------------------------------------------------ */

void hf_detail_region_inherit(hf_region_t *r)
{
	struct hf_detail_regions *all = &hf_detail_open_regions;
	struct hf_detail_region_pages lost = hf_detail_regions_lost_before(all, r);
	struct hf_detail_mapping m = anything;
	uint64_t none = HF_DETAIL_REGION_NONE;
	int kept = errno, error;

	for (uintptr_t at = (uintptr_t)lost.from; at < lost.to; at = m.to) {
		error = hf_detail_mapping_at(at, &m);
		if (error == -ENOENT || (!error && m.from >= lost.to))
			break;
		if (error)
			m = anything;
		else if (!hf_detail_may_be_zeros(&m))
			continue;
		hf_detail_region_set_access(r, lost.access);
		hf_detail_region_note(all, r, at > r->base ? at : r->base);
		if (m.writable) /* later writes don't fault: the whole loss counts as written */
			(void)hf_atomic64_try_cmpxchg_seq_cst(&r->written, &none,
							      hf_atomic64_load_seq_cst(&r->lost));
	}
	errno = kept;
}

/* ---- the end of a region that does not know its file ---------------------------------------- */

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
	    hf_detail_page_down((uintptr_t)lost) <= other->from &&
	    other->to <= hf_detail_region_end_page(r))
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
		if (hf_detail_is_zeros(&m) && !hf_detail_open_zeros(&m, at, to))
			return -errno;
	}
	return 0;
}

int hf_detail_region_leave_zeros(hf_region_t *r, uint64_t lost)
{
	struct hf_detail_regions *all = &hf_detail_open_regions;
	struct reporter other = { hf_detail_page_down((uintptr_t)lost),
				  hf_detail_region_end_page(r), false };
	uint32_t parity;
	int error = 0;

	if (hf_atomic32_load_relaxed(&r->access) != HF_DETAIL_REGION_WRITABLE)
		return 0;
	parity = hf_grace_enter(&all->grace);
	hf_detail_regions_each(all, reporter_visit, &other);
	if (!other.found) {
		note_write(r, (struct region_write){ lost, lost, other.to });
		error = open_all(other.from, other.to);
	}
	hf_grace_leave(&all->grace, parity);
	return error;
}
