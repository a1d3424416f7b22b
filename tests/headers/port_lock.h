/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_PORT_LOCK_H
#define HF_TESTS_PORT_LOCK_H
/*
 * port_lock - a port's own 4-byte lock for HF_LOCKREF_LOCK_HEADER; lockref.h has the requirements.
 */
#include <holdfast/internal/atomic.h>

typedef struct hf_env_lockref_lock_word {
	hf_atomic32_t word;
} hf_env_lockref_lock_t;

HF_INLINE bool hf_env_lockref_trylock(hf_env_lockref_lock_t *lock)
{
	uint32_t unlocked = 0;

	return hf_atomic32_try_cmpxchg_acquire(&lock->word, &unlocked, 1);
}

HF_INLINE void hf_env_lockref_lock(hf_env_lockref_lock_t *lock)
{
	while (!hf_env_lockref_trylock(lock))
		;
}

HF_INLINE void hf_env_lockref_unlock(hf_env_lockref_lock_t *lock)
{
	hf_atomic32_store_release(&lock->word, 0);
}

HF_INLINE bool hf_env_lockref_is_locked(const hf_env_lockref_lock_t *lock)
{
	return hf_atomic32_load_relaxed(&lock->word) != 0;
}

#endif
