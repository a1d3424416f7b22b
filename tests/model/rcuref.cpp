// SPDX-License-Identifier: MIT
/*
 * rcuref - exactly one thread kills the object, and it sees all earlier accesses, under the C11
 * memory model.
 *
 * Checked
 *   use and put     each thread uses the object's plain data, then puts: no data race, and the
 *                   object dies once
 *   lookup          get concurrent with the last put: true only if alive, also if revived in
 *                   between
 *   type-stable     the memory is reused for another object: get_acquire sees what init_release
 *                   published, and no get or put that began before init_release undoes it
 *   misuse          an overflow ends saturated; a put too many is reported, and never kills twice
 *
 * The step none -> DEAD is relaxed, because no thread acquires from a dead count.
 */
// MUTANT: put_release HF_MUTANT=fetch_sub_release HF_MUTANT_IN=hf_rcuref_put
// MUTANT: reads_a_freed_count HF_MUTANT=fetch_sub_reads_again HF_MUTANT_IN=hf_rcuref_put
// MUTANT: put_acquire HF_MUTANT=fence_acquire HF_MUTANT_IN=hf_detail_rcuref_put_slow
// MUTANT: none_to_dead_torn HF_MUTANT=cmpxchg_torn HF_MUTANT_IN=hf_detail_rcuref_put_slow
// MUTANT: get_acquire HF_MUTANT=fence_acquire HF_MUTANT_IN=hf_rcuref_get_acquire
// MUTANT: init_release HF_MUTANT=store_release
// MUTANT: torn HF_MUTANT=fetch_torn
// MUTANT: not_saturated HF_MUTANT=store_relaxed_missing HF_MUTANT_IN=hf_detail_rcuref_get_slow
#include "counts.h"

#include "holdfast/rcuref.h"

struct operations {
	typedef hf_rcuref_t type;
	enum : uint32_t { most = HF_RCUREF_MAX, saturated = HF_DETAIL_RCUREF_SATURATED };
	static void init(type *r, int32_t n) { hf_rcuref_init(r, (uint32_t)n); }
	static void get(type *r) { check(hf_rcuref_get(r), "alive"); }
	static bool find(type *r) { return hf_rcuref_get(r); }
	static bool find_acquire(type *r) { return hf_rcuref_get_acquire(r); }
	static bool put(type *r) { return hf_rcuref_put(r); }
	static void init_release(type *r) { hf_rcuref_init_release(r, 1); }
	static uint32_t now(type *r) { return (uint32_t)r->refs.own.now(); }
	static bool is_dead(uint32_t now)
	{
		return now >= HF_DETAIL_RCUREF_FROM_DEAD && now != HF_DETAIL_RCUREF_NONE;
	}
	static bool is_one(uint32_t now) { return now == 0; }
};
typedef hf_model::counted<operations> object;

/* Two puts for one reference. */
struct put_too_many : object {
	put_too_many() : object(1) {}
	void thread(unsigned int) { put(); }
	void end()
	{
		check(freed_ <= 1, "dies once at the most");
		check(now() >= HF_DETAIL_RCUREF_FROM_DEAD, "dead, or without references");
		check(hf_model::reports[HF_REPORT_RCUREF_DEAD] == 1, "reported");
	}
};

int main(int argc, char **argv)
{
	hf_model::run run("rcuref", argc, argv);
	const char *name = "rcuref";

	hf_model::all_counts<operations>(&run, name);
	run.search<hf_model::overflow<operations>, 3>(name, 3);
	run.search<put_too_many, 2>(name, ALL);
	return run.end();
}
