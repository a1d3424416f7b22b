/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_REGION_LIST_H
#define HF_SRC_REGION_LIST_H
/*
 * region_list - which regions are open, for signal handlers of all threads.
 *
 * State
 *   Each thread has a list of its regions, the newest first, in its own memory. While it has one,
 *   the thread is in one of a few lists of threads, so that threads do not meet at one lock.
 *   Regions of the process are the list of a thread that is not there, `process`, and which is
 *   always looked at.
 *
 *        shard[i].top -> thread -> thread        thread.top -> region -> region
 *        process.top -> region -> region
 *
 * Invariants   G1 to G4 of holdfast/region.h, and
 *   R1  A list of threads grows at its top by compare-and-swap, and shrinks under the shard's lock.
 *       A reader meets each element that is in it all the time: what is taken out keeps its pointer
 *       until no reader is inside.
 *   R2  `losses` counts the open regions that have met a loss. It is raised before a region says
 *       so.
 *   R3  A list that a misuse has made a circle (a region that was begun in two threads) is followed for
 *       HF_DETAIL_REGION_MOST steps and no more: a signal handler must return.
 *
 * Tested by tests/model/region.cpp, which explores these functions as they are.
 */
#include "holdfast/internal/nofault/grace.h"
#include "holdfast/region.h"

#ifndef HF_DETAIL_REGION_SHARDS
#define HF_DETAIL_REGION_SHARDS 16
#endif

/* R3: so many regions of a thread are looked at. */
#define HF_DETAIL_REGION_MOST 65536u

/* The model has a simpler lock, and watches which regions are looked at. */
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
	hf_detail_region_lock_t lock; /* for changes of `process`, and for waiting */
	hf_atomic32_t losses;         /* R2 */
	struct hf_grace grace;        /* for readers of all lists */
};

static inline hf_region_t *hf_detail_region_of(uint64_t p)
{
	return (hf_region_t *)(uintptr_t)p;
}

static inline struct hf_detail_region_thread *hf_detail_region_thread_of(uint64_t p)
{
	return (struct hf_detail_region_thread *)(uintptr_t)p;
}

/* Notes that what is at `address` and above is lost. By any thread that is inside, or owns it. */
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
	(void)hf_atomic32_fetch_sub_release(&all->losses, 1); /* it was counted before */
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

		while (t) {
			hf_detail_regions_each_of(all, t, visit, data);
			t = hf_detail_region_thread_of(hf_atomic64_load_seq_cst(&t->next));
		}
	}
}

/* Pages [from, to) of a mapping with that access (enum hf_detail_region_access). */
struct hf_detail_region_pages {
	uint64_t from, to;
	uint32_t access;
};

/* The first answer counts: once there are zeros, asking the kernel gives another. */
static inline void hf_detail_region_set_access(hf_region_t *r, uint32_t access)
{
	uint32_t unknown = HF_DETAIL_REGION_UNKNOWN;

	(void)hf_atomic32_try_cmpxchg_relaxed(&r->access, &unknown, access);
}

static inline void hf_detail_region_note_visit(struct hf_detail_regions *all, hf_region_t *r,
					       void *data)
{
	const struct hf_detail_region_pages *lost = (const struct hf_detail_region_pages *)data;

	if (r->base >= lost->to || lost->from >= r->base + r->len)
		return;
	hf_detail_region_set_access(r, lost->access);
	hf_detail_region_note(all, r, lost->from > r->base ? lost->from : r->base);
}

/* G1: `finder` and all other regions that have some of the pages. By a thread that is inside. */
static inline void hf_detail_regions_note(struct hf_detail_regions *all, hf_region_t *finder,
					  struct hf_detail_region_pages lost)
{
	hf_detail_region_note_visit(all, finder, &lost);
	hf_detail_regions_each(all, hf_detail_region_note_visit, &lost);
}

struct hf_detail_region_newcomer {
	hf_region_t *region;
	uint64_t page;
};

static inline void hf_detail_region_inherit_visit(struct hf_detail_regions *all, hf_region_t *r,
						  void *data)
{
	const struct hf_detail_region_newcomer *who =
		(const struct hf_detail_region_newcomer *)data;
	struct hf_detail_region_pages lost;
	uint64_t from = hf_atomic64_load_seq_cst(&r->lost);

	if (from == HF_DETAIL_REGION_NONE || r == who->region || r->jump)
		return;
	lost.from = from & ~(who->page - 1);
	lost.to = (r->base + r->len + who->page - 1) & ~(who->page - 1);
	lost.access = hf_atomic32_load_relaxed(&r->access);
	hf_detail_region_note_visit(all, who->region, &lost);
}

/* Opens a region of this thread, or of `all->process` under `all->lock`. */
static inline void hf_detail_regions_add(struct hf_detail_regions *all,
					 struct hf_detail_region_thread *thread,
					 struct hf_detail_region_shard *shard, hf_region_t *r,
					 uint64_t page)
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
		struct hf_detail_region_newcomer who;
		uint32_t parity = hf_grace_enter(&all->grace);

		who.region = r;
		who.page = page;
		hf_detail_regions_each(all, hf_detail_region_inherit_visit, &who);
		hf_grace_leave(&all->grace, parity);
	}
}

/* R1 */
static inline void hf_detail_regions_remove_thread(struct hf_detail_region_thread *thread,
						   struct hf_detail_region_shard *shard)
{
	uint64_t me = (uint64_t)(uintptr_t)thread, top = me, next;

	HF_DETAIL_REGION_LOCK(&shard->lock);
	next = hf_atomic64_load_relaxed(&thread->next); /* the lock's holder alone changes it */
	if (!hf_atomic64_try_cmpxchg_seq_cst(&shard->top, &top, next)) {
		struct hf_detail_region_thread *t;

		/* Again: what a failed swap finds is not ordered before what lies behind it. */
		t = hf_detail_region_thread_of(hf_atomic64_load_seq_cst(&shard->top));
		top = hf_atomic64_load_seq_cst(&t->next);
		while (top != me) {
			t = hf_detail_region_thread_of(top);
			top = hf_atomic64_load_seq_cst(&t->next);
		}
		hf_atomic64_store_seq_cst(&t->next, next);
	}
	HF_DETAIL_REGION_UNLOCK(&shard->lock);
}

/* G2: when this returns, nobody has what was taken out of the lists before. */
static inline void hf_detail_regions_wait(struct hf_detail_regions *all)
{
	if (HF_LIKELY(!hf_atomic32_load_seq_cst(&all->grace.inside[0]) &&
		      !hf_atomic32_load_seq_cst(&all->grace.inside[1])))
		return;
	HF_DETAIL_REGION_LOCK(&all->lock);
	hf_grace_wait(&all->grace);
	HF_DETAIL_REGION_UNLOCK(&all->lock);
}

/* Takes a region out of the list of this thread, or of `all->process` under `all->lock`. */
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

#endif
