/* SPDX-License-Identifier: MIT */
/* late - uses in main() what early.c has locked in a constructor: no misuse. */
#include "early.h"

#include <stdio.h>
#include <unistd.h>

int main(void)
{
	alarm(300);
	for (int i = 1; i <= 3; i++) {
		pthread_mutex_lock(&early.m);
		early.work = 1;
		pthread_cond_broadcast(&early.c);
		while (early.done < i)
			pthread_cond_wait(&early.c, &early.m);
		pthread_mutex_unlock(&early.m);
	}
	pthread_join(early.thread, NULL);
	pthread_mutex_unlock(&early.held);
	pthread_mutex_unlock(&early.held_recursive);
	pthread_rwlock_unlock(&early.read);
	puts("done");
	return 0;
}
