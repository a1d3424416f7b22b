// SPDX-License-Identifier: MIT
/*
 * region - every read of replacement zeros is reported, and no region is accessed after its end.
 *
 * Checked
 *   A thread finds that a page is lost. It records the loss in all open regions (as the signal
 *   handler does), then maps zeros there (a release; the kernel's page table update is no weaker).
 *   Other threads open regions over the page, read it, close the regions and check the result.
 *   G1  A thread that has read zeros finds the loss recorded in its region, if a region with the
 *       loss was still open when its own had begun.
 *   G2  A region is accessed only before its end: its memory is reused (a plain write) at once.
 *   R2  When all regions have ended, the count of losses is 0.
 *   With `heals` a finder maps the file again before its region ends, as a region that knows its file
 *       does. A region that begins after the last of these reports nothing, even if another region
 *       that was open at the loss, or that inherited it, is still open. A thread that reads zeros
 *       mapped in the meantime finds that reported (G1).
 *
 * Own mutants: `end` does not wait for threads that are accessing the region; `begin` looks at the
 * page before it has waited for threads that are about to map zeros.
 */
// MUTANT: begin_is_seen HF_MUTANT=cmpxchg64_seq_cst HF_MUTANT_IN=hf_detail_regions_add
// MUTANT: nested_begin_is_seen HF_MUTANT=store64_seq_cst HF_MUTANT_IN=hf_detail_regions_add HF_MODEL_ONLY="one finds it, one reads with"
// MUTANT: begin_looks HF_MUTANT=load_seq_cst HF_MUTANT_IN=hf_detail_regions_add
// MUTANT: begin_waits HF_MUTANT=own HF_MUTANT_IN=begin
// MUTANT: note_counts_first HF_MUTANT=fetch_add_seq_cst HF_MUTANT_IN=hf_detail_region_note
// MUTANT: each_thread_is_met HF_MUTANT=load64_seq_cst HF_MUTANT_IN=hf_detail_regions_each
// MUTANT: each_region_is_met HF_MUTANT=load64_seq_cst HF_MUTANT_IN=hf_detail_regions_each_of HF_MODEL_ONLY="one finds it, one reads with"
// MUTANT: end_is_seen HF_MUTANT=store64_seq_cst HF_MUTANT_IN=hf_detail_regions_remove HF_MODEL_ONLY="one finds it, one reads with"
// MUTANT: end_looks HF_MUTANT=load_seq_cst HF_MUTANT_IN=hf_detail_regions_wait
// MUTANT: end_waits HF_MUTANT=own HF_MUTANT_IN=end
#define HF_ENV_HAS_REGION 1
#include "run.h"

#include "holdfast/region.h"
#include "holdfast/spinlock.h"

static void look_at(const hf_region_t *region);

typedef hf_spinlock_t hf_detail_region_lock_t;
#define HF_DETAIL_REGION_LOCK hf_spinlock_lock
#define HF_DETAIL_REGION_UNLOCK hf_spinlock_unlock
#define HF_DETAIL_REGION_LOOK(region) look_at(region)
#include "../../src/region/region_list.h"

enum { PAGE = 4096, BASE = 16 * PAGE };

static unsigned long found, inherited, noted, after_all, after_healing, healed_twice, lost_again;

/* Is this one of the own mutants selected? */
static bool is_own(const char *name)
{
	return hf_model::the_mutant == hf_model::mutant::own &&
	       strcmp(hf_model::mutant_in, name) == 0;
}

static const hf_detail_region_pages the_page = { BASE, BASE + PAGE, HF_DETAIL_REGION_WRITABLE };

/* The table, a list and some regions for each thread, and the page. */
class regions : public hf_model::scenario {
protected:
	enum { REGIONS = 2 * HF_MODEL_THREADS + 1 };
	hf_detail_regions all_;
	hf_detail_region_thread list_[HF_MODEL_THREADS];
	hf_region_t region_[REGIONS];
	plain there_[REGIONS];
	hf_atomic32_t zeros_; /* 0: file data; else 1 + the thread that mapped zeros there */

	regions()
	{
		now = this;
		hf_atomic64_store_relaxed(&all_.threads, 0);
		hf_atomic64_store_relaxed(&all_.process.top, 0);
		all_.process.is_listed = true;
		all_.process.leaves = false;
		hf_atomic32_store_relaxed(&all_.lock.word, 0);
		hf_atomic32_store_relaxed(&all_.losses, 0);
		hf_atomic32_store_relaxed(&all_.grace.parity, 0);
		hf_atomic32_store_relaxed(&all_.grace.inside[0], 0);
		hf_atomic32_store_relaxed(&all_.grace.inside[1], 0);
		all_.page = PAGE;
		for (hf_detail_region_thread &t : list_) {
			hf_atomic64_store_relaxed(&t.top, 0);
			hf_atomic64_store_relaxed(&t.next, 0);
			t.is_listed = false;
			t.leaves = true; /* with each last region */
		}
		for (plain &p : there_)
			set(p, 0);
		hf_atomic32_store_relaxed(&zeros_, 0);
	}

	/* @thread: NULL = a region of the process. */
	void begin(unsigned int n, hf_detail_region_thread *thread, uintptr_t base = BASE)
	{
		hf_region_t *r = &region_[n];

		set(there_[n], 1);
		hf_atomic64_store_relaxed(&r->below, 0);
		hf_atomic64_store_relaxed(&r->lost, HF_DETAIL_REGION_NONE);
		hf_atomic64_store_relaxed(&r->written, HF_DETAIL_REGION_NONE);
		hf_atomic32_store_relaxed(&r->access, HF_DETAIL_REGION_UNKNOWN);
		r->base = base;
		r->len = PAGE;
		r->jump = NULL;
		if (hf_detail_regions_add(&all_, thread ? thread : &all_.process, r))
			inherit(r);
	}

	/* As hf_detail_region_inherit(), which asks the kernel what is mapped. */
	void inherit(hf_region_t *r)
	{
		bool early = hf_atomic32_load_acquire(&zeros_) != 0;
		hf_detail_region_pages lost = hf_detail_regions_lost_before(&all_, r);
		bool zeros = is_own("begin") ? early : hf_atomic32_load_acquire(&zeros_) != 0;

		if (lost.from < lost.to && zeros)
			hf_detail_region_note(&all_, r, r->base);
	}

	bool is_lost(unsigned int n)
	{
		hf_atomic64_fence_acquire(&region_[n].lost);
		return hf_atomic64_load_seq_cst(&region_[n].lost) != HF_DETAIL_REGION_NONE;
	}

	/* Returns whether a loss was recorded. */
	bool end(unsigned int n, unsigned int thread)
	{
		check(hf_detail_regions_remove(&all_, &list_[thread], &region_[n]), "it is open");
		if (!is_own("end"))
			hf_detail_regions_wait(&all_);
		bool lost = is_lost(n);

		if (lost)
			(void)hf_atomic32_fetch_sub_release(&all_.losses, 1);
		set(there_[n], 0);
		return lost;
	}

	/* The signal handler's part. */
	void lose(unsigned int n)
	{
		uint32_t parity = hf_grace_enter(&all_.grace);

		hf_detail_regions_note(&all_, &region_[n], the_page);
		hf_atomic32_store_release(&zeros_, 1 + n);
		hf_grace_leave(&all_.grace, parity);
	}

	/* As hf_region_end() of a region that knows its file: the page has the file's data again. */
	void heal() { hf_atomic32_store_release(&zeros_, 0); }

public:
	static regions *now;

	void look(const hf_region_t *region)
	{
		check(get(there_[region - region_]) == 1, "the region is there");
	}
};

regions *regions::now;

static void look_at(const hf_region_t *region)
{
	regions::now->look(region);
}

/* The first `Finders` threads find the loss, the others only read. */
template <int Finders, bool Nested, bool Process>
class losses : public regions {
	enum { OF_PROCESS = REGIONS - 1 };
	hf_atomic32_t met_; /* finders that are not about to end their region */

public:
	losses()
	{
		hf_atomic32_store_relaxed(&met_, Finders);
		if (Process)
			begin(OF_PROCESS, NULL);
	}

	void thread(unsigned int index)
	{
		bool finds = index < Finders;

		if (Nested && !finds)
			begin(HF_MODEL_THREADS + index, &list_[index], BASE + 4 * PAGE);
		if (!(finds && Process))
			begin(index, &list_[index]);
		/* All finders still have their regions open. */
		bool is_early = Process || hf_atomic32_load_seq_cst(&met_) == Finders;
		bool zeros = hf_atomic32_load_acquire(&zeros_) != 0;
		bool lost = true;

		if (finds && !zeros) {
			lose(Process ? (unsigned int)OF_PROCESS : index);
			found++;
		}
		if (finds)
			(void)hf_atomic32_fetch_add_seq_cst(&met_, ~0u);
		if (!(finds && Process))
			lost = regions::end(index, index);
		if (Nested && !finds)
			(void)regions::end(HF_MODEL_THREADS + index, index);
		if (!finds && zeros) {
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
 * Finders map the file again before they end. The file is complete by then, or still short, so that
 * the next finder loses the page again. The other threads begin, read and end.
 */
template <int Finders>
class heals : public regions {
	hf_atomic32_t open_[Finders]; /* 1: the finder has not begun to map the file again */
	hf_atomic32_t healed_;        /* finders that have done so */

public:
	heals()
	{
		hf_atomic32_store_relaxed(&healed_, 0);
		for (hf_atomic32_t &open : open_)
			hf_atomic32_store_relaxed(&open, 1);
	}

	void thread(unsigned int index)
	{
		bool finds = index < Finders, early[Finders];
		bool whole = hf_atomic32_load_seq_cst(&healed_) == Finders;

		begin(index, &list_[index]);
		for (int f = 0; f < Finders; f++)
			early[f] = hf_atomic32_load_seq_cst(&open_[f]);
		uint32_t zeros = hf_atomic32_load_acquire(&zeros_);

		if (finds) {
			if (!zeros) {
				lose(index);
				found++;
			}
			(void)hf_atomic32_fetch_add_seq_cst(&open_[index], ~0u);
			heal();
			if (hf_atomic32_fetch_add_seq_cst(&healed_, 1) == 1)
				healed_twice++;
		}
		bool lost = regions::end(index, index);

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
 * The two race windows of healing, in few steps. Thread 0 maps the file again for a region with a
 * loss, then begins another region. Meanwhile thread 1, whose region is open, finds the page lost
 * again (`Loses`), or it begins a region, which inherits the loss.
 */
template <bool Loses>
class window : public regions {
	enum { HEALS, READS, OTHER };
	hf_atomic32_t open_; /* is OTHER open? */

public:
	window()
	{
		hf_atomic32_store_relaxed(&open_, 1);
		begin(HEALS, &list_[0]);
		if (Loses)
			begin(OTHER, &list_[1]);
		lose(HEALS);
	}

	void thread(unsigned int index)
	{
		if (index == 1) {
			if (Loses)
				lose(OTHER);
			else
				begin(OTHER, &list_[1]);
			(void)hf_atomic32_fetch_add_seq_cst(&open_, ~0u);
			return;
		}
		heal();
		begin(READS, &list_[0]);
		bool early = hf_atomic32_load_seq_cst(&open_) != 0;
		bool zeros = hf_atomic32_load_acquire(&zeros_) != 0;
		bool lost = is_lost(READS);

		if (Loses && early && zeros) {
			lost_again++;
			check(lost, "it has read zeros, and knows");
		}
		if (!Loses)
			check(!lost, "what was healed before is not passed on");
	}
};

int main(int argc, char **argv)
{
	hf_model::run run("region", argc, argv);

	run.search<losses<1, false, false>, 2>("one finds it, one reads", 2);
	run.search<losses<1, true, false>, 2>("one finds it, one reads with another region open",
					      2);
	run.search<losses<1, false, true>, 2>("one finds it for the process, one reads", 3);
	run.search<losses<2, false, false>, 3>("two find it, one reads", 1);
	run.random<losses<1, false, false>, 3>("one finds it, two read", 60000);
	run.random<losses<1, true, true>, 3>("for the process, two read", 60000);
	run.search<heals<1>, 2>("one heals, one reads", 2);
	run.search<heals<2>, 3>("two heal, one reads", 1);
	run.search<heals<1>, 3>("one heals, two read", 1);
	run.random<heals<2>, 3>("two heal, one reads", 60000);
	run.random<heals<1>, 3>("one heals, two read", 60000);
	run.search<window<true>, 2>("one heals, then reads; one loses it again", 3);
	run.search<window<false>, 2>("one heals, then begins; one begins before", 3);
	run.must_reach("zeros come back after healing", lost_again);
	run.must_reach("a loss is found", found);
	run.must_reach("a region begins after all was healed", after_healing);
	run.must_reach("two have healed", healed_twice);
	run.must_reach("zeros are read, and the loss is recorded", noted);
	run.must_reach("zeros are read after all have ended", after_all);
	return run.end();
}
