/* SPDX-License-Identifier: MIT */
#ifndef HF_LOCKREF_H
#define HF_LOCKREF_H
#pragma GCC system_header
/*
 * lockref - a lock and a count of references in one 64-bit word.
 *
 * Use when / not when
 *   For objects whose lock and count belong together: looked up without the lock, taken out of a
 *   structure under it, where the last put must decide under the lock whether the object dies. Not
 *   where a refcount is enough: its get and put do not loop. Where memory outlives a put (RCU,
 *   type-stable memory) and many cores use one object, take lockref/waitfree.h first: up to 10
 *   times as fast with 28 threads, and 26 with 128, simulated (docs/design/0027).
 *
 * Verbs
 *   get, get_not_zero, get_not_dead   one more reference; unless there is none; unless it is dead
 *   put_or_lock, put_return           one less; put_or_lock false = it is the last, and the lock is
 *                                     held. init, read and is_dead besides
 *   lock, trylock, unlock             the lock half; its holder may mark_dead and set_count
 *
 * Example  examples/lockref.c
 * C++      lockref_counted.h has hf::lockref, and pointers that own a reference.
 *
 * Under clang -Wthread-safety the lock half is a capability, the lockref's own: put_or_lock takes it
 * where it returns false, mark_dead and set_count require it. Of the count the analysis knows nothing.
 *
 * The family   name        a count is changed by
 *              unbounded   a swap, retried until it succeeds or the lock is held
 *              bounded     a swap, retried HF_LOCKREF_RETRIES times (100); then the lock
 *              locked      the lock
 *
 *   Each has its own header (lockref/<name>.h) and verbs (hf_lockref_<name>_get, ...) on the same
 *   type. This header gives the default the short names: HF_LOCKREF_DEFAULT, bounded unless
 *   defined.
 *
 *   The lock half is a mutex where threads can park (user space): its waiters park, however long
 *   the holder needs. Elsewhere it is a queued spinlock. HF_LOCKREF_LOCK chooses: lockref/lock.h.
 *
 *   lockref/waitfree.h, whose get and put are one add each, is another type with another contract.
 *
 * Misuse                          report                        value after
 *   get past INT32_MAX            HF_REPORT_LOCKREF_OVF         INT32_MAX for ever: it leaks
 *   get on a dead object          HF_REPORT_LOCKREF_DEAD        unchanged
 *   mark_dead without the lock    HF_REPORT_LOCKREF_UNLOCKED    unchanged
 *
 * Arguments  l   the lockref
 *
 * Ordering
 *   operation                     order
 *   init, read, is_dead           none
 *   get, get_not_zero,            none (a control dependency on true); acquire and release where
 *     get_not_dead                  the lock had to be taken
 *   put_return                    release; to free on 0, fence or take the lock first
 *   put_or_lock                   release if true; acquire if false (the lock is held)
 *   lock, unlock                  acquire, release
 *   mark_dead                     none (the lock is held)
 *
 * State (lockref/core.h)
 *      63                         32 31                          0
 *     |        count, signed        |      a lock (lock.h)        |
 *
 *   While the lock half is 0 the count changes by one compare-and-swap of the word; else under the
 *   lock. Negative = dead.
 *
 *              get_not_dead                     put_or_lock, true
 *          .------------------.                .------------------.
 *          v                  |                v                  |
 *     count 0 <--under the lock-- count 1 <----------------- count 2, 3, ...
 *          |                          |
 *          '------ mark_dead ---------'--> dead (-128)   (under the lock)
 *
 * Source   LKML 2019, "Disable lockref on arm64"; docs/design/0006-lockref.md
 */
#include "lockref/bounded.h"
#include "lockref/locked.h"
#include "lockref/unbounded.h"
#include "lockref/waitfree.h"

/*
 * HF_LOCKREF_ROSTER - X(name, swaps) for each of the family, and for nothing else.
 *
 *   name    as in hf_lockref_<name>_get
 *   swaps   1 = a count is changed by a swap of the word where it can be; 0 = always under the lock
 *
 * waitfree has another contract, so other names and another type: it is not of the family.
 * Tests, lab and ports are made from it; programs may use it too. A new implementation is a row
 * here.
 */
#define HF_LOCKREF_ROSTER(X)                                                                       \
	X(unbounded, 1)                                                                            \
	X(bounded, 1)                                                                              \
	X(locked, 0)

/* The one with the short names. */
#ifndef HF_LOCKREF_DEFAULT
#define HF_LOCKREF_DEFAULT bounded
#endif
/* Is it waitfree? The first of these names is never evaluated, so that -Wundef is content. */
#define HF_DETAIL_LOCKREF_IS_waitfree 0, 1
#define HF_DETAIL_LOCKREF_SECOND(name, is, ...) is
#define HF_DETAIL_LOCKREF_IS(...) HF_DETAIL_LOCKREF_SECOND(__VA_ARGS__, 0, 0)
#if HF_DETAIL_LOCKREF_IS(HF_DETAIL_PASTE(HF_DETAIL_LOCKREF_IS_, HF_LOCKREF_DEFAULT))
#error "HF_LOCKREF_DEFAULT=waitfree: it is a type of its own, see lockref/waitfree.h"
#endif
#define HF_DETAIL_LOCKREF_DEFAULT(verb) HF_DETAIL_PASTE4(hf_lockref_, HF_LOCKREF_DEFAULT, _, verb)

/**
 * hf_lockref_init - a free lock and the first references
 * @count: 0 to INT32_MAX
 *
 * Context:  before any other thread can see the object
 * Ordering: none
 */
HF_INLINE void hf_lockref_init(hf_lockref_t *l, int32_t count)
{
	HF_DETAIL_VALIDATE_FORGET(hf_detail_lockref_lock(l));
	hf_atomic64_store_relaxed(&l->word, (uint64_t)(uint32_t)count << 32);
}

/**
 * hf_lockref_read - the count
 *
 * Context:  any
 * Ordering: none; the answer may be stale, unless the lock is held
 * Return:   0 to INT32_MAX; negative = dead
 */
HF_INLINE int32_t hf_lockref_read(const hf_lockref_t *l)
{
	return hf_detail_lockref_count(hf_atomic64_load_relaxed(&l->word));
}

/**
 * hf_lockref_lock - take the lock half; the count then changes only through its holder
 *
 * Context:  as hf_mutex_lock() or hf_spinlock_lock(), whichever the lock half is
 * Ordering: acquire
 */
HF_INLINE void hf_lockref_lock(hf_lockref_t *l) HF_ACQUIRE(l) HF_NO_THREAD_SAFETY_ANALYSIS
{
	HF_DETAIL_LOCKREF_LOCK(lock)(hf_detail_lockref_lock(l));
}

/**
 * hf_lockref_trylock - take the lock half if it is free and has no waiters
 *
 * Context:  as hf_mutex_trylock() or hf_spinlock_trylock()
 * Ordering: acquire if true; none if false
 * Return:   true = taken
 */
HF_INLINE HF_MUST_CHECK bool hf_lockref_trylock(hf_lockref_t *l)
	HF_TRY_ACQUIRE(true, l) HF_NO_THREAD_SAFETY_ANALYSIS
{
	return HF_DETAIL_LOCKREF_LOCK(trylock)(hf_detail_lockref_lock(l));
}

/**
 * hf_lockref_unlock - release the lock half
 *
 * Context:  the holder
 * Ordering: release
 */
HF_INLINE void hf_lockref_unlock(hf_lockref_t *l) HF_RELEASE(l) HF_NO_THREAD_SAFETY_ANALYSIS
{
	HF_DETAIL_LOCKREF_LOCK(unlock)(hf_detail_lockref_lock(l));
}

/**
 * hf_lockref_set_count - store the count
 * @count: 0 to INT32_MAX
 *
 * Context:  the lock is held
 * Ordering: none
 */
HF_INLINE void hf_lockref_set_count(hf_lockref_t *l, int32_t count) HF_REQUIRES(l)
{
	hf_detail_lockref_set_count_locked(l, count);
}

/**
 * hf_lockref_get - one more reference
 *
 * Context:  the caller has a reference, or holds what keeps the object from dying
 * Ordering: none
 * Errors:   past INT32_MAX: pinned there, reported (LOCKREF_OVF); dead: reported (LOCKREF_DEAD)
 */
HF_INLINE void hf_lockref_get(hf_lockref_t *l)
{
	HF_DETAIL_LOCKREF_DEFAULT(get)(l);
}

/**
 * hf_lockref_get_not_zero - one more reference, unless there is none
 *
 * Context:  its memory is valid
 * Ordering: none, but a control dependency on true
 * Errors:   past INT32_MAX: pinned there, reported (LOCKREF_OVF), true
 * Return:   false = the count was 0 or dead, nothing done
 */
HF_INLINE HF_MUST_CHECK bool hf_lockref_get_not_zero(hf_lockref_t *l)
{
	return HF_DETAIL_LOCKREF_DEFAULT(get_not_zero)(l);
}

/**
 * hf_lockref_get_not_dead - one more reference, unless the object is dead; 0 is not dead
 *
 * Context:  its memory is valid
 * Ordering: none, but a control dependency on true
 * Errors:   past INT32_MAX: pinned there, reported (LOCKREF_OVF), true
 * Return:   false = dead, nothing done
 */
HF_INLINE HF_MUST_CHECK bool hf_lockref_get_not_dead(hf_lockref_t *l)
{
	return HF_DETAIL_LOCKREF_DEFAULT(get_not_dead)(l);
}

/**
 * hf_lockref_put_return - one reference less, if that can be done without the lock
 *
 * Context:  the caller has a reference, and does not hold the lock
 * Ordering: release
 * Return:   the count now, 0 included; -1 = nothing done: the count was 0 or dead, the lock
 *           is held, or the retries were exhausted. Then put_or_lock.
 */
HF_INLINE HF_MUST_CHECK int32_t hf_lockref_put_return(hf_lockref_t *l)
{
	return HF_DETAIL_LOCKREF_DEFAULT(put_return)(l);
}

/**
 * hf_lockref_put_or_lock - one reference less, unless it is the last
 *
 * Context:  the caller has a reference, and does not hold the lock
 * Ordering: release if true; acquire if false
 * Return:   true = done; false = the count is at most 1, nothing was dropped, the lock is held
 */
HF_INLINE HF_MUST_CHECK bool hf_lockref_put_or_lock(hf_lockref_t *l)
	HF_TRY_ACQUIRE(false, l) HF_NO_THREAD_SAFETY_ANALYSIS
{
	return HF_DETAIL_LOCKREF_DEFAULT(put_or_lock)(l);
}

/**
 * hf_lockref_mark_dead - from now on get_not_dead fails
 *
 * Context:  the lock is held
 * Ordering: none
 * Errors:   the lock is not held: reported (LOCKREF_UNLOCKED), nothing done
 */
HF_INLINE void hf_lockref_mark_dead(hf_lockref_t *l) HF_REQUIRES(l)
{
	if (HF_UNLIKELY(!HF_DETAIL_LOCKREF_LOCK(is_locked)(hf_detail_lockref_lock(l)))) {
		hf_report(HF_REPORT_LOCKREF_UNLOCKED, l);
		return;
	}
	hf_detail_lockref_set_count_locked(l, HF_LOCKREF_DEAD);
}

/**
 * hf_lockref_is_dead - has it been marked dead?
 *
 * Context:  any
 * Ordering: none; the answer may be stale, unless the lock is held
 * Return:   true = it has
 */
HF_INLINE bool hf_lockref_is_dead(const hf_lockref_t *l)
{
	return hf_lockref_read(l) < 0;
}

#endif
