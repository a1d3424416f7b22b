/* SPDX-License-Identifier: MIT */
#ifndef HF_LOCK_CLASS_H
#define HF_LOCK_CLASS_H
#pragma GCC system_header
/*
 * lock_class - guards, and what the C++ classes of the locks share.
 *
 * Use when / not when
 *   hf::guard is as std::lock_guard, but visible to clang's -Wthread-safety, which the standard
 *   library's guards are not. Not to wait with a time limit, to release early or to pass the lock
 *   on: use std::unique_lock. C has a guard in each lock's header: HF_MUTEX_GUARD, ...
 *   hf::lockable and hf::timed_lockable are the base classes of hf::mutex, hf::recursive_mutex,
 *   hf::shared_mutex, hf::spinlock, hf::spinlock_ticket and hf::lockref, which are in the headers
 *   of these locks.
 *
 * Operations
 *   hf::guard hold(lock);               lock() now, and unlock() where the block ends
 *   hf::guard hold(lock, hf::adopt);    the caller holds it already; only the unlock()
 *   lock, try_lock, unlock              for hf::guard, std::lock_guard, std::unique_lock
 *   try_lock_for, try_lock_until        the same with a limit, of locks that park; of any clock
 *   native_handle                       the lock of C, for its functions
 *
 * Example     examples/spinlock_guard.cpp
 * Ordering    of lock and a try that succeeds acquire, of unlock release
 * Errors      those of the functions of C; nothing throws but a clock
 */
#include "internal/atomic.h"
#include "validate.h"

/*
 * The functions of a guard in C. The thread-safety analysis does not see where the guard ends:
 * @held says that the lock is held to the end of the function.
 */
#define HF_DETAIL_GUARD_FUNCTIONS(name, type, lock, unlock, held)                                  \
	HF_INLINE type *name##_begin(type *at) held(at) HF_NO_THREAD_SAFETY_ANALYSIS               \
	{                                                                                          \
		lock(at);                                                                          \
		return at;                                                                         \
	}                                                                                          \
                                                                                                   \
	HF_INLINE void name##_end(type **guard) HF_NO_THREAD_SAFETY_ANALYSIS                       \
	{                                                                                          \
		unlock(*guard);                                                                    \
	}

/* A variable that name_begin() returns now, and that name_end() gets where the block ends. */
#define HF_DETAIL_GUARD(type, name, ...)                                                           \
	type *HF_DETAIL_UNIQUE(hf_detail_guard_)                                                   \
		__attribute__((cleanup(name##_end), unused)) = name##_begin(__VA_ARGS__)

#ifdef __cplusplus
HF_BEGIN_CXX

/* Selects the constructor that takes over the caller's lock or (intrusive_ptr.h) reference. */
struct adopt_t {
	explicit adopt_t() = default;
};
inline constexpr adopt_t adopt{};

/* Lock: anything with lock() and unlock(), as hf::spinlock. */
template <class Lock>
class HF_SCOPED_CAPABILITY guard {
public:
	explicit guard(Lock &lock) HF_ACQUIRE(lock) : lock_(lock) { lock_.lock(); }
	guard(Lock &lock, adopt_t) HF_REQUIRES(lock) : lock_(lock) {}
	~guard() HF_RELEASE() { lock_.unlock(); }
	guard(const guard &) = delete;
	guard &operator=(const guard &) = delete;

private:
	Lock &lock_;
};

/* The same for a reader: anything with lock_shared() and unlock_shared(). */
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

/* Lockable. Raw: the type in C; Functions: those of C that take it. */
template <class Raw, class Functions>
class HF_CAPABILITY("lock") lockable {
public:
	/* Constant-initialized (all bytes 0): a global lock can be used in any constructor. */
	HF_DETAIL_CONSTEXPR lockable() noexcept : raw_() {}
	lockable(const lockable &) = delete;
	lockable &operator=(const lockable &) = delete;
#if HF_VALIDATE
	~lockable()
	{
		hf_validate_forget(&raw_);
	}
#endif

	void lock() noexcept HF_ACQUIRE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		Functions::lock(&raw_);
	}
	bool try_lock() noexcept HF_TRY_ACQUIRE(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		return Functions::trylock(&raw_);
	}
	void unlock() noexcept HF_RELEASE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		Functions::unlock(&raw_);
	}
	Raw *native_handle() noexcept
	{
		return &raw_;
	}

protected:
	HF_DETAIL_CONSTEXPR explicit lockable(const Raw &raw) noexcept : raw_(raw)
	{
	}
	Raw raw_;
};

#if HF_ENV_HAS_PARK
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

/* Reads the clock again before it reports a timeout: it may be slower than ours. */
template <class TimePoint, class Lock>
inline bool hf_detail_lock_until(const TimePoint &time, Lock lock_timeout)
{
	uint64_t left;

	do {
		left = hf_detail_nanoseconds_until(time);
		if (lock_timeout(left))
			return true;
	} while (left != 0);
	return false;
}

/* TimedLockable. */
template <class Raw, class Functions>
class HF_CAPABILITY("lock") timed_lockable : public lockable<Raw, Functions> {
public:
	/* Accepts any std::chrono::duration. Zero or negative durations do not block. */
	template <class Duration>
	bool try_lock_for(const Duration &timeout) noexcept
		HF_TRY_ACQUIRE(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		return Functions::lock_timeout(&this->raw_, hf_detail_nanoseconds(timeout));
	}
	/* Accepts any clock. */
	template <class TimePoint>
	bool try_lock_until(const TimePoint &time) HF_TRY_ACQUIRE(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		return hf_detail_lock_until(time, [this](uint64_t left) {
			return Functions::lock_timeout(&this->raw_, left);
		});
	}
};
#endif

HF_END_CXX
#endif

#endif
