// SPDX-License-Identifier: MIT
/*
 * mutex - include/holdfast/mutex.h and src/mutex.c, with parking by the model (env_model.h).
 *
 * Checked
 *   each change   is one of M1 to M13, and keeps X1, X2 and X5 (mutex_watch.h)
 *   exclusion     2 to 4 threads change plain data under it: no race, nothing lost, the word 0 at
 *                 the end; and no thread is parked for ever (X3), though some wake for no reason
 *   trylock       against lock, and alone; the first to come gets it
 *   timeout       some give up at any moment, parked or as the next waiter, and take no wake-up
 *   with them one more      the last holder frees it: no thread changes it afterwards (X4)
 *   dead peers    between processes: the word has a waiter who is dead; the others get the lock
 * All limits are as low as can be, so that each step is near the beginning of the search.
 */
// MUTANT: take_acquire HF_MUTANT=cmpxchg_acquire HF_MUTANT_IN=hf__mutex_take
// MUTANT: barge_acquire HF_MUTANT=cmpxchg_acquire HF_MUTANT_IN=try_barge
// MUTANT: next_acquire HF_MUTANT=cmpxchg_acquire HF_MUTANT_IN=wait_pending
// MUTANT: unlock_release HF_MUTANT=fetch_sub_release HF_MUTANT_IN=hf__mutex_unlock
// MUTANT: unlock_slow_release HF_MUTANT=cmpxchg_release HF_MUTANT_IN=hf__mutex_unlock_slow
// MUTANT: wake_up_lost HF_MUTANT=unpark_missing HF_MUTANT_IN=hf__mutex_unlock_slow
// MUTANT: late_wake_up_lost HF_MUTANT=unpark_missing HF_MUTANT_IN=hf__mutex_unlock_late
// MUTANT: park_torn HF_MUTANT=park_torn
// MUTANT: never_closed HF_MUTANT=own HF_MUTANT_IN=hf__mutex_unlock_slow
// MUTANT: take_torn HF_MUTANT=cmpxchg_torn HF_MUTANT_IN=hf__mutex_take
// MUTANT: barge_torn HF_MUTANT=cmpxchg_torn HF_MUTANT_IN=try_barge
// MUTANT: park_step_torn HF_MUTANT=cmpxchg_torn HF_MUTANT_IN=hf__mutex_lock_slow
// MUTANT: next_torn HF_MUTANT=cmpxchg_torn HF_MUTANT_IN=wait_pending
// MUTANT: woken_torn HF_MUTANT=cmpxchg_torn HF_MUTANT_IN=park_until_woken
// MUTANT: unlock_torn HF_MUTANT=fetch_torn HF_MUTANT_IN=hf__mutex_unlock
// MUTANT: unlock_slow_torn HF_MUTANT=cmpxchg_torn HF_MUTANT_IN=hf__mutex_unlock_slow
#define HF_ATOMIC_HEADER "backend.h"
#define HF_ARCH_HEADER "arch_model.h"
#define HF_ENV_HEADER "env_model.h"
#include "locks.h"

/* The mutant `own` never closes the lock when it unlocks. */
#define TURN 2
#define HF_MUTEX_TURN                                                                              \
	(hf_model::is_mutant(hf_model::mutant::own, HF_MODEL_HERE) ? INT32_MAX / 2 : TURN)
#define HF_MUTEX_SPIN_NS 1
#define HF_MUTEX_EXCHANGES 2
#define HF_MUTEX_WAKING_LOOKS 1
#define HF_MUTEX_LEAVE_NS 0
#define HF_MUTEX_NEAR_LOOKS 1
#define HF_MUTEX_FAR_LOOKS 0
#define HF_MUTEX_KEEP_NS 1
#define HF_MUTEX_PATROL_NS 1
#define HF_MUTEX_TURN_USED turn_used[rl::thread_index()]

static int32_t turn_used[HF_MODEL_THREADS];

#include "../../src/mutex.c"
#include "mutex_watch.h"

using hf_model::ALL;
using hf_model::check;
using hf_model::exclusion;
using hf_model::threads;
using hf_model::tries;
using hf_model::tries_only;

static unsigned long reached[hf_model::MUTEX_TRANSITIONS];
static unsigned long gave_up;

struct own {
	typedef hf_mutex_t type;
	static void init(type *m) { hf_mutex_init(m); }
	static void lock(type *m) { hf_mutex_lock(m); }
	static bool lock_timeout(type *m) { return hf_mutex_lock_timeout(m, HF_MODEL_LATE); }
	static bool trylock(type *m) { return hf_mutex_trylock(m); }
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

/* Each thread may wake so often for no reason, and on patrol. Left: what dead peers left in the word. */
template <typename Base, unsigned int Naps = 0, unsigned int Patrols = 0, uint32_t Left = 0>
class watched : public Base {
	/* A patrol makes a second thread the next waiter; it is as if the first were dead. */
	hf_model::mutex_watch watch_{ TURN, Left || Patrols, reached };
	bool ready_ = false;

public:
	watched()
	{
		for (unsigned int i = 0; i < HF_MODEL_THREADS; i++) {
			threads[i].naps = Naps;
			threads[i].patrols = Patrols;
			turn_used[i] = 0;
		}
		if (Left)
			hf_atomic32_store_relaxed(&this->lock_.word, Left);
		ready_ = true;
	}
	void changed(const void *object, uint64_t before, uint64_t after, const hf_model::where &at)
	{
		if (object == &this->lock_.word && ready_)
			watch_.changed((uint32_t)before, (uint32_t)after, at);
	}
	void end()
	{
		Base::end();
		check(Left || this->lock_.word.own.now() == 0, "nothing is left in the word");
	}
};

/* All but the last thread wait for a time only, maybe. */
template <typename L, int N>
class timeouts : public hf_model::locked<L> {
public:
	static const char *title() { return "timeout"; }

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

/* Each has a reference; whoever gives back the last one, under the lock, frees the lock. */
template <typename L, int N>
class one_more : public hf_model::locked<L> {
	int references_ = N;
	bool freed_ = false;

public:
	static const char *title() { return "freed by the last"; }

	void thread(unsigned int)
	{
		L::lock(&this->lock_);
		this->work();
		bool is_last = --references_ == 0;
		L::unlock(&this->lock_);
		if (is_last)
			freed_ = true;
	}
	void changed(const void *object, uint64_t, uint64_t, const hf_model::where &at)
	{
		check(!freed_ || object != &this->lock_.word, "X4: changed after it was freed", at);
	}
	void refused(const void *object, const hf_model::where &at)
	{
		check(!freed_ || object != &this->lock_.word, "X4: touched after it was freed", at);
	}
};

/* Patrols: one for each time that a dead peer holds one up, and one more. */
template <uint32_t Left>
static void dead_peers(hf_model::run *run)
{
	run->search<watched<exclusion<shared>, 0, 2, Left>, 2>("dead peers", 3);
	run->random<watched<exclusion<shared, 2>, 0, 3, Left>, 3>("dead peers", 10000);
}

int main(int argc, char **argv)
{
	hf_model::run run("mutex", argc, argv);
	const char *name = "mutex";

	run.search<watched<exclusion<own>>, 2>(name, ALL);
	run.search<watched<exclusion<own, 1, 7>>, 2>(name, 2);
	run.search<watched<exclusion<own, 2>>, 2>(name, 4);
	run.search<watched<exclusion<own>>, 3>(name, 2);
	run.search<watched<exclusion<own>, 1>, 2>(name, 3);
	run.search<watched<tries<own>>, 2>(name, 4);
	run.search<watched<tries_only<own>>, 2>(name, ALL);
	run.search<watched<timeouts<own, 2>>, 2>(name, ALL);
	run.search<watched<timeouts<own, 3>>, 3>(name, 1);
	run.search<one_more<own, 2>, 2>(name, 4);
	run.random<watched<exclusion<own, 2>>, 3>(name, 50000);
	run.random<watched<exclusion<own, 2>, 1>, 4>(name, 30000);
	run.random<watched<tries<own>>, 3>(name, 20000);
	run.random<watched<timeouts<own, 3>>, 3>(name, 50000);
	run.random<watched<timeouts<own, 4>, 1>, 4>(name, 30000);

	name = "shared";
	run.search<watched<exclusion<shared>, 0, 1>, 2>(name, 3);
	run.random<watched<exclusion<shared, 2>, 0, 2>, 3>(name, 30000);
	run.random<watched<timeouts<shared, 3>, 0, 2>, 3>(name, 30000);

	dead_peers<HF__MUTEX_PENDING>(&run);
	dead_peers<HF__MUTEX_PENDING | HF__MUTEX_CLOSED>(&run);
	dead_peers<HF__MUTEX_PENDING | HF__MUTEX_CLOSED | HF__MUTEX_PARKED_ONE>(&run);
	dead_peers<HF__MUTEX_WAKING | HF__MUTEX_PARKED_ONE>(&run);
	dead_peers<HF__MUTEX_WAKING | HF__MUTEX_CLOSED | HF__MUTEX_PARKED_ONE>(&run);
	dead_peers<HF__MUTEX_PARKED_ONE>(&run);

	for (int t = 0; t < hf_model::MUTEX_TRANSITIONS; t++)
		run.must_reach(hf_model::mutex_transition_names[t], reached[t]);
	run.must_reach("a thread gives up", gave_up);
	return run.end();
}
