/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_PARKING_H
#define HF_SRC_PARKING_H
/*
 * parking - the waiters of all mutexes and condition variables: one table a process.
 *
 * State
 *   The table has HF_DETAIL_PARKING_BUCKETS buckets, chosen by a hash of the address at which a thread
 *   waits. A bucket has a lock (a futex word, as hf_mutex_shared_t's), a queue of waiters, each on
 *   the stack of its thread, and two words that are read without the lock:
 *
 *     need     how many mutexes of this bucket need the slow unlock: read by every unlock
 *     turn     since when a next waiter waits here, or since the last hand-over; 0: none waits. Two
 *              bits of it are flags: the mutex was just handed over; and Q6. Two busy mutexes in one
 *              bucket blur it: no more than their fairness depends on it
 *
 *   A waiter's state:
 *
 *     PARKED   parked, or about to park
 *     CALLED   the next waiter, being woken: it has no processor yet, for all we know
 *     NEXT     the next waiter, awake: it looks at the mutex itself
 *     DUE      the same, and the turn is over: the next unlock hands the mutex over
 *     HANDED   the next waiter, and the mutex is locked for it
 *     SIGNALLED
 *              in no queue any more: woken from a condition variable, it comes as a newcomer
 *
 *     newcomer, nobody waits -> NEXT          newcomer, others wait -> PARKED
 *
 *                unlock            it runs          turn over          unlock            it leaves
 *     PARKED ------------> CALLED --------> NEXT ------------> DUE ------------> HANDED --------->
 *        ^                  |  ^             |                  |                 ^  |
 *        '------------------+--+-------------'------------------'                 |  |
 *           spun enough     |  '--------------------------------------------------+--'
 *                           |        not there within a turn: taken back          |
 *                           '-----------------------------------------------------'
 *                               unlock, and the turn is over
 *
 * Invariants
 *   Q1  A bucket's queue, and all of the waiters in it, change only under the bucket's lock. While
 *       a waiter is queued its thread stays in the slow path: so the waiter and the mutex that it
 *       waits for exist, and whoever has the bucket's lock may touch that mutex.
 *   Q2  Of those who wait for one mutex only the first is CALLED, NEXT, DUE or HANDED; the others
 *       are PARKED.
 *   Q3  A mutex needs the slow unlock while its first waiter is PARKED, CALLED or DUE: `need`
 *       counts these.
 *   Q4  Signals are blocked while a thread has a bucket's lock: a handler that runs for long, forks,
 *       or jumps away can't leave it locked.
 *   Q5  A table of zeroes is one without waiters: the child of a fork starts with it.
 *   Q6  HF_DETAIL_TURN_CALLED is set only while `need` is 1, because of a CALLED waiter: then an unlock may
 *       pass, for it has been woken for, and will look. Who is to park clears it when it raises
 *       `need` (W1).
 *   Q7  A signal handler may fork while its thread waits. The child's table is empty, but the waiter
 *       on the stack is a copy of one that was queued: its `born` differs from its bucket's, and the
 *       thread queues it again, or forgets it.
 */
#include "holdfast/mutex.h"

enum {
	HF_DETAIL_WAITER_PARKED,
	HF_DETAIL_WAITER_CALLED,
	HF_DETAIL_WAITER_NEXT,
	HF_DETAIL_WAITER_DUE,
	HF_DETAIL_WAITER_HANDED,
	HF_DETAIL_WAITER_SIGNALLED,
};

#define HF_DETAIL_TURN_HANDED ((uint64_t)1)
#define HF_DETAIL_TURN_CALLED ((uint64_t)2)
#define HF_DETAIL_TURN_FLAGS (HF_DETAIL_TURN_HANDED | HF_DETAIL_TURN_CALLED)

/* A model checker watches these. */
#ifndef HF_DETAIL_PARKING_BOOL
#define HF_DETAIL_PARKING_BOOL bool
#endif

struct hf_detail_waiter {
	hf_atomic32_t state;
	const void *at;       /* the word of a mutex or of a condition variable */
	hf_atomic32_t *mutex; /* the mutex that it wants in the end */
	struct hf_detail_waiter *next, *prev;
	uint64_t born; /* that of the bucket it was queued in: Q7 */
	HF_DETAIL_PARKING_BOOL
	signalled; /* of a condition variable: it was taken out of that queue */
};

struct hf_detail_bucket {
	hf_atomic64_t turn;
	hf_atomic32_t lock;
	struct hf_detail_waiter *first, *last;
	uint64_t signals; /* those that the holder of the lock had blocked before */
	uint64_t born;    /* when its first waiter came, in this process; 0: none has */
} HF_ALIGNED(HF_ARCH_CACHE_LINE);

struct hf_detail_parking {
	hf_atomic32_t need[HF_DETAIL_PARKING_BUCKETS];
	struct hf_detail_bucket bucket[HF_DETAIL_PARKING_BUCKETS];
};

/* Parked without certainty that it will be woken, a thread looks again after so long, then later. */
#ifndef HF_MUTEX_PATROL_NS
#define HF_MUTEX_PATROL_NS 1000000
#endif
#define HF_DETAIL_PATROL_MAX_NS (64 * (uint64_t)HF_MUTEX_PATROL_NS)

HF_BEGIN_DECLS

/* NULL: there is none, for want of memory; then nobody is ever queued. */
struct hf_detail_parking *hf_detail_parking_table(void);

/* The bucket of an address, locked; Q4. */
struct hf_detail_bucket *hf_detail_bucket_lock(const void *at);
void hf_detail_bucket_unlock(struct hf_detail_bucket *bucket);

/* The same by a thread that has blocked its signals: Q4. */
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

/* Q3. `needed`: before the change that was just made. */
bool hf_detail_waiter_needs_unlock(const struct hf_detail_waiter *first);
void hf_detail_bucket_publish(struct hf_detail_bucket *bucket, const void *mutex, bool needed);

/* Queues a waiter, which has its mutex, and wakes it if it is the next one. Signals are blocked. */
void hf_detail_mutex_enqueue(struct hf_detail_waiter *waiter);

/* Waits, for hf_mutex_shared_t, and leaves it marked as one that others may be parked at. */
bool hf_detail_mutex_shared_take_parked(hf_atomic32_t *word, uint64_t deadline,
					enum hf_env_scope scope);

/* A thread that comes to a mutex and found it locked; nothing is recorded. True: it has it. */
bool hf_detail_mutex_come(hf_atomic32_t *word, uint64_t deadline);

/* A waiter whose address is a mutex, and which is queued there: true = it has the mutex. */
bool hf_detail_mutex_wait(struct hf_detail_waiter *waiter, uint64_t deadline);

HF_END_DECLS

HF_INLINE uint32_t hf_detail_waiter_state(const struct hf_detail_waiter *waiter)
{
	return hf_atomic32_load_relaxed(&waiter->state);
}

HF_INLINE bool hf_detail_is_past(uint64_t deadline)
{
	return deadline != HF_ENV_FOREVER && hf_env_deadline(0) >= deadline;
}

#endif
