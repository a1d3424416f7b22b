/* SPDX-License-Identifier: MIT */
#ifndef HF_MODEL_MUTEX_WATCH_H
#define HF_MODEL_MUTEX_WATCH_H
/*
 * mutex_watch - observes every change of a mutex's word and of its waiters' states.
 *
 * Checked   the word is 0 or 1; one thread changes it from 0 to 1, only the holder from 1 to 0
 * Counts    in reached[], over all interleavings: a scenario that never hands off the mutex does
 *           not test the hand-off
 */
#include "parking_model.h"

namespace hf_model
{

#define HF_MODEL_MUTEX_TRANSITIONS(X)                                                              \
	X(WOKEN_BY_UNLOCK, "an unlock wakes the first waiter")                                     \
	X(WOKEN_BY_LEAVER, "a waiter that gives up wakes the next one")                            \
	X(RUNS, "the first waiter runs")                                                           \
	X(PARKS_AGAIN, "the first waiter parks again")                                             \
	X(ROOM_FOR_FIRST, "a thread makes room for the first waiter")                              \
	X(ROOM_FOR_ANOTHER, "a thread makes room for another waiter")

HF_MODEL_NAMED(mutex_transition, MUTEX_TRANSITIONS, HF_MODEL_MUTEX_TRANSITIONS)

class mutex_watch {
public:
	explicit mutex_watch(unsigned long *reached) : reached_(reached) {}

	/* The mutex's word changed. */
	void changed(uint32_t after, const where &at)
	{
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
	/* Any other location changed, such as a waiter's state. */
	void other(const void *object, uint64_t after, const where &at)
	{
		const char *in = at.func_;
		bool is_flag = object == &the_table->bucket[0].flags;

		if (strcmp(in, "hf_detail_mark_first_waking") == 0)
			reached_[WOKEN_BY_UNLOCK]++;
		else if (strcmp(in, "finish_wait") == 0)
			reached_[WOKEN_BY_LEAVER]++;
		else if (strcmp(in, "set_head") == 0)
			reached_[after == HF_DETAIL_WAITER_PARKED ? PARKS_AGAIN : RUNS]++;
		else if (strcmp(in, "hf_detail_bucket_change_flags") == 0 && is_flag &&
			 (after & HF_DETAIL_BUCKET_AWAITED))
			reached_[ROOM_FOR_FIRST]++;
		else if (strcmp(in, "hf_detail_waiter_release") == 0)
			reached_[ROOM_FOR_ANOTHER]++;
	}
	/* The caller's lock operation has succeeded. */
	void has_it() const { check(holder_ == (int)rl::thread_index(), "granted, and not taken"); }

private:
	unsigned long *reached_;
	int holder_ = -1;
};

} // namespace hf_model

#endif
