/* SPDX-License-Identifier: MIT */
#ifndef HF_ATOMIC_PARTIAL_WHOLE_H
#define HF_ATOMIC_PARTIAL_WHOLE_H
#pragma GCC system_header
/*
 * atomic_partial_whole - bytes, halves and 32-bit words, all as accesses to whole words of 64 bits.
 *
 * Use when / not when
 *   -DHF_ATOMIC_WHOLE=1, for a model checker that takes accesses of one size only: the very code of
 *   a queued lock and of a lockref then runs over 64-bit words. Not for a program that ships: each
 *   store is a compare-and-swap loop, and types are larger (a spinlock has 8 bytes). With
 *   -DHF_ARCH_GENERIC no inline assembly is left. Compile src/ in the same way.
 *
 * State
 *   hf_atomic32_t is a word of 64 bits, whose upper half these functions never change. So it is a
 *   view of the low half of a hf_atomic64_t, too (a lockref's lock), and a 32-bit word else.
 *
 * Invariants
 *   I1  Nothing here touches memory but by atomic.h's functions of hf_atomic64_t.
 *   I2  A store to a part is a read-modify-write: it continues release sequences that a plain store
 *       would end. A checker may so find less of what a missing release does; tests/model/ has
 *       mutants for these, on its own backend.
 */
#include "atomic.h"

#if HF_ATOMIC_WHOLE

typedef struct hf_atomic32 {
	hf_detail_u64 value;
} HF_ALIGNED(8) hf_atomic32_t;

HF_INLINE hf_atomic64_t *hf_detail_whole(hf_atomic32_t *p)
{
	return (hf_atomic64_t *)p;
}

HF_INLINE const hf_atomic64_t *hf_detail_whole_const(const hf_atomic32_t *p)
{
	return (const hf_atomic64_t *)p;
}

enum hf_detail_order {
	HF_DETAIL_RELAXED,
	HF_DETAIL_ACQUIRE,
	HF_DETAIL_RELEASE,
	HF_DETAIL_ACQ_REL,
	HF_DETAIL_SEQ_CST
};

/* ---- any part of a word ------------------------------------------------------------------- */

HF_INLINE bool hf_detail_whole_cmpxchg(hf_atomic64_t *p, uint64_t *old, uint64_t value,
				       enum hf_detail_order order)
{
	switch (order) {
	case HF_DETAIL_RELAXED:
		return hf_atomic64_try_cmpxchg_relaxed(p, old, value);
	case HF_DETAIL_ACQUIRE:
		return hf_atomic64_try_cmpxchg_acquire(p, old, value);
	case HF_DETAIL_RELEASE:
		return hf_atomic64_try_cmpxchg_release(p, old, value);
	case HF_DETAIL_ACQ_REL:
		return hf_atomic64_try_cmpxchg_acq_rel(p, old, value);
	case HF_DETAIL_SEQ_CST:
		break;
	}
	return hf_atomic64_try_cmpxchg_seq_cst(p, old, value);
}

/* The bits of mask: any -> value. Returns what they were. */
HF_INLINE uint64_t hf_detail_part_xchg(hf_atomic64_t *p, uint64_t mask, uint64_t value,
				       enum hf_detail_order order)
{
	uint64_t word = hf_atomic64_load_relaxed(p);

	while (!hf_detail_whole_cmpxchg(p, &word, (word & ~mask) | value, order))
		;
	return word & mask;
}

/* The bits of mask: *old -> value. False, and *old is what was found, if they were others. */
HF_INLINE bool hf_detail_part_cmpxchg(hf_atomic64_t *p, uint64_t mask, uint64_t *old,
				      uint64_t value, enum hf_detail_order order)
{
	uint64_t word = hf_atomic64_load_relaxed(p);

	while ((word & mask) == *old) {
		if (hf_detail_whole_cmpxchg(p, &word, (word & ~mask) | value, order))
			return true;
	}
	*old = word & mask;
	return false;
}

/* ---- words of 32 bits: as atomic.h says ---------------------------------------------------- */

#define HF_DETAIL_LOW32 0xffffffffull

HF_INLINE bool hf_detail_low32_cmpxchg(hf_atomic32_t *p, uint32_t *old, uint32_t value,
				       enum hf_detail_order order)
{
	uint64_t found = *old;
	bool done =
		hf_detail_part_cmpxchg(hf_detail_whole(p), HF_DETAIL_LOW32, &found, value, order);

	*old = (uint32_t)found;
	return done;
}

/* Returns the value before. */
HF_INLINE uint32_t hf_detail_low32_add(hf_atomic32_t *p, uint32_t n, enum hf_detail_order order)
{
	uint32_t value = (uint32_t)hf_atomic64_load_relaxed(hf_detail_whole(p));

	while (!hf_detail_low32_cmpxchg(p, &value, value + n, order))
		;
	return value;
}

HF_INLINE uint32_t hf_atomic32_load_relaxed(const hf_atomic32_t *p)
{
	return (uint32_t)hf_atomic64_load_relaxed(hf_detail_whole_const(p));
}

HF_INLINE uint32_t hf_atomic32_load_acquire(const hf_atomic32_t *p)
{
	return (uint32_t)hf_atomic64_load_acquire(hf_detail_whole_const(p));
}

HF_INLINE uint32_t hf_atomic32_load_seq_cst(const hf_atomic32_t *p)
{
	return (uint32_t)hf_atomic64_load_seq_cst(hf_detail_whole_const(p));
}

HF_INLINE void hf_atomic32_store_relaxed(hf_atomic32_t *p, uint32_t value)
{
	(void)hf_detail_part_xchg(hf_detail_whole(p), HF_DETAIL_LOW32, value, HF_DETAIL_RELAXED);
}

HF_INLINE void hf_atomic32_store_release(hf_atomic32_t *p, uint32_t value)
{
	(void)hf_detail_part_xchg(hf_detail_whole(p), HF_DETAIL_LOW32, value, HF_DETAIL_RELEASE);
}

HF_INLINE uint32_t hf_atomic32_xchg_acq_rel(hf_atomic32_t *p, uint32_t value)
{
	return (uint32_t)hf_detail_part_xchg(hf_detail_whole(p), HF_DETAIL_LOW32, value,
					     HF_DETAIL_ACQ_REL);
}

HF_INLINE uint32_t hf_atomic32_xchg_seq_cst(hf_atomic32_t *p, uint32_t value)
{
	return (uint32_t)hf_detail_part_xchg(hf_detail_whole(p), HF_DETAIL_LOW32, value,
					     HF_DETAIL_SEQ_CST);
}

HF_INLINE bool hf_atomic32_try_cmpxchg_relaxed(hf_atomic32_t *p, uint32_t *old, uint32_t value)
{
	return hf_detail_low32_cmpxchg(p, old, value, HF_DETAIL_RELAXED);
}

HF_INLINE bool hf_atomic32_try_cmpxchg_acquire(hf_atomic32_t *p, uint32_t *old, uint32_t value)
{
	return hf_detail_low32_cmpxchg(p, old, value, HF_DETAIL_ACQUIRE);
}

HF_INLINE bool hf_atomic32_try_cmpxchg_release(hf_atomic32_t *p, uint32_t *old, uint32_t value)
{
	return hf_detail_low32_cmpxchg(p, old, value, HF_DETAIL_RELEASE);
}

HF_INLINE bool hf_atomic32_try_cmpxchg_acq_rel(hf_atomic32_t *p, uint32_t *old, uint32_t value)
{
	return hf_detail_low32_cmpxchg(p, old, value, HF_DETAIL_ACQ_REL);
}

HF_INLINE bool hf_atomic32_try_cmpxchg_seq_cst(hf_atomic32_t *p, uint32_t *old, uint32_t value)
{
	return hf_detail_low32_cmpxchg(p, old, value, HF_DETAIL_SEQ_CST);
}

HF_INLINE uint32_t hf_atomic32_fetch_add_relaxed(hf_atomic32_t *p, uint32_t n)
{
	return hf_detail_low32_add(p, n, HF_DETAIL_RELAXED);
}

HF_INLINE uint32_t hf_atomic32_fetch_add_seq_cst(hf_atomic32_t *p, uint32_t n)
{
	return hf_detail_low32_add(p, n, HF_DETAIL_SEQ_CST);
}

HF_INLINE uint32_t hf_atomic32_fetch_sub_release(hf_atomic32_t *p, uint32_t n)
{
	return hf_detail_low32_add(p, 0 - n, HF_DETAIL_RELEASE);
}

HF_INLINE void hf_atomic32_add_relaxed(hf_atomic32_t *p, uint32_t n)
{
	(void)hf_detail_low32_add(p, n, HF_DETAIL_RELAXED);
}

HF_INLINE void hf_atomic32_fence_acquire(const hf_atomic32_t *p)
{
	hf_atomic64_fence_acquire(hf_detail_whole_const(p));
}

HF_INLINE uint32_t hf_atomic32_wait_change_acquire(hf_atomic32_t *p, uint32_t old)
{
	uint32_t value = hf_atomic32_load_acquire(p);

	if (value == old)
		hf_arch_relax();
	return value;
}

HF_INLINE void hf_atomic32_wait_zero_set_acquire(hf_atomic32_t *p)
{
	uint32_t zero = 0;

	while (!hf_atomic32_try_cmpxchg_acquire(p, &zero, 1)) {
		hf_arch_relax();
		zero = 0;
	}
}

/* A hint: nothing here. Ordering: none. */
HF_INLINE void hf_atomic32_prefetch_store(const hf_atomic32_t *p)
{
	(void)p;
}

/* ---- parts of 32 bits --------------------------------------------------------------------- */

HF_INLINE void hf_atomic32_store_low8_release(hf_atomic32_t *p, uint8_t value)
{
	(void)hf_detail_part_xchg(hf_detail_whole(p), 0xff, value, HF_DETAIL_RELEASE);
}

HF_INLINE void hf_atomic32_store_mid8_relaxed(hf_atomic32_t *p, unsigned int value)
{
	(void)hf_detail_part_xchg(hf_detail_whole(p), 0xff00, (uint64_t)(value & 0xff) << 8,
				  HF_DETAIL_RELAXED);
}

HF_INLINE uint8_t hf_atomic32_load_low8_relaxed(const hf_atomic32_t *p)
{
	return (uint8_t)hf_atomic64_load_relaxed(hf_detail_whole_const(p));
}

HF_INLINE uint8_t hf_atomic32_load_mid8_relaxed(const hf_atomic32_t *p)
{
	return (uint8_t)(hf_atomic64_load_relaxed(hf_detail_whole_const(p)) >> 8);
}

HF_INLINE uint16_t hf_atomic32_load_high16_relaxed(const hf_atomic32_t *p)
{
	return (uint16_t)(hf_atomic64_load_relaxed(hf_detail_whole_const(p)) >> 16);
}

HF_INLINE bool hf_atomic32_try_cmpxchg_low8_acquire(hf_atomic32_t *p, uint8_t old, uint8_t value)
{
	uint64_t found = old;

	return hf_detail_part_cmpxchg(hf_detail_whole(p), 0xff, &found, value, HF_DETAIL_ACQUIRE);
}

/* ---- halves of 64 bits -------------------------------------------------------------------- */

HF_INLINE hf_atomic32_t *hf_atomic64_low32(hf_atomic64_t *p)
{
	return (hf_atomic32_t *)p;
}

HF_INLINE uint32_t hf_atomic64_load_high32_relaxed(const hf_atomic64_t *p)
{
	return (uint32_t)(hf_atomic64_load_relaxed(p) >> 32);
}

HF_INLINE void hf_atomic64_store_high32_relaxed(hf_atomic64_t *p, uint32_t value)
{
	(void)hf_detail_part_xchg(p, ~HF_DETAIL_LOW32, (uint64_t)value << 32, HF_DETAIL_RELAXED);
}

#endif /* HF_ATOMIC_WHOLE */
#endif
