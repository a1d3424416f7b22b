/* SPDX-License-Identifier: MIT */
/*
 * The table `spinlock`: the published experiment (k cores in lock, increment, unlock) on this machine.
 *
 * Cases, as the published table names its columns:
 *
 *   1         one thread                               lock, unlock, total
 *   nNC       n threads, each its own lock and counter lock, unlock, total
 *   nC        n threads, one lock and counter          lock, unlock, total
 *   oversubscribed   more threads than processors      total
 *
 * total comes from a loop without timestamps. lock and unlock come from a run of their own. Where
 * nobody competes they are LAB_BULK locks taken one after another, since a timestamp takes longer
 * than a lock; where threads compete, one. What two timestamps cost with only the increments between
 * them is subtracted; 0 means that nothing could be measured. Summed over the threads' operations
 * and divided by the threads, so that lock and unlock are in the unit of total.
 */
#include "bench.hpp"

#include <algorithm>
#include <string>

#include "holdfast/arch.h"
#include "spinlock_locks.h"

namespace lab
{
namespace
{

/* The locks, counters and times of one run: `sets` sets of `bulk` locks, one for each thread or one
 * for all. */
struct Run {
	size_t bulk;
	std::vector<lab_spin> spins;
	std::vector<lab_split> splits;
	std::vector<lab_spin_state> states;
	std::vector<void *> pointers;

	Run(const lab_lock &lock, int threads, bool shared, size_t bulk_of_each)
		: bulk(bulk_of_each), spins(bulk * static_cast<size_t>(shared ? 1 : threads)),
		  splits(static_cast<size_t>(threads)), states(spins.size() / bulk)
	{
		for (lab_spin &spin : spins)
			lock.init(spin.lock);
		for (size_t i = 0; i < states.size(); i++) {
			states[i] = { &spins[i * bulk], static_cast<int>(bulk), splits.data() };
			pointers.push_back(&states[i]);
		}
	}

	/* The counters of each set against the operations of its threads. */
	bool check(const Window &window) const
	{
		for (size_t i = 0; i < states.size(); i++) {
			uint64_t counted = 0;

			for (size_t j = 0; j < bulk; j++)
				counted += states[i].spin[j].counter;
			if (counted != (states.size() == 1 ? window.total() : window.ops[i]))
				return false;
		}
		return true;
	}
};

std::vector<Sample> run_total(const lab_lock &lock, int threads, bool shared, int window_ms)
{
	Run run(lock, threads, shared, 1);
	bool contended = shared && threads > 1;
	Window window = run_window(threads, window_ms, contended ? lock.contended : lock.alone,
				   run.pointers);
	double total = static_cast<double>(window.total());
	Sample sample = {
		window.wall_ns / total, window.fairness(), run.check(window), window.disturbed, {}
	};

	if (contended)
		sample.more["handoff_share"] = static_cast<double>(run.spins[0].handoffs) / total;
	return { sample };
}

std::vector<Sample> run_split(const lab_lock &lock, int threads, bool shared, int window_ms)
{
	bool contended = shared && threads > 1;
	Run run(lock, threads, shared, contended ? 1 : LAB_BULK);
	Window window = run_window(threads, window_ms, lock.split, run.pointers);
	bool checked = run.check(window);
	double lock_ticks = 0, unlock_ticks = 0;

	for (const lab_split &split : run.splits) {
		double empty = static_cast<double>(split.empty_ticks);

		lock_ticks += static_cast<double>(split.lock_ticks) - empty;
		unlock_ticks += static_cast<double>(split.unlock_ticks) - empty;
	}
	double scale = ns_per_tick() / static_cast<double>(window.total()) / threads;

	return { { std::max(lock_ticks * scale, 0.0),
		   window.fairness(),
		   checked,
		   window.disturbed,
		   {} },
		 { std::max(unlock_ticks * scale, 0.0),
		   window.fairness(),
		   checked,
		   window.disturbed,
		   {} } };
}

Row row_of(const lab_lock &lock, const std::string &case_name, int threads)
{
	Row row;

	row.table = "spinlock";
	row.variant = lock.name;
	row.kind = lock.kind;
	row.case_name = case_name;
	row.threads = threads;
	if (row.kind == "default")
		row.labels["is"] = lock.is;
	if (row.kind == "sweep") {
		row.labels["base_variant"] = lock.is;
		row.labels["wait"] = lock.wait;
	}
	return row;
}

void add_cells(std::vector<Cell> *cells, const lab_lock &lock, const std::string &name, int threads,
	       bool shared, bool oversubscribed)
{
	Cell total;

	total.rows = { row_of(lock, name + " total", threads) };
	total.run = [&lock, threads, shared](int ms) {
		return run_total(lock, threads, shared, ms);
	};
	if (oversubscribed) {
		total.window_ms = 60;
		total.rounds = 5;
	} else if (threads == 1) {
		/* Differences of a few per cent: many short runs. */
		total.window_ms = 5;
		total.rounds = 51;
	}
	cells->push_back(total);
	if (oversubscribed || std::string(lock.kind) == "sweep" || ns_per_tick() == 0)
		return;

	Cell split;

	split.rows = { row_of(lock, name + " lock", threads),
		       row_of(lock, name + " unlock", threads) };
	split.run = [&lock, threads, shared](int ms) {
		return run_split(lock, threads, shared, ms);
	};
	split.rounds = 7;
	cells->push_back(split);
}

} // namespace

std::vector<Cell> spinlock_cells(const Settings &settings)
{
	std::vector<int> counts = thread_counts(settings);
	std::vector<const lab_lock *> locks;
	std::vector<Cell> cells;

	if (settings.threads.empty())
		counts.push_back(4 * cpus());
	for (const lab_lock *lock = lab_locks_c; lock->name; lock++)
		locks.push_back(lock);
	for (const lab_lock *lock = lab_locks_cxx; lock->name; lock++)
		locks.push_back(lock);
	for (int threads : counts) {
		for (const lab_lock *lock : locks) {
			bool sweep = std::string(lock->kind) == "sweep";
			std::string n = std::to_string(threads);

			if (threads == 1) {
				if (!sweep)
					add_cells(&cells, *lock, "1", 1, true, false);
			} else if (threads > cpus()) {
				add_cells(&cells, *lock, "oversubscribed", threads, true, true);
			} else {
				if (!sweep && threads == cpus())
					add_cells(&cells, *lock, n + "NC", threads, false, false);
				add_cells(&cells, *lock, n + "C", threads, true, false);
			}
		}
	}
	return cells;
}

} // namespace lab
