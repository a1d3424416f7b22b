/* SPDX-License-Identifier: MIT */
/*
 * classify - measures the cache-transfer costs that the simulator needs; writes a machine file.
 *
 * The class follows from the number of retries for each success in a compare-and-swap loop of T
 * threads: about T-1 if requests are served first come, first served; about the square root of T in
 * random order; below 1 if a line is held for a retry. With two or three processors these do not
 * differ.
 */
#include "command.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <map>
#include <pthread.h>
#include <sched.h>
#include <stdexcept>
#include <thread>

#include "holdfast/internal/atomic.h"
#include "holdfast/internal/wait.h"

#include "json.hpp"

namespace sim
{

namespace
{

const char usage[] = R"(usage: hf-lab classify [--out FILE.toml] [--window-ms N]

  Measures transfers between processors, atomics, the spin hint and the retries of a
  compare-and-swap loop, and writes a machine file for `hf-lab simulate --machine FILE.toml`.
  Run it on an idle machine.

  --out FILE.toml  the machine file; default this-machine.toml
  --window-ms N    length of each measurement, 1 to 1000; default 20
)";

double window_ms = 20;

struct alignas(128) Shared {
	hf_atomic64_t word;
};

double seconds()
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
		.count();
}

bool pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

/* ns for one iteration of @times, the minimum of five runs: disturbances only add time. */
double alone(int cpu, const std::function<void(int)> &times)
{
	double best = 1e9;

	std::thread([&] {
		if (!pin(cpu))
			return;
		int n = 1000;
		double took = 0;

		while (took < window_ms / 5000 && n < 1 << 28) {
			n *= 2;
			double from = seconds();

			times(n);
			took = seconds() - from;
		}
		for (int i = 0; i < 5; i++) {
			double from = seconds();

			times(n);
			best = std::min(best, (seconds() - from) * 1e9 / n);
		}
	}).join();
	return best;
}

/* Runs the body on these processors for the window; returns the count of each thread. */
std::vector<uint64_t> together(const std::vector<int> &cpus,
			       const std::function<uint64_t(int, const std::atomic<bool> &)> &body)
{
	std::vector<uint64_t> counts(cpus.size());
	std::vector<std::thread> threads;
	std::atomic<size_t> ready(0);
	std::atomic<bool> stop(false);

	for (size_t i = 0; i < cpus.size(); i++) {
		threads.emplace_back([&, i] {
			(void)pin(cpus[i]);
			ready++;
			while (ready < cpus.size())
				sched_yield();
			counts[i] = body(static_cast<int>(i), stop);
		});
	}
	while (ready < cpus.size())
		sched_yield();
	std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(window_ms));
	stop = true;
	for (std::thread &thread : threads)
		thread.join();
	return counts;
}

/* Half of a round trip by compare-and-swap (as core-to-core-latency has it) or load and store. */
double message(int a, int b, bool stores)
{
	static Shared shared;
	double best = 1e9;

	for (int round = 0; round < 3; round++) {
		hf_atomic64_store_relaxed(&shared.word, 0);
		double from = seconds();
		std::vector<uint64_t> counts =
			together({ a, b }, [&](int me, const std::atomic<bool> &stop) {
				uint64_t mine = static_cast<uint64_t>(me), n = 0;

				while (!stop.load(std::memory_order_relaxed)) {
					if (stores) {
						if (hf_atomic64_load_acquire(&shared.word) != mine)
							continue;
						hf_atomic64_store_seq_cst(&shared.word, mine ^ 1);
						n++;
					} else {
						uint64_t expected = mine;

						n += hf_atomic64_try_cmpxchg_relaxed(
							&shared.word, &expected, mine ^ 1);
					}
				}
				return n;
			});
		double took = seconds() - from;

		if (counts[0] + counts[1] > 10)
			best = std::min(best,
					took * 1e9 / static_cast<double>(counts[0] + counts[1]));
	}
	return best;
}

struct Contended {
	double retries, ns, fairness;
};

Contended swap_loop(const std::vector<int> &cpus, bool hint)
{
	static Shared shared;
	std::vector<uint64_t> failures(cpus.size());
	double from = seconds();
	std::vector<uint64_t> counts = together(cpus, [&](int me, const std::atomic<bool> &stop) {
		uint64_t n = 0, failed = 0;
		uint64_t word = hf_atomic64_load_relaxed(&shared.word);

		while (!stop.load(std::memory_order_relaxed)) {
			if (hf_atomic64_try_cmpxchg_relaxed(&shared.word, &word, word + 1)) {
				n++;
				word = hf_atomic64_load_relaxed(&shared.word);
			} else {
				failed++;
				if (hint)
					hf_arch_relax();
			}
		}
		failures[static_cast<size_t>(me)] = failed;
		return n;
	});
	double took = seconds() - from, all = 0, failed = 0;

	for (size_t i = 0; i < counts.size(); i++) {
		all += static_cast<double>(counts[i]);
		failed += static_cast<double>(failures[i]);
	}
	uint64_t most = *std::max_element(counts.begin(), counts.end());

	return { failed / std::max(1.0, all), took * 1e9 / std::max(1.0, all),
		 static_cast<double>(*std::min_element(counts.begin(), counts.end())) /
			 static_cast<double>(std::max<uint64_t>(most, 1)) };
}

/* ---- Topology ----------------------------------------------------------------------------- */

struct Cpu {
	int id, package, core;
	std::string cache; /* the list of processors that share its last-level cache */
};

std::string read_line(const std::string &path)
{
	std::ifstream in(path);
	std::string line;

	std::getline(in, line);
	return line;
}

std::vector<Cpu> cpus()
{
	std::vector<Cpu> list;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		throw std::runtime_error("sched_getaffinity failed");
	for (int id = 0; id < CPU_SETSIZE; id++) {
		std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(id);
		Cpu cpu = { id, 0, id, "" };

		if (!CPU_ISSET(id, &set))
			continue;
		std::string package = read_line(folder + "/topology/physical_package_id");
		std::string core = read_line(folder + "/topology/core_id");

		if (!package.empty())
			cpu.package = atoi(package.c_str());
		if (!core.empty())
			cpu.core = atoi(core.c_str());
		cpu.cache = read_line(folder + "/cache/index3/shared_cpu_list");
		list.push_back(cpu);
	}
	return list;
}

std::string cpu_name()
{
	std::ifstream in("/proc/cpuinfo");
	std::string line;

	while (std::getline(in, line)) {
		size_t colon = line.find(": ");

		if (colon != std::string::npos &&
		    (line.compare(0, 10, "model name") == 0 || line.compare(0, 8, "CPU part") == 0))
			return line.substr(colon + 2);
	}
	return "unknown";
}

enum Distance { SIBLING, CLUSTER, SOCKET, FAR, DISTANCES };
const char *const distance_names[] = { "hardware threads of a core", "cores that share a cache",
				       "within a socket", "between sockets" };

Distance distance(const Cpu &a, const Cpu &b)
{
	if (a.package != b.package)
		return FAR;
	if (a.core == b.core)
		return SIBLING;
	return a.cache == b.cache ? CLUSTER : SOCKET;
}

double median(std::vector<double> list)
{
	if (list.empty())
		return 0;
	std::sort(list.begin(), list.end());
	return list[list.size() / 2];
}

std::string text(double value)
{
	char buffer[40];

	snprintf(buffer, sizeof(buffer), "%.4g", value);
	return buffer;
}

class File {
public:
	void comment(const std::string &line) { out_ += "# " + line + "\n"; }
	void plain(const std::string &line) { out_ += line + "\n"; }
	void add(const std::string &name, const std::string &value, const char *kind,
		 const std::string &source)
	{
		out_ += name + " = { value = " + value + ", kind = \"" + kind + "\", source = \"" +
			source + "\" }\n";
	}
	const std::string &get() const { return out_; }

private:
	std::string out_;
};

} // namespace

int classify_command(const std::vector<std::string> &words)
{
	std::string out = "this-machine.toml";

	for (size_t i = 0; i < words.size(); i++) {
		if (words[i] == "--help" || words[i] == "-h") {
			fputs(usage, stdout);
			return 0;
		}
		if (i + 1 == words.size() || (words[i] != "--out" && words[i] != "--window-ms"))
			throw std::runtime_error("'" + words[i] + "': see hf-lab classify --help");
		if (words[i] == "--out")
			out = words[++i];
		else
			window_ms = atof(words[++i].c_str());
	}
	if (!(window_ms >= 1 && window_ms <= 1000))
		throw std::runtime_error("--window-ms takes a number from 1 to 1000");

	std::vector<Cpu> list = cpus();
	size_t n = list.size();
	int first = list[0].id;
	static Shared own;
	volatile uint64_t sink = 0;

	enum { CHAIN = 16 };

	/* A dependent addition takes one cycle, which gives the clock frequency. */
	double cycle = alone(first, [&](int times) {
		uint64_t x = sink;

		for (int i = 0; i < times; i++) {
			for (int k = 0; k < CHAIN; k++) {
				x++;
				__asm__ volatile("" : "+r"(x));
			}
		}
		sink = x;
	});
	double ghz = CHAIN / cycle;
	double load = alone(first, [&](int times) {
		for (int i = 0; i < times; i++)
			(void)hf_atomic64_load_relaxed(&own.word);
	});
	double add = alone(first, [&](int times) {
		for (int i = 0; i < times; i++)
			(void)hf_atomic64_fetch_add_relaxed(&own.word, 1);
	});
	double swap = alone(first, [&](int times) {
		uint64_t word = hf_atomic64_load_relaxed(&own.word);

		for (int i = 0; i < times; i++)
			if (hf_atomic64_try_cmpxchg_relaxed(&own.word, &word, word + 1))
				word++;
	});
	double exchange = alone(first, [&](int times) {
		for (int i = 0; i < times; i++)
			(void)hf_atomic32_xchg_acq_rel(hf_atomic64_low32(&own.word), 1);
	});
	double hint = alone(first, [&](int times) {
		for (int i = 0; i < times; i++)
			hf_arch_relax();
	});

	printf("%s: %zu processors to run on, about %.2f GHz\n", cpu_name().c_str(), n, ghz);
	printf("alone: load %.2f ns, add %.2f, compare-and-swap %.2f, exchange %.2f, spin hint "
	       "%.2f\n",
	       load, add, swap, exchange, hint);

	/* The first processor with every other one, and a sample of the other pairs. */
	std::vector<double> by_distance[DISTANCES];
	size_t step = std::max<size_t>(1, n / 16);

	for (size_t a = 0; a < n; a += a == 0 ? step : 4 * step) {
		for (size_t b = a + 1; b < n; b += a == 0 ? 1 : step) {
			double swaps = message(list[a].id, list[b].id, false);
			double stores = message(list[a].id, list[b].id, true);

			if (swaps > 1e6) {
				printf("message %d to %d: not measured, because the threads did "
				       "not run together\n",
				       list[a].id, list[b].id);
				continue;
			}
			by_distance[distance(list[a], list[b])].push_back(swaps);
			printf("message %d to %d (%s): %.1f ns by compare-and-swap, round trip "
			       "%.1f; %.1f "
			       "by load and store\n",
			       list[a].id, list[b].id, distance_names[distance(list[a], list[b])],
			       swaps, 2 * swaps, stores);
		}
	}

	std::string class_name = "unknown", why = "fewer than 8 processors can't tell it";
	std::vector<int> ids;

	for (size_t i = 0; i < n; i++)
		ids.push_back(list[i].id);
	for (size_t t = 2; t <= n; t = t < n && 2 * t > n ? n : 2 * t) {
		std::vector<int> some(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(t));
		Contended plain = swap_loop(some, false), hinted = swap_loop(some, true);
		double expected = static_cast<double>(t - 1);

		printf("%zu threads on one loop of compare-and-swaps: %.2f retries a success (T-1 "
		       "= %.0f, "
		       "root of T = %.1f), %.1f ns, fairness %.2f; with the hint %.2f, %.1f ns\n",
		       t, plain.retries, expected, std::sqrt(static_cast<double>(t)), plain.ns,
		       plain.fairness, hinted.retries, hinted.ns);
		if (t >= 8) {
			class_name = plain.retries > 0.6 * expected ? "fifo"
				     : plain.retries < 1
					     ? plain.fairness < 0.5 ? "nearest-held" : "sticky"
				     : plain.fairness < 0.5 ? "nearest"
							    : "random";
			why = text(plain.retries) + " retries a success at " + std::to_string(t) +
			      " threads, fairness " + text(plain.fairness);
		}
		if (t == n)
			break;
	}
	printf("class: %s (%s)\n", class_name.c_str(), why.c_str());

	std::map<int, int> packages, cores;
	std::map<std::string, int> caches;

	for (const Cpu &cpu : list) {
		packages[cpu.package]++;
		cores[cpu.package << 16 | cpu.core]++;
		caches[std::to_string(cpu.package) + ":" + cpu.cache]++;
	}
	size_t sockets = packages.size(), all_cores = cores.size();
	size_t clusters = std::max<size_t>(1, caches.size() / sockets);
	size_t smt = std::max<size_t>(1, n / all_cores);
	char date[20];
	time_t now = time(nullptr);

	strftime(date, sizeof(date), "%Y-%m-%d", gmtime(&now));
	std::string source = std::string("hf-lab classify, ") + date;
	File file;
	auto transfer = [&](const char *name, Distance d, double otherwise) {
		if (!by_distance[d].empty())
			file.add(name, text(median(by_distance[d])), "measured",
				 source + ": median of " + std::to_string(by_distance[d].size()) +
					 " pairs");
		else
			file.add(name, text(otherwise), "guess",
				 std::string("not measured: no two processors here are ") +
					 distance_names[d]);
	};
	double near = median(by_distance[CLUSTER]);

	if (near == 0)
		near = std::max(median(by_distance[SOCKET]), 40.0);
	file.plain("# SPDX-License-Identifier: MIT");
	file.comment("Written by `hf-lab classify`. Parameters that it does not measure are in "
		     "machines/common.");
	file.plain("title = \"" + cpu_name() + "\"");
#if defined(__aarch64__)
	file.add("arch", "\"aarch64\"", "measured", source);
#else
	file.add("arch", "\"x86_64\"", "measured", source);
#endif
	file.add("class", "\"" + class_name + "\"", class_name == "unknown" ? "guess" : "measured",
		 source + ": " + why);
	file.add("sockets", std::to_string(sockets), "measured", source);
	file.add("clusters", std::to_string(clusters), "measured", source);
	file.add("cores", std::to_string(std::max<size_t>(1, all_cores / sockets / clusters)),
		 "measured", source);
	file.add("smt", std::to_string(smt), "measured", source);
	file.add("ghz", text(ghz), "measured", source + ": dependent additions");
	file.add("rmw_cycles", text(std::max(add, swap) * ghz), "measured", source);
	file.add("swap_cycles", text(exchange * ghz), "measured", source);
	file.add("hint_cycles", text(std::max(hint * ghz, 0.5)), "measured", source);
	transfer("transfer_smt_ns", SIBLING, 8);
	transfer("transfer_cluster_ns", CLUSTER, near);
	transfer("transfer_socket_ns", SOCKET, near);
	transfer("transfer_far_ns", FAR, 2.8 * near);
	/* An add at the line's home is slow even if no other processor uses the line. */
	bool far = add > 2 * swap;

	file.add("far_add", far ? "1" : "0", "measured",
		 source + ": alone, an add takes " + text(add) + " ns, a compare-and-swap " +
			 text(swap));
	if (far)
		file.add("far_ns", "10", "guess", "not measured");
#if defined(__aarch64__) && !defined(__ARM_FEATURE_ATOMICS)
	file.add("llsc", "1", "guess", "compiled without LSE");
#else
	file.add("llsc", "0", "measured", "one instruction");
#endif
	write_file(out, file.get());
	(void)load_machine(out);
	printf("wrote %s\n", out.c_str());
	if (n < 8)
		printf("%zu processors can't tell in which order a line serves its requests: "
		       "`simulate` "
		       "takes all classes\n",
		       n);
	return 0;
}

} // namespace sim
