// SPDX-License-Identifier: MIT
/*
 * refcount - who drops the last reference, and what that thread sees, under the C11 memory model.
 *
 * Checked
 *   use and put     each thread uses the object's plain data, then drops its reference: no data
 *                   race, and the data is freed once
 *   inc, lookups    inc in between; inc_not_zero concurrent with the last put: true only if alive
 *   type-stable     the memory is reused for another object: inc_not_zero_acquire sees what
 *                   set_release published
 *   dec             by a thread that knows that its reference is not the last
 *   dec_not_one, dec_if_one
 *   copy on write   a thread that finds itself the only owner changes the data in place
 *   misuse          an overflow concurrent with other operations ends saturated, and nothing is
 *                   freed; a put too many, or an inc on 0, never causes a double free
 *   immortal        the count is still immortal at the end, and nothing was reported
 *
 * The model of a lab variant, refcount_<name>.cpp, is this file with the variant in place of the
 * shipped functions (lab/variants/in_place.h); `unchecked` has no misuse and no immortality.
 *
 * The release of a dec_and_test or dec_if_one that drops the last reference has no mutant, because
 * no thread acquires from a count of 0. It is there only because one instruction does both cases.
 */
// MUTANT: sub_release HF_MUTANT=fetch_sub_release HF_MUTANT_IN=hf_detail_refcount_sub_and_test
// MUTANT: sub_acquire HF_MUTANT=fence_acquire HF_MUTANT_IN=hf_detail_refcount_sub_and_test
// MUTANT: dec_release HF_MUTANT=fetch_sub_release HF_MUTANT_IN=hf_detail_refcount_dec
// MUTANT: dec_not_one_release HF_MUTANT=cmpxchg_release HF_MUTANT_IN=hf_refcount_dec_not_one
// MUTANT: dec_if_one_acquire HF_MUTANT=fence_acquire HF_MUTANT_IN=hf_refcount_dec_if_one
// MUTANT: is_one_acquire HF_MUTANT=load_acquire HF_MUTANT_IN=hf_refcount_is_one_acquire
// MUTANT: not_zero_acquire HF_MUTANT=cmpxchg_acquire HF_MUTANT_IN=hf_detail_refcount_add_not_zero
// MUTANT: set_release HF_MUTANT=store_release
// MUTANT: reads_a_freed_count HF_MUTANT=fetch_sub_reads_again HF_MUTANT_IN=hf_detail_refcount_sub_and_test
// MUTANT: sub_torn HF_MUTANT=fetch_torn
// MUTANT: swap_torn HF_MUTANT=cmpxchg_torn
// MUTANT: not_repaired HF_MUTANT=store_relaxed_missing HF_MUTANT_IN=hf_detail_refcount_repair
#include "counts.h"

#include "holdfast/refcount.h"
#ifdef MODEL_VARIANT
#include "in_place.h"
#endif

struct operations {
	typedef hf_refcount_t type;
	enum : int32_t { most = HF_REFCOUNT_MAX, saturated = HF_REFCOUNT_SATURATED };
	static void init(type *r, int32_t n) { hf_refcount_set(r, n); }
	static void get(type *r) { hf_refcount_inc(r); }
	static bool find(type *r) { return hf_refcount_inc_not_zero(r); }
	static bool find_acquire(type *r) { return hf_refcount_inc_not_zero_acquire(r); }
	static bool put(type *r) { return hf_refcount_dec_and_test(r); }
	static void init_release(type *r) { hf_refcount_set_release(r, 1); }
	static int32_t now(type *r) { return (int32_t)r->refs.own.now(); }
	static bool is_dead(int32_t now) { return now == 0; }
	static bool is_one(int32_t now) { return now == 1; }
};
typedef hf_model::counted<operations> object;
using hf_model::overflow;

/* Thread 0 drops one of three; thread 1 waits for that, and has the other two. */
struct known_not_last : object {
	known_not_last() : object(3) {}
	void thread(unsigned int index)
	{
		if (index == 0) {
			use(0);
			hf_refcount_dec(&count_);
		} else {
			while (hf_refcount_read(&count_) != 2)
				hf_arch_relax();
			put();
			put();
		}
	}
};

template <int N>
struct not_one_if_one : object {
	not_one_if_one() : object(N) {}
	void thread(unsigned int index)
	{
		use(index);
		if (hf_refcount_dec_not_one(&count_))
			return;
		check(hf_refcount_dec_if_one(&count_), "the last one is alone");
		free_it();
	}
};

/* dec_if_one concurrent with a lookup: exactly one succeeds. */
struct if_one : object {
	if_one() : object(1) {}
	void thread(unsigned int index)
	{
		if (index == 0) {
			use(0);
			if (hf_refcount_dec_if_one(&count_))
				free_it();
			else
				put();
		} else if (hf_refcount_inc_not_zero(&count_)) {
			use(1);
			put();
		}
	}
};

/* Each thread has a reference; the only remaining owner writes all of the data without a copy. */
struct copy_on_write : object {
	copy_on_write() : object(2) {}
	void thread(unsigned int index)
	{
		use(index);
		if (hf_refcount_is_one_acquire(&count_)) {
			for (plain &p : part_)
				set(p, 1);
		}
		put();
	}
};

/* Starts saturated or immortal, then all operations at once. Immortal counts are never reported. */
template <int32_t Start>
struct stays : object {
	stays() : object(Start) {}
	void thread(unsigned int index)
	{
		if (index == 0) {
			hf_refcount_inc(&count_);
			put();
		} else {
			check(hf_refcount_inc_not_zero(&count_), "not 0");
			check(!hf_refcount_dec_if_one(&count_), "not one");
			check(hf_refcount_dec_not_one(&count_), "not one");
			hf_refcount_dec(&count_);
		}
	}
	void end()
	{
		check(!freed_, "never freed");
		check(now() == Start, "as it was when all is done");
		check(Start != HF_REFCOUNT_IMMORTAL || hf_model::all_reports() == 0,
		      "nothing to report");
	}
};

/* Two puts for one reference. */
struct put_too_many : object {
	put_too_many() : object(1) {}
	void thread(unsigned int) { put(); }
	void end()
	{
		check(freed_ == 1, "freed once");
		check(now() == HF_REFCOUNT_SATURATED, "saturated when all is done");
		check(hf_model::reports[HF_REPORT_SUB_UAF] == 1, "reported");
	}
};

/* An inc by a thread that has no reference. */
struct inc_without : object {
	inc_without() : object(1) {}
	void thread(unsigned int index)
	{
		if (index == 0)
			put();
		else
			hf_refcount_inc(&count_);
	}
	void end()
	{
		unsigned int reported = hf_model::reports[HF_REPORT_ADD_UAF];

		check(reported == (unsigned int)freed_, "reported if it was dead");
		check(now() == (freed_ ? HF_REFCOUNT_SATURATED : 1), "saturated if dead");
	}
};

int main(int argc, char **argv)
{
	hf_model::run run("refcount", argc, argv);
	const char *name = "refcount";

	hf_model::all_counts<operations>(&run, name);
	run.search<known_not_last, 2>(name, ALL);
	run.search<not_one_if_one<2>, 2>(name, ALL);
	run.search<not_one_if_one<3>, 3>(name, 3);
	run.search<if_one, 2>(name, ALL);
	run.search<copy_on_write, 2>(name, ALL);
#ifndef LAB_REFCOUNT_unchecked
	run.search<overflow<operations>, 3>(name, 3);
	run.search<stays<HF_REFCOUNT_SATURATED>, 2>(name, ALL);
	run.search<stays<HF_REFCOUNT_IMMORTAL>, 2>(name, ALL);
	run.search<put_too_many, 2>(name, ALL);
	run.search<inc_without, 2>(name, ALL);
	run.random<overflow<operations>, 3>(name, 20000);
#endif
	return run.end();
}
