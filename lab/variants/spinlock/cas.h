/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_SPINLOCK_CAS_H
#define HF_LAB_SPINLOCK_CAS_H
/*
 * cas - locks by compare-and-swap and unlocks by exchange, both sequentially consistent.
 *
 * Use when / not when
 *   Only as the baseline, a typical first spinlock of an RTOS. It is unfair, every waiter writes to
 *   the line, and the unlock is a read-modify-write without need.
 *
 * State
 *   word: 0 free, 1 held.      0 --lock--> 1 --unlock--> 0
 *
 * Invariants
 *   I1  only the thread whose compare-and-swap made the word 1 stores 0.
 *
 * Ordering  lock and unlock sequentially consistent, which is stronger than a lock needs.
 * Source    Zephyr's spinlock before its issue 32686, "AArch64 SMP spinlock enhancements".
 */
#include "holdfast/internal/wait.h"
#include "holdfast/internal/atomic.h"

typedef struct hf_spinlock_cas {
	hf_atomic32_t word;
} hf_spinlock_cas_t;

#define HF_SPINLOCK_CAS_INIT                                                                       \
	{                                                                                          \
		HF_ATOMIC_INIT(0)                                                                  \
	}

HF_INLINE void hf_spinlock_cas_init(hf_spinlock_cas_t *lock)
{
	hf_atomic32_store_relaxed(&lock->word, 0);
}

HF_INLINE bool hf_detail_spinlock_cas_trylock(hf_spinlock_cas_t *lock)
{
	uint32_t unlocked = 0;

	return hf_atomic32_try_cmpxchg_seq_cst(&lock->word, &unlocked, 1);
}

HF_INLINE void hf_detail_spinlock_cas_lock(hf_spinlock_cas_t *lock, enum hf_wait_policy policy)
{
	hf_wait_t wait = HF_WAIT_INIT;

	if (HF_LIKELY(hf_detail_spinlock_cas_trylock(lock)))
		return;
	do
		hf_wait_once(&wait, policy);
	while (!hf_detail_spinlock_cas_trylock(lock));
}

HF_INLINE bool hf_spinlock_cas_is_locked(const hf_spinlock_cas_t *lock)
{
	return hf_atomic32_load_relaxed(&lock->word) != 0;
}

HF_INLINE void hf_spinlock_cas_unlock(hf_spinlock_cas_t *lock)
{
	(void)hf_atomic32_xchg_seq_cst(&lock->word, 0); /* I1 */
	hf_env_preempt_enable();
}

HF_INLINE void hf_spinlock_cas_lock(hf_spinlock_cas_t *lock)
{
	hf_env_preempt_disable();
	hf_detail_spinlock_cas_lock(lock, HF_ARCH_WAIT_LOCK_SWAP);
}

HF_INLINE HF_MUST_CHECK bool hf_spinlock_cas_trylock(hf_spinlock_cas_t *lock)
{
	hf_env_preempt_disable();
	if (hf_detail_spinlock_cas_trylock(lock))
		return true;
	hf_env_preempt_enable();
	return false;
}

#endif
