/* SPDX-License-Identifier: MIT */
/* preloads - stands for a C library with another layout: run.py preloads it, after hf-run's. */
#include <pthread.h>
#include <string.h>

int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
	(void)attr;
	memset(cond, 0xff, sizeof(*cond));
	return 0;
}
