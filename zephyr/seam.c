/* SPDX-License-Identifier: MIT */
/*
 * seam - what Holdfast requires of a port (holdfast/internal/env/bare.h), by Zephyr's functions.
 *
 * A thread that holds or waits for a lock must not be moved to another core or preempted: take locks
 * by their _irqsave forms, or between k_sched_lock() and k_sched_unlock(). Nodes are taken with
 * interrupts masked, so any context may get one.
 */
#include <stdint.h>
#include <zephyr/irq.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

#include "holdfast/spinlock/node.h"

#include "../src/env/env.h"

#define SLOT_NODES (CONFIG_HOLDFAST_IRQ_LEVELS * HF_NODES)

HF_ALIGNED(HF_ARCH_NO_SHARING) hf_node_t hf_detail_nodes[CONFIG_MP_MAX_NUM_CPUS * SLOT_NODES];

/* Which nodes of each core are in use, one bit a node. A core writes its own only. */
static struct {
	uint64_t bits;
} HF_ALIGNED(HF_ARCH_NO_SHARING) used[CONFIG_MP_MAX_NUM_CPUS];

uint32_t hf_env_node_get(void)
{
	unsigned int key = arch_irq_lock();
	unsigned int core = arch_curr_cpu()->id;
	uint64_t all = SLOT_NODES == 64 ? UINT64_MAX : (UINT64_C(1) << SLOT_NODES % 64) - 1;
	uint64_t free_nodes = ~used[core].bits & all;
	uint32_t index = 0;

	if (free_nodes) {
		unsigned int n = (unsigned int)__builtin_ctzll(free_nodes);

		used[core].bits |= UINT64_C(1) << n;
		index = 1 + core * SLOT_NODES + n;
	}
	arch_irq_unlock(key);
	return index;
}

void hf_env_node_put(uint32_t index)
{
	unsigned int key = arch_irq_lock();

	used[(index - 1) / SLOT_NODES].bits &= ~(UINT64_C(1) << (index - 1) % SLOT_NODES);
	arch_irq_unlock(key);
}

unsigned long hf_env_irq_save(void)
{
	return arch_irq_lock();
}

void hf_env_irq_restore(unsigned long flags)
{
	arch_irq_unlock((unsigned int)flags);
}

/* For src/report/report.c. */
void hf_detail_env_print(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		printk("%c", line[i]);
}

void hf_detail_env_abort(void)
{
	k_panic();
	CODE_UNREACHABLE;
}
