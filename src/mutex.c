/* SPDX-License-Identifier: MIT */
/*
 * mutex - what a thread does that has to wait, or has to wake. M1 to M13 and X1 to X5 are those of
 * include/holdfast/mutex.h.
 */
#include "holdfast/mutex.h"

#include "holdfast/wait.h"

/*
 * A thread's turn: how often it may release a lock that others wait for. What the next in line does to
 * get it counts as so many of them as are in a turn / HF_MUTEX_EXCHANGES; a long wait as all.
 */
#ifndef HF_MUTEX_TURN
#define HF_MUTEX_TURN 8192
#endif
#ifndef HF_MUTEX_EXCHANGES
#define HF_MUTEX_EXCHANGES 256
#endif

/* In nanoseconds: how long a thread that just comes looks for a free lock before it parks. */
#ifndef HF_MUTEX_SPIN_NS
#define HF_MUTEX_SPIN_NS HF_ARCH_BACKOFF_MAX_NS
#endif

/* How many looks, with a yield before each, it waits for one who was called and is not yet here. */
#ifndef HF_MUTEX_CALLED_LOOKS
#define HF_MUTEX_CALLED_LOOKS 4
#endif

/* In nanoseconds: how long the next waiter leaves the lock alone, before it forbids barging. */
#ifndef HF_MUTEX_LEAVE_NS
#define HF_MUTEX_LEAVE_NS (HF_ARCH_BACKOFF_MAX_NS / 2)
#endif

/* How many looks it takes then, one soon after the other; and how many more, with yields, before it parks. */
#ifndef HF_MUTEX_NEAR_LOOKS
#define HF_MUTEX_NEAR_LOOKS 32
#endif
#ifndef HF_MUTEX_FAR_LOOKS
#define HF_MUTEX_FAR_LOOKS 32
#endif

/* In nanoseconds: how long a holder keeps the lock for a waiter awake, before it wakes a parked one. */
#ifndef HF_MUTEX_KEEP_NS
#define HF_MUTEX_KEEP_NS (HF_ARCH_BACKOFF_MAX_NS / 8)
#endif

/* How long a thread sleeps at a lock between processes before it asks itself who is to wake it. */
#ifndef HF_MUTEX_PATROL_NS
#define HF_MUTEX_PATROL_NS 100000000u
#endif

/* How much of its turn this thread has used up, at whichever mutex; below 0: left over from the last. */
#ifndef HF_MUTEX_PASSED
static __thread int32_t passed;
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

/* Parks: what is left of its turn, or was too much, is for the next one. */
static void end_turn(void)
{
	HF_MUTEX_PASSED -= HF_MUTEX_TURN;
	if (HF_MUTEX_PASSED < -HF_MUTEX_TURN)
		HF_MUTEX_PASSED = -HF_MUTEX_TURN;
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
	unsigned int looks = 0;
	uint32_t found;

	/* Every look takes the cache line from the holder. */
	hf_wait_ns(HF_MUTEX_LEAVE_NS);
	for (;;) {
		bool late = is_past(deadline);

		found = hf_atomic32_load_relaxed(word);
		if (!(found & LOCKED)) {
			if (!hf_atomic32_try_cmpxchg_acquire(
				    word, &found, (found & ~(NEXT | CLOSED)) | LOCKED)) /* M6 */
				continue;
			/* Where the sections are long, to call one who sleeps is cheap beside them. */
			if (looks > HF_MUTEX_NEAR_LOOKS && (found & PARKED_MASK))
				HF_MUTEX_PASSED = HF_MUTEX_TURN;
			else
				HF_MUTEX_PASSED += HF_MUTEX_TURN / HF_MUTEX_EXCHANGES;
			return true;
		}
		if (late) {
			if (hf_atomic32_try_cmpxchg_relaxed(word, &found, left(found & ~NEXT)))
				return false; /* M12 */
			continue;
		}
		if (!(found & CLOSED)) {
			if (!hf_atomic32_try_cmpxchg_relaxed(word, &found, found | CLOSED)) /* M7 */
				continue;
		} else if (looks >= HF_MUTEX_NEAR_LOOKS + HF_MUTEX_FAR_LOOKS) {
			if (!hf_atomic32_try_cmpxchg_relaxed(word, &found,
							     (found & ~NEXT) + PARKED_ONE)) /* M8 */
				continue;
			end_turn();
			if (!sleep_until_called(word, deadline, scope))
				return false;
			looks = 0;
			continue;
		}
		if (looks++ < HF_MUTEX_NEAR_LOOKS) {
			hf_wait_ns(HF_ARCH_BACKOFF_MIN_NS);
		} else {
			/* The holder may be waiting for this very processor. */
			hf_env_yield();
			hf_wait_ns(HF_ARCH_BACKOFF_MAX_NS);
		}
	}
}

bool hf__mutex_lock_slow(hf_atomic32_t *word, uint64_t deadline, enum hf_env_scope scope)
{
	uint32_t found = hf_atomic32_load_relaxed(word);
	hf_wait_t wait = HF_WAIT_INIT;
	unsigned int spun = 0, called = 0;

	for (;;) {
		bool is_over = HF_MUTEX_PASSED >= HF_MUTEX_TURN; /* its turn */
		bool must_park = is_over && (found & PARKED_MASK);

		if (is_over && !(found & (NEXT | CALLED | PARKED_MASK))) {
			/* Nobody waits. But somebody may want to, and wait for this very processor. */
			HF_MUTEX_PASSED = 0;
			hf_env_yield();
			found = hf_atomic32_load_relaxed(word);
			continue;
		}
		if (!must_park && pass(word, &found))
			return true;
		if (!(found & (NEXT | CALLED)) &&
		    (!(found & PARKED_MASK) || (!must_park && !(found & CLOSED)))) {
			if (hf_atomic32_try_cmpxchg_relaxed(word, &found, found | NEXT)) /* M3 */
				return be_next(word, deadline, scope);
		} else if ((found & CALLED) && called < HF_MUTEX_CALLED_LOOKS) {
			/* Who parks now would take the call, and who is called would sleep again. */
			called++;
			hf_env_yield();
			hf_wait_once(&wait, HF_WAIT_BACKOFF);
			found = hf_atomic32_load_relaxed(word);
		} else if (!must_park && spun < HF_MUTEX_SPIN_NS) {
			spun += wait.ns;
			hf_wait_once(&wait, HF_WAIT_BACKOFF);
			found = hf_atomic32_load_relaxed(word);
		} else if (hf_atomic32_try_cmpxchg_relaxed(word, &found,
							   found + PARKED_ONE)) { /* M4 */
			end_turn();
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
	bool close = ++HF_MUTEX_PASSED >= HF_MUTEX_TURN;
	uint32_t hints = hf_env_spin_hints(HF_MUTEX_KEEP_NS), released;

	/* Whoever lost the lock a moment ago may be about to come back, and be the next in line. */
	for (; hints && !close && must_call(found); hints--) {
		hf_arch_relax();
		found = hf_atomic32_load_relaxed(word);
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
