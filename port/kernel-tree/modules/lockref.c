// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * lockref - the kernel's lockref: each put drops one reference, and nobody changes the count while
 * another CPU holds the lock. Neither depends on speed: a kernel that is right passes always.
 */
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/lockref.h>
#include <linux/module.h>
#include <linux/sched/task.h>
#include <linux/smp.h>

#define TEST_PREFIX "LOCKREF "
#include "test_case.h"

/* How long another CPU may do wrong. A mutant gets more: an emulator's CPUs may run in turn. */
static unsigned int milliseconds = 20;
module_param(milliseconds, uint, 0);

static struct lockref object = { .lock = __SPIN_LOCK_UNLOCKED(object.lock), .count = 1 };
static bool comes;

static int get_in_thread(void *unused)
{
	smp_store_release(&comes, true);
	lockref_get(&object);
	return 0;
}

/* A get waits for the lock: it neither changes the count before that, nor is it lost. */
static void lock_half(void)
{
	struct task_struct *thread = kthread_create(get_in_thread, NULL, "holdfast");
	int meanwhile;
	u64 until;

	if (IS_ERR(thread)) {
		test_case(false, "lockref.thread", "%ld", PTR_ERR(thread));
		return;
	}
	get_task_struct(thread);
	kthread_bind(thread, 0);
	spin_lock(&object.lock);
	wake_up_process(thread);
	while (!smp_load_acquire(&comes))
		cpu_relax();
	until = ktime_get_ns() + milliseconds * NSEC_PER_MSEC;
	while (READ_ONCE(object.count) == 1 && ktime_get_ns() < until)
		cpu_relax();
	meanwhile = READ_ONCE(object.count);
	spin_unlock(&object.lock);
	(void)kthread_stop(thread);
	put_task_struct(thread);
	test_case(meanwhile == 1 && object.count == 2, "lockref.lock_half", "%d", meanwhile);
}

static void put(void)
{
	bool ok;

	object.count = 4;
	ok = lockref_put_or_lock(&object) && object.count == 3;
	ok = ok && lockref_put_not_zero(&object) && object.count == 2;
	/* Without a fast path it does nothing. */
	ok = ok && lockref_put_return(&object) == (LOCKREF_IS_ONE_WORD ? 1 : -1);
	test_case(ok, "lockref.put", "%d", object.count);
}

static int __init lockref_init(void)
{
	if (num_online_cpus() < 2 || set_cpus_allowed_ptr(current, cpumask_of(1)))
		test_case(false, "lockref.cpus", "%u", num_online_cpus());
	else
		lock_half();
	(void)set_cpus_allowed_ptr(current, cpu_possible_mask);
	put();
	pr_info("LOCKREF END %u cases, %u failed\n", cases, failed);
	return 0;
}
module_init(lockref_init);

static void __exit lockref_exit(void)
{
}
module_exit(lockref_exit);
MODULE_DESCRIPTION("Holdfast's test of the kernel's lockref");
MODULE_LICENSE("Dual MIT/GPL");
