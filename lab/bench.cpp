/* SPDX-License-Identifier: MIT */
#include "bench.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fnmatch.h>
#include <memory>
#include <pthread.h>
#include <random>
#include <sched.h>
#include <sys/resource.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "timestamp.h"

namespace lab
{

double now_ns()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

double thread_ns()
{
	timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

static std::vector<int> read_cpus()
{
	std::vector<int> list;
	cpu_set_t set;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set) == 0) {
		for (int i = 0; i < CPU_SETSIZE; i++) {
			if (CPU_ISSET(i, &set))
				list.push_back(i);
		}
	}
	if (list.empty())
		list.push_back(0);
	return list;
}

/* Read once, before any thread is pinned. */
const std::vector<int> &allowed_cpus()
{
	static const std::vector<int> list = read_cpus();

	return list;
}

int cpus()
{
	return static_cast<int>(allowed_cpus().size());
}

double ns_per_tick()
{
	static const double rate = [] {
		double t0 = now_ns();
		uint64_t c0 = hf_lab_timestamp();

		while (now_ns() - t0 < 20e6)
			;
		uint64_t c1 = hf_lab_timestamp();

		return c1 == c0 ? 0.0 : (now_ns() - t0) / static_cast<double>(c1 - c0);
	}();

	return rate;
}

std::vector<int> thread_counts(const Settings &settings)
{
	std::vector<int> list = settings.threads;

	if (list.empty()) {
		for (int i = 1; i <= cpus(); i++)
			list.push_back(i);
	}
	return list;
}

uint64_t Window::total() const
{
	uint64_t sum = 0;

	for (uint64_t n : ops)
		sum += n;
	return sum;
}

double Window::fairness() const
{
	uint64_t least = *std::min_element(ops.begin(), ops.end());
	uint64_t most = *std::max_element(ops.begin(), ops.end());

	return most ? static_cast<double>(least) / static_cast<double>(most) : 0;
}

Sample sample_of(const Window &window, bool checked)
{
	Sample sample;

	sample.ns_per_op = window.wall_ns / static_cast<double>(window.total());
	sample.fairness = window.fairness();
	sample.checked = checked;
	sample.disturbed = window.disturbed;
	sample.starved = window.total() == 0;
	return sample;
}

namespace
{

struct alignas(128) Worker {
	pthread_t thread;
	int index;
	int cpu;
	loop_t loop;
	void *state;
	std::atomic<int> *ready;
	const std::atomic<int> *go;
	const int *stop;
	uint64_t ops;
	double start_ns, end_ns;
	bool disturbed; /* something else had its processor for a while */
};

/* The number of voluntary context switches of this thread. */
long waits()
{
	rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nvcsw : 0;
}

void *work(void *argument)
{
	Worker *w = static_cast<Worker *>(argument);
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(w->cpu, &set);
	(void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	w->ready->fetch_add(1);
	/* With more threads than processors this must yield, or the last thread never starts. */
	while (!w->go->load(std::memory_order_acquire))
		sched_yield();
	long waited = waits();
	double used = thread_ns();

	w->start_ns = now_ns();
	w->ops = w->loop(w->state, w->index, w->stop);
	w->end_ns = now_ns();
	used = thread_ns() - used;
	/* A thread that parked gave its processor up voluntarily, which is no disturbance. */
	w->disturbed = waits() == waited && used < 0.95 * (w->end_ns - w->start_ns);
	return nullptr;
}

} // namespace

Window run_window(int threads, int window_ms, loop_t loop, const std::vector<void *> &states,
		  const std::vector<int> &where)
{
	std::vector<Worker> workers(static_cast<size_t>(threads));
	std::atomic<int> ready(0);
	std::atomic<int> go(0);
	alignas(128) int stop = 0;
	Window result;
	double first = 0, last = 0;

	result.disturbed = false;
	for (int i = 0; i < threads; i++) {
		Worker &w = workers[static_cast<size_t>(i)];

		w.index = i;
		w.cpu = where[static_cast<size_t>(i) % where.size()];
		w.loop = loop;
		w.state = states[static_cast<size_t>(i) % states.size()];
		w.ready = &ready;
		w.go = &go;
		w.stop = &stop;
		int error = pthread_create(&w.thread, nullptr, work, &w);

		if (error) {
			go.store(1);
			__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
			for (int j = 0; j < i; j++)
				pthread_join(workers[static_cast<size_t>(j)].thread, nullptr);
			throw std::system_error(error, std::generic_category(),
						"can't start thread " + std::to_string(i + 1) +
							" of " + std::to_string(threads));
		}
	}
	while (ready.load() != threads)
		usleep(50);
	go.store(1, std::memory_order_release);

	timespec pause = { window_ms / 1000, window_ms % 1000 * 1000000L };

	nanosleep(&pause, nullptr);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (Worker &w : workers) {
		pthread_join(w.thread, nullptr);
		result.ops.push_back(w.ops);
		first = first == 0 ? w.start_ns : std::min(first, w.start_ns);
		last = std::max(last, w.end_ns);
		result.disturbed |= threads <= cpus() && w.disturbed;
	}
	result.wall_ns = last - first;
	return result;
}

/* ---- the transfer time of a cache line ------------------------------------------------------- */

namespace
{

struct alignas(128) Flag {
	std::atomic<uint64_t> value;
};

/* Thread 0 stores odd numbers, thread 1 answers with the next even one. */
uint64_t send(void *state, int thread, const int *stop)
{
	std::atomic<uint64_t> &flag = static_cast<Flag *>(state)->value;
	uint64_t mine = thread == 0 ? 1 : 2;
	uint64_t sent = 0;

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		if (flag.load(std::memory_order_acquire) == mine - 1) {
			flag.store(mine, std::memory_order_release);
			mine += 2;
			sent++;
		}
	}
	return sent;
}

} // namespace

double transfer_ns()
{
	Flag flag;

	flag.value = 0;
	Window window = run_window(2, 1, send, { &flag });

	return window.total() ? window.wall_ns / static_cast<double>(window.total()) : 0;
}

/* True if these two transfer times differ by noise only. */
static bool same_transfer(double a, double b)
{
	return std::max(a, b) < 1.5 * std::min(a, b);
}

/* ---- rows ---------------------------------------------------------------------------------- */

static double quantile(std::vector<double> values, double q)
{
	if (values.empty())
		return NAN;
	std::sort(values.begin(), values.end());
	double at = q * static_cast<double>(values.size() - 1);
	size_t low = static_cast<size_t>(at);
	size_t high = std::min(low + 1, values.size() - 1);

	return values[low] + (values[high] - values[low]) * (at - static_cast<double>(low));
}

static double quantile_of(const std::vector<Sample> &samples, double q,
			  const std::function<double(const Sample &)> &value)
{
	std::vector<double> values;

	for (const Sample &s : samples) {
		if (!s.starved && std::isfinite(value(s)))
			values.push_back(value(s));
	}
	return quantile(values, q);
}

static double time_of(const Sample &sample)
{
	return sample.ns_per_op;
}

double Row::median_of(const std::function<double(const Sample &)> &value) const
{
	return quantile_of(samples, 0.5, value);
}

static double more_of(const std::vector<Sample> &samples, const std::string &key)
{
	return quantile_of(samples, 0.5, [&](const Sample &s) {
		auto at = s.more.find(key);

		return at == s.more.end() ? NAN : at->second;
	});
}

double Row::more(const std::string &key) const
{
	return more_of(samples, key);
}

double Row::gap_in(const std::string &key) const
{
	double ratio = more_of(again, key) / more(key);

	return std::max(ratio, 1 / ratio) - 1;
}

/* A time of 0 was too short to measure. */
static double time_ratio(double a, double b)
{
	return a > 0 && b > 0 ? a / b : NAN;
}

double Row::ratio_to(const Row &other) const
{
	std::vector<double> ratios;

	if (set_aside || other.set_aside || samples.size() != other.samples.size())
		return time_ratio(ns_per_op(), other.ns_per_op());
	for (size_t i = 0; i < samples.size(); i++) {
		double ratio = time_ratio(samples[i].ns_per_op, other.samples[i].ns_per_op);

		if (!samples[i].starved && !other.samples[i].starved && std::isfinite(ratio))
			ratios.push_back(ratio);
	}
	return quantile(std::move(ratios), 0.5);
}

double Row::ns_per_op() const
{
	return median_of(time_of);
}

double Row::spread() const
{
	return (quantile_of(samples, 0.75, time_of) - quantile_of(samples, 0.25, time_of)) /
	       ns_per_op();
}

double Row::fairness() const
{
	return median_of([](const Sample &s) { return s.fairness; });
}

bool Row::checked() const
{
	return !samples.empty() && std::all_of(samples.begin(), samples.end(),
					       [](const Sample &s) { return s.checked; });
}

bool Row::starved() const
{
	return std::any_of(samples.begin(), samples.end(),
			   [](const Sample &s) { return s.starved; });
}

/* ---- measuring ------------------------------------------------------------------------------ */

Progress::Progress(double all_ms)
	: all_ms_(all_ms), start_ns_(now_ns()), shown_ns_(start_ns_),
	  terminal_(isatty(STDERR_FILENO))
{
}

Progress::~Progress()
{
	if (terminal_)
		fprintf(stderr, "\r\033[K");
}

void Progress::begin(const Plan &plan, const Row &row)
{
	constexpr double EVERY_NS = 3e9;
	double now = now_ns(), share = done_ms_ / all_ms_;

	if (!terminal_ && now - shown_ns_ < EVERY_NS)
		return;
	shown_ns_ = now;
	/* Extrapolated from the runs so far, or at the beginning the planned time. */
	double left_ns = share > 0.05 ? (now - start_ns_) * (1 / share - 1)
				      : (all_ms_ - done_ms_) * 1e6;
	std::string left = std::to_string(static_cast<int>(left_ns / 1e9)) + " s left";

	fprintf(stderr,
		terminal_ ? "\r\033[K%s: %3.0f %% done, %s  %s, %s"
			  : "%s: %3.0f %% done, %s; %s, %s\n",
		plan.table->name, share * 100, left.c_str(), row.variant.c_str(),
		row.case_name.c_str());
	fflush(stderr);
}

static std::vector<Sample> run_cell(const Cell &cell)
{
	double before = cell.contended() ? transfer_ns() : 0;
	std::vector<Sample> samples = cell.run(cell.window_ms);
	double after = cell.contended() ? transfer_ns() : 0;

	for (Sample &sample : samples) {
		sample.transfer_ns = after;
		sample.disturbed |= cell.contended() && !same_transfer(before, after);
	}
	return samples;
}

static bool needs_repeat(const std::vector<Sample> &samples)
{
	return samples.front().disturbed || std::any_of(samples.begin(), samples.end(),
							[](const Sample &s) { return s.starved; });
}

/* Keeps in each row the runs whose transfer time is near the median, if at least three are. */
static void keep_usual_transfer(std::vector<Row> *rows)
{
	std::vector<double> all;

	for (const Row &row : *rows) {
		for (const Sample &sample : row.samples) {
			if (sample.transfer_ns > 0)
				all.push_back(sample.transfer_ns);
		}
	}
	if (all.empty())
		return;
	double usual = quantile(all, 0.5);

	for (Row &row : *rows) {
		std::vector<Sample> kept;

		for (const Sample &sample : row.samples) {
			/* A run that failed its check is always kept. */
			if (sample.transfer_ns == 0 || !sample.checked ||
			    same_transfer(sample.transfer_ns, usual))
				kept.push_back(sample);
		}
		if (kept.size() < 3)
			continue;
		row.set_aside = static_cast<int>(row.samples.size() - kept.size());
		row.samples = kept;
	}
}

/* The time of a run: its window, and starting the threads or measuring two transfer times. */
static double cost_ms(const Cell &cell)
{
	return cell.window_ms + (cell.contended() ? 3 : 1);
}

/* A second cell for each row that the table measures twice. */
static std::vector<Cell> measured_again(const Table &table, const std::vector<Cell> &cells)
{
	std::vector<Cell> list;

	for (const Cell &cell : cells) {
		const Row &first = cell.rows.front();

		if (*table.twice ? first.variant != table.twice : first.kind != "default")
			continue;
		list.push_back(cell);
		for (Row &row : list.back().rows) {
			row.labels["base_variant"] = row.variant;
			row.variant += " again";
			row.kind = "again";
		}
	}
	return list;
}

Plan plan(const Table &table, const Settings &settings)
{
	Plan made = { &table, table.cells(settings), 0, "" };
	std::vector<Cell> &cells = made.cells;

	if (!settings.only.empty()) {
		auto named = [&](const Cell &cell) {
			return fnmatch(settings.only.c_str(), cell.rows.front().variant.c_str(),
				       0) == 0;
		};
		auto left_out = [&](const Cell &cell) {
			return !named(cell) && cell.rows.front().variant != table.baseline;
		};

		if (std::none_of(cells.begin(), cells.end(), named))
			cells.clear();
		cells.erase(std::remove_if(cells.begin(), cells.end(), left_out), cells.end());
	}
	for (Cell &cell : measured_again(table, cells))
		cells.push_back(std::move(cell));
	for (Cell &cell : cells) {
		if (settings.window_ms)
			cell.window_ms = settings.window_ms;
		if (settings.rounds)
			cell.rounds = settings.rounds;
		made.ms += cell.rounds * cost_ms(cell);
	}
	return made;
}

double shorten(std::vector<Plan> *plans, double ms)
{
	constexpr int FEWEST = 3;
	auto total = [&] {
		double sum = 0;

		for (Plan &one : *plans) {
			one.ms = 0;
			for (const Cell &cell : one.cells)
				one.ms += cell.rounds * cost_ms(cell);
			sum += one.ms;
		}
		return sum;
	};
	auto shorten_all = [&](int Cell::*what, int least) {
		double share = ms / total();

		for (Plan &one : *plans) {
			for (Cell &cell : one.cells) {
				int shorter = static_cast<int>(cell.*what * share);

				if (share < 1)
					cell.*what = std::min(cell.*what, std::max(shorter, least));
			}
		}
	};

	shorten_all(&Cell::rounds, FEWEST);
	shorten_all(&Cell::window_ms, 1);
	return total();
}

void note_gaps(std::vector<Row> *rows)
{
	for (Row &row : *rows) {
		const Row *other = row.kind == "again" ? nullptr : again_of(*rows, row);
		double ratio = times(other, &row);

		row.gap = std::max(ratio, 1 / ratio) - 1;
		if (other)
			row.again = other->samples;
	}
}

static volatile sig_atomic_t interrupted;

void catch_interrupt()
{
	struct sigaction action = {};

	action.sa_handler = [](int) { interrupted = 1; };
	action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
	sigaction(SIGINT, &action, nullptr);
}

bool was_interrupted()
{
	return interrupted;
}

bool Limit::over(double ns) const
{
	return interrupted || clock_() + ns > end_ns_;
}

/* Moves the rows with a sample out of the cells; plan->cut names the others. */
static std::vector<Row> take_rows(Plan *plan, int runs_left_out)
{
	std::vector<Row> rows;
	std::string none;

	for (Cell &cell : plan->cells) {
		for (Row &row : cell.rows) {
			row.baseline = plan->table->baseline;
			if (!row.samples.empty())
				rows.push_back(std::move(row));
			else
				none += (none.empty() ? "" : "; ") + row.variant + ", " +
					row.case_name + ", " + threads_name(row.threads);
		}
	}
	if (runs_left_out > 0)
		plan->cut =
			std::string(interrupted ? "Interrupted" : "The time limit was reached") +
			": " + plan->table->name + " lacks " + std::to_string(runs_left_out) +
			" runs" + (none.empty() ? "." : ". Not measured: " + none + ".");
	return rows;
}

std::vector<Row> measure(Plan *plan, const Settings &settings, const Limit &limit,
			 Progress *progress)
{
	std::vector<Cell> &cells = plan->cells;
	std::mt19937 random(settings.seed);
	int most_rounds = 0, left_out = 0;

	for (const Cell &cell : cells)
		most_rounds = std::max(most_rounds, cell.rounds);
	/* The cells of a case run one right after the other, so that they can be compared. */
	std::map<std::pair<std::string, int>, std::vector<Cell *>> cases;
	std::vector<std::vector<Cell *> *> order;

	for (Cell &cell : cells)
		cases[{ cell.rows.front().case_name, cell.rows.front().threads }].push_back(&cell);
	for (auto &one : cases)
		order.push_back(&one.second);
	for (int round = 0; round < most_rounds; round++) {
		std::vector<Cell *> turn;

		std::shuffle(order.begin(), order.end(), random);
		for (std::vector<Cell *> *one : order) {
			std::shuffle(one->begin(), one->end(), random);
			turn.insert(turn.end(), one->begin(), one->end());
		}
		for (Cell *cell : turn) {
			if (round >= cell->rounds)
				continue;
			if (limit.over(cell->longest_ns)) {
				left_out++;
				progress->end(cost_ms(*cell));
				continue;
			}
			progress->begin(*plan, cell->rows.front());
			double start = limit.clock();
			std::vector<Sample> samples = run_cell(*cell);

			cell->longest_ns = std::max(cell->longest_ns, limit.clock() - start);
			for (int i = 0;
			     i < REPEATS && needs_repeat(samples) && !limit.over(cell->longest_ns);
			     i++) {
				samples = run_cell(*cell);
				cell->rows.front().repeated++;
			}
			progress->end(cost_ms(*cell));
			for (size_t i = 0; i < samples.size(); i++)
				cell->rows[i].samples.push_back(samples[i]);
		}
	}
	std::vector<Row> rows = take_rows(plan, left_out);

	keep_usual_transfer(&rows);
	note_gaps(&rows);
	return rows;
}

} // namespace lab
