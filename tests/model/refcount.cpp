// SPDX-License-Identifier: MIT
/*
 * refcount - who drops the last reference, and what that thread sees, under the C11 memory model.
 *
 * Checked
 *   use and put     each thread uses the object's plain data, then drops its reference: the data is
 *                   free of races, and freed once
 *   inc, lookups    inc on the way; inc_not_zero against the last put: true only if alive
 *   type-stable     the object becomes another, in the same memory: inc_not_zero_acquire sees what
 *                   set_release published
 *   dec             by a thread that knows that its reference is not the last
 *   dec_not_one, dec_if_one
 *   copy on write   a thread that finds itself the only owner changes the data in place
 *   misuse          an overflow among other operations ends saturated, and nothing is freed; a put
 *                   too many, or an inc on 0, frees nothing twice
 *   immortal        it is so when all is done, and nothing was reported
 *
 * The model of a variant of the lab, refcount_<name>.cpp, is this file with the variant in the place
 * of the shipped functions (lab/variants/in_place.h); unchecked has no misuse and no immortality.
 *
 * The release of a dec_and_test and of a dec_if_one that is the last one has no mutant: nobody
 * acquires from a count that is 0. It is there because the operation is one instruction.
 */
// MUTANT: sub_release HF_MUTANT=fetch_sub_release HF_MUTANT_IN=hf_detail_refcount_sub_and_test
// MUTANT: sub_acquire HF_MUTANT=fence_acquire HF_MUTANT_IN=hf_detail_refcount_sub_and_test
// MUTANT: dec_release HF_MUTANT=fetch_sub_release HF_MUTANT_IN=hf_detail_refcount_dec
// MUTANT: dec_not_one_release HF_MUTANT=cmpxchg_release HF_MUTANT_IN=hf_refcount_dec_not_one
// MUTANT: dec_if_one_acquire HF_MUTANT=fence_acquire HF_MUTANT_IN=hf_refcount_dec_if_one
// MUTANT: is_one_acquire HF_MUTANT=load_acquire HF_MUTANT_IN=hf_refcount_is_one_acquire
// MUTANT: not_zero_acquire HF_MUTANT=cmpxchg_acquire HF_MUTANT_IN=hf_detail_refcount_add_not_zero
// MUTANT: set_release HF_MUTANT=store_release
// MUTANT: sub_torn HF_MUTANT=fetch_torn
// MUTANT: swap_torn HF_MUTANT=cmpxchg_torn
// MUTANT: not_repaired HF_MUTANT=store_relaxed_missing HF_MUTANT_IN=hf_detail_refcount_repair
#define HF_ATOMIC_HEADER "backend.h"
#define HF_ARCH_HEADER "arch_model.h"
#define HF_ENV_HEADER "env_model.h"
#include "run.h"

#include "holdfast/refcount.h"
#ifdef MODEL_VARIANT
#include "in_place.h"
#endif

using hf_model::ALL;
using hf_model::check;
using hf_model::get;
using hf_model::plain;
using hf_model::set;

/* An object with references, and plain data of each thread. */
class object : public hf_model::scenario {
protected:
	hf_refcount_t count;
	plain part[HF_MODEL_THREADS];
	int freed = 0;

	explicit object(int32_t n)
	{
		hf_refcount_set(&count, n);
		for (plain &p : part)
			set(p, 1);
	}

	/* With a reference. */
	void use(unsigned int index)
	{
		check(!freed, "used after it was freed");
		check(get(part[index]) == 1, "used after it was freed");
		set(part[index], 1);
	}

	void free_it()
	{
		check(!freed, "freed twice");
		freed++;
		for (plain &p : part)
			set(p, 0);
	}

	void put()
	{
		if (hf_refcount_dec_and_test(&count))
			free_it();
	}

	int32_t now() { return (int32_t)count.refs.own.now(); }
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
	void end()
	{
		check(freed == 1, "freed once");
		check(now() == 0, "the count is 0");
		check(hf_model::all_reports() == 0, "no misuse");
	}
};

class inc_and_put : public object {
public:
	static const char *title() { return "inc and put"; }

	inc_and_put() : object(2) {}
	void thread(unsigned int index)
	{
		hf_refcount_inc(&count);
		put();
		use(index);
		put();
	}
	void end()
	{
		check(freed == 1, "freed once");
		check(now() == 0, "the count is 0");
		check(hf_model::all_reports() == 0, "no misuse");
	}
};

/* Thread 0 has the reference; the others find the object. */
class lookup : public object {
public:
	static const char *title() { return "lookup"; }

	lookup() : object(1) {}
	void thread(unsigned int index)
	{
		if (index != 0 && !hf_refcount_inc_not_zero(&count))
			return;
		use(index);
		put();
	}
	void end()
	{
		check(freed == 1, "freed once");
		check(now() == 0, "the count is 0");
		check(hf_model::all_reports() == 0, "no misuse");
	}
};

/* Whoever frees the first object makes it the second, with as many references again. */
class type_stable : public hf_model::scenario {
	hf_refcount_t count;
	plain key;
	int objects = 1;

	void put()
	{
		if (!hf_refcount_dec_and_test(&count))
			return;
		check(++objects == 2, "became another once");
		set(key, 2);
		hf_refcount_set_release(&count, 1);
	}

public:
	static const char *title() { return "type-stable"; }

	type_stable()
	{
		hf_refcount_set(&count, 1);
		set(key, 1);
	}
	void thread(unsigned int index)
	{
		if (index == 0) {
			put();
		} else if (hf_refcount_inc_not_zero_acquire(&count)) {
			int is = get(key);

			check(is == 1 || is == 2, "one of both");
			/* The second object has another reference, so this is not its last. */
			put();
		}
	}
	void end()
	{
		check(objects == 2, "became another once");
		check((int32_t)count.refs.own.now() == 1, "the count is 1");
		check(hf_model::all_reports() == 0, "no misuse");
	}
};

/* Thread 0 drops one of three; thread 1 waits for that, and has the other two. */
class known_not_last : public object {
public:
	static const char *title() { return "dec"; }

	known_not_last() : object(3) {}
	void thread(unsigned int index)
	{
		if (index == 0) {
			use(0);
			hf_refcount_dec(&count);
		} else {
			while (hf_refcount_read(&count) != 2)
				hf_arch_relax();
			put();
			put();
		}
	}
	void end()
	{
		check(freed == 1, "freed once");
		check(hf_model::all_reports() == 0, "no misuse");
	}
};

template <int N>
class not_one_if_one : public object {
public:
	static const char *title() { return "dec_not_one"; }

	not_one_if_one() : object(N) {}
	void thread(unsigned int index)
	{
		use(index);
		if (hf_refcount_dec_not_one(&count))
			return;
		check(hf_refcount_dec_if_one(&count), "the last one is alone");
		free_it();
	}
	void end()
	{
		check(freed == 1, "freed once");
		check(now() == 0, "the count is 0");
		check(hf_model::all_reports() == 0, "no misuse");
	}
};

/* dec_if_one against a lookup: one of both has it. */
class if_one : public object {
public:
	static const char *title() { return "dec_if_one"; }

	if_one() : object(1) {}
	void thread(unsigned int index)
	{
		if (index == 0) {
			use(0);
			if (hf_refcount_dec_if_one(&count))
				free_it();
			else
				put();
		} else if (hf_refcount_inc_not_zero(&count)) {
			use(1);
			put();
		}
	}
	void end()
	{
		check(freed == 1, "freed once");
		check(now() == 0, "the count is 0");
	}
};

/* Each thread has a reference; the only owner left writes all of the data, without a copy. */
class copy_on_write : public object {
public:
	static const char *title() { return "copy on write"; }

	copy_on_write() : object(2) {}
	void thread(unsigned int index)
	{
		use(index);
		if (hf_refcount_is_one_acquire(&count)) {
			for (plain &p : part)
				set(p, 1);
		}
		put();
	}
	void end()
	{
		check(freed == 1, "freed once");
		check(now() == 0, "the count is 0");
		check(hf_model::all_reports() == 0, "no misuse");
	}
};

/* At the top: one more inc than dec, so it overflows in every order. */
class overflow : public object {
public:
	static const char *title() { return "overflow"; }

	overflow() : object(HF_REFCOUNT_MAX) {}
	void thread(unsigned int index)
	{
		if (index == 2) {
			put();
		} else if (index == 1) {
			check(hf_refcount_inc_not_zero(&count), "not 0");
		} else {
			hf_refcount_inc(&count);
		}
	}
	void end()
	{
		check(!freed, "an overflow frees nothing");
		check(now() == HF_REFCOUNT_SATURATED, "saturated when all is done");
		check(hf_model::all_reports() != 0, "reported");
	}
};

/* Saturated already, then everything at once. */
class stays_saturated : public object {
public:
	static const char *title() { return "saturated"; }

	stays_saturated() : object(HF_REFCOUNT_SATURATED) {}
	void thread(unsigned int index)
	{
		if (index == 0) {
			hf_refcount_inc(&count);
			put();
		} else {
			check(!hf_refcount_dec_if_one(&count), "not one");
			check(hf_refcount_dec_not_one(&count), "not one");
			hf_refcount_dec(&count);
		}
	}
	void end()
	{
		check(!freed, "never freed");
		check(now() == HF_REFCOUNT_SATURATED, "saturated when all is done");
	}
};

/* Never freed, and nothing is reported of it: everything at once. */
class stays_immortal : public object {
public:
	static const char *title() { return "immortal"; }

	stays_immortal() : object(HF_REFCOUNT_IMMORTAL) {}
	void thread(unsigned int index)
	{
		if (index == 0) {
			hf_refcount_inc(&count);
			put();
		} else {
			check(hf_refcount_inc_not_zero(&count), "not 0");
			check(hf_refcount_dec_not_one(&count), "not one");
			hf_refcount_dec(&count);
		}
	}
	void end()
	{
		check(!freed, "never freed");
		check(now() == HF_REFCOUNT_IMMORTAL, "immortal when all is done");
		check(hf_model::all_reports() == 0, "nothing to report");
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
		check(freed == 1, "freed once");
		check(now() == HF_REFCOUNT_SATURATED, "saturated when all is done");
		check(hf_model::reports[HF_REPORT_SUB_UAF] == 1, "reported");
	}
};

/* An inc by somebody who has no reference. */
class inc_without : public object {
public:
	static const char *title() { return "inc without a reference"; }

	inc_without() : object(1) {}
	void thread(unsigned int index)
	{
		if (index == 0)
			put();
		else
			hf_refcount_inc(&count);
	}
	void end()
	{
		unsigned int told = hf_model::reports[HF_REPORT_ADD_UAF];

		check(told == (unsigned int)freed, "reported if it was dead");
		check(now() == (freed ? HF_REFCOUNT_SATURATED : 1), "saturated if dead");
	}
};

int main(int argc, char **argv)
{
	hf_model::run run("refcount", argc, argv);
	const char *name = "refcount";

	run.search<use_and_put<2>, 2>(name, ALL);
	run.search<use_and_put<3>, 3>(name, ALL);
	run.search<inc_and_put, 2>(name, ALL);
	run.search<lookup, 2>(name, ALL);
	run.search<lookup, 3>(name, 3);
	run.search<type_stable, 2>(name, ALL);
	run.search<type_stable, 3>(name, 3);
	run.search<known_not_last, 2>(name, ALL);
	run.search<not_one_if_one<2>, 2>(name, ALL);
	run.search<not_one_if_one<3>, 3>(name, 3);
	run.search<if_one, 2>(name, ALL);
	run.search<copy_on_write, 2>(name, ALL);
	run.random<lookup, 3>(name, 20000);
	run.random<type_stable, 3>(name, 20000);
#ifndef LAB_REFCOUNT_unchecked
	run.search<overflow, 3>(name, 3);
	run.search<stays_saturated, 2>(name, ALL);
	run.search<stays_immortal, 2>(name, ALL);
	run.search<put_too_many, 2>(name, ALL);
	run.search<inc_without, 2>(name, ALL);
	run.random<overflow, 3>(name, 20000);
#endif
	return run.end();
}
