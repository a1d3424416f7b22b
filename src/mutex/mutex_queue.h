/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_MUTEX_QUEUE_H
#define HF_SRC_MUTEX_QUEUE_H
/*
 * mutex_queue - the states of a waiter at a mutex, and functions for condition variables.
 *
 * State
 *     PARKED     parked, or about to park
 *     WAKING     the first waiter, woken by an unlock; it may not be running yet
 *     HEAD       the first waiter, running: it retries the lock without being woken
 *     RELEASED   taken out of its queue and woken, by a thread that left it its processor, or that
 *                signalled its condition variable: it locks as a newcomer
 *
 *     newcomer, queue empty -> HEAD          newcomer, others wait -> PARKED
 *
 *               unlock           it runs
 *     PARKED ------------> WAKING ------> HEAD         PARKED, not the first ------> RELEASED
 *        ^                                 |                     a thread makes room
 *        '---------------------------------'
 *                   spun enough
 *
 *   The flags of a bucket. All mutexes of the bucket share them: collisions affect fairness only
 *     WAITERS    threads wait: a running thread makes room after its turn
 *     WAKING     Q6
 *     AWAITED    a thread has made room for the first waiter, which has not acquired the mutex yet
 *
 * Invariants
 *   Q2  Of the waiters at one mutex only the first is WAKING or HEAD; the others are PARKED.
 *   Q3  An unlock must call its slow path while the first waiter is PARKED or WAKING: `need` counts
 *       the mutexes of a bucket for which that is so.
 *   Q6  HF_DETAIL_BUCKET_WAKING is set only while `need` is 1 because of a WAKING waiter: then an
 *       unlock wakes nobody, since that waiter will look at its mutex. If `need` counted two
 *       mutexes of the bucket, an unlock of the other one would wrongly rely on that waiter, too. A
 *       thread that is about to park clears the flag when it increments `need` (W1).
 */
#include "holdfast/mutex.h"

#include "../parking/parking.h"

enum {
	HF_DETAIL_WAITER_WAKING = HF_DETAIL_OTHER_STATES,
	HF_DETAIL_WAITER_HEAD,
};

enum {
	HF_DETAIL_BUCKET_WAITERS = 1,
	HF_DETAIL_BUCKET_WAKING = 2,
	HF_DETAIL_BUCKET_AWAITED = 4,
	HF_DETAIL_BUCKET_FLAGS = 7
};

HF_BEGIN_DECLS

/* The slow path of lock, without profiling. Returns true if it acquired the mutex. */
bool hf_detail_mutex_lock_contended(hf_atomic32_t *word, uint64_t deadline);

/* Locks again after a wait. Neither the profile nor the probes see it. */
bool hf_detail_mutex_relock(hf_atomic32_t *word, uint64_t deadline);

/*
 * Unlocks the mutex for a thread that is about to park elsewhere, and leaves its processor to a
 * waiter at the mutex, if there is one. The caller has blocked signals.
 */
void hf_detail_mutex_release_to_park(const struct hf_detail_waiter *leaver);

/* As above, for a thread that has unlocked the mutex already. */
void hf_detail_mutex_leave_processor(const struct hf_detail_waiter *leaver);

/* Returns true if this thread's turn is over: it must give up its processor. Begins a new turn. */
bool hf_detail_mutex_end_turn(void);

/* Returns true if a thread waits for this mutex or another one of its bucket. Ordering: none. */
bool hf_detail_mutex_has_waiters(const hf_atomic32_t *word);

/* Appends a waiter to its mutex's queue, and wakes it if it is the first. Signals are blocked. */
void hf_detail_mutex_enqueue(struct hf_detail_waiter *waiter);

/* Waits with a queued waiter. Returns true if it acquired the mutex, false if it timed out. */
bool hf_detail_mutex_wait(struct hf_detail_waiter *waiter, uint64_t deadline);

/* hf_mutex_shared_t: acquires the mutex, and leaves it marked as one with parked threads. */
bool hf_detail_mutex_shared_take_parked(hf_atomic32_t *word, uint64_t deadline,
					enum hf_env_scope scope);

HF_END_DECLS

#endif
