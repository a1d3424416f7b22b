/* SPDX-License-Identifier: MIT */
#ifndef HF_MUTEX_RECURSIVE_H
#define HF_MUTEX_RECURSIVE_H
#pragma GCC system_header
/*
 * mutex_recursive - a mutex that its holder may lock again, in 16 bytes.
 *
 * Use when / not when
 *   Not in new code: a thread that locks again finds the data in the middle of a change, and its
 *   unlock may not release the mutex. Split the function: the outer one locks an hf_mutex_t, the
 *   inner one requires the lock. Take it to port code that needs a recursive pthread mutex. Not
 *   between processes, nor in a signal handler. Empty where nothing parks (HF_ENV_HAS_PARK is 0).
 *
 * Operations
 *   lock, unlock    wait until it is free or this thread's, and take it once more; release it once
 *   trylock         take it if it is free or this thread's
 *   lock_timeout    as lock, but give up after a time
 *   wait_until      wait for a condition variable; released meanwhile, however deep
 *   init, is_mine   initialize it as free; does this thread hold it?
 *
 * Example     examples/mutex_recursive.c
 * Guards      C     HF_MUTEX_RECURSIVE_GUARD(&lock);
 *             C++   hf::recursive_mutex lock;               (lock_class.h)
 *                   std::lock_guard<hf::recursive_mutex> guard(lock);
 * Arguments   mutex   initialized by HF_MUTEX_RECURSIVE_INIT, by init, or with all bytes 0
 *
 * State
 *   mutex   held while any thread holds this one: mutex.h has all that is guaranteed
 *   owner   the holder's hf_env_thread(), or 0. A thread stores and removes its own number only, so
 *           one that reads its own number is the holder; any other value may be stale
 *   depth   the unlocks before the one that releases it; the holder's alone
 *
 * Errors      Reported, also without validation: an unlock by a thread that does not hold it, which
 *             does nothing (LOCK_WRONG_OWNER, LOCK_UNLOCKED); 2^32 locks (LOCK_DEPTH_OVF): it stays
 *             locked. With validation, validate.h's other reports, but recursion.
 *             A thread that ends as its holder leaves it locked, and a later thread may get its
 *             number, and be the holder.
 * Ordering    That of mutex.h where it is taken or becomes free, else none.
 * fork        The child's thread has its parent's number, so it holds what that one held.
 *
 * Source      PTHREAD_MUTEX_RECURSIVE of POSIX; hf_mutex_t
 */
#include "cond.h"

#if HF_ENV_HAS_PARK

/* Initializes a static mutex as free. */
#define HF_MUTEX_RECURSIVE_INIT                                                                    \
	{                                                                                          \
		HF_MUTEX_INIT, 0, HF_ATOMIC_INIT(0)                                                \
	}

/* For the threads of one process. Its members are private. */
typedef struct HF_CAPABILITY("mutex") hf_mutex_recursive {
	hf_mutex_t mutex;
	uint32_t depth;
	hf_atomic64_t owner;
} hf_mutex_recursive_t;

/* hf_mutex_recursive_init - as hf_mutex_init(). Ordering: none. */
HF_INLINE void hf_mutex_recursive_init(hf_mutex_recursive_t *mutex)
{
	hf_mutex_init(&mutex->mutex);
	mutex->depth = 0;
	hf_atomic64_store_relaxed(&mutex->owner, 0);
}

/* hf_mutex_recursive_is_mine - as hf_mutex_is_locked(), by this thread: never stale. */
HF_INLINE bool hf_mutex_recursive_is_mine(const hf_mutex_recursive_t *mutex)
{
	return hf_atomic64_load_relaxed(&mutex->owner) == hf_env_thread();
}

/* Once more, if this thread holds it; true = done. UINT32_MAX stays. */
HF_INLINE bool hf_detail_mutex_recursive_again(hf_mutex_recursive_t *mutex)
{
	if (!hf_mutex_recursive_is_mine(mutex))
		return false;
	if (HF_UNLIKELY(mutex->depth >= UINT32_MAX - 1))
		hf_report(HF_REPORT_LOCK_DEPTH_OVF, mutex);
	if (HF_LIKELY(mutex->depth != UINT32_MAX))
		mutex->depth++;
	return true;
}

/* This thread has locked it for the first time. */
HF_INLINE bool hf_detail_mutex_recursive_own(hf_mutex_recursive_t *mutex)
{
	hf_atomic64_store_relaxed(&mutex->owner, hf_env_thread());
	return true;
}

/* hf_mutex_recursive_lock - as hf_mutex_lock(), or once more. Ordering: acquire. */
HF_INLINE void hf_mutex_recursive_lock(hf_mutex_recursive_t *mutex)
	HF_ACQUIRE(mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	if (hf_detail_mutex_recursive_again(mutex))
		return;
	hf_mutex_lock(&mutex->mutex);
	(void)hf_detail_mutex_recursive_own(mutex);
}

/* hf_mutex_recursive_lock_timeout - as hf_mutex_lock_timeout(), or once more: acquire if true. */
HF_INLINE HF_MUST_CHECK bool hf_mutex_recursive_lock_timeout(hf_mutex_recursive_t *mutex,
							     uint64_t timeout)
	HF_TRY_ACQUIRE(true, mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	return hf_detail_mutex_recursive_again(mutex) ||
	       (hf_mutex_lock_timeout(&mutex->mutex, timeout) &&
		hf_detail_mutex_recursive_own(mutex));
}

/* hf_mutex_recursive_trylock - as hf_mutex_trylock(), or once more. Ordering: acquire if true. */
HF_INLINE HF_MUST_CHECK bool hf_mutex_recursive_trylock(hf_mutex_recursive_t *mutex)
	HF_TRY_ACQUIRE(true, mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	return hf_detail_mutex_recursive_again(mutex) ||
	       (hf_mutex_trylock(&mutex->mutex) && hf_detail_mutex_recursive_own(mutex));
}

/* hf_mutex_recursive_unlock - as hf_mutex_unlock(), once. Ordering: release if it becomes free. */
HF_INLINE void hf_mutex_recursive_unlock(hf_mutex_recursive_t *mutex)
	HF_RELEASE(mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	if (HF_UNLIKELY(!hf_mutex_recursive_is_mine(mutex))) {
		hf_report(hf_mutex_is_locked(&mutex->mutex) ? HF_REPORT_LOCK_WRONG_OWNER
							    : HF_REPORT_LOCK_UNLOCKED,
			  mutex);
	} else if (mutex->depth == 0) {
		hf_atomic64_store_relaxed(&mutex->owner, 0);
		hf_mutex_unlock(&mutex->mutex);
	} else if (HF_LIKELY(mutex->depth != UINT32_MAX)) {
		mutex->depth--;
	}
}

/**
 * hf_mutex_recursive_wait_until - hf_cond_wait_until() with this mutex, however deep it is held
 *
 * Ordering: release, then acquire
 * Errors:   a caller that does not hold it is reported, and the wait returns at once
 * Return:   true = signalled, or spurious; false = the deadline has passed. Held as deep as before
 */
HF_INLINE bool hf_mutex_recursive_wait_until(hf_mutex_recursive_t *mutex, hf_cond_t *cond,
					     uint64_t deadline)
	HF_REQUIRES(mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	uint32_t depth;
	bool signalled;

	if (HF_UNLIKELY(!hf_mutex_recursive_is_mine(mutex))) {
		hf_report(HF_REPORT_LOCK_WRONG_OWNER, mutex);
		return true;
	}
	depth = mutex->depth;
	mutex->depth = 0;
	hf_atomic64_store_relaxed(&mutex->owner, 0);
	signalled = hf_cond_wait_until(cond, &mutex->mutex, deadline);
	mutex->depth = depth;
	(void)hf_detail_mutex_recursive_own(mutex);
	return signalled;
}

HF_DETAIL_GUARD_FUNCTIONS(hf_detail_mutex_recursive_guard, hf_mutex_recursive_t,
			  hf_mutex_recursive_lock, hf_mutex_recursive_unlock, HF_ASSERT_HELD)

/* HF_MUTEX_RECURSIVE_GUARD - take it once until this block is left. Not by longjmp. */
#define HF_MUTEX_RECURSIVE_GUARD(mutex)                                                            \
	HF_DETAIL_GUARD(hf_mutex_recursive_t, hf_detail_mutex_recursive_guard, mutex)

#ifdef __cplusplus
HF_BEGIN_CXX
struct hf_detail_mutex_recursive_functions {
	static constexpr auto lock = hf_mutex_recursive_lock;
	static constexpr auto trylock = hf_mutex_recursive_trylock;
	static constexpr auto lock_timeout = hf_mutex_recursive_lock_timeout;
	static constexpr auto unlock = hf_mutex_recursive_unlock;
};

/*
 * std::recursive_mutex and std::recursive_timed_mutex in one. std::condition_variable_any waits
 * with it if it is held once.
 */
class HF_CAPABILITY("mutex") recursive_mutex
	: public timed_lockable<hf_mutex_recursive_t, hf_detail_mutex_recursive_functions> {
#if HF_TSAN
public:
	~recursive_mutex()
	{
		HF_DETAIL_TSAN_DESTROY(&raw_.mutex.word, hf_mutex_is_locked(&raw_.mutex));
	}
#endif
};
HF_END_CXX
#endif

#endif

#endif
