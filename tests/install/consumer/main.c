/* SPDX-License-Identifier: MIT */
/*
 * Uses counts, locks, and reports (which need the library). Exit status: 0; or 1, with the failed check on
 * standard error.
 */
#include <holdfast/lockref.h>
#include <holdfast/refcount.h>
#include <holdfast/report.h>
#include <holdfast/spinlock.h>
#include <holdfast/spinlock_ticket.h>

#include <stdio.h>

#define CHECK(who, condition)                                                                      \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s: not so: %s\n", #who, #condition);                     \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

/* A statement for one implementation, or for the default. */
#define SPINLOCK(operations, INIT)                                                                 \
	{                                                                                          \
		operations##_t lock = INIT;                                                        \
                                                                                                   \
		CHECK(operations, !operations##_is_locked(&lock));                                 \
		operations##_init(&lock);                                                          \
		CHECK(operations, !operations##_is_locked(&lock));                                 \
		operations##_lock(&lock);                                                          \
		CHECK(operations, operations##_is_locked(&lock));                                  \
		CHECK(operations, !operations##_trylock(&lock));                                   \
		operations##_unlock(&lock);                                                        \
		CHECK(operations, !operations##_is_locked(&lock));                                 \
	}

static int counts(void)
{
	hf_refcount_t count = HF_REFCOUNT_INIT(1);

	hf_refcount_inc(&count);
	if (hf_refcount_dec_and_test(&count) || !hf_refcount_dec_and_test(&count))
		return 0;
	hf_refcount_inc(&count); /* use after free */
	return hf_report_count(HF_REPORT_ADD_UAF) == 1;
}

static int lockrefs(void)
{
	hf_lockref_t object = HF_LOCKREF_INIT(1);

	hf_lockref_get(&object);
	if (hf_lockref_put_return(&object) != 1 || hf_lockref_put_or_lock(&object))
		return 0;
	hf_lockref_mark_dead(&object); /* that was the last */
	hf_lockref_unlock(&object);
	return !hf_lockref_get_not_dead(&object);
}

int main(void)
{
	hf_report_set_mode(HF_REPORT_MODE_COUNT);
	SPINLOCK(hf_spinlock_ticket, HF_SPINLOCK_TICKET_INIT)
	SPINLOCK(hf_spinlock, HF_SPINLOCK_INIT)
	CHECK(refcount, counts());
	CHECK(lockref, lockrefs());
	return 0;
}
