/* SPDX-License-Identifier: MIT */
/* run_mutex - pthread_mutex_*(). R1 to R4 are defined in run.h. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "holdfast/validate.h"

#include "run.h"

/* glibc's kinds: the type, and bits that make a mutex none of ours (robust, PI, PP, shared). */
enum { TYPE = 3, ELISION = 256 | 512 };

HF_RUN_THREAD char hf_run_me;

static struct hf_run_mutex *own(pthread_mutex_t *mutex)
{
	return (struct hf_run_mutex *)mutex;
}

bool hf_run_is_foreign(const struct hf_run_mutex *m)
{
	return (m->kind & ~(TYPE | ELISION)) != 0; /* also true of a destroyed one of glibc's: -1 */
}

bool hf_run_is_plain(const struct hf_run_mutex *m)
{
	return m->kind == PTHREAD_MUTEX_NORMAL && !hf_run_watch;
}

bool hf_run_has_owner(const struct hf_run_mutex *m)
{
	int type = m->kind & TYPE;

	return type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK;
}

static inline bool try_lock(struct hf_run_mutex *m)
{
	return HF_LIKELY(hf_detail_mutex_try_lock(&m->lock.word));
}

/* Locks a recursive one once more. */
static int nest(struct hf_run_mutex *m)
{
	if (m->depth == UINT32_MAX)
		return EAGAIN;
	m->depth++;
	return 0;
}

/* ---- watching --------------------------------------------------------------------------- */

bool hf_run_was_taken_by_another(const void *lock)
{
	return hf_run_owner(lock) && !hf_run_is_mine(lock);
}

/* Was it locked before main(), as by a constructor, when nothing was watched? */
static bool was_taken_unwatched(const struct hf_run_mutex *m)
{
	return hf_mutex_is_locked(&m->lock) &&
	       (!hf_run_owner(m) || (hf_run_is_mine(m) && !m->place));
}

void hf_run_taken(struct hf_run_mutex *m, uint64_t start, const void *caller)
{
	if (hf_run_has_owner(m) || hf_run_is_watched(HF_RUN_VALIDATE))
		hf_run_set_owner(m, &hf_run_me);
	m->depth = 1;
	if (hf_run_is_watched(HF_RUN_VALIDATE | HF_RUN_PROFILE) && !m->place)
		m->place = hf_run_place_of_use(m, HF_RUN_MUTEX, caller);
	if (hf_run_is_watched(HF_RUN_VALIDATE)) {
		hf_run_call_site = caller;
		hf_detail_validate_locked(&m->lock.word);
	}
	if (hf_run_is_watched(HF_RUN_PROFILE))
		m->since = hf_run_profile_taken(m->place, &m->last, start, caller);
}

uint64_t hf_run_releasing(struct hf_run_mutex *m, const void *caller)
{
	uint64_t since = m->since;

	m->since = 0;
	if (hf_run_is_watched(HF_RUN_VALIDATE) && !was_taken_unwatched(m)) {
		hf_run_call_site = caller;
		(void)hf_detail_validate_unlock(&m->lock.word, hf_mutex_is_locked(&m->lock));
	}
	hf_run_set_owner(m, NULL);
	return hf_run_is_watched(HF_RUN_PROFILE) ? since : 0;
}

/* Each thread has a folder there, and "." and ".." are two more links. */
static bool is_only_thread(void)
{
	struct stat status;
	int kept = errno;
	bool is_only = stat("/proc/self/task", &status) == 0 && status.st_nlink == 3;

	errno = kept;
	return is_only;
}

static HF_RUN_THREAD bool has_limit; /* of the lock that this thread is about to wait for */

/*
 * R3. A thread may lock its own mutex on purpose: the wait may have a limit, or end when another
 * thread unlocks the mutex, which is then a gate. Without both it is a deadlock for certain.
 */
bool hf_run_grants(void)
{
	return !has_limit && is_only_thread();
}

/* Before a lock that waits. Returns false if this thread has the mutex, and that was granted. */
static bool may_wait(struct hf_run_mutex *m, const struct timespec *end, const void *caller)
{
	if (!hf_run_is_watched(HF_RUN_VALIDATE))
		return true;
	hf_run_call_site = caller;
	has_limit = end != NULL;
	if (hf_detail_validate_lock(&m->lock.word, hf_mutex_is_locked(&m->lock)))
		return true;
	m->depth++;
	return false;
}

/* ---- lock ------------------------------------------------------------------------------- */

/* Waits; @end NULL = without a limit. */
static HF_RUN_COLD int wait_for(struct hf_run_mutex *m, clockid_t clock, const struct timespec *end,
				const void *caller)
{
	if (end && !hf_run_is_time(end))
		return EINVAL;
	hf_run_call_site = caller;
	while (!hf_detail_mutex_lock_slow(&m->lock.word, hf_run_deadline(clock, end))) {
		if (!hf_run_time_left(clock, end))
			return ETIMEDOUT;
	}
	return 0;
}

static HF_RUN_COLD int lock_foreign(pthread_mutex_t *mutex, clockid_t clock,
				    const struct timespec *end)
{
	return end ? hf_run_real()->pthread_mutex_clocklock(mutex, clock, end)
		   : hf_run_real()->pthread_mutex_lock(mutex);
}

static __attribute__((noinline)) int lock_any(struct hf_run_mutex *m, clockid_t clock,
					      const struct timespec *end, const void *caller)
{
	uint64_t start = 0;
	int error;

	if (hf_run_is_foreign(m))
		return lock_foreign((pthread_mutex_t *)m, clock, end);
	if (hf_run_has_owner(m) && hf_run_is_mine(m))
		return (m->kind & TYPE) == PTHREAD_MUTEX_ERRORCHECK ? EDEADLK : nest(m);
	if (!may_wait(m, end, caller))
		return 0;
	if (HF_UNLIKELY(!try_lock(m))) {
		start = hf_run_profile_waits(m->place, caller);
		error = wait_for(m, clock, end, caller);
		if (error && start)
			hf_run_profile_waited(m->place, start, hf_detail_env_now(), true, caller);
		if (error)
			return error;
	}
	hf_run_taken(m, start, caller);
	return 0;
}

/* Recursive, and nothing is watched. */
static bool is_plain_recursive(const struct hf_run_mutex *m)
{
	return m->kind == PTHREAD_MUTEX_RECURSIVE && !hf_run_watch;
}

static int lock_recursive(struct hf_run_mutex *m, const void *caller)
{
	if (hf_run_is_mine(m))
		return nest(m);
	if (HF_UNLIKELY(!try_lock(m)))
		(void)wait_for(m, 0, NULL, caller);
	hf_run_set_owner(m, &hf_run_me);
	m->depth = 1;
	return 0;
}

int hf_run_lock(pthread_mutex_t *mutex, const void *caller)
{
	struct hf_run_mutex *m = own(mutex);

	if (is_plain_recursive(m))
		return lock_recursive(m, caller);
	if (HF_UNLIKELY(!hf_run_is_plain(m)))
		return lock_any(m, 0, NULL, caller);
	if (HF_UNLIKELY(!try_lock(m)))
		return wait_for(m, 0, NULL, caller);
	return 0;
}

int hf_run_lock_until(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *end,
		      const void *caller)
{
	return lock_any(own(mutex), clock, end, caller);
}

HF_RUN_EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	return hf_run_lock(mutex, HF_RUN_CALLER);
}

HF_RUN_EXPORT int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *end)
{
	return hf_run_lock_until(mutex, CLOCK_REALTIME, end, HF_RUN_CALLER);
}

HF_RUN_EXPORT int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
					  const struct timespec *end)
{
	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
		return EINVAL;
	return hf_run_lock_until(mutex, clock, end, HF_RUN_CALLER);
}

static __attribute__((noinline)) int trylock_any(struct hf_run_mutex *m, const void *caller)
{
	if (hf_run_is_foreign(m))
		return hf_run_real()->pthread_mutex_trylock((pthread_mutex_t *)m);
	if ((m->kind & TYPE) == PTHREAD_MUTEX_RECURSIVE && hf_run_is_mine(m))
		return nest(m);
	if (!try_lock(m))
		return EBUSY;
	hf_run_taken(m, 0, caller);
	return 0;
}

int hf_run_trylock(pthread_mutex_t *mutex, const void *caller)
{
	struct hf_run_mutex *m = own(mutex);

	if (HF_UNLIKELY(!hf_run_is_plain(m)))
		return trylock_any(m, caller);
	return try_lock(m) ? 0 : EBUSY;
}

HF_RUN_EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	return hf_run_trylock(mutex, HF_RUN_CALLER);
}

/* ---- unlock ----------------------------------------------------------------------------- */

static __attribute__((noinline)) int unlock_any(struct hf_run_mutex *m, const void *caller)
{
	uint32_t place = m->place;
	uint64_t since;

	if (hf_run_is_foreign(m))
		return hf_run_real()->pthread_mutex_unlock((pthread_mutex_t *)m);
	if (hf_run_has_owner(m) && !hf_run_is_mine(m))
		return EPERM;
	if (m->depth > 1 && (hf_run_has_owner(m) || hf_validate_is_held(&m->lock.word))) {
		m->depth--;
		if (!hf_run_has_owner(m))
			(void)hf_detail_validate_unlock(&m->lock.word, true); /* R3: granted */
		return 0;
	}
	since = hf_run_releasing(m, caller);
	if (!since) {
		hf_mutex_unlock(&m->lock);
	} else {
		uint64_t now = hf_detail_env_now();

		hf_mutex_unlock(&m->lock); /* first: counting makes it no longer */
		hf_run_profile_held(place, since, now);
	}
	return 0;
}

static int unlock_recursive(struct hf_run_mutex *m)
{
	if (!hf_run_is_mine(m))
		return EPERM;
	if (--m->depth)
		return 0;
	hf_run_set_owner(m, NULL);
	hf_mutex_unlock(&m->lock);
	return 0;
}

int hf_run_unlock(pthread_mutex_t *mutex, const void *caller)
{
	struct hf_run_mutex *m = own(mutex);

	if (is_plain_recursive(m))
		return unlock_recursive(m);
	if (HF_UNLIKELY(!hf_run_is_plain(m)))
		return unlock_any(m, caller);
	hf_mutex_unlock(&m->lock);
	return 0;
}

HF_RUN_EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	return hf_run_unlock(mutex, HF_RUN_CALLER);
}

/* ---- init, destroy ---------------------------------------------------------------------- */

void hf_run_init(pthread_mutex_t *mutex, int kind, const void *caller)
{
	struct hf_run_mutex *m = own(mutex);

	memset(mutex, 0, sizeof(*mutex));
	m->kind = kind;
	if (hf_run_is_watched(HF_RUN_VALIDATE | HF_RUN_PROFILE))
		m->place = hf_run_place_of_init(m, HF_RUN_MUTEX, caller);
}

HF_RUN_EXPORT int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr)
{
	int type = PTHREAD_MUTEX_DEFAULT, shared = PTHREAD_PROCESS_PRIVATE;
	int robust = PTHREAD_MUTEX_STALLED, protocol = PTHREAD_PRIO_NONE;

	if (attr) {
		(void)pthread_mutexattr_gettype(attr, &type);
		(void)pthread_mutexattr_getpshared(attr, &shared);
		(void)pthread_mutexattr_getrobust(attr, &robust);
		(void)pthread_mutexattr_getprotocol(attr, &protocol);
	}
	if (shared != PTHREAD_PROCESS_PRIVATE || robust != PTHREAD_MUTEX_STALLED ||
	    protocol != PTHREAD_PRIO_NONE)
		return hf_run_real()->pthread_mutex_init(mutex, attr);
	hf_run_init(mutex, type == PTHREAD_MUTEX_ADAPTIVE_NP ? PTHREAD_MUTEX_NORMAL : type,
		    HF_RUN_CALLER);
	return 0;
}

HF_RUN_EXPORT int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	struct hf_run_mutex *m = own(mutex);

	if (hf_run_is_foreign(m))
		return hf_run_real()->pthread_mutex_destroy(mutex);
	if (hf_mutex_is_locked(&m->lock))
		return EBUSY;       /* as glibc */
	m->place = m->identity = 0; /* the memory may become another mutex, without init */
	return 0;
}

HF_RUN_ALIAS(pthread_mutex_init);
HF_RUN_ALIAS(pthread_mutex_destroy);
HF_RUN_ALIAS(pthread_mutex_lock);
HF_RUN_ALIAS(pthread_mutex_trylock);
HF_RUN_ALIAS(pthread_mutex_unlock);
