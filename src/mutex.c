/* SPDX-License-Identifier: MIT */
/*
 * mutex - the slow paths: waiting, parking and waking. M1 to M13 and X1 to X5 are those of
 * include/holdfast/mutex.h.
 */
#include "holdfast/mutex.h"

#include "holdfast/wait.h"

/*
 * A thread's turn: how often it may release a lock that has waiters. Becoming the next waiter and
 * taking the lock uses up as much as a turn / HF_MUTEX_EXCHANGES of them; a long wait uses up all.
 */
#ifndef HF_MUTEX_TURN
#define HF_MUTEX_TURN 8192
#endif
#ifndef HF_MUTEX_EXCHANGES
#define HF_MUTEX_EXCHANGES 256
#endif

/* In nanoseconds: the spin budget of a thread that just comes, before it parks. */
#ifndef HF_MUTEX_SPIN_NS
#define HF_MUTEX_SPIN_NS HF_ARCH_BACKOFF_MAX_NS
#endif

/* How many looks, with a yield before each, it waits for a thread that is being woken. */
#ifndef HF_MUTEX_WAKING_LOOKS
#define HF_MUTEX_WAKING_LOOKS 4
#endif

/* In nanoseconds: how long the next waiter permits barging, before it looks and forbids it. */
#ifndef HF_MUTEX_LEAVE_NS
#define HF_MUTEX_LEAVE_NS (HF_ARCH_BACKOFF_MAX_NS / 2)
#endif

/* Its looks then, one soon after the other; and how many more, with yields, before it parks. */
#ifndef HF_MUTEX_NEAR_LOOKS
#define HF_MUTEX_NEAR_LOOKS 32
#endif
#ifndef HF_MUTEX_FAR_LOOKS
#define HF_MUTEX_FAR_LOOKS 32
#endif

/* In nanoseconds: how long a holder keeps the lock for a waiter that comes, before it wakes one. */
#ifndef HF_MUTEX_KEEP_NS
#define HF_MUTEX_KEEP_NS (HF_ARCH_BACKOFF_MAX_NS / 8)
#endif

/* How long a thread is parked, between processes, before it checks that its waker is alive. */
#ifndef HF_MUTEX_PATROL_NS
#define HF_MUTEX_PATROL_NS 100000000u
#endif

/* How much of its turn this thread has used, at whichever mutex; below 0: the rest of the last. */
#ifndef HF_MUTEX_TURN_USED
static __thread int32_t turn_used;
#define HF_MUTEX_TURN_USED turn_used
#endif

#define LOCKED HF__MUTEX_LOCKED
#define CLOSED HF__MUTEX_CLOSED
#define WAKING HF__MUTEX_WAKING
#define PENDING HF__MUTEX_PENDING
#define PARKED_ONE HF__MUTEX_PARKED_ONE
#define PARKED_MASK HF__MUTEX_PARKED_MASK

static bool is_past(uint64_t deadline)
{
	return deadline != HF_ENV_FOREVER && hf_env_deadline(0) >= deadline;
}

/* Are threads parked, and no waiter awake or on its way for them? */
static bool must_wake(uint32_t found)
{
	return (found & PARKED_MASK) && !(found & (PENDING | WAKING));
}

/* The word that a waiter leaves or a holder releases: without waiters it is not closed (X5). */
static uint32_t open_without_waiters(uint32_t found)
{
	return found & (PARKED_MASK | PENDING | WAKING) ? found : found & ~CLOSED;
}

/* Before parking: the rest of its turn, or what was too much, counts for the next one. */
static void end_turn(void)
{
	HF_MUTEX_TURN_USED -= HF_MUTEX_TURN;
	if (HF_MUTEX_TURN_USED < -HF_MUTEX_TURN)
		HF_MUTEX_TURN_USED = -HF_MUTEX_TURN;
}

/* M1 or M2: take the lock if it is free and open. On failure *found is the word. */
static bool try_barge(hf_atomic32_t *word, uint32_t *found)
{
	while (!(*found & (LOCKED | CLOSED))) {
		if (hf_atomic32_try_cmpxchg_acquire(word, found, *found | LOCKED)) /* X1 */
			return true;
	}
	return false;
}

/* Counted in `parked`: until woken, and then the next waiter (M5). False: the deadline (M13). */
static bool park_until_woken(hf_atomic32_t *word, uint64_t deadline, enum hf_env_scope scope)
{
	uint32_t found = hf_atomic32_load_relaxed(word);
	bool patrol = false;

	for (;;) {
		uint64_t until = deadline;
		bool late = false;

		/*
		 * Free, and no waiter awake: the unlock was M9, whose wake-up is still under way
		 * (X3). On patrol in any case: the woken thread may be dead, or the next waiter.
		 */
		if ((found & WAKING) || !(found & (LOCKED | PENDING)) || patrol) {
			if (hf_atomic32_try_cmpxchg_relaxed(
				    word, &found,
				    ((found & ~WAKING) | PENDING) - PARKED_ONE)) /* M5 */
				return true;
			continue;
		}
		if (scope == HF_ENV_SHARED) {
			until = hf_env_deadline(HF_MUTEX_PATROL_NS);
			if (until > deadline)
				until = deadline;
		}
		/* X2, X3: as long as the word is that, a wake-up will come. */
		if (hf_env_park(word, found, until, scope) == HF_ENV_TIMEOUT) {
			late = is_past(deadline);
			patrol = !late;
		}
		found = hf_atomic32_load_relaxed(word);
		while (late && !(found & WAKING) &&
		       (found & (LOCKED | PENDING))) { /* X3: no lost wake-up */
			if (hf_atomic32_try_cmpxchg_relaxed(
				    word, &found,
				    open_without_waiters(found - PARKED_ONE))) /* M13 */
				return false;
		}
	}
}

/* The next waiter: wait, and take the lock (M6). False: the deadline (M12). */
static bool wait_pending(hf_atomic32_t *word, uint64_t deadline, enum hf_env_scope scope)
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
				    word, &found, (found & ~(PENDING | CLOSED)) | LOCKED)) /* M6 */
				continue;
			/* Beside long sections the waking of a parked thread is cheap. */
			if (looks > HF_MUTEX_NEAR_LOOKS && (found & PARKED_MASK))
				HF_MUTEX_TURN_USED = HF_MUTEX_TURN;
			else
				HF_MUTEX_TURN_USED += HF_MUTEX_TURN / HF_MUTEX_EXCHANGES;
			return true;
		}
		if (late) {
			if (hf_atomic32_try_cmpxchg_relaxed(word, &found,
							    open_without_waiters(found & ~PENDING)))
				return false; /* M12 */
			continue;
		}
		if (!(found & CLOSED)) {
			if (!hf_atomic32_try_cmpxchg_relaxed(word, &found, found | CLOSED)) /* M7 */
				continue;
		} else if (looks >= HF_MUTEX_NEAR_LOOKS + HF_MUTEX_FAR_LOOKS) {
			if (!hf_atomic32_try_cmpxchg_relaxed(
				    word, &found, (found & ~PENDING) + PARKED_ONE)) /* M8 */
				continue;
			end_turn();
			if (!park_until_woken(word, deadline, scope))
				return false;
			looks = 0;
			continue;
		}
		if (looks++ < HF_MUTEX_NEAR_LOOKS) {
			hf_wait_ns(HF_ARCH_BACKOFF_MIN_NS);
		} else {
			/* The holder may be descheduled, and need this very processor. */
			hf_env_yield();
			hf_wait_ns(HF_ARCH_BACKOFF_MAX_NS);
		}
	}
}

bool hf__mutex_lock_slow(hf_atomic32_t *word, uint64_t deadline, enum hf_env_scope scope)
{
	uint32_t found = hf_atomic32_load_relaxed(word);
	hf_wait_t wait = HF_WAIT_INIT;
	unsigned int spun = 0, waking = 0;

	for (;;) {
		bool is_over = HF_MUTEX_TURN_USED >= HF_MUTEX_TURN; /* its turn */
		bool must_park = is_over && (found & PARKED_MASK);

		if (is_over && !(found & (PENDING | WAKING | PARKED_MASK))) {
			/* No waiters; but a thread about to wait may need this very processor. */
			HF_MUTEX_TURN_USED = 0;
			hf_env_yield();
			found = hf_atomic32_load_relaxed(word);
			continue;
		}
		if (!must_park && try_barge(word, &found))
			return true;
		if (!(found & (PENDING | WAKING)) &&
		    (!(found & PARKED_MASK) || (!must_park && !(found & CLOSED)))) {
			if (hf_atomic32_try_cmpxchg_relaxed(word, &found, found | PENDING)) /* M3 */
				return wait_pending(word, deadline, scope);
		} else if ((found & WAKING) && waking < HF_MUTEX_WAKING_LOOKS) {
			/* Parking now would take the wake-up: the woken thread would park again. */
			waking++;
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
			return park_until_woken(word, deadline, scope) &&
			       wait_pending(word, deadline, scope);
		}
	}
}

bool hf__mutex_trylock_slow(hf_atomic32_t *word)
{
	uint32_t found = hf_atomic32_load_relaxed(word);

	return try_barge(word, &found);
}

void hf__mutex_unlock_slow(hf_atomic32_t *word, uint32_t found, enum hf_env_scope scope)
{
	bool close = ++HF_MUTEX_TURN_USED >= HF_MUTEX_TURN;
	uint32_t hints = hf_env_spin_hints(HF_MUTEX_KEEP_NS), released;

	/* The last holder may be about to come back, and become the next waiter. */
	for (; hints && !close && must_wake(found); hints--) {
		hf_arch_relax();
		found = hf_atomic32_load_relaxed(word);
	}
	do {
		released = (found & ~LOCKED) | (close ? CLOSED : 0); /* M10 */
		if (must_wake(found))
			released |= WAKING; /* M11 */
		released = open_without_waiters(released);
	} while (!hf_atomic32_try_cmpxchg_release(word, &found, released));
	if (must_wake(found))
		(void)hf_env_unpark(word, 1, scope); /* X3, X4 */
}

void hf__mutex_unlock_late(const hf_atomic32_t *word, uint32_t found, enum hf_env_scope scope)
{
	if (must_wake(found))
		(void)hf_env_unpark(word, 1, scope); /* X3, X4 */
}
