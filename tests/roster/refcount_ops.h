/* SPDX-License-Identifier: MIT */
#ifndef ROSTER_REFCOUNT_OPS_H
#define ROSTER_REFCOUNT_OPS_H
/*
 * refcount_ops - a table with a row of operations for each refcount of the roster, and "default".
 *
 * For tests that are written once and run on every refcount. Plain C without a C library. Verbs are
 * called through pointers here, so nothing is inlined: whoever needs that expands the roster.
 */
#include "holdfast/refcount.h"

struct refcount_ops {
	const char *name;
	bool checked; /* as its row has it: misuse is reported, and the count saturates */

	void (*set)(hf_refcount_t *r, int32_t n);
	void (*set_release)(hf_refcount_t *r, int32_t n);
	int32_t (*read)(const hf_refcount_t *r);
	void (*inc)(hf_refcount_t *r);
	void (*inc_old)(hf_refcount_t *r, int32_t *old);
	void (*add)(int32_t i, hf_refcount_t *r);
	void (*add_old)(int32_t i, hf_refcount_t *r, int32_t *old);
	bool (*inc_not_zero)(hf_refcount_t *r);
	bool (*inc_not_zero_old)(hf_refcount_t *r, int32_t *old);
	bool (*inc_not_zero_acquire)(hf_refcount_t *r);
	bool (*inc_not_zero_acquire_old)(hf_refcount_t *r, int32_t *old);
	bool (*add_not_zero)(int32_t i, hf_refcount_t *r);
	bool (*add_not_zero_old)(int32_t i, hf_refcount_t *r, int32_t *old);
	bool (*add_not_zero_acquire)(int32_t i, hf_refcount_t *r);
	bool (*add_not_zero_acquire_old)(int32_t i, hf_refcount_t *r, int32_t *old);
	bool (*dec_and_test)(hf_refcount_t *r);
	bool (*dec_and_test_old)(hf_refcount_t *r, int32_t *old);
	bool (*sub_and_test)(int32_t i, hf_refcount_t *r);
	bool (*sub_and_test_old)(int32_t i, hf_refcount_t *r, int32_t *old);
	void (*dec)(hf_refcount_t *r);
	void (*dec_old)(hf_refcount_t *r, int32_t *old);
	bool (*dec_if_one)(hf_refcount_t *r);
	bool (*dec_not_one)(hf_refcount_t *r);
};

#define REFCOUNT_OPS_ROW(row, prefix)                                                              \
	{                                                                                          \
		.name = #row,                                                                      \
		.checked = REFCOUNT_CHECKED_##row,                                                 \
		.set = prefix##set,                                                                \
		.set_release = prefix##set_release,                                                \
		.read = prefix##read,                                                              \
		.inc = prefix##inc,                                                                \
		.inc_old = prefix##inc_old,                                                        \
		.add = prefix##add,                                                                \
		.add_old = prefix##add_old,                                                        \
		.inc_not_zero = prefix##inc_not_zero,                                              \
		.inc_not_zero_old = prefix##inc_not_zero_old,                                      \
		.inc_not_zero_acquire = prefix##inc_not_zero_acquire,                              \
		.inc_not_zero_acquire_old = prefix##inc_not_zero_acquire_old,                      \
		.add_not_zero = prefix##add_not_zero,                                              \
		.add_not_zero_old = prefix##add_not_zero_old,                                      \
		.add_not_zero_acquire = prefix##add_not_zero_acquire,                              \
		.add_not_zero_acquire_old = prefix##add_not_zero_acquire_old,                      \
		.dec_and_test = prefix##dec_and_test,                                              \
		.dec_and_test_old = prefix##dec_and_test_old,                                      \
		.sub_and_test = prefix##sub_and_test,                                              \
		.sub_and_test_old = prefix##sub_and_test_old,                                      \
		.dec = prefix##dec,                                                                \
		.dec_old = prefix##dec_old,                                                        \
		.dec_if_one = prefix##dec_if_one,                                                  \
		.dec_not_one = prefix##dec_not_one,                                                \
	},

/* The default has a row, and is checked if that is. */
enum {
#define X(name, is_checked) REFCOUNT_CHECKED_##name = (is_checked),
	HF_REFCOUNT_ROSTER(X)
#undef X
		REFCOUNT_CHECKED_default = HF_DETAIL_PASTE(REFCOUNT_CHECKED_, HF_REFCOUNT_DEFAULT)
};

static const struct refcount_ops refcount_ops[] = {
#define X(name, is_checked) REFCOUNT_OPS_ROW(name, hf_refcount_##name##_)
	HF_REFCOUNT_ROSTER(X)
#undef X
		REFCOUNT_OPS_ROW(default, hf_refcount_)
};

#endif
