// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * handover - how often a contended spinlock goes from one CPU to another, and how long each time
 * takes: the kernel's own, Holdfast's, and Holdfast's without barging.
 *
 * One thread on each CPU takes the lock `takes` times, for at most `seconds`. The time from a
 * release to the next take is measured where another CPU takes it.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/spinlock.h>
#include <asm/msr.h>

#include "holdfast/spinlock.h"

#include "strict.h"

static unsigned int takes = 50000, seconds = 15;
module_param(takes, uint, 0);
module_param(seconds, uint, 0);

/* Of the time stamp counter; an emulator passes on the host's, whose rate the guest can't know. */
static unsigned int khz = 1000000;
module_param(khz, uint, 0);

static DEFINE_SPINLOCK(kernels);
static hf_spinlock_t ours;

static void kernels_lock(void)
{
	spin_lock(&kernels);
}

static void kernels_unlock(void)
{
	spin_unlock(&kernels);
}

static void ours_lock(void)
{
	hf_spinlock_lock(&ours);
}

static void ours_unlock(void)
{
	hf_spinlock_unlock(&ours);
}

static const struct {
	const char *name;
	void (*lock)(void), (*unlock)(void);
} locks[] = {
	{ "kernel", kernels_lock, kernels_unlock },
	{ "holdfast", ours_lock, ours_unlock },
	{ "strict", strict_lock, strict_unlock },
};

enum { BINS = 5 }; /* up to 10 us, 100 us, 1 ms, 10 ms, more */

static int kind;
static u64 begin;
static atomic_t coming;
static bool is_over;

/* Protected by the lock. */
static int last;
static u64 released, took_ns;
static unsigned long total, bins[BINS];

static u64 ns_since(u64 stamp)
{
	return (rdtsc() - stamp) * 1000 / (khz / 1000);
}

static void count(int cpu)
{
	u64 ns = ns_since(released), bound = 10000;
	int bin = 0;

	total++;
	if (!released || last == cpu)
		return;
	took_ns += ns;
	for (; bin < BINS - 1 && ns >= bound; bound *= 10)
		bin++;
	bins[bin]++;
}

static int contend(void *unused)
{
	int cpu = smp_processor_id();

	atomic_dec(&coming);
	while (atomic_read(&coming) > 0)
		cond_resched();
	for (unsigned int i = 0; i < takes && !READ_ONCE(is_over); i++) {
		if (ns_since(begin) > seconds * 1000000000ull)
			WRITE_ONCE(is_over, true);
		locks[kind].lock();
		count(cpu);
		last = cpu;
		released = rdtsc();
		locks[kind].unlock();
		if (i % 64 == 0)
			cond_resched();
	}
	return 0;
}

static void measure(void)
{
	struct task_struct *tasks[8];
	int cpus = min_t(int, num_online_cpus(), ARRAY_SIZE(tasks)), i;
	unsigned long handovers = 0;

	is_over = false;
	released = took_ns = total = 0;
	memset(bins, 0, sizeof(bins));
	atomic_set(&coming, cpus);
	begin = rdtsc();
	for (i = 0; i < cpus; i++) {
		tasks[i] = kthread_create(contend, NULL, "holdfast/%d", i);
		if (IS_ERR(tasks[i]))
			panic("holdfast: no thread: %ld", PTR_ERR(tasks[i]));
		get_task_struct(tasks[i]);
		kthread_bind(tasks[i], i);
		wake_up_process(tasks[i]);
	}
	/* A thread that was stopped before it ran would never come. */
	while (atomic_read(&coming) > 0)
		msleep(5);
	for (i = 0; i < cpus; i++) {
		(void)kthread_stop(tasks[i]);
		put_task_struct(tasks[i]);
	}
	for (i = 0; i < BINS; i++)
		handovers += bins[i];
	/* lock, CPUs, takes, ms, hand-overs, their ms, bins */
	pr_info("HANDOVER %s %d %lu %llu %lu %llu %lu %lu %lu %lu %lu\n", locks[kind].name, cpus,
		total, ns_since(begin) / 1000000, handovers, took_ns / 1000000, bins[0], bins[1],
		bins[2], bins[3], bins[4]);
}

static int __init handover_init(void)
{
	for (kind = 0; kind < ARRAY_SIZE(locks); kind++)
		measure();
	return 0;
}
module_init(handover_init);

static void __exit handover_exit(void)
{
}
module_exit(handover_exit);
MODULE_DESCRIPTION("Holdfast's measurement of a spinlock's hand-overs");
MODULE_LICENSE("Dual MIT/GPL");
