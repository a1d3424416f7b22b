/* SPDX-License-Identifier: MIT */
#ifndef HF_ATOMIC_H
#define HF_ATOMIC_H
/*
 * atomic - the only file that touches shared memory.
 *
 * Use when / not when
 *   The primitives of Holdfast use this and nothing else, so that a model checker, a schedule
 *   explorer or a simulator can stand in for the hardware: -DHF_ATOMIC_HEADER='"other.h"' replaces
 *   the file, with the same types and functions. Your own code is better served by <stdatomic.h>.
 *
 * State
 *   hf_atomic32_t and hf_atomic64_t are opaque; only functions of this file read or write them, but
 *   for their initialiser HF_ATOMIC_INIT(n). Arithmetic wraps around.
 *   A 64-bit word can be seen by its low half: hf_atomic64_low32(). A 32-bit word can be stored and
 *   exchanged in part, which is one access to these bytes and none to the others.
 *
 *      63              32 31      16 15       8 7       0
 *     |       high       |  high16  |   mid8   |  low8   |
 *     |       high       |              low32             |
 *
 * Ordering
 *   Is in the name: _relaxed, _acquire, _release, _acq_rel, _seq_cst, as C11 defines them. For a
 *   compare-and-swap it is the ordering of success; failure is always relaxed.
 *
 * Errors
 *   None. A pointer must be aligned to the size of its type.
 */

#if defined(HF_ATOMIC_HEADER)
#include HF_ATOMIC_HEADER
#else

#include "arch.h"

/* 1 in a backend whose types are not the size of what they hold. */
#define HF_ATOMIC_IS_MODEL 0

typedef uint32_t HF_MAY_ALIAS hf__u32;
typedef uint64_t HF_MAY_ALIAS hf__u64;
typedef uint16_t HF_MAY_ALIAS hf__u16;
typedef uint8_t HF_MAY_ALIAS hf__u8;

typedef struct hf_atomic32 {
	hf__u32 value;
} hf_atomic32_t;

typedef struct hf_atomic64 {
	hf__u64 value;
} HF_ALIGNED(8) hf_atomic64_t;

#define HF_ATOMIC_INIT(n)                                                                          \
	{                                                                                          \
		(n)                                                                                \
	}

/* Where the parts of a word lie, in units of the part. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HF__SECOND_BYTE 1
#define HF__LOW_PART(word_bytes, part_bytes) 0
#define HF__HIGH_PART(word_bytes, part_bytes) ((word_bytes) / (part_bytes)-1)
#else
#define HF__SECOND_BYTE 2
#define HF__LOW_PART(word_bytes, part_bytes) ((word_bytes) / (part_bytes)-1)
#define HF__HIGH_PART(word_bytes, part_bytes) 0
#endif

/* ---- 32 bits: load and store -------------------------------------------------------------- */

/* Returns the value. Ordering: none. */
HF_INLINE uint32_t hf_atomic32_load_relaxed(const hf_atomic32_t *p)
{
	return __atomic_load_n(&p->value, __ATOMIC_RELAXED);
}

/* Returns the value. Ordering: acquire. */
HF_INLINE uint32_t hf_atomic32_load_acquire(const hf_atomic32_t *p)
{
	return __atomic_load_n(&p->value, __ATOMIC_ACQUIRE);
}

/* Returns the value. Ordering: sequentially consistent. */
HF_INLINE uint32_t hf_atomic32_load_seq_cst(const hf_atomic32_t *p)
{
	return __atomic_load_n(&p->value, __ATOMIC_SEQ_CST);
}

/* Ordering: none. */
HF_INLINE void hf_atomic32_store_relaxed(hf_atomic32_t *p, uint32_t value)
{
	__atomic_store_n(&p->value, value, __ATOMIC_RELAXED);
}

/* Ordering: release. */
HF_INLINE void hf_atomic32_store_release(hf_atomic32_t *p, uint32_t value)
{
	__atomic_store_n(&p->value, value, __ATOMIC_RELEASE);
}

/* Stores bits 7..0; the others are not touched. Ordering: release. */
HF_INLINE void hf_atomic32_store_low8_release(hf_atomic32_t *p, uint8_t value)
{
	__atomic_store_n((hf__u8 *)&p->value + HF__LOW_PART(4, 1), value, __ATOMIC_RELEASE);
}

/* Stores bits 15..8; the others are not touched. Ordering: none. */
HF_INLINE void hf_atomic32_store_mid8_relaxed(hf_atomic32_t *p, unsigned int value)
{
	__atomic_store_n((hf__u8 *)&p->value + HF__SECOND_BYTE, (uint8_t)value, __ATOMIC_RELAXED);
}

/* Returns bits 7..0. Ordering: none. */
HF_INLINE uint8_t hf_atomic32_load_low8_relaxed(const hf_atomic32_t *p)
{
	return __atomic_load_n((const hf__u8 *)&p->value + HF__LOW_PART(4, 1), __ATOMIC_RELAXED);
}

/* Returns bits 15..8. Ordering: none. */
HF_INLINE uint8_t hf_atomic32_load_mid8_relaxed(const hf_atomic32_t *p)
{
	return __atomic_load_n((const hf__u8 *)&p->value + HF__SECOND_BYTE, __ATOMIC_RELAXED);
}

/* Returns bits 31..16. Ordering: none. */
HF_INLINE uint16_t hf_atomic32_load_high16_relaxed(const hf_atomic32_t *p)
{
	return __atomic_load_n((const hf__u16 *)&p->value + HF__HIGH_PART(4, 2), __ATOMIC_RELAXED);
}

/* ---- 32 bits: exchange and compare-and-swap ----------------------------------------------- */

/* Returns the value before. Ordering: acquire and release. */
HF_INLINE uint32_t hf_atomic32_xchg_acq_rel(hf_atomic32_t *p, uint32_t value)
{
	return __atomic_exchange_n(&p->value, value, __ATOMIC_ACQ_REL);
}

/* Returns the value before. Ordering: sequentially consistent. */
HF_INLINE uint32_t hf_atomic32_xchg_seq_cst(hf_atomic32_t *p, uint32_t value)
{
	return __atomic_exchange_n(&p->value, value, __ATOMIC_SEQ_CST);
}

/* *p: *old -> value. On failure false, and *old is what was found. Ordering: none. */
HF_INLINE bool hf_atomic32_try_cmpxchg_relaxed(hf_atomic32_t *p, uint32_t *old, uint32_t value)
{
	return __atomic_compare_exchange_n(&p->value, old, value, 0, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

/* *p: *old -> value. On failure false, and *old is what was found. Ordering: acquire. */
HF_INLINE bool hf_atomic32_try_cmpxchg_acquire(hf_atomic32_t *p, uint32_t *old, uint32_t value)
{
	return __atomic_compare_exchange_n(&p->value, old, value, 0, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* *p: *old -> value. On failure false, and *old is what was found. Ordering: release. */
HF_INLINE bool hf_atomic32_try_cmpxchg_release(hf_atomic32_t *p, uint32_t *old, uint32_t value)
{
	return __atomic_compare_exchange_n(&p->value, old, value, 0, __ATOMIC_RELEASE,
					   __ATOMIC_RELAXED);
}

/* *p: *old -> value. On failure false, and *old is what was found. Ordering: acquire, release. */
HF_INLINE bool hf_atomic32_try_cmpxchg_acq_rel(hf_atomic32_t *p, uint32_t *old, uint32_t value)
{
	return __atomic_compare_exchange_n(&p->value, old, value, 0, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* *p: *old -> value. On failure false, and *old is what was found. Ordering: seq. consistent. */
HF_INLINE bool hf_atomic32_try_cmpxchg_seq_cst(hf_atomic32_t *p, uint32_t *old, uint32_t value)
{
	return __atomic_compare_exchange_n(&p->value, old, value, 0, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

#if HF_ARCH_HAS_CMPXCHG8
/* Bits 7..0 of *p: old -> value; the others are not touched. Ordering: acquire. */
HF_INLINE bool hf_atomic32_try_cmpxchg_low8_acquire(hf_atomic32_t *p, uint8_t old, uint8_t value)
{
	return __atomic_compare_exchange_n((hf__u8 *)&p->value + HF__LOW_PART(4, 1), &old, value, 0,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
#endif

/* ---- 32 bits: arithmetic ------------------------------------------------------------------ */

/* Returns the value before. Ordering: none. */
HF_INLINE uint32_t hf_atomic32_fetch_add_relaxed(hf_atomic32_t *p, uint32_t n)
{
	return __atomic_fetch_add(&p->value, n, __ATOMIC_RELAXED);
}

/* Returns the value before. Ordering: sequentially consistent. */
HF_INLINE uint32_t hf_atomic32_fetch_add_seq_cst(hf_atomic32_t *p, uint32_t n)
{
	return __atomic_fetch_add(&p->value, n, __ATOMIC_SEQ_CST);
}

/* Returns the value before. Ordering: release. */
HF_INLINE uint32_t hf_atomic32_fetch_sub_release(hf_atomic32_t *p, uint32_t n)
{
	return __atomic_fetch_sub(&p->value, n, __ATOMIC_RELEASE);
}

/* Ordering: none. */
HF_INLINE void hf_atomic32_add_relaxed(hf_atomic32_t *p, uint32_t n)
{
	__atomic_fetch_add(&p->value, n, __ATOMIC_RELAXED);
}

/* ---- 32 bits: waiting --------------------------------------------------------------------- */

/* Waits while *p == old, at most for a moment; returns *p. Ordering: acquire. */
HF_INLINE uint32_t hf_atomic32_wait_change_acquire(hf_atomic32_t *p, uint32_t old)
{
	return hf_arch_wait_change32((uint32_t *)&p->value, old);
}

/* Waits until *p is 0 and makes it 1, in one step. Ordering: acquire. */
HF_INLINE void hf_atomic32_wait_zero_set_acquire(hf_atomic32_t *p)
{
	hf_arch_wait_zero_set32((uint32_t *)&p->value);
}

/* Brings the line that holds *p to this core, to be written. Ordering: none. */
HF_INLINE void hf_atomic32_prefetch_store(const hf_atomic32_t *p)
{
	hf_arch_prefetch_store(p);
}

/* ---- 64 bits ------------------------------------------------------------------------------ */

/* Returns the value. Ordering: none. */
HF_INLINE uint64_t hf_atomic64_load_relaxed(const hf_atomic64_t *p)
{
	return __atomic_load_n(&p->value, __ATOMIC_RELAXED);
}

/* Ordering: none. */
HF_INLINE void hf_atomic64_store_relaxed(hf_atomic64_t *p, uint64_t value)
{
	__atomic_store_n(&p->value, value, __ATOMIC_RELAXED);
}

/* Returns the value. Ordering: sequentially consistent. */
HF_INLINE uint64_t hf_atomic64_load_seq_cst(const hf_atomic64_t *p)
{
	return __atomic_load_n(&p->value, __ATOMIC_SEQ_CST);
}

/* Ordering: sequentially consistent. */
HF_INLINE void hf_atomic64_store_seq_cst(hf_atomic64_t *p, uint64_t value)
{
	__atomic_store_n(&p->value, value, __ATOMIC_SEQ_CST);
}

/* *p: *old -> value. On failure false, and *old is what was found. Ordering: seq. cst. */
HF_INLINE bool hf_atomic64_try_cmpxchg_seq_cst(hf_atomic64_t *p, uint64_t *old, uint64_t value)
{
	return __atomic_compare_exchange_n(&p->value, old, value, 0, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

/* *p: *old -> value. On failure false, and *old is what was found. Ordering: none. */
HF_INLINE bool hf_atomic64_try_cmpxchg_relaxed(hf_atomic64_t *p, uint64_t *old, uint64_t value)
{
	return __atomic_compare_exchange_n(&p->value, old, value, 0, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

/* *p: *old -> value. On failure false, and *old is what was found. Ordering: release. */
HF_INLINE bool hf_atomic64_try_cmpxchg_release(hf_atomic64_t *p, uint64_t *old, uint64_t value)
{
	return __atomic_compare_exchange_n(&p->value, old, value, 0, __ATOMIC_RELEASE,
					   __ATOMIC_RELAXED);
}

/* *p: *old -> value. On failure false, and *old is what was found. Ordering: acquire. */
HF_INLINE bool hf_atomic64_try_cmpxchg_acquire(hf_atomic64_t *p, uint64_t *old, uint64_t value)
{
	return __atomic_compare_exchange_n(&p->value, old, value, 0, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* Returns the value before. Ordering: none. */
HF_INLINE uint64_t hf_atomic64_fetch_add_relaxed(hf_atomic64_t *p, uint64_t n)
{
	return __atomic_fetch_add(&p->value, n, __ATOMIC_RELAXED);
}

/* Returns the value before. Ordering: release. */
HF_INLINE uint64_t hf_atomic64_fetch_sub_release(hf_atomic64_t *p, uint64_t n)
{
	return __atomic_fetch_sub(&p->value, n, __ATOMIC_RELEASE);
}

/* The low half of the word, as an atomic of its own. Both views may be used at the same time. */
HF_INLINE hf_atomic32_t *hf_atomic64_low32(hf_atomic64_t *p)
{
	return (hf_atomic32_t *)((hf__u32 *)(void *)&p->value + HF__LOW_PART(8, 4));
}

/* Returns the high half. Ordering: none. */
HF_INLINE uint32_t hf_atomic64_load_high32_relaxed(const hf_atomic64_t *p)
{
	return __atomic_load_n((const hf__u32 *)(const void *)&p->value + HF__HIGH_PART(8, 4),
			       __ATOMIC_RELAXED);
}

/* Stores the high half; the low half is not touched. Ordering: none. */
HF_INLINE void hf_atomic64_store_high32_relaxed(hf_atomic64_t *p, uint32_t value)
{
	__atomic_store_n((hf__u32 *)(void *)&p->value + HF__HIGH_PART(8, 4), value,
			 __ATOMIC_RELAXED);
}

/* ---- Fences ------------------------------------------------------------------------------- */

/*
 * What was read from *p by a relaxed load or by the load half of a read-modify-write, before this,
 * becomes an acquire. ThreadSanitizer does not understand fences; there it is an acquire load.
 */
HF_INLINE void hf_atomic32_fence_acquire(const hf_atomic32_t *p)
{
#if HF_TSAN
	(void)__atomic_load_n(&p->value, __ATOMIC_ACQUIRE);
#else
	(void)p;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

/* A full memory barrier: nothing moves across it in either direction. */
HF_INLINE void hf_atomic_fence_seq_cst(void)
{
#if !HF_TSAN
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* A full memory barrier next to (just before or after) a read-modify-write: free where that is one. */
HF_INLINE void hf_atomic_fence_seq_cst_at_rmw(void)
{
#if HF_ARCH_RMW_IS_FULL_BARRIER
	__asm__ volatile("" ::: "memory");
#else
	hf_atomic_fence_seq_cst();
#endif
}

#endif /* HF_ATOMIC_HEADER */
#endif
