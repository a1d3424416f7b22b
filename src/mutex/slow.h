/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_MUTEX_SLOW_H
#define HF_SRC_MUTEX_SLOW_H
/*
 * slow - how a thread spins, then parks: for the mutex, for what a condition variable needs of its
 * mutex, and for hf_rwlock_t. Neither the profile nor the probes see it.
 */
#include "holdfast/mutex.h"

#include "../parking/parking.h"

HF_BEGIN_DECLS

/*
 * Spins, then waits in the table, until try_lock() has acquired the lock. Returns TIMED_OUT if not;
 * LOCKED if the thread was queued until then, so that those behind it may have relied on it.
 */
enum hf_detail_park hf_detail_lock_contended(hf_atomic32_t *lock, hf_detail_try_lock_t *try_lock,
					     uint64_t deadline);

/* The slow path of lock. Returns true if it acquired the mutex. */
bool hf_detail_mutex_lock_contended(hf_atomic32_t *word, uint64_t deadline);

/* Before a wait for a condition: the threads that use the mutex need each other's turns. */
void hf_detail_mutex_end_batches(const hf_atomic32_t *lock);

/* hf_mutex_shared_t: acquires the mutex, and leaves it marked as one with parked threads. */
bool hf_detail_mutex_shared_lock_parked(hf_atomic32_t *word, uint64_t deadline);

HF_END_DECLS

#endif
