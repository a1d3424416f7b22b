/* SPDX-License-Identifier: MIT */
/*
 * shop - a program with two faults that hf-run finds: docs/guide/your-program.md.
 *
 *   Every cashier writes the receipt while holding `stock`: the others wait.
 *   sell() locks `stock`, then `till`; refund() does it the other way round: one day they deadlock.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER, till = PTHREAD_MUTEX_INITIALIZER;
static int apples = 1000, money;

static void write_receipt(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void sell(void)
{
	pthread_mutex_lock(&stock);
	apples--;
	write_receipt();
	pthread_mutex_lock(&till);
	money++;
	pthread_mutex_unlock(&till);
	pthread_mutex_unlock(&stock);
}

static void refund(void)
{
	pthread_mutex_lock(&till);
	money--;
	pthread_mutex_lock(&stock);
	apples++;
	pthread_mutex_unlock(&stock);
	pthread_mutex_unlock(&till);
}

static void *cashier(void *unused)
{
	for (int i = 0; i < 50; i++)
		sell();
	return unused;
}

int main(void)
{
	pthread_t cashiers[4];

	for (int i = 0; i < 4; i++)
		(void)pthread_create(&cashiers[i], NULL, cashier, NULL);
	for (int i = 0; i < 4; i++)
		(void)pthread_join(cashiers[i], NULL);
	refund();
	(void)printf("%d apples, %d coins\n", apples, money);
	return 0;
}
