/* SPDX-License-Identifier: MIT */
#ifndef HF_COND_CLASS_H
#define HF_COND_CLASS_H
#pragma GCC system_header
/*
 * cond_class - hf::condition_variable, for std::unique_lock<hf::mutex>.
 *
 * Use when / not when
 *   As cond.h, which includes this in C++. Not between processes: hf_cond_shared_t has no class.
 *
 * Operations
 *   wait                      as that of std::condition_variable, also with a predicate
 *   wait_for, wait_until      the same with a limit, of any clock; a bool replaces std::cv_status:
 *                             false = timed out, or what the predicate returned last
 *   notify_one, notify_all    wake one waiter, or all of them
 *
 * Example     std::unique_lock<hf::mutex> lock(mutex);
 *             not_empty.wait(lock, [&] { return !queue.empty(); });
 * Ordering    of a wait release, then acquire, of the mutex; of a notify none
 */
#include "cond.h"

#if defined(__cplusplus) && HF_ENV_HAS_PARK
HF_BEGIN_CXX

/* As std::condition_variable, for std::unique_lock<hf::mutex>; a bool replaces std::cv_status. */
class condition_variable {
public:
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
	/* Accepts any clock. False = timed out; true = signalled, or spurious. */
	template <class Lock, class TimePoint>
	bool wait_until(Lock &lock, const TimePoint &time)
	{
		return hf_cond_wait_timeout(&raw_, lock.mutex()->native_handle(),
					    hf_detail_nanoseconds_until(time)) ||
		       hf_detail_nanoseconds_until(time) != 0;
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
	bool wait_for(Lock &lock, const Duration &duration)
	{
		return hf_cond_wait_timeout(&raw_, lock.mutex()->native_handle(),
					    hf_detail_nanoseconds(duration));
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
	hf_cond_t *native_handle() noexcept { return &raw_; }

private:
	hf_cond_t raw_;
};
HF_END_CXX
#endif

#endif
