/* SPDX-License-Identifier: MIT */
/*
 * linux_user - what the library asks of Linux user space: the clock, processors and their features,
 * futexes, membarrier, signals, memory. No function changes errno: a sandbox may answer any system
 * call with an error, and a program does not expect it to change across a lock.
 */
#define _GNU_SOURCE /* sched_getcpu */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "holdfast/internal/arch.h"
#include "holdfast/internal/atomic.h"

#include "../cpu/cpu.h"
#include "env.h"

/* The result of a system call, or -errno; errno is kept. */
#define QUIETLY(call)                                                                              \
	__extension__({                                                                            \
		int hf_kept = errno;                                                               \
		long hf_result = (call);                                                           \
                                                                                                   \
		if (hf_result < 0)                                                                 \
			hf_result = -errno;                                                        \
		errno = hf_kept;                                                                   \
		hf_result;                                                                         \
	})

/* ---- the clock, processors ---------------------------------------------------------------- */

uint64_t hf_detail_env_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t hf_env_deadline(uint64_t nanoseconds)
{
	uint64_t now = hf_detail_env_now();

	return nanoseconds < HF_ENV_FOREVER - now ? now + nanoseconds : HF_ENV_FOREVER;
}

uint32_t hf_detail_spin_rate = 65536 / HF_ARCH_HINT_NS;
uint32_t hf_detail_processors = 1;

/* Takes a few microseconds. Uses the shortest of several batches: an interrupt lengthens one. */
static void find_rate(void)
{
	enum { BATCHES = 4, HINTS = 64, LEAST = 65536 / 256, MOST = 65536 * 4 };
	uint64_t least = UINT64_MAX, rate;

	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t start = hf_detail_env_now(), took;

		for (int i = 0; i < HINTS; i++)
			hf_arch_relax();
		took = hf_detail_env_now() - start;
		if (took < least)
			least = took;
	}
	rate = HINTS * (uint64_t)65536 / (least ? least : 1);
	hf_detail_spin_rate = (uint32_t)(rate < LEAST ? LEAST : rate > MOST ? MOST : rate);
}

/* A container or taskset may limit them. By the system call: libc's mask has 1,024 bits only. */
static void count_processors(void)
{
	enum { WORDS = 256 };
	unsigned long set[WORDS];
	long bytes = QUIETLY(syscall(SYS_sched_getaffinity, 0, sizeof(set), set));
	uint32_t n = 0;

	for (long i = 0; i < bytes / (long)sizeof(set[0]); i++)
		n += (uint32_t)__builtin_popcountl(set[i]);
	if (n)
		hf_detail_processors = n;
}

uint32_t hf_env_processor(void)
{
	long processor = QUIETLY(sched_getcpu());

	return processor > 0 ? (uint32_t)processor : 0;
}

uint64_t hf_env_thread(void)
{
	return (uint64_t)(uintptr_t)pthread_self();
}

/* Asks again from time to time: any thread or process may change the class. */
bool hf_env_is_real_time(void)
{
	static __thread uint8_t calls __attribute__((tls_model("initial-exec")));
	static __thread bool is_real_time __attribute__((tls_model("initial-exec")));
	int kept = errno, policy;

	if (calls++ % 64 == 0) {
		/* musl's sched_getscheduler() only fails. */
		policy = (int)syscall(SYS_sched_getscheduler, 0) & ~SCHED_RESET_ON_FORK;
		is_real_time = policy == SCHED_FIFO || policy == SCHED_RR ||
			       policy == SCHED_DEADLINE;
		errno = kept;
	}
	return is_real_time;
}

void hf_env_yield(void)
{
	(void)QUIETLY(sched_yield());
}

void hf_detail_env_hide_features(void)
{
	static const char variable[] = "HOLDFAST_CPU_WITHOUT";
	static bool done;
	const char *value = hf_detail_env_variable(variable);

	if (value && !done && !hf_detail_cpu_hide(value))
		hf_detail_env_warn(
			variable, value,
			": not all of these are known; see holdfast/internal/cpu_feature.h\n");
	done = true;
}

__attribute__((constructor(101))) static void start_env(void)
{
	find_rate();
	count_processors();
	hf_detail_env_hide_features();
}

/* ---- parking ------------------------------------------------------------------------------ */

/* From <linux/futex.h>, which musl-gcc does not find. */
enum { WAKE = 1, CMP_REQUEUE = 4, WAIT_BITSET = 9, PRIVATE_FLAG = 128 };
#define MATCH_ANY 0xffffffffu

static int operation(int what, enum hf_env_scope scope)
{
	return scope == HF_ENV_SHARED ? what : what | PRIVATE_FLAG;
}

enum hf_env_parked hf_env_park(const struct hf_atomic32 *word, uint32_t expected, uint64_t deadline,
			       enum hf_env_scope scope)
{
	struct timespec when;
	long error;

	when.tv_sec = (time_t)(deadline / 1000000000u);
	when.tv_nsec = (long)(deadline % 1000000000u);
	do { /* WAIT_BITSET takes an absolute time: restarts after a signal don't lengthen it. */
		error = QUIETLY(syscall(SYS_futex, word, operation(WAIT_BITSET, scope), expected,
					deadline == HF_ENV_FOREVER ? NULL : &when, NULL,
					MATCH_ANY));
	} while (error == -EINTR);
	if (error == -EAGAIN)
		return HF_ENV_CHANGED;
	return error == -ETIMEDOUT ? HF_ENV_TIMEOUT : HF_ENV_WOKEN;
}

enum { PAUSE_YIELDS = 16, PAUSE_NS = 50000 };

void hf_detail_env_pause(uint32_t n)
{
	static const hf_atomic32_t never = HF_ATOMIC_INIT(0); /* nobody wakes its waiters */

	if (n < PAUSE_YIELDS)
		hf_env_yield();
	else
		(void)hf_env_park(&never, 0, hf_env_deadline(PAUSE_NS), HF_ENV_PRIVATE);
}

uint32_t hf_env_unpark(const struct hf_atomic32 *word, uint32_t n, enum hf_env_scope scope)
{
	/* The kernel's count is signed. */
	long woken = QUIETLY(syscall(SYS_futex, word, operation(WAKE, scope),
				     n < INT32_MAX ? n : INT32_MAX, NULL, NULL, 0));

	return woken > 0 ? (uint32_t)woken : 0;
}

void hf_env_requeue(const struct hf_atomic32 *word, uint32_t expected, const struct hf_atomic32 *to,
		    enum hf_env_scope scope)
{
	if (QUIETLY(syscall(SYS_futex, word, operation(CMP_REQUEUE, scope), 1, INT32_MAX, to,
			    expected)) < 0)
		(void)hf_env_unpark(word, UINT32_MAX, scope);
}

/* From <linux/membarrier.h>, which old systems lack. */
enum { PRIVATE_EXPEDITED = 1 << 3, REGISTER_PRIVATE_EXPEDITED = 1 << 4 };

static bool barrier(void)
{
#ifdef SYS_membarrier
	long error = QUIETLY(syscall(SYS_membarrier, PRIVATE_EXPEDITED, 0, 0));

	/* Not registered yet, or not allowed any more: a program may enter a sandbox any time. */
	if (error == -EPERM)
		error = QUIETLY(syscall(SYS_membarrier, REGISTER_PRIVATE_EXPEDITED, 0, 0) ||
				syscall(SYS_membarrier, PRIVATE_EXPEDITED, 0, 0));
	return error == 0;
#else
	return false;
#endif
}

/*
 * It interrupts all processors that run this process, so spend at most 1/8 of the time. One that
 * returns sooner than an interrupt could have been answered has interrupted none.
 */
enum { BARRIER_ALONE_NS = 1000 };
static hf_atomic64_t earliest_barrier = HF_ATOMIC_INIT(0);

bool hf_env_barrier_all(void)
{
	return hf_detail_env_now() >= hf_atomic64_load_relaxed(&earliest_barrier) &&
	       hf_env_barrier_now();
}

bool hf_env_barrier_now(void)
{
	uint64_t start = hf_detail_env_now(), end;
	bool done = barrier();

	end = hf_detail_env_now();
	if (end - start > BARRIER_ALONE_NS)
		hf_atomic64_store_relaxed(&earliest_barrier, end + 7 * (end - start));
	return done;
}

uint64_t hf_detail_env_thread(void)
{
	return (uint64_t)(uint32_t)getpid() << 32 | (uint32_t)syscall(SYS_gettid);
}

bool hf_detail_env_thread_is_gone(uint64_t thread)
{
	return QUIETLY(syscall(SYS_tgkill, thread >> 32, (uint32_t)thread, 0)) == -ESRCH;
}

/* Use the kernel's mask of 64 signals: libc's functions leave out those that libc itself uses. */
uint64_t hf_env_signals_block(void)
{
	uint64_t all = UINT64_MAX, before = 0;

	(void)QUIETLY(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof(before)));
	return before;
}

void hf_env_signals_restore(uint64_t before)
{
	(void)QUIETLY(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before)));
}
