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
#include "word.h"

HF_LAB_WORD_TYPE(cas_prefetch)
#define HF_SPINLOCK_CAS_PREFETCH_INIT HF_LAB_WORD_INIT

/* Brings the line of *p to this core, to be written. Models and simulator have their own. */
#ifndef HF_ATOMIC_HEADER
HF_INLINE void hf_atomic32_prefetch_store(const hf_atomic32_t *p)
{
#ifdef __x86_64__
	__asm__ volatile("prefetchw %0" ::"m"(*(const char *)p)); /* the builtin needs an option */
#else
	__builtin_prefetch(p, 1, 3);
#endif
}
#endif

HF_INLINE bool hf_detail_spinlock_cas_prefetch_trylock(hf_spinlock_cas_prefetch_t *lock)
{
	uint32_t unlocked = 0;

	hf_atomic32_prefetch_store(&lock->word);
	return hf_atomic32_try_cmpxchg_acquire(&lock->word, &unlocked, 1); /* I2 */
}

HF_LAB_LOCK_RETRY(cas_prefetch)
HF_LAB_LOCK_BY(cas_prefetch, HF_ARCH_WAIT_LOCK_SWAP)

HF_INLINE void hf_spinlock_cas_prefetch_unlock(hf_spinlock_cas_prefetch_t *lock)
{
	hf_atomic32_store_release(&lock->word, 0); /* I1, I2 */
	hf_env_preempt_enable();
}

#endif
