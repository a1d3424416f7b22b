/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_LOCKREF_LOOPS_H
#define HF_LAB_LOCKREF_LOOPS_H
/*
 * lockref_loops - what lockref_loops.c defines for one row of the tables `lockref` and `holder`,
 * and the object that its loops work on.
 */
#include <stdint.h>

#include "lockref_stats.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LAB_LOCKREF_BATCH = 64 }; /* pairs for each reference that is left behind */

/* One object for all threads, in its own cache line. */
struct lab_lockref {
	char ref[64] __attribute__((aligned(128))); /* large enough for a peer's object */
	struct lab_lockref_counts *counts; /* one for each thread, for the loops that count */
	int failed;                        /* a put found the last reference */
};

struct lab_lockref_counts {
	struct lockref_stats stats __attribute__((aligned(128)));
};

struct lab_lockref_loops {
	const char *name, *kind; /* of the row */
	const char *base, *wait; /* of a sweep: the row that it varies, and the policy; else NULL */
	void (*init)(void *ref); /* initialises the count to 1 */
	int32_t (*read)(const void *ref);
	void (*lock)(void *ref);
	void (*unlock)(void *ref);
	/* Gets and puts until *stop; returns the number of pairs. @state: a struct lab_lockref. */
	uint64_t (*pairs)(void *state, int thread, const int *stop);
};

#ifdef __cplusplus
}
#endif

#endif
