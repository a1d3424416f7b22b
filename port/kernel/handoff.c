// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* handoff - the experiment of port/handoff.h, with one thread on each CPU. */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched/task.h>

#include "test.h"

#ifndef KERNEL_DELAYED
#define KERNEL_DELAYED 0
#endif

#define HANDOFF_WINDOW_NS (30 * NSEC_PER_MSEC)
#define HANDOFF_DELAYED KERNEL_DELAYED
#define HANDOFF_CORES 4          /* as run.py starts the guest */
#define WITHIN_JIFFIES (60 * HZ) /* every thread must have ended */

#include "../handoff.h"

static void (*work_now)(unsigned int core);
static atomic_t running;

static inline unsigned int handoff_core(void)
{
	return raw_smp_processor_id();
}

static uint64_t handoff_now(void)
{
	return ktime_get_ns();
}

static int thread(void *data)
{
	work_now((unsigned int)(uintptr_t)data);
	atomic_dec(&running);
	return 0;
}

static void handoff_on_all(void (*work_of)(unsigned int core))
{
	struct task_struct *threads[HANDOFF_CORES];
	unsigned long limit = jiffies + WITHIN_JIFFIES;

	work_now = work_of;
	atomic_set(&running, HANDOFF_CORES);
	for (unsigned int i = 0; i < HANDOFF_CORES; i++) {
		threads[i] = kthread_create(thread, (void *)(uintptr_t)i, "holdfast/%u", i);
		if (IS_ERR(threads[i]))
			panic("holdfast: no thread: %ld", PTR_ERR(threads[i]));
		get_task_struct(threads[i]);
		kthread_bind(threads[i], i);
		wake_up_process(threads[i]);
	}
	while (atomic_read(&running) && time_before(jiffies, limit))
		msleep(5);
	if (atomic_read(&running))
		panic("holdfast: the window of %s does not end", variant->name);
	for (unsigned int i = 0; i < HANDOFF_CORES; i++) {
		(void)kthread_stop(
			threads[i]); /* waits until the thread has left the module's code */
		put_task_struct(threads[i]);
	}
}

/* A delayed store is in its CPU's buffer, so the thread must stay on the CPU. */
static void handoff_begin_pairs(void)
{
	preempt_disable();
}

static void handoff_end_pairs(void)
{
	preempt_enable();
	cond_resched();
}

/* A spin hint makes the emulator switch to another CPU. */
static void handoff_holding(void)
{
	cpu_relax();
}

static void handoff_unlocked(void)
{
	cpu_relax();
}

static void handoff_result(bool ok, const char *name, const char *remark)
{
	test_case(ok, name, "%s", remark);
}

void handoff_test(void)
{
	test_say("CPUs on one lock; emulated, so the counts are checked, and the times mean "
		 "nothing");
	if (num_online_cpus() == HANDOFF_CORES)
		(void)handoff_windows();
	else
		test_case(false, "handoff.cpus", "%u", num_online_cpus());
}
