/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_REGION_LIST_H
#define HF_SRC_REGION_LIST_H
/*
 * region_list - the lists of open regions, read by signal handlers of all threads. A header,
 * because tests/model/region.cpp includes it alone, and the compiler inlines it into begin and end.
 *
 * State
 *   Each thread has a list of its regions, the newest first, in its own memory. While it is not
 *   empty, the thread is in one of 16 lists of threads (shards), to avoid contention on one lock.
 *   Regions of the process are in the list of a pseudo-thread, `process`, which is always searched.
 *
 *        shard[i].top -> thread -> thread        thread.top -> region -> region
 *        process.top -> region -> region
 *
 * Invariants
 *   G1  A region reports every page of its range that was replaced, by whichever thread. The loss
 *       is noted before the zeros can be read: in the faulting thread's region first, then in all
 *       regions that overlap the lost part. A region that begins later inherits the loss from each
 *       open region that was open when it happened, for as long as the zeros are mapped; an
 *       inherited loss is not passed on. So it is with the first write into lost pages, after which
 *       no other write there faults. Both sides are sequentially consistent, so one of the two sees
 *       the other. A region that knows its file maps it again while it is still open; that
 *       ends the loss for all.
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
 *       what the end maps over is zeros or that file. Each is looked up just before: a thread that
 *       unmaps the range and maps something else there between the look and the mmap() is not seen.
 *   R1  A list of threads grows at its top by compare-and-swap, and shrinks under the shard's lock.
 *       A reader finds each element that stays in the list: a removed one keeps its pointer until
 *       no reader is inside.
 *   R2  `losses` counts the open regions with a loss. It is incremented before the region is
 *       marked. Those of a thread that ended with open regions stay counted, since they cannot be
 *       read any more: from then on each begin looks at all open regions, in vain.
 *   R3  A list that a misuse has made a circle (a region that was begun in two threads; a thread
 *       that ended with an open region, whose memory another has got) is followed for
 *       HF_DETAIL_REGION_MOST steps and no more: a signal handler must return.
 *   R4  The valid span of a region that was open at a loss is its pages that may be zeros since. An
 *       addition is counted in `zeros`, and made, before the pages are replaced. A region that
 *       begins meanwhile and finds the span of the faulting thread's region half changed was in the
 *       lists before the rest of the change, so the thread meets it there (G1). A region that
 *       begins later has an empty span, even if it inherits.
 *   R5  A thread that maps the file again then removes its pages from the spans: it writes the
 *       other span, and makes that the valid one. It reads `zeros` of all regions, then waits for
 *       the handlers to return: so the additions that it has read are complete, their zeros were
 *       mapped before the file, and nobody uses the other span any more. An addition since then has
 *       changed `zeros`, and its region keeps all.
 */
#include "../nofault/grace.h"
#include "holdfast/region.h"

#ifndef HF_DETAIL_REGION_SHARDS
#define HF_DETAIL_REGION_SHARDS 16
#endif

/* R3: the most regions of a thread, and threads of a shard, that are searched. */
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
	hf_atomic64_t next; /* struct hf_detail_region_thread *, in its shard */
};

struct hf_detail_region_shard {
	hf_atomic64_t top; /* struct hf_detail_region_thread * */
	hf_detail_region_lock_t lock;
} HF_ALIGNED(64);

struct hf_detail_regions {
	struct hf_detail_region_shard shard[HF_DETAIL_REGION_SHARDS];
	struct hf_detail_region_thread process;
	hf_detail_region_lock_t lock;    /* for changes of `process`, and waiting */
	hf_atomic32_t losses;            /* R2 */
	struct hf_grace grace;           /* for readers of all lists */
	uint64_t page;                   /* bytes of one; set before there are regions */
	hf_detail_region_lock_t healing; /* R5. Its holder may wait for a file, so no other lock */
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

/* R4: a region that has just begun. */
static inline void hf_detail_region_no_zeros(hf_region_t *r)
{
	hf_atomic64_store_relaxed(&r->zeros, 0);
	hf_atomic64_store_relaxed(&r->span[0].from, UINT64_MAX);
	hf_atomic64_store_relaxed(&r->span[0].to, 0);
}

/* R4: the pages of the region that may be zeros, by what `zeros` was. */
static inline struct hf_detail_region_pages hf_detail_region_zeros(const hf_region_t *r,
								   uint64_t zeros)
{
	const struct hf_detail_region_span *span = &r->span[zeros & 1];
	struct hf_detail_region_pages pages = {
		hf_atomic64_load_seq_cst(&span->from),
		hf_atomic64_load_seq_cst(&span->to),
		hf_atomic32_load_relaxed(&r->access),
	};

	return pages;
}

/* R4: adds those of these pages that are the region's, before they are replaced. Called inside. */
static inline void hf_detail_region_add_zeros(hf_region_t *r, struct hf_detail_region_pages lost,
					      uint64_t page)
{
	uint64_t start = r->base & ~(page - 1), end = (r->base + r->len + page - 1) & ~(page - 1);
	uint64_t from = lost.from > start ? lost.from : start, to = lost.to < end ? lost.to : end;
	uint64_t zeros = hf_atomic64_load_seq_cst(&r->zeros), old;
	struct hf_detail_region_span *span;

	while (!hf_atomic64_try_cmpxchg_seq_cst(&r->zeros, &zeros, zeros + 2))
		;
	span = &r->span[zeros & 1];
	old = hf_atomic64_load_seq_cst(&span->from);
	while (from < old && !hf_atomic64_try_cmpxchg_seq_cst(&span->from, &old, from))
		;
	old = hf_atomic64_load_seq_cst(&span->to);
	while (old < to && !hf_atomic64_try_cmpxchg_seq_cst(&span->to, &old, to))
		;
}

/* The first answer is kept: once the page is zeros, the kernel's answer is about those. */
static inline void hf_detail_region_set_access(hf_region_t *r, uint32_t access)
{
	uint32_t unknown = HF_DETAIL_REGION_UNKNOWN;

	(void)hf_atomic32_try_cmpxchg_relaxed(&r->access, &unknown, access);
}

/* Notes the loss if the region has some of these pages. */
static inline bool hf_detail_region_note_pages(struct hf_detail_regions *all, hf_region_t *r,
					       const struct hf_detail_region_pages *lost)
{
	if (r->base >= lost->to || lost->from >= r->base + r->len)
		return false;
	hf_detail_region_set_access(r, lost->access);
	hf_detail_region_note(all, r, lost->from > r->base ? lost->from : r->base);
	return true;
}

static inline void hf_detail_region_note_visit(struct hf_detail_regions *all, hf_region_t *r,
					       void *data)
{
	const struct hf_detail_region_pages *lost = (const struct hf_detail_region_pages *)data;

	if (hf_detail_region_note_pages(all, r, lost))
		hf_detail_region_add_zeros(r, *lost, all->page);
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
	hf_detail_regions_each_of(all, &all->process, visit, data);
	for (unsigned int i = 0; i < HF_DETAIL_REGION_SHARDS; i++) {
		const struct hf_detail_region_thread *t =
			hf_detail_region_thread_of(hf_atomic64_load_seq_cst(&all->shard[i].top));

		for (unsigned int n = 0; t && n < HF_DETAIL_REGION_MOST; n++) { /* R3 */
			hf_detail_regions_each_of(all, t, visit, data);
			t = hf_detail_region_thread_of(hf_atomic64_load_seq_cst(&t->next));
		}
	}
}

/* G1: notes the loss in `finder`, then in each region with some of the pages. Called inside. */
static inline void hf_detail_regions_note(struct hf_detail_regions *all, hf_region_t *finder,
					  struct hf_detail_region_pages lost)
{
	hf_detail_region_note_visit(all, finder, &lost);
	hf_detail_regions_each(all, hf_detail_region_note_visit, &lost);
}

/* G1: a new region inherits the loss from one that was open at it, and does not pass it on. */
static inline void hf_detail_region_inherit_visit(struct hf_detail_regions *all, hf_region_t *r,
						  void *data)
{
	hf_region_t *newcomer = (hf_region_t *)data;
	struct hf_detail_region_pages zeros =
		hf_detail_region_zeros(r, hf_atomic64_load_seq_cst(&r->zeros));
	uint64_t none = HF_DETAIL_REGION_NONE;

	if (zeros.from >= zeros.to || !hf_detail_region_note_pages(all, newcomer, &zeros))
		return;
	if (hf_atomic64_load_seq_cst(&r->written) != HF_DETAIL_REGION_NONE)
		(void)hf_atomic64_try_cmpxchg_seq_cst(&newcomer->written, &none,
						      hf_atomic64_load_seq_cst(&newcomer->lost));
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

/* ---- healing: the file is mapped again (R5) -------------------------------------------------- */

static inline void hf_detail_region_heal_begin_visit(struct hf_detail_regions *all, hf_region_t *r,
						     void *data)
{
	(void)all;
	(void)data;
	r->seen = hf_atomic64_load_seq_cst(&r->zeros);
}

/* R5: before the file is mapped. The caller holds `all->healing` until heal_end() has returned. */
static inline void hf_detail_regions_heal_begin(struct hf_detail_regions *all)
{
	uint32_t parity = hf_grace_enter(&all->grace);

	hf_detail_regions_each(all, hf_detail_region_heal_begin_visit, NULL);
	hf_grace_leave(&all->grace, parity);
	hf_detail_regions_wait(all);
}

/* Keeps the zeros before or after the healed pages; all of them if there would be two parts. */
static inline void hf_detail_region_heal_end_visit(struct hf_detail_regions *all, hf_region_t *r,
						   void *data)
{
	const struct hf_detail_region_pages *healed = (const struct hf_detail_region_pages *)data;
	struct hf_detail_region_pages left = hf_detail_region_zeros(r, r->seen);
	struct hf_detail_region_span *other = &r->span[~r->seen & 1];
	uint64_t seen = r->seen;

	(void)all;
	if (left.from >= left.to || healed->to <= left.from || left.to <= healed->from ||
	    (left.from < healed->from && healed->to < left.to))
		return;
	if (left.from < healed->from) {
		left.to = healed->from;
	} else if (healed->to < left.to) {
		left.from = healed->to;
	} else {
		left.from = UINT64_MAX;
		left.to = 0;
	}
	hf_atomic64_store_seq_cst(&other->from, left.from);
	hf_atomic64_store_seq_cst(&other->to, left.to);
	(void)hf_atomic64_try_cmpxchg_seq_cst(&r->zeros, &seen, seen ^ 1);
}

/* R5: after the file was mapped at these pages again. */
static inline void hf_detail_regions_heal_end(struct hf_detail_regions *all,
					      struct hf_detail_region_pages healed)
{
	uint32_t parity = hf_grace_enter(&all->grace);

	hf_detail_regions_each(all, hf_detail_region_heal_end_visit, &healed);
	hf_grace_leave(&all->grace, parity);
}

/* ---- regions begin and end ------------------------------------------------------------------ */

/* Opens a region of this thread, or of `all->process` under `all->lock`. */
static inline void hf_detail_regions_add(struct hf_detail_regions *all,
					 struct hf_detail_region_thread *thread,
					 struct hf_detail_region_shard *shard, hf_region_t *r)
{
	uint64_t below = hf_atomic64_load_relaxed(&thread->top);

	hf_atomic64_store_relaxed(&r->below, below);
	hf_atomic64_store_seq_cst(&thread->top, (uint64_t)(uintptr_t)r); /* G3 */
	if (shard && !below) {
		uint64_t next = hf_atomic64_load_relaxed(&shard->top);

		do { /* R1 */
			hf_atomic64_store_relaxed(&thread->next, next);
		} while (!hf_atomic64_try_cmpxchg_seq_cst(&shard->top, &next,
							  (uint64_t)(uintptr_t)thread));
	}
	if (HF_UNLIKELY(hf_atomic32_load_seq_cst(&all->losses))) { /* G1 */
		uint32_t parity = hf_grace_enter(&all->grace);

		hf_detail_regions_each(all, hf_detail_region_inherit_visit, r);
		hf_grace_leave(&all->grace, parity);
	}
}

/* R1 */
static inline void hf_detail_regions_remove_thread(struct hf_detail_region_thread *thread,
						   struct hf_detail_region_shard *shard)
{
	uint64_t me = (uint64_t)(uintptr_t)thread, top = me, next;

	HF_DETAIL_REGION_LOCK(&shard->lock);
	next = hf_atomic64_load_relaxed(&thread->next); /* only the lock's holder changes it */
	if (!hf_atomic64_try_cmpxchg_seq_cst(&shard->top, &top, next)) {
		struct hf_detail_region_thread *t;

		/* Load it again: a failed compare-and-swap does not acquire the element. */
		t = hf_detail_region_thread_of(hf_atomic64_load_seq_cst(&shard->top));
		top = hf_atomic64_load_seq_cst(&t->next);
		for (unsigned int n = 0; top && top != me && n < HF_DETAIL_REGION_MOST; n++) {
			t = hf_detail_region_thread_of(top);
			top = hf_atomic64_load_seq_cst(&t->next);
		}
		if (top == me)
			hf_atomic64_store_seq_cst(&t->next, next);
	}
	HF_DETAIL_REGION_UNLOCK(&shard->lock);
}

/* Removes a region from the list of this thread, or of `all->process` under `all->lock`. */
static inline bool hf_detail_regions_remove(struct hf_detail_region_thread *thread,
					    struct hf_detail_region_shard *shard, hf_region_t *r)
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
	if (shard && !above && !below)
		hf_detail_regions_remove_thread(thread, shard);
	return true;
}

/* Empties the list of a thread that ends, without a look at its regions. */
static inline void hf_detail_regions_drop(struct hf_detail_regions *all,
					  struct hf_detail_region_thread *thread,
					  struct hf_detail_region_shard *shard)
{
	hf_atomic64_store_seq_cst(&thread->top, 0);
	hf_detail_regions_remove_thread(thread, shard);
	hf_detail_regions_wait(all);
}

#endif
