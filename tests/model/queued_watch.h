/* SPDX-License-Identifier: MIT */
#ifndef HF_MODEL_QUEUED_WATCH_H
#define HF_MODEL_QUEUED_WATCH_H
/*
 * queued_watch - observes every change of a queued lock's word, and classifies it as one of T1 to
 * T8.
 *
 * Checked       errors are: a change that is none of T1 to T8; a change by the wrong thread (I1,
 *               I3); a pending waiter that is passed too often (I4); a node that is still in use
 *               when its owner takes the lock (I5; each thread takes one lock at a time)
 * I4, exactly   while a waiter is pending, other threads take the lock at most `limit` times by a
 *               counted T2. With the word cmpxchg there are no other ways. With the byte cmpxchg
 *               each thread may take the lock once more uncounted, if it loaded the word before
 *               there was a pending waiter; and once more each time that the passes are closed, if
 *               it loaded the word before that.
 * Counts        in reached[], over all interleavings: a scenario that never reaches T7 does not
 *               test T7
 */
#include "run.h"

namespace hf_model
{

#define HF_MODEL_TRANSITIONS(X)                                                                    \
	X(T1_FREE, "T1, free")                                                                     \
	/* The byte's swap, of a thread that had looked before there was a waiter. */              \
	X(T1_LATE, "T1, late")                                                                     \
	X(T2_PENDING, "T2, past the pending one")                                                  \
	/* Whose head is not yet pending. */                                                       \
	X(T2_QUEUE, "T2, past the queue")                                                          \
	/* The byte's swap, of a thread that had looked before the lock was closed. */             \
	X(T2_LATE, "T2, late")                                                                     \
	X(T3_PENDING, "T3, pending at once")                                                       \
	X(T4_FIRST, "T4, first in the queue")                                                      \
	X(T4_BEHIND, "T4, behind another node")                                                    \
	X(T5_LAST, "T5, the last of the queue")                                                    \
	X(T5_AND_NEXT, "T5, hands over to the next node")                                          \
	X(T6_TAKE, "T6, the next waiter takes it")                                                 \
	X(T7_CLOSE, "T7, closed")                                                                  \
	/* By the store of a T2, with the byte's swap. */                                          \
	X(T7_UNDONE, "T7, and a T2 undoes it")                                                     \
	X(T8_UNLOCK, "T8, unlock")

HF_MODEL_NAMED(transition, TRANSITIONS, HF_MODEL_TRANSITIONS)

class queued_watch {
public:
	/* passes: HF_SPINLOCK_QUEUED_PASSES; byte_swap: HF_ARCH_HAS_CMPXCHG8,
	 * as the lock was built. */
	queued_watch(unsigned int passes, bool byte_swap, unsigned long *reached)
		: passes_(passes), byte_swap_(byte_swap), reached_(reached)
	{
	}

	/* -1: the lock is free. */
	int holder() const { return holder_; }

	void changed(uint32_t before, uint32_t after, const where &at)
	{
		transition t = which(fields(before), fields(after), (int)rl::thread_index(), at);

		if (t != TRANSITIONS)
			reached_[t]++;
	}

private:
	struct fields {
		uint32_t locked, passes, pending, tail;

		explicit fields(uint32_t word)
			: locked(word & 0xff), passes(word >> 8 & 0xff), pending(word >> 16 & 1),
			  tail(word >> 17)
		{
		}
		bool is(uint32_t t, uint32_t p, uint32_t n, uint32_t l) const
		{
			return tail == t && pending == p && passes == n && locked == l;
		}
	};

	unsigned int passes_;
	bool byte_swap_;
	unsigned long *reached_;
	int holder_ = -1;
	int pending_ = -1;
	/* A byte cmpxchg has passed a waiter and is not counted yet; was that waiter pending? */
	bool uncounted_ = false;
	bool uncounted_pending_ = false;
	bool may_count_ = false; /* at most once per acquisition, late or not */
	/* Since that waiter became pending. */
	unsigned int counted_ = 0;
	unsigned int late_[HF_MODEL_THREADS] = {};
	unsigned int late_closed_[HF_MODEL_THREADS] = {};

	static int owner(uint32_t index) { return index ? (int)(index - 1) / HF_NODES : -1; }

	void become_pending(int me, const where &at)
	{
		check(pending_ == -1, "I3: two pending", at);
		pending_ = me;
		counted_ = 0;
		for (int i = 0; i < HF_MODEL_THREADS; i++)
			late_[i] = late_closed_[i] = 0;
	}

	transition counted(const fields &b, const where &at)
	{
		check(b.passes < passes_ || b.passes == 255, "I4: counted past the limit", at);
		if (!b.pending)
			return T2_QUEUE;
		check(++counted_ <= passes_, "I4: passed over too often", at);
		return T2_PENDING;
	}

	transition which(const fields &b, const fields &a, int me, const where &at)
	{
		bool waiters = b.tail || b.pending;

		check(a.tail || a.pending || !a.passes, "I7: passes, and nobody waits", at);
		if (b.locked == 1 && a.is(b.tail, b.pending, b.passes, 0)) {
			check(holder_ == me, "I1: unlocked by another than its holder", at);
			holder_ = -1;
			if (uncounted_) {
				bool closed = passes_ && b.passes >= passes_;

				uncounted_ = false;
				reached_[closed ? T2_LATE : T1_LATE]++;
				if (uncounted_pending_)
					check((closed ? late_closed_ : late_)[me]++ == 0,
					      "I4: one thread has passed over twice uncounted", at);
			}
			return T8_UNLOCK;
		}
		if (b.locked == 0 && a.locked == 1) {
			check(holder_ == -1, "I2: two holders", at);
			holder_ = me;
			may_count_ = byte_swap_;
			if (b.is(0, 0, 0, 0) && a.is(0, 0, 0, 1))
				return T1_FREE;
			if (b.pending && a.is(b.tail, 0, 0, 1)) {
				check(pending_ == me, "I3: pending is cleared by another", at);
				check(threads[me].used == 0, "I5: holds the lock with a node", at);
				pending_ = -1;
				return T6_TAKE;
			}
			if (!byte_swap_ && waiters && a.is(b.tail, b.pending, b.passes + 1, 1))
				return counted(b, at);
			check(byte_swap_ && waiters && a.is(b.tail, b.pending, b.passes, 1),
			      "the lock is taken by no known transition", at);
			uncounted_ = true;
			uncounted_pending_ = b.pending;
			return TRANSITIONS; /* known only at the store to passes, or at T8 */
		}
		if (may_count_ && holder_ == me && a.is(b.tail, b.pending, a.passes, 1)) {
			check(a.passes == b.passes + 1 || b.passes == 255, "T2 adds one", at);
			may_count_ = uncounted_ = false;
			if (b.passes == 255) {
				reached_[T7_UNDONE]++;
				for (unsigned int &n : late_closed_)
					n = 0;
			}
			return counted(b, at);
		}
		if (b.is(0, 0, 0, 1) && a.is(0, 1, 0, 1)) {
			become_pending(me, at);
			return T3_PENDING;
		}
		if (a.tail != b.tail && owner(a.tail) == me &&
		    a.is(a.tail, b.pending, b.passes, b.locked))
			return b.tail ? T4_BEHIND : T4_FIRST;
		if (b.tail && !b.pending && a.is(a.tail, 1, b.passes, b.locked) &&
		    (a.tail == b.tail || a.tail == 0)) {
			check((owner(b.tail) == me) == (a.tail == 0), "T5: last or not", at);
			become_pending(me, at);
			return a.tail ? T5_AND_NEXT : T5_LAST;
		}
		if (b.pending && b.locked == 1 && b.passes != 255 && a.is(b.tail, 1, 255, 1)) {
			check(pending_ == me, "T7 by another than the pending one", at);
			return T7_CLOSE;
		}
		check(false, "a change of the lock that is no known transition", at);
		return TRANSITIONS;
	}
};

} // namespace hf_model

#endif
