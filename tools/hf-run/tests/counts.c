/* SPDX-License-Identifier: MIT */
/* counts - locks a known number of times, then ends in the way that its argument says. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"
#include "parked.h"

enum { THREADS = 4, EACH = 1000, MADE = 3, MANY = 10000, WRAPPED = 10 };

static pthread_mutex_t known = PTHREAD_MUTEX_INITIALIZER, recursive, made[MADE];
static pthread_cond_t unheard = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t relocked = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t signalled = PTHREAD_COND_INITIALIZER;

static void *work(void *unused)
{
	for (int i = 0; i < EACH; i++) {
		pthread_mutex_lock(&known);
		pthread_mutex_unlock(&known);
		pthread_mutex_lock(&made[i % MADE]);
		pthread_mutex_unlock(&made[i % MADE]);
	}
	for (int i = 0; i < 10; i++)
		pthread_cond_signal(&unheard);
	return unused;
}

/* One thread waits for another, which holds the mutex for some milliseconds. */
static void *hold(void *barrier)
{
	pthread_mutex_lock(&known);
	pthread_barrier_wait(barrier); /* from here on the other thread runs, until it parks */
	await_parked(getpid());
	usleep(20000);
	pthread_mutex_unlock(&known);
	return NULL;
}

static void wait_once(void)
{
	pthread_barrier_t barrier;
	pthread_t t;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&t, NULL, hold, &barrier);
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&known);
	pthread_mutex_unlock(&known);
	pthread_join(t, NULL);
}

/* A waiter is signalled while the mutex is held, and waits for the mutex for some milliseconds. */
static int waits, is_over;
static pid_t waiter;

static void *wait_for_signal(void *unused)
{
	pthread_mutex_lock(&relocked);
	waiter = gettid();
	waits = 1;
	while (!is_over)
		pthread_cond_wait(&signalled, &relocked);
	pthread_mutex_unlock(&relocked);
	return unused;
}

CASE(relock)
{
	pthread_t t;

	pthread_create(&t, NULL, wait_for_signal, NULL);
	while (!is_over) {
		usleep(1000);
		pthread_mutex_lock(&relocked);
		if (waits) {
			is_over = 1;
			pthread_cond_signal(&signalled);
			await_parked(waiter); /* it waits for the mutex now */
			usleep(20000);
		}
		pthread_mutex_unlock(&relocked);
	}
	pthread_join(t, NULL);
}

/* A thread gives up waiting three times. */
static void *hold_until_over(void *barrier)
{
	pthread_mutex_lock(&relocked);
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	pthread_mutex_unlock(&relocked);
	return NULL;
}

CASE(timed)
{
	pthread_barrier_t barrier;
	pthread_t t;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&t, NULL, hold_until_over, &barrier);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 3; i++) {
		struct timespec end;

		clock_gettime(CLOCK_REALTIME, &end);
		end.tv_nsec += 5000000;
		end.tv_sec += end.tv_nsec / 1000000000;
		end.tv_nsec %= 1000000000;
		if (pthread_mutex_timedlock(&relocked, &end) != ETIMEDOUT)
			exit(1);
	}
	pthread_barrier_wait(&barrier);
	pthread_join(t, NULL);
}

/* More static mutexes than fit into one page of anything, each locked twice. */
CASE(many)
{
	static pthread_mutex_t many[MANY];

	for (int i = 0; i < 2 * MANY; i++) {
		pthread_mutex_lock(&many[i % MANY]);
		pthread_mutex_unlock(&many[i % MANY]);
	}
}

/* Two functions with frames of one size call a third, which makes mutexes: two places. */
static void make_wrapped(pthread_mutex_t *mutex)
{
	pthread_mutex_init(mutex, NULL);
	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
}

static void make_first(pthread_mutex_t *mutex)
{
	make_wrapped(mutex);
}

static void make_second(pthread_mutex_t *mutex)
{
	make_wrapped(mutex);
}

CASE(wrapped)
{
	static pthread_mutex_t wrapped[2 * WRAPPED];

	for (int i = 0; i < WRAPPED; i++) {
		make_first(&wrapped[2 * i]);
		make_second(&wrapped[2 * i + 1]);
	}
}

/* A thread with the smallest stack is asked for the profile. */
static void *ask(void *unused)
{
	pthread_kill(pthread_self(), SIGUSR2);
	return unused;
}

CASE(small)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	if (pthread_attr_setstacksize(&attr, (size_t)sysconf(_SC_THREAD_STACK_MIN)) ||
	    pthread_create(&t, &attr, ask, NULL))
		exit(1);
	pthread_join(t, NULL);
}

/* A thread's first lock is interrupted by a handler that locks, too. */
static pthread_mutex_t of_handler = PTHREAD_MUTEX_INITIALIZER;
static volatile int has_begun;

static void lock_in_handler(int number)
{
	(void)number;
	if (pthread_mutex_trylock(&of_handler) == 0)
		pthread_mutex_unlock(&of_handler);
}

static void *begin(void *unused)
{
	pthread_mutex_lock(&relocked);
	pthread_mutex_unlock(&relocked);
	has_begun = 1;
	return unused;
}

CASE(begins)
{
	signal(SIGUSR1, lock_in_handler);
	for (int i = 0; i < 20; i++) {
		pthread_t t;

		has_begun = 0;
		pthread_create(&t, NULL, begin, NULL);
		usleep((unsigned)i * 10); /* not always before it begins */
		while (!has_begun)
			pthread_kill(t, SIGUSR1);
		pthread_join(t, NULL);
	}
}

/* Standard error is a pipe whose reader is gone. */
CASE(closed_pipe)
{
	int ends[2];

	if (pipe(ends))
		exit(1);
	dup2(ends[1], STDERR_FILENO);
	close(ends[0]);
	raise(SIGUSR2);
}

/* Standard error is a full pipe that does not block. Its reader comes late, and finds all lines. */
CASE(full_pipe)
{
	static char text[1 << 20];
	size_t len = 0;
	int ends[2], status;
	pid_t reader;

	if (pipe(ends))
		exit(1);
	reader = fork();
	if (!reader) {
		close(ends[1]);
		usleep(100000);
		for (ssize_t n; (n = read(ends[0], text + len, sizeof(text) - len - 1)) > 0;)
			len += (size_t)n;
		_exit(strstr(text, "wait_once < work_in_threads < main") ? 0 : 1);
	}
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	while (write(ends[1], "x", 1) == 1)
		;
	dup2(ends[1], STDERR_FILENO);
	raise(SIGUSR2);
	close(ends[1]);
	close(STDERR_FILENO);
	if (waitpid(reader, &status, 0) != reader || status)
		exit(1);
}

/* Each kind of wait once without one, and once until another thread has seen this one wait. */
static pthread_rwlock_t read_write = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static pthread_barrier_t both;
static pthread_once_t never = PTHREAD_ONCE_INIT, slow = PTHREAD_ONCE_INIT;
static atomic_int word, step;

static void await_main(void)
{
	await_parked(getpid());
}

static void do_nothing(void)
{
}

/* Without sleep: a thread that sleeps is one that waits, for await_main(). */
static void await_step(int which)
{
	while (step != which)
		sched_yield();
}

static void *end_each_wait(void *unused)
{
	pthread_rwlock_wrlock(&read_write);
	for (int i = 1; i <= 2; i++) {
		step = 2 * i - 1;
		await_main(); /* it is about to read, and then to write */
		pthread_rwlock_unlock(&read_write);
		await_step(2 * i);
		if (i == 1)
			pthread_rwlock_rdlock(&read_write);
	}
	await_main();
	sem_post(&semaphore);
	await_step(5);
	await_main();
	pthread_barrier_wait(&both);
	await_step(6);
	pthread_once(&slow, await_main);
	await_step(8);
	await_main();
	word = 1;
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	await_step(9);
	await_main(); /* it joins this thread */
	return unused;
}

CASE(waits)
{
	pthread_t t;

	sem_init(&semaphore, 0, 1);
	pthread_barrier_init(&both, NULL, 2);
	pthread_rwlock_rdlock(&read_write);
	pthread_rwlock_unlock(&read_write);
	pthread_rwlock_wrlock(&read_write);
	pthread_rwlock_unlock(&read_write);
	sem_wait(&semaphore);
	pthread_once(&never, do_nothing);
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0); /* it is not 1 */
	pthread_create(&t, NULL, end_each_wait, NULL);
	await_step(1);
	pthread_rwlock_rdlock(&read_write);
	pthread_rwlock_unlock(&read_write);
	step = 2;
	await_step(3);
	pthread_rwlock_wrlock(&read_write);
	pthread_rwlock_unlock(&read_write);
	step = 4;
	sem_wait(&semaphore);
	step = 5;
	pthread_barrier_wait(&both);
	step = 6;
	while (!(slow & 1))
		;
	pthread_once(&slow, do_nothing);
	step = 8;
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	step = 9;
	pthread_join(t, NULL);
}

/* Two threads, of which one never locks. */
static void *sleep_once(void *unused)
{
	usleep(100000);
	return unused;
}

CASE(sleeps)
{
	pthread_t t;

	pthread_create(&t, NULL, sleep_once, NULL);
	usleep(150000);
	pthread_join(t, NULL);
}

static void work_in_threads(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	wait_once();
}

/* ---- ends ----------------------------------------------------------------------------------- */

static char *program;

/* Starts a copy of the program, which removes its file. */
CASE(deleted)
{
	char copy[4096], command[9000];

	(void)snprintf(copy, sizeof(copy), "%s.%d", program, (int)getpid());
	(void)snprintf(command, sizeof(command), "cp %s %s", program, copy);
	if (system(command) == 0)
		execl(copy, copy, "unlinked", NULL);
	exit(1);
}

CASE(unlinked)
{
	unlink(program);
}

CASE(_exit)
{
	_exit(7);
}

CASE(quick_exit)
{
	quick_exit(7);
}

CASE(kill)
{
	kill(getpid(), SIGTERM);
}

/* Asks for the handlers, as programs do that only replace the default; and sets the default. */
CASE(interrupt)
{
	const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR2 };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct sigaction action;

		memset(&action, 0xff, sizeof(action));
		if (sigaction(numbers[i], NULL, &action) || action.sa_handler != SIG_DFL ||
		    action.sa_flags || sigismember(&action.sa_mask, SIGINT) ||
		    sigaction(numbers[i], &action, NULL) ||
		    signal(numbers[i], SIG_IGN) != SIG_DFL ||
		    signal(numbers[i], SIG_DFL) != SIG_IGN ||
		    signal(numbers[i], SIG_DFL) != SIG_DFL)
			exit(1);
	}
	raise(SIGINT);
}

CASE(request)
{
	kill(getpid(), SIGUSR2);
	kill(getpid(), SIGKILL);
}

CASE(fork)
{
	pid_t child = fork();

	if (!child) {
		work_in_threads();
		exit(3);
	}
	waitpid(child, NULL, 0);
}

CASE(vfork)
{
	if (!vfork())
		_exit(3);
}

int main(int count, char **arguments)
{
	pthread_mutexattr_t attr;

	program = arguments[0];
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&recursive, &attr);
	for (int i = 0; i < MADE; i++)
		pthread_mutex_init(&made[i], NULL);
	for (int i = 0; i < 3; i++)
		pthread_mutex_lock(&recursive); /* counts once */
	for (int i = 0; i < 3; i++)
		pthread_mutex_unlock(&recursive);
	work_in_threads();
	if (count > 1)
		(void)run_case(arguments[1]);
	return 7;
}
