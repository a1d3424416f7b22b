// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * seam - the functions that holdfast/internal/env/linux_kernel.h requires: nodes of queued locks,
 * and output of reports.
 */
#include "holdfast/internal/node.h"

#include <linux/bug.h>
#include <linux/cache.h>
#include <linux/kernel.h>
#include <linux/once_lite.h>
#include <linux/percpu.h>
#include <linux/smp.h>

#include "../../src/env/env.h"

enum { TASK, SOFTIRQ, HARDIRQ, NMI, CONTEXTS };

#define NODES_A_CPU (CONTEXTS * HF_NODES)
#define MOST_CPUS (32767 / NODES_A_CPU)

struct slots {
	hf_node_t nodes[NODES_A_CPU];
	uint32_t used[CONTEXTS]; /* one bit for each node */
};

/* The address of a CPU's slots never changes, so other CPUs may read its nodes. */
static DEFINE_PER_CPU_ALIGNED(struct slots, slots);

static unsigned int context(void)
{
	return in_nmi() ? NMI : in_hardirq() ? HARDIRQ : in_serving_softirq() ? SOFTIRQ : TASK;
}

uint32_t hf_env_node_get(void)
{
	unsigned int cpu = smp_processor_id(), where = context(), n;
	uint32_t *used = this_cpu_ptr(&slots.used[where]);
	uint32_t free_nodes = ~*used & ((1u << HF_NODES) - 1);

	if (!free_nodes || cpu >= MOST_CPUS)
		return 0;
	n = (unsigned int)__builtin_ctz(free_nodes);
	*used |= 1u << n;
	return 1 + cpu * NODES_A_CPU + where * HF_NODES + n;
}

void hf_env_node_put(uint32_t index)
{
	unsigned int n = (index - 1) % NODES_A_CPU;

	*this_cpu_ptr(&slots.used[n / HF_NODES]) &= ~(1u << n % HF_NODES);
}

hf_node_t *hf_env_node(uint32_t index)
{
	return &per_cpu(slots, (index - 1) / NODES_A_CPU).nodes[(index - 1) % NODES_A_CPU];
}

static void set_true(bool *value)
{
	*value = true;
}

/*
 * Writing to debugfs's clear_warn_once re-arms the once-only warnings of the kernel's image, but
 * not those of a module; there hf_report_reset() does it. As with WARN_ONCE(), two processors may
 * warn at the same time.
 */
bool hf_detail_env_is_rearmed(void)
{
	bool is_first = false;

	DO_ONCE_LITE(set_true, &is_first);
	return is_first;
}

size_t hf_detail_env_place(char *to, size_t room, const void *site)
{
	return (size_t)scnprintf(to, room + 1, " (%pS)", site);
}

/* A kernel warning with the stack; src/report/report.c calls this once for each kind. */
void hf_detail_env_print(const char *line, size_t len)
{
	WARN(1, "%.*s", (int)len, line);
}

void hf_detail_env_abort(void)
{
	BUG();
}
