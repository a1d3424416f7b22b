/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_SPINLOCK_MCS_H
#define HF_LAB_SPINLOCK_MCS_H
/*
 * mcs - a queue in which each waiter polls its own word.
 *
 * Use when / not when
 *   Strictly first come, first served, for many cores that do not preempt lock users; from about 24
 *   cores on the fastest, if they do other work between (docs/design/0026). Not with more threads
 *   than cores. A thread can hold about HF_NODES of these locks before it has to become anonymous.
 *
 * Needs hf_env_node_get(), hf_env_node_put() and hf_env_node(), as bare metal and kernels have them
 * (holdfast/internal/node.h); in user space user_nodes.h and user_nodes.c of this folder.
 *
 * State
 *   tail: index of the last node in the queue, the holder's if there are no waiters; 0 = free.
 *   owner: the holder's node; only the holder reads and writes it.
 *   ANONYMOUS: the index of a holder without a node (hf_env_node_get() returned 0). The link to its
 *   successor is in the lock.
 *
 *     tail ------------------------------------.
 *     owner ---> [holder] --next--> [waiter] --next--> [waiter]
 *                                    wait=1             wait=1
 *
 * Invariants
 *   I1  a node is in the queue from the exchange of tail until its unlock has handed the lock off.
 *   I2  only the predecessor clears a waiter's wait, and only after it has acquired the link that
 *       the waiter stored with release: so the waiter's wait = 1 comes before the predecessor's
 *       wait = 0.
 *   I3  an anonymous holder is the first of an empty queue, so there is never more than one, and
 *       one link in the lock is enough.
 *
 * Ordering  lock acquire (the exchange of an empty tail, or the load that sees wait = 0); unlock
 *           release (the compare-and-swap to an empty tail, or the store wait = 0).
 * Source    Mellor-Crummey and Scott, "Algorithms for scalable synchronization on shared-memory
 *           multiprocessors", 1991.
 */
#include "word.h"
#if HF_ENV_HAS_PARK && !defined(HF_ENV_HAS_NODES)
#include "user_nodes.h"
#endif
#include "holdfast/internal/node.h"

#define HF_DETAIL_MCS_ANONYMOUS 0xffffffffu

typedef struct hf_spinlock_mcs {
	hf_atomic32_t tail;
	hf_atomic32_t owner;
	hf_atomic32_t anonymous_next;
} hf_spinlock_mcs_t;

#define HF_SPINLOCK_MCS_INIT                                                                       \
	{                                                                                          \
		HF_ATOMIC_INIT(0), HF_ATOMIC_INIT(0), HF_ATOMIC_INIT(0)                            \
	}

HF_INLINE void hf_spinlock_mcs_init(hf_spinlock_mcs_t *lock)
{
	hf_atomic32_store_relaxed(&lock->tail, 0);
	hf_atomic32_store_relaxed(&lock->owner, 0);
	hf_atomic32_store_relaxed(&lock->anonymous_next, 0);
}

/* The link from the holder or waiter @index to its successor. */
HF_INLINE hf_atomic32_t *hf_detail_spinlock_mcs_next(hf_spinlock_mcs_t *lock, uint32_t index)
{
	return index == HF_DETAIL_MCS_ANONYMOUS ? &lock->anonymous_next : &hf_env_node(index)->next;
}

/* Without a node: waits for an empty queue and becomes its anonymous holder (I3). */
HF_SLOW void hf_detail_spinlock_mcs_lock_anonymous(hf_spinlock_mcs_t *lock)
{
	hf_wait_t wait = HF_WAIT_INIT;
	uint32_t empty = 0;

	while (!hf_atomic32_try_cmpxchg_acq_rel(&lock->tail, &empty, HF_DETAIL_MCS_ANONYMOUS)) {
		hf_wait_once(&wait, HF_WAIT_BACKOFF);
		empty = 0;
	}
	hf_atomic32_store_relaxed(&lock->owner, HF_DETAIL_MCS_ANONYMOUS);
}

HF_INLINE void hf_detail_spinlock_mcs_lock(hf_spinlock_mcs_t *lock, enum hf_wait_policy policy)
{
	hf_wait_t wait = HF_WAIT_INIT;
	uint32_t index = hf_env_node_get();
	uint32_t before;
	hf_node_t *node;

	if (HF_UNLIKELY(!index)) {
		hf_detail_spinlock_mcs_lock_anonymous(lock);
		return;
	}
	node = hf_env_node(index);
	hf_atomic32_store_relaxed(&node->next, 0);
	hf_atomic32_store_relaxed(&node->wait, 1);
	before = hf_atomic32_xchg_acq_rel(&lock->tail, index); /* release: the node's two stores */
	if (HF_UNLIKELY(before)) {
		hf_atomic32_store_release(hf_detail_spinlock_mcs_next(lock, before),
					  index); /* I2 */
		while (hf_atomic32_load_acquire(&node->wait)) {
			if (policy == HF_WAIT_MONITOR)
				(void)hf_atomic32_wait_change_acquire(&node->wait, 1);
			else
				hf_wait_once(&wait, policy);
		}
	}
	hf_atomic32_store_relaxed(&lock->owner, index);
}

HF_INLINE bool hf_detail_spinlock_mcs_trylock(hf_spinlock_mcs_t *lock)
{
	uint32_t empty = 0;
	uint32_t index;

	if (hf_atomic32_load_relaxed(&lock->tail))
		return false;
	index = hf_env_node_get();
	if (HF_LIKELY(index))
		hf_atomic32_store_relaxed(&hf_env_node(index)->next, 0);
	else
		index = HF_DETAIL_MCS_ANONYMOUS;
	if (!hf_atomic32_try_cmpxchg_acq_rel(&lock->tail, &empty, index)) {
		if (index != HF_DETAIL_MCS_ANONYMOUS)
			hf_env_node_put(index);
		return false;
	}
	hf_atomic32_store_relaxed(&lock->owner, index);
	return true;
}

HF_INLINE bool hf_spinlock_mcs_is_locked(const hf_spinlock_mcs_t *lock)
{
	return hf_atomic32_load_relaxed(&lock->tail) != 0;
}

/* Hands the lock off to @next, and releases the node @index. */
HF_INLINE void hf_detail_spinlock_mcs_hand_off(hf_spinlock_mcs_t *lock, uint32_t index,
					       uint32_t next)
{
	/* Clears the link in the lock for the next anonymous holder. */
	if (index == HF_DETAIL_MCS_ANONYMOUS)
		hf_atomic32_store_relaxed(&lock->anonymous_next, 0);
	hf_atomic32_store_release(&hf_env_node(next)->wait, 0); /* I2 */
	if (index != HF_DETAIL_MCS_ANONYMOUS)
		hf_env_node_put(index); /* I1 */
}

/* Another thread has exchanged tail; waits until it has linked itself. */
HF_SLOW void hf_detail_spinlock_mcs_unlock_slow(hf_spinlock_mcs_t *lock, uint32_t index)
{
	hf_atomic32_t *link = hf_detail_spinlock_mcs_next(lock, index);
	hf_wait_t wait = HF_WAIT_INIT;
	uint32_t next;

	while (!(next = hf_atomic32_load_acquire(link))) /* I2 */
		hf_wait_once(&wait, HF_WAIT_HINT);
	hf_detail_spinlock_mcs_hand_off(lock, index, next);
}

HF_INLINE void hf_spinlock_mcs_unlock(hf_spinlock_mcs_t *lock)
{
	uint32_t index = hf_atomic32_load_relaxed(&lock->owner);
	uint32_t next = hf_atomic32_load_acquire(hf_detail_spinlock_mcs_next(lock, index)); /* I2 */
	uint32_t mine = index;

	if (next)
		hf_detail_spinlock_mcs_hand_off(lock, index, next);
	else if (!hf_atomic32_try_cmpxchg_release(&lock->tail, &mine, 0))
		hf_detail_spinlock_mcs_unlock_slow(lock, index);
	else if (index != HF_DETAIL_MCS_ANONYMOUS)
		hf_env_node_put(index); /* I1 */
	hf_env_preempt_enable();
}

HF_LAB_LOCK_BY(mcs, HF_ARCH_WAIT_MY_NODE)

#endif
