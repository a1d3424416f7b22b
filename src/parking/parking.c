/* SPDX-License-Identifier: MIT */
/* parking - the table, its buckets and queues. Q1, Q4, Q5 and Q7 are defined in parking.h. */
#include "parking.h"

#include "../profile/probe.h"

#ifndef HF_DETAIL_PARKING_IS_MODEL
#include "../env/env.h"
#include "../process/process.h"

HF_DETAIL_DEBUGGERS_KNOW(HF_DETAIL_PARKING_BUCKETS == 1024 &&
			 offsetof(struct hf_detail_parking, bucket) == 4096 &&
			 sizeof(struct hf_detail_bucket) == 64 &&
			 offsetof(struct hf_detail_bucket, lock) == 4);
HF_DETAIL_DEBUGGERS_KNOW(offsetof(struct hf_detail_bucket, first) == 8);
HF_DETAIL_DEBUGGERS_KNOW(offsetof(struct hf_detail_waiter, at) == sizeof(void *) &&
			 offsetof(struct hf_detail_waiter, mutex) == 2 * sizeof(void *) &&
			 offsetof(struct hf_detail_waiter, next) == 3 * sizeof(void *));

HF_DETAIL_PROCESS_STATE(parking, 3);

static const hf_atomic32_t nobody[HF_DETAIL_PARKING_BUCKETS];
const hf_atomic32_t *volatile hf_detail_parking_need = nobody;

/* May be called before the constructor below; both find the same memory. */
struct hf_detail_parking *hf_detail_parking_table(void)
{
	struct hf_detail_parking *table = hf_detail_process_share(
		parking, sizeof(struct hf_detail_parking), HF_DETAIL_PROCESS_WIPE);

	if (HF_UNLIKELY(hf_detail_parking_need == nobody) && table)
		hf_detail_parking_need = table->need;
	return table;
}

__attribute__((constructor(101))) static void start_parking(void)
{
	(void)hf_detail_parking_table();
	(void)hf_env_barrier_all(); /* registers for membarrier(): fast while there is one thread */
}
#endif

/* Tries before parking: the lock is held for less than 1 us unless its holder is preempted. */
#ifndef BUCKET_LOOKS
#define BUCKET_LOOKS 100
#endif

static uint32_t index_of(const void *at)
{
	return HF_DETAIL_PARKING_INDEX(at);
}

struct hf_detail_bucket *hf_detail_bucket_lock_blocked(const void *at)
{
	struct hf_detail_bucket *bucket = &hf_detail_parking_table()->bucket[index_of(at)];
	uint32_t looks = BUCKET_LOOKS, found;

	do {
		found = 0;
		if (hf_atomic32_try_cmpxchg_acquire(&bucket->lock, &found, 1))
			return bucket;
		hf_arch_relax();
	} while (looks--);
	while (hf_atomic32_xchg_acq_rel(&bucket->lock, 2) != 0)
		(void)hf_env_park(&bucket->lock, 2, HF_ENV_FOREVER, HF_ENV_PRIVATE);
	return bucket;
}

void hf_detail_bucket_unlock_blocked(struct hf_detail_bucket *bucket)
{
	if (hf_atomic32_xchg_acq_rel(&bucket->lock, 0) == 2)
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

struct hf_detail_waiter *hf_detail_bucket_find(const struct hf_detail_bucket *bucket,
					       const void *at)
{
	struct hf_detail_waiter *waiter = bucket->first;

	while (waiter && waiter->at != at)
		waiter = waiter->next;
	return waiter;
}

void hf_detail_bucket_append(struct hf_detail_bucket *bucket, struct hf_detail_waiter *waiter)
{
	waiter->next = NULL;
	waiter->prev = bucket->last;
	*(bucket->last ? &bucket->last->next : &bucket->first) = waiter;
	bucket->last = waiter;
	if (!bucket->born)
		bucket->born = hf_env_deadline(0);
	waiter->born = bucket->born;
}

bool hf_detail_waiter_is_queued(const struct hf_detail_bucket *bucket,
				const struct hf_detail_waiter *waiter)
{
	return waiter->born == bucket->born;
}

void hf_detail_bucket_remove(struct hf_detail_bucket *bucket, struct hf_detail_waiter *waiter)
{
	*(waiter->prev ? &waiter->prev->next : &bucket->first) = waiter->next;
	*(waiter->next ? &waiter->next->prev : &bucket->last) = waiter->prev;
}

hf_atomic32_t *hf_detail_waiter_release(struct hf_detail_waiter *waiter)
{
	hf_atomic32_t *state = &waiter->state;

	return hf_atomic32_xchg_acq_rel(state, HF_DETAIL_WAITER_RELEASED) ==
			       HF_DETAIL_WAITER_SPINNING
		       ? NULL
		       : state;
}

bool hf_detail_waiter_park(struct hf_detail_waiter *waiter, const void *at, uint64_t until,
			   uint64_t deadline)
{
	HF_DETAIL_PROBE3(park, at, &waiter->state, until);
	return hf_env_park(&waiter->state, HF_DETAIL_WAITER_PARKED, until, HF_ENV_PRIVATE) ==
		       HF_ENV_TIMEOUT &&
	       hf_detail_is_past(deadline);
}

void hf_detail_waiter_wake(const void *at, hf_atomic32_t *state)
{
	if (!state)
		return;
	HF_DETAIL_PROBE2(wake, at, state);
	(void)hf_env_unpark(state, 1, HF_ENV_PRIVATE);
}
