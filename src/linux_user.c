/* SPDX-License-Identifier: MIT */
/* linux_user - Linux user space: parking, by futex. */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "env.h"

/* Processors that came late to Linux have only the form whose time has 64 bits. */
#if !defined(SYS_futex) && defined(SYS_futex_time64)
#define SYS_futex SYS_futex_time64
#endif

static int operation(int what, enum hf_env_scope scope)
{
	return scope == HF_ENV_SHARED ? what : what | FUTEX_PRIVATE_FLAG;
}

enum hf_env_parked hf_env_park(const struct hf_atomic32 *word, uint32_t expected, uint64_t deadline,
			       enum hf_env_scope scope)
{
	struct timespec when;
	int kept = errno;
	long error;

	when.tv_sec = (time_t)(deadline / 1000000000u);
	when.tv_nsec = (long)(deadline % 1000000000u);
	do {
		/* This form's time is absolute: a signal does not make the wait longer. */
		error = syscall(SYS_futex, word, operation(FUTEX_WAIT_BITSET, scope), expected,
				deadline == HF_ENV_FOREVER ? NULL : &when, NULL,
				FUTEX_BITSET_MATCH_ANY);
	} while (error && errno == EINTR);
	if (error)
		error = errno;
	errno = kept;
	if (error == EAGAIN)
		return HF_ENV_CHANGED;
	return error == ETIMEDOUT ? HF_ENV_TIMEOUT : HF_ENV_WOKEN;
}

uint32_t hf_env_unpark(const struct hf_atomic32 *word, uint32_t n, enum hf_env_scope scope)
{
	int kept = errno;
	/* The kernel's count is signed. */
	long woken = syscall(SYS_futex, word, operation(FUTEX_WAKE, scope),
			     n < INT32_MAX ? n : INT32_MAX, NULL, NULL, 0);

	errno = kept;
	return woken > 0 ? (uint32_t)woken : 0;
}

uint64_t hf_env_deadline(uint64_t nanoseconds)
{
	uint64_t now = hf__env_now();

	return nanoseconds < HF_ENV_FOREVER - now ? now + nanoseconds : HF_ENV_FOREVER;
}

void hf_env_yield(void)
{
	(void)sched_yield();
}
