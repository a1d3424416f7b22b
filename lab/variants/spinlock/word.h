/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_SPINLOCK_WORD_H
#define HF_LAB_SPINLOCK_WORD_H
/*
 * word - what the spinlocks of this folder share. Each header adds what is its own: how the lock
 * tries, waits and unlocks.
 *
 *   HF_LAB_WORD_TYPE(name)      hf_spinlock_<name>_t of one word, and its functions init, is_locked
 *   HF_LAB_LOCK_RETRY(name)     hf_detail_spinlock_<name>_lock: tries, and waits between two tries
 *   HF_LAB_LOCK_BY(name, wait)  the functions lock, with this wait policy, and trylock: they call
 *                               hf_detail_spinlock_<name>_lock and _trylock
 */
#include "holdfast/internal/wait.h"
#include "holdfast/internal/atomic.h"

#define HF_LAB_WORD_INIT                                                                           \
	{                                                                                          \
		HF_ATOMIC_INIT(0)                                                                  \
	}

#define HF_LAB_WORD_TYPE(name)                                                                     \
	typedef struct hf_spinlock_##name {                                                        \
		hf_atomic32_t word;                                                                \
	} hf_spinlock_##name##_t;                                                                  \
                                                                                                   \
	HF_INLINE void hf_spinlock_##name##_init(hf_spinlock_##name##_t *lock)                     \
	{                                                                                          \
		hf_atomic32_store_relaxed(&lock->word, 0);                                         \
	}                                                                                          \
                                                                                                   \
	HF_INLINE bool hf_spinlock_##name##_is_locked(const hf_spinlock_##name##_t *lock)          \
	{                                                                                          \
		return hf_atomic32_load_relaxed(&lock->word) != 0;                                 \
	}

#define HF_LAB_LOCK_RETRY(name)                                                                    \
	HF_INLINE void hf_detail_spinlock_##name##_lock(hf_spinlock_##name##_t *lock,              \
							enum hf_wait_policy policy)                \
	{                                                                                          \
		hf_wait_t wait = HF_WAIT_INIT;                                                     \
                                                                                                   \
		if (HF_LIKELY(hf_detail_spinlock_##name##_trylock(lock)))                          \
			return;                                                                    \
		do                                                                                 \
			hf_wait_once(&wait, policy);                                               \
		while (!hf_detail_spinlock_##name##_trylock(lock));                                \
	}

#define HF_LAB_LOCK_BY(name, wait)                                                                 \
	HF_INLINE void hf_spinlock_##name##_lock(hf_spinlock_##name##_t *lock)                     \
	{                                                                                          \
		hf_env_preempt_disable();                                                          \
		hf_detail_spinlock_##name##_lock(lock, wait);                                      \
	}                                                                                          \
                                                                                                   \
	HF_INLINE HF_MUST_CHECK bool hf_spinlock_##name##_trylock(hf_spinlock_##name##_t *lock)    \
	{                                                                                          \
		hf_env_preempt_disable();                                                          \
		if (hf_detail_spinlock_##name##_trylock(lock))                                     \
			return true;                                                               \
		hf_env_preempt_enable();                                                           \
		return false;                                                                      \
	}

#endif
