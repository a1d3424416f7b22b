/* SPDX-License-Identifier: MIT */
#ifndef HF_LOCKREF_LOCK_H
#define HF_LOCKREF_LOCK_H
#pragma GCC system_header
/*
 * lock - which lock is the lock half of a lockref.
 *
 *   HF_LOCKREF_LOCK   its waiters
 *   mutex             spin briefly, then park. The default where there is parking (user space)
 *   queued            spin, first come, first served. The default elsewhere (kernels, bare metal)
 *   cas, cas_release, cas_prefetch, wfe
 *                     spin, in any order
 *
 *   ticket and mcs have more than 4 bytes. All that take the same lockref are compiled with the
 *   same choice; what holds for its mutex or spinlock (mutex.h, spinlock.h) then holds for the lock
 *   half.
 *
 * Invariants
 *   A lock half is free, and without waiters, exactly when its 32 bits are 0: so I7 of
 *   spinlock/queued.h, X5 of mutex.h, and the others have no more than one bit.
 */
#include "../internal/atomic.h"

/* The lock half, by its name in the table above. */
#ifndef HF_LOCKREF_LOCK
#if HF_ENV_HAS_PARK
#define HF_LOCKREF_LOCK mutex
#else
#define HF_LOCKREF_LOCK queued
#endif
#endif

/* The beginning of its verbs' names, and its number for the preprocessor. */
#define HF_DETAIL_LOCKREF_LOCK_mutex hf_mutex_
#define HF_DETAIL_LOCKREF_LOCK_queued hf_spinlock_queued_
#define HF_DETAIL_LOCKREF_LOCK_cas hf_spinlock_cas_
#define HF_DETAIL_LOCKREF_LOCK_cas_release hf_spinlock_cas_release_
#define HF_DETAIL_LOCKREF_LOCK_cas_prefetch hf_spinlock_cas_prefetch_
#define HF_DETAIL_LOCKREF_LOCK_wfe hf_spinlock_wfe_
#define HF_DETAIL_LOCKREF_LOCK_IS_mutex 1
#define HF_DETAIL_LOCKREF_LOCK_IS_queued 2
#define HF_DETAIL_LOCKREF_LOCK_IS_cas 3
#define HF_DETAIL_LOCKREF_LOCK_IS_cas_release 4
#define HF_DETAIL_LOCKREF_LOCK_IS_cas_prefetch 5
#define HF_DETAIL_LOCKREF_LOCK_IS_wfe 6
#define HF_DETAIL_LOCKREF_LOCK_IS HF_DETAIL_PASTE(HF_DETAIL_LOCKREF_LOCK_IS_, HF_LOCKREF_LOCK)
#define HF_DETAIL_LOCKREF_LOCK(verb)                                                               \
	HF_DETAIL_PASTE(HF_DETAIL_PASTE(HF_DETAIL_LOCKREF_LOCK_, HF_LOCKREF_LOCK), verb)

#if HF_DETAIL_LOCKREF_LOCK_IS == 1
#if !HF_ENV_HAS_PARK
#error "HF_LOCKREF_LOCK=mutex: nothing parks in this world"
#endif
#include "../mutex.h"
#elif HF_DETAIL_LOCKREF_LOCK_IS == 2
#include "../spinlock/queued.h"
#elif HF_DETAIL_LOCKREF_LOCK_IS == 3
#include "../spinlock/cas.h"
#elif HF_DETAIL_LOCKREF_LOCK_IS == 4
#include "../spinlock/cas_release.h"
#elif HF_DETAIL_LOCKREF_LOCK_IS == 5
#include "../spinlock/cas_prefetch.h"
#elif HF_DETAIL_LOCKREF_LOCK_IS == 6
#include "../spinlock/wfe.h"
#else
#error "HF_LOCKREF_LOCK is not one of lockref/lock.h"
#endif

typedef HF_DETAIL_LOCKREF_LOCK(t) hf_detail_lockref_lock_t;

HF_STATIC_ASSERT(HF_ATOMIC_IS_MODEL || sizeof(hf_detail_lockref_lock_t) == 4, "half of the word");

/* The lock half of a word. */
HF_INLINE hf_detail_lockref_lock_t *hf_detail_lockref_lock_of(hf_atomic64_t *word)
{
	return (hf_detail_lockref_lock_t *)hf_atomic64_low32(word);
}

/* Is the lock half free, and without waiters, in this word? */
HF_INLINE bool hf_detail_lockref_unlocked(uint64_t word)
{
	return HF_LIKELY((uint32_t)word == 0);
}

HF_INLINE int32_t hf_detail_lockref_count(uint64_t word)
{
	return (int32_t)(uint32_t)(word >> 32);
}

#endif
