/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_LOCKREF_LOOPS_H
#define HF_LAB_LOCKREF_LOOPS_H
/*
 * lockref_loops - what lockref_loops.c gives for one choice of constants, and what it needs; for
 * the tables `lockref` and `holder`.
 */
#include <stdint.h>

#include "lockref_stats.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LAB_LOCKREF_BATCH = 64 }; /* pairs for each reference that is left behind */

/* One object for all threads, in a line of its own. */
struct lab_lockref {
	char ref[64] __attribute__((aligned(128))); /* with room for what a peer has */
	struct lab_lockref_counts *counts; /* one a thread; only the counted loops write there */
	int failed;                        /* a put found the last reference */
};

struct lab_lockref_counts {
	struct lockref_stats stats __attribute__((aligned(128)));
};

struct lab_lockref_loops {
	const char *name, *kind; /* of the row */
	const char *base, *wait; /* of a sweep: the row without it, and the policy; else NULL */
	void (*init)(void *ref); /* one reference */
	int32_t (*read)(const void *ref);
	void (*lock)(void *ref);
	void (*unlock)(void *ref);
	/* Get and put until *stop; returns the pairs. @state is a struct lab_lockref. */
	uint64_t (*pairs)(void *state, int thread, const int *stop);
};

#ifdef __cplusplus
}
#endif

#endif
