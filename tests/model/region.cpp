// SPDX-License-Identifier: MIT
/*
 * region - whoever reads zeros learns of it, and no region is looked at that has ended.
 *
 * Checked
 *   One page, of which a thread finds that it is lost: it notes that in all open regions (as the signal
 *   handler does), then puts zeros there (a release; the kernel's page table is no weaker). Others
 *   open regions over it, read, close them and look.
 *   G1  One that has read zeros finds the loss noted, if a region that has met the loss was still open
 *       when it had begun.
 *   G2  A region is looked at only while it is there: its memory is used for something else (a plain
 *       write) as soon as it has ended.
 *   R2  When all have ended, no loss is counted.
 *   R5  With `Heals` a finder maps the file again before it ends, as a region does that knows its file.
 *       Who begins after the last of these reports nothing, even if another region that was open at
 *       the loss, or one that took it over, is open still. Who reads zeros that were put there
 *       meanwhile learns of it (G1).
 *
 * Own mutants: `end` does not wait at the end for those who are looking; `heal` does not wait for those
 * who are about to put zeros there; `pass_on` passes on what a region only took over; `keep` leaves
 * what was healed as it was.
 */
// MUTANT: begin_is_seen HF_MUTANT=cmpxchg64_seq_cst HF_MUTANT_IN=hf_detail_regions_add
// MUTANT: nested_begin_is_seen HF_MUTANT=store64_seq_cst HF_MUTANT_IN=hf_detail_regions_add
// MUTANT: begin_looks HF_MUTANT=load_seq_cst HF_MUTANT_IN=hf_detail_regions_add
// MUTANT: note_counts_first HF_MUTANT=fetch_add_seq_cst HF_MUTANT_IN=hf_detail_region_note
// MUTANT: each_thread_is_met HF_MUTANT=load64_seq_cst HF_MUTANT_IN=hf_detail_regions_each
// MUTANT: each_region_is_met HF_MUTANT=load64_seq_cst HF_MUTANT_IN=hf_detail_regions_each_of
// MUTANT: end_is_seen HF_MUTANT=store64_seq_cst HF_MUTANT_IN=hf_detail_regions_remove
// MUTANT: end_looks HF_MUTANT=load_seq_cst HF_MUTANT_IN=hf_detail_regions_wait
// MUTANT: end_waits HF_MUTANT=own HF_MUTANT_IN=end
// MUTANT: heal_waits HF_MUTANT=own HF_MUTANT_IN=heal
// MUTANT: heal_compares HF_MUTANT=own HF_MUTANT_IN=compare
// MUTANT: heal_ends_it HF_MUTANT=own HF_MUTANT_IN=keep
// MUTANT: none_passes_on_what_it_took_over HF_MUTANT=own HF_MUTANT_IN=pass_on
// MUTANT: zeros_are_noted_first HF_MUTANT=cmpxchg64_seq_cst HF_MUTANT_IN=hf_detail_region_add_zeros
#define HF_ATOMIC_HEADER "backend.h"
#define HF_ARCH_HEADER "arch_model.h"
#define HF_ENV_HEADER "env_model.h"
#define HF_ENV_HAS_REGION 1
#include "run.h"

#include "holdfast/region.h"
#include "holdfast/spinlock.h"

using hf_model::check;
using hf_model::get;
using hf_model::plain;
using hf_model::set;

static void look_at(const hf_region_t *region);

typedef hf_spinlock_t hf_detail_region_lock_t;
#define HF_DETAIL_REGION_LOCK hf_spinlock_lock
#define HF_DETAIL_REGION_UNLOCK hf_spinlock_unlock
#define HF_DETAIL_REGION_LOOK(region) look_at(region)
#define HF_DETAIL_REGION_SHARDS 1
#include "../../src/region/region_list.h"

enum { PAGE = 4096, BASE = 16 * PAGE, REGIONS = 4 };

static unsigned long found, inherited, noted, read_zeros, after_all, after_healing, healed_twice,
	lost_again;

/* Of the own mutants: is it this one? */
static bool is_own(const char *name)
{
	return hf_model::the_mutant == hf_model::mutant::own &&
	       strcmp(hf_model::mutant_in, name) == 0;
}

static void make(hf_region_t *r, uintptr_t base)
{
	hf_atomic64_store_relaxed(&r->below, 0);
	hf_atomic64_store_relaxed(&r->lost, HF_DETAIL_REGION_NONE);
	hf_atomic64_store_relaxed(&r->zeros, 0);
	hf_atomic32_store_relaxed(&r->access, HF_DETAIL_REGION_UNKNOWN);
	r->base = base;
	r->len = PAGE;
	r->jump = NULL;
	r->seen = 0;
}

static void make_empty(hf_detail_regions *all)
{
	hf_atomic64_store_relaxed(&all->shard[0].top, 0);
	hf_atomic32_store_relaxed(&all->shard[0].lock.word, 0);
	hf_atomic64_store_relaxed(&all->process.top, 0);
	hf_atomic32_store_relaxed(&all->lock.word, 0);
	hf_atomic32_store_relaxed(&all->losses, 0);
	hf_atomic32_store_relaxed(&all->grace.parity, 0);
	hf_atomic32_store_relaxed(&all->grace.inside[0], 0);
	hf_atomic32_store_relaxed(&all->grace.inside[1], 0);
	all->page = PAGE;
}

static void see_again(hf_detail_regions *all)
{
	uint32_t parity = hf_grace_enter(&all->grace);

	hf_detail_regions_each(all, hf_detail_region_heal_begin_visit, NULL);
	hf_grace_leave(&all->grace, parity);
}

/* As hf_region_end() of a region that knows its file; the page is zeros no more. */
static void heal(hf_detail_regions *all, hf_atomic32_t *zeros)
{
	hf_detail_region_pages healed = { BASE, BASE + PAGE, 0 };

	HF_DETAIL_REGION_LOCK(&all->lock);
	if (is_own("heal"))
		see_again(all); /* and no waiting */
	else
		hf_detail_regions_heal_begin(all);
	hf_atomic32_store_release(zeros, 0);
	if (is_own("compare"))
		see_again(all);
	if (!is_own("keep"))
		hf_detail_regions_heal_end(all, healed);
	HF_DETAIL_REGION_UNLOCK(&all->lock);
}

/* Some threads find the loss, others only read. */
template <int Finders, bool Nested, bool Process>
class losses : public hf_model::scenario {
	hf_detail_regions all_;
	hf_detail_region_thread list_[HF_MODEL_THREADS];
	hf_region_t region_[2 * HF_MODEL_THREADS], of_process_;
	plain there_[2 * HF_MODEL_THREADS + 1];
	hf_atomic32_t zeros_, met_; /* the page; how many who met the loss are not about to end */

	void begin(unsigned int n, unsigned int thread, uintptr_t base)
	{
		set(there_[n], 1);
		make(&region_[n], base);
		hf_detail_regions_add(&all_, &list_[thread], &all_.shard[0], &region_[n]);
	}

	/* Returns whether a loss was noted. */
	bool end(unsigned int n, unsigned int thread)
	{
		check(hf_detail_regions_remove(&list_[thread], &all_.shard[0], &region_[n]),
		      "it is open");
		if (!is_own("end"))
			hf_detail_regions_wait(&all_);
		hf_atomic64_fence_acquire(&region_[n].lost);
		bool lost = hf_atomic64_load_seq_cst(&region_[n].lost) != HF_DETAIL_REGION_NONE;

		if (lost)
			(void)hf_atomic32_fetch_sub_release(&all_.losses, 1);
		set(there_[n], 0);
		return lost;
	}

	/* The signal handler's part. */
	void lose(hf_region_t *mine)
	{
		hf_detail_region_pages lost = { BASE, BASE + PAGE, HF_DETAIL_REGION_WRITABLE };
		uint32_t parity = hf_grace_enter(&all_.grace);

		hf_detail_regions_note(&all_, mine, lost);
		hf_atomic32_store_release(&zeros_, 1);
		hf_grace_leave(&all_.grace, parity);
		found++;
	}

public:
	static const char *title() { return "losses"; }

	/* Which of them `look_at` is asked about. */
	void look(const hf_region_t *region)
	{
		const plain &there = region == &of_process_ ? there_[2 * HF_MODEL_THREADS]
							    : there_[region - region_];

		check(get(there) == 1, "the region is there");
	}

	losses()
	{
		make_empty(&all_);
		hf_atomic32_store_relaxed(&zeros_, 0);
		hf_atomic32_store_relaxed(&met_, Finders);
		for (hf_detail_region_thread &t : list_) {
			hf_atomic64_store_relaxed(&t.top, 0);
			hf_atomic64_store_relaxed(&t.next, 0);
		}
		for (plain &p : there_)
			set(p, 0);
		if (Process) {
			set(there_[2 * HF_MODEL_THREADS], 1);
			make(&of_process_, BASE);
			hf_detail_regions_add(&all_, &all_.process, NULL, &of_process_);
		}
	}

	void thread(unsigned int index)
	{
		bool finds = index < Finders;

		if (Nested && !finds)
			begin(HF_MODEL_THREADS + index, index, BASE + 4 * PAGE);
		if (!(finds && Process))
			begin(index, index, BASE);
		/* A finder that has not ended yet has its region open. */
		bool is_early = Process || hf_atomic32_load_seq_cst(&met_) == Finders;
		bool zeros = hf_atomic32_load_acquire(&zeros_) != 0;
		bool lost = true;

		if (finds && !zeros)
			lose(Process ? &of_process_ : &region_[index]);
		if (finds)
			(void)hf_atomic32_fetch_add_seq_cst(&met_, ~0u);
		if (!(finds && Process))
			lost = end(index, index);
		if (Nested && !finds)
			(void)end(HF_MODEL_THREADS + index, index);
		if (!finds && zeros) {
			++read_zeros;
			++(is_early ? lost ? noted : inherited : after_all);
			check(!is_early || lost, "it has read zeros, and knows");
		}
	}

	void end()
	{
		if (!Process)
			check(hf_atomic32_load_relaxed(&all_.losses) == 0, "no loss is counted");
	}
};

/*
 * Finders map the file again before they end: it is whole then, or still short, so that the next finder
 * misses the page once more. The others begin, read and end.
 */
template <int Finders>
class heals : public hf_model::scenario {
	hf_detail_regions all_;
	hf_detail_region_thread list_[HF_MODEL_THREADS];
	hf_region_t region_[HF_MODEL_THREADS];
	plain there_[HF_MODEL_THREADS];
	hf_atomic32_t zeros_;         /* the page: 0, or 1 + the finder that put zeros there */
	hf_atomic32_t open_[Finders]; /* 1: it has not begun to map the file again */
	hf_atomic32_t healed_;        /* finders that have done so */

	void lose(unsigned int index)
	{
		hf_detail_region_pages lost = { BASE, BASE + PAGE, HF_DETAIL_REGION_WRITABLE };
		uint32_t parity = hf_grace_enter(&all_.grace);

		hf_detail_regions_note(&all_, &region_[index], lost);
		hf_atomic32_store_release(&zeros_, 1 + index);
		hf_grace_leave(&all_.grace, parity);
		found++;
	}

public:
	static const char *title() { return "heals"; }

	void look(const hf_region_t *region)
	{
		check(get(there_[region - region_]) == 1, "the region is there");
	}

	heals()
	{
		make_empty(&all_);
		hf_atomic32_store_relaxed(&zeros_, 0);
		hf_atomic32_store_relaxed(&healed_, 0);
		for (hf_atomic32_t &open : open_)
			hf_atomic32_store_relaxed(&open, 1);
		for (hf_detail_region_thread &t : list_) {
			hf_atomic64_store_relaxed(&t.top, 0);
			hf_atomic64_store_relaxed(&t.next, 0);
		}
		for (plain &p : there_)
			set(p, 0);
	}

	void thread(unsigned int index)
	{
		bool finds = index < Finders, early[Finders];
		bool whole = hf_atomic32_load_seq_cst(&healed_) == Finders;
		hf_region_t *r = &region_[index];

		set(there_[index], 1);
		make(r, BASE);
		hf_detail_regions_add(&all_, &list_[index], &all_.shard[0], r);
		for (int f = 0; f < Finders; f++)
			early[f] = hf_atomic32_load_seq_cst(&open_[f]);
		uint32_t zeros = hf_atomic32_load_acquire(&zeros_);

		if (finds) {
			if (!zeros)
				lose(index);
			(void)hf_atomic32_fetch_add_seq_cst(&open_[index], ~0u);
			heal(&all_, &zeros_);
			if (hf_atomic32_fetch_add_seq_cst(&healed_, 1) == 1)
				healed_twice++;
		}
		check(hf_detail_regions_remove(&list_[index], &all_.shard[0], r), "it is open");
		hf_detail_regions_wait(&all_);
		hf_atomic64_fence_acquire(&r->lost);
		bool lost = hf_atomic64_load_seq_cst(&r->lost) != HF_DETAIL_REGION_NONE;

		if (lost)
			(void)hf_atomic32_fetch_sub_release(&all_.losses, 1);
		set(there_[index], 0);
		if (finds)
			return;
		if (zeros && early[zeros - 1]) {
			noted++;
			check(lost, "it has read zeros, and knows");
		}
		if (whole) {
			after_healing++;
			check(!lost && !zeros, "what was healed before is not passed on");
		}
	}

	void end() { check(hf_atomic32_load_relaxed(&all_.losses) == 0, "no loss is counted"); }
};

/*
 * The two windows of healing, by few steps. Thread 0 maps the file again for a region that has met a loss,
 * then begins another one. Meanwhile thread 1, whose region is open, finds the page missing once more
 * (`Loses`), or it begins a region, which takes over the loss while it lasts.
 */
template <bool Loses>
class window : public hf_model::scenario {
	enum { HEALS, READS, OTHER };
	hf_detail_regions all_;
	hf_detail_region_thread list_[2];
	hf_region_t region_[3];
	hf_atomic32_t zeros_, open_; /* the page; is OTHER open? */

	void lose(hf_region_t *r)
	{
		hf_detail_region_pages lost = { BASE, BASE + PAGE, HF_DETAIL_REGION_WRITABLE };
		uint32_t parity = hf_grace_enter(&all_.grace);

		hf_detail_regions_note(&all_, r, lost);
		hf_atomic32_store_release(&zeros_, 1);
		hf_grace_leave(&all_.grace, parity);
	}

	void begin(unsigned int n, unsigned int thread)
	{
		make(&region_[n], BASE);
		hf_detail_regions_add(&all_, &list_[thread], &all_.shard[0], &region_[n]);
		if (is_own("pass_on") &&
		    hf_atomic64_load_seq_cst(&region_[n].lost) != HF_DETAIL_REGION_NONE) {
			hf_detail_region_pages pages = { BASE, BASE + PAGE, 0 };

			hf_detail_region_add_zeros(&region_[n], pages, PAGE);
		}
	}

public:
	static const char *title() { return "window"; }
	void look(const hf_region_t *) {}

	window()
	{
		make_empty(&all_);
		hf_atomic32_store_relaxed(&zeros_, 0);
		hf_atomic32_store_relaxed(&open_, 1);
		for (hf_detail_region_thread &t : list_) {
			hf_atomic64_store_relaxed(&t.top, 0);
			hf_atomic64_store_relaxed(&t.next, 0);
		}
		begin(HEALS, 0);
		if (Loses)
			begin(OTHER, 1);
		lose(&region_[HEALS]);
	}

	void thread(unsigned int index)
	{
		if (index == 1) {
			if (Loses)
				lose(&region_[OTHER]);
			else
				begin(OTHER, 1);
			(void)hf_atomic32_fetch_add_seq_cst(&open_, ~0u);
			return;
		}
		heal(&all_, &zeros_);
		begin(READS, 0);
		bool early = hf_atomic32_load_seq_cst(&open_) != 0;
		bool zeros = hf_atomic32_load_acquire(&zeros_) != 0;

		hf_atomic64_fence_acquire(&region_[READS].lost);
		bool lost = hf_atomic64_load_seq_cst(&region_[READS].lost) != HF_DETAIL_REGION_NONE;

		if (Loses && early && zeros) {
			lost_again++;
			check(lost, "it has read zeros, and knows");
		}
		if (!Loses)
			check(!lost, "what was healed before is not passed on");
	}
};

static void (*look_now)(const hf_region_t *region);

static void look_at(const hf_region_t *region)
{
	look_now(region);
}

template <typename S>
void look_in(const hf_region_t *region)
{
	static_cast<S *>(hf_model::current)->look(region);
}

template <typename S, int N>
void search(hf_model::run *run, const char *what, unsigned int preemptions)
{
	look_now = look_in<S>;
	run->search<S, N>(what, preemptions);
}

int main(int argc, char **argv)
{
	hf_model::run run("region", argc, argv);

	search<losses<1, false, false>, 2>(&run, "one finds it, one reads", 2);
	search<losses<1, true, false>, 2>(&run, "one finds it, one reads with another region open",
					  2);
	search<losses<1, false, true>, 2>(&run, "one finds it for the process, one reads", 3);
	search<losses<2, false, false>, 3>(&run, "two find it, one reads", 1);
	look_now = look_in<losses<1, false, false>>;
	run.random<losses<1, false, false>, 3>("one finds it, two read", 60000);
	look_now = look_in<losses<1, true, true>>;
	run.random<losses<1, true, true>, 3>("for the process, two read", 60000);
	search<heals<1>, 2>(&run, "one heals, one reads", 2);
	search<heals<2>, 3>(&run, "two heal, one reads", 1);
	search<heals<1>, 3>(&run, "one heals, two read", 1);
	look_now = look_in<heals<2>>;
	run.random<heals<2>, 3>("two heal, one reads", 60000);
	look_now = look_in<heals<1>>;
	run.random<heals<1>, 3>("one heals, two read", 60000);
	search<window<true>, 2>(&run, "one heals, then reads; one loses it again", 3);
	search<window<false>, 2>(&run, "one heals, then begins; one begins before", 3);
	run.must_reach("zeros come back after healing", lost_again);
	run.must_reach("a loss is found", found);
	run.must_reach("a region begins after all was healed", after_healing);
	run.must_reach("two have healed", healed_twice);
	run.must_reach("zeros are read, and it is known", noted);
	run.must_reach("zeros are read after all have ended", after_all);
	return run.end();
}
