/* SPDX-License-Identifier: MIT */
/* linux_user_spin - Linux user space: the duration of a spin hint, and the number of processors. */
#include <sys/syscall.h>
#include <unistd.h>

#include "holdfast/internal/arch.h"

#include "env.h"

uint32_t hf_detail_spin_rate = 65536 / HF_ARCH_HINT_NS;
uint32_t hf_detail_processors = 1;

/* Takes a few microseconds. Uses the shortest of several batches: an interrupt lengthens one. */
__attribute__((constructor(101))) static void find_rate(void)
{
	enum { BATCHES = 4, HINTS = 64, LEAST = 65536 / 256, MOST = 65536 * 4 };
	uint64_t least = UINT64_MAX, rate;

	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t start = hf_detail_env_now(), took;

		for (int i = 0; i < HINTS; i++)
			hf_arch_relax();
		took = hf_detail_env_now() - start;
		if (took < least)
			least = took;
	}
	rate = HINTS * (uint64_t)65536 / (least ? least : 1);
	hf_detail_spin_rate = (uint32_t)(rate < LEAST ? LEAST : rate > MOST ? MOST : rate);
}

/*
 * Counts the processors in the affinity mask, which a container or taskset may limit. Uses the
 * system call, because libc's mask has room for 1,024 only.
 */
__attribute__((constructor(101))) static void count_processors(void)
{
	enum { WORDS = 256 };
	unsigned long set[WORDS];
	long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(set), set);
	uint32_t n = 0;

	for (long i = 0; i < bytes / (long)sizeof(set[0]); i++)
		n += (uint32_t)__builtin_popcountl(set[i]);
	if (n)
		hf_detail_processors = n;
}
