/* SPDX-License-Identifier: MIT */
#ifndef ROSTER_LOCKREF_OPS_H
#define ROSTER_LOCKREF_OPS_H
/*
 * lockref_ops - a table with a row of operations for each lockref of the roster, and "default".
 *
 * For tests that are written once and run on every lockref: the verbs that differ. Plain C without
 * a C library. Verbs are called through pointers here, so nothing is inlined: whoever needs that
 * expands the roster.
 */
#include "holdfast/lockref.h"

struct lockref_ops {
	const char *name;
	/* As its row has it. If not, every verb waits for the lock, so the holder may call none. */
	bool swaps;

	void (*get)(hf_lockref_t *l);
	bool (*get_not_zero)(hf_lockref_t *l);
	bool (*get_not_dead)(hf_lockref_t *l);
	int32_t (*put_return)(hf_lockref_t *l);
	bool (*put_or_lock)(hf_lockref_t *l);
};

#define LOCKREF_OPS_ROW(row, prefix)                                                               \
	{                                                                                          \
		.name = #row,                                                                      \
		.swaps = LOCKREF_SWAPS_##row,                                                      \
		.get = prefix##get,                                                                \
		.get_not_zero = prefix##get_not_zero,                                              \
		.get_not_dead = prefix##get_not_dead,                                              \
		.put_return = prefix##put_return,                                                  \
		.put_or_lock = prefix##put_or_lock,                                                \
	},

/* The default has a row, and swaps if that does. */
enum {
#define X(name, does_swap) LOCKREF_SWAPS_##name = (does_swap),
	HF_LOCKREF_ROSTER(X)
#undef X
		LOCKREF_SWAPS_default = HF_DETAIL_PASTE(LOCKREF_SWAPS_, HF_LOCKREF_DEFAULT)
};

static const struct lockref_ops lockref_ops[] = {
#define X(name, does_swap) LOCKREF_OPS_ROW(name, hf_lockref_##name##_)
	HF_LOCKREF_ROSTER(X)
#undef X
		LOCKREF_OPS_ROW(default, hf_lockref_)
};

#endif
