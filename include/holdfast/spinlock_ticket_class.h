/* SPDX-License-Identifier: MIT */
#ifndef HF_SPINLOCK_TICKET_CLASS_H
#define HF_SPINLOCK_TICKET_CLASS_H
#pragma GCC system_header
/*
 * spinlock_ticket_class - hf::spinlock_ticket: the ticket lock for the standard guards.
 *
 * Use when / not when
 *   As spinlock_ticket.h, which includes this in C++. Its operations are those of hf::spinlock.
 *
 * Example     hf::spinlock_ticket lock;
 *             hf::guard<hf::spinlock_ticket> hold(lock);
 * Ordering    of lock and a try_lock that succeeds acquire, of unlock release
 */
#include "spinlock_ticket.h"

#if defined(__cplusplus)
HF_BEGIN_CXX

/* Lockable: works with std::lock_guard, std::unique_lock and std::scoped_lock. */
class HF_CAPABILITY("spinlock") spinlock_ticket {
public:
	HF_DETAIL_CONSTEXPR spinlock_ticket() noexcept : raw_() {}
	spinlock_ticket(const spinlock_ticket &) = delete;
	spinlock_ticket &operator=(const spinlock_ticket &) = delete;
#if HF_VALIDATE
	~spinlock_ticket()
	{
		HF_DETAIL_VALIDATE_FORGET(&raw_);
	}
#endif

	void lock() noexcept HF_ACQUIRE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_spinlock_ticket_lock(&raw_);
	}
	bool try_lock() noexcept HF_TRY_ACQUIRE(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		return hf_spinlock_ticket_trylock(&raw_);
	}
	void unlock() noexcept HF_RELEASE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_spinlock_ticket_unlock(&raw_);
	}
	bool is_locked() const noexcept
	{
		return hf_spinlock_ticket_is_locked(&raw_);
	}
	hf_spinlock_ticket_t *native_handle() noexcept
	{
		return &raw_;
	}

private:
	hf_spinlock_ticket_t raw_;
};
HF_END_CXX
#endif

#endif
