/* SPDX-License-Identifier: MIT */
#ifndef HF_LOCKREF_WAITFREE_H
#define HF_LOCKREF_WAITFREE_H
#pragma GCC system_header
/*
 * lockref_waitfree - a lockref whose get and put are one atomic add each, also while it is locked.
 *
 * Use when / not when
 *   Where an object is found without a lock and many threads take and drop references at once, or
 *   its lock is held for long: no get or put ever waits or retries, except that the put of the last
 *   reference takes the lock. With 28 and 64 threads it is 1.7 to 12 times as fast as lockref.h
 *   (simulated: docs/design/0027). Not where the memory of an object is freed as soon as it is
 *   dead: that needs lockref.h. Not where the count must not change while the lock is held.
 *
 *   A type of its own, because code that is right with hf_lockref_t is wrong with it:
 *
 *                        hf_lockref_t                     hf_lockref_waitfree_t
 *     lock               holds the count still            the count may change, but nobody else
 *                                                         kills or revives the object
 *     put_or_lock false  nothing was dropped              the reference is dropped: none was left
 *                                                         just before the lock was taken
 *     mark_dead          always succeeds                  takes the number of references given up;
 *                                                         false = there are others
 *     memory             may be freed by the thread that  stays a lockref while a put may be in
 *                        killed it, after the unlock      progress (the contract of put)
 *     get_not_zero,      exist                            do not exist: an add is unconditional,
 *       set_count                                         and a store would undo the adds of other
 *                                                         threads
 *
 * Operations
 *   get, get_not_dead(_acquire)   one more reference; false = dead
 *   put_or_lock, put_return       drop one; put_or_lock false = none is left, and the lock is held
 *   lock, trylock, unlock         the lock half
 *   mark_dead, revive             under the lock: kill, or make the memory another object
 *   init, read, is_dead           the first references; how many are there? is it dead?
 *
 * Example  examples/lockref_waitfree.c
 *
 * The contract of put (W5 gives the reason)
 *   That of rcuref.h; and the caller stays in the read-side critical section until it has acted on
 *   the result (put_or_lock's false, put_return's 0). If instead the memory is type-stable, it may
 *   hold another object by the time the thread gets the lock, so the thread must check. In a kernel
 *   put_or_lock disables preemption itself. HF_LOCKREF_PROTECTED() is as HF_RCUREF_PROTECTED().
 *
 * Arguments  l   the lockref
 * Context    any
 *
 * State
 *      63                         32 31                          0
 *     |            count            |            a lock           |
 *
 *   An add changes the count only: a carry is lost at the top of the word. The result of an add
 *   shows in which of three zones the count lies. As in rcuref.h, to leave a zone takes 2^28
 *   operations in progress at one moment.
 *
 *      0                0x80000000    0xa0000000            0xe0000000   0xffffffff
 *      |------ live -------|-- saturated --|------- dead -------|-- saturated --|
 *      none, 1, 2, ...        SATURATED             DEAD
 *
 *               get                                        put_or_lock, true
 *          .-----------.                               .-------------------.
 *          |           v                               v                   |
 *        none <----- count 1 <---------------------------------------- count 2, 3, ...
 *          |     put      |
 *          '-- mark_dead -'--> DEAD --- revive ---> count n    (swaps of the word, under the lock)
 *
 *     live       get, put: one more, one less
 *     none       get: live again. put: misuse, which saturates
 *     dead       get: false, and the count, one higher, stays dead. put: misuse
 *     saturated  get: true. put: true. Both store SATURATED. It is never killed: it leaks
 *
 * Invariants
 *   W1  The count changes between live and dead only by a compare-and-swap of the whole word by the
 *       holder of the lock: while it is held, no other thread changes whether the object lives.
 *   W2  The swap to dead succeeds only if the count is the number of references that the holder
 *       gives up. So no references are left when the object dies, and only one thread kills it.
 *   W3  A dead object stays dead for all gets until revive. An operation that began before a revive
 *       can't undo it: it can only attempt a swap that expects a dead count, which fails.
 *   W4  A count that left the live zone, by an overflow or by one put too many, is never dead: it
 *       leaks. But the repair comes after the misuse: a get between the extra put and its repair
 *       finds a live count, and a holder of the lock may kill the object at that moment.
 *   W5  After its subtraction a put has no reference. Only a put that made the count none then
 *       takes the lock; other threads may get, put, kill and revive the object before it has the
 *       lock.
 *   W6  A get, and a put that is not the last, takes a bounded number of steps, whatever other
 *       threads do.
 *
 * Source   docs/design/0016-lockref-waitfree.md
 */
#include "lockref.h"

/* A lock and a reference count. Its member is private. */
typedef struct HF_CAPABILITY("lockref") hf_lockref_waitfree {
	hf_atomic64_t word;
} hf_lockref_waitfree_t;

HF_STATIC_ASSERT(HF_ATOMIC_IS_MODEL || sizeof(hf_lockref_waitfree_t) == 8, "one 64-bit word");

/* A lock that is free, and 0 to INT32_MAX references (a constant). */
#define HF_LOCKREF_WAITFREE_INIT(count) HF_DETAIL_INIT(HF_DETAIL_LOCKREF_WORD(count))

/* A program may define it: may this thread call put now? See "The contract of put". */
#ifndef HF_LOCKREF_PROTECTED
#define HF_LOCKREF_PROTECTED() true
#endif

#define HF_DETAIL_WAITFREE_ONE ((uint64_t)1 << 32)
#define HF_DETAIL_WAITFREE_SATURATED 0x90000000u
#define HF_DETAIL_WAITFREE_FROM_DEAD 0xa0000000u
#ifndef HF_DETAIL_WAITFREE_DEAD /* a model may define another value */
#define HF_DETAIL_WAITFREE_DEAD 0xc0000000u
#endif
#define HF_DETAIL_WAITFREE_FROM_BELOW 0xe0000000u /* from here to none: saturated, by extra puts */

HF_INLINE hf_env_lockref_lock_t *hf_detail_waitfree_lock(hf_lockref_waitfree_t *l)
{
	return (hf_env_lockref_lock_t *)hf_atomic64_low32(&l->word);
}

HF_INLINE bool hf_detail_waitfree_is_dead(uint64_t word)
{
	return (uint32_t)(word >> 32) - HF_DETAIL_WAITFREE_FROM_DEAD <
	       HF_DETAIL_WAITFREE_FROM_BELOW - HF_DETAIL_WAITFREE_FROM_DEAD;
}

/* The same lock half, another count. */
HF_INLINE uint64_t hf_detail_waitfree_with(uint64_t word, uint32_t count)
{
	return (uint64_t)count << 32 | (uint32_t)word;
}

/* hf_lockref_waitfree_init - as hf_lockref_init(). Ordering: none. */
HF_INLINE void hf_lockref_waitfree_init(hf_lockref_waitfree_t *l, int32_t count)
{
	HF_DETAIL_VALIDATE_INIT(hf_detail_waitfree_lock(l));
	HF_DETAIL_TSAN_INIT(hf_detail_waitfree_lock(l));
	hf_atomic64_store_relaxed(&l->word, HF_DETAIL_LOCKREF_WORD(count));
}

/**
 * hf_lockref_waitfree_read - the count
 * hf_lockref_waitfree_is_dead - is the object dead?
 *
 * Ordering: none; the count may be stale, also to the holder of the lock, but not whether it is
 *           dead (W1)
 * Return:   0 to INT32_MAX, INT32_MAX too if saturated, negative = dead; true = it is
 */
HF_INLINE int32_t hf_lockref_waitfree_read(const hf_lockref_waitfree_t *l)
{
	uint64_t word = hf_atomic64_load_relaxed(&l->word);

	if (HF_LIKELY((int64_t)word >= 0))
		return hf_detail_lockref_count(word);
	return hf_detail_waitfree_is_dead(word) ? -1 : INT32_MAX;
}

HF_INLINE bool hf_lockref_waitfree_is_dead(const hf_lockref_waitfree_t *l)
{
	return hf_detail_waitfree_is_dead(hf_atomic64_load_relaxed(&l->word));
}

/**
 * hf_lockref_waitfree_lock - as hf_lockref_lock(): no other thread can kill or revive the object
 * hf_lockref_waitfree_trylock - as hf_lockref_trylock()
 * hf_lockref_waitfree_unlock - as hf_lockref_unlock()
 */
HF_INLINE void hf_lockref_waitfree_lock(hf_lockref_waitfree_t *l)
	HF_ACQUIRE(l) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf_env_lockref_lock(hf_detail_waitfree_lock(l));
}

HF_INLINE HF_MUST_CHECK bool hf_lockref_waitfree_trylock(hf_lockref_waitfree_t *l)
	HF_TRY_ACQUIRE(true, l) HF_NO_THREAD_SAFETY_ANALYSIS
{
	return hf_env_lockref_trylock(hf_detail_waitfree_lock(l));
}

HF_INLINE void hf_lockref_waitfree_unlock(hf_lockref_waitfree_t *l)
	HF_RELEASE(l) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf_env_lockref_unlock(hf_detail_waitfree_lock(l));
}

/* The object leaks (W4). A plain store will do: no operation leaves the saturated zone. */
HF_INLINE void hf_detail_waitfree_saturate(hf_lockref_waitfree_t *l)
{
	hf_atomic64_store_high32_relaxed(&l->word, HF_DETAIL_WAITFREE_SATURATED);
}

/* Resets a count that has drifted far from the middle of the dead zone: dead stays dead (W3). */
HF_INLINE void hf_detail_waitfree_stay_dead(hf_lockref_waitfree_t *l, uint64_t word)
{
	const uint32_t half = 1u << 28;

	if (HF_UNLIKELY((uint32_t)(word >> 32) - (HF_DETAIL_WAITFREE_DEAD - half) > 2 * half))
		(void)hf_atomic64_try_cmpxchg_relaxed(
			&l->word, &word, hf_detail_waitfree_with(word, HF_DETAIL_WAITFREE_DEAD));
}

/* After a get that resulted in `word`, whose count is not live. True = alive. */
HF_INLINE bool hf_detail_waitfree_get_repair(hf_lockref_waitfree_t *l, uint64_t word,
					     const void *site)
{
	if (HF_LIKELY(hf_detail_waitfree_is_dead(word))) {
		hf_detail_waitfree_stay_dead(l, word);
		return false;
	}
	hf_detail_waitfree_saturate(l);
	hf_report_at(HF_REPORT_LOCKREF_OVF, l, site);
	return true;
}

HF_SLOW bool hf_detail_waitfree_get_slow(hf_lockref_waitfree_t *l, uint64_t word)
{
	return hf_detail_waitfree_get_repair(l, word, HF_DETAIL_SLOW_CALL_SITE);
}

/* The same for a get whose caller must have a reference already. */
HF_COLD void hf_detail_waitfree_get_misuse(hf_lockref_waitfree_t *l, uint64_t word)
{
	const void *site = HF_DETAIL_CALL_SITE;

	if (!hf_detail_waitfree_get_repair(l, word, site))
		hf_report_at(HF_REPORT_LOCKREF_DEAD, l, site);
}

/* After a put that resulted in `word`, not live: that decides, not the present value. */
HF_INLINE int32_t hf_detail_waitfree_put_repair(hf_lockref_waitfree_t *l, uint64_t word,
						const void *site)
{
	uint64_t before = word + HF_DETAIL_WAITFREE_ONE;

	if (hf_detail_waitfree_is_dead(word)) {
		hf_detail_waitfree_stay_dead(l, word);
	} else {
		hf_detail_waitfree_saturate(l);
		if ((int64_t)before < 0)
			return INT32_MAX;
	}
	hf_report_at(HF_REPORT_LOCKREF_PUT, l, site);
	return -1;
}

HF_SLOW int32_t hf_detail_waitfree_put_slow(hf_lockref_waitfree_t *l, uint64_t word)
{
	return hf_detail_waitfree_put_repair(l, word, HF_DETAIL_SLOW_CALL_SITE);
}

/* After a put that resulted in `word`, whose count is none or not live. Preemption is disabled. */
HF_SLOW bool hf_detail_waitfree_put_or_lock_slow(hf_lockref_waitfree_t *l, uint64_t word)
	HF_TRY_ACQUIRE(false, l) HF_NO_THREAD_SAFETY_ANALYSIS
{
	bool done = true;

	if (HF_UNLIKELY((int64_t)word < 0)) {
		(void)hf_detail_waitfree_put_repair(l, word, HF_DETAIL_SLOW_CALL_SITE);
	} else {
		hf_env_lockref_lock(hf_detail_waitfree_lock(l));
		/* W5: others may have called get meanwhile, or killed the object: then not none. */
		done = hf_atomic64_load_high32_relaxed(&l->word) != 0;
		if (HF_UNLIKELY(done))
			hf_env_lockref_unlock(hf_detail_waitfree_lock(l));
	}
	hf_env_preempt_enable();
	return done;
}

HF_INLINE void hf_detail_waitfree_check_put(hf_lockref_waitfree_t *l)
{
	if (HF_VALIDATE && !HF_LOCKREF_PROTECTED())
		hf_report(HF_REPORT_LOCKREF_UNPROTECTED, l);
}

/**
 * hf_lockref_waitfree_get - one more reference
 *
 * Context:  the caller has a reference, or holds the lock and knows that it is alive
 * Ordering: none
 * Errors:   past INT32_MAX: saturated, reported (LOCKREF_OVF); dead: reported (LOCKREF_DEAD)
 */
HF_INLINE void hf_lockref_waitfree_get(hf_lockref_waitfree_t *l)
{
	uint64_t word = hf_atomic64_fetch_add_relaxed(&l->word, HF_DETAIL_WAITFREE_ONE) +
			HF_DETAIL_WAITFREE_ONE;

	if (HF_UNLIKELY((int64_t)word < 0))
		hf_detail_waitfree_get_misuse(l, word);
}

/**
 * hf_lockref_waitfree_get_not_dead - one more reference, unless the object is dead
 * hf_lockref_waitfree_get_not_dead_acquire - the same for memory that may hold another object by
 * now: check afterwards that it is still the one that was meant
 *
 * Context:  its memory must stay a lockref until this returns
 * Ordering: none; of _acquire acquire on true
 * Errors:   past INT32_MAX: saturated, reported (LOCKREF_OVF), true
 * Return:   false = dead, no reference was taken; a count of none is not dead
 */
HF_INLINE HF_MUST_CHECK bool hf_lockref_waitfree_get_not_dead(hf_lockref_waitfree_t *l)
{
	uint64_t word = hf_atomic64_fetch_add_relaxed(&l->word, HF_DETAIL_WAITFREE_ONE) +
			HF_DETAIL_WAITFREE_ONE;

	return HF_LIKELY((int64_t)word >= 0) || hf_detail_waitfree_get_slow(l, word);
}

HF_INLINE HF_MUST_CHECK bool hf_lockref_waitfree_get_not_dead_acquire(hf_lockref_waitfree_t *l)
{
	if (!hf_lockref_waitfree_get_not_dead(l))
		return false;
	hf_atomic64_fence_acquire(&l->word);
	return true;
}

/**
 * hf_lockref_waitfree_put_return - drop a reference, and return how many are left
 *
 * Context:  the contract of put, above
 * Ordering: release
 * Errors:   without a reference: reported (LOCKREF_PUT), saturated if it was alive
 * Return:   the new count; 0 = none is left: lock, and mark_dead(0) if the object is to die.
 *           INT32_MAX = saturated; -1 = misuse
 */
HF_INLINE HF_MUST_CHECK int32_t hf_lockref_waitfree_put_return(hf_lockref_waitfree_t *l)
{
	uint64_t word;

	hf_detail_waitfree_check_put(l);
	word = hf_atomic64_fetch_sub_release(&l->word, HF_DETAIL_WAITFREE_ONE) -
	       HF_DETAIL_WAITFREE_ONE;
	if (HF_UNLIKELY((int64_t)word < 0))
		return hf_detail_waitfree_put_slow(l, word);
	return hf_detail_lockref_count(word);
}

/**
 * hf_lockref_waitfree_put_or_lock - drop a reference; if none is left, take the lock
 *
 * Context:  the contract of put, above
 * Ordering: release; if false also acquire
 * Errors:   as put_return, and true
 * Return:   true = done. false = the lock is held, the object is alive, and there were no
 *           references a moment ago: mark_dead(0) if the object is to die, and unlock
 */
HF_INLINE HF_MUST_CHECK bool hf_lockref_waitfree_put_or_lock(hf_lockref_waitfree_t *l)
	HF_TRY_ACQUIRE(false, l) HF_NO_THREAD_SAFETY_ANALYSIS
{
	uint64_t word;

	hf_detail_waitfree_check_put(l);
	hf_env_preempt_disable();
	word = hf_atomic64_fetch_sub_release(&l->word, HF_DETAIL_WAITFREE_ONE) -
	       HF_DETAIL_WAITFREE_ONE;
	if (HF_UNLIKELY((int64_t)word < (int64_t)HF_DETAIL_WAITFREE_ONE))
		return hf_detail_waitfree_put_or_lock_slow(l, word);
	hf_env_preempt_enable();
	return true;
}

/**
 * hf_lockref_waitfree_mark_dead - kill the object, unless there are other references
 * @count: how many references the caller has, and gives up if it succeeds: mostly 0 or 1
 *
 * Context:  the lock is held
 * Ordering: acquire if true: sees all that was done with the references, also with those that were
 *           dropped while the lock was held; none if false
 * Errors:   the lock is not held: reported (LOCKREF_UNLOCKED), false
 * Return:   true = killed by this thread, which retires the object. false = the count differs,
 *           nothing was done
 */
HF_INLINE HF_MUST_CHECK bool hf_lockref_waitfree_mark_dead(hf_lockref_waitfree_t *l, int32_t count)
	HF_REQUIRES(l)
{
	uint64_t word = hf_atomic64_load_relaxed(&l->word);

	/* Retries only if a waiter has begun to wait for the lock, or has given up, meanwhile. */
	while ((int64_t)word >= 0 && hf_detail_lockref_count(word) == count) {
		if (HF_UNLIKELY(hf_detail_lockref_unlocked(word))) {
			hf_report(HF_REPORT_LOCKREF_UNLOCKED, l);
			return false;
		}
		if (HF_LIKELY(hf_atomic64_try_cmpxchg_acquire(
			    &l->word, &word,
			    hf_detail_waitfree_with(word, HF_DETAIL_WAITFREE_DEAD))))
			return true; /* W2: no other references were left */
	}
	return false;
}

/**
 * hf_lockref_waitfree_revive - make the memory another object, with its first references
 * @count: 0 to INT32_MAX
 *
 * To give an object another identity while it can be found: mark_dead, change it, revive, all under
 * the lock. A lookup that finds it meanwhile finds it dead; one that finds it afterwards must check
 * its identity.
 *
 * Context:  the lock is held
 * Ordering: release: publishes what was written to the object
 * Errors:   the lock is not held: reported (LOCKREF_UNLOCKED), false
 * Return:   false = it is not dead, nothing was done
 */
HF_INLINE HF_MUST_CHECK bool hf_lockref_waitfree_revive(hf_lockref_waitfree_t *l, int32_t count)
	HF_REQUIRES(l)
{
	uint64_t word = hf_atomic64_load_relaxed(&l->word);

	while (hf_detail_waitfree_is_dead(word)) {
		if (HF_UNLIKELY(hf_detail_lockref_unlocked(word))) {
			hf_report(HF_REPORT_LOCKREF_UNLOCKED, l);
			return false;
		}
		/* Fails also if a get has changed the dead count meanwhile. */
		if (HF_LIKELY(hf_atomic64_try_cmpxchg_release(
			    &l->word, &word, hf_detail_waitfree_with(word, (uint32_t)count))))
			return true;
	}
	return false;
}

#endif
