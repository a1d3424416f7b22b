/* SPDX-License-Identifier: MIT */
/* parking - the table, its buckets and queues. Q1 to Q7 are those of parking.h. */
#include "parking.h"

#ifndef HF_DETAIL_PARKING_IS_MODEL
#include "../env/env.h"
#include "../process/process.h"

HF_DETAIL_DEBUGGERS_KNOW(HF_DETAIL_PARKING_BUCKETS == 1024 &&
			 offsetof(struct hf_detail_parking, bucket) == 4096 &&
			 sizeof(struct hf_detail_bucket) == 64 &&
			 offsetof(struct hf_detail_bucket, lock) == 8);
HF_DETAIL_DEBUGGERS_KNOW(offsetof(struct hf_detail_bucket, first) ==
			 (12 + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *));
HF_DETAIL_DEBUGGERS_KNOW(offsetof(struct hf_detail_waiter, at) == sizeof(void *) &&
			 offsetof(struct hf_detail_waiter, mutex) == 2 * sizeof(void *) &&
			 offsetof(struct hf_detail_waiter, next) == 3 * sizeof(void *));

HF_DETAIL_PROCESS_STATE(parking, 2);

static const hf_atomic32_t nobody[HF_DETAIL_PARKING_BUCKETS];
const hf_atomic32_t *volatile hf_detail_parking_need = nobody;

/* Before the constructor ran it may be called too, and finds the same memory. */
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
	(void)hf_env_barrier_all(); /* registers, which is quick while there is one thread */
}
#endif

static uint32_t index_of(const void *at)
{
	return HF_DETAIL_PARKING_INDEX(at);
}

struct hf_detail_bucket *hf_detail_bucket_lock_blocked(const void *at)
{
	struct hf_detail_bucket *bucket = &hf_detail_parking_table()->bucket[index_of(at)];

	hf_detail_mutex_shared_take(&bucket->lock, HF_ENV_FOREVER, HF_ENV_PRIVATE);
	return bucket;
}

void hf_detail_bucket_unlock_blocked(struct hf_detail_bucket *bucket)
{
	hf_detail_mutex_shared_release(&bucket->lock, HF_ENV_PRIVATE);
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

bool hf_detail_waiter_needs_unlock(const struct hf_detail_waiter *first)
{
	uint32_t state = first ? hf_detail_waiter_state(first) : (uint32_t)HF_DETAIL_WAITER_NEXT;

	return state == HF_DETAIL_WAITER_PARKED || state == HF_DETAIL_WAITER_CALLED ||
	       state == HF_DETAIL_WAITER_DUE;
}

void hf_detail_bucket_publish(struct hf_detail_bucket *bucket, const void *mutex, bool needed)
{
	const struct hf_detail_waiter *first = hf_detail_bucket_find(bucket, mutex);
	uint32_t state = first ? hf_detail_waiter_state(first) : (uint32_t)HF_DETAIL_WAITER_NEXT;
	hf_atomic32_t *need = &hf_detail_parking_table()->need[index_of(mutex)];
	uint64_t turn = hf_atomic64_load_relaxed(&bucket->turn) & ~HF_DETAIL_TURN_FLAGS;
	bool needs = hf_detail_waiter_needs_unlock(first);

	if (needs != needed)
		hf_atomic32_store_relaxed(
			need, hf_atomic32_load_relaxed(need) + (needs ? 1u : UINT32_MAX));
	if (!first)
		turn = 0;
	else if (state == HF_DETAIL_WAITER_HANDED || !turn)
		turn = hf_env_deadline(0) & ~HF_DETAIL_TURN_FLAGS; /* the new holder's begins */
	if (state == HF_DETAIL_WAITER_HANDED)
		turn |= HF_DETAIL_TURN_HANDED;
	else if (state == HF_DETAIL_WAITER_CALLED && hf_atomic32_load_relaxed(need) == 1)
		turn |= HF_DETAIL_TURN_CALLED; /* Q6 */
	hf_atomic64_store_relaxed(&bucket->turn, turn);
}
