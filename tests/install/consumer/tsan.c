/* SPDX-License-Identifier: MIT */
/*
 * tsan - uses every lock and count under ThreadSanitizer, with an installed library that is not instrumented.
 *
 *   tsan well    correct use: no report
 *   tsan race    a data race: one report
 */
#include <holdfast/lockref.h>
#include <holdfast/lockref_waitfree.h>
#include <holdfast/mutex.h>
#include <holdfast/rcuref.h>
#include <holdfast/refcount_lock.h>
#include <holdfast/spinlock_ticket.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 3, ROUNDS = 40 };

static void start(pthread_t *threads, int n, void *(*run)(void *), void *argument)
{
	for (int i = 0; i < n; i++) {
		if (pthread_create(&threads[i], NULL, run, argument))
			abort();
	}
}

static void join(pthread_t *threads, int n)
{
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

/* ---- Locks: a plain number is changed under each ------------------------------------------- */

struct lock {
	const char *name;
	void (*lock)(void);
	bool (*trylock)(void);
	void (*unlock)(void);
};

static long number; /* not atomic */

/* `acquire` and `release` are expressions with `l`. */
#define LOCK(name, type, initialiser, acquire, try, release)                                       \
	static type name##_object = initialiser;                                                   \
	static void name##_lock(void)                                                              \
	{                                                                                          \
		type *l = &name##_object;                                                          \
		acquire;                                                                           \
	}                                                                                          \
	static bool name##_trylock(void)                                                           \
	{                                                                                          \
		type *l = &name##_object;                                                          \
		return try;                                                                        \
	}                                                                                          \
	static void name##_unlock(void)                                                            \
	{                                                                                          \
		type *l = &name##_object;                                                          \
		release;                                                                           \
	}

LOCK(spinlock, hf_spinlock_t, HF_SPINLOCK_INIT, hf_spinlock_lock(l), hf_spinlock_trylock(l),
     hf_spinlock_unlock(l))
LOCK(ticket, hf_spinlock_ticket_t, HF_SPINLOCK_TICKET_INIT, hf_spinlock_ticket_lock(l),
     hf_spinlock_ticket_trylock(l), hf_spinlock_ticket_unlock(l))
LOCK(mutex, hf_mutex_t, HF_MUTEX_INIT, hf_mutex_lock(l), hf_mutex_trylock(l), hf_mutex_unlock(l))
LOCK(mutex_timed, hf_mutex_t, HF_MUTEX_INIT, while (!hf_mutex_lock_timeout(l, 1000000)),
     hf_mutex_trylock(l), hf_mutex_unlock(l))
LOCK(mutex_shared, hf_mutex_shared_t, HF_MUTEX_SHARED_INIT, hf_mutex_shared_lock(l),
     hf_mutex_shared_trylock(l), hf_mutex_shared_unlock(l))
LOCK(lockref, hf_lockref_t, HF_LOCKREF_INIT(1), hf_lockref_lock(l), hf_lockref_trylock(l),
     hf_lockref_unlock(l))
LOCK(lockref_put, hf_lockref_t, HF_LOCKREF_INIT(1), while (hf_lockref_put_or_lock(l)),
     hf_lockref_trylock(l), hf_lockref_unlock(l))
LOCK(waitfree, hf_lockref_waitfree_t, HF_LOCKREF_WAITFREE_INIT(1), hf_lockref_waitfree_lock(l),
     hf_lockref_waitfree_trylock(l), hf_lockref_waitfree_unlock(l))

#define ROW(name) { #name, name##_lock, name##_trylock, name##_unlock },
static const struct lock locks[] = { ROW(spinlock) ROW(ticket) ROW(mutex) ROW(mutex_timed) ROW(
	mutex_shared) ROW(lockref) ROW(lockref_put) ROW(waitfree) };

static void *work(void *argument)
{
	const struct lock *lock = argument;

	for (int i = 0; i < ROUNDS; i++) {
		if (i % 4 || !lock->trylock())
			lock->lock();
		number++;
		lock->unlock();
	}
	return NULL;
}

static void use_lock(const struct lock *lock)
{
	pthread_t threads[THREADS];

	number = 0;
	lock->lock();
	start(threads, THREADS, work, (void *)(uintptr_t)lock);
	usleep(5000); /* the threads wait, and some park: this reaches each lock's slow path */
	number++;
	lock->unlock();
	join(threads, THREADS);
	if (number != THREADS * ROUNDS + 1) {
		printf("%s: %ld\n", lock->name, number);
		exit(1);
	}
}

/* ---- Counts: the thread that drops the last reference reads what the others wrote ------------ */

struct object {
	hf_refcount_t refs;
	hf_rcuref_t rcuref;
	hf_lockref_t lockref;
	hf_lockref_waitfree_t waitfree;
	hf_spinlock_t lock;
	int next;            /* atomic */
	long wrote[THREADS]; /* not atomic */
	bool (*put)(struct object *object);
};

static bool put(struct object *object)
{
	hf_refcount_inc(&object->refs);
	return hf_refcount_sub_and_test(2, &object->refs);
}

static bool put_one(struct object *object)
{
	return hf_refcount_dec_and_test(&object->refs);
}

static bool put_and_lock(struct object *object)
{
	if (!hf_refcount_dec_and_lock(&object->refs, &object->lock))
		return false;
	hf_spinlock_unlock(&object->lock);
	return true;
}

static bool put_rcuref(struct object *object)
{
	return hf_rcuref_put(&object->rcuref);
}

static bool put_lockref(struct object *object)
{
	if (hf_lockref_put_or_lock(&object->lockref))
		return false;
	hf_lockref_mark_dead(&object->lockref);
	hf_lockref_unlock(&object->lockref);
	return true;
}

static bool put_waitfree(struct object *object)
{
	bool last;

	if (hf_lockref_waitfree_put_or_lock(&object->waitfree))
		return false;
	last = hf_lockref_waitfree_mark_dead(&object->waitfree, 0);
	hf_lockref_waitfree_unlock(&object->waitfree);
	return last;
}

static bool (*const puts_[])(struct object *object) = {
	put, put_one, put_lockref, put_and_lock, put_rcuref, put_waitfree,
};

static void *drop(void *argument)
{
	struct object *object = argument;
	long sum = 0;

	object->wrote[__atomic_fetch_add(&object->next, 1, __ATOMIC_RELAXED)] = 1;
	if (!object->put(object))
		return NULL;
	for (int i = 0; i < THREADS; i++)
		sum += object->wrote[i];
	if (sum != THREADS)
		exit(1);
	memset(object->wrote, 0, sizeof(object->wrote));
	__atomic_store_n(&object->next, -1, __ATOMIC_RELAXED);
	return NULL;
}

static void use_count(bool (*put)(struct object *object))
{
	struct object *object = calloc(1, sizeof(*object));
	pthread_t threads[THREADS];

	if (!object)
		abort();
	hf_refcount_set(&object->refs, THREADS);
	hf_rcuref_init(&object->rcuref, THREADS);
	hf_lockref_init(&object->lockref, THREADS);
	hf_lockref_waitfree_init(&object->waitfree, THREADS);
	object->put = put;
	start(threads, THREADS, drop, object);
	join(threads, THREADS);
	if (object->next != -1) {
		printf("nobody dropped the last reference\n");
		exit(1);
	}
	free(object);
}

/* ---- A race: two threads use different locks for one variable -------------------------------- */

static hf_mutex_t mine = HF_MUTEX_INIT, yours = HF_MUTEX_INIT;
static int turn; /* atomic; relaxed, so it orders nothing */

static void *wrong(void *argument)
{
	(void)argument;
	while (!__atomic_load_n(&turn, __ATOMIC_RELAXED))
		usleep(1000);
	hf_mutex_lock(&yours);
	number++;
	hf_mutex_unlock(&yours);
	return NULL;
}

static void *right(void *argument)
{
	(void)argument;
	hf_mutex_lock(&mine);
	number++;
	hf_mutex_unlock(&mine);
	__atomic_store_n(&turn, 1, __ATOMIC_RELAXED);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "race") == 0) {
		pthread_t threads[2];

		start(&threads[0], 1, wrong, NULL);
		start(&threads[1], 1, right, NULL);
		join(threads, 2);
		return 0;
	}
	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++)
		use_lock(&locks[i]);
	for (size_t i = 0; i < sizeof(puts_) / sizeof(puts_[0]); i++)
		use_count(puts_[i]);
	return 0;
}
