/* SPDX-License-Identifier: MIT */
/*
 * refcount_cases - the effect of each refcount operation, and the handling of misuse, as tables.
 *
 * The lab runs the same cases for its checked variants (lab/variants/in_place.h).
 */
#include "battery.h"

#include "holdfast/refcount.h"

/* ---- One operation in all its forms --------------------------------------------------------- */

enum operation { ADD, ADD_NOT_ZERO, DEC, SUB_AND_TEST, DEC_IF_ONE, DEC_NOT_ONE, IS_ONE };

/* Forms of an operation: for any amount, and for 1. Odd forms return the old count. */
static const unsigned int forms[][2] = {
	[ADD] = { 2, 4 },          [ADD_NOT_ZERO] = { 4, 8 }, [DEC] = { 0, 2 },
	[SUB_AND_TEST] = { 2, 4 }, [DEC_IF_ONE] = { 0, 1 },   [DEC_NOT_ONE] = { 0, 1 },
	[IS_ONE] = { 0, 1 },
};

static bool add_not_zero(unsigned int form, int32_t i, hf_refcount_t *r, int32_t *old)
{
	switch (form) {
	case 0:
		return hf_refcount_add_not_zero(i, r);
	case 1:
		return hf_refcount_add_not_zero_old(i, r, old);
	case 2:
		return hf_refcount_add_not_zero_acquire(i, r);
	case 3:
		return hf_refcount_add_not_zero_acquire_old(i, r, old);
	case 4:
		return hf_refcount_inc_not_zero(r);
	case 5:
		return hf_refcount_inc_not_zero_old(r, old);
	case 6:
		return hf_refcount_inc_not_zero_acquire(r);
	default:
		return hf_refcount_inc_not_zero_acquire_old(r, old);
	}
}

static void add(unsigned int form, int32_t i, hf_refcount_t *r, int32_t *old)
{
	if (form == 0)
		hf_refcount_add(i, r);
	else if (form == 1)
		hf_refcount_add_old(i, r, old);
	else if (form == 2)
		hf_refcount_inc(r);
	else
		hf_refcount_inc_old(r, old);
}

static bool sub_and_test(unsigned int form, int32_t i, hf_refcount_t *r, int32_t *old)
{
	if (form == 0)
		return hf_refcount_sub_and_test(i, r);
	if (form == 1)
		return hf_refcount_sub_and_test_old(i, r, old);
	return form == 2 ? hf_refcount_dec_and_test(r) : hf_refcount_dec_and_test_old(r, old);
}

/* Returns the operation's result, or false if it has none. */
static bool apply(enum operation op, unsigned int form, int32_t i, hf_refcount_t *r, int32_t *old)
{
	switch (op) {
	case ADD:
		add(form, i, r, old);
		return false;
	case ADD_NOT_ZERO:
		return add_not_zero(form, i, r, old);
	case DEC:
		if (form == 0)
			hf_refcount_dec(r);
		else
			hf_refcount_dec_old(r, old);
		return false;
	case SUB_AND_TEST:
		return sub_and_test(form, i, r, old);
	case DEC_IF_ONE:
		return hf_refcount_dec_if_one(r);
	case DEC_NOT_ONE:
		return hf_refcount_dec_not_one(r);
	default:
		return hf_refcount_is_one_acquire(r);
	}
}

/* Operation op by the amount i: the count before and after, the result, the report. */
struct row {
	const char *name;
	enum operation op;
	int32_t i, before, after;
	bool result;
	int kind;
};

static void check_form(const struct row *row, unsigned int form, bool wants_old)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(0);
	int32_t old = row->before ^ 1; /* not what is expected */
	bool result;

	hf_refcount_set(&r, row->before);
	result = apply(row->op, form, row->i, &r, wants_old ? &old : NULL);
	battery_equal(hf_refcount_read(&r), row->after, row->name, (int)form);
	battery_equal(result, row->result, row->name, (int)form);
	if (wants_old)
		battery_equal(old, row->before, row->name, (int)form);
	battery_reported(row->kind, &r, (int)form);
}

static void check(const struct row *row)
{
	for (unsigned int form = 0; form < forms[row->op][row->i == 1]; form++) {
		check_form(row, form, false); /* an _old form: with NULL */
		if (form % 2)
			check_form(row, form, true);
	}
}

/* ---- Correct use -------------------------------------------------------------------------- */

#define MOST HF_REFCOUNT_MAX
#define SATURATED HF_REFCOUNT_SATURATED
#define IMMORTAL HF_REFCOUNT_IMMORTAL

static void set_read(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(7);

	BATTERY_EQ(sizeof(hf_refcount_t), 4);
	BATTERY_EQ(HF_REFCOUNT_MAX, 0x7fffffff);
	BATTERY_EQ(HF_REFCOUNT_SATURATED, -0x40000000); /* 0xC0000000 */
	BATTERY_EQ(hf_refcount_read(&r), 7);
	hf_refcount_set(&r, 1);
	BATTERY_EQ(hf_refcount_read(&r), 1);
	hf_refcount_set(&r, HF_REFCOUNT_MAX);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_MAX);
	hf_refcount_set_release(&r, 3);
	BATTERY_EQ(hf_refcount_read(&r), 3);
	hf_refcount_set(&r, 0);
	BATTERY_EQ(hf_refcount_read(&r), 0);
	BATTERY_QUIET();
}

static void good(void)
{
	static const struct row rows[] = {
		{ "inc", ADD, 1, 1, 2, false, QUIET },
		{ "inc to the limit", ADD, 1, MOST - 1, MOST, false, QUIET },
		{ "add", ADD, 40, 3, 43, false, QUIET },
		{ "add to the limit", ADD, MOST - 50, 50, MOST, false, QUIET },
		{ "inc_not_zero", ADD_NOT_ZERO, 1, 1, 2, true, QUIET },
		{ "inc_not_zero to the limit", ADD_NOT_ZERO, 1, MOST - 1, MOST, true, QUIET },
		{ "inc_not_zero of a dead one", ADD_NOT_ZERO, 1, 0, 0, false, QUIET },
		{ "add_not_zero", ADD_NOT_ZERO, 10, 1, 11, true, QUIET },
		{ "add_not_zero to the limit", ADD_NOT_ZERO, 6, MOST - 6, MOST, true, QUIET },
		{ "add_not_zero of a dead one", ADD_NOT_ZERO, 10, 0, 0, false, QUIET },
		{ "dec", DEC, 1, 4, 3, false, QUIET },
		{ "dec to 1", DEC, 1, 2, 1, false, QUIET },
		{ "dec from the limit", DEC, 1, MOST, MOST - 1, false, QUIET },
		{ "dec_and_test", SUB_AND_TEST, 1, 3, 2, false, QUIET },
		{ "dec_and_test to 1", SUB_AND_TEST, 1, 2, 1, false, QUIET },
		{ "dec_and_test, the last", SUB_AND_TEST, 1, 1, 0, true, QUIET },
		{ "dec_and_test from the limit", SUB_AND_TEST, 1, MOST, MOST - 1, false, QUIET },
		{ "sub_and_test", SUB_AND_TEST, 3, 10, 7, false, QUIET },
		{ "sub_and_test, the last", SUB_AND_TEST, 4, 4, 0, true, QUIET },
		{ "sub_and_test of all", SUB_AND_TEST, MOST, MOST, 0, true, QUIET },
		{ "dec_if_one of 2", DEC_IF_ONE, 1, 2, 2, false, QUIET },
		{ "dec_if_one of 1", DEC_IF_ONE, 1, 1, 0, true, QUIET },
		{ "dec_if_one of 0", DEC_IF_ONE, 1, 0, 0, false, QUIET },
		{ "dec_if_one, saturated", DEC_IF_ONE, 1, SATURATED, SATURATED, false, QUIET },
		{ "dec_not_one of 3", DEC_NOT_ONE, 1, 3, 2, true, QUIET },
		{ "dec_not_one of 2", DEC_NOT_ONE, 1, 2, 1, true, QUIET },
		{ "dec_not_one of 1", DEC_NOT_ONE, 1, 1, 1, false, QUIET },
		{ "is_one of 1", IS_ONE, 1, 1, 1, true, QUIET },
		{ "is_one of 0", IS_ONE, 1, 0, 0, false, QUIET },
		{ "is_one of 2", IS_ONE, 1, 2, 2, false, QUIET },
		{ "is_one of the limit", IS_ONE, 1, MOST, MOST, false, QUIET },
		{ "is_one of -1", IS_ONE, 1, -1, -1, false, QUIET },
		{ "is_one, saturated", IS_ONE, 1, SATURATED, SATURATED, false, QUIET },
		{ "is_one, immortal", IS_ONE, 1, IMMORTAL, IMMORTAL, false, QUIET },
	};

	for (unsigned int i = 0; i < BATTERY_COUNT(rows); i++)
		check(&rows[i]);
}

/* Subtracting 0 drops no reference, so sub_and_test(0) is never true. */
static void sub_and_test_of_0(void)
{
	static const int32_t counts[] = { 1, 3, 0, HF_REFCOUNT_SATURATED };

	for (unsigned int i = 0; i < BATTERY_COUNT(counts); i++) {
		hf_refcount_t r = HF_REFCOUNT_INIT(0);

		hf_refcount_set(&r, counts[i]);
		BATTERY_TRUE(!hf_refcount_sub_and_test(0, &r));
	}
	battery_forget();
}

/* ---- Misuse ------------------------------------------------------------------------------- */

#define SAT SATURATED /* after each misuse */

/* With any_negative() below, the misuses that Linux's crash-test module has by these names. */
static void misuse(void)
{
	static const struct row rows[] = {
		{ "INC_OVERFLOW", ADD, 1, MOST, SAT, false, HF_REPORT_ADD_OVF },
		{ "ADD_OVERFLOW", ADD, 4, MOST - 3, SAT, false, HF_REPORT_ADD_OVF },
		{ "ADD_OVERFLOW, most", ADD, MOST, MOST, SAT, false, HF_REPORT_ADD_OVF },
		{ "INC_NOT_ZERO_OVERFLOW", ADD_NOT_ZERO, 1, MOST, SAT, true,
		  HF_REPORT_ADD_NOT_ZERO_OVF },
		{ "ADD_NOT_ZERO_OVERFLOW", ADD_NOT_ZERO, 6, MOST - 5, SAT, true,
		  HF_REPORT_ADD_NOT_ZERO_OVF },
		{ "DEC_ZERO", DEC, 1, 1, SAT, false, HF_REPORT_DEC_LEAK },
		{ "DEC_NEGATIVE", DEC, 1, 0, SAT, false, HF_REPORT_DEC_LEAK },
		{ "DEC_AND_TEST_NEGATIVE", SUB_AND_TEST, 1, 0, SAT, false, HF_REPORT_SUB_UAF },
		{ "SUB_AND_TEST_NEGATIVE", SUB_AND_TEST, 5, 3, SAT, false, HF_REPORT_SUB_UAF },
		{ "SUB_AND_TEST_ZERO", SUB_AND_TEST, 5, 0, SAT, false, HF_REPORT_SUB_UAF },
		{ "INC_ZERO", ADD, 1, 0, SAT, false, HF_REPORT_ADD_UAF },
		{ "ADD_ZERO", ADD, 3, 0, SAT, false, HF_REPORT_ADD_UAF },
		{ "dec_not_one of 0", DEC_NOT_ONE, 1, 0, SAT, true, HF_REPORT_SUB_UAF },
	};

	for (unsigned int i = 0; i < BATTERY_COUNT(rows); i++)
		check(&rows[i]);
}

/*
 * With the amounts other than 1 and 2, a check of the new value alone would take the count for
 * live: SATURATED + 2^30 is 0, SATURATED - INT32_MAX is above it.
 */
static const int32_t amounts[] = { 1, 2, 8, 1 << 28, 1 << 30, (1 << 30) + 1, HF_REFCOUNT_MAX };

/*
 * Each operation changes a count of @before to @after, and reports its own kind, or *@kind if
 * given.
 */
static void each_negative(const char *name, int32_t before, int32_t after, const int *kind)
{
	static const struct row rows[] = {
		{ "", ADD, 0, 0, 0, false, HF_REPORT_ADD_OVF },
		{ "", ADD_NOT_ZERO, 0, 0, 0, true, HF_REPORT_ADD_NOT_ZERO_OVF },
		{ "", SUB_AND_TEST, 0, 0, 0, false, HF_REPORT_SUB_UAF },
		{ "", DEC, 0, 0, 0, false, HF_REPORT_DEC_LEAK },
	};

	for (unsigned int i = 0; i < BATTERY_COUNT(rows); i++) {
		for (unsigned int j = 0; j < BATTERY_COUNT(amounts); j++) {
			struct row row = rows[i];

			row.name = name;
			row.i = amounts[j];
			row.before = before;
			row.after = after;
			row.kind = kind ? *kind : row.kind;
			check(&row);
		}
	}
}

/*
 * Negative counts that a race may leave briefly: each operation saturates them, unless they are
 * near IMMORTAL. The report is the operation's own, unless the count was already saturated.
 */
static void any_negative(void)
{
	static const int32_t overflowed[] = {
		INT32_MIN, INT32_MIN + 1, IMMORTAL - (1 << 28) - 8, SATURATED + (1 << 28) + 8, -2,
		-1
	};
	static const int32_t saturated[] = { IMMORTAL + (1 << 28) + 8, SATURATED - 1, SATURATED,
					     SATURATED + 1 };
	static const int again = HF_REPORT_SATURATED;
	hf_refcount_t r = HF_REFCOUNT_INIT(SATURATED);

	for (unsigned int i = 0; i < BATTERY_COUNT(overflowed); i++)
		each_negative("a negative count", overflowed[i], SATURATED, NULL);
	for (unsigned int i = 0; i < BATTERY_COUNT(saturated); i++)
		each_negative("a saturated count", saturated[i], SATURATED, &again);

	BATTERY_TRUE(hf_refcount_dec_not_one(&r));
	BATTERY_EQ(hf_refcount_read(&r), SATURATED);
	battery_forget(); /* another report is allowed */
}

/* An object that is never freed: no operation changes its count, and none reports anything. */
static void immortal(void)
{
	/* Offsets that up to 2^22 concurrent operations may leave briefly, in either direction. */
	static const int32_t seen[] = { 0, 1, -1, 1 << 22, -(1 << 22) };
	static const int none = QUIET;
	hf_refcount_t r = HF_REFCOUNT_INIT(IMMORTAL);

	BATTERY_EQ(IMMORTAL, -0x60000000); /* 0xA0000000 */
	BATTERY_TRUE(!hf_refcount_dec_if_one(&r));
	BATTERY_TRUE(hf_refcount_dec_not_one(&r));
	BATTERY_EQ(hf_refcount_read(&r), IMMORTAL);
	BATTERY_QUIET();
	for (unsigned int i = 0; i < BATTERY_COUNT(seen); i++)
		each_negative("an immortal count", IMMORTAL + seen[i], IMMORTAL, &none);
}

static const struct battery_case cases[] = {
	{ "SET_READ", set_read, NULL },
	{ "GOOD", good, NULL },
	{ "SUB_AND_TEST_OF_0_IS_NEVER_TRUE", sub_and_test_of_0, NULL },
	{ "MISUSE", misuse, NULL },
	{ "ANY_NEGATIVE_SATURATES", any_negative, NULL },
	{ "IMMORTAL_STAYS", immortal, NULL },
};

const struct battery_suite refcount_suite = BATTERY_SUITE("refcount", cases);
