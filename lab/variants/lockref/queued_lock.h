/* SPDX-License-Identifier: MIT */
#ifndef LAB_VARIANTS_LOCKREF_QUEUED_LOCK_H
#define LAB_VARIANTS_LOCKREF_QUEUED_LOCK_H
/*
 * queued_lock - makes the queued spinlock the lock half of a lockref, also in user space.
 *
 * For -DHF_LOCKREF_LOCK_HEADER='"lockref/queued_lock.h"' (holdfast/lockref.h). The rows "spins" of
 * the lab's table `holder` and the simulator use it.
 */
#include "../spinlock/queued.h"

typedef hf_spinlock_queued_t hf_env_lockref_lock_t;
#define hf_env_lockref_lock(lock) hf_spinlock_queued_lock(lock)
#define hf_env_lockref_trylock(lock) hf_spinlock_queued_trylock(lock)
#define hf_env_lockref_unlock(lock) hf_spinlock_queued_unlock(lock)
#define hf_env_lockref_is_locked(lock) hf_spinlock_queued_is_locked(lock)

#endif
