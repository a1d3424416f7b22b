// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * handoff - every CPU takes one lock: lock, increment, unlock, for a window of time; the sum is
 * right.
 *
 * The product's spinlocks, the lab's variants, and the lockref.
 *
 * KERNEL_DELAYED: stores of the increment may be late (port/delayed_atomic.h), so that a missing
 * release shows on an emulator too, which performs stores in order.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/sched/task.h>

#include "holdfast/lockref.h"
#include "holdfast/spinlock.h"
#include "holdfast/spinlock_ticket.h"
#include "variants/spinlock/cas.h"
#include "variants/spinlock/cas_prefetch.h"
#include "variants/spinlock/cas_release.h"
#include "variants/spinlock/mcs.h"
#include "variants/spinlock/wfe.h"

#include "test.h"

#ifndef KERNEL_DELAYED
#define KERNEL_DELAYED 0
#endif

#define WINDOW_NS (30 * NSEC_PER_MSEC)
#define LIMIT (60 * HZ) /* within which every CPU must have ended */

/* hf_spinlock_t, which is `queued` here, the product's other lock, and the lab's variants. */
#define SPINLOCKS(X)                                                                               \
	X(cas, hf_spinlock_cas)                                                                    \
	X(cas_release, hf_spinlock_cas_release)                                                    \
	X(cas_prefetch, hf_spinlock_cas_prefetch)                                                  \
	X(wfe, hf_spinlock_wfe)                                                                    \
	X(ticket, hf_spinlock_ticket)                                                              \
	X(mcs, hf_spinlock_mcs)                                                                    \
	X(queued, hf_spinlock)

static union {
#define X(name, prefix) prefix##_t name;
	SPINLOCKS(X)
#undef X
	hf_lockref_t lockref;
} lock;
static u64 value;
static DEFINE_PER_CPU(u64, pairs);
static DEFINE_PER_CPU(struct task_struct *, worker);
static atomic_t running;
static u64 window_end;

#if KERNEL_DELAYED
struct late {
	u64 *to;
	u64 value;
};

static DEFINE_PER_CPU(struct late, late);

void delayed_store(uint64_t *p, uint64_t new_value)
{
	this_cpu_write(late.value, new_value);
	this_cpu_write(late.to, p);
}

void delayed_drain(void)
{
	u64 *to = this_cpu_read(late.to);

	if (to) {
		WRITE_ONCE(*to, this_cpu_read(late.value));
		this_cpu_write(late.to, NULL);
	}
}
#else
static void delayed_store(u64 *p, u64 new_value)
{
	WRITE_ONCE(*p, new_value);
}

static void delayed_drain(void)
{
}
#endif

/*
 * A spin hint makes the emulator go on with another CPU. The holder executes one now and then, so
 * that other CPUs meet a held lock and wait; and every CPU does after an unlock, before its late
 * stores.
 */
#define X(name, prefix)                                                                            \
	static void name##_init(void)                                                              \
	{                                                                                          \
		prefix##_init(&lock.name);                                                         \
	}                                                                                          \
                                                                                                   \
	static void name##_pair(u64 n)                                                             \
	{                                                                                          \
		prefix##_lock(&lock.name);                                                         \
		if (n % 16 == 0)                                                                   \
			cpu_relax();                                                               \
		delayed_store(&value, READ_ONCE(value) + 1);                                       \
		prefix##_unlock(&lock.name);                                                       \
	}
SPINLOCKS(X)
#undef X

/* One reference always exists, so no put is the last one. The pair is counted under the lock. */
static void lockref_init(void)
{
	hf_lockref_init(&lock.lockref, 1);
}

static void lockref_pair(u64 n)
{
	hf_lockref_get(&lock.lockref);
	if (n % 16 == 0)
		cpu_relax();
	if (!hf_lockref_put_or_lock(&lock.lockref)) {
		hf_lockref_unlock(&lock.lockref); /* it was not the last: the sum is wrong */
		return;
	}
	hf_lockref_lock(&lock.lockref);
	delayed_store(&value, READ_ONCE(value) + 1);
	hf_lockref_unlock(&lock.lockref);
}

static const struct variant {
	const char *name;
	void (*init)(void);
	void (*pair)(u64 n);
} variants[] = {
#define X(name, prefix) { "handoff." #name, name##_init, name##_pair },
	SPINLOCKS(X)
#undef X
		{ "handoff.lockref", lockref_init, lockref_pair },
};

static int work(void *data)
{
	const struct variant *variant = data;
	u64 n = 0;

	do {
		preempt_disable(); /* a late store belongs to this CPU */
		for (int i = 0; i < 32; i++) {
			variant->pair(n++);
			cpu_relax();
			delayed_drain();
		}
		preempt_enable();
		cond_resched();
	} while (ktime_get_ns() < window_end);
	this_cpu_write(pairs, n);
	atomic_dec(&running);
	return 0;
}

static bool window(const struct variant *variant)
{
	u64 sum = 0, least = U64_MAX;
	unsigned long limit = jiffies + LIMIT;
	unsigned int cpu;

	variant->init();
	value = 0;
	atomic_set(&running, (int)num_online_cpus());
	window_end = ktime_get_ns() + WINDOW_NS;
	for_each_online_cpu(cpu) {
		struct task_struct *task;

		per_cpu(pairs, cpu) = 0;
		task = kthread_create(work, (void *)variant, "holdfast/%u", cpu);
		if (IS_ERR(task)) {
			pr_info("Bail out! no thread: %ld\n", PTR_ERR(task));
			return false;
		}
		get_task_struct(task);
		per_cpu(worker, cpu) = task;
		kthread_bind(task, cpu);
		wake_up_process(task);
	}
	while (atomic_read(&running) && time_before(jiffies, limit))
		msleep(5);
	if (atomic_read(&running)) {
		pr_info("Bail out! %s does not end\n", variant->name);
		panic("holdfast: %s does not end", variant->name);
	}
	for_each_online_cpu(cpu) {
		(void)kthread_stop(
			per_cpu(worker, cpu)); /* and waits until it has left the module's code */
		put_task_struct(per_cpu(worker, cpu));
		sum += per_cpu(pairs, cpu);
		least = min(least, per_cpu(pairs, cpu));
	}
	test_case(sum == value && least > 0, variant->name, "%llu pairs, counted %llu, least %llu",
		  sum, value, least);
	return true;
}

void handoff_test(void)
{
	test_say("%u CPUs on one lock; emulated, so the counts mean something and times do not",
		 num_online_cpus());
	for (unsigned int i = 0; i < ARRAY_SIZE(variants); i++) {
		if (!window(&variants[i]))
			return;
	}
}
