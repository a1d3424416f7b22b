/* SPDX-License-Identifier: MIT */
/* linux_user_parking - futexes, membarrier, signals, deadlines. */
#define _GNU_SOURCE /* sched_getcpu */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "holdfast/internal/atomic.h"

#include "../env/env.h"

/* Newer 32-bit processors have only the system call with a 64-bit time. */
#if !defined(SYS_futex) && defined(SYS_futex_time64)
#define SYS_futex SYS_futex_time64
#endif

/* From <linux/futex.h>, which musl-gcc does not find. */
enum {
	HF_DETAIL_FUTEX_WAKE = 1,
	HF_DETAIL_FUTEX_CMP_REQUEUE = 4,
	HF_DETAIL_FUTEX_WAIT_BITSET = 9,
	HF_DETAIL_FUTEX_PRIVATE_FLAG = 128,
};
#define HF_DETAIL_FUTEX_BITSET_MATCH_ANY 0xffffffffu

static int operation(int what, enum hf_env_scope scope)
{
	return scope == HF_ENV_SHARED ? what : what | HF_DETAIL_FUTEX_PRIVATE_FLAG;
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
		/* WAIT_BITSET takes an absolute time: restarts after a signal don't lengthen it. */
		error = syscall(SYS_futex, word, operation(HF_DETAIL_FUTEX_WAIT_BITSET, scope),
				expected, deadline == HF_ENV_FOREVER ? NULL : &when, NULL,
				HF_DETAIL_FUTEX_BITSET_MATCH_ANY);
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
	long woken = syscall(SYS_futex, word, operation(HF_DETAIL_FUTEX_WAKE, scope),
			     n < INT32_MAX ? n : INT32_MAX, NULL, NULL, 0);

	errno = kept;
	return woken > 0 ? (uint32_t)woken : 0;
}

void hf_env_requeue(const struct hf_atomic32 *word, uint32_t expected, const struct hf_atomic32 *to,
		    enum hf_env_scope scope)
{
	int kept = errno;

	if (syscall(SYS_futex, word, operation(HF_DETAIL_FUTEX_CMP_REQUEUE, scope), 1, INT32_MAX,
		    to, expected) < 0)
		(void)hf_env_unpark(word, UINT32_MAX, scope);
	errno = kept;
}

uint64_t hf_env_deadline(uint64_t nanoseconds)
{
	uint64_t now = hf_detail_env_now();

	return nanoseconds < HF_ENV_FOREVER - now ? now + nanoseconds : HF_ENV_FOREVER;
}

uint32_t hf_env_processor(void)
{
	int processor = sched_getcpu();

	return processor > 0 ? (uint32_t)processor : 0;
}

void hf_env_yield(void)
{
	(void)sched_yield();
}

/* From <linux/membarrier.h>, which old systems lack. */
enum { PRIVATE_EXPEDITED = 1 << 3, REGISTER_PRIVATE_EXPEDITED = 1 << 4 };

static bool barrier(void)
{
#ifdef SYS_membarrier
	if (syscall(SYS_membarrier, PRIVATE_EXPEDITED, 0, 0) == 0)
		return true;
	/* Not registered yet, or not allowed any more: a program may enter a sandbox any time. */
	return errno == EPERM && syscall(SYS_membarrier, REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
	       syscall(SYS_membarrier, PRIVATE_EXPEDITED, 0, 0) == 0;
#else
	return false;
#endif
}

bool hf_env_barrier_all(void)
{
	/* It interrupts all processors that run this process, so spend at most 1/8 of the time. */
	static hf_atomic64_t earliest = HF_ATOMIC_INIT(0);
	uint64_t start = hf_detail_env_now(), end;
	int kept = errno;
	bool done;

	if (start < hf_atomic64_load_relaxed(&earliest))
		return false;
	done = barrier();
	errno = kept;
	end = hf_detail_env_now();
	hf_atomic64_store_relaxed(&earliest, end + 7 * (end - start));
	return done;
}

/* Use the kernel's mask of 64 signals: libc's functions leave out those that libc itself uses. */
uint64_t hf_env_signals_block(void)
{
	uint64_t all = UINT64_MAX, before = 0;

	(void)syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof(before));
	return before;
}

void hf_env_signals_restore(uint64_t before)
{
	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
}
