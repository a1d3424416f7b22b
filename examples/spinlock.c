/* SPDX-License-Identifier: MIT */
/*
 * spinlock - two threads move money between accounts; the sum stays.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#include <holdfast/spinlock.h>

static hf_spinlock_t lock = HF_SPINLOCK_INIT;
static long left = 1000, right;

static void *mover(void *argument)
{
	(void)argument;
	for (int i = 0; i < 1000; i++) {
		hf_spinlock_lock(&lock);
		left--;
		right++;
		hf_spinlock_unlock(&lock);
	}
	return NULL;
}

/* A guard releases where the block ends, at every return. */
static long sum(void)
{
	HF_SPINLOCK_GUARD(&lock);

	return left + right;
}

int main(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++) {
		int error = pthread_create(&threads[i], NULL, mover, NULL);

		assert(error == 0);
	}
	for (int i = 0; i < 100; i++)
		assert(sum() == 1000);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert(left == -1000 && right == 2000);

	/* Not waiting is possible too. */
	bool taken = hf_spinlock_trylock(&lock);

	assert(taken && hf_spinlock_is_locked(&lock));
	hf_spinlock_unlock(&lock);
	printf("%ld + %ld = 1000\n", left, right);
	return 0;
}
