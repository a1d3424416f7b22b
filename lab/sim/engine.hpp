/* SPDX-License-Identifier: MIT */
#ifndef HF_SIM_ENGINE_HPP
#define HF_SIM_ENGINE_HPP
/*
 * engine - simulated processors and their caches.
 *
 * Events are in integer picoseconds and ordered by (time, sequence); random numbers come from a
 * seeded generator. So the same machine, threads and seed give the same events.
 *
 * State
 *   thread      a fiber, with the time that it has reached. It runs on until another event comes
 *               before its next access.
 *   processor   a hardware thread: store buffer, time slice, threads that wait for it
 *   line        64 bytes: an owner or sharers, and a queue of requests at its home
 *
 *     request --way--> queue at the home --arbitration--> [owner holds] --way--> requester: access
 *
 * Invariants
 *   E1  before a thread accesses memory, all events with an earlier time have been processed.
 *   E2  one request a line is served at a time; a read of a shared line occupies the home for
 *       home_ns only.
 *   E3  a thread that polls sleeps until one of the lines that it reads changes, and wakes at the
 *       time of its next load. A thread polls if it reaches the same load with the same stack and
 *       registers after nothing but hits and hints: then all rounds are the same until a line
 *       changes, and the time of the next load is exact.
 *   E4  a store leaves the store buffer in order; loads see this processor's own stores.
 */
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "machine.hpp"

namespace sim
{

struct Stats {
	uint64_t events = 0, switches = 0;
	uint64_t transfers = 0, far_transfers = 0; /* of lines between caches; between sockets */
	uint64_t swaps = 0, failed_swaps = 0;      /* compare-and-swaps */
	uint64_t naps = 0;                         /* E3 */
	uint64_t preemptions = 0, parks = 0;
	int64_t lock_ps = 0, unlock_ps = 0;  /* what locks' operations took, of all threads */
	uint64_t retries = 0, fallbacks = 0; /* of lockref's slow paths */
};

struct Result {
	std::vector<uint64_t> operations; /* of each thread, in the window */
	uint64_t all = 0;                 /* of all, before and after it too */
	double window_ns = 0;
	Stats stats;
	bool cut = false;           /* a limit came first */
	double longest_wait_ns = 0; /* between two operations of one thread */

	uint64_t total() const;
	double ns_per_op() const; /* of the whole machine */
	double fairness() const;  /* the least thread's operations by the most's */
};

struct Run {
	const Machine *machine;
	int threads = 1;
	double warm_up_ns = 0, window_ns = 0;
	uint64_t seed = 1;
	double limit_s = 60;               /* processor time on the host */
	uint64_t event_limit = UINT64_MAX; /* unlike the other, the same on every host */
	std::function<void(int)> body;
	std::vector<int>
		processors; /* where each thread is at first; empty = cores first, then SMT */
	bool naps = true;   /* E3; without it each round is run */
};

/* Throws std::runtime_error if no thread can go on. */
Result run(const Run &run);

/* Memory that lines are simulated for; zeroed. reset_memory() frees all of it. */
void *allocate(size_t bytes, size_t alignment = 128);
void reset_memory();

} // namespace sim

#endif
