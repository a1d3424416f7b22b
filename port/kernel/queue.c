// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * queue - how the spinlock hands itself on, observed at its word. A waiter is known to wait when
 * the word has changed, so these tests depend neither on speed nor on chance. They need four CPUs.
 *
 *   order     tasks and interrupts of four CPUs wait for two locks: nobody enters while the lock is
 *             held, all enter when it is released, in their order
 *   passes    how often the first waiter is passed over while its CPU is kept busy elsewhere
 *
 * After each, all bits of the free lock must be 0: a lockref relies on it.
 *
 * A CPU whose waiter was lost hangs. Then the test says so, and the module can't be unloaded.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/smp.h>

#include "holdfast/spinlock.h"

#include "test.h"

enum { CPUS = 4, MINE = CPUS - 1 };

/* For a step of microseconds: emulators, and busy hosts, are slow. */
#ifndef LIMIT
#define LIMIT (60ull * NSEC_PER_SEC)
#endif

/* Waits until the condition is true, at most LIMIT. Yields whether it is. */
#define WAIT_UNTIL(condition)                                                                      \
	({                                                                                         \
		u64 until = ktime_get_ns() + LIMIT;                                                \
                                                                                                   \
		while (!(condition) && ktime_get_ns() < until)                                     \
			cpu_relax();                                                               \
		(condition);                                                                       \
	})

static u32 word_of(const hf_spinlock_t *lock)
{
	return hf_atomic32_load_relaxed(&lock->word);
}

/* Judges a test, and the word of its lock, which is free now. */
static bool judge(const char *name, hf_spinlock_t *lock, const char *fault, unsigned int number)
{
	bool taken;

	if (fault) {
		test_case(false, name, "%s, %u", fault, number);
		return false;
	}
	test_case(true, name, "%u", number);
	(void)WAIT_UNTIL(word_of(lock) == 0);
	taken = hf_spinlock_trylock(lock);
	if (taken)
		hf_spinlock_unlock(lock);
	test_case(taken && word_of(lock) == 0, "queue.word", "%08x when it is free, after %s",
		  word_of(lock), name);
	return taken;
}

/* ---- Waiters ------------------------------------------------------------------------------- */

static struct waiter {
	hf_spinlock_t *lock;
	int cpu;
	struct task_struct *task;
	bool go;
	bool is_in;
	unsigned int place; /* in the order of entering, from 1 */
} waiters[5];

static hf_spinlock_t outer, inner;
static unsigned int entered;

static void enter(struct waiter *w)
{
	hf_spinlock_lock(w->lock);
	WRITE_ONCE(w->place, ++entered); /* outer is held until all have left inner */
	hf_spinlock_unlock(w->lock);
	smp_store_release(&w->is_in, true);
}

static int enter_in_task(void *w)
{
	while (!smp_load_acquire(&((struct waiter *)w)->go))
		cond_resched();
	enter(w);
	return 0;
}

static void enter_in_interrupt(void *w)
{
	enter(w);
}

static bool start(struct waiter *w, hf_spinlock_t *lock, int cpu)
{
	*w = (struct waiter){ .lock = lock, .cpu = cpu };
	w->task = kthread_create(enter_in_task, w, "holdfast/%d", cpu);
	if (IS_ERR(w->task))
		return false;
	get_task_struct(w->task);
	kthread_bind(w->task, cpu);
	wake_up_process(w->task);
	return true;
}

/* The part of the word that a waiter's coming changes. Passes change while one waits (T7). */
static u32 waiters_of(const hf_spinlock_t *lock)
{
	return word_of(lock) & HF_DETAIL_QUEUED_WAITERS_MASK;
}

/* Lets the task, or an interrupt, come to the held lock. Returns when the lock's word shows it. */
static bool arrives(struct waiter *w)
{
	u32 before = waiters_of(w->lock);

	if (w->task)
		smp_store_release(&w->go, true);
	else if (smp_call_function_single(w->cpu, enter_in_interrupt, w, 0))
		return false;
	return WAIT_UNTIL(waiters_of(w->lock) != before || READ_ONCE(entered));
}

static bool has_entered(struct waiter *w)
{
	return WAIT_UNTIL(smp_load_acquire(&w->is_in));
}

/* Waits until the task has left the module's code. */
static void end(struct waiter *w)
{
	(void)kthread_stop(w->task);
	put_task_struct(w->task);
}

/* ---- order --------------------------------------------------------------------------------- */

/*
 * Waiters of outer: one without a node, one with, one behind it. The CPUs of the first two are then
 * interrupted, and wait for inner: again one without a node and one with. An emulator may run its
 * CPUs in turn, so the second and the third change places.
 */
static const char *order_once(unsigned int round)
{
	const int tasks[] = { 2, round % 2, 1 - round % 2 };
	const char *fault = NULL;

	entered = 0;
	for (int i = 0; i < 3; i++) {
		if (!start(&waiters[i], &outer, tasks[i]))
			return "no thread";
	}
	for (int i = 0; i < 2; i++)
		waiters[3 + i] = (struct waiter){ .lock = &inner, .cpu = tasks[i] };

	hf_spinlock_lock(&outer);
	hf_spinlock_lock(&inner);
	for (int i = 0; i < 5 && !fault; i++)
		fault = arrives(&waiters[i]) ? NULL : "a waiter does not arrive";
	udelay(200); /* time to do wrong */
	if (!fault && READ_ONCE(entered))
		fault = "entered while it was held";
	hf_spinlock_unlock(&inner);
	if (!fault && (!has_entered(&waiters[3]) || !has_entered(&waiters[4])))
		fault = "a waiter in an interrupt was lost";
	hf_spinlock_unlock(&outer);
	for (int i = 0; i < 3 && !fault; i++)
		fault = has_entered(&waiters[i]) ? NULL : "a waiter was lost";
	if (fault)
		return fault;
	for (int i = 0; i < 3; i++)
		end(&waiters[i]);
	return waiters[3].place == 1 && waiters[4].place == 2 && waiters[0].place == 3 &&
			       waiters[1].place == 4 && waiters[2].place == 5
		       ? NULL
		       : "another order";
}

#ifndef ROUNDS_OF_ORDER
#define ROUNDS_OF_ORDER 16
#endif

static bool order(void)
{
	const char *fault = NULL;
	unsigned int round;

	for (round = 0; round < ROUNDS_OF_ORDER && !fault; round++)
		fault = order_once(round);
	return judge("queue.order", &outer, fault, round);
}

/* ---- passes -------------------------------------------------------------------------------- */

static unsigned int passed;
static bool is_busy, is_over;

/* Keeps the first waiter's CPU from looking at the lock, until the other makes no progress. */
static void keep_busy(void *unused)
{
	unsigned int before = READ_ONCE(passed);
	u64 since = ktime_get_ns();

	smp_store_release(&is_busy, true);
	while (!smp_load_acquire(&is_over) && ktime_get_ns() - since < 100 * NSEC_PER_MSEC) {
		if (READ_ONCE(passed) != before) {
			before = READ_ONCE(passed);
			since = ktime_get_ns();
		}
		cpu_relax();
	}
}

/* Counts how often this CPU takes the lock again before the waiter has it. */
static const char *passes_once(unsigned int most)
{
	struct waiter *first = &waiters[0];
	const char *fault = NULL;

	entered = passed = 0;
	is_busy = is_over = false;
	if (!start(first, &outer, 2))
		return "no thread";
	hf_spinlock_lock(&outer);
	if (!arrives(first))
		fault = "a waiter does not arrive";
	else if (smp_call_function_single(first->cpu, keep_busy, NULL, 0) ||
		 !WAIT_UNTIL(smp_load_acquire(&is_busy)))
		fault = "no interrupt";
	while (!fault && passed < most) {
		hf_spinlock_unlock(&outer);
		hf_spinlock_lock(&outer);
		if (READ_ONCE(first->place))
			break;
		WRITE_ONCE(passed, passed + 1);
	}
	smp_store_release(&is_over, true);
	hf_spinlock_unlock(&outer);
	if (!has_entered(first))
		return "a waiter was lost";
	end(first);
	return fault;
}

/* I4 of spinlock_queued.h: the passes that are counted, and two of a thread that read before. */
static bool passes(void)
{
	enum { ROUNDS = 4, BOUND = HF_SPINLOCK_QUEUED_PASSES + 2, MOST = 20 * BOUND };
	const char *fault = NULL;
	unsigned int worst = 0;

	for (int round = 0; round < ROUNDS && !fault; round++) {
		fault = passes_once(MOST);
		worst = max(worst, passed);
	}
	if (!fault && worst > BOUND)
		fault = "the first waiter is passed over too often";
	return judge("queue.passes", &outer, fault, worst);
}

void queue_test(void)
{
	if (num_online_cpus() < CPUS || set_cpus_allowed_ptr(current, cpumask_of(MINE))) {
		test_case(false, "queue.cpus", "%u", num_online_cpus());
		return;
	}
	if (order())
		(void)passes();
	(void)set_cpus_allowed_ptr(current, cpu_possible_mask);
}
