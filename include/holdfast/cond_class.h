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
 *   wait_for, wait_until      the same with a limit, of any clock: a wait_result, or the bool that
 *                             the predicate returned last
 *   notify_one, notify_all    wake one waiter, or all of them
 *
 * Example     std::unique_lock<hf::mutex> lock(mutex);
 *             not_empty.wait(lock, [&] { return !queue.empty(); });
 * Ordering    of a wait release, then acquire, of the mutex; of a notify none
 */
#include "cond.h"

#if defined(__cplusplus) && HF_ENV_HAS_PARK
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
