// SPDX-License-Identifier: MIT
/*
 * mutex - include/holdfast/mutex.h, src/mutex and src/parking; the model parks
 * and wakes the threads.
 *
 * Checked
 *   each change   of the word: only one thread acquires it, and only the holder unlocks
 *                 (mutex_watch.h)
 *   exclusion     2 to 4 threads change plain data under the mutex: no data race, no lost update,
 *                 and at the end the word is 0 and the table is empty. No thread stays parked for
 *                 ever, with spurious wakeups too
 *   trylock       concurrent with lock, and with other trylocks; the first caller succeeds
 *   timeout       waiters time out at any point, parked or at the head of the queue, and consume no
 *                 wakeup
 *   freed         the last holder frees the mutex: no thread touches it afterwards
 *   crossed       four features, alone and in pairs: waiters that time out, a kernel without
 *                 membarrier(), a fork, two mutexes in one bucket. Searched with two threads,
 *                 random with three and four. The child of the fork holds the mutex and has none of
 *                 the other threads; it unlocks the mutex and finds it free
 *   at one time   aimed at a narrow window: two mutexes in one bucket, each with a parked waiter,
 *                 are both unlocked before the first waiter runs (Q6)
 *   stopped       the first waiter stops, in its sleep or anywhere in its wait: the one behind it
 *                 gets the mutex all the same (W8), also if the first one has missed an unlock,
 *                 since there was no barrier
 *   killed        a thread of another process dies at any step of its wait: the other threads
 *                 acquire the mutex, and at the end it is free; also while others time out
 * All timeouts are minimal, so that the search reaches every step early.
 */
// MUTANT: take_acquire HF_MUTANT=cmpxchg_acquire HF_MUTANT_IN=hf_detail_mutex_swap
// MUTANT: unlock_release HF_MUTANT=store_release HF_MUTANT_IN=hf_detail_mutex_set_free
// MUTANT: unlock_without_fence HF_MUTANT=fence_light
// MUTANT: parks_without_barrier HF_MUTANT=barrier_missing
// MUTANT: need_not_published HF_MUTANT=fetch_add_missing HF_MUTANT_IN=hf_detail_bucket_update
// MUTANT: not_marked_as_waking HF_MUTANT=store_relaxed_missing HF_MUTANT_IN=hf_detail_mark_first_waking
// MUTANT: wake_up_lost HF_MUTANT=unpark_missing HF_MUTANT_IN=hf_detail_waiter_wake
// MUTANT: park_torn HF_MUTANT=park_torn HF_MUTANT_IN=hf_detail_waiter_park
// MUTANT: take_torn HF_MUTANT=cmpxchg_torn HF_MUTANT_IN=hf_detail_mutex_swap
// MUTANT: leaver_wakes_nobody HF_MUTANT=store_relaxed_missing HF_MUTANT_IN=finish_wait HF_MODEL_ONLY="crossed: 3"
// MUTANT: skips_the_wake_of_another HF_MUTANT=load_relaxed_is_1 HF_MUTANT_IN=need_is_one HF_MODEL_ONLY=at
// MUTANT: parks_behind_an_old_flag HF_MUTANT=store_relaxed_keeps_bit1 HF_MUTANT_IN=hf_detail_bucket_change_flags HF_MODEL_ONLY=at
// MUTANT: released_release HF_MUTANT=xchg_acq_rel_loses_release HF_MUTANT_IN=hf_detail_waiter_release HF_MODEL_ONLY="mutex: 3 threads, random"
// MUTANT: released_acquire HF_MUTANT=load_acquire HF_MUTANT_IN=hf_detail_waiter_is_released HF_MODEL_ONLY="mutex: 3 threads, random"
// MUTANT: bucket_lock_acquire HF_MUTANT=cmpxchg_acquire HF_MUTANT_IN=hf_detail_bucket_lock_blocked
// MUTANT: bucket_unlock_release HF_MUTANT=xchg_acq_rel_loses_release HF_MUTANT_IN=hf_detail_bucket_unlock_blocked
// MUTANT: bucket_wake_up_lost HF_MUTANT=unpark_missing HF_MUTANT_IN=hf_detail_bucket_unlock_blocked
// MUTANT: bucket_park_torn HF_MUTANT=park_torn HF_MUTANT_IN=hf_detail_bucket_lock_blocked HF_MODEL_ONLY="mutex: 3 threads, random"
// MUTANT: unlock_stores_twice HF_MUTANT=store_release_twice HF_MUTANT_IN=hf_detail_mutex_set_free HF_MODEL_ONLY=freed
// MUTANT: shared_take_acquire HF_MUTANT=xchg_acq_rel_loses_acquire HF_MUTANT_IN=hf_detail_mutex_shared_lock_parked HF_MODEL_ONLY=shared
// MUTANT: shared_unlock_release HF_MUTANT=xchg_acq_rel_loses_release HF_MUTANT_IN=hf_detail_mutex_shared_release HF_MODEL_ONLY=shared
// MUTANT: shared_wake_up_lost HF_MUTANT=unpark_missing HF_MUTANT_IN=hf_detail_mutex_shared_wake HF_MODEL_ONLY=shared
// MUTANT: shared_park_torn HF_MUTANT=park_torn HF_MUTANT_IN=hf_detail_mutex_shared_lock_parked HF_MODEL_ONLY=shared
// MUTANT: stopped_and_relied_on HF_MUTANT=unpark_says_one HF_MUTANT_IN=hf_detail_waiter_wake HF_MODEL_ONLY="stopped asleep"
// MUTANT: stopped_and_still_first HF_MUTANT=store_relaxed_missing HF_MUTANT_IN=pass_over HF_MODEL_ONLY="stopped anywhere"
#include "parking_model.h"

#include "locks.h"
#include "mutex_watch.h"

using hf_model::exclusion;
using hf_model::tries;
using hf_model::tries_only;
using hf_model::until;

static unsigned long reached[hf_model::MUTEX_TRANSITIONS];
static unsigned long gave_up, forked_with_waiters, died;

static hf_model::mutex_watch *the_watch;

static bool has_it(bool taken)
{
	if (taken && the_watch)
		the_watch->has_it();
	return taken;
}

struct own {
	typedef hf_mutex_t type;
	static void init(type *m) { hf_mutex_init(m); }
	static void lock(type *m)
	{
		hf_mutex_lock(m);
		has_it(true);
	}
	static bool lock_timeout(type *m)
	{
		return has_it(hf_mutex_lock_timeout(m, HF_MODEL_LATE));
	}
	static bool trylock(type *m) { return has_it(hf_mutex_trylock(m)); }
	static void unlock(type *m) { hf_mutex_unlock(m); }
	static bool is_locked(const type *m) { return hf_mutex_is_locked(m); }
};

struct shared {
	typedef hf_mutex_shared_t type;
	static void init(type *m) { hf_mutex_shared_init(m); }
	static void lock(type *m) { hf_mutex_shared_lock(m); }
	static bool lock_timeout(type *m) { return hf_mutex_shared_lock_timeout(m, HF_MODEL_LATE); }
	static bool trylock(type *m) { return hf_mutex_shared_trylock(m); }
	static void unlock(type *m) { hf_mutex_shared_unlock(m); }
	static bool is_locked(const type *m) { return hf_mutex_shared_is_locked(m); }
};

/* @Naps spurious wakeups per thread. Without @Barriers, parked threads recheck periodically. */
template <typename Base, unsigned int Naps = 0, bool Barriers = true>
class watched : public Base {
	hf_model::parking parking_;
	hf_model::mutex_watch watch_{ reached };

public:
	watched()
	{
		for (hf_model::thread_state &t : threads) {
			t.naps = Naps;
			t.no_barriers = !Barriers;
			t.patrols = Barriers ? 0 : UINT_MAX;
		}
		the_watch = &watch_;
	}
	~watched() { the_watch = NULL; }
	void changed(const void *object, uint64_t, uint64_t after, const where &at)
	{
		if (the_watch && object == &this->lock_.word)
			watch_.changed((uint32_t)after, at);
		else if (the_watch)
			watch_.other(object, after, at);
	}
	void end()
	{
		Base::end();
		check(this->lock_.word.own.now() == 0, "nothing is left in the word");
		check(parking_.empty(), "nothing is left in the table");
	}
};

/* Process-shared: no table; parked threads recheck the mutex periodically. */
template <typename Base, unsigned int Patrols>
struct peers : Base {
	peers()
	{
		for (hf_model::thread_state &t : threads)
			t.patrols = Patrols;
	}
	void end()
	{
		Base::end();
		check(this->lock_.word.own.now() == 0, "nothing is left in the word");
	}
};

/* All threads but the last use a timeout, and may give up. */
template <typename L, int N>
struct timeouts : hf_model::locked<L> {
	void thread(unsigned int index)
	{
		if (index == N - 1) {
			L::lock(&this->lock_);
		} else if (!L::lock_timeout(&this->lock_)) {
			gave_up++;
			return;
		}
		this->work();
		L::unlock(&this->lock_);
	}
};

/*
 * Each thread holds a reference. The thread that drops the last one, under the lock, frees the
 * lock.
 */
template <typename L, int N>
class one_more : public hf_model::locked<L> {
	int references_ = N;
	hf_model::parking parking_;

public:
	void thread(unsigned int)
	{
		L::lock(&this->lock_);
		this->work();
		bool is_last = --references_ == 0;
		L::unlock(&this->lock_);
		if (is_last)
			this->lock_.word.own.free();
	}
	void end() { check(parking_.empty(), "nothing is left in the table"); }
};

/*
 * Thread 0 holds two mutexes of one bucket. Each has a parked waiter; with @Late the second one
 * parks only after the first mutex was unlocked. Thread 0 unlocks both before the first waiter
 * runs, unless that waiter runs at once.
 */
template <bool Late>
class at_one_time : public hf_model::scenario {
	hf_mutex_t lock_[2];
	hf_model::parking parking_;
	bool held_ = false, first_is_unlocked_ = false;

public:
	at_one_time()
	{
		hf_mutex_init(&lock_[0]);
		hf_mutex_init(&lock_[1]);
	}
	void thread(unsigned int index)
	{
		if (index == 0) {
			hf_mutex_lock(&lock_[0]);
			hf_mutex_lock(&lock_[1]);
			held_ = true;
			until([] { return hf_model::sleeping == (Late ? 1 : 2); });
			hf_mutex_unlock(&lock_[0]);
			first_is_unlocked_ = true;
			until([] {
				return !Late || hf_model::sleeping == 1 || the_table_is_idle();
			});
			hf_mutex_unlock(&lock_[1]);
			return;
		}
		until([this, index] { return Late && index == 2 ? first_is_unlocked_ : held_; });
		hf_mutex_lock(&lock_[index - 1]);
		hf_mutex_unlock(&lock_[index - 1]);
	}
	/*
	 * Don't check for an empty table: the mutants of this scenario must fail by a lost wakeup.
	 */

private:
	/* Both waiters have the mutex or are about to: no thread parks any more. */
	static bool the_table_is_idle() { return !hf_model::the_table->bucket[0].first; }
};

/*
 * Thread 2 holds the mutex until the others wait for it, thread 0 first, and thread 0 stops.
 * Thread 1 must get the mutex before thread 0 goes on.
 */
template <bool Anywhere, bool Barriers = true>
class stopped : public hf_model::parked {
	hf_mutex_t lock_;
	hf_model::stopper<2, Anywhere> stopper_;
	bool held_ = false, has_ended_ = false; /* thread 0 */

public:
	stopped()
	{
		hf_mutex_init(&lock_);
		for (hf_model::thread_state &t : threads) {
			t.no_barriers = !Barriers;
			t.patrols = Barriers ? t.patrols : UINT_MAX;
		}
	}
	void thread(unsigned int index)
	{
		if (index == 0) {
			until([this] { return held_; });
			stopper_.begin_of_wait();
			hf_mutex_lock(&lock_);
			stopper_.end_of_wait();
		} else if (index == 1) {
			until([this] {
				return has_ended_ || (held_ && (hf_model::sleeping == 1 ||
								stopper_.is_stopped()));
			});
			hf_mutex_lock(&lock_);
		} else {
			hf_mutex_lock(&lock_);
			held_ = true;
			if (!Anywhere)
				until([this] {
					return hf_model::sleeping + stopper_.is_stopped() == 2;
				});
		}
		hf_mutex_unlock(&lock_);
		if (index != 0)
			stopper_.other_has_ended();
		else
			has_ended_ = true;
	}
	void changed(const void *object, uint64_t, uint64_t after, const where &)
	{
		stopper_.changed(object, after, lock_.word);
	}
};

enum { TIMED = 1, NO_BARRIER = 2, FORK = 4, TWO = 8 };

/*
 * Any combination of the features. With two mutexes, which share a bucket, each thread takes one
 * after the other. With a fork, thread 0 forks while it holds the mutex, at any step of the other
 * threads. The child is modelled as thread 0 with the same mutex word and an empty table.
 */
template <int N, unsigned int Features>
class crossed : public hf_model::scenario {
	hf_mutex_t lock_[2];
	hf_mutex_t child_;
	plain data_[2];
	int expected_[2] = {};
	hf_model::parking childs_{ false }, parking_;

	void forks(const hf_mutex_t &lock)
	{
		hf_model::step one; /* no other thread runs in the child */

		forked_with_waiters += !parking_.empty();
		hf_atomic32_store_relaxed(&child_.word, lock.word.own.now());
		childs_.use();
		hf_mutex_unlock(&child_);
		hf_mutex_lock(&child_);
		check(!hf_mutex_trylock(&child_), "the child has it");
		hf_mutex_unlock(&child_);
		check(child_.word.own.now() == 0 && childs_.empty(), "free and fast");
		parking_.use();
	}
	void once(unsigned int index, unsigned int which)
	{
		if ((Features & TIMED) && index != N - 1) {
			if (!hf_mutex_lock_timeout(&lock_[which], HF_MODEL_LATE)) {
				gave_up++;
				return;
			}
		} else {
			hf_mutex_lock(&lock_[which]);
		}
		increment(data_[which]);
		expected_[which]++;
		if ((Features & FORK) && index == 0)
			forks(lock_[which]);
		hf_mutex_unlock(&lock_[which]);
	}

public:
	crossed()
	{
		for (int i = 0; i < 2; i++) {
			hf_mutex_init(&lock_[i]);
			set(data_[i], 0);
		}
		hf_mutex_init(&child_);
		for (hf_model::thread_state &t : threads) {
			t.no_barriers = Features & NO_BARRIER;
			t.patrols = Features & NO_BARRIER ? UINT_MAX : 0;
		}
	}
	void thread(unsigned int index)
	{
		once(index, 0);
		if (Features & TWO)
			once(index, 1);
	}
	void end()
	{
		for (int i = 0; i < 2; i++)
			check(get(data_[i]) == expected_[i], "no increment is lost");
		check(parking_.empty(), "nothing is left in the table");
	}
};

/* Thread 0 is a process that is killed at any step of its wait. @Timed: the others may time out. */
template <int N, bool Timed = false>
struct killed : hf_model::locked<shared> {
	killed()
	{
		threads[0].mortal = true;
		for (hf_model::thread_state &t : threads)
			t.patrols = UINT_MAX; /* parked threads always recheck eventually */
	}
	void thread(unsigned int index)
	{
		bool taken = true;

		try {
			if (Timed && index == N - 1)
				taken = shared::lock_timeout(&lock_);
			else
				shared::lock(&lock_);
		} catch (const hf_model::death &) {
			died++;
			return;
		}
		hf_model::self().mortal = false;
		if (!taken)
			return;
		work();
		shared::unlock(&lock_);
	}
	void end()
	{
		hf_model::locked<shared>::end();
		check(shared::trylock(&lock_), "it can be had at once");
		check(lock_.word.own.now() == HF_DETAIL_MUTEX_LOCKED, "and is fast");
		shared::unlock(&lock_);
	}
};

/* Two mutexes double the steps: allow fewer preemptions, else the search takes minutes. */
template <unsigned int Features>
static void pair(hf_model::run *run)
{
	run->search<crossed<2, Features>, 2>("crossed", Features & TWO ? 1 : 2);
	run->random<crossed<3, Features>, 3>("crossed", 50000);
}

int main(int argc, char **argv)
{
	hf_model::run run("mutex", argc, argv);
	const char *name = "mutex";

	run.search<watched<exclusion<own>>, 2>(name, 3);
	run.search<watched<exclusion<own, 2>>, 2>(name, 2);
	run.search<watched<exclusion<own>>, 3>(name, 1);
	run.search<watched<exclusion<own>, 1>, 2>(name, 2);
	run.search<watched<tries<own>>, 2>(name, 2);
	run.search<watched<tries_only<own>>, 2>(name, ALL);
	run.search<watched<timeouts<own, 2>>, 2>(name, 3);
	run.search<one_more<own, 2>, 2>("freed", 3);
	run.search<one_more<shared, 2>, 2>("freed", 3);
	run.random<watched<exclusion<own, 3>>, 2>(name, 200000);
	run.random<watched<exclusion<own, 2>>, 3>(name, 200000);
	run.random<watched<exclusion<own, 2>, 1>, 4>(name, 30000);
	run.random<watched<tries<own>>, 3>(name, 20000);
	run.random<watched<timeouts<own, 3>>, 3>(name, 200000);
	run.random<watched<timeouts<own, 4>, 1>, 4>(name, 30000);
	run.random<one_more<own, 3>, 3>("freed", 30000);
	run.random<one_more<shared, 3>, 3>("freed", 30000);

	run.random<at_one_time<false>, 3>("at one time", 2000);
	run.random<at_one_time<true>, 3>("at one time", 2000);
	run.random<stopped<false>, 3>("stopped asleep", 30000);
	run.random<stopped<true>, 3>("stopped anywhere", 60000);
	run.random<stopped<true, false>, 3>("stopped, no barrier", 60000);
	run.random<watched<exclusion<own, 2>, 0, false>, 2>("no barrier", 30000);
	run.random<watched<exclusion<own, 2>, 0, false>, 3>("no barrier", 30000);
	run.random<watched<timeouts<own, 3>, 0, false>, 3>("no barrier", 400000);
	run.search<crossed<2, TWO>, 2>("crossed", 2);
	run.random<crossed<4, TWO>, 4>("crossed", 60000);
	run.search<crossed<2, FORK>, 2>("crossed", 2);
	run.random<crossed<4, FORK>, 4>("crossed", 30000);
	pair<TIMED | NO_BARRIER>(&run);
	pair<TIMED | FORK>(&run);
	pair<TIMED | TWO>(&run);
	pair<NO_BARRIER | FORK>(&run);
	pair<NO_BARRIER | TWO>(&run);
	pair<FORK | TWO>(&run);
	run.random<crossed<3, TIMED | NO_BARRIER | FORK | TWO>, 3>("crossed", 30000);

	run.search<peers<exclusion<shared>, 0>, 2>("shared", 4);
	run.search<peers<timeouts<shared, 2>, 0>, 2>("shared", 3);
	run.random<peers<exclusion<shared, 2>, 1>, 3>("shared", 30000);
	run.random<peers<tries<shared>, 1>, 3>("shared", 20000);
	run.random<peers<timeouts<shared, 3>, 1>, 3>("shared", 30000);
	run.random<killed<2>, 2>("killed", 50000);
	run.random<killed<3>, 3>("killed", 50000);
	run.random<killed<2, true>, 2>("killed", 50000);
	run.random<killed<3, true>, 3>("killed", 50000);

	for (int t = 0; t < hf_model::MUTEX_TRANSITIONS; t++)
		run.must_reach(hf_model::mutex_transition_names[t], reached[t]);
	run.must_reach("a thread gives up", gave_up);
	run.must_reach("a fork while others wait", forked_with_waiters);
	run.must_reach("a peer is killed", died);
	run.must_reach("the first waiter stops in its sleep", hf_model::stopper<2, false>::stops);
	run.must_reach("the first waiter stops", hf_model::stopper<2, true>::stops);
	return run.end();
}
