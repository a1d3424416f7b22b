/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_BENCH_HPP
#define HF_LAB_BENCH_HPP
/*
 * bench - how the lab measures: time windows, interleaved variants, checked counts.
 *
 * A table is a list of cells. A cell measures one variant in one case with one number of threads,
 * and yields one row or more. Each round runs every cell once. Its order is shuffled anew: first
 * the cases, then the variants of each case. So the variants of a case run one right after the
 * other and find the machine in the same state. A row is the median over the rounds; a ratio is the
 * median of the ratios within each round.
 *
 * A run is a time window: the threads start together, loop until they see the stop flag, and return
 * how many operations they did. ns_per_op is the wall time of the run divided by the operations of
 * all threads. Each run compares its count with the counter's own value; a mismatch marks the row
 * as failed, and a failed row is printed, not dropped. With no more threads than processors, a run
 * in which a thread lost its processor is repeated up to REPEATS times, and the number of
 * repetitions is reported; the decision depends on processor time, never on the result. A run
 * without an operation is repeated too; if it still has none, the row is marked as starved and
 * computed from the other runs.
 *
 * The noise is measured too: each round measures the table's default a second time, as a variant
 * named "<default> again". The difference between the two rows is their gap; smaller differences
 * are noise.
 *
 * A contended operation mostly costs the time in which a cache line moves from one processor to
 * another. On a virtual machine that time changes by a factor of five within a second, when the
 * host moves a virtual processor to another core. So the time of such a transfer is measured before
 * and after each contended run. A run in which it changed is repeated, and a row is computed from
 * the runs whose transfer time is near the table's median. The row reports that time as
 * transfer_ns.
 */
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lab
{

/* One thread's loop: runs until *stop is not 0, and returns how many operations it did. */
typedef uint64_t (*loop_t)(void *state, int thread, const int *stop);

constexpr int REPEATS = 3;

/* The processors that this process may use, and their number. */
const std::vector<int> &allowed_cpus();
int cpus();

struct Window {
	std::vector<uint64_t> ops; /* of each thread */
	double wall_ns;            /* from the first thread's start to the last one's end */
	bool disturbed;            /* a thread had less than 95 % of its processor */

	uint64_t total() const;
	double fairness() const; /* least over most */
};

/* Runs `loop` in `threads` threads. Thread i gets the i-th state and runs on the i-th processor of
 * `where`, modulo their numbers. */
Window run_window(int threads, int window_ms, loop_t loop, const std::vector<void *> &states,
		  const std::vector<int> &where = allowed_cpus());

/* The time in which a cache line moves from one processor to another: two threads pass a flag. */
double transfer_ns();

/* The state of a loop that does one thing: a size, and the number of wrong results. */
struct Task {
	size_t size = 0;
	uint64_t wrong = 0;
};

/* Calls the function until *stop, at least once. */
template <bool (*is_wrong)(Task &)>
uint64_t looped(void *state, int, const int *stop)
{
	Task *task = static_cast<Task *>(state);
	uint64_t done = 0;

	for (; !done || !__atomic_load_n(stop, __ATOMIC_RELAXED); done++)
		task->wrong += is_wrong(*task);
	return done;
}

/* The result of one run for one row. */
struct Sample {
	double ns_per_op = NAN;
	double fairness = NAN;
	bool checked = false;   /* the count was right */
	bool disturbed = false; /* Window::disturbed, or the transfer time changed */
	bool starved = false;   /* no operation was done: ns_per_op is not defined */
	std::map<std::string, double> more;
	double transfer_ns =
		0; /* of a cache line between two processors, after this run; 0 = not measured */
};

/* A sample whose ns_per_op is the time of the window divided by its operations. */
Sample sample_of(const Window &window, bool checked);

struct Row {
	std::string table, variant, kind, case_name;
	int threads;
	std::string baseline;
	std::map<std::string, std::string> labels; /* is, wait, base_variant, waiter, version */
	std::vector<Sample> samples;
	int repeated = 0;  /* runs that were disturbed or starved, and measured again */
	int set_aside = 0; /* runs left out because their transfer time is unusual */
	/* If the row is measured twice: the second samples, and the relative difference. */
	std::vector<Sample> again;
	double gap = NAN;

	Row(std::string table_name, std::string variant_name, std::string of_kind,
	    std::string name_of_case, int number_of_threads = 1)
		: table(std::move(table_name)), variant(std::move(variant_name)),
		  kind(std::move(of_kind)), case_name(std::move(name_of_case)),
		  threads(number_of_threads)
	{
	}
	/* The median over the samples that are not starved; NAN if there is none. */
	double median_of(const std::function<double(const Sample &)> &value) const;
	/* The median of Sample::more[key] over the samples that have it; NAN if there is none. */
	double more(const std::string &key) const;
	double gap_in(const std::string &key) const; /* the gap in that figure */
	double ns_per_op() const;
	/* The median of the ratios within each round, or the ratio of the medians if runs were set
	 * aside; NAN if one of the rows has no time. */
	double ratio_to(const Row &other) const;
	double spread() const; /* interquartile range over median */
	double fairness() const;
	bool checked() const;
	bool starved() const; /* true if any sample is */
};

struct Settings {
	int window_ms = 0; /* 0 = each table's default */
	int rounds = 0;    /* 0 = each table's default */
	int seconds = 0; /* planned for all tables; no run begins after twice that; 0 = no limit */
	unsigned int seed = 1;
	std::vector<int> threads; /* empty = each table's default */
	std::string only;         /* shell pattern on variants; empty = all */
};

struct Cell {
	std::vector<Row> rows;
	/* Does one run in a window of so many ms; returns a sample for each row. */
	std::function<std::vector<Sample>(int)> run;
	int window_ms = 20;
	int rounds = 15;
	double longest_ns = 0; /* the longest of its runs so far, with their set-up */

	/* True if there is more than one thread, and a processor for each. */
	bool contended() const
	{
		return rows.front().threads > 1 && rows.front().threads <= cpus();
	}
};

/* A figure computed from a table's rows, with or without an aim that it is held to. */
struct Aim {
	std::string group, what; /* "2 threads"; "throughput, of the best peer" */
	double value;            /* NAN = not measured */
	std::string bound;       /* "at least", "at most"; "" = a figure without an aim */
	double aim;              /* NAN = none */
	std::string detail;      /* the peer it was compared with, the worst case, ... */
	std::string unit = "";   /* "" = a ratio */
	std::string table = "";

	bool met() const { return bound == "at least" ? value >= aim : value <= aim; }
};

Aim at_least(double aim, const std::string &group, const std::string &what, double value,
	     const std::string &detail = "");
Aim at_most(double aim, const std::string &group, const std::string &what, double value,
	    const std::string &detail = "");
Aim figure(const std::string &group, const std::string &what, double value,
	   const std::string &detail = "");

/* Sets `gap` and `again` in each row that is measured twice. */
void note_gaps(std::vector<Row> *rows);
/* The row that measures the same variant again; NULL if there is none. */
const Row *again_of(const std::vector<Row> &rows, const Row &row);

/* The row with this variant, case and number of threads; NULL if there is none. */
const Row *find(const std::vector<Row> &rows, const std::string &variant,
		const std::string &case_name, int threads);
/* True if the row has a time and passed its check. */
bool valid(const Row *row);
/* The time of @row divided by that of @other; NAN unless both are valid. */
double times(const Row *row, const Row *other);
/* "2 threads" */
std::string threads_name(int threads);
/* The numbers of threads that occur in the rows, in ascending order. */
std::vector<int> threads_of(const std::vector<Row> &rows);

/* A geometric mean. */
struct Mean {
	double log_sum = 0;
	int n = 0;
	void add(double value);
	double mean() const; /* NAN if nothing was added */
};

using Cells = std::vector<Cell>(const Settings &settings);
/* Computes the aims of a table from its rows without the "again" ones. */
using Aims = std::vector<Aim>(const std::vector<Row> &rows);

struct Table {
	const char *name;
	const char *what;
	const char *baseline;
	Cells *cells;
	Aims *aims; /* NULL = none */
	/* The variant that is measured twice; "" = each row of kind "default". */
	const char *twice = "";
};

const std::vector<Table> &tables();

/* Each is defined in the file of its table. */
Cells refcount_cells, spinlock_cells, mutex_cells, cond_cells, lockref_cells, holder_cells,
	handoff_cells, clear_cells, copy_cells, verbs_cells, loop_cells, fault_cells, guard_cells,
	region_cells, openclose_cells, sparse_cells, mount_cells, readdir_cells;
Aims refcount_aims, mutex_aims, cond_aims, lockref_aims, holder_aims, memory_aims, verbs_aims,
	loop_aims, fault_aims, region_aims, openclose_aims, sparse_aims;

/* The cells of a table that the user's options select, and their planned time. */
struct Plan {
	const Table *table;
	std::vector<Cell> cells; /* empty if no variant matches --only */
	double ms;
	std::string cut; /* a sentence that names what the time limit or ^C left out; or "" */
};
Plan plan(const Table &table, const Settings &settings);
/* Reduces the rounds of each cell, to at least 3, and then the windows, until all take about `ms`.
 * Returns the planned time, which exceeds `ms` if the minimum does. */
double shorten(std::vector<Plan> *plans, double ms);

/* Prints progress: on a terminal one line that is overwritten, else a line every few seconds. */
class Progress {
public:
	explicit Progress(double all_ms);
	~Progress();
	void begin(const Plan &plan, const Row &row);
	void end(double ms) { done_ms_ += ms; }

private:
	double all_ms_, done_ms_ = 0, start_ns_, shown_ns_;
	bool terminal_;
};

/* The monotonic clock, and the processor time of this thread, in nanoseconds. */
double now_ns();
double thread_ns();

/* Measuring ends at a deadline, or after ^C. */
class Limit {
public:
	/* `end_ns`: INFINITY = no deadline; `clock`: tests replace it. */
	explicit Limit(double end_ns, double (*clock)() = now_ns) : end_ns_(end_ns), clock_(clock)
	{
	}
	/* The limit for a table if the tables after it need `ms`. */
	Limit before(double ms) const { return Limit(end_ns_ - ms * 1e6, clock_); }
	/* True if less than `ns` is left, or after ^C. */
	bool over(double ns) const;
	double clock() const { return clock_(); }

private:
	double end_ns_;
	double (*clock_)();
};
/* From now on ^C ends measuring after the current run; a second ^C kills the process. */
void catch_interrupt();
bool was_interrupted();

/* Measures the cells, and returns the rows that have a sample; plan->cut names the others. */
std::vector<Row> measure(Plan *plan, const Settings &settings, const Limit &limit,
			 Progress *progress);

/* The figures of one table: first the largest gap, then its aims. */
std::vector<Aim> aims_of(const Table &table, const std::vector<Row> &rows);

/* Nanoseconds for each tick of hf_lab_timestamp(); 0 if there is no such counter. */
double ns_per_tick();

/* The numbers of threads to measure with: --threads, or 1..cpus(). */
std::vector<int> thread_counts(const Settings &settings);

struct Missing {
	std::string peer, package;
};
std::vector<Missing> missing_peers();

constexpr int SCHEMA = 3; /* of the JSON; raised by each change that readers must know of */

/* The head of a result file: program, machine, settings. */
struct Run {
	std::string version, machine; /* the latter as JSON */
	std::vector<std::string> limits;
	std::vector<Missing> missing;
	Settings settings;
	double ns_per_tick;
};

/* The head for rows that this process measured; `cut`: Plan::cut of each table that has one. */
Run this_run(const std::vector<Row> &rows, const Settings &settings,
	     const std::vector<std::string> &cut = {});

std::string to_json(const std::vector<Row> &rows, const std::vector<Aim> &aims, const Run &run);
void print_plain(const std::vector<Row> &rows);
void print_aims(const std::vector<Aim> &aims);
/* Names the rows whose count was wrong; returns the exit status, 0 or 1. */
int report_failures(const std::vector<Row> &rows);

/* A string and a number as JSON; a number that is not finite is null. */
std::string quoted(const std::string &text);
std::string number(double value);
/* "-" if the value is not finite. */
std::string text_of(const char *format, double value);

/* Prints the processor's features, and which implementations clear and copy here. */
void print_cpu();
/* This machine, as JSON; whether it is virtual; the commit that this program was built from. */
std::string machine_json();
bool is_virtual_machine();
/* The text after ": " in the first line that begins with @key; the first line. "" if there is
 * none. */
std::string first_match(const char *file, const std::string &key);
std::string first_line(const std::string &file);
const char *commit();

} // namespace lab

#endif
