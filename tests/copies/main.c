/* SPDX-License-Identifier: MIT */
/*
 * main - copies of the library in one process: the program's, those of plug-ins, the shared one.
 *
 *   copies PLUGIN...   each is loaded; threads of all copies share a mutex and a condition variable;
 *                      then the plug-ins are unloaded while threads of the program wait
 *
 * A thread that is parked by one copy must be woken by another: else this ends by the alarm.
 */
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "holdfast/cond.h"

typedef void work_t(hf_mutex_t *mutex, unsigned long *count, unsigned long n);
typedef void wait_t(hf_mutex_t *mutex, hf_cond_t *cond, int *go);

enum { MANY = 3000, MOST = 8 };

static hf_mutex_t mutex;
static hf_cond_t cond;
static unsigned long count;
static int go, waiting;

static void own_work(hf_mutex_t *m, unsigned long *c, unsigned long n)
{
	while (n-- > 0) {
		hf_mutex_lock(m);
		++*c;
		hf_mutex_unlock(m);
	}
}

static void *worker(void *argument)
{
	work_t *work = *(work_t **)argument;

	work(&mutex, &count, MANY);
	return NULL;
}

static void *waiter(void *argument)
{
	wait_t *wait = *(wait_t **)argument;

	wait(&mutex, &cond, &go);
	return NULL;
}

static void *own_waiter(void *unused)
{
	hf_mutex_lock(&mutex);
	waiting++;
	while (!go)
		hf_cond_wait(&cond, &mutex);
	hf_mutex_unlock(&mutex);
	return unused;
}

static void end_wait(void)
{
	hf_mutex_lock(&mutex);
	go = 1;
	hf_cond_broadcast(&cond);
	hf_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	work_t *work[MOST] = { own_work, own_work };
	wait_t *wait[MOST];
	void *plugin[MOST];
	pthread_t thread[2 * MOST];
	int n = argc - 1, last = 0;

	assert(n > 0 && n + 2 <= MOST);
	alarm(120);
	for (int i = 0; i < n; i++) {
		void *symbol;

		plugin[i] = dlopen(argv[1 + i], RTLD_NOW | RTLD_LOCAL);
		if (!plugin[i]) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		symbol = dlsym(plugin[i], "plug_work");
		memcpy(&work[2 + i], &symbol, sizeof(symbol));
		symbol = dlsym(plugin[i], "plug_wait");
		memcpy(&wait[i], &symbol, sizeof(symbol));
	}
	for (int i = 0; i < n + 2; i++)
		assert(pthread_create(&thread[i], NULL, worker, &work[i]) == 0);
	for (int i = 0; i < n + 2; i++)
		pthread_join(thread[i], NULL);
	assert(count == (unsigned long)(n + 2) * MANY);

	/* The plug-ins' threads wait, and the program's copy wakes them. */
	for (int i = 0; i < n; i++)
		assert(pthread_create(&thread[i], NULL, waiter, &wait[i]) == 0);
	end_wait();
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);

	/* The program's threads wait, and the plug-ins go. */
	go = 0;
	for (; last < 3; last++)
		assert(pthread_create(&thread[last], NULL, own_waiter, NULL) == 0);
	for (int all = 0; !all; usleep(1000)) {
		hf_mutex_lock(&mutex);
		all = waiting == last;
		hf_mutex_unlock(&mutex);
	}
	for (int i = 0; i < n; i++)
		dlclose(plugin[i]);
	end_wait();
	for (int i = 0; i < last; i++)
		pthread_join(thread[i], NULL);
	printf("%d plug-ins, count %lu\n", n, count);
	return 0;
}
