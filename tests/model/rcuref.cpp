// SPDX-License-Identifier: MIT
/*
 * rcuref - who kills the object, and what that thread sees, under the C11 memory model.
 *
 * Checked
 *   use and put     each thread uses the object's plain data, then puts: the data is free of races, and
 *                   it dies once
 *   lookup          get against the last put: true only if alive, also where it lives again in between
 *   type-stable     the object becomes another, in the same memory: get_acquire sees what init_release
 *                   published, and no get or put that began before it undoes it
 *   misuse          an overflow ends saturated; a put too many is reported, and kills nothing twice
 *
 * The step none -> DEAD is relaxed: nobody acquires from a dead count.
 */
// MUTANT: put_release HF_MUTANT=fetch_sub_release HF_MUTANT_IN=hf_rcuref_put
// MUTANT: put_acquire HF_MUTANT=fence_acquire HF_MUTANT_IN=hf_detail_rcuref_put_rest
// MUTANT: none_to_dead_torn HF_MUTANT=cmpxchg_torn HF_MUTANT_IN=hf_detail_rcuref_put_rest
// MUTANT: get_acquire HF_MUTANT=fence_acquire HF_MUTANT_IN=hf_rcuref_get_acquire
// MUTANT: init_release HF_MUTANT=store_release
// MUTANT: torn HF_MUTANT=fetch_torn
// MUTANT: not_saturated HF_MUTANT=store_relaxed_missing HF_MUTANT_IN=hf_detail_rcuref_get_rest
#define HF_ATOMIC_HEADER "backend.h"
#define HF_ARCH_HEADER "arch_model.h"
#define HF_ENV_HEADER "env_model.h"
#include "run.h"

#include "holdfast/rcuref.h"

using hf_model::ALL;
using hf_model::check;
using hf_model::get;
using hf_model::plain;
using hf_model::set;

/* An object with references, and plain data of each thread; its memory stays. */
class object : public hf_model::scenario {
protected:
	hf_rcuref_t count;
	plain part[HF_MODEL_THREADS];
	int died = 0;

	explicit object(uint32_t n)
	{
		hf_rcuref_init(&count, n);
		for (plain &p : part)
			set(p, 1);
	}

	/* With a reference. */
	void use(unsigned int index)
	{
		check(!died, "used after it died");
		check(get(part[index]) == 1, "used after it died");
		set(part[index], 1);
	}

	void put()
	{
		if (!hf_rcuref_put(&count))
			return;
		check(!died, "died twice");
		died++;
		for (plain &p : part)
			set(p, 0);
	}

	uint32_t now() { return (uint32_t)count.refs.own.now(); }
	void end_dead()
	{
		check(died == 1, "died once");
		check(now() >= HF_DETAIL_RCUREF_FROM_DEAD && now() != HF_DETAIL_RCUREF_NONE,
		      "the count is dead");
		check(hf_model::all_reports() == 0, "no misuse");
	}
};

template <int N>
class use_and_put : public object {
public:
	static const char *title() { return "use and put"; }

	use_and_put() : object(N) {}
	void thread(unsigned int index)
	{
		use(index);
		put();
	}
	void end() { end_dead(); }
};

/* Thread 0 has the reference; the others find the object. */
class lookup : public object {
public:
	static const char *title() { return "lookup"; }

	lookup() : object(1) {}
	void thread(unsigned int index)
	{
		if (index != 0 && !hf_rcuref_get(&count))
			return;
		use(index);
		put();
	}
	void end() { end_dead(); }
};

/* Who has a reference takes another. */
class get_and_put : public object {
public:
	static const char *title() { return "get and put"; }

	get_and_put() : object(2) {}
	void thread(unsigned int index)
	{
		check(hf_rcuref_get(&count), "alive");
		put();
		use(index);
		put();
	}
	void end() { end_dead(); }
};

/* Whoever kills the first object makes it the second, with a reference that stays. */
class type_stable : public hf_model::scenario {
	hf_rcuref_t count;
	plain key;
	int objects = 1;

	void put()
	{
		if (!hf_rcuref_put(&count))
			return;
		check(++objects == 2, "became another once");
		set(key, 2);
		hf_rcuref_init_release(&count, 1);
	}

public:
	static const char *title() { return "type-stable"; }

	type_stable()
	{
		hf_rcuref_init(&count, 1);
		set(key, 1);
	}
	void thread(unsigned int index)
	{
		if (index == 0) {
			put();
		} else if (hf_rcuref_get_acquire(&count)) {
			int is = get(key);

			check(is == 1 || is == 2, "one of both");
			put();
		}
	}
	void end()
	{
		check(objects == 2, "became another once");
		check((uint32_t)count.refs.own.now() == 0, "one reference");
		check(hf_model::all_reports() == 0, "no misuse");
	}
};

/* At the top: one more get than puts. */
class overflow : public object {
public:
	static const char *title() { return "overflow"; }

	overflow() : object(HF_RCUREF_MAX) {}
	void thread(unsigned int index)
	{
		if (index == 2)
			put();
		else
			check(hf_rcuref_get(&count), "true");
	}
	void end()
	{
		check(!died, "an overflow kills nothing");
		check(now() == HF_DETAIL_RCUREF_SATURATED, "saturated when all is done");
		check(hf_model::all_reports() != 0, "reported");
	}
};

/* Two puts for one reference. */
class put_too_many : public object {
public:
	static const char *title() { return "put too many"; }

	put_too_many() : object(1) {}
	void thread(unsigned int) { put(); }
	void end()
	{
		check(died <= 1, "dies once at the most");
		check(now() >= HF_DETAIL_RCUREF_FROM_DEAD, "dead, or without references");
		check(hf_model::reports[HF_REPORT_RCUREF_DEAD] == 1, "told");
	}
};

int main(int argc, char **argv)
{
	hf_model::run run("rcuref", argc, argv);
	const char *name = "rcuref";

	run.search<use_and_put<2>, 2>(name, ALL);
	run.search<use_and_put<3>, 3>(name, ALL);
	run.search<lookup, 2>(name, ALL);
	run.search<lookup, 3>(name, 3);
	run.search<get_and_put, 2>(name, ALL);
	run.search<type_stable, 2>(name, ALL);
	run.search<type_stable, 3>(name, 3);
	run.search<overflow, 3>(name, 3);
	run.search<put_too_many, 2>(name, ALL);
	run.random<lookup, 3>(name, 20000);
	run.random<type_stable, 3>(name, 20000);
	return run.end();
}
