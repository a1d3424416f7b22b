/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_HANDOFF_H
#define HF_LAB_HANDOFF_H
/* handoff - what handoff_loops.c defines for one body of the wait loop: a loop for each lock. */
#include <stdint.h>

/* The counts of a thread, in their own cache line. */
struct lab_handoff_found {
	uint64_t handoffs; /* the lock came from another thread */
	uint64_t waiters;  /* a waiter was queued when the lock was released */
} __attribute__((aligned(128)));

struct lab_handoff {
	char lock[16] __attribute__((aligned(128)));
	uint64_t counter;
	struct lab_handoff_found *found; /* one for each thread */
};

struct lab_handoff_loops {
	const char *wait;
	uint64_t (*ticket)(void *state, int thread, const int *stop);
	uint64_t (*mcs)(void *state, int thread, const int *stop);
};

#endif
