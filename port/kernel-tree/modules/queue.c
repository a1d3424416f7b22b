// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * queue - port/kernel/queue.c for the kernel's own spinlock, whose contended path is Holdfast's.
 * The names that it uses become the kernel's functions.
 *
 * After each of its tests the free lock's word must be 0: spin_is_locked(), spin_trylock() and
 * lockref rely on that.
 *
 *   contexts  in addition: on two CPUs a task waits, interrupted by a softirq that waits, by an
 *             interrupt that waits, by an NMI that waits, each for a lock of its own. The second
 *             CPU needs all four of its contexts' nodes at the same time. arm64 has no NMI here:
 *             three.
 */
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/spinlock.h>
#ifdef CONFIG_X86
#include <asm/apic.h>
#include <asm/nmi.h>
#endif

#include "holdfast/spinlock.h"

/* The kernel's spinlock. All bits are 0 while it is free, so one in static memory is. */
struct tree_spinlock {
	union {
		spinlock_t lock;
		hf_atomic32_t word;
	};
};
static_assert(sizeof(struct tree_spinlock) == sizeof(hf_atomic32_t));

#define hf_spinlock_t struct tree_spinlock
#define hf_spinlock_lock(l) spin_lock(&(l)->lock)
#define hf_spinlock_trylock(l) spin_trylock(&(l)->lock)
#define hf_spinlock_unlock(l) spin_unlock(&(l)->lock)

/* For a step of microseconds. With a mutant, which is expected to hang, the runner sets less. */
static unsigned int seconds = 60;
module_param(seconds, uint, 0);
#define LIMIT (1ull * seconds * NSEC_PER_SEC)

/* More for a mutant that only some rounds show. */
static unsigned int rounds = 16;
module_param(rounds, uint, 0);
#define ROUNDS_OF_ORDER rounds

#define TEST_PREFIX "QUEUE "
#include "test_case.h"

#include "port_queue.c"

/* ---- contexts ------------------------------------------------------------------------------ */

enum {
	IN_TASK,
	IN_SOFTIRQ,
	IN_HARDIRQ,
	IN_NMI,
	CONTEXTS,
	LEVELS = IS_ENABLED(CONFIG_X86) ? CONTEXTS : IN_NMI, /* that this test can make */
};

static hf_spinlock_t levels[LEVELS];
static struct waiter nested[LEVELS][2]; /* on CPU 0 without a node, on CPU 1 with one */

static void enter_in_softirq(struct tasklet_struct *tasklet);

static struct tasklet_struct softirqs[2] = { { .use_callback = true, .callback = enter_in_softirq },
					     { .use_callback = true,
					       .callback = enter_in_softirq } };

static void enter_in_softirq(struct tasklet_struct *tasklet)
{
	enter(&nested[IN_SOFTIRQ][tasklet - softirqs]);
}

static void raise(void *tasklet)
{
	tasklet_schedule(tasklet);
}

#ifdef CONFIG_X86
static bool nmi_is_ours[2];

static int enter_in_nmi(unsigned int command, struct pt_regs *registers)
{
	unsigned int cpu = smp_processor_id();

	if (cpu >= 2 || !READ_ONCE(nmi_is_ours[cpu]))
		return NMI_DONE;
	nmi_is_ours[cpu] = false;
	enter(&nested[IN_NMI][cpu]);
	return NMI_HANDLED;
}

static bool begin_nmis(void)
{
	return register_nmi_handler(NMI_LOCAL, enter_in_nmi, 0, "holdfast") == 0;
}

static void send_nmi(int cpu)
{
	WRITE_ONCE(nmi_is_ours[cpu], true);
	apic->send_IPI(cpu, NMI_VECTOR);
}

static void end_nmis(void)
{
	unregister_nmi_handler(NMI_LOCAL, "holdfast");
}
#else
static bool begin_nmis(void)
{
	return true;
}

static void send_nmi(int cpu)
{
}

static void end_nmis(void)
{
}
#endif

/* Lets the waiter come in its context. Returns when the lock's word shows it. */
static bool arrives_in(int level, int cpu)
{
	struct waiter *w = &nested[level][cpu];
	u32 before = waiters_of(w->lock);

	if (level == IN_TASK || level == IN_HARDIRQ)
		return arrives(w);
	if (level == IN_NMI)
		send_nmi(cpu);
	else if (smp_call_function_single(cpu, raise, &softirqs[cpu], 0))
		return false;
	return WAIT_UNTIL(waiters_of(w->lock) != before || READ_ONCE(entered));
}

/* The context of the node that is the queue's tail, as port/kernel/seam.c numbers them. */
static int context_of_tail(const hf_spinlock_t *lock)
{
	u32 tail = word_of(lock) >> HF_DETAIL_QUEUED_TAIL_SHIFT;

	return tail ? (int)((tail - 1) / HF_NODES % CONTEXTS) : -1;
}

static const char *contexts_once(void)
{
	const char *fault = NULL;
	int level, cpu;

	entered = 0;
	for (level = 0; level < LEVELS; level++) {
		for (cpu = 0; cpu < 2; cpu++)
			nested[level][cpu] = (struct waiter){ .lock = &levels[level], .cpu = cpu };
	}
	for (cpu = 0; cpu < 2; cpu++) {
		if (!start(&nested[IN_TASK][cpu], &levels[IN_TASK], cpu))
			return "no thread";
	}
	for (level = 0; level < LEVELS; level++)
		hf_spinlock_lock(&levels[level]);
	for (level = 0; level < LEVELS && !fault; level++) {
		for (cpu = 0; cpu < 2 && !fault; cpu++)
			fault = arrives_in(level, cpu) ? NULL : "a waiter does not arrive";
		if (!fault && context_of_tail(&levels[level]) != level)
			fault = "another context's node";
	}
	if (!fault && READ_ONCE(entered))
		fault = "entered while it was held";
	for (level = LEVELS - 1; level >= 0; level--) {
		hf_spinlock_unlock(&levels[level]);
		for (cpu = 0; cpu < 2 && !fault; cpu++)
			fault = has_entered(&nested[level][cpu]) ? NULL : "a waiter was lost";
	}
	for (level = LEVELS - 1; level >= 0 && !fault; level--) {
		for (cpu = 0; cpu < 2 && !fault; cpu++) {
			if (nested[level][cpu].place != 2 * (LEVELS - 1 - level) + cpu + 1)
				fault = "another order";
		}
	}
	for (cpu = 0; cpu < 2 && !fault; cpu++)
		end(&nested[IN_TASK][cpu]);
	return fault;
}

static void contexts(void)
{
	enum { ROUNDS = 8 };
	const char *fault = NULL;
	unsigned int round;

	if (set_cpus_allowed_ptr(current, cpumask_of(MINE)) || !begin_nmis())
		fault = "no handler";
	for (round = 0; round < ROUNDS && !fault; round++)
		fault = contexts_once();
	(void)judge("queue.contexts", &levels[LEVELS - 1], fault, round);
	end_nmis();
	(void)set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/* Stays loaded: a thread whose waiter was lost still runs. */
static int __init queue_init(void)
{
	queue_test();
	if (!failed)
		contexts();
	pr_info("QUEUE END %u cases, %u failed\n", cases, failed);
	return 0;
}
module_init(queue_init);
MODULE_DESCRIPTION("Holdfast's test of a spinlock's queue");
MODULE_LICENSE("Dual MIT/GPL");
