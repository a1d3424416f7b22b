// SPDX-License-Identifier: MIT
/*
 * spinlock - exclusion and publication by hf_spinlock_t as built for platforms where threads can
 * park, and by hf_spinlock_ticket_t. spinlock_queued.cpp tests the queued form of hf_spinlock_t.
 *
 * Checked, for each lock
 *   exclusion   2 and 3 threads change plain data under the lock, with each wait policy: no data
 *               race, no lost update; at the end the lock is free and preemption enabled
 *   trylock     concurrent with lock, and with other trylocks; the first caller succeeds
 *   full        lock_full and unlock_full are full barriers (locks.h)
 */
// MUTANT: monitor_acquire HF_MUTANT=wait_zero_set_acquire HF_MODEL_ONLY=monitor
// MUTANT: try_acquire HF_MUTANT=cmpxchg_acquire HF_MODEL_ONLY=hint
// MUTANT: release HF_MUTANT=store_release HF_MODEL_ONLY=hint
// MUTANT: torn HF_MUTANT=cmpxchg_torn HF_MUTANT_IN=hf_detail_spinlock_trylock
// MUTANT: ticket_acquire HF_MUTANT=load_acquire HF_MUTANT_IN=hf_detail_spinlock_ticket_lock HF_MODEL_ONLY=ticket
// MUTANT: ticket_wait_acquire HF_MUTANT=wait_change_acquire HF_MODEL_ONLY="ticket: 3"
// MUTANT: ticket_try_acquire HF_MUTANT=load_acquire HF_MUTANT_IN=hf_spinlock_ticket_trylock HF_MODEL_ONLY=ticket
// MUTANT: ticket_release HF_MUTANT=store_release HF_MODEL_ONLY=ticket
// MUTANT: ticket_torn HF_MUTANT=fetch_torn HF_MODEL_ONLY=ticket
// MUTANT: lock_full_before HF_MUTANT=fence_before_rmw HF_MODEL_ONLY=hint
// MUTANT: lock_full_after HF_MUTANT=fence_after_rmw HF_MODEL_ONLY=hint
// MUTANT: unlock_full HF_MUTANT=fence_seq_cst HF_MODEL_ONLY=hint
#include "locks.h"

#include "holdfast/spinlock_ticket.h"

/* The lock as built for a processor that can monitor a word, and for one that can't. */
#undef HF_ARCH_WAIT_FREE_LOCK
#define HF_ARCH_WAIT_FREE_LOCK HF_WAIT_MONITOR
namespace monitor
{
#include "holdfast/spinlock.h"
}

#undef HF_SPINLOCK_H
#undef HF_ARCH_WAIT_FREE_LOCK
#define HF_ARCH_WAIT_FREE_LOCK HF_WAIT_HINT
namespace hint
{
#include "holdfast/spinlock.h"
}

using hf_model::exclusion_by;

SPINLOCK(lock_monitor, monitor);
SPINLOCK(lock_hint, hint);
LOCK(ticket, ticket, );

int main(int argc, char **argv)
{
	hf_model::run run("spinlock", argc, argv);

	hf_model::every<lock_monitor>(&run, "monitor");
	hf_model::every<lock_hint>(&run, "hint");
	hf_model::full_barrier<lock_hint>(&run, "hint");
	hf_model::every<ticket>(&run, "ticket");
	run.search<exclusion_by<ticket, HF_WAIT_MONITOR>, 3>("ticket", 2);
	run.search<exclusion_by<ticket, HF_WAIT_BACKOFF>, 2>("ticket", 4);
	return run.end();
}
