/* SPDX-License-Identifier: MIT */
#ifndef HF_MODEL_BACKEND_PARTIAL_H
#define HF_MODEL_BACKEND_PARTIAL_H
/*
 * backend_partial - atomic_partial.h, with Relacy in place of the hardware.
 *
 * Included by backend.h. Relacy's atomics have a single size: loading a part loads the whole word,
 * and storing a part is a read-modify-write that preserves the rest of the word, unless a mutant
 * (store_low8_wide and the like) overwrites the rest with stale bytes.
 */
#include "backend.h"

/* ---- parts of 32 bits --------------------------------------------------------------------- */

inline void hf_atomic32_store_low8_release(hf_atomic32_t *p, uint8_t value, HF_MODEL_AT)
{
	(void)hf_model::update(
		p, [value](uint64_t) { return value; },
		HF_MODEL_ORDER(store_low8_release, release, relaxed), at,
		HF_MODEL_IS(store_low8_wide), 0xff);
}

inline void hf_atomic32_store_mid8_relaxed(hf_atomic32_t *p, unsigned int value, HF_MODEL_AT)
{
	(void)hf_model::update(
		p, [value](uint64_t) { return value << 8; }, rl::mo_relaxed, at,
		HF_MODEL_IS(store_mid8_wide), 0xff00);
}

inline uint8_t hf_atomic32_load_low8_relaxed(const hf_atomic32_t *p, HF_MODEL_AT)
{
	return (uint8_t)hf_model::load(p, rl::mo_relaxed, at);
}

inline uint8_t hf_atomic32_load_mid8_relaxed(const hf_atomic32_t *p, HF_MODEL_AT)
{
	return (uint8_t)(hf_model::load(p, rl::mo_relaxed, at) >> 8);
}

inline uint16_t hf_atomic32_load_high16_relaxed(const hf_atomic32_t *p, HF_MODEL_AT)
{
	uint16_t value = (uint16_t)(hf_model::load(p, rl::mo_relaxed, at) >> 16);

	return HF_MODEL_IS(load_high16_never_0) ? value | 1 : value;
}

inline bool hf_atomic32_try_cmpxchg_low8_acquire(hf_atomic32_t *p, uint8_t old, uint8_t value,
						 HF_MODEL_AT)
{
	uint32_t wide_old = old;

	return hf_model::cmpxchg(p, &wide_old, value,
				 HF_MODEL_ORDER(cmpxchg_low8_acquire, acquire, relaxed), at, 0xff);
}

/* ---- halves of 64 bits -------------------------------------------------------------------- */

inline hf_atomic32_t *hf_atomic64_low32(hf_atomic64_t *p)
{
	return &p->low;
}

inline uint32_t hf_atomic64_load_high32_relaxed(const hf_atomic64_t *p, HF_MODEL_AT)
{
	uint64_t word = p->word.load(rl::mo_relaxed, at);

	if (HF_MODEL_IS(load_high32_is_0))
		return 0;
	return (uint32_t)(word >> 32);
}

inline void hf_atomic64_store_high32_relaxed(hf_atomic64_t *p, uint32_t value, HF_MODEL_AT)
{
	uint64_t high = (uint64_t)value << 32;

	if (HF_MODEL_IS(store_high32_missing))
		return;
	(void)p->word.update(
		~0ull << 32, [high](uint64_t) { return high; }, rl::mo_relaxed, at,
		HF_MODEL_IS(store_high32_wide));
}

#endif
