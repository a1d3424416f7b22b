/* SPDX-License-Identifier: MIT */
#ifndef HF_LOCKREF_H
#define HF_LOCKREF_H
#pragma GCC system_header
/*
 * lockref - a lock and a reference count in one 64-bit word.
 *
 * Use when / not when
 *   For objects whose lock and count belong together: looked up without the lock, removed from a
 *   structure under it, where the last put must decide under the lock whether the object dies. Not
 *   where a refcount is enough: its get and put do not loop. Where memory outlives a put (RCU,
 *   type-stable memory) and many cores use one object, prefer lockref_waitfree.h.
 *
 * Operations
 *   get, get_not_zero, get_not_dead   one more reference; unless there is none; unless it is dead
 *   put_or_lock                       drop one; false = it is the last, and the lock is held
 *                                     instead
 *   put_not_zero, put_return          drop one unless it is the last; drop one if that needs no
 *                                     lock
 *   lock, trylock, unlock             the lock half; its holder may mark_dead and set_count
 *   init, read, is_dead               the first references; how many are there? is it dead?
 *
 * Example  examples/lockref.c
 * C++      lockref_counted.h has hf::lockref, and pointers that own a reference.
 *
 * The lock half
 *   A mutex where threads can park (user space), otherwise the spinlock: the rules of mutex.h or
 *   spinlock.h apply. A port may use another lock: HF_LOCKREF_LOCK_HEADER, below. For clang's
 *   -Wthread-safety it is the lockref's capability; the analysis knows nothing of the count.
 *
 * Arguments  l   the lockref
 *
 * State
 *      63                         32 31                          0
 *     |        count, signed        |            a lock           |
 *
 *     lock half   count        meaning
 *     0           1..MAX       live: one 64-bit compare-and-swap changes the count
 *     0           0            no references; can still be found, and revived (get, get_not_dead)
 *     not 0       any          the lock has a holder or waiters: changes go through the lock
 *     any         negative     dead (mark_dead stores -128): never revived
 *     any         INT32_MAX    pinned: an overflow was stopped here; puts leave it, it leaks
 *
 *              get_not_dead                     put_or_lock, true
 *          .------------------.                .------------------.
 *          v                  |                v                  |
 *     count 0 <--under the lock-- count 1 <----------------- count 2, 3, ...
 *          |                          |
 *          '------ mark_dead ---------'--> dead (-128)   (under the lock)
 *
 * Invariants
 *   I1  A compare-and-swap of the whole word changes the count only while the lock half is 0, and
 *       leaves the lock half as it is.
 *   I2  So while the lock is held only its holder changes the count (by a store to its half).
 *   I3  The count becomes 0 by put_return only, or under the lock; dead only under the lock.
 *   I4  After HF_LOCKREF_RETRIES failed swaps (and the first one, which is inline) the lock is
 *       taken, which stops the swaps of the others too (I1): once one thread has reached the
 *       limit, the retries of all threads are bounded.
 *   I5  Dead stays dead: no operation but set_count changes a negative count.
 *   I6  The 32 bits of a lock half are 0 exactly when it is free and has no waiters.
 *
 * Ordering   stated at each function. A swap that drops a reference is a release, and taking the
 *            lock, which reads the word that these swaps wrote, an acquire: a thread that then has
 *            the last reference sees what other threads did with theirs.
 *
 * Source   LKML 2019, "Disable lockref on arm64"; docs/design/0006-lockref.md
 */
#include "internal/atomic.h"
#include "internal/tsan.h"
#include "internal/wait.h"
#include "report.h"
#include "validate.h"

/*
 * The lock half. A port that has a lock of 4 bytes defines HF_LOCKREF_LOCK_HEADER, in its env
 * header or by -D: the header that defines the type and the four operations below, for a lock that
 * keeps I6 (all 32 bits are 0 when it is free). All code that shares a lockref must be compiled
 * with the same lock.
 */
#if defined(HF_LOCKREF_LOCK_HEADER)
#include HF_LOCKREF_LOCK_HEADER
#elif HF_ENV_HAS_PARK
#include "mutex.h"
typedef hf_mutex_t hf_env_lockref_lock_t;
#define hf_env_lockref_lock(lock) hf_mutex_lock(lock)
#define hf_env_lockref_trylock(lock) hf_mutex_trylock(lock)
#define hf_env_lockref_unlock(lock) hf_mutex_unlock(lock)
#define hf_env_lockref_is_locked(lock) hf_mutex_is_locked(lock)
#else
#include "spinlock.h"
typedef hf_spinlock_t hf_env_lockref_lock_t;
#define hf_env_lockref_lock(lock) hf_spinlock_lock(lock)
#define hf_env_lockref_trylock(lock) hf_spinlock_trylock(lock)
#define hf_env_lockref_unlock(lock) hf_spinlock_unlock(lock)
#define hf_env_lockref_is_locked(lock) hf_spinlock_is_locked(lock)
#endif

HF_STATIC_ASSERT(HF_ATOMIC_IS_MODEL || sizeof(hf_env_lockref_lock_t) == 4, "half of the word");

/* A lock and a reference count. Its member is private. */
typedef struct HF_CAPABILITY("lockref") hf_lockref {
	hf_atomic64_t word;
} hf_lockref_t;

HF_STATIC_ASSERT(HF_ATOMIC_IS_MODEL || sizeof(hf_lockref_t) == 8, "one 64-bit word");

/* What mark_dead stores, and the most references. */
#define HF_LOCKREF_DEAD (-128)
#define HF_LOCKREF_MAX INT32_MAX

/* The word of a free lock and this count. */
#define HF_DETAIL_LOCKREF_WORD(count) ((uint64_t)(uint32_t)(count) << 32)

/* A lock that is free, and this many references (a constant). */
#define HF_LOCKREF_INIT(count) HF_DETAIL_INIT(HF_DETAIL_LOCKREF_WORD(count))

/* Failed swaps after which the lock is taken: 15 to 100 were measured alike where it matters. */
#ifndef HF_LOCKREF_RETRIES
#define HF_LOCKREF_RETRIES 100
#endif
HF_STATIC_ASSERT(HF_LOCKREF_RETRIES > 0, "at least one");

#define HF_DETAIL_LOCKREF_ONE ((uint64_t)1 << 32)
#ifndef HF_DETAIL_LOCKREF_LOCK_BITS /* a model's mutant ignores them */
#define HF_DETAIL_LOCKREF_LOCK_BITS 0xffffffffu
#endif

/* For statistics, a program may define it: an operation's failed swaps; did it take the lock? */
#ifndef HF_DETAIL_LOCKREF_NOTE
#define HF_DETAIL_LOCKREF_NOTE(retries, fallback) ((void)(retries), (void)(fallback))
#endif

HF_INLINE hf_env_lockref_lock_t *hf_detail_lockref_lock(hf_lockref_t *l)
{
	return (hf_env_lockref_lock_t *)hf_atomic64_low32(&l->word);
}

/* In this word, is the lock half free and without waiters? Then its 32 bits are 0 (I6). */
HF_INLINE bool hf_detail_lockref_unlocked(uint64_t word)
{
	return HF_LIKELY(((uint32_t)word & HF_DETAIL_LOCKREF_LOCK_BITS) == 0);
}

HF_INLINE int32_t hf_detail_lockref_count(uint64_t word)
{
	return (int32_t)(uint32_t)(word >> 32);
}

/* Read and store the count as the holder of the lock, who alone changes it then (I2). */
HF_INLINE int32_t hf_detail_lockref_count_locked(const hf_lockref_t *l)
{
	return (int32_t)hf_atomic64_load_high32_relaxed(&l->word);
}

HF_INLINE void hf_detail_lockref_set_count_locked(hf_lockref_t *l, int32_t count)
{
	hf_atomic64_store_high32_relaxed(&l->word, (uint32_t)count);
}

/* One more reference; but a pinned count stays, and so does a dead one: it never revives (I5). */
HF_INLINE int32_t hf_detail_lockref_plus_one(int32_t count)
{
	return HF_UNLIKELY((uint32_t)count >= (uint32_t)HF_LOCKREF_MAX) ? count : count + 1;
}

/* One reference less, of a count above 0; but a pinned count stays. */
HF_INLINE int32_t hf_detail_lockref_minus_one(int32_t count)
{
	return HF_UNLIKELY(count == HF_LOCKREF_MAX) ? count : count - 1;
}

/* Returns true. Must be a tail call, so that the return address identifies the caller of get. */
HF_COLD bool hf_detail_lockref_get_misuse(hf_lockref_t *l, int32_t count)
{
	hf_report_at(count < 0 ? HF_REPORT_LOCKREF_DEAD : HF_REPORT_LOCKREF_OVF, l,
		     HF_DETAIL_CALL_SITE);
	return true;
}

/* Count a failed swap, and wait. False = that was one too many: take the lock (I4). */
HF_INLINE bool hf_detail_lockref_retry(uint32_t *retries, hf_wait_t *wait)
{
	if (++*retries >= HF_LOCKREF_RETRIES)
		return false;
	hf_wait_retry(wait, HF_ARCH_WAIT_COUNT_MANY);
	return true;
}

/*
 * Fast path of get: one swap, if the lock is free and the count at least `least` (0 or 1) and not
 * pinned. Returns false if nothing was done.
 */
HF_INLINE bool hf_detail_lockref_try_get(hf_lockref_t *l, int32_t least)
{
	uint64_t word = hf_atomic64_load_relaxed(&l->word);
	uint32_t above = (uint32_t)hf_detail_lockref_count(word) - (uint32_t)least;

	if (!hf_detail_lockref_unlocked(word) ||
	    HF_UNLIKELY(above >= (uint32_t)HF_LOCKREF_MAX - (uint32_t)least))
		return false;
	return HF_LIKELY(
		hf_atomic64_try_cmpxchg_relaxed(&l->word, &word, word + HF_DETAIL_LOCKREF_ONE));
}

/* The same for a put that keeps `keep` (0 or 1) references; *count gets the new count. */
HF_INLINE bool hf_detail_lockref_try_put(hf_lockref_t *l, int32_t keep, int32_t *count)
{
	uint64_t word = hf_atomic64_load_relaxed(&l->word);
	uint64_t less = word - HF_DETAIL_LOCKREF_ONE;
	uint32_t above = (uint32_t)hf_detail_lockref_count(less) - (uint32_t)keep;

	if (!hf_detail_lockref_unlocked(word) ||
	    HF_UNLIKELY(above >= (uint32_t)HF_LOCKREF_MAX - 1 - (uint32_t)keep))
		return false;
	*count = hf_detail_lockref_count(less);
	return HF_LIKELY(hf_atomic64_try_cmpxchg_release(&l->word, &word, less));
}

/* One more reference if the count is at least `least`; INT32_MIN: any, and misuse is reported. */
HF_SLOW bool hf_detail_lockref_get_slow(hf_lockref_t *l, int32_t least)
{
	hf_wait_t wait = HF_WAIT_INIT;
	uint32_t retries = 0;
	bool fallback = false;
	uint64_t word = hf_atomic64_load_relaxed(&l->word);
	int32_t count;

	for (;;) {
		count = hf_detail_lockref_count(word);
		if (!hf_detail_lockref_unlocked(word)) {
			fallback = true;
			break;
		}
		if (count < least ||
		    HF_LIKELY(hf_atomic64_try_cmpxchg_relaxed(
			    &l->word, &word,
			    HF_DETAIL_LOCKREF_WORD(hf_detail_lockref_plus_one(count)))))
			break; /* I1: the swap found the lock half 0, and stored 0 */
		if (!hf_detail_lockref_retry(&retries, &wait)) {
			fallback = true;
			break;
		}
	}
	if (HF_UNLIKELY(fallback)) {
		hf_env_lockref_lock(hf_detail_lockref_lock(l));
		count = hf_detail_lockref_count_locked(l);
		if (count >= least)
			hf_detail_lockref_set_count_locked(l, hf_detail_lockref_plus_one(count));
		hf_env_lockref_unlock(hf_detail_lockref_lock(l));
	}
	HF_DETAIL_LOCKREF_NOTE(retries, fallback);
	if (count < least)
		return false;
	/* Negative, or INT32_MAX: one unsigned comparison. */
	if (HF_UNLIKELY((uint32_t)count >= (uint32_t)HF_LOCKREF_MAX))
		return hf_detail_lockref_get_misuse(l, count);
	return true;
}

/*
 * The swaps of a put's slow path: drop one reference if there are more than `keep`. Returns the new
 * count; -1 = nothing was done, and *enough is false if there were at most `keep`.
 */
HF_INLINE int32_t hf_detail_lockref_put_swaps(hf_lockref_t *l, int32_t keep, bool *enough)
{
	hf_wait_t wait = HF_WAIT_INIT;
	uint32_t retries = 0;
	uint64_t word = hf_atomic64_load_relaxed(&l->word);

	*enough = true;
	while (hf_detail_lockref_unlocked(word)) {
		int32_t count = hf_detail_lockref_count(word), less;

		if (count <= keep) {
			*enough = false;
			break;
		}
		less = hf_detail_lockref_minus_one(count);
		if (HF_LIKELY(hf_atomic64_try_cmpxchg_release(&l->word, &word,
							      HF_DETAIL_LOCKREF_WORD(less)))) {
			HF_DETAIL_LOCKREF_NOTE(retries, false);
			return less;
		}
		if (!hf_detail_lockref_retry(&retries, &wait))
			break;
	}
	HF_DETAIL_LOCKREF_NOTE(retries, true);
	return -1;
}

/* The lock is held: drop one reference if there are more than 1. */
HF_INLINE bool hf_detail_lockref_put_locked(hf_lockref_t *l)
{
	int32_t count = hf_detail_lockref_count_locked(l);

	if (count <= 1)
		return false;
	hf_detail_lockref_set_count_locked(l, hf_detail_lockref_minus_one(count));
	return true;
}

HF_SLOW int32_t hf_detail_lockref_put_return_slow(hf_lockref_t *l)
{
	bool enough;

	return hf_detail_lockref_put_swaps(l, 0, &enough);
}

HF_SLOW bool hf_detail_lockref_put_not_zero_slow(hf_lockref_t *l) HF_NO_THREAD_SAFETY_ANALYSIS
{
	bool enough, done;

	if (hf_detail_lockref_put_swaps(l, 1, &enough) >= 0)
		return true;
	if (!enough)
		return false;
	hf_env_lockref_lock(hf_detail_lockref_lock(l));
	done = hf_detail_lockref_put_locked(l);
	hf_env_lockref_unlock(hf_detail_lockref_lock(l));
	return done;
}

HF_SLOW bool hf_detail_lockref_put_or_lock_slow(hf_lockref_t *l) HF_NO_THREAD_SAFETY_ANALYSIS
{
	bool enough;

	if (hf_detail_lockref_put_swaps(l, 1, &enough) >= 0)
		return true;
	hf_env_lockref_lock(hf_detail_lockref_lock(l));
	if (!hf_detail_lockref_put_locked(l))
		return false;
	hf_env_lockref_unlock(hf_detail_lockref_lock(l));
	return true;
}

/**
 * hf_lockref_init - a free lock and the first references
 * @count: 0 to INT32_MAX
 *
 * Context:  before any other thread can see the object
 * Ordering: none
 */
HF_INLINE void hf_lockref_init(hf_lockref_t *l, int32_t count)
{
	HF_DETAIL_VALIDATE_INIT(hf_detail_lockref_lock(l));
	HF_DETAIL_TSAN_INIT(hf_detail_lockref_lock(l));
	hf_atomic64_store_relaxed(&l->word, HF_DETAIL_LOCKREF_WORD(count));
}

/**
 * hf_lockref_read - the count
 * hf_lockref_is_dead - has the object been marked dead? (Then the count is negative.)
 *
 * Context:  any
 * Ordering: none; the answer may be stale, unless the lock is held
 * Return:   0 to INT32_MAX, negative = dead; true = it has
 */
HF_INLINE int32_t hf_lockref_read(const hf_lockref_t *l)
{
	return hf_detail_lockref_count(hf_atomic64_load_relaxed(&l->word));
}

HF_INLINE bool hf_lockref_is_dead(const hf_lockref_t *l)
{
	return hf_lockref_read(l) < 0;
}

/**
 * hf_lockref_lock - take the lock half; the count then changes only through its holder
 * hf_lockref_trylock - take the lock half if it is free and has no waiters
 * hf_lockref_unlock - release the lock half
 *
 * Context:  as that of the mutex or the spinlock that the lock half is
 * Ordering: acquire; acquire if true, none if false; release
 * Return:   of trylock true = taken
 */
HF_INLINE void hf_lockref_lock(hf_lockref_t *l) HF_ACQUIRE(l) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf_env_lockref_lock(hf_detail_lockref_lock(l));
}

HF_INLINE HF_MUST_CHECK bool hf_lockref_trylock(hf_lockref_t *l)
	HF_TRY_ACQUIRE(true, l) HF_NO_THREAD_SAFETY_ANALYSIS
{
	return hf_env_lockref_trylock(hf_detail_lockref_lock(l));
}

HF_INLINE void hf_lockref_unlock(hf_lockref_t *l) HF_RELEASE(l) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf_env_lockref_unlock(hf_detail_lockref_lock(l));
}

/**
 * hf_lockref_get - one more reference
 *
 * Context:  the caller has a reference, or holds a lock that keeps the object alive
 * Ordering: none; acquire and release where the lock had to be taken, here and below
 * Errors:   past INT32_MAX: pinned there, reported (LOCKREF_OVF); dead: reported (LOCKREF_DEAD)
 */
HF_INLINE void hf_lockref_get(hf_lockref_t *l)
{
	if (HF_UNLIKELY(!hf_detail_lockref_try_get(l, 0)))
		(void)hf_detail_lockref_get_slow(l, INT32_MIN);
}

/**
 * hf_lockref_get_not_zero - one more reference, unless there is none
 * hf_lockref_get_not_dead - one more reference, unless the object is dead; 0 is not dead
 *
 * Context:  its memory is valid
 * Ordering: none, but a control dependency on true
 * Errors:   past INT32_MAX: pinned there, reported (LOCKREF_OVF), true
 * Return:   false = the count was 0 (not_zero) or dead, nothing done
 */
HF_INLINE HF_MUST_CHECK bool hf_lockref_get_not_zero(hf_lockref_t *l)
{
	return HF_LIKELY(hf_detail_lockref_try_get(l, 1)) || hf_detail_lockref_get_slow(l, 1);
}

HF_INLINE HF_MUST_CHECK bool hf_lockref_get_not_dead(hf_lockref_t *l)
{
	return HF_LIKELY(hf_detail_lockref_try_get(l, 0)) || hf_detail_lockref_get_slow(l, 0);
}

/**
 * hf_lockref_put_return - drop a reference, if that can be done without the lock
 *
 * Context:  the caller has a reference, and does not hold the lock
 * Ordering: release; to free the object on 0, fence or take the lock first
 * Return:   the new count, which may be 0; -1 = nothing done: the count was 0 or dead, the lock
 *           is held, or the retries were exhausted; then call put_or_lock
 */
HF_INLINE HF_MUST_CHECK int32_t hf_lockref_put_return(hf_lockref_t *l)
{
	int32_t count;

	if (HF_LIKELY(hf_detail_lockref_try_put(l, 0, &count)))
		return count;
	return hf_detail_lockref_put_return_slow(l);
}

/**
 * hf_lockref_put_or_lock - drop a reference, or take the lock if it is the last
 * hf_lockref_put_not_zero - drop a reference, unless it is the last
 *
 * Context:  the caller has a reference, and does not hold the lock
 * Ordering: release if true; of put_or_lock acquire if false
 * Return:   true = done; false = the count is at most 1, the caller keeps its reference, and after
 *           put_or_lock holds the lock
 */
HF_INLINE HF_MUST_CHECK bool hf_lockref_put_or_lock(hf_lockref_t *l)
	HF_TRY_ACQUIRE(false, l) HF_NO_THREAD_SAFETY_ANALYSIS
{
	int32_t count;

	return HF_LIKELY(hf_detail_lockref_try_put(l, 1, &count)) ||
	       hf_detail_lockref_put_or_lock_slow(l);
}

HF_INLINE HF_MUST_CHECK bool hf_lockref_put_not_zero(hf_lockref_t *l)
{
	int32_t count;

	return HF_LIKELY(hf_detail_lockref_try_put(l, 1, &count)) ||
	       hf_detail_lockref_put_not_zero_slow(l);
}

/**
 * hf_lockref_set_count - store the count
 * hf_lockref_mark_dead - mark the object dead: from now on get_not_dead fails
 * @count: 0 to INT32_MAX
 *
 * Context:  the lock is held
 * Ordering: none
 * Errors:   mark_dead without the lock: reported (LOCKREF_UNLOCKED), nothing done
 */
HF_INLINE void hf_lockref_set_count(hf_lockref_t *l, int32_t count) HF_REQUIRES(l)
{
	hf_detail_lockref_set_count_locked(l, count);
}

HF_INLINE void hf_lockref_mark_dead(hf_lockref_t *l) HF_REQUIRES(l)
{
	if (HF_UNLIKELY(!hf_env_lockref_is_locked(hf_detail_lockref_lock(l)))) {
		hf_report(HF_REPORT_LOCKREF_UNLOCKED, l);
		return;
	}
	hf_detail_lockref_set_count_locked(l, HF_LOCKREF_DEAD);
}

#endif
