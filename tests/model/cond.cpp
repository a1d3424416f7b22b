// SPDX-License-Identifier: MIT
/*
 * cond - include/holdfast/cond.h and src/cond/cond.c, over the mutex of src/mutex/mutex.c; the
 * model parks and wakes the threads.
 *
 * Checked
 *   handover    one thread makes the condition true and signals, holding the mutex or after
 *               unlocking it; the others wait: no thread stays parked for ever, no data race
 *   each takes  as many signals as waiters, or one broadcast: every waiter returns
 *   timeout     one waiter times out at any point, and does not consume a signal
 *   no barrier  the same where membarrier() is unavailable, also with a timeout
 *   near        all threads share a processor: a signalled thread is moved without being woken, and
 *               the unlock of whoever holds the mutex wakes it
 *   relay       two threads signal each other in turns: the signaller knows that it holds the
 *               mutex, so it moves the only waiter of the bucket without the bucket's lock
 *   in turn     a broadcast by a thread that knows that it holds the mutex: each waiter
 *               moves the next
 *   stale       a bucket's last waiter has cleared its flags, and another thread moves a waiter
 *               there without the bucket's lock: its unlock must not see the flags as they were
 *   rechecked   a waiter times out while a signal moves it to the mutex's queue, in another bucket:
 *               it is queued once (Q1)
 *   stopped     a waiter stops in its sleep: after a broadcast the other one returns all
 *               the same (W8)
 *   urgent      a real-time thread locks, or waits for a signal or a broadcast, while the mutex's
 *               first waiter stops: it sleeps shortly, or not behind that one (W8)
 *   passed      a waker finds that its waiter did not sleep, and passes over it when it sleeps
 *               again, while the waker that is to wake it then has stopped: it wakes it (W8)
 *   forked      a signal handler forks at any access of an unlock, or of a signal: the child goes
 *               on with an empty table, and leaves it empty
 *   asleep      relay in a bucket in which others sleep at another address: those are not looked at
 *   strangers   relay beside a thread that waits with another mutex, in the same bucket
 *   spurious    a signal takes out the sole waiter of the bucket, which waits at another address
 *   freed       the first thread that is woken frees the condition variable as soon as it returns:
 *               no thread touches it afterwards (C2)
 * and at the end the table is empty.
 */
// MUTANT: waiters_not_counted HF_MUTANT=fetch_add_missing HF_MUTANT_IN=hf_detail_count_waiters
// MUTANT: signalled_and_not_woken HF_MUTANT=unpark_missing HF_MUTANT_IN=hf_detail_waiter_wake
// MUTANT: signalled_release HF_MUTANT=xchg_acq_rel_loses_release HF_MUTANT_IN=hf_detail_waiter_release
// MUTANT: signalled_acquire HF_MUTANT=load_acquire HF_MUTANT_IN=hf_detail_waiter_is_released
// MUTANT: spin_ends_torn HF_MUTANT=cmpxchg_torn HF_MUTANT_IN=spin_until_released
// MUTANT: park_torn HF_MUTANT=park_torn HF_MUTANT_IN=hf_detail_waiter_park
// MUTANT: not_next HF_MUTANT=store_relaxed_missing HF_MUTANT_IN=hf_detail_enqueue
// MUTANT: moved_without_barrier HF_MUTANT=barrier_missing HF_MUTANT_IN=move_to_lock HF_MODEL_ONLY=near
// MUTANT: moved_to_a_free_mutex HF_MUTANT=load_relaxed_is_1 HF_MUTANT_IN=move_to_lock HF_MODEL_ONLY=near
// MUTANT: counts_late HF_MUTANT=fetch_add_late HF_MUTANT_IN=hf_detail_count_waiters HF_MODEL_ONLY=freed
// MUTANT: arrives_release HF_MUTANT=cmpxchg64_release HF_MUTANT_IN=hf_detail_arrive
// MUTANT: only_acquire HF_MUTANT=cmpxchg64_acquire HF_MUTANT_IN=hf_detail_take_sole HF_MODEL_ONLY="cond: 3 threads, random"
// MUTANT: only_taken_twice HF_MUTANT=cmpxchg64_torn HF_MUTANT_IN=hf_detail_take_sole
// MUTANT: admits_acquire HF_MUTANT=cmpxchg64_acquire HF_MUTANT_IN=bucket_admit
// MUTANT: admits_torn HF_MUTANT=cmpxchg64_torn HF_MUTANT_IN=bucket_admit
// MUTANT: opens_torn HF_MUTANT=cmpxchg64_torn HF_MUTANT_IN=hf_detail_bucket_unlock_blocked HF_MODEL_ONLY="cond: 3 threads, random"
// MUTANT: arrives_torn HF_MUTANT=cmpxchg64_torn HF_MUTANT_IN=hf_detail_arrive HF_MODEL_ONLY=strangers
// MUTANT: left_torn HF_MUTANT=cmpxchg64_torn HF_MUTANT_IN=publish_sole_waiter HF_MODEL_ONLY=strangers
// MUTANT: moved_and_not_needed HF_MUTANT=fetch_add_missing HF_MUTANT_IN=hf_detail_move_sole_waiter HF_MODEL_ONLY=relay
// MUTANT: taken_and_still_needed HF_MUTANT=cmpxchg_missing HF_MUTANT_IN=need_less HF_MODEL_ONLY=relay
// MUTANT: forked_and_less_than_none HF_MUTANT=cmpxchg_adds HF_MUTANT_IN=need_less HF_MODEL_ONLY=forked
// MUTANT: forked_and_published HF_MUTANT=cmpxchg64_missing HF_MUTANT_IN=retract HF_MODEL_ONLY=forked
// MUTANT: opens_release HF_MUTANT=cmpxchg64_release HF_MUTANT_IN=hf_detail_bucket_unlock_blocked HF_MODEL_ONLY=stale
// MUTANT: moves_acquire HF_MUTANT=cmpxchg64_acq_rel_loses_acquire HF_MUTANT_IN=hf_detail_move_sole_waiter HF_MODEL_ONLY=stale
// MUTANT: stopped_and_relied_on HF_MUTANT=unpark_says_one HF_MUTANT_IN=hf_detail_waiter_wake HF_MODEL_ONLY="stopped: 3"
// MUTANT: stopped_with_one_behind HF_MUTANT=unpark_says_one HF_MUTANT_IN=hf_detail_waiter_wake HF_MODEL_ONLY="stopped in turn"
// MUTANT: shared_signal_lost HF_MUTANT=unpark_missing HF_MUTANT_IN=hf_detail_cond_shared_wake HF_MODEL_ONLY=shared
// MUTANT: shared_broadcast_lost HF_MUTANT=requeue_missing HF_MODEL_ONLY=shared
// MUTANT: shared_park_torn HF_MUTANT=park_torn HF_MUTANT_IN=shared_wait_at HF_MODEL_ONLY=shared
#include "parking_model.h"

#include "../../src/cond/cond.c"

using hf_model::until;

static unsigned long waited, gave_up;

struct own {
	hf_mutex_t m;
	hf_cond_t c;
	own()
	{
		hf_mutex_init(&m);
		hf_cond_init(&c);
	}
	void lock() { hf_mutex_lock(&m); }
	void unlock() { hf_mutex_unlock(&m); }
	void wait() { hf_cond_wait(&c, &m); }
	bool wait_late() { return hf_cond_wait_until(&c, &m, HF_MODEL_LATE); }
	void signal() { hf_cond_signal(&c); }
	void broadcast() { hf_cond_broadcast(&c); }
	void free_cond() { c.waiters.own.free(); }
};

struct shared {
	hf_mutex_shared_t m;
	hf_cond_shared_t c;
	shared()
	{
		hf_mutex_shared_init(&m);
		hf_cond_shared_init(&c);
	}
	void lock() { hf_mutex_shared_lock(&m); }
	void unlock() { hf_mutex_shared_unlock(&m); }
	void wait() { hf_cond_shared_wait(&c, &m); }
	bool wait_late() { return hf_cond_shared_wait_until(&c, &m, HF_MODEL_LATE); }
	void signal() { hf_cond_shared_signal(&c); }
	void broadcast() { hf_cond_shared_broadcast(&c, &m); }
	void free_cond() { c.sequence.own.free(); }
};

/* Thread 0 provides one item for each other thread; each waits and takes one. */
enum how { SIGNAL_INSIDE, SIGNAL_AFTER, BROADCAST_INSIDE, BROADCAST_AFTER };

template <class K, int N, how How, bool Late = false>
class handover : public hf_model::parked {
protected:
	K k_;
	plain items_;
	int taken_ = 0, late_ = 0;

	void put(int n)
	{
		k_.lock();
		set(items_, get(items_) + n);
		if (How == SIGNAL_INSIDE)
			k_.signal();
		if (How == BROADCAST_INSIDE)
			k_.broadcast();
		k_.unlock();
		if (How == SIGNAL_AFTER)
			k_.signal();
		if (How == BROADCAST_AFTER)
			k_.broadcast();
	}

	void take(bool may_give_up)
	{
		k_.lock();
		while (get(items_) == 0) {
			waited++;
			if (!may_give_up) {
				k_.wait();
			} else if (!k_.wait_late() && get(items_) == 0) {
				late_++;
				gave_up++;
				k_.unlock();
				return;
			}
		}
		set(items_, get(items_) - 1);
		taken_++;
		k_.unlock();
	}

public:
	handover() { set(items_, 0); }
	void thread(unsigned int index)
	{
		if (index != 0) {
			take(Late && index == 1);
		} else if (How == SIGNAL_INSIDE || How == SIGNAL_AFTER) {
			for (int i = 1; i < N; i++)
				put(1);
		} else {
			put(N - 1);
		}
	}
	void end()
	{
		check(taken_ + late_ == N - 1, "each got one, or gave up");
		check(get(items_) == late_, "and the rest is there");
		parked::end();
	}
};

/* The same without membarrier(): parked threads recheck periodically. */
template <class Base>
struct no_barrier : Base {
	no_barrier()
	{
		for (hf_model::thread_state &t : threads) {
			t.no_barriers = true;
			t.patrols = UINT_MAX;
		}
	}
};

/* All threads share a processor: a signalled thread stays parked until the holder's unlock. */
template <class Base>
struct one_processor : Base {
	one_processor()
	{
		for (hf_model::thread_state &t : threads)
			t.processor = 0;
	}
};

static unsigned long moved_behind;

/* The same, and the signaller has a mark, as after a wait. */
template <class Base>
struct marked : one_processor<Base> {
	marked() { threads[0].mark = 2; }
	void changed(const void *, uint64_t, uint64_t, const where &at)
	{
		moved_behind += rl::thread_index() != 0 &&
				strcmp(at.func_, "hf_detail_move_sole_waiter") == 0;
	}
};

/* The condition variable is in another bucket than the mutex, and sleeps end at any time (W8). */
template <class Base>
struct rechecked : one_processor<Base> {
	rechecked()
	{
		hf_model::elsewhere = &this->k_.c.waiters;
		for (hf_model::thread_state &t : threads)
			t.patrols = 2;
	}
};

/* Nobody has used the table. */
template <class Base>
struct first_use : Base {
	first_use() { this->parking_.forget(); }
};

static unsigned long moved_alone;

/*
 * Two threads signal each other in turns. A thread that has waited holds the mutex with its mark.
 * The condition variables and the mutex share the bucket, so each meets waiters of the other.
 */
template <int Rounds>
class relay : public hf_model::parked {
	hf_cond_t c_[2];
	plain turn_;

protected:
	hf_mutex_t m_;

public:
	relay()
	{
		hf_mutex_init(&m_);
		for (int i = 0; i < 2; i++) {
			hf_cond_init(&c_[i]);
			threads[i].processor = 0;
		}
		set(turn_, 0);
	}
	void thread(unsigned int index)
	{
		int mine = (int)index;

		for (int i = 0; i < Rounds; i++) {
			hf_mutex_lock(&m_);
			while (get(turn_) % 2 != mine)
				hf_cond_wait(&c_[mine], &m_);
			set(turn_, get(turn_) + 1);
			hf_cond_signal(&c_[1 - mine]);
			hf_mutex_unlock(&m_);
		}
	}
	void changed(const void *, uint64_t, uint64_t, const where &at)
	{
		moved_alone += strcmp(at.func_, "hf_detail_move_sole_waiter") == 0;
	}
	void end()
	{
		check(get(turn_) == 2 * Rounds, "each had its turns");
		parked::end();
		for (hf_cond_t &c : c_)
			check(c.waiters.own.now() == 0, "nor counted");
	}
};

/*
 * Thread 0 holds two mutexes of one bucket. Thread 1 waits for a signal, in another bucket, and
 * thread 2 for the second mutex. Thread 0 unlocks that one, which sets WAKING. As soon as thread 2
 * has left its bucket empty and open, thread 0 moves thread 1 there, and unlocks the first mutex:
 * if it still saw WAKING, it would wake nobody.
 */
class stale_flag : public hf_model::parked {
	own k_;
	hf_mutex_t other_;
	plain ready_;
	bool held_ = false;

public:
	stale_flag()
	{
		hf_mutex_init(&other_);
		set(ready_, 0);
		hf_model::elsewhere = &k_.c.waiters;
		for (hf_model::thread_state &t : threads)
			t.processor = 0;
		threads[0].mark = 2;
	}
	void thread(unsigned int index)
	{
		if (index == 1) {
			k_.lock();
			while (!get(ready_))
				k_.wait();
			k_.unlock();
			return;
		}
		if (index == 2) {
			until([this] { return held_; });
			hf_mutex_lock(&other_); /* for good: its unlock would repair the loss */
			return;
		}
		hf_mutex_lock(&other_);
		until([this] {
			return hf_model::sleeping == 1 && k_.c.waiters.own.now() == 1 &&
			       k_.m.word.own.now() == 0;
		});
		k_.lock();
		set(ready_, 1);
		held_ = true;
		until([] { return hf_model::sleeping == 2; });
		hf_mutex_unlock(&other_);
		/* After a yield Relacy returns nothing older than what the thread has seen:
		 * none here. */
		while (!parking_.is_open())
			rl::ctx().sched();
		k_.signal();
		k_.unlock();
	}
	/* Thread 1 was moved, and takes no barrier before thread 0's unlock (backend L6). */
	void changed(const void *object, uint64_t, uint64_t, const where &at)
	{
		threads[0].light_fences_missing |=
			object == &hf_model::the_table->bucket[0].arrived.word &&
			strcmp(at.func_, "hf_detail_move_sole_waiter") == 0;
	}
};

/*
 * A waiter that a signal has moved, or that waits for one, is the only one of its bucket. While
 * thread 0 unlocks the mutex, or signals with the mutex held, a handler forks before one of its
 * accesses. What follows is the child: the table is empty, and the waiter's thread does not exist.
 */
template <bool Signals>
class forked : public hf_model::parked {
	own k_;
	struct hf_detail_waiter waiter_;

	static inline forked *the_one;
	static inline unsigned int left;

	static void count_down()
	{
		if (rl::thread_index() != 0 || hf_model::self().signals_blocked || --left)
			return;
		hf_model::before_access = NULL;
		the_one->parking_.wipe();
		forks++;
	}

public:
	static inline unsigned long forks;

	forked()
	{
		the_one = this;
		for (hf_model::thread_state &t : threads)
			t.processor = 0;
		threads[0].mark = 2;
	}
	~forked() { hf_model::before_access = NULL; }
	void thread(unsigned int index)
	{
		if (index != 0)
			return;
		k_.lock();
		hf_detail_waiter_init(&waiter_, Signals ? &k_.c.waiters : &k_.m.word, &k_.m.word);
		hf_atomic32_store_relaxed(&waiter_.state, HF_DETAIL_WAITER_PARKED);
		hf_detail_count_waiters(Signals ? &k_.c.waiters : hf_detail_need_of(&k_.m.word), 1);
		hf_detail_arrive(hf_detail_bucket_of(waiter_.at), &waiter_, 1);
		left = 1 + rl::rand(30);
		hf_model::before_access = count_down;
		if (Signals)
			k_.signal();
		k_.unlock();
		hf_model::before_access = NULL;
		/* A second round of the parent, or the child, finds nobody. */
		k_.lock();
		k_.unlock();
	}
};

/*
 * Threads 0 and 1 wait, and thread 0 stops in its sleep. Thread 2 broadcasts with the mutex held:
 * thread 1 must return before thread 0 goes on.
 */
class stopped : public hf_model::parked {
	own k_;
	plain ready_;

protected:
	hf_model::stopper<2, false> stopper_;

public:
	stopped()
	{
		set(ready_, 0);
		threads[2].mark = 4;
	}
	void thread(unsigned int index)
	{
		if (index == 2) {
			until([this] {
				return k_.c.waiters.own.now() == 2 &&
				       hf_model::sleeping + stopper_.is_stopped() == 2;
			});
			k_.lock();
			set(ready_, 1);
			k_.broadcast();
			k_.unlock();
		} else {
			k_.lock();
			if (index == 0)
				stopper_.begin_of_wait();
			while (!get(ready_))
				k_.wait();
			if (index == 0)
				stopper_.end_of_wait();
			k_.unlock();
		}
		if (index != 0)
			stopper_.other_has_ended();
	}
	void changed(const void *object, uint64_t, uint64_t after, const where &)
	{
		stopper_.changed(object, after, k_.m.word);
	}
};

/*
 * The same in a bucket in which others sleep at another address: a search must go from the first to
 * the last of them. The one that the first links to would be found as a waiter for the mutex.
 */
class among_sleepers : public relay<1> {
	struct hf_detail_waiter sleepers_[2], decoy_;
	hf_cond_t other_;

public:
	among_sleepers()
	{
		struct hf_detail_bucket *bucket = &hf_model::the_table->bucket[0];

		for (struct hf_detail_waiter &w : sleepers_) {
			w.at = &other_.waiters;
			hf_detail_waiter_append(bucket, &w);
		}
		decoy_.at = &m_.word;
		decoy_.next = decoy_.prev = NULL;
		decoy_.last = &decoy_;
		hf_atomic32_store_relaxed(&decoy_.looks, 0);
		hf_atomic32_store_relaxed(&decoy_.state, HF_DETAIL_WAITER_PARKED);
		sleepers_[0].next = &decoy_;
		hf_atomic64_store_relaxed(&bucket->arrived, HF_DETAIL_CLOSED);
	}
	void end()
	{
		struct hf_detail_bucket *bucket = &hf_model::the_table->bucket[0];

		check(bucket->first == &sleepers_[0] && !sleepers_[1].next, "they still sleep");
		bucket->first = NULL;
		hf_atomic64_store_relaxed(&bucket->arrived, 0);
		relay<1>::end();
	}
};

/*
 * Thread 0 waits for the mutex and stops anywhere. Thread 1 is a real-time thread, and waits behind
 * it (@How 0), or for a signal or broadcast of thread 2. Only sleeps of 1 ms end.
 */
template <int How>
class urgent : public hf_model::parked {
	own k_;
	plain ready_;
	hf_model::stopper<2, true> stopper_;
	bool held_ = false;

	bool waits() const { return stopper_.is_stopped() || hf_model::sleeping == 1 + !!How; }

public:
	urgent()
	{
		set(ready_, 0);
		threads[1].is_real_time = true;
		for (hf_model::thread_state &t : threads) {
			t.processor = 0;
			t.longest_sleep = HF_DETAIL_RECHECK_NS;
		}
	}
	void thread(unsigned int index)
	{
		until([&] { return index == 2 ? !How || k_.c.waiters.own.now() : How || held_; });
		if (index == 0) {
			until([this] { return held_; });
			stopper_.begin_of_wait();
		}
		if (index == 1 && !How)
			until([this] { return waits(); });
		k_.lock();
		if (index == 2) {
			held_ = true;
			until([this] { return waits(); });
			set(ready_, 1);
			if (How == 1)
				k_.signal();
			if (How == 2)
				k_.broadcast();
		}
		while (index == 1 && How && !get(ready_))
			k_.wait();
		k_.unlock();
		if (index != 0)
			stopper_.other_has_ended();
	}
	void changed(const void *object, uint64_t, uint64_t after, const where &)
	{
		stopper_.changed(object, after, k_.m.word);
	}
};

/*
 * Thread 0 waits for the mutex. Thread 1 marks it WAKING, and finds that it did not sleep. Thread 0
 * finds the mutex held by thread 2, and sleeps again; thread 2 marks it WAKING, too, and stops
 * before it wakes it. Then thread 1 passes over it: the wake-up is up to thread 1.
 */
class passed : public hf_model::parked {
	hf_mutex_t m_;
	bool held_ = false, marked_[3] = {}, found_none_ = false, held_again_ = false;
	bool napped_ = false, stops_ = false, ended_ = false;

	static inline passed *the_one;

	static void pause()
	{
		passed *s = the_one;
		bool is_open = hf_model::the_table->bucket[0].lock.own.now() == 0;

		if (rl::thread_index() == 1 && s->marked_[1] && is_open && !s->found_none_ &&
		    hf_model::self().signals_blocked) {
			s->found_none_ = true;
			until([s] { return s->stops_ || s->ended_; });
			passes++;
		} else if (rl::thread_index() == 2 && s->marked_[2] && is_open && !s->stops_) {
			s->stops_ = true;
			until([s] { return s->ended_; });
		}
	}
	static void wait_for_thread_2()
	{
		the_one->napped_ = true;
		until([] { return the_one->held_again_; });
	}

public:
	static inline unsigned long passes;

	passed()
	{
		the_one = this;
		hf_mutex_init(&m_);
		threads[0].naps = 1;
		hf_model::before_access = pause;
		hf_model::after_nap = wait_for_thread_2;
	}
	~passed() { hf_model::before_access = hf_model::after_nap = NULL; }
	void thread(unsigned int index)
	{
		if (index == 0)
			until([this] { return held_; });
		if (index == 2)
			until([this] { return found_none_ || ended_; });
		if (index == 2) /* never parks behind thread 0 */
			until([this] { return hf_mutex_trylock(&m_); });
		else
			hf_mutex_lock(&m_);
		if (index == 0)
			ended_ = true;
		if (index == 1) {
			held_ = true;
			until([this] { return napped_ || hf_model::sleeping == 1; });
		}
		if (index == 2) {
			held_again_ = true;
			until([this] { return ended_ || hf_model::sleeping == 1; });
		}
		hf_mutex_unlock(&m_);
	}
	void changed(const void *, uint64_t, uint64_t after, const where &at)
	{
		marked_[rl::thread_index()] |= after == HF_DETAIL_WAITER_WAKING &&
					       strcmp(at.func_, "hf_detail_mark_first_waking") == 0;
	}
};

/* Thread 2 waits for thread 0, with a mutex of its own, while the other two signal each other. */
template <int Rounds>
class strangers : public relay<Rounds> {
	own other_;
	plain flag_;

public:
	strangers() { set(flag_, 0); }
	void thread(unsigned int index)
	{
		if (index != 2)
			relay<Rounds>::thread(index);
		if (index == 1)
			return;
		other_.lock();
		if (index == 0)
			set(flag_, 1);
		while (!get(flag_))
			other_.wait();
		other_.unlock();
		if (index == 0)
			other_.signal();
	}
};

/*
 * Thread 1 is the sole waiter of its bucket. Thread 0 signals a condition variable of that bucket
 * whose waiter is counted and not queued yet: it takes out thread 1, and must release it.
 */
class spurious : public hf_model::parked {
	own k_;
	hf_cond_t other_;
	plain ready_;

public:
	spurious()
	{
		hf_cond_init(&other_);
		hf_atomic32_store_relaxed(&other_.waiters, 1);
		set(ready_, 0);
	}
	void thread(unsigned int index)
	{
		if (index == 0) {
			until([] { return hf_model::sleeping == 1; });
			hf_cond_signal(&other_);
		}
		k_.lock();
		if (index == 0)
			set(ready_, 1);
		while (!get(ready_))
			k_.wait();
		k_.unlock();
		if (index == 0)
			k_.signal();
	}
};

/* Thread 1 is woken, and frees the condition variable. */
template <class K>
struct freed_by_last : handover<K, 2, SIGNAL_INSIDE> {
	void thread(unsigned int index)
	{
		handover<K, 2, SIGNAL_INSIDE>::thread(index);
		if (index == 1)
			this->k_.free_cond();
	}
};

/*
 * Each thread but 0 waits once; thread 0 wakes them when all are queued. The first one that returns
 * frees the condition variable: a wake-up is the only reason for which it can have returned.
 */
template <int N, how How>
class freed_by_first : public hf_model::parked {
	own k_;
	int returned_ = 0;

public:
	void thread(unsigned int index)
	{
		bool inside = How == SIGNAL_INSIDE || How == BROADCAST_INSIDE;

		if (index != 0) {
			k_.lock();
			k_.wait();
			k_.unlock();
			if (returned_++ == 0)
				k_.free_cond();
			if (N == 2 && How == SIGNAL_AFTER)
				k_.m.word.own.free();
			return;
		}
		until([this] { return k_.c.waiters.own.now() == N - 1; });
		k_.lock();
		if (!inside)
			k_.unlock();
		if (How == BROADCAST_INSIDE || How == BROADCAST_AFTER)
			k_.broadcast();
		else
			k_.signal();
		if (inside)
			k_.unlock();
	}
	void end()
	{
		check(returned_ == N - 1, "each was woken");
		parked::end();
	}
};

template <class K>
static void all(hf_model::run *run, const char *name)
{
	run->search<handover<K, 2, SIGNAL_INSIDE>, 2>(name, 1);
	run->search<handover<K, 2, SIGNAL_AFTER>, 2>(name, 2);
	run->search<handover<K, 2, BROADCAST_INSIDE>, 2>(name, 1);
	run->search<handover<K, 2, BROADCAST_AFTER>, 2>(name, 1);
	run->search<handover<K, 2, SIGNAL_AFTER, true>, 2>(name, 1);
	run->search<freed_by_last<K>, 2>(name, 1);
	run->random<handover<K, 2, SIGNAL_INSIDE>, 2>(name, 30000);
	run->random<handover<K, 2, BROADCAST_INSIDE>, 2>(name, 30000);
	run->random<handover<K, 3, SIGNAL_INSIDE>, 3>(name, 30000);
	run->random<handover<K, 3, SIGNAL_AFTER>, 3>(name, 30000);
	run->random<handover<K, 4, BROADCAST_INSIDE>, 4>(name, 30000);
	run->random<handover<K, 4, BROADCAST_AFTER>, 4>(name, 30000);
	run->random<handover<K, 3, SIGNAL_AFTER, true>, 3>(name, 30000);
	run->random<handover<K, 4, BROADCAST_AFTER, true>, 4>(name, 30000);
}

int main(int argc, char **argv)
{
	hf_model::run run("cond", argc, argv);

	all<own>(&run, "cond");
	all<shared>(&run, "shared");
	run.search<one_processor<handover<own, 2, SIGNAL_INSIDE>>, 2>("near", 1);
	run.search<one_processor<handover<own, 2, BROADCAST_INSIDE>>, 2>("near", 1);
	run.random<one_processor<handover<own, 3, SIGNAL_AFTER>>, 3>("near", 60000);
	run.random<one_processor<handover<own, 3, SIGNAL_AFTER, true>>, 3>("near", 30000);
	run.random<one_processor<handover<own, 4, BROADCAST_AFTER>>, 4>("near", 30000);
	run.random<no_barrier<one_processor<handover<own, 3, SIGNAL_INSIDE, true>>>, 3>("near",
											30000);
	run.search<rechecked<handover<own, 2, SIGNAL_INSIDE, true>>, 2>("rechecked", 1);
	run.random<rechecked<handover<own, 3, SIGNAL_INSIDE, true>>, 3>("rechecked", 30000);
	run.search<marked<handover<own, 2, BROADCAST_INSIDE>>, 2>("in turn", 1);
	run.random<marked<handover<own, 3, BROADCAST_INSIDE>>, 3>("in turn", 60000);
	run.random<marked<handover<own, 4, BROADCAST_INSIDE>>, 4>("in turn", 30000);
	run.random<marked<handover<own, 4, BROADCAST_INSIDE, true>>, 4>("in turn", 30000);
	run.random<marked<freed_by_first<4, BROADCAST_INSIDE>>, 4>("in turn", 20000);
	run.random<first_use<marked<handover<own, 4, BROADCAST_INSIDE>>>, 4>("in turn", 20000);
	run.search<first_use<handover<own, 2, SIGNAL_AFTER>>, 2>("cond", 1);
	run.random<first_use<handover<own, 4, BROADCAST_INSIDE>>, 4>("cond", 20000);
	run.search<relay<1>, 2>("relay", 1);
	run.random<relay<2>, 2>("relay", 60000);
	run.search<among_sleepers, 2>("asleep", 1);
	run.random<stale_flag, 3>("stale", 4000);
	run.random<stopped, 3>("stopped", 30000);
	run.random<one_processor<stopped>, 3>("stopped in turn", 30000);
	run.random<urgent<0>, 3>("urgent", 20000);
	run.random<urgent<1>, 3>("urgent, signal", 20000);
	run.random<urgent<2>, 3>("urgent, broadcast", 20000);
	run.random<passed, 3>("passed", 4000);
	run.random<forked<false>, 2>("forked", 2000);
	run.random<forked<true>, 2>("forked", 4000);
	run.random<strangers<1>, 3>("strangers", 300000);
	run.random<strangers<2>, 3>("strangers", 60000);
	run.random<spurious, 2>("spurious", 2000);
	run.search<freed_by_first<2, SIGNAL_INSIDE>, 2>("freed", 1);
	run.search<freed_by_first<2, SIGNAL_AFTER>, 2>("freed", 2);
	run.random<one_processor<freed_by_first<3, BROADCAST_INSIDE>>, 3>("freed", 20000);
	run.random<freed_by_first<3, BROADCAST_INSIDE>, 3>("freed", 20000);
	run.random<freed_by_first<4, BROADCAST_AFTER>, 4>("freed", 20000);
	run.search<no_barrier<handover<own, 2, SIGNAL_INSIDE>>, 2>("no barrier", 1);
	run.search<no_barrier<handover<own, 2, BROADCAST_AFTER>>, 2>("no barrier", 1);
	run.random<no_barrier<handover<own, 3, SIGNAL_AFTER, true>>, 3>("no barrier", 30000);
	run.random<no_barrier<handover<own, 4, BROADCAST_INSIDE, true>>, 4>("no barrier", 30000);
	run.must_reach("a thread waits", waited);
	run.must_reach("a thread gives up", gave_up);
	run.must_reach("a waiter stops in its sleep", hf_model::stopper<2, false>::stops);
	run.must_reach("a waiter sleeps again before it is passed over", passed::passes);
	run.must_reach("a fork within an unlock", forked<false>::forks);
	run.must_reach("a fork within a signal", forked<true>::forks);
	run.must_reach("an unlock puts the one behind a waiter in its place", moved_behind);
	run.must_reach("a waiter is moved without the bucket's lock", moved_alone);
	return run.end();
}
