/* SPDX-License-Identifier: MIT */
/* run_glibc - finds glibc's functions, checks the layout of its types, converts its times. */
#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

HF_STATIC_ASSERT(offsetof(struct hf_run_mutex, kind) == offsetof(pthread_mutex_t, __data.__kind),
		 "static initializers");
HF_STATIC_ASSERT(sizeof(struct hf_run_mutex) <= sizeof(pthread_mutex_t), "");
HF_STATIC_ASSERT(offsetof(struct hf_run_rwlock, kind) ==
				 offsetof(pthread_rwlock_t, __data.__flags) &&
			 offsetof(struct hf_run_rwlock, sharing) ==
				 offsetof(pthread_rwlock_t, __data.__shared),
		 "static initializers");
HF_STATIC_ASSERT(sizeof(struct hf_run_rwlock) <= sizeof(pthread_rwlock_t), "");
HF_STATIC_ASSERT(offsetof(struct hf_run_rwlock, owner) == offsetof(struct hf_run_mutex, owner) &&
			 offsetof(struct hf_run_rwlock, place) ==
				 offsetof(struct hf_run_mutex, place) &&
			 offsetof(struct hf_run_rwlock, identity) ==
				 offsetof(struct hf_run_mutex, identity),
		 "validation");
HF_STATIC_ASSERT(sizeof(struct hf_run_cond) <= offsetof(pthread_cond_t, __data.__g_signals), "");

/* ---- functions ------------------------------------------------------------------------------ */

/*
 * Of the functions of condition variables there are two versions on x86-64: those of 2002 have
 * pointers in place of condition variables, and dlsym() may find them. All versions of the others
 * are the same, and asking for one that is not there is slow: the loader composes a message.
 */
#if defined(__x86_64__)
#define VERSION_OF_COND "GLIBC_2.3.2"
#else
#define VERSION_OF_COND "GLIBC_2.17"
#endif

static bool has_two_versions(const char *name)
{
	return strncmp(name, "pthread_cond_", 13) == 0 &&
	       strcmp(name, "pthread_cond_clockwait") != 0;
}

void hf_run_find(void *to, const char *name)
{
	void *found = has_two_versions(name) ? dlvsym(RTLD_NEXT, name, VERSION_OF_COND)
					     : dlsym(RTLD_NEXT, name);

	if (!found) {
		(void)dprintf(STDERR_FILENO, "hf-run: this C library has no %s()\n", name);
		__builtin_trap();
	}
	memcpy(to, &found, sizeof(found));
}

static struct hf_run_real real;

static HF_RUN_COLD void find_all(void)
{
#define FIND(name) hf_run_find(&real.name, #name);
	HF_RUN_REALS(FIND)
}

const struct hf_run_real *hf_run_real(void)
{
	if (HF_UNLIKELY(!__atomic_load_n(&real._exit, __ATOMIC_ACQUIRE)))
		find_all();
	return &real;
}

/* ---- layout ----------------------------------------------------------------------------- */

/* Where the flags are: glibc 2.41 moved them. This is the place that the headers have. */
static uint32_t flags_at = offsetof(pthread_cond_t, __data.__wrefs);

uint32_t *hf_run_cond_flags(pthread_cond_t *cond)
{
	return (uint32_t *)(void *)((char *)cond + flags_at);
}

static __attribute__((noreturn)) void refuse(const char *what)
{
	(void)dprintf(
		STDERR_FILENO,
		"hf-run: %s of this C library (glibc %s) is not laid out as that of the one that "
		"hf-run was compiled with (%d.%d): compile hf-run here\n",
		what, gnu_get_libc_version(), __GLIBC__, __GLIBC_MINOR__);
	hf_run_real()->_exit(125);
}

/* The only word that is not 0 in a process-shared condition variable has the flags. */
static void find_flags(void)
{
	pthread_condattr_t attr;
	pthread_cond_t cond;
	uint32_t word[sizeof(cond) / sizeof(uint32_t)];
	uint32_t at = 0, found = 0;

	memset(&cond, 0, sizeof(cond));
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)hf_run_real()->pthread_cond_init(&cond, &attr);
	memcpy(word, &cond, sizeof(word));
	for (uint32_t i = 0; i < sizeof(cond) / sizeof(uint32_t); i++) {
		if (word[i]) {
			at = i * (uint32_t)sizeof(uint32_t);
			found++;
		}
	}
	if (found != 1 || at < sizeof(struct hf_run_cond) ||
	    word[at / 4] != (HF_RUN_COND_IS_SHARED | HF_RUN_COND_IS_MONOTONIC))
		refuse("pthread_cond_t");
	flags_at = at;
}

void hf_run_check_layout(void)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t mutex;
	struct hf_run_mutex m;

	memset(&mutex, 0, sizeof(mutex));
	(void)pthread_mutexattr_init(&attr);
	(void)pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	(void)pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	(void)hf_run_real()->pthread_mutex_init(&mutex, &attr);
	memcpy(&m, &mutex, sizeof(m));
	if ((m.kind & 3) != PTHREAD_MUTEX_ERRORCHECK || !hf_run_is_foreign(&m))
		refuse("pthread_mutex_t");
	find_flags();
}

/* ---- time ------------------------------------------------------------------------------- */

bool hf_run_is_time(const struct timespec *end)
{
	return end->tv_nsec >= 0 && end->tv_nsec < 1000000000;
}

uint64_t hf_run_time_left(clockid_t clock, const struct timespec *end)
{
	struct timespec now;
	int64_t seconds, ns;

	if (!end)
		return HF_ENV_FOREVER;
	(void)clock_gettime(clock, &now);
	if (__builtin_sub_overflow(end->tv_sec, now.tv_sec, &seconds) || seconds > INT32_MAX)
		return end->tv_sec < 0 ? 0 : (uint64_t)INT32_MAX * 1000000000u;
	if (seconds < -1)
		return 0;
	ns = seconds * 1000000000 + (end->tv_nsec - now.tv_nsec);
	return ns < 0 ? 0 : (uint64_t)ns;
}

uint64_t hf_run_deadline(clockid_t clock, const struct timespec *end)
{
	if (!end)
		return HF_ENV_FOREVER;
	if (clock == CLOCK_MONOTONIC && end->tv_sec >= 0 && end->tv_sec < INT32_MAX)
		return (uint64_t)end->tv_sec * 1000000000u + (uint64_t)end->tv_nsec;
	return hf_env_deadline(hf_run_time_left(clock, end));
}
