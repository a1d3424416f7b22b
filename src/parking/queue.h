/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_PARKING_QUEUE_H
#define HF_SRC_PARKING_QUEUE_H
/*
 * queue - the table in which threads wait, and the queue of each of its buckets. to_lock.c and
 * to_wait.c are the two ways to wait in it; move.c leads from the second to the first.
 *
 * State
 *   The table has HF_DETAIL_PARKING_BUCKETS buckets, chosen by a hash of the address at which a
 *   thread waits. A bucket has a lock; a queue of waiters, each on the stack of its thread; and
 *   `arrived`, a word with those that have not been put into the queue yet. `need` says for each
 *   bucket how many locks have a waiter that an unlock must wake; every unlock reads it. In the
 *   queue those at the same address are adjacent, and the first of them has a pointer to the last:
 *   so to find them takes one step for each other address, however many threads wait there.
 *
 *   The states of a waiter
 *     SPINNING   not parked yet, so a release needs no system call
 *     PARKED     parked, or about to park
 *     RELEASED   taken out of its queue by another thread, to run
 *     WAKING     the first waiter for a lock, woken; it may not be running yet
 *     HEAD       the first waiter for a lock, running: it retries without being woken
 *     ABSENT     was WAKING or HEAD and has not looked at the lock: others have passed over it (W8)
 *
 *   To lock
 *                   others wait                          queue empty
 *                        |                                    |
 *                        v   unlock               it runs     v
 *     RELEASED <------ PARKED ------------> WAKING --------> HEAD ------> holds the lock
 *        |  makes room   ^  (the first)        |              |              ^     ^
 *        |  (R), not the |                     '--------------|--------------'     |
 *        |  first; or    '------------------------------------'                    |
 *        |  unlock, the                       spun enough                          |
 *        |  sole one                                                               |
 *        '-------------------------- locks as a newcomer --------------------------'
 *
 *     WAKING, HEAD -> ABSENT (W8) -> HEAD, or PARKED behind others, when its thread runs again
 *
 *   To wait for a signal
 *     SPINNING ---------> PARKED ---------> moved to the lock's queue: PARKED, or WAKING if first
 *        |     spun          |    signal
 *        |     enough        |
 *        '-------------------'----------> RELEASED
 *                  signal
 *
 *   `arrived`, where w is the address of a waiter
 *     value        meaning                                    leaves by
 *     0            no waiter, bucket unlocked                 arrive, or a move to a lock: 0 -> w
 *     w            the sole waiter, in no queue               take_sole: w -> 0
 *     CLOSED       bucket locked, or its queue is not empty   unlock with an empty queue: -> 0
 *     w | CLOSED   arrivals, linked from the newest to the    bucket_admit: -> CLOSED, and queues
 *                  oldest                                     them, the oldest first
 *
 * Invariants
 *   Q1  A bucket's queue, and the waiters in it, change only under the bucket's lock; but a
 *       waiter's own thread changes SPINNING to PARKED, and `looks`. While a waiter is queued its
 *       thread stays in src/parking: so the waiter, and the object it waits for, exist, and the
 *       holder of the bucket's lock may touch both. No thread locks two buckets at a time: a
 *       waiter that moves is in no queue for a moment, or until its turn comes (W7). Its thread
 *       leaves it alone until its state changes.
 *   Q2  The first waiter for a lock is the first that is not ABSENT. It alone is WAKING or HEAD;
 *       the others are PARKED or ABSENT.
 *   Q3  An unlock must call its slow path while the first waiter is PARKED or WAKING: `need` counts
 *       the locks of a bucket for which that is so, and for a moment one more.
 *   Q4  Signals are blocked while a thread holds a bucket's lock: a handler that runs for long,
 *       forks, or jumps away can't leave it locked.
 *   Q5  A zeroed table has no waiters. The child of a fork starts with a zeroed table.
 *   Q6  HF_DETAIL_BUCKET_WAKING is set only while `need` is 1 because of a WAKING waiter: then an
 *       unlock wakes nobody, since that waiter will look at its lock. If `need` counted two locks
 *       of the bucket, an unlock of the other one would wrongly rely on that waiter, too. A thread
 *       that is about to park clears the flag when it increments `need` (W1).
 *   Q7  A signal handler may fork while its thread waits, unlocks or signals. The child's table is
 *       empty, but waiters on stacks are copies of ones that were queued. Their `born` differs from
 *       the bucket's. A thread that finds that of its own waiter queues it again, or returns
 *       without dequeuing it. Another thread's waiter is dropped. What the thread was about to
 *       subtract from `need`, which is 0 now, is not subtracted: so a handler must not start
 *       threads in the child, which pthread_create() does not allow either.
 *   Q8  A released thread may return, and reuse its stack, at once. So the release is the last
 *       access to a waiter, and the thread acquires what the releasing thread has done before it.
 *   Q9  The sole waiter of a bucket arrives and is taken out by one compare-and-swap, without the
 *       bucket's lock and with signals as they are: a thread that is stopped in between delays only
 *       the waiter that it has taken, and those behind that one (W7). (A thread that jumped away
 *       would lose them: cond.h forbids that.)
 *       What that waiter waits for can be read only after it was taken, when it can no longer
 *       leave. If it is something else (two addresses of one bucket), it may have missed a wake-up
 *       meanwhile, so it is released: to its caller that is a spurious wake-up, or a lock to try. A
 *       sole waiter for a lock was moved there by a signal (W6); an unlock releases it.
 *
 *       Which store orders what a thread reads that takes no lock: every change of `arrived` is a
 *       read-modify-write, so a swap that acquires has seen all that was done before any earlier
 *       swap that releases. These release: an arrival (the waiter's members), the opening of a
 *       bucket (flags, `need`), a sole waiter that a move leaves (both). These acquire: whoever
 *       takes or admits waiters (their members), and a move to an open bucket, whose thread's own
 *       unlock will read `need` and the flags. A plain look at `arrived` only decides whether to
 *       try a swap, or to take the bucket's lock, which acquires all that its last holder has done.
 *       The flags change only under that lock; where an unlock reads them, W says which order makes
 *       that safe. `need` changes only by read-modify-writes, so a stale value is never added to.
 *       `born` is set once in a process. A waiter's state, where another thread reads it without
 *       having acquired it, is SPINNING or PARKED and decides only whether a system call is needed.
 */
#include "parking.h"

#include "../profile/probe.h"

enum { HF_DETAIL_CLOSED = 1 }; /* a bit of `arrived` */

HF_BEGIN_DECLS

/*
 * Locks and unlocks the bucket of an address. The caller has blocked all signals (Q4), and holds no
 * other bucket. Locking also queues those that have arrived.
 */
struct hf_detail_bucket *hf_detail_bucket_lock_blocked(const void *at);
void hf_detail_bucket_unlock_blocked(struct hf_detail_bucket *bucket);

/* Adds a waiter to those that have arrived. @born: the bucket's, not 0. Takes no lock. */
void hf_detail_arrive(struct hf_detail_bucket *bucket, struct hf_detail_waiter *waiter,
		      uint64_t born);

/* Takes out the bucket's sole waiter, which then waits until it is released, or moved. Or NULL. */
struct hf_detail_waiter *hf_detail_take_sole(struct hf_detail_bucket *bucket);

/*
 * Under the bucket's lock: updates `need` and the flags after the first waiter for @lock has
 * changed. @needed: hf_detail_needs_wake() before.
 */
void hf_detail_bucket_update(struct hf_detail_bucket *bucket, const void *lock, bool needed);

/*
 * Under the bucket's lock: appends a waiter for its lock. Returns true, with its state set to
 * @if_first, if it is the first; otherwise it is PARKED, and relies on the first one (W2).
 */
bool hf_detail_enqueue(struct hf_detail_bucket *bucket, struct hf_detail_waiter *waiter,
		       uint32_t if_first);

/* ---- to_lock.c ---- */

/*
 * Under the bucket's lock: marks the first waiter as one that is woken, if it is PARKED. Returns
 * what the caller must wake, or NULL.
 */
hf_atomic32_t *hf_detail_mark_first_waking(struct hf_detail_bucket *bucket,
					   const hf_atomic32_t *lock);

/*
 * Wakes a waiter, if @woken is not NULL. If that is the first one, and it does not sleep and is not
 * about to look at the lock, the others must not rely on it: passes over it, and wakes the next one
 * (W8).
 */
void hf_detail_wake_first(hf_atomic32_t *lock, hf_atomic32_t *woken);

/* Waits with a waiter that is queued for a lock, until it is LOCKED, RELEASED or TIMED_OUT. */
enum hf_detail_park hf_detail_wait_to_lock(struct hf_detail_waiter *waiter,
					   hf_detail_try_lock_t *try_lock, uint64_t deadline);

/* R: leaves @processor, which is the caller's, to a waiter for the lock that ran on it. */
void hf_detail_leave_processor(hf_atomic32_t *lock, uint32_t processor);

/* ---- move.c ---- */

/* Takes out the sole waiter of a bucket if it waits at @at. Takes no lock, unless W7 needs it. */
struct hf_detail_waiter *hf_detail_take_sole_at(const void *at);

/*
 * Does the lock's word show that this thread holds it? Stores a mark for the next time if it has
 * none.
 */
bool hf_detail_is_holder(const hf_atomic32_t *lock);

/*
 * Moves a waiter that is in no queue to its lock, without waking it, and without the bucket's lock.
 * The caller holds the lock, whose unlock will wake it (W6), or W7 applies. Returns false if the
 * bucket has other waiters.
 */
bool hf_detail_move_sole_waiter(struct hf_detail_waiter *waiter);

/*
 * Moves a waiter that is in no queue, and those behind it, to the queue of its lock. Signals are
 * blocked; the caller holds no bucket. @processor: the caller's.
 */
void hf_detail_move_each(struct hf_detail_waiter *waiter, uint32_t processor);

HF_END_DECLS

static inline hf_atomic32_t *hf_detail_need_of(const void *lock)
{
	return &hf_detail_parking_table()->need[HF_DETAIL_PARKING_INDEX(lock)];
}

/* ---- a queue: under the lock of its bucket -------------------------------------------------- */

/* The first one at an address, also if it is ABSENT; or NULL. */
static inline struct hf_detail_waiter *hf_detail_waiters_at(const struct hf_detail_bucket *bucket,
							    const void *at)
{
	struct hf_detail_waiter *first = bucket->first;

	while (first && first->at != at)
		first = first->last->next;
	return first;
}

/* The first waiter at an address (Q2), or NULL. */
static inline struct hf_detail_waiter *hf_detail_waiter_find(const struct hf_detail_bucket *bucket,
							     const void *at)
{
	struct hf_detail_waiter *waiter = hf_detail_waiters_at(bucket, at);

	while (waiter && hf_detail_waiter_state(waiter) == HF_DETAIL_WAITER_ABSENT)
		waiter = waiter->next && waiter->next->at == at ? waiter->next : NULL;
	return waiter;
}

/* Behind those at its address, or, if there are none, at the bucket's front. */
static inline void hf_detail_waiter_append(struct hf_detail_bucket *bucket,
					   struct hf_detail_waiter *waiter)
{
	struct hf_detail_waiter *first = hf_detail_waiters_at(bucket, waiter->at);
	struct hf_detail_waiter **link = first ? &first->last->next : &bucket->first;

	waiter->prev = first ? first->last : NULL;
	waiter->next = *link;
	*link = waiter;
	if (waiter->next)
		waiter->next->prev = waiter;
	(first ? first : waiter)->last = waiter;
	if (!hf_atomic64_load_relaxed(&bucket->born))
		hf_atomic64_store_relaxed(&bucket->born, hf_env_deadline(0));
	waiter->born = hf_atomic64_load_relaxed(&bucket->born);
}

static inline void hf_detail_waiter_take_out(struct hf_detail_bucket *bucket,
					     struct hf_detail_waiter *waiter)
{
	struct hf_detail_waiter *first = hf_detail_waiters_at(bucket, waiter->at);

	if (first->last == waiter)
		first->last = waiter->prev; /* not read if it was the only one */
	else if (first == waiter)
		waiter->next->last = waiter->last;
	*(waiter->prev ? &waiter->prev->next : &bucket->first) = waiter->next;
	if (waiter->next)
		waiter->next->prev = waiter->prev;
}

static inline void hf_detail_bucket_change_flags(struct hf_detail_bucket *bucket, uint32_t clear,
						 uint32_t set)
{
	hf_atomic32_store_relaxed(&bucket->flags,
				  (hf_atomic32_load_relaxed(&bucket->flags) & ~clear) | set);
}

/* Q3: does an unlock have to wake this first waiter? */
static inline bool hf_detail_needs_wake(const struct hf_detail_waiter *first)
{
	return first && hf_detail_waiter_state(first) != HF_DETAIL_WAITER_HEAD;
}

/* ---- a waiter ------------------------------------------------------------------------------- */

/* Before it is queued; the caller sets `state`. */
static inline void hf_detail_waiter_init(struct hf_detail_waiter *waiter, const void *at,
					 hf_atomic32_t *lock)
{
	waiter->at = at;
	waiter->lock = lock;
	waiter->behind = NULL;
	waiter->processor = hf_env_processor();
	waiter->moved = 0;
	waiter->queued = false;
	waiter->is_real_time = hf_env_is_real_time();
	hf_atomic32_store_relaxed(&waiter->looks, 0);
}

/* Q7: false if the parent process queued it last. */
static inline bool hf_detail_waiter_is_queued(const struct hf_detail_bucket *bucket,
					      const struct hf_detail_waiter *waiter)
{
	return waiter->born == hf_atomic64_load_relaxed(&bucket->born);
}

/* Adds to the number of waiters of the queue at @at. */
static inline void hf_detail_count_waiters(hf_atomic32_t *at, uint32_t n)
{
	(void)hf_atomic32_fetch_add_relaxed(at, n);
}

/* SPINNING, PARKED -> RELEASED, of a waiter that was taken out. Returns what to wake, or NULL. */
static inline hf_atomic32_t *hf_detail_waiter_release(struct hf_detail_waiter *waiter)
{
	hf_atomic32_t *state = &waiter->state;

	return hf_atomic32_xchg_acq_rel(state, HF_DETAIL_WAITER_RELEASED) ==
			       HF_DETAIL_WAITER_SPINNING
		       ? NULL
		       : state; /* Q8: from here on only an address */
}

/*
 * Wakes the thread that parks on @state, if not NULL. Its stack frame may be gone already. Returns
 * false if no thread slept there: it runs and is about to look, or is stopped, as in a signal
 * handler.
 */
static inline bool hf_detail_waiter_wake(const void *at, hf_atomic32_t *state)
{
	if (!state)
		return true;
	HF_DETAIL_PROBE2(wake, at, state);
	return hf_env_unpark(state, 1, HF_ENV_PRIVATE) != 0;
}

/*
 * Parks until @until while the waiter's state is PARKED. Returns true if @deadline has passed. The
 * probe reports @at, since waiter->at may be read only under the bucket's lock.
 */
static inline bool hf_detail_waiter_park(struct hf_detail_waiter *waiter, const void *at,
					 uint64_t until, uint64_t deadline)
{
	HF_DETAIL_PROBE3(park, at, &waiter->state, until);
	return hf_env_park(&waiter->state, HF_DETAIL_WAITER_PARKED, until, HF_ENV_PRIVATE) ==
		       HF_ENV_TIMEOUT &&
	       hf_detail_is_past(deadline);
}

static inline bool hf_detail_waiter_is_released(const struct hf_detail_waiter *waiter)
{
	return hf_atomic32_load_acquire(&waiter->state) == HF_DETAIL_WAITER_RELEASED; /* Q8 */
}

#endif
