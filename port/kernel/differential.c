// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * differential - long random sequences of operations, on Holdfast's refcounts and lockrefs and on
 * the kernel's: the same results and the same values, after each operation.
 *
 * The kernel warns of the first misuse of each kind, on its refcount; run.py expects that.
 *
 * Where Holdfast differs on purpose:
 *   dec_not_one    below 1 the kernel's counts on (and leaves 0 alone, with a warning); Holdfast's
 *                  is saturated and stays so. The difference itself is checked.
 *   lockref get    of a dead object, or past INT32_MAX: the kernel's counts on, Holdfast's reports
 *                  and stays. The sequences do not go there.
 */
#include <linux/lockref.h>
#include <linux/refcount.h>

#include "holdfast/lockref.h"
#include "holdfast/refcount.h"

#include "test.h"

#define SEQUENCES 400
#define STEPS 500

/* ---- refcount ----------------------------------------------------------------------------- */

enum {
	R_SET,
	R_INC,
	R_ADD,
	R_INC_NOT_ZERO,
	R_ADD_NOT_ZERO,
	R_DEC,
	R_DEC_AND_TEST,
	R_SUB_AND_TEST,
	R_DEC_IF_ONE,
	R_DEC_NOT_ONE,
	R_OPERATIONS
};

static const char *const refcount_names[] = {
	"set", "inc",          "add",          "inc_not_zero", "add_not_zero",
	"dec", "dec_and_test", "sub_and_test", "dec_if_one",   "dec_not_one",
};

/* Values where something happens, and whatever lies between. */
static int value_of(u64 *seed)
{
	static const int special[] = { 0,       1,           2,       3,
				       100,     INT_MAX - 2, INT_MAX, INT_MAX - 1,
				       INT_MIN, INT_MIN / 2, -1,      INT_MIN / 2 + 1 };
	u32 pick = test_random(seed) % (2 * ARRAY_SIZE(special));

	int value = (int)(test_random(seed) << 1);

	/* The kernel knows no immortal objects: what lies there is saturated for it. */
	if ((u32)value >= 0x90000000u && (u32)value <= 0xb0000000u)
		value = INT_MIN / 2;
	return pick < ARRAY_SIZE(special) ? special[pick] : value;
}

/* What is added or subtracted: 1 to INT32_MAX, as refcount.h requires. */
static int amount_of(u64 *seed)
{
	static const int special[] = { 1, 2, 3, 99, INT_MAX / 2, INT_MAX };
	u32 pick = test_random(seed) % (2 * ARRAY_SIZE(special));

	return pick < ARRAY_SIZE(special) ? special[pick] : 1 + (int)(test_random(seed) % 1000);
}

static bool theirs(unsigned int operation, int n, refcount_t *r)
{
	switch (operation) {
	case R_SET:
		refcount_set(r, n);
		return false;
	case R_INC:
		refcount_inc(r);
		return false;
	case R_ADD:
		refcount_add(n, r);
		return false;
	case R_INC_NOT_ZERO:
		return refcount_inc_not_zero(r);
	case R_ADD_NOT_ZERO:
		return refcount_add_not_zero(n, r);
	case R_DEC:
		refcount_dec(r);
		return false;
	case R_DEC_AND_TEST:
		return refcount_dec_and_test(r);
	case R_SUB_AND_TEST:
		return refcount_sub_and_test(n, r);
	case R_DEC_IF_ONE:
		return refcount_dec_if_one(r);
	default:
		return refcount_dec_not_one(r);
	}
}

static bool ours(unsigned int operation, int n, hf_refcount_t *r)
{
	switch (operation) {
	case R_SET:
		hf_refcount_set(r, n);
		return false;
	case R_INC:
		hf_refcount_inc(r);
		return false;
	case R_ADD:
		hf_refcount_add(n, r);
		return false;
	case R_INC_NOT_ZERO:
		return hf_refcount_inc_not_zero(r);
	case R_ADD_NOT_ZERO:
		return hf_refcount_add_not_zero(n, r);
	case R_DEC:
		hf_refcount_dec(r);
		return false;
	case R_DEC_AND_TEST:
		return hf_refcount_dec_and_test(r);
	case R_SUB_AND_TEST:
		return hf_refcount_sub_and_test(n, r);
	case R_DEC_IF_ONE:
		return hf_refcount_dec_if_one(r);
	default:
		return hf_refcount_dec_not_one(r);
	}
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
			/* Rarely a new value: what follows a value is what matters. */
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
	/* The sequences went through all that matters. */
	test_case(trues > steps / 20 && saturated > steps / 20 && saturated < steps, name,
		  "%lu operations, %lu true, %lu saturated; %lu dec_not_one below 1 differed as "
		  "documented",
		  steps, trues, saturated, differed);
}

/* ---- lockref ------------------------------------------------------------------------------ */

enum {
	L_GET,
	L_GET_NOT_ZERO,
	L_GET_NOT_DEAD,
	L_PUT_RETURN,
	L_PUT_OR_LOCK,
	L_MARK_DEAD,
	L_PUT_RETURN_LOCKED,
	L_SET,
	L_OPERATIONS
};

static const char *const lockref_names[] = {
	"get",         "get_not_zero", "get_not_dead",       "put_return",
	"put_or_lock", "mark_dead",    "put_return, locked", "set",
};

static int their_lockref(unsigned int operation, int n, struct lockref *l)
{
	int result = 0;

	switch (operation) {
	case L_GET:
		lockref_get(l);
		return 0;
	case L_GET_NOT_ZERO:
		return lockref_get_not_zero(l);
	case L_GET_NOT_DEAD:
		return lockref_get_not_dead(l);
	case L_PUT_RETURN:
		return lockref_put_return(l);
	case L_PUT_OR_LOCK:
		result = lockref_put_or_lock(l);
		if (!result)
			spin_unlock(&l->lock);
		return result;
	case L_MARK_DEAD:
		spin_lock(&l->lock);
		lockref_mark_dead(l);
		spin_unlock(&l->lock);
		return 0;
	case L_PUT_RETURN_LOCKED:
		spin_lock(&l->lock);
		result = lockref_put_return(l);
		spin_unlock(&l->lock);
		return result;
	default:
		spin_lock(&l->lock);
		l->count = n;
		spin_unlock(&l->lock);
		return 0;
	}
}

static int our_lockref(unsigned int operation, int n, hf_lockref_t *l)
{
	int result = 0;

	switch (operation) {
	case L_GET:
		hf_lockref_get(l);
		return 0;
	case L_GET_NOT_ZERO:
		return hf_lockref_get_not_zero(l);
	case L_GET_NOT_DEAD:
		return hf_lockref_get_not_dead(l);
	case L_PUT_RETURN:
		return hf_lockref_put_return(l);
	case L_PUT_OR_LOCK:
		result = hf_lockref_put_or_lock(l);
		if (!result)
			hf_lockref_unlock(l);
		return result;
	case L_MARK_DEAD:
		hf_lockref_lock(l);
		hf_lockref_mark_dead(l);
		hf_lockref_unlock(l);
		return 0;
	case L_PUT_RETURN_LOCKED:
		hf_lockref_lock(l);
		result = hf_lockref_put_return(l);
		hf_lockref_unlock(l);
		return result;
	default:
		hf_lockref_lock(l);
		hf_lockref_set_count(l, n);
		hf_lockref_unlock(l);
		return 0;
	}
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
				operation = L_SET; /* see above */
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
