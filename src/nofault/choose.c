/* SPDX-License-Identifier: MIT */
/* choose - Linux user space: the inputs to the choice of clear and copy. */
#include <sys/mman.h>
#include <unistd.h>

#include "../cpu/cpu.h"
#include "../env/env.h"
#include "nofault.h"

uint64_t hf_detail_env_cache_bytes(void)
{
#ifdef _SC_LEVEL4_CACHE_SIZE /* glibc has it, musl doesn't */
	static const int levels[] = { _SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE,
				      _SC_LEVEL2_CACHE_SIZE };

	for (unsigned int i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		long bytes = sysconf(levels[i]);

		if (bytes > 0)
			return (uint64_t)bytes;
	}
#endif
	return 0;
}

void *hf_detail_env_memory_get(size_t len)
{
	void *memory = mmap(NULL, len, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void hf_detail_env_memory_put(void *memory, size_t len)
{
	(void)munmap(memory, len);
}

__attribute__((constructor(101))) static void start_choose(void)
{
	hf_detail_env_hide_features(); /* before the choice */
	hf_detail_nofault_start();
	hf_detail_nofault_await_first();
}
