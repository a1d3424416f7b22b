/* SPDX-License-Identifier: MIT */
#ifndef HF_REFCOUNT_TYPE_H
#define HF_REFCOUNT_TYPE_H
#pragma GCC system_header
/*
 * type - the count that all implementations of the refcount family share, and its zones.
 *
 *   INT32_MIN           SATURATED             -1  0  1                            INT32_MAX
 *   0x80000000          0xC0000000     0xFFFFFFFF 0  1                           0x7FFFFFFF
 *   |----------------------|---------------------|--|---------------------------------|
 *   <--------- saturated: never freed ----------> dead <------------ live ------------->
 *
 *   SATURATED lies in the middle of the negative half: 2^30 operations that were under way when it
 *   was stored, all in the same direction, are needed to carry the count out of that half.
 */
#include "../atomic.h"
#include "../report.h"

typedef struct hf_refcount {
	hf_atomic32_t refs;
} hf_refcount_t;

#define HF_REFCOUNT_MAX INT32_MAX
#define HF_REFCOUNT_SATURATED (INT32_MIN / 2)

#define HF_REFCOUNT_INIT(n)                                                                        \
	{                                                                                          \
		HF_ATOMIC_INIT(n)                                                                  \
	}

/* Repairs a misused count, and reports it: in one place, so that the fast paths stay small. */
HF_COLD void hf__refcount_saturate(hf_refcount_t *r, enum hf_report_kind kind)
{
	hf_atomic32_store_relaxed(&r->refs, (uint32_t)HF_REFCOUNT_SATURATED);
	hf_report(kind, r);
}

HF_INLINE int32_t hf__refcount_read(const hf_refcount_t *r)
{
	return (int32_t)hf_atomic32_load_relaxed(&r->refs);
}

/* a + b, wrapped around. */
HF_INLINE int32_t hf__refcount_sum(int32_t a, int32_t b)
{
	return (int32_t)((uint32_t)a + (uint32_t)b);
}

#endif
