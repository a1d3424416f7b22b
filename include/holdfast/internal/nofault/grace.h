/* SPDX-License-Identifier: MIT */
#ifndef HF_NOFAULT_GRACE_H
#define HF_NOFAULT_GRACE_H
#pragma GCC system_header
/*
 * grace - when has everyone left who was inside?
 *
 * Use when / not when
 *   For the signal handler (src/nofault/signals.c), before what it reads is changed and before its
 *   code is unloaded: handlers can't register, wait or allocate. A reader must leave: not for code
 *   that may be cancelled or left by a jump (nofault/latch.h is). Elsewhere liburcu is the better
 *   choice.
 *
 * State
 *   `parity` is the counter, of two, that a reader uses which comes now; a counter is the number of
 *   readers that are inside with it. A writer publishes a new table, and then does twice:
 *
 *        parity = 1 - parity;  wait until the counter of the old parity is 0
 *
 * Invariants
 *   G1  A reader takes the table after it has counted itself.
 *   G2  When the writer has waited for both counters, every reader that took the old table has
 *       left. Take a reader that took it: it counted itself before the writer's last look at its
 *       counter, since else (seq. cst.: the writer's publication comes before that look, and the
 *       reader's count before its load of the table) it would have found the new table. So the
 *       writer saw it, and waited. Two rounds, and not one, since a reader may have read `parity`
 *       before a writer came by and count itself long after: in either counter.
 *   G3  No writer waits for ever: in each round new readers go to the other counter, but for the
 *       ones of G2's last sentence, and those are at most one for each thread.
 *
 * Ordering
 *   enter  sequentially consistent; leave  release; wait  sequentially consistent
 *
 * Source  McKenney, "Sleepable RCU" (LWN 202847, 2006): the two counters and the two rounds
 */
#include "../atomic.h"
#include "../env.h"

/* Who is inside, by parity. All bytes 0 at the start. */
struct hf_grace {
	hf_atomic32_t parity; /* 0 or 1 */
	hf_atomic32_t inside[2];
};

/**
 * hf_grace_enter - before taking the table
 * @grace: who is inside
 *
 * Context:  any thread, async-signal-safe
 * Ordering: sequentially consistent
 * Return:   what leave needs
 */
HF_INLINE uint32_t hf_grace_enter(struct hf_grace *grace)
{
	uint32_t parity = hf_atomic32_load_seq_cst(&grace->parity);

	(void)hf_atomic32_fetch_add_seq_cst(&grace->inside[parity], 1); /* G1 */
	return parity;
}

/**
 * hf_grace_leave - after the last use of it
 * @grace:  who is inside
 * @parity: what hf_grace_enter() returned
 *
 * Context:  as hf_grace_enter()
 * Ordering: release
 */
HF_INLINE void hf_grace_leave(struct hf_grace *grace, uint32_t parity)
{
	(void)hf_atomic32_fetch_sub_release(&grace->inside[parity], 1);
}

/* Those who are inside may need this processor to leave. */
HF_INLINE void hf_detail_grace_relax(void)
{
	hf_arch_relax();
#if HF_ENV_HAS_PARK
	hf_env_yield();
#endif
}

/**
 * hf_grace_wait - after publishing the new table (seq. cst.): until the old one has no users
 * @grace: who is inside
 *
 * Context:  one thread at a time; not inside. G2
 * Ordering: sequentially consistent
 */
HF_INLINE void hf_grace_wait(struct hf_grace *grace)
{
	for (int round = 0; round < 2; round++) {
		uint32_t old = hf_atomic32_load_relaxed(&grace->parity);

		(void)hf_atomic32_xchg_seq_cst(&grace->parity, 1 - old);
		while (hf_atomic32_load_seq_cst(&grace->inside[old]))
			hf_detail_grace_relax();
	}
}

#endif
