/* SPDX-License-Identifier: MIT */
#ifndef HF_SIM_TABLES_HPP
#define HF_SIM_TABLES_HPP
/*
 * tables - one simulated run of a variant; and the rows of a table, which are ranges over seeds and
 * over the values of guessed parameters.
 */
#include <string>
#include <utility>
#include <vector>

#include "engine.hpp"
#include "sim.h"

namespace sim
{

/* One run. */
struct Case {
	Machine machine; /* of one class, calibrated */
	std::string table, variant;
	int threads = 1;
	double between_ns = 0; /* within a pair, or in the critical section */
	double work_ns = 0;    /* between two pairs */
	double window_ns = 0;  /* 0 = depends on the number of threads */
	uint64_t seed = 1;
	uint64_t event_limit = UINT64_MAX;
	std::vector<int> processors; /* of each thread; empty = each on its own core first */
	bool naps = true;            /* engine.hpp, E3 */
};

/* Plain data: passed between processes in shared memory. */
struct Outcome {
	double ns_per_op; /* of the whole machine */
	double fairness;
	double retries;   /* failed compare-and-swaps of all words for each one that succeeded */
	double fallbacks; /* lockref: the share of operations that took the lock */
	double transfers; /* for each operation */
	double longest_wait_ns;
	double lock_ns, unlock_ns; /* of locks: time of each operation */
	uint64_t events, naps, operations;
	bool cut; /* the limit of events ended the run */
};

/*
 * Runs a case. Its variant is a name of the table, followed by knobs:
 *   bounded-15  wait=none|hint|backoff|late (all policies)  count=... (of a count's retries)
 *   passes=N  patience=N  beside=mcs (another lock that each pair of a lockref takes twice)
 *   single (only the get of a count's pair: a counter that only grows)
 * Throws std::runtime_error if a count is wrong or the variant is unknown.
 */
Outcome simulate(const Case &one);

/* Runs all cases in @jobs processes; long runs print their progress on stderr. */
std::vector<Outcome> simulate_all(const std::vector<Case> &cases, int jobs);

/* The variants of a table without --variants; none if there is no such table. */
std::vector<std::string> default_variants(const std::string &table);

/* The machine of one class, with the settings of --set, calibrated. */
using Settings = std::vector<std::pair<std::string, double>>;
Machine prepare(const Machine &file, const std::string &class_name, const Settings &settings);

/*
 * That machine, then one machine for each other value of each parameter's `sweep`; without those
 * that have no effect.
 */
std::vector<Machine> sweep(const Machine &prepared, const Settings &settings = {});

/* The processor of each thread: all hardware threads of a core before the next core. */
std::vector<int> siblings_first(const Machine &machine, int threads);

struct Range {
	double middle = 0, low = 0, high = 0;
};

struct Row {
	Case of; /* its first run */
	Range ns_per_op, fairness, retries, fallbacks, transfers, longest_wait_ns;
	size_t runs = 0;
	int cut = 0;
};

struct Plan {
	Machine file;
	Case of; /* the table, and what is the same for all runs */
	std::vector<std::string> variants, class_names;
	std::vector<int> threads;
	std::vector<double> work = { 0 }, between = { 0 };
	int seeds = 3, jobs = 2;
	bool sweep = true; /* also the other values of guessed parameters, one at a time */
	Settings settings;
};

std::vector<Row> rows_of(const Plan &plan);

} // namespace sim

#endif
