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
 * The first round of all tables comes first: it shows what each cell costs on this machine. From
 * these times, and from those of all later runs, each table then gets as many rounds as fit.
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

#include <sys/types.h>

namespace lab
{

/* One thread's loop: runs until *stop is not 0, and returns how many operations it did. */
typedef uint64_t (*loop_t)(void *state, int thread, const int *stop);

constexpr int REPEATS = 3;

/* The least of the values over the most; 0 if all are 0. */
double least_over_most(const std::vector<uint64_t> &values);

/* The value below which the share `q` of the values is; NAN if there are none. */
double quantile(std::vector<double> values, double q);

/* The processors that this process may use, and their number. */
const std::vector<int> &allowed_cpus();
int cpus();

struct Window {
	std::vector<uint64_t> ops; /* of each thread */
	double wall_ns;            /* from the first thread's start to the last one's end */
	bool disturbed;            /* a thread had less than 95 % of its processor */

	uint64_t total() const;
	double fairness() const { return least_over_most(ops); }
};

/* What is called while the threads of a window run: after `first_ms`, then every `each_ms`. */
struct Ticks {
	double first_ms = INFINITY, each_ms = INFINITY;
	std::function<void()> tick = {};
};

/* Runs `loop` in `threads` threads. Thread i gets the i-th state and runs on the i-th processor of
 * `where`, modulo their numbers; without processors in `where` threads are not pinned. */
Window run_window(int threads, int window_ms, loop_t loop, const std::vector<void *> &states,
		  const std::vector<int> &where = allowed_cpus(), const Ticks &ticks = {});

/* Where the threads of a run execute, and beside whom. */
struct Placement {
	const char *name;  /* begins the case's name; "" = each thread is pinned to a processor */
	bool one = false;  /* all threads are pinned to one processor */
	bool free = false; /* threads are not pinned */
	bool busy = false; /* beside as many busy processes as there are processors */

	std::vector<int> where() const;
	/* How the name of a case begins. */
	std::string case_of(int threads) const;
	/* Whether throughput depends on others, or on one processor: then CPU time is judged. */
	bool shared() const { return one || busy; }
};
constexpr Placement ALONE = { "" };
constexpr Placement PLACEMENTS[] = { { "one processor", true },
				     { "not pinned", false, true },
				     { "beside busy processes", false, true, true } };

/* As many busy processes as there are processors, until it is destroyed; none if not `wanted`. */
class BusyProcesses {
public:
	explicit BusyProcesses(bool wanted);
	~BusyProcesses();

private:
	std::vector<pid_t> children_;
};

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

/* One of two levels between which a row's runs alternate. */
struct Level {
	double ns_per_op, share;
};

/* The result of one run for one row. */
struct Sample {
	double ns_per_op = NAN;
	double fairness = NAN;
	bool checked = false;   /* the count was right */
	bool disturbed = false; /* Window::disturbed, or the transfer time changed: repeat it */
	bool robbed = false;    /* other programs had processors, also when it was repeated */
	int round = 0;
	bool starved = false; /* no operation was done: ns_per_op is not defined */
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
	int repeated = 0;   /* runs that were disturbed or starved, and measured again */
	int left_out = 0;   /* runs left out because other programs had the processors */
	int set_aside = 0;  /* runs left out because their transfer time is unusual */
	bool twice = false; /* it is measured twice: the table's default */
	double gap = NAN;   /* the relative difference of the two */

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
	double ns_per_op() const;
	/* The median of the ratios within each round, or the ratio of the medians if runs were left
	 * out; NAN if one of the rows has no time. */
	double ratio_to(const Row &other) const;
	double spread() const; /* interquartile range over median */
	double fairness() const;
	bool checked() const;
	bool starved() const; /* true if any sample is */
	bool robbed() const;  /* true if half of the samples or more are */
	/* The faster level and the slower one, or nothing if there are not two. */
	std::vector<Level> levels() const;
};

/*
 * Two levels: at least five times, of which each level has a fifth and two or more, and between
 * them a gap of a quarter that is three times as wide as either level's own range. A median of such
 * a row would depend on chance.
 */
std::vector<Level> levels_of(std::vector<double> times);
constexpr int ROUNDS_OF_LEVELS = 7; /* so many most likely show both levels */
/* "275 (60 %) or 432 ns (40 %)"; "" if there is one level. */
std::string levels_text(const std::vector<Level> &levels);

struct Settings {
	int window_ms = 0; /* 0 = each table's default */
	int rounds = 0;    /* 0 = each table's default */
	int seconds = 0;   /* for all tables; 0 = as long as they take */
	int names = 0;     /* in the directories of `mount` and `readdir`; 0 = their default */
	unsigned int seed = 1;
	bool anyway = false;      /* verdicts even if others disturb */
	std::vector<int> threads; /* empty = each table's default */
	std::string only;         /* shell pattern on variants; empty = all */
};

struct Cell {
	std::vector<Row> rows;
	/* Does one run in a window of so many ms; returns a sample for each row. */
	std::function<std::vector<Sample>(int)> run;
	int window_ms = 20;
	int rounds = 15;           /* at most: more are not worth their time */
	int least = 3;             /* before any cell gets more than its own `least` */
	double setup_ms = 0;       /* a guess: the time of a run beyond its window */
	bool pinned = true;        /* each thread to a processor of its own, if there are enough */
	double longest_ms = 0;     /* the longest of its runs so far */
	double spent_ms = 0;       /* the time of all its runs so far, with repetitions */
	int done = 0, planned = 0; /* rounds so far, and rounds that it is to have */
	int again = 0;             /* rounds that were added because others disturbed it */

	/* True if there is more than one thread, and a processor for each. */
	bool contended() const
	{
		return pinned && rows.front().threads > 1 && rows.front().threads <= cpus();
	}
};

/* True if the row has a time and passed its check. */
bool valid(const Row *row);
/* "2 threads"; "100 k names" */
std::string threads_name(int threads);
std::string names_name(int names);
using Cells = std::vector<Cell>(const Settings &settings);
/*
 * To add a table: NAME.cpp defines NAME_cells() (mutex.cpp is an example; work.hpp has work for
 * critical sections); declare it below, and list it in tables() of main.cpp. In
 * lab/report/holdfast_report: how it is shown (FAMILIES of tables.py), what it aims at (AIMS of
 * aims.py), and which code it measures (CODE of code_age.py).
 */
struct Table {
	const char *name;
	const char *what;
	const char *baseline;
	Cells *cells;
	/* The variant that is measured twice; "" = each row of kind "default". */
	const char *twice = "";
};

const std::vector<Table> &tables();

/* Each is defined in the file of its table. */
Cells refcount_cells, spinlock_cells, mutex_cells, cond_cells, rwlock_cells, lockref_cells,
	holder_cells, handoff_cells, clear_cells, copy_cells, verbs_cells, loop_cells, fault_cells,
	guard_cells, region_cells, validate_cells, openclose_cells, sparse_cells, mount_cells,
	readdir_cells;
/* The monotonic clock, and the processor time of this thread, in nanoseconds. */
double now_ns();
double thread_ns();

/* ---- the schedule --------------------------------------------------------------------------- */

/* The cells of a table that the user's options select. */
struct Plan {
	const Table *table;
	std::vector<Cell> cells; /* empty if no variant matches --only */
	unsigned int seed;
	int rounds = 0;         /* that were begun */
	bool cut_short = false; /* by the time limit or ^C */

	/* Words on what the time limit or ^C left out; or "". */
	std::string cut() const;
};
Plan plan(const Table &table, const Settings &settings);

/* Shortens the windows until one round of all cells takes `ms` at most, by their plan. */
void shorten(std::vector<Plan> *plans, double ms);

/*
 * The rest of a measurement, from recorded times alone: no clock. A cell that has run costs the
 * mean of its runs; one that has not, what was planned, times the ratio of recorded to planned
 * times of those that have.
 */
double left_ms(const std::vector<Plan> &plans);
/* Sets Cell::planned of each cell so that the rest takes `ms`: the same share of the rounds of each
 * cell, but Cell::least at least; if that takes too long, 3 at most; then 2; or else 1. */
void fit(std::vector<Plan> *plans, double ms);

/* Measuring ends at a deadline, or after ^C. */
class Limit {
public:
	/* `ms`: what it may take; INFINITY = no limit. */
	explicit Limit(double ms) : ms_(ms), start_ns_(now_ns()) {}
	double passed_ms() const { return (now_ns() - start_ns_) / 1e6; }
	double left_ms() const { return ms_ - passed_ms(); }
	/* True if this run could end later than half of the time after its end, or after ^C. */
	bool over(double run_ms) const;

private:
	double ms_, start_ns_;
};
/* Prints progress: on a terminal one line that is overwritten, else a line every few seconds. */
class Progress {
public:
	Progress(const std::vector<Plan> &plans, const Limit &limit);
	~Progress();
	void begin(const Plan &plan, const Cell &cell);

private:
	const std::vector<Plan> &plans_;
	const Limit &limit_;
	double shown_ms_ = 0;
	bool terminal_;
};

/* From now on ^C ends measuring after the current run; a second ^C kills the process. */
void catch_interrupt();
bool was_interrupted();

/* What a table's runs gave: the rows that have a sample, with their gaps. */
std::vector<Row> rows_of(const Plan &plan);
/* Measures one round of each plan, then the others, plan by plan, then cells that others disturbed
 * once more, at most REPEATS times. Calls `keep` after the first round and after each plan. */
void measure(std::vector<Plan> *plans, const Limit &limit, Progress *progress,
	     const std::function<void()> &keep);

/* ---- the machine's other users --------------------------------------------------------------- */

/* Processor time since the machine started, in seconds, of the processors that we may use. */
struct CpuTime {
	double all = 0, busy = 0, stolen = 0; /* stolen: by the host of a virtual machine */
	double ours = 0;                      /* this process and its children */
};
CpuTime cpu_time();
/* The share of the processors' time that others had from then to now; 0 if the kernel tells
 * nothing. */
double others_share(const CpuTime &then, const CpuTime &now);
constexpr double DISTURBED = 0.1; /* a round in which others had more is disturbed */

/* How much of what was planned can be used, of one table or of all. */
struct Quality {
	int rows = 0, missing = 0, disturbed = 0; /* missing: without a time */
	bool interrupted = false;                 /* what is missing, the user left out */
	bool anyway = false;                      /* Settings::anyway */

	/* More than a fifth is missing or disturbed: these results decide nothing. */
	bool bad() const { return !anyway && 5 * ((interrupted ? 0 : missing) + disturbed) > rows; }
	std::string words() const; /* "of 8 rows 3 were disturbed ..." */
};
/* The quality of each table that has rows to measure, by its name. */
std::map<std::string, Quality> qualities_of(const std::vector<Plan> &plans,
					    const std::vector<Row> &rows, bool anyway);

/* Nanoseconds for each tick of hf_lab_timestamp(); 0 if there is no such counter. */
double ns_per_tick();

/* The numbers of threads to measure with: --threads, or 1..cpus(). */
std::vector<int> thread_counts(const Settings &settings);

struct Missing {
	std::string peer, package;
};
std::vector<Missing> missing_peers();

constexpr int SCHEMA = 5; /* of the JSON; raised by each change that readers must know of */

/* The head of a result file: program, machine, settings. */
struct Run {
	std::string version, machine; /* the latter as JSON */
	std::vector<std::string> limits;
	std::vector<Missing> missing;
	Settings settings;
	double ns_per_tick;
	std::map<std::string, Quality> qualities = {}; /* by table */
	double others_before = 0;                      /* others_share() before the first run */

	/* Why no table decides anything, or "". */
	std::string busy() const;
};

/* The head for rows that this process measured. */
Run this_run(const std::vector<Row> &rows, const Settings &settings, const std::vector<Plan> &plans,
	     double others_before = 0);

std::string to_json(const std::vector<Row> &rows, const Run &run);
void print_plain(const std::vector<Row> &rows);
/* Names the rows whose count was wrong; returns the exit status, 0 or 1. */
int report_failures(const std::vector<Row> &rows);

/* A string and a number as JSON; a number that is not finite is null. */
std::string quoted(const std::string &text);
std::string number(double value);

/* A JSON object or array in the making; a value is JSON, or a string. */
class Json {
public:
	Json &add(const char *name, const std::string &json)
	{
		return item(quoted(name) + ": " + json);
	}
	Json &text(const char *name, const std::string &value) { return add(name, quoted(value)); }
	Json &number(const char *name, double value) { return add(name, lab::number(value)); }
	Json &item(const std::string &json)
	{
		items_ += (items_.empty() ? "" : ", ") + json;
		return *this;
	}
	std::string object() const { return "{" + items_ + "}"; }
	std::string array() const { return "[" + items_ + "]"; }
	bool empty() const { return items_.empty(); }

private:
	std::string items_;
};
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
