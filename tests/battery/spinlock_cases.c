/* SPDX-License-Identifier: MIT */
/*
 * spinlock_cases - single-threaded tests that every spinlock must pass.
 *
 * A thread that locks a lock it already holds hangs, so after an unlock a case uses trylock, and
 * ends if that fails.
 *
 * The locks are objects of the row's own type, side by side: a write past one hits its neighbour.
 */
#include "battery.h"

#include "spinlock_ops.h"

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
	ops->init(at(0));
	is_good(at(0));
	is_good(ops->initialised);
	is_good(initialised(0));
	BATTERY_QUIET();
}

/* A lock with all bytes 0, as from calloc() or in a static object without an initialiser. */
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

/* By lock and by trylock. */
static void lock_unlock(void)
{
	void *lock = initialised(0);

	for (int i = 0; i < 1000; i++) {
		if (i % 2)
			ops->lock(lock);
		else if (!BATTERY_TRUE(ops->trylock(lock)))
			return;
		BATTERY_TRUE(ops->is_locked(lock));
		BATTERY_TRUE(!ops->trylock(lock));
		ops->unlock(lock);
		if (!BATTERY_TRUE(!ops->is_locked(lock)))
			return;
	}
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
	for (int by_trylock = 0; by_trylock < 2; by_trylock++) {
		hold_many(MANY_LOCKS - 1, by_trylock); /* 0, and then the last first */
		hold_many(1, by_trylock);              /* the first first */
		hold_many(5, by_trylock);              /* some order */
	}
	BATTERY_QUIET();
}

/* ---- Only hf_spinlock_t --------------------------------------------------------------------- */

static bool is_default(void)
{
	return ops == &spinlock_ops[0];
}

static void full(void)
{
	hf_spinlock_t lock = HF_SPINLOCK_INIT;

	for (int i = 0; i < 100; i++) {
		hf_spinlock_lock_full(&lock);
		BATTERY_TRUE(hf_spinlock_is_locked(&lock));
		BATTERY_TRUE(!hf_spinlock_trylock(&lock));
		hf_spinlock_unlock_full(&lock);
		if (!BATTERY_TRUE(!hf_spinlock_is_locked(&lock)))
			return;
		/* They mix with lock and unlock. */
		hf_spinlock_lock_full(&lock);
		hf_spinlock_unlock(&lock);
		if (!BATTERY_TRUE(hf_spinlock_trylock(&lock)))
			return;
		hf_spinlock_unlock_full(&lock);
		if (!BATTERY_TRUE(!hf_spinlock_is_locked(&lock)))
			return;
	}
	BATTERY_QUIET();
}

#if HF_ENV_HAS_IRQ
static void irqsave(void)
{
	hf_spinlock_t lock = HF_SPINLOCK_INIT;
	hf_spinlock_ticket_t ticket = HF_SPINLOCK_TICKET_INIT;
	unsigned long flags = hf_spinlock_lock_irqsave(&lock);

	BATTERY_TRUE(hf_spinlock_is_locked(&lock));
	hf_spinlock_unlock_irqrestore(&lock, flags);
	BATTERY_TRUE(!hf_spinlock_is_locked(&lock));
	flags = hf_spinlock_ticket_lock_irqsave(&ticket);
	BATTERY_TRUE(hf_spinlock_ticket_is_locked(&ticket));
	hf_spinlock_ticket_unlock_irqrestore(&ticket, flags);
	BATTERY_TRUE(!hf_spinlock_ticket_is_locked(&ticket));
	BATTERY_QUIET();
}
#endif

/*
 * Calls body() in a block that a guard holds the lock for, and leaves the block by `by`. Returns
 * is_locked(): by the return statement in the block, or else after the block.
 */
static bool guard_block(hf_spinlock_t *lock, enum spinlock_exit by, void (*body)(void))
{
	for (int i = 0; i < 1; i++) {
		HF_SPINLOCK_GUARD(lock);
		body();
		if (by == SPINLOCK_EXIT_RETURN)
			return hf_spinlock_is_locked(lock);
		if (by == SPINLOCK_EXIT_CONTINUE)
			continue;
		if (by == SPINLOCK_EXIT_BREAK)
			break;
	}
	return hf_spinlock_is_locked(lock);
}

static hf_spinlock_t outer, inner;

static void nothing(void)
{
}

static void hold_inner(void)
{
	BATTERY_TRUE(hf_spinlock_is_locked(&inner));
	BATTERY_TRUE(!hf_spinlock_trylock(&outer));
}

static void hold_outer(void)
{
	BATTERY_TRUE(hf_spinlock_is_locked(&outer));
	BATTERY_TRUE(!guard_block(&inner, SPINLOCK_EXIT_END, hold_inner));
	BATTERY_TRUE(!hf_spinlock_is_locked(&inner));
	BATTERY_TRUE(hf_spinlock_is_locked(&outer));
}

/* A guard unlocks at the end of its block, however the block is left. */
static void guarded(void)
{
	hf_spinlock_init(&outer);
	hf_spinlock_init(&inner);
	if (!BATTERY_TRUE(!guard_block(&outer, SPINLOCK_EXIT_END, hold_outer)))
		return;
	BATTERY_TRUE(guard_block(&outer, SPINLOCK_EXIT_RETURN, nothing));
	if (!BATTERY_TRUE(!hf_spinlock_is_locked(&outer)))
		return;
	if (!BATTERY_TRUE(!guard_block(&outer, SPINLOCK_EXIT_CONTINUE, nothing)))
		return;
	if (!BATTERY_TRUE(!guard_block(&outer, SPINLOCK_EXIT_BREAK, nothing)))
		return;
	BATTERY_TRUE(!hf_spinlock_is_locked(&inner));
	BATTERY_QUIET();
}

static const struct battery_case cases[] = {
	{ "SIZE", size, NULL },
	{ "INIT", init, NULL },
	{ "ZERO_IS_FREE", zero, NULL },
	{ "LOCK_UNLOCK", lock_unlock, NULL },
	{ "HOLD_MANY", nested, NULL },
	{ "FULL", full, is_default },
	{ "GUARD", guarded, is_default },
#if HF_ENV_HAS_IRQ
	{ "IRQSAVE", irqsave, is_default },
#endif
};

const struct battery_suite spinlock_suite = BATTERY_FAMILY("spinlock", cases, select_ops);
