/* SPDX-License-Identifier: MIT */
/*
 * mutex - the slow paths of hf_mutex_t: how long to spin, and when to queue. The waiters, and why
 * no wake-up is lost (W), are in src/parking.
 *
 * A thread spins for 10 us, then queues; while spins end in vain it leaves out most of them
 * (parking/spin.h). While threads wait, one whose turn is over makes room (R) when it next finds
 * the mutex locked: it queues at once, in exchange for a waiter that last ran on its processor, if
 * there is one. A thread that never finds the mutex locked yields its processor instead.
 */
#include "slow.h"

#ifndef HF_DETAIL_PARKING_IS_MODEL
#include "../env/env.h"
#endif
#include "../profile/probe.h"
#include "holdfast/internal/wait.h"

/* How long a thread spins before it queues. */
#ifndef HF_MUTEX_SPIN_NS
#define HF_MUTEX_SPIN_NS 10000
#endif

/*
 * The longest pause between two attempts to lock; half of it on machines with few processors. With
 * longer pauses, waiters miss short times in which the mutex is free; with shorter ones, they slow
 * the holder down.
 */
#ifndef HF_MUTEX_POLL_NS
#define HF_MUTEX_POLL_NS 200
#endif

/*
 * Batches (docs/design/0014-mutex.md). A waiter can't see how short the sections are: one that
 * takes less time than the lock's line needs to get here looks like one of 100 ns. But a thread
 * knows if it has waited for the lock, used it, and finds it locked again, all in HF_MUTEX_TINY_NS.
 * For the next HF_MUTEX_BATCHES_NS each thread that finds the lock locked then pauses for
 * HF_MUTEX_BATCH_NS before it tries, so that another one uses the lock some hundred times from its
 * own cache.
 */
enum { HF_MUTEX_TINY_NS = 300, HF_MUTEX_BATCH_NS = 3200, HF_MUTEX_BATCHES_NS = 300000 };

/*
 * Threads that wait for a condition, as those of a queue, need each other's turns: while one pauses
 * the others fill the queue, and wait. So a wait for a condition ends the batches, and so many
 * signs of tiny sections don't count after it.
 */
enum { HF_MUTEX_UNBATCHED = 64 };

/* The lock that this thread last waited for, and since when it tried. */
static __thread const hf_atomic32_t *last_lock __attribute__((tls_model("initial-exec")));
static __thread uint64_t tried_since __attribute__((tls_model("initial-exec")));

/* While a wake-up is in flight, only one unlock in this many reads the clock. */
#ifndef HF_MUTEX_CLOCK_EACH
#define HF_MUTEX_CLOCK_EACH 8
#endif

/* This thread's unlocks while a wake-up was in flight. Models define their own. */
#ifndef HF_MUTEX_UNLOCKS
#define HF_MUTEX_UNLOCKS unlocks_while_waking
static __thread uint32_t unlocks_while_waking __attribute__((tls_model("initial-exec")));
#endif

/* Fallback if the parking table could not be allocated: polls. */
static bool lock_without_table(hf_atomic32_t *lock, hf_detail_try_lock_t *try_lock,
			       uint64_t deadline)
{
	for (uint32_t n = 0; !try_lock(lock); n++) {
		if (hf_detail_is_past(deadline))
			return false;
		hf_detail_env_pause(n);
	}
	return true;
}

/*
 * Should this thread pause first? The bucket keeps the answer, so that all threads pause alike: a
 * thread that pauses alone gets little of the lock. Threads that use two locks in turn never pause.
 */
static bool in_batches(const hf_atomic32_t *lock)
{
	struct hf_detail_bucket *bucket = hf_detail_bucket_of(lock);
	uint64_t until = hf_atomic64_load_relaxed(&bucket->batches_end), now = hf_env_deadline(0);

	if (last_lock == lock && now - tried_since < HF_MUTEX_TINY_NS &&
	    until < now + HF_MUTEX_BATCHES_NS / 2) {
		uint32_t unbatched = hf_atomic32_load_relaxed(&bucket->unbatched);

		if (unbatched) {
			hf_atomic32_store_relaxed(&bucket->unbatched, unbatched - 1);
		} else {
			until = now + HF_MUTEX_BATCHES_NS;
			hf_atomic64_store_relaxed(&bucket->batches_end, until);
		}
	}
	last_lock = lock;
	tried_since = now;
	return now < until;
}

void hf_detail_mutex_end_batches(const hf_atomic32_t *lock)
{
	struct hf_detail_bucket *bucket = hf_detail_bucket_of(lock);

	if (HF_MUTEX_SPIN_NS > HF_MUTEX_BATCH_NS) {
		hf_atomic64_store_relaxed(&bucket->batches_end, 0);
		hf_atomic32_store_relaxed(&bucket->unbatched, HF_MUTEX_UNBATCHED);
	}
}

/* The pause of a batch is part of the spin. */
static bool spin_to_lock(hf_atomic32_t *lock, hf_detail_try_lock_t *try_lock)
{
	uint32_t parts = hf_env_processors() > HF_WAIT_FEW_PROCESSORS ? 1 : 2;
	uint32_t ns = (HF_ARCH_BACKOFF_MIN_NS + parts - 1) / parts;
	uint32_t left = HF_MUTEX_SPIN_NS;

	if (HF_MUTEX_SPIN_NS > HF_MUTEX_BATCH_NS && in_batches(lock)) {
		hf_wait_ns(HF_MUTEX_BATCH_NS);
		tried_since = hf_env_deadline(0);
		left -= HF_MUTEX_BATCH_NS;
	}
	for (;; left -= ns) {
		if (try_lock(lock))
			return true;
		if (left <= ns)
			return false;
		hf_wait_ns(ns);
		if (ns < HF_MUTEX_POLL_NS / parts)
			ns *= 2;
	}
}

/* Spins, unless the last spins for this lock have ended in vain. */
static bool spin_if_it_pays(hf_atomic32_t *lock, hf_detail_try_lock_t *try_lock)
{
	struct hf_detail_spin *spin = &hf_detail_bucket_of(lock)->spin;
	bool locked;

	if (!HF_PARKING_SHOULD_SPIN(spin))
		return false;
	locked = spin_to_lock(lock, try_lock);
	HF_PARKING_SPIN_ENDED(spin, !locked);
	return locked;
}

enum hf_detail_park hf_detail_lock_contended(hf_atomic32_t *lock, hf_detail_try_lock_t *try_lock,
					     uint64_t deadline)
{
	enum hf_detail_park result;

	if (HF_UNLIKELY(!hf_detail_parking_table()))
		return lock_without_table(lock, try_lock, deadline) ? HF_DETAIL_PARK_NONE
								    : HF_DETAIL_PARK_TIMED_OUT;
	do {
		result = HF_DETAIL_PARK_NONE;
		if (hf_detail_parking_flags(lock) && hf_detail_turn_is_over(1))
			result = hf_detail_park_to_lock(lock, try_lock, deadline,
							HF_DETAIL_PARK_IN_EXCHANGE);
		if (result == HF_DETAIL_PARK_NONE) {
			if (spin_if_it_pays(lock, try_lock))
				return HF_DETAIL_PARK_NONE;
			if (hf_detail_is_past(deadline))
				return try_lock(lock) ? HF_DETAIL_PARK_NONE
						      : HF_DETAIL_PARK_TIMED_OUT;
			result = hf_detail_park_to_lock(lock, try_lock, deadline,
							HF_DETAIL_PARK_QUEUED);
		}
		/* Released, since another thread made room: begin again as a newcomer. */
	} while (result == HF_DETAIL_PARK_RELEASED && !try_lock(lock));
	return result;
}

/* A function that has an address: the other one is always inlined, which LTO insists on. */
static bool try_mutex(hf_atomic32_t *word)
{
	return hf_detail_mutex_try_lock(word);
}

bool hf_detail_mutex_lock_contended(hf_atomic32_t *word, uint64_t deadline)
{
	return hf_detail_lock_contended(word, try_mutex, deadline) != HF_DETAIL_PARK_TIMED_OUT;
}

__attribute__((__noinline__)) bool hf_detail_mutex_lock_slow(hf_atomic32_t *word, uint64_t deadline)
{
	uint64_t start = hf_detail_profile_begin();
	bool locked;

	HF_DETAIL_PROBE2(contended, word, 0);
	locked = hf_detail_mutex_lock_contended(word, deadline);
	HF_DETAIL_PROBE3(acquired, word, 0, locked);
	hf_detail_profile_end(start, HF_DETAIL_PROFILE_MUTEX, word, HF_DETAIL_CALL_SITE);
	return locked;
}

/*
 * The first waiter was woken but is not running yet: it may need this thread's processor, and no
 * contention makes this thread leave it. Yields once every two turns.
 */
static void yield_after_turns(void)
{
	if (!hf_detail_turn_is_over(2))
		return;
	hf_detail_turn_begin();
	hf_env_yield();
}

void hf_detail_mutex_unlock_slow(hf_atomic32_t *word)
{
	/* The first waiter is on its way and will look: wake nobody (Q6, W5). */
	if (hf_detail_parking_flags(word) & HF_DETAIL_BUCKET_WAKING) {
		if (++HF_MUTEX_UNLOCKS % HF_MUTEX_CLOCK_EACH == 0)
			yield_after_turns();
		return;
	}
	hf_detail_unpark_first(word);
}
