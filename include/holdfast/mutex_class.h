/* SPDX-License-Identifier: MIT */
#ifndef HF_MUTEX_CLASS_H
#define HF_MUTEX_CLASS_H
#pragma GCC system_header
/*
 * mutex_class - hf::mutex: a mutex for the standard guards, in 4 bytes.
 *
 * Use when / not when
 *   As mutex.h, which includes this in C++. Not between processes: hf_mutex_shared_t has no class.
 *
 * Operations
 *   lock, try_lock, unlock          for hf::guard, std::lock_guard, std::scoped_lock
 *   try_lock_for, try_lock_until    the same with a limit, for std::unique_lock; of any clock
 *   is_locked, native_handle        does it have a holder? the hf_mutex_t, for the functions of C
 *
 * Example     hf::mutex lock;
 *             std::lock_guard<hf::mutex> hold(lock);
 * Ordering    of lock and a try that succeeds acquire, of unlock release
 * Errors      as hf_mutex_lock()
 */
#include "mutex.h"

#if defined(__cplusplus) && HF_ENV_HAS_PARK
HF_BEGIN_CXX

template <class Duration>
inline double hf_detail_seconds(const Duration &duration) noexcept
{
	return static_cast<double>(duration.count()) * static_cast<double>(Duration::period::num) /
	       static_cast<double>(Duration::period::den);
}

/* Negative durations become 0, those of 285 years and more HF_ENV_FOREVER. */
template <class Duration>
inline uint64_t hf_detail_nanoseconds(const Duration &duration) noexcept
{
	double ns = hf_detail_seconds(duration) * 1e9;

	return ns > 0 ? ns < 9e18 ? static_cast<uint64_t>(ns) : HF_ENV_FOREVER : 0;
}

/* The nanoseconds until @time. Compares first: the difference of two far times would overflow. */
template <class TimePoint>
inline uint64_t hf_detail_nanoseconds_until(const TimePoint &time)
{
	typename TimePoint::clock::time_point now = TimePoint::clock::now();
	double left = hf_detail_seconds(time.time_since_epoch()) -
		      hf_detail_seconds(now.time_since_epoch());

	if (left < -1e9 || left > 9e9)
		return left > 0 ? HF_ENV_FOREVER : 0;
	return hf_detail_nanoseconds(time - now);
}

/* TimedLockable: works with the guards of <mutex>, and with hf::condition_variable. */
class HF_CAPABILITY("mutex") mutex {
public:
	/* Constant-initialized (all bytes 0): a global mutex can be used in any constructor. */
	HF_DETAIL_CONSTEXPR mutex() noexcept : raw_() {}
	mutex(const mutex &) = delete;
	mutex &operator=(const mutex &) = delete;
#if HF_VALIDATE || HF_TSAN
	~mutex()
	{
		HF_DETAIL_TSAN_DESTROY(&raw_.word, is_locked());
		HF_DETAIL_VALIDATE_FORGET(&raw_.word);
	}
#endif

	void lock() noexcept HF_ACQUIRE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_mutex_lock(&raw_);
	}
	bool try_lock() noexcept HF_TRY_ACQUIRE(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		return hf_mutex_trylock(&raw_);
	}
	/* Accepts any std::chrono::duration. Zero or negative durations do not block. */
	template <class Duration>
	bool try_lock_for(const Duration &timeout) noexcept
		HF_TRY_ACQUIRE(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		return hf_mutex_lock_timeout(&raw_, hf_detail_nanoseconds(timeout));
	}
	/* Accepts any clock, even a slow one: it is read again before a timeout is reported. */
	template <class TimePoint>
	bool try_lock_until(const TimePoint &time) HF_TRY_ACQUIRE(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		uint64_t left;

		do {
			left = hf_detail_nanoseconds_until(time);
			if (hf_mutex_lock_timeout(&raw_, left))
				return true;
		} while (left != 0);
		return false;
	}
	void unlock() noexcept HF_RELEASE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_mutex_unlock(&raw_);
	}
	bool is_locked() const noexcept
	{
		return hf_mutex_is_locked(&raw_);
	}
	hf_mutex_t *native_handle() noexcept
	{
		return &raw_;
	}

private:
	hf_mutex_t raw_;
};
HF_END_CXX
#endif

#endif
