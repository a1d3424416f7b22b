// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * timing - the kernel's own two timings of a refcount, at a smaller count: up to COUNT - 1 by inc, and
 * down to 0 by dec_and_test. Ours and the kernel's, as ratios to a plain atomic. Printed, not judged.
 */
#include <linux/atomic.h>
#include <linux/ktime.h>
#include <linux/refcount.h>
#include <linux/sched.h>

#include "holdfast/refcount.h"

#include "test.h"

#define COUNT (1 << 21)
#define ROUNDS 5

static u64 best[2][6];

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

TIMED(0, atomic, atomic_t, atomic_set, atomic_inc, atomic_dec_and_test)
TIMED(1, kernel, refcount_t, refcount_set, refcount_inc, refcount_dec_and_test)
TIMED(2, default, hf_refcount_t, hf_refcount_set, hf_refcount_inc, hf_refcount_dec_and_test)
TIMED(3, cmpxchg, hf_refcount_t, hf_refcount_set, hf_refcount_cmpxchg_inc,
      hf_refcount_cmpxchg_dec_and_test)
TIMED(4, saturating, hf_refcount_t, hf_refcount_set, hf_refcount_saturating_inc,
      hf_refcount_saturating_dec_and_test)
TIMED(5, asm, hf_refcount_t, hf_refcount_set, hf_refcount_asm_inc, hf_refcount_asm_dec_and_test)

static const struct {
	const char *name;
	bool (*run)(void);
} timed[] = {
	{ "atomic_t", time_atomic },       { "refcount_t", time_kernel },
	{ "hf_refcount_t", time_default }, { "cmpxchg", time_cmpxchg },
	{ "saturating", time_saturating }, { "asm", time_asm },
};

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
	test_case(right, "timing.counts", "each count went to 0 with its last decrement");
}
