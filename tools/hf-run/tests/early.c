/* SPDX-License-Identifier: MIT */
/*
 * early - a library whose constructor runs before that of hf-run's library: it locks mutexes, and
 * starts a thread that waits for work. late.c goes on with them.
 */
#include "early.h"

struct early early = { .m = PTHREAD_MUTEX_INITIALIZER,
		       .held = PTHREAD_MUTEX_INITIALIZER,
		       .read = PTHREAD_RWLOCK_INITIALIZER,
		       .held_recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
		       .c = PTHREAD_COND_INITIALIZER };

static void *work(void *unused)
{
	pthread_mutex_lock(&early.m);
	early.is_waiting = 1;
	for (int i = 0; i < 3; i++) {
		while (!early.work)
			pthread_cond_wait(&early.c, &early.m);
		early.work = 0;
		early.done++;
		pthread_cond_broadcast(&early.c);
	}
	pthread_mutex_unlock(&early.m);
	return unused;
}

__attribute__((constructor)) static void start(void)
{
	pthread_mutex_lock(&early.held);
	pthread_mutex_lock(&early.held_recursive);
	pthread_rwlock_rdlock(&early.read);
	pthread_create(&early.thread, NULL, work, NULL);
	for (int waits = 0; !waits;) {
		pthread_mutex_lock(&early.m);
		waits = early.is_waiting;
		pthread_mutex_unlock(&early.m);
	}
}
