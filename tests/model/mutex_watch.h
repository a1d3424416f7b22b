/* SPDX-License-Identifier: MIT */
#ifndef HF_MODEL_MUTEX_WATCH_H
#define HF_MODEL_MUTEX_WATCH_H
/*
 * mutex_watch - sees every change of a mutex's word, and knows which of M1 to M13 it is.
 *
 * Checked       a change that is none of them is an error; so is one by the wrong thread (X1), a
 *               free lock at which some are parked and no waiter is on the way (X2), one that is
 *               closed without waiters (X5), and a thread that barges too often
 * Barging       between two hand-offs to the next waiter (M6), one thread barges (M2) at most
 *               2 * HF_MUTEX_TURN times: it counts when it unlocks, and closes the lock then;
 *               at most one turn is the rest of the last
 * Dead peers    may have left a word whose bits claim more than there is, and a patrol makes a
 *               second thread the next waiter: then P means less, and of X1 to X5 only X1 holds
 * Counts        in reached[], over all interleavings: a scenario that never gets to M8 shows
 *               nothing about M8
 */
#include "run.h"

#include "holdfast/mutex.h"

namespace hf_model
{

enum mutex_transition {
	M1_TAKE,
	M2_BARGE,
	M3_NEXT,
	M3_TURN, /* while others are parked */
	M4_PARK,
	M5_WOKEN,
	M5_FREE,
	M5_PATROL,
	M6_NEXT_TAKES,
	M7_CLOSE,
	M8_PARK_AGAIN,
	M9_UNLOCK,
	M9_LATE, /* and a waiter has parked meanwhile */
	M10_UNLOCK,
	M10_CLOSE,
	M11_WAKE,
	M12_NEXT_LEAVES,
	M13_PARKED_LEAVES,
	MUTEX_TRANSITIONS
};

inline const char *const mutex_transition_names[MUTEX_TRANSITIONS] = {
	"M1, taken uncontended",
	"M2, barges",
	"M3, the next waiter at once",
	"M3, and others are parked",
	"M4, parks",
	"M5, it was woken",
	"M5, free, and no waiter awake",
	"M5, on patrol",
	"M6, the next waiter takes it",
	"M7, closed by the next waiter",
	"M8, the next waiter parks again",
	"M9, unlocked",
	"M9, and a waiter has parked meanwhile",
	"M10, unlocked while a waiter is awake",
	"M10, closed",
	"M11, a parked thread is woken",
	"M12, the next waiter leaves",
	"M13, a parked thread leaves",
};

class mutex_watch {
public:
	mutex_watch(unsigned int turn, bool dead_peers, unsigned long *reached)
		: turn_(turn), dead_peers_(dead_peers), reached_(reached)
	{
	}

	void changed(uint32_t before, uint32_t after, const where &at)
	{
		word b(before), a(after);

		reached_[which(b, a, (int)rl::thread_index(), at)]++;
		if (a.waits() == 0)
			for (unsigned int &n : barged_)
				n = 0;
		if (a.locked || a.pending || a.waking)
			late_ = false;
		if (dead_peers_)
			return;
		check(a.locked || a.pending || a.waking || a.parked == 0 || late_,
		      "X2: free, some are parked, and no waiter is on the way", at);
		check(!a.closed || a.waits(), "X5: closed, without waiters", at);
	}

private:
	struct word {
		uint32_t locked, closed, waking, pending, parked;

		explicit word(uint32_t w)
			: locked(w & HF__MUTEX_LOCKED), closed(w & HF__MUTEX_CLOSED),
			  waking(w & HF__MUTEX_WAKING), pending(w & HF__MUTEX_PENDING),
			  parked(w / HF__MUTEX_PARKED_ONE)
		{
		}
		bool waits() const { return pending || waking || parked; }
		/* The same but for what is named: l, x, w, p, k. */
		bool same(const word &o, const char *but) const
		{
			return (locked == o.locked || strchr(but, 'l')) &&
			       (closed == o.closed || strchr(but, 'x')) &&
			       (waking == o.waking || strchr(but, 'w')) &&
			       (pending == o.pending || strchr(but, 'p')) &&
			       (parked == o.parked || strchr(but, 'k'));
		}
	};

	unsigned int turn_;
	bool dead_peers_;
	unsigned long *reached_;
	int holder_ = -1;
	bool late_ = false; /* an M9 has still to look at what it found */
	unsigned int barged_[HF_MODEL_THREADS] = {};

	mutex_transition taken(const word &b, const word &a, int me, const where &at)
	{
		check(holder_ == -1, "X1: two holders", at);
		holder_ = me;
		if (strcmp(at.func_, "wait_pending") == 0) {
			check(!a.pending && !a.closed && a.same(b, "lpx"), "M6", at);
			for (unsigned int &n : barged_)
				n = 0;
			return M6_NEXT_TAKES;
		}
		check(!b.closed && a.same(b, "l"), "M1, M2: it was closed", at);
		if (!b.waits())
			return M1_TAKE;
		check(++barged_[me] <= 2 * turn_ || dead_peers_, "barges too often", at);
		return M2_BARGE;
	}

	mutex_transition released(const word &b, const word &a, int me, const where &at)
	{
		bool must_wake = b.parked && !b.pending && !b.waking;

		check(holder_ == me, "X1: unlocked by another than its holder", at);
		holder_ = -1;
		if (strcmp(at.func_, "hf__mutex_unlock") == 0) {
			check(a.same(b, "l"), "M9", at);
			late_ = must_wake;
			return must_wake ? M9_LATE : M9_UNLOCK;
		}
		check(a.same(b, must_wake ? "lxw" : "lx") && !!a.waking == (must_wake || b.waking),
		      "M10, M11", at);
		check(a.closed || !b.closed || !b.waits(), "M10: opened", at);
		if (must_wake)
			return M11_WAKE;
		return a.closed && !b.closed ? M10_CLOSE : M10_UNLOCK;
	}

	mutex_transition which(const word &b, const word &a, int me, const where &at)
	{
		if (!b.locked && a.locked)
			return taken(b, a, me, at);
		if (b.locked && !a.locked)
			return released(b, a, me, at);
		if (a.parked == b.parked && a.pending && !b.pending && a.same(b, "p")) {
			check(!b.pending && !b.waking, "M3: a waiter is awake", at);
			check(!b.parked || !b.closed, "M3: it was closed", at);
			return b.parked ? M3_TURN : M3_NEXT;
		}
		if (a.parked == b.parked + 1) {
			if (a.same(b, "k") && strcmp(at.func_, "hf__mutex_lock_slow") == 0)
				return M4_PARK;
			check((b.pending || dead_peers_) && !a.pending && b.locked &&
				      a.same(b, "kp"),
			      "M8", at);
			return M8_PARK_AGAIN;
		}
		if (a.closed && !b.closed && a.same(b, "x")) {
			check(b.locked, "M7: closes a free lock", at);
			return M7_CLOSE;
		}
		if (a.parked + 1 == b.parked && strcmp(at.func_, "park_until_woken") == 0) {
			if (a.pending && !a.waking && a.same(b, "kpw")) {
				if (b.waking)
					return M5_WOKEN;
				return b.locked || b.pending ? M5_PATROL : M5_FREE;
			}
			check(!b.waking && (b.locked || b.pending), "X3: a lost wake-up", at);
			check(a.same(b, a.waits() ? "k" : "kx"), "M13", at);
			return M13_PARKED_LEAVES;
		}
		check((b.pending || dead_peers_) && !a.pending && b.locked &&
			      a.same(b, a.waits() ? "p" : "px"),
		      "a change of the lock that is no known transition", at);
		return M12_NEXT_LEAVES;
	}
};

} // namespace hf_model

#endif
