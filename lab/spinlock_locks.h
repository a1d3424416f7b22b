/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_SPINLOCK_LOCKS_H
#define HF_LAB_SPINLOCK_LOCKS_H
/*
 * spinlock_locks - what the spinlock table knows of a lock: a name and its loops.
 *
 * The loops are in spinlock_loops.h, which is included once for each lock, in C (spinlock_locks.c)
 * or in C++ (spinlock_locks_cxx.cpp), so that every lock is inlined as its users get it.
 */
#include <stdint.h>

/* A lock and what it protects share a line, and nobody else's. */
struct lab_spin {
	char lock[48];
	uint64_t counter;  /* the section: one increment */
	uint64_t handoffs; /* acquisitions by another thread than the one before */
} __attribute__((aligned(128)));

/* What a thread of the split loop found, in ticks of hf_arch_timestamp(). */
struct lab_split {
	uint64_t rounds, lock_ticks, empty_ticks, unlock_ticks;
} __attribute__((aligned(128)));

/* Locks that the split loop takes between two timestamps, where nobody competes for them. */
#define LAB_BULK 8

struct lab_spin_state {
	struct lab_spin *spin;   /* bulk of them */
	int bulk;                /* 1 to LAB_BULK */
	struct lab_split *split; /* one a thread */
};

struct lab_lock {
	const char *name;
	const char *kind; /* ours, default, sweep, peer */
	const char *is;   /* default: which it is; sweep: which it sweeps; else NULL */
	const char *wait; /* sweep: the policy; else NULL */
	void (*init)(void *lock);
	uint64_t (*alone)(void *state, int thread, const int *stop);
	uint64_t (*contended)(void *state, int thread, const int *stop);
	uint64_t (*split)(void *state, int thread, const int *stop);
};

#ifdef __cplusplus
extern "C" {
#endif

/* Ended by a lock without a name. */
extern const struct lab_lock lab_locks_c[];
extern const struct lab_lock lab_locks_cxx[];

#ifdef __cplusplus
}
#endif

#endif
