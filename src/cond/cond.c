/* SPDX-License-Identifier: MIT */
/*
 * cond - waiting and waking. The queue of an hf_cond_t is in src/parking.
 *
 * Invariants
 *   C1  No signal is lost: a thread queues itself, or reads the number, before it releases the
 *       mutex. A thread that changes the condition under that mutex and then signals finds the
 *       waiter.
 *   C2  A thread that was woken or moved does not touch the condition variable again, and a signal
 *       or broadcast does not touch it after it has released a waiter: the first thread that
 *       returns may free it if no other thread is going to wait or signal.
 *   C3  A waiter that times out never consumes a signal: under the lock of the bucket it either
 *       leaves the queue of the condition variable, or finds that a signal has dequeued it.
 *   C4  In the child of a fork no thread waits, and no signal finds one that does, also if a signal
 *       handler has forked in the middle of a signal or an unlock (parking Q7: waiters of the
 *       parent are recognised, and dropped). The number may still count those that waited at the
 *       fork: a signal then takes the slow path, finds no waiter, and sets the number to 0.
 *   C5  A killed process loses at most the one signal that its own waiter was given; waiters of
 *       other processes recheck after 64 ms.
 *   C6  A signalled thread may return, and reuse its stack, before the signal has returned. So the
 *       signal reads and writes the waiter before it releases the new state, which the thread
 *       acquires.
 */
#include "holdfast/cond.h"

#include "../mutex/slow.h"
#include "../parking/parking.h"
#include "../profile/probe.h"
#include "holdfast/internal/wait.h"

/* How long a thread spins before it parks: about half as long as waking a parked thread takes. */
#ifndef HF_COND_SPIN_NS
#define HF_COND_SPIN_NS 10000
#endif

/* How this thread's recent spins have ended. Models decide by chance. */
#ifndef HF_COND_SHOULD_SPIN
static __thread struct hf_detail_spin recent_spins __attribute__((tls_model("initial-exec")));
#define HF_COND_SHOULD_SPIN() hf_detail_should_spin(&recent_spins)
#define HF_COND_SPIN_ENDED(in_vain) hf_detail_spin_ended(&recent_spins, in_vain)
#endif

/* As cond.h says: the signaller may need this processor, and then no spin can succeed. */
static bool should_spin(void)
{
	return hf_env_processors() > 1 && HF_COND_SHOULD_SPIN();
}

/*
 * Spins until *@word is not @value or the spin budget is used up. Yields once a turn, since a
 * thread that never parks may hold the processor that a signalled thread needs. Returns true if
 * signalled.
 */
static bool spin_while(const hf_atomic32_t *word, uint32_t value, uint64_t deadline)
{
	uint32_t ns = HF_ARCH_BACKOFF_MIN_NS, left = HF_COND_SPIN_NS;
	bool signalled;

	if (hf_detail_turn_is_over(1)) {
		hf_detail_turn_begin();
		hf_env_yield();
	}
	for (; left > ns && hf_atomic32_load_relaxed(word) == value; left -= ns) {
		if (hf_detail_is_past(deadline))
			break;
		hf_wait_ns(ns);
	}
	signalled = hf_atomic32_load_relaxed(word) != value;
	HF_COND_SPIN_ENDED(!signalled);
	return signalled;
}

/* ---- in one process ----------------------------------------------------------------------- */

/* The parking table could not be allocated: sleep briefly, and return a spurious wake-up. */
static bool wait_unqueued(hf_atomic32_t *cond, hf_atomic32_t *mutex, uint64_t deadline)
{
	uint64_t soon = hf_env_deadline(HF_DETAIL_RECHECK_NS);

	hf_detail_mutex_release(mutex);
	(void)hf_env_park(cond, hf_atomic32_load_relaxed(cond), hf_detail_earlier(soon, deadline),
			  HF_ENV_PRIVATE);
	(void)hf_detail_mutex_lock_contended(mutex, HF_ENV_FOREVER);
	return !hf_detail_is_past(deadline);
}

/* C1: the waiter is queued. A thread that parks leaves its processor to a waiter at the mutex. */
static void unlock_to_wait(hf_atomic32_t *mutex, bool parks)
{
	if (!parks)
		hf_detail_mutex_release(mutex);
	else if (hf_detail_mutex_set_free(mutex) || hf_detail_parking_flags(mutex))
		hf_detail_unpark_and_leave(mutex);
}

/*
 * The profile has the wait for the mutex apart, as one of the mutex: it is contention. Of a thread
 * that was moved to the mutex's queue, that wait begins with the move.
 */
__attribute__((__noinline__)) bool hf_detail_cond_wait(hf_atomic32_t *cond, hf_atomic32_t *mutex,
						       uint64_t deadline)
{
	static const struct hf_detail_wait_calls spins = { hf_detail_mutex_try_lock, unlock_to_wait,
							   spin_while };
	static const struct hf_detail_wait_calls parks = { hf_detail_mutex_try_lock, unlock_to_wait,
							   NULL };
	uint64_t start = hf_detail_profile_begin(), moved = 0;
	enum hf_detail_park result;

	if (HF_UNLIKELY(!hf_detail_parking_table()))
		return wait_unqueued(cond, mutex, deadline);
	(void)hf_detail_parking_mark();
	hf_detail_mutex_end_batches(mutex);
	result = hf_detail_park_to_wait(cond, mutex, should_spin() ? &spins : &parks, deadline,
					&moved);
	if (moved)
		start += hf_detail_profile_begin() - moved;
	hf_detail_profile_end(start, HF_DETAIL_PROFILE_COND, cond, HF_DETAIL_CALL_SITE);
	if (result != HF_DETAIL_PARK_LOCKED && !hf_detail_mutex_try_lock(mutex)) {
		if (!moved)
			moved = hf_detail_profile_begin();
		(void)hf_detail_mutex_lock_contended(mutex, HF_ENV_FOREVER);
	}
	hf_detail_profile_end(moved, HF_DETAIL_PROFILE_MUTEX, mutex, HF_DETAIL_CALL_SITE);
	return result != HF_DETAIL_PARK_TIMED_OUT;
}

void hf_detail_cond_wake(hf_atomic32_t *cond, bool all)
{
	if (all)
		hf_detail_unpark_all(cond);
	else
		hf_detail_unpark_one(cond);
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
	hf_detail_mutex_shared_release(mutex); /* C1: the number was read */
	if (should_spin())
		changed = spin_while(cond, seen, deadline);
	while (!changed) {
		uint64_t until =
			hf_detail_earlier(deadline, hf_env_deadline(HF_DETAIL_RECHECK_MAX_NS));

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
	(void)hf_detail_mutex_shared_lock_parked(mutex, HF_ENV_FOREVER);
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
