/* SPDX-License-Identifier: MIT */
/*
 * validate - a debug build's locks tell of their misuse, and the program goes on.
 */
#define HF_VALIDATE 1

#include <assert.h>
#include <stdio.h>

#include <holdfast/spinlock.h>

static hf_spinlock_t lock = HF_SPINLOCK_INIT;

/* Takes the lock itself, and is called with it held: a deadlock without validation. */
static void careless(void)
{
	hf_spinlock_lock(&lock);
	hf_spinlock_unlock(&lock);
}

int main(void)
{
	hf_report_set_mode(HF_REPORT_MODE_COUNT);

	hf_spinlock_lock(&lock);
	careless();
	assert(hf_report_count(HF_REPORT_LOCK_RECURSION) == 1);
	assert(hf_spinlock_is_locked(&lock)); /* still ours */
	hf_spinlock_unlock(&lock);
	assert(!hf_spinlock_is_locked(&lock));

	hf_spinlock_unlock(&lock); /* once too often */
	assert(hf_report_count(HF_REPORT_LOCK_UNLOCKED) == 1);
	printf("a recursion and an unlock too many: reported, and survived\n");
	return 0;
}
