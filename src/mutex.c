/* SPDX-License-Identifier: MIT */
/*
 * mutex - what a thread does that has to wait, or has to wake. M1 to M13 and X1 to X5 are those of
 * include/holdfast/mutex.h.
 */
#include "holdfast/mutex.h"

#include "holdfast/wait.h"

/* How often a thread may release a lock that others wait for, before it closes it. */
#ifndef HF_MUTEX_PASSES
#define HF_MUTEX_PASSES 4096
#endif

/* How many spin hints long a thread that just comes looks for a free lock before it parks. */
#ifndef HF_MUTEX_SPIN
#define HF_MUTEX_SPIN 64
#endif

/* How many times the next in line looks before it closes the lock, and how many more before it parks. */
#ifndef HF_MUTEX_LOOKS
#define HF_MUTEX_LOOKS 64
#endif
#ifndef HF_MUTEX_CLOSED_LOOKS
#define HF_MUTEX_CLOSED_LOOKS 16
#endif

/* In how many looks, one after the other, an open lock must be free before the next in line takes it. */
#ifndef HF_MUTEX_FREE_LOOKS
#define HF_MUTEX_FREE_LOOKS 8
#endif

/* How long a thread sleeps at a lock between processes before it asks itself who is to wake it. */
#ifndef HF_MUTEX_PATROL_NS
#define HF_MUTEX_PATROL_NS 100000000u
#endif

/* How often this thread has released one that others waited for, whichever, since it closed one. */
#ifndef HF_MUTEX_PASSED
static __thread uint32_t passed;
#define HF_MUTEX_PASSED passed
#endif

#define LOCKED HF__MUTEX_LOCKED
#define CLOSED HF__MUTEX_CLOSED
#define CALLED HF__MUTEX_CALLED
#define NEXT HF__MUTEX_NEXT
#define PARKED_ONE HF__MUTEX_PARKED_ONE
#define PARKED_MASK HF__MUTEX_PARKED_MASK

static bool is_past(uint64_t deadline)
{
	return deadline != HF_ENV_FOREVER && hf_env_deadline(0) >= deadline;
}

/* Does the word say that someone is parked, and nobody awake for them? */
static bool must_call(uint32_t found)
{
	return (found & PARKED_MASK) && !(found & (NEXT | CALLED));
}

/* The word without a waiter who leaves: without any it is not closed either (X5). */
static uint32_t left(uint32_t found)
{
	return found & (PARKED_MASK | NEXT | CALLED) ? found : found & ~CLOSED;
}

/* M1 or M2: take the lock if it is free and open. On failure *found is the word. */
static bool pass(hf_atomic32_t *word, uint32_t *found)
{
	while (!(*found & (LOCKED | CLOSED))) {
		if (hf_atomic32_try_cmpxchg_acquire(word, found, *found | LOCKED)) /* X1 */
			return true;
	}
	return false;
}

/* Counted in `parked`: sleep until called, and be the next in line (M5). False: the deadline (M13). */
static bool sleep_until_called(hf_atomic32_t *word, uint64_t deadline, enum hf_env_scope scope)
{
	uint32_t found = hf_atomic32_load_relaxed(word);
	bool patrol = false;

	for (;;) {
		uint64_t until = deadline;
		bool late = false;

		/*
		 * Free, and nobody awake: the unlock was M9, whose call is still under way (X3). On
		 * patrol in any case: who was called may be dead, or who is the next in line.
		 */
		if ((found & CALLED) || !(found & (LOCKED | NEXT)) || patrol) {
			if (hf_atomic32_try_cmpxchg_relaxed(
				    word, &found, ((found & ~CALLED) | NEXT) - PARKED_ONE)) /* M5 */
				return true;
			continue;
		}
		if (scope == HF_ENV_SHARED) {
			until = hf_env_deadline(HF_MUTEX_PATROL_NS);
			if (until > deadline)
				until = deadline;
		}
		/* X2, X3: as long as the word is that, somebody will call. */
		if (hf_env_park(word, found, until, scope) == HF_ENV_TIMEOUT) {
			late = is_past(deadline);
			patrol = !late;
		}
		found = hf_atomic32_load_relaxed(word);
		while (late && !(found & CALLED) &&
		       (found & (LOCKED | NEXT))) { /* X3: a call must not get lost */
			if (hf_atomic32_try_cmpxchg_relaxed(word, &found,
							    left(found - PARKED_ONE))) /* M13 */
				return false;
		}
	}
}

/* The next in line: wait, and take the lock (M6). False: the deadline (M12). */
static bool be_next(hf_atomic32_t *word, uint64_t deadline, enum hf_env_scope scope)
{
	uint32_t found = hf_atomic32_load_relaxed(word);
	hf_wait_t wait = HF_WAIT_INIT;
	unsigned int looks = 0, free_looks = 0;

	for (;;) {
		bool late = is_past(deadline);

		if (!(found & LOCKED)) {
			/*
			 * Free, but is it out of use? Somebody who takes it again and again leaves it
			 * free about half of the time. Let that one go on until it closes the lock.
			 */
			free_looks++;
			if ((found & CLOSED) || free_looks >= HF_MUTEX_FREE_LOOKS || late ||
			    looks >= HF_MUTEX_LOOKS) {
				if (hf_atomic32_try_cmpxchg_acquire(
					    word, &found, (found & ~(NEXT | CLOSED)) | LOCKED))
					return true; /* M6 */
				continue;
			}
			wait.hints = HF_ARCH_BACKOFF_MIN;
		} else {
			free_looks = 0;
			if (late) {
				if (hf_atomic32_try_cmpxchg_relaxed(word, &found,
								    left(found & ~NEXT)))
					return false; /* M12 */
				continue;
			}
			if (looks >= HF_MUTEX_LOOKS && !(found & CLOSED)) {
				(void)hf_atomic32_try_cmpxchg_relaxed(word, &found,
								      found | CLOSED); /* M7 */
				continue;
			}
			if (looks >= HF_MUTEX_LOOKS + HF_MUTEX_CLOSED_LOOKS) {
				if (!hf_atomic32_try_cmpxchg_relaxed(
					    word, &found, (found & ~NEXT) + PARKED_ONE)) /* M8 */
					continue;
				if (!sleep_until_called(word, deadline, scope))
					return false;
				looks = 0;
				wait.hints = HF_ARCH_BACKOFF_MIN;
				found = hf_atomic32_load_relaxed(word);
				continue;
			}
		}
		looks++;
		/* The holder may be waiting for this very processor. */
		if (wait.hints >= HF_ARCH_BACKOFF_MAX)
			hf_env_yield();
		hf_wait_once(&wait, HF_WAIT_BACKOFF);
		found = hf_atomic32_load_relaxed(word);
	}
}

bool hf__mutex_lock_slow(hf_atomic32_t *word, uint64_t deadline, enum hf_env_scope scope)
{
	uint32_t found = hf_atomic32_load_relaxed(word);
	hf_wait_t wait = HF_WAIT_INIT;
	unsigned int hints = 0;

	for (;;) {
		if (pass(word, &found))
			return true;
		if (!(found & (NEXT | CALLED | PARKED_MASK))) {
			if (hf_atomic32_try_cmpxchg_relaxed(word, &found, found | NEXT)) /* M3 */
				return be_next(word, deadline, scope);
		} else if (hints < HF_MUTEX_SPIN) {
			hints += wait.hints;
			hf_wait_once(&wait, HF_WAIT_BACKOFF);
			found = hf_atomic32_load_relaxed(word);
		} else if (hf_atomic32_try_cmpxchg_relaxed(word, &found,
							   found + PARKED_ONE)) { /* M4 */
			return sleep_until_called(word, deadline, scope) &&
			       be_next(word, deadline, scope);
		}
	}
}

bool hf__mutex_trylock_slow(hf_atomic32_t *word)
{
	uint32_t found = hf_atomic32_load_relaxed(word);

	return pass(word, &found);
}

void hf__mutex_unlock_slow(hf_atomic32_t *word, uint32_t found, enum hf_env_scope scope)
{
	bool close = false;
	uint32_t released;

	if (++HF_MUTEX_PASSED >= HF_MUTEX_PASSES) {
		HF_MUTEX_PASSED = 0;
		close = true;
	}
	do {
		released = (found & ~LOCKED) | (close ? CLOSED : 0); /* M10 */
		if (must_call(found))
			released |= CALLED; /* M11 */
		released = left(released);
	} while (!hf_atomic32_try_cmpxchg_release(word, &found, released));
	if (must_call(found))
		(void)hf_env_unpark(word, 1, scope); /* X3, X4 */
}

void hf__mutex_unlock_late(const hf_atomic32_t *word, uint32_t found, enum hf_env_scope scope)
{
	if (must_call(found))
		(void)hf_env_unpark(word, 1, scope); /* X3, X4 */
}
