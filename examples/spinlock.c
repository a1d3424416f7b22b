/* SPDX-License-Identifier: MIT */
/*
 * spinlock - statistics of a few words that threads update together. The section is some ten
 * instructions long and never sleeps: that is what a spinlock is for.
 */
#include <pthread.h>
#include <stdio.h>

#include <holdfast/spinlock.h>

#include "must.h"

#define SAMPLES 20000

/* Zeroed memory is an unlocked lock. Otherwise: = HF_SPINLOCK_INIT, or hf_spinlock_init(). */
static struct {
	hf_spinlock_t lock;
	unsigned long count, sum, biggest; /* protected by lock, which keeps them consistent */
} stats;

static void stats_add(unsigned long sample)
{
	hf_spinlock_lock(&stats.lock);
	stats.count++;
	stats.sum += sample;
	if (sample > stats.biggest)
		stats.biggest = sample;
	hf_spinlock_unlock(&stats.lock);
}

/* The guard releases the lock wherever the block is left, here in two places. */
static unsigned long stats_average(void)
{
	HF_SPINLOCK_GUARD(&stats.lock);
	if (stats.count == 0)
		return 0;
	return stats.sum / stats.count;
}

static void *work(void *argument)
{
	(void)argument;
	for (unsigned long i = 1; i <= SAMPLES; i++)
		stats_add(i);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	must(stats_average() == 0);
	for (int i = 0; i < 2; i++)
		must(pthread_create(&threads[i], NULL, work, NULL) == 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	must(stats.count == 2 * SAMPLES);
	must(stats.sum == (unsigned long)SAMPLES * (SAMPLES + 1));
	must(stats.biggest == SAMPLES);
	printf("%lu samples, average %lu\n", stats.count, stats_average());

	if (hf_spinlock_trylock(&stats.lock)) /* does not wait if the lock is held */
		hf_spinlock_unlock(&stats.lock);
	printf("a lock is %zu bytes\n", sizeof(hf_spinlock_t));
	return 0;
}
