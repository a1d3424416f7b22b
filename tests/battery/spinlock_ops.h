/* SPDX-License-Identifier: MIT */
#ifndef BATTERY_SPINLOCK_OPS_H
#define BATTERY_SPINLOCK_OPS_H
/*
 * spinlock_ops - a table of the operations of each spinlock: the library's, and with
 * BATTERY_VARIANTS also those of lab/variants/spinlock.
 *
 * Functions are called through pointers here, so nothing is inlined.
 */
#include "holdfast/spinlock.h"
#include "holdfast/spinlock_ticket.h"

#if defined(BATTERY_VARIANTS) && BATTERY_VARIANTS
#include "variants/spinlocks.h"
#else
#define LAB_SPINLOCKS(X)
#endif

/* X(name, functions, initialiser, bytes as documented) */
#define SPINLOCKS(X)                                                                               \
	X(default, hf_spinlock, HF_SPINLOCK_INIT, 4)                                               \
	X(ticket, hf_spinlock_ticket, HF_SPINLOCK_TICKET_INIT, 8)                                  \
	LAB_SPINLOCKS(X)

enum { SPINLOCK_OPS_MANY = 12 };

/* How a guarded block is left. */
enum spinlock_exit {
	SPINLOCK_EXIT_END,
	SPINLOCK_EXIT_RETURN,
	SPINLOCK_EXIT_CONTINUE,
	SPINLOCK_EXIT_BREAK,
};

struct spinlock_ops {
	const char *name;
	unsigned int bytes; /* as documented */
	unsigned int size;  /* sizeof its type */

	/* Objects of the lock's own type, so that a write outside of one hits a neighbour. */
	void *initialised; /* static, by its initialiser */
	void *cleared;     /* static, without an initialiser */
	void *many;        /* SPINLOCK_OPS_MANY of them, side by side */

	void (*init)(void *lock);
	void (*assign_init)(void *lock); /* an automatic object's initialiser */
	void (*lock)(void *lock);
	bool (*trylock)(void *lock);
	void (*unlock)(void *lock);
	bool (*is_locked)(const void *lock);
};

/* Objects and functions of one row. */
#define SPINLOCK_OPS(name, prefix, initialiser, ...)                                               \
	static prefix##_t spinlock_##name##_initialised = initialiser;                             \
	static prefix##_t spinlock_##name##_cleared;                                               \
	static prefix##_t spinlock_##name##_many[SPINLOCK_OPS_MANY];                               \
                                                                                                   \
	static void spinlock_##name##_init(void *lock)                                             \
	{                                                                                          \
		prefix##_init(lock);                                                               \
	}                                                                                          \
                                                                                                   \
	static void spinlock_##name##_assign_init(void *lock)                                      \
	{                                                                                          \
		prefix##_t own = initialiser;                                                      \
                                                                                                   \
		*(prefix##_t *)lock = own;                                                         \
	}                                                                                          \
                                                                                                   \
	static void spinlock_##name##_lock(void *lock) HF_NO_THREAD_SAFETY_ANALYSIS                \
	{                                                                                          \
		prefix##_lock(lock);                                                               \
	}                                                                                          \
                                                                                                   \
	static bool spinlock_##name##_trylock(void *lock) HF_NO_THREAD_SAFETY_ANALYSIS             \
	{                                                                                          \
		return prefix##_trylock(lock);                                                     \
	}                                                                                          \
                                                                                                   \
	static void spinlock_##name##_unlock(void *lock) HF_NO_THREAD_SAFETY_ANALYSIS              \
	{                                                                                          \
		prefix##_unlock(lock);                                                             \
	}                                                                                          \
                                                                                                   \
	static bool spinlock_##name##_is_locked(const void *lock)                                  \
	{                                                                                          \
		return prefix##_is_locked(lock);                                                   \
	}

#define SPINLOCK_OPS_ROW(row, prefix, initialiser, documented)                                     \
	{ .name = #row,                                                                            \
	  .bytes = documented,                                                                     \
	  .size = sizeof(spinlock_##row##_initialised),                                            \
	  .initialised = &spinlock_##row##_initialised,                                            \
	  .cleared = &spinlock_##row##_cleared,                                                    \
	  .many = spinlock_##row##_many,                                                           \
	  .init = spinlock_##row##_init,                                                           \
	  .assign_init = spinlock_##row##_assign_init,                                             \
	  .lock = spinlock_##row##_lock,                                                           \
	  .trylock = spinlock_##row##_trylock,                                                     \
	  .unlock = spinlock_##row##_unlock,                                                       \
	  .is_locked = spinlock_##row##_is_locked },

SPINLOCKS(SPINLOCK_OPS)

static const struct spinlock_ops spinlock_ops[] = { SPINLOCKS(SPINLOCK_OPS_ROW) };

#endif
