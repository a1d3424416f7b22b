// SPDX-License-Identifier: MIT
/*
 * refcount_lock - dec_and_lock: the last reference is dropped under the lock, and only the call
 * that drops it returns with the lock held.
 *
 * Checked, with the queued lock
 *   An object is found through a slot that the lock protects; the thread that drops the last
 *   reference clears the slot. Threads use its plain data and drop their references; others look it
 *   up under the lock, where inc suffices, because the count is never 0 there while the slot is
 *   full. No data race; the data is freed once, by the thread that cleared the slot.
 *
 * The release of the dec_and_test inside has no mutant: the lock around it orders as much.
 */
// MUTANT: dec_not_one_release HF_MUTANT=cmpxchg_release HF_MUTANT_IN=hf_refcount_dec_not_one
// MUTANT: dec_and_test_acquire HF_MUTANT=fence_acquire
// MUTANT: lock_acquire HF_MUTANT=cmpxchg_acquire
// MUTANT: unlock_release HF_MUTANT=store_low8_release
// MUTANT: without_the_lock HF_MUTANT=own
#define HF_ENV_HAS_PARK 0 /* the lock with a queue */
#define HF_SPINLOCK_QUEUED_PASSES 1
#define HF_SPINLOCK_QUEUED_PATIENCE_NS 2
#include "counts.h"
#include "queued_watch.h"

#include "holdfast/spinlock.h"

static void not_locked(hf_spinlock_t *lock)
{
	(void)lock;
}

/* The mutant `own` makes dec_and_lock skip the lock. */
#define hf_spinlock_lock(lock)                                                                     \
	(hf_model::the_mutant == hf_model::mutant::own ? not_locked(lock) : hf_spinlock_lock(lock))
#include "holdfast/refcount_lock.h"
#undef hf_spinlock_lock

static unsigned long reached[hf_model::TRANSITIONS];
static unsigned long found, not_found, not_last;

/* Threads 0 .. N-1 have a reference each, the others look the object up. */
template <int N>
class object : public hf_model::used_object {
	hf_spinlock_t lock_;
	hf_refcount_t count_;
	plain slot_;
	hf_model::queued_watch watch_{ HF_SPINLOCK_QUEUED_PASSES, HF_ARCH_HAS_CMPXCHG8, reached };

	void put()
	{
		if (!hf_refcount_dec_and_lock(&count_, &lock_))
			return;
		check(watch_.holder() == (int)rl::thread_index(), "true, so the lock is held");
		check(get(slot_) == 1, "taken out once");
		set(slot_, 0);
		hf_spinlock_unlock(&lock_);
		free_it();
	}

public:
	object()
	{
		hf_spinlock_init(&lock_);
		hf_refcount_set(&count_, N);
		set(slot_, 1);
	}

	void thread(unsigned int index)
	{
		if (index >= N) {
			bool in;

			hf_spinlock_lock(&lock_);
			in = get(slot_) == 1;
			if (in)
				hf_refcount_inc(&count_);
			hf_spinlock_unlock(&lock_);
			(in ? found : not_found)++;
			if (!in)
				return;
		}
		use(index);
		put();
	}

	void changed(const void *object, uint64_t before, uint64_t after, const where &at)
	{
		if (object == &lock_.word && before != after) {
			watch_.changed((uint32_t)before, (uint32_t)after, at);
		} else if (object == &count_.refs && before == 1 && after == 0) {
			check(watch_.holder() == (int)rl::thread_index(),
			      "I2: 1 to 0 under the lock", at);
		} else if (object == &count_.refs && watch_.holder() == (int)rl::thread_index() &&
			   after != 0 && after < before) {
			not_last++;
		}
	}

	void end()
	{
		check(freed_ == 1, "freed once");
		check(hf_refcount_read(&count_) == 0, "the count is 0");
		check(!hf_spinlock_is_locked(&lock_), "the lock is free");
		check(hf_model::all_reports() == 0, "no misuse");
	}
};

int main(int argc, char **argv)
{
	hf_model::run run("refcount_lock", argc, argv);

	run.search<object<2>, 2>("puts", ALL);
	run.search<object<1>, 2>("put and lookup", 5);
	run.search<object<3>, 3>("puts", 3);
	run.search<object<2>, 3>("puts and lookup", 3);
	run.search<object<1>, 3>("put and lookups", 2);
	run.random<object<2>, 3>("puts and lookup", 200000);
	run.random<object<2>, 4>("puts and lookups", 200000);
	run.must_reach("a lookup finds it", found);
	run.must_reach("a lookup comes too late", not_found);
	run.must_reach("another thread took a reference before the lock was held", not_last);
	return run.end();
}
