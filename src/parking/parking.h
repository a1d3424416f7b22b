/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_PARKING_H
#define HF_SRC_PARKING_H
/*
 * parking - operations of the table in which threads wait, for any kind of lock; one table for each
 * process. queue.h has a waiter's states and the invariants, to_lock.c why no wake-up is lost.
 *
 * Use when / not when
 *   To implement a lock, or a condition variable, whose word has no room for a queue. Not between
 *   processes: each has its own table.
 *
 *   Its clients (mutex, cond) never touch a queue. What they do themselves are callbacks. They run
 *   in the waiting thread, with its signals as the caller had them, and while it holds no bucket's
 *   lock: so they may call the operations below for other locks than the one that they wait for.
 *   They must return: no longjmp(), no C++ exception.
 */
#include "holdfast/internal/parking.h"
#include "spin.h"

/* A model checker replaces these types to watch their accesses. */
#ifndef HF_DETAIL_PARKING_BOOL
#define HF_DETAIL_PARKING_BOOL bool
#define HF_DETAIL_PARKING_NUMBER uint32_t
#endif

/* The states of a waiter, drawn in queue.h. */
enum {
	HF_DETAIL_WAITER_PARKED,
	HF_DETAIL_WAITER_RELEASED,
	HF_DETAIL_WAITER_SPINNING,
	HF_DETAIL_WAITER_WAKING,
	HF_DETAIL_WAITER_HEAD,
	HF_DETAIL_WAITER_ABSENT,
};

struct hf_detail_waiter {
	hf_atomic32_t state;
	const void *at;      /* in whose queue it is: its lock, or what it waits for */
	hf_atomic32_t *lock; /* what it will lock */
	struct hf_detail_waiter *next, *prev;
	struct hf_detail_waiter *behind;    /* takes its place as the lock's sole waiter: W7 */
	struct hf_detail_waiter *last;      /* of the first one at an address: the last one there */
	uint64_t born;                      /* `born` of the bucket in which it was queued: Q7 */
	HF_DETAIL_PARKING_NUMBER processor; /* where its thread ran before it queued */
	uint64_t moved; /* when it was moved to its lock's queue, or 0; only for the profile */
	/* In the queue of what it waits for; under its bucket's lock. */
	HF_DETAIL_PARKING_BOOL queued;
	HF_DETAIL_PARKING_BOOL is_real_time; /* W8 */
	hf_atomic32_t looks; /* 1: its thread will check the lock before it sleeps (W1) */
};

/* The flags of a bucket. Locks that share the bucket share them: only fairness depends on that. */
enum {
	HF_DETAIL_BUCKET_WAITERS = 1, /* threads wait: a running thread makes room after its turn */
	HF_DETAIL_BUCKET_WAKING = 2,  /* Q6 */
	HF_DETAIL_BUCKET_AWAITED = 4, /* a thread has made room for a first waiter, still queued */
	HF_DETAIL_BUCKET_FLAGS = 7
};

struct hf_detail_bucket {
	hf_atomic32_t flags;
	hf_atomic32_t lock; /* a futex word: 0 free, 1 locked, 2 locked and threads may be parked */
	struct hf_detail_waiter *first;
	hf_atomic64_t arrived; /* Q9 */
	hf_atomic64_t born;    /* when this process's first waiter queued here; 0: none has */
	uint64_t signals;      /* the signal mask of the lock's holder before it took the lock */
	hf_atomic64_t batches_end;  /* when waiters stop to pause for batches: mutex.c */
	struct hf_detail_spin spin; /* how spins for the bucket's locks have ended */
	hf_atomic32_t unbatched;    /* how many more signs of tiny sections don't count: mutex.c */
} HF_ALIGNED(HF_ARCH_CACHE_LINE);

struct hf_detail_parking {
	hf_atomic32_t need[HF_DETAIL_PARKING_BUCKETS]; /* Q3 */
	struct hf_detail_bucket bucket[HF_DETAIL_PARKING_BUCKETS];
};

/*
 * The first sleep of a first waiter that may have missed its wake-up (W1), doubled each time; the
 * longest one, which is also the first sleep of a waiter behind others (W8).
 */
#ifndef HF_DETAIL_RECHECK_NS
#define HF_DETAIL_RECHECK_NS 1000000
#endif
#define HF_DETAIL_RECHECK_MAX_NS (64 * (uint64_t)HF_DETAIL_RECHECK_NS)

/* Models always spin, and learn nothing. */
#ifndef HF_PARKING_SHOULD_SPIN
#define HF_PARKING_SHOULD_SPIN(spin) hf_detail_should_spin(spin)
#define HF_PARKING_SPIN_ENDED(spin, in_vain) hf_detail_spin_ended(spin, in_vain)
#endif

/* How a wait has ended. */
enum hf_detail_park {
	HF_DETAIL_PARK_NONE,      /* not yet: the thread has not waited, or goes on waiting */
	HF_DETAIL_PARK_LOCKED,    /* this thread holds the lock */
	HF_DETAIL_PARK_RELEASED,  /* another thread has taken it out of the queue: try to lock */
	HF_DETAIL_PARK_TIMED_OUT, /* not locked; no wake-up was consumed */
};

/* How a thread waits for a lock. */
enum hf_detail_park_how {
	HF_DETAIL_PARK_QUEUED, /* all at this address wait for the same */
	/*
	 * The same, but only if another waiter runs on this processor in its place; if there is
	 * none, PARK_NONE at once, and a new turn begins.
	 */
	HF_DETAIL_PARK_IN_EXCHANGE,
};

/*
 * Tries once to acquire the lock, whose word is 0 while it is free. Called at any point of a wait,
 * and often; must not wait. Acquires if it returns true.
 */
typedef bool hf_detail_try_lock_t(hf_atomic32_t *lock);

struct hf_detail_wait_calls {
	hf_detail_try_lock_t *try_lock;
	/*
	 * Called once, when this thread is queued: unlocks the lock, which it holds. A signal may
	 * come before it returns. @parks: the thread parks next, so a waiter may have its processor
	 * (hf_detail_unpark_and_leave()); otherwise it spins.
	 */
	void (*before_sleep)(hf_atomic32_t *lock, bool parks);
	/*
	 * NULL, or called once, after before_sleep: spins while *@word is @value and the deadline
	 * has not passed, for a time of its own choice. Returns true if the word has changed.
	 */
	bool (*spin)(const hf_atomic32_t *word, uint32_t value, uint64_t deadline);
};

HF_BEGIN_DECLS

/* Returns NULL if it could not be allocated; then the functions below must not be called. */
struct hf_detail_parking *hf_detail_parking_table(void);

/*
 * All of them: any thread that holds no bucket's lock; no signal handler. They take bucket locks
 * for less than a microsecond, with signals blocked.
 *
 * Queues this thread at a lock, and waits until it has acquired it: LOCKED, with acquire; RELEASED,
 * to compete as a newcomer; or TIMED_OUT, after a last try.
 */
enum hf_detail_park hf_detail_park_to_lock(hf_atomic32_t *lock, hf_detail_try_lock_t *try_lock,
					   uint64_t deadline, enum hf_detail_park_how how);

/* After an unlock that has found `need` set: wakes the first waiter, if it is parked. */
void hf_detail_unpark_first(hf_atomic32_t *lock);

/*
 * Takes all that are parked at an address, or one of @bytes from there on, out of its queue, to
 * compete as newcomers. A first one that is awake looks itself.
 */
void hf_detail_unpark_each(hf_atomic32_t *lock, uint32_t bytes);

/*
 * For `before_sleep`, after the unlock: wakes the first waiter, and leaves this processor to a
 * waiter that ran on it.
 */
void hf_detail_unpark_and_leave(hf_atomic32_t *lock);

/*
 * Queues this thread at @at, a number of waiters, and waits until it is unparked; then it has been
 * RELEASED, or has waited for the lock, too, and is LOCKED. TIMED_OUT: not unparked, and not
 * counted any more. @calls run in the order before_sleep, spin, try_lock. @moved: for the profile,
 * when it began to wait for the lock, or 0.
 */
enum hf_detail_park hf_detail_park_to_wait(hf_atomic32_t *at, hf_atomic32_t *lock,
					   const struct hf_detail_wait_calls *calls,
					   uint64_t deadline, uint64_t *moved);

/*
 * Unparks the first thread that waits at @at, or all: releases it, or moves it to its lock's queue.
 * The memory at @at is not touched after the first of them was released. The caller may hold the
 * lock.
 */
void hf_detail_unpark_one(hf_atomic32_t *at);
void hf_detail_unpark_all(hf_atomic32_t *at);

/*
 * From here on this thread's locks store a mark, in place of 1, that no other thread's have (W6).
 */
uint32_t hf_detail_parking_mark(void);

/* Has this thread run for so many turns since it last waited? A new turn begins after a pause. */
bool hf_detail_turn_is_over(uint32_t turns);
void hf_detail_turn_begin(void);

/*
 * For src/parking and tests: the lock of an address's bucket. Signals are blocked meanwhile (Q4).
 */
struct hf_detail_bucket *hf_detail_bucket_lock(const void *at);
void hf_detail_bucket_unlock(struct hf_detail_bucket *bucket);

HF_END_DECLS

HF_INLINE struct hf_detail_bucket *hf_detail_bucket_of(const void *at)
{
	return &hf_detail_parking_table()->bucket[HF_DETAIL_PARKING_INDEX(at)];
}

/* Flags of the bucket of a lock: not 0 if threads wait for it, or for another one of the bucket. */
HF_INLINE uint32_t hf_detail_parking_flags(const hf_atomic32_t *lock)
{
	return hf_atomic32_load_relaxed(&hf_detail_bucket_of(lock)->flags);
}

HF_INLINE uint32_t hf_detail_waiter_state(const struct hf_detail_waiter *waiter)
{
	return hf_atomic32_load_relaxed(&waiter->state);
}

HF_INLINE bool hf_detail_is_past(uint64_t deadline)
{
	return deadline != HF_ENV_FOREVER && hf_env_deadline(0) >= deadline;
}

HF_INLINE uint64_t hf_detail_earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

#endif
