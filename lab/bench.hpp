/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_BENCH_HPP
#define HF_LAB_BENCH_HPP
/*
 * bench - how the lab measures: windows of time, interleaved, with counts that are checked.
 *
 * A table is a list of cells. A cell measures one variant in one case with a number of threads, and
 * yields one row or more. In every round each cell runs once, in an order that is shuffled anew:
 * the cases, and within a case its variants, which so run within one moment and meet the same
 * machine. A row is the median over the rounds, and a ratio the median of the ratios within each
 * round.
 *
 * A run is a window of time: the threads start together, loop until they see the stop flag, and
 * return how many operations they did. ns_per_op is the wall time of the run over the operations of
 * all threads. Each run checks its count against the counter's own value; one that fails makes
 * its row a failed one, which is printed and not dropped. With no more threads than processors, a
 * run in which something else took a processor away is repeated, up to REPEATS times, and that is
 * reported; the choice looks at processor time, never at the result. A run without an operation is
 * repeated too; if it stays so, its row is marked as starved, and is made of the other runs.
 *
 * Noise is measured too: every table measures its default once more in each round, as any other
 * variant, under the name "<default> again". The difference of the two rows is their gap;
 * smaller differences are noise.
 *
 * What a contended operation costs is above all the time in which a cache line moves from one
 * processor to another. On a virtual machine that time changes by a factor of five within a second,
 * when the host moves a virtual processor to another core. So each contended run has the time of
 * such a transfer measured before and after it; a run in which it changed is repeated, and a row is
 * made of the runs whose transfer time is near the table's median. The row has that time as
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

/* What one run gives for one row. */
struct Sample {
	double ns_per_op = NAN;
	double fairness = NAN;
	bool checked = false;   /* the count was right */
	bool disturbed = false; /* as the window's */
	bool starved = false;   /* no operation, so no time of one */
	std::map<std::string, double> more;
	double transfer_ns =
		0; /* of a cache line between two processors, during this run; 0 = none */
};

/* The usual one: the time of the window over its operations. */
Sample sample_of(const Window &window, bool checked);

struct Row {
	std::string table, variant, kind, case_name;
	int threads;
	std::string baseline;
	std::map<std::string, std::string> labels; /* is, wait, base_variant, waiter, version */
	std::vector<Sample> samples;
	int repeated = 0;  /* runs that were disturbed or starved, and measured again */
	int set_aside = 0; /* runs with another transfer time than most */
	/* If the row is measured twice: the second samples, and the relative difference; else NAN. */
	std::vector<Sample> again;
	double gap = NAN;

	Row(std::string table_name, std::string variant_name, std::string of_kind,
	    std::string name_of_case, int number_of_threads = 1)
		: table(std::move(table_name)), variant(std::move(variant_name)),
		  kind(std::move(of_kind)), case_name(std::move(name_of_case)),
		  threads(number_of_threads)
	{
	}
	/* Of the samples that are not starved; NAN = there is none. */
	double median_of(const std::function<double(const Sample &)> &value) const;
	double
	more(const std::string &key) const; /* the median of those that have it; NAN = none */
	double gap_in(const std::string &key) const; /* the gap in that figure */
	double ns_per_op() const;
	/* The median over the rounds of the ratio within a round; of medians, if runs were set aside.
	 * NAN = one of the two has no time. */
	double ratio_to(const Row &other) const;
	double spread() const; /* interquartile range over median */
	double fairness() const;
	bool checked() const;
	bool starved() const; /* a sample is */
};

struct Settings {
	int window_ms = 0; /* 0 = the table's own */
	int rounds = 0;
	int seconds = 0; /* planned for all tables, ended at twice that; 0 = as long as it takes */
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
	double longest_ns = 0; /* of its runs so far, with what they prepare */

	/* Do its threads have a processor each, and is there more than one? */
	bool contended() const
	{
		return rows.front().threads > 1 && rows.front().threads <= cpus();
	}
};

/* An aim of a table, or a figure without an aim, with the measured value. */
struct Aim {
	std::string group, what; /* "2 threads"; "throughput, of the best peer" */
	double value;            /* NAN = not measured */
	std::string bound;       /* "at least", "at most"; "" = a figure without an aim */
	double aim;              /* NAN = none */
	std::string detail;      /* what it was compared with, where the worst was, ... */
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

/* Sets `gap` in each row that is measured twice. */
void note_gaps(std::vector<Row> *rows);
/* The row that measures the same variant again; NULL = there is none. */
const Row *again_of(const std::vector<Row> &rows, const Row &row);

/* For computing aims; NULL if there is no such row. */
const Row *find(const std::vector<Row> &rows, const std::string &variant,
		const std::string &case_name, int threads);
/* True if the row has a time and passed its check. */
bool valid(const Row *row);
/* Time of one over that of the other; NAN unless both are valid. */
double times(const Row *row, const Row *other);
/* "2 threads" */
std::string threads_name(int threads);
/* The numbers of threads that occur. */
std::vector<int> threads_of(const std::vector<Row> &rows);

/* A geometric mean. */
struct Mean {
	double log_sum = 0;
	int n = 0;
	void add(double value);
	double mean() const; /* NAN = of none */
};

struct Table {
	const char *name;
	const char *what;
	const char *baseline;
	std::vector<Cell> (*cells)(const Settings &);
	/* From this table's rows, without those that are measured again; NULL = it aims at nothing. */
	std::vector<Aim> (*aims)(const std::vector<Row> &rows);
	/* The variant that is measured twice; "" = the rows of kind "default". */
	const char *twice = "";
};

const std::vector<Table> &tables();

/* Each is defined in the file of its table. */
std::vector<Cell> refcount_cells(const Settings &settings);
std::vector<Cell> spinlock_cells(const Settings &settings);
std::vector<Cell> mutex_cells(const Settings &settings);
std::vector<Cell> cond_cells(const Settings &settings);
std::vector<Cell> lockref_cells(const Settings &settings);
std::vector<Cell> holder_cells(const Settings &settings);
std::vector<Cell> handoff_cells(const Settings &settings);
std::vector<Cell> clear_cells(const Settings &settings);
std::vector<Cell> copy_cells(const Settings &settings);
std::vector<Cell> verbs_cells(const Settings &settings);
std::vector<Cell> loop_cells(const Settings &settings);
std::vector<Cell> fault_cells(const Settings &settings);
std::vector<Cell> guard_cells(const Settings &settings);
std::vector<Cell> region_cells(const Settings &settings);
std::vector<Cell> openclose_cells(const Settings &settings);
std::vector<Cell> sparse_cells(const Settings &settings);
std::vector<Cell> mount_cells(const Settings &settings);
std::vector<Cell> readdir_cells(const Settings &settings);

std::vector<Aim> refcount_aims(const std::vector<Row> &rows);
std::vector<Aim> mutex_aims(const std::vector<Row> &rows);
std::vector<Aim> cond_aims(const std::vector<Row> &rows);
std::vector<Aim> lockref_aims(const std::vector<Row> &rows);
std::vector<Aim> holder_aims(const std::vector<Row> &rows);
std::vector<Aim> memory_aims(const std::vector<Row> &rows);
std::vector<Aim> verbs_aims(const std::vector<Row> &rows);
std::vector<Aim> loop_aims(const std::vector<Row> &rows);
std::vector<Aim> fault_aims(const std::vector<Row> &rows);
std::vector<Aim> region_aims(const std::vector<Row> &rows);
std::vector<Aim> openclose_aims(const std::vector<Row> &rows);
std::vector<Aim> sparse_aims(const std::vector<Row> &rows);

/* The cells of a table that the user's options select, and their planned time. */
struct Plan {
	const Table *table;
	std::vector<Cell> cells; /* empty = --only left nothing */
	double ms;
	std::string cut; /* what the time limit or ^C left out, in a sentence; "" = nothing */
};
Plan plan(const Table &table, const Settings &settings);
/* Reduces the runs of each row, to 3 at least, and then their length, until all takes about `ms`.
 * Returns the planned time, which is longer if the minimum is. */
double shorten(std::vector<Plan> *plans, double ms);

/* Progress of the whole call: on a terminal one line that is overwritten, else a line every few
 * seconds. */
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

/* Nanoseconds since some moment, and of processor time of this thread. */
double now_ns();
double thread_ns();

/* When measuring has to end: at a deadline, or after ^C. */
class Limit {
public:
	/* `end_ns`: INFINITY = no deadline; `clock`: tests pass their own. */
	explicit Limit(double end_ns, double (*clock)() = now_ns) : end_ns_(end_ns), clock_(clock)
	{
	}
	/* The limit of a table, if the tables after it need `ms`. */
	Limit before(double ms) const { return Limit(end_ns_ - ms * 1e6, clock_); }
	/* Whether less than `ns` is left. */
	bool over(double ns) const;
	double clock() const { return clock_(); }

private:
	double end_ns_;
	double (*clock_)();
};
/* From now on ^C ends measuring after the current run; a second one kills. */
void catch_interrupt();
bool was_interrupted();

/* Measures the cells and returns the rows that have a sample; plan->cut names the others. */
std::vector<Row> measure(Plan *plan, const Settings &settings, const Limit &limit,
			 Progress *progress);

/* The verdict on the rows of one table: the gap first, then its aims. */
std::vector<Aim> aims_of(const Table &table, const std::vector<Row> &rows);

/* hf_lab_timestamp() ticks to nanoseconds; 0 if there is no such counter. */
double ns_per_tick();

/* The numbers of threads to measure with: the user's, or 1..cpus(). */
std::vector<int> thread_counts(const Settings &settings);

struct Missing {
	std::string peer, package;
};
std::vector<Missing> missing_peers();

constexpr int SCHEMA = 3; /* of the JSON; raised when a reader must know of a change */

/* The head of a result file: program, machine, settings. */
struct Run {
	std::string version, machine; /* the latter as JSON */
	std::vector<std::string> limits;
	std::vector<Missing> missing;
	Settings settings;
	double ns_per_tick;
};

/* The head for rows that this program measured; `cut`: Plan::cut of each table that has one. */
Run this_run(const std::vector<Row> &rows, const Settings &settings,
	     const std::vector<std::string> &cut = {});

std::string to_json(const std::vector<Row> &rows, const std::vector<Aim> &aims, const Run &run);
void print_plain(const std::vector<Row> &rows);
void print_aims(const std::vector<Aim> &aims);
/* Names the rows whose count was wrong; returns the exit status, 0 or 1. */
int report_failures(const std::vector<Row> &rows);

/* JSON's forms of a string and a number; null = not finite. */
std::string quoted(const std::string &text);
std::string number(double value);
/* "-" where there is no such figure. */
std::string text_of(const char *format, double value);

/* The processor's features, and what clears and copies here. */
void print_cpu();
/* This machine, as JSON; whether it is virtual; the commit of this program. */
std::string machine_json();
bool is_virtual_machine();
const char *commit();

} // namespace lab

#endif
