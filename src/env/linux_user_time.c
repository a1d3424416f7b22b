/* SPDX-License-Identifier: MIT */
/* linux_user_time - Linux user space: the clock. */
#include <time.h>

#include "env.h"

uint64_t hf_detail_env_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
