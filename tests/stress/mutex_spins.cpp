/* SPDX-License-Identifier: MIT */
/*
 * mutex_spins - what waiters learn: a spin in vain is not repeated each time, and threads whose
 * sections are tiny pause for batches.
 *
 * A single thread, a clock that the test sets, and a lock that it opens at a certain try: so
 * nothing depends on the machine.
 */
#include "../../src/parking/parking.h"

#include "stress.h"

static uint64_t test_clock(uint64_t nanoseconds);
#define hf_env_deadline test_clock
#include "../../src/mutex/mutex.c"
#include "../../src/parking/queue.c"
#include "../../src/parking/move.c"
#include "../../src/parking/to_lock.c"
#include "../../src/parking/to_wait.c"

namespace
{

uint64_t now = 1000000;
int reads; /* of the clock */
int tries;
bool opens_at_once;
hf_atomic32_t locks[4]; /* each in another bucket */

/* The lock is free at the first try, or when this thread is about to park. */
bool try_lock(hf_atomic32_t *lock)
{
	const struct hf_detail_waiter *first = hf_detail_bucket_of(lock)->first;

	tries++;
	return opens_at_once || (first && hf_detail_waiter_state(first) == HF_DETAIL_WAITER_PARKED);
}

void wait_for(hf_atomic32_t *lock)
{
	reads = tries = 0;
	stress::check(hf_detail_lock_contended(lock, try_lock, HF_ENV_FOREVER) !=
			      HF_DETAIL_PARK_TIMED_OUT,
		      "mutex_spins", "timed out");
}

/* Waits @n times in vain. Returns how many of them spun, before they queued or as the first. */
unsigned int spins_in(int n)
{
	unsigned int spins = 0;

	opens_at_once = false;
	for (int i = 0; i < n; i++) {
		now += 1000;
		wait_for(&locks[0]);
		spins += tries > 10;
	}
	return spins;
}

void expect(unsigned long got, unsigned long expected, const char *what)
{
	stress::check(got == expected, "mutex_spins", "%s: %lu, not %lu", what, got, expected);
}

/*
 * Each wait could spin twice; 32, 64, ... 1,024 spins are left out. How the spin of a first waiter
 * has ended is not learnt from.
 */
void spins_in_vain()
{
	expect(spins_in(1), 1, "spins in the first wait");
	expect(spins_in(1000), 10, "spins in 1,000 waits");
	expect(spins_in(10000), 40, "spins in 10,000 waits");
	opens_at_once = true;
	for (int i = 0; i < 1024 + 20; i++)
		wait_for(&locks[0]);
	expect(spins_in(1000), 19, "spins in 1,000 waits after some that succeeded");
}

/*
 * Waits @after nanoseconds later. Returns true if it paused for a batch: after the pause it reads
 * the clock once more.
 */
bool pauses(hf_atomic32_t *lock, uint64_t after)
{
	now += after;
	wait_for(lock);
	return reads > 1;
}

void batches()
{
	opens_at_once = true;
	expect(pauses(&locks[2], 1000000), false, "a first wait pauses");
	expect(pauses(&locks[3], 100), false, "two locks in turn");
	expect(pauses(&locks[2], 100), false, "two locks in turn");
	expect(pauses(&locks[2], 300), false, "sections that are not tiny");
	expect(pauses(&locks[2], 299), true, "tiny sections");
	expect(pauses(&locks[2], 299999), true, "for some time");
	expect(pauses(&locks[2], 1), true, "tiny again, so for some time more");
	expect(pauses(&locks[2], 200000), true, "that time");
	expect(pauses(&locks[2], 100000), false, "and no longer");

	expect(pauses(&locks[2], 100), true, "tiny sections again");
	hf_detail_mutex_end_batches(&locks[2]);
	for (int i = 0; i < 64; i++)
		expect(pauses(&locks[2], 100), false, "after a wait for a condition");
	expect(pauses(&locks[2], 100), true, "long after it");
}

} // namespace

static uint64_t test_clock(uint64_t nanoseconds)
{
	reads++;
	return nanoseconds < UINT64_MAX - now ? now + nanoseconds : HF_ENV_FOREVER;
}

int main()
{
	stress::begin();
	spins_in_vain();
	batches();
	stress::did("mutex_spins", "waits", 1);
	return stress::result();
}
