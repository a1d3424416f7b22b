/* SPDX-License-Identifier: MIT */
/* cond - waiting and waking. C1 to C4 are those of include/holdfast/cond.h. */
#include "holdfast/cond.h"

#include "parking.h"
#include "probe.h"

/* Without a table: a wait that ends for no reason. */
static bool nap(hf_atomic32_t *cond, hf_atomic32_t *mutex, uint64_t deadline)
{
	uint64_t soon = hf_env_deadline(HF_MUTEX_PATROL_NS);

	hf__mutex_release(mutex);
	(void)hf_env_park(cond, hf_atomic32_load_relaxed(cond), soon < deadline ? soon : deadline,
			  HF_ENV_PRIVATE);
	(void)hf__mutex_get(mutex, HF_ENV_FOREVER);
	return !hf__is_past(deadline);
}

/* C3. True = nobody has signalled it, and nobody will. */
static bool leave_queue(hf_atomic32_t *cond, struct hf__waiter *waiter)
{
	struct hf__bucket *bucket = hf__bucket_lock(cond);
	bool left = !waiter->signalled;

	if (left) {
		hf__bucket_remove(bucket, waiter);
		hf_atomic32_store_relaxed(cond, hf_atomic32_load_relaxed(cond) - 1);
	}
	hf__bucket_unlock(bucket);
	return left;
}

static bool wait_at(hf_atomic32_t *cond, hf_atomic32_t *mutex, uint64_t deadline)
{
	struct hf__waiter waiter;
	struct hf__bucket *bucket;

	if (HF_UNLIKELY(!hf__parking_table()))
		return nap(cond, mutex, deadline);
	waiter.at = cond;
	waiter.mutex = mutex;
	waiter.signalled = false;
	hf_atomic32_store_relaxed(&waiter.state, HF__WAITER_PARKED);
	bucket = hf__bucket_lock(cond);
	hf__bucket_append(bucket, &waiter);
	hf_atomic32_store_relaxed(cond, hf_atomic32_load_relaxed(cond) + 1);
	hf__bucket_unlock(bucket);
	hf__mutex_release(mutex); /* C1 */

	while (hf__waiter_state(&waiter) == HF__WAITER_PARKED) {
		HF__PROBE3(park, cond, &waiter.state, deadline);
		if (hf_env_park(&waiter.state, HF__WAITER_PARKED, deadline, HF_ENV_PRIVATE) ==
			    HF_ENV_TIMEOUT &&
		    hf__is_past(deadline)) {
			if (!leave_queue(cond, &waiter))
				break;
			(void)hf__mutex_get(mutex, HF_ENV_FOREVER);
			return false;
		}
	}
	(void)hf__mutex_wait(&waiter, HF_ENV_FOREVER);
	return true;
}

__attribute__((__noinline__)) bool hf__cond_wait(hf_atomic32_t *cond, hf_atomic32_t *mutex,
						 uint64_t deadline)
{
	uint64_t start = hf__profile_begin();
	bool signalled = wait_at(cond, mutex, deadline);

	hf__profile_end(start, HF__PROFILE_COND, cond, HF__CALL_SITE);
	return signalled;
}

/* Takes the first of them, or all, out of the queue: C2. */
static struct hf__waiter *take_waiters(hf_atomic32_t *cond, bool all)
{
	struct hf__bucket *bucket = hf__bucket_lock(cond);
	struct hf__waiter *taken = NULL, **last = &taken, *waiter;
	uint32_t left = hf_atomic32_load_relaxed(cond);

	while ((all || !taken) && (waiter = hf__bucket_find(bucket, cond))) {
		hf__bucket_remove(bucket, waiter);
		waiter->signalled = true;
		waiter->next = NULL;
		*last = waiter;
		last = &waiter->next;
		left--;
	}
	/* In the child of a fork nobody waits, whatever the number says. */
	hf_atomic32_store_relaxed(cond, taken ? left : 0);
	hf__bucket_unlock(bucket);
	return taken;
}

void hf__cond_wake(hf_atomic32_t *cond, bool all)
{
	uint64_t signals = hf_env_signals_block(); /* those in between wait for this thread */
	struct hf__waiter *waiter = take_waiters(cond, all), *next;

	for (; waiter; waiter = next) {
		next = waiter->next;
		hf__mutex_enqueue(waiter);
	}
	hf_env_signals_restore(signals);
}

/* ---- between processes -------------------------------------------------------------------- */

static bool shared_wait_at(hf_atomic32_t *cond, hf_atomic32_t *mutex, uint64_t deadline)
{
	uint32_t seen = hf_atomic32_load_relaxed(cond);
	bool signalled = true;

	while (!(seen & HF__COND_WAITERS) &&
	       !hf_atomic32_try_cmpxchg_relaxed(cond, &seen, seen | HF__COND_WAITERS))
		;
	seen |= HF__COND_WAITERS;
	hf__mutex_shared_release(mutex, HF_ENV_SHARED); /* C1 */
	for (;;) {
		uint64_t until = hf_env_deadline(HF__PATROL_MAX_NS);

		if (until > deadline)
			until = deadline;
		HF__PROBE3(park, cond, cond, until);
		if (hf_env_park(cond, seen, until, HF_ENV_SHARED) != HF_ENV_TIMEOUT ||
		    hf_atomic32_load_relaxed(cond) != seen) /* C4 */
			break;
		if (hf__is_past(deadline)) {
			signalled = false;
			break;
		}
	}
	/* Others may have been moved to the mutex, and its word does not say so yet. */
	hf__mutex_shared_take_parked(mutex, HF_ENV_FOREVER, HF_ENV_SHARED);
	return signalled;
}

__attribute__((__noinline__)) bool hf__cond_shared_wait(hf_atomic32_t *cond, hf_atomic32_t *mutex,
							uint64_t deadline)
{
	uint64_t start = hf__profile_begin();
	bool signalled = shared_wait_at(cond, mutex, deadline);

	hf__profile_end(start, HF__PROFILE_COND_SHARED, cond, HF__CALL_SITE);
	return signalled;
}

void hf__cond_shared_wake(hf_atomic32_t *cond, hf_atomic32_t *all_to)
{
	uint32_t before = hf_atomic32_load_relaxed(cond), after;

	do
		after = (before + 2) & ~(all_to ? HF__COND_WAITERS : 0u);
	while (!hf_atomic32_try_cmpxchg_relaxed(cond, &before, after));
	HF__PROBE2(wake, cond, cond);
	if (!all_to)
		(void)hf_env_unpark(cond, 1, HF_ENV_SHARED);
	else
		hf_env_requeue(cond, after, all_to, HF_ENV_SHARED);
}
