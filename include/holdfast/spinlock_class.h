/* SPDX-License-Identifier: MIT */
#ifndef HF_SPINLOCK_CLASS_H
#define HF_SPINLOCK_CLASS_H
#pragma GCC system_header
/*
 * spinlock_class - hf::spinlock: a spinlock for the standard guards.
 *
 * Use when / not when
 *   As spinlock.h, which includes this in C++.
 *
 * Operations
 *   lock, try_lock, unlock      for hf::guard, std::lock_guard, std::unique_lock, std::scoped_lock
 *   unlock_in_child             in the child of a fork, where HF_ENV_HAS_FORK
 *   is_locked, native_handle    does it have a holder? the hf_spinlock_t, for the functions of C
 *
 * Example     examples/spinlock_guard.cpp
 * Ordering    of lock and a try_lock that succeeds acquire, of unlock release
 */
#include "spinlock.h"

#if defined(__cplusplus)
HF_BEGIN_CXX

/* Lockable: works with std::lock_guard, std::unique_lock and std::scoped_lock. */
class HF_CAPABILITY("spinlock") spinlock {
public:
	/* Constant-initialized (all bytes 0): a global lock can be used in any constructor. */
	HF_DETAIL_CONSTEXPR spinlock() noexcept : raw_() {}
	spinlock(const spinlock &) = delete;
	spinlock &operator=(const spinlock &) = delete;
#if HF_VALIDATE
	~spinlock()
	{
		HF_DETAIL_VALIDATE_FORGET(&raw_);
	}
#endif

	void lock() noexcept HF_ACQUIRE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_spinlock_lock(&raw_);
	}
	bool try_lock() noexcept HF_TRY_ACQUIRE(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		return hf_spinlock_trylock(&raw_);
	}
	void unlock() noexcept HF_RELEASE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_spinlock_unlock(&raw_);
	}
#if HF_ENV_HAS_FORK
	void unlock_in_child() noexcept HF_RELEASE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_spinlock_unlock_in_child(&raw_);
	}
#endif
	bool is_locked() const noexcept
	{
		return hf_spinlock_is_locked(&raw_);
	}
	hf_spinlock_t *native_handle() noexcept
	{
		return &raw_;
	}

private:
	hf_spinlock_t raw_;
};
HF_END_CXX
#endif

#endif
