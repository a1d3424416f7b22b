/* SPDX-License-Identifier: MIT */
#include "bench.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fnmatch.h>
#include <fstream>
#include <memory>
#include <pthread.h>
#include <random>
#include <set>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "holdfast/arch.h"

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

static std::vector<int> allowed_cpus()
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
static const std::vector<int> &the_cpus()
{
	static const std::vector<int> list = allowed_cpus();

	return list;
}

int cpus()
{
	return static_cast<int>(the_cpus().size());
}

double ns_per_tick()
{
	static const double rate = [] {
		double t0 = now_ns();
		uint64_t c0 = hf_arch_timestamp();

		while (now_ns() - t0 < 20e6)
			;
		uint64_t c1 = hf_arch_timestamp();

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

/* How often this thread has given up its processor, because it had to wait. */
long sleeps()
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
	/* More threads than processors wait here too: yield, or the last would never come. */
	while (!w->go->load(std::memory_order_acquire))
		sched_yield();
	long slept = sleeps();
	double used = thread_ns();

	w->start_ns = now_ns();
	w->ops = w->loop(w->state, w->index, w->stop);
	w->end_ns = now_ns();
	used = thread_ns() - used;
	/* A lock that sleeps gives its processor up by itself: nothing can be told then. */
	w->disturbed = sleeps() == slept && used < 0.95 * (w->end_ns - w->start_ns);
	return nullptr;
}

} // namespace

Window run_window(int threads, int window_ms, loop_t loop, const std::vector<void *> &states)
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

		w = Worker{ {},
			    i,
			    the_cpus()[static_cast<size_t>(i) % the_cpus().size()],
			    loop,
			    states[static_cast<size_t>(i) % states.size()],
			    &ready,
			    &go,
			    &stop,
			    0,
			    0,
			    0,
			    false };
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

/* ---- the transfer of a line ------------------------------------------------------------------ */

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

	return window.wall_ns / static_cast<double>(window.total());
}

/* Two transfer times that are one and the same, but for noise. */
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

double Row::median_of(const std::function<double(const Sample &)> &value) const
{
	std::vector<double> values;

	for (const Sample &s : samples)
		values.push_back(value(s));
	return quantile(values, 0.5);
}

double Row::more(const std::string &key) const
{
	std::vector<double> values;

	for (const Sample &s : samples) {
		auto at = s.more.find(key);

		if (at != s.more.end())
			values.push_back(at->second);
	}
	return values.empty() ? NAN : quantile(values, 0.5);
}

double Row::ratio_to(const Row &other) const
{
	std::vector<double> ratios;

	if (set_aside || other.set_aside || samples.size() != other.samples.size())
		return ns_per_op() / other.ns_per_op();
	for (size_t i = 0; i < samples.size(); i++)
		ratios.push_back(samples[i].ns_per_op / other.samples[i].ns_per_op);
	return quantile(std::move(ratios), 0.5);
}

double Row::ns_per_op() const
{
	return median_of([](const Sample &s) { return s.ns_per_op; });
}

double Row::spread() const
{
	std::vector<double> values;

	for (const Sample &s : samples)
		values.push_back(s.ns_per_op);
	return (quantile(values, 0.75) - quantile(values, 0.25)) / quantile(values, 0.5);
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

/* ---- measuring ------------------------------------------------------------------------------ */

namespace
{

/* A line that is written over, on a terminal only. */
class Progress {
public:
	explicit Progress(const char *table) : table_(table), terminal_(isatty(STDERR_FILENO)) {}
	~Progress()
	{
		if (terminal_)
			fprintf(stderr, "\r\033[K");
	}
	void show(size_t done, size_t all, const Row &row)
	{
		if (!terminal_)
			return;
		fprintf(stderr, "\r\033[K%s: %3zu %%  %s, %s", table_, done * 100 / all,
			row.variant.c_str(), row.case_name.c_str());
		fflush(stderr);
	}

private:
	const char *table_;
	bool terminal_;
};

} // namespace

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

/* Leaves in each row the runs with the transfer time that most runs had, if there are three. */
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
			/* One that failed its check stays, whatever its circumstances. */
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

std::vector<Row> measure(const Table &table, const Settings &settings)
{
	std::vector<Cell> cells = table.cells(settings);
	std::mt19937 random(settings.seed);
	Progress progress(table.name);
	size_t runs = 0, done = 0;
	int most_rounds = 0;

	if (!settings.only.empty()) {
		auto named = [&](const Cell &cell) {
			return fnmatch(settings.only.c_str(), cell.rows.front().variant.c_str(),
				       0) == 0;
		};
		auto left_out = [&](const Cell &cell) {
			return !named(cell) && cell.rows.front().variant != table.baseline;
		};

		if (std::none_of(cells.begin(), cells.end(), named))
			return {};
		cells.erase(std::remove_if(cells.begin(), cells.end(), left_out), cells.end());
	}
	for (Cell &cell : cells) {
		if (settings.window_ms)
			cell.window_ms = settings.window_ms;
		if (settings.rounds)
			cell.rounds = settings.rounds;
		runs += static_cast<size_t>(cell.rounds);
		most_rounds = std::max(most_rounds, cell.rounds);
	}
	/* The cells of a case run one after the other: what is compared was measured at one time. */
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
			progress.show(done++, runs, cell->rows.front());
			std::vector<Sample> samples = run_cell(*cell);

			for (int i = 0; i < REPEATS && samples.front().disturbed; i++) {
				samples = run_cell(*cell);
				cell->rows.front().repeated++;
			}
			for (size_t i = 0; i < samples.size(); i++)
				cell->rows[i].samples.push_back(samples[i]);
		}
	}
	std::vector<Row> rows;

	for (Cell &cell : cells) {
		for (Row &row : cell.rows) {
			row.baseline = table.baseline;
			rows.push_back(std::move(row));
		}
	}
	keep_usual_transfer(&rows);
	return rows;
}

/* ---- output --------------------------------------------------------------------------------- */

static const Row *baseline_of(const std::vector<Row> &rows, const Row &row)
{
	for (const Row &other : rows) {
		if (other.table == row.table && other.variant == row.baseline &&
		    other.case_name == row.case_name && other.threads == row.threads)
			return &other;
	}
	return nullptr;
}

static std::string quoted(const std::string &text)
{
	std::string out = "\"";

	for (char c : text) {
		if (c == '"' || c == '\\')
			out += '\\';
		if (static_cast<unsigned char>(c) < 0x20) {
			char code[8];

			snprintf(code, sizeof(code), "\\u%04x", static_cast<unsigned int>(c));
			out += code;
		} else {
			out += c;
		}
	}
	return out + "\"";
}

static std::string number(double value)
{
	char text[32];

	if (!std::isfinite(value))
		return "null";
	snprintf(text, sizeof(text), "%.6g", value);
	return text;
}

static std::string first_match(const char *file, const std::string &key)
{
	std::ifstream in(file);
	std::string line;

	while (std::getline(in, line)) {
		size_t colon = line.find(':');

		if (line.compare(0, key.size(), key) == 0 && colon != std::string::npos)
			return line.substr(std::min(colon + 2, line.size()));
	}
	return "";
}

static std::string first_line(const char *file)
{
	std::ifstream in(file);
	std::string line;

	std::getline(in, line);
	return line;
}

static std::string machine_json()
{
	utsname name;
	char date[32];
	time_t t = time(nullptr);
	std::string cpu = first_match("/proc/cpuinfo", "model name");
	std::string governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");

	uname(&name);
	strftime(date, sizeof(date), "%Y-%m-%d", gmtime(&t));
	if (cpu.empty())
		cpu = name.machine;
	else
		cpu += ", family " + first_match("/proc/cpuinfo", "cpu family") + " model " +
		       first_match("/proc/cpuinfo", "model\t");
	return "{\"cpu\": " + quoted(cpu) + ", \"cpus\": " + std::to_string(cpus()) +
	       ", \"kernel\": " + quoted(std::string(name.sysname) + " " + name.release) +
	       ", \"architecture\": " + quoted(name.machine) +
#if defined(__clang__)
	       ", \"compiler\": " + quoted("clang " __clang_version__) +
#else
	       ", \"compiler\": " + quoted("gcc " __VERSION__) +
#endif
	       ", \"governor\": " + quoted(governor.empty() ? "not known" : governor) +
	       ", \"date\": " + quoted(date) + "}";
}

static std::vector<std::string> limits(const std::vector<Row> &rows)
{
	std::vector<std::string> list;
	std::string cpuinfo = first_match("/proc/cpuinfo", "flags");

	list.push_back("Only " + std::to_string(cpus()) +
		       " processors: nothing here shows how a variant behaves with more.");
	if (cpuinfo.find(" hypervisor ") != std::string::npos)
		list.push_back(
			"A virtual machine: its neighbours and the host's scheduler disturb it.");
	list.push_back("Time only, no hardware performance counters.");
	if (ns_per_tick() == 0)
		list.push_back("No cheap timestamp on this processor: no lock and unlock columns.");
	int repeated = 0, set_aside = 0;

	for (const Row &row : rows) {
		repeated += row.repeated;
		set_aside += row.set_aside;
		if (!row.checked()) {
			list.push_back("Failed its check: " + row.table + ", " + row.variant +
				       ", " + row.case_name);
		}
	}
	if (repeated > 0) {
		list.push_back("Something else wanted the processors: " + std::to_string(repeated) +
			       " runs were disturbed and measured again.");
	}
	if (set_aside > 0) {
		list.push_back(
			"The time of a cache line between two processors changed while this was "
			"measured (a host that moves virtual processors does that): " +
			std::to_string(set_aside) +
			" results with an unusual one are not in the medians.");
	}
	return list;
}

std::string to_json(const std::vector<Row> &rows, const Settings &settings)
{
	std::string out = "{\n\"holdfast\": \"" HF_LAB_VERSION "\",\n\"machine\": " +
			  machine_json() + ",\n\"limits\": [";
	const char *comma = "";

	for (const std::string &limit : limits(rows)) {
		out += comma + quoted(limit);
		comma = ", ";
	}
	out += "],\n\"missing_peers\": [";
	comma = "";
	for (const Missing &missing : missing_peers()) {
		out += comma + ("{\"peer\": " + quoted(missing.peer)) +
		       ", \"package\": " + quoted(missing.package) + "}";
		comma = ", ";
	}
	out += "],\n\"settings\": {\"window_ms\": " + std::to_string(settings.window_ms) +
	       ", \"rounds\": " + std::to_string(settings.rounds) +
	       ", \"seed\": " + std::to_string(settings.seed) +
	       ", \"ns_per_tick\": " + number(ns_per_tick()) + "},\n\"rows\": [\n";
	comma = "";
	for (const Row &row : rows) {
		const Row *base = baseline_of(rows, row);

		out += comma;
		comma = ",\n";
		out += "{\"table\": " + quoted(row.table) +
		       ", \"variant\": " + quoted(row.variant) + ", \"kind\": " + quoted(row.kind) +
		       ", \"case\": " + quoted(row.case_name) +
		       ", \"threads\": " + std::to_string(row.threads) +
		       ", \"ns_per_op\": " + number(row.ns_per_op()) +
		       ", \"spread\": " + number(row.spread()) +
		       ", \"baseline\": " + quoted(row.baseline) +
		       ", \"ratio\": " + number(base ? row.ratio_to(*base) : NAN) +
		       ", \"fairness\": " + number(row.fairness()) +
		       ", \"checked\": " + (row.checked() ? "true" : "false") +
		       ", \"rounds\": " + std::to_string(row.samples.size());
		for (const auto &label : row.labels)
			out += ", " + quoted(label.first) + ": " + quoted(label.second);
		double transfer = row.median_of([](const Sample &s) { return s.transfer_ns; });

		if (transfer > 0)
			out += ", \"transfer_ns\": " + number(transfer);
		std::set<std::string> keys; /* a short run may lack one */

		for (const Sample &sample : row.samples) {
			for (const auto &more : sample.more)
				keys.insert(more.first);
		}
		for (const std::string &key : keys)
			out += ", " + quoted(key) + ": " + number(row.more(key));
		out += "}";
	}
	return out + "\n]\n}\n";
}

void print_plain(const std::vector<Row> &rows)
{
	printf("%-9s %-28s %-22s %7s %11s %7s %7s %8s\n", "table", "variant", "case", "threads",
	       "ns/op", "ratio", "spread", "fairness");
	for (const Row &row : rows) {
		const Row *base = baseline_of(rows, row);
		double ratio = base ? row.ratio_to(*base) : NAN;
		char ratio_text[16] = "-", spread_text[16] = "-";

		if (std::isfinite(ratio))
			snprintf(ratio_text, sizeof(ratio_text), "%.3f", ratio);
		if (std::isfinite(row.spread()))
			snprintf(spread_text, sizeof(spread_text), "%.0f%%", row.spread() * 100);
		printf("%-9s %-28s %-22s %7d %11.2f %7s %7s %8.2f%s\n", row.table.c_str(),
		       row.variant.c_str(), row.case_name.c_str(), row.threads, row.ns_per_op(),
		       ratio_text, spread_text, row.fairness(),
		       row.checked() ? "" : "  FAILED its check");
	}
}

} // namespace lab
