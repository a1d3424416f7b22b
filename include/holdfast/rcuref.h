/* SPDX-License-Identifier: MIT */
#ifndef HF_RCUREF_H
#define HF_RCUREF_H
#pragma GCC system_header
/*
 * rcuref - a reference count for RCU-style lookup: get and put are a single atomic add.
 *
 * Use when / not when
 *   Where readers find objects without a lock (a table under RCU, type-stable memory) and take a
 *   reference unless the object is dead. Not for an object whose memory is freed as soon as its
 *   last reference is dropped: use refcount. refcount's inc_not_zero is a loop of
 *   compare-and-swaps, whose retries grow with the number of readers; this get never retries. With
 *   28 and 64 threads it is 1.3 to 7 times as fast (simulated: docs/design/0027).
 *
 * Operations
 *   init, init_release     the first references; the same, and publish the object (type-stable
 *                          memory)
 *   get, get_acquire       one more reference; false = dead
 *   put                    drop one; true = it was the last: retire the object
 *   read, headroom         how many there are; how many more can be taken
 *
 * Example  examples/rcuref.c
 *
 * The contract of put (I4 gives the reason)
 *   The caller of put is inside a read-side critical section that the freeing of the object waits
 *   for (rcu_read_lock() to rcu_read_unlock(), with the memory freed by call_rcu() or after
 *   synchronize_rcu()), or the memory is type-stable. In a kernel it is enough to disable
 *   preemption, which put does itself. With -DHF_VALIDATE=1 each put is checked by
 *   HF_RCUREF_PROTECTED(), if the program defines it, for example as liburcu's rcu_read_ongoing().
 *
 * Arguments  r   the count
 * Context    any
 *
 * State
 *   One 32-bit word: the number of references minus one. The result of an add shows its zone.
 *
 *    0                 0x7fffffff 0x80000000    SATURATED   0xc0000000   DEAD        0xffffffff
 *    |------------------------|---------------------|------------|---------|----------|
 *    <-- live: 1..2^31 ------> <-- saturated: never freed -------> <-- dead ---------> none
 *
 *    live       get: one more                          put: one less; from 0 to none
 *    none       get: live again, with one reference    put: misuse
 *               the put that made it none then swaps none -> DEAD: if that succeeds, it was the
 *               last
 *    dead       get: false                             put: misuse, reported
 *    saturated  get: true, back to SATURATED           put: back to SATURATED
 *
 *   SATURATED and DEAD lie in the middle of their zones, 2^29 from either end. A dead count that
 *   has moved half of that way is reset, by a compare-and-swap that fails if the memory is another
 *   object by then. So to leave a zone takes 2^28 operations in progress at one moment.
 *
 * Invariants
 *   I1  An object dies by the swap none -> DEAD, which only one thread can make. So exactly one put
 *       returns true.
 *   I2  Dead stays dead, until init; and no operation that began before an init undoes it.
 *   I3  A count that left the live zone upwards is never freed.
 *   I4  Between its subtraction and its compare-and-swap a put has no reference any more: others
 *       may get, put and kill the object in between. Its memory must stay an rcuref for that long.
 *
 * Source   docs/design/0015-rcuref.md
 */
#include "internal/atomic.h"
#include "validate.h"

/* The count. Its member is private. */
typedef struct hf_rcuref {
	hf_atomic32_t refs; /* minus one */
} hf_rcuref_t;

/* A program may define it: may this thread call put now? See "The contract of put". */
#ifndef HF_RCUREF_PROTECTED
#define HF_RCUREF_PROTECTED() true
#endif

#define HF_RCUREF_MAX 0x80000000u /* references */
#define HF_DETAIL_RCUREF_SATURATED 0xa0000000u
#define HF_DETAIL_RCUREF_FROM_DEAD 0xc0000000u
#define HF_DETAIL_RCUREF_DEAD 0xe0000000u
#define HF_DETAIL_RCUREF_NONE 0xffffffffu

/* n references (a constant); 0 = dead. */
#define HF_RCUREF_INIT(n) HF_DETAIL_INIT((n) ? (uint32_t)(n)-1u : HF_DETAIL_RCUREF_DEAD)

/**
 * hf_rcuref_init - give an object its first references; no other thread knows it
 * hf_rcuref_init_release - the same for type-stable memory, where other threads may call get
 * @n: 1 to HF_RCUREF_MAX; 0 = dead from the start
 *
 * Context:  the thread that made the object, or whose put was the last
 * Ordering: none; of init_release release: publishes what was written to the object
 */
HF_INLINE void hf_rcuref_init(hf_rcuref_t *r, uint32_t n)
{
	hf_atomic32_store_relaxed(&r->refs, n ? n - 1 : HF_DETAIL_RCUREF_DEAD);
}

HF_INLINE void hf_rcuref_init_release(hf_rcuref_t *r, uint32_t n)
{
	hf_atomic32_store_release(&r->refs, n ? n - 1 : HF_DETAIL_RCUREF_DEAD);
}

/**
 * hf_rcuref_read - how many references are there?
 * hf_rcuref_headroom - how many can still be taken before the count saturates? To watch for a leak
 *
 * Ordering: none
 * Return:   1 to HF_RCUREF_MAX, 0 = none or dead, HF_RCUREF_MAX + 1 = saturated; the headroom: 0 if
 *           it is saturated or dead
 */
HF_INLINE uint32_t hf_rcuref_read(const hf_rcuref_t *r)
{
	uint32_t refs = hf_atomic32_load_relaxed(&r->refs);

	if (refs < HF_RCUREF_MAX)
		return refs + 1;
	return refs < HF_DETAIL_RCUREF_FROM_DEAD ? HF_RCUREF_MAX + 1 : 0;
}

HF_INLINE uint32_t hf_rcuref_headroom(const hf_rcuref_t *r)
{
	uint32_t refs = hf_atomic32_load_relaxed(&r->refs);

	return refs < HF_RCUREF_MAX ? HF_RCUREF_MAX - 1 - refs : 0;
}

/* Resets a count that has drifted far from the middle of the dead zone: dead stays dead (I2). */
HF_INLINE void hf_detail_rcuref_stay_dead(hf_rcuref_t *r, uint32_t refs)
{
	const uint32_t half = 1u << 28;

	if (HF_UNLIKELY(refs - (HF_DETAIL_RCUREF_DEAD - half) > 2 * half))
		(void)hf_atomic32_try_cmpxchg_relaxed(&r->refs, &refs, HF_DETAIL_RCUREF_DEAD);
}

/* Slow path of get, whose add resulted in `refs`, which is not live. */
HF_SLOW bool hf_detail_rcuref_get_slow(hf_rcuref_t *r, uint32_t refs)
{
	if (HF_LIKELY(refs >= HF_DETAIL_RCUREF_FROM_DEAD)) {
		hf_detail_rcuref_stay_dead(r, refs);
		return false;
	}
	hf_atomic32_store_relaxed(&r->refs, HF_DETAIL_RCUREF_SATURATED); /* never freed (I3) */
	hf_report_at(HF_REPORT_RCUREF_OVF, r, HF_DETAIL_SLOW_CALL_SITE);
	return true;
}

/*
 * Slow path of put, whose subtraction resulted in `refs`, which is not live. That result decides,
 * not the present value: other threads may have called get and put since, and killed the object.
 */
HF_SLOW bool hf_detail_rcuref_put_slow(hf_rcuref_t *r, uint32_t refs)
{
	if (HF_LIKELY(refs == HF_DETAIL_RCUREF_NONE)) {
		if (!hf_atomic32_try_cmpxchg_relaxed(&r->refs, &refs, HF_DETAIL_RCUREF_DEAD))
			return false; /* a get came in between; one put makes the swap (I1) */
		hf_atomic32_fence_acquire(&r->refs);
		return true;
	}
	if (refs >= HF_DETAIL_RCUREF_FROM_DEAD) {
		hf_detail_rcuref_stay_dead(r, refs);
		hf_report_at(HF_REPORT_RCUREF_DEAD, r, HF_DETAIL_SLOW_CALL_SITE);
		return false;
	}
	hf_atomic32_store_relaxed(&r->refs, HF_DETAIL_RCUREF_SATURATED); /* never freed (I3) */
	return false;
}

/**
 * hf_rcuref_get - one more reference, unless the object is dead
 * hf_rcuref_get_acquire - the same for type-stable memory, which may hold another object by now:
 * check afterwards that it is still the one that was meant
 *
 * Context:  any; the memory must stay an rcuref until this returns
 * Ordering: none; of get_acquire acquire on true
 * Errors:   beyond HF_RCUREF_MAX: saturated, reported (RCUREF_OVF), true
 * Return:   false = dead, no reference was taken
 */
HF_INLINE HF_MUST_CHECK bool hf_rcuref_get(hf_rcuref_t *r)
{
	uint32_t refs = hf_atomic32_fetch_add_relaxed(&r->refs, 1) + 1;

	return HF_LIKELY((int32_t)refs >= 0) || hf_detail_rcuref_get_slow(r, refs);
}

HF_INLINE HF_MUST_CHECK bool hf_rcuref_get_acquire(hf_rcuref_t *r)
{
	if (!hf_rcuref_get(r))
		return false;
	hf_atomic32_fence_acquire(&r->refs);
	return true;
}

/**
 * hf_rcuref_put - drop a reference; was it the last?
 *
 * Context:  a read-side critical section: the contract of put, above
 * Ordering: release; on true also acquire
 * Errors:   dead already: reported (RCUREF_DEAD), false; saturated: stays so, false
 * Return:   true = it was the last: retire the object (call_rcu(), or reuse of its memory)
 */
HF_INLINE HF_MUST_CHECK bool hf_rcuref_put(hf_rcuref_t *r)
{
	uint32_t refs;
	bool last = false;

	if (HF_VALIDATE && !HF_RCUREF_PROTECTED())
		hf_report(HF_REPORT_RCUREF_UNPROTECTED, r);
	hf_env_preempt_disable();
	refs = hf_atomic32_fetch_sub_release(&r->refs, 1) - 1;
	if (HF_UNLIKELY((int32_t)refs < 0))
		last = hf_detail_rcuref_put_slow(r, refs);
	hf_env_preempt_enable();
	return last;
}

#endif
