/* SPDX-License-Identifier: MIT */
#ifndef HF_SPINLOCK_H
#define HF_SPINLOCK_H
#pragma GCC system_header
/*
 * spinlock - mutual exclusion for short sections.
 *
 * Use when / not when
 *   Not when there may be more runnable threads than processors: waiters burn their time slices,
 *   and a queue stalls while its head is descheduled. Take a mutex then. Not around anything that
 *   blocks, allocates or does I/O. Use it for sections of some ten to some hundred instructions, by
 *   threads that have a processor each; in kernels and on bare metal.
 *
 * Verbs
 *   lock, trylock, unlock    wait for it; take it only if it is free; release it
 *   lock_full, unlock_full   the same as full memory barriers; init and is_locked besides
 *   unlock_in_child          release it in the child of a fork, where HF_ENV_HAS_FORK
 *   lock_irqsave, ...        with interrupts masked, where HF_ENV_HAS_IRQ
 *
 * Guards
 *   C     HF_SPINLOCK_GUARD(&lock);              released where the enclosing block ends
 *   C++   hf::spinlock lock;
 *         hf::guard<hf::spinlock> hold(lock);     guard.h; or std::lock_guard, std::scoped_lock
 *
 *   Under clang -Wthread-safety data that is HF_GUARDED_BY(lock) may be touched only while it is
 *   held. That analysis does not see where a guard in C ends: it takes the lock for held to the end
 *   of the function, and objects to a lock() of the same lock that comes after it there.
 *
 * Example     examples/spinlock.c, examples/spinlock_guard.cpp
 * Validation  -DHF_VALIDATE=1 reports recursion, unlock by another thread, long holds: validate.h.
 *
 * The family      name            bytes  order of service         waits at
 *                 cas             4      any                      the word, writing
 *                 cas_release     4      any                      the word, writing
 *                 cas_prefetch    4      any                      the word, writing
 *                 wfe             4      any                      the word, reading (WFE)
 *                 ticket          8      first come               the word, reading
 *                 mcs             12     first come               an own node
 *                 queued          4      first come, bounded      the word (the next waiter),
 *                                        barging                  an own node
 *
 *   Each has its own header (spinlock/<name>.h), type (hf_spinlock_<name>_t), initialiser
 *   (HF_SPINLOCK_<NAME>_INIT), verbs (hf_spinlock_<name>_lock, ...), C++ class
 *   (hf::spinlock_<name>). This header gives the default the short names: HF_SPINLOCK_DEFAULT,
 *   queued unless defined.
 *
 * Arguments   lock   all bytes 0, HF_SPINLOCK_INIT or init have made it
 *
 * Ordering
 *   operation                order
 *   init, is_locked          none
 *   lock                     acquire
 *   trylock                  acquire if true, none if false
 *   unlock                   release
 *   unlock_in_child          none: there is one thread
 *   lock_full, unlock_full   full barrier: nothing moves across in either direction
 *
 *   Acquire and release are less than what some systems document for their locks (a full barrier):
 *   an observer that does not take the lock can see a store from before the lock after a store from
 *   after the unlock. Code that relies on more takes the _full forms.
 *
 * Source      docs/design/0004-queued-spinlock.md, docs/design/0005-waiting.md
 */
#include "internal/guard.h"
#include "spinlock/cas.h"
#include "spinlock/cas_prefetch.h"
#include "spinlock/cas_release.h"
#include "spinlock/mcs.h"
#include "spinlock/queued.h"
#include "spinlock/ticket.h"
#include "spinlock/wfe.h"

/*
 * HF_SPINLOCK_ROSTER - X(name, NAME, bytes, nodes) for each of the family, and for nothing else.
 *
 *   name, NAME   as in hf_spinlock_<name>_lock, HF_SPINLOCK_<NAME>_INIT
 *   bytes        sizeof(hf_spinlock_<name>_t)
 *   nodes        1 = a waiter needs a queue node (hf_env_node_get()); else 0
 *
 * Tests, lab and ports are made from it; programs may use it too. A new lock is a row here.
 */
#define HF_SPINLOCK_ROSTER(X)                                                                      \
	X(cas, CAS, 4, 0)                                                                          \
	X(cas_release, CAS_RELEASE, 4, 0)                                                          \
	X(cas_prefetch, CAS_PREFETCH, 4, 0)                                                        \
	X(wfe, WFE, 4, 0)                                                                          \
	X(ticket, TICKET, 8, 0)                                                                    \
	X(mcs, MCS, 12, 1)                                                                         \
	X(queued, QUEUED, 4, 1)

/* The one with the short names. */
#ifndef HF_SPINLOCK_DEFAULT
#define HF_SPINLOCK_DEFAULT queued
#endif
#define HF_DETAIL_SPINLOCK_DEFAULT(verb)                                                           \
	HF_DETAIL_PASTE4(hf_spinlock_, HF_SPINLOCK_DEFAULT, _, verb)

/* hf_spinlock_t, hf_spinlock_<name>_t - a spinlock; of one implementation */
typedef HF_DETAIL_SPINLOCK_DEFAULT(t) hf_spinlock_t;

/* HF_SPINLOCK_INIT, HF_SPINLOCK_<NAME>_INIT - a lock that is free: all bytes are 0 */
#ifdef __cplusplus
#define HF_SPINLOCK_INIT                                                                           \
	{                                                                                          \
	}
#else
#define HF_SPINLOCK_INIT                                                                           \
	{                                                                                          \
		0                                                                                  \
	}
#endif

/**
 * hf_spinlock_init - make a lock that is free
 *
 * Context:  before any other thread can see it
 * Ordering: none
 */
HF_INLINE void hf_spinlock_init(hf_spinlock_t *lock)
{
	HF_DETAIL_SPINLOCK_DEFAULT(init)(lock);
}

/**
 * hf_spinlock_lock - wait until the lock is free, and take it
 *
 * Context:  any thread that does not hold it; a signal or interrupt handler only if it cannot have
 *           interrupted a holder of the same lock
 * Ordering: acquire
 * Errors:   under HF_VALIDATE a recursion is reported and granted; else it deadlocks
 */
HF_INLINE void hf_spinlock_lock(hf_spinlock_t *lock) HF_ACQUIRE(lock)
{
	HF_DETAIL_SPINLOCK_DEFAULT(lock)(lock);
}

/**
 * hf_spinlock_trylock - take the lock if it is free and has no waiters
 *
 * Context:  any thread, any handler
 * Ordering: acquire if true; none if false
 * Return:   true = taken
 */
HF_INLINE HF_MUST_CHECK bool hf_spinlock_trylock(hf_spinlock_t *lock) HF_TRY_ACQUIRE(true, lock)
{
	return HF_DETAIL_SPINLOCK_DEFAULT(trylock)(lock);
}

/**
 * hf_spinlock_unlock - release the lock
 *
 * Context:  the holder
 * Ordering: release
 * Errors:   under HF_VALIDATE reported, and nothing done, if this thread does not hold it
 */
HF_INLINE void hf_spinlock_unlock(hf_spinlock_t *lock) HF_RELEASE(lock)
{
	HF_DETAIL_SPINLOCK_DEFAULT(unlock)(lock);
}

#if HF_ENV_HAS_FORK
/**
 * hf_spinlock_unlock_in_child - release a lock in the child of a fork, where its waiters are not
 *
 * For pthread_atfork(): lock before the fork, unlock in the parent, and this in the child.
 *
 * Context:  the thread that forked, and held the lock then; before the child uses the lock otherwise
 * Ordering: none
 * Errors:   as hf_spinlock_unlock()
 */
HF_INLINE void hf_spinlock_unlock_in_child(hf_spinlock_t *lock) HF_RELEASE(lock)
{
	HF_DETAIL_SPINLOCK_DEFAULT(unlock_in_child)(lock);
}
#endif

/**
 * hf_spinlock_is_locked - is there a holder, or a waiter?
 *
 * Context:  any thread, any handler
 * Ordering: none; the answer may be stale
 * Return:   true = there is
 */
HF_INLINE bool hf_spinlock_is_locked(const hf_spinlock_t *lock)
{
	return HF_DETAIL_SPINLOCK_DEFAULT(is_locked)(lock);
}

/**
 * hf_spinlock_lock_full - lock, and a full memory barrier
 *
 * Context:  as hf_spinlock_lock()
 * Ordering: full barrier: what was before it comes before the lock and all that follows
 */
HF_INLINE void hf_spinlock_lock_full(hf_spinlock_t *lock) HF_ACQUIRE(lock)
{
	HF_DETAIL_SPINLOCK_DEFAULT(lock_full)(lock);
}

/**
 * hf_spinlock_unlock_full - unlock, and a full memory barrier
 *
 * Context:  as hf_spinlock_unlock()
 * Ordering: full barrier: all that was before comes before whatever follows it
 */
HF_INLINE void hf_spinlock_unlock_full(hf_spinlock_t *lock) HF_RELEASE(lock)
{
	HF_DETAIL_SPINLOCK_DEFAULT(unlock_full)(lock);
}

#if HF_ENV_HAS_IRQ
/**
 * hf_spinlock_lock_irqsave - mask this core's interrupts, then lock
 *
 * Context:  any that does not hold it; handlers that take it mask them, too
 * Ordering: acquire
 * Return:   for hf_spinlock_unlock_irqrestore()
 */
HF_INLINE unsigned long hf_spinlock_lock_irqsave(hf_spinlock_t *lock) HF_ACQUIRE(lock)
{
	return HF_DETAIL_SPINLOCK_DEFAULT(lock_irqsave)(lock);
}

/**
 * hf_spinlock_unlock_irqrestore - unlock, then leave interrupts as they were
 * @flags: what hf_spinlock_lock_irqsave() returned
 *
 * Context:  the holder
 * Ordering: release
 */
HF_INLINE void hf_spinlock_unlock_irqrestore(hf_spinlock_t *lock, unsigned long flags)
	HF_RELEASE(lock)
{
	HF_DETAIL_SPINLOCK_DEFAULT(unlock_irqrestore)(lock, flags);
}
#endif

/**
 * hf_spinlock_<name>_guard_begin - what HF_SPINLOCK_GUARD_OF() begins with: lock
 * hf_spinlock_<name>_guard_end - and ends with: unlock
 * @guard: what guard_begin returned
 *
 * Context:  as hf_spinlock_lock(), hf_spinlock_unlock()
 * Ordering: acquire; release
 * Return:   guard_begin: the lock
 */

/*
 * HF_SPINLOCK_GUARD_OF - hold a lock of the named implementation to the end of this block
 * @name: of the implementation, as in HF_SPINLOCK_ROSTER
 */
#define HF_SPINLOCK_GUARD_OF(name, lock)                                                           \
	HF_DETAIL_PASTE4(hf_spinlock_, name, _, t)                                                 \
	*HF_DETAIL_UNIQUE(hf_detail_guard_) __attribute__((                                        \
		cleanup(HF_DETAIL_PASTE4(hf_spinlock_, name, _, guard_end)), unused)) =            \
		HF_DETAIL_PASTE4(hf_spinlock_, name, _, guard_begin)(lock)

/* HF_SPINLOCK_GUARD - hold a lock to the end of this block, however it is left. Not longjmp. */
#define HF_SPINLOCK_GUARD(lock) HF_DETAIL_SPINLOCK_GUARD_OF(HF_SPINLOCK_DEFAULT, lock)
#define HF_DETAIL_SPINLOCK_GUARD_OF(name, lock) HF_SPINLOCK_GUARD_OF(name, lock)

#ifdef __cplusplus
HF_BEGIN_CXX
using spinlock = HF_DETAIL_PASTE(spinlock_, HF_SPINLOCK_DEFAULT);
HF_END_CXX
#endif

#endif
