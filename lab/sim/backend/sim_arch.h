/* SPDX-License-Identifier: MIT */
#ifndef HF_SIM_ARCH_H
#define HF_SIM_ARCH_H
/*
 * sim_arch - a simulated processor: the constants of a real one, and instructions of the engine.
 *
 * The build defines SIM_AARCH64 or SIM_X86_64. What is a number in constants.h becomes a knob that
 * a run may turn; loops.c has the real ones as the knobs' defaults.
 */
#include <stdbool.h>
#include <stdint.h>

#include "holdfast/internal/compiler.h"

#include "../sim.h"

#if defined(SIM_AARCH64)
#include "holdfast/internal/arch/aarch64/constants.h"
#else
#include "holdfast/internal/arch/x86_64/constants.h"
#endif
#include "sim_knobs.h"

HF_INLINE void hf_arch_relax(void)
{
	hf_sim_relax();
}

HF_INLINE void hf_arch_prefetch_store(const void *p)
{
	hf_sim_prefetch(p);
}

/* As arch/<cpu>/spin.h has them: WFE, or loads and hints. */
#if defined(SIM_AARCH64)
HF_INLINE uint32_t hf_sim_wait_change(uint32_t *p, uint32_t old)
{
	return hf_sim_monitor(p, old);
}

HF_INLINE void hf_sim_wait_zero_set(uint32_t *p)
{
	hf_sim_prefetch(p);
	for (;;) {
		bool ok;

		if (hf_sim_monitor(p, 1))
			continue;
		(void)hf_sim_rmw(p, 4, HF_SIM_CMPXCHG, 0, 1, &ok);
		if (ok)
			return;
	}
}
#else
HF_INLINE uint32_t hf_sim_wait_change(uint32_t *p, uint32_t old)
{
	uint32_t value = (uint32_t)hf_sim_load(p, 4);

	if (value == old)
		hf_sim_relax();
	return value;
}

HF_INLINE void hf_sim_wait_zero_set(uint32_t *p)
{
	for (;;) {
		bool ok;

		(void)hf_sim_rmw(p, 4, HF_SIM_CMPXCHG, 0, 1, &ok);
		if (ok)
			return;
		while (hf_sim_load(p, 4))
			hf_sim_relax();
	}
}
#endif

/* refcount/asm.h: one instruction, and its flags. */
#define HF_ARCH_HAS_REFCOUNT 1

enum hf_arch_refcount_sub { HF_ARCH_SUB_LIVE, HF_ARCH_SUB_ZERO, HF_ARCH_SUB_MISUSE };

HF_INLINE bool hf_arch_refcount_inc(uint32_t *p, int32_t *old)
{
	*old = (int32_t)hf_sim_rmw(p, 4, HF_SIM_ADD, 1, 0, NULL);
	return *old <= 0 || *old == INT32_MAX;
}

HF_INLINE int32_t hf_sim_refcount_sub(uint32_t *p)
{
	return (int32_t)hf_sim_rmw(p, 4, HF_SIM_ADD, UINT32_MAX, 0, NULL);
}

HF_INLINE bool hf_arch_refcount_dec(uint32_t *p)
{
	return hf_sim_refcount_sub(p) <= 1;
}

HF_INLINE enum hf_arch_refcount_sub hf_arch_refcount_dec_and_test(uint32_t *p)
{
	int32_t old = hf_sim_refcount_sub(p);

	if (old == 1)
		return HF_ARCH_SUB_ZERO;
	return old <= 0 ? HF_ARCH_SUB_MISUSE : HF_ARCH_SUB_LIVE;
}

#endif
