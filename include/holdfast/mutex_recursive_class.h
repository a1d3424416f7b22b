/* SPDX-License-Identifier: MIT */
#ifndef HF_MUTEX_RECURSIVE_CLASS_H
#define HF_MUTEX_RECURSIVE_CLASS_H
#pragma GCC system_header
/*
 * mutex_recursive_class - hf::recursive_mutex: in 16 bytes, for the standard guards.
 *
 * Use when / not when
 *   As mutex_recursive.h, which includes this in C++: not in new code.
 *
 * Operations
 *   lock, try_lock, unlock          for hf::guard, std::lock_guard, std::scoped_lock
 *   try_lock_for, try_lock_until    the same with a limit, for std::unique_lock; of any clock
 *   native_handle                   the hf_mutex_recursive_t, for the functions of C
 *
 * Example     hf::recursive_mutex lock;
 *             std::lock_guard<hf::recursive_mutex> hold(lock);
 * C++         std::condition_variable_any waits with it if it is held once
 * Ordering    as hf_mutex_recursive_lock(), of unlock as hf_mutex_recursive_unlock()
 * Errors      as these; nothing throws
 */
#include "mutex_recursive.h"

#if defined(__cplusplus) && HF_ENV_HAS_PARK
HF_BEGIN_CXX

/* TimedLockable: std::recursive_mutex and std::recursive_timed_mutex in one. */
class HF_CAPABILITY("mutex") recursive_mutex {
public:
	/* Constant-initialized (all bytes 0): a global mutex can be used in any constructor. */
	HF_DETAIL_CONSTEXPR recursive_mutex() noexcept : raw_() {}
	recursive_mutex(const recursive_mutex &) = delete;
	recursive_mutex &operator=(const recursive_mutex &) = delete;
#if HF_VALIDATE || HF_TSAN
	~recursive_mutex()
	{
		HF_DETAIL_TSAN_DESTROY(&raw_.mutex.word, hf_mutex_is_locked(&raw_.mutex));
		HF_DETAIL_VALIDATE_FORGET(&raw_.mutex.word);
	}
#endif

	void lock() noexcept HF_ACQUIRE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_mutex_recursive_lock(&raw_);
	}
	bool try_lock() noexcept HF_TRY_ACQUIRE(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		return hf_mutex_recursive_trylock(&raw_);
	}
	/* Accepts any std::chrono::duration. Zero or negative durations do not block. */
	template <class Duration>
	bool try_lock_for(const Duration &timeout) noexcept
		HF_TRY_ACQUIRE(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		return hf_mutex_recursive_lock_timeout(&raw_, hf_detail_nanoseconds(timeout));
	}
	/* Accepts any clock, even a slow one: it is read again before a timeout is reported. */
	template <class TimePoint>
	bool try_lock_until(const TimePoint &time) HF_TRY_ACQUIRE(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		uint64_t left;

		do {
			left = hf_detail_nanoseconds_until(time);
			if (hf_mutex_recursive_lock_timeout(&raw_, left))
				return true;
		} while (left != 0);
		return false;
	}
	void unlock() noexcept HF_RELEASE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_mutex_recursive_unlock(&raw_);
	}
	hf_mutex_recursive_t *native_handle() noexcept
	{
		return &raw_;
	}

private:
	hf_mutex_recursive_t raw_;
};
HF_END_CXX
#endif

#endif
