/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef __LINUX_LOCKREF_H
#define __LINUX_LOCKREF_H
/*
 * lockref - the kernel's names for Holdfast's lockref. The lock half is the kernel's spinlock. Code
 * all over the tree uses the members `lock` and `count`, so they are at the offsets of Holdfast's
 * halves.
 *
 * With lockdep or spinlock debugging a spinlock is larger than four bytes. Then each operation
 * takes the lock (lib/lockref.c), as in the stock kernel.
 */
#include <linux/spinlock.h>
#include <generated/bounds.h>

#define LOCKREF_IS_ONE_WORD (SPINLOCK_SIZE == 4)

struct lockref {
	union {
#if LOCKREF_IS_ONE_WORD
		aligned_u64 lock_count;
#endif
		struct {
			spinlock_t lock;
			int count;
		};
	};
};

/* lib/lockref.c */
void lockref_get(struct lockref *l);
int lockref_put_return(struct lockref *l);
int lockref_get_not_zero(struct lockref *l);
int lockref_put_not_zero(struct lockref *l);
int lockref_put_or_lock(struct lockref *l);
void lockref_mark_dead(struct lockref *l);
int lockref_get_not_dead(struct lockref *l);

/* The caller must hold the lock. */
static inline bool __lockref_is_dead(const struct lockref *l)
{
	return l->count < 0;
}

#endif
