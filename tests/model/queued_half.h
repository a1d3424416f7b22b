/* SPDX-License-Identifier: MIT */
/*
 * queued_half - the queued spinlock as a lockref's lock half; included once for each of its forms.
 */
#include "spinlock/queued.h"

typedef hf_spinlock_queued_t hf_env_lockref_lock_t;
#define hf_env_lockref_lock(lock) hf_spinlock_queued_lock(lock)
#define hf_env_lockref_trylock(lock) hf_spinlock_queued_trylock(lock)
#define hf_env_lockref_unlock(lock) hf_spinlock_queued_unlock(lock)
#define hf_env_lockref_is_locked(lock) hf_spinlock_queued_is_locked(lock)
