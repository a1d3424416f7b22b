/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_SPINLOCK_WFE_H
#define HF_LAB_SPINLOCK_WFE_H
/*
 * wfe - waits on the exclusive monitor until the word changes, and unlocks by a store-release.
 *
 * Use when / not when
 *   On AArch64, for locks that few cores contend for: waiting costs no traffic and little power.
 *   Not where fairness matters: the first waiter that wakes takes the lock. On other processors it
 *   is a test-and-test-and-set lock with the spin hint.
 *
 * State
 *   word: 0 free, 1 held.      0 --lock--> 1 --unlock--> 0
 *
 * Invariants
 *   I1  only the thread that made the word 1 stores 0.
 *   I2  the store is a release, the load of the exclusive pair an acquire.
 *   I3  no wake-up is lost, and no SEV is needed: the load that found the word 1 also armed the
 *       monitor, and the store of 0 clears the monitor, which is an event that ends WFE.
 *
 * Ordering  lock acquire, unlock release.
 * Source    "Litmus" of Zephyr's issue 32686, after the Arm Architecture Reference Manual.
 */
#include "word.h"

HF_LAB_WORD_TYPE(wfe)
#define HF_SPINLOCK_WFE_INIT HF_LAB_WORD_INIT

HF_INLINE bool hf_detail_spinlock_wfe_trylock(hf_spinlock_wfe_t *lock)
{
	uint32_t unlocked = 0;

	return hf_atomic32_try_cmpxchg_acquire(&lock->word, &unlocked, 1); /* I2 */
}

/* MONITOR waits by WFE; any other policy makes it a test-and-test-and-set lock. */
HF_INLINE void hf_detail_spinlock_wfe_lock(hf_spinlock_wfe_t *lock, enum hf_wait_policy policy)
{
	hf_wait_t wait = HF_WAIT_INIT;

	if (policy == HF_WAIT_MONITOR) {
		hf_atomic32_wait_zero_set_acquire(&lock->word); /* I2, I3 */
		return;
	}
	if (HF_LIKELY(hf_detail_spinlock_wfe_trylock(lock)))
		return;
	do {
		while (hf_atomic32_load_relaxed(&lock->word))
			hf_wait_once(&wait, policy);
	} while (!hf_detail_spinlock_wfe_trylock(lock));
}

HF_LAB_LOCK_BY(wfe, HF_ARCH_WAIT_FREE_LOCK)

HF_INLINE void hf_spinlock_wfe_unlock(hf_spinlock_wfe_t *lock)
{
	hf_atomic32_store_release(&lock->word, 0); /* I1, I2, I3 */
	hf_env_preempt_enable();
}

#endif
