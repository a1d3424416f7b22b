/* SPDX-License-Identifier: MIT */
#ifndef HF_RUN_TESTS_EARLY_H
#define HF_RUN_TESTS_EARLY_H
/* early - what early.c makes before main(). */
#include <pthread.h>

extern struct early {
	pthread_mutex_t m, held, held_recursive;
	pthread_cond_t c;
	pthread_rwlock_t read;
	pthread_t thread;
	int is_waiting, work, done;
} early;

#endif
