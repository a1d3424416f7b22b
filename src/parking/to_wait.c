/* SPDX-License-Identifier: MIT */
/*
 * to_wait - waiting for a signal: to queue and to park, to signal and to broadcast. queue.h has the
 * states and Q1 to Q9, to_lock.c and move.c have W, and src/cond/cond.c C1 to C6.
 */
#include "queue.h"

/*
 * QUEUED: a waiter at what it waits for is queued, and its thread is about to spin or park: hf-run
 * notes the waiter, so that it can end the wait of a cancelled thread. Returns the deadline. LEFT:
 * the waiter ends.
 */
#ifndef HF_DETAIL_PARKING_QUEUED
#define HF_DETAIL_PARKING_QUEUED(waiter, deadline) (deadline)
#define HF_DETAIL_PARKING_LEFT() ((void)0)
#endif

/* ---- to wait -------------------------------------------------------------------------------- */

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

/* Takes a waiter out of the queue of @at. Returns false if another thread has done so. */
static bool take_out(struct hf_detail_bucket *bucket, hf_atomic32_t *at,
		     struct hf_detail_waiter *waiter)
{
	bool is_queued = waiter->queued;

	if (is_queued && hf_detail_waiter_is_queued(bucket, waiter)) {
		hf_detail_waiter_take_out(bucket, waiter);
		waiter->queued = false;
		hf_detail_count_waiters(at, UINT32_MAX);
	}
	return is_queued;
}

/* The same, of a waiter that has timed out. */
static bool leave_queue(hf_atomic32_t *at, struct hf_detail_waiter *waiter)
{
	struct hf_detail_bucket *bucket = hf_detail_bucket_lock(at);
	bool leaves = take_out(bucket, at, waiter);

	hf_detail_bucket_unlock(bucket);
	return leaves;
}

/*
 * Queues a waiter at @at, with its number counted first (cond C1: the next holder of the mutex sees
 * that somebody waits). The first one of a bucket takes the bucket's lock, to set `born`.
 */
static void queue_to_wait(hf_atomic32_t *at, struct hf_detail_waiter *waiter)
{
	struct hf_detail_bucket *bucket = hf_detail_bucket_of(at);
	uint64_t born = hf_atomic64_load_relaxed(&bucket->born);

	if (HF_LIKELY(born)) {
		hf_detail_count_waiters(at, 1);
		hf_detail_arrive(bucket, waiter, born);
		return;
	}
	bucket = hf_detail_bucket_lock(at);
	hf_detail_waiter_append(bucket, waiter);
	waiter->queued = true;
	hf_detail_count_waiters(at, 1);
	hf_detail_bucket_unlock(bucket);
}

enum hf_detail_park hf_detail_park_to_wait(hf_atomic32_t *at, hf_atomic32_t *lock,
					   const struct hf_detail_wait_calls *calls,
					   uint64_t deadline, uint64_t *moved)
{
	enum hf_detail_park result = HF_DETAIL_PARK_RELEASED;
	struct hf_detail_waiter waiter;

	hf_detail_waiter_init(&waiter, at, lock);
	hf_atomic32_store_relaxed(&waiter.state, calls->spin ? HF_DETAIL_WAITER_SPINNING
							     : HF_DETAIL_WAITER_PARKED);
	queue_to_wait(at, &waiter);
	calls->before_sleep(lock, !calls->spin);
	deadline = HF_DETAIL_PARKING_QUEUED(&waiter, deadline);
	if (calls->spin && !spin_until_released(&waiter, calls, deadline))
		hf_detail_leave_processor(lock, waiter.processor);

	while (hf_detail_waiter_state(&waiter) == HF_DETAIL_WAITER_PARKED) {
		if (!hf_detail_waiter_park(&waiter, at, deadline, deadline))
			continue;
		if (leave_queue(at, &waiter)) {
			HF_DETAIL_PARKING_LEFT();
			return HF_DETAIL_PARK_TIMED_OUT;
		}
		deadline = HF_ENV_FOREVER; /* a signal moves it, and has it in no queue meanwhile */
	}
	HF_DETAIL_PARKING_LEFT();
	if (!hf_detail_waiter_is_released(&waiter))
		result = hf_detail_wait_to_lock(&waiter, calls->try_lock, HF_ENV_FOREVER);
	*moved = waiter.moved;
	return result;
}

/* ---- to signal ------------------------------------------------------------------------------ */

/* Takes the first waiter out of the queue; NULL = there is none. */
static struct hf_detail_waiter *take_first(struct hf_detail_bucket *bucket, const void *at)
{
	struct hf_detail_waiter *waiter = hf_detail_waiter_find(bucket, at);

	if (waiter) {
		hf_detail_waiter_take_out(bucket, waiter);
		waiter->queued = false;
	}
	return waiter;
}

/*
 * Counts @n waiters less at @at, before the first of them is released: then the memory at @at may
 * be freed (cond C2). In the child of a fork the number is stale: it becomes 0 if no thread of this
 * process has queued in the bucket, since none can be about to.
 */
static void uncount(const struct hf_detail_bucket *bucket, hf_atomic32_t *at, uint32_t n)
{
	if (n)
		hf_detail_count_waiters(at, 0u - n);
	else if (!hf_atomic64_load_relaxed(&bucket->born))
		hf_atomic32_store_relaxed(at, 0);
}

/*
 * Wakes a waiter that was taken out, and counted. While the lock is held and has waiters, or its
 * holder may be this thread, on whose processor the waiter would run, it would only be woken to
 * park again: it is moved. A thread that finds its mark in the lock's word is the holder. Not a
 * real-time thread, which may need to run before those that it would sleep behind (W8).
 */
static void wake_one(const void *at, struct hf_detail_waiter *waiter, uint32_t processor)
{
	uint32_t word = hf_atomic32_load_relaxed(waiter->lock);
	bool is_near = waiter->processor == processor;
	uint64_t signals;

	if (!word || waiter->is_real_time ||
	    hf_detail_waiter_state(waiter) != HF_DETAIL_WAITER_PARKED ||
	    !(is_near || hf_detail_parking_flags(waiter->lock))) {
		(void)hf_detail_waiter_wake(at, hf_detail_waiter_release(waiter));
		return;
	}
	waiter->moved = hf_detail_profile_begin();
	if (is_near && hf_detail_is_holder(waiter->lock) && hf_detail_move_sole_waiter(waiter))
		return;
	signals = hf_env_signals_block();
	hf_detail_move_each(waiter, processor);
	hf_env_signals_restore(signals);
}

/* W7: is this thread the holder of the lock for which all these wait, and its processor theirs? */
static bool may_move_in_turn(const struct hf_detail_waiter *first, uint32_t processor)
{
	const struct hf_detail_waiter *waiter = first;

	while (waiter && waiter->processor == processor && waiter->lock == first->lock)
		waiter = waiter->behind;
	return first && !waiter && hf_detail_is_holder(first->lock);
}

void hf_detail_unpark_one(hf_atomic32_t *at)
{
	uint32_t processor = hf_env_processor();
	struct hf_detail_waiter *waiter = hf_detail_take_sole_at(at);
	struct hf_detail_bucket *bucket;
	uint64_t signals;

	if (HF_LIKELY(waiter)) {
		wake_one(at, waiter, processor);
		return;
	}
	signals = hf_env_signals_block();
	bucket = hf_detail_bucket_lock_blocked(at);
	waiter = take_first(bucket, at);
	uncount(bucket, at, waiter ? 1 : 0);
	hf_detail_bucket_unlock_blocked(bucket);
	if (waiter)
		wake_one(at, waiter, processor);
	/* Not before: a waiter in no queue depends on this thread until here. */
	hf_env_signals_restore(signals);
}

/*
 * Releases the waiters that spin, and real-time threads; moves the others, or only their first one
 * (W7), to the queue of the lock, and wakes the first of those. If the lock is free, one more
 * waiter is released at once, to use the lock until the first one has woken up.
 *
 * The first waiter should be one of a processor that is not busy already, with this thread or with
 * the waiter that was released at once: a thread that parks leaves its processor to its neighbours,
 * so otherwise all threads of one processor would run before the first one of another is woken.
 */
void hf_detail_unpark_all(hf_atomic32_t *at)
{
	uint32_t processor = hf_env_processor(), busy = processor, n = 0;
	struct hf_detail_waiter *waiter = hf_detail_take_sole_at(at), *next, *all = NULL,
				**end = &all;
	struct hf_detail_waiter *moved = NULL, **last = &moved;
	struct hf_detail_bucket *bucket;
	uint64_t signals;

	if (waiter) {
		wake_one(at, waiter, processor);
		return;
	}
	signals = hf_env_signals_block();
	bucket = hf_detail_bucket_lock_blocked(at);
	for (; (waiter = take_first(bucket, at)); n++) {
		*end = waiter;
		end = &waiter->next;
		waiter->next = NULL;
	}
	uncount(bucket, at, n);
	hf_detail_bucket_unlock_blocked(bucket);

	waiter = all;
	if (waiter && !hf_atomic32_load_relaxed(waiter->lock)) {
		all = waiter->next;
		busy = waiter->processor;
		(void)hf_detail_waiter_wake(at, hf_detail_waiter_release(waiter));
	}
	for (waiter = all; waiter; waiter = next) {
		bool is_elsewhere;

		next = waiter->next;
		if (waiter->is_real_time ||
		    hf_detail_waiter_state(waiter) == HF_DETAIL_WAITER_SPINNING) {
			(void)hf_detail_waiter_wake(at, hf_detail_waiter_release(waiter));
			continue;
		}
		is_elsewhere = moved && moved->processor == busy && waiter->processor != busy;

		waiter->moved = hf_detail_profile_begin();
		waiter->behind = is_elsewhere ? moved : NULL;
		*(is_elsewhere ? &moved : last) = waiter;
		if (!is_elsewhere)
			last = &waiter->behind;
	}
	if (!may_move_in_turn(moved, processor) || !hf_detail_move_sole_waiter(moved))
		hf_detail_move_each(moved, processor);
	hf_env_signals_restore(signals);
}

#if defined(HF_DETAIL_PARKING_HAS_UNPARK_THIS)
/* hf-run: releases a waiter that has not LEFT. Returns false if it is no longer queued at @at. */
bool hf_detail_unpark_this(hf_atomic32_t *at, struct hf_detail_waiter *waiter)
{
	struct hf_detail_bucket *bucket = hf_detail_bucket_lock(at);
	bool is_queued = take_out(bucket, at, waiter);
	hf_atomic32_t *woken = is_queued ? hf_detail_waiter_release(waiter) : NULL;

	hf_detail_bucket_unlock(bucket);
	(void)hf_detail_waiter_wake(at, woken);
	return is_queued;
}
#endif
