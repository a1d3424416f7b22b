/* SPDX-License-Identifier: MIT */
#ifndef HF_SIM_TABLES_HPP
#define HF_SIM_TABLES_HPP
/*
 * tables - one simulated run of a variant, and the rows of a table: a range over seeds and over the
 * values that a guess may have.
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
	double between_ns = 0; /* inside of the pair, or of the critical section */
	double work_ns = 0;    /* between two pairs */
	double window_ns = 0;  /* 0 = by the number of threads */
	uint64_t seed = 1;
	double limit_s = 60;
	uint64_t event_limit = UINT64_MAX;
	std::vector<int> processors; /* where the threads are; empty = cores first */
	bool naps = true;            /* engine.hpp, E3 */
};

/* Plain data: passed between processes in shared memory. */
struct Outcome {
	double ns_per_op; /* of the whole machine */
	double fairness;
	double retries;   /* failed compare-and-swaps for each that succeeded, of all words */
	double fallbacks; /* lockref: the part of the operations that took the lock */
	double transfers, far_transfers; /* for each operation */
	double longest_wait_ns;
	double lock_ns, unlock_ns; /* of locks: what the operations took, of one thread */
	double preemptions, parks; /* for each operation */
	uint64_t events, naps, operations;
	bool cut;  /* a limit came first */
	bool done; /* it was run at all */
};

/*
 * Runs it. The variant is a name of the table, with what is different:
 *   bounded-15  wait=none|hint|backoff|late (all policies)  count=... (between two swaps of a count)
 *   passes=N  patience=N  late-min=N  late-max=N (wait.h's HF_WAIT_LATE)
 *   beside=ticket|mcs (another lock that each pair of a lockref takes twice)
 *   single (of a count's pair the get alone: a counter that only grows)
 * Throws std::runtime_error if a count is wrong, or there is no such variant.
 */
Outcome simulate(const Case &one);

/* Runs all cases in @jobs processes; long runs print their progress on stderr. */
std::vector<Outcome> simulate_all(const std::vector<Case> &cases, int jobs);

/* What a table has if nothing else is asked for. */
std::vector<std::string> default_variants(const std::string &table);
const std::vector<std::string> &table_names();

/* A machine of one class, with --set, calibrated. */
using Settings = std::vector<std::pair<std::string, double>>;
Machine prepare(const Machine &file, const std::string &class_name, const Settings &settings);

/*
 * That machine, and then the same with each other value of each parameter that has some, one at a
 * time; without those that change nothing for so many threads.
 */
std::vector<Machine> sweep(const Machine &prepared, int most_threads,
			   const Settings &settings = {});

/*
 * Where so many threads are: `cores`, each on a core of its own as far as there are cores, which is
 * the empty list; `siblings`, one core after the other; `sockets`, in turns on each socket.
 */
std::vector<int> placed(const Machine &machine, const std::string &how, int threads);

struct Range {
	double middle = 0, low = 0, high = 0;
};

struct Row {
	std::string table, variant, class_name;
	bool is_default = false; /* the one that the header ships */
	int threads;
	double work_ns, between_ns;
	Range ns_per_op, fairness, retries, fallbacks, transfers, longest_wait_ns;
	int runs = 0, cut = 0;
};

struct Plan {
	Machine file;
	std::string table;
	std::vector<std::string> variants, class_names;
	std::vector<int> threads;
	std::string place = "cores";
	std::vector<double> work, between = { 0 };
	double window_ns = 0, limit_s = 60;
	uint64_t event_limit = UINT64_MAX;
	int seeds = 3, jobs = 2;
	bool sweep = true; /* guesses too, one at a time */
	Settings settings;
};

std::vector<Row> rows_of(const Plan &plan);

} // namespace sim

#endif
