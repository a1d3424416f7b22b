// SPDX-License-Identifier: MIT
/*
 * refcount - who drops the last reference, and what that thread sees, under the C11 memory model.
 *
 * Checked, for each implementation
 *   use and put     each thread uses the object's plain data, then drops its reference: the data is
 *                   free of races, and freed once
 *   inc, lookups    inc on the way; inc_not_zero against the last put: true only if alive
 *   type-stable     the object becomes another, in the same memory: inc_not_zero_acquire sees what
 *                   set_release published
 *   dec             by one who knows that it is not the last
 *   dec_not_one, dec_if_one
 *   misuse          an overflow among other operations ends saturated, and nobody frees; a put too
 *                   many, or an inc on 0, frees nothing twice (not `unchecked`, which finds none)
 *   immortal        it is so when all is done, and nothing was reported (not `unchecked` either)
 *
 * `asm` is checked around its instructions: they are replaced by what arch.h says of them.
 *
 * The release of a dec_and_test and of a dec_if_one that is the last one has no mutant: nobody
 * acquires from a count that is 0. It is there because the operation is one instruction.
 */
// MUTANT: sub_release_saturating HF_MUTANT=fetch_sub_release HF_MUTANT_IN=hf_detail_refcount_saturating_sub_and_test
// MUTANT: sub_release_unchecked HF_MUTANT=fetch_sub_release HF_MUTANT_IN=hf_detail_refcount_unchecked_sub_and_test
// MUTANT: sub_release_cmpxchg HF_MUTANT=cmpxchg_release HF_MUTANT_IN=hf_detail_refcount_cmpxchg_sub_and_test
// MUTANT: sub_release_asm HF_MUTANT=fetch_sub_release HF_MUTANT_IN=hf_detail_refcount_asm_dec_and_test
// MUTANT: sub_acquire_saturating HF_MUTANT=fence_acquire HF_MUTANT_IN=hf_detail_refcount_saturating_sub_and_test
// MUTANT: sub_acquire_unchecked HF_MUTANT=fence_acquire HF_MUTANT_IN=hf_detail_refcount_unchecked_sub_and_test
// MUTANT: sub_acquire_cmpxchg HF_MUTANT=fence_acquire HF_MUTANT_IN=hf_detail_refcount_cmpxchg_sub_and_test
// MUTANT: sub_acquire_asm HF_MUTANT=fence_acquire HF_MUTANT_IN=hf_detail_refcount_asm_dec_and_test
// MUTANT: dec_release_saturating HF_MUTANT=fetch_sub_release HF_MUTANT_IN=hf_detail_refcount_saturating_dec_old
// MUTANT: dec_release_unchecked HF_MUTANT=fetch_sub_release HF_MUTANT_IN=hf_detail_refcount_unchecked_dec_old
// MUTANT: dec_release_cmpxchg HF_MUTANT=cmpxchg_release HF_MUTANT_IN=hf_detail_refcount_cmpxchg_dec_old
// MUTANT: dec_release_asm HF_MUTANT=fetch_sub_release HF_MUTANT_IN=hf_detail_refcount_asm_dec
// MUTANT: dec_not_one_release_saturating HF_MUTANT=cmpxchg_release HF_MUTANT_IN=hf_detail_refcount_saturating_dec_not_one
// MUTANT: dec_not_one_release_unchecked HF_MUTANT=cmpxchg_release HF_MUTANT_IN=hf_detail_refcount_unchecked_dec_not_one
// MUTANT: dec_not_one_release_cmpxchg HF_MUTANT=cmpxchg_release HF_MUTANT_IN=hf_detail_refcount_cmpxchg_dec_not_one
// MUTANT: dec_if_one_acquire HF_MUTANT=fence_acquire HF_MUTANT_IN=hf_refcount_saturating_dec_if_one
// MUTANT: not_zero_acquire_saturating HF_MUTANT=cmpxchg_acquire HF_MUTANT_IN=hf_detail_refcount_saturating_add_not_zero
// MUTANT: not_zero_acquire_unchecked HF_MUTANT=cmpxchg_acquire HF_MUTANT_IN=hf_detail_refcount_unchecked_add_not_zero
// MUTANT: not_zero_acquire_cmpxchg HF_MUTANT=cmpxchg_acquire HF_MUTANT_IN=hf_detail_refcount_cmpxchg_add_not_zero
// MUTANT: set_release HF_MUTANT=store_release
// MUTANT: sub_torn HF_MUTANT=fetch_torn
// MUTANT: swap_torn HF_MUTANT=cmpxchg_torn
// MUTANT: not_repaired HF_MUTANT=store_relaxed_missing HF_MUTANT_IN=hf_detail_refcount_repair
#define HF_ATOMIC_HEADER "backend.h"
#define HF_ARCH_HEADER "arch_model.h"
#define HF_ENV_HEADER "env_model.h"
#include "run.h"

#include "holdfast/refcount.h"

using hf_model::ALL;
using hf_model::check;
using hf_model::get;
using hf_model::plain;
using hf_model::set;

/* One implementation's verbs, to hand over as a type. */
#define COUNT(name_, finds_misuse_)                                                                \
	struct count_##name_ {                                                                     \
		static constexpr bool finds_misuse = finds_misuse_;                                \
		static void init(hf_refcount_t *r, int32_t n) { hf_refcount_##name_##_set(r, n); } \
		static void set_release(hf_refcount_t *r, int32_t n)                               \
		{                                                                                  \
			hf_refcount_##name_##_set_release(r, n);                                   \
		}                                                                                  \
		static int32_t read(hf_refcount_t *r) { return hf_refcount_##name_##_read(r); }    \
		static void inc(hf_refcount_t *r) { hf_refcount_##name_##_inc(r); }                \
		static bool inc_not_zero(hf_refcount_t *r)                                         \
		{                                                                                  \
			return hf_refcount_##name_##_inc_not_zero(r);                              \
		}                                                                                  \
		static bool inc_not_zero_acquire(hf_refcount_t *r)                                 \
		{                                                                                  \
			return hf_refcount_##name_##_inc_not_zero_acquire(r);                      \
		}                                                                                  \
		static void dec(hf_refcount_t *r) { hf_refcount_##name_##_dec(r); }                \
		static bool dec_and_test(hf_refcount_t *r)                                         \
		{                                                                                  \
			return hf_refcount_##name_##_dec_and_test(r);                              \
		}                                                                                  \
		static bool dec_if_one(hf_refcount_t *r)                                           \
		{                                                                                  \
			return hf_refcount_##name_##_dec_if_one(r);                                \
		}                                                                                  \
		static bool dec_not_one(hf_refcount_t *r)                                          \
		{                                                                                  \
			return hf_refcount_##name_##_dec_not_one(r);                               \
		}                                                                                  \
	}

COUNT(saturating, true);
COUNT(cmpxchg, true);
COUNT(unchecked, false);
COUNT(asm, true);

/* An object with references, and plain data of each thread. */
template <typename R>
class object : public hf_model::scenario {
protected:
	hf_refcount_t count;
	plain part[HF_MODEL_THREADS];
	int freed = 0;

	explicit object(int32_t n)
	{
		R::init(&count, n);
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
		if (R::dec_and_test(&count))
			free_it();
	}

	int32_t now() { return (int32_t)count.refs.own.now(); }
};

template <typename R, int N>
class use_and_put : public object<R> {
public:
	static const char *title() { return "use and put"; }

	use_and_put() : object<R>(N) {}
	void thread(unsigned int index)
	{
		this->use(index);
		this->put();
	}
	void end()
	{
		check(this->freed == 1, "freed once");
		check(this->now() == 0, "the count is 0");
		check(hf_model::all_reports() == 0, "no misuse");
	}
};

template <typename R>
class inc_and_put : public object<R> {
public:
	static const char *title() { return "inc and put"; }

	inc_and_put() : object<R>(2) {}
	void thread(unsigned int index)
	{
		R::inc(&this->count);
		this->put();
		this->use(index);
		this->put();
	}
	void end()
	{
		check(this->freed == 1, "freed once");
		check(this->now() == 0, "the count is 0");
		check(hf_model::all_reports() == 0, "no misuse");
	}
};

/* Thread 0 has the reference; the others find the object. */
template <typename R>
class lookup : public object<R> {
public:
	static const char *title() { return "lookup"; }

	lookup() : object<R>(1) {}
	void thread(unsigned int index)
	{
		if (index != 0 && !R::inc_not_zero(&this->count))
			return;
		this->use(index);
		this->put();
	}
	void end()
	{
		check(this->freed == 1, "freed once");
		check(this->now() == 0, "the count is 0");
		check(hf_model::all_reports() == 0, "no misuse");
	}
};

/* Whoever frees the first object makes it the second, with as many references again. */
template <typename R>
class type_stable : public hf_model::scenario {
	hf_refcount_t count;
	plain key;
	int objects = 1;

	void put()
	{
		if (!R::dec_and_test(&count))
			return;
		check(++objects == 2, "became another once");
		set(key, 2);
		R::set_release(&count, 1);
	}

public:
	static const char *title() { return "type-stable"; }

	type_stable()
	{
		R::init(&count, 1);
		set(key, 1);
	}
	void thread(unsigned int index)
	{
		if (index == 0) {
			put();
		} else if (R::inc_not_zero_acquire(&count)) {
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
template <typename R>
class known_not_last : public object<R> {
public:
	static const char *title() { return "dec"; }

	known_not_last() : object<R>(3) {}
	void thread(unsigned int index)
	{
		if (index == 0) {
			this->use(0);
			R::dec(&this->count);
		} else {
			while (R::read(&this->count) != 2)
				hf_arch_relax();
			this->put();
			this->put();
		}
	}
	void end()
	{
		check(this->freed == 1, "freed once");
		check(hf_model::all_reports() == 0, "no misuse");
	}
};

template <typename R, int N>
class not_one_if_one : public object<R> {
public:
	static const char *title() { return "dec_not_one"; }

	not_one_if_one() : object<R>(N) {}
	void thread(unsigned int index)
	{
		this->use(index);
		if (R::dec_not_one(&this->count))
			return;
		check(R::dec_if_one(&this->count), "the last one is alone");
		this->free_it();
	}
	void end()
	{
		check(this->freed == 1, "freed once");
		check(this->now() == 0, "the count is 0");
		check(hf_model::all_reports() == 0, "no misuse");
	}
};

/* dec_if_one against a lookup: one of both has it. */
template <typename R>
class if_one : public object<R> {
public:
	static const char *title() { return "dec_if_one"; }

	if_one() : object<R>(1) {}
	void thread(unsigned int index)
	{
		if (index == 0) {
			this->use(0);
			if (R::dec_if_one(&this->count))
				this->free_it();
			else
				this->put();
		} else if (R::inc_not_zero(&this->count)) {
			this->use(1);
			this->put();
		}
	}
	void end()
	{
		check(this->freed == 1, "freed once");
		check(this->now() == 0, "the count is 0");
	}
};

/* At the top: one more inc than dec, so it overflows in every order. */
template <typename R>
class overflow : public object<R> {
public:
	static const char *title() { return "overflow"; }

	overflow() : object<R>(HF_REFCOUNT_MAX) {}
	void thread(unsigned int index)
	{
		if (index == 2) {
			this->put();
		} else if (index == 1) {
			check(R::inc_not_zero(&this->count), "not 0");
		} else {
			R::inc(&this->count);
		}
	}
	void end()
	{
		check(!this->freed, "an overflow frees nothing");
		check(this->now() == HF_REFCOUNT_SATURATED, "saturated when all is done");
		check(hf_model::all_reports() != 0, "reported");
	}
};

/* Saturated already, then everything at once. */
template <typename R>
class stays_saturated : public object<R> {
public:
	static const char *title() { return "saturated"; }

	stays_saturated() : object<R>(HF_REFCOUNT_SATURATED) {}
	void thread(unsigned int index)
	{
		if (index == 0) {
			R::inc(&this->count);
			this->put();
		} else {
			check(!R::dec_if_one(&this->count), "not one");
			check(R::dec_not_one(&this->count), "not one");
			R::dec(&this->count);
		}
	}
	void end()
	{
		check(!this->freed, "never freed");
		check(this->now() == HF_REFCOUNT_SATURATED, "saturated when all is done");
	}
};

/* Never freed, and nothing is reported of it: everything at once. */
template <typename R>
class stays_immortal : public object<R> {
public:
	static const char *title() { return "immortal"; }

	stays_immortal() : object<R>(HF_REFCOUNT_IMMORTAL) {}
	void thread(unsigned int index)
	{
		if (index == 0) {
			R::inc(&this->count);
			this->put();
		} else {
			check(R::inc_not_zero(&this->count), "not 0");
			check(R::dec_not_one(&this->count), "not one");
			R::dec(&this->count);
		}
	}
	void end()
	{
		check(!this->freed, "never freed");
		check(this->now() == HF_REFCOUNT_IMMORTAL, "immortal when all is done");
		check(hf_model::all_reports() == 0, "nothing to report");
	}
};

/* Two puts for one reference. */
template <typename R>
class put_too_many : public object<R> {
public:
	static const char *title() { return "put too many"; }

	put_too_many() : object<R>(1) {}
	void thread(unsigned int) { this->put(); }
	void end()
	{
		check(this->freed == 1, "freed once");
		check(this->now() == HF_REFCOUNT_SATURATED, "saturated when all is done");
		check(hf_model::reports[HF_REPORT_SUB_UAF] == 1, "reported");
	}
};

/* An inc by somebody who has no reference. */
template <typename R>
class inc_without : public object<R> {
public:
	static const char *title() { return "inc without a reference"; }

	inc_without() : object<R>(1) {}
	void thread(unsigned int index)
	{
		if (index == 0)
			this->put();
		else
			R::inc(&this->count);
	}
	void end()
	{
		unsigned int told = hf_model::reports[HF_REPORT_ADD_UAF];

		check(told == (unsigned int)this->freed, "reported if it was dead");
		check(this->now() == (this->freed ? HF_REFCOUNT_SATURATED : 1),
		      "saturated if dead");
	}
};

template <typename R>
void all(hf_model::run *run, const char *name)
{
	run->search<use_and_put<R, 2>, 2>(name, ALL);
	run->search<use_and_put<R, 3>, 3>(name, ALL);
	run->search<inc_and_put<R>, 2>(name, ALL);
	run->search<lookup<R>, 2>(name, ALL);
	run->search<lookup<R>, 3>(name, 3);
	run->search<type_stable<R>, 2>(name, ALL);
	run->search<type_stable<R>, 3>(name, 3);
	run->search<known_not_last<R>, 2>(name, ALL);
	run->search<not_one_if_one<R, 2>, 2>(name, ALL);
	run->search<not_one_if_one<R, 3>, 3>(name, 3);
	run->search<if_one<R>, 2>(name, ALL);
	run->random<lookup<R>, 3>(name, 20000);
	run->random<type_stable<R>, 3>(name, 20000);
	if constexpr (R::finds_misuse) {
		run->search<overflow<R>, 3>(name, 3);
		run->search<stays_saturated<R>, 2>(name, ALL);
		run->search<stays_immortal<R>, 2>(name, ALL);
		run->search<put_too_many<R>, 2>(name, ALL);
		run->search<inc_without<R>, 2>(name, ALL);
		run->random<overflow<R>, 3>(name, 20000);
	}
}

int main(int argc, char **argv)
{
	hf_model::run run("refcount", argc, argv);

	all<count_saturating>(&run, "saturating");
	all<count_cmpxchg>(&run, "cmpxchg");
	all<count_unchecked>(&run, "unchecked");
	all<count_asm>(&run, "asm");
	return run.end();
}
