/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_SPINLOCK_CAS_RELEASE_H
#define HF_LAB_SPINLOCK_CAS_RELEASE_H
/*
 * cas_release - locks by compare-and-swap and unlocks by a plain store-release.
 *
 * Use when / not when
 *   The cheapest lock while uncontended, for short critical sections that are seldom contended. Not
 *   under lasting contention: its unfairness is unbounded.
 *
 * State
 *   word: 0 free, 1 held.      0 --lock--> 1 --unlock--> 0
 *
 * Invariants
 *   I1  only the thread whose compare-and-swap made the word 1 stores 0, so the store need not be a
 *       read-modify-write.
 *   I2  the store is a release and the successful compare-and-swap an acquire: each critical
 *       section happens before the next one.
 *
 * Ordering  lock acquire, unlock release. This is no full barrier: an observer may see a store from
 *           after the unlock before one from before the lock.
 * Source    "SeqRel" of Zephyr's issue 32686.
 */
#include "holdfast/internal/wait.h"
#include "holdfast/internal/atomic.h"

typedef struct hf_spinlock_cas_release {
	hf_atomic32_t word;
} hf_spinlock_cas_release_t;

#define HF_SPINLOCK_CAS_RELEASE_INIT                                                               \
	{                                                                                          \
		HF_ATOMIC_INIT(0)                                                                  \
	}

HF_INLINE void hf_spinlock_cas_release_init(hf_spinlock_cas_release_t *lock)
{
	hf_atomic32_store_relaxed(&lock->word, 0);
}

HF_INLINE bool hf_detail_spinlock_cas_release_trylock(hf_spinlock_cas_release_t *lock)
{
	uint32_t unlocked = 0;

	return hf_atomic32_try_cmpxchg_acquire(&lock->word, &unlocked, 1); /* I2 */
}

HF_INLINE void hf_detail_spinlock_cas_release_lock(hf_spinlock_cas_release_t *lock,
						   enum hf_wait_policy policy)
{
	hf_wait_t wait = HF_WAIT_INIT;

	if (HF_LIKELY(hf_detail_spinlock_cas_release_trylock(lock)))
		return;
	do
		hf_wait_once(&wait, policy);
	while (!hf_detail_spinlock_cas_release_trylock(lock));
}

HF_INLINE bool hf_spinlock_cas_release_is_locked(const hf_spinlock_cas_release_t *lock)
{
	return hf_atomic32_load_relaxed(&lock->word) != 0;
}

HF_INLINE void hf_spinlock_cas_release_unlock(hf_spinlock_cas_release_t *lock)
{
	hf_atomic32_store_release(&lock->word, 0); /* I1, I2 */
	hf_env_preempt_enable();
}

HF_INLINE void hf_spinlock_cas_release_lock(hf_spinlock_cas_release_t *lock)
{
	hf_env_preempt_disable();
	hf_detail_spinlock_cas_release_lock(lock, HF_ARCH_WAIT_LOCK_SWAP);
}

HF_INLINE HF_MUST_CHECK bool hf_spinlock_cas_release_trylock(hf_spinlock_cas_release_t *lock)
{
	hf_env_preempt_disable();
	if (hf_detail_spinlock_cas_release_trylock(lock))
		return true;
	hf_env_preempt_enable();
	return false;
}

#endif
