/* SPDX-License-Identifier: MIT */
/*
 * mutex_bucket - a thousand mutexes that share one bucket of the parking table.
 *
 * Unlocks and timeouts search a queue that also holds the waiters of the other mutexes. If a wakeup
 * goes to another mutex's waiter, or is lost, a thread stays parked and the alarm ends the test.
 * Some mutexes are heavily contended, some are held for long. At the end of each round all mutexes
 * are free and the bucket is empty.
 */
#include "stress.h"

#include <cstdlib>

#include "holdfast/mutex.h"

#include "../unit/waiters.h"

namespace
{

enum { MUTEXES = 1000, BUSY = 4, THREADS = 8, ROUNDS = 25 };

struct counted {
	hf_mutex_t *mutex;
	uint64_t count = 0;
};

/* The mutexes of a large array that share the bucket of its first one. */
std::vector<counted> choose(std::vector<hf_mutex_t> *all)
{
	std::vector<counted> chosen;

	for (hf_mutex_t &mutex : *all) {
		if (chosen.size() < MUTEXES && HF_DETAIL_PARKING_INDEX(&mutex.word) ==
						       HF_DETAIL_PARKING_INDEX(&(*all)[0].word)) {
			chosen.push_back(counted());
			chosen.back().mutex = &mutex;
		}
	}
	return chosen;
}

/* Holds the mutex, sometimes so long that other threads park and time out. */
void hold(stress::random *random)
{
	uint32_t kind = random->below(64);

	if (kind == 0)
		std::this_thread::sleep_for(std::chrono::microseconds(50 + random->below(100)));
	else if (kind < 16)
		sched_yield();
}

void work(std::vector<counted> *mutexes, int me, uint32_t n, std::atomic<uint64_t> *done,
	  std::atomic<uint64_t> *late)
{
	stress::random random(me);

	for (uint32_t i = 0; i < n; i++) {
		counted *first = &(*mutexes)[random.below(random.below(4) ? BUSY : MUTEXES)];
		counted *second = &(*mutexes)[random.below(random.below(4) ? BUSY : MUTEXES)];

		if (random.below(3) == 0) {
			if (!hf_mutex_lock_timeout(first->mutex, random.below(100000))) {
				(*late)++;
				continue;
			}
		} else {
			hf_mutex_lock(first->mutex);
		}
		first->count++;
		(*done)++;
		/* Lock two at once, in address order or with a timeout, to avoid deadlock. */
		if (second > first || (second < first && random.below(2))) {
			bool taken = true;

			if (second > first)
				hf_mutex_lock(second->mutex);
			else
				taken = hf_mutex_lock_timeout(second->mutex, random.below(50000));
			if (taken) {
				second->count++;
				(*done)++;
				hold(&random);
				hf_mutex_unlock(second->mutex);
			} else {
				(*late)++;
			}
		}
		hold(&random);
		hf_mutex_unlock(first->mutex);
	}
}

} // namespace

int main(int argc, char **argv)
{
	uint32_t times = argc > 1 ? uint32_t(std::atoi(argv[1])) : 1;
	std::vector<hf_mutex_t> all(size_t(HF_DETAIL_PARKING_BUCKETS) * (MUTEXES + 100));
	std::vector<counted> mutexes = choose(&all);
	std::atomic<uint64_t> done(0), late(0);
	uint64_t count = 0;

	stress::begin();
	if (!stress::check(mutexes.size() == MUTEXES, "mutex_bucket", "only %zu in a bucket",
			   mutexes.size()))
		return stress::result();
	for (uint32_t round = 0; round < ROUNDS * times; round++) {
		stress::run_threads(THREADS, [&](int me) {
			work(&mutexes, int(round) * THREADS + me, 100 / stress::SHARE, &done,
			     &late);
		});
		for (counted &c : mutexes)
			stress::check(!hf_mutex_is_locked(c.mutex), "mutex_bucket",
				      "one is locked at the end of round %u", round);
		stress::check(unit::table_is_empty(), "mutex_bucket",
			      "the table is not empty at the end of round %u", round);
	}
	for (counted &c : mutexes)
		count += c.count;
	stress::same(count, "counted", done, "done", "mutex_bucket");
	stress::did("mutex_bucket", "1000 in a bucket", done, { { "time-outs", late } });
	return stress::result();
}
