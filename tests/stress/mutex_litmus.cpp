/* SPDX-License-Identifier: MIT */
/*
 * mutex_litmus - the race between the store of an unlock and the last check of a thread that parks.
 *
 * Each round has one handover and no later unlock that could repair a lost wakeup: A holds the
 * mutex, B is about to park, A unlocks. Without a barrier in A between its store and its load of
 * `need`, the store may still be in A's store buffer at the load; B checks the mutex, parks, and is
 * never woken. A cache miss keeps A's store in the buffer for longer. B must finish before A starts
 * the next round; the alarm detects a lost wakeup. This program fails if hf_env_barrier_all()
 * returns true and does nothing.
 */
#include "../../src/parking/parking.h"

#include "stress.h"

#define HF_MUTEX_SPIN_NS 1
#define HF_PARKING_HEAD_SPIN_NS 1
#define HF_PARKING_TURN_NS 1000000000
#define hf_env_yield() ((void)0) /* a yield would hide the race, and slow the test */
#include "../../src/parking/queue.c"
#include "../../src/parking/move.c"
#include "../../src/parking/to_lock.c"
#include "../../src/parking/to_wait.c"

#include "../../src/mutex/mutex.c"

namespace
{

struct alignas(128) line {
	std::atomic<uint32_t> value{ 0 };

	/* Spins; yields after a while, because the machine may have one processor. */
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

int main()
{
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
	stress::deadline end(400);
	stress::random random(1);
	uint32_t round = 0;

	do {
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
	} while (!end.passed());
	started.value = UINT32_MAX;
	other.join();
	stress::did("mutex", "litmus", round);
	return stress::result();
}
