/* SPDX-License-Identifier: MIT */
/*
 * faults - misuses locks in the way that its argument says, or does with them what is no misuse.
 * Ends with "done", unless a call had another effect than with glibc's, or changed errno.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"
#include "parked.h"

static pthread_mutex_t one, two, many[10000];

static void expect(int good, const char *what)
{
	if (good)
		return;
	puts(what);
	exit(1);
}

/* All mutexes of a program made in one wrapper: its caller tells them apart. */
static __attribute__((noinline)) void wrapped_init(pthread_mutex_t *m)
{
	pthread_mutex_init(m, NULL);
	__asm__ volatile("" ::: "memory"); /* not a tail call */
}

static __attribute__((noinline)) void make_one(void)
{
	wrapped_init(&one);
	__asm__ volatile("" ::: "memory");
}

/* The name begins like that of glibc's start_thread(), at which a stack ends. */
static __attribute__((noinline)) void start_thread_two(void)
{
	wrapped_init(&two);
	__asm__ volatile("" ::: "memory");
}

static void take_both(pthread_mutex_t *first, pthread_mutex_t *second)
{
	pthread_mutex_lock(first);
	pthread_mutex_lock(second);
	pthread_mutex_unlock(second);
	pthread_mutex_unlock(first);
}

static void *unlock(void *m)
{
	pthread_mutex_unlock(m);
	return NULL;
}

static void *keep(void *m)
{
	pthread_mutex_lock(m);
	return NULL;
}

static void in_thread(void *(*function)(void *), void *argument)
{
	pthread_t t;

	pthread_create(&t, NULL, function, argument);
	pthread_join(t, NULL);
}

/* A mutex of memory that was another mutex, without destroy or init. */
CASE(reuse)
{
	pthread_mutex_t *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));

	take_both(a, b);
	memset(a, 0, sizeof(*a));
	memset(b, 0, sizeof(*b));
	take_both(b, a);
	free(a);
	free(b);
}

/*
 * Mutexes that are gone while they are held, as objects that are torn down under their own lock:
 * nobody may look at that memory again, neither at the next lock nor at the thread's end.
 */
static void *unmap(void *unused)
{
	pthread_mutex_t *m =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	pthread_mutex_init(m, NULL);
	pthread_mutex_lock(m);
	mprotect(m, 4096, PROT_NONE); /* as unmapped, but nothing else comes there */
	take_both(&one, &two);
	return unused;
}

static void *reuse_held(void *unused)
{
	static union {
		pthread_mutex_t m;
		char bytes[sizeof(pthread_mutex_t)];
	} memory;

	pthread_mutex_lock(&memory.m);
	memset(&memory, 0, sizeof(memory));
	take_both(&one, &two);
	for (size_t i = 0; i < sizeof(memory); i++)
		expect(memory.bytes[i] == 0, "the memory was written");
	return unused;
}

/* A thread locks a mutex twice: the second lock waits until another thread unlocks it. */
static pid_t first_thread;
static int is_open;

static void *open_gate(void *unused)
{
	await_parked(first_thread);
	is_open = 1;
	pthread_mutex_unlock(&one);
	return unused;
}

CASE(gate)
{
	pthread_t t;

	first_thread = getpid();
	pthread_mutex_lock(&one);
	pthread_create(&t, NULL, open_gate, NULL);
	pthread_mutex_lock(&one);
	expect(is_open, "the gate was passed");
	pthread_mutex_unlock(&one);
	pthread_join(t, NULL);
}

static struct timespec in_a_second(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec++;
	return end;
}

static void *keep_reading(void *lock)
{
	pthread_rwlock_rdlock(lock);
	return NULL;
}

CASE(rwlock)
{
	static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
	struct timespec end = in_a_second();

	pthread_rwlock_rdlock(&rw);
	pthread_mutex_lock(&one);
	pthread_mutex_unlock(&one);
	expect(pthread_rwlock_timedwrlock(&rw, &end) == ETIMEDOUT, "a writer of what it reads");
	pthread_rwlock_unlock(&rw);
	pthread_mutex_lock(&one);
	pthread_rwlock_wrlock(&rw);
	pthread_rwlock_unlock(&rw);
	pthread_mutex_unlock(&one);
	in_thread(keep_reading, &rw);
}

CASE(limit)
{
	struct timespec end = in_a_second();

	pthread_mutex_lock(&one);
	expect(pthread_mutex_trylock(&one) == EBUSY, "trylock of its own");
	expect(pthread_mutex_timedlock(&one, &end) == ETIMEDOUT, "a limit on its own");
	pthread_mutex_unlock(&one);
	expect(pthread_mutex_trylock(&one) == 0, "it stays locked");
	pthread_mutex_unlock(&one);
}

/* What one thread has locked, and another one unlocks, is unlocked. */
CASE(owner)
{
	pthread_mutex_lock(&one);
	in_thread(unlock, &one);
	expect(pthread_mutex_trylock(&one) == 0, "it was not unlocked");
	pthread_mutex_unlock(&one);
}

/* @gate: NULL = none */
static void take_under(pthread_mutex_t *gate, pthread_mutex_t *first, pthread_mutex_t *second)
{
	if (gate)
		pthread_mutex_lock(gate);
	pthread_mutex_lock(first);
	pthread_mutex_lock(second);
	pthread_mutex_unlock(second);
	pthread_mutex_unlock(first);
	if (gate)
		pthread_mutex_unlock(gate);
}

/* Three mutexes in a circle: under a gate no fault; once two of its pairs have none, it is one. */
static void go_around(pthread_mutex_t *gate, int is_passed)
{
	static pthread_mutex_t three;

	take_both(&one, &two);
	take_under(gate, &two, &three);
	take_under(gate, &three, &one);
	if (is_passed) {
		take_both(&two, &three);
		take_under(NULL, &three, &one);
	}
}

/*
 * Every pair of some mutexes, each in one order, which is not that of their first use for each:
 * pairs whose identities have the same sum, or another simple one, are different pairs.
 */
CASE(pairs)
{
	enum { COUNT = 24 };
	static pthread_mutex_t all[COUNT];

	for (int i = 1; i < COUNT; i++)
		take_both(&all[0], &all[i]);
	for (int i = COUNT - 1; i > 0; i--) {
		for (int j = i - 1; j > 0; j--)
			take_both(&all[i], &all[j]);
	}
}

static pthread_mutex_t first_used = PTHREAD_MUTEX_INITIALIZER;

static void lock_in_handler(int signal)
{
	(void)signal;
	pthread_mutex_lock(&first_used);
	pthread_mutex_unlock(&first_used);
}

/* A handler on an alternate stack uses a mutex for the first time, so a stack is taken there. */
CASE(alternate)
{
	static char memory[65536]; /* far below the thread's own stack */
	stack_t alternate = { .ss_sp = memory, .ss_size = sizeof(memory) };
	struct sigaction action = { .sa_handler = lock_in_handler, .sa_flags = SA_ONSTACK };

	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	pthread_kill(pthread_self(), SIGUSR1);
}

/* A child makes a mutex in shared memory, at a place whose number this process does not have. */
CASE(another)
{
	pthread_mutex_t *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = fork();

	if (child == 0) {
		static pthread_mutex_t more[300] = { PTHREAD_MUTEX_INITIALIZER };

		for (int i = 0; i < 300; i++) {
			pthread_mutex_lock(&more[i]);
			pthread_mutex_unlock(&more[i]);
		}
		pthread_mutex_init(shared, NULL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	pthread_mutex_lock(shared);
	pthread_mutex_unlock(shared);
}

CASE(around)
{
	go_around(NULL, 0);
}

CASE(guarded)
{
	go_around(&many[0], 0);
}

CASE(once)
{
	go_around(&many[0], 1);
}

CASE(order)
{
	take_both(&one, &two);
	take_both(&two, &one);
}

/* The report's write() sets errno. */
CASE(closed)
{
	close(STDERR_FILENO);
	errno = 77;
	case_order();
}

CASE(recursion)
{
	pthread_mutex_lock(&one);
	pthread_mutex_lock(&one); /* a deadlock, if nobody grants it */
	pthread_mutex_unlock(&one);
	pthread_mutex_unlock(&one);
}

CASE(unmapped)
{
	in_thread(unmap, NULL);
}

CASE(zeroed)
{
	in_thread(reuse_held, NULL);
}

CASE(unheld)
{
	take_both(&one, &two);
	pthread_mutex_unlock(&one);
}

CASE(end)
{
	in_thread(keep, &one);
}

/* One class, with more locks than there is room for pairs; then the wrong order. */
CASE(many)
{
	for (int i = 0; i < 10000; i++)
		wrapped_init(&many[i]);
	for (int i = 0; i < 10000; i++)
		take_both(&many[i], &one);
	take_both(&one, &many[5000]);
}

int main(int count, char **arguments)
{
	make_one();
	start_thread_two();
	errno = 77;
	if (count > 1)
		(void)run_case(arguments[1]);
	expect(errno == 77, "errno has changed");
	puts("done");
	return 0;
}
