/* SPDX-License-Identifier: MIT */
#ifndef HF_SPINLOCK_TICKET_H
#define HF_SPINLOCK_TICKET_H
#pragma GCC system_header
/*
 * spinlock_ticket - take a number, wait until it is served: strictly first come, first served.
 *
 * Use when / not when
 *   Where waiters must get the lock in the order of arrival, with few processors and holders that
 *   are not preempted (kernel, bare metal, pinned threads). Not for many waiters: all read one
 *   cache line. Not with more threads than processors: while the next waiter is descheduled, all
 *   others wait too. Otherwise take spinlock.h, or in user space mutex.h.
 *
 * Operations  those of spinlock.h, without the _full forms and unlock_in_child. In C++
 *             hf::spinlock_ticket, for hf::guard and the guards of <mutex>.
 * Example     hf_spinlock_ticket_t lock = HF_SPINLOCK_TICKET_INIT;
 *             hf_spinlock_ticket_lock(&lock);
 *             hf_spinlock_ticket_unlock(&lock);
 * Validation  -DHF_VALIDATE=1, as for spinlock.h.
 * Fork        In the child the parent's waiters, which do not exist there, still have their
 *             numbers. So the thread that held the lock calls hf_spinlock_ticket_init() there.
 *
 * State
 *   next: the number that the next thread will take; serving: the number of the holder, who alone
 *   changes it. Numbers wrap around at 2^32; there are never 2^32 waiters.
 *
 *     serving == next             free
 *     serving == my number        held by this thread
 *     next - serving - 1          waiters, behind the holder
 *
 *   Two words and not two halves of one, so that each access has the size of the one before it: a
 *   wider read-modify-write may have to wait for a narrower store to leave the store buffer
 *   (docs/design/0004-queued-spinlock.md has the cost).
 *
 * Arguments   lock   initialized by HF_SPINLOCK_TICKET_INIT, by init, or with all bytes 0
 * Ordering    as in spinlock.h; lock acquires by the load that sees my number, and unlock releases
 *             by the store that serves the next one
 */
#include "lock_class.h"
#include "internal/atomic.h"
#include "internal/wait.h"

/* A spinlock that is first come, first served. */
typedef struct HF_CAPABILITY("spinlock") hf_spinlock_ticket {
	hf_atomic32_t next;
	hf_atomic32_t serving;
} hf_spinlock_ticket_t;

/* HF_SPINLOCK_TICKET_INIT - a lock that is free: all bytes are 0 */
#define HF_SPINLOCK_TICKET_INIT                                                                    \
	{                                                                                          \
		HF_ATOMIC_INIT(0), HF_ATOMIC_INIT(0)                                               \
	}

/* hf_spinlock_ticket_init - as hf_spinlock_init(), for this lock */
HF_INLINE void hf_spinlock_ticket_init(hf_spinlock_ticket_t *lock)
{
	HF_DETAIL_VALIDATE_INIT(lock);
	hf_atomic32_store_relaxed(&lock->next, 0);
	hf_atomic32_store_relaxed(&lock->serving, 0);
}

/* hf_spinlock_ticket_is_locked - as hf_spinlock_is_locked(), for this lock */
HF_INLINE bool hf_spinlock_ticket_is_locked(const hf_spinlock_ticket_t *lock)
{
	return hf_atomic32_load_relaxed(&lock->serving) != hf_atomic32_load_relaxed(&lock->next);
}

/* Take a number, and wait until it is served. The lab's sweep calls it with each policy. */
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

/* hf_spinlock_ticket_lock - as hf_spinlock_lock(); nor in a handler that interrupted a waiter */
HF_INLINE void hf_spinlock_ticket_lock(hf_spinlock_ticket_t *lock)
	HF_ACQUIRE(lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf_env_preempt_disable();
	if (!HF_DETAIL_VALIDATE_LOCK(lock, hf_spinlock_ticket_is_locked(lock)))
		return;
	hf_detail_spinlock_ticket_lock(lock, HF_ARCH_WAIT_MY_TURN);
	HF_DETAIL_VALIDATE_LOCKED(lock);
}

/* hf_spinlock_ticket_trylock - as hf_spinlock_trylock(), for this lock */
HF_INLINE HF_MUST_CHECK bool hf_spinlock_ticket_trylock(hf_spinlock_ticket_t *lock)
	HF_TRY_ACQUIRE(true, lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	uint32_t serving;

	hf_env_preempt_disable();
	serving = hf_atomic32_load_acquire(&lock->serving);
	/* The swap succeeds only on a free lock: the number that it takes is served already. */
	if (hf_atomic32_try_cmpxchg_relaxed(&lock->next, &serving, serving + 1)) {
		HF_DETAIL_VALIDATE_LOCKED(lock);
		return true;
	}
	hf_env_preempt_enable();
	return false;
}

/* hf_spinlock_ticket_unlock - as hf_spinlock_unlock(), for this lock */
HF_INLINE void hf_spinlock_ticket_unlock(hf_spinlock_ticket_t *lock)
	HF_RELEASE(lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	if (!HF_DETAIL_VALIDATE_UNLOCK(lock, hf_spinlock_ticket_is_locked(lock)))
		return;
	/* No read-modify-write: only the holder writes it. */
	hf_atomic32_store_release(&lock->serving, hf_atomic32_load_relaxed(&lock->serving) + 1);
	hf_env_preempt_enable();
}

#if HF_ENV_HAS_IRQ
/**
 * hf_spinlock_ticket_lock_irqsave - as hf_spinlock_lock_irqsave(), for this lock
 * hf_spinlock_ticket_unlock_irqrestore - as hf_spinlock_unlock_irqrestore(), for this lock
 * @flags: what hf_spinlock_ticket_lock_irqsave() returned
 */
HF_INLINE unsigned long hf_spinlock_ticket_lock_irqsave(hf_spinlock_ticket_t *lock) HF_ACQUIRE(lock)
{
	unsigned long flags = hf_env_irq_save();

	hf_spinlock_ticket_lock(lock);
	return flags;
}

HF_INLINE void hf_spinlock_ticket_unlock_irqrestore(hf_spinlock_ticket_t *lock, unsigned long flags)
	HF_RELEASE(lock)
{
	hf_spinlock_ticket_unlock(lock);
	hf_env_irq_restore(flags);
}
#endif

#ifdef __cplusplus
HF_BEGIN_CXX
struct hf_detail_spinlock_ticket_functions {
	static constexpr auto lock = hf_spinlock_ticket_lock;
	static constexpr auto trylock = hf_spinlock_ticket_trylock;
	static constexpr auto unlock = hf_spinlock_ticket_unlock;
};

/* For std::lock_guard, std::unique_lock and std::scoped_lock. */
class HF_CAPABILITY("spinlock") spinlock_ticket
	: public lockable<hf_spinlock_ticket_t, hf_detail_spinlock_ticket_functions> {
public:
	bool is_locked() const noexcept { return hf_spinlock_ticket_is_locked(&raw_); }
};
HF_END_CXX
#endif

#endif
