/* SPDX-License-Identifier: MIT */
/*
 * mutex_shared - the slow paths of hf_mutex_shared_t: a futex word, since processes have no table
 * in common.
 *
 *     0   free
 *     1   locked
 *     2   locked, and threads may be parked
 *
 * A parked thread rechecks after 64 ms, in case the thread that should have woken it was killed.
 * One that was killed while it waited leaves at most a 2, so one unlock makes a needless system
 * call.
 */
#include "slow.h"

#include "../parking/parking.h"
#include "../profile/probe.h"
#include "holdfast/internal/wait.h"

/* How long a thread spins before it parks. */
#ifndef HF_MUTEX_SHARED_SPIN_NS
#define HF_MUTEX_SHARED_SPIN_NS 10000
#endif

static bool shared_lock_contended(hf_atomic32_t *word, uint64_t deadline)
{
	hf_wait_t wait = HF_WAIT_INIT;

	for (uint32_t left = HF_MUTEX_SHARED_SPIN_NS; left > wait.ns; left -= wait.ns) {
		if (hf_detail_mutex_shared_try_lock(word)) /* 0 -> 1 */
			return true;
		hf_wait_once(&wait, HF_WAIT_BACKOFF);
	}
	return hf_detail_mutex_shared_lock_parked(word, deadline);
}

__attribute__((__noinline__)) bool hf_detail_mutex_shared_lock_slow(hf_atomic32_t *word,
								    uint64_t deadline)
{
	uint64_t start = hf_detail_profile_begin();
	bool locked;

	HF_DETAIL_PROBE2(contended, word, 1);
	locked = shared_lock_contended(word, deadline);
	HF_DETAIL_PROBE3(acquired, word, 1, locked);
	hf_detail_profile_end(start, HF_DETAIL_PROFILE_MUTEX_SHARED, word, HF_DETAIL_CALL_SITE);
	return locked;
}

bool hf_detail_mutex_shared_lock_parked(hf_atomic32_t *word, uint64_t deadline)
{
	/* 0, 1, 2 -> 2: a thread that has found 0 holds it, and others may still be parked. */
	while (hf_atomic32_xchg_acq_rel(word, HF_DETAIL_MUTEX_PARKED) != 0) {
		uint64_t until =
			hf_detail_earlier(deadline, hf_env_deadline(HF_DETAIL_RECHECK_MAX_NS));

		HF_DETAIL_PROBE3(park, word, word, until);
		if (hf_env_park(word, HF_DETAIL_MUTEX_PARKED, until, HF_ENV_SHARED) ==
			    HF_ENV_TIMEOUT &&
		    hf_detail_is_past(deadline))
			return false;
	}
	return true;
}

/* After an unlock, 2 -> 0. */
void hf_detail_mutex_shared_wake(hf_atomic32_t *word)
{
	HF_DETAIL_PROBE2(wake, word, word);
	(void)hf_env_unpark(word, 1, HF_ENV_SHARED);
}
