/* SPDX-License-Identifier: MIT */
/* verbs - a part of the program, and of each shared object: each with its copy of the library. */
#include "verbs.h"

static void queued(struct counted *c)
{
	hf_spinlock_queued_lock(&c->queued);
	c->count++;
	if (c->count % 8 == 0)
		sched_yield(); /* so that others queue */
	hf_spinlock_queued_unlock(&c->queued);
}

static void mcs(struct counted *c)
{
	hf_spinlock_mcs_lock(&c->mcs);
	c->count++;
	if (c->count % 8 == 0)
		sched_yield();
	hf_spinlock_mcs_unlock(&c->mcs);
}

/* The lock is held from the one to the other. */
static void mcs_lock(struct counted *c) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf_spinlock_mcs_lock(&c->mcs);
}

static void mcs_unlock(struct counted *c) HF_NO_THREAD_SAFETY_ANALYSIS
{
	hf_spinlock_mcs_unlock(&c->mcs);
}

const struct verbs slots_verbs = { queued, mcs, mcs_lock, mcs_unlock };
