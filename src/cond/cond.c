/* SPDX-License-Identifier: MIT */
/* cond - waiting and waking. C1 to C6 are defined in include/holdfast/cond.h. */
#include "holdfast/cond.h"

#include "../mutex/mutex_queue.h"
#include "../profile/probe.h"
#include "holdfast/internal/wait.h"

/* How long a thread spins before it parks: about half as long as waking a parked thread takes. */
#ifndef HF_COND_SPIN_NS
#define HF_COND_SPIN_NS 10000
#endif

/* Above 0 if this thread's recent spins have ended with a signal: see should_spin(). */
#ifndef HF_COND_CREDIT
#define HF_COND_CREDIT spin_credit
static __thread int32_t spin_credit __attribute__((tls_model("initial-exec")));
#endif

enum { CREDIT_MAX = 8, SPIN_EACH = 32 };

/* The parking table could not be allocated: sleep briefly, and return a spurious wake-up. */
static bool wait_unqueued(hf_atomic32_t *cond, hf_atomic32_t *mutex, uint64_t deadline)
{
	uint64_t soon = hf_env_deadline(HF_DETAIL_RECHECK_NS);

	hf_detail_mutex_release(mutex);
	(void)hf_env_park(cond, hf_atomic32_load_relaxed(cond), soon < deadline ? soon : deadline,
			  HF_ENV_PRIVATE);
	(void)hf_detail_mutex_get(mutex, HF_ENV_FOREVER);
	return !hf_detail_is_past(deadline);
}

/* C3. Removes a waiter that timed out. Returns false if it had been signalled. */
static bool leave_queue(hf_atomic32_t *cond, struct hf_detail_waiter *waiter)
{
	struct hf_detail_bucket *bucket = hf_detail_bucket_lock(cond);
	bool left = !waiter->signalled;

	if (left && hf_detail_waiter_is_queued(bucket, waiter)) {
		hf_detail_bucket_remove(bucket, waiter);
		hf_atomic32_store_relaxed(cond, hf_atomic32_load_relaxed(cond) - 1);
	}
	hf_detail_bucket_unlock(bucket);
	return left;
}

/* A thread spins as long as its spins end with a signal, otherwise in one of SPIN_EACH waits. */
static bool should_spin(void)
{
	return HF_COND_CREDIT > 0 || ++HF_COND_CREDIT > 0;
}

static bool spin_ended(bool signalled)
{
	if (!signalled)
		HF_COND_CREDIT = HF_COND_CREDIT > 1 ? HF_COND_CREDIT - 1 : 1 - SPIN_EACH;
	else if (HF_COND_CREDIT < CREDIT_MAX)
		HF_COND_CREDIT++;
	return signalled;
}

/*
 * Spins until *@word is not @value or the spin budget is used up. Yields once a turn (M5 of
 * mutex.h), since a thread that never parks may hold the processor that a signalled thread needs.
 */
static void spin_while(const hf_atomic32_t *word, uint32_t value, uint64_t deadline)
{
	uint32_t ns = HF_ARCH_BACKOFF_MIN_NS, left = HF_COND_SPIN_NS;

	if (hf_detail_mutex_end_turn())
		hf_env_yield();
	for (; left > ns && hf_atomic32_load_relaxed(word) == value; left -= ns) {
		if (hf_detail_is_past(deadline))
			return;
		hf_wait_ns(ns);
	}
}

/* Returns false if no signal came in time; then the state has changed from SPINNING to PARKED. */
static bool spin_for_signal(struct hf_detail_waiter *waiter, uint64_t deadline)
{
	uint32_t state = HF_DETAIL_WAITER_SPINNING;

	spin_while(&waiter->state, state, deadline);
	while (state == HF_DETAIL_WAITER_SPINNING) {
		if (hf_atomic32_try_cmpxchg_relaxed(&waiter->state, &state,
						    HF_DETAIL_WAITER_PARKED))
			return spin_ended(false);
	}
	return spin_ended(true);
}

static bool cond_wait_queued(hf_atomic32_t *cond, hf_atomic32_t *mutex, uint64_t deadline)
{
	struct hf_detail_waiter waiter;
	struct hf_detail_bucket *bucket;
	uint64_t signals;
	bool spins = should_spin();

	if (HF_UNLIKELY(!hf_detail_parking_table()))
		return wait_unqueued(cond, mutex, deadline);
	waiter.at = cond;
	waiter.mutex = mutex;
	waiter.processor = hf_env_processor();
	waiter.signalled = false;
	waiter.released = false;
	hf_atomic32_store_relaxed(&waiter.state,
				  spins ? HF_DETAIL_WAITER_SPINNING : HF_DETAIL_WAITER_PARKED);
	signals = hf_env_signals_block();
	bucket = hf_detail_bucket_lock_blocked(cond);
	hf_detail_bucket_append(bucket, &waiter);
	hf_atomic32_store_relaxed(cond, hf_atomic32_load_relaxed(cond) + 1);
	hf_detail_bucket_unlock_blocked(bucket);
	if (spins)
		hf_detail_mutex_release(mutex); /* C1: the waiter is queued */
	else
		hf_detail_mutex_release_to_park(&waiter); /* C1 */
	hf_env_signals_restore(signals);
	if (spins && !spin_for_signal(&waiter, deadline))
		hf_detail_mutex_leave_processor(&waiter);

	while (hf_detail_waiter_state(&waiter) == HF_DETAIL_WAITER_PARKED) {
		if (hf_detail_waiter_park(&waiter, cond, deadline, deadline)) {
			if (!leave_queue(cond, &waiter))
				break;
			(void)hf_detail_mutex_relock(mutex, HF_ENV_FOREVER);
			return false;
		}
	}
	if (hf_atomic32_load_acquire(&waiter.state) == HF_DETAIL_WAITER_RELEASED) /* C6: acquire */
		(void)hf_detail_mutex_relock(mutex, HF_ENV_FOREVER);
	else
		(void)hf_detail_mutex_wait(&waiter, HF_ENV_FOREVER);
	return waiter.signalled; /* true; without C6's order a model finds a race here */
}

__attribute__((__noinline__)) bool hf_detail_cond_wait(hf_atomic32_t *cond, hf_atomic32_t *mutex,
						       uint64_t deadline)
{
	uint64_t start = hf_detail_profile_begin();
	bool signalled = cond_wait_queued(cond, mutex, deadline);

	hf_detail_profile_end(start, HF_DETAIL_PROFILE_COND, cond, HF_DETAIL_CALL_SITE);
	return signalled;
}

/*
 * Takes the first waiter out of the queue; NULL = there is none. The caller holds the bucket's
 * lock. In the child of a fork the number of waiters is stale: it becomes 0.
 */
static struct hf_detail_waiter *take_first(struct hf_detail_bucket *bucket, hf_atomic32_t *cond)
{
	struct hf_detail_waiter *waiter = hf_detail_bucket_find(bucket, cond);
	uint32_t waiters = hf_atomic32_load_relaxed(cond);

	hf_atomic32_store_relaxed(cond, waiter ? waiters - 1 : 0);
	if (waiter) {
		hf_detail_bucket_remove(bucket, waiter);
		waiter->signalled = true;
	}
	return waiter;
}

static void wake_one(hf_atomic32_t *cond)
{
	struct hf_detail_bucket *bucket = hf_detail_bucket_lock_blocked(cond);
	struct hf_detail_waiter *waiter = take_first(bucket, cond);
	bool moves = waiter && hf_detail_waiter_state(waiter) == HF_DETAIL_WAITER_PARKED &&
		     hf_detail_mutex_is_locked(waiter->mutex) &&
		     hf_detail_mutex_has_waiters(waiter->mutex);
	hf_atomic32_t *sleeper = waiter && !moves ? hf_detail_waiter_release(waiter) : NULL;

	hf_detail_bucket_unlock_blocked(bucket);
	hf_detail_waiter_wake(cond, sleeper);
	if (moves)
		hf_detail_mutex_enqueue(waiter);
}

/*
 * Releases the waiters that spin, moves the others to the queue of the mutex (C2), and wakes the
 * first of those. If the mutex is unlocked, one more waiter is released at once, to use the mutex
 * until the first one has woken up.
 *
 * The first waiter should be one of a processor that is not busy already, with this thread or with
 * the waiter that was released at once: a thread that parks leaves its processor to its neighbours,
 * so otherwise all threads of one processor would run before the first one of another is woken.
 */
static void move_all(hf_atomic32_t *cond)
{
	struct hf_detail_bucket *bucket = hf_detail_bucket_lock_blocked(cond);
	struct hf_detail_waiter *waiter = take_first(bucket, cond), *taken = NULL, **last = &taken;
	uint32_t busy = hf_env_processor();
	hf_atomic32_t *sleeper = NULL;

	if (waiter && !hf_detail_mutex_is_locked(waiter->mutex)) {
		busy = waiter->processor;
		sleeper = hf_detail_waiter_release(waiter);
		waiter = take_first(bucket, cond);
	}
	for (; waiter; waiter = take_first(bucket, cond)) {
		bool is_elsewhere;

		if (hf_detail_waiter_state(waiter) == HF_DETAIL_WAITER_SPINNING) {
			hf_detail_waiter_wake(cond, hf_detail_waiter_release(waiter));
			continue;
		}
		is_elsewhere = taken && taken->processor == busy && waiter->processor != busy;

		waiter->next = is_elsewhere ? taken : NULL;
		*(is_elsewhere ? &taken : last) = waiter;
		if (!is_elsewhere)
			last = &waiter->next;
	}
	hf_detail_bucket_unlock_blocked(bucket);
	hf_detail_waiter_wake(cond, sleeper);
	while ((waiter = taken)) {
		taken = waiter->next;
		hf_detail_mutex_enqueue(waiter);
	}
}

void hf_detail_cond_wake(hf_atomic32_t *cond, bool all)
{
	uint64_t signals = hf_env_signals_block(); /* waiters in no queue depend on it */

	if (all)
		move_all(cond);
	else
		wake_one(cond);
	hf_env_signals_restore(signals);
}

/* ---- between processes -------------------------------------------------------------------- */

static bool shared_wait_at(hf_atomic32_t *cond, hf_atomic32_t *mutex, uint64_t deadline)
{
	uint32_t seen = hf_atomic32_load_relaxed(cond);
	bool signalled = true, changed = false;

	while (!(seen & HF_DETAIL_COND_WAITERS) &&
	       !hf_atomic32_try_cmpxchg_relaxed(cond, &seen, seen | HF_DETAIL_COND_WAITERS))
		;
	seen |= HF_DETAIL_COND_WAITERS;
	hf_detail_mutex_shared_release(mutex, HF_ENV_SHARED); /* C1: the number was read */
	if (should_spin()) {
		spin_while(cond, seen, deadline);
		changed = spin_ended(hf_atomic32_load_relaxed(cond) != seen);
	}
	while (!changed) {
		uint64_t until = hf_env_deadline(HF_DETAIL_RECHECK_MAX_NS);

		if (until > deadline)
			until = deadline;
		HF_DETAIL_PROBE3(park, cond, cond, until);
		if (hf_env_park(cond, seen, until, HF_ENV_SHARED) != HF_ENV_TIMEOUT ||
		    hf_atomic32_load_relaxed(cond) != seen) /* C5: its waker may have died */
			break;
		if (hf_detail_is_past(deadline)) {
			signalled = false;
			break;
		}
	}
	/* The kernel may have moved waiters to the mutex, whose word does not show that. */
	hf_detail_mutex_shared_take_parked(mutex, HF_ENV_FOREVER, HF_ENV_SHARED);
	return signalled;
}

__attribute__((__noinline__)) bool
hf_detail_cond_shared_wait(hf_atomic32_t *cond, hf_atomic32_t *mutex, uint64_t deadline)
{
	uint64_t start = hf_detail_profile_begin();
	bool signalled = shared_wait_at(cond, mutex, deadline);

	hf_detail_profile_end(start, HF_DETAIL_PROFILE_COND_SHARED, cond, HF_DETAIL_CALL_SITE);
	return signalled;
}

void hf_detail_cond_shared_wake(hf_atomic32_t *cond, hf_atomic32_t *all_to)
{
	uint32_t before = hf_atomic32_load_relaxed(cond), after;

	do
		after = (before + 2) & ~(all_to ? HF_DETAIL_COND_WAITERS : 0u);
	while (!hf_atomic32_try_cmpxchg_relaxed(cond, &before, after));
	HF_DETAIL_PROBE2(wake, cond, cond);
	if (!all_to)
		(void)hf_env_unpark(cond, 1, HF_ENV_SHARED);
	else
		hf_env_requeue(cond, after, all_to, HF_ENV_SHARED);
}
