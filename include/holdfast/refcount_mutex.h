/* SPDX-License-Identifier: MIT */
#ifndef HF_REFCOUNT_MUTEX_H
#define HF_REFCOUNT_MUTEX_H
#pragma GCC system_header
/*
 * refcount_mutex - drop a reference, and hold a pthread mutex if it was the last.
 *
 * Use when / not when
 *   As refcount_lock.h, where the section may sleep. Not with a robust mutex: this verb has no way
 *   to report that its owner died. User space only: this header needs pthread.h, and nothing else
 *   of Holdfast includes it.
 *
 * Invariants  those of refcount_lock.h.
 * Example     examples/refcount_lock.c
 */
#include <pthread.h>

#include "refcount.h"

/**
 * hf_refcount_dec_and_mutex_lock - drop a reference; if it was the last, keep the mutex
 * @r:     the count
 * @mutex: protects the structure in which the object is found
 *
 * Context:  the caller does not hold the mutex
 * Ordering: release; on true also acquire
 * Errors:   as hf_refcount_dec_and_test(); if pthread_mutex_lock() fails (the caller holds a mutex
 *           that checks for errors) the reference is kept, and the result is false
 * Return:   true = the count is 0 and the mutex is held; false = not the last, mutex not held
 */
HF_INLINE HF_MUST_CHECK bool hf_refcount_dec_and_mutex_lock(hf_refcount_t *r,
							    pthread_mutex_t *mutex)
{
	if (hf_refcount_dec_not_one(r)) /* I1 */
		return false;
	if (pthread_mutex_lock(mutex) != 0)
		return false;
	if (hf_refcount_dec_and_test(r)) /* I2 */
		return true;
	(void)pthread_mutex_unlock(mutex);
	return false;
}

#endif
