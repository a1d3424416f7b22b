/* SPDX-License-Identifier: MIT */
/*
 * semaphore - of a word that threads wait at: at most three of ten threads work at a time.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include <holdfast/wait_address.h>

#include "must.h"

#define THREADS 10
#define PLACES 3

struct semaphore {
	_Atomic uint32_t free;
};

static void semaphore_down(struct semaphore *semaphore)
{
	uint32_t n = semaphore->free;

	while (n == 0 || !atomic_compare_exchange_weak(&semaphore->free, &n, n - 1)) {
		if (n == 0 && hf_wait_address(&semaphore->free, 0, HF_ENV_FOREVER))
			n = semaphore->free;
	}
}

static void semaphore_up(struct semaphore *semaphore)
{
	atomic_fetch_add(&semaphore->free, 1);
	hf_wake_address_one(&semaphore->free);
}

static struct semaphore places = { PLACES };
static _Atomic int busy, done;

static void *work(void *unused)
{
	for (int i = 0; i < 1000; i++) {
		semaphore_down(&places);
		must(++busy <= PLACES);
		busy--;
		done++;
		semaphore_up(&places);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, work, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%d times at work, %u places free\n", done, places.free);
	return 0;
}
