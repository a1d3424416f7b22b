/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_RCU_H
#define HF_TMPFS_RCU_H
/*
 * rcu - the liburcu calls that tmpfs uses, annotated for ThreadSanitizer.
 *
 * liburcu is not built with the sanitizer, which therefore does not see grace periods. One edge is
 * annotated by hand:
 *
 *   end of a read-side section  -->  end of a grace period      one address for the whole program
 *
 * A section that began before the grace period ends before it does; one that begins later can't see
 * removed objects. So for removed objects the edge is exact. The flavour is bp, which registers
 * reading threads automatically.
 */
#include <stdint.h>

#include <urcu/urcu-bp.h>

#include "base.h"

#if TMPFS_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define TMPFS_RCU_TSAN(what, address) __tsan_##what((void *)(uintptr_t)(address))
#else
#define TMPFS_RCU_TSAN(what, address) (void)(address)
#endif

static inline void tmpfs_rcu_read_lock(void)
{
	urcu_bp_read_lock();
}

static inline void tmpfs_rcu_read_unlock(void)
{
	TMPFS_RCU_TSAN(release, &urcu_bp_flavor);
	urcu_bp_read_unlock();
}

/* Waits for a grace period. Not inside a read side. */
static inline void tmpfs_rcu_synchronize(void)
{
	urcu_bp_synchronize_rcu();
	TMPFS_RCU_TSAN(acquire, &urcu_bp_flavor);
}

#endif
