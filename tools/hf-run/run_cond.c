/* SPDX-License-Identifier: MIT */
/*
 * run_cond - pthread_cond_*(). R1 to R4 are defined in run.h.
 *
 * One of ours and one of glibc's
 *   C1  A wait at a condition variable of ours with a foreign mutex locks `between`, a mutex of
 *       ours; releases the foreign one; and waits with `between`. `foreign` was set under
 *       `between`, so a thread that changes the condition under the foreign mutex afterwards finds
 *       it set, and signals with `between` locked: it comes either before the mutex was released,
 *       or after the waiter was queued. `between` is in a table here, because a woken thread must
 *       not touch the condition variable.
 *   C2  The reverse, a process-shared condition variable with a mutex of ours, uses a table of
 *       glibc's mutexes. Only a signal of this process can be meant for such a waiter. That wait is
 *       not a cancellation point.
 */
#include <errno.h>
#include <string.h>

#include "run.h"

enum { BETWEEN = 256 };

static hf_mutex_t between[BETWEEN];             /* C1 */
static pthread_mutex_t between_shared[BETWEEN]; /* C2; used by glibc's functions only */

static uint32_t index_between(const void *cond)
{
	return (uint32_t)((uintptr_t)cond >> 3) * 0x9e3779b1u >> 24;
}

static struct hf_run_cond *own(pthread_cond_t *cond)
{
	return (struct hf_run_cond *)cond;
}

static bool is_shared(pthread_cond_t *cond)
{
	return *hf_run_cond_flags(cond) & HF_RUN_COND_IS_SHARED;
}

/* The place of a condition variable that is profiled. */
static uint32_t place_of(struct hf_run_cond *c, const void *caller)
{
	uint32_t place = __atomic_load_n(&c->place, __ATOMIC_RELAXED);

	if (!place) {
		place = hf_run_place_of_use(c, HF_RUN_COND, caller);
		__atomic_store_n(&c->place, place, __ATOMIC_RELAXED);
	}
	return place;
}

/* ---- wait ------------------------------------------------------------------------------- */

/* C1. Sets *@error if the mutex could not be released or locked again. */
static HF_RUN_COLD bool wait_foreign(struct hf_run_cond *c, pthread_mutex_t *mutex,
				     uint64_t deadline, int *error)
{
	hf_mutex_t *lock = &between[index_between(c)];
	bool signalled = true;

	hf_mutex_lock(lock);
	hf_atomic32_store_relaxed(&c->foreign, 1);
	*error = pthread_mutex_unlock(mutex);
	HF_RUN_PAUSE();
	if (!*error)
		signalled = hf_detail_cond_wait(&c->waiters, &lock->word, deadline);
	hf_mutex_unlock(lock);
	if (hf_run_is_watched(HF_RUN_PROFILE))
		hf_run_relocks = hf_detail_env_now();
	if (!*error)
		*error = pthread_mutex_lock(mutex);
	return signalled;
}

/* C2 */
static HF_RUN_COLD int wait_shared(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
				   const struct timespec *end)
{
	const struct hf_run_real *real = hf_run_real();
	pthread_mutex_t *lock = &between_shared[index_between(cond)];
	int error, ignored, state;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	(void)real->pthread_mutex_lock(lock);
	(void)pthread_mutex_unlock(mutex);
	error = end ? real->pthread_cond_clockwait(cond, lock, clock, end)
		    : real->pthread_cond_wait(cond, lock);
	(void)real->pthread_mutex_unlock(lock);
	(void)pthread_mutex_lock(mutex);
	(void)pthread_setcancelstate(state, &ignored);
	return error;
}

/* With a mutex of ours, which this thread holds once. */
static bool wait_own(struct hf_run_cond *c, struct hf_run_mutex *m, uint64_t deadline,
		     const void *caller)
{
	uint32_t place = m->place;
	uint64_t since;
	bool signalled;

	hf_run_call_site = caller;
	if (HF_LIKELY(hf_run_is_plain(m)))
		return hf_detail_cond_wait(&c->waiters, &m->lock.word, deadline);
	since = hf_run_releasing(m, caller);
	if (since)
		hf_run_profile_held(place, since, hf_detail_env_now());
	(void)hf_run_profile_waits(place, caller);
	hf_run_relocks = 0;
	hf_run_call_site = caller;
	signalled = hf_detail_cond_wait(&c->waiters, &m->lock.word, deadline);
	hf_run_taken(m, hf_run_relocks, caller);
	return signalled;
}

int hf_run_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
		     const struct timespec *end, const void *caller)
{
	struct hf_run_cond *c = own(cond);
	struct hf_run_mutex *m = (struct hf_run_mutex *)mutex;
	uint64_t start = 0;
	uint32_t place = 0;
	bool signalled;
	int error = 0;

	if (end && !hf_run_is_time(end))
		return EINVAL;
	if (is_shared(cond)) {
		if (!hf_run_is_foreign(m))
			return wait_shared(cond, mutex, clock, end);
		return end ? hf_run_real()->pthread_cond_clockwait(cond, mutex, clock, end)
			   : hf_run_real()->pthread_cond_wait(cond, mutex);
	}
	if (!hf_run_is_foreign(m) && hf_run_has_owner(m) && !hf_run_is_mine(m))
		return EPERM;
	hf_run_wait_begins(&c->waiters);
	if (hf_run_is_watched(HF_RUN_PROFILE)) {
		place = place_of(c, caller);
		start = hf_run_profile_waits(place, caller);
	}
	if (hf_run_is_foreign(m) || (hf_run_has_owner(m) && m->depth > 1))
		signalled = wait_foreign(c, mutex, hf_run_deadline(clock, end), &error);
	else
		signalled = wait_own(c, m, hf_run_deadline(clock, end), caller);
	if (start)
		hf_run_profile_waited(place, start,
				      hf_run_relocks ? hf_run_relocks : hf_detail_env_now(),
				      !signalled, caller);
	hf_run_wait_ended(signalled);
	if (error)
		return error;
	return signalled || hf_run_time_left(clock, end) ? 0 : ETIMEDOUT;
}

HF_RUN_EXPORT int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	return hf_run_cond_wait(cond, mutex, 0, NULL, HF_RUN_CALLER);
}

HF_RUN_EXPORT int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
					 const struct timespec *end)
{
	bool is_monotonic = *hf_run_cond_flags(cond) & HF_RUN_COND_IS_MONOTONIC;

	return hf_run_cond_wait(cond, mutex, is_monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME, end,
				HF_RUN_CALLER);
}

HF_RUN_EXPORT int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
					 clockid_t clock, const struct timespec *end)
{
	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
		return EINVAL;
	return hf_run_cond_wait(cond, mutex, clock, end, HF_RUN_CALLER);
}

/* ---- signal, broadcast ------------------------------------------------------------------ */

static void wake(struct hf_run_cond *c, bool all, const void *caller)
{
	bool is_foreign = hf_atomic32_load_relaxed(&c->foreign);
	hf_mutex_t *lock = &between[index_between(c)];
	bool woke;

	if (HF_UNLIKELY(is_foreign))
		hf_mutex_lock(lock);
	woke = hf_atomic32_load_relaxed(&c->waiters);
	if (hf_run_is_watched(HF_RUN_PROFILE)) /* before: a woken thread may free it */
		hf_run_profile_signalled(place_of(c, caller), woke);
	if (woke)
		hf_detail_cond_wake(&c->waiters, all);
	if (HF_UNLIKELY(is_foreign))
		hf_mutex_unlock(lock);
}

/* C2 */
static HF_RUN_COLD int wake_shared(pthread_cond_t *cond, int (*wake_real)(pthread_cond_t *))
{
	const struct hf_run_real *real = hf_run_real();
	pthread_mutex_t *lock = &between_shared[index_between(cond)];
	int error;

	(void)real->pthread_mutex_lock(lock);
	error = wake_real(cond);
	(void)real->pthread_mutex_unlock(lock);
	return error;
}

int hf_run_cond_wake(pthread_cond_t *cond, bool all, const void *caller)
{
	if (HF_UNLIKELY(is_shared(cond)))
		return wake_shared(cond, all ? hf_run_real()->pthread_cond_broadcast
					     : hf_run_real()->pthread_cond_signal);
	wake(own(cond), all, caller);
	return 0;
}

HF_RUN_EXPORT int pthread_cond_signal(pthread_cond_t *cond)
{
	return hf_run_cond_wake(cond, false, HF_RUN_CALLER);
}

HF_RUN_EXPORT int pthread_cond_broadcast(pthread_cond_t *cond)
{
	return hf_run_cond_wake(cond, true, HF_RUN_CALLER);
}

/* ---- init, destroy ---------------------------------------------------------------------- */

void hf_run_cond_init(pthread_cond_t *cond, clockid_t clock, const void *caller)
{
	memset(cond, 0, sizeof(*cond));
	*hf_run_cond_flags(cond) = clock == CLOCK_MONOTONIC ? HF_RUN_COND_IS_MONOTONIC : 0;
	if (hf_run_is_watched(HF_RUN_PROFILE))
		own(cond)->place = hf_run_place_of_init(cond, HF_RUN_COND, caller);
}

HF_RUN_EXPORT int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
	int shared = PTHREAD_PROCESS_PRIVATE;
	clockid_t clock = CLOCK_REALTIME;

	if (attr) {
		(void)pthread_condattr_getpshared(attr, &shared);
		(void)pthread_condattr_getclock(attr, &clock);
	}
	if (shared != PTHREAD_PROCESS_PRIVATE)
		return hf_run_real()->pthread_cond_init(cond, attr);
	hf_run_cond_init(cond, clock, HF_RUN_CALLER);
	return 0;
}

/* A woken thread does not touch it again, so there is nothing to wait for, as there is in glibc. */
HF_RUN_EXPORT int pthread_cond_destroy(pthread_cond_t *cond)
{
	if (is_shared(cond))
		return hf_run_real()->pthread_cond_destroy(cond);
	own(cond)->place = 0;
	return 0;
}

/* In the child there is no other thread, so none is between its locks, or waits. */
static void forked(void)
{
	memset(between, 0, sizeof(between));
	memset(between_shared, 0, sizeof(between_shared));
	hf_run_cancel_forked();
}

__attribute__((constructor)) static void start(void)
{
	(void)pthread_atfork(NULL, NULL, forked);
}
