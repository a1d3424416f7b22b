/* SPDX-License-Identifier: MIT */
/*
 * faults - misuses locks in the way that its argument says, or does with them what is no misuse.
 * Ends with "done", unless a call had another effect than with glibc's, or changed errno.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "parked.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

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
static void reuse(void)
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

static void *reuse_held(void *byte)
{
	static union {
		pthread_mutex_t m;
		char bytes[sizeof(pthread_mutex_t)];
	} memory;

	memset(&memory, 0, sizeof(memory));
	pthread_mutex_lock(&memory.m);
	memset(&memory, *(const char *)byte, sizeof(memory));
	take_both(&one, &two);
	for (size_t i = 0; i < sizeof(memory); i++)
		expect(memory.bytes[i] == *(const char *)byte, "the memory was written");
	return NULL;
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

static void gate(void)
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

static void misuse_rwlock(void)
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

static void lock_own_until(void)
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
static void unlock_by_another(void)
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
static void around(pthread_mutex_t *gate, int is_passed)
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
static void pairs(void)
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

/*
 * Code that was made at run time, as a JIT compiler does, right behind the program in memory: it is
 * none of the program's functions. (Its copy needs no relocation: it calls what it is given.)
 */
extern const char end[]; /* of the program's data: the linker's */
extern const char __start_copied[], __stop_copied[];

static __attribute__((noinline, section("copied"))) int lock_by(int (*lock)(pthread_mutex_t *),
								pthread_mutex_t *m)
{
	int error = lock(m);

	__asm__ volatile("" ::: "memory"); /* not a tail call */
	return error;
}

static void run_made_code(void)
{
	uintptr_t page = (uintptr_t)getpagesize(),
		  behind = ((uintptr_t)end + page - 1) & ~(page - 1);
	size_t bytes = (size_t)(__stop_copied - __start_copied);
	size_t offset = (size_t)((const char *)(uintptr_t)lock_by - __start_copied);
	char *memory = mmap((void *)behind, page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	int (*made)(int (*)(pthread_mutex_t *), pthread_mutex_t *);

	if (memory != (char *)behind || bytes > page) {
		puts("the memory behind the program is in use");
		exit(77);
	}
	memcpy(memory, __start_copied, bytes);
	__builtin___clear_cache(memory, memory + bytes);
	(void)mprotect(memory, page, PROT_READ | PROT_EXEC);
	memory += offset;
	memcpy(&made, &memory, sizeof(made));
	take_both(&one, &two);
	(void)made(pthread_mutex_lock, &two);
	(void)made(pthread_mutex_lock, &one);
}

static pthread_mutex_t first_used = PTHREAD_MUTEX_INITIALIZER;

static void lock_in_handler(int signal)
{
	(void)signal;
	pthread_mutex_lock(&first_used);
	pthread_mutex_unlock(&first_used);
}

/* A handler on an alternate stack uses a mutex for the first time, so a stack is taken there. */
static void lock_on_alternate_stack(void)
{
	static char memory[65536]; /* far below the thread's own stack */
	stack_t alternate = { .ss_sp = memory, .ss_size = sizeof(memory) };
	struct sigaction action = { .sa_handler = lock_in_handler, .sa_flags = SA_ONSTACK };

	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	pthread_kill(pthread_self(), SIGUSR1);
}

/* A child makes a mutex in shared memory, at a place whose number this process does not have. */
static void lock_of_another(void)
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

int main(int count, char **arguments)
{
	const char *what = count > 1 ? arguments[1] : "";

	make_one();
	start_thread_two();
	if (strcmp(what, "closed") == 0)
		close(STDERR_FILENO); /* the report's write() sets errno */
	errno = 77;
	if (strcmp(what, "order") == 0 || strcmp(what, "twice") == 0 ||
	    strcmp(what, "closed") == 0) {
		take_both(&one, &two);
		take_both(&two, &one);
	}
	if (strcmp(what, "twice") == 0 || strcmp(what, "recursion") == 0) {
		pthread_mutex_lock(&one);
		pthread_mutex_lock(&one); /* a deadlock, if nobody grants it */
		pthread_mutex_unlock(&one);
		pthread_mutex_unlock(&one);
	}
	if (strcmp(what, "owner") == 0)
		unlock_by_another();
	if (strcmp(what, "gate") == 0)
		gate();
	if (strcmp(what, "rwlock") == 0)
		misuse_rwlock();
	if (strcmp(what, "limit") == 0)
		lock_own_until();
	if (strcmp(what, "unmapped") == 0)
		in_thread(unmap, NULL);
	if (strcmp(what, "zeroed") == 0)
		in_thread(reuse_held, (char[]){ 0 });
	if (strcmp(what, "overwritten") == 0)
		in_thread(reuse_held, (char[]){ 'x' });
	if (strcmp(what, "unheld") == 0) {
		take_both(&one, &two);
		pthread_mutex_unlock(&one);
	}
	if (strcmp(what, "end") == 0)
		in_thread(keep, &one);
	if (strcmp(what, "reuse") == 0)
		reuse();
	if (strcmp(what, "alternate") == 0)
		lock_on_alternate_stack();
	if (strcmp(what, "another") == 0)
		lock_of_another();
	if (strcmp(what, "around") == 0)
		around(NULL, 0);
	if (strcmp(what, "guarded") == 0)
		around(&many[0], 0);
	if (strcmp(what, "once") == 0)
		around(&many[0], 1);
	if (strcmp(what, "pairs") == 0)
		pairs();
	if (strcmp(what, "made") == 0)
		run_made_code();
	/* One class, with more locks than there is room for pairs; then the wrong order. */
	if (strcmp(what, "many") == 0) {
		for (int i = 0; i < 10000; i++)
			wrapped_init(&many[i]);
		for (int i = 0; i < 10000; i++)
			take_both(&many[i], &one);
		take_both(&one, &many[5000]);
	}
	expect(errno == 77, "errno has changed");
	puts("done");
	return 0;
}
