/* SPDX-License-Identifier: MIT */
/*
 * seam - implements what Holdfast requires of a port (holdfast/internal/env/bare.h) with Zephyr.
 *
 * Zephyr preempts threads. If a thread of higher priority preempted a holder and then spun for the
 * same lock on the same core, both would hang. So hf_env_preempt_disable() masks the core's
 * interrupts, as k_spin_lock() does: holders and waiters are neither preempted nor migrated, and an
 * interrupt handler may take any lock. A holder must not sleep. A critical section may be inside of
 * a pair of irq_lock() and irq_unlock(), or enclose it, but not overlap it. Only for threads in
 * supervisor mode: masking interrupts faults in user mode.
 */
#include <stdint.h>
#include <zephyr/irq.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

#include "holdfast/internal/node.h"

#include "../src/env/env.h"

/* Interrupts are masked while a node is in use, so only one context of a core uses nodes. */
HF_ALIGNED(HF_ARCH_NO_SHARING) hf_node_t hf_detail_nodes[CONFIG_MP_MAX_NUM_CPUS * HF_NODES];

/* Each core writes only its own entry, with interrupts masked. */
static struct {
	unsigned int depth; /* number of disables without an enable */
	unsigned int key;   /* interrupt state before the outermost disable */
	uint32_t nodes;     /* nodes in use, one bit each */
} HF_ALIGNED(HF_ARCH_NO_SHARING) cores[CONFIG_MP_MAX_NUM_CPUS];

/* Both pairs of functions use one depth, so that locks may be released in any order. */
void hf_env_preempt_disable(void)
{
	unsigned int key = arch_irq_lock();
	unsigned int core = arch_curr_cpu()->id;

	if (cores[core].depth++ == 0)
		cores[core].key = key;
}

void hf_env_preempt_enable(void)
{
	unsigned int core = arch_curr_cpu()->id;

	if (--cores[core].depth == 0)
		arch_irq_unlock(cores[core].key);
}

unsigned long hf_env_irq_save(void)
{
	hf_env_preempt_disable();
	return 0;
}

void hf_env_irq_restore(unsigned long flags)
{
	(void)flags;
	hf_env_preempt_enable();
}

uint32_t hf_env_node_get(void)
{
	unsigned int core = arch_curr_cpu()->id;
	uint32_t free_nodes = ~cores[core].nodes & ((1u << HF_NODES) - 1);
	unsigned int n;

	if (!free_nodes)
		return 0;
	n = (unsigned int)__builtin_ctz(free_nodes);
	cores[core].nodes |= 1u << n;
	return 1 + core * HF_NODES + n;
}

void hf_env_node_put(uint32_t index)
{
	cores[(index - 1) / HF_NODES].nodes &= ~(1u << (index - 1) % HF_NODES);
}

/* Called by src/report/report.c. */
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
