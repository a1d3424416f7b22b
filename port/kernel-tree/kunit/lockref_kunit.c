// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * lockref_kunit - KUnit suite of <linux/lockref.h>, for any implementation.
 *
 * lockref_put_return() never takes the lock. Where an implementation has no other way (a spinlock
 * of more than four bytes, one processor), it always returns -1, and what it decides is skipped.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/lockref.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/version.h>

#define THREADS 4
#define DEAD (-128)

static void set(struct lockref *l, int count)
{
	spin_lock_init(&l->lock);
	l->count = count;
}

static bool is_locked(struct lockref *l)
{
	return IS_ENABLED(CONFIG_SMP) && spin_is_locked(&l->lock);
}

#define EXPECT(test, l, wanted)                                                                    \
	do {                                                                                       \
		KUNIT_EXPECT_EQ(test, READ_ONCE((l)->count), wanted);                              \
		KUNIT_EXPECT_FALSE(test, is_locked(l));                                            \
	} while (0)

static void get(struct kunit *test)
{
	struct lockref l;

	set(&l, 0);
	lockref_get(&l);
	EXPECT(test, &l, 1);
	lockref_get(&l);
	EXPECT(test, &l, 2);
}

static void get_not_zero(struct kunit *test)
{
	struct lockref l;

	set(&l, 1);
	KUNIT_EXPECT_TRUE(test, lockref_get_not_zero(&l));
	EXPECT(test, &l, 2);
	set(&l, 0);
	KUNIT_EXPECT_FALSE(test, lockref_get_not_zero(&l));
	EXPECT(test, &l, 0);
	set(&l, DEAD);
	KUNIT_EXPECT_FALSE(test, lockref_get_not_zero(&l));
	EXPECT(test, &l, DEAD);
}

/* Unlike 0, dead is for ever. */
static void get_not_dead(struct kunit *test)
{
	struct lockref l;

	set(&l, 0);
	KUNIT_EXPECT_TRUE(test, lockref_get_not_dead(&l));
	EXPECT(test, &l, 1);
	KUNIT_EXPECT_TRUE(test, lockref_get_not_dead(&l));
	EXPECT(test, &l, 2);
	set(&l, DEAD);
	KUNIT_EXPECT_FALSE(test, lockref_get_not_dead(&l));
	EXPECT(test, &l, DEAD);
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
static void put_not_zero(struct kunit *test)
{
	struct lockref l;

	set(&l, 3);
	KUNIT_EXPECT_TRUE(test, lockref_put_not_zero(&l));
	EXPECT(test, &l, 2);
	KUNIT_EXPECT_TRUE(test, lockref_put_not_zero(&l));
	EXPECT(test, &l, 1);
	KUNIT_EXPECT_FALSE(test, lockref_put_not_zero(&l));
	EXPECT(test, &l, 1);
	set(&l, 0);
	KUNIT_EXPECT_FALSE(test, lockref_put_not_zero(&l));
	EXPECT(test, &l, 0);
}
#endif

/* The last reference is not dropped: the caller decides, and has the lock for it. */
static void put_or_lock(struct kunit *test)
{
	struct lockref l;
	int result;
	bool locked;

	set(&l, 2);
	KUNIT_EXPECT_TRUE(test, lockref_put_or_lock(&l));
	EXPECT(test, &l, 1);
	result = lockref_put_or_lock(&l);
	locked = is_locked(&l);
	if (!result)
		spin_unlock(&l.lock);
	KUNIT_EXPECT_FALSE(test, result);
	KUNIT_EXPECT_TRUE(test, locked || !IS_ENABLED(CONFIG_SMP));
	EXPECT(test, &l, 1);

	set(&l, 0);
	result = lockref_put_or_lock(&l);
	if (!result)
		spin_unlock(&l.lock);
	KUNIT_EXPECT_FALSE(test, result);
	EXPECT(test, &l, 0);
}

static void mark_dead(struct kunit *test)
{
	struct lockref l;
	bool before, after;

	set(&l, 1);
	spin_lock(&l.lock);
	before = __lockref_is_dead(&l);
	lockref_mark_dead(&l);
	after = __lockref_is_dead(&l);
	spin_unlock(&l.lock);
	KUNIT_EXPECT_FALSE(test, before);
	KUNIT_EXPECT_TRUE(test, after);
	KUNIT_EXPECT_FALSE(test, is_locked(&l));
	KUNIT_EXPECT_FALSE(test, lockref_get_not_dead(&l));
	KUNIT_EXPECT_FALSE(test, lockref_get_not_zero(&l));
	KUNIT_EXPECT_EQ(test, lockref_put_return(&l), -1);
	KUNIT_EXPECT_TRUE(test, l.count < 0);
}

/* Skips the test if lockref_put_return() always leaves the work to its caller. */
static void needs_put_return(struct kunit *test)
{
	struct lockref l;

	set(&l, 2);
	if (lockref_put_return(&l) < 0) {
		EXPECT(test, &l, 2);
		kunit_skip(test, "lockref_put_return() does nothing without the lock here");
	}
	EXPECT(test, &l, 1);
}

static void put_return(struct kunit *test)
{
	struct lockref l;

	needs_put_return(test);
	set(&l, 3);
	KUNIT_EXPECT_EQ(test, lockref_put_return(&l), 2);
	EXPECT(test, &l, 2);
	KUNIT_EXPECT_EQ(test, lockref_put_return(&l), 1);
	EXPECT(test, &l, 1);
	KUNIT_EXPECT_EQ(test, lockref_put_return(&l), 0);
	EXPECT(test, &l, 0);
	KUNIT_EXPECT_EQ(test, lockref_put_return(&l), -1);
	EXPECT(test, &l, 0);
	set(&l, DEAD);
	KUNIT_EXPECT_EQ(test, lockref_put_return(&l), -1);
	EXPECT(test, &l, DEAD);
}

/* While the lock is held, the count is the holder's. */
static void put_return_of_a_locked(struct kunit *test)
{
	struct lockref l;
	int result, count;
	bool locked;

	needs_put_return(test);
	set(&l, 3);
	spin_lock(&l.lock);
	result = lockref_put_return(&l);
	count = l.count;
	locked = is_locked(&l);
	spin_unlock(&l.lock);
	KUNIT_EXPECT_EQ(test, result, -1);
	KUNIT_EXPECT_EQ(test, count, 3);
	KUNIT_EXPECT_TRUE(test, locked || !IS_ENABLED(CONFIG_SMP));
	EXPECT(test, &l, 3);
}

/* ---- Threads --------------------------------------------------------------------------------- */

enum operation { GET, GET_NOT_ZERO, GET_NOT_DEAD, PUT_OR_LOCK, OPERATIONS };

struct caller {
	struct lockref l;
	enum operation operation;
	bool started, ended;
	struct completion end;
};

static int caller(void *argument)
{
	struct caller *self = argument;

	smp_store_release(&self->started, true);
	switch (self->operation) {
	case GET:
		lockref_get(&self->l);
		break;
	case GET_NOT_ZERO:
		(void)lockref_get_not_zero(&self->l);
		break;
	case GET_NOT_DEAD:
		(void)lockref_get_not_dead(&self->l);
		break;
	default:
		if (!lockref_put_or_lock(&self->l))
			spin_unlock(&self->l.lock);
	}
	smp_store_release(&self->ended, true);
	kthread_complete_and_exit(&self->end,
				  0); /* returns not into this module, which may be gone */
}

/* Each operation waits while another CPU holds the lock, and then finds what its holder wrote. */
static void wait_for_the_lock(struct kunit *test)
{
	static const int results[OPERATIONS] = { 8, 8, 8, 6 };
	struct caller *call = kunit_kzalloc(test, sizeof(*call), GFP_KERNEL);
	struct task_struct *task;
	unsigned long limit;
	unsigned int operation, cpu;
	bool started, ended;
	int count;

	KUNIT_ASSERT_NOT_NULL(test, call);
	for (operation = 0; operation < OPERATIONS; operation++) {
		set(&call->l, 3);
		call->operation = operation;
		call->started = false;
		call->ended = false;
		init_completion(&call->end);
		task = kthread_create(caller, call, "lockref_kunit");
		KUNIT_ASSERT_FALSE(test, IS_ERR(task));
		spin_lock(&call->l.lock);
		cpu = cpumask_any_but(cpu_online_mask, smp_processor_id());
		if (cpu < nr_cpu_ids) {
			kthread_bind(task, cpu);
			wake_up_process(task);
			limit = jiffies + HZ;
			while (!smp_load_acquire(&call->started) && time_before(jiffies, limit))
				cpu_relax();
			mdelay(20);
		}
		started = smp_load_acquire(&call->started);
		ended = smp_load_acquire(&call->ended);
		count = call->l.count;
		call->l.count = 7;
		spin_unlock(&call->l.lock);
		if (cpu >= nr_cpu_ids)
			wake_up_process(task);
		wait_for_completion(&call->end);
		if (cpu >= nr_cpu_ids)
			kunit_skip(test, "there is one processor");
		if (!started)
			kunit_info(test, "the other processor was late: nothing waited\n");
		KUNIT_EXPECT_FALSE_MSG(test, ended, "operation %u ended while the lock was held",
				       operation);
		KUNIT_EXPECT_EQ_MSG(test, count, 3, "operation %u", operation);
		EXPECT(test, &call->l, results[operation]);
	}
}

struct shared {
	struct lockref l;
	int plain; /* changed under the lock alone */
	atomic_t faults;
	struct completion end;
};

#define ROUNDS 3000

static void put(struct lockref *l)
{
	if (lockref_put_return(l) >= 0)
		return;
	spin_lock(&l->lock);
	l->count--;
	spin_unlock(&l->lock);
}

static int changes(void *argument)
{
	struct shared *shared = argument;
	struct lockref *l = &shared->l;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		lockref_get(l);
		if (!lockref_get_not_zero(l))
			atomic_inc(&shared->faults);
		/* Takes two and gives them back in two steps, so that a lost change shows. */
		spin_lock(&l->lock);
		l->count += 2;
		shared->plain++;
		spin_unlock(&l->lock);
		put(l);
		if (!lockref_get_not_dead(l))
			atomic_inc(&shared->faults);
		put(l);
		if (!lockref_put_or_lock(l)) { /* never the last: the test has one */
			atomic_inc(&shared->faults);
			spin_unlock(&l->lock);
		}
		spin_lock(&l->lock);
		l->count -= 2;
		shared->plain++;
		spin_unlock(&l->lock);
		cond_resched();
	}
	kthread_complete_and_exit(&shared->end, 0);
}

static void threads(struct kunit *test)
{
	struct shared *shared = kunit_kzalloc(test, sizeof(*shared), GFP_KERNEL);
	struct task_struct *tasks[THREADS];
	int i, started = 0;

	KUNIT_ASSERT_NOT_NULL(test, shared);
	set(&shared->l, 1);
	init_completion(&shared->end);
	for (i = 0; i < THREADS; i++) {
		tasks[i] = kthread_create(changes, shared, "lockref_kunit/%d", i);
		started += !IS_ERR(tasks[i]);
	}
	for (i = 0; i < THREADS; i++)
		if (!IS_ERR(tasks[i]))
			wake_up_process(tasks[i]);
	for (i = 0; i < started; i++)
		wait_for_completion(&shared->end);
	KUNIT_ASSERT_EQ(test, started, THREADS);
	EXPECT(test, &shared->l, 1);
	KUNIT_EXPECT_EQ(test, shared->plain, 2 * THREADS * ROUNDS);
	KUNIT_EXPECT_EQ(test, atomic_read(&shared->faults), 0);
}

static struct kunit_case cases[] = { KUNIT_CASE(get),
				     KUNIT_CASE(get_not_zero),
				     KUNIT_CASE(get_not_dead),
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
				     KUNIT_CASE(put_not_zero),
#endif
				     KUNIT_CASE(put_or_lock),
				     KUNIT_CASE(mark_dead),
				     KUNIT_CASE(put_return),
				     KUNIT_CASE(put_return_of_a_locked),
				     KUNIT_CASE(wait_for_the_lock),
				     KUNIT_CASE(threads),
				     {} };

static struct kunit_suite suite = {
	.name = "lockref",
	.test_cases = cases,
};
kunit_test_suites(&suite);

MODULE_DESCRIPTION("KUnit suite of lockref");
MODULE_LICENSE("Dual MIT/GPL");
