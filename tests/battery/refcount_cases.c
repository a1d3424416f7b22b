/* SPDX-License-Identifier: MIT */
/* refcount_cases - refcount_cases.h for each implementation, and dec_and_lock for the default. */
#include "battery.h"
#include "holdfast/refcount.h"
#include "holdfast/refcount_lock.h"

#define V(verb) hf_refcount_unchecked_##verb
#define CASE(name) refcount_unchecked_##name
#define SUITE "refcount.unchecked"
#define CHECKED 0
#include "refcount_cases.h"

#define V(verb) hf_refcount_cmpxchg_##verb
#define CASE(name) refcount_cmpxchg_##name
#define SUITE "refcount.cmpxchg"
#define CHECKED 1
#include "refcount_cases.h"

#define V(verb) hf_refcount_saturating_##verb
#define CASE(name) refcount_saturating_##name
#define SUITE "refcount.saturating"
#define CHECKED 1
#include "refcount_cases.h"

#define V(verb) hf_refcount_asm_##verb
#define CASE(name) refcount_asm_##name
#define SUITE "refcount.asm"
#define CHECKED 1
#include "refcount_cases.h"

#define V(verb) hf_refcount_##verb
#define CASE(name) refcount_default_##name
#define SUITE "refcount.default"
#define CHECKED 1
#include "refcount_cases.h"

/* ---- refcount_lock.h ---------------------------------------------------------------------- */

static void not_last(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(2);
	hf_spinlock_t lock = HF_SPINLOCK_INIT;

	BATTERY_TRUE(!hf_refcount_dec_and_lock(&r, &lock));
	BATTERY_EQ(hf_refcount_read(&r), 1);
	BATTERY_TRUE(!hf_spinlock_is_locked(&lock));
	BATTERY_QUIET();
}

/* While others have references the lock is not even looked at: here it is held. */
static void not_last_while_locked(void)
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

/* Dead or saturated: nobody's last reference, so no lock either. */
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
	battery_forget(); /* whether that is told again is not promised */
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

static const struct battery_case lock_cases[] = {
	{ "NOT_LAST", not_last }, { "NOT_LAST_WHILE_LOCKED", not_last_while_locked },
	{ "LAST", last },         { "NO_REFERENCE", no_reference },
#if HF_ENV_HAS_IRQ
	{ "IRQSAVE", irqsave },
#endif
};

const struct battery_suite refcount_lock_suite = { "refcount_lock", lock_cases,
						   BATTERY_COUNT(lock_cases) };
