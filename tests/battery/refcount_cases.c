/* SPDX-License-Identifier: MIT */
/*
 * refcount_cases - what a refcount does, and what it makes of misuse.
 *
 * The eighteen misuses have the names under which Linux's crash-test module knows them. Each does
 * what is good first, which must be quiet, and what is bad after it.
 *
 * The lab runs the same cases for its variants (lab/variants/in_place.h). One of them is unchecked, a
 * plain count, which has cases of its own.
 */
#include "battery.h"

#include "holdfast/refcount.h"

static bool is_plain(void)
{
#ifdef LAB_REFCOUNT_unchecked
	return true;
#else
	return false;
#endif
}

static bool is_checked(void)
{
	return !is_plain();
}

/* ---- What is good ------------------------------------------------------------------------- */

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

static void inc_add(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);
	int32_t old = -1;

	hf_refcount_inc(&r);
	BATTERY_EQ(hf_refcount_read(&r), 2);
	hf_refcount_inc_old(&r, &old);
	BATTERY_EQ(old, 2);
	BATTERY_EQ(hf_refcount_read(&r), 3);
	hf_refcount_add(40, &r);
	BATTERY_EQ(hf_refcount_read(&r), 43);
	hf_refcount_add_old(7, &r, &old);
	BATTERY_EQ(old, 43);
	BATTERY_EQ(hf_refcount_read(&r), 50);
	hf_refcount_add(HF_REFCOUNT_MAX - 50, &r);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_MAX);
	BATTERY_QUIET();
}

static void inc_not_zero(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);
	int32_t old = -1;

	BATTERY_TRUE(hf_refcount_inc_not_zero(&r));
	BATTERY_EQ(hf_refcount_read(&r), 2);
	BATTERY_TRUE(hf_refcount_inc_not_zero_old(&r, &old));
	BATTERY_EQ(old, 2);
	BATTERY_TRUE(hf_refcount_inc_not_zero_acquire(&r));
	BATTERY_EQ(hf_refcount_read(&r), 4);
	BATTERY_TRUE(hf_refcount_inc_not_zero_acquire_old(&r, &old));
	BATTERY_EQ(old, 4);
	BATTERY_EQ(hf_refcount_read(&r), 5);

	hf_refcount_set(&r, 0);
	BATTERY_TRUE(!hf_refcount_inc_not_zero(&r));
	BATTERY_TRUE(!hf_refcount_inc_not_zero_acquire(&r));
	old = -1;
	BATTERY_TRUE(!hf_refcount_inc_not_zero_old(&r, &old));
	BATTERY_EQ(old, 0);
	old = -1;
	BATTERY_TRUE(!hf_refcount_inc_not_zero_acquire_old(&r, &old));
	BATTERY_EQ(old, 0);
	BATTERY_EQ(hf_refcount_read(&r), 0);
	BATTERY_QUIET();
}

static void add_not_zero(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);
	int32_t old = -1;

	BATTERY_TRUE(hf_refcount_add_not_zero(10, &r));
	BATTERY_EQ(hf_refcount_read(&r), 11);
	BATTERY_TRUE(hf_refcount_add_not_zero_old(10, &r, &old));
	BATTERY_EQ(old, 11);
	BATTERY_TRUE(hf_refcount_add_not_zero_acquire(10, &r));
	BATTERY_EQ(hf_refcount_read(&r), 31);
	BATTERY_TRUE(hf_refcount_add_not_zero_acquire_old(10, &r, &old));
	BATTERY_EQ(old, 31);
	BATTERY_EQ(hf_refcount_read(&r), 41);
	BATTERY_TRUE(hf_refcount_add_not_zero(HF_REFCOUNT_MAX - 41, &r));
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_MAX);

	hf_refcount_set(&r, 0);
	BATTERY_TRUE(!hf_refcount_add_not_zero(10, &r));
	BATTERY_TRUE(!hf_refcount_add_not_zero_acquire(10, &r));
	old = -1;
	BATTERY_TRUE(!hf_refcount_add_not_zero_old(10, &r, &old));
	BATTERY_EQ(old, 0);
	old = -1;
	BATTERY_TRUE(!hf_refcount_add_not_zero_acquire_old(10, &r, &old));
	BATTERY_EQ(old, 0);
	BATTERY_EQ(hf_refcount_read(&r), 0);
	BATTERY_QUIET();
}

static void dec(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX);
	int32_t old = -1;

	hf_refcount_dec(&r);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_MAX - 1);
	hf_refcount_set(&r, 4);
	hf_refcount_dec(&r);
	BATTERY_EQ(hf_refcount_read(&r), 3);
	hf_refcount_dec_old(&r, &old);
	BATTERY_EQ(old, 3);
	BATTERY_EQ(hf_refcount_read(&r), 2);
	hf_refcount_dec(&r);
	BATTERY_EQ(hf_refcount_read(&r), 1);
	BATTERY_QUIET();
}

static void dec_and_test(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(3);
	int32_t old = -1;

	BATTERY_TRUE(!hf_refcount_dec_and_test(&r));
	BATTERY_EQ(hf_refcount_read(&r), 2);
	BATTERY_TRUE(!hf_refcount_dec_and_test_old(&r, &old));
	BATTERY_EQ(old, 2);
	BATTERY_EQ(hf_refcount_read(&r), 1);
	BATTERY_TRUE(hf_refcount_dec_and_test(&r));
	BATTERY_EQ(hf_refcount_read(&r), 0);

	hf_refcount_set(&r, 1);
	BATTERY_TRUE(hf_refcount_dec_and_test_old(&r, &old));
	BATTERY_EQ(old, 1);
	BATTERY_EQ(hf_refcount_read(&r), 0);

	hf_refcount_set(&r, HF_REFCOUNT_MAX);
	BATTERY_TRUE(!hf_refcount_dec_and_test(&r));
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_MAX - 1);
	BATTERY_QUIET();
}

static void sub_and_test(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(10);
	int32_t old = -1;

	BATTERY_TRUE(!hf_refcount_sub_and_test(3, &r));
	BATTERY_EQ(hf_refcount_read(&r), 7);
	BATTERY_TRUE(!hf_refcount_sub_and_test_old(3, &r, &old));
	BATTERY_EQ(old, 7);
	BATTERY_EQ(hf_refcount_read(&r), 4);
	BATTERY_TRUE(hf_refcount_sub_and_test(4, &r));
	BATTERY_EQ(hf_refcount_read(&r), 0);

	hf_refcount_set(&r, HF_REFCOUNT_MAX);
	BATTERY_TRUE(hf_refcount_sub_and_test_old(HF_REFCOUNT_MAX, &r, &old));
	BATTERY_EQ(old, HF_REFCOUNT_MAX);
	BATTERY_EQ(hf_refcount_read(&r), 0);
	BATTERY_QUIET();
}

static void dec_if_one(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(2);

	BATTERY_TRUE(!hf_refcount_dec_if_one(&r));
	BATTERY_EQ(hf_refcount_read(&r), 2);
	hf_refcount_set(&r, 1);
	BATTERY_TRUE(hf_refcount_dec_if_one(&r));
	BATTERY_EQ(hf_refcount_read(&r), 0);
	BATTERY_TRUE(!hf_refcount_dec_if_one(&r));
	BATTERY_EQ(hf_refcount_read(&r), 0);
	hf_refcount_set(&r, HF_REFCOUNT_SATURATED);
	BATTERY_TRUE(!hf_refcount_dec_if_one(&r));
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_QUIET();
}

static void dec_not_one(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(3);

	BATTERY_TRUE(hf_refcount_dec_not_one(&r));
	BATTERY_EQ(hf_refcount_read(&r), 2);
	BATTERY_TRUE(hf_refcount_dec_not_one(&r));
	BATTERY_EQ(hf_refcount_read(&r), 1);
	BATTERY_TRUE(!hf_refcount_dec_not_one(&r));
	BATTERY_EQ(hf_refcount_read(&r), 1);
	BATTERY_QUIET();
}

static void is_one_acquire(void)
{
	static const int32_t others[] = {
		0, 2, HF_REFCOUNT_MAX, -1, HF_REFCOUNT_SATURATED, HF_REFCOUNT_IMMORTAL
	};
	hf_refcount_t r = HF_REFCOUNT_INIT(1);

	BATTERY_TRUE(hf_refcount_is_one_acquire(&r));
	BATTERY_EQ(hf_refcount_read(&r), 1);
	for (unsigned int i = 0; i < BATTERY_COUNT(others); i++) {
		hf_refcount_set(&r, others[i]);
		BATTERY_TRUE(!hf_refcount_is_one_acquire(&r));
		BATTERY_EQ(hf_refcount_read(&r), others[i]);
	}
	BATTERY_QUIET();
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

/* ---- The eighteen misuses ----------------------------------------------------------------- */

static void inc_overflow(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX - 1);

	hf_refcount_inc(&r);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_MAX);
	BATTERY_QUIET();

	hf_refcount_inc(&r);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_OVF, &r);
}

static void add_overflow(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX - 4);

	hf_refcount_add(4, &r);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_MAX);
	BATTERY_QUIET();

	hf_refcount_add(4, &r);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_OVF, &r);

	/* The sum that is most wrong. */
	hf_refcount_set(&r, HF_REFCOUNT_MAX);
	hf_refcount_add(HF_REFCOUNT_MAX, &r);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_OVF, &r);
}

static void inc_not_zero_overflow(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX - 1);

	BATTERY_TRUE(hf_refcount_inc_not_zero(&r));
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_MAX);
	BATTERY_QUIET();

	BATTERY_TRUE(hf_refcount_inc_not_zero(&r));
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_NOT_ZERO_OVF, &r);
}

static void add_not_zero_overflow(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX - 6);

	BATTERY_TRUE(hf_refcount_add_not_zero(6, &r));
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_MAX);
	BATTERY_QUIET();

	BATTERY_TRUE(hf_refcount_add_not_zero(6, &r));
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_NOT_ZERO_OVF, &r);
}

static void dec_zero(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(2);

	hf_refcount_dec(&r);
	BATTERY_EQ(hf_refcount_read(&r), 1);
	BATTERY_QUIET();

	hf_refcount_dec(&r);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_DEC_LEAK, &r);
}

static void dec_negative(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(2);

	hf_refcount_dec(&r);
	BATTERY_EQ(hf_refcount_read(&r), 1);
	BATTERY_QUIET();

	hf_refcount_set(&r, 0);
	hf_refcount_dec(&r);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_DEC_LEAK, &r);
}

static void dec_and_test_negative(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);

	BATTERY_TRUE(hf_refcount_dec_and_test(&r));
	BATTERY_EQ(hf_refcount_read(&r), 0);
	BATTERY_QUIET();

	BATTERY_TRUE(!hf_refcount_dec_and_test(&r));
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_SUB_UAF, &r);
}

static void sub_and_test_negative(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(8);

	BATTERY_TRUE(!hf_refcount_sub_and_test(5, &r));
	BATTERY_EQ(hf_refcount_read(&r), 3);
	BATTERY_QUIET();

	BATTERY_TRUE(!hf_refcount_sub_and_test(5, &r));
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_SUB_UAF, &r);
}

static void sub_and_test_zero(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(5);

	BATTERY_TRUE(hf_refcount_sub_and_test(5, &r));
	BATTERY_EQ(hf_refcount_read(&r), 0);
	BATTERY_QUIET();

	BATTERY_TRUE(!hf_refcount_sub_and_test(5, &r));
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_SUB_UAF, &r);
}

static void inc_zero(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(0);

	BATTERY_TRUE(!hf_refcount_inc_not_zero(&r));
	BATTERY_EQ(hf_refcount_read(&r), 0);
	BATTERY_QUIET();

	hf_refcount_inc(&r);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_UAF, &r);
}

static void add_zero(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(0);

	BATTERY_TRUE(!hf_refcount_add_not_zero(3, &r));
	BATTERY_EQ(hf_refcount_read(&r), 0);
	BATTERY_QUIET();

	hf_refcount_add(3, &r);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_UAF, &r);
}

/*
 * On saturated: it stays so, whatever is added or taken. The amounts are those that a count which
 * only looked at its new value would take for live (0xC0000000 + 2^30 is 0, - INT32_MAX is above).
 */
static void inc_saturated(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);

	hf_refcount_inc(&r);
	BATTERY_EQ(hf_refcount_read(&r), 2);
	BATTERY_QUIET();

	hf_refcount_set(&r, HF_REFCOUNT_SATURATED);
	hf_refcount_inc(&r);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_SATURATED, &r);
}

static void dec_saturated(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(2);

	hf_refcount_dec(&r);
	BATTERY_EQ(hf_refcount_read(&r), 1);
	BATTERY_QUIET();

	hf_refcount_set(&r, HF_REFCOUNT_SATURATED);
	hf_refcount_dec(&r);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_SATURATED, &r);
}

static void add_saturated(void)
{
	static const int32_t amounts[] = { 1, 8, 1 << 30, (1 << 30) + 1, HF_REFCOUNT_MAX };
	hf_refcount_t r = HF_REFCOUNT_INIT(1);

	hf_refcount_add(8, &r);
	BATTERY_EQ(hf_refcount_read(&r), 9);
	BATTERY_QUIET();

	hf_refcount_set(&r, HF_REFCOUNT_SATURATED);
	for (unsigned int i = 0; i < BATTERY_COUNT(amounts); i++) {
		hf_refcount_add(amounts[i], &r);
		BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
		BATTERY_REPORTED(HF_REPORT_SATURATED, &r);
	}
}

static void inc_not_zero_saturated(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);

	BATTERY_TRUE(hf_refcount_inc_not_zero(&r));
	BATTERY_EQ(hf_refcount_read(&r), 2);
	BATTERY_QUIET();

	hf_refcount_set(&r, HF_REFCOUNT_SATURATED);
	BATTERY_TRUE(hf_refcount_inc_not_zero(&r));
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_SATURATED, &r);
}

static void add_not_zero_saturated(void)
{
	static const int32_t amounts[] = { 1, 8, 1 << 30, (1 << 30) + 1, HF_REFCOUNT_MAX };
	hf_refcount_t r = HF_REFCOUNT_INIT(1);

	BATTERY_TRUE(hf_refcount_add_not_zero(8, &r));
	BATTERY_EQ(hf_refcount_read(&r), 9);
	BATTERY_QUIET();

	hf_refcount_set(&r, HF_REFCOUNT_SATURATED);
	for (unsigned int i = 0; i < BATTERY_COUNT(amounts); i++) {
		BATTERY_TRUE(hf_refcount_add_not_zero(amounts[i], &r));
		BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
		BATTERY_REPORTED(HF_REPORT_SATURATED, &r);
	}
}

static void dec_and_test_saturated(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(2);

	BATTERY_TRUE(!hf_refcount_dec_and_test(&r));
	BATTERY_EQ(hf_refcount_read(&r), 1);
	BATTERY_QUIET();

	hf_refcount_set(&r, HF_REFCOUNT_SATURATED);
	BATTERY_TRUE(!hf_refcount_dec_and_test(&r));
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_SATURATED, &r);
}

static void sub_and_test_saturated(void)
{
	static const int32_t amounts[] = { 1, 8, 1 << 30, (1 << 30) + 1, HF_REFCOUNT_MAX };
	hf_refcount_t r = HF_REFCOUNT_INIT(9);

	BATTERY_TRUE(!hf_refcount_sub_and_test(8, &r));
	BATTERY_EQ(hf_refcount_read(&r), 1);
	BATTERY_QUIET();

	hf_refcount_set(&r, HF_REFCOUNT_SATURATED);
	for (unsigned int i = 0; i < BATTERY_COUNT(amounts); i++) {
		BATTERY_TRUE(!hf_refcount_sub_and_test(amounts[i], &r));
		BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
		BATTERY_REPORTED(HF_REPORT_SATURATED, &r);
	}
}

/* ---- Misuse through the other verbs ------------------------------------------------------- */

/* The forms that hand back the old value find the same, and hand it back all the same. */
static void old_misuse(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX);
	int32_t old = -1;

	hf_refcount_inc_old(&r, &old);
	BATTERY_EQ(old, HF_REFCOUNT_MAX);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_OVF, &r);

	hf_refcount_set(&r, 0);
	hf_refcount_add_old(2, &r, &old);
	BATTERY_EQ(old, 0);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_UAF, &r);

	hf_refcount_set(&r, HF_REFCOUNT_MAX);
	BATTERY_TRUE(hf_refcount_inc_not_zero_old(&r, &old));
	BATTERY_EQ(old, HF_REFCOUNT_MAX);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_NOT_ZERO_OVF, &r);

	hf_refcount_set(&r, 1);
	hf_refcount_dec_old(&r, &old);
	BATTERY_EQ(old, 1);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_DEC_LEAK, &r);

	hf_refcount_set(&r, 0);
	BATTERY_TRUE(!hf_refcount_dec_and_test_old(&r, &old));
	BATTERY_EQ(old, 0);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_SUB_UAF, &r);

	BATTERY_TRUE(!hf_refcount_sub_and_test_old(2, &r, &old));
	BATTERY_EQ(old, HF_REFCOUNT_SATURATED);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_SATURATED, &r);
}

static void acquire_misuse(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX);
	int32_t old = -1;

	BATTERY_TRUE(hf_refcount_inc_not_zero_acquire(&r));
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_NOT_ZERO_OVF, &r);

	hf_refcount_set(&r, HF_REFCOUNT_MAX - 1);
	BATTERY_TRUE(hf_refcount_add_not_zero_acquire(2, &r));
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_NOT_ZERO_OVF, &r);

	BATTERY_TRUE(hf_refcount_add_not_zero_acquire_old(2, &r, &old));
	BATTERY_EQ(old, HF_REFCOUNT_SATURATED);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_SATURATED, &r);
}

static void dec_not_one_misuse(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(0);

	BATTERY_TRUE(hf_refcount_dec_not_one(&r));
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_SUB_UAF, &r);

	BATTERY_TRUE(hf_refcount_dec_not_one(&r));
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	battery_forget(); /* whether that is reported again is not promised */
}

/*
 * Whatever a race may leave for a moment: each verb brings any negative count back to saturated, but
 * one near IMMORTAL. Reported is what the verb did, unless the count was saturated before.
 */
static void any_negative(void)
{
	static const struct {
		int32_t value;
		bool saturated;
	} counts[] = {
		{ INT32_MIN, false },
		{ INT32_MIN + 1, false },
		{ HF_REFCOUNT_IMMORTAL - (1 << 28) - 8, false },
		{ HF_REFCOUNT_IMMORTAL + (1 << 28) + 8, true },
		{ HF_REFCOUNT_SATURATED - 1, true },
		{ HF_REFCOUNT_SATURATED, true },
		{ HF_REFCOUNT_SATURATED + 1, true },
		{ HF_REFCOUNT_SATURATED + (1 << 28) + 8, false },
		{ -2, false },
		{ -1, false },
	};

	for (unsigned int i = 0; i < BATTERY_COUNT(counts); i++) {
		hf_refcount_t r = HF_REFCOUNT_INIT(0);

		hf_refcount_set(&r, counts[i].value);
		hf_refcount_inc(&r);
		BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
		BATTERY_REPORTED(counts[i].saturated ? HF_REPORT_SATURATED : HF_REPORT_ADD_OVF, &r);

		hf_refcount_set(&r, counts[i].value);
		hf_refcount_add(2, &r);
		BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
		BATTERY_REPORTED(counts[i].saturated ? HF_REPORT_SATURATED : HF_REPORT_ADD_OVF, &r);

		hf_refcount_set(&r, counts[i].value);
		BATTERY_TRUE(hf_refcount_inc_not_zero(&r));
		BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
		BATTERY_REPORTED(
			counts[i].saturated ? HF_REPORT_SATURATED : HF_REPORT_ADD_NOT_ZERO_OVF, &r);

		hf_refcount_set(&r, counts[i].value);
		hf_refcount_dec(&r);
		BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
		BATTERY_REPORTED(counts[i].saturated ? HF_REPORT_SATURATED : HF_REPORT_DEC_LEAK,
				 &r);

		hf_refcount_set(&r, counts[i].value);
		BATTERY_TRUE(!hf_refcount_dec_and_test(&r));
		BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
		BATTERY_REPORTED(counts[i].saturated ? HF_REPORT_SATURATED : HF_REPORT_SUB_UAF, &r);

		hf_refcount_set(&r, counts[i].value);
		BATTERY_TRUE(!hf_refcount_sub_and_test(2, &r));
		BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
		BATTERY_REPORTED(counts[i].saturated ? HF_REPORT_SATURATED : HF_REPORT_SUB_UAF, &r);
	}
}

/* An object that is never freed: no verb changes its count, and none reports anything. */
static void immortal(void)
{
	static const int32_t amounts[] = { 1, 8, 1 << 28, 1 << 30, (1 << 30) + 1, HF_REFCOUNT_MAX };
	/* As others leave it for a moment: 2^22 of them, in either direction. */
	static const int32_t seen[] = { 0, 1, -1, 1 << 22, -(1 << 22) };
	hf_refcount_t r = HF_REFCOUNT_INIT(HF_REFCOUNT_IMMORTAL);
	int32_t old = -1;

	BATTERY_EQ(HF_REFCOUNT_IMMORTAL, -0x60000000); /* 0xA0000000 */
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_IMMORTAL);
	BATTERY_TRUE(!hf_refcount_dec_if_one(&r));
	BATTERY_TRUE(hf_refcount_dec_not_one(&r));
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_IMMORTAL);
	for (unsigned int i = 0; i < BATTERY_COUNT(seen); i++) {
		const int32_t value = HF_REFCOUNT_IMMORTAL + seen[i];

#define STAYS(verb)                                                                                \
	hf_refcount_set(&r, value);                                                                \
	verb;                                                                                      \
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_IMMORTAL)
		STAYS(hf_refcount_inc(&r));
		STAYS(hf_refcount_dec(&r));
		STAYS(BATTERY_TRUE(hf_refcount_inc_not_zero(&r)));
		STAYS(BATTERY_TRUE(hf_refcount_inc_not_zero_acquire(&r)));
		STAYS(BATTERY_TRUE(!hf_refcount_dec_and_test(&r)));
		STAYS(hf_refcount_inc_old(&r, &old));
		BATTERY_EQ(old, value);
		STAYS(BATTERY_TRUE(hf_refcount_inc_not_zero_old(&r, &old)));
		BATTERY_EQ(old, value);
		STAYS(hf_refcount_dec_old(&r, &old));
		BATTERY_EQ(old, value);
		STAYS(BATTERY_TRUE(!hf_refcount_dec_and_test_old(&r, &old)));
		BATTERY_EQ(old, value);
		for (unsigned int j = 0; j < BATTERY_COUNT(amounts); j++) {
			STAYS(hf_refcount_add(amounts[j], &r));
			STAYS(BATTERY_TRUE(hf_refcount_add_not_zero(amounts[j], &r)));
			STAYS(BATTERY_TRUE(hf_refcount_add_not_zero_acquire(amounts[j], &r)));
			STAYS(BATTERY_TRUE(!hf_refcount_sub_and_test(amounts[j], &r)));
		}
#undef STAYS
	}
	BATTERY_QUIET();
}

/* Misuse of one object leaves its neighbours alone. */
static void neighbours(void)
{
	hf_refcount_t r[3] = { HF_REFCOUNT_INIT(1), HF_REFCOUNT_INIT(0), HF_REFCOUNT_INIT(1) };

	hf_refcount_inc(&r[1]);
	BATTERY_REPORTED(HF_REPORT_ADD_UAF, &r[1]);
	BATTERY_EQ(hf_refcount_read(&r[0]), 1);
	BATTERY_EQ(hf_refcount_read(&r[1]), HF_REFCOUNT_SATURATED);
	BATTERY_EQ(hf_refcount_read(&r[2]), 1);
}

/* ---- What a plain count does instead ------------------------------------------------------ */

static void wraps(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX);

	hf_refcount_inc(&r);
	BATTERY_EQ(hf_refcount_read(&r), INT32_MIN);
	hf_refcount_dec(&r);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_MAX);
	hf_refcount_add(3, &r);
	BATTERY_EQ(hf_refcount_read(&r), INT32_MIN + 2);
	hf_refcount_set(&r, HF_REFCOUNT_MAX);
	BATTERY_TRUE(hf_refcount_inc_not_zero(&r));
	BATTERY_EQ(hf_refcount_read(&r), INT32_MIN);
	hf_refcount_set(&r, HF_REFCOUNT_MAX);
	BATTERY_TRUE(hf_refcount_add_not_zero(3, &r));
	BATTERY_EQ(hf_refcount_read(&r), INT32_MIN + 2);
	BATTERY_QUIET();
}

/* After 2^32 gets the count is 0 while all references exist: why other counts are checked. */
static void wraps_to_dead(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);

	hf_refcount_add(HF_REFCOUNT_MAX, &r);
	hf_refcount_add(HF_REFCOUNT_MAX, &r);
	hf_refcount_inc(&r);
	BATTERY_EQ(hf_refcount_read(&r), 0);
	BATTERY_QUIET();
}

static void revives(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(0);

	hf_refcount_inc(&r);
	BATTERY_EQ(hf_refcount_read(&r), 1);
	hf_refcount_set(&r, 0);
	hf_refcount_add(3, &r);
	BATTERY_EQ(hf_refcount_read(&r), 3);
	BATTERY_QUIET();
}

static void goes_below_0(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);

	hf_refcount_dec(&r);
	BATTERY_EQ(hf_refcount_read(&r), 0);
	hf_refcount_dec(&r);
	BATTERY_EQ(hf_refcount_read(&r), -1);
	BATTERY_TRUE(!hf_refcount_dec_and_test(&r));
	BATTERY_EQ(hf_refcount_read(&r), -2);
	BATTERY_TRUE(!hf_refcount_sub_and_test(3, &r));
	BATTERY_EQ(hf_refcount_read(&r), -5);
	BATTERY_TRUE(hf_refcount_dec_not_one(&r));
	BATTERY_EQ(hf_refcount_read(&r), -6);
	BATTERY_QUIET();
}

static void saturated_is_a_count(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(0);

	hf_refcount_set(&r, HF_REFCOUNT_SATURATED);
	hf_refcount_inc(&r);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED + 1);
	hf_refcount_dec(&r);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	BATTERY_TRUE(hf_refcount_inc_not_zero(&r));
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED + 1);
	BATTERY_TRUE(!hf_refcount_dec_and_test(&r));
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_SATURATED);
	hf_refcount_add(1 << 30, &r);
	BATTERY_EQ(hf_refcount_read(&r), 0);
	BATTERY_QUIET();
}

/* It moves, but nothing is reported and it is not freed. */
static void immortal_is_a_count(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(HF_REFCOUNT_IMMORTAL);

	hf_refcount_inc(&r);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_IMMORTAL + 1);
	BATTERY_TRUE(hf_refcount_inc_not_zero(&r));
	BATTERY_TRUE(!hf_refcount_dec_and_test(&r));
	hf_refcount_dec(&r);
	hf_refcount_dec(&r);
	BATTERY_EQ(hf_refcount_read(&r), HF_REFCOUNT_IMMORTAL - 1);
	BATTERY_TRUE(!hf_refcount_sub_and_test((1 << 29) - 1, &r));
	BATTERY_EQ(hf_refcount_read(&r), INT32_MIN);
	BATTERY_QUIET();
}

static void plain_sub_and_test_of_0(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(2);

	BATTERY_TRUE(!hf_refcount_sub_and_test(0, &r));
	BATTERY_EQ(hf_refcount_read(&r), 2);
	hf_refcount_set(&r, 0);
	BATTERY_TRUE(hf_refcount_sub_and_test(0, &r)); /* true a second time for one object */
	BATTERY_EQ(hf_refcount_read(&r), 0);
	BATTERY_QUIET();
}

static const struct battery_case cases[] = {
	{ "SET_READ", set_read, NULL },
	{ "INC_ADD", inc_add, NULL },
	{ "INC_NOT_ZERO", inc_not_zero, NULL },
	{ "ADD_NOT_ZERO", add_not_zero, NULL },
	{ "DEC", dec, NULL },
	{ "DEC_AND_TEST", dec_and_test, NULL },
	{ "SUB_AND_TEST", sub_and_test, NULL },
	{ "DEC_IF_ONE", dec_if_one, NULL },
	{ "DEC_NOT_ONE", dec_not_one, NULL },
	{ "IS_ONE_ACQUIRE", is_one_acquire, NULL },
	{ "SUB_AND_TEST_OF_0_IS_NEVER_TRUE", sub_and_test_of_0, is_checked },
	{ "INC_OVERFLOW", inc_overflow, is_checked },
	{ "ADD_OVERFLOW", add_overflow, is_checked },
	{ "INC_NOT_ZERO_OVERFLOW", inc_not_zero_overflow, is_checked },
	{ "ADD_NOT_ZERO_OVERFLOW", add_not_zero_overflow, is_checked },
	{ "DEC_ZERO", dec_zero, is_checked },
	{ "DEC_NEGATIVE", dec_negative, is_checked },
	{ "DEC_AND_TEST_NEGATIVE", dec_and_test_negative, is_checked },
	{ "SUB_AND_TEST_NEGATIVE", sub_and_test_negative, is_checked },
	{ "SUB_AND_TEST_ZERO", sub_and_test_zero, is_checked },
	{ "INC_ZERO", inc_zero, is_checked },
	{ "ADD_ZERO", add_zero, is_checked },
	{ "INC_SATURATED", inc_saturated, is_checked },
	{ "DEC_SATURATED", dec_saturated, is_checked },
	{ "ADD_SATURATED", add_saturated, is_checked },
	{ "INC_NOT_ZERO_SATURATED", inc_not_zero_saturated, is_checked },
	{ "ADD_NOT_ZERO_SATURATED", add_not_zero_saturated, is_checked },
	{ "DEC_AND_TEST_SATURATED", dec_and_test_saturated, is_checked },
	{ "SUB_AND_TEST_SATURATED", sub_and_test_saturated, is_checked },
	{ "OLD_MISUSE", old_misuse, is_checked },
	{ "ACQUIRE_MISUSE", acquire_misuse, is_checked },
	{ "DEC_NOT_ONE_MISUSE", dec_not_one_misuse, is_checked },
	{ "ANY_NEGATIVE_SATURATES", any_negative, is_checked },
	{ "IMMORTAL_STAYS", immortal, is_checked },
	{ "NEIGHBOURS", neighbours, is_checked },
	{ "OVERFLOW_WRAPS", wraps, is_plain },
	{ "OVERFLOW_WRAPS_TO_DEAD", wraps_to_dead, is_plain },
	{ "ZERO_REVIVES", revives, is_plain },
	{ "GOES_BELOW_0", goes_below_0, is_plain },
	{ "SATURATED_IS_A_COUNT", saturated_is_a_count, is_plain },
	{ "IMMORTAL_IS_A_COUNT", immortal_is_a_count, is_plain },
	{ "SUB_AND_TEST_OF_0_ON_0_IS_TRUE", plain_sub_and_test_of_0, is_plain },
};

const struct battery_suite refcount_suite = BATTERY_SUITE("refcount", cases);
