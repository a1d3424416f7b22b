/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef _LINUX_HOLDFAST_LOCK_H
#define _LINUX_HOLDFAST_LOCK_H
/*
 * holdfast_lock - the kernel's spinlock as the lock half of Holdfast's lockref
 * (HF_LOCKREF_LOCK_HEADER).
 *
 * The lock half must be four bytes, which are zero if it is unlocked without waiters. This is true
 * of the kernel's queued spinlock, but not of its ticket lock.
 */
#include <linux/spinlock.h>

#ifndef CONFIG_QUEUED_SPINLOCKS
#error "needs a spinlock that is all zeroes when unlocked: CONFIG_QUEUED_SPINLOCKS"
#endif

typedef spinlock_t hf_env_lockref_lock_t;

#define hf_env_lockref_lock(lock) spin_lock(lock)
#define hf_env_lockref_trylock(lock) spin_trylock(lock)
#define hf_env_lockref_unlock(lock) spin_unlock(lock)
#define hf_env_lockref_is_locked(lock) spin_is_locked(lock)

#endif
