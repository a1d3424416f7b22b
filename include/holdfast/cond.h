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
 * C++         hf::condition_variable, with std::unique_lock<hf::mutex>:
 *             not_empty.wait(lock, [&] { return !queue.empty(); });
 *
 * Always wait in a loop that checks the condition: a wait may return spuriously (between processes
 * it does so now and then), and the condition may be false again by the time this thread has the
 * mutex. Change the condition with the mutex held; signal with it held or not. All threads that
 * wait at the same time use the same mutex.
 *
 * Guarantees
 *   No signal is lost, if the condition is changed with the mutex held: a thread counts as waiting
 *   before it releases the mutex. A waiter that times out consumes no signal.
 *   A signal goes to the waiter that has waited longest, also if a debugger or a signal handler has
 *   stopped its thread, which then returns from its wait when it runs again: no other one is woken
 *   in its place. A broadcast wakes all others.
 *   The first thread that returns after a signal or broadcast may free the condition variable if no
 *   other thread is going to wait or signal: those that were woken do not touch it again.
 *   Between processes, a killed process loses at most the one signal that its own waiter was given;
 *   waiters of other processes recheck after 64 ms.
 *
 * Who runs
 *   A thread spins for up to 10 us before it parks, less often the more of its spins end without a
 *   signal. Where one thread waits, a wait and its signal take no lock but the mutex, and no system
 *   call but those that park and wake. A signalled thread competes for the mutex like any other.
 *   One that could only wait for the mutex is not woken, but moved to the mutex's queue: by a
 *   broadcast all but one, by a signal one that would preempt the holder. Real-time threads
 *   (mutex.h) are woken. docs/design/0019-parking.md has the rules and the reasons.
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
 * Ordering    stated at each function; the mutex publishes the condition
 *
 * Source      docs/design/0019-parking.md; the proofs: src/cond/cond.c
 */
#include "mutex.h"

#if HF_ENV_HAS_PARK

/* Initializes a static condition variable. */
#define HF_COND_INIT HF_DETAIL_INIT(0)
#define HF_COND_SHARED_INIT HF_COND_INIT

/* Goes with hf_mutex_t. Its queue is in the table of waiters (src/parking/queue.h). */
typedef struct hf_cond {
	hf_atomic32_t waiters;
} hf_cond_t;

/* Goes with hf_mutex_shared_t, in memory that several processes have mapped. */
typedef struct hf_cond_shared {
	hf_atomic32_t sequence; /* each signal changes it; bit 0: threads may be parked */
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

/* Both kinds; @shared is a constant. */
HF_INLINE bool hf_detail_cond_wait_in(hf_atomic32_t *cond, hf_atomic32_t *mutex, bool shared,
				      uint64_t deadline)
{
	bool signalled;

	if (!HF_DETAIL_VALIDATE_UNLOCK(mutex, hf_detail_mutex_is_locked(mutex)))
		return true;
	HF_DETAIL_TSAN_UNLOCK(mutex, false);
	signalled = shared ? hf_detail_cond_shared_wait(cond, mutex, deadline)
			   : hf_detail_cond_wait(cond, mutex, deadline);
	HF_DETAIL_TSAN_LOCK(mutex, false, true);
	HF_DETAIL_TSAN_LOCK_ENDED(mutex, false, true, true);
	HF_DETAIL_VALIDATE_LOCKED(mutex);
	return signalled;
}

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
	return hf_detail_cond_wait_in(&cond->waiters, &mutex->word, false, deadline);
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

/* hf_cond_broadcast - as hf_cond_signal(), for all waiters, which then take the mutex in turn. */
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
	return hf_detail_cond_wait_in(&cond->sequence, &mutex->word, true, deadline);
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

/* ---- C++ ---------------------------------------------------------------------------------- */

#ifdef __cplusplus
HF_BEGIN_CXX

/*
 * True = signalled, or spurious; false = timed out. Becomes, and compares with, std::cv_status: by
 * templates, so that the header need not include <condition_variable>.
 */
class wait_result {
public:
	explicit HF_DETAIL_CONSTEXPR wait_result(bool signalled) noexcept : signalled_(signalled) {}
	HF_DETAIL_CONSTEXPR operator bool() const noexcept { return signalled_; }
	template <class Status, class = decltype(Status::no_timeout)>
	HF_DETAIL_CONSTEXPR operator Status() const noexcept
	{
		return signalled_ ? Status::no_timeout : Status::timeout;
	}
	template <class Status, class = decltype(Status::no_timeout)>
	friend HF_DETAIL_CONSTEXPR bool operator==(wait_result result, Status status) noexcept
	{
		return static_cast<Status>(result) == status;
	}
	template <class Status, class = decltype(Status::no_timeout)>
	friend HF_DETAIL_CONSTEXPR bool operator==(Status status, wait_result result) noexcept
	{
		return static_cast<Status>(result) == status;
	}
	template <class Status, class = decltype(Status::no_timeout)>
	friend HF_DETAIL_CONSTEXPR bool operator!=(wait_result result, Status status) noexcept
	{
		return static_cast<Status>(result) != status;
	}
	template <class Status, class = decltype(Status::no_timeout)>
	friend HF_DETAIL_CONSTEXPR bool operator!=(Status status, wait_result result) noexcept
	{
		return static_cast<Status>(result) != status;
	}

private:
	bool signalled_;
};

/* As std::condition_variable, for std::unique_lock<hf::mutex>. */
class condition_variable {
public:
	typedef hf_cond_t *native_handle_type;

	/* Constant-initialized (all bytes 0): a global one can be used in any constructor. */
	HF_DETAIL_CONSTEXPR condition_variable() noexcept : raw_() {}
	condition_variable(const condition_variable &) = delete;
	condition_variable &operator=(const condition_variable &) = delete;

	void notify_one() noexcept { hf_cond_signal(&raw_); }
	void notify_all() noexcept { hf_cond_broadcast(&raw_); }

	template <class Lock>
	void wait(Lock &lock)
	{
		hf_cond_wait(&raw_, lock.mutex()->native_handle());
	}
	template <class Lock, class Predicate>
	void wait(Lock &lock, Predicate predicate)
	{
		while (!predicate())
			wait(lock);
	}
	/* Accepts any clock. */
	template <class Lock, class TimePoint>
	wait_result wait_until(Lock &lock, const TimePoint &time)
	{
		return wait_result(hf_cond_wait_timeout(&raw_, lock.mutex()->native_handle(),
							hf_detail_nanoseconds_until(time)) ||
				   hf_detail_nanoseconds_until(time) != 0);
	}
	/* Returns what the predicate returned last. */
	template <class Lock, class TimePoint, class Predicate>
	bool wait_until(Lock &lock, const TimePoint &time, Predicate predicate)
	{
		while (!predicate()) {
			if (!wait_until(lock, time))
				return predicate();
		}
		return true;
	}
	template <class Lock, class Duration>
	wait_result wait_for(Lock &lock, const Duration &duration)
	{
		return wait_result(hf_cond_wait_timeout(&raw_, lock.mutex()->native_handle(),
							hf_detail_nanoseconds(duration)));
	}
	template <class Lock, class Duration, class Predicate>
	bool wait_for(Lock &lock, const Duration &duration, Predicate predicate)
	{
		uint64_t end = hf_env_deadline(hf_detail_nanoseconds(duration));

		while (!predicate()) {
			if (!hf_cond_wait_until(&raw_, lock.mutex()->native_handle(), end))
				return predicate();
		}
		return true;
	}
	native_handle_type native_handle() noexcept { return &raw_; }

private:
	hf_cond_t raw_;
};
HF_END_CXX
#endif

#endif

#endif
