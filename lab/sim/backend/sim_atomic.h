/* SPDX-License-Identifier: MIT */
#ifndef HF_SIM_ATOMIC_H
#define HF_SIM_ATOMIC_H
/*
 * sim_atomic - atomic.h for simulated processors.
 *
 * Every access goes to the engine, which computes its cost. Values have the same layout as in real
 * memory, so that accesses to parts of a word work (sim_atomic_partial.h). Little-endian.
 *
 * The cost of orderings: a read-modify-write with release, and on a TSO machine each one, waits for
 * the stores before it; a store with release takes release_cycles more; a fence empties the store
 * buffer. A load with acquire costs no more than a plain one: simulated loads are in order.
 */
#include <stdbool.h>
#include <stdint.h>

#include "holdfast/internal/arch.h"

#include "../sim.h"

#define HF_ATOMIC_IS_MODEL 0
#define HF_ATOMIC_PARTIAL_HEADER "sim_atomic_partial.h"

typedef uint32_t HF_MAY_ALIAS hf_detail_u32;
typedef uint64_t HF_MAY_ALIAS hf_detail_u64;

typedef struct hf_atomic32 {
	hf_detail_u32 value;
} hf_atomic32_t;

typedef struct hf_atomic64 {
	hf_detail_u64 value;
} HF_ALIGNED(8) hf_atomic64_t;

#define HF_ATOMIC_INIT(n)                                                                          \
	{                                                                                          \
		(n)                                                                                \
	}

#define HF_SIM_LOAD(bits, order)                                                                   \
	HF_INLINE uint##bits##_t hf_atomic##bits##_load_##order(const hf_atomic##bits##_t *p)      \
	{                                                                                          \
		return (uint##bits##_t)hf_sim_load(&p->value, bits / 8);                           \
	}

#define HF_SIM_STORE(bits, order, release)                                                         \
	HF_INLINE void hf_atomic##bits##_store_##order(hf_atomic##bits##_t *p, uint##bits##_t n)   \
	{                                                                                          \
		hf_sim_store(&p->value, bits / 8, n, release);                                     \
	}

#define HF_SIM_CMPXCHG_OF(bits, order, release)                                                    \
	HF_INLINE bool hf_atomic##bits##_try_cmpxchg_##order(                                      \
		hf_atomic##bits##_t *p, uint##bits##_t *old, uint##bits##_t n)                     \
	{                                                                                          \
		bool ok;                                                                           \
		uint64_t was =                                                                     \
			hf_sim_rmw(&p->value, bits / 8, HF_SIM_CMPXCHG, release, *old, n, &ok);    \
                                                                                                   \
		if (!ok)                                                                           \
			*old = (uint##bits##_t)was;                                                \
		return ok;                                                                         \
	}

#define HF_SIM_FETCH(bits, name, kind, release, sign)                                              \
	HF_INLINE uint##bits##_t hf_atomic##bits##_##name(hf_atomic##bits##_t *p,                  \
							  uint##bits##_t n)                        \
	{                                                                                          \
		return (uint##bits##_t)hf_sim_rmw(&p->value, bits / 8, kind, release,              \
						  (uint##bits##_t)(sign n), 0, NULL);              \
	}

#define HF_SIM_BOTH(bits)                                                                          \
	HF_SIM_LOAD(bits, relaxed)                                                                 \
	HF_SIM_LOAD(bits, acquire)                                                                 \
	HF_SIM_STORE(bits, relaxed, 0)                                                             \
	HF_SIM_STORE(bits, release, 1)                                                             \
	HF_SIM_CMPXCHG_OF(bits, relaxed, false)                                                    \
	HF_SIM_CMPXCHG_OF(bits, acquire, false)                                                    \
	HF_SIM_CMPXCHG_OF(bits, release, true)                                                     \
	HF_SIM_CMPXCHG_OF(bits, acq_rel, true)                                                     \
	HF_SIM_CMPXCHG_OF(bits, seq_cst, true)                                                     \
	HF_SIM_FETCH(bits, fetch_add_relaxed, HF_SIM_ADD, false, +)                                \
	HF_SIM_FETCH(bits, fetch_sub_release, HF_SIM_ADD, true, -)

HF_SIM_BOTH(32)
HF_SIM_BOTH(64)
HF_SIM_FETCH(32, xchg_acq_rel, HF_SIM_SWAP, true, +)
HF_SIM_FETCH(32, xchg_seq_cst, HF_SIM_SWAP, true, +)

/* Nothing to do: simulated loads are in order. */
HF_INLINE void hf_atomic32_fence_acquire(const hf_atomic32_t *p)
{
	(void)p;
}

HF_INLINE void hf_atomic64_fence_acquire(const hf_atomic64_t *p)
{
	(void)p;
}

HF_INLINE void hf_atomic_fence_seq_cst(void)
{
	hf_sim_fence();
}

HF_INLINE void hf_atomic_fence_seq_cst_at_rmw(void)
{
	if (!HF_ARCH_RMW_IS_FULL_BARRIER)
		hf_sim_fence();
}

HF_INLINE uint32_t hf_atomic32_wait_change_acquire(hf_atomic32_t *p, uint32_t old)
{
	return hf_sim_wait_change(&p->value, old);
}

HF_INLINE void hf_atomic32_wait_zero_set_acquire(hf_atomic32_t *p)
{
	hf_sim_wait_zero_set(&p->value);
}

HF_INLINE void hf_atomic32_prefetch_store(const hf_atomic32_t *p)
{
	hf_sim_prefetch(&p->value);
}

#endif
