// SPDX-License-Identifier: MIT
/*
 * spinlock_queued - the queued form of hf_spinlock_t, for kernels and bare metal: exclusion, and
 * each transition of the lock word.
 *
 * Checked, with both forms of the fast path (word and byte cmpxchg), with 0, 1 and 2 passes
 *   what spinlock.cpp checks of the others; and, in queued_watch.h, every change of the word,
 *   counting how often each of T1 to T8 was reached. A transition that is expected and never
 *   reached fails the test. Threads without a node are included.
 *
 * The release store and acquire load of a node's `wait` have no mutant, because removing either
 * breaks nothing: T5 and T6 already order everything that the new head does.
 */
// MUTANT: unlock_release HF_MUTANT=store_low8_release
// MUTANT: t1_acquire_word HF_MUTANT=cmpxchg_acquire HF_MUTANT_IN=hf_detail_spinlock_queued_trylock
// MUTANT: t1_acquire_byte HF_MUTANT=cmpxchg_low8_acquire HF_MUTANT_IN=hf_detail_spinlock_queued_trylock HF_MODEL_ONLY=byte
// MUTANT: t2_acquire_word HF_MUTANT=cmpxchg_acquire HF_MUTANT_IN=hf_detail_spinlock_queued_try_barge
// MUTANT: t2_acquire_byte HF_MUTANT=cmpxchg_low8_acquire HF_MUTANT_IN=hf_detail_spinlock_queued_try_barge HF_MODEL_ONLY=byte
// MUTANT: t4_acquire HF_MUTANT=cmpxchg_acq_rel_loses_acquire
// MUTANT: t4_release HF_MUTANT=cmpxchg_acq_rel_loses_release
// MUTANT: t6_acquire HF_MUTANT=cmpxchg_acquire HF_MUTANT_IN=hf_detail_spinlock_queued_wait_pending
// MUTANT: link_release HF_MUTANT=store_release
// MUTANT: link_acquire HF_MUTANT=load_acquire
// MUTANT: unlock_stores_the_word HF_MUTANT=store_low8_wide
// MUTANT: t2_stores_the_word HF_MUTANT=store_mid8_wide HF_MODEL_ONLY="byte 1: 3 threads, search"
// MUTANT: t2_counts_always HF_MUTANT=load_high16_never_0 HF_MUTANT_IN=hf_detail_spinlock_queued_try_barge HF_MODEL_ONLY=byte
// MUTANT: t3_to_t5_torn HF_MUTANT=cmpxchg_torn HF_MUTANT_IN=hf_detail_spinlock_queued_slow
// MUTANT: t6_t7_torn HF_MUTANT=cmpxchg_torn HF_MUTANT_IN=hf_detail_spinlock_queued_wait_pending
// MUTANT: one_pass_more_word HF_MUTANT=own HF_MODEL_ONLY=word
// MUTANT: one_pass_more_byte HF_MUTANT=own HF_MODEL_ONLY=byte
#define HF_ENV_HAS_PARK 0
#include "locks.h"
#include "queued_watch.h"

#include "holdfast/lock_class.h"

/* Include the lock once for each form of the fast path and each number of passes. */
#undef HF_ARCH_HAS_CMPXCHG8
#define HF_ARCH_HAS_CMPXCHG8 0

#define HF_SPINLOCK_QUEUED_PASSES 0
#define HF_SPINLOCK_QUEUED_PATIENCE_NS 3
namespace word_0
{
#include "holdfast/spinlock.h"
}

#undef HF_SPINLOCK_H
#undef HF_SPINLOCK_QUEUED_H
#undef HF_SPINLOCK_QUEUED_PASSES
#define HF_SPINLOCK_QUEUED_PASSES 1
namespace word_1
{
#include "holdfast/spinlock.h"
}

#undef HF_ARCH_HAS_CMPXCHG8
#define HF_ARCH_HAS_CMPXCHG8 1

#undef HF_SPINLOCK_H
#undef HF_SPINLOCK_QUEUED_H
namespace byte_1
{
#include "holdfast/spinlock.h"
}

#undef HF_SPINLOCK_H
#undef HF_SPINLOCK_QUEUED_H
#undef HF_SPINLOCK_QUEUED_PASSES
#define HF_SPINLOCK_QUEUED_PASSES 0
namespace byte_0
{
#include "holdfast/spinlock.h"
}

#undef HF_SPINLOCK_H
#undef HF_SPINLOCK_QUEUED_H
#undef HF_SPINLOCK_QUEUED_PASSES
#define HF_SPINLOCK_QUEUED_PASSES 2
namespace byte_2
{
#include "holdfast/spinlock.h"
}

using hf_model::exclusion;
using hf_model::exclusion_by;
using hf_model::tries;
using hf_model::tries_only;

/* Includes a scenario with a wait policy other than the default. */
#define QUEUED(name_, in_)                                                                         \
	SPINLOCK(name_##_base, in_);                                                               \
	struct name_ : name_##_base {                                                              \
		static void lock_by(type *l, enum hf_wait_policy policy)                           \
		{                                                                                  \
			hf_env_preempt_disable();                                                  \
			if (!in_::hf_detail_spinlock_queued_trylock(&l->word))                     \
				in_::hf_detail_spinlock_queued_slow(&l->word, policy);             \
		}                                                                                  \
	}
QUEUED(lock_word_0, word_0);
QUEUED(lock_word_1, word_1);
QUEUED(lock_byte_0, byte_0);
QUEUED(lock_byte_1, byte_1);
QUEUED(lock_byte_2, byte_2);

template <typename L, unsigned int Passes, bool Byte>
struct built : L {
	static constexpr unsigned int passes = Passes;
	static constexpr bool byte_swap = Byte;
	static inline unsigned long reached[hf_model::TRANSITIONS];
	static inline unsigned long without_node;
};

/* Nodeless: bit mask of the threads that have no node. */
template <typename L, typename Base, unsigned int Nodeless = 0>
class watched : public Base {
	/* The mutant `own` makes the watch expect one pass fewer than the lock allows. */
	hf_model::queued_watch watch_{ L::passes - (L::passes &&
						    hf_model::the_mutant == hf_model::mutant::own),
				       L::byte_swap, L::reached };

public:
	watched()
	{
		for (unsigned int i = 0; i < HF_MODEL_THREADS; i++)
			threads[i].nodes = Nodeless & 1u << i ? 0 : 1;
	}
	void changed(const void *object, uint64_t before, uint64_t after, const where &at)
	{
		if (object == &this->lock_.word && before != after)
			watch_.changed((uint32_t)before, (uint32_t)after, at);
	}
	void thread_end(unsigned int index)
	{
		L::without_node += threads[index].refused;
		Base::thread_end(index);
	}
};

template <typename L>
void all(hf_model::run *run, const char *name)
{
	run->search<watched<L, exclusion<L, 2>>, 2>(name, 3);
	run->search<watched<L, exclusion<L>>, 3>(name, 2);
	run->search<watched<L, tries<L>>, 2>(name, 4);
	run->search<watched<L, tries_only<L>>, 2>(name, ALL);
	run->search<watched<L, exclusion<L>, 7>, 3>(name, 2);
	if constexpr (L::passes == 1) {
		run->search<watched<L, exclusion_by<L, HF_WAIT_MONITOR>>, 3>(name, 2);
		run->search<watched<L, exclusion<L>, 6>, 3>(name, 2);
		/* A thread joins the queue while another one is counting its pass. */
		run->search<watched<L, exclusion<L, 1, 2>>, 3>(name, 2);
		/* Hand-off from one queued node to the next. */
		run->search<watched<L, exclusion<L>>, 4>(name, L::byte_swap ? 0 : 1);
		hf_model::full_barrier<L>(run, name);
	}
	run->random<watched<L, exclusion<L, 2>>, 3>(name, 30000);
	run->random<watched<L, exclusion_by<L, HF_WAIT_HINT, 2>>, 3>(name, 30000);
	run->random<watched<L, tries<L>>, 3>(name, 30000);
	run->random<watched<L, exclusion<L, 2>>, 4>(name, 30000);
	run->random<watched<L, exclusion_by<L, HF_WAIT_MONITOR, 2>>, 4>(name, 30000);
	run->random<watched<L, exclusion<L, 2>, 3>, 4>(name, 30000);

	for (int t = 0; t < hf_model::TRANSITIONS; t++) {
		if (L::passes == 0 &&
		    (t == hf_model::T2_PENDING || t == hf_model::T2_QUEUE ||
		     t == hf_model::T2_LATE || t == hf_model::T7_CLOSE || t == hf_model::T7_UNDONE))
			continue;
		if (!L::byte_swap &&
		    (t == hf_model::T1_LATE || t == hf_model::T2_LATE || t == hf_model::T7_UNDONE))
			continue;
		run->must_reach(hf_model::transition_names[t], L::reached[t]);
	}
	run->must_reach("a thread that has no node to queue with", L::without_node);
}

int main(int argc, char **argv)
{
	hf_model::run run("spinlock_queued", argc, argv);

	all<built<lock_word_1, 1, false>>(&run, "word 1");
	all<built<lock_byte_1, 1, true>>(&run, "byte 1");
	all<built<lock_word_0, 0, false>>(&run, "word 0");
	all<built<lock_byte_0, 0, true>>(&run, "byte 0");
	all<built<lock_byte_2, 2, true>>(&run, "byte 2");
	return run.end();
}
