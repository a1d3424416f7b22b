/* SPDX-License-Identifier: MIT */
#ifndef HF_REFCOUNT_LOCK_H
#define HF_REFCOUNT_LOCK_H
#pragma GCC system_header
/*
 * refcount_lock - drop a reference, and hold a lock if it was the last.
 *
 * Use when / not when
 *   For objects that can still be found through a structure that the lock protects: the last put
 *   must remove them before a lookup can find them with a count of 0. Not where lookups use
 *   inc_not_zero and the structure tolerates dead objects: dec_and_test is enough then.
 *
 * Operations
 *   dec_and_lock, dec_and_lock_irqsave   a spinlock
 *   dec_and_mutex_lock                   a pthread mutex, for a section that may sleep; only where
 *                                        threads park (HF_ENV_HAS_PARK). Not a robust mutex: the
 *                                        function can't report that its owner died
 *
 * Invariant   The count goes from 1 to 0 only under the lock, so no lookup under it finds a count
 *             of 0. While there are other references the lock is not touched.
 *
 * Arguments   r      the count
 *             lock   protects the structure in which the object is found; and mutex
 * Ordering    release; on true also acquire
 * Example     examples/refcount_lock.c
 */
#include "refcount.h"
#include "spinlock.h"

/**
 * hf_refcount_dec_and_lock - drop a reference; if it was the last, keep the lock
 *
 * Context:  the caller does not hold the lock
 * Errors:   as hf_refcount_dec_and_test()
 * Return:   true = the count is 0 and the lock is held; false = not the last, lock not held
 */
HF_INLINE HF_MUST_CHECK bool hf_refcount_dec_and_lock(hf_refcount_t *r, hf_spinlock_t *lock)
	HF_TRY_ACQUIRE(true, lock)
{
	if (hf_refcount_dec_not_one(r)) /* others remain: the lock is not touched */
		return false;
	hf_spinlock_lock(lock);
	if (hf_refcount_dec_and_test(r)) /* 1 -> 0 under the lock */
		return true;
	hf_spinlock_unlock(lock);
	return false;
}

#if HF_ENV_HAS_IRQ
/**
 * hf_refcount_dec_and_lock_irqsave - as hf_refcount_dec_and_lock(); on true interrupts are masked
 * @flags: for hf_spinlock_unlock_irqrestore(); set only on true
 */
HF_INLINE HF_MUST_CHECK bool hf_refcount_dec_and_lock_irqsave(hf_refcount_t *r, hf_spinlock_t *lock,
							      unsigned long *flags)
	HF_TRY_ACQUIRE(true, lock)
{
	unsigned long saved;

	if (hf_refcount_dec_not_one(r))
		return false;
	saved = hf_spinlock_lock_irqsave(lock);
	if (hf_refcount_dec_and_test(r)) {
		*flags = saved;
		return true;
	}
	hf_spinlock_unlock_irqrestore(lock, saved);
	return false;
}
#endif

#if HF_ENV_HAS_PARK
#include <pthread.h>

/**
 * hf_refcount_dec_and_mutex_lock - drop a reference; if it was the last, keep the mutex
 * @mutex: as the lock
 *
 * Context:  the caller does not hold the mutex
 * Errors:   as hf_refcount_dec_and_test(); if pthread_mutex_lock() fails (the caller holds the
 *           mutex, which is an error-checking one) the reference is kept, and the result is false
 * Return:   true = the count is 0 and the mutex is held; false = not the last, mutex not held
 */
HF_INLINE HF_MUST_CHECK bool hf_refcount_dec_and_mutex_lock(hf_refcount_t *r,
							    pthread_mutex_t *mutex)
{
	if (hf_refcount_dec_not_one(r))
		return false;
	if (pthread_mutex_lock(mutex) != 0)
		return false;
	if (hf_refcount_dec_and_test(r))
		return true;
	(void)pthread_mutex_unlock(mutex);
	return false;
}
#endif

#endif
