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

/*
 * A node for this thread. A thread that has been joined may be on its way out of the kernel, and until
 * then has its slot: so where there are few of them, wait for it.
 */
inline uint32_t get_node()
{
	unit::deadline end(100000);
	uint32_t index = 0;

	unit::wait_until([&] { return (index = hf_env_node_get()) != 0 || end.passed(); });
	return index;
}

/* The first node of this thread's slot; 0 = it has none. */
inline uint32_t own_slot()
{
	return hf_detail_thread.base;
}

/* How many of so many threads that live at the same time can have a node, just now? */
inline int can_have_nodes_now(int threads)
{
	std::atomic<int> could(0), missing(threads);

	unit::run_threads(threads, [&](int) {
		could += can_have_node();
		missing--;
		unit::wait_until([&] { return missing == 0; });
	});
	return could;
}

/* So many of them can in the end, as with get_node(). */
inline bool can_have_nodes(int threads, int could)
{
	unit::deadline end(100000);
	int last = 0;

	unit::wait_until([&] {
		last = can_have_nodes_now(threads);
		return last >= could || end.passed();
	});
	return last == could;
}

/* A pthread key's destructor that takes a lock. */
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
