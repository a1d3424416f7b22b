/* SPDX-License-Identifier: MIT */
/*
 * mutex_loops - mutex.h and src/mutex/mutex.c, compiled for a simulated processor. Their functions
 * have the same names as in the library, which the lab links too: so CMakeLists.txt makes all
 * symbols of this file local except SIM_ARCH_NAME.
 */
#include "sim.h"

#if defined(SIM_AARCH64)
#define SIM_ARCH_NAME hf_sim_mutex_aarch64
#else
#define SIM_ARCH_NAME hf_sim_mutex_x86_64
#endif

/* Thread-local in the library; here they belong to the simulated thread. */
#define HF_MUTEX_UNLOCKS (*(uint32_t *)(void *)hf_sim_local(0))
#define HF_MUTEX_LAST (*(const hf_atomic32_t **)(void *)hf_sim_local(6))
#define HF_MUTEX_TRIED (*(uint64_t *)(void *)hf_sim_local(8))
#define HF_PARKING_TURN (*(uint64_t *)(void *)hf_sim_local(2))
#define HF_PARKING_SEEN (*(uint64_t *)(void *)hf_sim_local(4))

#define HF_DETAIL_PARKING_MARK 1

#include "../../src/mutex/mutex.c"

#ifdef HF_DETAIL_PARKING_BUCKETS
/* The table is in simulated memory. */
#define HF_DETAIL_PARKING_IS_MODEL
#include "../../src/parking/queue.c"
#include "../../src/parking/move.c"
#include "../../src/parking/to_lock.c"
#include "../../src/parking/to_wait.c"

const hf_atomic32_t *volatile hf_detail_parking_need;

struct hf_detail_parking *hf_detail_parking_table(void)
{
	struct hf_detail_parking *table =
		(struct hf_detail_parking *)hf_sim_table(sizeof(struct hf_detail_parking));

	hf_detail_parking_need = table->need;
	return table;
}

uint32_t hf_detail_parking_mark(void)
{
	return 1;
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
	{ "mutex", "mutex", true, init, body, check },
};

const struct hf_sim_arch SIM_ARCH_NAME = { "mutex", { 0 }, variants, 1 };
