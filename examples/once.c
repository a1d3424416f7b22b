/* SPDX-License-Identifier: MIT */
/*
 * once - of a word that threads wait at: the first of several threads initializes, and the others
 * wait until it has.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include <holdfast/wait_address.h>

#include "must.h"

#define THREADS 4

enum { NOT_YET, BUSY, DONE };

static void once(_Atomic uint32_t *state, void (*function)(void))
{
	uint32_t found = NOT_YET;

	if (atomic_compare_exchange_strong(state, &found, BUSY)) {
		function();
		*state = DONE;
		hf_wake_address_all(state);
	}
	while (found == BUSY) {
		if (hf_wait_address(state, BUSY, HF_ENV_FOREVER))
			found = *state; /* acquire: what function() has written */
	}
}

static _Atomic uint32_t state;
static int calls; /* written before DONE, and read after it */

static void initialize(void)
{
	calls++;
}

static void *use(void *unused)
{
	once(&state, initialize);
	must(atomic_load(&state) == DONE && calls == 1);
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, use, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("initialized by one of %d threads\n", THREADS);
	return 0;
}
