/* SPDX-License-Identifier: MIT */
#ifndef HF_REFCOUNT_H
#define HF_REFCOUNT_H
#pragma GCC system_header
/*
 * refcount - a reference count that cannot be overflowed into a use after free.
 *
 * Use when / not when
 *   For objects that are freed by the thread that drops the last reference. Not as a general
 *   counter: it may not start from 0, and it stops counting once it is misused. Not for objects
 *   that every core looks up and drops all the time: the count's cache line is then the bottleneck.
 *   For objects that many readers find without a lock (RCU) use rcuref.h: its get never retries.
 *
 * Operations
 *   set, inc, add                 the first references; more of them, by a thread that has one
 *   inc_not_zero, add_not_zero    more of them unless the object is dead, by a thread that has none
 *   dec_and_test, sub_and_test    drop; true = free the object
 *   Besides: dec, dec_if_one, dec_not_one, is_one_acquire, read; forms with _acquire, and with _old
 *   (the count before)
 *
 * Example         examples/refcount.c
 * C++             intrusive_ptr.h has pointers that own a reference.
 * Locks at zero   refcount_lock.h has dec_and_lock and dec_and_mutex_lock.
 *
 * Misuse
 *   It saturates the count, and is reported as each function states: the object is never freed. It
 *   leaks, and that is the purpose. Later operations on it are consequences of the first misuse,
 *   reported as SATURATED; dec_not_one reports nothing. The compiler refuses an add of a constant
 *   below 1.
 *
 * Objects that are never freed
 *   HF_REFCOUNT_INIT(HF_REFCOUNT_IMMORTAL), or set() to it, is for a static object among others
 *   that are counted. Operations on it report nothing and leave the count as it is; not_zero
 *   returns true, and_test and dec_if_one return false. It is not cheaper: inc and dec each write
 *   the cache line twice. No single add or sub may be of 2^28 or more while other threads use it.
 *
 * Arguments
 *   r     the count
 *   old   of the _old forms: gets the count before, whatever the result is; NULL = not wanted
 *
 * State
 *   INT32_MIN  IMMORTAL   SATURATED          -1  0  1                             INT32_MAX
 *   0x80000000 0xA0000000 0xC0000000  0xFFFFFFFF 0  1                            0x7FFFFFFF
 *   |-------|------|------|------|--------------|--|----------------------------------|
 *        0x90000000    0xB0000000    0xD0000000
 *   <---------------- never freed --------------> dead <------------ live ------------->
 *           <- immortal ->< saturated >
 *
 *   An operation is one unconditional atomic add. The value it returns shows whether it was misuse:
 *
 *     old          add i: old + i                sub i: old - i
 *     live         live, or past INT32_MAX*      live, or 0 (the last reference), or below 0*
 *     0            *                             *
 *     negative     *                             *           * = store SATURATED and report
 *     immortal     stays                         stays       stays = store IMMORTAL, no report
 *
 *   Until that store other threads see the bad value: docs/design/0003-refcount-window.md counts
 *   what they may do meanwhile without leaving the zone.
 *
 * Invariants
 *   I1  An operation that sees a bad old or a bad resulting value stores SATURATED before it
 *       returns.
 *   I2  SATURATED and IMMORTAL are preserved: an operation on a negative count finds old < 0, so it
 *       stores the same again. (The result alone does not show it: SATURATED - i is in its zone.)
 *   I3  *_and_test returns true only for old == i with i > 0: never for a saturated or a dead
 *       count.
 *   I4  A not_zero operation never changes a count that is 0.
 *   I5  An operation on an immortal count restores it and reports nothing. A count becomes immortal
 *       by set only; or while an add of 2^28 or more overflows into the zone, until its repair:
 *       then it leaks, and is reported once.
 *
 * Source   LKML 2019-10, "lib/refcount: Improve performance of generic REFCOUNT_FULL code";
 *          docs/design/0040-one-implementation.md
 */
#include "internal/atomic.h"
#include "internal/wait.h"
#include "report.h"

/* The count. Its member is private. */
typedef struct hf_refcount {
	hf_atomic32_t refs;
} hf_refcount_t;

/* The most references; the values that stand for no number of them. */
#define HF_REFCOUNT_MAX INT32_MAX
#define HF_REFCOUNT_SATURATED (INT32_MIN / 2)
#define HF_REFCOUNT_IMMORTAL (INT32_MIN / 4 * 3)
#define HF_DETAIL_REFCOUNT_ZONE 0x10000000u /* 2^28 to either side */

/* n references, a constant. */
#define HF_REFCOUNT_INIT(n) HF_DETAIL_INIT(n)

/* Is the value in the zone around `middle`, which is IMMORTAL or SATURATED? */
HF_INLINE bool hf_detail_refcount_near(int32_t value, int32_t middle)
{
	return (uint32_t)value - ((uint32_t)middle - HF_DETAIL_REFCOUNT_ZONE) <
	       2 * HF_DETAIL_REFCOUNT_ZONE;
}

/* The value to store after misuse of a count that was `old`: an immortal one stays so (I5). */
HF_INLINE int32_t hf_detail_refcount_repaired(int32_t old)
{
	return hf_detail_refcount_near(old, HF_REFCOUNT_IMMORTAL) ? HF_REFCOUNT_IMMORTAL
								  : HF_REFCOUNT_SATURATED;
}

/* Report misuse of the given kind of a count that was `old`, unless it was immortal. */
HF_INLINE void hf_detail_refcount_report(hf_refcount_t *r, int32_t old, enum hf_report_kind kind,
					 const void *site)
{
	if (hf_detail_refcount_near(old, HF_REFCOUNT_IMMORTAL))
		return; /* I5: an operation on an immortal count is no misuse */
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

/* Repair and report, out of line to keep the fast paths small. */
HF_COLD void hf_detail_refcount_saturate(hf_refcount_t *r, int32_t old, enum hf_report_kind kind)
{
	hf_detail_refcount_repair(r, old, kind, HF_DETAIL_CALL_SITE);
}

/*
 * The same where the old value was not kept. The present one will do: other threads have changed it
 * within its zone, or have repaired it, and then the first of them saw the old value.
 */
HF_COLD void hf_detail_refcount_saturate_one(hf_refcount_t *r, enum hf_report_kind kind)
{
	hf_detail_refcount_repair(r, (int32_t)hf_atomic32_load_relaxed(&r->refs), kind,
				  HF_DETAIL_CALL_SITE);
}

/* The compiler refuses a call of this that it cannot remove: an add of a constant below 1. */
HF_BEGIN_DECLS
void hf_detail_refcount_add_below_1(void)
	HF_DETAIL_REFUSED("a reference count must be raised by at least 1");
HF_END_DECLS

HF_INLINE void hf_detail_refcount_check_add(int32_t i)
{
	if (HF_DETAIL_CAN_REFUSE && __builtin_constant_p(i) && i < 1)
		hf_detail_refcount_add_below_1();
}

/*
 * Was i added to a live count, and is it still live? sum is the new value, wrapped around: it is
 * i + 1..INT32_MAX if the count was 1..INT32_MAX - i before, and i or less in all other cases.
 */
HF_INLINE bool hf_detail_refcount_added(int32_t sum, int32_t i)
{
	return sum > i;
}

HF_INLINE void hf_detail_refcount_add(int32_t i, hf_refcount_t *r, int32_t *old)
{
	int32_t before = (int32_t)hf_atomic32_fetch_add_relaxed(&r->refs, (uint32_t)i);
	int32_t sum = (int32_t)((uint32_t)before + (uint32_t)i); /* wraps around */

	hf_detail_refcount_check_add(i);
	if (old)
		*old = before;
	if (HF_UNLIKELY(!hf_detail_refcount_added(sum, i))) { /* store SATURATED: I1, again: I2 */
		enum hf_report_kind kind = sum == i ? HF_REPORT_ADD_UAF : HF_REPORT_ADD_OVF;

		if (!old && __builtin_constant_p(i) && i == 1)
			hf_detail_refcount_saturate_one(r, kind);
		else
			hf_detail_refcount_saturate(r, before, kind);
	}
}

/*
 * Slow path of add_not_zero, entered with the last value read, which is not 0. Must be a tail call,
 * so that the return address identifies the caller. After a wait the value is stale: the
 * compare-and-swap may fail again, and then the wait doubles.
 */
HF_COLD bool hf_detail_refcount_add_not_zero_slow(int32_t i, hf_refcount_t *r, int32_t *old,
						  uint32_t value, bool acquire)
{
	hf_wait_t wait = HF_WAIT_INIT;

	while (hf_detail_refcount_added((int32_t)(value + (uint32_t)i), i)) {
		uint32_t sum = value + (uint32_t)i;

		hf_wait_retry(&wait, HF_ARCH_WAIT_COUNT_MANY);
		if (acquire ? hf_atomic32_try_cmpxchg_acquire(&r->refs, &value, sum)
			    : hf_atomic32_try_cmpxchg_relaxed(&r->refs, &value, sum)) {
			if (old)
				*old = (int32_t)value;
			return true;
		}
	}
	if (old)
		*old = (int32_t)value;
	if (value != 0) /* it would overflow (I1), or is negative (I2) */
		hf_detail_refcount_repair(r, (int32_t)value, HF_REPORT_ADD_NOT_ZERO_OVF,
					  HF_DETAIL_CALL_SITE);
	return value != 0; /* I4: 0 was left as it was */
}

HF_INLINE bool hf_detail_refcount_add_not_zero(int32_t i, hf_refcount_t *r, int32_t *old,
					       bool acquire)
{
	uint32_t value = hf_atomic32_load_relaxed(&r->refs), sum = value + (uint32_t)i;

	hf_detail_refcount_check_add(i);
	if (HF_LIKELY(hf_detail_refcount_added((int32_t)sum, i)) &&
	    HF_LIKELY(acquire ? hf_atomic32_try_cmpxchg_acquire(&r->refs, &value, sum)
			      : hf_atomic32_try_cmpxchg_relaxed(&r->refs, &value, sum))) {
		if (old)
			*old = (int32_t)value;
		return true;
	}
	if (value == 0) {
		if (old)
			*old = 0;
		return false; /* I4: 0 is left as it is */
	}
	return hf_detail_refcount_add_not_zero_slow(i, r, old, value, acquire);
}

HF_INLINE bool hf_detail_refcount_sub_and_test(int32_t i, hf_refcount_t *r, int32_t *old)
{
	int32_t before = (int32_t)hf_atomic32_fetch_sub_release(&r->refs, (uint32_t)i);

	if (old)
		*old = before;
	if (HF_LIKELY(before > i) && HF_LIKELY(before > 0))
		return false;
	if (HF_LIKELY(before == i) && HF_LIKELY(i > 0)) { /* I3: a live count, and its last ones */
		hf_atomic32_fence_acquire(&r->refs);
		return true;
	}
	hf_detail_refcount_saturate(r, before, HF_REPORT_SUB_UAF); /* I1: it is below 0 */
	return false;
}

HF_INLINE void hf_detail_refcount_dec(hf_refcount_t *r, int32_t *old)
{
	int32_t before = (int32_t)hf_atomic32_fetch_sub_release(&r->refs, 1);

	if (old)
		*old = before;
	if (HF_UNLIKELY(before <= 1)) { /* I1, I2: it is 0 now, or was negative */
		if (!old)
			hf_detail_refcount_saturate_one(r, HF_REPORT_DEC_LEAK);
		else
			hf_detail_refcount_saturate(r, before, HF_REPORT_DEC_LEAK);
	}
}

/* Slow path of dec_not_one; value and wait as in hf_detail_refcount_add_not_zero_slow(). */
HF_COLD bool hf_detail_refcount_dec_not_one_slow(hf_refcount_t *r, uint32_t value)
{
	hf_wait_t wait = HF_WAIT_INIT;

	while ((int32_t)value > 1) {
		hf_wait_retry(&wait, HF_ARCH_WAIT_COUNT_MANY);
		if (hf_atomic32_try_cmpxchg_release(&r->refs, &value, value - 1))
			return true;
	}
	if (value == 0)
		hf_detail_refcount_repair(r, 0, HF_REPORT_SUB_UAF, HF_DETAIL_CALL_SITE);
	return value != 1; /* I2: saturated stays so; it was not the last reference */
}

/**
 * hf_refcount_set - give an object its first references
 * hf_refcount_set_release - the same, and publish the object (type-stable memory)
 * @n: 1 to INT32_MAX; 0 = dead from the start; HF_REFCOUNT_IMMORTAL = it is never freed
 *
 * Context:  no other thread can find a live object in this memory
 * Ordering: none; of set_release release
 */
HF_INLINE void hf_refcount_set(hf_refcount_t *r, int32_t n)
{
	hf_atomic32_store_relaxed(&r->refs, (uint32_t)n);
}

HF_INLINE void hf_refcount_set_release(hf_refcount_t *r, int32_t n)
{
	hf_atomic32_store_release(&r->refs, (uint32_t)n);
}

/**
 * hf_refcount_read - how many references are there?
 *
 * Context:  any
 * Ordering: none; the answer may be stale
 * Return:   1 to INT32_MAX; 0 = dead; negative = saturated or immortal
 */
HF_INLINE int32_t hf_refcount_read(const hf_refcount_t *r)
{
	return (int32_t)hf_atomic32_load_relaxed(&r->refs);
}

/**
 * hf_refcount_is_one_acquire - is the caller's reference the only one? For copy-on-write
 *
 * It stays the only one as long as the object can't be found without a reference (inc_not_zero).
 *
 * Context:  the caller has a reference
 * Ordering: acquire on true: sees all that was done with references that were dropped
 * Return:   true = it is; false = there are others, or the count is saturated or immortal
 */
HF_INLINE HF_MUST_CHECK bool hf_refcount_is_one_acquire(const hf_refcount_t *r)
{
	return hf_atomic32_load_acquire(&r->refs) == 1;
}

/**
 * hf_refcount_inc, hf_refcount_inc_old - one more reference
 * hf_refcount_add, hf_refcount_add_old - more references
 * @i: how many, at least 1
 *
 * Context:  the caller has a reference
 * Ordering: none
 * Errors:   past INT32_MAX or on 0: saturated, reported (ADD_OVF, ADD_UAF)
 */
HF_INLINE void hf_refcount_inc(hf_refcount_t *r)
{
	hf_detail_refcount_add(1, r, NULL);
}

HF_INLINE void hf_refcount_inc_old(hf_refcount_t *r, int32_t *old)
{
	hf_detail_refcount_add(1, r, old);
}

HF_INLINE void hf_refcount_add(int32_t i, hf_refcount_t *r)
{
	hf_detail_refcount_add(i, r, NULL);
}

HF_INLINE void hf_refcount_add_old(int32_t i, hf_refcount_t *r, int32_t *old)
{
	hf_detail_refcount_add(i, r, old);
}

/**
 * hf_refcount_inc_not_zero, hf_refcount_inc_not_zero_old - one more, unless the object is dead
 * hf_refcount_add_not_zero, hf_refcount_add_not_zero_old - more, unless the object is dead
 * hf_refcount_inc_not_zero_acquire, hf_refcount_add_not_zero_acquire - for type-stable memory
 * hf_refcount_inc_not_zero_acquire_old, hf_refcount_add_not_zero_acquire_old - for such memory, too
 * @i: how many, at least 1
 *
 * Context:  its memory is valid; the caller need not have a reference. After _acquire check that it
 *           is still the object that was meant
 * Ordering: none, but a control dependency on true; of _acquire acquire on true
 * Errors:   past INT32_MAX: saturated, reported (ADD_NOT_ZERO_OVF), true
 * Return:   false = dead, nothing done
 */
HF_INLINE HF_MUST_CHECK bool hf_refcount_inc_not_zero(hf_refcount_t *r)
{
	return hf_detail_refcount_add_not_zero(1, r, NULL, false);
}

HF_INLINE HF_MUST_CHECK bool hf_refcount_inc_not_zero_old(hf_refcount_t *r, int32_t *old)
{
	return hf_detail_refcount_add_not_zero(1, r, old, false);
}

HF_INLINE HF_MUST_CHECK bool hf_refcount_inc_not_zero_acquire(hf_refcount_t *r)
{
	return hf_detail_refcount_add_not_zero(1, r, NULL, true);
}

HF_INLINE HF_MUST_CHECK bool hf_refcount_inc_not_zero_acquire_old(hf_refcount_t *r, int32_t *old)
{
	return hf_detail_refcount_add_not_zero(1, r, old, true);
}

HF_INLINE HF_MUST_CHECK bool hf_refcount_add_not_zero(int32_t i, hf_refcount_t *r)
{
	return hf_detail_refcount_add_not_zero(i, r, NULL, false);
}

HF_INLINE HF_MUST_CHECK bool hf_refcount_add_not_zero_old(int32_t i, hf_refcount_t *r, int32_t *old)
{
	return hf_detail_refcount_add_not_zero(i, r, old, false);
}

HF_INLINE HF_MUST_CHECK bool hf_refcount_add_not_zero_acquire(int32_t i, hf_refcount_t *r)
{
	return hf_detail_refcount_add_not_zero(i, r, NULL, true);
}

HF_INLINE HF_MUST_CHECK bool hf_refcount_add_not_zero_acquire_old(int32_t i, hf_refcount_t *r,
								  int32_t *old)
{
	return hf_detail_refcount_add_not_zero(i, r, old, true);
}

/**
 * hf_refcount_dec_and_test, hf_refcount_dec_and_test_old - drop a reference; was it the last?
 * hf_refcount_sub_and_test, hf_refcount_sub_and_test_old - drop references; were they the last?
 * @i: how many, at least 1; with 0 never true
 *
 * Context:  the caller has that many references, and gives them up
 * Ordering: release; on true also acquire
 * Errors:   below 0: saturated, reported (SUB_UAF), false
 * Return:   true = yes: the caller frees the object
 */
HF_INLINE HF_MUST_CHECK bool hf_refcount_dec_and_test(hf_refcount_t *r)
{
	return hf_detail_refcount_sub_and_test(1, r, NULL);
}

HF_INLINE HF_MUST_CHECK bool hf_refcount_dec_and_test_old(hf_refcount_t *r, int32_t *old)
{
	return hf_detail_refcount_sub_and_test(1, r, old);
}

HF_INLINE HF_MUST_CHECK bool hf_refcount_sub_and_test(int32_t i, hf_refcount_t *r)
{
	return hf_detail_refcount_sub_and_test(i, r, NULL);
}

HF_INLINE HF_MUST_CHECK bool hf_refcount_sub_and_test_old(int32_t i, hf_refcount_t *r, int32_t *old)
{
	return hf_detail_refcount_sub_and_test(i, r, old);
}

/**
 * hf_refcount_dec, hf_refcount_dec_old - drop a reference that is known not to be the last
 *
 * Context:  as hf_refcount_dec_and_test()
 * Ordering: release
 * Errors:   it was the last, or there was none: saturated, reported (DEC_LEAK)
 */
HF_INLINE void hf_refcount_dec(hf_refcount_t *r)
{
	hf_detail_refcount_dec(r, NULL);
}

HF_INLINE void hf_refcount_dec_old(hf_refcount_t *r, int32_t *old)
{
	hf_detail_refcount_dec(r, old);
}

/**
 * hf_refcount_dec_if_one - drop the reference if it is the only one
 *
 * Context:  the caller has a reference
 * Ordering: release, and acquire, on true; none on false
 * Return:   true = it was, the count is 0; false = nothing done
 */
HF_INLINE HF_MUST_CHECK bool hf_refcount_dec_if_one(hf_refcount_t *r)
{
	uint32_t one = 1;

	if (!hf_atomic32_try_cmpxchg_release(&r->refs, &one, 0))
		return false;
	hf_atomic32_fence_acquire(&r->refs);
	return true;
}

/**
 * hf_refcount_dec_not_one - drop a reference, unless it is the last one
 *
 * Context:  the caller has a reference
 * Ordering: release on true; none on false
 * Errors:   on 0: saturated, reported (SUB_UAF), true; saturated stays so, true
 * Return:   false = it is the last, nothing done
 */
HF_INLINE HF_MUST_CHECK bool hf_refcount_dec_not_one(hf_refcount_t *r)
{
	uint32_t value = hf_atomic32_load_relaxed(&r->refs);

	if (HF_LIKELY((int32_t)value > 1) &&
	    HF_LIKELY(hf_atomic32_try_cmpxchg_release(&r->refs, &value, value - 1)))
		return true;
	if (value == 1)
		return false;
	return hf_detail_refcount_dec_not_one_slow(r, value);
}

#endif
