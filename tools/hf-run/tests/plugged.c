/* SPDX-License-Identifier: MIT */
/* plugged - what opens.c opens. */
#include <pthread.h>

void take_turns(pthread_mutex_t *m, pthread_cond_t *c, int *turns, int first, int count);

void take_turns(pthread_mutex_t *m, pthread_cond_t *c, int *turns, int first, int count)
{
	for (int i = 0; i < count; i++) {
		pthread_mutex_lock(m);
		while (*turns % 2 != first)
			pthread_cond_wait(c, m);
		++*turns;
		pthread_cond_signal(c);
		pthread_mutex_unlock(m);
	}
}
