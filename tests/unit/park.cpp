/* SPDX-License-Identifier: MIT */
/*
 * park - hf_env_park() and hf_env_unpark(): a word that differs, deadlines, numbers of wake-ups.
 * wait_address.cpp has waits that time out or meet signals.
 */
#include "unit.h"

#include "holdfast/internal/atomic.h"

namespace
{

using unit::MS;
using unit::now_ns;

TEST(Park, DoesNotSleepIfTheWordDiffers)
{
	hf_atomic32_t word = HF_ATOMIC_INIT(7);

	errno = 42;
	for (auto scope : { HF_ENV_PRIVATE, HF_ENV_SHARED })
		EXPECT_EQ(hf_env_park(&word, 8, HF_ENV_FOREVER, scope), HF_ENV_CHANGED);
	EXPECT_EQ(errno, 42);
}

TEST(Park, DeadlinesDoNotWrap)
{
	EXPECT_EQ(hf_env_deadline(HF_ENV_FOREVER), HF_ENV_FOREVER);
	EXPECT_EQ(hf_env_deadline(HF_ENV_FOREVER - 1), HF_ENV_FOREVER);
	EXPECT_LT(hf_env_deadline(3600 * 1000 * MS), HF_ENV_FOREVER);
	EXPECT_GE(hf_env_deadline(3600 * 1000 * MS), now_ns() + 3500 * 1000 * MS);
}

/* Wakes exactly the requested number; a requeue that finds another value in the word wakes all. */
TEST(Park, AsManyAsAskedFor)
{
	for (auto scope : { HF_ENV_PRIVATE, HF_ENV_SHARED }) {
		hf_atomic32_t word = HF_ATOMIC_INIT(0), other = HF_ATOMIC_INIT(0);
		std::atomic<bool> stop(false);
		std::atomic<int> gone(0);
		uint32_t woken;
		unit::thread_group threads;

		EXPECT_EQ(hf_env_unpark(&word, UINT32_MAX, scope), 0u);
		for (int i = 0; i < 5; i++) {
			threads.add([&] {
				while (!stop)
					EXPECT_NE(hf_env_park(&word, 0, HF_ENV_FOREVER, scope),
						  HF_ENV_TIMEOUT);
				gone++;
			});
		}
		do {
			unit::sleep_ms(1);
			woken = hf_env_unpark(&word, 2, scope);
			EXPECT_LE(woken, 2u);
		} while (woken < 2);
		stop = true;
		while (gone < 5) {
			hf_env_requeue(&word, 1, &other, scope);
			sched_yield();
		}
	}
}

} // namespace
