/* SPDX-License-Identifier: MIT */
/*
 * validate - with HF_VALIDATE each lock and unlock is checked, and misuse that would hang or
 * corrupt the program is reported instead. Define it for the whole program, with -DHF_VALIDATE=1;
 * this program has only one file.
 */
#define HF_VALIDATE 1

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include <holdfast/spinlock.h>

#include "must.h"

static hf_spinlock_t lock = HF_SPINLOCK_INIT;

/* Acquires the lock, although its caller holds it already. */
static void update(void)
{
	hf_spinlock_lock(&lock);
	hf_spinlock_unlock(&lock);
}

static hf_spinlock_t first = HF_SPINLOCK_INIT, second = HF_SPINLOCK_INIT;

static void take_both(hf_spinlock_t *outer, hf_spinlock_t *inner)
{
	hf_spinlock_lock(outer);
	hf_spinlock_lock(inner);
	hf_spinlock_unlock(inner);
	hf_spinlock_unlock(outer);
}

/* clang -Wthread-safety would find these mistakes at compile time; here they are intended. */
HF_NO_THREAD_SAFETY_ANALYSIS static void *unlock_without_holding(void *argument)
{
	(void)argument;
	hf_spinlock_unlock(&lock);
	return NULL;
}

HF_NO_THREAD_SAFETY_ANALYSIS int main(void)
{
	const struct timespec two_ms = { 0, 2000000 };
	pthread_t thread;

	(void)hf_report_set_mode(HF_REPORT_MODE_COUNT); /* this example makes each mistake itself */

	/* The holder locks again. Without validation: a deadlock. Here: granted and reported. */
	hf_spinlock_lock(&lock);
	must(hf_validate_is_held(&lock)); /* useful for assertions in code that requires the lock */
	update();
	must(hf_report_count(HF_REPORT_LOCK_RECURSION) == 1);
	must(hf_spinlock_is_locked(&lock));

	/* Another thread unlocks. Without validation: two holders. Here: refused and reported. */
	must(pthread_create(&thread, NULL, unlock_without_holding, NULL) == 0);
	pthread_join(thread, NULL);
	must(hf_report_count(HF_REPORT_LOCK_WRONG_OWNER) == 1);
	must(hf_spinlock_is_locked(&lock));

	/* The holder sleeps; waiters would spin all the time. */
	hf_validate_set_hold_limit(1000000);
	nanosleep(&two_ms, NULL);
	hf_spinlock_unlock(&lock);
	must(hf_report_count(HF_REPORT_LOCK_HELD_LONG) == 1);

	/* Two locks, taken in both orders: two threads that do this at the same time deadlock. */
	take_both(&first, &second);
	must(hf_report_count(HF_REPORT_LOCK_ORDER) == 0);
	take_both(&second, &first);
	must(hf_report_count(HF_REPORT_LOCK_ORDER) == 1);

	/* Unlocked twice. */
	hf_spinlock_unlock(&lock);
	must(hf_report_count(HF_REPORT_LOCK_UNLOCKED) == 1);
	must(!hf_validate_is_held(&lock) && !hf_spinlock_is_locked(&lock));

	printf("found: recursion, wrong owner, held long, both orders, unlocked twice\n");
	return 0;
}
