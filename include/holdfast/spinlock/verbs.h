/* SPDX-License-Identifier: MIT */
/*
 * verbs - the spinlock family's list of verbs, written once for every implementation.
 *
 * An implementation includes this after it has defined its type, hf_detail_spinlock_<name>_init, _lock
 * (with a wait policy), _trylock, _unlock and _is_locked, and these two macros:
 *
 *   HF_DETAIL_SPINLOCK        its name
 *   HF_DETAIL_SPINLOCK_WAIT   its default wait policy
 *
 * and HF_DETAIL_SPINLOCK_UNLOCK_IN_CHILD, a function, if that is more than to make it free.
 *
 * What each verb does, returns and orders is documented once: in spinlock.h, for the default.
 * No include guard: this is meant to be included again and again.
 */
#pragma GCC system_header
#define HF_DETAIL_V(verb) HF_DETAIL_PASTE4(hf_spinlock_, HF_DETAIL_SPINLOCK, _, verb)
#define HF_DETAIL_RAW(verb) HF_DETAIL_PASTE4(hf_detail_spinlock_, HF_DETAIL_SPINLOCK, _, verb)

HF_INLINE void HF_DETAIL_V(init)(HF_DETAIL_V(t) *lock)
{
	HF_DETAIL_VALIDATE_FORGET(lock);
	HF_DETAIL_RAW(init)(lock);
}

HF_INLINE void HF_DETAIL_V(lock)(HF_DETAIL_V(t) *lock) HF_ACQUIRE(lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf_env_preempt_disable();
	if (!HF_DETAIL_VALIDATE_LOCK(lock, HF_DETAIL_RAW(is_locked)(lock)))
		return;
	HF_DETAIL_RAW(lock)(lock, HF_DETAIL_SPINLOCK_WAIT);
	HF_DETAIL_VALIDATE_LOCKED(lock);
}

HF_INLINE HF_MUST_CHECK bool HF_DETAIL_V(trylock)(HF_DETAIL_V(t) *lock)
	HF_TRY_ACQUIRE(true, lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf_env_preempt_disable();
	if (HF_DETAIL_RAW(trylock)(lock)) {
		HF_DETAIL_VALIDATE_LOCKED(lock);
		return true;
	}
	hf_env_preempt_enable();
	return false;
}

HF_INLINE bool HF_DETAIL_V(is_locked)(const HF_DETAIL_V(t) *lock)
{
	return HF_DETAIL_RAW(is_locked)(lock);
}

HF_INLINE void HF_DETAIL_V(unlock)(HF_DETAIL_V(t) *lock)
	HF_RELEASE(lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	if (!HF_DETAIL_VALIDATE_UNLOCK(lock, HF_DETAIL_RAW(is_locked)(lock)))
		return;
	HF_DETAIL_RAW(unlock)(lock);
	hf_env_preempt_enable();
}

#if HF_ENV_HAS_FORK
#ifndef HF_DETAIL_SPINLOCK_UNLOCK_IN_CHILD
#define HF_DETAIL_SPINLOCK_UNLOCK_IN_CHILD HF_DETAIL_RAW(init)
#endif
HF_INLINE void HF_DETAIL_V(unlock_in_child)(HF_DETAIL_V(t) *lock)
	HF_RELEASE(lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	if (!HF_DETAIL_VALIDATE_UNLOCK(lock, HF_DETAIL_RAW(is_locked)(lock)))
		return;
	HF_DETAIL_SPINLOCK_UNLOCK_IN_CHILD(lock);
	hf_env_preempt_enable();
}
#endif

HF_INLINE void HF_DETAIL_V(lock_full)(HF_DETAIL_V(t) *lock) HF_ACQUIRE(lock)
{
	hf_atomic_fence_seq_cst_at_rmw();
	HF_DETAIL_V(lock)(lock);
	hf_atomic_fence_seq_cst_at_rmw();
}

HF_INLINE void HF_DETAIL_V(unlock_full)(HF_DETAIL_V(t) *lock) HF_RELEASE(lock)
{
	HF_DETAIL_V(unlock)(lock);
	hf_atomic_fence_seq_cst();
}

#if HF_ENV_HAS_IRQ
HF_INLINE unsigned long HF_DETAIL_V(lock_irqsave)(HF_DETAIL_V(t) *lock) HF_ACQUIRE(lock)
{
	unsigned long flags = hf_env_irq_save();

	HF_DETAIL_V(lock)(lock);
	return flags;
}

HF_INLINE void HF_DETAIL_V(unlock_irqrestore)(HF_DETAIL_V(t) *lock, unsigned long flags)
	HF_RELEASE(lock)
{
	HF_DETAIL_V(unlock)(lock);
	hf_env_irq_restore(flags);
}
#endif

/* For HF_SPINLOCK_GUARD_OF(): takes the lock and returns it; releases what a guard holds. */
HF_INLINE HF_DETAIL_V(t) *HF_DETAIL_V(guard_begin)(HF_DETAIL_V(t) *lock)
	HF_ASSERT_HELD(lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	HF_DETAIL_V(lock)(lock);
	return lock;
}

HF_INLINE void HF_DETAIL_V(guard_end)(HF_DETAIL_V(t) **guard) HF_NO_THREAD_SAFETY_ANALYSIS
{
	HF_DETAIL_V(unlock)(*guard);
}

#ifdef __cplusplus
HF_BEGIN_CXX
/* Lockable: works with std::lock_guard, std::unique_lock and std::scoped_lock. */
class HF_CAPABILITY("spinlock") HF_DETAIL_PASTE(spinlock_, HF_DETAIL_SPINLOCK) {
public:
	/* All bytes 0: free. A global one is free before any constructor runs, and none undoes that. */
	HF_DETAIL_CONSTEXPR HF_DETAIL_PASTE(spinlock_, HF_DETAIL_SPINLOCK)() noexcept : raw_() {}
	HF_DETAIL_PASTE(spinlock_, HF_DETAIL_SPINLOCK)
	(const HF_DETAIL_PASTE(spinlock_, HF_DETAIL_SPINLOCK) &) = delete;
	HF_DETAIL_PASTE(spinlock_, HF_DETAIL_SPINLOCK) &
	operator=(const HF_DETAIL_PASTE(spinlock_, HF_DETAIL_SPINLOCK) &) = delete;

#if HF_VALIDATE
	~HF_DETAIL_PASTE(spinlock_, HF_DETAIL_SPINLOCK)()
	{
		HF_DETAIL_VALIDATE_FORGET(&raw_);
	}
#endif

	void lock() noexcept HF_ACQUIRE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		HF_DETAIL_V(lock)(&raw_);
	}
	bool try_lock() noexcept HF_TRY_ACQUIRE(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		return HF_DETAIL_V(trylock)(&raw_);
	}
	void unlock() noexcept HF_RELEASE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		HF_DETAIL_V(unlock)(&raw_);
	}
#if HF_ENV_HAS_FORK
	void unlock_in_child() noexcept HF_RELEASE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		HF_DETAIL_V(unlock_in_child)(&raw_);
	}
#endif
	bool is_locked() const noexcept
	{
		return HF_DETAIL_V(is_locked)(&raw_);
	}
	HF_DETAIL_V(t) *native_handle() noexcept
	{
		return &raw_;
	}

private:
	HF_DETAIL_V(t) raw_;
};
HF_END_CXX
#endif

#undef HF_DETAIL_V
#undef HF_DETAIL_RAW
#undef HF_DETAIL_SPINLOCK
#undef HF_DETAIL_SPINLOCK_WAIT
#undef HF_DETAIL_SPINLOCK_UNLOCK_IN_CHILD
