/* SPDX-License-Identifier: MIT */
#ifndef HF_ATOMIC_PARTIAL_H
#define HF_ATOMIC_PARTIAL_H
#pragma GCC system_header
/*
 * atomic_partial - accesses to a byte or a half of an atomic word: the second half of atomic.h,
 * which alone includes it.
 *
 * A queued lock releases its locked byte, a lockref's lock is half of its word: accesses of
 * different sizes to the same memory, which C11 does not have and most model checkers do not take.
 * So this file can be replaced apart. Each is one access to these bytes, and none to the others:
 *
 *      63              32 31      16 15       8 7       0
 *     |       high32      |  high16  |   mid8   |  low8   |
 *     |                   |              low32             |
 */
#include "atomic.h"

typedef uint16_t HF_MAY_ALIAS hf_detail_u16;
typedef uint8_t HF_MAY_ALIAS hf_detail_u8;

/* Where the parts of a word lie, in units of the part. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HF_DETAIL_SECOND_BYTE 1
#define HF_DETAIL_LOW_PART(word_bytes, part_bytes) 0
#define HF_DETAIL_HIGH_PART(word_bytes, part_bytes) ((word_bytes) / (part_bytes)-1)
#else
#define HF_DETAIL_SECOND_BYTE 2
#define HF_DETAIL_LOW_PART(word_bytes, part_bytes) ((word_bytes) / (part_bytes)-1)
#define HF_DETAIL_HIGH_PART(word_bytes, part_bytes) 0
#endif

/* ---- parts of 32 bits --------------------------------------------------------------------- */

/*
 * The word may be half of a lockref, to whose whole word other threads' puts have released. The
 * processor keeps that order across a store to one byte; ThreadSanitizer would forget it.
 */
HF_INLINE void hf_atomic32_store_low8_release(hf_atomic32_t *p, uint8_t value)
{
	hf_detail_u8 *byte = (hf_detail_u8 *)&p->value + HF_DETAIL_LOW_PART(4, 1);

	if (HF_TSAN) /* clang makes a release exchange a store */
		(void)__atomic_exchange_n(byte, value, __ATOMIC_ACQ_REL);
	else
		__atomic_store_n(byte, value, __ATOMIC_RELEASE);
}

HF_INLINE void hf_atomic32_store_mid8_relaxed(hf_atomic32_t *p, unsigned int value)
{
	__atomic_store_n((hf_detail_u8 *)&p->value + HF_DETAIL_SECOND_BYTE, (uint8_t)value,
			 __ATOMIC_RELAXED);
}

HF_INLINE uint8_t hf_atomic32_load_low8_relaxed(const hf_atomic32_t *p)
{
	return __atomic_load_n((const hf_detail_u8 *)&p->value + HF_DETAIL_LOW_PART(4, 1),
			       __ATOMIC_RELAXED);
}

HF_INLINE uint8_t hf_atomic32_load_mid8_relaxed(const hf_atomic32_t *p)
{
	return __atomic_load_n((const hf_detail_u8 *)&p->value + HF_DETAIL_SECOND_BYTE,
			       __ATOMIC_RELAXED);
}

HF_INLINE uint16_t hf_atomic32_load_high16_relaxed(const hf_atomic32_t *p)
{
	return __atomic_load_n((const hf_detail_u16 *)&p->value + HF_DETAIL_HIGH_PART(4, 2),
			       __ATOMIC_RELAXED);
}

#if HF_ARCH_HAS_CMPXCHG8
HF_INLINE bool hf_atomic32_try_cmpxchg_low8_acquire(hf_atomic32_t *p, uint8_t old, uint8_t value)
{
	return __atomic_compare_exchange_n((hf_detail_u8 *)&p->value + HF_DETAIL_LOW_PART(4, 1),
					   &old, value, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
#endif

/* ---- halves of 64 bits -------------------------------------------------------------------- */

/* The address of the low half, as an atomic of its own; both views may be used at once. */
HF_INLINE hf_atomic32_t *hf_atomic64_low32(hf_atomic64_t *p)
{
	return (hf_atomic32_t *)((hf_detail_u32 *)(void *)&p->value + HF_DETAIL_LOW_PART(8, 4));
}

HF_INLINE uint32_t hf_atomic64_load_high32_relaxed(const hf_atomic64_t *p)
{
	return __atomic_load_n(
		(const hf_detail_u32 *)(const void *)&p->value + HF_DETAIL_HIGH_PART(8, 4),
		__ATOMIC_RELAXED);
}

HF_INLINE void hf_atomic64_store_high32_relaxed(hf_atomic64_t *p, uint32_t value)
{
	__atomic_store_n((hf_detail_u32 *)(void *)&p->value + HF_DETAIL_HIGH_PART(8, 4), value,
			 __ATOMIC_RELAXED);
}

#endif
