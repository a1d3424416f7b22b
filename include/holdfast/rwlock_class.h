/* SPDX-License-Identifier: MIT */
#ifndef HF_RWLOCK_CLASS_H
#define HF_RWLOCK_CLASS_H
#pragma GCC system_header
/*
 * rwlock_class - hf::shared_mutex: a reader-writer lock for the standard guards, in 4 bytes.
 *
 * Use when / not when
 *   As rwlock.h, which includes this in C++, and as std::shared_timed_mutex.
 *
 * Operations
 *   lock_shared, unlock_shared, try_lock_shared     for hf::shared_guard, std::shared_lock
 *   lock, unlock, try_lock                          for hf::guard, std::unique_lock
 *   try_lock_shared_for, try_lock_shared_until,     the same with a limit; of any clock
 *   try_lock_for, try_lock_until
 *   downgrade                                       as hf_rwlock_downgrade()
 *   native_handle                                   the hf_rwlock_t, for the functions of C
 *
 * Example     hf::shared_mutex lock;
 *             std::shared_lock<hf::shared_mutex> hold(lock);
 * Ordering    of a lock and a try that succeeds acquire, of an unlock and downgrade release
 * Errors      as those of hf_rwlock_t
 */
#include "mutex_class.h" /* durations */
#include "rwlock.h"

#if defined(__cplusplus) && HF_ENV_HAS_PARK
HF_BEGIN_CXX

/* SharedTimedMutex: works with the guards of <mutex> and <shared_mutex>. */
class HF_CAPABILITY("rwlock") shared_mutex {
public:
	/* Constant-initialized (all bytes 0): a global lock can be used in any constructor. */
	HF_DETAIL_CONSTEXPR shared_mutex() noexcept : raw_() {}
	shared_mutex(const shared_mutex &) = delete;
	shared_mutex &operator=(const shared_mutex &) = delete;
#if HF_VALIDATE
	~shared_mutex()
	{
		HF_DETAIL_VALIDATE_FORGET(&raw_.word);
	}
#endif

	void lock() noexcept HF_ACQUIRE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_rwlock_write_lock(&raw_);
	}
	bool try_lock() noexcept HF_TRY_ACQUIRE(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		return hf_rwlock_write_trylock(&raw_);
	}
	/* Accepts any std::chrono::duration. Zero or negative durations do not block. */
	template <class Duration>
	bool try_lock_for(const Duration &timeout) noexcept
		HF_TRY_ACQUIRE(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		return hf_rwlock_write_lock_timeout(&raw_, hf_detail_nanoseconds(timeout));
	}
	/* Accepts any clock, even a slow one: it is read again before a timeout is reported. */
	template <class TimePoint>
	bool try_lock_until(const TimePoint &time) HF_TRY_ACQUIRE(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		uint64_t left;

		do {
			left = hf_detail_nanoseconds_until(time);
			if (hf_rwlock_write_lock_timeout(&raw_, left))
				return true;
		} while (left != 0);
		return false;
	}
	void unlock() noexcept HF_RELEASE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_rwlock_write_unlock(&raw_);
	}

	void lock_shared() noexcept HF_ACQUIRE_SHARED() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_rwlock_read_lock(&raw_);
	}
	bool try_lock_shared() noexcept HF_TRY_ACQUIRE_SHARED(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		return hf_rwlock_read_trylock(&raw_);
	}
	template <class Duration>
	bool try_lock_shared_for(const Duration &timeout) noexcept
		HF_TRY_ACQUIRE_SHARED(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		return hf_rwlock_read_lock_timeout(&raw_, hf_detail_nanoseconds(timeout));
	}
	template <class TimePoint>
	bool try_lock_shared_until(const TimePoint &time)
		HF_TRY_ACQUIRE_SHARED(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		uint64_t left;

		do {
			left = hf_detail_nanoseconds_until(time);
			if (hf_rwlock_read_lock_timeout(&raw_, left))
				return true;
		} while (left != 0);
		return false;
	}
	void unlock_shared() noexcept HF_RELEASE_SHARED() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_rwlock_read_unlock(&raw_);
	}

	void downgrade() noexcept HF_RELEASE() HF_ACQUIRE_SHARED() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_rwlock_downgrade(&raw_);
	}
	hf_rwlock_t *native_handle() noexcept
	{
		return &raw_;
	}

private:
	hf_rwlock_t raw_;
};

/* As hf::guard (internal/guard.h), for a reader. */
template <class Lock>
class HF_SCOPED_CAPABILITY shared_guard {
public:
	explicit shared_guard(Lock &lock) HF_ACQUIRE_SHARED(lock) : lock_(lock)
	{
		lock_.lock_shared();
	}
	~shared_guard() HF_DETAIL_THREAD_SAFETY(release_generic_capability())
	{
		lock_.unlock_shared();
	}
	shared_guard(const shared_guard &) = delete;
	shared_guard &operator=(const shared_guard &) = delete;

private:
	Lock &lock_;
};
HF_END_CXX
#endif

#endif
