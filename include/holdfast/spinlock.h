/* SPDX-License-Identifier: MIT */
#ifndef HF_SPINLOCK_H
#define HF_SPINLOCK_H
#pragma GCC system_header
/*
 * spinlock - mutual exclusion for short sections.
 *
 * Use when / not when
 *   In kernels and on bare metal, where a holder keeps its processor, for sections of some ten to
 *   some hundred instructions. In user space take a mutex: a spinlock's waiters waste their time
 *   slices when there are more runnable threads than processors. Not around anything that blocks,
 *   allocates or does I/O. spinlock_ticket.h is strictly first come, first served, in 8 bytes.
 *
 * Operations
 *   lock, trylock, unlock    wait for it; take it only if it is free; release it
 *   lock_full, unlock_full   the same as full memory barriers
 *   init, is_locked          initialize it as free; does it have a holder?
 *   unlock_in_child          release it in the child of a fork, where HF_ENV_HAS_FORK
 *   lock_irqsave, ...        with interrupts masked, where HF_ENV_HAS_IRQ
 *
 * Guards
 *   C     HF_SPINLOCK_GUARD(&lock);              released where the enclosing block ends
 *   C++   hf::spinlock lock;                     lock_class.h
 *         hf::guard<hf::spinlock> hold(lock);    or std::lock_guard, std::scoped_lock
 *
 *   Under clang -Wthread-safety data that is HF_GUARDED_BY(lock) may be touched only while the lock
 *   is held, by a guard in C to the end of the function: a later lock() of it there is warned of.
 *
 * Example     examples/spinlock.c, examples/spinlock_guard.cpp
 * Validation  -DHF_VALIDATE=1 reports recursion, unlock by another thread, long holds: validate.h.
 *
 * State
 *   One 32-bit word; 0 = free. What a waiter does depends on the environment:
 *
 *   processors are owned   a queue: first come, first served with bounded barging. Kernel, bare
 *                          metal: internal/spinlock_queued.h has the states and their bounds
 *   threads are preempted  0 --lock--> 1 --unlock--> 0. Waiters read the word until it is 0, and
 *                          then compete for it: a queue would stop when its head is preempted. So
 *                          there is no bound on how often a waiter is passed over. Linux user space
 *
 * Invariants (where threads are preempted; the queue has its own)
 *   Only the holder, whose compare-and-swap made the word 1, stores 0: unlock need not be a
 *   read-modify-write. The word does not record waiters: so processes may share the lock, and the
 *   child of a fork, in which only the holder's thread exists, may unlock it.
 *   On AArch64 waiting by WFE loses no wake-up and needs no SEV: the load that found the word 1 has
 *   armed the monitor, and the store of 0 clears it, which ends WFE.
 *
 * Arguments   lock   initialized by HF_SPINLOCK_INIT, by init, or with all bytes 0
 *
 * Ordering    lock acquires and unlock releases, which is less than the full barrier that some
 *             systems document: an observer that does not take the lock can see a store from before
 *             the lock after a store from after the unlock. Where that matters use the _full forms.
 *
 * Source      docs/design/0004-queued-spinlock.md, docs/design/0041-one-spinlock.md. The small
 *             lock: "SeqRel" and "Litmus" of Zephyr's issue 32686, in one.
 */
#include "lock_class.h"
#include "internal/atomic.h"
#include "internal/profile.h"
#include "internal/wait.h"
#if !HF_ENV_HAS_PARK
#include "internal/spinlock_queued.h"
#endif

/* hf_spinlock_t - a spinlock */
typedef struct HF_CAPABILITY("spinlock") hf_spinlock {
	hf_atomic32_t word;
} hf_spinlock_t;

/* HF_SPINLOCK_INIT - a lock that is free: all bytes are 0 */
#define HF_SPINLOCK_INIT HF_DETAIL_INIT(0)

/* Take the lock if it is free and has no waiters. */
HF_INLINE bool hf_detail_spinlock_trylock(hf_spinlock_t *lock)
{
#if HF_ENV_HAS_PARK
	uint32_t unlocked = 0;

	return hf_atomic32_try_cmpxchg_acquire(&lock->word, &unlocked, 1);
#else
	return hf_detail_spinlock_queued_trylock(&lock->word);
#endif
}

/* Wait for a lock that was not free, and take it: one copy, out of line. */
HF_SLOW void hf_detail_spinlock_lock_slow(hf_spinlock_t *lock)
{
#if HF_ENV_HAS_PARK
	uint64_t start = hf_detail_profile_begin();

	if (HF_ARCH_WAIT_FREE_LOCK == HF_WAIT_MONITOR) {
		hf_atomic32_wait_zero_set_acquire(&lock->word);
	} else {
		hf_wait_t wait = HF_WAIT_INIT;

		do {
			while (hf_atomic32_load_relaxed(&lock->word))
				hf_wait_once(&wait, HF_ARCH_WAIT_FREE_LOCK);
		} while (!hf_detail_spinlock_trylock(lock));
	}
	hf_detail_profile_end(start, HF_DETAIL_PROFILE_SPINLOCK, lock, HF_DETAIL_SLOW_CALL_SITE);
#else
	hf_detail_spinlock_queued_slow(&lock->word, HF_ARCH_WAIT_QUEUE);
#endif
}

/**
 * hf_spinlock_init - initialize a lock as free
 *
 * Context:  before any other thread can see it
 * Ordering: none
 */
HF_INLINE void hf_spinlock_init(hf_spinlock_t *lock)
{
	HF_DETAIL_VALIDATE_INIT(lock);
	hf_atomic32_store_relaxed(&lock->word, 0);
}

/**
 * hf_spinlock_is_locked - does the lock have a holder or a waiter?
 *
 * Context:  any thread, any handler
 * Ordering: none; the answer may be stale
 * Return:   true = it has
 */
HF_INLINE bool hf_spinlock_is_locked(const hf_spinlock_t *lock)
{
	return hf_atomic32_load_relaxed(&lock->word) != 0;
}

/**
 * hf_spinlock_lock - wait until the lock is free, and take it
 *
 * Context:  any thread that does not hold it; a signal or interrupt handler only if it cannot have
 *           interrupted a holder of the same lock
 * Ordering: acquire
 * Errors:   under HF_VALIDATE a recursion is reported and granted; else it deadlocks
 */
HF_INLINE void hf_spinlock_lock(hf_spinlock_t *lock) HF_ACQUIRE(lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf_env_preempt_disable();
	if (!HF_DETAIL_VALIDATE_LOCK(lock, hf_spinlock_is_locked(lock)))
		return;
	if (HF_UNLIKELY(!hf_detail_spinlock_trylock(lock)))
		hf_detail_spinlock_lock_slow(lock);
	HF_DETAIL_VALIDATE_LOCKED(lock);
}

/**
 * hf_spinlock_trylock - take the lock if it is free and has no waiters
 *
 * Context:  any thread, any handler
 * Ordering: acquire if true; none if false
 * Return:   true = taken
 */
HF_INLINE HF_MUST_CHECK bool hf_spinlock_trylock(hf_spinlock_t *lock)
	HF_TRY_ACQUIRE(true, lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf_env_preempt_disable();
	if (hf_detail_spinlock_trylock(lock)) {
		HF_DETAIL_VALIDATE_LOCKED(lock);
		return true;
	}
	hf_env_preempt_enable();
	return false;
}

/**
 * hf_spinlock_unlock - release the lock
 *
 * Context:  the holder
 * Ordering: release
 * Errors:   under HF_VALIDATE reported, and nothing done, if this thread does not hold it
 */
HF_INLINE void hf_spinlock_unlock(hf_spinlock_t *lock) HF_RELEASE(lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	if (!HF_DETAIL_VALIDATE_UNLOCK(lock, hf_spinlock_is_locked(lock)))
		return;
#if HF_ENV_HAS_PARK
	hf_atomic32_store_release(&lock->word, 0); /* by the holder; on AArch64 it ends WFE */
#else
	hf_detail_spinlock_queued_unlock(&lock->word);
#endif
	hf_env_preempt_enable();
}

#if HF_ENV_HAS_FORK
/**
 * hf_spinlock_unlock_in_child - release, in the child of a fork, a lock that the parent took
 *
 * For pthread_atfork(). A lock that another thread of the parent held stays locked in the child:
 * hf_spinlock_init() frees it, if what it protects can be used at all.
 *
 * Context:  the thread that forked, and held the lock then
 * Ordering: none
 * Errors:   as hf_spinlock_unlock()
 */
HF_INLINE void hf_spinlock_unlock_in_child(hf_spinlock_t *lock) HF_RELEASE(lock)
{
	hf_spinlock_unlock(lock); /* the word has no waiters, who do not exist here */
}
#endif

/**
 * hf_spinlock_lock_full - lock, and a full memory barrier
 * hf_spinlock_unlock_full - unlock, and a full memory barrier
 *
 * Context:  as hf_spinlock_lock() and _unlock()
 * Ordering: full barrier: earlier accesses come before the lock or unlock and before all later ones
 */
HF_INLINE void hf_spinlock_lock_full(hf_spinlock_t *lock) HF_ACQUIRE(lock)
{
	hf_atomic_fence_seq_cst_at_rmw();
	hf_spinlock_lock(lock);
	hf_atomic_fence_seq_cst_at_rmw();
}

HF_INLINE void hf_spinlock_unlock_full(hf_spinlock_t *lock) HF_RELEASE(lock)
{
	hf_spinlock_unlock(lock);
	hf_atomic_fence_seq_cst();
}

#if HF_ENV_HAS_IRQ
/**
 * hf_spinlock_lock_irqsave - mask this core's interrupts, then lock
 * hf_spinlock_unlock_irqrestore - unlock, then restore this core's interrupts
 * @flags: what hf_spinlock_lock_irqsave() returned
 *
 * Context:  as hf_spinlock_lock() and _unlock(); handlers that take the lock mask them, too
 * Ordering: acquire; release
 * Return:   of lock_irqsave the flags
 */
HF_INLINE unsigned long hf_spinlock_lock_irqsave(hf_spinlock_t *lock) HF_ACQUIRE(lock)
{
	unsigned long flags = hf_env_irq_save();

	hf_spinlock_lock(lock);
	return flags;
}

HF_INLINE void hf_spinlock_unlock_irqrestore(hf_spinlock_t *lock, unsigned long flags)
	HF_RELEASE(lock)
{
	hf_spinlock_unlock(lock);
	hf_env_irq_restore(flags);
}
#endif

HF_DETAIL_GUARD_FUNCTIONS(hf_detail_spinlock_guard, hf_spinlock_t, hf_spinlock_lock,
			  hf_spinlock_unlock, HF_ASSERT_HELD)

/* HF_SPINLOCK_GUARD - hold a lock to the end of this block, however it is left. Not longjmp. */
#define HF_SPINLOCK_GUARD(lock) HF_DETAIL_GUARD(hf_spinlock_t, hf_detail_spinlock_guard, lock)

#ifdef __cplusplus
HF_BEGIN_CXX
struct hf_detail_spinlock_functions {
	static constexpr auto lock = hf_spinlock_lock;
	static constexpr auto trylock = hf_spinlock_trylock;
	static constexpr auto unlock = hf_spinlock_unlock;
};

/* For std::lock_guard, std::unique_lock and std::scoped_lock. */
class HF_CAPABILITY("spinlock") spinlock
	: public ::hf::lockable<hf_spinlock_t, hf_detail_spinlock_functions> {
public:
#if HF_ENV_HAS_FORK
	void unlock_in_child() noexcept HF_RELEASE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_spinlock_unlock_in_child(&raw_);
	}
#endif
	bool is_locked() const noexcept
	{
		return hf_spinlock_is_locked(&raw_);
	}
};
HF_END_CXX
#endif

#endif
