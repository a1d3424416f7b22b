/* SPDX-License-Identifier: MIT */
#ifndef HF_SPINLOCK_CAS_PREFETCH_H
#define HF_SPINLOCK_CAS_PREFETCH_H
#pragma GCC system_header
/*
 * cas_prefetch - cas_release with a prefetch-for-store hint before the compare-and-swap.
 *
 * Use when / not when
 *   Where the lab measures that it is faster: it was slower on a Cortex-A53, and may help bigger
 *   cores. Else cas_release.
 *
 * State, Invariants, Ordering  those of cas_release.
 * Source                       "Prefetch" of Zephyr's issue 32686.
 */
#include "cas_release.h"

typedef struct HF_CAPABILITY("spinlock") hf_spinlock_cas_prefetch {
	hf_spinlock_cas_release_t lock;
} hf_spinlock_cas_prefetch_t;

#define HF_SPINLOCK_CAS_PREFETCH_INIT                                                              \
	{                                                                                          \
		HF_SPINLOCK_CAS_RELEASE_INIT                                                       \
	}

HF_INLINE void hf_detail_spinlock_cas_prefetch_init(hf_spinlock_cas_prefetch_t *lock)
{
	hf_detail_spinlock_cas_release_init(&lock->lock);
}

HF_INLINE bool hf_detail_spinlock_cas_prefetch_trylock(hf_spinlock_cas_prefetch_t *lock)
{
	hf_atomic32_prefetch_store(&lock->lock.word);
	return hf_detail_spinlock_cas_release_trylock(&lock->lock);
}

HF_INLINE void hf_detail_spinlock_cas_prefetch_lock(hf_spinlock_cas_prefetch_t *lock,
						    enum hf_wait_policy policy)
{
	hf_atomic32_prefetch_store(&lock->lock.word);
	hf_detail_spinlock_cas_release_lock(&lock->lock, policy);
}

HF_INLINE bool hf_detail_spinlock_cas_prefetch_is_locked(const hf_spinlock_cas_prefetch_t *lock)
{
	return hf_detail_spinlock_cas_release_is_locked(&lock->lock);
}

HF_INLINE void hf_detail_spinlock_cas_prefetch_unlock(hf_spinlock_cas_prefetch_t *lock)
{
	hf_detail_spinlock_cas_release_unlock(&lock->lock);
}

/*
 * verbs.h makes hf_spinlock_cas_prefetch_init, hf_spinlock_cas_prefetch_lock,
 * hf_spinlock_cas_prefetch_trylock, hf_spinlock_cas_prefetch_is_locked,
 * hf_spinlock_cas_prefetch_unlock, hf_spinlock_cas_prefetch_lock_full,
 * hf_spinlock_cas_prefetch_unlock_full, hf_spinlock_cas_prefetch_lock_irqsave,
 * hf_spinlock_cas_prefetch_unlock_irqrestore, hf_spinlock_cas_prefetch_guard_begin,
 * hf_spinlock_cas_prefetch_guard_end,
 * hf_spinlock_cas_prefetch_unlock_in_child.
 */
#define HF_DETAIL_SPINLOCK cas_prefetch
#define HF_DETAIL_SPINLOCK_WAIT HF_ARCH_WAIT_LOCK_SWAP
#include "verbs.h"

#endif
