/* SPDX-License-Identifier: MIT */
#ifndef ROSTER_SPINLOCK_OPS_H
#define ROSTER_SPINLOCK_OPS_H
/*
 * spinlock_ops - a table with a row of operations for each spinlock of the roster, and "default".
 *
 * For tests that are written once and run on every lock. Plain C without a C library. Verbs are
 * called through pointers here, so nothing is inlined: whoever needs that expands the roster.
 */
#include "holdfast/spinlock.h"

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
	unsigned int bytes; /* as its row promises */
	unsigned int size;  /* as its type is */

	/* Objects of the lock's own type, so that a write outside of one hits a neighbour. */
	void *initialised; /* static, by HF_SPINLOCK_<NAME>_INIT */
	void *cleared;     /* static, without an initialiser */
	void *many;        /* SPINLOCK_OPS_MANY of them, side by side */

	void (*init)(void *lock);
	void (*assign_init)(void *lock); /* an automatic object's HF_SPINLOCK_<NAME>_INIT */
	void (*lock)(void *lock);
	bool (*trylock)(void *lock);
	void (*unlock)(void *lock);
	bool (*is_locked)(const void *lock);
	void (*lock_full)(void *lock);
	void (*unlock_full)(void *lock);
#if HF_ENV_HAS_IRQ
	unsigned long (*lock_irqsave)(void *lock);
	void (*unlock_irqrestore)(void *lock, unsigned long flags);
#endif
	/*
	 * Calls body() in a block that a guard holds the lock for, and leaves the block by `by`.
	 * Returns is_locked(): by the return statement in the block, or else after the block.
	 */
	bool (*guarded)(void *lock, enum spinlock_exit by, void (*body)(void));
};

#if HF_ENV_HAS_IRQ
#define SPINLOCK_OPS_IRQ(name, type, prefix)                                                       \
	static unsigned long spinlock_##name##_lock_irqsave(void *lock)                            \
	{                                                                                          \
		return prefix##lock_irqsave(lock);                                                 \
	}                                                                                          \
                                                                                                   \
	static void spinlock_##name##_unlock_irqrestore(void *lock, unsigned long flags)           \
	{                                                                                          \
		prefix##unlock_irqrestore(lock, flags);                                            \
	}
#define SPINLOCK_OPS_IRQ_ROW(name)                                                                 \
	.lock_irqsave = spinlock_##name##_lock_irqsave,                                            \
	.unlock_irqrestore = spinlock_##name##_unlock_irqrestore,
#else
#define SPINLOCK_OPS_IRQ(name, type, prefix)
#define SPINLOCK_OPS_IRQ_ROW(name)
#endif

/* Objects and functions of one row; `GUARD` holds `lock` to the end of its block. */
#define SPINLOCK_OPS(name, type, prefix, initialiser, GUARD)                                       \
	static type spinlock_##name##_initialised = initialiser;                                   \
	static type spinlock_##name##_cleared;                                                     \
	static type spinlock_##name##_many[SPINLOCK_OPS_MANY];                                     \
                                                                                                   \
	static void spinlock_##name##_init(void *lock)                                             \
	{                                                                                          \
		prefix##init(lock);                                                                \
	}                                                                                          \
                                                                                                   \
	static void spinlock_##name##_assign_init(void *lock)                                      \
	{                                                                                          \
		type own = initialiser;                                                            \
                                                                                                   \
		*(type *)lock = own;                                                               \
	}                                                                                          \
                                                                                                   \
	static void spinlock_##name##_lock(void *lock) HF_NO_THREAD_SAFETY_ANALYSIS                \
	{                                                                                          \
		prefix##lock(lock);                                                                \
	}                                                                                          \
                                                                                                   \
	static bool spinlock_##name##_trylock(void *lock) HF_NO_THREAD_SAFETY_ANALYSIS             \
	{                                                                                          \
		return prefix##trylock(lock);                                                      \
	}                                                                                          \
                                                                                                   \
	static void spinlock_##name##_unlock(void *lock) HF_NO_THREAD_SAFETY_ANALYSIS              \
	{                                                                                          \
		prefix##unlock(lock);                                                              \
	}                                                                                          \
                                                                                                   \
	static bool spinlock_##name##_is_locked(const void *lock)                                  \
	{                                                                                          \
		return prefix##is_locked(lock);                                                    \
	}                                                                                          \
                                                                                                   \
	static void spinlock_##name##_lock_full(void *lock) HF_NO_THREAD_SAFETY_ANALYSIS           \
	{                                                                                          \
		prefix##lock_full(lock);                                                           \
	}                                                                                          \
                                                                                                   \
	static void spinlock_##name##_unlock_full(void *lock) HF_NO_THREAD_SAFETY_ANALYSIS         \
	{                                                                                          \
		prefix##unlock_full(lock);                                                         \
	}                                                                                          \
                                                                                                   \
	SPINLOCK_OPS_IRQ(name, type, prefix)                                                       \
                                                                                                   \
	static bool spinlock_##name##_guarded(void *lock, enum spinlock_exit by,                   \
					      void (*body)(void))                                  \
	{                                                                                          \
		for (int i = 0; i < 1; i++) {                                                      \
			GUARD;                                                                     \
			body();                                                                    \
			if (by == SPINLOCK_EXIT_RETURN)                                            \
				return prefix##is_locked(lock);                                    \
			if (by == SPINLOCK_EXIT_CONTINUE)                                          \
				continue;                                                          \
			if (by == SPINLOCK_EXIT_BREAK)                                             \
				break;                                                             \
		}                                                                                  \
		return prefix##is_locked(lock);                                                    \
	}

#define SPINLOCK_OPS_ROW(row)                                                                      \
	{ .name = #row,                                                                            \
	  .bytes = SPINLOCK_BYTES_##row,                                                           \
	  .size = sizeof(spinlock_##row##_initialised),                                            \
	  .initialised = &spinlock_##row##_initialised,                                            \
	  .cleared = &spinlock_##row##_cleared,                                                    \
	  .many = spinlock_##row##_many,                                                           \
	  .init = spinlock_##row##_init,                                                           \
	  .assign_init = spinlock_##row##_assign_init,                                             \
	  .lock = spinlock_##row##_lock,                                                           \
	  .trylock = spinlock_##row##_trylock,                                                     \
	  .unlock = spinlock_##row##_unlock,                                                       \
	  .is_locked = spinlock_##row##_is_locked,                                                 \
	  .lock_full = spinlock_##row##_lock_full,                                                 \
	  .unlock_full = spinlock_##row##_unlock_full,                                             \
	  .guarded = spinlock_##row##_guarded,                                                     \
	  SPINLOCK_OPS_IRQ_ROW(row) },

#define X(name, NAME, bytes, nodes)                                                                \
	SPINLOCK_OPS(name, hf_spinlock_##name##_t, hf_spinlock_##name##_,                          \
		     HF_SPINLOCK_##NAME##_INIT, HF_SPINLOCK_GUARD_OF(name, lock))
HF_SPINLOCK_ROSTER(X)
#undef X
SPINLOCK_OPS(default, hf_spinlock_t, hf_spinlock_, HF_SPINLOCK_INIT, HF_SPINLOCK_GUARD(lock))

/* The default has a row, and its bytes. */
enum {
#define X(name, NAME, bytes, nodes) SPINLOCK_BYTES_##name = (bytes),
	HF_SPINLOCK_ROSTER(X)
#undef X
		SPINLOCK_BYTES_default = HF_DETAIL_PASTE(SPINLOCK_BYTES_, HF_SPINLOCK_DEFAULT)
};

static const struct spinlock_ops spinlock_ops[] = {
#define X(name, NAME, bytes, nodes) SPINLOCK_OPS_ROW(name)
	HF_SPINLOCK_ROSTER(X)
#undef X
		SPINLOCK_OPS_ROW(default)
};

#endif
