/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_SPINLOCK_QUEUED_H
#define HF_LAB_SPINLOCK_QUEUED_H
/*
 * queued - the lock that hf_spinlock_t is outside user space (kernels, bare metal), under its own
 * name, so that user space can use it too.
 *
 * Use when / not when
 *   In user space only with a processor for each thread: a queue stalls when its head is preempted.
 *
 * Needs hf_env_node_get(), hf_env_node_put() and hf_env_node(), as bare metal and kernels have them
 * (holdfast/internal/node.h); in user space user_nodes.h and user_nodes.c of this folder.
 *
 * State, Invariants, Ordering, Source  holdfast/internal/spinlock_queued.h
 */
#include "word.h"
#if HF_ENV_HAS_PARK && !defined(HF_ENV_HAS_NODES)
#include "user_nodes.h"
#endif
#include "holdfast/internal/spinlock_queued.h"

HF_LAB_WORD_TYPE(queued)
#define HF_SPINLOCK_QUEUED_INIT HF_LAB_WORD_INIT

/* The slow path with the default policy, out of line so that there is one copy. */
HF_SLOW void hf_detail_spinlock_queued_lock_slow(hf_spinlock_queued_t *lock)
{
	hf_detail_spinlock_queued_slow(&lock->word, HF_ARCH_WAIT_QUEUE);
}

HF_INLINE void hf_detail_spinlock_queued_lock(hf_spinlock_queued_t *lock,
					      enum hf_wait_policy policy)
{
	if (HF_LIKELY(hf_detail_spinlock_queued_trylock(&lock->word)))
		return;
	if (policy == HF_ARCH_WAIT_QUEUE)
		hf_detail_spinlock_queued_lock_slow(lock);
	else
		hf_detail_spinlock_queued_slow(&lock->word, policy);
}

HF_INLINE void hf_spinlock_queued_lock(hf_spinlock_queued_t *lock)
{
	hf_env_preempt_disable();
	hf_detail_spinlock_queued_lock(lock, HF_ARCH_WAIT_QUEUE);
}

HF_INLINE HF_MUST_CHECK bool hf_spinlock_queued_trylock(hf_spinlock_queued_t *lock)
{
	hf_env_preempt_disable();
	if (hf_detail_spinlock_queued_trylock(&lock->word))
		return true;
	hf_env_preempt_enable();
	return false;
}

HF_INLINE void hf_spinlock_queued_unlock(hf_spinlock_queued_t *lock)
{
	hf_detail_spinlock_queued_unlock(&lock->word);
	hf_env_preempt_enable();
}

#endif
