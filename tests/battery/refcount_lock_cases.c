/* SPDX-License-Identifier: MIT */
/* refcount_lock_cases - dec_and_lock, for the default refcount and the default spinlock. */
#include "battery.h"

#include "holdfast/refcount_lock.h"

/* While other references exist the lock is not even read: here it is held. */
static void not_last(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(2);
	hf_spinlock_t lock = HF_SPINLOCK_INIT;

	hf_spinlock_lock(&lock);
	BATTERY_TRUE(!hf_refcount_dec_and_lock(&r, &lock));
	BATTERY_EQ(hf_refcount_read(&r), 1);
	BATTERY_TRUE(hf_spinlock_is_locked(&lock));
	hf_spinlock_unlock(&lock);
	BATTERY_QUIET();
}

static void last(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);
	hf_spinlock_t lock = HF_SPINLOCK_INIT;

	if (BATTERY_TRUE(hf_refcount_dec_and_lock(&r, &lock))) {
		BATTERY_TRUE(hf_spinlock_is_locked(&lock));
		BATTERY_TRUE(!hf_spinlock_trylock(&lock));
		hf_spinlock_unlock(&lock);
	}
	BATTERY_EQ(hf_refcount_read(&r), 0);
	BATTERY_TRUE(!hf_spinlock_is_locked(&lock));
	BATTERY_QUIET();
}

/* Dead or saturated: no reference is the last, so the lock is not taken. */
static void no_reference(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(0);
	hf_spinlock_t lock = HF_SPINLOCK_INIT;

	BATTERY_TRUE(!hf_refcount_dec_and_lock(&r, &lock));
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_TRUE(!hf_spinlock_is_locked(&lock));
	BATTERY_REPORTED(HF_REPORT_SUB_UAF, &r);

	BATTERY_TRUE(!hf_refcount_dec_and_lock(&r, &lock));
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_TRUE(!hf_spinlock_is_locked(&lock));
	battery_forget(); /* another report is allowed */
}

#if HF_ENV_HAS_IRQ
static void irqsave(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(2);
	hf_spinlock_t lock = HF_SPINLOCK_INIT;
	unsigned long flags = 0;

	BATTERY_TRUE(!hf_refcount_dec_and_lock_irqsave(&r, &lock, &flags));
	BATTERY_EQ(hf_refcount_read(&r), 1);
	BATTERY_TRUE(!hf_spinlock_is_locked(&lock));
	if (BATTERY_TRUE(hf_refcount_dec_and_lock_irqsave(&r, &lock, &flags))) {
		BATTERY_TRUE(hf_spinlock_is_locked(&lock));
		hf_spinlock_unlock_irqrestore(&lock, flags);
	}
	BATTERY_EQ(hf_refcount_read(&r), 0);
	BATTERY_TRUE(!hf_spinlock_is_locked(&lock));
	BATTERY_QUIET();
}
#endif

static const struct battery_case cases[] = {
	{ "NOT_LAST", not_last, NULL },
	{ "LAST", last, NULL },
	{ "NO_REFERENCE", no_reference, NULL },
#if HF_ENV_HAS_IRQ
	{ "IRQSAVE", irqsave, NULL },
#endif
};

const struct battery_suite refcount_lock_suite = BATTERY_SUITE("refcount_lock", cases);
