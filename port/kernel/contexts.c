// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * contexts - what only a kernel has: a lock works when its context has no node left; locks disable
 * preemption, and the irqsave functions interrupts; the first misuse of each kind is a warning of
 * the kernel, which run.py looks for. queue.c tests that contexts have nodes of their own.
 */
#include <linux/irqflags.h>
#include <linux/preempt.h>

#include "holdfast/refcount.h"
#include "holdfast/spinlock.h"
#include "variants/spinlock/mcs.h" /* keeps a node while it is held */

#include "test.h"

/* Takes one more lock than a context has nodes: the last one has to work without a node. */
static void too_many(void)
{
	static hf_spinlock_mcs_t locks[HF_NODES + 1];
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

static void reports(void)
{
	static hf_refcount_t object;

	hf_report_reset();
	hf_refcount_set(&object, 0);
	test_say("holdfast: expect holdfast: 0x%lx: refcount: addition on 0; use after free",
		 (unsigned long)&object);
	hf_refcount_inc(&object); /* warns */
	hf_refcount_set(&object, 0);
	hf_refcount_inc(&object); /* counts */
	test_case(hf_report_count(HF_REPORT_ADD_UAF) == 2 &&
			  hf_refcount_read(&object) == HF_REFCOUNT_SATURATED,
		  "reports.once", "reported %u times", hf_report_count(HF_REPORT_ADD_UAF));
	hf_report_reset();
}

void contexts_test(void)
{
	too_many();
	preemption();
	reports();
}
