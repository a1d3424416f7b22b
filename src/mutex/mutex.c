/* SPDX-License-Identifier: MIT */
/*
 * mutex - the slow paths. M1 to M7 and W1 to W5 are defined in include/holdfast/mutex.h, Q2, Q3 and
 * Q6 in mutex_queue.h, the other Qs in src/parking/parking.h.
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

/*
 * The longest pause between two attempts to lock; half of it on machines with few processors. With
 * longer pauses, waiters miss short times in which the mutex is free; with shorter ones, they slow
 * the holder down.
 */
#ifndef HF_MUTEX_LOOK_NS
#define HF_MUTEX_LOOK_NS 200
#endif

/* A turn: after running for so many nanoseconds, a thread makes room for a waiter (M5). */
#ifndef HF_MUTEX_TURN_NS
#define HF_MUTEX_TURN_NS 300000
#endif

/* While a wake-up is in flight, only one unlock in this many reads the clock. */
#ifndef HF_MUTEX_CLOCK_EACH
#define HF_MUTEX_CLOCK_EACH 8
#endif

/* How many waiters find_successor() examines. */
enum { SEARCH_LIMIT = 32 };

/*
 * This thread's turn: when it began, and when its age was last read; unlocks while a wake-up was in
 * flight. The model checker and the simulator define their own.
 */
#ifndef HF_MUTEX_TURN
#define HF_MUTEX_TURN turn_began
#define HF_MUTEX_SEEN turn_seen
#define HF_MUTEX_UNLOCKS unlocks_while_waking
static __thread uint64_t turn_began __attribute__((tls_model("initial-exec")));
static __thread uint64_t turn_seen __attribute__((tls_model("initial-exec")));
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
		/* M7. A private waiter can't be killed without its process, so needs no recheck. */
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

static void start_turn(void)
{
	HF_MUTEX_TURN = hf_env_deadline(0);
}

/*
 * The age of this thread's turn. Begins a new one if the last call was a whole turn ago: the thread
 * did other work in between, or was descheduled.
 */
static uint64_t turn_age(void)
{
	uint64_t now = hf_env_deadline(0);

	if (now - HF_MUTEX_SEEN >= HF_MUTEX_TURN_NS)
		HF_MUTEX_TURN = now;
	HF_MUTEX_SEEN = now;
	return now - HF_MUTEX_TURN;
}

/* Q3: does an unlock have to wake this first waiter? */
static bool needs_wake(const struct hf_detail_waiter *first)
{
	return first && hf_detail_waiter_state(first) != HF_DETAIL_WAITER_HEAD;
}

/* Q6: does `need` count a single mutex? */
static bool is_only(const hf_atomic32_t *need)
{
	return hf_atomic32_load_relaxed(need) == 1;
}

static void change_flags(struct hf_detail_bucket *bucket, uint32_t clear, uint32_t set)
{
	hf_atomic32_store_relaxed(&bucket->flags,
				  (hf_atomic32_load_relaxed(&bucket->flags) & ~clear) | set);
}

/* Updates `need` and the flags after the first waiter has changed. @needed: needs_wake() before. */
static void bucket_update(struct hf_detail_bucket *bucket, const void *mutex, bool needed)
{
	const struct hf_detail_waiter *first = hf_detail_bucket_find(bucket, mutex);
	hf_atomic32_t *need = &hf_detail_parking_table()->need[HF_DETAIL_PARKING_INDEX(mutex)];
	bool needs = needs_wake(first);

	if (needs != needed)
		hf_atomic32_store_relaxed(
			need, hf_atomic32_load_relaxed(need) + (needs ? 1u : UINT32_MAX));
	if (!first)
		change_flags(bucket, HF_DETAIL_BUCKET_FLAGS, 0);
	else if (needs && hf_detail_waiter_state(first) == HF_DETAIL_WAITER_WAKING && is_only(need))
		change_flags(bucket, 0, HF_DETAIL_BUCKET_WAITERS | HF_DETAIL_BUCKET_WAKING);
	else
		change_flags(bucket, HF_DETAIL_BUCKET_WAKING, HF_DETAIL_BUCKET_WAITERS);
}

/* Appends a waiter. Returns true, with its state set to @if_first, if it is the first. */
static bool enqueue(struct hf_detail_bucket *bucket, struct hf_detail_waiter *waiter,
		    uint32_t if_first)
{
	struct hf_detail_waiter *first = hf_detail_bucket_find(bucket, waiter->mutex);

	waiter->at = waiter->mutex;
	hf_atomic32_store_relaxed(&waiter->state,
				  first ? (uint32_t)HF_DETAIL_WAITER_PARKED : if_first);
	hf_detail_bucket_append(bucket, waiter);
	bucket_update(bucket, waiter->mutex, needs_wake(first)); /* W2: others rely on the first */
	return !first;
}

/* Locks the waiter's bucket. In the child of a fork it also queues the waiter again (Q7). */
static struct hf_detail_bucket *lock_bucket_of(struct hf_detail_waiter *waiter)
{
	struct hf_detail_bucket *bucket = hf_detail_bucket_lock(waiter->mutex);

	if (HF_UNLIKELY(!hf_detail_waiter_is_queued(bucket, waiter)))
		(void)enqueue(bucket, waiter, HF_DETAIL_WAITER_HEAD);
	return bucket;
}

/* Changes the state of @waiter, which is this thread's and the first in its queue. */
static void set_head(struct hf_detail_waiter *waiter, uint32_t state)
{
	struct hf_detail_bucket *bucket = lock_bucket_of(waiter);
	bool needed = needs_wake(waiter);

	hf_atomic32_store_relaxed(&waiter->state, state);
	bucket_update(bucket, waiter->mutex, needed);
	hf_detail_bucket_unlock(bucket);
}

/* Takes a waiter out of the queue after it has acquired the mutex or given up. */
static void finish_wait(struct hf_detail_waiter *waiter, bool taken)
{
	hf_atomic32_t *mutex = waiter->mutex, *sleeper = NULL;
	struct hf_detail_bucket *bucket = lock_bucket_of(waiter);
	struct hf_detail_waiter *first = hf_detail_bucket_find(bucket, mutex);
	bool was_first = first == waiter, needed = needs_wake(first);

	if (hf_detail_waiter_state(waiter) == HF_DETAIL_WAITER_RELEASED) {
		hf_detail_bucket_unlock(bucket); /* it was released while it was giving up */
		return;
	}
	hf_detail_bucket_remove(bucket, waiter);
	first = hf_detail_bucket_find(bucket, mutex);
	/* W4. Even if @waiter was PARKED: others may have relied on a wake-up in flight to it. */
	if (first && was_first && !taken) {
		sleeper = &first->state;
		hf_atomic32_store_relaxed(sleeper, HF_DETAIL_WAITER_WAKING);
	}
	bucket_update(bucket, mutex, needed); /* W3: our unlock must wake the next one */
	if (was_first)
		change_flags(bucket, HF_DETAIL_BUCKET_AWAITED, 0);
	hf_detail_bucket_unlock(bucket);
	hf_detail_waiter_wake(mutex, sleeper);
}

/* ---- in one process: waiting -------------------------------------------------------------- */

enum outcome { AWAKE, PARK, RELEASED, TAKEN, LATE };

/* @alone: this is the first waiter, so no other waiter would notice an unlock. */
static enum outcome park_until_woken(struct hf_detail_waiter *waiter, uint64_t deadline, bool alone)
{
	uint64_t recheck = HF_DETAIL_RECHECK_NS;

	while (hf_detail_waiter_state(waiter) == HF_DETAIL_WAITER_PARKED) {
		uint64_t until = deadline;

		if (alone) {
			bool certain = hf_env_barrier_all(); /* W1: between `need` and the check */

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
	/* As C6 of cond.h: the thread that released the waiter does not touch it any more. */
	return hf_atomic32_load_acquire(&waiter->state) == HF_DETAIL_WAITER_RELEASED ? RELEASED
										     : AWAKE;
}

/* Spins as the first waiter: WAKING -> HEAD, unless it acquires the mutex at once. */
static enum outcome spin_as_head(struct hf_detail_waiter *waiter, uint64_t deadline)
{
	uint32_t ns = HF_ARCH_BACKOFF_MIN_NS;

	for (uint32_t left = HF_MUTEX_HEAD_SPIN_NS;; left -= ns) {
		if (hf_detail_mutex_take(waiter->mutex))
			return TAKEN;
		if (hf_detail_is_past(deadline))
			return LATE;
		if (hf_detail_waiter_state(waiter) == HF_DETAIL_WAITER_WAKING)
			set_head(waiter, HF_DETAIL_WAITER_HEAD);
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
	start_turn();
	if (outcome == RELEASED)
		return waiter->released && hf_detail_mutex_relock(waiter->mutex, deadline);
	finish_wait(waiter, outcome == TAKEN);
	return outcome == TAKEN;
}

void hf_detail_mutex_enqueue(struct hf_detail_waiter *waiter)
{
	const void *mutex = waiter->mutex;
	struct hf_detail_bucket *bucket = hf_detail_bucket_lock_blocked(mutex);
	bool is_first = enqueue(bucket, waiter, HF_DETAIL_WAITER_WAKING);

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
	uint32_t parts = hf_env_processors() > HF_WAIT_FEW_PROCESSORS ? 1 : 2;
	uint32_t ns = (HF_ARCH_BACKOFF_MIN_NS + parts - 1) / parts;

	for (uint32_t left = HF_MUTEX_SPIN_NS;; left -= ns) {
		if (hf_detail_mutex_take(word))
			return true;
		if (left <= ns)
			return false;
		hf_wait_ns(ns);
		if (ns < HF_MUTEX_LOOK_NS / parts)
			ns *= 2;
	}
}

/* If the first waiter is PARKED, marks it WAKING and returns what the caller must wake. */
static hf_atomic32_t *call_first(struct hf_detail_bucket *bucket, const hf_atomic32_t *word)
{
	struct hf_detail_waiter *first = hf_detail_bucket_find(bucket, word);

	if (!first || hf_detail_waiter_state(first) != HF_DETAIL_WAITER_PARKED)
		return NULL;
	hf_atomic32_store_relaxed(&first->state, HF_DETAIL_WAITER_WAKING);
	bucket_update(bucket, word, true);
	return &first->state;
}

/*
 * M5. Picks a waiter to run on this processor in place of @leaver, and sets *@sleeper if it must be
 * woken. Returns false if there is none: then @leaver keeps running. The first waiter stays in the
 * queue, since the others rely on it (W2). AWAITED lets only one thread leave its processor to the
 * first waiter; if that waiter does not get to run, the next thread that leaves picks another one.
 */
static bool find_successor(struct hf_detail_bucket *bucket, const struct hf_detail_waiter *leaver,
			   hf_atomic32_t **sleeper)
{
	const hf_atomic32_t *word = leaver->mutex;
	struct hf_detail_waiter *next = hf_detail_bucket_find(bucket, word);
	int left = SEARCH_LIMIT;

	if (next && next->processor == leaver->processor &&
	    !(hf_atomic32_load_relaxed(&bucket->flags) & HF_DETAIL_BUCKET_AWAITED)) {
		*sleeper = call_first(bucket, word);
		change_flags(bucket, 0, HF_DETAIL_BUCKET_AWAITED);
		return true;
	}
	while (next && left--) {
		next = next->next;
		if (next && next->at == word && next->processor == leaver->processor) {
			hf_detail_bucket_remove(bucket, next);
			next->released = true;
			*sleeper = hf_detail_waiter_release(next);
			return true;
		}
	}
	return false;
}

bool hf_detail_mutex_has_waiters(const hf_atomic32_t *word)
{
	return hf_atomic32_load_relaxed(&bucket_of(word)->flags) != 0;
}

void hf_detail_mutex_release_to_park(const struct hf_detail_waiter *leaver)
{
	hf_atomic32_t *word = leaver->mutex, *first, *sleeper = NULL;
	struct hf_detail_bucket *bucket = bucket_of(word);

	if (!hf_detail_mutex_set_free(word) && !hf_detail_mutex_has_waiters(word))
		return;
	(void)hf_detail_bucket_lock_blocked(word);
	first = call_first(bucket, word);
	(void)find_successor(bucket, leaver, &sleeper);
	hf_detail_bucket_unlock_blocked(bucket);
	hf_detail_waiter_wake(word, first);
	hf_detail_waiter_wake(word, sleeper);
}

void hf_detail_mutex_leave_processor(const struct hf_detail_waiter *leaver)
{
	hf_atomic32_t *sleeper = NULL;
	struct hf_detail_bucket *bucket;

	if (!hf_detail_mutex_has_waiters(leaver->mutex))
		return;
	bucket = hf_detail_bucket_lock(leaver->mutex);
	(void)find_successor(bucket, leaver, &sleeper);
	hf_detail_bucket_unlock(bucket);
	hf_detail_waiter_wake(leaver->mutex, sleeper);
}

bool hf_detail_mutex_end_turn(void)
{
	if (turn_age() < HF_MUTEX_TURN_NS)
		return false;
	start_turn();
	return true;
}

/* Returns true, with @waiter queued, if another thread will run on this processor. */
static bool make_room(struct hf_detail_waiter *waiter)
{
	hf_atomic32_t *word = waiter->mutex, *sleeper = NULL;
	struct hf_detail_bucket *bucket = hf_detail_bucket_lock(word);
	bool found = find_successor(bucket, waiter, &sleeper);

	if (found)
		(void)enqueue(bucket, waiter, HF_DETAIL_WAITER_HEAD);
	hf_detail_bucket_unlock(bucket);
	hf_detail_waiter_wake(word, sleeper);
	return found;
}

bool hf_detail_mutex_lock_contended(hf_atomic32_t *word, uint64_t deadline)
{
	struct hf_detail_waiter waiter;
	struct hf_detail_bucket *bucket;

	if (HF_UNLIKELY(!hf_detail_parking_table()))
		return lock_without_table(word, deadline);
	waiter.mutex = word;
	waiter.processor = hf_env_processor();
	waiter.released = false;
	bucket = bucket_of(word);
	if (hf_detail_mutex_has_waiters(word) && turn_age() >= HF_MUTEX_TURN_NS) {
		if (make_room(&waiter))
			return hf_detail_mutex_wait(&waiter, deadline);
		start_turn();
	}
	if (spin_to_take(word))
		return true;
	if (hf_detail_is_past(deadline))
		return hf_detail_mutex_take(word);
	(void)hf_detail_bucket_lock(word);
	(void)enqueue(bucket, &waiter, HF_DETAIL_WAITER_HEAD);
	hf_detail_bucket_unlock(bucket);
	return hf_detail_mutex_wait(&waiter, deadline);
}

bool hf_detail_mutex_relock(hf_atomic32_t *word, uint64_t deadline)
{
	return hf_detail_mutex_take(word) || hf_detail_mutex_lock_contended(word, deadline);
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
 * The first waiter was woken but is not running yet: it may need this thread's processor, and no
 * contention makes this thread leave it. Yields once every two turns.
 */
static void give_way(void)
{
	if (turn_age() < 2 * (uint64_t)HF_MUTEX_TURN_NS)
		return;
	start_turn();
	hf_env_yield();
}

void hf_detail_mutex_unlock_slow(hf_atomic32_t *word)
{
	struct hf_detail_bucket *bucket = bucket_of(word);
	hf_atomic32_t *sleeper;

	/* The first waiter is on its way and will look: wake nobody (Q6, W5). */
	if (hf_atomic32_load_relaxed(&bucket->flags) & HF_DETAIL_BUCKET_WAKING) {
		if (++HF_MUTEX_UNLOCKS % HF_MUTEX_CLOCK_EACH == 0)
			give_way();
		return;
	}
	(void)hf_detail_bucket_lock(word);
	sleeper = call_first(bucket, word);
	hf_detail_bucket_unlock(bucket);
	hf_detail_waiter_wake(word, sleeper);
}
