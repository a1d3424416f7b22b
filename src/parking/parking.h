/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_PARKING_H
#define HF_SRC_PARKING_H
/*
 * parking - a table of the threads that wait at addresses, for any kind of lock; one for each
 * process.
 *
 * Use when / not when
 *   To implement a lock or a condition variable whose word has no room for a queue. The clients,
 *   mutex and cond, lock the bucket of an address, change its queue, and park on a waiter's state.
 *   Not between processes: each has its own table.
 *
 * State
 *   The table has HF_DETAIL_PARKING_BUCKETS buckets, chosen by a hash of the address at which a
 *   thread waits. A bucket has a lock (a futex word: 0 free, 1 locked, 2 locked and threads may be
 *   parked at it) and a queue of waiters, each on the stack of its thread. Two words are for the
 *   clients:
 *
 *     need     how many addresses of this bucket have a waiter that an unlock must wake; every
 *              unlock reads it
 *     flags    hints for the mutex (src/mutex/mutex_queue.h)
 *
 *   The states of a waiter; a client may add others
 *     PARKED     parked, or about to park
 *     SPINNING   not parked yet, so a release needs no system call. Its thread changes this to
 *                PARKED, by compare-and-swap, since a release may come first
 *     RELEASED   another thread has taken it out of its queue, to let it run
 *
 * Invariants
 *   Q1  A bucket's queue, and the waiters in it, change only under the bucket's lock. While a
 *       waiter is queued its thread stays in the slow path: so the waiter, and the object it waits
 *       for, exist, and the holder of the bucket's lock may touch both.
 *   Q4  Signals are blocked while a thread holds a bucket's lock: a handler that runs for long,
 *       forks, or jumps away can't leave it locked.
 *   Q5  A zeroed table has no waiters. The child of a fork starts with a zeroed table.
 *   Q7  A signal handler may fork while its thread waits. The child's table is empty, but the
 *       waiter on the stack is a copy of one that was queued. The thread notices that by its
 *       `born`, which differs from the bucket's: it queues the waiter again, or returns without
 *       dequeuing it.
 *
 * The barrier of the unlock
 *   An unlock stores to the lock's word and then loads `need`, without a full barrier between them.
 *   So a thread that raises `need` calls hf_env_barrier_all(), which is a full barrier in each
 *   thread of the process, and checks the lock's word again before it parks (W1 of mutex.h).
 */
#include "holdfast/internal/parking.h"

enum {
	HF_DETAIL_WAITER_PARKED,
	HF_DETAIL_WAITER_RELEASED,
	HF_DETAIL_WAITER_SPINNING,
	HF_DETAIL_OTHER_STATES, /* a client's states begin here */
};

/* A model checker replaces this type to watch its accesses. */
#ifndef HF_DETAIL_PARKING_BOOL
#define HF_DETAIL_PARKING_BOOL bool
#endif

struct hf_detail_waiter {
	hf_atomic32_t state;
	const void *at;       /* the address of the mutex or condition variable at which it waits */
	hf_atomic32_t *mutex; /* for the clients: the mutex that the thread will lock */
	struct hf_detail_waiter *next, *prev;
	uint64_t born;      /* `born` of the bucket in which it was queued: Q7 */
	uint32_t processor; /* where its thread ran before it queued */
	/* For clients: why it was taken out of a queue; set under the lock of that bucket. */
	HF_DETAIL_PARKING_BOOL signalled; /* by a signal or broadcast */
	HF_DETAIL_PARKING_BOOL released;  /* by a thread that left it its processor */
};

struct hf_detail_bucket {
	hf_atomic32_t flags;
	hf_atomic32_t lock;
	struct hf_detail_waiter *first, *last;
	uint64_t signals; /* the signal mask of the lock's holder before it took the lock */
	uint64_t born;    /* when this process's first waiter queued here; 0: none has */
} HF_ALIGNED(HF_ARCH_CACHE_LINE);

struct hf_detail_parking {
	hf_atomic32_t need[HF_DETAIL_PARKING_BUCKETS];
	struct hf_detail_bucket bucket[HF_DETAIL_PARKING_BUCKETS];
};

/* First timeout of a parked thread that may have missed its wake-up; it doubles each time. */
#ifndef HF_DETAIL_RECHECK_NS
#define HF_DETAIL_RECHECK_NS 1000000
#endif
#define HF_DETAIL_RECHECK_MAX_NS (64 * (uint64_t)HF_DETAIL_RECHECK_NS)

HF_BEGIN_DECLS

/* Returns NULL if it could not be allocated; then no waiter is ever queued. */
struct hf_detail_parking *hf_detail_parking_table(void);

/* Locks the bucket of an address, and blocks signals (Q4). */
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

/*
 * Releases a waiter that the caller has taken out of its queue. Returns what to wake, NULL if it
 * was SPINNING. The caller holds the bucket's lock, under which a waiter that timed out checks
 * whether it was released. Ordering: release, paired with the waiter's acquire of its state; the
 * waiter may be gone after it.
 */
hf_atomic32_t *hf_detail_waiter_release(struct hf_detail_waiter *waiter);

/* Q7. Returns false if the parent process queued it. The caller holds the bucket's lock. */
bool hf_detail_waiter_is_queued(const struct hf_detail_bucket *bucket,
				const struct hf_detail_waiter *waiter);

/*
 * Parks until @until while the waiter's state is PARKED. Returns true if @deadline has passed. The
 * probe reports @at, since waiter->at may be read only under the bucket's lock.
 */
bool hf_detail_waiter_park(struct hf_detail_waiter *waiter, const void *at, uint64_t until,
			   uint64_t deadline);

/* Wakes the thread that parks on @state, if not NULL. Its stack frame may be gone already. */
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
