/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_UNIT_SLOTS_H
#define HF_TESTS_UNIT_SLOTS_H
/* slots - what the tests of many slots and of two have in common. */
#include "rosters.h"

#include <pthread.h>

namespace slots
{

/* Can this thread have a node? If it had no slot, it has one after this. */
inline bool can_have_node()
{
	uint32_t index = hf_env_node_get();

	if (index)
		hf_env_node_put(index);
	return index != 0;
}

/* The first node of this thread's slot; 0 = it has none. */
inline uint32_t own_slot()
{
	return hf__thread.base;
}

/* As if this were another thread, that has no slot yet. */
inline void be_another_thread()
{
	hf__thread.base = 0;
}

/* How many of so many threads that live at the same time can have a node? */
inline int can_have_nodes(int threads)
{
	std::atomic<int> could(0), missing(threads);

	unit::run_threads(threads, [&](int) {
		could += can_have_node();
		missing--;
		unit::wait_until([&] { return missing == 0; });
	});
	return could;
}

/* A pthread key's destructor, run after the slot was given back, that takes a lock. */
inline hf::spinlock_mcs late_lock;
inline std::atomic<int> late_locks(0);

inline void lock_late(void *)
{
	late_lock.lock();
	late_locks++;
	late_lock.unlock();
}

} // namespace slots

#endif
