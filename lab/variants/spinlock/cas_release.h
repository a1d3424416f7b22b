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
#include "word.h"

HF_LAB_WORD_TYPE(cas_release)
#define HF_SPINLOCK_CAS_RELEASE_INIT HF_LAB_WORD_INIT

HF_INLINE bool hf_detail_spinlock_cas_release_trylock(hf_spinlock_cas_release_t *lock)
{
	uint32_t unlocked = 0;

	return hf_atomic32_try_cmpxchg_acquire(&lock->word, &unlocked, 1); /* I2 */
}

HF_LAB_LOCK_RETRY(cas_release)
HF_LAB_LOCK_BY(cas_release, HF_ARCH_WAIT_LOCK_SWAP)

HF_INLINE void hf_spinlock_cas_release_unlock(hf_spinlock_cas_release_t *lock)
{
	hf_atomic32_store_release(&lock->word, 0); /* I1, I2 */
	hf_env_preempt_enable();
}

#endif
