/* SPDX-License-Identifier: MIT */
/*
 * rwlock - threads look up prices, and one changes them now and then. Readers share nothing that
 * they write, so they do not slow each other down.
 */
#include <pthread.h>
#include <stdio.h>

#include <holdfast/rwlock.h>

#include "must.h"

#define READERS 4
#define CHANGES 1000

/* Zeroed memory is a free lock. Otherwise: = HF_RWLOCK_INIT, or hf_rwlock_init(). */
static struct {
	hf_rwlock_t lock;
	unsigned int price, tax; /* protected by lock; the tax is a fifth of the price */
	bool is_final;
} table;

static void *look_up(void *lookups)
{
	bool is_final = false;

	while (!is_final) {
		HF_RWLOCK_READ_GUARD(&table.lock);
		must(table.price == 5 * table.tax);
		is_final = table.is_final;
		++*(unsigned long *)lookups;
	}
	return NULL;
}

/* Gives up after the timeout, to do other work. */
static bool try_to_change(unsigned int tax)
{
	if (!hf_rwlock_write_lock_timeout(&table.lock, 1000000000 /* ns */))
		return false;
	table.tax = tax;
	table.price = 5 * tax;
	hf_rwlock_write_unlock(&table.lock);
	return true;
}

int main(void)
{
	unsigned long lookups[READERS] = { 0 }, sum = 0;
	pthread_t threads[READERS];

	for (int i = 0; i < READERS; i++)
		must(pthread_create(&threads[i], NULL, look_up, &lookups[i]) == 0);
	for (unsigned int i = 1; i <= CHANGES; i++) {
		while (!try_to_change(i))
			;
	}
	hf_rwlock_write_lock(&table.lock);
	table.is_final = true;
	/* From here on this thread reads, and so may the others. */
	hf_rwlock_downgrade(&table.lock);
	must(table.tax == CHANGES);
	hf_rwlock_read_unlock(&table.lock);
	for (int i = 0; i < READERS; i++) {
		pthread_join(threads[i], NULL);
		sum += lookups[i];
	}
	printf("%d changes, seen by %d threads in %lu lookups\n", CHANGES, READERS, sum);
	printf("a reader-writer lock is %zu bytes\n", sizeof(hf_rwlock_t));
	return 0;
}
