/* SPDX-License-Identifier: MIT */
/*
 * seam - all functions that Holdfast requires of a port (holdfast/internal/env/bare.h), for four
 * cores.
 *
 * Interrupt handlers here take no locks, so a core needs one set of nodes. A system whose handlers
 * take queued locks needs one more set for each level of nesting, or uses the _irqsave functions.
 */
#include "holdfast/internal/node.h"

#include "../../src/env/env.h"
#include "board.h"

HF_ALIGNED(HF_ARCH_NO_SHARING) hf_node_t hf_detail_nodes[BARE_CORES * HF_NODES];

/* The nodes in use, one bit each. A core writes only its own entry. */
static struct {
	uint32_t bits;
} HF_ALIGNED(HF_ARCH_NO_SHARING) used[BARE_CORES];

uint32_t hf_env_node_get(void)
{
	unsigned int core = bare_core();
	uint32_t free_nodes = ~used[core].bits & ((1u << HF_NODES) - 1);
	unsigned int n;

	if (!free_nodes)
		return 0;
	n = (unsigned int)__builtin_ctz(free_nodes);
	used[core].bits |= 1u << n;
	return 1 + core * HF_NODES + n;
}

void hf_env_node_put(uint32_t index)
{
	used[(index - 1) / HF_NODES].bits &= ~(1u << (index - 1) % HF_NODES);
}

unsigned long hf_env_irq_save(void)
{
	unsigned long flags;

	__asm__ volatile("mrs	%0, daif\n\tmsr	daifset, #3" : "=r"(flags)::"memory");
	return flags;
}

void hf_env_irq_restore(unsigned long flags)
{
	__asm__ volatile("msr	daif, %0" ::"r"(flags) : "memory");
}

/* Called by src/nofault/choose.c: the cache size is unknown. */
uint64_t hf_detail_env_cache_bytes(void)
{
	return 0;
}

uint64_t hf_detail_env_now(void)
{
	return bare_now();
}

/* Called by src/report/report.c. */
void hf_detail_env_print(const char *line, size_t len)
{
	bare_print(line, len);
}

void hf_detail_env_abort(void)
{
	bare_exit(4);
}
