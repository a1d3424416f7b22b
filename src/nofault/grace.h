/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_NOFAULT_GRACE_H
#define HF_SRC_NOFAULT_GRACE_H
/*
 * grace - wait until all readers that were inside have left.
 *
 * For signal handlers (handler.c, src/region), which can't register, wait or allocate: before data
 * that they read is changed or freed, and before their code is unloaded. Readers must leave: not
 * for code that may be cancelled or left by a jump (sites.c H2).
 *
 * Each of two counters is the number of readers inside that entered with it; `parity` selects the
 * one for new readers. A writer publishes a new table, and then does twice:
 *
 *      parity = 1 - parity;  wait until the counter of the old parity is 0
 *
 * Invariants
 *   GP1  A reader loads the table after it has incremented its counter.
 *   GP2  When the writer has waited for both counters, every reader of the old table has left. Such
 *       a reader incremented its counter before the writer's last load of it: otherwise (seq. cst.:
 *       the publication precedes that load, and the increment precedes the load of the table) it
 *       would have found the new table. So the writer saw it, and waited. Two rounds are needed
 *       because a reader may load `parity` and be delayed before it increments either counter.
 *   GP3  No writer waits for ever: in each round new readers use the other counter, except for the
 *       delayed ones of GP2, at most one for each thread. A reader may need the writer's processor
 *       to leave, and a writer of a real-time class would keep it from readers of lower priority:
 *       so the writer sleeps (hf_detail_env_pause()). Readers do not wake it: that would be a
 *       system call in each handler.
 *
 * Source  McKenney, "Sleepable RCU" (LWN 202847, 2006): the two counters and the two rounds
 */
#include "../env/env.h"
#include "holdfast/internal/atomic.h"

/* Zero-initialised. */
struct hf_grace {
	hf_atomic32_t parity;    /* 0 or 1 */
	hf_atomic32_t inside[2]; /* the readers, by parity */
};

/* Before loading the table. Sequentially consistent. */
HF_INLINE uint32_t hf_grace_enter(struct hf_grace *grace)
{
	uint32_t parity = hf_atomic32_load_seq_cst(&grace->parity);

	(void)hf_atomic32_fetch_add_seq_cst(&grace->inside[parity], 1); /* GP1 */
	return parity;
}

/* After its last use. Release. */
HF_INLINE void hf_grace_leave(struct hf_grace *grace, uint32_t parity)
{
	(void)hf_atomic32_fetch_sub_release(&grace->inside[parity], 1);
}

/*
 * After publishing a new table (seq. cst.), wait until the old one has no readers: GP2. One thread
 * at a time, and not inside. Sequentially consistent.
 */
HF_INLINE void hf_grace_wait(struct hf_grace *grace)
{
	for (int round = 0; round < 2; round++) {
		uint32_t old = hf_atomic32_load_relaxed(&grace->parity);

		(void)hf_atomic32_xchg_seq_cst(&grace->parity, 1 - old);
		for (uint32_t n = 0; hf_atomic32_load_seq_cst(&grace->inside[old]); n++)
			hf_detail_env_pause(n); /* GP3 */
	}
}

#endif
