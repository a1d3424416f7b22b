/* SPDX-License-Identifier: MIT */
/* park - hf_env_park() and hf_env_unpark(): deadlines, signals, numbers of wake-ups. */
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

TEST(Park, SleepsUntilTheDeadline)
{
	hf_atomic32_t word = HF_ATOMIC_INIT(7);

	errno = 42;
	for (auto scope : { HF_ENV_PRIVATE, HF_ENV_SHARED }) {
		uint64_t start = now_ns();

		EXPECT_EQ(hf_env_park(&word, 7, hf_env_deadline(20 * MS), scope), HF_ENV_TIMEOUT);
		EXPECT_GE(now_ns() - start, 20 * MS);
		/* A deadline in the past. */
		EXPECT_EQ(hf_env_park(&word, 7, 0, scope), HF_ENV_TIMEOUT);
	}
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

/* A signal handler runs without waking the sleeper or extending its timeout. */
TEST(Park, SignalsDoNotEndIt)
{
	static std::atomic<uint64_t> fired;
	struct sigaction action = {}, old;
	hf_atomic32_t word = HF_ATOMIC_INIT(0);

	fired = 0;
	action.sa_handler = [](int) { fired++; };
	sigaction(SIGUSR2, &action, &old); /* without SA_RESTART */

	std::atomic<bool> done(false);
	pthread_t sleeper = pthread_self();
	std::thread sender([&] {
		while (!done) {
			pthread_kill(sleeper, SIGUSR2);
			std::this_thread::sleep_for(std::chrono::milliseconds(1));
		}
	});
	uint64_t before;

	do { /* until the sender has run meanwhile */
		uint64_t start = now_ns();

		before = fired;
		EXPECT_EQ(hf_env_park(&word, 0, hf_env_deadline(50 * MS), HF_ENV_PRIVATE),
			  HF_ENV_TIMEOUT);
		EXPECT_GE(now_ns() - start, 50 * MS);
	} while (fired == before);
	done = true;
	sender.join();
	sigaction(SIGUSR2, &old, nullptr);
}

} // namespace
