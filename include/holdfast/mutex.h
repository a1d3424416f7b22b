/* SPDX-License-Identifier: MIT */
#ifndef HF_MUTEX_H
#define HF_MUTEX_H
#pragma GCC system_header
/*
 * mutex - mutual exclusion in 4 bytes, by threads that may park.
 *
 * Use when / not when
 *   The default lock for programs: it does not collapse with more threads than processors, and
 *   nobody starves. Not in a signal handler, which may have interrupted the holder. Not where a
 *   world has no parking (HF_ENV_HAS_PARK is 0: kernels, bare metal): this header is empty there;
 *   take spinlock.h.
 *   Two types: hf_mutex_t, for the threads of one process; hf_mutex_shared_t, for memory that
 *   several processes have mapped.
 *
 * Verbs
 *   lock, unlock       wait for it, parked if it takes long; release it
 *   trylock            take it only if that needs no waiting
 *   lock_timeout       wait at most so long; init and is_locked besides
 *   hf_mutex_shared_*  the same verbs, between processes
 *
 * Example     examples/mutex.c
 * Guards      C++   hf::mutex lock;
 *                   std::lock_guard<hf::mutex> guard(lock);
 * Validation  -DHF_VALIDATE=1 reports recursion, unlock by another thread, long holds: validate.h.
 *
 * Ordering
 *   operation             order
 *   init, is_locked       none
 *   lock, lock_timeout    acquire (and none if it timed out)
 *   trylock               acquire if true, none if false
 *   unlock                release
 *
 *   M1, M2 and M6 acquire; M9 to M11 release. All changes are read-modify-writes, which continue
 *   the release sequence of the unlock before them; the others publish nothing and need no order.
 *
 * State
 *   One 32-bit word; 0 = free, and without waiters.
 *
 *      31                                      4    3     2     1     0
 *     |                  parked                 |  P  |  W  |  X  |  L  |
 *
 *     L       locked
 *     X       closed: no barging; only a waiter may take the lock
 *     W       waking: a parked thread is being woken, and becomes the next waiter
 *     P       pending: the next waiter is awake, and watches the word
 *     parked  how many threads are parked, or about to park, or have not yet noticed that they were
 *             woken
 *
 *   (parked, P, W, X, L):
 *
 *     lock      (0,0,0,0,0) -> (0,0,0,0,1)   uncontended: take it                             M1
 *               (k,p,w,0,0) -> (k,p,w,0,1)   barge: take it past its waiters                  M2
 *               (0,0,0,0,1) -> (0,1,0,0,1)   no waiters: become the next waiter; also,        M3
 *               (k,0,0,0,1) -> (k,1,0,0,1)   within its turn, if only parked threads wait
 *               (k,p,w,x,l) -> (k+1,p,w,x,l) else park                                        M4
 *     parked    (k,p,1,x,l) -> (k-1,1,0,x,l) woken: it is the next waiter. It becomes so      M5
 *               (k,0,0,x,0) -> (k-1,1,0,x,0) too if it sees the lock free and no waiter awake
 *     pending   (k,p,w,x,0) -> (k,0,w,0,1)   the next waiter takes the lock                   M6
 *               (k,p,w,0,1) -> (k,p,w,1,1)   has permitted barging for long enough: close     M7
 *               (k,p,w,x,1) -> (k+1,0,w,x,1) its spin budget is used up: park                 M8
 *     unlock    (k,p,w,0,1) -> (k,p,w,0,0)   no waiters when it looked: subtract 1            M9
 *               (k,p,w,x,1) -> (k,p,w,y,0)   p or w: a waiter is awake already; y = 1 if     M10
 *                                            the holder's turn is over
 *               (k,0,0,x,1) -> (k,0,1,y,0)   k > 0: wake a parked thread                     M11
 *     timeout   (k,p,w,x,1) -> (k,0,w,x,1)   of the next waiter; x = 0 if it was the last     M12
 *               (k,p,w,x,l) -> (k-1,p,w,x,l) of a parked one; likewise                        M13
 *
 *   Waiting. Two threads use a lock as fast as more can, and two need no help from the kernel. So
 *   one is the holder, one is the next waiter and awake, and the others are parked. A thread that
 *   comes and finds a next waiter spins briefly, then parks. The next waiter at first permits
 *   barging, then closes the lock, then looks in short steps, then yields its processor between two
 *   looks, then parks too: so a descheduled holder gets the processor back.
 *
 *   Fairness. A thread that finds the lock free may barge: it is running, and has the cache line.
 *   It goes on until the next waiter closes the lock (M7): a closed lock is handed to the next
 *   waiter, and the former holder may become the next waiter again (M3). Both do this until their
 *   turns are over (HF_MUTEX_TURN): then they close the lock themselves (M10) and park, so that an
 *   unlock finds no waiter awake, and wakes a parked thread. A thread that has waited for a long
 *   time has a short turn; the rest of a turn is added to the next. The kernel wakes in the order
 *   of parking, so each parked thread gets its turn.
 *
 * Invariants
 *   X1  L goes from 0 to 1 only by compare-and-swap (M1, M2, M6): one winner. Only the holder
 *       clears it.
 *   X2  While the lock is free, a parked thread is about to be woken, or a waiter is awake for it:
 *       P or W is set, or an M9 has still to look at what it found. P is cleared only where L is 1
 *       (M8, M12) or becomes 1 (M6), W only where P becomes 1 (M5). And the holder takes care of it
 *       when it unlocks: M10, M11, or M9 and the look at what it found.
 *   X3  A thread that sets W, or finds by M9 that it should have, wakes a parked thread afterwards.
 *       If none is asleep they are all on their way: to sleep, and then the word is not what they
 *       expect, for no thread sleeps on a word with W, nor on a free one without P; or out, and
 *       then they look at the word. In both cases they find it as M5 requires. So no wake-up is
 *       lost.
 *   X4  Nothing of the lock is touched after the release: one step releases it and reads whether
 *       there are waiters, and the kernel is given the address, not the memory. So the next holder
 *       may unlock and free the mutex at once.
 *   X5  X only while there are waiters: the thread that sets it is a waiter or has seen one, in the
 *       same step, and the last waiter to leave clears it (M6, M12, M13). So a free lock without
 *       waiters is 0.
 *
 * Why unlock is not a plain store
 *   It must clear L and learn in the same step whether there are waiters: one atomic subtraction.
 *   With a store and then a load the two can change places, unless there is a full barrier between
 *   them, which costs what the subtraction costs; and the load would touch a mutex that may be
 *   freed (X4).
 *
 * Why it is not robust
 *   A mutex that survives its holder's death must record its holder, and the kernel must find it
 *   from there: a thread's identity read and a list kept by each lock and unlock. That is more than
 *   the whole fast path. A holder that is killed leaves the lock held;
 *   hf_mutex_shared_lock_timeout() finds out. A peer that is killed while it waits does no harm to
 *   hf_mutex_shared_t: a parked thread looks at the word every HF_MUTEX_PATROL_NS and takes over
 *   from the next waiter, if that one is all that holds it up (M5, whatever W is). The dead peer
 *   may leave `parked` too high: then a wake-up is tried in vain now and then, and a trylock may
 *   fail that need not, until the next lock.
 *
 * Source      docs/design/0014-mutex.md
 */
#include "atomic.h"
#include "validate.h"

#if HF_ENV_HAS_PARK

#define HF_MUTEX_INIT                                                                              \
	{                                                                                          \
		HF_ATOMIC_INIT(0)                                                                  \
	}
#define HF_MUTEX_SHARED_INIT HF_MUTEX_INIT

typedef struct HF_CAPABILITY("mutex") hf_mutex {
	hf_atomic32_t word;
} hf_mutex_t;

typedef struct HF_CAPABILITY("mutex") hf_mutex_shared {
	hf_atomic32_t word;
} hf_mutex_shared_t;

#define HF__MUTEX_LOCKED 1u
#define HF__MUTEX_PARKED 2u /* of hf_mutex_shared_t: locked, and threads may be parked */

/* The table of those who wait (src/parking.h): which bucket has an address. */
#ifndef HF__PARKING_BUCKETS
#define HF__PARKING_BUCKETS 1024
#define HF__PARKING_INDEX(at) ((uint32_t)((uint32_t)((uintptr_t)(at) >> 2) * 0x9e3779b1u) >> 22)
#endif

HF_BEGIN_DECLS

/* For each bucket: is the slow unlock needed? All 0 until there is a table. */
extern const hf_atomic32_t *volatile hf__parking_need HF_API_EACH;

/* Waits, until the deadline. True = taken. */
bool hf__mutex_lock_slow(hf_atomic32_t *word, uint64_t deadline) HF_API;
/* After the unlock: wakes the next waiter, or hands the mutex over if it is free still. */
void hf__mutex_unlock_slow(hf_atomic32_t *word) HF_API;

bool hf__mutex_shared_lock_slow(hf_atomic32_t *word, uint64_t deadline,
				enum hf_env_scope scope) HF_API;
void hf__mutex_shared_wake(hf_atomic32_t *word, enum hf_env_scope scope) HF_API;

HF_END_DECLS

/* M1. No look before: the swap is the look. */
HF_INLINE bool hf__mutex_take(hf_atomic32_t *word)
{
	uint32_t found = 0;

	return hf_atomic32_try_cmpxchg_acquire(word, &found, HF__MUTEX_LOCKED);
}

HF_INLINE bool hf__mutex_is_locked(const hf_atomic32_t *word)
{
	return hf_atomic32_load_relaxed(word) != 0;
}

/* True = taken. */
HF_INLINE bool hf__mutex_get(hf_atomic32_t *word, uint64_t deadline)
{
	return HF_LIKELY(hf__mutex_take(word)) || hf__mutex_lock_slow(word, deadline);
}

HF_INLINE void hf__mutex_release(hf_atomic32_t *word)
{
	hf_atomic32_store_release(word, 0);
	hf_atomic_fence_light();
	if (HF_UNLIKELY(hf_atomic32_load_relaxed(&hf__parking_need[HF__PARKING_INDEX(word)])))
		hf__mutex_unlock_slow(word);
}

HF_INLINE void hf__mutex_lock(hf_atomic32_t *word)
{
	if (!HF__VALIDATE_LOCK(word, hf__mutex_is_locked(word)))
		return;
	if (HF_UNLIKELY(!hf__mutex_take(word))) {
		(void)hf__mutex_lock_slow(word, HF_ENV_FOREVER);
		HF__TSAN_ACQUIRE(word);
	}
	HF__VALIDATE_LOCKED(word);
}

HF_INLINE bool hf__mutex_lock_until(hf_atomic32_t *word, uint64_t deadline)
{
	if (!HF__VALIDATE_LOCK(word, hf__mutex_is_locked(word)))
		return true;
	if (HF_UNLIKELY(!hf__mutex_take(word))) {
		if (!hf__mutex_lock_slow(word, deadline))
			return false;
		HF__TSAN_ACQUIRE(word);
	}
	HF__VALIDATE_LOCKED(word);
	return true;
}

HF_INLINE bool hf__mutex_trylock(hf_atomic32_t *word)
{
	bool taken = HF_LIKELY(hf__mutex_take(word));

	if (taken) {
		HF__TSAN_ACQUIRE(word);
		HF__VALIDATE_LOCKED(word);
	}
	return taken;
}

HF_INLINE void hf__mutex_unlock(hf_atomic32_t *word)
{
	if (HF__VALIDATE_UNLOCK(word, hf__mutex_is_locked(word)))
		hf__mutex_release(word);
}

/* True = taken. */
HF_INLINE bool hf__mutex_shared_take(hf_atomic32_t *word, uint64_t deadline,
				     enum hf_env_scope scope)
{
	if (HF_LIKELY(hf__mutex_take(word)))
		return true;
	if (!hf__mutex_shared_lock_slow(word, deadline, scope))
		return false;
	HF__TSAN_ACQUIRE(word);
	return true;
}

HF_INLINE void hf__mutex_shared_release(hf_atomic32_t *word, enum hf_env_scope scope)
{
	if (HF_UNLIKELY(hf_atomic32_xchg_acq_rel(word, 0) == HF__MUTEX_PARKED))
		hf__mutex_shared_wake(word, scope);
}

/**
 * hf_mutex_init - make a mutex that is free
 *
 * Context:  before any other thread can see it. All bytes 0 are a free mutex too
 * Ordering: none
 */
HF_INLINE void hf_mutex_init(hf_mutex_t *mutex)
{
	HF__VALIDATE_FORGET(&mutex->word);
	hf_atomic32_store_relaxed(&mutex->word, 0);
}

/**
 * hf_mutex_lock - wait until the mutex is free, and take it
 *
 * Context:  any thread that does not hold it; no signal handler
 * Ordering: acquire
 * Errors:   under HF_VALIDATE a recursion is reported and granted; else it deadlocks
 */
HF_INLINE void hf_mutex_lock(hf_mutex_t *mutex) HF_ACQUIRE(mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf__mutex_lock(&mutex->word);
}

/**
 * hf_mutex_lock_timeout - wait for the mutex at most so long, and take it if it becomes free
 * @mutex:   the mutex
 * @timeout: in nanoseconds; 0 = spin briefly, but do not park
 *
 * Context:  as hf_mutex_lock()
 * Ordering: acquire if true; none if false
 * Errors:   as hf_mutex_lock()
 * Return:   true = taken
 */
HF_INLINE HF_MUST_CHECK bool hf_mutex_lock_timeout(hf_mutex_t *mutex, uint64_t timeout)
	HF_TRY_ACQUIRE(true, mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	return hf__mutex_lock_until(&mutex->word, hf_env_deadline(timeout));
}

/**
 * hf_mutex_trylock - take the mutex if it is free, and not closed for a waiter that has waited long
 *
 * Context:  any thread
 * Ordering: acquire if true; none if false
 * Return:   true = taken
 */
HF_INLINE HF_MUST_CHECK bool hf_mutex_trylock(hf_mutex_t *mutex)
	HF_TRY_ACQUIRE(true, mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	return hf__mutex_trylock(&mutex->word);
}

/**
 * hf_mutex_unlock - release the mutex, and wake a parked thread, if no waiter is awake yet
 *
 * Context:  the holder. The next holder may free its memory at once
 * Ordering: release
 * Errors:   under HF_VALIDATE reported, and nothing done, if this thread does not hold it
 */
HF_INLINE void hf_mutex_unlock(hf_mutex_t *mutex) HF_RELEASE(mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf__mutex_unlock(&mutex->word);
}

/**
 * hf_mutex_is_locked - is there a holder?
 *
 * Ordering: none; the answer may be stale
 */
HF_INLINE bool hf_mutex_is_locked(const hf_mutex_t *mutex)
{
	return hf__mutex_is_locked(&mutex->word);
}

/* ---- The same, between processes ---------------------------------------------------------- */

/* hf_mutex_shared_init - as hf_mutex_init(), in memory that several processes have mapped. */
HF_INLINE void hf_mutex_shared_init(hf_mutex_shared_t *mutex)
{
	HF__VALIDATE_FORGET(&mutex->word);
	hf_atomic32_store_relaxed(&mutex->word, 0);
}

/* hf_mutex_shared_lock - as hf_mutex_lock(). Ordering: acquire. */
HF_INLINE void hf_mutex_shared_lock(hf_mutex_shared_t *mutex)
	HF_ACQUIRE(mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	if (!HF__VALIDATE_LOCK(mutex, hf__mutex_is_locked(&mutex->word)))
		return;
	(void)hf__mutex_shared_take(&mutex->word, HF_ENV_FOREVER, HF_ENV_SHARED);
	HF__VALIDATE_LOCKED(mutex);
}

/* hf_mutex_shared_lock_timeout - as hf_mutex_lock_timeout(). Ordering: acquire if true. */
HF_INLINE HF_MUST_CHECK bool hf_mutex_shared_lock_timeout(hf_mutex_shared_t *mutex,
							  uint64_t timeout)
	HF_TRY_ACQUIRE(true, mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	if (!HF__VALIDATE_LOCK(mutex, hf__mutex_is_locked(&mutex->word)))
		return true;
	if (!hf__mutex_shared_take(&mutex->word, hf_env_deadline(timeout), HF_ENV_SHARED))
		return false;
	HF__VALIDATE_LOCKED(mutex);
	return true;
}

/* hf_mutex_shared_trylock - as hf_mutex_trylock(). Ordering: acquire if true. */
HF_INLINE HF_MUST_CHECK bool hf_mutex_shared_trylock(hf_mutex_shared_t *mutex)
	HF_TRY_ACQUIRE(true, mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	return hf__mutex_trylock(&mutex->word);
}

/* hf_mutex_shared_unlock - as hf_mutex_unlock(). Ordering: release. */
HF_INLINE void hf_mutex_shared_unlock(hf_mutex_shared_t *mutex)
	HF_RELEASE(mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	if (HF__VALIDATE_UNLOCK(mutex, hf__mutex_is_locked(&mutex->word)))
		hf__mutex_shared_release(&mutex->word, HF_ENV_SHARED);
}

/* hf_mutex_shared_is_locked - as hf_mutex_is_locked(). Ordering: none. */
HF_INLINE bool hf_mutex_shared_is_locked(const hf_mutex_shared_t *mutex)
{
	return hf__mutex_is_locked(&mutex->word);
}

HF_INLINE void hf__mutex_guard_end(hf_mutex_t **guard) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf_mutex_unlock(*guard);
}

HF_INLINE hf_mutex_t *hf__mutex_guard_begin(hf_mutex_t *mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf_mutex_lock(mutex);
	return mutex;
}

/* HF_MUTEX_GUARD - hold a mutex to the end of this block, however it is left. Not longjmp. */
#define HF_MUTEX_GUARD(mutex)                                                                      \
	hf_mutex_t *HF__UNIQUE(hf__guard_) __attribute__((cleanup(hf__mutex_guard_end), unused)) = \
		hf__mutex_guard_begin(mutex)

#ifdef __cplusplus
HF_BEGIN_CXX
/* At least 0. Beyond 2^63 ns, 292 years, there is no difference. */
template <class Duration>
inline uint64_t hf__nanoseconds(const Duration &duration) noexcept
{
	double ns = static_cast<double>(duration.count()) * 1e9 *
		    static_cast<double>(Duration::period::num) /
		    static_cast<double>(Duration::period::den);

	return ns > 0 ? ns < 9e18 ? static_cast<uint64_t>(ns) : HF_ENV_FOREVER : 0;
}

/* TimedLockable: works with the guards of <mutex>, and with hf::condition_variable. */
class HF_CAPABILITY("mutex") mutex {
public:
	/* All bytes 0: free. A global one is free before any constructor runs, and none undoes that. */
	HF__CONSTEXPR mutex() noexcept : raw_() {}
	mutex(const mutex &) = delete;
	mutex &operator=(const mutex &) = delete;
#if HF_VALIDATE
	~mutex()
	{
		HF__VALIDATE_FORGET(&raw_.word);
	}
#endif

	void lock() noexcept HF_ACQUIRE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_mutex_lock(&raw_);
	}
	bool try_lock() noexcept HF_TRY_ACQUIRE(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		return hf_mutex_trylock(&raw_);
	}
	/* Any std::chrono::duration; one that is not above 0 is 0. */
	template <class Duration>
	bool try_lock_for(const Duration &timeout) noexcept
		HF_TRY_ACQUIRE(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		return hf_mutex_lock_timeout(&raw_, hf__nanoseconds(timeout));
	}
	/* Of any clock, as it is now: one that is set meanwhile does not move the deadline. */
	template <class TimePoint>
	bool try_lock_until(const TimePoint &time) noexcept
		HF_TRY_ACQUIRE(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		return try_lock_for(time - TimePoint::clock::now());
	}
	void unlock() noexcept HF_RELEASE() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_mutex_unlock(&raw_);
	}
	bool is_locked() const noexcept
	{
		return hf_mutex_is_locked(&raw_);
	}
	hf_mutex_t *native_handle() noexcept
	{
		return &raw_;
	}

private:
	hf_mutex_t raw_;
};
HF_END_CXX
#endif

#endif
#endif
