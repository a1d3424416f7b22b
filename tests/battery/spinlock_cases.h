/* SPDX-License-Identifier: MIT */
/*
 * spinlock_cases - what every spinlock does, as far as one thread can see.
 *
 * No include guard: spinlock_cases.c includes this for each implementation, with
 *
 *   V(verb), CASE(name), SUITE    as battery.h says
 *   INIT                          its initialiser
 *   GUARD(lock)                   its guard
 *   SIZE                          its size in bytes; 0 = not promised
 *
 * A thread that waits for a lock that it holds hangs, so after an unlock the lock is asked with
 * trylock, and a case ends where that fails.
 */

/* So many are held at once; a thread has fewer queue nodes than that (HF_NODES is 8). */
#ifndef MANY_LOCKS
#define MANY_LOCKS 12
#endif

/* Is this lock free, and does it work? */
static bool CASE(is_good)(V(t) * lock)
{
	bool ok = BATTERY_TRUE(!V(is_locked)(lock)) && BATTERY_TRUE(V(trylock)(lock)) &&
		  BATTERY_TRUE(V(is_locked)(lock)) && BATTERY_TRUE(!V(trylock)(lock));

	if (ok) {
		V(unlock)(lock);
		ok = BATTERY_TRUE(!V(is_locked)(lock));
	}
	return ok;
}

static void CASE(size)(void)
{
	if (SIZE)
		BATTERY_EQ(sizeof(V(t)), SIZE);
	BATTERY_TRUE(sizeof(V(t)) <= 16);
}

static void CASE(init)(void)
{
	V(t) lock;

	V(init)(&lock);
	CASE(is_good)(&lock);
	BATTERY_QUIET();
}

static void CASE(static_init)(void)
{
	static V(t) shared = INIT;
	V(t) own = INIT;

	CASE(is_good)(&shared);
	CASE(is_good)(&own);
	BATTERY_QUIET();
}

/* All of its bytes 0, as from calloc() or in a static object without an initialiser. */
static void CASE(zero)(void)
{
	static V(t) cleared;
	V(t) lock;
	volatile unsigned char *bytes = (volatile unsigned char *)&lock;

	for (unsigned int i = 0; i < sizeof(lock); i++)
		bytes[i] = 0;
	CASE(is_good)(&lock);
	CASE(is_good)(&cleared);
	BATTERY_QUIET();
}

static void CASE(lock_unlock)(void)
{
	V(t) lock = INIT;

	for (int i = 0; i < 1000; i++) {
		V(lock)(&lock);
		if (!BATTERY_TRUE(V(is_locked)(&lock)))
			return;
		V(unlock)(&lock);
		if (!BATTERY_TRUE(!V(is_locked)(&lock)))
			return;
	}
	CASE(is_good)(&lock);
	BATTERY_QUIET();
}

static void CASE(trylock)(void)
{
	V(t) lock = INIT;

	for (int i = 0; i < 1000; i++) {
		if (!BATTERY_TRUE(V(trylock)(&lock)))
			return;
		BATTERY_TRUE(V(is_locked)(&lock));
		BATTERY_TRUE(!V(trylock)(&lock));
		BATTERY_TRUE(!V(trylock)(&lock));
		V(unlock)(&lock);
	}
	V(lock)(&lock);
	BATTERY_TRUE(!V(trylock)(&lock));
	V(unlock)(&lock);
	CASE(is_good)(&lock);
	BATTERY_QUIET();
}

/* Many different locks held at once, released in the order given by step, which is odd. */
static void CASE(hold_many)(unsigned int step, bool by_trylock)
{
	V(t) locks[MANY_LOCKS];
	unsigned int at = 0;

	for (unsigned int i = 0; i < MANY_LOCKS; i++)
		V(init)(&locks[i]);
	for (unsigned int i = 0; i < MANY_LOCKS; i++) {
		if (!by_trylock)
			V(lock)(&locks[i]);
		else if (!BATTERY_TRUE(V(trylock)(&locks[i])))
			return;
		for (unsigned int k = 0; k < MANY_LOCKS; k++)
			BATTERY_EQ(V(is_locked)(&locks[k]), k <= i);
	}
	for (unsigned int i = 0; i < MANY_LOCKS; i++)
		BATTERY_TRUE(!V(trylock)(&locks[i]));
	for (unsigned int i = 0; i < MANY_LOCKS; i++) {
		BATTERY_TRUE(V(is_locked)(&locks[at]));
		V(unlock)(&locks[at]);
		BATTERY_TRUE(!V(is_locked)(&locks[at]));
		at = (at + step) % MANY_LOCKS;
	}
	for (unsigned int i = 0; i < MANY_LOCKS; i++)
		CASE(is_good)(&locks[i]);
}

static void CASE(nested)(void)
{
	CASE(hold_many)(MANY_LOCKS - 1, false); /* 0, and then the last first */
	CASE(hold_many)(1, false);              /* the first first */
	CASE(hold_many)(5, false);              /* some order */
	BATTERY_QUIET();
}

static void CASE(nested_trylock)(void)
{
	CASE(hold_many)(MANY_LOCKS - 1, true);
	CASE(hold_many)(1, true);
	CASE(hold_many)(5, true);
	BATTERY_QUIET();
}

static void CASE(full)(void)
{
	V(t) lock = INIT;

	for (int i = 0; i < 100; i++) {
		V(lock_full)(&lock);
		BATTERY_TRUE(V(is_locked)(&lock));
		BATTERY_TRUE(!V(trylock)(&lock));
		V(unlock_full)(&lock);
		if (!BATTERY_TRUE(!V(is_locked)(&lock)))
			return;
		/* They mix with the others. */
		V(lock_full)(&lock);
		V(unlock)(&lock);
		if (!BATTERY_TRUE(V(trylock)(&lock)))
			return;
		V(unlock_full)(&lock);
		if (!BATTERY_TRUE(!V(is_locked)(&lock)))
			return;
	}
	CASE(is_good)(&lock);
	BATTERY_QUIET();
}

#if HF_ENV_HAS_IRQ
static void CASE(irqsave)(void)
{
	V(t) lock = INIT;
	unsigned long flags = V(lock_irqsave)(&lock);

	BATTERY_TRUE(V(is_locked)(&lock));
	V(unlock_irqrestore)(&lock, flags);
	CASE(is_good)(&lock);
	BATTERY_QUIET();
}
#endif

static int CASE(guarded_return)(V(t) * lock)
{
	GUARD(lock);
	return V(is_locked)(lock);
}

/* A guard releases where its block ends, however it is left. */
static void CASE(guard)(void)
{
	V(t) outer = INIT, inner = INIT;

	{
		GUARD(&outer);
		BATTERY_TRUE(V(is_locked)(&outer));
		{
			GUARD(&inner);
			BATTERY_TRUE(V(is_locked)(&inner));
			BATTERY_TRUE(!V(trylock)(&outer));
		}
		BATTERY_TRUE(!V(is_locked)(&inner));
		BATTERY_TRUE(V(is_locked)(&outer));
	}
	if (!BATTERY_TRUE(!V(is_locked)(&outer)))
		return;

	BATTERY_EQ(CASE(guarded_return)(&outer), 1);
	if (!BATTERY_TRUE(!V(is_locked)(&outer)))
		return;

	for (int i = 0; i < 3; i++) {
		GUARD(&outer);
		if (i == 0)
			continue;
		break;
	}
	CASE(is_good)(&outer);
	CASE(is_good)(&inner);
	BATTERY_QUIET();
}

static const struct battery_case CASE(cases)[] = {
	{ "SIZE", CASE(size) },
	{ "INIT", CASE(init) },
	{ "STATIC_INIT", CASE(static_init) },
	{ "ZERO_IS_FREE", CASE(zero) },
	{ "LOCK_UNLOCK", CASE(lock_unlock) },
	{ "TRYLOCK", CASE(trylock) },
	{ "HOLD_MANY", CASE(nested) },
	{ "HOLD_MANY_BY_TRYLOCK", CASE(nested_trylock) },
	{ "FULL", CASE(full) },
	{ "GUARD", CASE(guard) },
#if HF_ENV_HAS_IRQ
	{ "IRQSAVE", CASE(irqsave) },
#endif
};

const struct battery_suite CASE(suite) = { SUITE, CASE(cases), BATTERY_COUNT(CASE(cases)) };

#undef V
#undef CASE
#undef SUITE
#undef INIT
#undef GUARD
#undef SIZE
