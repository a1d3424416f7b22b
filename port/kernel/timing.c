// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * timing - LKDTM's two timings of a refcount, with a smaller count: up to COUNT by inc, and down to
 * 0 by dec_and_test. Prints the kernel's and Holdfast's times as ratios to a plain atomic; only the
 * counts are judged.
 */
#include <linux/atomic.h>
#include <linux/ktime.h>
#include <linux/refcount.h>
#include <linux/sched.h>

#include "holdfast/refcount.h"

#include "test.h"

#define COUNT (1 << 21)
#define ROUNDS 5

/* The rows; atomic_t is the baseline. */
enum { ATOMIC, KERNEL, HOLDFAST, ROWS };

static u64 best[2][ROWS];

#define TIMED(which, name, type, set, inc, dec_and_test)                                           \
	static noinline bool time_##name(void)                                                     \
	{                                                                                          \
		static type r;                                                                     \
		bool early = false, last = false;                                                  \
		u64 start = ktime_get_ns(), middle, end;                                           \
                                                                                                   \
		set(&r, 1);                                                                        \
		for (int i = 1; i < COUNT; i++)                                                    \
			inc(&r);                                                                   \
		middle = ktime_get_ns();                                                           \
		for (int i = 1; i < COUNT; i++)                                                    \
			early |= dec_and_test(&r);                                                 \
		last = dec_and_test(&r);                                                           \
		end = ktime_get_ns();                                                              \
		best[0][which] = min(best[0][which], middle - start);                              \
		best[1][which] = min(best[1][which], end - middle);                                \
		cond_resched();                                                                    \
		return last && !early;                                                             \
	}

TIMED(ATOMIC, atomic, atomic_t, atomic_set, atomic_inc, atomic_dec_and_test)
TIMED(KERNEL, kernel, refcount_t, refcount_set, refcount_inc, refcount_dec_and_test)
TIMED(HOLDFAST, holdfast, hf_refcount_t, hf_refcount_set, hf_refcount_inc, hf_refcount_dec_and_test)

static const struct {
	const char *name;
	bool (*run)(void);
} timed[ROWS] = { [ATOMIC] = { "atomic_t", time_atomic },
		  [KERNEL] = { "refcount_t", time_kernel },
		  [HOLDFAST] = { "hf_refcount_t", time_holdfast } };

void timing_test(void)
{
	bool right = true;

	memset(best, 0xff, sizeof(best));
	for (int round = 0; round < ROUNDS; round++) {
		for (unsigned int i = 0; i < ARRAY_SIZE(timed); i++)
			right = timed[i].run() && right;
	}
	test_say("timing, EMULATED (%d inc, then %d dec_and_test; ratio to atomic_t):", COUNT - 1,
		 COUNT);
	for (unsigned int i = 0; i < ARRAY_SIZE(timed); i++) {
		u64 inc = best[0][i] * 100 / best[0][0], dec = best[1][i] * 100 / best[1][0];

		test_say("timing %-14s inc %llu.%02llu dec_and_test %llu.%02llu", timed[i].name,
			 inc / 100, inc % 100, dec / 100, dec % 100);
	}
	test_case(right, "timing.counts", "each count reached 0 at its last decrement");
}
