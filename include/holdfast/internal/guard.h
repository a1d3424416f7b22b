/* SPDX-License-Identifier: MIT */
#ifndef HF_GUARD_H
#define HF_GUARD_H
#pragma GCC system_header
/*
 * guard - holds a lock to the end of a C++ block.
 *
 * Use when / not when
 *   As std::lock_guard, but visible to clang's -Wthread-safety, which the standard library's guards
 *   are not. Not to wait with a time limit, to release early or to pass the lock on: use
 *   std::unique_lock. C has HF_SPINLOCK_GUARD (spinlock.h).
 *
 * Operations  hf::guard hold(lock);               lock() now, and unlock() where the block ends
 *             hf::guard hold(lock, hf::adopt);    the caller holds it already; only the unlock()
 * Example     examples/spinlock_guard.cpp
 * Ordering    that of the lock's functions.
 */
#include "compiler.h"

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
HF_END_CXX
#endif

#endif
