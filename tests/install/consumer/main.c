/* SPDX-License-Identifier: MIT */
/*
 * Uses every implementation of the families, and what only the library has: reports and queue
 * nodes. Exit status: 0, or 1 with what failed on standard error.
 */
#include <holdfast/lockref.h>
#include <holdfast/refcount.h>
#include <holdfast/report.h>
#include <holdfast/spinlock.h>

#include <stdio.h>

#define CHECK(who, condition)                                                                      \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s: not so: %s\n", #who, #condition);                     \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

/* Each of these is a statement for one row of a roster, or for the default. */
#define SPINLOCK(verbs, INIT)                                                                      \
	{                                                                                          \
		verbs##_t lock = INIT;                                                             \
                                                                                                   \
		CHECK(verbs, !verbs##_is_locked(&lock));                                           \
		verbs##_init(&lock);                                                               \
		CHECK(verbs, !verbs##_is_locked(&lock));                                           \
		verbs##_lock(&lock);                                                               \
		CHECK(verbs, verbs##_is_locked(&lock));                                            \
		CHECK(verbs, !verbs##_trylock(&lock));                                             \
		verbs##_unlock(&lock);                                                             \
		CHECK(verbs, !verbs##_is_locked(&lock));                                           \
	}
#define REFCOUNT(verbs, checked)                                                                   \
	{                                                                                          \
		hf_refcount_t count = HF_REFCOUNT_INIT(1);                                         \
                                                                                                   \
		verbs##_inc(&count);                                                               \
		CHECK(verbs, !verbs##_dec_and_test(&count));                                       \
		CHECK(verbs, verbs##_dec_and_test(&count));                                        \
		verbs##_inc(&count); /* use after free */                                          \
		misuses += checked;                                                                \
		CHECK(verbs, hf_report_count(HF_REPORT_ADD_UAF) == misuses);                       \
	}
#define LOCKREF(verbs)                                                                             \
	{                                                                                          \
		hf_lockref_t object = HF_LOCKREF_INIT(1);                                          \
                                                                                                   \
		verbs##_get(&object);                                                              \
		CHECK(verbs, verbs##_put_return(&object) == 1);                                    \
		CHECK(verbs, !verbs##_put_or_lock(&object)); /* the last */                        \
		hf_lockref_mark_dead(&object);                                                     \
		hf_lockref_unlock(&object);                                                        \
		CHECK(verbs, !verbs##_get_not_dead(&object));                                      \
	}

#define SPINLOCK_ROW(name, NAME, bytes, nodes)                                                     \
	SPINLOCK(hf_spinlock_##name, HF_SPINLOCK_##NAME##_INIT)
#define REFCOUNT_ROW(name, checked) REFCOUNT(hf_refcount_##name, checked)
#define LOCKREF_ROW(name, swaps) LOCKREF(hf_lockref_##name)

int main(void)
{
	unsigned int misuses = 0;

	hf_report_set_mode(HF_REPORT_MODE_COUNT);
	HF_SPINLOCK_ROSTER(SPINLOCK_ROW)
	SPINLOCK(hf_spinlock, HF_SPINLOCK_INIT)
	HF_REFCOUNT_ROSTER(REFCOUNT_ROW)
	REFCOUNT(hf_refcount, 1)
	HF_LOCKREF_ROSTER(LOCKREF_ROW)
	LOCKREF(hf_lockref)
	return 0;
}
