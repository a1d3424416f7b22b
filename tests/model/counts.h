/* SPDX-License-Identifier: MIT */
#ifndef HF_MODEL_COUNTS_H
#define HF_MODEL_COUNTS_H
/*
 * counts - an object that dies once, and the scenarios that every reference count must pass, for
 * refcount.cpp and rcuref.cpp.
 *
 * A count is a type parameter with: its type, init(p, n), get(p) with a reference, find(p) and
 * find_acquire(p) without one, put(p), init_release(p), now(p), is_dead(now), is_one(now), and the
 * counts `most` and `saturated`.
 */
#include "run.h"

namespace hf_model
{

/* An object with plain data of each thread; its memory is never unmapped. */
class used_object : public scenario {
protected:
	plain part_[HF_MODEL_THREADS];
	int freed_ = 0;

	used_object()
	{
		for (plain &p : part_)
			set(p, 1);
	}

	/* The caller has a reference. */
	void use(unsigned int index)
	{
		check(!freed_, "used after it was freed");
		check(get(part_[index]) == 1, "used after it was freed");
		set(part_[index], 1);
	}

	void free_it()
	{
		check(++freed_ == 1, "freed once");
		for (plain &p : part_)
			set(p, 0);
	}
};

template <typename C>
class counted : public used_object {
protected:
	typename C::type count_;

	explicit counted(int32_t n) { C::init(&count_, n); }

	/* @for_good: no thread looks the object up, so the count's memory is freed, too. */
	void put(bool for_good = false)
	{
		if (!C::put(&count_))
			return;
		free_it();
		if (for_good)
			count_.refs.own.free();
	}

	auto now() { return C::now(&count_); }

public:
	void end()
	{
		check(freed_ == 1, "freed once");
		check(C::is_dead(now()), "the count is dead");
		check(all_reports() == 0, "no misuse");
	}
};

template <typename C, int N>
struct use_and_put : counted<C> {
	use_and_put() : counted<C>(N) {}
	void thread(unsigned int index)
	{
		this->use(index);
		this->put(true);
	}
};

/* Each thread has a reference and takes a second one. */
template <typename C>
struct get_and_put : counted<C> {
	get_and_put() : counted<C>(2) {}
	void thread(unsigned int index)
	{
		C::get(&this->count_);
		this->put(true);
		this->use(index);
		this->put(true);
	}
};

/* Thread 0 has the only reference; the others look the object up. */
template <typename C>
struct lookup : counted<C> {
	lookup() : counted<C>(1) {}
	void thread(unsigned int index)
	{
		if (index != 0 && !C::find(&this->count_))
			return;
		this->use(index);
		this->put();
	}
};

/*
 * The thread that drops the last reference reuses the memory for a second object, which stays
 * alive.
 */
template <typename C>
class type_stable : public scenario {
	typename C::type count_;
	plain key_;
	int objects_ = 1;

	void put()
	{
		if (!C::put(&count_))
			return;
		check(++objects_ == 2, "became another once");
		set(key_, 2);
		C::init_release(&count_);
	}

public:
	type_stable()
	{
		C::init(&count_, 1);
		set(key_, 1);
	}
	void thread(unsigned int index)
	{
		if (index == 0) {
			put();
		} else if (C::find_acquire(&count_)) {
			int is = get(key_);

			check(is == 1 || is == 2, "one of both");
			put();
		}
	}
	void end()
	{
		check(objects_ == 2, "became another once");
		check(C::is_one(C::now(&count_)), "one reference");
		check(all_reports() == 0, "no misuse");
	}
};

/* At the maximum: one more get than puts, so the count overflows in every order. */
template <typename C>
struct overflow : counted<C> {
	overflow() : counted<C>(C::most) {}
	void thread(unsigned int index)
	{
		if (index == 2)
			this->put();
		else if (index == 1)
			check(C::find(&this->count_), "not 0");
		else
			C::get(&this->count_);
	}
	void end()
	{
		check(!this->freed_, "an overflow frees nothing");
		check(this->now() == C::saturated, "saturated when all is done");
		check(all_reports() != 0, "reported");
	}
};

template <typename C>
void all_counts(run *run, const char *name)
{
	run->search<use_and_put<C, 2>, 2>(name, ALL);
	run->search<use_and_put<C, 3>, 3>(name, ALL);
	run->search<get_and_put<C>, 2>(name, ALL);
	run->search<lookup<C>, 2>(name, ALL);
	run->search<lookup<C>, 3>(name, 3);
	run->search<type_stable<C>, 2>(name, ALL);
	run->search<type_stable<C>, 3>(name, 3);
	run->random<lookup<C>, 3>(name, 20000);
	run->random<type_stable<C>, 3>(name, 20000);
}

} // namespace hf_model

#endif
