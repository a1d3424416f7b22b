/* SPDX-License-Identifier: MIT */
#ifndef HF_SPINLOCK_TICKET_H
#define HF_SPINLOCK_TICKET_H
#pragma GCC system_header
/*
 * ticket - take a number, wait until it is served.
 *
 * Use when / not when
 *   Strict first-come-first-served for a handful of cores that are not preempted. Not for many
 *   waiters (all look at one line), and not with more threads than cores: while the next waiter is
 *   descheduled, all others wait for the scheduler.
 *
 * State
 *   next: the number that the next thread to come will get; serving: the number that holds the
 *   lock.
 *
 *     serving == next             free
 *     serving == my number        held by this thread
 *     next - serving - 1          waiters, behind the holder
 *
 *   Two words and not two halves of one, so that each access has the size of the one before it: a
 *   processor may have to wait for a narrower store to leave the store buffer before it can do a
 *   wider read-modify-write of the same word (docs/design/0004-queued-spinlock.md has the cost).
 *
 * Invariants
 *   I1  only the holder writes serving.
 *   I2  numbers wrap around at 2^32; there are never 2^32 waiters.
 *
 * Ordering  lock acquire (the load that sees my number), unlock release (the store that serves it).
 */
#include "../validate.h"
#include "../internal/wait.h"
#include "../internal/atomic.h"

typedef struct HF_CAPABILITY("spinlock") hf_spinlock_ticket {
	hf_atomic32_t next;
	hf_atomic32_t serving;
} hf_spinlock_ticket_t;

#define HF_SPINLOCK_TICKET_INIT                                                                    \
	{                                                                                          \
		HF_ATOMIC_INIT(0), HF_ATOMIC_INIT(0)                                               \
	}

HF_INLINE void hf_detail_spinlock_ticket_init(hf_spinlock_ticket_t *lock)
{
	hf_atomic32_store_relaxed(&lock->next, 0);
	hf_atomic32_store_relaxed(&lock->serving, 0);
}

HF_INLINE void hf_detail_spinlock_ticket_lock(hf_spinlock_ticket_t *lock,
					      enum hf_wait_policy policy)
{
	hf_wait_t wait = HF_WAIT_INIT;
	uint32_t mine = hf_atomic32_fetch_add_relaxed(&lock->next, 1);
	uint32_t serving = hf_atomic32_load_acquire(&lock->serving);

	if (HF_LIKELY(serving == mine))
		return;
	while (serving != mine) {
		if (policy == HF_WAIT_MONITOR) {
			serving = hf_atomic32_wait_change_acquire(&lock->serving, serving);
		} else {
			hf_wait_once(&wait, policy);
			serving = hf_atomic32_load_acquire(&lock->serving);
		}
	}
}

HF_INLINE bool hf_detail_spinlock_ticket_trylock(hf_spinlock_ticket_t *lock)
{
	uint32_t serving = hf_atomic32_load_acquire(&lock->serving);

	/* Free means next == serving, so the number that is taken here is served already. */
	return hf_atomic32_try_cmpxchg_relaxed(&lock->next, &serving, serving + 1);
}

HF_INLINE bool hf_detail_spinlock_ticket_is_locked(const hf_spinlock_ticket_t *lock)
{
	return hf_atomic32_load_relaxed(&lock->serving) != hf_atomic32_load_relaxed(&lock->next);
}

HF_INLINE void hf_detail_spinlock_ticket_unlock(hf_spinlock_ticket_t *lock)
{
	uint32_t serving = hf_atomic32_load_relaxed(&lock->serving); /* I1 */

	hf_atomic32_store_release(&lock->serving, serving + 1);
}

/*
 * verbs.h makes hf_spinlock_ticket_init, hf_spinlock_ticket_lock, hf_spinlock_ticket_trylock,
 * hf_spinlock_ticket_is_locked, hf_spinlock_ticket_unlock, hf_spinlock_ticket_lock_full,
 * hf_spinlock_ticket_unlock_full, hf_spinlock_ticket_lock_irqsave,
 * hf_spinlock_ticket_unlock_irqrestore, hf_spinlock_ticket_guard_begin,
 * hf_spinlock_ticket_guard_end,
 * hf_spinlock_ticket_unlock_in_child.
 */
#define HF_DETAIL_SPINLOCK ticket
#define HF_DETAIL_SPINLOCK_WAIT HF_ARCH_WAIT_MY_TURN
#include "verbs.h"

#endif
