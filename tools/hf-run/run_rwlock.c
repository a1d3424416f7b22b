/* SPDX-License-Identifier: MIT */
/*
 * run_rwlock - pthread_rwlock_*(). R1 to R4 are defined in run.h.
 *
 * A writer of glibc's default kind keeps no reader out while it waits. One of
 * PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP does: hf_rwlock_t's own policy.
 *
 * Unlocks by another thread
 *   glibc counts readers, so a program may let any thread unlock what one of them has read-locked.
 *   Here a reader is known by its thread's slot. A thread that unlocks, and has none, empties that
 *   of another reader; that one, when it unlocks and has none, empties the first one's. From then
 *   on the lock's readers are counted in its word (`sharing`): a thread that has stored its slot,
 *   but then finds a writer and gives the slot up, would not know that it was emptied for another.
 */
#include <errno.h>
#include <string.h>

#include "holdfast/validate.h"

#include "../../src/rwlock/lines.h"
#include "run.h"

enum { PRIVATE, SHARED, COUNTED }; /* glibc has the first two */

static struct hf_run_rwlock *own(pthread_rwlock_t *lock)
{
	return (struct hf_run_rwlock *)lock;
}

static int sharing_of(const struct hf_run_rwlock *l)
{
	return __atomic_load_n(&l->sharing, __ATOMIC_RELAXED);
}

static bool is_plain(const struct hf_run_rwlock *l)
{
	return sharing_of(l) == PRIVATE && !hf_run_watch;
}

static bool is_profiled(void)
{
	return hf_run_is_watched(HF_RUN_PROFILE);
}

/* ---- lock ------------------------------------------------------------------------------- */

static bool take(struct hf_run_rwlock *l, enum hf_run_kind kind, uint64_t deadline)
{
	hf_atomic32_t *word = &l->lock.word;
	bool is_counted = sharing_of(l) == COUNTED;

	if (kind != HF_RUN_WRITE)
		return is_counted ? hf_detail_rwlock_read_lock_counted(word, deadline)
				  : hf_detail_rwlock_read_lock(word, deadline);
	if (!is_counted && l->kind == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP)
		return hf_detail_rwlock_write_lock(word, deadline);
	return hf_detail_rwlock_write_lock_last(word, deadline);
}

/* Watched: the places of the lock that @find makes. Its readers are a row of their own. */
static void find_places(struct hf_run_rwlock *l, const void *caller,
			uint32_t (*find)(const void *, enum hf_run_kind, const void *))
{
	l->read_place = find(l, HF_RUN_READ, caller);
	l->place = find(l, HF_RUN_WRITE, caller);
}

static uint32_t place_of(const struct hf_run_rwlock *l, enum hf_run_kind kind)
{
	return kind == HF_RUN_WRITE ? l->place : l->read_place;
}

/* Before a lock that waits. */
static void watch_wait(struct hf_run_rwlock *l, enum hf_run_kind kind, const void *caller)
{
	if (hf_run_is_watched(HF_RUN_VALIDATE | HF_RUN_PROFILE) && !l->place)
		find_places(l, caller, hf_run_place_of_use);
	if (!hf_run_is_watched(HF_RUN_VALIDATE))
		return;
	hf_run_call_site = caller;
	if (kind == HF_RUN_WRITE)
		(void)hf_detail_validate_lock(&l->lock.word, hf_rwlock_is_write_locked(&l->lock));
	else
		(void)hf_detail_validate_lock_shared(&l->lock.word);
}

/* It was taken; @start: when the wait for it began, 0 = it was free. */
static void taken(struct hf_run_rwlock *l, enum hf_run_kind kind, uint64_t start,
		  const void *caller)
{
	if (kind == HF_RUN_WRITE)
		hf_run_set_owner(l, &hf_run_me);
	if (hf_run_is_watched(HF_RUN_VALIDATE)) {
		hf_run_call_site = caller;
		if (kind == HF_RUN_WRITE)
			hf_detail_validate_locked(&l->lock.word);
		else
			hf_detail_validate_locked_shared(&l->lock.word);
	}
	if (is_profiled() && kind == HF_RUN_WRITE)
		l->since = hf_run_profile_taken(l->place, &l->last, start, caller);
	else if (is_profiled())
		(void)hf_run_profile_taken(l->read_place, NULL, start, caller);
}

static HF_RUN_COLD int lock_foreign(pthread_rwlock_t *lock, enum hf_run_kind kind, clockid_t clock,
				    const struct timespec *end)
{
	const struct hf_run_real *real = hf_run_real();

	if (kind == HF_RUN_WRITE)
		return end ? real->pthread_rwlock_clockwrlock(lock, clock, end)
			   : real->pthread_rwlock_wrlock(lock);
	return end ? real->pthread_rwlock_clockrdlock(lock, clock, end)
		   : real->pthread_rwlock_rdlock(lock);
}

/* Waits; @end NULL = without a limit. */
static int wait_for(struct hf_run_rwlock *l, enum hf_run_kind kind, clockid_t clock,
		    const struct timespec *end, const void *caller)
{
	hf_run_call_site = caller;
	while (!take(l, kind, hf_run_deadline(clock, end))) {
		if (!hf_run_time_left(clock, end))
			return ETIMEDOUT;
	}
	return 0;
}

static __attribute__((noinline)) int lock_any(struct hf_run_rwlock *l, enum hf_run_kind kind,
					      clockid_t clock, const struct timespec *end,
					      const void *caller)
{
	uint64_t start = 0;
	int error;

	if (end && (!hf_run_is_time(end) || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)))
		return EINVAL;
	if (sharing_of(l) == SHARED)
		return lock_foreign((pthread_rwlock_t *)l, kind, clock, end);
	if (hf_run_is_mine(l))
		return EDEADLK;
	watch_wait(l, kind, caller);
	if (!is_profiled() || !take(l, kind, HF_DETAIL_RWLOCK_NOW)) {
		start = hf_run_profile_waits(place_of(l, kind), caller);
		error = wait_for(l, kind, clock, end, caller);
		if (error && start)
			hf_run_profile_waited(place_of(l, kind), start, hf_detail_env_now(), true,
					      caller);
		if (error)
			return error;
	}
	taken(l, kind, start, caller);
	return 0;
}

HF_RUN_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	struct hf_run_rwlock *l = own(lock);

	if (HF_LIKELY(is_plain(l) &&
		      hf_detail_rwlock_read_lock(&l->lock.word, HF_DETAIL_RWLOCK_NOW)))
		return 0;
	return lock_any(l, HF_RUN_READ, 0, NULL, HF_RUN_CALLER);
}

HF_RUN_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
	return lock_any(own(lock), HF_RUN_WRITE, 0, NULL, HF_RUN_CALLER);
}

HF_RUN_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *end)
{
	return lock_any(own(lock), HF_RUN_READ, CLOCK_REALTIME, end, HF_RUN_CALLER);
}

HF_RUN_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *end)
{
	return lock_any(own(lock), HF_RUN_WRITE, CLOCK_REALTIME, end, HF_RUN_CALLER);
}

HF_RUN_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock,
					     const struct timespec *end)
{
	return lock_any(own(lock), HF_RUN_READ, clock, end, HF_RUN_CALLER);
}

HF_RUN_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock,
					     const struct timespec *end)
{
	return lock_any(own(lock), HF_RUN_WRITE, clock, end, HF_RUN_CALLER);
}

static int trylock(struct hf_run_rwlock *l, enum hf_run_kind kind, const void *caller)
{
	if (!take(l, kind, HF_DETAIL_RWLOCK_NOW))
		return EBUSY;
	if (hf_run_is_watched(HF_RUN_VALIDATE | HF_RUN_PROFILE) && !l->place)
		find_places(l, caller, hf_run_place_of_use);
	taken(l, kind, 0, caller);
	return 0;
}

HF_RUN_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock)
{
	if (HF_UNLIKELY(sharing_of(own(lock)) == SHARED))
		return hf_run_real()->pthread_rwlock_tryrdlock(lock);
	return trylock(own(lock), HF_RUN_READ, HF_RUN_CALLER);
}

HF_RUN_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
	if (HF_UNLIKELY(sharing_of(own(lock)) == SHARED))
		return hf_run_real()->pthread_rwlock_trywrlock(lock);
	return trylock(own(lock), HF_RUN_WRITE, HF_RUN_CALLER);
}

/* ---- unlock ----------------------------------------------------------------------------- */

/* Takes out one reader of the lock, whichever thread it is. Returns false if no slot has it. */
static HF_RUN_COLD bool empty_slot(const hf_atomic32_t *word)
{
	struct hf_detail_rwlock_lines *lines = hf_detail_rwlock_lines();
	uint32_t used = lines ? hf_detail_rwlock_lines_used(lines) : 0;

	for (uint32_t n = 0; n < used * HF_DETAIL_RWLOCK_SLOTS; n++) {
		hf_atomic64_t *slot =
			&lines->line[n / HF_DETAIL_RWLOCK_SLOTS].slot[n % HF_DETAIL_RWLOCK_SLOTS];
		uint64_t found = (uintptr_t)word;

		if (hf_atomic64_load_relaxed(slot) == found &&
		    hf_atomic64_try_cmpxchg_release(slot, &found, 0)) {
			if (hf_detail_rwlock_needs_wake(word))
				hf_detail_rwlock_wake_writer(word);
			return true;
		}
	}
	return false;
}

void hf_run_unlock_another(hf_atomic32_t *word)
{
	struct hf_run_rwlock *l = (struct hf_run_rwlock *)(void *)word;

	__atomic_store_n(&l->sharing, COUNTED, __ATOMIC_RELAXED);
	(void)empty_slot(word);
}

/* Before an unlock. What was locked when nothing was watched has no place. */
static void watch_unlock(const struct hf_run_rwlock *l, bool writes, const void *caller)
{
	if (!hf_run_is_watched(HF_RUN_VALIDATE) || !l->place)
		return;
	hf_run_call_site = caller;
	if (writes)
		(void)hf_detail_validate_unlock(&l->lock.word, true);
	else
		(void)hf_detail_validate_unlock_shared(&l->lock.word);
}

HF_RUN_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
	struct hf_run_rwlock *l = own(lock);
	bool writes = hf_run_is_mine(l);
	uint64_t since, now;
	uint32_t place;

	if (HF_UNLIKELY(sharing_of(l) == SHARED))
		return hf_run_real()->pthread_rwlock_unlock(lock);
	if (HF_UNLIKELY(hf_run_watch))
		watch_unlock(l, writes, HF_RUN_CALLER);
	if (!writes) {
		hf_detail_rwlock_read_unlock(&l->lock.word);
		return 0;
	}
	place = l->place;
	since = l->since;
	l->since = 0;
	now = since ? hf_detail_env_now() : 0;
	hf_run_set_owner(l, NULL);
	hf_detail_rwlock_write_unlock(&l->lock.word);
	if (HF_UNLIKELY(since)) /* last: counting makes it no longer */
		hf_run_profile_held(place, since, now);
	return 0;
}

/* ---- init, destroy ---------------------------------------------------------------------- */

/* The memory may have been a lock that was freed while a thread was inside. */
HF_RUN_EXPORT int pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attr)
{
	int shared = PTHREAD_PROCESS_PRIVATE, kind = PTHREAD_RWLOCK_DEFAULT_NP;
	struct hf_run_rwlock *l = own(lock);

	if (attr) {
		(void)pthread_rwlockattr_getpshared(attr, &shared);
		(void)pthread_rwlockattr_getkind_np(attr, &kind);
	}
	if (shared != PTHREAD_PROCESS_PRIVATE)
		return hf_run_real()->pthread_rwlock_init(lock, attr);
	while (empty_slot(&l->lock.word))
		;
	memset(lock, 0, sizeof(*lock));
	l->kind = (uint32_t)kind;
	if (hf_run_is_watched(HF_RUN_VALIDATE | HF_RUN_PROFILE))
		find_places(l, HF_RUN_CALLER, hf_run_place_of_init);
	return 0;
}

HF_RUN_EXPORT int pthread_rwlock_destroy(pthread_rwlock_t *lock)
{
	struct hf_run_rwlock *l = own(lock);

	if (sharing_of(l) == SHARED)
		return hf_run_real()->pthread_rwlock_destroy(lock);
	l->place = l->read_place = l->identity = 0; /* the memory may become another lock */
	return 0;
}

HF_RUN_ALIAS(pthread_rwlock_init);
HF_RUN_ALIAS(pthread_rwlock_destroy);
HF_RUN_ALIAS(pthread_rwlock_rdlock);
HF_RUN_ALIAS(pthread_rwlock_tryrdlock);
HF_RUN_ALIAS(pthread_rwlock_wrlock);
HF_RUN_ALIAS(pthread_rwlock_trywrlock);
HF_RUN_ALIAS(pthread_rwlock_unlock);
