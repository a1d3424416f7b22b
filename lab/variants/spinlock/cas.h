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
#include "word.h"

HF_LAB_WORD_TYPE(cas)
#define HF_SPINLOCK_CAS_INIT HF_LAB_WORD_INIT

HF_INLINE bool hf_detail_spinlock_cas_trylock(hf_spinlock_cas_t *lock)
{
	uint32_t unlocked = 0;

	return hf_atomic32_try_cmpxchg_seq_cst(&lock->word, &unlocked, 1);
}

HF_LAB_LOCK_RETRY(cas)
HF_LAB_LOCK_BY(cas, HF_ARCH_WAIT_LOCK_SWAP)

HF_INLINE void hf_spinlock_cas_unlock(hf_spinlock_cas_t *lock)
{
	(void)hf_atomic32_xchg_seq_cst(&lock->word, 0); /* I1 */
	hf_env_preempt_enable();
}

#endif
