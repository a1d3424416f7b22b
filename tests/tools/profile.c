/* SPDX-License-Identifier: MIT */
/*
 * profile - programs whose contention profile is known: run by profile.py.
 *
 *   profile CASE [PLUGIN...]
 *
 * Contention is forced: a thread releases the lock only after the others are seen to wait, so the
 * counts are exact on any machine. Each line of output, "NAME ADDRESS WAITS FUNCTION BASE", is an
 * expected entry of the profile: this many waits for the lock at this address, in this function
 * unless it is "-"; BASE is where the object that contains the lock is mapped.
 */
#define _GNU_SOURCE /* dladdr() */
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/parking/parking.h"
#include "holdfast/cond.h"
#include "holdfast/spinlock.h"

#include "profile.h"

enum { THREADS = 4, ROUNDS = 10, PLACES = 70000, IN_HEAP = 20 };

static hf_mutex_t mutex = HF_MUTEX_INIT, many[8];
static hf_mutex_shared_t shared = HF_MUTEX_SHARED_INIT;
static hf_spinlock_t spinlock = HF_SPINLOCK_INIT;
static hf_cond_t cond = HF_COND_INIT;
static hf_atomic32_t cond_waits = HF_ATOMIC_INIT(0), go = HF_ATOMIC_INIT(0);

static void expect(const char *what, const void *lock, unsigned long waits, const char *function)
{
	Dl_info object = { NULL, NULL, NULL, NULL };

	(void)dladdr(lock, &object);
	printf("%s %p %lu %s 0x%lx\n", what, lock, waits, function,
	       (unsigned long)(uintptr_t)object.dli_fbase);
	fflush(stdout);
}

static unsigned int waiters_in(const void *at, bool parked_only)
{
	struct hf_detail_bucket *bucket = hf_detail_bucket_lock(at);
	unsigned int n = 0;

	for (const struct hf_detail_waiter *w = bucket->first; w; w = w->next)
		n += w->at == at &&
		     (!parked_only || hf_detail_waiter_state(w) == HF_DETAIL_WAITER_PARKED);
	hf_detail_bucket_unlock(bucket);
	return n;
}

static unsigned int waiters(const void *at)
{
	return waiters_in(at, false);
}

/* Not inlined, and no tail call: so the call site lies in these functions. */
#define CONTEND(name, lock)                                                                        \
	__attribute__((__noinline__)) static void *contend_##lock(void *nothing)                   \
	{                                                                                          \
		name##_lock(&lock);                                                                \
		name##_unlock(&lock);                                                              \
		return nothing;                                                                    \
	}
CONTEND(hf_mutex, mutex)
CONTEND(hf_mutex_shared, shared)
CONTEND(hf_spinlock, spinlock)

__attribute__((__noinline__)) static void *wait_cond(void *nothing)
{
	hf_mutex_lock(&many[0]);
	while (!hf_atomic32_load_relaxed(&go)) {
		(void)hf_atomic32_fetch_add_relaxed(&cond_waits, 1);
		hf_cond_wait(&cond, &many[0]);
	}
	hf_mutex_unlock(&many[0]);
	return nothing;
}

/* Returns false: it is held. */
__attribute__((__noinline__)) static bool give_up(hf_mutex_t *m)
{
	bool taken = hf_mutex_lock_timeout(m, 0);

	assert(!taken);
	return taken;
}

static void start(pthread_t *threads, int n, void *(*function)(void *))
{
	for (int i = 0; i < n; i++) {
		int error = pthread_create(&threads[i], NULL, function, NULL);

		assert(!error);
	}
}

static void join(const pthread_t *threads, int n)
{
	for (int i = 0; i < n; i++)
		(void)pthread_join(threads[i], NULL);
}

/* Each of n threads waits once per round: all are queued before the lock is released. */
static void rounds_mutex(int n, int rounds, void *(*function)(void *))
{
	pthread_t threads[THREADS];

	for (int i = 0; i < rounds; i++) {
		hf_mutex_lock(&mutex);
		start(threads, n, function);
		while (waiters(&mutex) < (unsigned int)n)
			sched_yield();
		hf_mutex_unlock(&mutex);
		join(threads, n);
	}
}

static void rounds_shared(void)
{
	pthread_t thread;

	for (int i = 0; i < ROUNDS; i++) {
		hf_mutex_shared_lock(&shared);
		start(&thread, 1, contend_shared);
		while (hf_atomic32_load_relaxed(&shared.word) != HF_DETAIL_MUTEX_PARKED)
			sched_yield();
		hf_mutex_shared_unlock(&shared);
		join(&thread, 1);
	}
}

/* Processor time of this thread in ns. */
static uint64_t computed(pthread_t thread)
{
	struct timespec used;
	clockid_t clock;
	int error = pthread_getcpuclockid(thread, &clock) || clock_gettime(clock, &used);

	assert(!error);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/*
 * Waits until that thread spins. The word does not show it, so it must have been seen to compute
 * some more, ten times: once may be the host's time, which took the processor before the thread
 * came to the lock.
 */
static void await_spinning(pthread_t thread)
{
	uint64_t before = computed(thread);

	for (int seen = 0; seen < 10; sched_yield()) {
		uint64_t now = computed(thread);

		if (now - before >= 200000) {
			before = now;
			seen++;
		}
	}
}

static hf_atomic32_t begun = HF_ATOMIC_INIT(0);

static void *begin_spinlock(void *nothing)
{
	(void)hf_atomic32_fetch_add_relaxed(&begun, 1);
	return contend_spinlock(nothing);
}

static void rounds_spinlock(void)
{
	pthread_t threads[2];

	for (unsigned int i = 1; i <= ROUNDS; i++) {
		hf_spinlock_lock(&spinlock);
		start(threads, 2, begin_spinlock);
		while (hf_atomic32_load_relaxed(&begun) < 2 * i)
			sched_yield();
		await_spinning(threads[0]);
		await_spinning(threads[1]);
		hf_spinlock_unlock(&spinlock);
		join(threads, 2);
	}
}

static void once_cond(void)
{
	pthread_t threads[THREADS];

	start(threads, THREADS, wait_cond);
	while (waiters_in(&cond, true) < THREADS)
		sched_yield();
	hf_mutex_lock(&many[0]);
	hf_atomic32_store_relaxed(&go, 1);
	hf_cond_broadcast(&cond);
	hf_mutex_unlock(&many[0]);
	join(threads, THREADS);
}

static void once(void)
{
	rounds_mutex(THREADS, 1, contend_mutex);
	expect("mutex", &mutex, THREADS, "contend_mutex");
}

static void counts(void)
{
	rounds_mutex(THREADS, ROUNDS, contend_mutex);
	rounds_shared();
	rounds_spinlock();
	once_cond();
	expect("mutex", &mutex, (unsigned long)ROUNDS * THREADS, "contend_mutex");
	expect("shared", &shared, ROUNDS, "contend_shared");
	expect("spinlock", &spinlock, 2ul * ROUNDS, "contend_spinlock");
	expect("cond", &cond, hf_atomic32_load_relaxed(&cond_waits), "wait_cond");
	/* The broadcast has moved all to the mutex, which was held: these waits are the mutex's. */
	expect("any", &many[0], THREADS, "wait_cond");
}

/* Waits for more locks than the table has room for, as the slow paths count them. */
static void *count_all(void *nothing)
{
	for (uintptr_t i = 1; i <= PLACES; i++)
		hf_detail_profile_add(hf_detail_profile_begin(), HF_DETAIL_PROFILE_MUTEX,
				      (const void *)(i * 64), NULL);
	return nothing;
}

static void full(void)
{
	pthread_t threads[THREADS];

	start(threads, THREADS, count_all);
	join(threads, THREADS);
	expect("all", NULL, (unsigned long)THREADS * PLACES, "-");
}

__attribute__((__noinline__)) static bool wait_in_heap(hf_cond_t *at)
{
	bool signalled = hf_cond_wait_timeout(at, &mutex, 0);

	assert(!signalled);
	return signalled;
}

/* Each condition variable is waited for once, and each mutex twice. */
static void in_heap(void)
{
	hf_cond_t *conds = (hf_cond_t *)calloc(IN_HEAP, sizeof(*conds));
	hf_mutex_t *mutexes = (hf_mutex_t *)calloc(2, sizeof(*mutexes));

	assert(conds && mutexes);
	hf_mutex_lock(&mutex);
	for (int i = 0; i < IN_HEAP; i++)
		(void)wait_in_heap(&conds[i]);
	hf_mutex_unlock(&mutex);
	expect("conds", conds, IN_HEAP, "-");
	for (int i = 0; i < 2; i++) {
		hf_mutex_lock(&mutexes[i]);
		(void)give_up(&mutexes[i]);
		(void)give_up(&mutexes[i]);
		hf_mutex_unlock(&mutexes[i]);
		expect("mutex", &mutexes[i], 2, "-");
	}
	free(mutexes);
	free(conds);
}

/* Parent and child print a profile each. */
static void forked(void)
{
	int status = 1;
	pid_t child;

	rounds_mutex(THREADS, 2, contend_mutex);
	child = fork();
	if (child == 0) {
		rounds_mutex(1, 3, contend_mutex);
		printf("child ");
		expect("mutex", &mutex, 3, "contend_mutex");
		exit(0);
	}
	(void)waitpid(child, &status, 0);
	assert(status == 0);
	rounds_mutex(THREADS, 1, contend_mutex);
	expect("mutex", &mutex, 3ul * THREADS, "contend_mutex");
}

/* The program's copy of the library and those of plug-ins, of which the last is unloaded. */
static void copies(int n, char **paths)
{
	void *plugin[8];
	plug_t *contend;

	assert(n > 0 && n <= 8);
	once();
	for (int i = 0; i < n; i++) {
		plugin[i] = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
		if (!plugin[i]) {
			puts(dlerror());
			exit(1);
		}
		contend = (plug_t *)(uintptr_t)dlsym(plugin[i], "plug_contend");
		assert(contend);
		for (int round = 0; round <= i; round++) {
			pthread_t thread;
			int error;

			hf_mutex_lock(&many[i]);
			error = pthread_create(&thread, NULL, contend, &many[i]);
			assert(!error);
			while (waiters(&many[i]) < 1)
				sched_yield();
			hf_mutex_unlock(&many[i]);
			join(&thread, 1);
		}
		expect("mutex", &many[i], (unsigned long)i + 1, "-");
	}
	(void)dlclose(plugin[n - 1]);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	alarm(600);
	if (strcmp(what, "once") == 0)
		once();
	else if (strcmp(what, "counts") == 0)
		counts();
	else if (strcmp(what, "full") == 0)
		full();
	else if (strcmp(what, "heap") == 0)
		in_heap();
	else if (strcmp(what, "fork") == 0)
		forked();
	else if (strcmp(what, "copies") == 0)
		copies(argc - 2, argv + 2);
	else if (strcmp(what, "nothing") == 0)
		expect("mutex", &mutex, 0, "-");
	else
		return 2;
	if (argc > 2 && strcmp(argv[2], "_exit") == 0)
		_exit(0);
	return 0;
}
