/* SPDX-License-Identifier: MIT */
#ifndef HF_LOCKREF_COUNTED_H
#define HF_LOCKREF_COUNTED_H
#pragma GCC system_header
/*
 * lockref_counted - a lockref for C++: a lock for the standard guards, references that drop
 * themselves.
 *
 * Use when / not when
 *   As lockref.h, from C++: for objects that are looked up without the lock, and whose last put
 *   decides under the lock what becomes of them. Not where a refcount is enough: hf::refcounted.
 *   lockref_waitfree.h has no C++ form: call its functions.
 *
 * Operations
 *   hf::lockref                  as hf::lockable (lock_class.h); read, is_dead; with the lock held
 *                                set_count, mark_dead
 *   hf::lockref_counted<T>       base class of T: a hf::lockref, and the hooks of
 *                                hf::intrusive_ptr<T>
 *   intrusive_ptr<T>(p, how)     hf::retain: get. hf::retain_not_zero, hf::retain_not_dead: null
 *                                where get_not_zero, get_not_dead return false. hf::adopt: takes
 *                                one over
 *   copy, move, destroy          get; nothing; put_or_lock, and T's last_put() if it was the last
 *
 * Example     examples/lockref_counted.cpp
 *
 * The last put    The thread that drops the last reference then holds the lock, and the count is
 *                 still 1: nobody else can take or drop one. T::last_put() decides, and releases
 *                 the lock. The inherited one stores 0: the object stays, and retain_not_dead
 *                 revives it. One that ends an object marks it dead, so that lookups ignore it, and
 *                 frees its memory when no lookup can access it any more: at once if lookups hold a
 *                 lock that last_put() takes to remove the object, else by RCU.
 *
 * Ordering, Errors   those of the functions of lockref.h; acquire before last_put()
 *
 * Source   docs/design/0033-cxx-ownership.md
 */
#include "intrusive_ptr.h"
#include "lock_class.h"
#include "lockref.h"

#ifdef __cplusplus
HF_BEGIN_CXX

struct hf_detail_lockref_functions {
	static constexpr auto lock = hf_lockref_lock;
	static constexpr auto trylock = hf_lockref_trylock;
	static constexpr auto unlock = hf_lockref_unlock;
};

/* Works with hf::guard, and with the guards of <mutex>. */
class HF_CAPABILITY("lockref") lockref
	: public lockable<hf_lockref_t, hf_detail_lockref_functions> {
public:
	/* The lock is free. count: 0 to INT32_MAX. */
	HF_DETAIL_CONSTEXPR explicit lockref(int32_t count = 1) noexcept
		: lockable(hf_lockref_t HF_LOCKREF_INIT(static_cast<uint32_t>(count)))
	{
	}
#if HF_VALIDATE || HF_TSAN
	~lockref()
	{
		HF_DETAIL_TSAN_DESTROY(hf_detail_lockref_lock(&raw_),
				       hf_env_lockref_is_locked(hf_detail_lockref_lock(&raw_)));
		if (HF_VALIDATE)
			hf_validate_forget(hf_detail_lockref_lock(&raw_));
	}
#endif
	/* As hf_lockref_read(): stale, unless the lock is held. Negative = dead. */
	int32_t read() const noexcept
	{
		return hf_lockref_read(&raw_);
	}
	bool is_dead() const noexcept
	{
		return hf_lockref_is_dead(&raw_);
	}
	/* The lock is held, here and below. */
	void set_count(int32_t count) noexcept HF_REQUIRES(this) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_lockref_set_count(&raw_, count);
	}
	void mark_dead() noexcept HF_REQUIRES(this) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_lockref_mark_dead(&raw_);
	}
};

/* lockref_counted - base class of T: class entry : public hf::lockref_counted<entry> { ... }; */
template <class T>
class lockref_counted : public lockref {
public:
	/* The object stays, with 0 references. T may define another one: see "The last put". */
	void last_put() noexcept HF_RELEASE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		set_count(0);
		unlock();
	}

protected:
	/* One reference, for hf::adopt; or 0, until retain_not_dead takes the first one. */
	HF_DETAIL_CONSTEXPR explicit lockref_counted(int32_t count = 1) noexcept : lockref(count) {}
	~lockref_counted() = default;

private:
	static hf_lockref_t *raw(const lockref_counted *object) noexcept
	{
		return const_cast<lockref_counted *>(object)->native_handle();
	}
	friend void intrusive_ptr_add_ref(const lockref_counted *object) noexcept
	{
		hf_lockref_get(raw(object));
	}
	friend bool intrusive_ptr_add_ref_not_zero(const lockref_counted *object) noexcept
	{
		return hf_lockref_get_not_zero(raw(object));
	}
	friend bool intrusive_ptr_add_ref_not_dead(const lockref_counted *object) noexcept
	{
		return hf_lockref_get_not_dead(raw(object));
	}
	friend void
	intrusive_ptr_release(const lockref_counted *object) noexcept HF_NO_THREAD_SAFETY_ANALYSIS
	{
		if (!hf_lockref_put_or_lock(raw(object)))
			decide(object);
	}
	/* Opaque to the compiler, as in intrusive_ptr.h. */
	__attribute__((__noinline__)) static void
	decide(const lockref_counted *object) noexcept HF_NO_THREAD_SAFETY_ANALYSIS
	{
		const_cast<T *>(static_cast<const T *>(object))->last_put();
	}
};

HF_END_CXX
#endif

#endif
