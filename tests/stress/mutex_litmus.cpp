/* SPDX-License-Identifier: MIT */
/*
 * mutex_litmus - the one race that a counter can't show: an unlock's store against a look that parks.
 *
 * Each round has one hand-over and nobody who comes later: A holds the mutex, B is about to park, A
 * unlocks. Without a barrier in A between the store and the load of `need`, A's store may still be on
 * its way when A loads; B looks, parks, and stays parked. A miss in A's cache keeps the store waiting.
 * B must be through before A starts the next round; a wake-up that is lost is found by the alarm. This
 * program fails where hf_env_barrier_all() is left out (it returns true and does nothing).
 */
#include "../../src/parking/parking.h"

#include "stress.h"

#include <cstdlib>

#define HF_MUTEX_SPIN_NS 1
#define HF_MUTEX_HEAD_SPIN_NS 1
#define HF_MUTEX_TURN_NS 1000000000
#define hf_env_yield() ((void)0) /* it would hide the race, and take long */
#include "../../src/mutex/mutex.c"

namespace
{

struct alignas(128) line {
	std::atomic<uint32_t> value{ 0 };

	/* At once, if both threads run; on one processor with its help. */
	uint32_t wait(uint32_t round) const
	{
		uint32_t now;

		for (unsigned int looks = 0; (now = value) != round && now != UINT32_MAX; looks++) {
			if (looks > 1000)
				sched_yield();
		}
		return now;
	}
};

} // namespace

int main(int argc, char **argv)
{
	int times = argc > 1 ? std::atoi(argv[1]) : 1;
	alignas(128) static hf_mutex_t mutex = HF_MUTEX_INIT;
	alignas(128) [[maybe_unused]] static volatile char dirty[64 * 64];
	static line started, ready, done;

	stress::begin();
	std::thread other([&] {
		for (uint32_t round = 1;; round++) {
			if (started.wait(round) == UINT32_MAX)
				return;
			for (size_t i = 0; i < 8; i++)
				dirty[i * 64] = char(round);
			ready.value = round;
			hf_mutex_lock(&mutex);
			hf_mutex_unlock(&mutex);
			done.value = round;
		}
	});
	stress::deadline end(400 * times);
	stress::random random(1);
	uint32_t round = 0;

	while (!end.passed()) {
		for (int i = 0; i < 64; i++) {
			hf_mutex_lock(&mutex);
			started.value = ++round;
			(void)ready.wait(round);
			for (uint32_t n = random.below(2000); n > 0; n--)
				__asm__ volatile("" ::: "memory");
			for (size_t j = 0; j < 8; j++)
				dirty[j * 64] = 1;
			hf_mutex_unlock(&mutex);
			(void)done.wait(round);
		}
	}
	started.value = UINT32_MAX;
	other.join();
	stress::did("mutex", "litmus", round);
	return stress::result();
}
