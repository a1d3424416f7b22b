/* SPDX-License-Identifier: MIT */
/*
 * opens - opens plugged.c, which is found by this program's RUNPATH, with RTLD_DEEPBIND, and uses
 * one mutex together with it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 2000 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int turns;
static void (*take_turns)(pthread_mutex_t *, pthread_cond_t *, int *turns, int first, int count);

static void *in_plugged(void *unused)
{
	take_turns(&m, &c, &turns, 1, ROUNDS);
	return unused;
}

static void *in_program(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&m);
		while (turns % 2)
			pthread_cond_wait(&c, &m);
		turns++;
		pthread_cond_signal(&c);
		pthread_mutex_unlock(&m);
	}
	return unused;
}

int main(void)
{
	void *plugged = dlopen("librun_plugged.so", RTLD_NOW | RTLD_DEEPBIND);
	pthread_t t[2];

	if (!plugged) {
		puts(dlerror());
		return 1;
	}
	*(void **)&take_turns = dlsym(plugged, "take_turns");
	alarm(300);
	pthread_create(&t[0], NULL, in_plugged, NULL);
	pthread_create(&t[1], NULL, in_program, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%d turns\n", turns);
	return turns != 2 * ROUNDS;
}
