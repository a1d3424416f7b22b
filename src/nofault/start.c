/* SPDX-License-Identifier: MIT */
/* start - Linux user space: the choice of the implementations, when the library is loaded. */
#include <errno.h>
#include <unistd.h>

#include "../env/env.h"
#include "implementation.h"

/* Here, since choose.c calls it: so static programs get this file, with its constructor. */
uint64_t hf_detail_env_cache_bytes(void)
{
#ifdef _SC_LEVEL4_CACHE_SIZE /* glibc has it, musl doesn't */
	static const int levels[] = { _SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE,
				      _SC_LEVEL2_CACHE_SIZE };
	/* sysconf() does not know these on each processor, and main() begins with errno 0. */
	int kept = errno;
	long bytes = 0;

	for (unsigned int i = 0; i < sizeof(levels) / sizeof(levels[0]) && bytes <= 0; i++)
		bytes = sysconf(levels[i]);
	errno = kept;
	return bytes > 0 ? (uint64_t)bytes : 0;
#else
	return 0;
#endif
}

__attribute__((constructor(101))) static void start_choose(void)
{
	hf_detail_env_hide_features(); /* before the choice */
	hf_detail_nofault_start();
	hf_detail_nofault_await_first();
}
