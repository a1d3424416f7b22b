/* SPDX-License-Identifier: MIT */
/*
 * move - a signal or broadcast moves a waiter to the queue of its lock, without waking it. queue.h
 * has the states and Q1 to Q9, to_lock.c W1 to W5 and W8.
 *
 * Invariants
 *   W6  A thread that moves a waiter to the head of a lock's queue without waking it takes the
 *       steps of W1 in its place, under the bucket's lock, and wakes it if the lock is free or
 *       there was no barrier. If it knows that it holds the lock, it only sets `need`: the
 *       unlock that comes is its own, and reads `need` and the flags as this thread has seen
 *       them, or newer. It knows that by the lock's word: a thread that has waited or signalled
 *       before stores its mark when it locks, a number that no other thread has. It loads the
 *       word relaxed, since no thread reads an older value of a word than the last that it
 *       stored.
 *   W7  A broadcast by the lock's holder, to threads of its processor only, moves the first one
 *       as the sole waiter of the lock's bucket, and the others in a list behind it. Whoever
 *       takes out the sole waiter first puts the next one in its place, then releases it.
 *       `need` is never 0 in between, and each later holder of the lock has acquired the
 *       broadcaster's unlock, so its own unlock finds `need` set. An unlock that comes between
 *       the two steps finds nobody, but the waiter that is released looks at the lock after
 *       them. If the bucket is not open any more, or somebody gets its lock, the others are
 *       queued.
 */
#include "queue.h"

/*
 * 1: a thread that finds its mark in a lock's word holds the lock, and will unlock it (W6). hf-run
 * defines 0, since a pthread mutex may be unlocked by another thread than the one that locked it.
 */
#ifndef HF_DETAIL_PARKING_TRUSTS_MARKS
#define HF_DETAIL_PARKING_TRUSTS_MARKS 1
#endif

/* ---- the sole waiter of a bucket: without the bucket's lock (Q9) ---------------------------- */

/* Counts a lock less. In the child of a fork `need` counts none (Q7). */
static void need_less(hf_atomic32_t *need)
{
	uint32_t found = hf_atomic32_load_relaxed(need);

	while (found && !hf_atomic32_try_cmpxchg_relaxed(need, &found, found - 1))
		;
}

/* In the child of a fork: takes back what was published, if it is still there. */
static void retract(struct hf_detail_bucket *bucket, hf_atomic32_t *need, uint64_t published)
{
	(void)hf_atomic64_try_cmpxchg_relaxed(&bucket->arrived, &published, 0);
	need_less(need);
}

/*
 * `arrived`: 0 -> w.
 *
 * This thread's unlock reads the flags, which the last holder of the bucket's lock has cleared
 * before it opened the bucket: with a stale WAKING it would wake nobody. So the swap acquires. The
 * look before it need not, and could not replace it: it may find an older 0 than the swap.
 *
 * The swap publishes a waiter of the parent process if a signal handler has forked since `born` was
 * read. The child, where `born` has changed, takes it back (Q7).
 */
bool hf_detail_move_sole_waiter(struct hf_detail_waiter *waiter)
{
	hf_atomic32_t *lock = waiter->lock, *need = hf_detail_need_of(lock);
	struct hf_detail_bucket *bucket = hf_detail_bucket_of(lock);
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

/*
 * A moved waiter was taken out: the one behind it takes its place (W7). `need` counts that one
 * before it no longer counts this one.
 */
static void replace_sole_waiter(struct hf_detail_waiter *waiter)
{
	struct hf_detail_waiter *behind = waiter->behind;
	uint64_t signals;

	waiter->behind = NULL;
	if (behind && !hf_detail_move_sole_waiter(behind)) {
		signals = hf_env_signals_block();
		hf_detail_move_each(behind, hf_env_processor());
		hf_env_signals_restore(signals);
	}
	need_less(hf_detail_need_of(waiter->lock));
}

/*
 * Another waiter than one at @at cannot be put back, since it may have missed a wake-up meanwhile:
 * it is released, which is a spurious wake-up, and rare.
 */
struct hf_detail_waiter *hf_detail_take_sole_at(const void *at)
{
	struct hf_detail_waiter *waiter = hf_detail_take_sole(hf_detail_bucket_of(at));
	hf_atomic32_t *other;
	bool is_lock;

	if (!waiter)
		return NULL;
	other = (hf_atomic32_t *)(uintptr_t)waiter->at;
	is_lock = other == waiter->lock;
	if (is_lock)
		replace_sole_waiter(waiter);
	else
		hf_detail_count_waiters(other, UINT32_MAX);
	if (other == at)
		return waiter;
	if (!hf_detail_waiter_wake(other, hf_detail_waiter_release(waiter)) && is_lock)
		hf_detail_unpark_first(other); /* W8: the next one must not rely on it */
	return NULL;
}

/* ---- moving a waiter to its lock (W6) ------------------------------------------------------- */

/* A thread without a mark gets one for the next time. */
bool hf_detail_is_holder(const hf_atomic32_t *lock)
{
#if HF_DETAIL_PARKING_TRUSTS_MARKS
	uint32_t mark = hf_detail_parking_mark();

	return mark != 1 && hf_atomic32_load_relaxed(lock) == mark;
#else
	(void)lock;
	return false;
#endif
}

/*
 * `arrived`: CLOSED -> w, if the queue has only this waiter, which `need` counts: the unlock then
 * takes it out without the bucket's lock, as it does after hf_detail_move_sole_waiter().
 */
static void publish_sole_waiter(struct hf_detail_bucket *bucket, struct hf_detail_waiter *waiter)
{
	uint64_t arrived = HF_DETAIL_CLOSED;

	if (bucket->first->next)
		return;
	hf_detail_waiter_take_out(bucket, waiter);
	hf_detail_bucket_change_flags(bucket, HF_DETAIL_BUCKET_FLAGS, 0);
	if (hf_atomic64_try_cmpxchg_release(&bucket->arrived, &arrived,
					    (uint64_t)(uintptr_t)waiter))
		return;
	hf_detail_waiter_append(bucket, waiter); /* another one has arrived */
	hf_detail_bucket_change_flags(bucket, 0, HF_DETAIL_BUCKET_WAITERS);
}

/*
 * Moves a waiter that is in no queue to that of its lock, and wakes it if it is the first.
 *
 * If it ran on @processor, which is this thread's, it could only preempt this thread, and would
 * then wait for it if it holds the lock: so it stays PARKED, and the unlock wakes it (W6).
 */
static void move_to_lock(struct hf_detail_waiter *waiter, uint32_t processor)
{
	hf_atomic32_t *lock = waiter->lock, *woken = NULL;
	bool is_near = waiter->processor == processor;
	struct hf_detail_bucket *bucket;

	/* A handler has forked since this thread took it out, and this is the child (Q7). */
	if (HF_UNLIKELY(!hf_detail_waiter_is_queued(hf_detail_bucket_of(waiter->at), waiter)))
		return;
	bucket = hf_detail_bucket_lock_blocked(lock);
	if (hf_detail_enqueue(bucket, waiter, HF_DETAIL_WAITER_PARKED)) {
		if (is_near && (hf_detail_is_holder(lock) ||
				(hf_env_barrier_all() && hf_atomic32_load_relaxed(lock))))
			publish_sole_waiter(bucket, waiter);
		else
			woken = hf_detail_mark_first_waking(bucket, lock);
	}
	hf_detail_bucket_unlock_blocked(bucket);
	hf_detail_wake_first(lock, woken);
}

void hf_detail_move_each(struct hf_detail_waiter *waiter, uint32_t processor)
{
	struct hf_detail_waiter *behind;

	for (; waiter; waiter = behind) {
		behind = waiter->behind;
		waiter->behind = NULL;
		move_to_lock(waiter, processor);
	}
}
