/* SPDX-License-Identifier: MIT */
/*
 * conform - what programs expect of pthread's mutexes, condition variables and read-write locks,
 * whoever makes them: run.py runs it with glibc's and with Holdfast's.
 *
 * Each kind of mutex with each kind of condition variable; errors, clocks, cancellation, fork,
 * processes, freeing after the last wake-up.
 *
 *   conform              all parts
 *   conform brief        with fewer rounds
 *   conform emulated     without what qemu cannot do
 *   conform PART         one part (the table at the end), with fewer rounds
 *
 * Prints failures, and their number.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "parked.h"

static int failures;
static int rounds = 500;
static bool is_emulated; /* by qemu, which crashes in the forked child of a program with threads */
static const char *with = ""; /* the kind that is checked */
#define CHECK(condition)                                                                           \
	((condition)                                                                               \
		 ? (void)0                                                                         \
		 : (void)(failures++, printf("line %d: %s, %s\n", __LINE__, #condition, with)))

enum kind { NORMAL, DEFAULT, ADAPTIVE, RECURSIVE, ERRORCHECK, ROBUST, PI, SHARED, STATICS, KINDS };
static const char *const names[] = { "normal", "static", "adaptive", "recursive",      "errorcheck",
				     "robust", "pi",     "shared",   "static adaptive" };

static void make(pthread_mutex_t *m, enum kind kind)
{
	static const int types[KINDS] = { [ADAPTIVE] = PTHREAD_MUTEX_ADAPTIVE_NP,
					  [RECURSIVE] = PTHREAD_MUTEX_RECURSIVE,
					  [ERRORCHECK] = PTHREAD_MUTEX_ERRORCHECK };
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, types[kind]);
	if (kind == ROBUST)
		pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	if (kind == PI)
		pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
	if (kind == SHARED)
		pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	if (kind == STATICS)
		*m = (pthread_mutex_t)PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
	else if (kind == DEFAULT)
		*m = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	else
		CHECK(pthread_mutex_init(m, &a) == 0);
	pthread_mutexattr_destroy(&a);
}

static struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += ms % 1000 * 1000000;
	t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void *try_it(void *m)
{
	struct timespec end = in_ms(CLOCK_REALTIME, 2), mono = in_ms(CLOCK_MONOTONIC, 2);
	struct timespec bad = { 0, 1000000000 }, old = { 0, 0 };

	CHECK(pthread_mutex_trylock(m) == EBUSY);
	CHECK(pthread_mutex_timedlock(m, &end) == ETIMEDOUT);
	CHECK(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &mono) == ETIMEDOUT);
	CHECK(pthread_mutex_timedlock(m, &bad) == EINVAL);
	CHECK(pthread_mutex_timedlock(m, &old) == ETIMEDOUT);
	return NULL;
}

static void *unlock_it(void *m)
{
	return (void *)(long)pthread_mutex_unlock(m);
}

static void run(void *(*function)(void *), void *argument, void **result)
{
	pthread_t t;

	pthread_create(&t, NULL, function, argument);
	pthread_join(t, result);
}

static void run_four(void *(*one)(void *), void *(*other)(void *))
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, i & 1 ? one : other, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static void mutexes(enum kind kind)
{
	pthread_mutex_t m;
	void *error;

	make(&m, kind);
	CHECK(pthread_mutex_lock(&m) == 0);
	/* Other processes and the kernel may look at these: so glibc must have locked them. */
	if (kind == ROBUST || kind == PI || kind == SHARED)
		CHECK(m.__data.__owner == gettid());
	run(try_it, &m, NULL);
	if (kind == RECURSIVE) {
		CHECK(pthread_mutex_lock(&m) == 0 && pthread_mutex_trylock(&m) == 0);
		CHECK(pthread_mutex_unlock(&m) == 0 && pthread_mutex_unlock(&m) == 0);
		run(try_it, &m, NULL);
	}
	if (kind == ERRORCHECK)
		CHECK(pthread_mutex_lock(&m) == EDEADLK);
	if (kind == ERRORCHECK || kind == RECURSIVE) {
		run(unlock_it, &m, &error);
		CHECK((long)error == EPERM);
	}
	if (kind != ROBUST)
		CHECK(pthread_mutex_destroy(&m) == EBUSY);
	CHECK(pthread_mutex_unlock(&m) == 0);
	if (kind == ERRORCHECK || kind == RECURSIVE)
		CHECK(pthread_mutex_unlock(&m) == EPERM);
	CHECK(pthread_mutex_trylock(&m) == 0);
	CHECK(pthread_mutex_unlock(&m) == 0);
	CHECK(pthread_mutex_destroy(&m) == 0);
}

/* ---- read-write locks ----------------------------------------------------------------------- */

enum rw_kind { RW_STATIC, RW_STATIC_WRITER, RW_READER, RW_WRITER, RW_SHARED, RW_KINDS };
static const char *const rw_names[] = { "static", "static, for writers", "for readers",
					"for writers", "shared" };

static pthread_rwlock_t rw;
static atomic_int writer; /* the thread that waits to write; 0 = has written */
static int rw_words[2];

static bool is_for_readers(enum rw_kind kind)
{
	return kind != RW_STATIC_WRITER && kind != RW_WRITER;
}

static void make_rwlock(enum rw_kind kind)
{
	pthread_rwlockattr_t a;

	pthread_rwlockattr_init(&a);
	if (kind == RW_WRITER)
		pthread_rwlockattr_setkind_np(&a, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	if (kind == RW_SHARED)
		pthread_rwlockattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	if (kind == RW_STATIC)
		rw = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
	else if (kind == RW_STATIC_WRITER)
		rw = (pthread_rwlock_t)PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
	else
		CHECK(pthread_rwlock_init(&rw, kind == RW_READER ? NULL : &a) == 0);
	pthread_rwlockattr_destroy(&a);
}

static void *wait_to_write(void *unused)
{
	struct timespec end = in_ms(CLOCK_REALTIME, 2), mono = in_ms(CLOCK_MONOTONIC, 2);

	CHECK(pthread_rwlock_trywrlock(&rw) == EBUSY);
	CHECK(pthread_rwlock_timedwrlock(&rw, &end) == ETIMEDOUT);
	CHECK(pthread_rwlock_clockwrlock(&rw, CLOCK_MONOTONIC, &mono) == ETIMEDOUT);
	writer = gettid();
	CHECK(pthread_rwlock_wrlock(&rw) == 0);
	writer = 0;
	CHECK(pthread_rwlock_unlock(&rw) == 0);
	return unused;
}

static void *fail_to_read(void *unused)
{
	struct timespec end = in_ms(CLOCK_REALTIME, 2), mono = in_ms(CLOCK_MONOTONIC, 2);

	CHECK(pthread_rwlock_tryrdlock(&rw) == EBUSY);
	CHECK(pthread_rwlock_timedrdlock(&rw, &end) == ETIMEDOUT);
	CHECK(pthread_rwlock_clockrdlock(&rw, CLOCK_MONOTONIC, &mono) == ETIMEDOUT);
	return unused;
}

/* A writer may let readers pass at first. */
static void *read_until_barred(void *unused)
{
	while (pthread_rwlock_tryrdlock(&rw) == 0) {
		CHECK(pthread_rwlock_unlock(&rw) == 0);
		sched_yield();
	}
	return unused;
}

static void *read_once(void *unused)
{
	CHECK(pthread_rwlock_rdlock(&rw) == 0 && pthread_rwlock_unlock(&rw) == 0);
	return unused;
}

/* Both words are always equal inside. */
static void *read_and_write(void *unused)
{
	for (int i = 0; i < rounds; i++) {
		CHECK(pthread_rwlock_rdlock(&rw) == 0);
		CHECK(rw_words[0] == rw_words[1]);
		CHECK(pthread_rwlock_unlock(&rw) == 0);
		if (i % 8)
			continue;
		CHECK(pthread_rwlock_wrlock(&rw) == 0);
		rw_words[0]++;
		rw_words[1]++;
		CHECK(pthread_rwlock_unlock(&rw) == 0);
	}
	return unused;
}

static void rwlocks(enum rw_kind kind)
{
	struct timespec end = in_ms(CLOCK_REALTIME, 2), bad = { 0, 1000000000 };
	pthread_t t;

	make_rwlock(kind);
	CHECK(pthread_rwlock_timedrdlock(&rw, &bad) == EINVAL);
	CHECK(pthread_rwlock_timedwrlock(&rw, &bad) == EINVAL);
	CHECK(pthread_rwlock_clockrdlock(&rw, CLOCK_PROCESS_CPUTIME_ID, &end) == EINVAL);
	CHECK(pthread_rwlock_wrlock(&rw) == 0);
	if (kind == RW_SHARED) /* other processes look at it: glibc must have locked it */
		CHECK(rw.__data.__cur_writer == gettid());
	CHECK(pthread_rwlock_rdlock(&rw) == EDEADLK && pthread_rwlock_wrlock(&rw) == EDEADLK);
	CHECK(pthread_rwlock_tryrdlock(&rw) == EBUSY && pthread_rwlock_trywrlock(&rw) == EBUSY);
	run(fail_to_read, NULL, NULL);
	CHECK(pthread_rwlock_unlock(&rw) == 0);

	/* A reader, a writer that waits for it, and another reader; a recursive one. */
	CHECK(pthread_rwlock_rdlock(&rw) == 0 && pthread_rwlock_tryrdlock(&rw) == 0);
	CHECK(pthread_rwlock_unlock(&rw) == 0);
	pthread_create(&t, NULL, wait_to_write, NULL);
	while (!writer)
		sched_yield();
	await_parked(writer);
	if (is_for_readers(kind)) {
		run(read_once, NULL, NULL);
		CHECK(pthread_rwlock_rdlock(&rw) == 0 && pthread_rwlock_unlock(&rw) == 0);
		CHECK(pthread_rwlock_tryrdlock(&rw) == 0 && pthread_rwlock_unlock(&rw) == 0);
	} else {
		run(read_until_barred, NULL, NULL);
		run(fail_to_read, NULL, NULL);
	}
	CHECK(writer != 0 && pthread_rwlock_unlock(&rw) == 0);
	pthread_join(t, NULL);
	CHECK(writer == 0);

	rw_words[0] = rw_words[1] = 0;
	run_four(read_and_write, read_and_write);
	CHECK(rw_words[0] == 4 * ((rounds + 7) / 8));

	CHECK(pthread_rwlock_rdlock(&rw) == 0);
	CHECK(pthread_rwlock_destroy(&rw) == 0); /* though it is read */
	make_rwlock(RW_READER);
	CHECK(pthread_rwlock_trywrlock(&rw) == 0 && pthread_rwlock_unlock(&rw) == 0);
	CHECK(pthread_rwlock_destroy(&rw) == 0);
}

/* ---- condition variables: a queue of numbers between two producers and two consumers ---- */

static struct queue {
	pthread_mutex_t m;
	pthread_cond_t filled, emptied;
	int n, timed;
	clockid_t clock;
	long sum;
} private_queue, *q;

static void wait_at(pthread_cond_t *c)
{
	if (q->timed) {
		struct timespec end = in_ms(q->clock, 100000);
		CHECK(pthread_cond_timedwait(c, &q->m, &end) == 0);
	} else {
		CHECK(pthread_cond_wait(c, &q->m) == 0);
	}
}

static void *produce(void *unused)
{
	for (int i = 1; i <= rounds; i++) {
		pthread_mutex_lock(&q->m);
		while (q->n == 4)
			wait_at(&q->emptied);
		q->n++;
		pthread_mutex_unlock(&q->m);
		pthread_cond_signal(&q->filled);
	}
	return unused;
}

static void *consume(void *unused)
{
	for (int i = 1; i <= rounds; i++) {
		pthread_mutex_lock(&q->m);
		while (q->n == 0)
			wait_at(&q->filled);
		q->n--;
		q->sum++;
		if (i % 16)
			pthread_cond_signal(&q->emptied);
		else
			pthread_cond_broadcast(&q->emptied);
		pthread_mutex_unlock(&q->m);
	}
	return unused;
}

static void make_cond(pthread_cond_t *c, clockid_t clock, int shared)
{
	pthread_condattr_t a;

	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, clock);
	pthread_condattr_setpshared(&a, shared);
	CHECK(pthread_cond_init(c, &a) == 0);
	pthread_condattr_destroy(&a);
}

static void conds(enum kind kind, clockid_t clock, int timed, int shared)
{
	struct timespec end, bad = { 0, -1 };

	private_queue = (struct queue){ .clock = clock, .timed = timed };
	q = &private_queue;
	make(&q->m, kind);
	make_cond(&q->filled, clock, shared);
	make_cond(&q->emptied, clock, shared);
	run_four(produce, consume);
	CHECK(q->sum == 2 * rounds && q->n == 0);

	pthread_mutex_lock(&q->m);
	end = in_ms(clock, 3);
	CHECK(pthread_cond_timedwait(&q->filled, &q->m, &end) == ETIMEDOUT);
	CHECK(pthread_cond_timedwait(&q->filled, &q->m, &end) == ETIMEDOUT);
	end = in_ms(CLOCK_MONOTONIC, 1);
	CHECK(pthread_cond_clockwait(&q->filled, &q->m, CLOCK_MONOTONIC, &end) == ETIMEDOUT);
	CHECK(pthread_cond_timedwait(&q->filled, &q->m, &bad) == EINVAL);
	pthread_mutex_unlock(&q->m);
	CHECK(pthread_cond_destroy(&q->filled) == 0 && pthread_cond_destroy(&q->emptied) == 0);
	CHECK(pthread_mutex_destroy(&q->m) == 0);
}

/* ---- cancellation --------------------------------------------------------------------------- */

static pthread_mutex_t cm;
static pthread_cond_t cc;
static atomic_int waiting, cleaned, woken;

static void clean(void *unused)
{
	(void)unused;
	cleaned++;
	pthread_mutex_unlock(&cm); /* must be held here */
}

static void *wait_forever(void *unused)
{
	pthread_mutex_lock(&cm);
	pthread_cleanup_push(clean, NULL);
	waiting++;
	for (;;) {
		pthread_cond_wait(&cc, &cm);
		woken++;
	}
	pthread_cleanup_pop(0);
	return unused;
}

static void cancellation(enum kind kind, int after_us)
{
	pthread_t t[3];
	void *result;

	waiting = cleaned = 0;
	make(&cm, kind);
	cc = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, wait_forever, NULL);
	while (waiting < 3)
		;
	if (after_us)
		usleep((unsigned)after_us);
	for (int i = 0; i < 3; i++)
		pthread_cancel(t[i]);
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i], &result);
		CHECK(result == PTHREAD_CANCELED);
	}
	CHECK(cleaned == 3);
	CHECK(pthread_mutex_trylock(&cm) == 0 && pthread_mutex_unlock(&cm) == 0);
}

/* ---- processes ------------------------------------------------------------------------------ */

static void processes(void)
{
	pid_t child;
	int status;

	q = mmap(NULL, sizeof(*q), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	make(&q->m, SHARED);
	make_cond(&q->filled, CLOCK_REALTIME, PTHREAD_PROCESS_SHARED);
	make_cond(&q->emptied, CLOCK_REALTIME, PTHREAD_PROCESS_SHARED);
	child = fork();
	if (!child) {
		alarm(60); /* it must not stay behind if its parent is killed */
		produce(NULL);
		_exit(0);
	}
	consume(NULL);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(q->sum == rounds && q->n == 0);
}

static pthread_mutex_t fm;

static void *lock_often(void *unused)
{
	for (int i = 0; i < 500; i++) {
		pthread_mutex_lock(&fm);
		pthread_mutex_unlock(&fm);
	}
	return unused;
}

static void forks(enum kind kind)
{
	pthread_t t[2];

	make(&fm, kind);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, lock_often, NULL);
	for (int i = 0; i < 5; i++) {
		int status;
		pid_t child;

		pthread_mutex_lock(&fm);
		child = fork();
		pthread_mutex_unlock(&fm);
		if (!child) {
			alarm(60);
			run(lock_often, NULL, NULL);
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

/* The last waiter, when it is woken, may free the condition variable at once. */
struct job {
	pthread_cond_t c;
	int done;
};

static void *finish(void *job)
{
	struct job *j = job;

	pthread_mutex_lock(&fm);
	j->done = 1;
	pthread_cond_broadcast(&j->c);
	pthread_mutex_unlock(&fm);
	return NULL;
}

static void freeing(enum kind kind)
{
	make(&fm, kind);
	for (int i = 0; i < 50; i++) {
		struct job *j = calloc(1, sizeof(*j));
		pthread_t t;

		pthread_mutex_lock(&fm);
		pthread_create(&t, NULL, finish, j);
		while (!j->done)
			pthread_cond_wait(&j->c, &fm);
		pthread_cond_destroy(&j->c);
		memset(j, 0xa5, sizeof(*j));
		free(j);
		pthread_mutex_unlock(&fm);
		pthread_join(t, NULL);
	}
}

/* ---- what a thread must not be able to do ----------------------------------------------- */

static void signal_late(void)
{
	usleep(2000);
	pthread_mutex_lock(&cm);
	pthread_cond_signal(&cc);
	pthread_mutex_unlock(&cm);
}

static void *wait_uncancelled(void *unused)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_mutex_lock(&cm);
	waiting++;
	pthread_cond_wait(&cc, &cm);
	pthread_mutex_unlock(&cm);
	woken = 100;
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
	pthread_testcancel();
	return unused;
}

static pthread_t start_waiter(void)
{
	pthread_t waiter;

	waiting = woken = 0;
	make(&cm, NORMAL);
	cc = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	pthread_create(&waiter, NULL, wait_uncancelled, NULL);
	while (!waiting)
		sched_yield();
	return waiter;
}

/* A thread that has disabled cancellation goes on waiting, or returns; it does not end. */
static void disabled_cancellation(void)
{
	pthread_t waiter = start_waiter();
	void *result;

	pthread_cancel(waiter);
	signal_late();
	pthread_join(waiter, &result);
	CHECK(result == PTHREAD_CANCELED && woken == 100);
}

static void *cancel_itself(void *unused)
{
	pthread_mutex_lock(&cm);
	pthread_cleanup_push(clean, NULL);
	pthread_cancel(pthread_self());
	pthread_cond_wait(&cc, &cm);
	woken++;
	pthread_cleanup_pop(0);
	return unused;
}

static void self_cancellation(void)
{
	void *result;

	cleaned = woken = 0;
	make(&cm, NORMAL);
	run(cancel_itself, NULL, &result);
	CHECK(result == PTHREAD_CANCELED && cleaned == 1 && woken == 0);
}

/* A thread that is cancelled at any instruction, while it cancels another one. */
static void *cancel_another(void *thread)
{
	int type;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	for (;;)
		pthread_cancel(*(pthread_t *)thread);
	return NULL;
}

static void cancellation_of_a_canceller(void)
{
	pthread_t canceller, waiter;

	waiter = start_waiter();
	pthread_create(&canceller, NULL, cancel_another, &waiter);
	usleep(2000);
	pthread_cancel(canceller);
	pthread_join(canceller, NULL);
	pthread_cancel(waiter); /* no lock is left behind */
	signal_late();
	pthread_join(waiter, NULL);
}

/* ---- what stays glibc's, and is timed with a profile: errors, limits, cancellation ------ */

static sem_t tokens;
static atomic_int handled;

static void *wait_for_token(void *unused)
{
	waiting = gettid();
	errno = 77;
	if (sem_wait(&tokens) == 0)
		CHECK(errno == 77);
	woken++;
	return unused;
}

static pthread_t start_waiter_for_token(void)
{
	pthread_t t;

	waiting = 0;
	pthread_create(&t, NULL, wait_for_token, NULL);
	while (!waiting)
		sched_yield();
	return t;
}

static void *cancel_itself_with_token(void *unused)
{
	pthread_cancel(pthread_self());
	return wait_for_token(unused);
}

static void handle(int unused)
{
	(void)unused;
	handled++;
}

static int return_seven(void *unused)
{
	(void)unused;
	return 7;
}

static void *return_eight(void *number)
{
	*(pid_t *)number = gettid();
	return (void *)8;
}

/* Joins a thread that has ended: there is no wait. */
static void join_ended(void)
{
	char path[64];
	pid_t number = 0;
	pthread_t t;
	void *result;

	pthread_create(&t, NULL, return_eight, &number);
	do {
		usleep(1000);
		(void)snprintf(path, sizeof(path), "/proc/self/task/%d", (int)number);
	} while (!number || access(path, F_OK) == 0);
	CHECK(pthread_join(t, &result) == 0 && result == (void *)8);
}

static void glibcs(void)
{
	struct timespec end = in_ms(CLOCK_REALTIME, 2), bad = { 0, 1000000000 };
	struct sigaction action = { .sa_handler = handle };
	pthread_t t;
	thrd_t c11;
	void *result;
	int number;

	sem_init(&tokens, 0, 1);
	waiting = woken = 0;
	errno = 77;
	CHECK(sem_timedwait(&tokens, &bad) == -1 && errno == EINVAL);
	run(cancel_itself_with_token, NULL, &result); /* though there is a token */
	CHECK(result == PTHREAD_CANCELED && woken == 0);
	errno = 77;
	CHECK(sem_wait(&tokens) == 0 && errno == 77);
	CHECK(sem_timedwait(&tokens, &end) == -1 && errno == ETIMEDOUT);
	sigaction(SIGUSR1, &action, NULL);
	t = start_waiter_for_token();
	while (!woken) { /* by EINTR */
		pthread_kill(t, SIGUSR1);
		usleep(1000);
	}
	pthread_join(t, NULL);
	t = start_waiter_for_token();
	usleep(2000);
	pthread_cancel(t);
	pthread_join(t, &result);
	CHECK(result == PTHREAD_CANCELED && handled > 0);
	t = start_waiter_for_token();
	CHECK(pthread_timedjoin_np(t, &result, &end) == ETIMEDOUT);
	await_parked(waiting);
	sem_post(&tokens);
	CHECK(pthread_join(t, &result) == 0 && result == NULL);

	join_ended();
	CHECK(pthread_join(pthread_self(), NULL) == EDEADLK);
	thrd_create(&c11, return_seven, NULL);
	CHECK(thrd_join(c11, &number) == thrd_success && number == 7);
	errno = 0;
	CHECK(syscall(SYS_futex, &number, 0 /* FUTEX_WAIT */, 8, NULL, NULL, 0) == -1 &&
	      errno == EAGAIN);
	errno = 77;
	CHECK(syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != -1);
	CHECK(errno == 77);
}

/* ---- C11's interface and pthread's, which have the same objects in glibc ---------------- */

/* Half of the queue's threads use one interface, and half the other. */
static int produce_c11(void *unused)
{
	(void)unused;
	for (int i = 0; i < rounds; i++) {
		mtx_lock((mtx_t *)&q->m);
		while (q->n == 4)
			cnd_wait((cnd_t *)&q->emptied, (mtx_t *)&q->m);
		q->n++;
		mtx_unlock((mtx_t *)&q->m);
		cnd_broadcast((cnd_t *)&q->filled);
	}
	return 0;
}

static int lock_c11_of_another(void *m)
{
	struct timespec end = in_ms(CLOCK_REALTIME, 2);

	return mtx_trylock(m) == thrd_busy && mtx_timedlock(m, &end) == thrd_timedout;
}

static void c11(int type)
{
	struct timespec end;
	pthread_t consumer;
	thrd_t t;
	mtx_t m;
	cnd_t c;
	int result;

	private_queue = (struct queue){ .n = 0 };
	q = &private_queue;
	CHECK(mtx_init((mtx_t *)&q->m, type) == thrd_success);
	CHECK(cnd_init((cnd_t *)&q->emptied) == thrd_success);
	make_cond(&q->filled, CLOCK_REALTIME, PTHREAD_PROCESS_PRIVATE);
	pthread_create(&consumer, NULL, consume, NULL);
	thrd_create(&t, produce_c11, NULL);
	pthread_join(consumer, NULL);
	thrd_join(t, NULL);
	CHECK(q->n == 0);

	CHECK(mtx_init(&m, type) == thrd_success && cnd_init(&c) == thrd_success);
	CHECK(mtx_lock(&m) == thrd_success);
	thrd_create(&t, lock_c11_of_another, &m);
	thrd_join(t, &result);
	CHECK(result == 1);
	if (type & mtx_recursive)
		CHECK(mtx_trylock(&m) == thrd_success && mtx_unlock(&m) == thrd_success);
	end = in_ms(CLOCK_REALTIME, 2);
	CHECK(cnd_timedwait(&c, &m, &end) == thrd_timedout);
	CHECK(cnd_signal(&c) == thrd_success && mtx_unlock(&m) == thrd_success);
	cnd_destroy(&c);
}

/* ---- a mutex that one thread locks, and another one unlocks ----------------------------- */

/* A thread waits. Another one locks, signals it, and lets a third one unlock at the same time. */
enum { HANDED = 100 };
static int is_signalled, is_waiting;
static atomic_int pass;

static void *be_woken(void *unused)
{
	waiting = gettid();
	for (int i = 0; i < HANDED; i++) {
		pthread_mutex_lock(&cm);
		is_waiting = 1;
		while (!is_signalled)
			pthread_cond_wait(&cc, &cm);
		is_signalled = is_waiting = 0;
		pthread_mutex_unlock(&cm);
		woken++;
	}
	return unused;
}

static void *unlock_for_another(void *unused)
{
	for (int i = 0; i < HANDED; i++) {
		while (!pass)
			sched_yield();
		pass = 0;
		pthread_mutex_unlock(&cm);
	}
	return unused;
}

static void *unlock_rw(void *unused)
{
	CHECK(pthread_rwlock_unlock(&rw) == 0);
	return unused;
}

static void unlock_for_readers(void)
{
	for (int i = 0; i < 3; i++) {
		CHECK(pthread_rwlock_rdlock(&rw) == 0);
		run(unlock_rw, NULL, NULL);
	}
	CHECK(pthread_rwlock_trywrlock(&rw) == 0 && pthread_rwlock_unlock(&rw) == 0);
}

static void handoff(void)
{
	pthread_t t[2];

	unlock_for_readers();
	make(&cm, NORMAL);
	pthread_create(&t[0], NULL, be_woken, NULL);
	pthread_create(&t[1], NULL, unlock_for_another, NULL);
	for (int i = 0; i < HANDED; i++) {
		pthread_mutex_lock(&cm);
		while (!is_waiting) {
			pthread_mutex_unlock(&cm);
			sched_yield();
			pthread_mutex_lock(&cm);
		}
		await_parked(waiting); /* a signal moves no thread that spins */
		is_signalled = 1;
		pass = 1;
		pthread_cond_signal(&cc);
		while (woken <= i)
			sched_yield();
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

/* ---- the functions' older versions ----------------------------------------------------------- */

#if defined(__x86_64__)
int old_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int old_signal(pthread_cond_t *cond);
int old_timedlock(pthread_mutex_t *mutex, const struct timespec *end);
__asm__(".symver old_wait, pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver old_signal, pthread_cond_signal@GLIBC_2.2.5");
__asm__(".symver old_timedlock, pthread_mutex_timedlock@GLIBC_2.2.5");

static pthread_cond_t old;
static int is_ready;

static void *make_ready(void *unused)
{
	struct timespec end = in_ms(CLOCK_REALTIME, 100000);

	CHECK(old_timedlock(&cm, &end) == 0);
	is_ready = 1;
	CHECK(old_signal(&old) == 0);
	pthread_mutex_unlock(&cm);
	return unused;
}

static void versions(void)
{
	pthread_t t;

	make(&cm, NORMAL);
	pthread_mutex_lock(&cm);
	pthread_create(&t, NULL, make_ready, NULL);
	while (!is_ready)
		CHECK(old_wait(&old, &cm) == 0);
	pthread_mutex_unlock(&cm);
	pthread_join(t, NULL);
}
#else
static void versions(void)
{
}
#endif

/* A wait with a recursive mutex that is held twice releases one of the two, as in glibc. */
static void *take_once(void *unused)
{
	CHECK(pthread_mutex_trylock(&cm) == EBUSY);
	return unused;
}

static void nested_wait(void)
{
	struct timespec end = in_ms(CLOCK_REALTIME, 1);

	make(&cm, RECURSIVE);
	pthread_mutex_lock(&cm);
	pthread_mutex_lock(&cm);
	CHECK(pthread_cond_timedwait(&cc, &cm, &end) == ETIMEDOUT);
	CHECK(pthread_mutex_unlock(&cm) == 0);
	run(take_once, NULL, NULL); /* it is still held once */
	CHECK(pthread_mutex_unlock(&cm) == 0);
	CHECK(pthread_mutex_unlock(&cm) == EPERM);
}

/* With a library whose windows are wide (HF_RUN_PAUSE): what happens in them. */
static void windows(void)
{
	for (int i = 0; i < 9; i++)
		cancellation(NORMAL, i % 3 * 50);
	for (int i = 0; i < 3; i++)
		cancellation(ROBUST, i * 50);
	for (int i = 0; i < 4; i++)
		freeing(ROBUST); /* a broadcast as soon as the mutex is released */
	conds(ROBUST, CLOCK_REALTIME, 0, PTHREAD_PROCESS_PRIVATE);
	nested_wait();
	for (int i = 0; i < 8; i++)
		cancellation_of_a_canceller();
}

static void all_mutexes(void)
{
	for (int kind = 0; kind < KINDS; kind++) {
		with = names[kind];
		mutexes(kind);
	}
}

static void all_conds(void)
{
	for (int kind = 0; kind < KINDS; kind++) {
		with = names[kind];
		conds(kind, CLOCK_REALTIME, 0, PTHREAD_PROCESS_PRIVATE);
		conds(kind, CLOCK_REALTIME, 1, PTHREAD_PROCESS_PRIVATE);
		conds(kind, CLOCK_MONOTONIC, 1, PTHREAD_PROCESS_PRIVATE);
		conds(kind, CLOCK_REALTIME, 0, PTHREAD_PROCESS_SHARED);
		for (int i = 0; i < 9; i++)
			cancellation(kind, i % 3 * 100);
		/* Not of those with an owner: in glibc a child has another number. */
		if (!is_emulated && (kind <= ADAPTIVE || kind == STATICS))
			forks(kind);
		freeing(kind);
	}
}

static void all_rwlocks(void)
{
	for (int kind = 0; kind < RW_KINDS; kind++) {
		with = rw_names[kind];
		rwlocks(kind);
	}
}

static void cancellations(void)
{
	disabled_cancellation();
	self_cancellation();
	cancellation_of_a_canceller();
	nested_wait();
}

static void all_c11(void)
{
	c11(mtx_timed);
	c11(mtx_timed | mtx_recursive);
}

static const struct {
	bool is_in_all; /* also without its name */
	const char *name;
	void (*function)(void);
} parts[] = {
	{ true, "mutexes", all_mutexes },
	{ true, "conds", all_conds },
	{ true, "rwlocks", all_rwlocks },
	{ true, "processes", processes },
	{ true, "cancellations", cancellations },
	{ true, "glibcs", glibcs },
	{ true, "c11", all_c11 },
	{ true, "versions", versions },
	{ false, "windows", windows },
	{ false, "handoff", handoff },
};

int main(int count, char **arguments)
{
	const char *which = count > 1 ? arguments[1] : "";
	bool is_all = !*which || strcmp(which, "brief") == 0;

	CHECK(errno == 0);
	(void)setvbuf(stdout, NULL, _IOLBF, 0); /* a failure is printed even if a hang follows */
	alarm(300);
	is_emulated = strcmp(which, "emulated") == 0;
	is_all |= is_emulated;
	if (*which && !is_emulated)
		rounds = 32; /* with wide windows each wait takes long */
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		with = parts[i].name;
		if (is_all ? parts[i].is_in_all : strcmp(parts[i].name, which) == 0)
			parts[i].function();
	}
	printf("%d failures\n", failures);
	return failures != 0;
}
