/* SPDX-License-Identifier: MIT */
/*
 * run_wait - with a profile, times the waits in functions that stay glibc's: semaphores, barriers,
 * joins, once-functions, and futexes by syscall().
 *
 * A row of the table is a function, and each exported function is one call of call(). Where there
 * is a function that does not wait, it is tried first: so only waits are timed, and counted. Not
 * seen: what glibc locks itself, and system calls that are not by syscall().
 */
#include <errno.h>
#include <linux/futex.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include "run.h"

enum function {
	SEM,
	SEM_UNTIL,
	SEM_CLOCK,
	BARRIER,
	JOIN,
	JOIN_UNTIL,
	JOIN_CLOCK,
	THRD_JOIN,
	ONCE,
	CALL_ONCE,
};

/* All have up to four words; glibc's functions ignore those that they do not have. */
typedef int call_t(uintptr_t object, uintptr_t second, uintptr_t third, uintptr_t fourth);

static struct row {
	const char *name, *trial; /* trial: the same without a wait; NULL = there is none */
	enum hf_run_kind kind;
	int limit; /* which word, from 0 on, is when the wait ends; 0 = it has no limit */
	call_t *call, *attempt; /* found at the first call */
} rows[] = {
	[SEM] = { "sem_wait", "sem_trywait", HF_RUN_SEMAPHORE },
	[SEM_UNTIL] = { "sem_timedwait", "sem_trywait", HF_RUN_SEMAPHORE, 1 },
	[SEM_CLOCK] = { "sem_clockwait", "sem_trywait", HF_RUN_SEMAPHORE, 2 },
	[BARRIER] = { "pthread_barrier_wait", NULL, HF_RUN_BARRIER },
	[JOIN] = { "pthread_join", "pthread_tryjoin_np", HF_RUN_JOIN },
	[JOIN_UNTIL] = { "pthread_timedjoin_np", "pthread_tryjoin_np", HF_RUN_JOIN },
	[JOIN_CLOCK] = { "pthread_clockjoin_np", "pthread_tryjoin_np", HF_RUN_JOIN },
	[THRD_JOIN] = { "thrd_join", NULL, HF_RUN_JOIN },
	[ONCE] = { "pthread_once", NULL, HF_RUN_ONCE },
	[CALL_ONCE] = { "call_once", NULL, HF_RUN_ONCE },
};

static call_t *found(call_t **at, const char *name)
{
	call_t *call = __atomic_load_n(at, __ATOMIC_RELAXED);

	if (HF_UNLIKELY(!call)) {
		hf_run_find(&call, name);
		__atomic_store_n(at, call, __ATOMIC_RELAXED);
	}
	return call;
}

/* Counts a wait that has ended, and keeps errno. */
static void count(uint32_t place, uint64_t start, bool timed_out, const void *caller)
{
	int kept = errno;

	hf_run_profile_waited(place, start, hf_detail_env_now(), timed_out, caller);
	errno = kept;
}

static HF_RUN_COLD int timed_call(const struct row *row, const uintptr_t *word, const void *caller)
{
	uint32_t place = hf_run_place_of_wait((const void *)word[0], row->kind, caller);
	uint64_t start = hf_run_profile_waits(place, caller);
	int result = row->call(word[0], word[1], word[2], word[3]);

	count(place, start, (row->kind == HF_RUN_SEMAPHORE && result ? errno : result) == ETIMEDOUT,
	      caller);
	return result;
}

/* glibc refuses a wrong limit even if there is no wait. */
static bool may_try(const struct row *row, const uintptr_t *word)
{
	if (row->limit == 2 && word[1] != CLOCK_REALTIME && word[1] != CLOCK_MONOTONIC)
		return false;
	return row->trial &&
	       (!row->limit || hf_run_is_time((const struct timespec *)word[row->limit]));
}

static int call(enum function which, const uintptr_t *word, const void *caller)
{
	struct row *row = &rows[which];
	call_t *real = found(&row->call, row->name);
	int kept = errno;

	if (!hf_run_is_watched(HF_RUN_PROFILE))
		return real(word[0], word[1], word[2], word[3]);
	if (row->kind == HF_RUN_SEMAPHORE)
		pthread_testcancel(); /* as glibc, also if there is no wait */
	/* The second word is where a join puts the thread's result. */
	if (may_try(row, word) && found(&row->attempt, row->trial)(word[0], word[1], 0, 0) == 0)
		return 0;
	errno = kept;
	return timed_call(row, word, caller);
}

#define WORD(argument) ((uintptr_t)(argument))
#define WORDS(...) ((const uintptr_t[4]){ __VA_ARGS__ })

HF_RUN_EXPORT int sem_wait(sem_t *semaphore)
{
	return call(SEM, WORDS(WORD(semaphore)), HF_RUN_CALLER);
}

HF_RUN_EXPORT int sem_timedwait(sem_t *semaphore, const struct timespec *end)
{
	return call(SEM_UNTIL, WORDS(WORD(semaphore), WORD(end)), HF_RUN_CALLER);
}

HF_RUN_EXPORT int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *end)
{
	return call(SEM_CLOCK, WORDS(WORD(semaphore), WORD(clock), WORD(end)), HF_RUN_CALLER);
}

HF_RUN_EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	return call(BARRIER, WORDS(WORD(barrier)), HF_RUN_CALLER);
}

HF_RUN_EXPORT int pthread_join(pthread_t thread, void **result)
{
	return call(JOIN, WORDS(WORD(thread), WORD(result)), HF_RUN_CALLER);
}

HF_RUN_EXPORT int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *end)
{
	return call(JOIN_UNTIL, WORDS(WORD(thread), WORD(result), WORD(end)), HF_RUN_CALLER);
}

HF_RUN_EXPORT int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
				       const struct timespec *end)
{
	return call(JOIN_CLOCK, WORDS(WORD(thread), WORD(result), WORD(clock), WORD(end)),
		    HF_RUN_CALLER);
}

HF_RUN_EXPORT int thrd_join(thrd_t thread, int *result)
{
	return call(THRD_JOIN, WORDS(WORD(thread), WORD(result)), HF_RUN_CALLER);
}

/* glibc's: 1 = a thread runs the function, 2 = it has run. The first one does not wait. */
static int once(enum function which, const int *control, void (*function)(void), const void *caller)
{
	struct row *row = &rows[which];
	call_t *real = found(&row->call, row->name);

	if (!hf_run_is_watched(HF_RUN_PROFILE) ||
	    (__atomic_load_n(control, __ATOMIC_RELAXED) & 3) != 1)
		return real(WORD(control), WORD(function), 0, 0);
	return timed_call(row, WORDS(WORD(control), WORD(function)), caller);
}

HF_RUN_EXPORT int pthread_once(pthread_once_t *control, void (*function)(void))
{
	return once(ONCE, control, function, HF_RUN_CALLER);
}

HF_RUN_EXPORT void call_once(once_flag *control, void (*function)(void))
{
	(void)once(CALL_ONCE, (const int *)(const void *)control, function, HF_RUN_CALLER);
}

/* ---- syscall() -------------------------------------------------------------------------- */

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

/* A futex of Rust's library, or of std::atomic::wait(); not one of this library. */
static bool is_wait(long number, long operation, const void *caller)
{
	int command = (int)operation & FUTEX_CMD_MASK;

	return HF_UNLIKELY(number == SYS_futex && hf_run_watch & HF_RUN_PROFILE) &&
	       (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI ||
		command == FUTEX_WAIT_REQUEUE_PI) &&
	       !hf_run_is_busy &&
	       ((const char *)caller < __ehdr_start || (const char *)caller > etext);
}

static HF_RUN_COLD long timed_futex(long a, long b, long c, long d, long e, long f,
				    const void *caller)
{
	uint32_t place = hf_run_place_of_wait((const void *)a, HF_RUN_FUTEX, caller);
	uint64_t start = hf_run_profile_waits(place, caller);
	long result = hf_run_real()->syscall(SYS_futex, a, b, c, d, e, f);

	if (result >= 0 || errno != EAGAIN) /* it did not wait */
		count(place, start, result < 0 && errno == ETIMEDOUT, caller);
	return result;
}

/*
 * The variadic syscall(): its words are where those of this one are. What is not timed ends in a
 * jump, since a system call may return twice, or in another thread.
 */
HF_RUN_EXPORT long hf_run_syscall(long number, long a, long b, long c, long d, long e,
				  long f) __asm__("syscall");

#if !defined(__clang__)
__attribute__((optimize("O2")))
#endif
long hf_run_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (is_wait(number, b, HF_RUN_CALLER))
		return timed_futex(a, b, c, d, e, f, HF_RUN_CALLER);
	return hf_run_real()->syscall(number, a, b, c, d, e, f);
}
