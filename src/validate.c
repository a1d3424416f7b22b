/* SPDX-License-Identifier: MIT */
/* validate - which locks this thread holds, since when, and how deep. */
#include "holdfast/validate.h"

#include "holdfast/atomic.h"
#include "env.h"

struct held {
	const void *lock;
	uint64_t since;
	uint32_t depth;
};

/*
 * Volatile: a signal handler reads and restores them (V1). It can come between any two steps, so an
 * entry from held_count on has no lock: what is counted before it is filled matches nothing.
 */
static __thread volatile struct held held[HF_VALIDATE_HELD];
static __thread volatile uint32_t held_count;
static __thread volatile uint32_t unwatched; /* locks held beyond HF_VALIDATE_HELD */

/* Microseconds, so that it is one 32-bit word. */
static hf_atomic32_t limit_us = HF_ATOMIC_INIT(100000);

static volatile struct held *find(const void *lock)
{
	uint32_t n = held_count;

	while (n-- > 0) {
		if (held[n].lock == lock)
			return &held[n];
	}
	return NULL;
}

bool hf__validate_lock(const void *lock)
{
	volatile struct held *mine = find(lock);

	if (!mine)
		return true;
	mine->depth = mine->depth + 1;
	hf_report(HF_REPORT_LOCK_RECURSION, lock);
	return false;
}

void hf__validate_locked(const void *lock)
{
	uint32_t n = held_count;

	if (n == HF_VALIDATE_HELD) {
		unwatched = unwatched + 1;
		return;
	}
	held_count = n + 1; /* first: a handler that comes now uses the next entry (V1) */
	held[n].since = hf__env_now();
	held[n].depth = 1;
	held[n].lock = lock;
}

bool hf__validate_unlock(const void *lock, bool is_locked)
{
	volatile struct held *mine = find(lock);
	uint64_t limit = (uint64_t)hf_atomic32_load_relaxed(&limit_us) * 1000;
	uint32_t last;

	if (!mine) {
		if (is_locked && unwatched > 0) {
			unwatched = unwatched - 1;
			return true;
		}
		hf_report(is_locked ? HF_REPORT_LOCK_WRONG_OWNER : HF_REPORT_LOCK_UNLOCKED, lock);
		return false;
	}
	if (mine->depth > 1) {
		mine->depth = mine->depth - 1;
		return false;
	}
	if (limit && hf__env_now() - mine->since > limit)
		hf_report(HF_REPORT_LOCK_HELD_LONG, lock);
	last = held_count - 1;
	mine->lock = held[last].lock;
	mine->since = held[last].since;
	mine->depth = held[last].depth;
	held[last].lock = NULL;
	held_count = last;
	return true;
}

void hf_validate_set_hold_limit(uint64_t nanoseconds)
{
	uint64_t us = (nanoseconds + 999) / 1000;

	hf_atomic32_store_relaxed(&limit_us, us < UINT32_MAX ? (uint32_t)us : UINT32_MAX);
}

bool hf_validate_is_held(const void *lock)
{
	return find(lock) != NULL;
}
