/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_REGION_LIST_H
#define HF_SRC_REGION_LIST_H
/*
 * region_list - the lists of open regions, read by signal handlers of all threads. A header,
 * because tests/model/region.cpp includes it alone, and the compiler inlines it into begin and end.
 *
 * State
 *   Each thread has a list of its regions, the newest first, in its own memory. From its first
 *   region to its end the thread is in the list of threads. Regions of the process are in the list
 *   of a pseudo-thread, `process`, which is always searched.
 *
 *        threads -> thread -> thread             thread.top -> region -> region
 *        process.top -> region -> region
 *
 * Invariants
 *   G1  A region reports every page of its range that was replaced, by whichever thread. The loss
 *       is noted before the zeros can be read: in the faulting thread's region first, then in all
 *       regions that overlap the lost part. So is the first write into lost pages, after which no
 *       other write there faults. A region that begins later asks the kernel which lost pages of
 *       the regions that are still open are zeros now, and can be written: for that it waits until
 *       the handlers that did not find it in the lists have mapped theirs. The list and the counts
 *       are sequentially consistent, so a handler finds the region, or the region waits for it.
 *   G2  A handler reads a region of another thread only between hf_grace_enter() and _leave(), and
 *       hf_region_end() waits for handlers that are inside (src/nofault/grace.h). After it, the
 *       caller may reuse the region's memory. Without handlers this costs two loads.
 *   G3  A thread's own list is changed by that thread alone, by one store, so its signal handler
 *       always finds a consistent list.
 *   G4  A handler takes no lock, allocates nothing, and waits for no file: what is known of a
 *       region's file is looked up outside of the grace period (file.c). Threads that fault on the
 *       same loss each make their own mapping, and the lowest page counts.
 *   G5  Only pages of the range are replaced, and only for SIGBUS with BUS_ADRERR or gVisor's code.
 *   G6  A fault replaces pages of the mapping in which it happened and of no other, and a region
 *       that knows its file those of that file at that place. What it makes writable is zeros, and
 *       what the end maps over is zeros or that file. Each is looked up just before; what another
 *       thread maps between the look and the mmap() is not seen.
 *   R1  The list of threads grows at its top by compare-and-swap, and shrinks under `lock`. A
 *       reader finds each element that stays in the list: a removed one keeps its pointer until no
 *       reader is inside.
 *   R2  `losses` counts the open regions with a loss. It is incremented before the region is
 *       marked. Those of a thread that ended with open regions stay counted, since they cannot be
 *       read any more: from then on each begin looks at all open regions, in vain.
 *   R3  A misuse can make a list a circle (a region that was begun in two threads; a thread that
 *       ended with an open region, whose memory another has got). A signal handler must return, so
 *       it follows a list for HF_DETAIL_REGION_MOST steps and no more.
 */
#include "../nofault/grace.h"
#include "holdfast/region.h"

/* R3: the most regions of a thread, and threads, that are searched. */
#define HF_DETAIL_REGION_MOST 65536u

/* The model substitutes a simpler lock, and checks which regions are read. */
#ifndef HF_DETAIL_REGION_LOCK
#include "holdfast/mutex.h"
typedef hf_mutex_t hf_detail_region_lock_t;
#define HF_DETAIL_REGION_LOCK hf_mutex_lock
#define HF_DETAIL_REGION_UNLOCK hf_mutex_unlock
#define HF_DETAIL_REGION_LOOK(region) (void)(region)
#endif

struct hf_detail_region_thread {
	hf_atomic64_t top;  /* struct hf_region *, the newest */
	hf_atomic64_t next; /* struct hf_detail_region_thread * */
	bool is_listed;     /* as `process` for ever, which needs no list */
	bool leaves;        /* with its last region: nothing removes it when it ends */
};

struct hf_detail_regions {
	hf_atomic64_t threads; /* struct hf_detail_region_thread * */
	struct hf_detail_region_thread process;
	hf_detail_region_lock_t lock; /* for changes of `process`, R1, and waiting */
	hf_atomic32_t losses;         /* R2 */
	struct hf_grace grace;        /* for readers of all lists */
	uint64_t page;                /* bytes of one; set before there are regions */
};

static inline hf_region_t *hf_detail_region_of(uint64_t p)
{
	return (hf_region_t *)(uintptr_t)p;
}

static inline struct hf_detail_region_thread *hf_detail_region_thread_of(uint64_t p)
{
	return (struct hf_detail_region_thread *)(uintptr_t)p;
}

/* Notes the loss from `address` on. Called by the owner, or by a thread inside. */
static inline void hf_detail_region_note(struct hf_detail_regions *all, hf_region_t *r,
					 uint64_t address)
{
	uint64_t found = hf_atomic64_load_seq_cst(&r->lost);

	if (found <= address)
		return;
	(void)hf_atomic32_fetch_add_seq_cst(&all->losses, 1); /* R2 */
	while (address < found) {
		if (!hf_atomic64_try_cmpxchg_seq_cst(&r->lost, &found, address))
			continue;
		if (found == HF_DETAIL_REGION_NONE)
			return;
		break;
	}
	(void)hf_atomic32_fetch_sub_release(&all->losses, 1); /* this region was counted already */
}

/* Pages [from, to) of a mapping with that access (enum hf_detail_region_access). */
struct hf_detail_region_pages {
	uint64_t from, to;
	uint32_t access;
};

/* The first answer is kept: once the page is zeros, the kernel's answer is about those. */
static inline void hf_detail_region_set_access(hf_region_t *r, uint32_t access)
{
	uint32_t unknown = HF_DETAIL_REGION_UNKNOWN;

	(void)hf_atomic32_try_cmpxchg_relaxed(&r->access, &unknown, access);
}

/* Notes the loss if the region has some of these pages. */
static inline void hf_detail_region_note_visit(struct hf_detail_regions *all, hf_region_t *r,
					       void *data)
{
	const struct hf_detail_region_pages *lost = (const struct hf_detail_region_pages *)data;

	if (r->base >= lost->to || lost->from >= r->base + r->len)
		return;
	hf_detail_region_set_access(r, lost->access);
	hf_detail_region_note(all, r, lost->from > r->base ? lost->from : r->base);
}

/* Called for each region, by a thread that is inside. */
typedef void (*hf_detail_region_visit_t)(struct hf_detail_regions *all, hf_region_t *r, void *data);

static inline void hf_detail_regions_each_of(struct hf_detail_regions *all,
					     const struct hf_detail_region_thread *thread,
					     hf_detail_region_visit_t visit, void *data)
{
	hf_region_t *r = hf_detail_region_of(hf_atomic64_load_seq_cst(&thread->top));

	for (unsigned int n = 0; r && n < HF_DETAIL_REGION_MOST; n++) { /* R3 */
		HF_DETAIL_REGION_LOOK(r);
		visit(all, r, data);
		r = hf_detail_region_of(hf_atomic64_load_seq_cst(&r->below));
	}
}

static inline void hf_detail_regions_each(struct hf_detail_regions *all,
					  hf_detail_region_visit_t visit, void *data)
{
	const struct hf_detail_region_thread *t =
		hf_detail_region_thread_of(hf_atomic64_load_seq_cst(&all->threads));

	hf_detail_regions_each_of(all, &all->process, visit, data);
	for (unsigned int n = 0; t && n < HF_DETAIL_REGION_MOST; n++) { /* R3 */
		hf_detail_regions_each_of(all, t, visit, data);
		t = hf_detail_region_thread_of(hf_atomic64_load_seq_cst(&t->next));
	}
}

/* G1: notes the loss in `finder`, then in each region with some of the pages. Called inside. */
static inline void hf_detail_regions_note(struct hf_detail_regions *all, hf_region_t *finder,
					  struct hf_detail_region_pages lost)
{
	hf_detail_region_note_visit(all, finder, &lost);
	hf_detail_regions_each(all, hf_detail_region_note_visit, &lost);
}

/* G2: when this returns, no reader uses what was removed from the lists before the call. */
static inline void hf_detail_regions_wait(struct hf_detail_regions *all)
{
	if (HF_LIKELY(!hf_atomic32_load_seq_cst(&all->grace.inside[0]) &&
		      !hf_atomic32_load_seq_cst(&all->grace.inside[1])))
		return;
	HF_DETAIL_REGION_LOCK(&all->lock);
	hf_grace_wait(&all->grace);
	HF_DETAIL_REGION_UNLOCK(&all->lock);
}

/* A new region, and its pages that open regions have lost before; from >= to = none. */
struct hf_detail_region_heir {
	const hf_region_t *region;
	struct hf_detail_region_pages lost;
};

static inline void hf_detail_region_inherit_visit(struct hf_detail_regions *all, hf_region_t *r,
						  void *data)
{
	struct hf_detail_region_heir *heir = (struct hf_detail_region_heir *)data;
	struct hf_detail_region_pages *lost = &heir->lost;
	uint64_t from = hf_atomic64_load_seq_cst(&r->lost), to = r->base + r->len;
	uint64_t start = heir->region->base, end = start + heir->region->len;

	if (from == HF_DETAIL_REGION_NONE || r->jump) /* it has replaced nothing */
		return;
	from = (from > start ? from : start) & ~(all->page - 1);
	to = to < end ? to : end;
	if (from >= to)
		return;
	lost->from = from < lost->from ? from : lost->from;
	lost->to = to > lost->to ? to : lost->to;
	if (lost->access == HF_DETAIL_REGION_UNKNOWN)
		lost->access = hf_atomic32_load_relaxed(&r->access);
}

/* G1: the pages of a region in the lists that were lost before, and may be zeros now. */
static inline struct hf_detail_region_pages
hf_detail_regions_lost_before(struct hf_detail_regions *all, const hf_region_t *r)
{
	struct hf_detail_region_heir heir = { r, { UINT64_MAX, 0, HF_DETAIL_REGION_UNKNOWN } };
	uint32_t parity;

	hf_detail_regions_wait(all);
	parity = hf_grace_enter(&all->grace);
	hf_detail_regions_each(all, hf_detail_region_inherit_visit, &heir);
	hf_grace_leave(&all->grace, parity);
	return heir.lost;
}

/* ---- regions begin and end ------------------------------------------------------------------ */

/*
 * Opens a region of this thread, or of `all->process` under `all->lock`. Returns true: there may be
 * losses to inherit (hf_detail_regions_lost_before(), without the lock).
 */
static inline bool hf_detail_regions_add(struct hf_detail_regions *all,
					 struct hf_detail_region_thread *thread, hf_region_t *r)
{
	hf_atomic64_store_relaxed(&r->below, hf_atomic64_load_relaxed(&thread->top));
	hf_atomic64_store_seq_cst(&thread->top, (uint64_t)(uintptr_t)r); /* G3 */
	if (HF_UNLIKELY(!thread->is_listed)) {
		uint64_t next = hf_atomic64_load_relaxed(&all->threads);

		thread->is_listed = true;
		do { /* R1 */
			hf_atomic64_store_relaxed(&thread->next, next);
		} while (!hf_atomic64_try_cmpxchg_seq_cst(&all->threads, &next,
							  (uint64_t)(uintptr_t)thread));
	}
	return HF_UNLIKELY(hf_atomic32_load_seq_cst(&all->losses));
}

/* R1 */
static inline void hf_detail_regions_remove_thread(struct hf_detail_regions *all,
						   struct hf_detail_region_thread *thread)
{
	uint64_t me = (uint64_t)(uintptr_t)thread, top = me, next;

	HF_DETAIL_REGION_LOCK(&all->lock);
	next = hf_atomic64_load_relaxed(&thread->next); /* only the lock's holder changes it */
	if (!hf_atomic64_try_cmpxchg_seq_cst(&all->threads, &top, next)) {
		struct hf_detail_region_thread *t;

		/* Load it again: a failed compare-and-swap does not acquire the element. */
		t = hf_detail_region_thread_of(hf_atomic64_load_seq_cst(&all->threads));
		top = hf_atomic64_load_seq_cst(&t->next);
		for (unsigned int n = 0; top && top != me && n < HF_DETAIL_REGION_MOST; n++) {
			t = hf_detail_region_thread_of(top);
			top = hf_atomic64_load_seq_cst(&t->next);
		}
		if (top == me)
			hf_atomic64_store_seq_cst(&t->next, next);
	}
	thread->is_listed = false;
	HF_DETAIL_REGION_UNLOCK(&all->lock);
}

/* Removes a region from the list of this thread, or of `all->process` under `all->lock`. */
static inline bool hf_detail_regions_remove(struct hf_detail_regions *all,
					    struct hf_detail_region_thread *thread, hf_region_t *r)
{
	uint64_t me = (uint64_t)(uintptr_t)r, at = hf_atomic64_load_relaxed(&thread->top), below;
	hf_region_t *above = NULL;

	while (at && at != me) {
		above = hf_detail_region_of(at);
		at = hf_atomic64_load_relaxed(&above->below);
	}
	if (!at)
		return false;
	below = hf_atomic64_load_relaxed(&r->below);
	hf_atomic64_store_seq_cst(above ? &above->below : &thread->top, below); /* G3 */
	if (HF_UNLIKELY(thread->leaves) && !above && !below)
		hf_detail_regions_remove_thread(all, thread);
	return true;
}

/* Removes a thread that ends, without a look at its regions. */
static inline void hf_detail_regions_drop(struct hf_detail_regions *all,
					  struct hf_detail_region_thread *thread)
{
	hf_atomic64_store_seq_cst(&thread->top, 0);
	hf_detail_regions_remove_thread(all, thread);
	hf_detail_regions_wait(all);
}

#endif
