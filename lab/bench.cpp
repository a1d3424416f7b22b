/* SPDX-License-Identifier: MIT */
#include "bench.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
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

double least_over_most(const std::vector<uint64_t> &values)
{
	uint64_t least = *std::min_element(values.begin(), values.end());
	uint64_t most = *std::max_element(values.begin(), values.end());

	return most ? static_cast<double>(least) / static_cast<double>(most) : 0;
}

Sample sample_of(const Window &window, bool checked)
{
	Sample sample;

	sample.ns_per_op = window.wall_ns / static_cast<double>(window.total());
	sample.fairness = window.fairness();
	sample.checked = checked;
	sample.disturbed = sample.robbed = window.disturbed;
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
	if (w->cpu >= 0) {
		CPU_SET(w->cpu, &set);
		(void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	}
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

void sleep_until(double ns)
{
	int64_t whole = static_cast<int64_t>(ns);
	timespec end = { whole / 1000000000, whole % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr) == EINTR)
		;
}

} // namespace

Window run_window(int threads, int window_ms, loop_t loop, const std::vector<void *> &states,
		  const std::vector<int> &where, const Ticks &ticks)
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
		w.cpu = where.empty() ? -1 : where[static_cast<size_t>(i) % where.size()];
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

	double begin = now_ns(), end = begin + window_ms * 1e6;

	for (double at = begin + ticks.first_ms * 1e6; at < end; at += ticks.each_ms * 1e6) {
		sleep_until(at);
		ticks.tick();
	}
	sleep_until(end);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (Worker &w : workers) {
		pthread_join(w.thread, nullptr);
		result.ops.push_back(w.ops);
		first = first == 0 ? w.start_ns : std::min(first, w.start_ns);
		last = std::max(last, w.end_ns);
		result.disturbed |= threads <= static_cast<int>(where.size()) && w.disturbed;
	}
	result.wall_ns = last - first;
	return result;
}

std::string Placement::case_of(int threads) const
{
	return *name               ? name
	       : threads == 1      ? "alone"
	       : threads <= cpus() ? "contended"
				   : "oversubscribed";
}

std::vector<int> Placement::where() const
{
	return one    ? std::vector<int>{ allowed_cpus().front() }
	       : free ? std::vector<int>{}
		      : allowed_cpus();
}

BusyProcesses::BusyProcesses(bool wanted)
{
	pid_t parent = getpid();

	for (int i = 0; wanted && i < cpus(); i++) {
		pid_t child = fork();

		if (child == 0) {
			/* It ends with this process, however that ends. */
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			signal(SIGINT, SIG_IGN);
			while (getppid() == parent) {
				for (volatile int n = 0; n < 1 << 20; n = n + 1)
					;
			}
			_exit(0);
		}
		if (child < 0)
			throw std::system_error(errno, std::generic_category(),
						"can't start a busy process");
		children_.push_back(child);
	}
}

BusyProcesses::~BusyProcesses()
{
	for (pid_t child : children_) {
		kill(child, SIGKILL);
		waitpid(child, nullptr, 0);
	}
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

/* ---- rows ---------------------------------------------------------------------------------- */

double quantile(std::vector<double> values, double q)
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

double Row::more(const std::string &key) const
{
	return median_of([&](const Sample &s) {
		auto at = s.more.find(key);

		return at == s.more.end() ? NAN : at->second;
	});
}

/* A time of 0 was too short to measure. */
static double time_ratio(double a, double b)
{
	return a > 0 && b > 0 ? a / b : NAN;
}

double Row::ratio_to(const Row &other) const
{
	std::vector<double> ratios;

	if (left_out || set_aside || other.left_out || other.set_aside ||
	    samples.size() != other.samples.size())
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

bool Row::robbed() const
{
	auto n = std::count_if(samples.begin(), samples.end(),
			       [](const Sample &s) { return s.robbed; });

	return n > 0 && 2 * static_cast<size_t>(n) >= samples.size();
}

std::vector<Level> levels_of(std::vector<double> times)
{
	const size_t n = times.size(), fewest = std::max<size_t>(2, (n + 4) / 5);

	std::sort(times.begin(), times.end());
	for (size_t i = fewest; n >= 5 && i + fewest <= n; i++) {
		double low = times[i - 1], high = times[i], gap = high - low;

		/* Without its ends, which may be outliers: the inner three quarters. */
		auto range = [&](size_t from, size_t to) {
			size_t cut = (to - from) / 8;

			return times[to - 1 - cut] - times[from + cut];
		};
		if (low > 0 && gap > low / 4 && gap > 3 * range(0, i) && gap > 3 * range(i, n))
			return { { times[i / 2], static_cast<double>(i) / static_cast<double>(n) },
				 { times[(i + n) / 2],
				   static_cast<double>(n - i) / static_cast<double>(n) } };
	}
	return {};
}

std::string levels_text(const std::vector<Level> &levels)
{
	std::string text;

	for (const Level &level : levels)
		text += (text.empty() ? "" : " or ") + text_of("%.1f", level.ns_per_op) +
			(text.empty() ? "" : " ns") + text_of(" (%.0f %%)", 100 * level.share);
	return text;
}

std::vector<Level> Row::levels() const
{
	std::vector<double> times;

	for (const Sample &sample : samples) {
		if (!sample.starved && std::isfinite(sample.ns_per_op))
			times.push_back(sample.ns_per_op);
	}
	return levels_of(std::move(times));
}

} // namespace lab
