/* SPDX-License-Identifier: MIT */
/*
 * mutex_loops - mutex.h and src/mutex/mutex.c, compiled for a simulated processor. The slow paths get
 * names of their own, beside those of the library that the lab links.
 */
#include "sim.h"

#if defined(SIM_AARCH64)
#define SIM_OWN(name) name##_of_aarch64
#define SIM_ARCH_NAME hf_sim_mutex_aarch64
#else
#define SIM_OWN(name) name##_of_x86_64
#define SIM_ARCH_NAME hf_sim_mutex_x86_64
#endif
#define hf_detail_mutex_lock_slow SIM_OWN(hf_sim_mutex_lock_slow)
#define hf_detail_mutex_trylock_slow SIM_OWN(hf_sim_mutex_trylock_slow)
#define hf_detail_mutex_unlock_slow SIM_OWN(hf_sim_mutex_unlock_slow)
#define hf_detail_mutex_unlock_late SIM_OWN(hf_sim_mutex_unlock_late)

/* The mutex whose waiters stand in a table has these too; without it the names mean nothing. */
#define hf_detail_mutex_shared_lock_slow SIM_OWN(hf_sim_mutex_shared_lock_slow)
#define hf_detail_mutex_shared_take_parked SIM_OWN(hf_sim_mutex_shared_take_parked)
#define hf_detail_mutex_shared_wake SIM_OWN(hf_sim_mutex_shared_wake)
#define hf_detail_mutex_enqueue SIM_OWN(hf_sim_mutex_enqueue)
#define hf_detail_mutex_wait SIM_OWN(hf_sim_mutex_wait)
#define hf_detail_mutex_lock_contended SIM_OWN(hf_sim_mutex_lock_contended)
#define hf_detail_bucket_lock SIM_OWN(hf_sim_bucket_lock)
#define hf_detail_bucket_unlock SIM_OWN(hf_sim_bucket_unlock)
#define hf_detail_bucket_lock_blocked SIM_OWN(hf_sim_bucket_lock_blocked)
#define hf_detail_bucket_unlock_blocked SIM_OWN(hf_sim_bucket_unlock_blocked)
#define hf_detail_bucket_find SIM_OWN(hf_sim_bucket_find)
#define hf_detail_bucket_append SIM_OWN(hf_sim_bucket_append)
#define hf_detail_bucket_remove SIM_OWN(hf_sim_bucket_remove)
#define hf_detail_waiter_is_queued SIM_OWN(hf_sim_waiter_is_queued)
#define hf_detail_waiter_park SIM_OWN(hf_sim_waiter_park)
#define hf_detail_waiter_wake SIM_OWN(hf_sim_waiter_wake)
#define hf_detail_parking_table SIM_OWN(hf_sim_parking_table)
#define hf_detail_parking_need SIM_OWN(hf_sim_parking_need)

/* Thread-local in the library; of the simulated thread here. */
#define HF_MUTEX_UNLOCKS (*(uint32_t *)(void *)hf_sim_local(0))
#define HF_MUTEX_SELF ((uint64_t)(uintptr_t)hf_sim_local(0))

#include "../../src/mutex/mutex.c"

#ifdef HF_DETAIL_PARKING_BUCKETS
/* The table lies in simulated memory. */
#define HF_DETAIL_PARKING_IS_MODEL
#include "../../src/parking/parking.c"

const hf_atomic32_t *volatile hf_detail_parking_need;

struct hf_detail_parking *hf_detail_parking_table(void)
{
	struct hf_detail_parking *table =
		(struct hf_detail_parking *)hf_sim_table(sizeof(struct hf_detail_parking));

	hf_detail_parking_need = table->need;
	return table;
}
#endif

enum { COUNTER = 256 }; /* bytes from the lock */

static void init(void *object)
{
	*(uint64_t *)object = 0;
	*(uint64_t *)(void *)((char *)object + COUNTER) = 0;
#ifdef HF_DETAIL_PARKING_BUCKETS
	(void)hf_detail_parking_table();
#endif
}

static void body(void *object, double between, double work)
{
	hf_mutex_t *mutex = (hf_mutex_t *)object;
	uint64_t *counter = (uint64_t *)(void *)((char *)object + COUNTER);

	while (!hf_sim_done()) {
		hf_mutex_lock(mutex);
		hf_sim_store(counter, 8, hf_sim_load(counter, 8) + 1, 0);
		if (between > 0)
			hf_sim_work(between);
		hf_mutex_unlock(mutex);
		hf_sim_op();
		if (work > 0)
			hf_sim_work(work);
	}
}

static bool check(const void *object, uint64_t operations)
{
	return *(const uint64_t *)(const void *)((const char *)object + COUNTER) == operations;
}

static const struct hf_sim_variant variants[] = {
	{ "mutex", "mutex", true, true, init, body, check },
};

const struct hf_sim_arch SIM_ARCH_NAME = { "mutex", { 0 }, variants, 1 };
