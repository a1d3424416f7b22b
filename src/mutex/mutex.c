/* SPDX-License-Identifier: MIT */
/*
 * mutex - the slow paths: waiting, parking and waking. M1 to M7 are those of include/holdfast/mutex.h,
 * Q1 to Q7 those of parking.h.
 */
#include "holdfast/mutex.h"

#include "holdfast/internal/wait.h"
#include "../parking/parking.h"
#include "../profile/probe.h"

/* Nanoseconds that a waiter spins before it parks. */
#ifndef HF_MUTEX_SPIN_NS
#define HF_MUTEX_SPIN_NS 10000
#endif

/* The same for the next waiter, which has been woken for it. */
#ifndef HF_MUTEX_NEXT_SPIN_NS
#define HF_MUTEX_NEXT_SPIN_NS 20000
#endif

/* Nanoseconds for which a next waiter may be passed, and for which a handed mutex is left to it. */
#ifndef HF_MUTEX_TURN_NS
#define HF_MUTEX_TURN_NS 100000
#endif

/* Of so many unlocks of a thread while the next waiter is on its way, one looks at the clock. */
#ifndef HF_MUTEX_CLOCK_EACH
#define HF_MUTEX_CLOCK_EACH 8
#endif

/* The simulator has one for each simulated thread. */
#ifndef HF_MUTEX_PASSED
#define HF_MUTEX_PASSED passed
static __thread uint32_t passed __attribute__((tls_model("initial-exec")));
#endif

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- between processes: a futex, and no more ---------------------------------------------- */

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

	if (scope == HF_ENV_PRIVATE) /* a bucket's, which is nobody's business */
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
		/* M7. Those of one process can't be killed one by one. */
		if (scope == HF_ENV_SHARED)
			until = earlier(deadline, hf_env_deadline(HF_DETAIL_PATROL_MAX_NS));
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

/* ---- in one process ----------------------------------------------------------------------- */

static void wake(const void *mutex, hf_atomic32_t *state)
{
	if (!state)
		return;
	HF_DETAIL_PROBE2(wake, mutex, state);
	(void)hf_env_unpark(state, 1, HF_ENV_PRIVATE);
}

static uint64_t turn_at(const void *mutex)
{
	return hf_atomic64_load_relaxed(
		&hf_detail_parking_table()->bucket[HF_DETAIL_PARKING_INDEX(mutex)].turn);
}

static bool is_over(uint64_t turn)
{
	turn &= ~HF_DETAIL_TURN_FLAGS;
	return turn && hf_env_deadline(0) - turn >= HF_MUTEX_TURN_NS;
}

/* M6. A new turn begins: the waiter that does not come is not handed the mutex again at once. */
static void take_back(struct hf_detail_bucket *bucket, struct hf_detail_waiter *waiter)
{
	hf_atomic32_store_relaxed(&waiter->state, HF_DETAIL_WAITER_CALLED);
	hf_atomic64_store_relaxed(&bucket->turn, 0);
}

/*
 * The turn is over, and the next waiter has not got the mutex; perhaps it has no processor. From now
 * on it is due. But if the mutex was handed to it, this thread takes it (M6). True = taken.
 */
static bool end_turn(struct hf_detail_bucket *bucket, const void *mutex)
{
	struct hf_detail_waiter *first = hf_detail_bucket_find(bucket, mutex);
	uint32_t state = first ? hf_detail_waiter_state(first) : (uint32_t)HF_DETAIL_WAITER_PARKED;

	if (!is_over(hf_atomic64_load_relaxed(&bucket->turn)))
		return false;
	if (state == HF_DETAIL_WAITER_NEXT)
		hf_atomic32_store_relaxed(&first->state, HF_DETAIL_WAITER_DUE);
	else if (state == HF_DETAIL_WAITER_HANDED)
		take_back(bucket, first);
	else
		return false;
	hf_detail_bucket_publish(bucket, mutex, false);
	return state == HF_DETAIL_WAITER_HANDED;
}

/* @waiter: NULL, or that of this thread; who woke it from a condition may not have queued it yet. */
static bool try_end_turn(const void *mutex, const struct hf_detail_waiter *waiter)
{
	struct hf_detail_bucket *bucket = hf_detail_bucket_lock(mutex);
	bool taken = (!waiter || waiter->at == mutex) && end_turn(bucket, mutex);

	hf_detail_bucket_unlock(bucket);
	return taken;
}

/* Its state is as given if it is the next waiter: true. */
static bool enqueue(struct hf_detail_bucket *bucket, struct hf_detail_waiter *waiter, uint32_t next)
{
	struct hf_detail_waiter *first = hf_detail_bucket_find(bucket, waiter->mutex);

	waiter->at = waiter->mutex;
	hf_atomic32_store_relaxed(&waiter->state, first ? (uint32_t)HF_DETAIL_WAITER_PARKED : next);
	hf_detail_bucket_append(bucket, waiter);
	hf_detail_bucket_publish(bucket, waiter->mutex,
				 hf_detail_waiter_needs_unlock(first)); /* W2 */
	return !first;
}

/* The bucket of a waiter, locked. In the child of a fork it is queued there anew (Q7). */
static struct hf_detail_bucket *lock_bucket_of(struct hf_detail_waiter *waiter)
{
	struct hf_detail_bucket *bucket = hf_detail_bucket_lock(waiter->mutex);

	if (HF_UNLIKELY(!hf_detail_waiter_is_queued(bucket, waiter))) {
		/* The mutex that was handed to it is its own here, too: it is about to leave. */
		if (hf_detail_waiter_state(waiter) == HF_DETAIL_WAITER_HANDED)
			hf_detail_bucket_append(bucket, waiter);
		else
			(void)enqueue(bucket, waiter, HF_DETAIL_WAITER_NEXT);
	}
	return bucket;
}

/* It leaves the queue, since it has the mutex, or gives up. True = it has it. */
static bool leave(struct hf_detail_waiter *waiter, bool taken)
{
	hf_atomic32_t *mutex = waiter->mutex, *sleeper = NULL;
	struct hf_detail_bucket *bucket = lock_bucket_of(waiter);
	struct hf_detail_waiter *first = hf_detail_bucket_find(bucket, mutex);
	uint32_t state = hf_detail_waiter_state(waiter);
	bool was_first = first == waiter;
	bool needed;

	if (state == HF_DETAIL_WAITER_HANDED || (!was_first && !taken && end_turn(bucket, mutex)))
		taken = true;
	needed = hf_detail_waiter_needs_unlock(first);
	hf_detail_bucket_remove(bucket, waiter);
	first = hf_detail_bucket_find(bucket, mutex);
	/* W4. Though it was parked its barrier may have been refused, and the next one relied on it. */
	if (first && !taken && was_first) {
		sleeper = &first->state;
		hf_atomic32_store_relaxed(sleeper, HF_DETAIL_WAITER_CALLED);
	}
	hf_detail_bucket_publish(bucket, mutex, needed); /* W3 */
	hf_detail_bucket_unlock(bucket);
	wake(mutex, sleeper);
	return taken;
}

enum outcome { AWAKE, PARK, TAKEN, HANDED, LATE };

/* While its state is PARKED. @alone: it was the next waiter, and nobody else looks at the mutex. */
static enum outcome park_until_woken(struct hf_detail_waiter *waiter, uint64_t deadline, bool alone)
{
	uint64_t patrol = HF_MUTEX_PATROL_NS;

	while (hf_detail_waiter_state(waiter) == HF_DETAIL_WAITER_PARKED) {
		uint64_t until = deadline, turn;

		if (alone) {
			bool certain = hf_env_barrier_all(); /* W1 */

			if (hf_detail_mutex_take(waiter->mutex))
				return TAKEN;
			if (!certain) {
				until = earlier(deadline, hf_env_deadline(patrol));
				patrol = earlier(patrol * 2, HF_DETAIL_PATROL_MAX_NS);
			}
		}
		/* Perhaps all who could take it back are here (M6). */
		turn = turn_at(waiter->mutex);
		if (turn & HF_DETAIL_TURN_HANDED) {
			if (is_over(turn) && try_end_turn(waiter->mutex, waiter))
				return TAKEN;
			until = earlier(until, hf_env_deadline(HF_MUTEX_PATROL_NS));
		}
		HF_DETAIL_PROBE3(park, waiter->mutex, &waiter->state, until);
		if (hf_env_park(&waiter->state, HF_DETAIL_WAITER_PARKED, until, HF_ENV_PRIVATE) ==
			    HF_ENV_TIMEOUT &&
		    hf_detail_is_past(deadline))
			return LATE;
	}
	return AWAKE;
}

/* The next waiter is awake: unlocks need not look after it. */
static void come(struct hf_detail_waiter *waiter)
{
	struct hf_detail_bucket *bucket = lock_bucket_of(waiter);

	if (hf_detail_waiter_state(waiter) == HF_DETAIL_WAITER_CALLED) {
		hf_atomic32_store_relaxed(&waiter->state, HF_DETAIL_WAITER_NEXT);
		hf_detail_bucket_publish(bucket, waiter->mutex, true);
	}
	hf_detail_bucket_unlock(bucket);
}

/* While it is the next waiter, and awake. */
static enum outcome contend(struct hf_detail_waiter *waiter, uint64_t deadline)
{
	hf_wait_t wait = HF_WAIT_INIT;
	uint32_t left = HF_MUTEX_NEXT_SPIN_NS;

	for (;;) {
		uint32_t state = hf_detail_waiter_state(waiter);

		if (state == HF_DETAIL_WAITER_HANDED)
			return HANDED;
		if (hf_detail_mutex_take(waiter->mutex))
			return TAKEN;
		if (hf_detail_is_past(deadline))
			return LATE;
		if (state == HF_DETAIL_WAITER_CALLED) {
			come(waiter);
			continue;
		}
		/* It may have been handed the mutex meanwhile, and takes it from itself. */
		if (state == HF_DETAIL_WAITER_NEXT && is_over(turn_at(waiter->mutex)) &&
		    try_end_turn(waiter->mutex, waiter))
			return TAKEN;
		if (left <= wait.ns)
			return PARK;
		left -= wait.ns;
		/* Each look takes the cache line from the holder. */
		hf_wait_once(&wait, state == HF_DETAIL_WAITER_DUE ? HF_WAIT_HINT : HF_WAIT_BACKOFF);
	}
}

/* It was handed the mutex: it leaves, unless that was taken back. */
static bool leave_handed(struct hf_detail_waiter *waiter)
{
	struct hf_detail_bucket *bucket = lock_bucket_of(waiter);
	bool mine = hf_detail_waiter_state(waiter) == HF_DETAIL_WAITER_HANDED;

	if (mine) {
		hf_detail_bucket_remove(bucket, waiter);
		hf_detail_bucket_publish(bucket, waiter->mutex, false);
	}
	hf_detail_bucket_unlock(bucket);
	return mine;
}

/* The next waiter has spun enough: it is to park, unless it was handed the mutex. */
static void stand_back(struct hf_detail_waiter *waiter)
{
	struct hf_detail_bucket *bucket = lock_bucket_of(waiter);

	if (hf_detail_waiter_state(waiter) != HF_DETAIL_WAITER_HANDED) {
		bool needed = hf_detail_waiter_needs_unlock(waiter);

		hf_atomic32_store_relaxed(&waiter->state, HF_DETAIL_WAITER_PARKED);
		hf_detail_bucket_publish(bucket, waiter->mutex, needed);
	}
	hf_detail_bucket_unlock(bucket);
}

bool hf_detail_mutex_wait(struct hf_detail_waiter *waiter, uint64_t deadline)
{
	enum outcome outcome;

	for (bool alone = false;; alone = true) {
		outcome = park_until_woken(waiter, deadline, alone);
		if (outcome == AWAKE)
			outcome = contend(waiter, deadline);
		if (outcome == PARK)
			stand_back(waiter);
		else if (outcome != HANDED)
			return leave(waiter, outcome == TAKEN);
		else if (leave_handed(waiter))
			return true;
	}
}

/* There is no table. */
static bool poll(hf_atomic32_t *word, uint64_t deadline)
{
	while (!hf_detail_mutex_take(word)) {
		if (hf_detail_is_past(deadline))
			return false;
		(void)hf_env_park(word, HF_DETAIL_MUTEX_LOCKED,
				  earlier(deadline, hf_env_deadline(HF_MUTEX_PATROL_NS)),
				  HF_ENV_PRIVATE);
	}
	return true;
}

void hf_detail_mutex_enqueue(struct hf_detail_waiter *waiter)
{
	const void *mutex = waiter->mutex;
	struct hf_detail_bucket *bucket = hf_detail_bucket_lock_blocked(mutex);
	bool is_next = enqueue(bucket, waiter, HF_DETAIL_WAITER_CALLED);

	hf_detail_bucket_unlock_blocked(bucket);
	if (is_next)
		wake(mutex, &waiter->state);
}

bool hf_detail_mutex_come(hf_atomic32_t *word, uint64_t deadline)
{
	struct hf_detail_waiter waiter;
	struct hf_detail_bucket *bucket;
	hf_wait_t wait = HF_WAIT_INIT;
	uint32_t left = HF_MUTEX_SPIN_NS;

	if (HF_UNLIKELY(!hf_detail_parking_table()))
		return poll(word, deadline);
	for (;;) {
		if (hf_detail_mutex_take(word) ||
		    (is_over(turn_at(word)) && try_end_turn(word, NULL)))
			return true;
		if (left <= wait.ns)
			break;
		left -= wait.ns;
		hf_wait_once(&wait, HF_WAIT_BACKOFF);
	}
	if (hf_detail_is_past(deadline))
		return false;
	waiter.mutex = word;
	bucket = hf_detail_bucket_lock(word);
	(void)enqueue(bucket, &waiter, HF_DETAIL_WAITER_NEXT);
	hf_detail_bucket_unlock(bucket);
	return hf_detail_mutex_wait(&waiter, deadline);
}

__attribute__((__noinline__)) bool hf_detail_mutex_lock_slow(hf_atomic32_t *word, uint64_t deadline)
{
	uint64_t start = hf_detail_profile_begin();
	bool taken;

	HF_DETAIL_PROBE2(contended, word, 0);
	taken = hf_detail_mutex_come(word, deadline);
	HF_DETAIL_PROBE3(acquired, word, 0, taken);
	hf_detail_profile_end(start, HF_DETAIL_PROFILE_MUTEX, word, HF_DETAIL_CALL_SITE);
	return taken;
}

void hf_detail_mutex_unlock_slow(hf_atomic32_t *word)
{
	uint64_t turn = turn_at(word);
	struct hf_detail_bucket *bucket;
	struct hf_detail_waiter *first;
	hf_atomic32_t *sleeper = NULL;
	uint32_t state;

	/* Q6, W5 */
	if ((turn & HF_DETAIL_TURN_CALLED) &&
	    (++HF_MUTEX_PASSED % HF_MUTEX_CLOCK_EACH || !is_over(turn)))
		return;
	bucket = hf_detail_bucket_lock(word);
	first = hf_detail_bucket_find(bucket, word);
	state = first ? hf_detail_waiter_state(first) : (uint32_t)HF_DETAIL_WAITER_NEXT;
	if (state == HF_DETAIL_WAITER_CALLED && is_over(hf_atomic64_load_relaxed(&bucket->turn)))
		state = HF_DETAIL_WAITER_DUE;
	if (state == HF_DETAIL_WAITER_PARKED) {
		sleeper = &first->state;
		hf_atomic32_store_relaxed(sleeper, HF_DETAIL_WAITER_CALLED);
		hf_detail_bucket_publish(bucket, word, true);
	} else if (state == HF_DETAIL_WAITER_DUE && hf_detail_mutex_take(word)) {
		/* Who called it may have no processor, and not have come to waking it. */
		if (hf_detail_waiter_state(first) == HF_DETAIL_WAITER_CALLED)
			sleeper = &first->state;
		hf_atomic32_store_relaxed(&first->state, HF_DETAIL_WAITER_HANDED);
		hf_detail_bucket_publish(bucket, word, true);
	}
	hf_detail_bucket_unlock(bucket);
	wake(word, sleeper);
}
