/* SPDX-License-Identifier: MIT */
/*
 * mutex - threads share a queue of jobs. Waiters park, since the holder may be preempted or hold
 * the mutex for long. In a second part two processes share a counter.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <holdfast/mutex.h>

#include "must.h"

#define JOBS 20000
#define THREADS 4

/* Zeroed memory is an unlocked mutex. Otherwise: = HF_MUTEX_INIT, or hf_mutex_init(). */
static struct {
	hf_mutex_t lock;
	unsigned int done; /* protected by lock */
} queue;

/* Gives up after the timeout, to do other work. */
static bool queue_look(unsigned int *done)
{
	if (!hf_mutex_lock_timeout(&queue.lock, 1000000 /* ns */))
		return false;
	*done = queue.done;
	hf_mutex_unlock(&queue.lock);
	return true;
}

static void *work(void *argument)
{
	bool taken;

	(void)argument;
	do {
		hf_mutex_lock(&queue.lock);
		taken = queue.done < JOBS;
		queue.done += taken;
		hf_mutex_unlock(&queue.lock);
	} while (taken);
	return NULL;
}

/* Both processes map this memory, so the mutex is an hf_mutex_shared_t. */
struct shared {
	hf_mutex_shared_t lock;
	unsigned int count;
};

static void count(struct shared *shared)
{
	for (int i = 0; i < JOBS; i++) {
		hf_mutex_shared_lock(&shared->lock);
		shared->count++;
		hf_mutex_shared_unlock(&shared->lock);
	}
}

int main(void)
{
	pthread_t threads[THREADS];
	struct shared *shared;
	unsigned int done;
	int status;
	pid_t child;

	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, work, NULL) == 0);
	if (queue_look(&done))
		must(done <= JOBS);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	must(queue.done == JOBS && !hf_mutex_is_locked(&queue.lock));
	printf("%u jobs by %d threads\n", queue.done, THREADS);

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	must(shared != MAP_FAILED);
	child = fork();
	must(child >= 0);
	count(shared);
	if (child == 0)
		_exit(0);
	must(waitpid(child, &status, 0) == child && status == 0);
	must(shared->count == 2 * JOBS);
	printf("%u by two processes\n", shared->count);
	printf("a mutex is %zu bytes\n", sizeof(hf_mutex_t));
	return 0;
}
