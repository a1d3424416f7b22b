/* SPDX-License-Identifier: MIT */
/* queue - the table's memory, the lock of a bucket, and its queue. queue.h has the invariants. */
#include "queue.h"

/* Tries before parking: the lock is held for less than 1 us unless its holder is preempted. */
#ifndef BUCKET_TRIES
#define BUCKET_TRIES 100
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
			 offsetof(struct hf_detail_bucket, arrived) == 16);
HF_DETAIL_DEBUGGERS_KNOW(offsetof(struct hf_detail_waiter, at) == sizeof(void *) &&
			 offsetof(struct hf_detail_waiter, lock) == 2 * sizeof(void *) &&
			 offsetof(struct hf_detail_waiter, next) == 3 * sizeof(void *) &&
			 offsetof(struct hf_detail_waiter, behind) == 5 * sizeof(void *));

HF_DETAIL_PROCESS_STATE(parking, 8);
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
 * The last mark that was given out. The child of a fork goes on counting, since its thread keeps
 * the mark that it has. The last of the 32 bits' marks are not given out.
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

/* ---- those that have arrived: without the bucket's lock ------------------------------------- */

static struct hf_detail_waiter *arrived_waiter(uint64_t arrived)
{
	return (struct hf_detail_waiter *)(uintptr_t)(arrived & ~(uint64_t)HF_DETAIL_CLOSED);
}

/* 0 -> w; with others, or CLOSED: -> w | CLOSED */
void hf_detail_arrive(struct hf_detail_bucket *bucket, struct hf_detail_waiter *waiter,
		      uint64_t born)
{
	uint64_t arrived = hf_atomic64_load_relaxed(&bucket->arrived), now;

	waiter->born = born;
	do {
		waiter->next = arrived_waiter(arrived);
		now = (uint64_t)(uintptr_t)waiter | (arrived ? HF_DETAIL_CLOSED : 0);
	} while (!hf_atomic64_try_cmpxchg_release(&bucket->arrived, &arrived, now));
}

/* w -> 0 */
struct hf_detail_waiter *hf_detail_take_sole(struct hf_detail_bucket *bucket)
{
	uint64_t arrived = hf_atomic64_load_relaxed(&bucket->arrived);

	while (arrived && !(arrived & HF_DETAIL_CLOSED)) {
		if (hf_atomic64_try_cmpxchg_acquire(&bucket->arrived, &arrived, 0))
			return arrived_waiter(arrived);
	}
	return NULL;
}

/*
 * A sole waiter for a lock joins the queue, and so do those behind it, whose turn has not come
 * (W7).
 */
static void admit_moved(struct hf_detail_bucket *bucket, struct hf_detail_waiter *waiter)
{
	struct hf_detail_waiter *behind = waiter->behind, *next;

	waiter->behind = NULL;
	hf_detail_bucket_update(bucket, waiter->lock, true); /* `need` counts it already */
	for (; behind; behind = next) {
		next = behind->behind;
		behind->behind = NULL;
		(void)hf_detail_enqueue(bucket, behind, HF_DETAIL_WAITER_PARKED);
	}
}

/* Any -> CLOSED, by a thread that has got the bucket's lock. Queues those that have arrived. */
static void bucket_admit(struct hf_detail_bucket *bucket)
{
	struct hf_detail_waiter *waiter, *next, *oldest = NULL;
	uint64_t arrived = hf_atomic64_load_relaxed(&bucket->arrived);

	while (arrived != HF_DETAIL_CLOSED &&
	       !hf_atomic64_try_cmpxchg_acquire(&bucket->arrived, &arrived, HF_DETAIL_CLOSED))
		;
	for (waiter = arrived_waiter(arrived); waiter; waiter = next) {
		next = waiter->next;
		waiter->next = oldest;
		oldest = waiter;
	}
	for (; oldest; oldest = next) {
		next = oldest->next;
		hf_detail_waiter_append(bucket, oldest);
		if (oldest->at == oldest->lock)
			admit_moved(bucket, oldest);
		else
			oldest->queued = true;
	}
}

/* ---- the lock of a bucket ------------------------------------------------------------------- */

struct hf_detail_bucket *hf_detail_bucket_lock_blocked(const void *at)
{
	struct hf_detail_bucket *bucket = hf_detail_bucket_of(at);
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

void hf_detail_bucket_unlock_blocked(struct hf_detail_bucket *bucket)
{
	uint64_t arrived = HF_DETAIL_CLOSED;

	/*
	 * CLOSED -> 0; if a waiter has arrived meanwhile, the bucket stays closed. Release: a
	 * thread that moves a waiter to the open bucket (hf_detail_move_sole_waiter()) must see the
	 * flags as they are now: its unlock would rely on a WAKING waiter that has left.
	 */
	if (!bucket->first)
		(void)hf_atomic64_try_cmpxchg_release(&bucket->arrived, &arrived, 0);
	if (hf_atomic32_xchg_acq_rel(&bucket->lock, 0) == 2) /* 1, 2 -> 0 */
		(void)hf_env_unpark(&bucket->lock, 1, HF_ENV_PRIVATE);
}

struct hf_detail_bucket *hf_detail_bucket_lock(const void *at)
{
	uint64_t signals = hf_env_signals_block(); /* Q4 */
	struct hf_detail_bucket *bucket = hf_detail_bucket_lock_blocked(at);

	bucket->signals = signals;
	return bucket;
}

void hf_detail_bucket_unlock(struct hf_detail_bucket *bucket)
{
	uint64_t signals = bucket->signals;

	hf_detail_bucket_unlock_blocked(bucket);
	hf_env_signals_restore(signals);
}

/* ---- the queue of a lock: under the lock of its bucket -------------------------------------- */

/* Q6: does `need` count a single lock? */
static bool need_is_one(const hf_atomic32_t *need)
{
	return hf_atomic32_load_relaxed(need) == 1;
}

void hf_detail_bucket_update(struct hf_detail_bucket *bucket, const void *lock, bool needed)
{
	const struct hf_detail_waiter *first = hf_detail_waiter_find(bucket, lock);
	hf_atomic32_t *need = hf_detail_need_of(lock);
	bool needs = hf_detail_needs_wake(first);

	if (needs != needed)
		(void)hf_atomic32_fetch_add_relaxed(need, needs ? 1u : UINT32_MAX);
	if (!first)
		hf_detail_bucket_change_flags(bucket, HF_DETAIL_BUCKET_FLAGS, 0);
	else if (needs && hf_detail_waiter_state(first) == HF_DETAIL_WAITER_WAKING &&
		 need_is_one(need))
		hf_detail_bucket_change_flags(bucket, 0,
					      HF_DETAIL_BUCKET_WAITERS | HF_DETAIL_BUCKET_WAKING);
	else
		hf_detail_bucket_change_flags(bucket, HF_DETAIL_BUCKET_WAKING,
					      HF_DETAIL_BUCKET_WAITERS);
}

bool hf_detail_enqueue(struct hf_detail_bucket *bucket, struct hf_detail_waiter *waiter,
		       uint32_t if_first)
{
	struct hf_detail_waiter *first = hf_detail_waiter_find(bucket, waiter->lock);

	waiter->at = waiter->lock;
	hf_atomic32_store_relaxed(&waiter->state,
				  first ? (uint32_t)HF_DETAIL_WAITER_PARKED : if_first);
	hf_detail_waiter_append(bucket, waiter);
	hf_detail_bucket_update(bucket, waiter->lock, hf_detail_needs_wake(first));
	return !first;
}
