// SPDX-License-Identifier: MIT
/*
 * lockref_waitfree - killing and reviving objects while other threads change the count, under the
 * C11 memory model.
 *
 * Checked, on lockref_waitfree.h with a queued spinlock as its lock half
 *   use and put     each thread has a reference, and uses the object's plain data: no data race
 *                   with the thread that kills it and (as after a grace period) overwrites all of
 *                   it; it is killed once
 *   lookup          get_not_dead concurrent with the last put: true only if alive, also if revived
 *   holder          gets and puts continue while a thread holds the lock; that thread kills the
 *                   object only if no other thread has a reference, and then sees all accesses made
 *                   with references that were dropped since it took the lock
 *   reap            objects without references are either found again or killed, whichever is first
 *   type-stable     killed, changed and revived in the same memory: get_not_dead_acquire sees the
 *                   new identity, and no operation that began before a revive undoes it, also with
 *                   a dead count that has drifted
 *   misuse          an overflow, and one put too many: saturated, reported, never killed
 * and in all of them each change of the word: W1 to W4, and the lock's own invariants
 * (queued_watch.h).
 *
 * The mutant `own` places DEAD at the end of its zone: a single get makes the object alive again.
 */
// MUTANT: put_release HF_MUTANT=fetch_sub64_release
// MUTANT: dead_acquire HF_MUTANT=cmpxchg64_acquire HF_MUTANT_IN=hf_lockref_waitfree_mark_dead
// MUTANT: dead_unconditional HF_MUTANT=cmpxchg64_blind HF_MUTANT_IN=hf_lockref_waitfree_mark_dead
// MUTANT: dead_torn HF_MUTANT=cmpxchg64_torn HF_MUTANT_IN=hf_lockref_waitfree_mark_dead
// MUTANT: dead_not_sticky HF_MUTANT=own
// MUTANT: put_back_unconditional HF_MUTANT=cmpxchg64_blind HF_MUTANT_IN=hf_detail_waitfree_stay_dead HF_MODEL_ONLY=drifted
// MUTANT: put_does_not_look HF_MUTANT=load_high32_is_0 HF_MUTANT_IN=hf_detail_waitfree_put_or_lock_slow
// MUTANT: get_acquire HF_MUTANT=fence_acquire HF_MODEL_ONLY=stable
// MUTANT: revive_release HF_MUTANT=cmpxchg64_release HF_MODEL_ONLY=stable
// MUTANT: revive_torn HF_MUTANT=cmpxchg64_torn HF_MUTANT_IN=hf_lockref_waitfree_revive HF_MODEL_ONLY=stable
// MUTANT: get_torn HF_MUTANT=fetch64_torn HF_MUTANT_IN=hf_lockref_waitfree_get_not_dead
// MUTANT: put_torn HF_MUTANT=fetch64_torn HF_MUTANT_IN=hf_lockref_waitfree_put_or_lock
// MUTANT: not_saturated HF_MUTANT=store_high32_missing HF_MODEL_ONLY=misuse
// MUTANT: saturation_stores_the_word HF_MUTANT=store_high32_wide HF_MODEL_ONLY=misuse
// MUTANT: unlock_release HF_MUTANT=store_low8_release
// MUTANT: unlock_stores_the_word HF_MUTANT=store_low8_wide
#define HF_LOCKREF_LOCK_HEADER "queued_half.h"
#define HF_SPINLOCK_QUEUED_PASSES 1
#define HF_SPINLOCK_QUEUED_PATIENCE_NS 2
#define HF_ARCH_HAS_CMPXCHG8 1
#include "counts.h"
#include "queued_watch.h"

#define HF_DETAIL_WAITFREE_DEAD                                                                    \
	(hf_model::the_mutant == hf_model::mutant::own ? HF_DETAIL_WAITFREE_FROM_BELOW - 1         \
						       : 0xc0000000u)
#include "holdfast/lockref_waitfree.h"

static unsigned long reached[hf_model::TRANSITIONS];
static unsigned long moved_while_locked, revived, found_dead, killed_with_one, not_killed,
	not_the_last, put_back;

enum zone { LIVE, DEAD, SATURATED };

static zone zone_of(uint64_t word)
{
	if ((int64_t)word >= 0)
		return LIVE;
	return hf_detail_waitfree_is_dead(word) ? DEAD : SATURATED;
}

/* An object: the lockref word, and plain data that the lock protects. */
class object : public hf_model::used_object {
	hf_model::queued_watch watch_{ HF_SPINLOCK_QUEUED_PASSES, true, reached };

protected:
	hf_lockref_waitfree_t ref_;
	plain locked_;
	int expected_ = 0;
	bool misused_ = false;
	bool ready_ = false;

	explicit object(uint32_t count)
	{
		hf_lockref_waitfree_init(&ref_, (int32_t)count);
		set(locked_, 0);
		ready_ = true;
	}

	/* Called with the lock held. */
	void work()
	{
		check(holds(), "the lock is held");
		increment(locked_);
		expected_++;
	}

	/*
	 * Called with the lock held. True = killed; it then overwrites the data, as freeing would.
	 */
	bool kill(int32_t count)
	{
		work();
		if (!hf_lockref_waitfree_mark_dead(&ref_, count)) {
			not_killed++;
			return false;
		}
		check(hf_lockref_waitfree_is_dead(&ref_), "W1: dead, and not dead");
		free_it();
		return true;
	}

	void put()
	{
		if (hf_lockref_waitfree_put_or_lock(&ref_))
			return;
		check(holds(), "false = the lock is held");
		check(!hf_lockref_waitfree_is_dead(&ref_), "false = alive");
		(void)kill(0);
		hf_lockref_waitfree_unlock(&ref_);
	}

	bool holds() { return watch_.holder() == (int)rl::thread_index(); }
	uint64_t now() { return ref_.word.word.now(); }

public:
	void changed(const void *object, uint64_t before, uint64_t after, const where &at)
	{
		zone from = zone_of(before), to = zone_of(after);

		if (object != &ref_.word || before == after || !ready_)
			return;
		if ((uint32_t)before != (uint32_t)after) {
			check(before >> 32 == after >> 32, "lock and count change together", at);
			watch_.changed((uint32_t)before, (uint32_t)after, at);
			return;
		}
		if (from != to && !misused_) {
			check(from != SATURATED && to != SATURATED, "W4: saturated", at);
			check(holds(), "W1: life or death without the lock", at);
		}
		if (from == LIVE && to == LIVE && watch_.holder() != -1 && !holds())
			moved_while_locked++;
		if (from == LIVE && before >> 32 == 0 && after >> 32 == 1)
			revived++;
		if (strcmp(at.func_, "hf_detail_waitfree_stay_dead") == 0)
			put_back++;
	}

	void end()
	{
		check(get(locked_) == expected_, "nothing is lost that is done under the lock");
		check((uint32_t)now() == 0, "the lock is free");
		check(misused_ || hf_model::all_reports() == 0, "no misuse");
	}
	void end_dead()
	{
		check(freed_ == 1, "killed once");
		check(zone_of(now()) == DEAD, "dead");
		object::end();
	}
};

/* Threads 0 .. N-1 have a reference each, the others look the object up. */
template <int N>
struct lookup : object {
	lookup() : object(N) {}
	void thread(unsigned int index)
	{
		if (index >= N && !hf_lockref_waitfree_get_not_dead(&ref_)) {
			found_dead++;
			return;
		}
		use(index);
		put();
	}
	void end() { end_dead(); }
};

/* Each thread has a reference and takes a second one. */
struct get_and_put : object {
	get_and_put() : object(2) {}
	void thread(unsigned int index)
	{
		hf_lockref_waitfree_get(&ref_);
		if (!hf_lockref_waitfree_put_or_lock(&ref_))
			check(false, "not the last");
		use(index);
		put();
	}
	void end() { end_dead(); }
};

/*
 * Thread 0 has the lock and a reference; it kills the object if that is the only one, else puts it.
 */
template <bool Try>
struct holder : object {
	holder() : object(2) {}
	void thread(unsigned int index)
	{
		if (index == 0) {
			if (!Try)
				hf_lockref_waitfree_lock(&ref_);
			else if (!hf_lockref_waitfree_trylock(&ref_))
				return put();
			bool alive = !hf_lockref_waitfree_is_dead(&ref_);
			bool dead = kill(1);

			check(alive, "there is a reference");
			killed_with_one += dead;
			hf_lockref_waitfree_unlock(&ref_);
			if (!dead)
				put();
		} else if (index == 1 || hf_lockref_waitfree_get_not_dead(&ref_)) {
			use(index);
			put();
		}
	}
	void end() { end_dead(); }
};

/* Thread 0 reaps the object if it has no references; the others look it up, use it and put it. */
struct reap : object {
	reap() : object(0) {}
	void thread(unsigned int index)
	{
		if (index == 0) {
			hf_lockref_waitfree_lock(&ref_);
			(void)kill(0);
			hf_lockref_waitfree_unlock(&ref_);
			return;
		}
		if (!hf_lockref_waitfree_get_not_dead(&ref_)) {
			found_dead++;
			return;
		}
		use(index);
		if (hf_lockref_waitfree_put_return(&ref_) > 0)
			not_the_last++;
	}
	void end()
	{
		check(freed_ || now() == 0, "dead or without references");
		object::end();
	}
};

/* The thread that kills the first object revives it as the second; others look it up. */
template <uint32_t Drift>
class type_stable : public object {
	plain key_;
	int revived_ = 0;

	void revive()
	{
		check(++revived_ == 1, "revived once");
		set(key_, 2);
		check(hf_lockref_waitfree_revive(&ref_, 1), "it is dead");
	}

public:
	type_stable() : object(Drift ? Drift : 1) { set(key_, 1); }
	void thread(unsigned int index)
	{
		if (index == 0 && Drift) {
			hf_lockref_waitfree_lock(&ref_);
			revive();
			hf_lockref_waitfree_unlock(&ref_);
		} else if (index == 0) {
			drop();
		} else if (hf_lockref_waitfree_get_not_dead_acquire(&ref_)) {
			int is = get(key_);

			check(is == 1 || is == 2, "one of both");
			drop();
		}
	}
	void drop()
	{
		if (hf_lockref_waitfree_put_or_lock(&ref_))
			return;
		/* The second object always has a reference. */
		if (hf_lockref_waitfree_mark_dead(&ref_, 0))
			revive();
		hf_lockref_waitfree_unlock(&ref_);
	}
	void end()
	{
		check(revived_ == 1, "revived once");
		check(now() == HF_DETAIL_WAITFREE_ONE, "one reference, the lock is free");
		object::end();
	}
};

/* At the maximum: one more get than puts, and a thread that tries to kill the object. */
struct overflow : object {
	overflow() : object(INT32_MAX) { misused_ = true; }
	void thread(unsigned int index)
	{
		if (index == 0) {
			hf_lockref_waitfree_get(&ref_);
		} else if (index == 1) {
			check(hf_lockref_waitfree_get_not_dead(&ref_), "alive");
		} else {
			put();
			hf_lockref_waitfree_lock(&ref_);
			check(!hf_lockref_waitfree_mark_dead(&ref_, 0), "W4");
			hf_lockref_waitfree_unlock(&ref_);
		}
	}
	void end()
	{
		check(now() >> 32 == HF_DETAIL_WAITFREE_SATURATED, "saturated when all is done");
		check(hf_model::reports[HF_REPORT_LOCKREF_OVF] >= 1, "reported");
		object::end();
	}
};

/* Two puts for one reference, and a thread that holds the lock meanwhile. */
struct put_too_many : object {
	put_too_many() : object(1) { misused_ = true; }
	void thread(unsigned int index)
	{
		if (index < 2) {
			put();
			return;
		}
		hf_lockref_waitfree_lock(&ref_);
		work();
		hf_lockref_waitfree_unlock(&ref_);
	}
	void end()
	{
		check(freed_ <= 1, "killed once at the most");
		check(freed_ ? zone_of(now()) == DEAD : now() >> 32 == HF_DETAIL_WAITFREE_SATURATED,
		      "dead or saturated");
		check(hf_model::reports[HF_REPORT_LOCKREF_PUT] == 1, "reported");
		object::end();
	}
};

int main(int argc, char **argv)
{
	hf_model::run run("lockref_waitfree", argc, argv);
	const char *name = "waitfree";

	run.search<lookup<2>, 2>(name, 5);
	run.search<lookup<1>, 2>(name, 5);
	run.search<lookup<3>, 3>(name, 3);
	run.search<lookup<1>, 3>(name, 2);
	run.search<get_and_put, 2>(name, 5);
	run.search<holder<false>, 2>(name, 5);
	run.search<holder<true>, 2>(name, 5);
	run.search<holder<false>, 3>(name, 3);
	run.search<reap, 2>(name, 6);
	run.search<reap, 3>(name, 3);
	run.search<type_stable<0>, 2>("stable", 5);
	run.search<type_stable<0>, 3>("stable", 2);
	run.search<type_stable<0xd0000000>, 2>("drifted", 5);
	run.search<overflow, 3>("misuse", 3);
	run.search<put_too_many, 2>("misuse", 5);
	run.search<put_too_many, 3>("misuse", 3);
	run.random<lookup<2>, 4>(name, 20000);
	run.random<holder<false>, 4>(name, 20000);
	run.random<reap, 4>(name, 20000);
	run.random<type_stable<0>, 4>("stable", 20000);
	run.random<type_stable<0xd0000000>, 3>("drifted", 20000);
	run.must_reach("the count moves while another has the lock", moved_while_locked);
	run.must_reach("a count of 0 is revived", revived);
	run.must_reach("a lookup finds it dead", found_dead);
	run.must_reach("killed by the holder, with its reference", killed_with_one);
	run.must_reach("not killed: another thread took a reference", not_killed);
	run.must_reach("put_return leaves references", not_the_last);
	run.must_reach("a dead count is put back", put_back);
	run.must_reach(hf_model::transition_names[hf_model::T6_TAKE], reached[hf_model::T6_TAKE]);
	run.must_reach(hf_model::transition_names[hf_model::T3_PENDING],
		       reached[hf_model::T3_PENDING]);
	return run.end();
}
