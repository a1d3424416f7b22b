/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_BENCH_HPP
#define HF_LAB_BENCH_HPP
/*
 * bench - how the lab measures: windows of time, interleaved, with counts that are checked.
 *
 * A table is a list of cells. A cell measures one variant in one case with a number of threads, and
 * yields one row or more. In every round each cell runs once, in an order that is shuffled anew: the
 * cases, and within a case its variants, which so run within one moment and meet the same machine. A row
 * is the median over the rounds, and a ratio the median of the ratios within each round.
 *
 * A run is a window of time: the threads start together, loop until they see the stop flag, and say
 * how many operations they did. ns_per_op is the wall time of the run over the operations of all
 * threads. Each run checks its count against what the counter itself says; one that fails makes
 * its row a failed one, which is printed and not dropped. With no more threads than processors, a
 * run in which something else took a processor away is repeated, up to REPEATS times, and that is
 * said; the choice looks at processor time, never at the result.
 *
 * What a contended operation costs is above all the time in which a cache line moves from one
 * processor to another. On a virtual machine that time changes by a factor of five within a second,
 * when the host moves a virtual processor to another core. So each contended run has the time of
 * such a transfer measured before and after it; a run in which it changed is repeated, and a row is
 * made of the runs whose transfer time is near the table's median. The row says what it was.
 */
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lab
{

/* One thread's loop: runs until *stop is not 0; returns its number of operations. */
typedef uint64_t (*loop_t)(void *state, int thread, const int *stop);

constexpr int REPEATS = 3;

/* The processors that this process may use. */
int cpus();

struct Window {
	std::vector<uint64_t> ops; /* of each thread */
	double wall_ns;            /* from the first thread's start to the last one's end */
	bool disturbed;            /* a thread had less than 95 % of its processor */

	uint64_t total() const;
	double fairness() const; /* least over most */
};

/* Runs `loop` in `threads` threads, thread i on the i-th processor (mod their number). */
Window run_window(int threads, int window_ms, loop_t loop, const std::vector<void *> &states);

/* How long a cache line takes from one processor to another: a flag sent back and forth. */
double transfer_ns();

/* What one run says of one row. */
struct Sample {
	double ns_per_op;
	double fairness;
	bool checked;   /* the count was right */
	bool disturbed; /* as the window's */
	std::map<std::string, double> more;
	double transfer_ns =
		0; /* of a cache line between two processors, during this run; 0 = none */
};

struct Row {
	std::string table, variant, kind, case_name;
	int threads = 1;
	std::string baseline;
	std::map<std::string, std::string> labels; /* is, wait, base_variant */
	std::vector<Sample> samples;
	int repeated = 0;  /* runs that were disturbed and measured again */
	int set_aside = 0; /* runs with another transfer time than most */

	double median_of(const std::function<double(const Sample &)> &value) const;
	double more(const std::string &key) const; /* the median of those that have it; NAN = none */
	double ns_per_op() const;
	/* The median over the rounds of the ratio within a round; of medians, if runs were set aside. */
	double ratio_to(const Row &other) const;
	double spread() const; /* interquartile range over median */
	double fairness() const;
	bool checked() const;
};

struct Settings {
	int window_ms = 0; /* 0 = the table's own */
	int rounds = 0;
	unsigned int seed = 1;
	std::vector<int> threads; /* empty = the table's own */
	std::string only;         /* shell pattern on variants; empty = all */
};

struct Cell {
	std::vector<Row> rows;
	/* One run, and a sample for each row. The argument is the length of the window in ms. */
	std::function<std::vector<Sample>(int)> run;
	int window_ms = 20;
	int rounds = 15;

	/* Do its threads have a processor each, and is there more than one? */
	bool contended() const
	{
		return rows.front().threads > 1 && rows.front().threads <= cpus();
	}
};

struct Table {
	const char *name;
	const char *what;
	const char *baseline;
	std::vector<Cell> (*cells)(const Settings &);
};

const std::vector<Table> &tables();

/* Each table's own file. */
std::vector<Cell> refcount_cells(const Settings &settings);
std::vector<Cell> spinlock_cells(const Settings &settings);
std::vector<Cell> mutex_cells(const Settings &settings);
std::vector<Cell> lockref_cells(const Settings &settings);
std::vector<Cell> holder_cells(const Settings &settings);
std::vector<Cell> handoff_cells(const Settings &settings);
std::vector<Cell> clear_cells(const Settings &settings);
std::vector<Cell> copy_cells(const Settings &settings);
std::vector<Cell> loop_cells(const Settings &settings);
std::vector<Cell> fault_cells(const Settings &settings);
std::vector<Cell> guard_cells(const Settings &settings);
std::vector<Cell> openclose_cells(const Settings &settings);
std::vector<Cell> sparse_cells(const Settings &settings);
std::vector<Cell> mount_cells(const Settings &settings);
std::vector<Cell> readdir_cells(const Settings &settings);

/* Measures all cells and returns their rows. Shows progress if standard error is a terminal. */
std::vector<Row> measure(const Table &table, const Settings &settings);

/* Nanoseconds since some moment. */
double now_ns();

/* hf_arch_timestamp() ticks to nanoseconds; 0 if there is no such counter. */
double ns_per_tick();

/* The numbers of threads to measure with: the user's, or 1..cpus(). */
std::vector<int> thread_counts(const Settings &settings);

struct Missing {
	std::string peer, package;
};
std::vector<Missing> missing_peers();

std::string to_json(const std::vector<Row> &rows, const Settings &settings);
void print_plain(const std::vector<Row> &rows);

/* What `clear`, `copy` and `fault` come to, against what they aim at. */
void print_memory_verdict(const std::vector<Row> &rows);

/* The same for `mutex`. */
void print_mutex_verdict(const std::vector<Row> &rows);

/* The same for `lockref` and `holder`. */
void print_lockref_verdict(const std::vector<Row> &rows);

/* The same for `openclose` and `sparse`. */
void print_tmpfs_verdict(const std::vector<Row> &rows);

/* What the processor says that it can do, and what clears and copies here. */
void print_cpu();

} // namespace lab

#endif
