/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_GENERIC_TIMESTAMP_H
#define HF_ARCH_GENERIC_TIMESTAMP_H
#pragma GCC system_header
/*
 * timestamp, for any processor - there is no counter that all have: 0.
 *
 * For the lab; no primitive reads time.
 *
 * Context   any
 * Ordering  none
 */
#include "../../compiler.h"
#include "../../env.h"

/* hf_arch_timestamp - a counter of time, of unknown rate, read in order. Returns it; 0 = none. */
HF_INLINE uint64_t hf_arch_timestamp(void)
{
	return 0;
}

#endif
