/* SPDX-License-Identifier: MIT */
/*
 * refcount_cases - what every refcount does, and what it makes of misuse.
 *
 * No include guard: refcount_cases.c includes this for each implementation, with
 *
 *   V(verb), CASE(name), SUITE    as battery.h says
 *   CHECKED                       1 = finds misuse; 0 = a plain count, which has its own cases
 *
 * The eighteen misuses have the names under which Linux's crash-test module knows them. Each does
 * what is good first, which must be quiet, and what is bad after it.
 */

/* ---- What is good ------------------------------------------------------------------------- */

static void CASE(set_read)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(7);

	BATTERY_EQ(sizeof(hf_refcount_t), 4);
	BATTERY_EQ(HF_REFCOUNT_MAX, 0x7fffffff);
	BATTERY_EQ(HF_REFCOUNT_SATURATED, -0x40000000); /* 0xC0000000 */
	BATTERY_EQ(V(read)(&r), 7);
	V(set)(&r, 1);
	BATTERY_EQ(V(read)(&r), 1);
	V(set)(&r, HF_REFCOUNT_MAX);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_MAX);
	V(set_release)(&r, 3);
	BATTERY_EQ(V(read)(&r), 3);
	V(set)(&r, 0);
	BATTERY_EQ(V(read)(&r), 0);
	BATTERY_QUIET();
}

static void CASE(inc_add)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);
	int32_t old = -1;

	V(inc)(&r);
	BATTERY_EQ(V(read)(&r), 2);
	V(inc_old)(&r, &old);
	BATTERY_EQ(old, 2);
	BATTERY_EQ(V(read)(&r), 3);
	V(add)(40, &r);
	BATTERY_EQ(V(read)(&r), 43);
	V(add_old)(7, &r, &old);
	BATTERY_EQ(old, 43);
	BATTERY_EQ(V(read)(&r), 50);
	V(add)(HF_REFCOUNT_MAX - 50, &r);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_MAX);
	BATTERY_QUIET();
}

static void CASE(inc_not_zero)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);
	int32_t old = -1;

	BATTERY_TRUE(V(inc_not_zero)(&r));
	BATTERY_EQ(V(read)(&r), 2);
	BATTERY_TRUE(V(inc_not_zero_old)(&r, &old));
	BATTERY_EQ(old, 2);
	BATTERY_TRUE(V(inc_not_zero_acquire)(&r));
	BATTERY_EQ(V(read)(&r), 4);
	BATTERY_TRUE(V(inc_not_zero_acquire_old)(&r, &old));
	BATTERY_EQ(old, 4);
	BATTERY_EQ(V(read)(&r), 5);

	V(set)(&r, 0);
	BATTERY_TRUE(!V(inc_not_zero)(&r));
	BATTERY_TRUE(!V(inc_not_zero_acquire)(&r));
	old = -1;
	BATTERY_TRUE(!V(inc_not_zero_old)(&r, &old));
	BATTERY_EQ(old, 0);
	old = -1;
	BATTERY_TRUE(!V(inc_not_zero_acquire_old)(&r, &old));
	BATTERY_EQ(old, 0);
	BATTERY_EQ(V(read)(&r), 0);
	BATTERY_QUIET();
}

static void CASE(add_not_zero)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);
	int32_t old = -1;

	BATTERY_TRUE(V(add_not_zero)(10, &r));
	BATTERY_EQ(V(read)(&r), 11);
	BATTERY_TRUE(V(add_not_zero_old)(10, &r, &old));
	BATTERY_EQ(old, 11);
	BATTERY_TRUE(V(add_not_zero_acquire)(10, &r));
	BATTERY_EQ(V(read)(&r), 31);
	BATTERY_TRUE(V(add_not_zero_acquire_old)(10, &r, &old));
	BATTERY_EQ(old, 31);
	BATTERY_EQ(V(read)(&r), 41);
	BATTERY_TRUE(V(add_not_zero)(HF_REFCOUNT_MAX - 41, &r));
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_MAX);

	V(set)(&r, 0);
	BATTERY_TRUE(!V(add_not_zero)(10, &r));
	BATTERY_TRUE(!V(add_not_zero_acquire)(10, &r));
	old = -1;
	BATTERY_TRUE(!V(add_not_zero_old)(10, &r, &old));
	BATTERY_EQ(old, 0);
	old = -1;
	BATTERY_TRUE(!V(add_not_zero_acquire_old)(10, &r, &old));
	BATTERY_EQ(old, 0);
	BATTERY_EQ(V(read)(&r), 0);
	BATTERY_QUIET();
}

static void CASE(dec)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX);
	int32_t old = -1;

	V(dec)(&r);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_MAX - 1);
	V(set)(&r, 4);
	V(dec)(&r);
	BATTERY_EQ(V(read)(&r), 3);
	V(dec_old)(&r, &old);
	BATTERY_EQ(old, 3);
	BATTERY_EQ(V(read)(&r), 2);
	V(dec)(&r);
	BATTERY_EQ(V(read)(&r), 1);
	BATTERY_QUIET();
}

static void CASE(dec_and_test)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(3);
	int32_t old = -1;

	BATTERY_TRUE(!V(dec_and_test)(&r));
	BATTERY_EQ(V(read)(&r), 2);
	BATTERY_TRUE(!V(dec_and_test_old)(&r, &old));
	BATTERY_EQ(old, 2);
	BATTERY_EQ(V(read)(&r), 1);
	BATTERY_TRUE(V(dec_and_test)(&r));
	BATTERY_EQ(V(read)(&r), 0);

	V(set)(&r, 1);
	BATTERY_TRUE(V(dec_and_test_old)(&r, &old));
	BATTERY_EQ(old, 1);
	BATTERY_EQ(V(read)(&r), 0);

	V(set)(&r, HF_REFCOUNT_MAX);
	BATTERY_TRUE(!V(dec_and_test)(&r));
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_MAX - 1);
	BATTERY_QUIET();
}

static void CASE(sub_and_test)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(10);
	int32_t old = -1;

	BATTERY_TRUE(!V(sub_and_test)(3, &r));
	BATTERY_EQ(V(read)(&r), 7);
	BATTERY_TRUE(!V(sub_and_test_old)(3, &r, &old));
	BATTERY_EQ(old, 7);
	BATTERY_EQ(V(read)(&r), 4);
	BATTERY_TRUE(V(sub_and_test)(4, &r));
	BATTERY_EQ(V(read)(&r), 0);

	V(set)(&r, HF_REFCOUNT_MAX);
	BATTERY_TRUE(V(sub_and_test_old)(HF_REFCOUNT_MAX, &r, &old));
	BATTERY_EQ(old, HF_REFCOUNT_MAX);
	BATTERY_EQ(V(read)(&r), 0);
	BATTERY_QUIET();
}

static void CASE(dec_if_one)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(2);

	BATTERY_TRUE(!V(dec_if_one)(&r));
	BATTERY_EQ(V(read)(&r), 2);
	V(set)(&r, 1);
	BATTERY_TRUE(V(dec_if_one)(&r));
	BATTERY_EQ(V(read)(&r), 0);
	BATTERY_TRUE(!V(dec_if_one)(&r));
	BATTERY_EQ(V(read)(&r), 0);
	V(set)(&r, HF_REFCOUNT_SATURATED);
	BATTERY_TRUE(!V(dec_if_one)(&r));
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_QUIET();
}

static void CASE(dec_not_one)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(3);

	BATTERY_TRUE(V(dec_not_one)(&r));
	BATTERY_EQ(V(read)(&r), 2);
	BATTERY_TRUE(V(dec_not_one)(&r));
	BATTERY_EQ(V(read)(&r), 1);
	BATTERY_TRUE(!V(dec_not_one)(&r));
	BATTERY_EQ(V(read)(&r), 1);
	BATTERY_QUIET();
}

#if CHECKED

/* Live + 0 is not a way to be the last: sub_and_test(0) never says so. */
static void CASE(sub_and_test_of_0)(void)
{
	static const int32_t counts[] = { 1, 3, 0, HF_REFCOUNT_SATURATED };

	for (unsigned int i = 0; i < BATTERY_COUNT(counts); i++) {
		hf_refcount_t r = HF_REFCOUNT_INIT(0);

		V(set)(&r, counts[i]);
		BATTERY_TRUE(!V(sub_and_test)(0, &r));
	}
	battery_forget();
}

/* ---- The eighteen misuses ----------------------------------------------------------------- */

static void CASE(inc_overflow)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX - 1);

	V(inc)(&r);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_MAX);
	BATTERY_QUIET();

	V(inc)(&r);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_OVF, &r);
}

static void CASE(add_overflow)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX - 4);

	V(add)(4, &r);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_MAX);
	BATTERY_QUIET();

	V(add)(4, &r);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_OVF, &r);

	/* The sum that is most wrong. */
	V(set)(&r, HF_REFCOUNT_MAX);
	V(add)(HF_REFCOUNT_MAX, &r);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_OVF, &r);
}

static void CASE(inc_not_zero_overflow)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX - 1);

	BATTERY_TRUE(V(inc_not_zero)(&r));
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_MAX);
	BATTERY_QUIET();

	BATTERY_TRUE(V(inc_not_zero)(&r));
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_NOT_ZERO_OVF, &r);
}

static void CASE(add_not_zero_overflow)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX - 6);

	BATTERY_TRUE(V(add_not_zero)(6, &r));
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_MAX);
	BATTERY_QUIET();

	BATTERY_TRUE(V(add_not_zero)(6, &r));
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_NOT_ZERO_OVF, &r);
}

static void CASE(dec_zero)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(2);

	V(dec)(&r);
	BATTERY_EQ(V(read)(&r), 1);
	BATTERY_QUIET();

	V(dec)(&r);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_DEC_LEAK, &r);
}

static void CASE(dec_negative)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(2);

	V(dec)(&r);
	BATTERY_EQ(V(read)(&r), 1);
	BATTERY_QUIET();

	V(set)(&r, 0);
	V(dec)(&r);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_DEC_LEAK, &r);
}

static void CASE(dec_and_test_negative)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);

	BATTERY_TRUE(V(dec_and_test)(&r));
	BATTERY_EQ(V(read)(&r), 0);
	BATTERY_QUIET();

	BATTERY_TRUE(!V(dec_and_test)(&r));
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_SUB_UAF, &r);
}

static void CASE(sub_and_test_negative)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(8);

	BATTERY_TRUE(!V(sub_and_test)(5, &r));
	BATTERY_EQ(V(read)(&r), 3);
	BATTERY_QUIET();

	BATTERY_TRUE(!V(sub_and_test)(5, &r));
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_SUB_UAF, &r);
}

static void CASE(sub_and_test_zero)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(5);

	BATTERY_TRUE(V(sub_and_test)(5, &r));
	BATTERY_EQ(V(read)(&r), 0);
	BATTERY_QUIET();

	BATTERY_TRUE(!V(sub_and_test)(5, &r));
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_SUB_UAF, &r);
}

static void CASE(inc_zero)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(0);

	BATTERY_TRUE(!V(inc_not_zero)(&r));
	BATTERY_EQ(V(read)(&r), 0);
	BATTERY_QUIET();

	V(inc)(&r);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_UAF, &r);
}

static void CASE(add_zero)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(0);

	BATTERY_TRUE(!V(add_not_zero)(3, &r));
	BATTERY_EQ(V(read)(&r), 0);
	BATTERY_QUIET();

	V(add)(3, &r);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_UAF, &r);
}

/*
 * On saturated: it stays so, whatever is added or taken. The amounts are those that a count which
 * only looked at its new value would take for live (0xC0000000 + 2^30 is 0, - INT32_MAX is above).
 */
static void CASE(inc_saturated)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);

	V(inc)(&r);
	BATTERY_EQ(V(read)(&r), 2);
	BATTERY_QUIET();

	V(set)(&r, HF_REFCOUNT_SATURATED);
	V(inc)(&r);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_OVF, &r);
}

static void CASE(dec_saturated)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(2);

	V(dec)(&r);
	BATTERY_EQ(V(read)(&r), 1);
	BATTERY_QUIET();

	V(set)(&r, HF_REFCOUNT_SATURATED);
	V(dec)(&r);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_DEC_LEAK, &r);
}

static void CASE(add_saturated)(void)
{
	static const int32_t amounts[] = { 1, 8, 1 << 30, (1 << 30) + 1, HF_REFCOUNT_MAX };
	hf_refcount_t r = HF_REFCOUNT_INIT(1);

	V(add)(8, &r);
	BATTERY_EQ(V(read)(&r), 9);
	BATTERY_QUIET();

	V(set)(&r, HF_REFCOUNT_SATURATED);
	for (unsigned int i = 0; i < BATTERY_COUNT(amounts); i++) {
		V(add)(amounts[i], &r);
		BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
		BATTERY_REPORTED(HF_REPORT_ADD_OVF, &r);
	}
}

static void CASE(inc_not_zero_saturated)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);

	BATTERY_TRUE(V(inc_not_zero)(&r));
	BATTERY_EQ(V(read)(&r), 2);
	BATTERY_QUIET();

	V(set)(&r, HF_REFCOUNT_SATURATED);
	BATTERY_TRUE(V(inc_not_zero)(&r));
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_NOT_ZERO_OVF, &r);
}

static void CASE(add_not_zero_saturated)(void)
{
	static const int32_t amounts[] = { 1, 8, 1 << 30, (1 << 30) + 1, HF_REFCOUNT_MAX };
	hf_refcount_t r = HF_REFCOUNT_INIT(1);

	BATTERY_TRUE(V(add_not_zero)(8, &r));
	BATTERY_EQ(V(read)(&r), 9);
	BATTERY_QUIET();

	V(set)(&r, HF_REFCOUNT_SATURATED);
	for (unsigned int i = 0; i < BATTERY_COUNT(amounts); i++) {
		BATTERY_TRUE(V(add_not_zero)(amounts[i], &r));
		BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
		BATTERY_REPORTED(HF_REPORT_ADD_NOT_ZERO_OVF, &r);
	}
}

static void CASE(dec_and_test_saturated)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(2);

	BATTERY_TRUE(!V(dec_and_test)(&r));
	BATTERY_EQ(V(read)(&r), 1);
	BATTERY_QUIET();

	V(set)(&r, HF_REFCOUNT_SATURATED);
	BATTERY_TRUE(!V(dec_and_test)(&r));
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_SUB_UAF, &r);
}

static void CASE(sub_and_test_saturated)(void)
{
	static const int32_t amounts[] = { 1, 8, 1 << 30, (1 << 30) + 1, HF_REFCOUNT_MAX };
	hf_refcount_t r = HF_REFCOUNT_INIT(9);

	BATTERY_TRUE(!V(sub_and_test)(8, &r));
	BATTERY_EQ(V(read)(&r), 1);
	BATTERY_QUIET();

	V(set)(&r, HF_REFCOUNT_SATURATED);
	for (unsigned int i = 0; i < BATTERY_COUNT(amounts); i++) {
		BATTERY_TRUE(!V(sub_and_test)(amounts[i], &r));
		BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
		BATTERY_REPORTED(HF_REPORT_SUB_UAF, &r);
	}
}

/* ---- Misuse through the other verbs ------------------------------------------------------- */

/* The forms that hand back the old value find the same, and hand it back all the same. */
static void CASE(old_misuse)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX);
	int32_t old = -1;

	V(inc_old)(&r, &old);
	BATTERY_EQ(old, HF_REFCOUNT_MAX);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_OVF, &r);

	V(set)(&r, 0);
	V(add_old)(2, &r, &old);
	BATTERY_EQ(old, 0);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_UAF, &r);

	V(set)(&r, HF_REFCOUNT_MAX);
	BATTERY_TRUE(V(inc_not_zero_old)(&r, &old));
	BATTERY_EQ(old, HF_REFCOUNT_MAX);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_NOT_ZERO_OVF, &r);

	V(set)(&r, 1);
	V(dec_old)(&r, &old);
	BATTERY_EQ(old, 1);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_DEC_LEAK, &r);

	V(set)(&r, 0);
	BATTERY_TRUE(!V(dec_and_test_old)(&r, &old));
	BATTERY_EQ(old, 0);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_SUB_UAF, &r);

	BATTERY_TRUE(!V(sub_and_test_old)(2, &r, &old));
	BATTERY_EQ(old, HF_REFCOUNT_SATURATED);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_SUB_UAF, &r);
}

static void CASE(acquire_misuse)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX);
	int32_t old = -1;

	BATTERY_TRUE(V(inc_not_zero_acquire)(&r));
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_NOT_ZERO_OVF, &r);

	V(set)(&r, HF_REFCOUNT_MAX - 1);
	BATTERY_TRUE(V(add_not_zero_acquire)(2, &r));
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_NOT_ZERO_OVF, &r);

	BATTERY_TRUE(V(add_not_zero_acquire_old)(2, &r, &old));
	BATTERY_EQ(old, HF_REFCOUNT_SATURATED);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_ADD_NOT_ZERO_OVF, &r);
}

static void CASE(dec_not_one_misuse)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(0);

	BATTERY_TRUE(V(dec_not_one)(&r));
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_REPORTED(HF_REPORT_SUB_UAF, &r);

	BATTERY_TRUE(V(dec_not_one)(&r));
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	battery_forget(); /* whether that is told again is not promised */
}

/* Whatever a race may leave for a moment: each verb brings any negative count back to saturated. */
static void CASE(any_negative)(void)
{
	static const int32_t counts[] = {
		INT32_MIN,
		INT32_MIN + 1,
		HF_REFCOUNT_SATURATED - 1,
		HF_REFCOUNT_SATURATED,
		HF_REFCOUNT_SATURATED + 1,
		-2,
		-1,
	};

	for (unsigned int i = 0; i < BATTERY_COUNT(counts); i++) {
		hf_refcount_t r = HF_REFCOUNT_INIT(0);

		V(set)(&r, counts[i]);
		V(inc)(&r);
		BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
		BATTERY_REPORTED(HF_REPORT_ADD_OVF, &r);

		V(set)(&r, counts[i]);
		V(add)(2, &r);
		BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
		BATTERY_REPORTED(HF_REPORT_ADD_OVF, &r);

		V(set)(&r, counts[i]);
		BATTERY_TRUE(V(inc_not_zero)(&r));
		BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
		BATTERY_REPORTED(HF_REPORT_ADD_NOT_ZERO_OVF, &r);

		V(set)(&r, counts[i]);
		V(dec)(&r);
		BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
		BATTERY_REPORTED(HF_REPORT_DEC_LEAK, &r);

		V(set)(&r, counts[i]);
		BATTERY_TRUE(!V(dec_and_test)(&r));
		BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
		BATTERY_REPORTED(HF_REPORT_SUB_UAF, &r);

		V(set)(&r, counts[i]);
		BATTERY_TRUE(!V(sub_and_test)(2, &r));
		BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
		BATTERY_REPORTED(HF_REPORT_SUB_UAF, &r);
	}
}

/* Misuse of one object leaves its neighbours alone. */
static void CASE(neighbours)(void)
{
	hf_refcount_t r[3] = { HF_REFCOUNT_INIT(1), HF_REFCOUNT_INIT(0), HF_REFCOUNT_INIT(1) };

	V(inc)(&r[1]);
	BATTERY_REPORTED(HF_REPORT_ADD_UAF, &r[1]);
	BATTERY_EQ(V(read)(&r[0]), 1);
	BATTERY_EQ(V(read)(&r[1]), HF_REFCOUNT_SATURATED);
	BATTERY_EQ(V(read)(&r[2]), 1);
}

#else /* !CHECKED */

/* ---- What a plain count does instead ------------------------------------------------------ */

static void CASE(wraps)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX);

	V(inc)(&r);
	BATTERY_EQ(V(read)(&r), INT32_MIN);
	V(dec)(&r);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_MAX);
	V(add)(3, &r);
	BATTERY_EQ(V(read)(&r), INT32_MIN + 2);
	V(set)(&r, HF_REFCOUNT_MAX);
	BATTERY_TRUE(V(inc_not_zero)(&r));
	BATTERY_EQ(V(read)(&r), INT32_MIN);
	V(set)(&r, HF_REFCOUNT_MAX);
	BATTERY_TRUE(V(add_not_zero)(3, &r));
	BATTERY_EQ(V(read)(&r), INT32_MIN + 2);
	BATTERY_QUIET();
}

/* 2^32 references later the count is 0 while all of them exist: what the others are for. */
static void CASE(wraps_to_dead)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);

	V(add)(HF_REFCOUNT_MAX, &r);
	V(add)(HF_REFCOUNT_MAX, &r);
	V(inc)(&r);
	BATTERY_EQ(V(read)(&r), 0);
	BATTERY_QUIET();
}

static void CASE(revives)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(0);

	V(inc)(&r);
	BATTERY_EQ(V(read)(&r), 1);
	V(set)(&r, 0);
	V(add)(3, &r);
	BATTERY_EQ(V(read)(&r), 3);
	BATTERY_QUIET();
}

static void CASE(goes_below_0)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);

	V(dec)(&r);
	BATTERY_EQ(V(read)(&r), 0);
	V(dec)(&r);
	BATTERY_EQ(V(read)(&r), -1);
	BATTERY_TRUE(!V(dec_and_test)(&r));
	BATTERY_EQ(V(read)(&r), -2);
	BATTERY_TRUE(!V(sub_and_test)(3, &r));
	BATTERY_EQ(V(read)(&r), -5);
	BATTERY_TRUE(V(dec_not_one)(&r));
	BATTERY_EQ(V(read)(&r), -6);
	BATTERY_QUIET();
}

static void CASE(saturated_is_a_count)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(0);

	V(set)(&r, HF_REFCOUNT_SATURATED);
	V(inc)(&r);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED + 1);
	V(dec)(&r);
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	BATTERY_TRUE(V(inc_not_zero)(&r));
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED + 1);
	BATTERY_TRUE(!V(dec_and_test)(&r));
	BATTERY_EQ(V(read)(&r), HF_REFCOUNT_SATURATED);
	V(add)(1 << 30, &r);
	BATTERY_EQ(V(read)(&r), 0);
	BATTERY_QUIET();
}

static void CASE(sub_and_test_of_0)(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(2);

	BATTERY_TRUE(!V(sub_and_test)(0, &r));
	BATTERY_EQ(V(read)(&r), 2);
	V(set)(&r, 0);
	BATTERY_TRUE(V(sub_and_test)(0, &r)); /* dead twice over */
	BATTERY_EQ(V(read)(&r), 0);
	BATTERY_QUIET();
}

#endif

static const struct battery_case CASE(cases)[] = {
	{ "SET_READ", CASE(set_read) },
	{ "INC_ADD", CASE(inc_add) },
	{ "INC_NOT_ZERO", CASE(inc_not_zero) },
	{ "ADD_NOT_ZERO", CASE(add_not_zero) },
	{ "DEC", CASE(dec) },
	{ "DEC_AND_TEST", CASE(dec_and_test) },
	{ "SUB_AND_TEST", CASE(sub_and_test) },
	{ "DEC_IF_ONE", CASE(dec_if_one) },
	{ "DEC_NOT_ONE", CASE(dec_not_one) },
#if CHECKED
	{ "SUB_AND_TEST_OF_0_IS_NEVER_TRUE", CASE(sub_and_test_of_0) },
	{ "INC_OVERFLOW", CASE(inc_overflow) },
	{ "ADD_OVERFLOW", CASE(add_overflow) },
	{ "INC_NOT_ZERO_OVERFLOW", CASE(inc_not_zero_overflow) },
	{ "ADD_NOT_ZERO_OVERFLOW", CASE(add_not_zero_overflow) },
	{ "DEC_ZERO", CASE(dec_zero) },
	{ "DEC_NEGATIVE", CASE(dec_negative) },
	{ "DEC_AND_TEST_NEGATIVE", CASE(dec_and_test_negative) },
	{ "SUB_AND_TEST_NEGATIVE", CASE(sub_and_test_negative) },
	{ "SUB_AND_TEST_ZERO", CASE(sub_and_test_zero) },
	{ "INC_ZERO", CASE(inc_zero) },
	{ "ADD_ZERO", CASE(add_zero) },
	{ "INC_SATURATED", CASE(inc_saturated) },
	{ "DEC_SATURATED", CASE(dec_saturated) },
	{ "ADD_SATURATED", CASE(add_saturated) },
	{ "INC_NOT_ZERO_SATURATED", CASE(inc_not_zero_saturated) },
	{ "ADD_NOT_ZERO_SATURATED", CASE(add_not_zero_saturated) },
	{ "DEC_AND_TEST_SATURATED", CASE(dec_and_test_saturated) },
	{ "SUB_AND_TEST_SATURATED", CASE(sub_and_test_saturated) },
	{ "OLD_MISUSE", CASE(old_misuse) },
	{ "ACQUIRE_MISUSE", CASE(acquire_misuse) },
	{ "DEC_NOT_ONE_MISUSE", CASE(dec_not_one_misuse) },
	{ "ANY_NEGATIVE_SATURATES", CASE(any_negative) },
	{ "NEIGHBOURS", CASE(neighbours) },
#else
	{ "OVERFLOW_WRAPS", CASE(wraps) },
	{ "OVERFLOW_WRAPS_TO_DEAD", CASE(wraps_to_dead) },
	{ "ZERO_REVIVES", CASE(revives) },
	{ "GOES_BELOW_0", CASE(goes_below_0) },
	{ "SATURATED_IS_A_COUNT", CASE(saturated_is_a_count) },
	{ "SUB_AND_TEST_OF_0_ON_0_IS_TRUE", CASE(sub_and_test_of_0) },
#endif
};

const struct battery_suite CASE(suite) = { SUITE, CASE(cases), BATTERY_COUNT(CASE(cases)) };

#undef V
#undef CASE
#undef SUITE
#undef CHECKED
