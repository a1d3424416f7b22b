/* SPDX-License-Identifier: MIT */
/* park - threads parked at a word, and woken: deadlines, signals, counts. */
#include "unit.h"

#include "holdfast/internal/atomic.h"

namespace
{

const uint64_t MS = 1000000;

uint64_t now_ns()
{
	return hf_env_deadline(0);
}

TEST(Park, DoesNotSleepIfTheWordIsAnother)
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
		/* One that has come already. */
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

/* Wakes at most as many as asked, and returns how many. */
TEST(Park, WakesSoMany)
{
	for (auto scope : { HF_ENV_PRIVATE, HF_ENV_SHARED }) {
		hf_atomic32_t word = HF_ATOMIC_INIT(0);
		std::atomic<int> awake(0);
		std::vector<std::thread> threads;

		EXPECT_EQ(hf_env_unpark(&word, UINT32_MAX, scope), 0u);
		for (int i = 0; i < 3; i++) {
			threads.emplace_back([&] {
				/* A spurious wake-up does not count: the word decides. */
				while (hf_atomic32_load_acquire(&word) == 0)
					(void)hf_env_park(&word, 0, HF_ENV_FOREVER, scope);
				awake++;
			});
		}
		unit::sleep_ms(20); /* not needed for the result, but then they are parked */
		EXPECT_EQ(awake, 0);
		hf_atomic32_store_release(&word, 1);

		uint32_t woken = hf_env_unpark(&word, 1, scope);

		EXPECT_LE(woken, 1u);
		woken += hf_env_unpark(&word, UINT32_MAX, scope);
		EXPECT_LE(woken, 3u);
		for (auto &thread : threads)
			thread.join();
		EXPECT_EQ(awake, 3);
	}
}

/* A signal's handler runs, and the sleep goes on: neither woken by it nor longer for it. */
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
	uint64_t start = now_ns();

	EXPECT_EQ(hf_env_park(&word, 0, hf_env_deadline(50 * MS), HF_ENV_PRIVATE), HF_ENV_TIMEOUT);
	EXPECT_GE(now_ns() - start, 50 * MS);
	done = true;
	sender.join();
	sigaction(SIGUSR2, &old, nullptr);
	EXPECT_GT(fired, 0u);
}

} // namespace
