/* SPDX-License-Identifier: MIT */
/*
 * The table `handoff`: how the body of the wait loop affects a lock that is first come, first
 * served.
 *
 * Two locks (ticket, mcs), contended by all processors; the rows differ only in what a waiter does
 * between two loads. They are sweeps, which no aim is computed from. In addition to the time of an
 * operation a row has
 *
 *   handoff_share   the share of operations that got the lock from another thread
 *   waiter_share    the share of releases that found a waiter in the queue
 *
 * docs/design/0005-waiting.md explains them.
 */
#include "bench.hpp"

#include "handoff.h"

extern "C" {
#define UNIT(name) extern const struct lab_handoff_loops lab_handoff_##name;
#include "handoff_list.h"
#undef UNIT
}

namespace lab
{
namespace
{

const lab_handoff_loops *const all_loops[] = {
#define UNIT(name) &lab_handoff_##name,
#include "handoff_list.h"
#undef UNIT
};

std::vector<Sample> run(loop_t loop, int threads, int window_ms)
{
	std::vector<lab_handoff_found> found(static_cast<size_t>(threads));
	lab_handoff state = {}; /* all-zero locks are free */

	state.found = found.data();
	Window window = run_window(threads, window_ms, loop, { &state });
	double total = static_cast<double>(window.total());
	Sample sample = sample_of(window, state.counter == window.total());
	uint64_t handoffs = 0, waiters = 0;

	for (const lab_handoff_found &f : found) {
		handoffs += f.handoffs;
		waiters += f.waiters;
	}
	sample.more["handoff_share"] = static_cast<double>(handoffs) / total;
	sample.more["waiter_share"] = static_cast<double>(waiters) / total;
	return { sample };
}

} // namespace

std::vector<Cell> handoff_cells(const Settings &settings)
{
	std::vector<Cell> cells;

	for (int threads : thread_counts(settings)) {
		if (threads == 1)
			continue;
		for (const lab_handoff_loops *loops : all_loops) {
			for (bool mcs : { false, true }) {
				loop_t loop = mcs ? loops->mcs : loops->ticket;
				std::string name = mcs ? "mcs" : "ticket";
				Row row("handoff", name + " wait=" + loops->wait, "sweep",
					"contended", threads);

				row.labels["base_variant"] = name;
				row.labels["wait"] = loops->wait;
				cells.push_back({ { row }, [loop, threads](int ms) {
							 return run(loop, threads, ms);
						 } });
			}
		}
	}
	return cells;
}

} // namespace lab
