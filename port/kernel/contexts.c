// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * contexts - a task, a softirq and a hardirq on one CPU get different nodes; locks disable
 * preemption, and the irqsave functions interrupts, as documented.
 */
#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>

#include "holdfast/spinlock.h"
#include "variants/spinlock/mcs.h" /* keeps a node while it is held */

#include "test.h"

enum { TASK, SOFTIRQ, HARDIRQ };

static hf_spinlock_mcs_t locks[HF_NODES + 1];
static struct {
	u32 index;
	unsigned int cpu;
	bool locked, all_given_back;
} seen[3];
static DECLARE_COMPLETION(interrupted);

/* Takes a node, and a second one by a lock that keeps a node while it is held. */
static void look(unsigned int context)
{
	static hf_spinlock_mcs_t own[3];
	u32 first, again;

	preempt_disable();
	first = hf_env_node_get();
	hf_spinlock_mcs_lock(&own[context]);
	seen[context].locked = !hf_spinlock_mcs_trylock(&own[context]);
	hf_spinlock_mcs_unlock(&own[context]);
	hf_env_node_put(first);
	again = hf_env_node_get();
	hf_env_node_put(again);
	seen[context].index = first;
	seen[context].cpu = smp_processor_id();
	seen[context].all_given_back = again == first;
	preempt_enable();
}

static void on_softirq(struct tasklet_struct *tasklet)
{
	look(SOFTIRQ);
	complete(&interrupted);
}

static DECLARE_TASKLET(softirq, on_softirq);

/* The softirq runs after this has returned. */
static void on_interrupt(struct irq_work *work)
{
	look(HARDIRQ);
	tasklet_schedule(&softirq);
}

static struct irq_work hardirq = IRQ_WORK_INIT_HARD(on_interrupt);

/* Does the node belong to this CPU and context (0 to 3), as linux_kernel.h numbers them? */
static bool is_slot(u32 index, unsigned int cpu, unsigned int context)
{
	return index >= 1 && (index - 1) / HF_NODES == cpu * 4 + context;
}

static void nodes(void)
{
	bool ok;

	irq_work_queue(&hardirq);
	ok = wait_for_completion_timeout(&interrupted, 60 * HZ);
	look(TASK);
	for (unsigned int i = TASK; i <= HARDIRQ; i++) {
		ok = ok && is_slot(seen[i].index, seen[i].cpu, i) && seen[i].locked &&
		     seen[i].all_given_back;
	}
	test_case(ok, "contexts.nodes", "task %u, softirq %u, hardirq %u", seen[TASK].index,
		  seen[SOFTIRQ].index, seen[HARDIRQ].index);
}

/* Takes one more lock than a context has nodes: the last one has to work without a node. */
static void too_many(void)
{
	bool ok = true;
	u32 none;

	for (unsigned int i = 0; i <= HF_NODES; i++)
		hf_spinlock_mcs_lock(&locks[i]);
	none = hf_env_node_get();
	for (unsigned int i = 0; i <= HF_NODES; i++) {
		ok = ok && hf_spinlock_mcs_is_locked(&locks[i]);
		hf_spinlock_mcs_unlock(&locks[i]);
		ok = ok && !hf_spinlock_mcs_is_locked(&locks[i]);
	}
	test_case(ok && none == 0, "contexts.too_many", "node %u while all are taken", none);
}

static void preemption(void)
{
	hf_spinlock_t lock;
	int before = preempt_count(), held, tried;
	unsigned long flags;
	bool irqs_off, irqs_on, ok;

	hf_spinlock_init(&lock);
	hf_spinlock_lock(&lock);
	held = preempt_count();
	ok = !hf_spinlock_trylock(
		&lock); /* a failed trylock must not change the preemption count */
	tried = preempt_count();
	hf_spinlock_unlock(&lock);
	/* Kernels without preemption may not count. */
	ok = ok && held == before + IS_ENABLED(CONFIG_PREEMPT_COUNT) && tried == held &&
	     preempt_count() == before;
	test_case(ok, "contexts.preemption", "%d held, %d before", held, before);

	flags = hf_spinlock_lock_irqsave(&lock);
	irqs_off = irqs_disabled();
	hf_spinlock_unlock_irqrestore(&lock, flags);
	irqs_on = !irqs_disabled();
	local_irq_disable();
	flags = hf_spinlock_lock_irqsave(&lock);
	hf_spinlock_unlock_irqrestore(&lock, flags);
	ok = irqs_off && irqs_on && irqs_disabled() && preempt_count() == before;
	local_irq_enable();
	test_case(ok, "contexts.irqsave", "off %d, then on %d", irqs_off, irqs_on);
}

void contexts_test(void)
{
	nodes();
	too_many();
	preemption();
}
