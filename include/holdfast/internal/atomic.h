/* SPDX-License-Identifier: MIT */
#ifndef HF_ATOMIC_H
#define HF_ATOMIC_H
#pragma GCC system_header
/*
 * atomic - all accesses to shared memory; atomic_partial.h is its second half.
 *
 * The primitives of Holdfast use this and nothing else, so that a model checker, a schedule
 * explorer or a simulator can stand in for the hardware: -DHF_ATOMIC_HEADER='"other.h"' replaces
 * this file, -DHF_ATOMIC_PARTIAL_HEADER='"other.h"' the other one, and
 * docs/design/0002-shared-memory.md says what a replacement must offer. Your own code is better
 * served by <stdatomic.h>.
 *
 *   load          returns *p
 *   store         *p = value
 *   xchg          *p = value; returns the old value of *p
 *   try_cmpxchg   if *p == *old, *p = value and true; else *old = *p and false
 *   fetch_add     *p += n, which wraps around; returns the old value. fetch_sub subtracts; add
 *                 returns nothing
 *
 * The ordering is in the name, as C11 defines it; of a compare-and-swap it is that of success, and
 * failure is relaxed. p is aligned to the size of its type.
 */

#if defined(HF_ATOMIC_HEADER)
#include HF_ATOMIC_HEADER
#else

#include "arch.h"

/* 1 where hf_atomic32_t is larger than 4 bytes. */
#define HF_ATOMIC_IS_MODEL 0

typedef uint32_t HF_MAY_ALIAS hf_detail_u32;
typedef uint64_t HF_MAY_ALIAS hf_detail_u64;

/* 64 bits that threads share. */
typedef struct hf_atomic64 {
	hf_detail_u64 value;
} HF_ALIGNED(8) hf_atomic64_t;

/* Initializes either type. */
#define HF_ATOMIC_INIT(n)                                                                          \
	{                                                                                          \
		(n)                                                                                \
	}

/* ---- 64 bits ------------------------------------------------------------------------------ */

HF_INLINE uint64_t hf_atomic64_load_relaxed(const hf_atomic64_t *p)
{
	return __atomic_load_n(&p->value, __ATOMIC_RELAXED);
}

HF_INLINE uint64_t hf_atomic64_load_acquire(const hf_atomic64_t *p)
{
	return __atomic_load_n(&p->value, __ATOMIC_ACQUIRE);
}

HF_INLINE void hf_atomic64_store_relaxed(hf_atomic64_t *p, uint64_t value)
{
	__atomic_store_n(&p->value, value, __ATOMIC_RELAXED);
}

HF_INLINE void hf_atomic64_store_release(hf_atomic64_t *p, uint64_t value)
{
	__atomic_store_n(&p->value, value, __ATOMIC_RELEASE);
}

HF_INLINE uint64_t hf_atomic64_load_seq_cst(const hf_atomic64_t *p)
{
	return __atomic_load_n(&p->value, __ATOMIC_SEQ_CST);
}

HF_INLINE void hf_atomic64_store_seq_cst(hf_atomic64_t *p, uint64_t value)
{
	__atomic_store_n(&p->value, value, __ATOMIC_SEQ_CST);
}

HF_INLINE bool hf_atomic64_try_cmpxchg_seq_cst(hf_atomic64_t *p, uint64_t *old, uint64_t value)
{
	return __atomic_compare_exchange_n(&p->value, old, value, 0, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

HF_INLINE bool hf_atomic64_try_cmpxchg_relaxed(hf_atomic64_t *p, uint64_t *old, uint64_t value)
{
	return __atomic_compare_exchange_n(&p->value, old, value, 0, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

HF_INLINE bool hf_atomic64_try_cmpxchg_release(hf_atomic64_t *p, uint64_t *old, uint64_t value)
{
	return __atomic_compare_exchange_n(&p->value, old, value, 0, __ATOMIC_RELEASE,
					   __ATOMIC_RELAXED);
}

HF_INLINE bool hf_atomic64_try_cmpxchg_acquire(hf_atomic64_t *p, uint64_t *old, uint64_t value)
{
	return __atomic_compare_exchange_n(&p->value, old, value, 0, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

HF_INLINE bool hf_atomic64_try_cmpxchg_acq_rel(hf_atomic64_t *p, uint64_t *old, uint64_t value)
{
	return __atomic_compare_exchange_n(&p->value, old, value, 0, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

HF_INLINE uint64_t hf_atomic64_fetch_add_relaxed(hf_atomic64_t *p, uint64_t n)
{
	return __atomic_fetch_add(&p->value, n, __ATOMIC_RELAXED);
}

HF_INLINE uint64_t hf_atomic64_fetch_sub_release(hf_atomic64_t *p, uint64_t n)
{
	return __atomic_fetch_sub(&p->value, n, __ATOMIC_RELEASE);
}

/* ---- fences ------------------------------------------------------------------------------- */

/*
 * Makes an earlier relaxed load of *p, or the load half of an earlier read-modify-write, an
 * acquire. ThreadSanitizer does not understand fences; there it is an acquire load.
 */
HF_INLINE void hf_atomic64_fence_acquire(const hf_atomic64_t *p)
{
	if (HF_TSAN)
		(void)__atomic_load_n(&p->value, __ATOMIC_ACQUIRE);
	else
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/* A full memory barrier: nothing moves across it in either direction. */
HF_INLINE void hf_atomic_fence_seq_cst(void)
{
	if (!HF_TSAN)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/*
 * The light half of an asymmetric barrier: the compiler moves nothing across, the processor may. It
 * pairs with hf_env_barrier_all() of another thread (env.h), and with nothing else.
 */
HF_INLINE void hf_atomic_fence_light(void)
{
	__asm__ volatile("" ::: "memory");
}

/* The same just before or after a read-modify-write: free where that is a barrier already. */
HF_INLINE void hf_atomic_fence_seq_cst_at_rmw(void)
{
	if (HF_ARCH_RMW_IS_FULL_BARRIER)
		hf_atomic_fence_light();
	else
		hf_atomic_fence_seq_cst();
}

/* 32 bits that threads share. */
typedef struct hf_atomic32 {
	hf_detail_u32 value;
} hf_atomic32_t;

/* ---- 32 bits ------------------------------------------------------------------------------ */

HF_INLINE uint32_t hf_atomic32_load_relaxed(const hf_atomic32_t *p)
{
	return __atomic_load_n(&p->value, __ATOMIC_RELAXED);
}

HF_INLINE uint32_t hf_atomic32_load_acquire(const hf_atomic32_t *p)
{
	return __atomic_load_n(&p->value, __ATOMIC_ACQUIRE);
}

HF_INLINE uint32_t hf_atomic32_load_seq_cst(const hf_atomic32_t *p)
{
	return __atomic_load_n(&p->value, __ATOMIC_SEQ_CST);
}

HF_INLINE void hf_atomic32_store_relaxed(hf_atomic32_t *p, uint32_t value)
{
	__atomic_store_n(&p->value, value, __ATOMIC_RELAXED);
}

HF_INLINE void hf_atomic32_store_release(hf_atomic32_t *p, uint32_t value)
{
	__atomic_store_n(&p->value, value, __ATOMIC_RELEASE);
}

HF_INLINE uint32_t hf_atomic32_xchg_acq_rel(hf_atomic32_t *p, uint32_t value)
{
	return __atomic_exchange_n(&p->value, value, __ATOMIC_ACQ_REL);
}

HF_INLINE uint32_t hf_atomic32_xchg_seq_cst(hf_atomic32_t *p, uint32_t value)
{
	return __atomic_exchange_n(&p->value, value, __ATOMIC_SEQ_CST);
}

HF_INLINE bool hf_atomic32_try_cmpxchg_relaxed(hf_atomic32_t *p, uint32_t *old, uint32_t value)
{
	return __atomic_compare_exchange_n(&p->value, old, value, 0, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

HF_INLINE bool hf_atomic32_try_cmpxchg_acquire(hf_atomic32_t *p, uint32_t *old, uint32_t value)
{
	return __atomic_compare_exchange_n(&p->value, old, value, 0, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

HF_INLINE bool hf_atomic32_try_cmpxchg_release(hf_atomic32_t *p, uint32_t *old, uint32_t value)
{
	return __atomic_compare_exchange_n(&p->value, old, value, 0, __ATOMIC_RELEASE,
					   __ATOMIC_RELAXED);
}

HF_INLINE bool hf_atomic32_try_cmpxchg_acq_rel(hf_atomic32_t *p, uint32_t *old, uint32_t value)
{
	return __atomic_compare_exchange_n(&p->value, old, value, 0, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

HF_INLINE bool hf_atomic32_try_cmpxchg_seq_cst(hf_atomic32_t *p, uint32_t *old, uint32_t value)
{
	return __atomic_compare_exchange_n(&p->value, old, value, 0, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

HF_INLINE uint32_t hf_atomic32_fetch_add_relaxed(hf_atomic32_t *p, uint32_t n)
{
	return __atomic_fetch_add(&p->value, n, __ATOMIC_RELAXED);
}

HF_INLINE uint32_t hf_atomic32_fetch_add_seq_cst(hf_atomic32_t *p, uint32_t n)
{
	return __atomic_fetch_add(&p->value, n, __ATOMIC_SEQ_CST);
}

HF_INLINE uint32_t hf_atomic32_fetch_sub_release(hf_atomic32_t *p, uint32_t n)
{
	return __atomic_fetch_sub(&p->value, n, __ATOMIC_RELEASE);
}

HF_INLINE void hf_atomic32_add_relaxed(hf_atomic32_t *p, uint32_t n)
{
	__atomic_fetch_add(&p->value, n, __ATOMIC_RELAXED);
}

/* As hf_atomic64_fence_acquire(). */
HF_INLINE void hf_atomic32_fence_acquire(const hf_atomic32_t *p)
{
	if (HF_TSAN)
		(void)__atomic_load_n(&p->value, __ATOMIC_ACQUIRE);
	else
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/* Waits while *p == old, but not for long. Returns *p. Ordering: acquire. */
HF_INLINE uint32_t hf_atomic32_wait_change_acquire(hf_atomic32_t *p, uint32_t old)
{
	return hf_arch_wait_change32((uint32_t *)&p->value, old);
}

/* Waits until *p is 0 and makes it 1, in one step. Ordering: acquire. */
HF_INLINE void hf_atomic32_wait_zero_set_acquire(hf_atomic32_t *p)
{
	hf_arch_wait_zero_set32((uint32_t *)&p->value);
}

#endif /* HF_ATOMIC_HEADER */

/* Initializes a struct with one member, an atomic. */
#define HF_DETAIL_INIT(n)                                                                          \
	{                                                                                          \
		HF_ATOMIC_INIT(n)                                                                  \
	}

#ifdef __cplusplus
/* For constructors that only zero atomics. Those of a model's atomics are not constexpr. */
#if HF_ATOMIC_IS_MODEL
#define HF_DETAIL_CONSTEXPR
#else
#define HF_DETAIL_CONSTEXPR constexpr
#endif
#endif

#if defined(HF_ATOMIC_PARTIAL_HEADER)
#include HF_ATOMIC_PARTIAL_HEADER
#else
#include "atomic_partial.h"
#endif

#endif
