// SPDX-License-Identifier: MIT
/*
 * lockref - the count and the lock in one word, under the C11 memory model.
 *
 * Checked, with both forms of the queued spinlock, and with a mutex (src/mutex/mutex.c), as the
 * lock half; the lock is taken after 1 failed swap, with one of the forms after 2
 *   counts        get and put concurrent with a lock holder that changes the data and the count
 *   last          a thread that finds the last reference under the lock sees all accesses made with
 *                 the other references, marks the object dead and frees it, once; get_not_dead
 *                 succeeds only while the object is alive
 *   put_return    the same where the count drops to 0 without the lock, with get_not_zero
 *   not_zero      put_not_zero: one of the threads keeps the last reference
 *   cache         objects without references stay cached, are found again, and are reaped
 * and in all of them each change of the word: I1 to I3 of lockref.h, and the lock's own invariants
 * (queued_watch.h, mutex_watch.h). No thread stays parked for ever. Misuse is tested elsewhere.
 *
 * The model of a variant of the lab, lockref_<name>.cpp, is this file with the variant's functions.
 */
// MUTANT: put_release HF_MUTANT=cmpxchg64_release HF_MUTANT_IN=hf_detail_lockref_try_put
// MUTANT: put_again_release HF_MUTANT=cmpxchg64_release HF_MUTANT_IN=hf_detail_lockref_put_swaps
// MUTANT: lock_acquire_word HF_MUTANT=cmpxchg_acquire HF_MUTANT_IN=hf_detail_spinlock_queued_trylock HF_MODEL_ONLY=word
// MUTANT: lock_acquire_byte HF_MUTANT=cmpxchg_low8_acquire HF_MUTANT_IN=hf_detail_spinlock_queued_trylock HF_MODEL_ONLY=byte
// MUTANT: lock_acquire_waiting HF_MUTANT=cmpxchg_acquire HF_MUTANT_IN=hf_detail_spinlock_queued_wait_pending
// MUTANT: unlock_release HF_MUTANT=store_low8_release
// MUTANT: get_torn HF_MUTANT=cmpxchg64_torn HF_MUTANT_IN=hf_detail_lockref_try_get
// MUTANT: get_again_torn HF_MUTANT=cmpxchg64_torn HF_MUTANT_IN=hf_detail_lockref_get_slow
// MUTANT: put_torn HF_MUTANT=cmpxchg64_torn HF_MUTANT_IN=hf_detail_lockref_try_put
// MUTANT: put_again_torn HF_MUTANT=cmpxchg64_torn HF_MUTANT_IN=hf_detail_lockref_put_swaps
// MUTANT: count_stores_the_word HF_MUTANT=store_high32_wide
// MUTANT: unlock_stores_the_word HF_MUTANT=store_low8_wide
// MUTANT: swaps_a_locked_word HF_MUTANT=own
// MUTANT: swaps_a_locked_word_park HF_MUTANT=own HF_MODEL_ONLY=park
// MUTANT: park_put_release HF_MUTANT=cmpxchg64_release HF_MUTANT_IN=hf_detail_lockref_try_put HF_MODEL_ONLY=park
// MUTANT: park_lock_acquire HF_MUTANT=cmpxchg_acquire HF_MUTANT_IN=hf_detail_mutex_swap HF_MODEL_ONLY=park
// MUTANT: park_unlock_release HF_MUTANT=store_release HF_MUTANT_IN=hf_detail_mutex_set_free HF_MODEL_ONLY=park
// MUTANT: park_wake_up_lost HF_MUTANT=unpark_missing HF_MUTANT_IN=hf_detail_waiter_wake HF_MODEL_ONLY=park
// MUTANT: park_without_barrier HF_MUTANT=barrier_missing HF_MODEL_ONLY=park
// MUTANT: park_torn HF_MUTANT=park_torn HF_MODEL_ONLY=park
#define HF_SPINLOCK_QUEUED_PASSES 1
#define HF_SPINLOCK_QUEUED_PATIENCE_NS 2
#include "parking_model.h"

#include "counts.h"
#include "queued_watch.h"

#include "../../lab/lockref_stats.h"

/* Counts the paths taken by the lockref with a limit of 2; while `noting`, no other is used. */
static struct lockref_stats stats;
static bool noting;

#define HF_DETAIL_LOCKREF_NOTE(retries, fallback)                                                  \
	((void)(noting && (lockref_stats_add(&stats, retries, fallback), true)))

#include "holdfast/validate.h"
#include "holdfast/internal/wait.h"

#include "mutex_watch.h"

/* The mutant `own` does not check the lock half before its cmpxchg. */
#define HF_DETAIL_LOCKREF_LOCK_BITS                                                                \
	(hf_model::the_mutant == hf_model::mutant::own ? 0 : 0xffffffffu)

/* A lab variant is a header included in addition to the product's. */
#ifndef MODEL_VARIANT
#define MODEL_VARIANT "holdfast/lockref.h"
#define LOCKREF(in, operation) in::hf_lockref_##operation
#endif

#undef HF_ARCH_HAS_CMPXCHG8
#define HF_ARCH_HAS_CMPXCHG8 0
#define HF_LOCKREF_LOCK_HEADER "queued_half.h"
#define HF_LOCKREF_RETRIES 1
namespace word
{
#include "holdfast/lockref.h"

#include MODEL_VARIANT
}

#undef HF_LAB_SPINLOCK_QUEUED_H
#undef HF_SPINLOCK_QUEUED_H
#undef HF_LOCKREF_H
#undef HF_ARCH_HAS_CMPXCHG8
#define HF_ARCH_HAS_CMPXCHG8 1
#undef HF_LOCKREF_RETRIES
#define HF_LOCKREF_RETRIES 2
namespace byte
{
#include "holdfast/lockref.h"
}

#undef HF_LAB_SPINLOCK_QUEUED_H
#undef HF_SPINLOCK_QUEUED_H
#undef HF_LOCKREF_H
#undef HF_LOCKREF_LOCK_HEADER
#undef HF_LOCKREF_RETRIES
#define HF_LOCKREF_RETRIES 1
namespace park
{
#include "holdfast/lockref.h"
}

static unsigned long reached[hf_model::TRANSITIONS];
static unsigned long mutex_reached[hf_model::MUTEX_TRANSITIONS];

/* Checks the lock half's own invariants, and tracks its holder. */
template <bool ByteSwap>
struct queued_half : hf_model::queued_watch {
	void other(const void *, uint64_t, const where &) {}
	bool is_left() const { return true; }
	queued_half() : queued_watch(HF_SPINLOCK_QUEUED_PASSES, ByteSwap, reached) {}
};

struct mutex_half {
	hf_model::parking parking;
	hf_model::mutex_watch watch{ mutex_reached };

	int holder() const { return watch.holder(); }
	void changed(uint32_t, uint32_t after, const where &at) { watch.changed(after, at); }
	void other(const void *object, uint64_t after, const where &at)
	{
		watch.other(object, after, at);
	}
	bool is_left() const { return parking.empty(); }
};

/* The functions, by the form of the lock. */
#define FORM(name_, in_, half_, notes_)                                                            \
	struct name_ {                                                                             \
		typedef in_::hf_lockref_t type;                                                    \
		typedef half_ half;                                                                \
		static void init(type *l, int32_t n)                                               \
		{                                                                                  \
			in_::hf_lockref_init(l, n);                                                \
			noting = notes_;                                                           \
		}                                                                                  \
		static int32_t read(type *l) { return in_::hf_lockref_read(l); }                   \
		static void lock(type *l) { in_::hf_lockref_lock(l); }                             \
		static bool trylock(type *l) { return in_::hf_lockref_trylock(l); }                \
		static void unlock(type *l) { in_::hf_lockref_unlock(l); }                         \
		static void set_count(type *l, int32_t n) { in_::hf_lockref_set_count(l, n); }     \
		static void mark_dead(type *l) { in_::hf_lockref_mark_dead(l); }                   \
		static bool is_dead(type *l) { return in_::hf_lockref_is_dead(l); }                \
		static void get(type *l) { LOCKREF(in_, get)(l); }                                 \
		static bool get_not_zero(type *l) { return LOCKREF(in_, get_not_zero)(l); }        \
		static bool get_not_dead(type *l) { return LOCKREF(in_, get_not_dead)(l); }        \
		static int32_t put_return(type *l) { return LOCKREF(in_, put_return)(l); }         \
		static bool put_or_lock(type *l) { return LOCKREF(in_, put_or_lock)(l); }          \
		static bool put_not_zero(type *l) { return in_::hf_lockref_put_not_zero(l); }      \
	}

FORM(with_word, word, queued_half<false>, false);
#ifndef MODEL_VARIANT_NAME
FORM(with_byte, byte, queued_half<true>, true);
FORM(with_park, park, mutex_half, false);
#endif

static unsigned long revived, found_dead, put_refused, swapped, under_the_lock;

/* An object: the lockref word, and plain data that the lock protects. */
template <typename L>
class object : public hf_model::used_object {
	typename L::half half_;

protected:
	typename L::type ref_;
	plain locked_;
	int expected_ = 0;

	explicit object(int32_t n)
	{
		L::init(&ref_, n);
		set(locked_, 0);
	}

	/* Called with the lock held. */
	void work()
	{
		check(holds(), "the lock is held");
		increment(locked_);
		expected_++;
	}

	bool holds() { return half_.holder() == (int)rl::thread_index(); }

	/* Called with the lock held and the last reference. */
	void kill()
	{
		work();
		check(L::read(&ref_) == 1, "the last one");
		L::mark_dead(&ref_);
		L::unlock(&ref_);
		free_it();
	}

	int32_t count_now() { return (int32_t)(ref_.word.word.now() >> 32); }
	uint32_t lock_now() { return (uint32_t)ref_.word.word.now(); }

public:
	void changed(const void *object, uint64_t before, uint64_t after, const where &at)
	{
		int32_t count_before = (int32_t)(before >> 32), count = (int32_t)(after >> 32);

		if (object != &ref_.word.word && object != &ref_.word)
			half_.other(object, after, at);
		if (object != &ref_.word || before == after)
			return;
		if ((uint32_t)before != (uint32_t)after) {
			check(count_before == count, "lock and count change together", at);
			half_.changed((uint32_t)before, (uint32_t)after, at);
			return;
		}
		if (holds()) {
			under_the_lock++;
		} else {
			check((uint32_t)before == 0, "I1, I2: the count of a locked word changes",
			      at);
			check(count >= 0, "I3: dies without the lock", at);
			swapped++;
		}
		check(count_before >= 0, "the dead are not revived", at);
		if (count_before == 0 && count == 1)
			revived++;
	}

	void end()
	{
		check(get(locked_) == expected_, "nothing is lost that is done under the lock");
		check(lock_now() == 0, "the lock is free");
		check(half_.is_left(), "nobody waits for it");
		check(hf_model::all_reports() == 0, "no misuse");
	}
	void end_dead()
	{
		check(freed_ == 1, "freed once");
		check(L::is_dead(&ref_), "dead");
		object::end();
	}
};

/* Thread 0 changes the count under the lock; the others get and put. */
template <typename L, bool Try = false>
struct counts : object<L> {
	counts() : object<L>(1) {}
	void thread(unsigned int index)
	{
		if (index == 0) {
			if (!Try)
				L::lock(&this->ref_);
			else if (!L::trylock(&this->ref_))
				return;
			this->work();
			L::set_count(&this->ref_, L::read(&this->ref_) + 1);
			L::unlock(&this->ref_);
			check(L::put_or_lock(&this->ref_), "not the last");
		} else {
			L::get(&this->ref_);
			this->use(index);
			check(L::put_or_lock(&this->ref_), "not the last");
		}
	}
	void end()
	{
		check(this->count_now() == 1, "as many as before");
		object<L>::end();
	}
};

/* Threads 0 .. N-1 have a reference each, the others look the object up. */
template <typename L, int N>
struct last : object<L> {
	last() : object<L>(N) {}
	void thread(unsigned int index)
	{
		if (index >= N && !L::get_not_dead(&this->ref_)) {
			found_dead++;
			return;
		}
		this->use(index);
		if (!L::put_or_lock(&this->ref_))
			this->kill();
	}
	void end() { this->end_dead(); }
};

/* The same, but the count may drop to 0 before the object dies; at 0, lookups fail. */
template <typename L, int N>
struct zero : object<L> {
	zero() : object<L>(N) {}
	void thread(unsigned int index)
	{
		int32_t left;

		if (index >= N && !L::get_not_zero(&this->ref_))
			return;
		this->use(index);
		left = L::put_return(&this->ref_);
		if (left > 0)
			return;
		if (left == 0) {
			L::lock(&this->ref_);
			this->work();
			check(L::read(&this->ref_) == 0, "nobody gets it from 0");
			L::mark_dead(&this->ref_);
			L::unlock(&this->ref_);
			this->free_it();
			return;
		}
		put_refused++;
		if (!L::put_or_lock(&this->ref_))
			this->kill();
	}
	void end() { this->end_dead(); }
};

/* Every thread has a reference, and drops it unless it is the last one. */
template <typename L>
class not_zero : public object<L> {
	int kept_ = 0;

public:
	not_zero() : object<L>(2) {}
	void thread(unsigned int index)
	{
		if (index >= 2) { /* a holder of the lock in between */
			L::lock(&this->ref_);
			this->work();
			L::unlock(&this->ref_);
			return;
		}
		this->use(index);
		if (L::put_not_zero(&this->ref_))
			return;
		check(++kept_ == 1, "only one is the last");
	}
	void end()
	{
		check(kept_ == 1, "one is the last");
		check(this->count_now() == 1, "and keeps its reference");
		object<L>::end();
	}
};

/*
 * Thread 0 reaps the object if it has no references; lookups succeed while it is alive, even at 0.
 */
template <typename L>
struct cache : object<L> {
	cache() : object<L>(0) {}
	void thread(unsigned int index)
	{
		if (index == 0) {
			bool reap;

			L::lock(&this->ref_);
			this->work();
			reap = L::read(&this->ref_) == 0;
			if (reap)
				L::mark_dead(&this->ref_);
			L::unlock(&this->ref_);
			if (reap)
				this->free_it();
			return;
		}
		if (!L::get_not_dead(&this->ref_)) {
			check(L::is_dead(&this->ref_), "dead");
			found_dead++;
			return;
		}
		this->use(index);
		if (L::put_return(&this->ref_) >= 0)
			return;
		put_refused++;
		if (L::put_or_lock(&this->ref_))
			return;
		this->work();
		check(L::read(&this->ref_) == 1, "the last one");
		L::set_count(&this->ref_, 0);
		L::unlock(&this->ref_);
	}
	void end()
	{
		check(this->count_now() == (this->freed_ ? HF_LOCKREF_DEAD : 0), "dead or unused");
		object<L>::end();
	}
};

template <typename L>
void all(hf_model::run *run, const char *name)
{
	run->search<counts<L>, 2>(name, 2);
	run->search<counts<L, true>, 2>(name, 2);
	run->search<last<L, 2>, 2>(name, 4);
	run->search<last<L, 1>, 2>(name, 3);
	run->search<zero<L, 2>, 2>(name, 4);
	run->search<cache<L>, 2>(name, 3);
	run->search<not_zero<L>, 2>(name, 4);
	run->search<not_zero<L>, 3>(name, 1);
	run->search<last<L, 3>, 3>(name, 1);
	run->search<last<L, 1>, 3>(name, 1);
	run->search<zero<L, 2>, 3>(name, 1);
	run->search<cache<L>, 3>(name, 1);
	run->random<counts<L>, 3>(name, 20000);
	run->random<last<L, 2>, 3>(name, 20000);
	run->random<counts<L>, 4>(name, 20000);
	run->random<last<L, 2>, 4>(name, 20000);
	run->random<zero<L, 2>, 4>(name, 20000);
	run->random<cache<L>, 4>(name, 20000);
}

/* Waiters may park, so there are more interleavings. */
template <typename L>
void parked(hf_model::run *run, const char *name)
{
	run->search<counts<L>, 2>(name, 1);
	run->search<counts<L, true>, 2>(name, 1);
	run->search<last<L, 2>, 2>(name, 2);
	run->search<last<L, 1>, 2>(name, 2);
	run->search<zero<L, 2>, 2>(name, 2);
	run->search<cache<L>, 2>(name, 2);
	run->random<counts<L>, 3>(name, 60000);
	run->random<counts<L>, 4>(name, 60000);
	run->random<last<L, 2>, 4>(name, 60000);
	run->random<zero<L, 2>, 4>(name, 60000);
	run->random<cache<L>, 4>(name, 60000);
	run->random<not_zero<L>, 3>(name, 60000);
}

int main(int argc, char **argv)
{
	hf_model::run run("lockref", argc, argv);

#ifdef MODEL_VARIANT_NAME
	all<with_word>(&run, MODEL_VARIANT_NAME);
#else
	all<with_word>(&run, "word");
	all<with_byte>(&run, "byte");
	parked<with_park>(&run, "park");
	run.must_reach("the count changes by a swap", swapped);
	run.must_reach("the count changes under the lock", under_the_lock);
	run.must_reach("a count of 0 is revived", revived);
	run.must_reach("a lookup finds it dead", found_dead);
	run.must_reach("put_return says: take the lock", put_refused);
	run.must_reach("2 failed swaps, and the lock is taken", stats.most == 2);
	run.must_reach("taken because it was locked, or after failures", stats.fallbacks);
	run.must_reach(hf_model::transition_names[hf_model::T6_TAKE], reached[hf_model::T6_TAKE]);
	run.must_reach(hf_model::transition_names[hf_model::T4_BEHIND],
		       reached[hf_model::T4_BEHIND]);
	for (int t : { hf_model::WOKEN_BY_UNLOCK, hf_model::PARKS_AGAIN })
		run.must_reach(hf_model::mutex_transition_names[t], mutex_reached[t]);
#endif
	return run.end();
}
