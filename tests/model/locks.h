/* SPDX-License-Identifier: MIT */
#ifndef HF_MODEL_LOCKS_H
#define HF_MODEL_LOCKS_H
/*
 * locks - the scenarios that every spinlock must pass, for spinlock.cpp, spinlock_queued.cpp and
 * spinlock_variants.cpp.
 *
 * A lock is a type parameter, defined by LOCK(name here, name in the headers, namespace that it was
 * included in).
 */
#include "run.h"

#include "holdfast/internal/wait.h"

#define LOCK(name_, header_name_, in_)                                                             \
	OPERATIONS(name_##_operations, hf_spinlock_##header_name_, in_);                           \
	struct name_ : name_##_operations {                                                        \
		static void lock_by(type *l, enum hf_wait_policy policy)                           \
		{                                                                                  \
			hf_env_preempt_disable();                                                  \
			in_::hf_detail_spinlock_##header_name_##_lock(l, policy);                  \
		}                                                                                  \
	}

/* hf_spinlock_t, as spinlock.h was included in that namespace. */
#define SPINLOCK(name_, in_)                                                                       \
	OPERATIONS(name_##_operations, hf_spinlock, in_);                                          \
	struct name_ : name_##_operations {                                                        \
		static void lock_full(type *l) { in_::hf_spinlock_lock_full(l); }                  \
		static void unlock_full(type *l) { in_::hf_spinlock_unlock_full(l); }              \
	}

#define OPERATIONS(name_, prefix_, in_)                                                            \
	struct name_ {                                                                             \
		typedef in_::prefix_##_t type;                                                     \
		static void init(type *l) { in_::prefix_##_init(l); }                              \
		static void lock(type *l) { in_::prefix_##_lock(l); }                              \
		static bool trylock(type *l) { return in_::prefix_##_trylock(l); }                 \
		static bool is_locked(const type *l) { return in_::prefix_##_is_locked(l); }       \
		static void unlock(type *l) { in_::prefix_##_unlock(l); }                          \
	}

namespace hf_model
{

/* A lock, and plain data that it protects. */
template <typename L>
class locked : public scenario {
protected:
	typename L::type lock_;
	plain data_;
	int expected_ = 0;

	locked()
	{
		L::init(&lock_);
		set(data_, 0);
	}

	/* Under the lock. */
	void work()
	{
		increment(data_);
		expected_++;
	}

public:
	void end()
	{
		check(get(data_) == expected_, "no increment is lost");
		check(!L::is_locked(&lock_), "free at the end");
	}
};

/*
 * Each thread locks Rounds times, thread 0 First times. Policy: a wait policy, or -1 for the
 * default.
 */
template <typename L, int Rounds = 1, int First = Rounds, int Policy = -1>
struct exclusion : locked<L> {
	void thread(unsigned int index)
	{
		for (int i = 0; i < (index == 0 ? First : Rounds); i++) {
			if constexpr (Policy < 0)
				L::lock(&this->lock_);
			else
				L::lock_by(&this->lock_, (enum hf_wait_policy)Policy);
			this->work();
			L::unlock(&this->lock_);
		}
	}
};

template <typename L, enum hf_wait_policy Policy, int Rounds = 1>
using exclusion_by = exclusion<L, Rounds, Rounds, (int)Policy>;

/* Thread 0 uses lock and the others trylock twice; or, unless Waits, all use trylock once. */
template <typename L, bool Waits = true>
struct tries : locked<L> {
	void thread(unsigned int index)
	{
		for (int i = 0; i < (Waits && index ? 2 : 1); i++) {
			if (Waits && index == 0)
				L::lock(&this->lock_);
			else if (!L::trylock(&this->lock_))
				continue;
			this->work();
			L::unlock(&this->lock_);
		}
	}
	void end()
	{
		check(this->expected_ >= 1, "somebody got it");
		locked<L>::end();
	}
};

template <typename L>
using tries_only = tries<L, false>;

/* Every spinlock passes these. */
template <typename L>
void every(run *run, const char *name)
{
	run->search<exclusion<L, 2>, 2>(name, 3);
	run->search<exclusion<L>, 3>(name, 2);
	run->search<tries<L>, 2>(name, 4);
	run->search<tries<L>, 3>(name, 2);
	run->search<tries_only<L>, 2>(name, ALL);
	run->random<exclusion<L, 2>, 3>(name, 50000);
	run->random<tries<L>, 3>(name, 50000);
}

/*
 * lock_full and unlock_full are full barriers: no access is reordered across them. Store buffering:
 * each thread writes its own word, then reads the other's; with a full barrier in between, they
 * can't both read the old value.
 */
enum full_case {
	STORE_LOCK_LOAD,   /* the store before the lock_full, the load after it */
	STORE_UNLOCK_LOAD, /* the same around an unlock_full */
	LOCK_LOAD,         /* the store is that of the lock itself */
	UNLOCK_LOAD,       /* the store is that of the unlock itself */
	STORE_LOCK         /* a thread that sees the lock held sees the earlier store */
};

template <typename L, full_case Case>
class full : public scenario {
	typename L::type lock_[2];
	hf_atomic32_t word_[2];
	uint32_t saw_[2] = { 1, 1 };

public:
	full()
	{
		for (int i = 0; i < 2; i++) {
			L::init(&lock_[i]);
			hf_atomic32_store_relaxed(&word_[i], 0);
		}
	}

	void thread(unsigned int i)
	{
		typename L::type *mine = &lock_[i];

		switch (Case) {
		case STORE_LOCK_LOAD:
			hf_atomic32_store_relaxed(&word_[i], 1);
			L::lock_full(mine);
			saw_[i] = hf_atomic32_load_relaxed(&word_[!i]);
			L::unlock(mine);
			break;
		case STORE_UNLOCK_LOAD:
			L::lock(mine);
			hf_atomic32_store_relaxed(&word_[i], 1);
			L::unlock_full(mine);
			saw_[i] = hf_atomic32_load_relaxed(&word_[!i]);
			break;
		case LOCK_LOAD:
		case UNLOCK_LOAD:
			if (i == 0) {
				if (Case == LOCK_LOAD) {
					L::lock_full(mine);
				} else {
					L::lock(mine);
					L::unlock_full(mine);
				}
				saw_[0] = hf_atomic32_load_relaxed(&word_[1]);
			} else {
				hf_atomic32_store_relaxed(&word_[1], 1);
				rl::atomic_thread_fence(rl::mo_seq_cst, HF_MODEL_HERE);
				saw_[1] = L::is_locked(&lock_[0]) == (Case == LOCK_LOAD);
			}
			break;
		case STORE_LOCK:
			if (i == 0) {
				hf_atomic32_store_relaxed(&word_[0], 1);
				L::lock_full(mine);
			} else if (L::is_locked(&lock_[0])) {
				rl::atomic_thread_fence(rl::mo_acquire, HF_MODEL_HERE);
				check(hf_atomic32_load_relaxed(&word_[0]) == 1,
				      "the lock is seen before what was stored before it");
			}
			break;
		}
	}

	void thread_end(unsigned int index)
	{
		if (Case != LOCK_LOAD && Case != STORE_LOCK)
			scenario::thread_end(index);
	}

	void end() { check(saw_[0] || saw_[1], "both read the old value"); }
};

template <typename L>
void full_barrier(run *r, const char *name)
{
	r->search<full<L, STORE_LOCK_LOAD>, 2>(name, 5);
	r->search<full<L, STORE_UNLOCK_LOAD>, 2>(name, 5);
	r->search<full<L, LOCK_LOAD>, 2>(name, ALL);
	r->search<full<L, UNLOCK_LOAD>, 2>(name, ALL);
	r->search<full<L, STORE_LOCK>, 2>(name, ALL);
}

} // namespace hf_model

#endif
