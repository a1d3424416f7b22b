/* SPDX-License-Identifier: MIT */
#ifndef HF_SIM_ARCH_H
#define HF_SIM_ARCH_H
/*
 * sim_arch - arch.h for a simulated processor: the constants of a real one, instructions of the
 * engine.
 *
 * The build defines SIM_AARCH64 or SIM_X86_64. The wait policies of constants.h become knobs that a
 * run can set (sim_knobs.h); their defaults in loops.c are the policies of the real processor.
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

/* As in arch/<cpu>/spin.h: WFE, or loads and hints. */
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
		(void)hf_sim_rmw(p, 4, HF_SIM_CMPXCHG, false, 0, 1, &ok);
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

		(void)hf_sim_rmw(p, 4, HF_SIM_CMPXCHG, false, 0, 1, &ok);
		if (ok)
			return;
		while (hf_sim_load(p, 4))
			hf_sim_relax();
	}
}
#endif

#endif
