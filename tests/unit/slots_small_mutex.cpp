/* SPDX-License-Identifier: MIT */
/*
 * slots_small_mutex - more threads than slots, all at one mutex: it needs no slot and takes none.
 * Compiled with HF_SLOTS=2, as slots_small.cpp.
 */
#include "unit.h"

#include "holdfast/mutex.h"

#include "waiters.h"

static_assert(HF_SLOTS == 2, "compile this with -DHF_SLOTS=2");

namespace
{

TEST(MutexSlots, MoreThreadsThanSlots)
{
	const int many = 50;
	hf_mutex_t mutex = HF_MUTEX_INIT;
	uint64_t count = 0;
	std::vector<std::thread> threads;

	/* Held until all are parked: so all go through every part of the slow path. */
	hf_mutex_lock(&mutex);
	for (int i = 0; i < many; i++) {
		threads.emplace_back([&] {
			for (int j = 0; j < 100; j++) {
				hf_mutex_lock(&mutex);
				count++;
				if (j % 10 == 0)
					sched_yield();
				hf_mutex_unlock(&mutex);
			}
			EXPECT_EQ(hf_detail_thread.base, 0u) << "it has taken a slot";
		});
	}
	unit::wait_until([&] { return unit::waiters(&mutex) == unsigned(many); });
	hf_mutex_unlock(&mutex);
	for (auto &thread : threads)
		thread.join();
	EXPECT_EQ(count, uint64_t(many) * 100);
	EXPECT_EQ(hf_atomic32_load_relaxed(&mutex.word), 0u);
}

} // namespace
