/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_MUTEX_QUEUE_H
#define HF_SRC_MUTEX_QUEUE_H
/*
 * mutex_queue - the states of a waiter at a mutex, and what a condition variable needs of them.
 *
 * State
 *     PARKED     parked, or about to park
 *     WAKING     the first waiter, woken by an unlock; it may not be running yet
 *     HEAD       the first waiter, running: it looks at the mutex by itself
 *     DUE        the same after a turn: the next unlock leaves it some time to take the mutex
 *     SIGNALLED  in no queue any more: woken from a condition variable, it locks as a newcomer
 *
 *     newcomer, queue empty -> HEAD          newcomer, others wait -> PARKED
 *
 *               unlock           it runs        turn expired
 *     PARKED ------------> WAKING ------> HEAD --------------> DUE
 *        ^                                 | ^                  |
 *        '---------------------------------+-+------------------+
 *           spun enough                      '------------------'
 *                                             unlock: it waits a moment
 *
 *   turn       when the present turn began: the queue was empty before, or a thread rotated. 0: nobody
 *              waits. Bit 0 is Q6's. Two busy mutexes of one bucket share it: only fairness depends on
 *              it
 *   newest     the thread that got a mutex of this bucket last by way of the queue; 1: a thread has
 *              rotated since then. So each thread that enters lets one leave: a first waiter that does
 *              not come, because it is stopped, does not make all others park behind it
 *
 * Invariants
 *   Q2  Of the waiters at one mutex only the first is WAKING, HEAD or DUE; the others are PARKED.
 *   Q3  An unlock must call its slow path while the first waiter is PARKED, WAKING or DUE: `need`
 *       counts the mutexes of a bucket for which that is so.
 *   Q6  HF_DETAIL_TURN_WAKING is set only while `need` is 1, because of a WAKING waiter: then an unlock
 *       need not wake anybody, for that one will look. If two mutexes of the bucket were counted, the
 *       unlock of the other one would rely on it, too. A thread that is about to park clears it
 *       when it raises `need` (W1).
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

/* A lock whose fast path has failed; nothing is recorded. True = it has the mutex. */
bool hf_detail_mutex_lock_contended(hf_atomic32_t *word, uint64_t deadline);

/* Moves a waiter, in no queue, to that of its mutex, and wakes it if it is the first. Signals are blocked. */
void hf_detail_mutex_enqueue(struct hf_detail_waiter *waiter);

/* A waiter that is queued at its mutex waits. True = it has the mutex. */
bool hf_detail_mutex_wait(struct hf_detail_waiter *waiter, uint64_t deadline);

/* Waits, for hf_mutex_shared_t, and leaves it marked as one that others may be parked at. */
bool hf_detail_mutex_shared_take_parked(hf_atomic32_t *word, uint64_t deadline,
					enum hf_env_scope scope);

HF_END_DECLS

#endif
