/* SPDX-License-Identifier: MIT */
#ifndef HF_REFCOUNT_H
#define HF_REFCOUNT_H
#pragma GCC system_header
/*
 * refcount - a count of references that can't be overflowed into a use after free.
 *
 * Use when / not when
 *   For objects that are freed by the thread that drops the last reference. Not as a general
 *   counter: it may not start from 0, and it stops counting when it is misused. Not for objects
 *   that are looked up and dropped by every core all the time: the count's line is then the
 *   bottleneck, whatever the count does. Objects that many readers find without a lock (RCU):
 *   rcuref.h first, whose get never retries.
 *
 * Verbs
 *   set, inc, add                 the first references; more of them, by a thread that has one
 *   inc_not_zero, add_not_zero    more of them unless the object is dead, by a thread that has none
 *   dec_and_test, sub_and_test    drop; true = free the object. dec, dec_if_one, dec_not_one, read,
 *                                 and forms with _old (the count before) and _acquire besides
 *
 * Example         examples/refcount.c
 * C++             intrusive_ptr.h has pointers that own a reference.
 * Locks at zero   refcount_lock.h has dec_and_lock, refcount_mutex.h dec_and_mutex_lock.
 *
 * Misuse                            report                         value after, result
 *   add, inc past INT32_MAX         HF_REPORT_ADD_OVF              saturated
 *   ..._not_zero past INT32_MAX     HF_REPORT_ADD_NOT_ZERO_OVF     saturated, true
 *   add, inc on 0                   HF_REPORT_ADD_UAF              saturated
 *   sub_, dec_and_test below 0      HF_REPORT_SUB_UAF              saturated, false
 *   dec to 0, or below              HF_REPORT_DEC_LEAK             saturated
 *   any of them on saturated        HF_REPORT_SATURATED            saturated, true / false
 *
 *   An object whose count is saturated is never freed: it leaks, and that is the point. What is done
 *   to it from then on follows from the first misuse, and so is reported as a kind of its own;
 *   dec_not_one says nothing then.
 *
 * Objects that are never freed
 *   HF_REFCOUNT_INIT(HF_REFCOUNT_IMMORTAL), or set() to it: a static object among others that are
 *   counted. Its verbs report nothing and leave the count as it is; not_zero is true, and_test, like
 *   dec_if_one, false. It costs what a counted one costs and more: its line is written, twice, by
 *   inc and dec, and while they are under way read() sees a value near to it. No single add or sub may
 *   be of 2^28 or more while others use the count. `unchecked` counts on from there: its header.
 *
 * The family   name         misuse found            operation
 *              unchecked    none                    add
 *              cmpxchg      all of the above        look, then compare-and-swap
 *              saturating   all of the above        add, then look
 *              asm          all of the above        add, and its flags
 *
 *   Each has its own header (refcount/<name>.h) and verbs (hf_refcount_<name>_inc, ...) on the same
 *   type. This header gives the default the short names: HF_REFCOUNT_DEFAULT, asm unless defined.
 *   `saturating` and `asm` briefly expose a bad value: see "The window" in refcount/saturating.h.
 *
 * Arguments
 *   r     the count
 *   old   gets the count before
 *
 * Ordering
 *   operation                                    order
 *   set, read, inc, add                          none: a thread with a reference has the object
 *   inc_not_zero, add_not_zero                   none, but a control dependency on true
 *   inc_not_zero_acquire, add_not_zero_acquire   acquire on true: for memory that is type-stable,
 *                                                where the object may have become another
 *   set_release                                  release: publishes such an object
 *   dec, dec_not_one                             release
 *   dec_and_test, sub_and_test, dec_if_one       release; on true also acquire: the thread that
 *                                                frees sees all that others did with their
 *                                                references
 *   the _old forms                               as the form without
 *
 * State (refcount/type.h has the zones with their values)
 *
 *    immortal  saturated     dead      live
 *   |--------||-----------|   0   1 ---------------- INT32_MAX
 *   |         |                                         |
 *   |         '<-- inc, dec, add, sub: stays, reported  '-- inc: saturated, and reported
 *   '<-- inc, dec, add, sub: stays
 *
 * Source          docs/design/0003-refcount-window.md
 */
#include "refcount/asm.h"
#include "refcount/cmpxchg.h"
#include "refcount/saturating.h"
#include "refcount/unchecked.h"

/*
 * HF_REFCOUNT_ROSTER - X(name, checked) for each of the family, and for nothing else.
 *
 *   name      as in hf_refcount_<name>_inc
 *   checked   1 = misuse is reported, and the count saturates; else 0
 *
 * Tests, lab and ports are made from it; programs may use it too. A new implementation is a row
 * here.
 */
#define HF_REFCOUNT_ROSTER(X)                                                                      \
	X(unchecked, 0)                                                                            \
	X(cmpxchg, 1)                                                                              \
	X(saturating, 1)                                                                           \
	X(asm, 1)

/* The one with the short names. Without inline assembly for a processor `asm` is `saturating`. */
#ifndef HF_REFCOUNT_DEFAULT
#define HF_REFCOUNT_DEFAULT asm
#endif
#define HF_DETAIL_REFCOUNT_DEFAULT(verb)                                                           \
	HF_DETAIL_PASTE4(hf_refcount_, HF_REFCOUNT_DEFAULT, _, verb)

/**
 * hf_refcount_set - give an object its first references
 * @n: 1 to INT32_MAX; 0 = dead from the start; HF_REFCOUNT_IMMORTAL = it is never freed
 *
 * Context:  before any other thread can see the object
 * Ordering: none
 */
HF_INLINE void hf_refcount_set(hf_refcount_t *r, int32_t n)
{
	HF_DETAIL_REFCOUNT_DEFAULT(set)(r, n);
}

/**
 * hf_refcount_set_release - hf_refcount_set(), and publish the object (type-stable memory)
 * @n: 1 to INT32_MAX
 *
 * Context:  the memory is no object that others may find alive
 * Ordering: release
 */
HF_INLINE void hf_refcount_set_release(hf_refcount_t *r, int32_t n)
{
	HF_DETAIL_REFCOUNT_DEFAULT(set_release)(r, n);
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
	return HF_DETAIL_REFCOUNT_DEFAULT(read)(r);
}

/**
 * hf_refcount_inc - one more reference
 *
 * Context:  the caller has a reference
 * Ordering: none
 * Errors:   past INT32_MAX or on 0: saturated, reported (ADD_OVF, ADD_UAF)
 */
HF_INLINE void hf_refcount_inc(hf_refcount_t *r)
{
	HF_DETAIL_REFCOUNT_DEFAULT(inc)(r);
}

/**
 * hf_refcount_inc_old - hf_refcount_inc(); *old is the count before
 *
 * Ordering: none
 * Errors:   past INT32_MAX or on 0: saturated, reported (ADD_OVF, ADD_UAF)
 */
HF_INLINE void hf_refcount_inc_old(hf_refcount_t *r, int32_t *old)
{
	HF_DETAIL_REFCOUNT_DEFAULT(inc_old)(r, old);
}

/**
 * hf_refcount_add - more references
 * @i: how many, at least 1
 *
 * Context:  the caller has a reference
 * Ordering: none
 * Errors:   past INT32_MAX or on 0: saturated, reported (ADD_OVF, ADD_UAF)
 */
HF_INLINE void hf_refcount_add(int32_t i, hf_refcount_t *r)
{
	HF_DETAIL_REFCOUNT_DEFAULT(add)(i, r);
}

/**
 * hf_refcount_add_old - hf_refcount_add(); *old is the count before
 *
 * Ordering: none
 * Errors:   past INT32_MAX or on 0: saturated, reported (ADD_OVF, ADD_UAF)
 */
HF_INLINE void hf_refcount_add_old(int32_t i, hf_refcount_t *r, int32_t *old)
{
	HF_DETAIL_REFCOUNT_DEFAULT(add_old)(i, r, old);
}

/**
 * hf_refcount_inc_not_zero - one more reference, unless the object is dead
 *
 * Context:  its memory is valid; the caller need not have a reference
 * Ordering: none, but a control dependency on true
 * Errors:   past INT32_MAX: saturated, reported (ADD_NOT_ZERO_OVF), true
 * Return:   false = dead, nothing done
 */
HF_INLINE HF_MUST_CHECK bool hf_refcount_inc_not_zero(hf_refcount_t *r)
{
	return HF_DETAIL_REFCOUNT_DEFAULT(inc_not_zero)(r);
}

/**
 * hf_refcount_inc_not_zero_old - hf_refcount_inc_not_zero(); *old is the count before
 *
 * Ordering: none, but a control dependency on true
 * Errors:   past INT32_MAX: saturated, reported (ADD_NOT_ZERO_OVF), true
 * Return:   false = dead, nothing done, *old is 0
 */
HF_INLINE HF_MUST_CHECK bool hf_refcount_inc_not_zero_old(hf_refcount_t *r, int32_t *old)
{
	return HF_DETAIL_REFCOUNT_DEFAULT(inc_not_zero_old)(r, old);
}

/**
 * hf_refcount_inc_not_zero_acquire - hf_refcount_inc_not_zero() for type-stable memory
 *
 * Context:  check afterwards that it is still the object that was meant
 * Ordering: acquire on true
 * Errors:   past INT32_MAX: saturated, reported (ADD_NOT_ZERO_OVF), true
 * Return:   false = dead, nothing done
 */
HF_INLINE HF_MUST_CHECK bool hf_refcount_inc_not_zero_acquire(hf_refcount_t *r)
{
	return HF_DETAIL_REFCOUNT_DEFAULT(inc_not_zero_acquire)(r);
}

/**
 * hf_refcount_inc_not_zero_acquire_old - the same; *old is the count before
 *
 * Ordering: acquire on true
 * Errors:   past INT32_MAX: saturated, reported (ADD_NOT_ZERO_OVF), true
 * Return:   false = dead, nothing done, *old is 0
 */
HF_INLINE HF_MUST_CHECK bool hf_refcount_inc_not_zero_acquire_old(hf_refcount_t *r, int32_t *old)
{
	return HF_DETAIL_REFCOUNT_DEFAULT(inc_not_zero_acquire_old)(r, old);
}

/**
 * hf_refcount_add_not_zero - more references, unless the object is dead
 * @i: how many, at least 1
 *
 * Context:  as hf_refcount_inc_not_zero()
 * Ordering: none, but a control dependency on true
 * Errors:   past INT32_MAX: saturated, reported (ADD_NOT_ZERO_OVF), true
 * Return:   false = dead, nothing done
 */
HF_INLINE HF_MUST_CHECK bool hf_refcount_add_not_zero(int32_t i, hf_refcount_t *r)
{
	return HF_DETAIL_REFCOUNT_DEFAULT(add_not_zero)(i, r);
}

/**
 * hf_refcount_add_not_zero_old - hf_refcount_add_not_zero(); *old is the count before
 *
 * Ordering: none, but a control dependency on true
 * Errors:   past INT32_MAX: saturated, reported (ADD_NOT_ZERO_OVF), true
 * Return:   false = dead, nothing done, *old is 0
 */
HF_INLINE HF_MUST_CHECK bool hf_refcount_add_not_zero_old(int32_t i, hf_refcount_t *r, int32_t *old)
{
	return HF_DETAIL_REFCOUNT_DEFAULT(add_not_zero_old)(i, r, old);
}

/**
 * hf_refcount_add_not_zero_acquire - hf_refcount_add_not_zero() for type-stable memory
 * @i: how many, at least 1
 *
 * Context:  as hf_refcount_inc_not_zero_acquire()
 * Ordering: acquire on true
 * Errors:   past INT32_MAX: saturated, reported (ADD_NOT_ZERO_OVF), true
 * Return:   false = dead, nothing done
 */
HF_INLINE HF_MUST_CHECK bool hf_refcount_add_not_zero_acquire(int32_t i, hf_refcount_t *r)
{
	return HF_DETAIL_REFCOUNT_DEFAULT(add_not_zero_acquire)(i, r);
}

/**
 * hf_refcount_add_not_zero_acquire_old - the same; *old is the count before
 * @i: how many, at least 1
 *
 * Ordering: acquire on true
 * Errors:   past INT32_MAX: saturated, reported (ADD_NOT_ZERO_OVF), true
 * Return:   false = dead, nothing done, *old is 0
 */
HF_INLINE HF_MUST_CHECK bool hf_refcount_add_not_zero_acquire_old(int32_t i, hf_refcount_t *r,
								  int32_t *old)
{
	return HF_DETAIL_REFCOUNT_DEFAULT(add_not_zero_acquire_old)(i, r, old);
}

/**
 * hf_refcount_dec_and_test - drop a reference; was it the last?
 *
 * Context:  the caller has a reference, and none after it
 * Ordering: release; on true also acquire
 * Errors:   below 0: saturated, reported (SUB_UAF), false
 * Return:   true = it was: the caller frees the object
 */
HF_INLINE HF_MUST_CHECK bool hf_refcount_dec_and_test(hf_refcount_t *r)
{
	return HF_DETAIL_REFCOUNT_DEFAULT(dec_and_test)(r);
}

/**
 * hf_refcount_dec_and_test_old - hf_refcount_dec_and_test(); *old is the count before
 *
 * Ordering: release; on true also acquire
 * Errors:   below 0: saturated, reported (SUB_UAF), false
 * Return:   true = it was: the caller frees the object
 */
HF_INLINE HF_MUST_CHECK bool hf_refcount_dec_and_test_old(hf_refcount_t *r, int32_t *old)
{
	return HF_DETAIL_REFCOUNT_DEFAULT(dec_and_test_old)(r, old);
}

/**
 * hf_refcount_sub_and_test - drop references; were they the last?
 * @i: how many, at least 1; with 0 never true
 *
 * Context:  the caller has as many references
 * Ordering: release; on true also acquire
 * Errors:   below 0: saturated, reported (SUB_UAF), false
 * Return:   true = they were: the caller frees the object
 */
HF_INLINE HF_MUST_CHECK bool hf_refcount_sub_and_test(int32_t i, hf_refcount_t *r)
{
	return HF_DETAIL_REFCOUNT_DEFAULT(sub_and_test)(i, r);
}

/**
 * hf_refcount_sub_and_test_old - hf_refcount_sub_and_test(); *old is the count before
 *
 * Ordering: release; on true also acquire
 * Errors:   below 0: saturated, reported (SUB_UAF), false
 * Return:   true = they were: the caller frees the object
 */
HF_INLINE HF_MUST_CHECK bool hf_refcount_sub_and_test_old(int32_t i, hf_refcount_t *r, int32_t *old)
{
	return HF_DETAIL_REFCOUNT_DEFAULT(sub_and_test_old)(i, r, old);
}

/**
 * hf_refcount_dec - drop a reference that is known not to be the last
 *
 * Context:  as hf_refcount_dec_and_test()
 * Ordering: release
 * Errors:   it was the last, or there was none: saturated, reported (DEC_LEAK)
 */
HF_INLINE void hf_refcount_dec(hf_refcount_t *r)
{
	HF_DETAIL_REFCOUNT_DEFAULT(dec)(r);
}

/**
 * hf_refcount_dec_old - hf_refcount_dec(); *old is the count before
 *
 * Ordering: release
 * Errors:   it was the last, or there was none: saturated, reported (DEC_LEAK)
 */
HF_INLINE void hf_refcount_dec_old(hf_refcount_t *r, int32_t *old)
{
	HF_DETAIL_REFCOUNT_DEFAULT(dec_old)(r, old);
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
	return HF_DETAIL_REFCOUNT_DEFAULT(dec_if_one)(r);
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
	return HF_DETAIL_REFCOUNT_DEFAULT(dec_not_one)(r);
}

#endif
