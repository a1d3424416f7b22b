/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_WAIT_PORTABLE_H
#define HF_ARCH_WAIT_PORTABLE_H
#pragma GCC system_header
/* wait_portable - waiting for a word by plain loads and the hint that spin.h has defined before. */
#include "../compiler.h"

/* hf_arch_wait_change32 - wait while *p == old, but not for long. Returns *p. Acquire. */
HF_INLINE uint32_t hf_arch_wait_change32(uint32_t *p, uint32_t old)
{
	uint32_t value = __atomic_load_n(p, __ATOMIC_ACQUIRE);

	if (value == old)
		hf_arch_relax();
	return value;
}

/* hf_arch_wait_zero_set32 - wait until *p is 0, then make it 1. Acquire. */
HF_INLINE void hf_arch_wait_zero_set32(uint32_t *p)
{
	uint32_t zero = 0;

	while (!__atomic_compare_exchange_n(p, &zero, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		while (__atomic_load_n(p, __ATOMIC_RELAXED))
			hf_arch_relax();
		zero = 0;
	}
}

#endif
