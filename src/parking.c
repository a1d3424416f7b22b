/* SPDX-License-Identifier: MIT */
/* parking - the table, its buckets and queues. Q1 to Q5 are those of parking.h. */
#include "parking.h"

#ifndef HF__PARKING_IS_MODEL
#include "env.h"
#include "process.h"

HF__DEBUGGERS_KNOW(HF__PARKING_BUCKETS == 1024 && offsetof(struct hf__parking, bucket) == 4096 &&
		   sizeof(struct hf__bucket) == 64 && offsetof(struct hf__bucket, lock) == 8);
HF__DEBUGGERS_KNOW(offsetof(struct hf__bucket, first) ==
		   (12 + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *));
HF__DEBUGGERS_KNOW(offsetof(struct hf__waiter, at) == sizeof(void *) &&
		   offsetof(struct hf__waiter, mutex) == 2 * sizeof(void *) &&
		   offsetof(struct hf__waiter, next) == 3 * sizeof(void *));

HF__PROCESS_STATE(parking, 1);

static const hf_atomic32_t nobody[HF__PARKING_BUCKETS];
const hf_atomic32_t *volatile hf__parking_need = nobody;

/* Before the constructor ran it may be called too, and finds the same memory. */
struct hf__parking *hf__parking_table(void)
{
	struct hf__parking *table =
		hf__process_share(parking, sizeof(struct hf__parking), HF__PROCESS_WIPE);

	if (HF_UNLIKELY(hf__parking_need == nobody) && table)
		hf__parking_need = table->need;
	return table;
}

__attribute__((constructor(101))) static void start_parking(void)
{
	(void)hf__parking_table();
	(void)hf_env_barrier_all(); /* registers, which is quick while there is one thread */
}
#endif

static uint32_t index_of(const void *at)
{
	return HF__PARKING_INDEX(at);
}

struct hf__bucket *hf__bucket_lock_blocked(const void *at)
{
	struct hf__bucket *bucket = &hf__parking_table()->bucket[index_of(at)];

	hf__mutex_shared_take(&bucket->lock, HF_ENV_FOREVER, HF_ENV_PRIVATE);
	return bucket;
}

void hf__bucket_unlock_blocked(struct hf__bucket *bucket)
{
	hf__mutex_shared_release(&bucket->lock, HF_ENV_PRIVATE);
}

struct hf__bucket *hf__bucket_lock(const void *at)
{
	uint64_t signals = hf_env_signals_block(); /* Q4 */
	struct hf__bucket *bucket = hf__bucket_lock_blocked(at);

	bucket->signals = signals;
	return bucket;
}

void hf__bucket_unlock(struct hf__bucket *bucket)
{
	uint64_t signals = bucket->signals;

	hf__bucket_unlock_blocked(bucket);
	hf_env_signals_restore(signals);
}

struct hf__waiter *hf__bucket_find(const struct hf__bucket *bucket, const void *at)
{
	struct hf__waiter *waiter = bucket->first;

	while (waiter && waiter->at != at)
		waiter = waiter->next;
	return waiter;
}

void hf__bucket_append(struct hf__bucket *bucket, struct hf__waiter *waiter)
{
	waiter->next = NULL;
	waiter->prev = bucket->last;
	*(bucket->last ? &bucket->last->next : &bucket->first) = waiter;
	bucket->last = waiter;
}

void hf__bucket_remove(struct hf__bucket *bucket, struct hf__waiter *waiter)
{
	*(waiter->prev ? &waiter->prev->next : &bucket->first) = waiter->next;
	*(waiter->next ? &waiter->next->prev : &bucket->last) = waiter->prev;
}

bool hf__waiter_needs_unlock(const struct hf__waiter *first)
{
	uint32_t state = first ? hf__waiter_state(first) : (uint32_t)HF__WAITER_NEXT;

	return state == HF__WAITER_PARKED || state == HF__WAITER_CALLED || state == HF__WAITER_DUE;
}

void hf__bucket_publish(struct hf__bucket *bucket, const void *mutex, bool needed)
{
	const struct hf__waiter *first = hf__bucket_find(bucket, mutex);
	uint32_t state = first ? hf__waiter_state(first) : (uint32_t)HF__WAITER_NEXT;
	hf_atomic32_t *need = &hf__parking_table()->need[index_of(mutex)];
	uint64_t turn = hf_atomic64_load_relaxed(&bucket->turn) & ~HF__TURN_FLAGS;
	bool needs = hf__waiter_needs_unlock(first);

	if (needs != needed)
		hf_atomic32_store_relaxed(
			need, hf_atomic32_load_relaxed(need) + (needs ? 1u : UINT32_MAX));
	if (!first)
		turn = 0;
	else if (state == HF__WAITER_HANDED || !turn)
		turn = hf_env_deadline(0) & ~HF__TURN_FLAGS; /* the new holder's begins */
	if (state == HF__WAITER_HANDED)
		turn |= HF__TURN_HANDED;
	else if (state == HF__WAITER_CALLED && hf_atomic32_load_relaxed(need) == 1)
		turn |= HF__TURN_CALLED; /* Q6 */
	hf_atomic64_store_relaxed(&bucket->turn, turn);
}
