/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_SLOTS_VERBS_H
#define HF_TESTS_SLOTS_VERBS_H
/* verbs - what copies.cpp and its shared objects do with locks that are handed to them. */
#include <sched.h>

#include "holdfast/spinlock.h"

struct counted {
	hf_spinlock_queued_t queued;
	hf_spinlock_mcs_t mcs;
	unsigned long count;
};

struct verbs {
	void (*queued)(struct counted *c);
	void (*mcs)(struct counted *c);
	void (*mcs_lock)(struct counted *c);
	void (*mcs_unlock)(struct counted *c);
};

#ifdef __cplusplus
extern "C" {
#endif
extern const struct verbs slots_verbs __attribute__((visibility("default")));
#ifdef __cplusplus
}
#endif

#endif
