/* SPDX-License-Identifier: MIT */
#ifndef HF_MUTEX_H
#define HF_MUTEX_H
#pragma GCC system_header
/*
 * mutex - mutual exclusion in 4 bytes, by threads that may park.
 *
 * Use when / not when
 *   The default lock for programs: it does not collapse with more threads than processors. Not in a
 *   signal handler, which may have interrupted the holder. Not in an environment without parking
 *   (HF_ENV_HAS_PARK is 0: kernels, bare metal): this header is empty there; take spinlock.h.
 *   Two types: hf_mutex_t, for the threads of one process; hf_mutex_shared_t, for memory that
 *   several processes have mapped.
 *
 * Operations
 *   lock, unlock       wait until it is free, and take it; release it
 *   trylock            take it if it is free
 *   lock_timeout       as lock, but give up after a time
 *   init, is_locked    initialize it as free; does it have a holder?
 *   hf_mutex_shared_*  the same operations, between processes
 *
 * Example     examples/mutex.c
 * Guards      C     HF_MUTEX_GUARD(&lock);
 *             C++   hf::mutex lock;                         (lock_class.h)
 *                   std::lock_guard<hf::mutex> guard(lock);
 * Validation  -DHF_VALIDATE=1 reports recursion, unlock by another thread, long holds: validate.h.
 * Profile     HOLDFAST_PROFILE=1 lists contended mutexes at exit: docs/guide/tools.md
 *
 * Arguments   mutex   initialized by HF_MUTEX_INIT, by init, or with all bytes 0
 * Context     any thread
 *
 * Guarantees
 *   Any running thread can take a free mutex, past all waiters (barging), whatever happened to
 *   them: one that was killed, or left behind by a fork, leaves nothing in the word (between
 *   processes, one needless system call). A waiter that times out consumes no wake-up, and has
 *   tried once more.
 *   After its store an unlock does not touch the mutex, unless a thread is queued for it, which
 *   keeps it alive: so the next holder may unlock and free the mutex at once.
 *   A holder that is killed leaves the mutex locked: use hf_mutex_shared_lock_timeout().
 *
 * Fairness
 *   A thread spins for 10 us, then parks; while spins end in vain, it parks at once most times.
 *   Threads whose sections are tiny take turns of some microseconds. The next waiter is awake, or
 *   an unlock wakes it. While threads wait, one that has run for 300 us makes room for one that
 *   last ran on its processor. The mutex is never locked on behalf of another thread.
 *
 *   One parked thread is woken at a time. Those behind it pass over it if it is stopped (by a
 *   debugger, a frozen cgroup, a signal handler that sleeps) or gets no processor: at once, or
 *   after at most 256 ms; a thread of SCHED_FIFO, SCHED_RR or SCHED_DEADLINE after 1 ms. A holder
 *   does not inherit the priority of its waiters: docs/guide/choose.md, Priorities.
 *
 * Limits
 *   No operation is a cancellation point; cancelling a waiting thread asynchronously breaks the
 *   queue. Mutexes share 1024 buckets: while one has parked threads and its first waiter is not
 *   awake, the unlocks of all in its bucket are slow. Waiters call membarrier(), which interrupts
 *   each processor that runs the process, for at most an eighth of wall time.
 *
 * fork
 *   In the child each mutex is locked or free as it was at the fork, and has no waiters. The child
 *   may unlock those that the forking thread held, and lock them again: pthread_atfork(lock,
 *   unlock, unlock) works.
 *
 * Copies
 *   A program and its plug-ins may each be linked with the static library: the copies share the
 *   table, unless dlmopen() has loaded them into different namespaces.
 *
 * Source      docs/design/0014-mutex.md; the waiters and the proofs: src/parking/queue.h, to_lock.c
 */
#include "internal/parking.h"
#include "internal/tsan.h"
#include "lock_class.h"

#if HF_ENV_HAS_PARK

/* Initializes a static mutex as free. */
#define HF_MUTEX_INIT HF_DETAIL_INIT(0)
#define HF_MUTEX_SHARED_INIT HF_MUTEX_INIT

/* For the threads of one process. Its member is private. */
typedef struct HF_CAPABILITY("mutex") hf_mutex {
	hf_atomic32_t word;
} hf_mutex_t;

/* For memory that several processes have mapped. */
typedef struct HF_CAPABILITY("mutex") hf_mutex_shared {
	hf_atomic32_t word;
} hf_mutex_shared_t;

/*
 * hf_mutex_t's word is 0 while it is free. While it is locked it is 1, or the holder's mark: a
 * number that a thread gets when it first uses a condition variable, so that its signals know that
 * it holds the mutex. Its waiters are in a table of the process.
 */
#define HF_DETAIL_MUTEX_LOCKED 1u
#define HF_DETAIL_MUTEX_PARKED 2u /* of hf_mutex_shared_t: locked, and threads may be parked */

HF_BEGIN_DECLS

/* Waits until the deadline. True = locked. */
bool hf_detail_mutex_lock_slow(hf_atomic32_t *word, uint64_t deadline)
	HF_DETAIL_LINKED(hf_detail_mutex_lock_slow) HF_API;
/* After the store of an unlock: wakes the first waiter, unless it has been woken already. */
void hf_detail_mutex_unlock_slow(hf_atomic32_t *word)
	HF_DETAIL_LINKED(hf_detail_mutex_unlock_slow) HF_API;

bool hf_detail_mutex_shared_lock_slow(hf_atomic32_t *word, uint64_t deadline)
	HF_DETAIL_LINKED(hf_detail_mutex_shared_lock_slow) HF_API;
void hf_detail_mutex_shared_wake(hf_atomic32_t *word)
	HF_DETAIL_LINKED(hf_detail_mutex_shared_wake) HF_API;

HF_END_DECLS

/* 0 -> @locked: one winner. Try the swap directly; do not load first. */
HF_INLINE bool hf_detail_mutex_swap(hf_atomic32_t *word, uint32_t locked)
{
	uint32_t found = 0;

	return hf_atomic32_try_cmpxchg_acquire(word, &found, locked);
}

HF_INLINE bool hf_detail_mutex_try_lock(hf_atomic32_t *word)
{
	return hf_detail_mutex_swap(word, HF_DETAIL_PARKING_MARK);
}

HF_INLINE bool hf_detail_mutex_shared_try_lock(hf_atomic32_t *word)
{
	return hf_detail_mutex_swap(word, HF_DETAIL_MUTEX_LOCKED);
}

HF_INLINE bool hf_detail_mutex_is_locked(const hf_atomic32_t *word)
{
	return hf_atomic32_load_relaxed(word) != 0;
}

/* Locked -> 0, and then a look at the table. True = the slow unlock must follow. */
HF_INLINE bool hf_detail_mutex_set_free(hf_atomic32_t *word)
{
	/*
	 * This may be half of a lockref, to whose whole word other threads' puts have released. The
	 * processor keeps that order across a store to one half; ThreadSanitizer would forget it.
	 */
	if (HF_TSAN)
		(void)hf_atomic32_xchg_acq_rel(word, 0);
	else
		hf_atomic32_store_release(word, 0);
	hf_atomic_fence_light();
	return hf_atomic32_load_relaxed(&hf_detail_parking_need[HF_DETAIL_PARKING_INDEX(word)]) !=
	       0;
}

HF_INLINE void hf_detail_mutex_release(hf_atomic32_t *word)
{
	if (HF_UNLIKELY(hf_detail_mutex_set_free(word)))
		hf_detail_mutex_unlock_slow(word);
}

/* 1, 2 -> 0 */
HF_INLINE void hf_detail_mutex_shared_release(hf_atomic32_t *word)
{
	if (HF_UNLIKELY(hf_atomic32_xchg_acq_rel(word, 0) == HF_DETAIL_MUTEX_PARKED))
		hf_detail_mutex_shared_wake(word);
}

/* The operations of both kinds; @shared is a constant. */
HF_INLINE void hf_detail_mutex_init(hf_atomic32_t *word)
{
	HF_DETAIL_VALIDATE_INIT(word);
	HF_DETAIL_TSAN_INIT(word);
	hf_atomic32_store_relaxed(word, 0);
}

HF_INLINE bool hf_detail_mutex_lock(hf_atomic32_t *word, bool shared, uint64_t deadline)
{
	bool locked;

	if (!HF_DETAIL_VALIDATE_LOCK(word, hf_detail_mutex_is_locked(word)))
		return true;
	HF_DETAIL_TSAN_LOCK(word, false, true);
	if (shared)
		locked = HF_LIKELY(hf_detail_mutex_shared_try_lock(word)) ||
			 hf_detail_mutex_shared_lock_slow(word, deadline);
	else
		locked = HF_LIKELY(hf_detail_mutex_try_lock(word)) ||
			 hf_detail_mutex_lock_slow(word, deadline);
	HF_DETAIL_TSAN_LOCK_ENDED(word, false, true, locked);
	if (locked)
		HF_DETAIL_VALIDATE_LOCKED(word);
	return locked;
}

HF_INLINE bool hf_detail_mutex_trylock(hf_atomic32_t *word, bool shared)
{
	bool locked = HF_LIKELY(shared ? hf_detail_mutex_shared_try_lock(word)
				       : hf_detail_mutex_try_lock(word));

	HF_DETAIL_TSAN_LOCK_ENDED(word, false, false, locked);
	if (locked)
		HF_DETAIL_VALIDATE_LOCKED(word);
	return locked;
}

HF_INLINE void hf_detail_mutex_unlock(hf_atomic32_t *word, bool shared)
{
	if (!HF_DETAIL_VALIDATE_UNLOCK(word, hf_detail_mutex_is_locked(word)))
		return;
	HF_DETAIL_TSAN_UNLOCK(word, false);
	if (shared)
		hf_detail_mutex_shared_release(word);
	else
		hf_detail_mutex_release(word);
}

/**
 * hf_mutex_init - initialize a mutex as free
 *
 * Context:  before any other thread can see it. Memory whose bytes are all 0 is a free mutex, too
 * Ordering: none
 */
HF_INLINE void hf_mutex_init(hf_mutex_t *mutex)
{
	hf_detail_mutex_init(&mutex->word);
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
	(void)hf_detail_mutex_lock(&mutex->word, false, HF_ENV_FOREVER);
}

/**
 * hf_mutex_lock_timeout - take the mutex, or give up after a time
 * @mutex:   the mutex
 * @timeout: in nanoseconds; 0 = at most spin briefly, do not park
 *
 * Context:  as hf_mutex_lock()
 * Ordering: acquire if true; none if false
 * Errors:   as hf_mutex_lock()
 * Return:   true = taken
 */
HF_INLINE HF_MUST_CHECK bool hf_mutex_lock_timeout(hf_mutex_t *mutex, uint64_t timeout)
	HF_TRY_ACQUIRE(true, mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	return hf_detail_mutex_lock(&mutex->word, false, hf_env_deadline(timeout));
}

/**
 * hf_mutex_trylock - take the mutex if it is free
 *
 * Context:  any thread
 * Ordering: acquire if true; none if false
 * Return:   true = taken
 */
HF_INLINE HF_MUST_CHECK bool hf_mutex_trylock(hf_mutex_t *mutex)
	HF_TRY_ACQUIRE(true, mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	return hf_detail_mutex_trylock(&mutex->word, false);
}

/**
 * hf_mutex_unlock - release the mutex, and wake a parked thread, if no waiter is awake
 *
 * Context:  the holder. The next holder may free its memory at once
 * Ordering: release
 * Errors:   under HF_VALIDATE reported, and nothing done, if this thread does not hold it
 */
HF_INLINE void hf_mutex_unlock(hf_mutex_t *mutex) HF_RELEASE(mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf_detail_mutex_unlock(&mutex->word, false);
}

/**
 * hf_mutex_is_locked - does the mutex have a holder?
 *
 * Ordering: none; the answer may be stale
 * Return:   true = it is locked
 */
HF_INLINE bool hf_mutex_is_locked(const hf_mutex_t *mutex)
{
	return hf_detail_mutex_is_locked(&mutex->word);
}

/* ---- The same, between processes ---------------------------------------------------------- */

/* hf_mutex_shared_init - as hf_mutex_init(), in memory that several processes have mapped. */
HF_INLINE void hf_mutex_shared_init(hf_mutex_shared_t *mutex)
{
	hf_detail_mutex_init(&mutex->word);
}

/* hf_mutex_shared_lock - as hf_mutex_lock(). Ordering: acquire. */
HF_INLINE void hf_mutex_shared_lock(hf_mutex_shared_t *mutex)
	HF_ACQUIRE(mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	(void)hf_detail_mutex_lock(&mutex->word, true, HF_ENV_FOREVER);
}

/* hf_mutex_shared_lock_timeout - as hf_mutex_lock_timeout(). Ordering: acquire if true. */
HF_INLINE HF_MUST_CHECK bool hf_mutex_shared_lock_timeout(hf_mutex_shared_t *mutex,
							  uint64_t timeout)
	HF_TRY_ACQUIRE(true, mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	return hf_detail_mutex_lock(&mutex->word, true, hf_env_deadline(timeout));
}

/* hf_mutex_shared_trylock - as hf_mutex_trylock(). Ordering: acquire if true. */
HF_INLINE HF_MUST_CHECK bool hf_mutex_shared_trylock(hf_mutex_shared_t *mutex)
	HF_TRY_ACQUIRE(true, mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	return hf_detail_mutex_trylock(&mutex->word, true);
}

/* hf_mutex_shared_unlock - as hf_mutex_unlock(). Ordering: release. */
HF_INLINE void hf_mutex_shared_unlock(hf_mutex_shared_t *mutex)
	HF_RELEASE(mutex) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf_detail_mutex_unlock(&mutex->word, true);
}

/* hf_mutex_shared_is_locked - as hf_mutex_is_locked(). Ordering: none. */
HF_INLINE bool hf_mutex_shared_is_locked(const hf_mutex_shared_t *mutex)
{
	return hf_detail_mutex_is_locked(&mutex->word);
}

HF_DETAIL_GUARD_FUNCTIONS(hf_detail_mutex_guard, hf_mutex_t, hf_mutex_lock, hf_mutex_unlock,
			  HF_ASSERT_HELD)

/* HF_MUTEX_GUARD - hold a mutex to the end of this block, however it is left. Not longjmp. */
#define HF_MUTEX_GUARD(mutex) HF_DETAIL_GUARD(hf_mutex_t, hf_detail_mutex_guard, mutex)

#ifdef __cplusplus
HF_BEGIN_CXX
struct hf_detail_mutex_functions {
	static constexpr auto lock = hf_mutex_lock;
	static constexpr auto trylock = hf_mutex_trylock;
	static constexpr auto lock_timeout = hf_mutex_lock_timeout;
	static constexpr auto unlock = hf_mutex_unlock;
};

/* For the guards of <mutex>, and hf::condition_variable. hf_mutex_shared_t has no class. */
class HF_CAPABILITY("mutex") mutex : public timed_lockable<hf_mutex_t, hf_detail_mutex_functions> {
public:
#if HF_TSAN
	~mutex()
	{
		HF_DETAIL_TSAN_DESTROY(&raw_.word, is_locked());
	}
#endif
	bool is_locked() const noexcept
	{
		return hf_mutex_is_locked(&raw_);
	}
};
HF_END_CXX
#endif

#endif

#endif
