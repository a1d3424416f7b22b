/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_MUTEX_QUEUE_H
#define HF_SRC_MUTEX_QUEUE_H
/*
 * mutex_queue - the states of a waiter at a mutex, and what a condition variable needs of them.
 *
 * State
 *     PARKED     parked, or about to park
 *     WAKING     the first waiter, woken by an unlock; it may not be running yet
 *     HEAD       the first waiter, running: it polls the mutex
 *     DUE        HEAD for longer than a turn: the next unlock leaves it 0.5 us to take the mutex
 *     SIGNALLED  in no queue: woken from a condition variable, it locks as a newcomer
 *
 *     newcomer, queue empty -> HEAD          newcomer, others wait -> PARKED
 *
 *               unlock           it runs        turn expired
 *     PARKED ------------> WAKING ------> HEAD --------------> DUE
 *        ^                                 | ^                  |
 *        '---------------------------------+-+------------------+
 *           spun enough                      '------------------'
 *                                             unlock: waits 0.5 us
 *
 *   turn       when the turn began: a thread queued while the queue was empty, or to make room. 0 if
 *              no thread waits. Bit 0 is HF_DETAIL_TURN_WAKING. Mutexes of one bucket share it, which
 *              affects fairness only
 *   newest     the thread that last acquired a mutex of this bucket from the queue; 1 once a thread
 *              has made room since. So one thread leaves for each that enters: if the first waiter is
 *              stopped, the others do not all park behind it
 *
 * Invariants
 *   Q2  Of the waiters at one mutex only the first is WAKING, HEAD or DUE; the others are PARKED.
 *   Q3  An unlock must call its slow path while the first waiter is PARKED, WAKING or DUE: `need`
 *       counts the mutexes of a bucket for which that is so.
 *   Q6  HF_DETAIL_TURN_WAKING is set only while `need` is 1, because of a WAKING waiter: then an
 *       unlock need not wake a thread, for that waiter will check the mutex. With two mutexes counted,
 *       the unlock of the other one would rely on that waiter, too. A thread that is about to park
 *       clears it when it raises `need` (W1).
 */
#include "holdfast/mutex.h"

#include "../parking/parking.h"

enum {
	HF_DETAIL_WAITER_WAKING = HF_DETAIL_WAITER_PARKED + 1,
	HF_DETAIL_WAITER_HEAD,
	HF_DETAIL_WAITER_DUE,
	HF_DETAIL_WAITER_SIGNALLED,
};

#define HF_DETAIL_TURN_WAKING ((uint64_t)1)
#define HF_DETAIL_NEWEST_ROTATED ((uint64_t)1)

HF_BEGIN_DECLS

/* The lock's slow path, without the profile. True = acquired. */
bool hf_detail_mutex_lock_contended(hf_atomic32_t *word, uint64_t deadline);

/* Queues a waiter at its mutex, and wakes it if it is the first. Signals must be blocked. */
void hf_detail_mutex_enqueue(struct hf_detail_waiter *waiter);

/* Waits, queued at the mutex. True = acquired. */
bool hf_detail_mutex_wait(struct hf_detail_waiter *waiter, uint64_t deadline);

/* hf_mutex_shared_t: acquires the mutex, and leaves it marked as one with parked threads. */
bool hf_detail_mutex_shared_take_parked(hf_atomic32_t *word, uint64_t deadline,
					enum hf_env_scope scope);

HF_END_DECLS

#endif
