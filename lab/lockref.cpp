/* SPDX-License-Identifier: MIT */
/*
 * The table `lockref`: get and put of one hot object by 1, 2, ... threads.
 *
 * As in the table `refcount`, each thread leaves one reference behind for each batch of pairs, and
 * each run is checked against the final count. Each row calls the public operations, which
 * lockref_loops.c compiles once for each set of constants. The times come from runs that do not
 * count retries. Separate runs count them: failed swaps, except the first one of an operation,
 * which is inline. waitfree neither retries nor falls back to the lock.
 */
#include "bench.hpp"

#include <algorithm>
#include <memory>

#include "holdfast/lockref.h"
#include "lockref_loops.h"

extern "C" {
#define UNIT(name)                                                                                 \
	extern const struct lab_lockref_loops lab_lockref_##name, lab_lockref_counted_##name;
#include "lockref_list.h"
#undef UNIT
}

namespace lab
{
namespace
{

struct Variant {
	const lab_lockref_loops *timed, *counted;
};
const Variant variants[] = {
#define UNIT(name) { &lab_lockref_##name, &lab_lockref_counted_##name },
#include "lockref_list.h"
#undef UNIT
};

/* Does one run; returns true if the final count is right. */
bool window_of(const lab_lockref_loops &loops, int threads, int window_ms,
	       std::vector<lab_lockref_counts> *counts, Window *window)
{
	std::unique_ptr<lab_lockref> hot(new lab_lockref{});

	loops.init(hot->ref);
	hot->counts = counts->data();
	*window = run_window(threads, window_ms, loops.pairs, { hot.get() });
	return !hot->failed &&
	       static_cast<uint64_t>(loops.read(hot->ref) - 1) * LAB_LOCKREF_BATCH ==
		       window->total();
}

std::vector<Sample> run(const Variant &variant, int threads, int window_ms)
{
	std::vector<lab_lockref_counts> counts(static_cast<size_t>(threads));
	lockref_stats all = {};
	Window window, counted;
	bool checked = window_of(*variant.timed, threads, window_ms, &counts, &window);

	checked &=
		window_of(*variant.counted, threads, std::max(window_ms / 4, 1), &counts, &counted);
	for (const lab_lockref_counts &c : counts) {
		all.retries += c.stats.retries;
		all.fallbacks += c.stats.fallbacks;
		all.most = std::max(all.most, c.stats.most);
	}
	Sample sample = sample_of(window, checked);
	double operations = (2 + 1.0 / LAB_LOCKREF_BATCH) * static_cast<double>(counted.total());

	sample.starved |= counted.total() == 0;
	sample.more["retries_mean"] = static_cast<double>(all.retries) / operations;
	sample.more["retries_max"] = all.most;
	sample.more["fallback_share"] = static_cast<double>(all.fallbacks) / operations;
	return { sample };
}

} // namespace

std::vector<Cell> lockref_cells(const Settings &settings)
{
	std::vector<int> counts = thread_counts(settings);
	std::vector<Cell> cells;

	if (settings.threads.empty())
		counts.push_back(4 * cpus());
	for (int threads : counts) {
		for (const Variant &variant : variants) {
			const lab_lockref_loops &loops = *variant.timed;
			Row row("lockref", loops.name, loops.kind, "get+put", threads);

			if (row.kind == "default")
				row.labels["is"] = "bounded";
			if (loops.base)
				row.labels["base_variant"] = loops.base;
			if (loops.wait)
				row.labels["wait"] = loops.wait;
			/* Alone, many short runs show differences of a few per cent. */
			cells.push_back(
				{ { row },
				  [&variant, threads](int ms) { return run(variant, threads, ms); },
				  threads == 1       ? 5
				  : threads > cpus() ? 40
						     : 20,
				  threads == 1       ? 51
				  : threads > cpus() ? 7
						     : 15 });
			/* On some processors these runs alternate between two levels. */
			if (threads > cpus())
				cells.back().least = ROUNDS_OF_LEVELS;
		}
	}
	return cells;
}

} // namespace lab
