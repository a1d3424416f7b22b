/* SPDX-License-Identifier: MIT */
/*
 * verbs - the spinlock family's list of verbs, written once for every implementation.
 *
 * An implementation includes this after it has defined its type, hf__spinlock_<name>_init, _lock
 * (with a wait policy), _trylock, _unlock and _is_locked, and these two macros:
 *
 *   HF__SPINLOCK        its name
 *   HF__SPINLOCK_WAIT   its default wait policy
 *
 * and HF__SPINLOCK_UNLOCK_IN_CHILD, a function, if that is more than to make it free.
 *
 * What each verb does, returns and orders is documented once: in spinlock.h, for the default.
 * No include guard: this is meant to be included again and again.
 */
#pragma GCC system_header
#define HF__V(verb) HF__PASTE4(hf_spinlock_, HF__SPINLOCK, _, verb)
#define HF__RAW(verb) HF__PASTE4(hf__spinlock_, HF__SPINLOCK, _, verb)

HF_INLINE void HF__V(init)(HF__V(t) *lock)
{
	HF__VALIDATE_FORGET(lock);
	HF__RAW(init)(lock);
}

HF_INLINE void HF__V(lock)(HF__V(t) *lock) HF_ACQUIRE(lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf_env_preempt_disable();
	if (!HF__VALIDATE_LOCK(lock, HF__RAW(is_locked)(lock)))
		return;
	HF__RAW(lock)(lock, HF__SPINLOCK_WAIT);
	HF__VALIDATE_LOCKED(lock);
}

HF_INLINE HF_MUST_CHECK bool HF__V(trylock)(HF__V(t) *lock)
	HF_TRY_ACQUIRE(true, lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf_env_preempt_disable();
	if (HF__RAW(trylock)(lock)) {
		HF__VALIDATE_LOCKED(lock);
		return true;
	}
	hf_env_preempt_enable();
	return false;
}

HF_INLINE bool HF__V(is_locked)(const HF__V(t) *lock)
{
	return HF__RAW(is_locked)(lock);
}

HF_INLINE void HF__V(unlock)(HF__V(t) *lock) HF_RELEASE(lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	if (!HF__VALIDATE_UNLOCK(lock, HF__RAW(is_locked)(lock)))
		return;
	HF__RAW(unlock)(lock);
	hf_env_preempt_enable();
}

#if HF_ENV_HAS_FORK
#ifndef HF__SPINLOCK_UNLOCK_IN_CHILD
#define HF__SPINLOCK_UNLOCK_IN_CHILD HF__RAW(init)
#endif
HF_INLINE void HF__V(unlock_in_child)(HF__V(t) *lock) HF_RELEASE(lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	if (!HF__VALIDATE_UNLOCK(lock, HF__RAW(is_locked)(lock)))
		return;
	HF__SPINLOCK_UNLOCK_IN_CHILD(lock);
	hf_env_preempt_enable();
}
#endif

HF_INLINE void HF__V(lock_full)(HF__V(t) *lock) HF_ACQUIRE(lock)
{
	hf_atomic_fence_seq_cst_at_rmw();
	HF__V(lock)(lock);
	hf_atomic_fence_seq_cst_at_rmw();
}

HF_INLINE void HF__V(unlock_full)(HF__V(t) *lock) HF_RELEASE(lock)
{
	HF__V(unlock)(lock);
	hf_atomic_fence_seq_cst();
}

#if HF_ENV_HAS_IRQ
HF_INLINE unsigned long HF__V(lock_irqsave)(HF__V(t) *lock) HF_ACQUIRE(lock)
{
	unsigned long flags = hf_env_irq_save();

	HF__V(lock)(lock);
	return flags;
}

HF_INLINE void HF__V(unlock_irqrestore)(HF__V(t) *lock, unsigned long flags) HF_RELEASE(lock)
{
	HF__V(unlock)(lock);
	hf_env_irq_restore(flags);
}
#endif

/* For HF_SPINLOCK_GUARD_OF(): takes the lock and returns it; releases what a guard holds. */
HF_INLINE HF__V(t) *HF__V(guard_begin)(HF__V(t) *lock)
	HF_ASSERT_HELD(lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	HF__V(lock)(lock);
	return lock;
}

HF_INLINE void HF__V(guard_end)(HF__V(t) **guard) HF_NO_THREAD_SAFETY_ANALYSIS
{
	HF__V(unlock)(*guard);
}

#ifdef __cplusplus
HF_BEGIN_CXX
/* Lockable: works with std::lock_guard, std::unique_lock and std::scoped_lock. */
class HF_CAPABILITY("spinlock") HF__PASTE(spinlock_, HF__SPINLOCK) {
public:
	/* All bytes 0: free. A global one is free before any constructor runs, and none undoes that. */
	HF__CONSTEXPR HF__PASTE(spinlock_, HF__SPINLOCK)() noexcept : raw_() {}
	HF__PASTE(spinlock_, HF__SPINLOCK)(const HF__PASTE(spinlock_, HF__SPINLOCK) &) = delete;
	HF__PASTE(spinlock_, HF__SPINLOCK) &operator=(const HF__PASTE(spinlock_,
								      HF__SPINLOCK) &) = delete;

#if HF_VALIDATE
	~HF__PASTE(spinlock_, HF__SPINLOCK)()
	{
		HF__VALIDATE_FORGET(&raw_);
	}
#endif

	void lock() noexcept HF_ACQUIRE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		HF__V(lock)(&raw_);
	}
	bool try_lock() noexcept HF_TRY_ACQUIRE(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		return HF__V(trylock)(&raw_);
	}
	void unlock() noexcept HF_RELEASE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		HF__V(unlock)(&raw_);
	}
#if HF_ENV_HAS_FORK
	void unlock_in_child() noexcept HF_RELEASE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		HF__V(unlock_in_child)(&raw_);
	}
#endif
	bool is_locked() const noexcept
	{
		return HF__V(is_locked)(&raw_);
	}
	HF__V(t) *native_handle() noexcept
	{
		return &raw_;
	}

private:
	HF__V(t) raw_;
};
HF_END_CXX
#endif

#undef HF__V
#undef HF__RAW
#undef HF__SPINLOCK
#undef HF__SPINLOCK_WAIT
#undef HF__SPINLOCK_UNLOCK_IN_CHILD
