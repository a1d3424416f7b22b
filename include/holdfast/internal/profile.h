/* SPDX-License-Identifier: MIT */
#ifndef HF_PROFILE_H
#define HF_PROFILE_H
#pragma GCC system_header
/* profile - how the slow paths of locks time their waits, for HOLDFAST_PROFILE: src/profile. */
#include "env.h"

#if HF_ENV_HAS_PROFILE

/* What a thread waits for. */
enum hf_detail_profile_kind {
	HF_DETAIL_PROFILE_MUTEX,
	HF_DETAIL_PROFILE_MUTEX_SHARED,
	HF_DETAIL_PROFILE_SPINLOCK,
	HF_DETAIL_PROFILE_COND,
	HF_DETAIL_PROFILE_COND_SHARED,
	HF_DETAIL_PROFILE_RWLOCK_READ,
	HF_DETAIL_PROFILE_RWLOCK_WRITE,
};

HF_BEGIN_DECLS

/* Is profiling on? Changed before main() only, or before a plug-in's first function. */
extern uint32_t hf_detail_profile_on HF_API_EACH;

/* Adds a wait for `lock` since `start`, in the call at `site`; NULL = the call of this function. */
void hf_detail_profile_add(uint64_t start, enum hf_detail_profile_kind kind,
			   const volatile void *lock, const void *site) HF_API
	__attribute__((cold, __noinline__));

HF_END_DECLS

/* Start timing a slow path. Returns the start time, or 0 if profiling is off. */
HF_INLINE uint64_t hf_detail_profile_begin(void)
{
	return HF_UNLIKELY(hf_detail_profile_on) ? hf_env_deadline(0) : 0;
}

/* End timing a slow path. */
HF_INLINE void hf_detail_profile_end(uint64_t start, enum hf_detail_profile_kind kind,
				     const volatile void *lock, const void *site)
{
	if (HF_UNLIKELY(start))
		hf_detail_profile_add(start, kind, lock, site);
}

#else
#define hf_detail_profile_begin() ((uint64_t)0)
#define hf_detail_profile_end(start, kind, lock, site) ((void)(start))
#endif

#endif
