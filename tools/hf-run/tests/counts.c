/* SPDX-License-Identifier: MIT */
/* counts - locks a known number of times, then ends in the way that its argument says. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "parked.h"

enum { THREADS = 4, EACH = 1000, MADE = 3 };

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

static void signal_and_hold(void)
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

static void give_up(void)
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

/* Asks for the handlers, as programs do that only replace the default; and sets the default. */
static void check_handlers(void)
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

/* As a shell does. Prints how many pages the children touched, a child. */
static void fork_often(void)
{
	enum { CHILDREN = 50 };
	struct rusage usage;

	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();

		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	getrusage(RUSAGE_CHILDREN, &usage);
	printf("%ld\n", usage.ru_minflt / CHILDREN);
}

int main(int count, char **arguments)
{
	const char *how = count > 1 ? arguments[1] : "exit";
	pthread_mutexattr_t attr;

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
	if (strcmp(how, "relock") == 0)
		signal_and_hold();
	if (strcmp(how, "_exit") == 0)
		_exit(7);
	if (strcmp(how, "quick_exit") == 0)
		quick_exit(7);
	if (strcmp(how, "kill") == 0)
		kill(getpid(), SIGTERM);
	if (strcmp(how, "interrupt") == 0) {
		check_handlers();
		raise(SIGINT);
	}
	if (strcmp(how, "forks") == 0)
		fork_often();
	if (strcmp(how, "timed") == 0)
		give_up();
	if (strcmp(how, "request") == 0) {
		kill(getpid(), SIGUSR2);
		kill(getpid(), SIGKILL);
	}
	if (strcmp(how, "fork") == 0) {
		pid_t child = fork();

		if (!child) {
			work_in_threads();
			return 3;
		}
		waitpid(child, NULL, 0);
	}
	if (strcmp(how, "vfork") == 0 && !vfork())
		_exit(3);
	return 7;
}
