/* SPDX-License-Identifier: MIT */
/*
 * parking - the one place where threads wait: the table, its queues, and the loops that park.
 *
 * State
 *   The table has HF_DETAIL_PARKING_BUCKETS buckets, chosen by a hash of the address at which a
 *   thread waits. A bucket has a lock and a queue of waiters, each on the stack of its thread, and
 *   `arrived`, a list of those that have not been put into the queue yet (Q9).
 *   `need` says for each bucket how many locks have a waiter that an unlock must wake; every unlock
 *   reads it.
 *
 *   The states of a waiter
 *     SPINNING   not parked yet, so a release needs no system call
 *     PARKED     parked, or about to park
 *     RELEASED   taken out of its queue by another thread, to run
 *     WAKING     the first waiter for a lock, woken; it may not be running yet
 *     HEAD       the first waiter for a lock, running: it retries without being woken
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
 *        |  only one (Q9)                                                          |
 *        '-------------------------- locks as a newcomer --------------------------'
 *
 *   To wait for a signal
 *     SPINNING ---------> PARKED ---------> moved to the lock's queue: PARKED, or WAKING as its first
 *        |     spun          |    signal
 *        |     enough        |
 *        '-------------------'----------> RELEASED
 *                  signal
 *
 * Invariants
 *   Q1  A bucket's queue, and the waiters in it, change only under the bucket's lock. While a waiter
 *       is queued its thread stays in this file: so the waiter, and the object it waits for, exist,
 *       and the holder of the bucket's lock may touch both. No thread locks two buckets at a time: a
 *       waiter that moves is in no queue for a moment, or until its turn comes (W7).
 *   Q2  Of the waiters for one lock only the first is WAKING or HEAD; the others are PARKED.
 *   Q3  An unlock must call its slow path while the first waiter is PARKED or WAKING: `need` counts
 *       the locks of a bucket for which that is so, and for a moment one more.
 *   Q4  Signals are blocked while a thread holds a bucket's lock: a handler that runs for long,
 *       forks, or jumps away can't leave it locked.
 *   Q5  A zeroed table has no waiters. The child of a fork starts with a zeroed table.
 *   Q6  HF_DETAIL_BUCKET_WAKING is set only while `need` is 1 because of a WAKING waiter: then an
 *       unlock wakes nobody, since that waiter will look at its lock. If `need` counted two locks of
 *       the bucket, an unlock of the other one would wrongly rely on that waiter, too. A thread that
 *       is about to park clears the flag when it increments `need` (W1).
 *   Q7  A signal handler may fork while its thread waits. The child's table is empty, but the waiter
 *       on the stack is a copy of one that was queued. The thread notices that by its `born`, which
 *       differs from the bucket's: it queues the waiter again, or returns without dequeuing it.
 *   Q8  A released thread may return, and reuse its stack, at once. So the release is the last access
 *       to a waiter, and the thread acquires what the releasing thread has done before it.
 *   Q9  A thread that begins to wait for a signal does not take the bucket's lock: it adds itself to
 *       `arrived`, a word with the address of the newest and the bit CLOSED. Who gets the bucket's
 *       lock sets CLOSED, and moves the arrived ones to the queue, the oldest first; who releases it
 *       clears CLOSED if the queue is empty and nobody has arrived meanwhile. A waiter that arrives
 *       where another one is sets CLOSED, too. So a word without CLOSED has the bucket's only waiter, and
 *       a compare-and-swap with 0 takes it out, without the bucket's lock and with signals as they
 *       are: a thread that is stopped then delays only the waiter that it has taken (and one that
 *       jumped away would lose it: cond.h forbids that). What that
 *       waiter waits for can be read only afterwards, when it can no longer leave. If it is
 *       something else (two addresses of one bucket), it may have missed a wake-up meanwhile, so it
 *       is released: to its caller that is a spurious wake-up, or a lock to try.
 *       A waiter for a lock is the only one of a bucket if a signal has moved it (W6), with the
 *       bucket's lock or without. `need` counts it, and nobody relies on it (W2): an unlock releases
 *       it.
 *
 *   W   No wake-up is lost: if a thread is parked and its lock is free, then a thread that was woken
 *       is about to check it. An unlock stores to the lock's word and then loads `need`, without a
 *       full barrier between them.
 *       W1  Before it parks, the first waiter sets `need`, then calls hf_env_barrier_all(), then
 *           checks the lock once more. The barrier takes effect at some moment in each other thread.
 *           If an unlock stores before that moment, the check sees the store; if it stores later, it
 *           also loads `need` later, and finds it set. If membarrier() is unavailable (an old kernel,
 *           a sandbox) or was called too often, the first waiter sleeps with a timeout that doubles
 *           from 1 to 64 ms.
 *       W2  A thread that parks behind others relies on the first one: awake, or W1.
 *       W3  A waiter that acquires the lock leaves the queue, and sets `need` if others are parked,
 *           so its own unlock finds it set.
 *       W4  A first waiter that times out wakes the next one, whatever its own state was, because the
 *           barrier of W1 may have been refused. So a waiter that times out consumes no wake-up.
 *       W5  An unlock wakes nobody if the first waiter has been woken and `need` counts only that
 *           waiter: it will check the lock, or park by W1, which clears the flag of Q6.
 *       W6  A thread that moves a waiter to the head of a lock's queue without waking it takes the
 *           steps of W1 in its place, under the bucket's lock, and wakes it if the lock is free or
 *           there was no barrier. If it knows that it holds the lock, it only sets `need`: the unlock
 *           that comes is its own. It knows that by the lock's word: a thread that has waited or
 *           signalled before stores its mark when it locks, a number that no other thread has.
 *
 *       W7  A broadcast by the lock's holder, to threads of its processor only, moves the first one,
 *           and each of them moves the one behind it when it has acquired the lock: as the only waiter
 *           of a bucket, so without the bucket's lock. Until then a waiter behind another one is PARKED
 *           in no queue. In the child of a fork it is dropped, as its thread is not there.
 *
 *   R   Making room. About as many threads are awake as there are processors, and one more is ready
 *       to run. While threads wait, one that has run for a turn since it last queued queues without
 *       spinning when it next finds the lock held, and wakes the oldest waiter that last ran on its
 *       processor. The first waiter is only woken and stays in the queue, since the others rely on it
 *       (W2); any other is released. The lock is never acquired on behalf of another thread.
 */
#include "parking.h"

#include "../profile/probe.h"
#include "holdfast/internal/wait.h"

/* How long the first waiter for a lock spins before it parks again. */
#ifndef HF_PARKING_HEAD_SPIN_NS
#define HF_PARKING_HEAD_SPIN_NS 20000
#endif

/* A turn: after running for so many nanoseconds, a thread makes room for a waiter (R). */
#ifndef HF_PARKING_TURN_NS
#define HF_PARKING_TURN_NS 300000
#endif

/* This thread's turn: when it began, and when its age was last read. Models define their own. */
#ifndef HF_PARKING_TURN
#define HF_PARKING_TURN turn_began
#define HF_PARKING_SEEN turn_seen
static __thread uint64_t turn_began __attribute__((tls_model("initial-exec")));
static __thread uint64_t turn_seen __attribute__((tls_model("initial-exec")));
#endif

/* Tries before parking: the lock is held for less than 1 us unless its holder is preempted. */
#ifndef BUCKET_TRIES
#define BUCKET_TRIES 100
#endif

/* How many waiters find_successor() examines. */
enum { SEARCH_LIMIT = 32 };

enum { CLOSED = 1 }; /* a bit of `arrived`: Q9 */

/*
 * QUEUED: a waiter at what it waits for is queued, and its thread is about to spin or park: hf-run
 * notes the waiter, so that it can end the wait of a cancelled thread. Returns the deadline. LEFT: the
 * waiter ends.
 */
#ifndef HF_DETAIL_PARKING_QUEUED
#define HF_DETAIL_PARKING_QUEUED(waiter, deadline) (deadline)
#define HF_DETAIL_PARKING_LEFT() ((void)0)
#endif

/*
 * 1: a thread that finds its mark in a lock's word holds the lock, and will unlock it (W6). hf-run defines
 * 0, since it may not rely on that: a pthread mutex may be unlocked by a thread that has not locked it.
 */
#ifndef HF_DETAIL_PARKING_TRUSTS_MARKS
#define HF_DETAIL_PARKING_TRUSTS_MARKS 1
#endif

/* ---- the table ---------------------------------------------------------------------------- */

#ifndef HF_DETAIL_PARKING_IS_MODEL
#include "../env/env.h"
#include "../process/process.h"

HF_DETAIL_DEBUGGERS_KNOW(HF_DETAIL_PARKING_BUCKETS == 1024 &&
			 offsetof(struct hf_detail_parking, bucket) == 4096 &&
			 sizeof(struct hf_detail_bucket) == 64 &&
			 offsetof(struct hf_detail_bucket, lock) == 4);
HF_DETAIL_DEBUGGERS_KNOW(offsetof(struct hf_detail_bucket, first) == 8 &&
			 offsetof(struct hf_detail_bucket, arrived) == 24);
HF_DETAIL_DEBUGGERS_KNOW(offsetof(struct hf_detail_waiter, at) == sizeof(void *) &&
			 offsetof(struct hf_detail_waiter, lock) == 2 * sizeof(void *) &&
			 offsetof(struct hf_detail_waiter, next) == 3 * sizeof(void *) &&
			 offsetof(struct hf_detail_waiter, behind) == 5 * sizeof(void *));

HF_DETAIL_PROCESS_STATE(parking, 6);
HF_DETAIL_PROCESS_STATE(marks, 1);

static const hf_atomic32_t nobody[HF_DETAIL_PARKING_BUCKETS] = { HF_ATOMIC_INIT(0) };
const hf_atomic32_t *volatile hf_detail_parking_need = nobody;

/* May be called before the constructor below; both find the same memory. */
struct hf_detail_parking *hf_detail_parking_table(void)
{
	const hf_atomic32_t *need = hf_detail_parking_need;
	struct hf_detail_parking *table;

	if (HF_LIKELY(need != nobody))
		return (struct hf_detail_parking *)(uintptr_t)need; /* its first member */
	table = (struct hf_detail_parking *)hf_detail_process_share(
		parking, sizeof(struct hf_detail_parking), HF_DETAIL_PROCESS_WIPE);
	if (table)
		hf_detail_parking_need = table->need;
	return table;
}

/*
 * The last mark that was given out. The child of a fork goes on counting, since its thread keeps the
 * mark that it has. The last of the 32 bits' marks are not given out.
 */
static hf_atomic32_t *last_mark(void)
{
	return (hf_atomic32_t *)hf_detail_process_share(marks, sizeof(hf_atomic32_t),
							HF_DETAIL_PROCESS_KEEP);
}

static uint32_t new_mark(void)
{
	hf_atomic32_t *last = last_mark();

	if (!last || hf_atomic32_load_relaxed(last) >= UINT32_MAX - HF_DETAIL_PARKING_BUCKETS)
		return 1;
	return hf_atomic32_fetch_add_relaxed(last, 1) + 2;
}

__thread uint32_t hf_detail_thread_mark = 1;

uint32_t hf_detail_parking_mark(void)
{
	if (HF_UNLIKELY(hf_detail_thread_mark == 1))
		hf_detail_thread_mark = new_mark();
	return hf_detail_thread_mark;
}

__attribute__((constructor(101))) static void start_parking(void)
{
	(void)hf_detail_parking_table();
	(void)last_mark();
	(void)hf_env_barrier_all(); /* registers for membarrier(): fast while there is one thread */
}
#endif

static struct hf_detail_bucket *bucket_of(const void *at)
{
	return &hf_detail_parking_table()->bucket[HF_DETAIL_PARKING_INDEX(at)];
}

static hf_atomic32_t *need_of(const void *lock)
{
	return &hf_detail_parking_table()->need[HF_DETAIL_PARKING_INDEX(lock)];
}

static void bucket_admit(struct hf_detail_bucket *bucket);
static void bucket_update(struct hf_detail_bucket *bucket, const void *lock, bool needed);

/* Locks the bucket of an address. The caller has blocked all signals (Q4). */
static struct hf_detail_bucket *bucket_lock_blocked(const void *at)
{
	struct hf_detail_bucket *bucket = bucket_of(at);
	uint32_t tries = BUCKET_TRIES, found = 0;

	while (!hf_atomic32_try_cmpxchg_acquire(&bucket->lock, &found, 1)) { /* 0 -> 1 */
		found = 0;
		hf_arch_relax();
		if (tries--)
			continue;
		while (hf_atomic32_xchg_acq_rel(&bucket->lock, 2) != 0) /* 0, 1, 2 -> 2 */
			(void)hf_env_park(&bucket->lock, 2, HF_ENV_FOREVER, HF_ENV_PRIVATE);
		break;
	}
	bucket_admit(bucket);
	return bucket;
}

static void bucket_unlock_blocked(struct hf_detail_bucket *bucket)
{
	uint64_t arrived = CLOSED;

	/*
	 * If a waiter has arrived meanwhile, the bucket stays closed. Release: a thread that finds it
	 * open takes no lock, and must not see the flags of waiters that have left (move_sole_waiter()).
	 */
	if (!bucket->first)
		(void)hf_atomic64_try_cmpxchg_release(&bucket->arrived, &arrived, 0);
	if (hf_atomic32_xchg_acq_rel(&bucket->lock, 0) == 2) /* 1, 2 -> 0 */
		(void)hf_env_unpark(&bucket->lock, 1, HF_ENV_PRIVATE);
}

struct hf_detail_bucket *hf_detail_bucket_lock(const void *at)
{
	uint64_t signals = hf_env_signals_block(); /* Q4 */
	struct hf_detail_bucket *bucket = bucket_lock_blocked(at);

	bucket->signals = signals;
	return bucket;
}

void hf_detail_bucket_unlock(struct hf_detail_bucket *bucket)
{
	uint64_t signals = bucket->signals;

	bucket_unlock_blocked(bucket);
	hf_env_signals_restore(signals);
}

/* ---- a queue: all under the lock of its bucket --------------------------------------------- */

/* The first waiter at an address, or NULL. */
static struct hf_detail_waiter *waiter_find(const struct hf_detail_bucket *bucket, const void *at)
{
	struct hf_detail_waiter *waiter = bucket->first;

	while (waiter && waiter->at != at)
		waiter = waiter->next;
	return waiter;
}

static void waiter_append(struct hf_detail_bucket *bucket, struct hf_detail_waiter *waiter)
{
	waiter->next = NULL;
	waiter->prev = bucket->last;
	*(bucket->last ? &bucket->last->next : &bucket->first) = waiter;
	bucket->last = waiter;
	if (!hf_atomic64_load_relaxed(&bucket->born))
		hf_atomic64_store_relaxed(&bucket->born, hf_env_deadline(0));
	waiter->born = hf_atomic64_load_relaxed(&bucket->born);
}

/* Q7. Returns false if the parent process queued it last. */
static bool waiter_is_queued(const struct hf_detail_bucket *bucket,
			     const struct hf_detail_waiter *waiter)
{
	return waiter->born == hf_atomic64_load_relaxed(&bucket->born);
}

static void waiter_take_out(struct hf_detail_bucket *bucket, struct hf_detail_waiter *waiter)
{
	*(waiter->prev ? &waiter->prev->next : &bucket->first) = waiter->next;
	*(waiter->next ? &waiter->next->prev : &bucket->last) = waiter->prev;
}

/* Adds to the number of waiters of the queue at @at. */
static void count_waiters(hf_atomic32_t *at, uint32_t n)
{
	(void)hf_atomic32_fetch_add_relaxed(at, n);
}

/* SPINNING, PARKED -> RELEASED, of a waiter that was taken out. Returns what to wake, or NULL. */
static hf_atomic32_t *waiter_release(struct hf_detail_waiter *waiter)
{
	hf_atomic32_t *state = &waiter->state;

	return hf_atomic32_xchg_acq_rel(state, HF_DETAIL_WAITER_RELEASED) ==
			       HF_DETAIL_WAITER_SPINNING
		       ? NULL
		       : state; /* Q8: from here on only an address */
}

/* Wakes the thread that parks on @state, if not NULL. Its stack frame may be gone already. */
static void waiter_wake(const void *at, hf_atomic32_t *state)
{
	if (!state)
		return;
	HF_DETAIL_PROBE2(wake, at, state);
	(void)hf_env_unpark(state, 1, HF_ENV_PRIVATE);
}

/*
 * Parks until @until while the waiter's state is PARKED. Returns true if @deadline has passed. The
 * probe reports @at, since waiter->at may be read only under the bucket's lock.
 */
static bool waiter_park(struct hf_detail_waiter *waiter, const void *at, uint64_t until,
			uint64_t deadline)
{
	HF_DETAIL_PROBE3(park, at, &waiter->state, until);
	return hf_env_park(&waiter->state, HF_DETAIL_WAITER_PARKED, until, HF_ENV_PRIVATE) ==
		       HF_ENV_TIMEOUT &&
	       hf_detail_is_past(deadline);
}

static bool waiter_is_released(const struct hf_detail_waiter *waiter)
{
	return hf_atomic32_load_acquire(&waiter->state) == HF_DETAIL_WAITER_RELEASED; /* Q8 */
}

/* ---- the queue of a lock ------------------------------------------------------------------- */

/* Q3: does an unlock have to wake this first waiter? */
static bool needs_wake(const struct hf_detail_waiter *first)
{
	return first && hf_detail_waiter_state(first) != HF_DETAIL_WAITER_HEAD;
}

/*
 * Counts a lock less, without the bucket's lock. A signal handler may have forked since the waiter was
 * taken out: the child's table counts none.
 */
static void need_less(hf_atomic32_t *need)
{
	uint32_t found = hf_atomic32_load_relaxed(need);

	while (found && !hf_atomic32_try_cmpxchg_relaxed(need, &found, found - 1))
		;
}

/* Q6: does `need` count a single lock? */
static bool need_is_one(const hf_atomic32_t *need)
{
	return hf_atomic32_load_relaxed(need) == 1;
}

static void change_flags(struct hf_detail_bucket *bucket, uint32_t clear, uint32_t set)
{
	hf_atomic32_store_relaxed(&bucket->flags,
				  (hf_atomic32_load_relaxed(&bucket->flags) & ~clear) | set);
}

/* Updates `need` and the flags after the first waiter has changed. @needed: needs_wake() before. */
static void bucket_update(struct hf_detail_bucket *bucket, const void *lock, bool needed)
{
	const struct hf_detail_waiter *first = waiter_find(bucket, lock);
	hf_atomic32_t *need = need_of(lock);
	bool needs = needs_wake(first);

	if (needs != needed)
		(void)hf_atomic32_fetch_add_relaxed(need, needs ? 1u : UINT32_MAX);
	if (!first)
		change_flags(bucket, HF_DETAIL_BUCKET_FLAGS, 0);
	else if (needs && hf_detail_waiter_state(first) == HF_DETAIL_WAITER_WAKING &&
		 need_is_one(need))
		change_flags(bucket, 0, HF_DETAIL_BUCKET_WAITERS | HF_DETAIL_BUCKET_WAKING);
	else
		change_flags(bucket, HF_DETAIL_BUCKET_WAKING, HF_DETAIL_BUCKET_WAITERS);
}

/* Appends a waiter. Returns true, with its state set to @if_first, if it is the first. */
static bool enqueue(struct hf_detail_bucket *bucket, struct hf_detail_waiter *waiter,
		    uint32_t if_first)
{
	struct hf_detail_waiter *first = waiter_find(bucket, waiter->lock);

	waiter->at = waiter->lock;
	hf_atomic32_store_relaxed(&waiter->state,
				  first ? (uint32_t)HF_DETAIL_WAITER_PARKED : if_first);
	waiter_append(bucket, waiter);
	bucket_update(bucket, waiter->lock, needs_wake(first)); /* W2: others rely on the first */
	return !first;
}

/* Locks the waiter's bucket. In the child of a fork it also queues the waiter again (Q7). */
static struct hf_detail_bucket *bucket_lock_of(struct hf_detail_waiter *waiter)
{
	struct hf_detail_bucket *bucket = hf_detail_bucket_lock(waiter->lock);

	if (HF_UNLIKELY(!waiter_is_queued(bucket, waiter)))
		(void)enqueue(bucket, waiter, HF_DETAIL_WAITER_HEAD);
	return bucket;
}

/* WAKING -> HEAD, HEAD -> PARKED: of @waiter, which is this thread's and the first. */
static void set_head(struct hf_detail_waiter *waiter, uint32_t state)
{
	struct hf_detail_bucket *bucket = bucket_lock_of(waiter);
	bool needed = needs_wake(waiter);

	hf_atomic32_store_relaxed(&waiter->state, state);
	bucket_update(bucket, waiter->lock, needed);
	hf_detail_bucket_unlock(bucket);
}

/* PARKED -> WAKING, of the first waiter. Returns what the caller must wake, or NULL. */
static hf_atomic32_t *mark_first_waking(struct hf_detail_bucket *bucket, const hf_atomic32_t *lock)
{
	struct hf_detail_waiter *first = waiter_find(bucket, lock);

	if (!first || hf_detail_waiter_state(first) != HF_DETAIL_WAITER_PARKED)
		return NULL;
	hf_atomic32_store_relaxed(&first->state, HF_DETAIL_WAITER_WAKING);
	bucket_update(bucket, lock, true);
	return &first->state;
}

/* Takes a waiter out of the queue after it has acquired the lock or given up. */
static void finish_wait(struct hf_detail_waiter *waiter, bool locked)
{
	hf_atomic32_t *lock = waiter->lock, *woken = NULL;
	struct hf_detail_bucket *bucket = bucket_lock_of(waiter);
	struct hf_detail_waiter *first = waiter_find(bucket, lock);
	bool was_first = first == waiter, needed = needs_wake(first);

	if (hf_detail_waiter_state(waiter) == HF_DETAIL_WAITER_RELEASED) {
		hf_detail_bucket_unlock(bucket); /* it was released while it was giving up */
		return;
	}
	waiter_take_out(bucket, waiter);
	first = waiter_find(bucket, lock);
	/* W4. Even if @waiter was PARKED: others may have relied on a wake-up in flight to it. */
	if (first && was_first && !locked) {
		woken = &first->state;
		hf_atomic32_store_relaxed(woken, HF_DETAIL_WAITER_WAKING); /* PARKED -> WAKING */
	}
	bucket_update(bucket, lock, needed); /* W3: our unlock must wake the next one */
	if (was_first)
		change_flags(bucket, HF_DETAIL_BUCKET_AWAITED, 0);
	hf_detail_bucket_unlock(bucket);
	waiter_wake(lock, woken);
}

/*
 * R. Picks a waiter to run on @processor in place of the caller, and sets *@woken if it must be
 * woken. Returns false if there is none: then the caller keeps running. AWAITED lets only one thread
 * leave its processor to the first waiter; if that waiter does not get to run, the next thread that
 * leaves picks another one.
 */
static bool find_successor(struct hf_detail_bucket *bucket, const hf_atomic32_t *lock,
			   uint32_t processor, hf_atomic32_t **woken)
{
	struct hf_detail_waiter *next = waiter_find(bucket, lock);
	int left = SEARCH_LIMIT;

	if (next && next->processor == processor &&
	    !(hf_atomic32_load_relaxed(&bucket->flags) & HF_DETAIL_BUCKET_AWAITED)) {
		*woken = mark_first_waking(bucket, lock);
		change_flags(bucket, 0, HF_DETAIL_BUCKET_AWAITED);
		return true;
	}
	while (next && left--) {
		next = next->next;
		if (next && next->at == lock && next->processor == processor) {
			waiter_take_out(bucket, next);
			*woken = waiter_release(next);
			return true;
		}
	}
	return false;
}

/* ---- the only waiter of a bucket, without the bucket's lock: Q9 ------------------------------ */

/* Adds a waiter to those that have arrived. */
static void arrive(struct hf_detail_bucket *bucket, struct hf_detail_waiter *waiter, uint64_t born)
{
	uint64_t arrived = hf_atomic64_load_relaxed(&bucket->arrived), now;

	waiter->born = born;
	do {
		waiter->next = (struct hf_detail_waiter *)(uintptr_t)(arrived & ~(uint64_t)CLOSED);
		now = (uint64_t)(uintptr_t)waiter | (arrived ? CLOSED : 0);
	} while (!hf_atomic64_try_cmpxchg_release(&bucket->arrived, &arrived, now));
}

/* Closes the bucket, whose lock this thread has got, and queues those that have arrived. */
static void bucket_admit(struct hf_detail_bucket *bucket)
{
	struct hf_detail_waiter *waiter, *next, *oldest = NULL;
	uint64_t arrived = hf_atomic64_load_relaxed(&bucket->arrived);

	while (arrived != CLOSED &&
	       !hf_atomic64_try_cmpxchg_acquire(&bucket->arrived, &arrived, CLOSED))
		;
	waiter = (struct hf_detail_waiter *)(uintptr_t)(arrived & ~(uint64_t)CLOSED);
	for (; waiter; waiter = next) {
		next = waiter->next;
		waiter->next = oldest;
		oldest = waiter;
	}
	for (; oldest; oldest = next) {
		next = oldest->next;
		waiter_append(bucket, oldest);
		if (oldest->at == oldest->lock)
			bucket_update(bucket, oldest->lock, true); /* `need` counts it already */
		else
			oldest->queued = true;
	}
}

/* Takes out the bucket's only waiter, which then stays in its wait until it is released, or moved. */
static struct hf_detail_waiter *take_only(struct hf_detail_bucket *bucket)
{
	uint64_t arrived = hf_atomic64_load_relaxed(&bucket->arrived);

	while (arrived && !(arrived & CLOSED)) {
		if (hf_atomic64_try_cmpxchg_acquire(&bucket->arrived, &arrived, 0))
			return (struct hf_detail_waiter *)(uintptr_t)arrived;
	}
	return NULL;
}

/*
 * Takes out the only waiter of a bucket if it waits at @at. Another one cannot be put back, since it
 * may have missed a wake-up meanwhile: it is released, which is a spurious wake-up, and rare.
 */
static struct hf_detail_waiter *take_only_at(const void *at)
{
	struct hf_detail_waiter *waiter = take_only(bucket_of(at));
	const void *other;

	if (!waiter)
		return NULL;
	other = waiter->at;
	if (other == waiter->lock)
		need_less(need_of(other));
	else
		count_waiters((hf_atomic32_t *)(uintptr_t)other, UINT32_MAX);
	if (other == at)
		return waiter;
	waiter_wake(other, waiter_release(waiter));
	return NULL;
}

/* In the child of a fork: takes back what move_sole_waiter() has published, if it is still there. */
static void retract(struct hf_detail_bucket *bucket, hf_atomic32_t *need, uint64_t published)
{
	(void)hf_atomic64_try_cmpxchg_relaxed(&bucket->arrived, &published, 0);
	need_less(need);
}

/*
 * Moves a waiter that is in no queue to that of its lock, without waking it, if that bucket has no
 * waiters. This thread holds the lock, so its unlock wakes the waiter (W6).
 *
 * That unlock reads the flags, which the last holder of the bucket's lock has cleared before it opened
 * the bucket: with a stale WAKING it would wake nobody. So the swap acquires. The first look at
 * `arrived` need not, and could not replace it: it may find an older 0 than the swap.
 *
 * The swap publishes a waiter of the parent process if a signal handler has forked since `born` was
 * read: the child, whose `born` is 0, takes it out again. Its thread does not exist there.
 */
static bool move_sole_waiter(struct hf_detail_waiter *waiter)
{
	hf_atomic32_t *lock = waiter->lock, *need = need_of(lock);
	struct hf_detail_bucket *bucket = bucket_of(lock);
	uint64_t born = hf_atomic64_load_relaxed(&bucket->born), none = 0;
	uint64_t published = (uint64_t)(uintptr_t)waiter;

	if (!born || hf_atomic64_load_relaxed(&bucket->arrived))
		return false;
	waiter->at = lock;
	waiter->next = NULL;
	waiter->born = born;
	(void)hf_atomic32_fetch_add_relaxed(need, 1);
	if (!hf_atomic64_try_cmpxchg_acq_rel(&bucket->arrived, &none, published)) {
		need_less(need);
		return false;
	}
	if (HF_UNLIKELY(hf_atomic64_load_relaxed(&bucket->born) != born))
		retract(bucket, need, published);
	return true;
}

/* ---- turns --------------------------------------------------------------------------------- */

void hf_detail_turn_begin(void)
{
	HF_PARKING_TURN = hf_env_deadline(0);
}

/*
 * A new turn begins if the last call was a whole turn ago: the thread did other work in between, or
 * was descheduled.
 */
bool hf_detail_turn_is_over(uint32_t turns)
{
	uint64_t now = hf_env_deadline(0);

	if (now - HF_PARKING_SEEN >= HF_PARKING_TURN_NS)
		HF_PARKING_TURN = now;
	HF_PARKING_SEEN = now;
	return now - HF_PARKING_TURN >= turns * (uint64_t)HF_PARKING_TURN_NS;
}

/* ---- waiting for a lock -------------------------------------------------------------------- */

/* @alone: this is the first waiter, so no other waiter would notice an unlock. */
static enum hf_detail_park park_until_woken(struct hf_detail_waiter *waiter,
					    hf_detail_try_lock_t *try_lock, uint64_t deadline,
					    bool alone)
{
	uint64_t recheck = HF_DETAIL_RECHECK_NS;

	while (hf_detail_waiter_state(waiter) == HF_DETAIL_WAITER_PARKED) {
		uint64_t until = deadline;

		if (alone) {
			bool certain = hf_env_barrier_all(); /* W1: between `need` and the check */

			if (try_lock(waiter->lock))
				return HF_DETAIL_PARK_LOCKED;
			if (!certain) {
				until = hf_detail_earlier(deadline, hf_env_deadline(recheck));
				recheck = hf_detail_earlier(recheck * 2, HF_DETAIL_RECHECK_MAX_NS);
			}
		}
		if (waiter_park(waiter, waiter->lock, until, deadline))
			return HF_DETAIL_PARK_TIMED_OUT;
	}
	return waiter_is_released(waiter) ? HF_DETAIL_PARK_RELEASED : HF_DETAIL_PARK_NONE;
}

/* Spins as the first waiter: WAKING -> HEAD, unless it acquires the lock at once. */
static enum hf_detail_park spin_as_head(struct hf_detail_waiter *waiter,
					hf_detail_try_lock_t *try_lock, uint64_t deadline)
{
	uint32_t ns = HF_ARCH_BACKOFF_MIN_NS;

	for (uint32_t left = HF_PARKING_HEAD_SPIN_NS;; left -= ns) {
		if (try_lock(waiter->lock))
			return HF_DETAIL_PARK_LOCKED;
		if (hf_detail_is_past(deadline))
			return HF_DETAIL_PARK_TIMED_OUT;
		if (hf_detail_waiter_state(waiter) == HF_DETAIL_WAITER_WAKING)
			set_head(waiter, HF_DETAIL_WAITER_HEAD);
		if (left <= ns)
			return HF_DETAIL_PARK_NONE;
		hf_wait_ns(ns);
	}
}

/* Waits with a queued waiter. */
static enum hf_detail_park wait_to_lock(struct hf_detail_waiter *waiter,
					hf_detail_try_lock_t *try_lock, uint64_t deadline)
{
	enum hf_detail_park result;

	for (bool alone = false;; alone = true) {
		result = park_until_woken(waiter, try_lock, deadline, alone);
		if (result == HF_DETAIL_PARK_NONE)
			result = spin_as_head(waiter, try_lock, deadline);
		if (result != HF_DETAIL_PARK_NONE)
			break;
		set_head(waiter, HF_DETAIL_WAITER_PARKED);
	}
	hf_detail_turn_begin();
	if (result != HF_DETAIL_PARK_RELEASED)
		finish_wait(waiter, result == HF_DETAIL_PARK_LOCKED);
	return result;
}

enum hf_detail_park hf_detail_park_to_lock(hf_atomic32_t *lock, hf_detail_try_lock_t *try_lock,
					   uint64_t deadline, bool in_exchange)
{
	struct hf_detail_waiter waiter;
	struct hf_detail_bucket *bucket;
	hf_atomic32_t *woken = NULL;
	bool queues;

	waiter.lock = lock;
	waiter.processor = hf_env_processor();
	waiter.queued = false;
	bucket = hf_detail_bucket_lock(lock);
	queues = !in_exchange || find_successor(bucket, lock, waiter.processor, &woken);
	if (queues)
		(void)enqueue(bucket, &waiter, HF_DETAIL_WAITER_HEAD);
	hf_detail_bucket_unlock(bucket);
	waiter_wake(lock, woken);
	if (queues)
		return wait_to_lock(&waiter, try_lock, deadline);
	hf_detail_turn_begin();
	return HF_DETAIL_PARK_NONE;
}

/* Releases the waiter for a lock that is the only one of the bucket: nobody relies on it (W2). */
static bool release_only(hf_atomic32_t *lock)
{
	struct hf_detail_waiter *waiter = take_only_at(lock);

	if (waiter)
		waiter_wake(lock, waiter_release(waiter));
	return waiter != NULL;
}

void hf_detail_unpark_first(hf_atomic32_t *lock)
{
	struct hf_detail_bucket *bucket;
	hf_atomic32_t *woken;

	if (release_only(lock))
		return;
	bucket = hf_detail_bucket_lock(lock);
	woken = mark_first_waking(bucket, lock);
	hf_detail_bucket_unlock(bucket);
	waiter_wake(lock, woken);
}

void hf_detail_unpark_and_leave(hf_atomic32_t *lock)
{
	struct hf_detail_bucket *bucket;
	hf_atomic32_t *first, *woken = NULL;

	if (release_only(lock))
		return;
	bucket = hf_detail_bucket_lock(lock);
	first = mark_first_waking(bucket, lock);
	(void)find_successor(bucket, lock, hf_env_processor(), &woken);
	hf_detail_bucket_unlock(bucket);
	waiter_wake(lock, first);
	waiter_wake(lock, woken);
}

/* ---- waiting for a signal ------------------------------------------------------------------ */

/* SPINNING -> PARKED, unless a release comes first: then returns true. */
static bool spin_until_released(struct hf_detail_waiter *waiter,
				const struct hf_detail_wait_calls *calls, uint64_t deadline)
{
	uint32_t state = HF_DETAIL_WAITER_SPINNING;

	(void)calls->spin(&waiter->state, state, deadline);
	while (state == HF_DETAIL_WAITER_SPINNING) {
		if (hf_atomic32_try_cmpxchg_relaxed(&waiter->state, &state,
						    HF_DETAIL_WAITER_PARKED))
			return false;
	}
	return true;
}

/* Leaves this processor to a waiter for the lock, which this thread has unlocked before it spun. */
static void leave_processor(const struct hf_detail_waiter *waiter)
{
	hf_atomic32_t *woken = NULL;
	struct hf_detail_bucket *bucket;

	if (!hf_detail_parking_flags(waiter->lock))
		return;
	bucket = hf_detail_bucket_lock(waiter->lock);
	(void)find_successor(bucket, waiter->lock, waiter->processor, &woken);
	hf_detail_bucket_unlock(bucket);
	waiter_wake(waiter->lock, woken);
}

/* Takes out a waiter that has timed out. Returns false if another thread has done so. */
static bool leave_queue(hf_atomic32_t *at, struct hf_detail_waiter *waiter)
{
	struct hf_detail_bucket *bucket = hf_detail_bucket_lock(at);
	bool leaves = waiter->queued;

	if (leaves && waiter_is_queued(bucket, waiter)) {
		waiter_take_out(bucket, waiter);
		waiter->queued = false;
		count_waiters(at, UINT32_MAX);
	}
	hf_detail_bucket_unlock(bucket);
	return leaves;
}

/*
 * Queues a waiter at @at, with its number counted first (C1). The first one of a bucket takes the
 * bucket's lock, to set `born`.
 */
static void queue_to_wait(hf_atomic32_t *at, struct hf_detail_waiter *waiter)
{
	struct hf_detail_bucket *bucket = bucket_of(at);
	uint64_t born = hf_atomic64_load_relaxed(&bucket->born);

	if (HF_LIKELY(born)) {
		count_waiters(at, 1);
		arrive(bucket, waiter, born);
		return;
	}
	bucket = hf_detail_bucket_lock(at);
	waiter_append(bucket, waiter);
	waiter->queued = true;
	count_waiters(at, 1);
	hf_detail_bucket_unlock(bucket);
}

enum hf_detail_park hf_detail_park_to_wait(hf_atomic32_t *at, hf_atomic32_t *lock,
					   const struct hf_detail_wait_calls *calls,
					   uint64_t deadline, struct hf_detail_waited *waited)
{
	enum hf_detail_park result = HF_DETAIL_PARK_RELEASED;
	struct hf_detail_waiter waiter;

	waiter.at = at;
	waiter.lock = lock;
	waiter.processor = hf_env_processor();
	waiter.queued = false;
	waiter.behind = NULL;
	waiter.moved = 0;
	hf_atomic32_store_relaxed(&waiter.state, calls->spin ? HF_DETAIL_WAITER_SPINNING
							     : HF_DETAIL_WAITER_PARKED);
	queue_to_wait(at, &waiter);
	calls->before_sleep(lock, !calls->spin);
	deadline = HF_DETAIL_PARKING_QUEUED(&waiter, deadline);
	if (calls->spin && !spin_until_released(&waiter, calls, deadline))
		leave_processor(&waiter);

	while (hf_detail_waiter_state(&waiter) == HF_DETAIL_WAITER_PARKED) {
		if (!waiter_park(&waiter, at, deadline, deadline))
			continue;
		if (leave_queue(at, &waiter)) {
			HF_DETAIL_PARKING_LEFT();
			return HF_DETAIL_PARK_TIMED_OUT;
		}
		break;
	}
	HF_DETAIL_PARKING_LEFT();
	if (!waiter_is_released(&waiter))
		result = wait_to_lock(&waiter, calls->try_lock, HF_ENV_FOREVER);
	waited->moved = waiter.moved;
	if (waiter.behind && waiter_is_queued(bucket_of(lock), &waiter))
		waited->behind = waiter.behind;
	return result;
}

/*
 * Opens the bucket if its queue has only this waiter, which `need` counts: the unlock then takes it out
 * without the bucket's lock, as it does after move_sole_waiter().
 */
static void publish_sole_waiter(struct hf_detail_bucket *bucket, struct hf_detail_waiter *waiter)
{
	uint64_t arrived = CLOSED;

	if (bucket->first != bucket->last)
		return;
	waiter_take_out(bucket, waiter);
	change_flags(bucket, HF_DETAIL_BUCKET_FLAGS, 0);
	if (hf_atomic64_try_cmpxchg_release(&bucket->arrived, &arrived,
					    (uint64_t)(uintptr_t)waiter))
		return;
	waiter_append(bucket, waiter); /* another one has arrived */
	change_flags(bucket, 0, HF_DETAIL_BUCKET_WAITERS);
}

/*
 * Does a lock's word say that this thread is its holder? If it has no mark, it gets one for the next
 * time. A mark is no proof if another thread may unlock what this one has locked.
 */
static bool is_own_mark(uint32_t word)
{
#if HF_DETAIL_PARKING_TRUSTS_MARKS
	uint32_t mark = hf_detail_parking_mark();

	return word == mark && mark != 1;
#else
	(void)word;
	return false;
#endif
}

/*
 * Moves a waiter that is in no queue to that of its lock, and wakes it if it is the first.
 *
 * If it ran on @processor, which is this thread's, it could only preempt this thread, and would then
 * wait for it if it holds the lock: so it stays PARKED, and the unlock wakes it (W6).
 */
static void move_to_lock(struct hf_detail_waiter *waiter, uint32_t processor)
{
	hf_atomic32_t *lock = waiter->lock, *woken = NULL;
	struct hf_detail_bucket *bucket;
	bool is_near = waiter->processor == processor;

	/* A handler forked after this thread took it out, and this is the child: there is no such thread. */
	if (HF_UNLIKELY(!waiter_is_queued(bucket_of(waiter->at), waiter)))
		return;
	bucket = bucket_lock_blocked(lock);

	if (enqueue(bucket, waiter, HF_DETAIL_WAITER_PARKED)) {
		if (is_near && (is_own_mark(hf_atomic32_load_relaxed(lock)) ||
				(hf_env_barrier_all() && hf_atomic32_load_relaxed(lock))))
			publish_sole_waiter(bucket, waiter);
		else
			woken = mark_first_waking(bucket, lock);
	}
	bucket_unlock_blocked(bucket);
	waiter_wake(lock, woken);
}

/* Takes the first waiter out of the queue; NULL = there is none. */
static struct hf_detail_waiter *take_first(struct hf_detail_bucket *bucket, const void *at)
{
	struct hf_detail_waiter *waiter = waiter_find(bucket, at);

	if (waiter) {
		waiter_take_out(bucket, waiter);
		waiter->queued = false;
	}
	return waiter;
}

/*
 * Counts @n waiters less at @at, before the first of them is released: then the memory at @at may be
 * freed (C2 of cond.h). In the child of a fork the number is stale: it becomes 0 if no thread of this
 * process has queued in the bucket, since none can be about to.
 */
static void uncount(const struct hf_detail_bucket *bucket, hf_atomic32_t *at, uint32_t n)
{
	if (n)
		count_waiters(at, 0u - n);
	else if (!hf_atomic64_load_relaxed(&bucket->born))
		hf_atomic32_store_relaxed(at, 0);
}

/*
 * Wakes a waiter that was taken out, and counted. While the lock is held and has waiters, or its
 * holder may be this thread, on whose processor the waiter would run, it would only be woken to park
 * again: it is moved. A thread that finds its mark in the lock's word is the holder.
 */
static void wake_one(const void *at, struct hf_detail_waiter *waiter, uint32_t processor)
{
	uint32_t word = hf_atomic32_load_relaxed(waiter->lock);
	bool is_near = waiter->processor == processor;
	uint64_t signals;

	if (!word || hf_detail_waiter_state(waiter) != HF_DETAIL_WAITER_PARKED ||
	    !(is_near || hf_detail_parking_flags(waiter->lock))) {
		waiter_wake(at, waiter_release(waiter));
		return;
	}
	waiter->moved = hf_detail_profile_begin();
	if (is_near && is_own_mark(word) && move_sole_waiter(waiter))
		return;
	signals = hf_env_signals_block();
	move_to_lock(waiter, processor);
	hf_env_signals_restore(signals);
}

/* Moves a waiter, and those behind it. */
static void move_each(struct hf_detail_waiter *waiter, uint32_t processor)
{
	struct hf_detail_waiter *behind;

	for (; waiter; waiter = behind) {
		behind = waiter->behind;
		waiter->behind = NULL;
		move_to_lock(waiter, processor);
	}
}

/* W7: is this thread the holder of the lock for which all these wait, and its processor theirs? */
static bool may_move_in_turn(const struct hf_detail_waiter *first, uint32_t processor)
{
	const struct hf_detail_waiter *waiter = first;

	while (waiter && waiter->processor == processor && waiter->lock == first->lock)
		waiter = waiter->behind;
	return first && !waiter && is_own_mark(hf_atomic32_load_relaxed(first->lock));
}

void hf_detail_move_behind(struct hf_detail_waiter *behind)
{
	uint64_t signals;

	if (move_sole_waiter(behind))
		return;
	signals = hf_env_signals_block();
	move_each(behind, hf_env_processor());
	hf_env_signals_restore(signals);
}

void hf_detail_unpark_one(hf_atomic32_t *at)
{
	uint32_t processor = hf_env_processor();
	struct hf_detail_waiter *waiter = take_only_at(at);
	struct hf_detail_bucket *bucket;
	uint64_t signals;

	if (HF_LIKELY(waiter)) {
		wake_one(at, waiter, processor);
		return;
	}
	signals = hf_env_signals_block();
	bucket = bucket_lock_blocked(at);
	waiter = take_first(bucket, at);
	uncount(bucket, at, waiter ? 1 : 0);
	bucket_unlock_blocked(bucket);
	if (waiter)
		wake_one(at, waiter, processor);
	hf_env_signals_restore(
		signals); /* a waiter in no queue depends on this thread until here */
}

/*
 * Releases the waiters that spin, moves the others, or only their first one (W7), to the queue of the
 * lock, and wakes the first of those. If the lock is free, one more waiter is released at once, to use
 * the lock until the first one has woken up.
 *
 * The first waiter should be one of a processor that is not busy already, with this thread or with
 * the waiter that was released at once: a thread that parks leaves its processor to its neighbours,
 * so otherwise all threads of one processor would run before the first one of another is woken.
 */
void hf_detail_unpark_all(hf_atomic32_t *at)
{
	uint32_t processor = hf_env_processor(), busy = processor, n = 0;
	struct hf_detail_waiter *waiter = take_only_at(at), *next, *all = NULL, **end = &all;
	struct hf_detail_waiter *moved = NULL, **last = &moved;
	struct hf_detail_bucket *bucket;
	uint64_t signals;

	if (waiter) {
		wake_one(at, waiter, processor);
		return;
	}
	signals = hf_env_signals_block();
	bucket = bucket_lock_blocked(at);
	for (; (waiter = take_first(bucket, at)); n++) {
		*end = waiter;
		end = &waiter->next;
		waiter->next = NULL;
	}
	uncount(bucket, at, n);
	bucket_unlock_blocked(bucket);

	waiter = all;
	if (waiter && !hf_atomic32_load_relaxed(waiter->lock)) {
		all = waiter->next;
		busy = waiter->processor;
		waiter_wake(at, waiter_release(waiter));
	}
	for (waiter = all; waiter; waiter = next) {
		bool is_elsewhere;

		next = waiter->next;
		if (hf_detail_waiter_state(waiter) == HF_DETAIL_WAITER_SPINNING) {
			waiter_wake(at, waiter_release(waiter));
			continue;
		}
		is_elsewhere = moved && moved->processor == busy && waiter->processor != busy;

		waiter->moved = hf_detail_profile_begin();
		waiter->behind = is_elsewhere ? moved : NULL;
		*(is_elsewhere ? &moved : last) = waiter;
		if (!is_elsewhere)
			last = &waiter->behind;
	}
	if (!may_move_in_turn(moved, processor) || !move_sole_waiter(moved))
		move_each(moved, processor);
	hf_env_signals_restore(signals);
}

#if defined(HF_DETAIL_PARKING_HAS_UNPARK_THIS)
/* hf-run: releases a waiter that has not LEFT, if it is still queued at @at. Returns whether it was. */
bool hf_detail_unpark_this(hf_atomic32_t *at, struct hf_detail_waiter *waiter)
{
	struct hf_detail_bucket *bucket = hf_detail_bucket_lock(at);
	hf_atomic32_t *woken = NULL;
	bool is_queued = waiter->queued;

	if (is_queued) {
		waiter_take_out(bucket, waiter);
		waiter->queued = false;
		count_waiters(at, UINT32_MAX);
		woken = waiter_release(waiter);
	}
	hf_detail_bucket_unlock(bucket);
	waiter_wake(at, woken);
	return is_queued;
}
#endif
