/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_PARKING_H
#define HF_SRC_PARKING_H
/*
 * parking - one table a process of the threads that wait at addresses. It knows no kind of lock.
 *
 * Use when / not when
 *   Below a lock or a condition variable whose word has no room for a queue. Its clients, mutex and
 *   cond, lock the bucket of an address, change its queue, and park on a waiter's state. Not between
 *   processes: the table is the process's.
 *
 * State
 *   The table has HF_DETAIL_PARKING_BUCKETS buckets, chosen by a hash of the address at which a thread
 *   waits. A bucket has a lock (a futex word: 0 free, 1 locked, 2 locked and threads may be parked at
 *   it) and a queue of waiters, each on the stack of its thread. Three words are the clients':
 *
 *     need     how many addresses of this bucket have a waiter that an unlock must look after: read
 *              by every unlock
 *     turn, newest
 *              the mutex's policy (src/mutex/mutex_queue.h)
 *
 *   A waiter's state is PARKED while it is parked, or about to park. All other states are the
 *   client's.
 *
 * Invariants
 *   Q1  A bucket's queue, and the waiters in it, change only under the bucket's lock. While a waiter
 *       is queued its thread stays in the slow path: so the waiter and what it waits for exist, and
 *       the holder of the bucket's lock may touch both.
 *   Q4  Signals are blocked while a thread holds a bucket's lock: a handler that runs for long, forks,
 *       or jumps away can't leave it locked.
 *   Q5  A table of zeroes is one without waiters: the child of a fork starts with it.
 *   Q7  A signal handler may fork while its thread waits. The child's table is empty, but the waiter
 *       on the stack is a copy of one that was queued: its `born` differs from its bucket's, and the
 *       thread queues it again, or forgets it.
 *
 * The barrier of the unlock
 *   An unlock stores to the lock's word and then loads `need`, with no barrier of the processor between
 *   them. So a thread that raises `need` and parks calls hf_env_barrier_all() before it looks at the
 *   lock's word for the last time: that is a barrier in each thread of the process (W1 of mutex.h).
 */
#include "holdfast/internal/parking.h"

enum { HF_DETAIL_WAITER_PARKED };

/* A model checker watches these. */
#ifndef HF_DETAIL_PARKING_BOOL
#define HF_DETAIL_PARKING_BOOL bool
#endif

struct hf_detail_waiter {
	hf_atomic32_t state;
	const void *at; /* what it waits for: the word of a mutex or of a condition variable */
	hf_atomic32_t *mutex; /* the clients': the mutex that it wants in the end */
	struct hf_detail_waiter *next, *prev;
	uint64_t born; /* that of the bucket it was queued in: Q7 */
	HF_DETAIL_PARKING_BOOL
	signalled; /* the clients': taken out of the queue of a condition variable */
};

struct hf_detail_bucket {
	hf_atomic64_t turn;
	hf_atomic32_t lock;
	struct hf_detail_waiter *first, *last;
	uint64_t signals; /* those that the holder of the lock had blocked before */
	hf_atomic64_t newest;
	uint64_t born; /* when its first waiter came, in this process; 0: none has */
} HF_ALIGNED(HF_ARCH_CACHE_LINE);

struct hf_detail_parking {
	hf_atomic32_t need[HF_DETAIL_PARKING_BUCKETS];
	struct hf_detail_bucket bucket[HF_DETAIL_PARKING_BUCKETS];
};

/* A parked thread that may have missed its wake-up looks again after so long, then after twice. */
#ifndef HF_DETAIL_RECHECK_NS
#define HF_DETAIL_RECHECK_NS 1000000
#endif
#define HF_DETAIL_RECHECK_MAX_NS (64 * (uint64_t)HF_DETAIL_RECHECK_NS)

HF_BEGIN_DECLS

/* NULL: there is none, for want of memory; then nobody is ever queued. */
struct hf_detail_parking *hf_detail_parking_table(void);

/* The bucket of an address, locked; Q4. */
struct hf_detail_bucket *hf_detail_bucket_lock(const void *at);
void hf_detail_bucket_unlock(struct hf_detail_bucket *bucket);

/* As above; the caller has already blocked all signals (Q4). */
struct hf_detail_bucket *hf_detail_bucket_lock_blocked(const void *at);
void hf_detail_bucket_unlock_blocked(struct hf_detail_bucket *bucket);

/* The first waiter at an address, or NULL. */
struct hf_detail_waiter *hf_detail_bucket_find(const struct hf_detail_bucket *bucket,
					       const void *at);

void hf_detail_bucket_append(struct hf_detail_bucket *bucket, struct hf_detail_waiter *waiter);
void hf_detail_bucket_remove(struct hf_detail_bucket *bucket, struct hf_detail_waiter *waiter);

/* Q7. Under the bucket's lock: false = the parent process queued it, not this one. */
bool hf_detail_waiter_is_queued(const struct hf_detail_bucket *bucket,
				const struct hf_detail_waiter *waiter);

/*
 * Parks the thread while the waiter's state is PARKED. @at: what it waits for, for the probe (waiter->at is
 * read under the bucket's lock only). True = the time of @deadline has come.
 */
bool hf_detail_waiter_park(struct hf_detail_waiter *waiter, const void *at, uint64_t until,
			   uint64_t deadline);

/* Wakes the thread that parks on this state, which may be gone; NULL: nobody. */
void hf_detail_waiter_wake(const void *at, hf_atomic32_t *state);

HF_END_DECLS

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
