/* SPDX-License-Identifier: MIT */
#ifndef HF_SIM_ENGINE_HPP
#define HF_SIM_ENGINE_HPP
/*
 * engine - simulated processors and their caches.
 *
 * Times are in integer picoseconds. Events are ordered by (time, sequence), and random numbers come
 * from a seeded generator: so the same machine, threads and seed give the same events.
 *
 * State
 *   thread      a fiber, with the time that it has reached. It runs until an event is due before
 *               its next access.
 *   processor   a hardware thread with its store buffer; it runs at most one thread
 *   line        64 bytes: an owner or sharers, and a queue of requests at its home
 *
 *     request --way--> queue at the home --arbitration--> [owner holds] --way--> requester: access
 *
 * Invariants
 *   E1  before a thread accesses memory, all events with an earlier time have been processed.
 *   E2  of each line one request is served at a time; a read of a shared line occupies the home
 *       only for home_ns.
 *   E3  a thread that polls sleeps until one of the lines that it reads changes, and wakes at the
 *       time of its next load. A thread polls if it reaches the same load with the same stack and
 *       registers, and did only hits and hints since: then all iterations are equal until a line
 *       changes, and the time of the next load is exact.
 *   E4  stores leave the store buffer in order; loads see this processor's own stores.
 */
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "machine.hpp"

namespace sim
{

struct Stats {
	uint64_t events = 0;
	uint64_t transfers = 0;               /* of lines between caches */
	uint64_t swaps = 0, failed_swaps = 0; /* compare-and-swaps */
	uint64_t naps = 0;                    /* sleeps of polling threads: E3 */
	int64_t lock_ps = 0, unlock_ps = 0;   /* time in a lock's operations, of all threads */
	uint64_t fallbacks = 0;               /* operations of a lockref that took the lock */
};

struct Result {
	std::vector<uint64_t> operations; /* of each thread, in the window */
	uint64_t all = 0;                 /* of all threads, also before and after the window */
	double window_ns = 0;
	Stats stats;
	bool cut = false;           /* the limit of events ended the run */
	double longest_wait_ns = 0; /* between two operations of one thread */

	uint64_t total() const;
	double ns_per_op() const; /* of the whole machine */
	double fairness() const;  /* least over most operations of a thread */
};

struct Run {
	const Machine *machine;
	int threads = 1;
	double warm_up_ns = 0, window_ns = 0;
	uint64_t seed = 1;
	uint64_t event_limit = UINT64_MAX;
	std::function<void(int)> body;
	/* Where each thread starts; empty = one thread on each core, then on its siblings. */
	std::vector<int> processors;
	bool naps = true; /* E3; false = each iteration of a polling loop is simulated */
};

/* Throws std::runtime_error if threads wait for ever. */
Result run(const Run &run);

/* Zeroes the simulated memory; returns HF_SIM_OBJECT_BYTES of it. */
void *new_object();

} // namespace sim

#endif
