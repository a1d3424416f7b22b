/* SPDX-License-Identifier: MIT */
/*
 * sandbox - a program that allows itself, beside what it calls itself, only the system calls that
 * its arguments name: another one ends it, and is named.
 *
 * It does all for which a thread may make a system call: waits for mutexes and at condition
 * variables, with and without a limit, is cancelled, finds busy locks, ends.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 6, ROUNDS = 4000 };

static const struct {
	const char *name;
	unsigned int number;
} known[] = { { "futex", SYS_futex },
	      { "rt_sigprocmask", SYS_rt_sigprocmask },
	      { "membarrier", SYS_membarrier },
	      { "sched_yield", SYS_sched_yield },
	      { "mmap", SYS_mmap },
	      { "getpid", SYS_getpid } };

/* What this file calls, and glibc when threads end, are cancelled and joined, a process ends. */
static const unsigned int always[] = { SYS_write,   SYS_exit,      SYS_exit_group, SYS_rt_sigreturn,
				       SYS_madvise, SYS_munmap,    SYS_tgkill,     SYS_getpid,
				       SYS_futex,   SYS_newfstatat };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER, never = PTHREAD_COND_INITIALIZER;
static atomic_int started, is_limited;
static int turns, waiting;
static volatile long work_done;

/* Async-signal-safe. */
static void refused(int number, siginfo_t *info, void *context)
{
	char text[] = "system call    \n";
	int call = info->si_syscall;

	(void)number;
	(void)context;
	for (int at = 14; call; call /= 10)
		text[at--] = (char)('0' + call % 10);
	(void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
	syscall(SYS_exit_group, 43);
}

/* A thread that starts makes system calls of its own. */
static void await_limit(void)
{
	started++;
	while (!is_limited)
		;
}

static struct timespec in_us(long us)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += us * 1000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void *work(void *unused)
{
	await_limit();
	for (int i = 0; i < ROUNDS; i++) {
		struct timespec end = in_us(200);

		if (i % 16 == 1 && pthread_mutex_timedlock(&m, &end))
			continue;
		if (i % 16 != 1)
			pthread_mutex_lock(&m);
		for (volatile int k = 0; k < (i % 7 ? 30 : 30000); k++)
			work_done++;
		if (i % 5 == 0) {
			turns++;
			pthread_cond_broadcast(&c);
			end = in_us(200);
			pthread_cond_timedwait(&c, &m, &end);
		}
		pthread_mutex_unlock(&m);
	}
	return unused;
}

static void unlock(void *mutex)
{
	pthread_mutex_unlock(mutex);
}

static void *wait_forever(void *unused)
{
	await_limit();
	pthread_mutex_lock(&m);
	pthread_cleanup_push(unlock, &m);
	waiting = 1;
	for (;;)
		pthread_cond_wait(&never, &m);
	pthread_cleanup_pop(0);
	return unused;
}

static void *wait_to_be_cancelled(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void limit(int count, char **names)
{
	struct sock_filter filter[64];
	struct sock_fprog program = { .filter = filter };
	unsigned short n = 0;

	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						   offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++) {
		filter[n++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, always[i], 0, 1);
		filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	for (int i = 0; i < count; i++) {
		size_t at = 0;

		while (at < sizeof(known) / sizeof(known[0]) && strcmp(known[at].name, names[i]))
			at++;
		if (at == sizeof(known) / sizeof(known[0])) {
			printf("add %s to sandbox.c\n", names[i]);
			exit(1);
		}
		filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							   known[at].number, 0, 1);
		filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
	program.len = n;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program)) {
		printf("no seccomp: %s\n", strerror(errno));
		exit(77);
	}
}

int main(int count, char **names)
{
	struct sigaction action = { .sa_sigaction = refused, .sa_flags = SA_SIGINFO };
	pthread_t t[THREADS], cancelled;

	sigaction(SIGSYS, &action, NULL);
	alarm(300);
	(void)setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, NULL);
	/* The first cancellation of a process loads the unwinder. */
	pthread_create(&cancelled, NULL, wait_to_be_cancelled, NULL);
	pthread_cancel(cancelled);
	pthread_join(cancelled, NULL);
	pthread_create(&cancelled, NULL, wait_forever, NULL);
	while (started < THREADS + 1)
		sched_yield();
	limit(count - 1, names + 1);
	is_limited = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int waits = 0; !waits;) {
		pthread_mutex_lock(&m);
		waits = waiting;
		pthread_mutex_unlock(&m);
	}
	pthread_cancel(cancelled);
	pthread_join(cancelled, NULL);
	puts("done");
	return 0;
}
