/* SPDX-License-Identifier: MIT */
#ifndef HF_MODEL_MUTEX_WATCH_H
#define HF_MODEL_MUTEX_WATCH_H
/*
 * mutex_watch - sees every change of a mutex's word, and of the states of those who wait for it.
 *
 * Checked   the word is 0 or 1; 0 to 1 is one winner, 1 to 0 is done by the holder only (M1, M2)
 * Counts    in reached[], over all interleavings: a scenario that never hands the mutex over shows
 *           nothing about that
 */
#include "parking_model.h"

namespace hf_model
{

enum mutex_transition {
	HANDED_OVER,
	TAKEN_BACK,
	CALLED_BY_UNLOCK,
	CALLED_BY_LEAVER,
	TURN_OVER,
	STANDS_BACK,
	COMES,
	MUTEX_TRANSITIONS
};

inline const char *const mutex_transition_names[MUTEX_TRANSITIONS] = {
	"handed to the next waiter",       "taken back from it",
	"an unlock wakes the next waiter", "a waiter that gives up wakes the next one",
	"the next waiter is due",          "the next waiter parks",
	"the next waiter comes",
};

class mutex_watch {
public:
	explicit mutex_watch(unsigned long *reached) : reached_(reached) {}

	/* Of the mutex's word. */
	void changed(uint32_t before, uint32_t after, const where &at)
	{
		(void)before;
		check(after <= HF_DETAIL_MUTEX_LOCKED, "the word has more than one bit", at);
		if (after == 0) {
			check(holder_ == (int)rl::thread_index(), "unlocked by another", at);
			holder_ = -1;
			return;
		}
		check(holder_ == -1, "two holders", at);
		holder_ = (int)rl::thread_index();
	}
	int holder() const { return holder_; }
	/* Of anything else. */
	void other(const void *object, uint64_t after, const where &at)
	{
		const char *in = at.func_;

		/* Whoever ends a hand-over has the mutex: the next waiter, or one that takes it back. */
		if (holder_ == HANDED && object == &the_table->bucket[0].turn &&
		    !(after & HF_DETAIL_TURN_HANDED))
			holder_ = (int)rl::thread_index();

		if (strcmp(in, "hf_detail_mutex_unlock_slow") == 0) {
			reached_[after == HF_DETAIL_WAITER_CALLED ? CALLED_BY_UNLOCK
								  : HANDED_OVER]++;
			if (after == HF_DETAIL_WAITER_HANDED)
				holder_ = HANDED;
		} else if (strcmp(in, "end_turn") == 0) {
			reached_[TURN_OVER]++;
		} else if (strcmp(in, "take_back") == 0) {
			reached_[TAKEN_BACK]++;
		} else if (strcmp(in, "leave") == 0) {
			reached_[CALLED_BY_LEAVER]++;
		} else if (strcmp(in, "stand_back") == 0) {
			reached_[STANDS_BACK]++;
		} else if (strcmp(in, "come") == 0) {
			reached_[COMES]++;
		}
	}
	/* The caller's verb returned with the mutex. */
	void has_it() const { check(holder_ == (int)rl::thread_index(), "granted, and not taken"); }

private:
	enum { HANDED = -2 };

	unsigned long *reached_;
	int holder_ = -1;
};

} // namespace hf_model

#endif
