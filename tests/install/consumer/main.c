/* SPDX-License-Identifier: MIT */
/*
 * Uses counts, locks, and reports (which need the library). Exit status: 0; or 1, with the failed
 * check on standard error.
 */
#include <holdfast/lockref.h>
#include <holdfast/refcount.h>
#include <holdfast/report.h>
#include <holdfast/spinlock.h>
#include <holdfast/spinlock_ticket.h>

#include <stdio.h>

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition);            \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

int main(void)
{
	hf_spinlock_t lock = HF_SPINLOCK_INIT;
	hf_spinlock_ticket_t ticket = HF_SPINLOCK_TICKET_INIT;
	hf_refcount_t count = HF_REFCOUNT_INIT(1);
	hf_lockref_t object = HF_LOCKREF_INIT(1);

	hf_report_set_mode(HF_REPORT_MODE_COUNT);

	hf_spinlock_lock(&lock);
	CHECK(hf_spinlock_is_locked(&lock) && !hf_spinlock_trylock(&lock));
	hf_spinlock_unlock(&lock);
	CHECK(!hf_spinlock_is_locked(&lock));

	hf_spinlock_ticket_lock(&ticket);
	CHECK(hf_spinlock_ticket_is_locked(&ticket) && !hf_spinlock_ticket_trylock(&ticket));
	hf_spinlock_ticket_unlock(&ticket);
	CHECK(!hf_spinlock_ticket_is_locked(&ticket));

	hf_refcount_inc(&count);
	CHECK(!hf_refcount_dec_and_test(&count));
	CHECK(hf_refcount_dec_and_test(&count));
	hf_refcount_inc(&count); /* use after free */
	CHECK(hf_report_count(HF_REPORT_ADD_UAF) == 1);

	hf_lockref_get(&object);
	CHECK(hf_lockref_put_return(&object) == 1);
	CHECK(!hf_lockref_put_or_lock(&object));
	hf_lockref_mark_dead(&object);
	hf_lockref_unlock(&object);
	CHECK(!hf_lockref_get_not_dead(&object));
	return 0;
}
