/* SPDX-License-Identifier: MIT */
/*
 * mutex - the slow paths. M1 to M7 are those of include/holdfast/mutex.h, Q2, Q3 and Q6 those of
 * mutex_queue.h, the others those of src/parking/parking.h.
 */
#include "mutex_queue.h"

#include "../profile/probe.h"
#include "holdfast/internal/wait.h"

/* How long a thread spins before it queues. */
#ifndef HF_MUTEX_SPIN_NS
#define HF_MUTEX_SPIN_NS 10000
#endif

/* How long the first waiter spins before it parks again. */
#ifndef HF_MUTEX_HEAD_SPIN_NS
#define HF_MUTEX_HEAD_SPIN_NS 20000
#endif

/* The longest back-off: with a longer one waiters miss short times in which the mutex is free. */
#ifndef HF_MUTEX_BACKOFF_NS
#define HF_MUTEX_BACKOFF_NS 200
#endif

/* How long the running threads may use the mutex before one of them parks for the first waiter. */
#ifndef HF_MUTEX_TURN_NS
#define HF_MUTEX_TURN_NS 300000
#endif

/* How long an unlock leaves the mutex free for a first waiter in state DUE. */
#ifndef HF_MUTEX_WINDOW_NS
#define HF_MUTEX_WINDOW_NS 500
#endif

/* While a wake-up is in flight, only one unlock in this many reads the clock. */
#ifndef HF_MUTEX_CLOCK_EACH
#define HF_MUTEX_CLOCK_EACH 8
#endif

/* A number that identifies this thread, and its count of unlocks. The simulator replaces both. */
#ifndef HF_MUTEX_SELF
#define HF_MUTEX_SELF ((uint64_t)(uintptr_t)&unlocks_while_waking)
#define HF_MUTEX_UNLOCKS unlocks_while_waking
static __thread uint32_t unlocks_while_waking __attribute__((tls_model("initial-exec")));
#endif

/* ---- between processes: a plain futex ---------------------------------------------- */

static bool shared_lock_slow(hf_atomic32_t *word, uint64_t deadline, enum hf_env_scope scope)
{
	hf_wait_t wait = HF_WAIT_INIT;

	for (uint32_t left = HF_MUTEX_SPIN_NS; left > wait.ns; left -= wait.ns) {
		if (hf_detail_mutex_take(word))
			return true;
		hf_wait_once(&wait, HF_WAIT_BACKOFF);
	}
	return hf_detail_mutex_shared_take_parked(word, deadline, scope);
}

__attribute__((__noinline__)) bool
hf_detail_mutex_shared_lock_slow(hf_atomic32_t *word, uint64_t deadline, enum hf_env_scope scope)
{
	uint64_t start;
	bool taken;

	if (scope == HF_ENV_PRIVATE) /* internal: do not profile or trace it */
		return shared_lock_slow(word, deadline, scope);
	start = hf_detail_profile_begin();
	HF_DETAIL_PROBE2(contended, word, 1);
	taken = shared_lock_slow(word, deadline, scope);
	HF_DETAIL_PROBE3(acquired, word, 1, taken);
	hf_detail_profile_end(start, HF_DETAIL_PROFILE_MUTEX_SHARED, word, HF_DETAIL_CALL_SITE);
	return taken;
}

bool hf_detail_mutex_shared_take_parked(hf_atomic32_t *word, uint64_t deadline,
					enum hf_env_scope scope)
{
	uint64_t until = deadline;

	while (hf_atomic32_xchg_acq_rel(word, HF_DETAIL_MUTEX_PARKED) != 0) {
		/* M7. A private waiter can't be killed without its process: no recheck is needed. */
		if (scope == HF_ENV_SHARED)
			until = hf_detail_earlier(deadline,
						  hf_env_deadline(HF_DETAIL_RECHECK_MAX_NS));
		if (scope == HF_ENV_SHARED)
			HF_DETAIL_PROBE3(park, word, word, until);
		if (hf_env_park(word, HF_DETAIL_MUTEX_PARKED, until, scope) == HF_ENV_TIMEOUT &&
		    hf_detail_is_past(deadline))
			return false;
	}
	return true;
}

void hf_detail_mutex_shared_wake(hf_atomic32_t *word, enum hf_env_scope scope)
{
	if (scope == HF_ENV_SHARED)
		HF_DETAIL_PROBE2(wake, word, word);
	(void)hf_env_unpark(word, 1, scope);
}

/* ---- in one process: the queue ------------------------------------------------------------ */

static struct hf_detail_bucket *bucket_of(const void *mutex)
{
	return &hf_detail_parking_table()->bucket[HF_DETAIL_PARKING_INDEX(mutex)];
}

/* Time since the turn began; 0 if no thread waits. */
static uint64_t turn_age(const struct hf_detail_bucket *bucket)
{
	uint64_t turn = hf_atomic64_load_relaxed(&bucket->turn) & ~HF_DETAIL_TURN_WAKING;

	return turn ? hf_env_deadline(0) - turn : 0;
}

static bool turn_expired(const struct hf_detail_bucket *bucket)
{
	return turn_age(bucket) >= HF_MUTEX_TURN_NS;
}

/* Q3 */
static bool needs_wake(const struct hf_detail_waiter *first)
{
	return first && hf_detail_waiter_state(first) != HF_DETAIL_WAITER_HEAD;
}

/* Q6 */
static bool is_only(const hf_atomic32_t *need)
{
	return hf_atomic32_load_relaxed(need) == 1;
}

/*
 * Recomputes `need` and `turn` after the first waiter of @mutex changed. @needed: what needs_wake()
 * returned before the change. @restart: begin a new turn.
 */
static void bucket_update(struct hf_detail_bucket *bucket, const void *mutex, bool needed,
			  bool restart)
{
	const struct hf_detail_waiter *first = hf_detail_bucket_find(bucket, mutex);
	hf_atomic32_t *need = &hf_detail_parking_table()->need[HF_DETAIL_PARKING_INDEX(mutex)];
	uint64_t turn = hf_atomic64_load_relaxed(&bucket->turn) & ~HF_DETAIL_TURN_WAKING;
	bool needs = needs_wake(first);

	if (needs != needed)
		hf_atomic32_store_relaxed(
			need, hf_atomic32_load_relaxed(need) + (needs ? 1u : UINT32_MAX));
	if (!first)
		turn = 0;
	else if (!turn || restart)
		turn = hf_env_deadline(0) & ~HF_DETAIL_TURN_WAKING;
	if (needs && hf_detail_waiter_state(first) == HF_DETAIL_WAITER_WAKING && is_only(need))
		turn |= HF_DETAIL_TURN_WAKING;
	hf_atomic64_store_relaxed(&bucket->turn, turn);
}

/* Appends a waiter. Returns true, with its state set to @if_first, if it is the first. */
static bool enqueue(struct hf_detail_bucket *bucket, struct hf_detail_waiter *waiter,
		    uint32_t if_first, bool rotates)
{
	struct hf_detail_waiter *first = hf_detail_bucket_find(bucket, waiter->mutex);

	waiter->at = waiter->mutex;
	hf_atomic32_store_relaxed(&waiter->state,
				  first ? (uint32_t)HF_DETAIL_WAITER_PARKED : if_first);
	hf_detail_bucket_append(bucket, waiter);
	bucket_update(bucket, waiter->mutex, needs_wake(first), rotates); /* W2 */
	if (rotates)
		hf_atomic64_store_relaxed(&bucket->newest, HF_DETAIL_NEWEST_ROTATED);
	return !first;
}

/* Locks the waiter's bucket. In the child of a fork it also queues the waiter again (Q7). */
static struct hf_detail_bucket *lock_bucket_of(struct hf_detail_waiter *waiter)
{
	struct hf_detail_bucket *bucket = hf_detail_bucket_lock(waiter->mutex);

	if (HF_UNLIKELY(!hf_detail_waiter_is_queued(bucket, waiter)))
		(void)enqueue(bucket, waiter, HF_DETAIL_WAITER_HEAD, false);
	return bucket;
}

/* Changes the state of @waiter: this thread's, and the first in its queue. */
static void set_head(struct hf_detail_waiter *waiter, uint32_t state)
{
	struct hf_detail_bucket *bucket = lock_bucket_of(waiter);
	bool needed = needs_wake(waiter);

	hf_atomic32_store_relaxed(&waiter->state, state);
	bucket_update(bucket, waiter->mutex, needed, false);
	hf_detail_bucket_unlock(bucket);
}

/* Takes a waiter out of the queue after it has acquired the mutex or given up. */
static void finish_wait(struct hf_detail_waiter *waiter, bool taken)
{
	hf_atomic32_t *mutex = waiter->mutex, *sleeper = NULL;
	struct hf_detail_bucket *bucket = lock_bucket_of(waiter);
	struct hf_detail_waiter *first = hf_detail_bucket_find(bucket, mutex);
	bool was_first = first == waiter, needed = needs_wake(first);

	hf_detail_bucket_remove(bucket, waiter);
	first = hf_detail_bucket_find(bucket, mutex);
	/* W4. Even a parked first waiter may have had a wake-up in flight that others relied on. */
	if (first && was_first && !taken) {
		sleeper = &first->state;
		hf_atomic32_store_relaxed(sleeper, HF_DETAIL_WAITER_WAKING);
	}
	bucket_update(bucket, mutex, needed, false); /* W3 */
	if (taken)
		hf_atomic64_store_relaxed(&bucket->newest, HF_MUTEX_SELF);
	hf_detail_bucket_unlock(bucket);
	hf_detail_waiter_wake(mutex, sleeper);
}

/* ---- in one process: waiting -------------------------------------------------------------- */

enum outcome { AWAKE, PARK, TAKEN, LATE };

/* @alone: this was the first waiter; no other thread will notice that the mutex is unlocked. */
static enum outcome park_until_woken(struct hf_detail_waiter *waiter, uint64_t deadline, bool alone)
{
	uint64_t recheck = HF_DETAIL_RECHECK_NS;

	while (hf_detail_waiter_state(waiter) == HF_DETAIL_WAITER_PARKED) {
		uint64_t until = deadline;

		if (alone) {
			bool certain = hf_env_barrier_all(); /* W1 */

			if (hf_detail_mutex_take(waiter->mutex))
				return TAKEN;
			if (!certain) {
				until = hf_detail_earlier(deadline, hf_env_deadline(recheck));
				recheck = hf_detail_earlier(recheck * 2, HF_DETAIL_RECHECK_MAX_NS);
			}
		}
		if (hf_detail_waiter_park(waiter, waiter->mutex, until, deadline))
			return LATE;
	}
	return AWAKE;
}

/* Spins as the first waiter: WAKING -> HEAD, and HEAD -> DUE when the turn has expired. */
static enum outcome spin_as_head(struct hf_detail_waiter *waiter, uint64_t deadline)
{
	uint32_t ns = HF_ARCH_BACKOFF_MIN_NS;

	for (uint32_t left = HF_MUTEX_HEAD_SPIN_NS;; left -= ns) {
		uint32_t state = hf_detail_waiter_state(waiter);

		if (hf_detail_mutex_take(waiter->mutex))
			return TAKEN;
		if (hf_detail_is_past(deadline))
			return LATE;
		if (state == HF_DETAIL_WAITER_WAKING)
			set_head(waiter, HF_DETAIL_WAITER_HEAD);
		else if (state == HF_DETAIL_WAITER_HEAD && turn_expired(bucket_of(waiter->mutex)))
			set_head(waiter, HF_DETAIL_WAITER_DUE);
		if (left <= ns)
			return PARK;
		hf_wait_ns(ns);
	}
}

bool hf_detail_mutex_wait(struct hf_detail_waiter *waiter, uint64_t deadline)
{
	enum outcome outcome;

	for (bool alone = false;; alone = true) {
		outcome = park_until_woken(waiter, deadline, alone);
		if (outcome == AWAKE)
			outcome = spin_as_head(waiter, deadline);
		if (outcome != PARK)
			break;
		set_head(waiter, HF_DETAIL_WAITER_PARKED);
	}
	finish_wait(waiter, outcome == TAKEN);
	return outcome == TAKEN;
}

void hf_detail_mutex_enqueue(struct hf_detail_waiter *waiter)
{
	const void *mutex = waiter->mutex;
	struct hf_detail_bucket *bucket = hf_detail_bucket_lock_blocked(mutex);
	bool is_first = enqueue(bucket, waiter, HF_DETAIL_WAITER_WAKING, false);

	hf_detail_bucket_unlock_blocked(bucket);
	if (is_first)
		hf_detail_waiter_wake(mutex, &waiter->state);
}

/* Fallback if the parking table could not be allocated: polls by a timed park. */
static bool lock_without_table(hf_atomic32_t *word, uint64_t deadline)
{
	while (!hf_detail_mutex_take(word)) {
		uint64_t soon = hf_env_deadline(HF_DETAIL_RECHECK_NS);

		if (hf_detail_is_past(deadline))
			return false;
		(void)hf_env_park(word, HF_DETAIL_MUTEX_LOCKED, hf_detail_earlier(deadline, soon),
				  HF_ENV_PRIVATE);
	}
	return true;
}

static bool spin_to_take(hf_atomic32_t *word)
{
	uint32_t ns = HF_ARCH_BACKOFF_MIN_NS;

	for (uint32_t left = HF_MUTEX_SPIN_NS;; left -= ns) {
		if (hf_detail_mutex_take(word))
			return true;
		if (left <= ns)
			return false;
		hf_wait_ns(ns);
		if (ns < HF_MUTEX_BACKOFF_NS)
			ns *= 2;
	}
}

bool hf_detail_mutex_lock_contended(hf_atomic32_t *word, uint64_t deadline)
{
	struct hf_detail_waiter waiter;
	struct hf_detail_bucket *bucket;
	uint64_t newest;
	bool rotates;

	if (HF_UNLIKELY(!hf_detail_parking_table()))
		return lock_without_table(word, deadline);
	/* M5. At the end of a turn one thread parks at once, but not the one that entered last. */
	bucket = bucket_of(word);
	newest = hf_atomic64_load_relaxed(&bucket->newest);
	rotates = newest != HF_MUTEX_SELF && newest != HF_DETAIL_NEWEST_ROTATED &&
		  turn_expired(bucket);
	if (!rotates && spin_to_take(word))
		return true;
	if (hf_detail_is_past(deadline))
		return hf_detail_mutex_take(word);
	waiter.mutex = word;
	(void)hf_detail_bucket_lock(word);
	(void)enqueue(bucket, &waiter, HF_DETAIL_WAITER_HEAD, rotates);
	hf_detail_bucket_unlock(bucket);
	return hf_detail_mutex_wait(&waiter, deadline);
}

__attribute__((__noinline__)) bool hf_detail_mutex_lock_slow(hf_atomic32_t *word, uint64_t deadline)
{
	uint64_t start = hf_detail_profile_begin();
	bool taken;

	HF_DETAIL_PROBE2(contended, word, 0);
	taken = hf_detail_mutex_lock_contended(word, deadline);
	HF_DETAIL_PROBE3(acquired, word, 0, taken);
	hf_detail_profile_end(start, HF_DETAIL_PROFILE_MUTEX, word, HF_DETAIL_CALL_SITE);
	return taken;
}

/* ---- in one process: the unlock ----------------------------------------------------------- */

/*
 * The first waiter was woken but does not run: it may be waiting for this thread's processor, and no
 * contention makes this thread leave it. Yields once every two turns.
 */
static void yield_turn(struct hf_detail_bucket *bucket)
{
	uint64_t turn = hf_atomic64_load_relaxed(&bucket->turn);

	if ((turn & HF_DETAIL_TURN_WAKING) && turn_age(bucket) >= 2 * (uint64_t)HF_MUTEX_TURN_NS &&
	    hf_atomic64_try_cmpxchg_relaxed(&bucket->turn, &turn,
					    hf_env_deadline(0) | HF_DETAIL_TURN_WAKING))
		hf_env_yield();
}

void hf_detail_mutex_unlock_slow(hf_atomic32_t *word)
{
	struct hf_detail_bucket *bucket = bucket_of(word);
	struct hf_detail_waiter *first;
	hf_atomic32_t *sleeper = NULL;
	uint32_t state;

	/* Q6, W5 */
	if (hf_atomic64_load_relaxed(&bucket->turn) & HF_DETAIL_TURN_WAKING) {
		if (++HF_MUTEX_UNLOCKS % HF_MUTEX_CLOCK_EACH == 0)
			yield_turn(bucket);
		return;
	}
	(void)hf_detail_bucket_lock(word);
	first = hf_detail_bucket_find(bucket, word);
	state = first ? hf_detail_waiter_state(first) : (uint32_t)HF_DETAIL_WAITER_HEAD;
	if (state == HF_DETAIL_WAITER_PARKED) {
		sleeper = &first->state;
		hf_atomic32_store_relaxed(sleeper, HF_DETAIL_WAITER_WAKING);
		bucket_update(bucket, word, true, false);
	} else if (state == HF_DETAIL_WAITER_DUE) {
		hf_atomic32_store_relaxed(&first->state, HF_DETAIL_WAITER_HEAD);
		bucket_update(bucket, word, true, true);
	}
	hf_detail_bucket_unlock(bucket);
	hf_detail_waiter_wake(word, sleeper);
	/* The waiter spins on the mutex, so it takes it now unless it was preempted. */
	if (state == HF_DETAIL_WAITER_DUE)
		hf_wait_ns(HF_MUTEX_WINDOW_NS);
}
