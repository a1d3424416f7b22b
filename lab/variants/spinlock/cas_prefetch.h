/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_SPINLOCK_CAS_PREFETCH_H
#define HF_LAB_SPINLOCK_CAS_PREFETCH_H
/*
 * cas_prefetch - cas_release with a prefetch-for-store hint before the compare-and-swap.
 *
 * Use when / not when
 *   Where the lab measures that it is faster than cas_release: it was slower on a Cortex-A53, and
 *   may help larger cores.
 *
 * State, Invariants, Ordering  those of cas_release.
 * Source                       "Prefetch" of Zephyr's issue 32686.
 */
#include "holdfast/internal/wait.h"
#include "holdfast/internal/atomic.h"

typedef struct hf_spinlock_cas_prefetch {
	hf_atomic32_t word;
} hf_spinlock_cas_prefetch_t;

#define HF_SPINLOCK_CAS_PREFETCH_INIT                                                              \
	{                                                                                          \
		HF_ATOMIC_INIT(0)                                                                  \
	}

HF_INLINE void hf_spinlock_cas_prefetch_init(hf_spinlock_cas_prefetch_t *lock)
{
	hf_atomic32_store_relaxed(&lock->word, 0);
}

HF_INLINE bool hf_detail_spinlock_cas_prefetch_trylock(hf_spinlock_cas_prefetch_t *lock)
{
	uint32_t unlocked = 0;

	hf_atomic32_prefetch_store(&lock->word);
	return hf_atomic32_try_cmpxchg_acquire(&lock->word, &unlocked, 1); /* I2 */
}

HF_INLINE void hf_detail_spinlock_cas_prefetch_lock(hf_spinlock_cas_prefetch_t *lock,
						    enum hf_wait_policy policy)
{
	hf_wait_t wait = HF_WAIT_INIT;

	if (HF_LIKELY(hf_detail_spinlock_cas_prefetch_trylock(lock)))
		return;
	do
		hf_wait_once(&wait, policy);
	while (!hf_detail_spinlock_cas_prefetch_trylock(lock));
}

HF_INLINE bool hf_spinlock_cas_prefetch_is_locked(const hf_spinlock_cas_prefetch_t *lock)
{
	return hf_atomic32_load_relaxed(&lock->word) != 0;
}

HF_INLINE void hf_spinlock_cas_prefetch_unlock(hf_spinlock_cas_prefetch_t *lock)
{
	hf_atomic32_store_release(&lock->word, 0); /* I1, I2 */
	hf_env_preempt_enable();
}

HF_INLINE void hf_spinlock_cas_prefetch_lock(hf_spinlock_cas_prefetch_t *lock)
{
	hf_env_preempt_disable();
	hf_detail_spinlock_cas_prefetch_lock(lock, HF_ARCH_WAIT_LOCK_SWAP);
}

HF_INLINE HF_MUST_CHECK bool hf_spinlock_cas_prefetch_trylock(hf_spinlock_cas_prefetch_t *lock)
{
	hf_env_preempt_disable();
	if (hf_detail_spinlock_cas_prefetch_trylock(lock))
		return true;
	hf_env_preempt_enable();
	return false;
}

#endif
