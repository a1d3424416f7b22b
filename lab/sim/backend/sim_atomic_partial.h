/* SPDX-License-Identifier: MIT */
#ifndef HF_SIM_ATOMIC_PARTIAL_H
#define HF_SIM_ATOMIC_PARTIAL_H
/*
 * sim_atomic_partial - atomic_partial.h for simulated processors: accesses have their real size.
 *
 * As on real processors, a load that is wider than a store in the store buffer waits until that
 * store has left the buffer.
 */
#include "sim_atomic.h"

HF_INLINE const volatile uint8_t *hf_sim_bytes(const void *p)
{
	return (const volatile uint8_t *)p;
}

HF_INLINE void hf_atomic32_store_low8_release(hf_atomic32_t *p, uint8_t value)
{
	hf_sim_store(&p->value, 1, value, 1);
}

HF_INLINE void hf_atomic32_store_mid8_relaxed(hf_atomic32_t *p, unsigned int value)
{
	hf_sim_store((volatile uint8_t *)&p->value + 1, 1, (uint8_t)value, 0);
}

HF_INLINE uint8_t hf_atomic32_load_low8_relaxed(const hf_atomic32_t *p)
{
	return (uint8_t)hf_sim_load(&p->value, 1);
}

HF_INLINE uint8_t hf_atomic32_load_mid8_relaxed(const hf_atomic32_t *p)
{
	return (uint8_t)hf_sim_load(hf_sim_bytes(&p->value) + 1, 1);
}

HF_INLINE uint16_t hf_atomic32_load_high16_relaxed(const hf_atomic32_t *p)
{
	return (uint16_t)hf_sim_load(hf_sim_bytes(&p->value) + 2, 2);
}

HF_INLINE bool hf_atomic32_try_cmpxchg_low8_acquire(hf_atomic32_t *p, uint8_t old, uint8_t value)
{
	bool ok;

	(void)hf_sim_rmw(&p->value, 1, HF_SIM_CMPXCHG, false, old, value, &ok);
	return ok;
}

HF_INLINE hf_atomic32_t *hf_atomic64_low32(hf_atomic64_t *p)
{
	return (hf_atomic32_t *)(void *)p;
}

HF_INLINE uint32_t hf_atomic64_load_high32_relaxed(const hf_atomic64_t *p)
{
	return (uint32_t)hf_sim_load(hf_sim_bytes(&p->value) + 4, 4);
}

HF_INLINE void hf_atomic64_store_high32_relaxed(hf_atomic64_t *p, uint32_t value)
{
	hf_sim_store((volatile uint8_t *)&p->value + 4, 4, value, 0);
}

#endif
