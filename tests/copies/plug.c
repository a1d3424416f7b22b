/* SPDX-License-Identifier: MIT */
/* plug - a plug-in with a copy of the library of its own: see main.c. */
#include <sched.h>

#include "holdfast/cond.h"

__attribute__((visibility("default"))) void plug_work(hf_mutex_t *mutex, unsigned long *count,
						      unsigned long n);
__attribute__((visibility("default"))) void plug_wait(hf_mutex_t *mutex, hf_cond_t *cond, int *go);

void plug_work(hf_mutex_t *mutex, unsigned long *count, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		hf_mutex_lock(mutex);
		if (++*count % 16 == 0)
			sched_yield(); /* descheduled with the mutex held: the others park */
		hf_mutex_unlock(mutex);
	}
}

void plug_wait(hf_mutex_t *mutex, hf_cond_t *cond, int *go)
{
	hf_mutex_lock(mutex);
	while (!*go)
		hf_cond_wait(cond, mutex);
	hf_mutex_unlock(mutex);
}
