/* SPDX-License-Identifier: MIT */
#ifndef HF_COND_H
#define HF_COND_H
#pragma GCC system_header
/*
 * cond - a condition variable in 4 bytes: threads park until another thread signals a change.
 *
 * Use when / not when
 *   Where a thread waits for a condition that another thread makes true under a mutex, such as a
 *   queue that is no longer empty. Not to wait for the mutex itself. Not in a signal handler. Not
 *   in an environment without parking (HF_ENV_HAS_PARK is 0): this header is empty there.
 *   Two types: hf_cond_t goes with hf_mutex_t, hf_cond_shared_t with hf_mutex_shared_t, for memory
 *   that several processes have mapped.
 *
 * Operations
 *   wait                        release the mutex, park until signalled, take the mutex again
 *   wait_timeout, wait_until    the same, with a limit
 *   signal, broadcast           wake one waiter, or all of them
 *   hf_cond_shared_*            the same, between processes
 *
 * Example     examples/cond.c
 * C++         hf::condition_variable, with std::unique_lock<hf::mutex>
 *
 * Always wait in a loop that checks the condition: a wait may return spuriously (between processes
 * it does so now and then), and the condition may be false again by the time this thread has the
 * mutex. Change the condition with the mutex held; signal with it held or not. All threads that
 * wait at the same time use the same mutex.
 *
 * State
 *   hf_cond_t          the number of its waiters; their queue is in the table of waiters
 *                      (src/parking/queue.h)
 *   hf_cond_shared_t   a sequence number that each signal changes; bit 0: threads may be parked
 *
 * Guarantees
 *   No signal is lost, if the condition is changed with the mutex held: a thread counts as waiting
 *   before it releases the mutex. A waiter that times out consumes no signal.
 *   The first thread that returns after a signal or broadcast may free the condition variable if no
 *   other thread is going to wait or signal: those that were woken do not touch it again.
 *   Between processes, a killed process loses at most the one signal that its own waiter was given;
 *   waiters of other processes recheck after 64 ms.
 *
 * Who runs
 *   A thread spins for up to 10 us before it parks if its recent spins ended with a signal. After a
 *   spin without a signal it spins in one of 32 waits only, and ever more rarely; never with one
 *   processor. To signal a spinning thread takes no system call. Once a turn (300 us) a spinning
 *   thread yields its processor, since a signalled thread may need it.
 *
 *   A signal wakes one thread, which then competes for the mutex like any other. A broadcast does
 *   not wake threads only to have them park again at the mutex: it moves the parked ones from the
 *   queue of the condition variable to that of the mutex, and wakes the first one there, which is
 *   one that ran on another processor if possible. A signal, too, moves a thread while the mutex is
 *   held, if others wait for it or the thread ran on the signaller's processor: there it could only
 *   preempt the holder and then wait for it, so the holder's unlock wakes it. Real-time threads
 *   (mutex.h) are not moved, but woken. A thread that parks here leaves its processor to a waiter
 *   at the mutex, so each processor has a chain of wake-ups, and none idles. Between processes the
 *   kernel moves threads.
 *
 *   Where one thread waits, a wait and its signal take no lock but the mutex, and no system call
 *   but those that park and wake, and in one of 64 waits the question for the thread's class.
 *
 *   A signal goes to the waiter that has waited longest, even if a debugger or a signal handler has
 *   stopped its thread: that thread returns from its wait when it runs again, and no other one is
 *   woken in its place. A broadcast wakes all others.
 *
 * fork
 *   In the child no thread waits, and signals find none. A mutex that another thread held at the
 *   fork, or was releasing on its way into a wait, stays locked in the child: fork with the mutex
 *   held. A signal handler that interrupts a wait and forks must not return in the child; one that
 *   interrupts a signal, a broadcast or an unlock may. A handler must not jump out of any of them.
 *
 *   No wait is a cancellation point; a thread that is cancelled asynchronously must not be in one.
 *
 * Arguments
 *   cond      initialized by HF_COND_INIT, by init, or with all bytes 0
 *   mutex     the mutex that all present waiters use
 *   timeout   in nanoseconds
 *
 * Ordering
 *   operation             order
 *   init                  none
 *   wait, wait_timeout,   release, then acquire: of the mutex
 *     wait_until
 *   signal, broadcast     none; the mutex publishes the condition
 *
 * Source      docs/design/0019-parking.md; the proofs: src/cond/cond.c
 */
#include "mutex.h"

#if HF_ENV_HAS_PARK

/* Initializes a static condition variable. */
#define HF_COND_INIT                                                                               \
	{                                                                                          \
		HF_ATOMIC_INIT(0)                                                                  \
	}
#define HF_COND_SHARED_INIT HF_COND_INIT

/* Goes with hf_mutex_t. */
typedef struct hf_cond {
	hf_atomic32_t waiters;
} hf_cond_t;

/* Goes with hf_mutex_shared_t, in memory that several processes have mapped. */
typedef struct hf_cond_shared {
	hf_atomic32_t sequence;
} hf_cond_shared_t;

HF_BEGIN_DECLS

/* The mutex is held before and after. False = the deadline has passed. */
bool hf_detail_cond_wait(hf_atomic32_t *cond, hf_atomic32_t *mutex, uint64_t deadline)
	HF_DETAIL_LINKED(hf_detail_cond_wait) HF_API;
bool hf_detail_cond_shared_wait(hf_atomic32_t *cond, hf_atomic32_t *mutex, uint64_t deadline)
	HF_DETAIL_LINKED(hf_detail_cond_shared_wait) HF_API;
/* Threads may be parked. */
void hf_detail_cond_wake(hf_atomic32_t *cond, bool all)
	HF_DETAIL_LINKED(hf_detail_cond_wake) HF_API;
void hf_detail_cond_shared_wake(hf_atomic32_t *cond, hf_atomic32_t *mutex)
	HF_DETAIL_LINKED(hf_detail_cond_shared_wake) HF_API;

HF_END_DECLS

/**
 * hf_cond_init - initialize a condition variable
 *
 * Context:  before any other thread can see it. Memory whose bytes are all 0 is initialized, too
 * Ordering: none
 */
HF_INLINE void hf_cond_init(hf_cond_t *cond)
{
	hf_atomic32_store_relaxed(&cond->waiters, 0);
}

/**
 * hf_cond_wait_until - release the mutex, park until signalled, and take the mutex again
 * @cond:     the condition variable
 * @mutex:    held by the caller, once
 * @deadline: in nanoseconds of CLOCK_MONOTONIC; HF_ENV_FOREVER = none
 *
 * Context:  the holder of the mutex; no signal handler. May return spuriously
 * Ordering: release, then acquire
 * Errors:   under HF_VALIDATE a mutex that is not held is reported, and the wait returns at once
 * Return:   true = signalled, or spurious; false = the deadline has passed. The mutex is held
 */
HF_INLINE bool hf_cond_wait_until(hf_cond_t *cond, hf_mutex_t *mutex, uint64_t deadline)
	HF_REQUIRES(mutex)
{
	bool signalled;

	if (!HF_DETAIL_VALIDATE_UNLOCK(&mutex->word, hf_detail_mutex_is_locked(&mutex->word)))
		return true;
	HF_DETAIL_TSAN_UNLOCK(&mutex->word);
	signalled = hf_detail_cond_wait(&cond->waiters, &mutex->word, deadline);
	HF_DETAIL_TSAN_LOCK(&mutex->word);
	HF_DETAIL_TSAN_LOCKED(&mutex->word);
	HF_DETAIL_VALIDATE_LOCKED(&mutex->word);
	return signalled;
}

/* hf_cond_wait - hf_cond_wait_until() without a deadline. Ordering: release, then acquire. */
HF_INLINE void hf_cond_wait(hf_cond_t *cond, hf_mutex_t *mutex) HF_REQUIRES(mutex)
{
	(void)hf_cond_wait_until(cond, mutex, HF_ENV_FOREVER);
}

/* hf_cond_wait_timeout - hf_cond_wait_until() with a deadline `timeout` nanoseconds from now. */
HF_INLINE bool hf_cond_wait_timeout(hf_cond_t *cond, hf_mutex_t *mutex, uint64_t timeout)
	HF_REQUIRES(mutex)
{
	return hf_cond_wait_until(cond, mutex, hf_env_deadline(timeout));
}

/**
 * hf_cond_signal - wake one waiter, if there is one
 *
 * Context:  any thread, with the mutex held or not; no signal handler
 * Ordering: none
 */
HF_INLINE void hf_cond_signal(hf_cond_t *cond)
{
	if (HF_UNLIKELY(hf_atomic32_load_relaxed(&cond->waiters)))
		hf_detail_cond_wake(&cond->waiters, false);
}

/**
 * hf_cond_broadcast - wake all waiters; they take the mutex one after another
 *
 * Context:  as hf_cond_signal()
 * Ordering: none
 */
HF_INLINE void hf_cond_broadcast(hf_cond_t *cond)
{
	if (HF_UNLIKELY(hf_atomic32_load_relaxed(&cond->waiters)))
		hf_detail_cond_wake(&cond->waiters, true);
}

/* ---- The same, between processes ---------------------------------------------------------- */

#define HF_DETAIL_COND_WAITERS 1u

/* hf_cond_shared_init - as hf_cond_init(), in memory that several processes have mapped. */
HF_INLINE void hf_cond_shared_init(hf_cond_shared_t *cond)
{
	hf_atomic32_store_relaxed(&cond->sequence, 0);
}

/* hf_cond_shared_wait_until - as hf_cond_wait_until(). Ordering: release, then acquire. */
HF_INLINE bool hf_cond_shared_wait_until(hf_cond_shared_t *cond, hf_mutex_shared_t *mutex,
					 uint64_t deadline) HF_REQUIRES(mutex)
{
	bool signalled;

	if (!HF_DETAIL_VALIDATE_UNLOCK(&mutex->word, hf_detail_mutex_is_locked(&mutex->word)))
		return true;
	HF_DETAIL_TSAN_UNLOCK(&mutex->word);
	signalled = hf_detail_cond_shared_wait(&cond->sequence, &mutex->word, deadline);
	HF_DETAIL_TSAN_LOCK(&mutex->word);
	HF_DETAIL_TSAN_LOCKED(&mutex->word);
	HF_DETAIL_VALIDATE_LOCKED(&mutex->word);
	return signalled;
}

/* hf_cond_shared_wait - as hf_cond_wait(). Ordering: release, then acquire. */
HF_INLINE void hf_cond_shared_wait(hf_cond_shared_t *cond, hf_mutex_shared_t *mutex)
	HF_REQUIRES(mutex)
{
	(void)hf_cond_shared_wait_until(cond, mutex, HF_ENV_FOREVER);
}

/* hf_cond_shared_wait_timeout - as hf_cond_wait_timeout(). Ordering: release, then acquire. */
HF_INLINE bool hf_cond_shared_wait_timeout(hf_cond_shared_t *cond, hf_mutex_shared_t *mutex,
					   uint64_t timeout) HF_REQUIRES(mutex)
{
	return hf_cond_shared_wait_until(cond, mutex, hf_env_deadline(timeout));
}

/* hf_cond_shared_signal - as hf_cond_signal(). Ordering: none. */
HF_INLINE void hf_cond_shared_signal(hf_cond_shared_t *cond)
{
	if (HF_UNLIKELY(hf_atomic32_load_relaxed(&cond->sequence) & HF_DETAIL_COND_WAITERS))
		hf_detail_cond_shared_wake(&cond->sequence, NULL);
}

/**
 * hf_cond_shared_broadcast - as hf_cond_broadcast(); the kernel moves the waiters to the mutex
 * @mutex: the mutex that the waiters use, at its address in this process
 *
 * Ordering: none
 */
HF_INLINE void hf_cond_shared_broadcast(hf_cond_shared_t *cond, hf_mutex_shared_t *mutex)
{
	if (HF_UNLIKELY(hf_atomic32_load_relaxed(&cond->sequence) & HF_DETAIL_COND_WAITERS))
		hf_detail_cond_shared_wake(&cond->sequence, &mutex->word);
}

#endif

#ifdef __cplusplus
#include "cond_class.h" /* hf::condition_variable */
#endif

#endif
