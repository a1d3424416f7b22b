/* SPDX-License-Identifier: MIT */
#ifndef BATTERY_SPINLOCK_OPS_H
#define BATTERY_SPINLOCK_OPS_H
/*
 * spinlock_ops - a table with a row of operations for each spinlock: those of the product, and with
 * BATTERY_VARIANTS those of lab/variants/spinlock, too.
 *
 * Functions are called through pointers here, so nothing is inlined.
 */
#include "holdfast/spinlock.h"
#include "holdfast/spinlock_ticket.h"

#ifndef BATTERY_VARIANTS
#define BATTERY_VARIANTS 0
#endif
#if BATTERY_VARIANTS
#include "variants/spinlock/cas.h"
#include "variants/spinlock/cas_prefetch.h"
#include "variants/spinlock/cas_release.h"
#include "variants/spinlock/mcs.h"
#include "variants/spinlock/queued.h"
#include "variants/spinlock/wfe.h"
#endif

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
	unsigned int size;  /* as its type is */

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
#define SPINLOCK_OPS(name, prefix, initialiser)                                                    \
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

#define SPINLOCK_OPS_ROW(row, documented)                                                          \
	{                                                                                          \
		.name = #row, .bytes = documented, .size = sizeof(spinlock_##row##_initialised),   \
		.initialised = &spinlock_##row##_initialised,                                      \
		.cleared = &spinlock_##row##_cleared, .many = spinlock_##row##_many,               \
		.init = spinlock_##row##_init, .assign_init = spinlock_##row##_assign_init,        \
		.lock = spinlock_##row##_lock, .trylock = spinlock_##row##_trylock,                \
		.unlock = spinlock_##row##_unlock, .is_locked = spinlock_##row##_is_locked         \
	}

SPINLOCK_OPS(default, hf_spinlock, HF_SPINLOCK_INIT)
SPINLOCK_OPS(ticket, hf_spinlock_ticket, HF_SPINLOCK_TICKET_INIT)
#if BATTERY_VARIANTS
SPINLOCK_OPS(cas, hf_spinlock_cas, HF_SPINLOCK_CAS_INIT)
SPINLOCK_OPS(cas_release, hf_spinlock_cas_release, HF_SPINLOCK_CAS_RELEASE_INIT)
SPINLOCK_OPS(cas_prefetch, hf_spinlock_cas_prefetch, HF_SPINLOCK_CAS_PREFETCH_INIT)
SPINLOCK_OPS(wfe, hf_spinlock_wfe, HF_SPINLOCK_WFE_INIT)
SPINLOCK_OPS(mcs, hf_spinlock_mcs, HF_SPINLOCK_MCS_INIT)
SPINLOCK_OPS(queued, hf_spinlock_queued, HF_SPINLOCK_QUEUED_INIT)
#endif

static const struct spinlock_ops spinlock_ops[] = {
	SPINLOCK_OPS_ROW(default, 4),      SPINLOCK_OPS_ROW(ticket, 8),
#if BATTERY_VARIANTS
	SPINLOCK_OPS_ROW(cas, 4),          SPINLOCK_OPS_ROW(cas_release, 4),
	SPINLOCK_OPS_ROW(cas_prefetch, 4), SPINLOCK_OPS_ROW(wfe, 4),
	SPINLOCK_OPS_ROW(mcs, 12),         SPINLOCK_OPS_ROW(queued, 4),
#endif
};

#endif
