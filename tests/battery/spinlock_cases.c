/* SPDX-License-Identifier: MIT */
/*
 * spinlock_cases - what every spinlock does, as far as one thread can see.
 *
 * A thread that waits for a lock that it holds hangs, so after an unlock a case tries trylock, and
 * ends where that fails.
 *
 * The locks are objects of the row's own type, side by side: a write past one hits its neighbour.
 */
#include "battery.h"

#include "../roster/spinlock_ops.h"

/* More than a thread has queue nodes (HF_NODES is 8). */
#define MANY_LOCKS SPINLOCK_OPS_MANY

static const struct spinlock_ops *ops; /* of the implementation that is selected */

static const char *select_ops(unsigned int index)
{
	if (index >= BATTERY_COUNT(spinlock_ops))
		return NULL;
	ops = &spinlock_ops[index];
	return ops->name;
}

/* The i-th of many. */
static void *at(unsigned int i)
{
	return (unsigned char *)ops->many + i * ops->size;
}

/* The i-th of many, with the static initialiser's value. */
static void *initialised(unsigned int i)
{
	ops->assign_init(at(i));
	return at(i);
}

/* Checks that a lock is free and works. */
static bool is_good(void *lock)
{
	bool ok = BATTERY_TRUE(!ops->is_locked(lock)) && BATTERY_TRUE(ops->trylock(lock)) &&
		  BATTERY_TRUE(ops->is_locked(lock)) && BATTERY_TRUE(!ops->trylock(lock));

	if (ok) {
		ops->unlock(lock);
		ok = BATTERY_TRUE(!ops->is_locked(lock));
	}
	return ok;
}

static void size(void)
{
	BATTERY_EQ(ops->size, ops->bytes);
	BATTERY_TRUE(ops->size <= 16);
}

static void init(void)
{
	void *lock = at(0);

	ops->init(lock);
	is_good(lock);
	BATTERY_QUIET();
}

static void static_init(void)
{
	is_good(ops->initialised);
	is_good(initialised(0));
	BATTERY_QUIET();
}

/* All of its bytes 0, as from calloc() or in a static object without an initialiser. */
static void zero(void)
{
	void *lock = at(0);
	volatile unsigned char *bytes = lock;

	for (unsigned int i = 0; i < ops->size; i++)
		bytes[i] = 0;
	is_good(lock);
	is_good(ops->cleared);
	BATTERY_QUIET();
}

static void lock_unlock(void)
{
	void *lock = initialised(0);

	for (int i = 0; i < 1000; i++) {
		ops->lock(lock);
		if (!BATTERY_TRUE(ops->is_locked(lock)))
			return;
		ops->unlock(lock);
		if (!BATTERY_TRUE(!ops->is_locked(lock)))
			return;
	}
	is_good(lock);
	BATTERY_QUIET();
}

static void trylock(void)
{
	void *lock = initialised(0);

	for (int i = 0; i < 1000; i++) {
		if (!BATTERY_TRUE(ops->trylock(lock)))
			return;
		BATTERY_TRUE(ops->is_locked(lock));
		BATTERY_TRUE(!ops->trylock(lock));
		BATTERY_TRUE(!ops->trylock(lock));
		ops->unlock(lock);
	}
	ops->lock(lock);
	BATTERY_TRUE(!ops->trylock(lock));
	ops->unlock(lock);
	is_good(lock);
	BATTERY_QUIET();
}

/* Many different locks held at once, released in the order given by step, which is odd. */
static void hold_many(unsigned int step, bool by_trylock)
{
	unsigned int next = 0;

	for (unsigned int i = 0; i < MANY_LOCKS; i++)
		ops->init(at(i));
	for (unsigned int i = 0; i < MANY_LOCKS; i++) {
		if (!by_trylock)
			ops->lock(at(i));
		else if (!BATTERY_TRUE(ops->trylock(at(i))))
			return;
		for (unsigned int k = 0; k < MANY_LOCKS; k++)
			BATTERY_EQ(ops->is_locked(at(k)), k <= i);
	}
	for (unsigned int i = 0; i < MANY_LOCKS; i++)
		BATTERY_TRUE(!ops->trylock(at(i)));
	for (unsigned int i = 0; i < MANY_LOCKS; i++) {
		BATTERY_TRUE(ops->is_locked(at(next)));
		ops->unlock(at(next));
		BATTERY_TRUE(!ops->is_locked(at(next)));
		next = (next + step) % MANY_LOCKS;
	}
	for (unsigned int i = 0; i < MANY_LOCKS; i++)
		is_good(at(i));
}

static void nested(void)
{
	hold_many(MANY_LOCKS - 1, false); /* 0, and then the last first */
	hold_many(1, false);              /* the first first */
	hold_many(5, false);              /* some order */
	BATTERY_QUIET();
}

static void nested_trylock(void)
{
	hold_many(MANY_LOCKS - 1, true);
	hold_many(1, true);
	hold_many(5, true);
	BATTERY_QUIET();
}

static void full(void)
{
	void *lock = initialised(0);

	for (int i = 0; i < 100; i++) {
		ops->lock_full(lock);
		BATTERY_TRUE(ops->is_locked(lock));
		BATTERY_TRUE(!ops->trylock(lock));
		ops->unlock_full(lock);
		if (!BATTERY_TRUE(!ops->is_locked(lock)))
			return;
		/* They mix with lock and unlock. */
		ops->lock_full(lock);
		ops->unlock(lock);
		if (!BATTERY_TRUE(ops->trylock(lock)))
			return;
		ops->unlock_full(lock);
		if (!BATTERY_TRUE(!ops->is_locked(lock)))
			return;
	}
	is_good(lock);
	BATTERY_QUIET();
}

#if HF_ENV_HAS_IRQ
static void irqsave(void)
{
	void *lock = initialised(0);
	unsigned long flags = ops->lock_irqsave(lock);

	BATTERY_TRUE(ops->is_locked(lock));
	ops->unlock_irqrestore(lock, flags);
	is_good(lock);
	BATTERY_QUIET();
}
#endif

/* ---- The guard ---------------------------------------------------------------------------- */

static void nothing(void)
{
}

static void hold_inner(void)
{
	BATTERY_TRUE(ops->is_locked(at(1)));
	BATTERY_TRUE(!ops->trylock(at(0)));
}

static void hold_outer(void)
{
	BATTERY_TRUE(ops->is_locked(at(0)));
	BATTERY_TRUE(!ops->guarded(at(1), SPINLOCK_EXIT_END, hold_inner));
	BATTERY_TRUE(!ops->is_locked(at(1)));
	BATTERY_TRUE(ops->is_locked(at(0)));
}

/* A guard releases where its block ends, however it is left. */
static void guarded(void)
{
	void *outer = initialised(0), *inner = initialised(1);

	if (!BATTERY_TRUE(!ops->guarded(outer, SPINLOCK_EXIT_END, hold_outer)))
		return;
	BATTERY_TRUE(ops->guarded(outer, SPINLOCK_EXIT_RETURN, nothing));
	if (!BATTERY_TRUE(!ops->is_locked(outer)))
		return;
	if (!BATTERY_TRUE(!ops->guarded(outer, SPINLOCK_EXIT_CONTINUE, nothing)))
		return;
	if (!BATTERY_TRUE(!ops->guarded(outer, SPINLOCK_EXIT_BREAK, nothing)))
		return;
	is_good(outer);
	is_good(inner);
	BATTERY_QUIET();
}

static const struct battery_case cases[] = {
	{ "SIZE", size, NULL },
	{ "INIT", init, NULL },
	{ "STATIC_INIT", static_init, NULL },
	{ "ZERO_IS_FREE", zero, NULL },
	{ "LOCK_UNLOCK", lock_unlock, NULL },
	{ "TRYLOCK", trylock, NULL },
	{ "HOLD_MANY", nested, NULL },
	{ "HOLD_MANY_BY_TRYLOCK", nested_trylock, NULL },
	{ "FULL", full, NULL },
	{ "GUARD", guarded, NULL },
#if HF_ENV_HAS_IRQ
	{ "IRQSAVE", irqsave, NULL },
#endif
};

const struct battery_suite spinlock_suite = BATTERY_FAMILY("spinlock", cases, select_ops);
