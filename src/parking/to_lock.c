/* SPDX-License-Identifier: MIT */
/*
 * to_lock - waiting for a lock: to park and to wake. queue.h has the states and Q1 to Q9.
 *
 * Invariants
 *   W   No wake-up is lost: if a thread is parked and its lock is free, then a thread that was
 *       woken is about to check it. An unlock stores to the lock's word and then loads `need`,
 *       without a full barrier between them.
 *       W1  Before it parks, the first waiter sets `need`, then calls hf_env_barrier_all(), then
 *           checks the lock once more. The barrier takes effect at some moment in each other
 *           thread. If an unlock stores before that moment, the check sees the store; if it stores
 *           later, it also loads `need` and the flags later, and finds `need` set and WAKING
 *           cleared. If membarrier() is unavailable (an old kernel, a sandbox) or was called too
 *           often, the first waiter sleeps with a timeout that doubles from 1 to 64 ms.
 *       W2  A thread that parks behind others relies on the first one: awake, or W1. So all that
 *           park at an address wait for the same.
 *       W3  A waiter that acquires the lock leaves the queue, and sets `need` if others are parked,
 *           so its own unlock finds it set.
 *       W4  A first waiter that times out wakes the next one, whatever its own state was, because
 *           the barrier of W1 may have been refused. So a waiter that times out consumes no
 *           wake-up.
 *       W5  An unlock wakes nobody if the first waiter has been woken and `need` counts only that
 *           waiter: it will check the lock, or park by W1, which clears the flag of Q6.
 *       W6 and W7 are in move.c: a signal moves a waiter here without waking it.
 *       W8  Nobody relies for ever on a waiter that does not run: its thread may be in a signal
 *           handler that sleeps, stopped by a debugger or a frozen cgroup, or have no processor for
 *           long. Then it becomes ABSENT, and the next waiter is woken in its place:
 *             - at once, if a wake-up finds that it did not sleep where it should, unless its
 *               thread is about to look (W1);
 *             - or if another waiter's sleep ends: behind others, one that waits for the lock
 *               sleeps for at most 64 to 256 ms. Then it passes over a first waiter that should
 *               have looked. If that one sleeps, it tries the lock itself: without the barrier of
 *               W1 the first one may have missed the unlock, and be stopped in its sleep.
 *           A first waiter of a low class may get no processor for long, while a real-time thread
 *           behind it would: that one tries the lock each millisecond, and a signal or broadcast
 *           does not move it here, but releases it.
 *           An ABSENT waiter does not sleep: the thread that passes over it wakes it, and when it
 *           runs again it looks at the lock, and queues anew. A waiter that runs may be passed
 *           over, too, if it was woken a moment ago: that costs a wake-up too many, and its place.
 *           What is left: a waiter that stops between its wake-up and its look, or an unlocking
 *           thread that stops between the two steps of W7, while all others were moved here by
 *           signals, whose sleeps have no end; and a thread that stops while it holds a bucket's
 *           lock, for less than a microsecond, with signals blocked.
 *
 *   R   Making room. About as many threads are awake as there are processors, and one more is ready
 *       to run. While threads wait, one that has run for a turn since it last queued queues without
 *       spinning when it next finds the lock held, and wakes the oldest waiter that last ran on its
 *       processor. The first waiter is only woken and stays in the queue, since the others rely on
 *       it (W2); any other is released. The lock is never acquired on behalf of another thread.
 */
#include "queue.h"

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

/* The longest sleep of a waiter behind others; the first is a quarter of it (W8). */
#define BEHIND_MAX_NS (4 * HF_DETAIL_RECHECK_MAX_NS)

/* How many waiters find_successor() examines. */
enum { SEARCH_LIMIT = 32 };

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

/* ---- the first waiter: under the lock of its bucket ----------------------------------------- */

/* PARKED -> WAKING */
hf_atomic32_t *hf_detail_mark_first_waking(struct hf_detail_bucket *bucket,
					   const hf_atomic32_t *lock)
{
	struct hf_detail_waiter *first = hf_detail_waiter_find(bucket, lock);

	if (!first || hf_detail_waiter_state(first) != HF_DETAIL_WAITER_PARKED)
		return NULL;
	hf_atomic32_store_relaxed(&first->state, HF_DETAIL_WAITER_WAKING);
	hf_detail_bucket_update(bucket, lock, true);
	return &first->state;
}

/*
 * WAKING, HEAD -> ABSENT, of the first waiter: the next one takes its place (W8). Returns what the
 * caller must wake, or NULL.
 */
static hf_atomic32_t *pass_over(struct hf_detail_bucket *bucket, struct hf_detail_waiter *first)
{
	const hf_atomic32_t *lock = first->lock;
	bool needed = hf_detail_needs_wake(first);

	hf_atomic32_store_relaxed(&first->state, HF_DETAIL_WAITER_ABSENT);
	hf_detail_bucket_change_flags(bucket, HF_DETAIL_BUCKET_AWAITED, 0);
	hf_detail_bucket_update(bucket, lock, needed);
	return hf_detail_mark_first_waking(bucket, lock);
}

/* `looks` is read by a read-modify-write, since a load may be stale. */
void hf_detail_wake_first(hf_atomic32_t *lock, hf_atomic32_t *woken)
{
	while (woken && !hf_detail_waiter_wake(lock, woken)) {
		hf_atomic32_t *passed = NULL, *next = NULL;
		struct hf_detail_bucket *bucket = hf_detail_bucket_lock(lock);
		struct hf_detail_waiter *first = hf_detail_waiter_find(bucket, lock);

		if (first && &first->state == woken &&
		    hf_detail_waiter_state(first) == HF_DETAIL_WAITER_WAKING &&
		    !hf_atomic32_fetch_add_relaxed(&first->looks, 0)) {
			passed = woken;
			next = pass_over(bucket, first);
		}
		hf_detail_bucket_unlock(bucket);
		/* It sleeps if it has parked again, and its next waker was stopped. */
		(void)hf_detail_waiter_wake(lock, passed);
		woken = next;
	}
}

/* ---- this thread's waiter ------------------------------------------------------------------- */

/* Locks the waiter's bucket. In the child of a fork it also queues the waiter again (Q7). */
static struct hf_detail_bucket *bucket_lock_of(struct hf_detail_waiter *waiter)
{
	struct hf_detail_bucket *bucket = hf_detail_bucket_lock(waiter->lock);

	if (HF_UNLIKELY(!hf_detail_waiter_is_queued(bucket, waiter)))
		(void)hf_detail_enqueue(bucket, waiter, HF_DETAIL_WAITER_HEAD);
	return bucket;
}

/*
 * WAKING -> HEAD, HEAD -> PARKED: of @waiter, which is this thread's and the first. ABSENT ->
 * @state, if it is the first again; otherwise -> PARKED at the end of the queue (W8). Returns true
 * if it is the first.
 */
static bool set_head(struct hf_detail_waiter *waiter, uint32_t state)
{
	struct hf_detail_bucket *bucket = bucket_lock_of(waiter);
	const struct hf_detail_waiter *first = hf_detail_waiter_find(bucket, waiter->lock);
	bool is_first = first == waiter;

	if (is_first) {
		bool needed = hf_detail_needs_wake(first);

		hf_atomic32_store_relaxed(&waiter->state, state);
		hf_detail_bucket_update(bucket, waiter->lock, needed);
	} else if (hf_detail_waiter_state(waiter) == HF_DETAIL_WAITER_ABSENT) {
		hf_detail_waiter_take_out(bucket, waiter);
		is_first = hf_detail_enqueue(bucket, waiter, state);
	} /* else it is PARKED since then, or RELEASED */
	hf_detail_bucket_unlock(bucket);
	return is_first;
}

/* Takes a waiter out of the queue after it has acquired the lock or given up. */
static void finish_wait(struct hf_detail_waiter *waiter, bool locked)
{
	hf_atomic32_t *lock = waiter->lock, *woken = NULL;
	struct hf_detail_bucket *bucket = bucket_lock_of(waiter);
	struct hf_detail_waiter *first = hf_detail_waiter_find(bucket, lock);
	bool was_first = first == waiter, needed = hf_detail_needs_wake(first);

	if (hf_detail_waiter_state(waiter) == HF_DETAIL_WAITER_RELEASED) {
		hf_detail_bucket_unlock(bucket); /* it was released while it was giving up */
		return;
	}
	hf_detail_waiter_take_out(bucket, waiter);
	first = hf_detail_waiter_find(bucket, lock);
	/* W4. Even if @waiter was PARKED: others may have relied on a wake-up in flight to it. */
	if (first && was_first && !locked) {
		woken = &first->state;
		hf_atomic32_store_relaxed(woken, HF_DETAIL_WAITER_WAKING); /* PARKED -> WAKING */
	}
	if (was_first)
		hf_detail_bucket_change_flags(bucket, HF_DETAIL_BUCKET_AWAITED, 0);
	hf_detail_bucket_update(bucket, lock, needed); /* W3: our unlock must wake the next one */
	hf_detail_bucket_unlock(bucket);
	hf_detail_wake_first(lock, woken);
}

/*
 * This waiter's sleep has ended: it passes over a first one that should have looked (W8). Returns
 * true if it has, or is the first itself, which an unlock wakes; otherwise the caller tries the
 * lock.
 */
static bool recheck_first(struct hf_detail_waiter *waiter)
{
	hf_atomic32_t *lock = waiter->lock, *passed = NULL, *woken = NULL;
	struct hf_detail_bucket *bucket = bucket_lock_of(waiter);
	struct hf_detail_waiter *first = hf_detail_waiter_find(bucket, lock);

	if (first && first != waiter &&
	    (hf_detail_waiter_state(first) != HF_DETAIL_WAITER_PARKED ||
	     hf_atomic32_fetch_add_relaxed(&first->looks, 0))) {
		passed = &first->state;
		woken = pass_over(bucket, first);
	}
	hf_detail_bucket_unlock(bucket);
	/* It sleeps if its waker was stopped before the wake-up. */
	(void)hf_detail_waiter_wake(lock, passed);
	hf_detail_wake_first(lock, woken);
	return passed || first == waiter;
}

/*
 * @is_first: no other would notice an unlock. Otherwise it sleeps for a limited time, in case the
 * first one does not run.
 */
static enum hf_detail_park park_until_woken(struct hf_detail_waiter *waiter,
					    hf_detail_try_lock_t *try_lock, uint64_t deadline,
					    bool is_first)
{
	bool is_urgent = !is_first && waiter->is_real_time;
	uint64_t longest = is_first ? HF_DETAIL_RECHECK_MAX_NS : BEHIND_MAX_NS;
	uint64_t sleep = is_first || is_urgent ? HF_DETAIL_RECHECK_NS : BEHIND_MAX_NS / 4;

	while (hf_detail_waiter_state(waiter) == HF_DETAIL_WAITER_PARKED) {
		uint64_t until = deadline;
		bool certain = false;

		if (is_first) {
			hf_atomic32_store_relaxed(&waiter->looks, 1);
			certain = hf_env_barrier_all(); /* W1: between `need` and the check */
			if (try_lock(waiter->lock))
				return HF_DETAIL_PARK_LOCKED;
		}
		hf_atomic32_store_relaxed(&waiter->looks, 0);
		if (!certain) {
			until = hf_detail_earlier(deadline, hf_env_deadline(sleep));
			if (!is_urgent)
				sleep = hf_detail_earlier(sleep * 2, longest);
		}
		if (hf_detail_waiter_park(waiter, waiter->lock, until, deadline))
			return HF_DETAIL_PARK_TIMED_OUT;
		if (!is_first && hf_detail_waiter_state(waiter) == HF_DETAIL_WAITER_PARKED &&
		    (is_urgent || !recheck_first(waiter)) && try_lock(waiter->lock))
			return HF_DETAIL_PARK_LOCKED;
	}
	return hf_detail_waiter_is_released(waiter) ? HF_DETAIL_PARK_RELEASED : HF_DETAIL_PARK_NONE;
}

/*
 * Spins as the first waiter: WAKING -> HEAD. Not if it acquires the lock at once, or a spin would
 * most likely end in vain.
 */
static enum hf_detail_park spin_as_head(struct hf_detail_waiter *waiter,
					hf_detail_try_lock_t *try_lock, uint64_t deadline)
{
	uint32_t ns = HF_ARCH_BACKOFF_MIN_NS;
	bool spins = HF_PARKING_SHOULD_SPIN(&hf_detail_bucket_of(waiter->lock)->spin);

	for (uint32_t left = HF_PARKING_HEAD_SPIN_NS;; left -= ns) {
		uint32_t state;

		if (try_lock(waiter->lock))
			return HF_DETAIL_PARK_LOCKED;
		if (hf_detail_is_past(deadline))
			return HF_DETAIL_PARK_TIMED_OUT;
		if (!spins)
			return HF_DETAIL_PARK_NONE;
		state = hf_detail_waiter_state(waiter);
		if (state == HF_DETAIL_WAITER_WAKING || state == HF_DETAIL_WAITER_ABSENT)
			(void)set_head(waiter, HF_DETAIL_WAITER_HEAD);
		if (left <= ns)
			return HF_DETAIL_PARK_NONE;
		hf_wait_ns(ns);
	}
}

enum hf_detail_park hf_detail_wait_to_lock(struct hf_detail_waiter *waiter,
					   hf_detail_try_lock_t *try_lock, uint64_t deadline)
{
	enum hf_detail_park result;
	bool is_first = false;

	for (;;) {
		result = park_until_woken(waiter, try_lock, deadline, is_first);
		if (result == HF_DETAIL_PARK_NONE)
			result = spin_as_head(waiter, try_lock, deadline);
		if (result != HF_DETAIL_PARK_NONE)
			break;
		hf_atomic32_store_relaxed(&waiter->looks,
					  1); /* while it is PARKED and does not sleep */
		is_first = set_head(waiter, HF_DETAIL_WAITER_PARKED);
	}
	/* It may have slept to the end behind a waiter that does not run. */
	if (result == HF_DETAIL_PARK_TIMED_OUT && try_lock(waiter->lock))
		result = HF_DETAIL_PARK_LOCKED;
	hf_detail_turn_begin();
	if (result != HF_DETAIL_PARK_RELEASED)
		finish_wait(waiter, result == HF_DETAIL_PARK_LOCKED);
	return result;
}

/*
 * R. Picks a waiter to run on @processor in place of the caller, and sets *@woken if it must be
 * woken. Returns false if there is none: then the caller keeps running. AWAITED lets only one
 * thread leave its processor to the first waiter; if that waiter does not get to run, the next
 * thread that leaves picks another one.
 */
static bool find_successor(struct hf_detail_bucket *bucket, const hf_atomic32_t *lock,
			   uint32_t processor, hf_atomic32_t **woken)
{
	struct hf_detail_waiter *next = hf_detail_waiter_find(bucket, lock);
	int left = SEARCH_LIMIT;

	if (next && next->processor == processor &&
	    !(hf_atomic32_load_relaxed(&bucket->flags) & HF_DETAIL_BUCKET_AWAITED)) {
		*woken = hf_detail_mark_first_waking(bucket, lock);
		hf_detail_bucket_change_flags(bucket, 0, HF_DETAIL_BUCKET_AWAITED);
		return true;
	}
	while (next && left--) {
		next = next->next;
		if (next && next->at == lock && next->processor == processor &&
		    hf_detail_waiter_state(next) == HF_DETAIL_WAITER_PARKED) {
			hf_detail_waiter_take_out(bucket, next);
			*woken = hf_detail_waiter_release(next);
			return true;
		}
	}
	return false;
}

enum hf_detail_park hf_detail_park_to_lock(hf_atomic32_t *lock, hf_detail_try_lock_t *try_lock,
					   uint64_t deadline, enum hf_detail_park_how how)
{
	struct hf_detail_waiter waiter;
	struct hf_detail_bucket *bucket;
	hf_atomic32_t *woken = NULL;
	bool queues;

	hf_detail_waiter_init(&waiter, lock, lock);
	bucket = hf_detail_bucket_lock(lock);
	queues = how != HF_DETAIL_PARK_IN_EXCHANGE ||
		 find_successor(bucket, lock, waiter.processor, &woken);
	if (queues)
		(void)hf_detail_enqueue(bucket, &waiter, HF_DETAIL_WAITER_HEAD);
	hf_detail_bucket_unlock(bucket);
	hf_detail_wake_first(lock, woken);
	if (queues)
		return hf_detail_wait_to_lock(&waiter, try_lock, deadline);
	hf_detail_turn_begin();
	return HF_DETAIL_PARK_NONE;
}

/* ---- to wake ------------------------------------------------------------------------------- */

/*
 * Releases the sole waiter of a lock, and while none of those was asleep, the next one (W8).
 * Returns true if one was woken.
 */
static bool release_sole(hf_atomic32_t *lock)
{
	struct hf_detail_waiter *waiter;

	while ((waiter = hf_detail_take_sole_at(lock))) {
		if (hf_detail_waiter_wake(lock, hf_detail_waiter_release(waiter)))
			return true;
	}
	return false;
}

void hf_detail_unpark_first(hf_atomic32_t *lock)
{
	struct hf_detail_bucket *bucket;
	hf_atomic32_t *woken;

	if (release_sole(lock))
		return;
	bucket = hf_detail_bucket_lock(lock);
	woken = hf_detail_mark_first_waking(bucket, lock);
	hf_detail_bucket_unlock(bucket);
	hf_detail_wake_first(lock, woken);
}

enum { RELEASED_AT_ONCE = 16 };

/* PARKED -> RELEASED, of up to RELEASED_AT_ONCE waiters at @at. Returns the number with these. */
static int release_parked(struct hf_detail_bucket *bucket, const void *at, hf_atomic32_t **woken,
			  int n)
{
	bool needed = hf_detail_needs_wake(hf_detail_waiter_find(bucket, at));
	struct hf_detail_waiter *waiter = hf_detail_waiters_at(bucket, at), *next;

	for (; waiter && waiter->at == at && n < RELEASED_AT_ONCE; waiter = next) {
		next = waiter->next;
		if (hf_detail_waiter_state(waiter) != HF_DETAIL_WAITER_PARKED)
			continue;
		hf_detail_waiter_take_out(bucket, waiter);
		woken[n++] = hf_detail_waiter_release(waiter);
	}
	hf_detail_bucket_update(bucket, at, needed);
	return n;
}

void hf_detail_unpark_each(hf_atomic32_t *lock, uint32_t bytes)
{
	hf_atomic32_t *woken[RELEASED_AT_ONCE];
	int n;

	do {
		struct hf_detail_bucket *bucket = hf_detail_bucket_lock(lock);

		n = 0;
		for (uint32_t i = 0; i < bytes; i++)
			n = release_parked(bucket, (const char *)lock + i, woken, n);
		hf_detail_bucket_unlock(bucket);
		for (int i = 0; i < n; i++)
			(void)hf_detail_waiter_wake(lock, woken[i]);
	} while (n == RELEASED_AT_ONCE);
}

void hf_detail_unpark_and_leave(hf_atomic32_t *lock)
{
	struct hf_detail_bucket *bucket;
	hf_atomic32_t *first, *woken = NULL;

	if (release_sole(lock))
		return;
	bucket = hf_detail_bucket_lock(lock);
	first = hf_detail_mark_first_waking(bucket, lock);
	(void)find_successor(bucket, lock, hf_env_processor(), &woken);
	hf_detail_bucket_unlock(bucket);
	hf_detail_wake_first(lock, first);
	hf_detail_wake_first(lock, woken);
}

void hf_detail_leave_processor(hf_atomic32_t *lock, uint32_t processor)
{
	hf_atomic32_t *woken = NULL;
	struct hf_detail_bucket *bucket;

	if (!hf_detail_parking_flags(lock))
		return;
	bucket = hf_detail_bucket_lock(lock);
	(void)find_successor(bucket, lock, processor, &woken);
	hf_detail_bucket_unlock(bucket);
	hf_detail_wake_first(lock, woken);
}
