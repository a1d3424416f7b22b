/* SPDX-License-Identifier: MIT */
/* cond - a bounded queue: consumers wait while it is empty, producers while it is full. */
#include <pthread.h>
#include <stdio.h>

#include <holdfast/cond.h>

#include "must.h"

#define ROOM 8
#define ITEMS 20000
#define TAKERS 3

/* Zeroed memory is an empty queue. Otherwise: = HF_COND_INIT, or hf_cond_init(). */
static struct {
	hf_mutex_t lock;
	hf_cond_t not_empty, not_full;
	unsigned int item[ROOM], first, count; /* protected by lock */
	int closed;
} queue;

static void put(unsigned int item)
{
	hf_mutex_lock(&queue.lock);
	while (queue.count == ROOM)
		hf_cond_wait(&queue.not_full, &queue.lock);
	queue.item[(queue.first + queue.count++) % ROOM] = item;
	hf_mutex_unlock(&queue.lock);
	hf_cond_signal(&queue.not_empty);
}

/* Returns 0 when the queue is closed and empty. */
static int take(unsigned int *item)
{
	int taken;

	hf_mutex_lock(&queue.lock);
	while (queue.count == 0 && !queue.closed)
		hf_cond_wait(&queue.not_empty, &queue.lock);
	taken = queue.count > 0;
	if (taken) {
		*item = queue.item[queue.first];
		queue.first = (queue.first + 1) % ROOM;
		queue.count--;
	}
	hf_mutex_unlock(&queue.lock);
	if (taken)
		hf_cond_signal(&queue.not_full);
	return taken;
}

static void *taker(void *sum)
{
	unsigned int item;

	while (take(&item))
		*(unsigned long *)sum += item;
	return NULL;
}

int main(void)
{
	unsigned long sum[TAKERS] = { 0 }, all = 0;
	pthread_t threads[TAKERS];

	for (int i = 0; i < TAKERS; i++)
		must(pthread_create(&threads[i], NULL, taker, &sum[i]) == 0);
	for (unsigned int i = 1; i <= ITEMS; i++)
		put(i);
	hf_mutex_lock(&queue.lock);
	queue.closed = 1;
	hf_mutex_unlock(&queue.lock);
	hf_cond_broadcast(&queue.not_empty);
	for (int i = 0; i < TAKERS; i++) {
		pthread_join(threads[i], NULL);
		all += sum[i];
	}
	must(all == (unsigned long)ITEMS * (ITEMS + 1) / 2);
	printf("%d items by %d threads, sum %lu\n", ITEMS, TAKERS, all);

	/* There is no signal: the wait times out, with the mutex held. */
	hf_mutex_lock(&queue.lock);
	while (hf_cond_wait_timeout(&queue.not_empty, &queue.lock, 1000000 /* ns */))
		;
	must(hf_mutex_is_locked(&queue.lock));
	hf_mutex_unlock(&queue.lock);
	return 0;
}
