// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * refcount_kunit - KUnit suites of <linux/refcount.h>, for any implementation.
 *
 * `refcount` uses counts as it should. `refcount_misuse` overflows them, and drops references that
 * do not exist: each count must saturate. The kernel warns then, so a machine with panic_on_warn
 * needs misuse=0, which skips the second suite.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>

static bool misuse = true;
module_param(misuse, bool, 0444);
MODULE_PARM_DESC(misuse, "Run the suite refcount_misuse, which makes the kernel warn");

#define THREADS 4

static int count(const refcount_t *r)
{
	return (int)refcount_read(r);
}

/* ---- Use ------------------------------------------------------------------------------------- */

static void set_and_read(struct kunit *test)
{
	refcount_t r = REFCOUNT_INIT(3);

	KUNIT_EXPECT_EQ(test, count(&r), 3);
	refcount_set(&r, 1);
	KUNIT_EXPECT_EQ(test, count(&r), 1);
	refcount_set(&r, REFCOUNT_MAX);
	KUNIT_EXPECT_EQ(test, count(&r), INT_MAX);
}

static void add_and_drop(struct kunit *test)
{
	refcount_t r = REFCOUNT_INIT(1);

	refcount_inc(&r);
	KUNIT_EXPECT_EQ(test, count(&r), 2);
	refcount_add(5, &r);
	KUNIT_EXPECT_EQ(test, count(&r), 7);
	refcount_dec(&r);
	KUNIT_EXPECT_EQ(test, count(&r), 6);
	KUNIT_EXPECT_FALSE(test, refcount_sub_and_test(3, &r));
	KUNIT_EXPECT_EQ(test, count(&r), 3);
	KUNIT_EXPECT_FALSE(test, refcount_dec_and_test(&r));
	KUNIT_EXPECT_EQ(test, count(&r), 2);
	KUNIT_EXPECT_TRUE(test, refcount_sub_and_test(2, &r));
	KUNIT_EXPECT_EQ(test, count(&r), 0);
	refcount_set(&r, 1);
	KUNIT_EXPECT_TRUE(test, refcount_dec_and_test(&r));
	KUNIT_EXPECT_EQ(test, count(&r), 0);
}

/* Up to the largest count nothing saturates. */
static void up_to_the_largest(struct kunit *test)
{
	refcount_t r = REFCOUNT_INIT(REFCOUNT_MAX - 1);

	refcount_inc(&r);
	KUNIT_EXPECT_EQ(test, count(&r), INT_MAX);
	refcount_dec(&r);
	KUNIT_EXPECT_TRUE(test, refcount_inc_not_zero(&r));
	KUNIT_EXPECT_EQ(test, count(&r), INT_MAX);
	KUNIT_EXPECT_FALSE(test, refcount_sub_and_test(INT_MAX - 1, &r));
	KUNIT_EXPECT_EQ(test, count(&r), 1);
	refcount_add(INT_MAX - 1, &r);
	KUNIT_EXPECT_EQ(test, count(&r), INT_MAX);
	KUNIT_EXPECT_TRUE(test, refcount_sub_and_test(INT_MAX, &r));
	KUNIT_EXPECT_EQ(test, count(&r), 0);
}

/* An object whose count is 0 is dead: nobody gets a reference any more. */
static void not_zero(struct kunit *test)
{
	refcount_t r = REFCOUNT_INIT(0);

	KUNIT_EXPECT_FALSE(test, refcount_inc_not_zero(&r));
	KUNIT_EXPECT_EQ(test, count(&r), 0);
	KUNIT_EXPECT_FALSE(test, refcount_add_not_zero(3, &r));
	KUNIT_EXPECT_EQ(test, count(&r), 0);
	refcount_set(&r, 1);
	KUNIT_EXPECT_TRUE(test, refcount_inc_not_zero(&r));
	KUNIT_EXPECT_EQ(test, count(&r), 2);
	KUNIT_EXPECT_TRUE(test, refcount_add_not_zero(3, &r));
	KUNIT_EXPECT_EQ(test, count(&r), 5);
}

static void old_values(struct kunit *test)
{
	refcount_t r = REFCOUNT_INIT(1);
	int old = -1;

	__refcount_inc(&r, &old);
	KUNIT_EXPECT_EQ(test, old, 1);
	__refcount_add(4, &r, &old);
	KUNIT_EXPECT_EQ(test, old, 2);
	KUNIT_EXPECT_TRUE(test, __refcount_inc_not_zero(&r, &old));
	KUNIT_EXPECT_EQ(test, old, 6);
	KUNIT_EXPECT_TRUE(test, __refcount_add_not_zero(2, &r, &old));
	KUNIT_EXPECT_EQ(test, old, 7);
	__refcount_dec(&r, &old);
	KUNIT_EXPECT_EQ(test, old, 9);
	KUNIT_EXPECT_FALSE(test, __refcount_sub_and_test(6, &r, &old));
	KUNIT_EXPECT_EQ(test, old, 8);
	KUNIT_EXPECT_FALSE(test, __refcount_dec_and_test(&r, &old));
	KUNIT_EXPECT_EQ(test, old, 2);
	KUNIT_EXPECT_TRUE(test, __refcount_dec_and_test(&r, &old));
	KUNIT_EXPECT_EQ(test, old, 1);
	KUNIT_EXPECT_FALSE(test, __refcount_inc_not_zero(&r, &old));
	KUNIT_EXPECT_EQ(test, old, 0);
	KUNIT_EXPECT_EQ(test, count(&r), 0);
}

static void one(struct kunit *test)
{
	refcount_t r = REFCOUNT_INIT(2);

	KUNIT_EXPECT_FALSE(test, refcount_dec_if_one(&r));
	KUNIT_EXPECT_EQ(test, count(&r), 2);
	KUNIT_EXPECT_TRUE(test, refcount_dec_not_one(&r));
	KUNIT_EXPECT_EQ(test, count(&r), 1);
	KUNIT_EXPECT_FALSE(test, refcount_dec_not_one(&r));
	KUNIT_EXPECT_EQ(test, count(&r), 1);
	KUNIT_EXPECT_TRUE(test, refcount_dec_if_one(&r));
	KUNIT_EXPECT_EQ(test, count(&r), 0);
	KUNIT_EXPECT_FALSE(test, refcount_dec_if_one(&r));
	KUNIT_EXPECT_EQ(test, count(&r), 0);
}

/* With one processor a spinlock has no state. */
static bool is_held(spinlock_t *lock)
{
	return !IS_ENABLED(CONFIG_SMP) || spin_is_locked(lock);
}

/* The lock is held after the drop of the last reference, and only then. */
static void locks(struct kunit *test)
{
	refcount_t r = REFCOUNT_INIT(2);
	struct mutex mutex;
	spinlock_t spin;
	unsigned long flags;
	bool last, held, off;

	mutex_init(&mutex);
	spin_lock_init(&spin);

	KUNIT_EXPECT_FALSE(test, refcount_dec_and_mutex_lock(&r, &mutex));
	KUNIT_EXPECT_FALSE(test, mutex_is_locked(&mutex));
	KUNIT_EXPECT_EQ(test, count(&r), 1);
	KUNIT_ASSERT_TRUE(test, refcount_dec_and_mutex_lock(&r, &mutex));
	KUNIT_EXPECT_TRUE(test, mutex_is_locked(&mutex));
	mutex_unlock(&mutex);
	KUNIT_EXPECT_EQ(test, count(&r), 0);

	refcount_set(&r, 2);
	KUNIT_EXPECT_FALSE(test, refcount_dec_and_lock(&r, &spin));
	KUNIT_EXPECT_FALSE(test, spin_is_locked(&spin));
	KUNIT_EXPECT_EQ(test, count(&r), 1);
	last = refcount_dec_and_lock(&r, &spin);
	held = is_held(&spin);
	if (last)
		spin_unlock(&spin);
	KUNIT_EXPECT_TRUE(test, last);
	KUNIT_EXPECT_TRUE(test, held);
	KUNIT_EXPECT_EQ(test, count(&r), 0);

	refcount_set(&r, 2);
	KUNIT_EXPECT_FALSE(test, refcount_dec_and_lock_irqsave(&r, &spin, &flags));
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	KUNIT_EXPECT_FALSE(test, spin_is_locked(&spin));
	KUNIT_EXPECT_EQ(test, count(&r), 1);
	last = refcount_dec_and_lock_irqsave(&r, &spin, &flags);
	off = irqs_disabled();
	held = is_held(&spin);
	if (last)
		spin_unlock_irqrestore(&spin, flags);
	KUNIT_EXPECT_TRUE(test, last);
	KUNIT_EXPECT_TRUE(test, off);
	KUNIT_EXPECT_TRUE(test, held);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	KUNIT_EXPECT_EQ(test, count(&r), 0);
}

/* ---- Threads --------------------------------------------------------------------------------- */

struct shared {
	refcount_t r;
	atomic_t lasts;   /* how often an operation said "that was the last one" */
	atomic_t refused; /* how often a reference was refused */
	int rounds;
};

struct worker {
	struct shared *shared;
	void (*work)(struct shared *shared);
	struct completion ended;
};

static int worker(void *argument)
{
	struct worker *self = argument;

	self->work(self->shared);
	kthread_complete_and_exit(&self->ended,
				  0); /* returns not into this module, which may be gone */
}

/* Runs a function in THREADS threads. Ends with the last of them. */
static void in_threads(struct kunit *test, struct shared *shared, void (*work)(struct shared *))
{
	struct worker *workers = kunit_kcalloc(test, THREADS, sizeof(*workers), GFP_KERNEL);
	int i, started = 0;

	KUNIT_ASSERT_NOT_NULL(test, workers);
	for (i = 0; i < THREADS; i++) {
		workers[i].shared = shared;
		workers[i].work = work;
		init_completion(&workers[i].ended);
		if (!IS_ERR(kthread_run(worker, &workers[i], "refcount_kunit/%d", i)))
			started++;
		else
			complete(&workers[i].ended);
	}
	for (i = 0; i < THREADS; i++)
		wait_for_completion(&workers[i].ended);
	KUNIT_ASSERT_EQ(test, started, THREADS);
}

/* Each thread begins with a reference, gets and drops others, and drops its own at the end. */
static void get_and_put(struct shared *shared)
{
	refcount_t *r = &shared->r;
	int i;

	for (i = 0; i < shared->rounds; i++) {
		refcount_inc(r);
		if (!refcount_inc_not_zero(r))
			atomic_inc(&shared->refused);
		else
			refcount_dec(r);
		if (!refcount_dec_not_one(r))
			atomic_inc(&shared->refused);
		refcount_add(3, r);
		if (refcount_sub_and_test(3, r))
			atomic_inc(&shared->lasts);
		cond_resched();
	}
	if (refcount_dec_and_test(r))
		atomic_inc(&shared->lasts);
}

static void threads(struct kunit *test)
{
	struct shared *shared = kunit_kzalloc(test, sizeof(*shared), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, shared);
	for (i = 0; i < 20; i++) {
		refcount_set(&shared->r, THREADS);
		atomic_set(&shared->lasts, 0);
		shared->rounds = 500;
		in_threads(test, shared, get_and_put);
		KUNIT_EXPECT_EQ(test, count(&shared->r), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&shared->lasts), 1);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&shared->refused), 0);
}

static struct kunit_case use_cases[] = {
	KUNIT_CASE(set_and_read), KUNIT_CASE(add_and_drop), KUNIT_CASE(up_to_the_largest),
	KUNIT_CASE(not_zero),     KUNIT_CASE(old_values),   KUNIT_CASE(one),
	KUNIT_CASE(locks),        KUNIT_CASE(threads),      {}
};

static struct kunit_suite use_suite = {
	.name = "refcount",
	.test_cases = use_cases,
};

/* ---- Misuse ---------------------------------------------------------------------------------- */

#define EXPECT_SATURATED(test, r) KUNIT_EXPECT_EQ(test, count(r), REFCOUNT_SATURATED)

static int misuse_init(struct kunit *test)
{
	if (!misuse)
		kunit_skip(test, "misuse=0");
	return 0;
}

static void overflow(struct kunit *test)
{
	refcount_t r = REFCOUNT_INIT(REFCOUNT_MAX);

	refcount_inc(&r);
	EXPECT_SATURATED(test, &r);
	refcount_set(&r, REFCOUNT_MAX - 3);
	refcount_add(4, &r);
	EXPECT_SATURATED(test, &r);
	refcount_set(&r, 1);
	refcount_add(INT_MAX, &r);
	EXPECT_SATURATED(test, &r);
}

/* The caller gets a reference, of an object that will never be freed. */
static void overflow_not_zero(struct kunit *test)
{
	refcount_t r = REFCOUNT_INIT(REFCOUNT_MAX);

	KUNIT_EXPECT_TRUE(test, refcount_inc_not_zero(&r));
	EXPECT_SATURATED(test, &r);
	refcount_set(&r, REFCOUNT_MAX - 3);
	KUNIT_EXPECT_TRUE(test, refcount_add_not_zero(4, &r));
	EXPECT_SATURATED(test, &r);
}

/* A new reference to an object that is being freed. */
static void add_to_zero(struct kunit *test)
{
	refcount_t r = REFCOUNT_INIT(0);

	refcount_inc(&r);
	EXPECT_SATURATED(test, &r);
	refcount_set(&r, 0);
	refcount_add(3, &r);
	EXPECT_SATURATED(test, &r);
}

/* refcount_dec() can't tell its caller to free the object. */
static void dec_of_the_last(struct kunit *test)
{
	refcount_t r = REFCOUNT_INIT(1);

	refcount_dec(&r);
	EXPECT_SATURATED(test, &r);
	refcount_set(&r, 0);
	refcount_dec(&r);
	EXPECT_SATURATED(test, &r);
}

/* dec_and_test() must not return true twice, since its caller frees the object. */
static void drop_too_many(struct kunit *test)
{
	refcount_t r = REFCOUNT_INIT(0);

	KUNIT_EXPECT_FALSE(test, refcount_dec_and_test(&r));
	EXPECT_SATURATED(test, &r);
	refcount_set(&r, 0);
	KUNIT_EXPECT_FALSE(test, refcount_sub_and_test(3, &r));
	EXPECT_SATURATED(test, &r);
	refcount_set(&r, 2);
	KUNIT_EXPECT_FALSE(test, refcount_sub_and_test(3, &r));
	EXPECT_SATURATED(test, &r);
}

static void saturated_stays(struct kunit *test)
{
	refcount_t r = REFCOUNT_INIT(REFCOUNT_SATURATED);
	struct mutex mutex;

	mutex_init(&mutex);
	refcount_inc(&r);
	EXPECT_SATURATED(test, &r);
	refcount_add(7, &r);
	EXPECT_SATURATED(test, &r);
	KUNIT_EXPECT_TRUE(test, refcount_inc_not_zero(&r));
	EXPECT_SATURATED(test, &r);
	KUNIT_EXPECT_TRUE(test, refcount_add_not_zero(7, &r));
	EXPECT_SATURATED(test, &r);
	refcount_dec(&r);
	EXPECT_SATURATED(test, &r);
	KUNIT_EXPECT_FALSE(test, refcount_dec_and_test(&r));
	EXPECT_SATURATED(test, &r);
	KUNIT_EXPECT_FALSE(test, refcount_sub_and_test(7, &r));
	EXPECT_SATURATED(test, &r);
	KUNIT_EXPECT_TRUE(test, refcount_dec_not_one(&r));
	EXPECT_SATURATED(test, &r);
	KUNIT_EXPECT_FALSE(test, refcount_dec_if_one(&r));
	EXPECT_SATURATED(test, &r);
	KUNIT_EXPECT_FALSE(test, refcount_dec_and_mutex_lock(&r, &mutex));
	KUNIT_EXPECT_FALSE(test, mutex_is_locked(&mutex));
	EXPECT_SATURATED(test, &r);
}

/* Threads carry the count past the largest at the same time, and then drop what they got. */
static void overflow_in_a_thread(struct shared *shared)
{
	int i;

	for (i = 0; i < shared->rounds; i++)
		refcount_inc(&shared->r);
	for (i = 0; i < shared->rounds; i++)
		if (refcount_dec_and_test(&shared->r))
			atomic_inc(&shared->lasts);
}

static void overflow_in_threads(struct kunit *test)
{
	struct shared *shared = kunit_kzalloc(test, sizeof(*shared), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, shared);
	refcount_set(&shared->r, REFCOUNT_MAX - 3);
	shared->rounds = 2000;
	in_threads(test, shared, overflow_in_a_thread);
	EXPECT_SATURATED(test, &shared->r);
	KUNIT_EXPECT_EQ(test, atomic_read(&shared->lasts), 0);
}

static struct kunit_case misuse_cases[] = { KUNIT_CASE(overflow),
					    KUNIT_CASE(overflow_not_zero),
					    KUNIT_CASE(add_to_zero),
					    KUNIT_CASE(dec_of_the_last),
					    KUNIT_CASE(drop_too_many),
					    KUNIT_CASE(saturated_stays),
					    KUNIT_CASE(overflow_in_threads),
					    {} };

static struct kunit_suite misuse_suite = {
	.name = "refcount_misuse",
	.init = misuse_init,
	.test_cases = misuse_cases,
};

kunit_test_suites(&use_suite, &misuse_suite);

MODULE_DESCRIPTION("KUnit suites of refcount_t");
MODULE_LICENSE("Dual MIT/GPL");
