/* SPDX-License-Identifier: MIT */
#ifndef HF_RWLOCK_H
#define HF_RWLOCK_H
#pragma GCC system_header
/*
 * rwlock - a reader-writer lock in 4 bytes, whose readers do not write a cache line in common.
 *
 * Use when / not when
 *   For data that many threads read and few write. If nearly all operations only read, reading
 *   scales with the processors, also in sections of a few nanoseconds. If one in ten writes, and
 *   sections are short, a mutex is as fast. Not for the lifetime of objects: refcount.h, lockref.h.
 *   Not in a signal handler; not between processes. Empty where threads can't park.
 *
 * Operations
 *   read_lock, read_unlock      enter beside other readers; leave
 *   write_lock, write_unlock    wait until no thread is inside, and keep all others out; leave
 *   *_trylock, *_lock_timeout   the same without waiting; or give up after a time
 *   downgrade                   a writer becomes a reader, and no other writer comes in between
 *   init, is_write_locked       initialize it as free; is a writer inside?
 *
 * Example     examples/rwlock.c
 * Guards      C     HF_RWLOCK_READ_GUARD(&lock);   HF_RWLOCK_WRITE_GUARD(&lock);
 *             C++   hf::shared_mutex lock;         std::shared_lock<hf::shared_mutex> hold(lock);
 * Validation  -DHF_VALIDATE=1 (validate.h) reports recursion, upgrades, wrong unlocks, long holds.
 * Profile     HOLDFAST_PROFILE=1 lists waits at exit, of readers and writers apart.
 *
 * Arguments   lock   initialized by HF_RWLOCK_INIT, by init, or with all bytes 0
 * Context     any thread. The thread that locked it must unlock it, of a reader as of a writer
 *
 * Policy
 *   A writer keeps new readers out while it waits for those inside. When it unlocks, any running
 *   thread may take the lock past threads that wait and do not run, as with a mutex. A reader that
 *   has waited for a turn of 1 ms is overdue: it enters when the next writer unlocks, before any
 *   other (phase-fair). So neither starves. Among writers it is as at a mutex.
 *   A thread that reads a lock may read the same lock again, though a writer waits: else both would
 *   wait for ever. If it reads another one, it waits for that lock's writer like any thread, and
 *   two locks need an order, as two mutexes do. A reader that wants to write must unlock first.
 *
 * Guarantees
 *   A reader executes no atomic read-modify-write, and writes only its own thread's cache line,
 *   while threads only read. After its store a read_unlock does not touch the lock: so a thread
 *   that then write-locks it may free it. A waiter that times out has changed nothing.
 *   A thread that is stopped inside keeps others out; so does one that is stopped while it waits
 *   as a writer for readers, or overdue. One that ends inside leaves it locked.
 *
 * fork
 *   In the child no other thread is inside, or overdue. Exceptions are readers that the word counts
 *   (see Limits), children of _Fork() or a bare clone(), and a pthread_atfork() handler that runs
 *   before the library's. What the forking thread held it may unlock in the child. A lock that
 *   another thread held or awaited as a writer stays locked.
 *
 * Limits
 *   A thread has a line of 64 bytes for what it reads, which is taken over when the thread has
 *   ended: it reads seven locks at a time. For an eighth, or if all 32,768 lines are in use, it is
 *   counted in the lock's word, by a compare-and-swap, and must not read that lock twice.
 *   A writer looks at each line: at 16, or at twice as many as there were threads at a time. If the
 *   lock was only read for a while (BIAS), it first calls membarrier(), which interrupts each
 *   processor that runs the process. After it, thousands of reads cost a memory barrier more; so do
 *   all where membarrier() is missing.
 *   No operation is a cancellation point. Copies of the static library share the readers' lines; if
 *   they can't (dlmopen(), a linker that drops notes), a reader of one and a writer of another may
 *   be inside together.
 *
 * Source      docs/design/0045-rwlock.md; state and proof: src/rwlock/rwlock.c. BIAS is like that
 *             of Dice and Kogan, "BRAVO", USENIX ATC 2019; phases: Brandenburg and Anderson,
 *             "Reader-writer synchronization for ... real-time systems", ECRTS 2009
 */
#include "internal/parking.h"
#include "internal/tsan.h"
#include "lock_class.h"

#if HF_ENV_HAS_PARK

/* Initializes a static lock as free. */
#define HF_RWLOCK_INIT HF_DETAIL_INIT(0)

/* For the threads of one process. Its member is private. */
typedef struct HF_CAPABILITY("rwlock") hf_rwlock {
	hf_atomic32_t word;
} hf_rwlock_t;

/* The bits of the word that an inline function tests; src/rwlock/rwlock.c draws the state. */
#define HF_DETAIL_RWLOCK_WRITER 1u /* a writer has announced itself, or is inside */
#define HF_DETAIL_RWLOCK_BIAS 2u   /* readers need no barrier */

/* What a thread reads: the address of the lock, in a slot. One line for each thread. */
#ifndef HF_DETAIL_RWLOCK_SLOTS
#define HF_DETAIL_RWLOCK_SLOTS 7
#endif
struct hf_detail_rwlock_line {
	hf_atomic64_t slot[HF_DETAIL_RWLOCK_SLOTS];
	hf_atomic64_t owner;
} HF_ALIGNED(64);

HF_BEGIN_DECLS

/* This thread's line; NULL until it has read a lock. */
#ifndef HF_DETAIL_RWLOCK_LINE
#define HF_DETAIL_RWLOCK_LINE hf_detail_rwlock_line
extern __thread __attribute__((tls_model("initial-exec"))) struct hf_detail_rwlock_line *
	hf_detail_rwlock_line HF_DETAIL_LINKED(hf_detail_rwlock_line) HF_API_EACH;
#endif

/* A deadline: do not wait at all. */
#define HF_DETAIL_RWLOCK_NOW 0u

/* Return true if they have locked. @is_stored: this thread's first slot has the lock's address. */
bool hf_detail_rwlock_read_lock_slow(hf_atomic32_t *word, bool is_stored, uint64_t deadline)
	HF_DETAIL_LINKED(hf_detail_rwlock_read_lock_slow) HF_API;
bool hf_detail_rwlock_write_lock(hf_atomic32_t *word, uint64_t deadline)
	HF_DETAIL_LINKED(hf_detail_rwlock_write_lock) HF_API;
void hf_detail_rwlock_read_unlock_slow(hf_atomic32_t *word)
	HF_DETAIL_LINKED(hf_detail_rwlock_read_unlock_slow) HF_API;
/* After a reader's unlock, which may be the last access to the lock; after a writer's. */
void hf_detail_rwlock_wake_writer(const hf_atomic32_t *word)
	HF_DETAIL_LINKED(hf_detail_rwlock_wake_writer) HF_API;
void hf_detail_rwlock_wake_all(hf_atomic32_t *word)
	HF_DETAIL_LINKED(hf_detail_rwlock_wake_all) HF_API;
void hf_detail_rwlock_downgrade(hf_atomic32_t *word)
	HF_DETAIL_LINKED(hf_detail_rwlock_downgrade) HF_API;

HF_END_DECLS

/* Must threads be woken that are parked at a lock of this bucket? Reads only the word's address. */
HF_INLINE bool hf_detail_rwlock_needs_wake(const hf_atomic32_t *word)
{
	hf_atomic_fence_light();
	return HF_UNLIKELY(hf_atomic32_load_relaxed(
				   &hf_detail_parking_need[HF_DETAIL_PARKING_INDEX(word)]) != 0);
}

HF_INLINE bool hf_detail_rwlock_read_lock(hf_atomic32_t *word, uint64_t deadline)
{
	struct hf_detail_rwlock_line *line = HF_DETAIL_RWLOCK_LINE;
	bool is_stored = line && !hf_atomic64_load_relaxed(&line->slot[0]);

	if (HF_LIKELY(is_stored)) {
		hf_atomic64_store_relaxed(&line->slot[0], (uintptr_t)word);
		hf_atomic_fence_light(); /* L1 */
		if (HF_LIKELY((hf_atomic32_load_acquire(word) &
			       (HF_DETAIL_RWLOCK_BIAS | HF_DETAIL_RWLOCK_WRITER)) ==
			      HF_DETAIL_RWLOCK_BIAS))
			return true;
	}
	return hf_detail_rwlock_read_lock_slow(word, is_stored, deadline);
}

HF_INLINE void hf_detail_rwlock_read_unlock(hf_atomic32_t *word)
{
	struct hf_detail_rwlock_line *line = HF_DETAIL_RWLOCK_LINE;

	if (HF_UNLIKELY(!line || hf_atomic64_load_relaxed(&line->slot[0]) != (uintptr_t)word)) {
		hf_detail_rwlock_read_unlock_slow(word);
		return;
	}
	hf_atomic64_store_release(&line->slot[0], 0);
	if (hf_detail_rwlock_needs_wake(word)) /* L3 */
		hf_detail_rwlock_wake_writer(word);
}

/* WRITER -> 0, if it is there; also of a writer that gives up. Readers may become overdue now. */
HF_INLINE void hf_detail_rwlock_write_unlock(hf_atomic32_t *word)
{
	uint32_t writer = hf_atomic32_load_relaxed(word) & HF_DETAIL_RWLOCK_WRITER;

	(void)hf_atomic32_fetch_sub_release(word, writer);
	if (hf_detail_rwlock_needs_wake(word)) /* L3 */
		hf_detail_rwlock_wake_all(word);
}

/* All ways to lock, with what validation and ThreadSanitizer learn of them. True = locked. */
HF_INLINE bool hf_detail_rwlock_lock(hf_atomic32_t *word, bool reads, uint64_t deadline)
{
	bool waits = deadline != HF_DETAIL_RWLOCK_NOW, locked;

	if (waits && !(reads ? HF_DETAIL_VALIDATE_LOCK_SHARED(word)
			     : HF_DETAIL_VALIDATE_LOCK(word, hf_atomic32_load_relaxed(word) &
								     HF_DETAIL_RWLOCK_WRITER)))
		return true;
	HF_DETAIL_TSAN_LOCK(word, reads, waits);
	locked = reads ? hf_detail_rwlock_read_lock(word, deadline)
		       : hf_detail_rwlock_write_lock(word, deadline);
	HF_DETAIL_TSAN_LOCK_ENDED(word, reads, waits, locked);
	if (locked && reads)
		HF_DETAIL_VALIDATE_LOCKED_SHARED(word);
	else if (locked)
		HF_DETAIL_VALIDATE_LOCKED(word);
	return locked;
}

/**
 * hf_rwlock_init - initialize a lock as free
 *
 * Context:  before any other thread can see it. Memory whose bytes are all 0 is a free lock, too
 * Ordering: none
 */
HF_INLINE void hf_rwlock_init(hf_rwlock_t *lock)
{
	HF_DETAIL_VALIDATE_INIT(&lock->word);
	HF_DETAIL_TSAN_INIT(&lock->word);
	hf_atomic32_store_relaxed(&lock->word, 0);
}

/**
 * hf_rwlock_is_write_locked - does a writer hold the lock, or has it announced itself?
 *
 * Ordering: none; the answer may be stale
 * Return:   true = a writer is inside, or waits for readers to leave
 */
HF_INLINE bool hf_rwlock_is_write_locked(const hf_rwlock_t *lock)
{
	return (hf_atomic32_load_relaxed(&lock->word) & HF_DETAIL_RWLOCK_WRITER) != 0;
}

/* ---- to read ------------------------------------------------------------------------------ */

/**
 * hf_rwlock_read_lock - wait until no writer is inside or has announced itself, and enter
 *
 * Context:  any thread that does not hold it as a writer; no signal handler
 * Ordering: acquire
 * Errors:   deadlocks if this thread is its writer; under HF_VALIDATE reported, and granted
 */
HF_INLINE void hf_rwlock_read_lock(hf_rwlock_t *lock)
	HF_ACQUIRE_SHARED(lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	(void)hf_detail_rwlock_lock(&lock->word, true, HF_ENV_FOREVER);
}

/**
 * hf_rwlock_read_lock_timeout - enter as a reader, or give up after a time
 * @lock:    the lock
 * @timeout: in nanoseconds; 0 = at most spin briefly, do not park
 *
 * Context:  as hf_rwlock_read_lock(), and its errors
 * Ordering: acquire if true; none if false
 * Return:   true = locked
 */
HF_INLINE HF_MUST_CHECK bool hf_rwlock_read_lock_timeout(hf_rwlock_t *lock, uint64_t timeout)
	HF_TRY_ACQUIRE_SHARED(true, lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	return hf_detail_rwlock_lock(&lock->word, true, hf_env_deadline(timeout));
}

/**
 * hf_rwlock_read_trylock - enter as a reader, unless a writer is inside or has announced itself
 *
 * Context:  as hf_rwlock_read_lock(). Beside hf_rwlock_write_trylock() both may fail
 * Ordering: acquire if true; none if false
 * Return:   true = locked
 */
HF_INLINE HF_MUST_CHECK bool hf_rwlock_read_trylock(hf_rwlock_t *lock)
	HF_TRY_ACQUIRE_SHARED(true, lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	return hf_detail_rwlock_lock(&lock->word, true, HF_DETAIL_RWLOCK_NOW);
}

/**
 * hf_rwlock_read_unlock - leave, and wake a writer that waits for this reader
 *
 * Context:  the thread that has read-locked it. The next writer may free its memory at once
 * Ordering: release
 * Errors:   reported as LOCK_WRONG_OWNER, and nothing done, if this thread does not read it
 */
HF_INLINE void hf_rwlock_read_unlock(hf_rwlock_t *lock)
	HF_RELEASE_SHARED(lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	if (!HF_DETAIL_VALIDATE_UNLOCK_SHARED(&lock->word))
		return;
	HF_DETAIL_TSAN_UNLOCK(&lock->word, true);
	hf_detail_rwlock_read_unlock(&lock->word);
}

/* ---- to write ----------------------------------------------------------------------------- */

/**
 * hf_rwlock_write_lock - keep new readers out, wait until no thread is inside, and enter
 *
 * Context:  any thread that does not hold it; no signal handler
 * Ordering: acquire
 * Errors:   deadlocks if this thread holds it; under HF_VALIDATE reported: a recursion is granted
 */
HF_INLINE void hf_rwlock_write_lock(hf_rwlock_t *lock) HF_ACQUIRE(lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	(void)hf_detail_rwlock_lock(&lock->word, false, HF_ENV_FOREVER);
}

/* hf_rwlock_write_lock_timeout - as hf_rwlock_read_lock_timeout(), to write. Ordering: the same. */
HF_INLINE HF_MUST_CHECK bool hf_rwlock_write_lock_timeout(hf_rwlock_t *lock, uint64_t timeout)
	HF_TRY_ACQUIRE(true, lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	return hf_detail_rwlock_lock(&lock->word, false, hf_env_deadline(timeout));
}

/**
 * hf_rwlock_write_trylock - enter as a writer if no thread is inside
 *
 * Context:  any thread. May call membarrier(), and keeps new readers out meanwhile. May also fail
 *           beside a thread that tries to read, and while readers are overdue
 * Ordering: acquire if true; none if false
 * Return:   true = locked
 */
HF_INLINE HF_MUST_CHECK bool hf_rwlock_write_trylock(hf_rwlock_t *lock)
	HF_TRY_ACQUIRE(true, lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	return hf_detail_rwlock_lock(&lock->word, false, HF_DETAIL_RWLOCK_NOW);
}

/**
 * hf_rwlock_write_unlock - leave, and wake the readers that waited, and a writer
 *
 * Context:  the thread that has write-locked it. The next holder may free its memory at once
 * Ordering: release
 * Errors:   under HF_VALIDATE reported, and nothing done, if this thread is not its writer
 */
HF_INLINE void hf_rwlock_write_unlock(hf_rwlock_t *lock)
	HF_RELEASE(lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	if (!HF_DETAIL_VALIDATE_UNLOCK(&lock->word, hf_rwlock_is_write_locked(lock)))
		return;
	HF_DETAIL_TSAN_UNLOCK(&lock->word, false);
	hf_detail_rwlock_write_unlock(&lock->word);
}

/**
 * hf_rwlock_downgrade - go on as a reader, and let other readers in
 *
 * Context:  the thread that has write-locked it; no other writer comes in between
 * Ordering: release
 */
HF_INLINE void hf_rwlock_downgrade(hf_rwlock_t *lock) HF_RELEASE(lock)
	HF_ACQUIRE_SHARED(lock) HF_NO_THREAD_SAFETY_ANALYSIS
{
	HF_DETAIL_TSAN_UNLOCK(&lock->word, false);
	HF_DETAIL_TSAN_LOCK_ENDED(&lock->word, true, false, true);
	HF_DETAIL_VALIDATE_LOCKED_SHARED(&lock->word);
	hf_detail_rwlock_downgrade(&lock->word);
}

/* ---- guards of C -------------------------------------------------------------------------- */

HF_DETAIL_GUARD_FUNCTIONS(hf_detail_rwlock_read_guard, hf_rwlock_t, hf_rwlock_read_lock,
			  hf_rwlock_read_unlock, HF_ASSERT_SHARED)
HF_DETAIL_GUARD_FUNCTIONS(hf_detail_rwlock_write_guard, hf_rwlock_t, hf_rwlock_write_lock,
			  hf_rwlock_write_unlock, HF_ASSERT_HELD)

/* HF_RWLOCK_READ_GUARD - read to the end of this block, however it is left. Not longjmp. */
#define HF_RWLOCK_READ_GUARD(lock) HF_DETAIL_GUARD(hf_rwlock_t, hf_detail_rwlock_read_guard, lock)

/* HF_RWLOCK_WRITE_GUARD - the same as a writer. */
#define HF_RWLOCK_WRITE_GUARD(lock) HF_DETAIL_GUARD(hf_rwlock_t, hf_detail_rwlock_write_guard, lock)

/* ---- C++ ---------------------------------------------------------------------------------- */

#ifdef __cplusplus
HF_BEGIN_CXX
struct hf_detail_rwlock_functions {
	static constexpr auto lock = hf_rwlock_write_lock;
	static constexpr auto trylock = hf_rwlock_write_trylock;
	static constexpr auto lock_timeout = hf_rwlock_write_lock_timeout;
	static constexpr auto unlock = hf_rwlock_write_unlock;
};

/* For the guards of <mutex> and <shared_mutex>: as std::shared_timed_mutex. */
class HF_CAPABILITY("rwlock") shared_mutex
	: public timed_lockable<hf_rwlock_t, hf_detail_rwlock_functions> {
public:
	void lock_shared() noexcept HF_ACQUIRE_SHARED() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_rwlock_read_lock(&raw_);
	}
	bool try_lock_shared() noexcept HF_TRY_ACQUIRE_SHARED(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		return hf_rwlock_read_trylock(&raw_);
	}
	template <class Duration>
	bool try_lock_shared_for(const Duration &timeout) noexcept
		HF_TRY_ACQUIRE_SHARED(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		return hf_rwlock_read_lock_timeout(&raw_, hf_detail_nanoseconds(timeout));
	}
	template <class TimePoint>
	bool try_lock_shared_until(const TimePoint &time)
		HF_TRY_ACQUIRE_SHARED(true) HF_NO_THREAD_SAFETY_ANALYSIS
	{
		return hf_detail_lock_until(time, [this](uint64_t left) {
			return hf_rwlock_read_lock_timeout(&raw_, left);
		});
	}
	void unlock_shared() noexcept HF_RELEASE_SHARED() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_rwlock_read_unlock(&raw_);
	}
	void downgrade() noexcept HF_RELEASE() HF_ACQUIRE_SHARED() HF_NO_THREAD_SAFETY_ANALYSIS
	{
		hf_rwlock_downgrade(&raw_);
	}
};
HF_END_CXX
#endif

#endif

#endif
