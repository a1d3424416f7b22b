/* SPDX-License-Identifier: MIT */
/* validate_loops - the loop of the table `validate`: compiled with HF_VALIDATE, and without. */
#include "holdfast/mutex.h"

/* @state: the lock of each operation, and then those that are held meanwhile; NULL ends them. */
uint64_t LAB_SYMBOL(void *state, int thread, const int *stop)
{
	hf_mutex_t **locks = state;
	uint64_t ops = 0;
	int held = 1;

	(void)thread;
	for (; locks[held]; held++)
		hf_mutex_lock(locks[held]);
	for (; !__atomic_load_n(stop, __ATOMIC_RELAXED); ops++) {
		hf_mutex_lock(locks[0]);
		__asm__ volatile("" ::: "memory");
		hf_mutex_unlock(locks[0]);
	}
	while (--held > 0)
		hf_mutex_unlock(locks[held]);
	return ops;
}
