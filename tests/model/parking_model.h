/* SPDX-License-Identifier: MIT */
#ifndef HF_MODEL_PARKING_H
#define HF_MODEL_PARKING_H
/*
 * parking_model - src/parking and src/mutex, with a new parking table for each
 * interleaving.
 *
 * All addresses hash to one bucket, so every collision that is possible happens, unless a scenario
 * names one that is elsewhere. Times are chosen so that a thread may find its turn expired at any
 * point, or never.
 */
#include "run.h"

namespace hf_model
{
/*
 * Plain data in a waiter; the checker reports a race on it. It is written when the waiter's thread
 * reuses the stack, which must come after all accesses of other threads (Q8).
 */
template <class T>
class watched_field {
	plain own_;

public:
	~watched_field() { set(own_, 0); }
	watched_field &operator=(T value)
	{
		set(own_, value);
		return *this;
	}
	operator T() const { return static_cast<T>(get(own_)); }
};
} // namespace hf_model

#define HF_DETAIL_PARKING_IS_MODEL
#define HF_DETAIL_PARKING_BOOL hf_model::watched_field<bool>
#define HF_DETAIL_PARKING_NUMBER hf_model::watched_field<uint32_t>
#define HF_DETAIL_PARKING_BUCKETS 2
#define HF_DETAIL_PARKING_INDEX(at) ((at) && (at) == hf_model::elsewhere ? 1u : 0u)
#define HF_DETAIL_PARKING_MARK (hf_model::self().mark ? hf_model::self().mark : 1)
#define HF_MUTEX_SPIN_NS 1 /* shorter than a batch, so there is none: it would only be a pause */
#define HF_MUTEX_SHARED_SPIN_NS 1
#define HF_MUTEX_POLL_NS 1
#define HF_PARKING_HEAD_SPIN_NS 1
#define HF_PARKING_TURN_NS hf_model::turn_ns()
#define HF_MUTEX_CLOCK_EACH 1
#define HF_PARKING_TURN hf_model::turn_began
#define HF_PARKING_SEEN hf_model::turn_seen
#define HF_MUTEX_UNLOCKS hf_model::unlocks
#define HF_PARKING_SHOULD_SPIN(spin) ((void)(spin), true)
#define HF_PARKING_SPIN_ENDED(spin, in_vain) ((void)(spin))
#define HF_COND_SPIN_NS 1
#define HF_COND_SHOULD_SPIN() hf_model::should_spin()
#define HF_COND_SPIN_ENDED(in_vain) ((void)(in_vain))
#define HF_DETAIL_RECHECK_NS 1
#define BUCKET_TRIES 0

namespace hf_model
{
inline const void *elsewhere; /* the address whose bucket is another one */
inline uint64_t turn_began, turn_seen;
inline uint32_t unlocks;

/* The turn has expired for some threads, and never expires for others. */
inline uint64_t turn_ns()
{
	if (self().turn_ns == 0)
		self().turn_ns = rl::rand(2) == 1 ? UINT64_MAX : UINT64_MAX / 2;
	return self().turn_ns + 1;
}

/* Some threads spin before they park, others do not. */
inline bool should_spin()
{
	if (self().spins == 0)
		self().spins = rl::rand(2) == 1 ? 1 : -1;
	return self().spins == 1;
}
}

#include "../../src/parking/queue.c"
#include "../../src/parking/move.c"
#include "../../src/parking/to_lock.c"
#include "../../src/parking/to_wait.c"

#include "../../src/mutex/mutex.c"
#include "../../src/mutex/mutex_shared.c"

namespace hf_model
{
/* Waits on the model's own state; this adds no ordering between the threads under test. */
template <typename Condition>
void until(Condition condition)
{
	while (!condition())
		rl::yield(1, HF_MODEL_HERE);
}

inline struct hf_detail_parking *the_table;

/* A member of a scenario; the parking table lives as long as the scenario. */
class parking {
	struct hf_detail_parking table_;

public:
	/*
	 * Unless it @is_used, the first waiter of a condition variable takes the bucket's lock. Two
	 * buckets were never first used at the same time.
	 */
	explicit parking(bool is_used = true)
	{
		wipe();
		for (int i = 0; is_used && i < HF_DETAIL_PARKING_BUCKETS; i++)
			hf_atomic64_store_relaxed(&table_.bucket[i].born, 1 + i);
		turn_began = turn_seen = 0;
		unlocks = 0;
		elsewhere = NULL;
		use();
	}
	void use();
	/* As the kernel does in the child of a fork. */
	void wipe()
	{
		for (hf_atomic32_t &need : table_.need)
			hf_atomic32_store_relaxed(&need, 0);
		for (struct hf_detail_bucket &bucket : table_.bucket) {
			hf_atomic32_store_relaxed(&bucket.lock, 0);
			hf_atomic32_store_relaxed(&bucket.flags, 0);
			bucket.first = NULL;
			hf_atomic64_store_relaxed(&bucket.arrived, 0);
			hf_atomic64_store_relaxed(&bucket.born, 0);
		}
	}
	void forget()
	{
		for (struct hf_detail_bucket &bucket : table_.bucket)
			hf_atomic64_store_relaxed(&bucket.born, 0);
	}
	bool is_open(int i = 0) const
	{
		return !table_.bucket[i].first && table_.bucket[i].lock.own.now() == 0 &&
		       table_.bucket[i].arrived.word.now() == 0;
	}
	bool empty() const
	{
		for (int i = 0; i < HF_DETAIL_PARKING_BUCKETS; i++) {
			if (!is_open(i) || table_.need[i].own.now() ||
			    table_.bucket[i].flags.own.now())
				return false;
		}
		return true;
	}
};

/* A scenario with a parking table, which is empty at the end. */
class parked : public scenario {
protected:
	parking parking_;

public:
	void end() { check(parking_.empty(), "nobody is left in the table"); }
};

/*
 * A member of a scenario in which thread 0 stops while it waits, until @Others threads have
 * ended: its signal handler sleeps, or a debugger has stopped it. It stops in its sleep, or
 * @Anywhere; the others then recheck at any time (W8). It never stops with signals blocked,
 * nor after end_of_wait().
 */
template <int Others, bool Anywhere>
class stopper {
	static inline stopper *the_one;
	unsigned int left_;
	int ended_ = 0;
	bool waits_ = false, is_stopped_ = false;

	static void stop()
	{
		stopper *s = the_one;

		if (rl::thread_index() != 0 || !s->waits_ || self().signals_blocked)
			return;
		if (Anywhere && --s->left_ != 0)
			return;
		s->waits_ = false;
		s->is_stopped_ = true;
		stops++;
		until([s] { return s->ended_ == Others; });
		s->is_stopped_ = false;
	}

public:
	static inline unsigned long stops;

	stopper()
	{
		the_one = this;
		left_ = 1 + rl::rand(80);
		threads[0].naps = !Anywhere;         /* the signal ends the sleep */
		threads[0].turn_ns = UINT64_MAX / 2; /* it wakes nobody, to make room */
		for (unsigned int i = 1; i < HF_MODEL_THREADS; i++)
			threads[i].patrols = Anywhere ? UINT_MAX : 0;
		(Anywhere ? before_access : after_nap) = stop;
	}
	~stopper() { before_access = after_nap = NULL; }
	void begin_of_wait() { waits_ = true; }
	void end_of_wait() { waits_ = false; }
	/* Called for each change: it stops no more when it has acquired the lock. */
	void changed(const void *object, uint64_t after, const hf_atomic32 &lock)
	{
		if (object == &lock.own && after != 0 && rl::thread_index() == 0)
			end_of_wait();
	}
	void other_has_ended() { ended_++; }
	bool is_stopped() const { return is_stopped_; }
};

} // namespace hf_model

const hf_atomic32_t *volatile hf_detail_parking_need;

struct hf_detail_parking *hf_detail_parking_table(void)
{
	return hf_model::the_table;
}

uint32_t hf_detail_parking_mark(void)
{
	return hf_model::self().mark = 2 + rl::thread_index();
}

inline void hf_model::parking::use()
{
	the_table = &table_;
	hf_detail_parking_need = table_.need;
}

#endif
