/* SPDX-License-Identifier: MIT */
/*
 * handoff_loops - ticket and mcs, contended, with a wait loop whose body the build defines.
 *
 * Compiled once for each body (lab/CMakeLists.txt, sweep_arch.h). Only these two locks are
 * measured, because the loop reads the lock's queue to count the releases that find a waiter.
 */
#include "handoff.h"

#include "holdfast/spinlock_ticket.h"
#include "variants/spinlock/mcs.h"

/* True if a waiter is queued; only the holder may call it. */
static int ticket_has_waiter(hf_spinlock_ticket_t *lock)
{
	return hf_atomic32_load_relaxed(&lock->next) !=
	       hf_atomic32_load_relaxed(&lock->serving) + 1;
}

static int mcs_has_waiter(hf_spinlock_mcs_t *lock)
{
	uint32_t owner = hf_atomic32_load_relaxed(&lock->owner);

	return hf_atomic32_load_relaxed(hf_detail_spinlock_mcs_next(lock, owner)) != 0;
}

#define LOOP(name)                                                                                 \
	static uint64_t name##_loop(void *argument, int thread, const int *stop)                   \
	{                                                                                          \
		struct lab_handoff *s = (struct lab_handoff *)argument;                            \
		hf_spinlock_##name##_t *lock = (hf_spinlock_##name##_t *)(void *)s->lock;          \
		struct lab_handoff_found *found = &s->found[thread];                               \
		uint64_t mine = 0, ops = 0;                                                        \
                                                                                                   \
		while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {                                 \
			hf_spinlock_##name##_lock(lock);                                           \
			found->handoffs += s->counter != mine;                                     \
			mine = ++s->counter;                                                       \
			found->waiters += (uint64_t)name##_has_waiter(lock);                       \
			hf_spinlock_##name##_unlock(lock);                                         \
			ops++;                                                                     \
		}                                                                                  \
		return ops;                                                                        \
	}

LOOP(ticket)
LOOP(mcs)

const struct lab_handoff_loops LAB_SYMBOL = { LAB_NAME, ticket_loop, mcs_loop };
