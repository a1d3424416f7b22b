// SPDX-License-Identifier: MIT
/*
 * spinlock_variants - exclusion and publication by each lock in lab/variants/spinlock except
 * `queued`, which is part of the product and has its own file.
 *
 * Checked, for each lock
 *   exclusion   2 and 3 threads change plain data under the lock, with each wait policy: no data
 *               race, no lost update; at the end the lock is free, preemption enabled, and all
 *               nodes released
 *   trylock     concurrent with lock, and with other trylocks; the first caller succeeds
 * mcs also with threads that have no node; the test counts the paths that its scenarios must reach.
 *
 * The release of the exchange in mcs's lock_anonymous has no mutant, because nothing depends on it:
 * the exchange continues the release sequence of the unlock that set the tail to 0, which follows
 * every use of the link in the lock; and a thread without a node has nothing of its own to publish.
 */
// MUTANT: cas_acquire_release HF_MUTANT=cmpxchg_seq_cst HF_MODEL_ONLY=cas
// MUTANT: cas_unlock HF_MUTANT=xchg_seq_cst HF_MODEL_ONLY=cas
// MUTANT: cas_torn HF_MUTANT=cmpxchg_torn HF_MUTANT_IN=hf_detail_spinlock_cas_trylock
// MUTANT: cas_release_acquire HF_MUTANT=cmpxchg_acquire HF_MODEL_ONLY=release
// MUTANT: cas_release_release HF_MUTANT=store_release HF_MODEL_ONLY=release
// MUTANT: cas_prefetch_acquire HF_MUTANT=cmpxchg_acquire HF_MODEL_ONLY=prefetch
// MUTANT: cas_prefetch_release HF_MUTANT=store_release HF_MODEL_ONLY=prefetch
// MUTANT: wfe_acquire HF_MUTANT=wait_zero_set_acquire HF_MODEL_ONLY=wfe
// MUTANT: wfe_try_acquire HF_MUTANT=cmpxchg_acquire HF_MODEL_ONLY=wfe
// MUTANT: wfe_release HF_MUTANT=store_release HF_MODEL_ONLY=wfe
// MUTANT: mcs_enqueue_acquire HF_MUTANT=xchg_acq_rel_loses_acquire HF_MODEL_ONLY=mcs
// MUTANT: mcs_enqueue_release HF_MUTANT=xchg_acq_rel_loses_release HF_MODEL_ONLY=mcs
// MUTANT: mcs_wait_acquire HF_MUTANT=load_acquire HF_MUTANT_IN=hf_detail_spinlock_mcs_lock HF_MODEL_ONLY=mcs
// MUTANT: mcs_link_release HF_MUTANT=store_release HF_MUTANT_IN=hf_detail_spinlock_mcs_lock HF_MODEL_ONLY=mcs
// MUTANT: mcs_link_acquire HF_MUTANT=load_acquire HF_MUTANT_IN=hf_spinlock_mcs_unlock HF_MODEL_ONLY=mcs
// MUTANT: mcs_late_link_acquire HF_MUTANT=load_acquire HF_MUTANT_IN=hf_detail_spinlock_mcs_unlock_slow HF_MODEL_ONLY=mcs
// MUTANT: mcs_pass_on_release HF_MUTANT=store_release HF_MUTANT_IN=hf_detail_spinlock_mcs_hand_off HF_MODEL_ONLY=mcs
// MUTANT: mcs_empty_release HF_MUTANT=cmpxchg_release HF_MODEL_ONLY=mcs
// MUTANT: mcs_anonymous_acquire HF_MUTANT=cmpxchg_acq_rel_loses_acquire HF_MUTANT_IN=hf_detail_spinlock_mcs_lock_anonymous HF_MODEL_ONLY="mcs queue: 2"
// MUTANT: mcs_anonymous_reset HF_MUTANT=store_relaxed_missing HF_MUTANT_IN=hf_detail_spinlock_mcs_hand_off HF_MODEL_ONLY="mcs queue: 2"
// MUTANT: mcs_try_acquire HF_MUTANT=cmpxchg_acq_rel_loses_acquire HF_MUTANT_IN=hf_detail_spinlock_mcs_trylock HF_MODEL_ONLY=mcs
// MUTANT: mcs_try_release HF_MUTANT=cmpxchg_acq_rel_loses_release HF_MUTANT_IN=hf_detail_spinlock_mcs_trylock HF_MODEL_ONLY=mcs
#include "locks.h"

#include "variants/spinlock/cas.h"
#include "variants/spinlock/cas_prefetch.h"
#include "variants/spinlock/cas_release.h"
#include "variants/spinlock/mcs.h"
#include "variants/spinlock/wfe.h"

using hf_model::exclusion;
using hf_model::exclusion_by;
using hf_model::tries;

LOCK(cas, cas, );
LOCK(cas_release, cas_release, );
LOCK(cas_prefetch, cas_prefetch, );
LOCK(wfe, wfe, );
LOCK(mcs, mcs, );

template <typename L>
void all(hf_model::run *run, const char *name)
{
	hf_model::every<L>(run, name);
	run->search<exclusion_by<L, HF_WAIT_MONITOR>, 3>(name, 2);
	run->search<exclusion_by<L, HF_WAIT_BACKOFF>, 2>(name, 4);
}

/* ---- mcs: paths reached, and threads without a node --------------------------------------- */

static unsigned long passed_on, link_late, behind_anonymous, anonymous_waits, anonymous_tries;

/* Nodeless: bit mask of the threads that have no node. */
template <typename Base, unsigned int Nodeless>
struct mcs_watched : Base {
	mcs_watched()
	{
		for (unsigned int i = 0; i < HF_MODEL_THREADS; i++)
			threads[i].nodes = Nodeless & 1u << i ? 0 : 1;
	}
	void changed(const void *object, uint64_t, uint64_t after, const where &at)
	{
		if (object == &this->lock_.anonymous_next)
			behind_anonymous += after != 0;
		else if (object != &this->lock_.tail && object != &this->lock_.owner &&
			 strcmp(at.func_, "hf_detail_spinlock_mcs_hand_off") == 0)
			passed_on++;
		else if (object == &this->lock_.tail && after == HF_DETAIL_MCS_ANONYMOUS &&
			 strcmp(at.func_, "hf_detail_spinlock_mcs_trylock") == 0)
			anonymous_tries++;
	}
	void refused(const void *object, const where &at)
	{
		if (object != &this->lock_.tail)
			return;
		if (strcmp(at.func_, "hf_spinlock_mcs_unlock") == 0)
			link_late++;
		if (strcmp(at.func_, "hf_detail_spinlock_mcs_lock_anonymous") == 0)
			anonymous_waits++;
	}
};

static void mcs_queue(hf_model::run *run, const char *name)
{
	run->search<mcs_watched<exclusion<mcs, 2>, 0>, 2>(name, 3);
	run->search<mcs_watched<exclusion<mcs>, 0>, 3>(name, 2);
	run->search<mcs_watched<exclusion<mcs, 2>, 1>, 2>(name, 4);
	run->search<mcs_watched<exclusion<mcs>, 3>, 3>(name, 3);
	run->search<mcs_watched<exclusion<mcs, 2>, 7>, 3>(name, 2);
	run->search<mcs_watched<tries<mcs>, 2>, 3>(name, 2);
	run->random<mcs_watched<exclusion<mcs, 2>, 0>, 4>(name, 50000);
	run->random<mcs_watched<exclusion<mcs, 2>, 1>, 4>(name, 50000);
	run->random<mcs_watched<exclusion<mcs, 2>, 3>, 4>(name, 50000);
}

int main(int argc, char **argv)
{
	hf_model::run run("spinlock_variants", argc, argv);

	all<cas>(&run, "cas");
	all<cas_release>(&run, "release");
	all<cas_prefetch>(&run, "prefetch");
	all<wfe>(&run, "wfe");
	all<mcs>(&run, "mcs");
	mcs_queue(&run, "mcs queue");
	run.must_reach("mcs: the lock is passed to the next node", passed_on);
	run.must_reach("mcs: the next one links itself late", link_late);
	run.must_reach("mcs: a node waits behind an anonymous holder", behind_anonymous);
	run.must_reach("mcs: an anonymous one waits", anonymous_waits);
	run.must_reach("mcs: trylock without a node", anonymous_tries);
	return run.end();
}
