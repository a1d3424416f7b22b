// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * differential - runs long random sequences of operations on Holdfast's refcounts and lockrefs and
 * on the kernel's, and compares results and values after each operation.
 *
 * The kernel warns of the first misuse of each kind of its own refcount; run.py expects that.
 *
 * Intended differences:
 *   dec_not_one    below 0 the kernel decrements (0 stays, with a warning); Holdfast saturates.
 *                  The difference itself is checked.
 *   lockref get    of a dead object, or above INT32_MAX: the kernel increments, Holdfast reports it
 *                  and changes nothing. The sequences avoid this.
 */
#include <linux/lockref.h>
#include <linux/refcount.h>

#include "holdfast/lockref.h"
#include "holdfast/refcount.h"

#include "test.h"

#define SEQUENCES 400
#define STEPS 500

#define ENUMERATOR(id, name, call) id,
#define NAME(id, name, call) [id] = name,
#define CASE(id, name, call)                                                                       \
	case id:                                                                                   \
		return call;

/* ---- refcount ----------------------------------------------------------------------------- */

/* prefix: refcount_ for the kernel's, hf_refcount_ for Holdfast's */
#define REFCOUNT_OPERATIONS(X, prefix)                                                             \
	X(R_SET, "set", (prefix##set(r, n), false))                                                \
	X(R_INC, "inc", (prefix##inc(r), false))                                                   \
	X(R_ADD, "add", (prefix##add(n, r), false))                                                \
	X(R_INC_NOT_ZERO, "inc_not_zero", prefix##inc_not_zero(r))                                 \
	X(R_ADD_NOT_ZERO, "add_not_zero", prefix##add_not_zero(n, r))                              \
	X(R_DEC, "dec", (prefix##dec(r), false))                                                   \
	X(R_DEC_AND_TEST, "dec_and_test", prefix##dec_and_test(r))                                 \
	X(R_SUB_AND_TEST, "sub_and_test", prefix##sub_and_test(n, r))                              \
	X(R_DEC_IF_ONE, "dec_if_one", prefix##dec_if_one(r))                                       \
	X(R_DEC_NOT_ONE, "dec_not_one", prefix##dec_not_one(r))

enum { REFCOUNT_OPERATIONS(ENUMERATOR, ) R_OPERATIONS };

static const char *const refcount_names[] = { REFCOUNT_OPERATIONS(NAME, ) };

/* Returns boundary values as often as random ones. */
static int value_of(u64 *seed)
{
	static const int special[] = { 0,       1,           2,       3,
				       100,     INT_MAX - 2, INT_MAX, INT_MAX - 1,
				       INT_MIN, INT_MIN / 2, -1,      INT_MIN / 2 + 1 };
	u32 pick = test_random(seed) % (2 * ARRAY_SIZE(special));

	int value = (int)(test_random(seed) << 1);

	/* The kernel has no immortal objects; to it such values are saturated. */
	if ((u32)value >= 0x90000000u && (u32)value <= 0xb0000000u)
		value = INT_MIN / 2;
	return pick < ARRAY_SIZE(special) ? special[pick] : value;
}

/* Returns a number of references to add or subtract: 1 to INT32_MAX, as refcount.h requires. */
static int amount_of(u64 *seed)
{
	static const int special[] = { 1, 2, 3, 99, INT_MAX / 2, INT_MAX };
	u32 pick = test_random(seed) % (2 * ARRAY_SIZE(special));

	return pick < ARRAY_SIZE(special) ? special[pick] : 1 + (int)(test_random(seed) % 1000);
}

static bool theirs(unsigned int operation, int n, refcount_t *r)
{
	switch (operation) {
		REFCOUNT_OPERATIONS(CASE, refcount_)
	}
	return false;
}

static bool ours(unsigned int operation, int n, hf_refcount_t *r)
{
	switch (operation) {
		REFCOUNT_OPERATIONS(CASE, hf_refcount_)
	}
	return false;
}

static void refcount_one(void)
{
	const char *name = "differential.refcount";
	u64 seed = 1;
	unsigned long steps = 0, trues = 0, saturated = 0, differed = 0;

	for (unsigned int sequence = 0; sequence < SEQUENCES; sequence++) {
		hf_refcount_t mine;
		refcount_t kernels;
		int start = value_of(&seed);

		(void)theirs(R_SET, start, &kernels);
		(void)ours(R_SET, start, &mine);
		for (unsigned int step = 0; step < STEPS; step++) {
			u32 pick = test_random(&seed);
			/* One in eight operations sets a new value; the others follow on it. */
			unsigned int operation = pick % 8 == 0 ? R_SET
							       : 1 + pick % (R_OPERATIONS - 1);
			int n = operation == R_SET ? value_of(&seed) : amount_of(&seed);
			int before = (int)refcount_read(&kernels);
			bool his = theirs(operation, n, &kernels);
			bool my = ours(operation, n, &mine);
			int his_value = (int)refcount_read(&kernels);
			int my_value = hf_refcount_read(&mine);

			if (operation == R_DEC_NOT_ONE && before <= 0) {
				bool held = my && (my_value == before || my_value == INT_MIN / 2);

				if (his && his_value == before - (before < 0) && held &&
				    my_value < 0) {
					refcount_set(&kernels, my_value);
					differed++;
					continue;
				}
			}
			steps++;
			trues += his;
			saturated += his_value == INT_MIN / 2;
			if (his == my && his_value == my_value)
				continue;
			test_case(false, name,
				  "sequence %u step %u: %s(%d) on %d: kernel %d and %d, holdfast "
				  "%d and %d",
				  sequence, step, refcount_names[operation], n, before, his,
				  his_value, my, my_value);
			return;
		}
	}
	/* The sequences must have reached success, saturation and the rest often enough. */
	test_case(trues > steps / 20 && saturated > steps / 20 && saturated < steps, name,
		  "%lu operations, %lu true, %lu saturated; %lu dec_not_one below 1 differed as "
		  "documented",
		  steps, trues, saturated, differed);
}

/* ---- lockref ------------------------------------------------------------------------------ */

/* Functions that Holdfast has and the kernel has not. */
static void lockref_lock(struct lockref *l)
{
	spin_lock(&l->lock);
}

static void lockref_unlock(struct lockref *l)
{
	spin_unlock(&l->lock);
}

static void lockref_set_count(struct lockref *l, int n)
{
	l->count = n;
}

/* prefix: lockref_ for the kernel's, hf_lockref_ for Holdfast's */
#define LOCKREF_OPERATIONS(X, prefix)                                                              \
	X(L_GET, "get", (prefix##get(l), 0))                                                       \
	X(L_GET_NOT_ZERO, "get_not_zero", prefix##get_not_zero(l))                                 \
	X(L_GET_NOT_DEAD, "get_not_dead", prefix##get_not_dead(l))                                 \
	X(L_PUT_RETURN, "put_return", prefix##put_return(l))                                       \
	X(L_PUT_OR_LOCK, "put_or_lock", prefix##put_or_lock(l) || (prefix##unlock(l), 0))          \
	X(L_MARK_DEAD, "mark_dead", LOCKED(prefix, prefix##mark_dead(l), 0))                       \
	X(L_PUT_RETURN_LOCKED, "put_return, locked", LOCKED(prefix, n = prefix##put_return(l), n)) \
	X(L_SET, "set", LOCKED(prefix, prefix##set_count(l, n), 0))
#define LOCKED(prefix, action, result) (prefix##lock(l), (action), prefix##unlock(l), (result))

enum { LOCKREF_OPERATIONS(ENUMERATOR, ) L_OPERATIONS };

static const char *const lockref_names[] = { LOCKREF_OPERATIONS(NAME, ) };

static int their_lockref(unsigned int operation, int n, struct lockref *l)
{
	switch (operation) {
		LOCKREF_OPERATIONS(CASE, lockref_)
	}
	return 0;
}

static int our_lockref(unsigned int operation, int n, hf_lockref_t *l)
{
	switch (operation) {
		LOCKREF_OPERATIONS(CASE, hf_lockref_)
	}
	return 0;
}

static void lockref_one(void)
{
	const char *name = "differential.lockref";
	u64 seed = 1;
	unsigned long steps = 0, trues = 0, dead = 0;

	for (unsigned int sequence = 0; sequence < SEQUENCES; sequence++) {
		hf_lockref_t mine;
		struct lockref kernels;
		int start = (int)(test_random(&seed) % 4);

		spin_lock_init(&kernels.lock);
		kernels.count = start;
		hf_lockref_init(&mine, start);
		for (unsigned int step = 0; step < STEPS; step++) {
			u32 pick = test_random(&seed);
			unsigned int operation = pick % L_OPERATIONS;
			int n = (int)(test_random(&seed) % 4), before = kernels.count;
			int his, my;

			if (operation == L_MARK_DEAD && pick % 64 >= 8)
				operation = L_PUT_OR_LOCK;
			if (operation == L_SET && pick % 256 == L_SET)
				n = INT_MAX - 2;
			if (operation == L_GET && (before < 0 || before >= INT_MAX - 1))
				operation = L_SET; /* avoids an intended difference: see above */
			if ((operation == L_GET_NOT_ZERO || operation == L_GET_NOT_DEAD) &&
			    before >= INT_MAX - 1)
				operation = L_SET;
			his = their_lockref(operation, n, &kernels);
			my = our_lockref(operation, n, &mine);
			steps++;
			trues += his > 0;
			dead += kernels.count < 0;
			if (his == my && kernels.count == hf_lockref_read(&mine))
				continue;
			test_case(false, name,
				  "sequence %u step %u: %s(%d) on %d: kernel %d and %d, holdfast "
				  "%d and %d",
				  sequence, step, lockref_names[operation], n, before, his,
				  kernels.count, my, hf_lockref_read(&mine));
			return;
		}
	}
	test_case(trues > steps / 20 && dead > steps / 50 && dead < steps, name,
		  "%lu operations, %lu true, %lu on the dead", steps, trues, dead);
}

void differential_test(void)
{
	enum hf_report_mode mode = hf_report_set_mode(HF_REPORT_MODE_COUNT);

	refcount_one();
	lockref_one();
	(void)hf_report_set_mode(mode);
	hf_report_reset();
}
