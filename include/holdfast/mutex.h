/* SPDX-License-Identifier: MIT */
#ifndef HF_MUTEX_H
#define HF_MUTEX_H
/*
 * mutex - mutual exclusion in 4 bytes, by threads that may sleep.
 *
 * Use when / not when
 *   The lock that a program should take by default: it does not collapse with more threads than
 *   processors, and nobody starves. Not in a signal handler, which may have interrupted the holder.
 *   Not where a world has no parking (HF_ENV_HAS_PARK is 0: kernels, bare metal): this header is
 *   empty there, and spinlock.h is what you want.
 *   Two types: hf_mutex_t, for the threads of one process; hf_mutex_shared_t, for memory that several
 *   processes have mapped.
 *
 * State
 *   One 32-bit word; 0 = free, and nobody waits.
 *
 *      31                                      4    3     2     1     0
 *     |                  parked                 |  N  |  C  |  X  |  L  |
 *
 *     L       locked
 *     X       closed: only who has waited may take the lock
 *     C       called: one of the parked is being woken, and becomes the next in line
 *     N       next: the next in line is awake, and watches the word
 *     parked  how many threads sleep, or are about to, or have not yet noticed that they are awake
 *
 *   (parked, N, C, X, L):
 *
 *     lock      (0,0,0,0,0) -> (0,0,0,0,1)   uncontended: take it                             M1
 *               (k,n,c,0,0) -> (k,n,c,0,1)   pass those who wait                              M2
 *               (0,0,0,0,1) -> (0,1,0,0,1)   nobody waits: be the next in line. So too, in    M3
 *               (k,0,0,0,1) -> (k,1,0,0,1)   its turn, if nobody awake does
 *               (k,n,c,x,l) -> (k+1,n,c,x,l) else park                                        M4
 *     parked    (k,n,1,x,l) -> (k-1,1,0,x,l) it was called: it is the next in line. It is so  M5
 *               (k,0,0,x,0) -> (k-1,1,0,x,0) too if it sees the lock free and nobody awake
 *     next      (k,n,c,x,0) -> (k,0,c,0,1)   takes the lock                                   M6
 *               (k,n,c,0,1) -> (k,n,c,1,1)   has left it to others for a moment: close        M7
 *               (k,n,c,x,1) -> (k+1,0,c,x,1) and longer: park                                 M8
 *     unlock    (k,n,c,0,1) -> (k,n,c,0,0)   nobody waited when it looked: subtract 1         M9
 *               (k,n,c,x,1) -> (k,n,c,y,0)   n or c: somebody is awake already; y = 1 if this M10
 *                                            thread's turn is over
 *               (k,0,0,x,1) -> (k,0,1,y,0)   k > 0: call one, and wake it                     M11
 *     timeout   (k,n,c,x,1) -> (k,0,c,x,1)   of the next in line; x = 0 if it was the last    M12
 *               (k,n,c,x,l) -> (k-1,n,c,x,l) of a parked one; likewise                        M13
 *
 *   Who waits. Two threads use a lock as fast as more can, and two need no help from the kernel. So one
 *   has it, one is the next in line and awake, and the others sleep. Who comes and finds a next in
 *   line looks for a moment, then parks. The next in line leaves the lock alone for a moment, then
 *   closes it, then looks in short steps, then gives its processor away between two looks, then parks
 *   too: so a holder that is off its processor gets it back.
 *
 *   Who gets it. A thread that finds the lock free may take it before those who wait: it is running,
 *   and has the cache line. It goes on until the next in line closes the lock (M7): what is closed is
 *   handed to the next in line, and who had it may be the next in line again (M3). Both do this until
 *   their turns are over (HF_MUTEX_TURN): then they close the lock themselves (M10) and park, so that
 *   an unlock finds nobody awake, and calls one who sleeps. A thread that has waited for a long time
 *   has a short turn; what is left of a turn is added to the next. The kernel wakes in the order of
 *   sleeping, so each of those who sleep gets its turn.
 *
 * Invariants
 *   X1  L goes from 0 to 1 only by compare-and-swap (M1, M2, M6): one winner. Only the holder clears it.
 *   X2  While the lock is free, a parked thread is about to be woken, or somebody is awake for it:
 *       N or C is set, or an M9 has still to look at what it found. N is cleared only where L is 1
 *       (M8, M12) or becomes 1 (M6), C only where N becomes 1 (M5). And whoever holds the lock
 *       sees to it when it unlocks: M10, M11, or M9 and the look at what it found.
 *   X3  Whoever sets C, or finds by M9 that it should have, wakes a parked thread afterwards. If none
 *       sleeps they are all on their way: to sleep, and then the word is not what they expect, for
 *       nobody sleeps on a word with C, nor on a free one without N; or out, and then they look
 *       at the word. In both cases they find it as M5 wants it.
 *   X4  Nothing of the lock is touched after the release: one step releases it and tells who waits, and
 *       the kernel is given the address, not the memory. So whoever locks next may unlock and free
 *       the mutex at once.
 *   X5  X only where somebody waits: who sets it waits or has seen one who does, in the same step, and
 *       the last to leave clears it (M6, M12, M13). So a free lock that nobody waits for is 0.
 *
 * Why unlock is not a plain store
 *   It must clear L and learn in the same step whether somebody waits: one atomic subtraction. With a
 *   store and then a load the two can change places, unless there is a full barrier between
 *   them, which costs what the subtraction costs; and the load would touch a mutex that may be
 *   freed (X4).
 *
 * Why it is not robust
 *   A mutex that survives its holder's death has to say who holds it, and the kernel has to find it
 *   from there: a thread's identity read and a list kept by each lock and unlock. That is more than
 *   the whole fast path. A holder that is killed leaves the lock held; hf_mutex_shared_lock_timeout()
 *   tells. A peer that is killed while it waits does no harm to hf_mutex_shared_t: who is parked there
 *   looks at the word every HF_MUTEX_PATROL_NS and takes over from the next in line, if that is
 *   all that holds it up (M5, whatever C is). It may leave `parked` too high: then a wake-up is tried in
 *   vain now and then, and a trylock may fail that need not, until the next lock.
 *
 * Ordering
 *   operation             order
 *   init, is_locked       none
 *   lock, lock_timeout    acquire (and none if it timed out)
 *   trylock               acquire if true, none if false
 *   unlock                release
 *
 *   M1, M2 and M6 acquire; M9 to M11 release. All changes are read-modify-writes, which continue the
 *   release sequence of the unlock before them; the others publish nothing and need no order.
 *
 * Guards
 *   C++   hf::mutex lock;
 *         std::lock_guard<hf::mutex> guard(lock);
 *
 * Validation  -DHF_VALIDATE=1 reports recursion, unlock by another, long holds: validate.h.
 * Example     examples/mutex.c
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

typedef struct hf_mutex {
	hf_atomic32_t word;
} hf_mutex_t;

typedef struct hf_mutex_shared {
	hf_atomic32_t word;
} hf_mutex_shared_t;

#define HF__MUTEX_LOCKED 0x1u
#define HF__MUTEX_CLOSED 0x2u
#define HF__MUTEX_CALLED 0x4u
#define HF__MUTEX_NEXT 0x8u
#define HF__MUTEX_PARKED_ONE 0x10u
#define HF__MUTEX_PARKED_MASK 0xfffffff0u

HF_BEGIN_DECLS

/* Not M1: waits, until the deadline. True = taken. */
bool hf__mutex_lock_slow(hf_atomic32_t *word, uint64_t deadline, enum hf_env_scope scope) HF_API;
/* M2 */
bool hf__mutex_trylock_slow(hf_atomic32_t *word) HF_API;
/* M10, M11: the word was `found` before. */
void hf__mutex_unlock_slow(hf_atomic32_t *word, uint32_t found, enum hf_env_scope scope) HF_API;
/* After M9, of a word that was `found`: did somebody park in the last moment? */
void hf__mutex_unlock_late(const hf_atomic32_t *word, uint32_t found,
			   enum hf_env_scope scope) HF_API;

HF_END_DECLS

/* M1: take it if it is free and nobody waits. Without a look before: the swap is the look. */
HF_INLINE bool hf__mutex_take(hf_atomic32_t *word)
{
	uint32_t found = 0;

	return hf_atomic32_try_cmpxchg_acquire(word, &found, HF__MUTEX_LOCKED); /* X1 */
}

HF_INLINE void hf__mutex_lock(hf_atomic32_t *word, enum hf_env_scope scope)
{
	if (!HF__VALIDATE_LOCK(word))
		return;
	if (HF_UNLIKELY(!hf__mutex_take(word)))
		(void)hf__mutex_lock_slow(word, HF_ENV_FOREVER, scope);
	HF__VALIDATE_LOCKED(word);
}

HF_INLINE bool hf__mutex_lock_timeout(hf_atomic32_t *word, uint64_t timeout,
				      enum hf_env_scope scope)
{
	if (!HF__VALIDATE_LOCK(word))
		return true;
	if (HF_UNLIKELY(!hf__mutex_take(word)) &&
	    !hf__mutex_lock_slow(word, hf_env_deadline(timeout), scope))
		return false;
	HF__VALIDATE_LOCKED(word);
	return true;
}

HF_INLINE bool hf__mutex_trylock(hf_atomic32_t *word)
{
	/* Free and open, it may be taken though somebody waits: M2. */
	bool taken = HF_LIKELY(hf__mutex_take(word)) || hf__mutex_trylock_slow(word);

	if (taken)
		HF__VALIDATE_LOCKED(word);
	return taken;
}

HF_INLINE bool hf__mutex_is_locked(const hf_atomic32_t *word)
{
	return hf_atomic32_load_relaxed(word) & HF__MUTEX_LOCKED;
}

HF_INLINE void hf__mutex_unlock(hf_atomic32_t *word, enum hf_env_scope scope)
{
	uint32_t found;

	if (!HF__VALIDATE_UNLOCK(word, hf__mutex_is_locked(word)))
		return;
	found = hf_atomic32_load_relaxed(word);
	if (HF_LIKELY(found == HF__MUTEX_LOCKED)) {
		found = hf_atomic32_fetch_sub_release(word, HF__MUTEX_LOCKED); /* M9 */
		if (HF_UNLIKELY(found != HF__MUTEX_LOCKED))
			hf__mutex_unlock_late(word, found, scope);
	} else {
		hf__mutex_unlock_slow(word, found, scope);
	}
}

/**
 * hf_mutex_init - make a mutex that is free
 *
 * Context:  before anybody else can see it. All bytes 0 are a free mutex too
 * Ordering: none
 */
HF_INLINE void hf_mutex_init(hf_mutex_t *mutex)
{
	hf_atomic32_store_relaxed(&mutex->word, 0);
}

/**
 * hf_mutex_lock - wait until the mutex is free, and take it
 *
 * Context:  any thread that does not hold it; no signal handler
 * Ordering: acquire
 * Errors:   under HF_VALIDATE a recursion is reported and granted; else it deadlocks
 */
HF_INLINE void hf_mutex_lock(hf_mutex_t *mutex)
{
	hf__mutex_lock(&mutex->word, HF_ENV_PRIVATE);
}

/**
 * hf_mutex_lock_timeout - wait for the mutex so long, and take it if it becomes free
 * @mutex:   the mutex
 * @timeout: in nanoseconds; 0 = look for a moment, but do not sleep
 *
 * Context:  as hf_mutex_lock()
 * Ordering: acquire if true; none if false
 * Errors:   as hf_mutex_lock()
 * Return:   true = taken
 */
HF_INLINE HF_MUST_CHECK bool hf_mutex_lock_timeout(hf_mutex_t *mutex, uint64_t timeout)
{
	return hf__mutex_lock_timeout(&mutex->word, timeout, HF_ENV_PRIVATE);
}

/**
 * hf_mutex_trylock - take the mutex if it is free, and not kept for one who has waited long
 *
 * Context:  any thread
 * Ordering: acquire if true; none if false
 * Return:   true = taken
 */
HF_INLINE HF_MUST_CHECK bool hf_mutex_trylock(hf_mutex_t *mutex)
{
	return hf__mutex_trylock(&mutex->word);
}

/**
 * hf_mutex_unlock - release the mutex, and wake somebody who waits, if nobody is awake yet
 *
 * Context:  the thread that holds it. Whoever has it next may free its memory at once
 * Ordering: release
 * Errors:   under HF_VALIDATE reported, and nothing done, if this thread does not hold it
 */
HF_INLINE void hf_mutex_unlock(hf_mutex_t *mutex)
{
	hf__mutex_unlock(&mutex->word, HF_ENV_PRIVATE);
}

/**
 * hf_mutex_is_locked - does somebody hold it?
 *
 * Ordering: none; the answer may be old when it arrives
 */
HF_INLINE bool hf_mutex_is_locked(const hf_mutex_t *mutex)
{
	return hf__mutex_is_locked(&mutex->word);
}

/* ---- The same, between processes ---------------------------------------------------------- */

/* hf_mutex_shared_init - as hf_mutex_init(), in memory that several processes have mapped. */
HF_INLINE void hf_mutex_shared_init(hf_mutex_shared_t *mutex)
{
	hf_atomic32_store_relaxed(&mutex->word, 0);
}

/* hf_mutex_shared_lock - as hf_mutex_lock(). Ordering: acquire. */
HF_INLINE void hf_mutex_shared_lock(hf_mutex_shared_t *mutex)
{
	hf__mutex_lock(&mutex->word, HF_ENV_SHARED);
}

/* hf_mutex_shared_lock_timeout - as hf_mutex_lock_timeout(). Ordering: acquire if true. */
HF_INLINE HF_MUST_CHECK bool hf_mutex_shared_lock_timeout(hf_mutex_shared_t *mutex,
							  uint64_t timeout)
{
	return hf__mutex_lock_timeout(&mutex->word, timeout, HF_ENV_SHARED);
}

/* hf_mutex_shared_trylock - as hf_mutex_trylock(). Ordering: acquire if true. */
HF_INLINE HF_MUST_CHECK bool hf_mutex_shared_trylock(hf_mutex_shared_t *mutex)
{
	return hf__mutex_trylock(&mutex->word);
}

/* hf_mutex_shared_unlock - as hf_mutex_unlock(). Ordering: release. */
HF_INLINE void hf_mutex_shared_unlock(hf_mutex_shared_t *mutex)
{
	hf__mutex_unlock(&mutex->word, HF_ENV_SHARED);
}

/* hf_mutex_shared_is_locked - as hf_mutex_is_locked(). Ordering: none. */
HF_INLINE bool hf_mutex_shared_is_locked(const hf_mutex_shared_t *mutex)
{
	return hf__mutex_is_locked(&mutex->word);
}

#ifdef __cplusplus
namespace hf
{
/* Lockable, and TimedLockable but for try_lock_until(): works with the guards of <mutex>. */
class mutex {
public:
	mutex() noexcept { hf_mutex_init(&raw_); }
	mutex(const mutex &) = delete;
	mutex &operator=(const mutex &) = delete;

	void lock() noexcept { hf_mutex_lock(&raw_); }
	bool try_lock() noexcept { return hf_mutex_trylock(&raw_); }
	/* Any std::chrono::duration; one that is not above 0 is 0. */
	template <class Duration>
	bool try_lock_for(const Duration &timeout) noexcept
	{
		double ns = static_cast<double>(timeout.count()) * 1e9 *
			    static_cast<double>(Duration::period::num) /
			    static_cast<double>(Duration::period::den);

		/* Beyond 2^63 ns, 292 years, there is no difference. */
		return hf_mutex_lock_timeout(
			&raw_, ns > 0 ? ns < 9e18 ? static_cast<uint64_t>(ns) : HF_ENV_FOREVER : 0);
	}
	void unlock() noexcept { hf_mutex_unlock(&raw_); }
	bool is_locked() const noexcept { return hf_mutex_is_locked(&raw_); }
	hf_mutex_t *native_handle() noexcept { return &raw_; }

private:
	hf_mutex_t raw_;
};
} // namespace hf
#endif

#endif
#endif
