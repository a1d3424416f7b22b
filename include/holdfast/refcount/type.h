/* SPDX-License-Identifier: MIT */
#ifndef HF_REFCOUNT_TYPE_H
#define HF_REFCOUNT_TYPE_H
#pragma GCC system_header
/*
 * type - the count that all implementations of the refcount family share, and its zones.
 *
 *   INT32_MIN  IMMORTAL   SATURATED          -1  0  1                             INT32_MAX
 *   0x80000000 0xA0000000 0xC0000000  0xFFFFFFFF 0  1                            0x7FFFFFFF
 *   |-------|------|------|------|--------------|--|----------------------------------|
 *        0x90000000    0xB0000000    0xD0000000
 *   <---------------- never freed --------------> dead <------------ live ------------->
 *           <- immortal ->< saturated >
 *
 *   SATURATED lies in the middle of the negative half: 2^30 operations that were under way when it
 *   was stored, all in the same direction, are needed to carry the count out of that half.
 *   IMMORTAL and SATURATED each lie in the middle of a zone that goes 2^28 either way: operations of
 *   one reference that are under way at the same moment, at most 2^22, do not mix them up. What is
 *   negative and in neither zone has overflowed, or underflowed, a moment ago.
 *
 * Invariants
 *   Z1  an operation on an immortal count puts it back and reports nothing; no operation makes an
 *       immortal count of another one but an add of 2^28 and more that overflows into the zone, and
 *       then other threads may find it there before the repair: it leaks, and is reported once.
 */
#include "../internal/atomic.h"
#include "../report.h"

/* The count; its word is for the verbs only. */
typedef struct hf_refcount {
	hf_atomic32_t refs;
} hf_refcount_t;

/* The most references; and the values that stand for no number of them. */
#define HF_REFCOUNT_MAX INT32_MAX
#define HF_REFCOUNT_SATURATED (INT32_MIN / 2)
#define HF_REFCOUNT_IMMORTAL (INT32_MIN / 4 * 3)
#define HF_DETAIL_REFCOUNT_ZONE 0x10000000u /* 2^28 either way */

/* n references (a constant): as hf_refcount_set(). */
#define HF_REFCOUNT_INIT(n)                                                                        \
	{                                                                                          \
		HF_ATOMIC_INIT(n)                                                                  \
	}

HF_INLINE int32_t hf_detail_refcount_read(const hf_refcount_t *r)
{
	return (int32_t)hf_atomic32_load_relaxed(&r->refs);
}

/* Is it in the zone around IMMORTAL, or around SATURATED? */
HF_INLINE bool hf_detail_refcount_near(int32_t value, int32_t middle)
{
	return (uint32_t)value - ((uint32_t)middle - HF_DETAIL_REFCOUNT_ZONE) <
	       2 * HF_DETAIL_REFCOUNT_ZONE;
}

/* What an operation leaves of a count that was `old` and must not be changed by it. Z1 */
HF_INLINE int32_t hf_detail_refcount_repaired(int32_t old)
{
	return hf_detail_refcount_near(old, HF_REFCOUNT_IMMORTAL) ? HF_REFCOUNT_IMMORTAL
								  : HF_REFCOUNT_SATURATED;
}

/* The count was `old`, and was misused in the way `kind`, unless it was immortal or saturated. */
HF_INLINE void hf_detail_refcount_report(hf_refcount_t *r, int32_t old, enum hf_report_kind kind,
					 const void *site)
{
	if (hf_detail_refcount_near(old, HF_REFCOUNT_IMMORTAL))
		return; /* Z1 */
	if (hf_detail_refcount_near(old, HF_REFCOUNT_SATURATED))
		kind = HF_REPORT_SATURATED;
	hf_report_at(kind, r, site);
}

HF_INLINE void hf_detail_refcount_repair(hf_refcount_t *r, int32_t old, enum hf_report_kind kind,
					 const void *site)
{
	hf_atomic32_store_relaxed(&r->refs, (uint32_t)hf_detail_refcount_repaired(old));
	hf_detail_refcount_report(r, old, kind, site);
}

/* Repairs a misused count, and reports it: in one place, so that the fast paths stay small. */
HF_COLD void hf_detail_refcount_saturate(hf_refcount_t *r, int32_t old, enum hf_report_kind kind)
{
	hf_detail_refcount_repair(r, old, kind, HF_DETAIL_CALL_SITE);
}

/*
 * The same after an operation of one reference, where nobody has kept what was there before. What is
 * there now shows it: others have moved it little, within its zone, or have repaired it already, and
 * then the first to do so has found what was there.
 */
HF_COLD void hf_detail_refcount_saturate_one(hf_refcount_t *r, enum hf_report_kind kind)
{
	hf_detail_refcount_repair(r, hf_detail_refcount_read(r), kind, HF_DETAIL_CALL_SITE);
}

/* The same for a count that needs no repair. */
HF_COLD void hf_detail_refcount_misuse(hf_refcount_t *r, int32_t old, enum hf_report_kind kind)
{
	hf_detail_refcount_report(r, old, kind, HF_DETAIL_CALL_SITE);
}

/* a + b, wrapped around. */
HF_INLINE int32_t hf_detail_refcount_sum(int32_t a, int32_t b)
{
	return (int32_t)((uint32_t)a + (uint32_t)b);
}

#endif
