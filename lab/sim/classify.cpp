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
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <numeric>
#include <set>

#include "holdfast/internal/atomic.h"
#include "holdfast/internal/wait.h"

#include "bench.hpp"
#include "machine.hpp"
#include "options.hpp"

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

int window_ms = 20;

struct alignas(128) Shared {
	hf_atomic64_t word;
};

Shared own;

constexpr int CHAIN = 16;

/* A chain of dependent additions, of which each takes one cycle. */
struct Additions {
	uint64_t x = 0;
	void operator()()
	{
		for (int k = 0; k < CHAIN; k++) {
			x++;
			__asm__ volatile("" : "+r"(x));
		}
	}
};

struct Load {
	void operator()() const { (void)hf_atomic64_load_relaxed(&own.word); }
};

struct Add {
	void operator()() const { (void)hf_atomic64_fetch_add_relaxed(&own.word, 1); }
};

struct Swap {
	uint64_t word = hf_atomic64_load_relaxed(&own.word);
	void operator()()
	{
		if (hf_atomic64_try_cmpxchg_relaxed(&own.word, &word, word + 1))
			word++;
	}
};

struct Exchange {
	void operator()() const { (void)hf_atomic32_xchg_acq_rel(hf_atomic64_low32(&own.word), 1); }
};

struct Hint {
	void operator()() const { hf_arch_relax(); }
};

template <class Step>
uint64_t steps(void *, int, const int *stop)
{
	constexpr int BATCH = 1000;
	Step step;
	uint64_t n = 0;

	/* At least once: on a busy machine a thread may begin when the window is over. */
	do {
		for (int i = 0; i < BATCH; i++)
			step();
		n += BATCH;
	} while (!__atomic_load_n(stop, __ATOMIC_RELAXED));
	return n;
}

/* ns for a step without contention, the minimum of five windows: disturbances only add time. */
template <class Step>
double alone()
{
	double best = INFINITY;

	for (int i = 0; i < 5; i++)
		best = std::min(best, lab::sample_of(lab::run_window(1, std::max(1, window_ms / 5),
								     steps<Step>, { nullptr }),
						     true)
					      .ns_per_op);
	return best;
}

uint64_t pass_message(void *, int me, const int *stop)
{
	uint64_t mine = static_cast<uint64_t>(me), n = 0;

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		uint64_t expected = mine;

		n += hf_atomic64_try_cmpxchg_relaxed(&own.word, &expected, mine ^ 1);
	}
	return n;
}

/* Half of a round trip by compare-and-swap, as core-to-core-latency has it. */
double message(int a, int b)
{
	double best = INFINITY;

	/* More rounds if a busy machine did not run both threads at once. */
	for (int round = 0; round < 3 || (best == INFINITY && round < 100); round++) {
		hf_atomic64_store_relaxed(&own.word, 0);
		lab::Window window =
			lab::run_window(2, window_ms, pass_message, { nullptr }, { a, b });

		if (window.total() > 10)
			best = std::min(best, window.wall_ns / static_cast<double>(window.total()));
	}
	return best;
}

/* Counts the retries of each thread in @state. */
template <bool hint>
uint64_t swap(void *state, int me, const int *stop)
{
	uint64_t n = 0, failed = 0;
	uint64_t word = hf_atomic64_load_relaxed(&own.word);

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		if (hf_atomic64_try_cmpxchg_relaxed(&own.word, &word, word + 1)) {
			n++;
			word = hf_atomic64_load_relaxed(&own.word);
		} else {
			failed++;
			if (hint)
				hf_arch_relax();
		}
	}
	static_cast<uint64_t *>(state)[me] = failed;
	return n;
}

struct Contended {
	double retries, ns, fairness;
};

/* A compare-and-swap loop on the first @threads processors. */
Contended contended(size_t threads, lab::loop_t loop)
{
	std::vector<uint64_t> failed(threads);
	lab::Window window =
		lab::run_window(static_cast<int>(threads), window_ms, loop, { failed.data() });
	double all = std::max(1.0, static_cast<double>(window.total()));

	return { static_cast<double>(std::accumulate(failed.begin(), failed.end(), uint64_t(0))) /
			 all,
		 window.wall_ns / all, window.fairness() };
}

/* ---- Topology ----------------------------------------------------------------------------- */

struct Cpu {
	int id, package, core;
	std::string cache; /* the list of processors that share its last-level cache */
};

std::vector<Cpu> cpus()
{
	std::vector<Cpu> list;

	for (int id : lab::allowed_cpus()) {
		std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(id);
		std::string package = lab::first_line(folder + "/topology/physical_package_id");
		std::string core = lab::first_line(folder + "/topology/core_id");

		list.push_back({ id, package.empty() ? 0 : atoi(package.c_str()),
				 core.empty() ? id : atoi(core.c_str()),
				 lab::first_line(folder + "/cache/index3/shared_cpu_list") });
	}
	return list;
}

std::string cpu_name()
{
	for (const char *key : { "model name", "CPU part" }) {
		std::string name = lab::first_match("/proc/cpuinfo", key);

		if (!name.empty())
			return name;
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

std::string digits(double value)
{
	char buffer[40];

	snprintf(buffer, sizeof(buffer), "%.4g", value);
	return buffer;
}

} // namespace

int classify_command(const std::vector<std::string> &words)
{
	std::string out = "this-machine.toml";
	bool help = false;
	using text = const std::string &;
	const lab::Options options = {
		{ "--out", [&](text, text v) { out = v; } },
		{ "--window-ms",
		  [&](text o, text v) { window_ms = lab::to_integer(o, v, 1, 1000); } },
	};

	for (const std::string &word : lab::parse(words, options, "hf-lab classify --help",
						  { { "--help", &help }, { "-h", &help } }))
		lab::fail("'" + word + "': see hf-lab classify --help");
	if (help) {
		fputs(usage, stdout);
		return 0;
	}

	std::vector<Cpu> list = cpus();
	size_t n = list.size();
	double ghz = CHAIN / alone<Additions>();
	double load = alone<Load>(), add = alone<Add>(), swap_ns = alone<Swap>();
	double exchange = alone<Exchange>(), hint = alone<Hint>();

	printf("%s: %zu processors to run on, about %.2f GHz\n", cpu_name().c_str(), n, ghz);
	printf("alone: load %.2f ns, add %.2f, compare-and-swap %.2f, exchange %.2f, spin hint "
	       "%.2f\n",
	       load, add, swap_ns, exchange, hint);

	/* The first processor with every other one, and a sample of the other pairs. */
	std::vector<double> by_distance[DISTANCES];
	size_t step = std::max<size_t>(1, n / 16);

	for (size_t a = 0; a < n; a += a == 0 ? step : 4 * step) {
		for (size_t b = a + 1; b < n; b += a == 0 ? 1 : step) {
			double swaps = message(list[a].id, list[b].id);

			if (swaps > 1e6) {
				printf("message %d to %d: not measured, because the threads did "
				       "not run together\n",
				       list[a].id, list[b].id);
				continue;
			}
			by_distance[distance(list[a], list[b])].push_back(swaps);
			printf("message %d to %d (%s): %.1f ns by compare-and-swap\n", list[a].id,
			       list[b].id, distance_names[distance(list[a], list[b])], swaps);
		}
	}

	std::string class_name = "unknown", why = "fewer than 8 processors can't tell it";

	for (size_t t = 2; t <= n; t = t < n && 2 * t > n ? n : 2 * t) {
		Contended plain = contended(t, swap<false>), hinted = contended(t, swap<true>);
		double expected = static_cast<double>(t - 1);

		printf("%zu threads on one loop of compare-and-swaps: %.2f retries a success (T-1 "
		       "= %.0f, root of T = %.1f), %.1f ns, fairness %.2f; with the hint %.2f, "
		       "%.1f ns\n",
		       t, plain.retries, expected, std::sqrt(static_cast<double>(t)), plain.ns,
		       plain.fairness, hinted.retries, hinted.ns);
		if (t >= 8) {
			class_name = plain.retries > 0.6 * expected ? "fifo"
				     : plain.retries < 1
					     ? plain.fairness < 0.5 ? "nearest-held" : "sticky"
				     : plain.fairness < 0.5 ? "nearest"
							    : "random";
			why = digits(plain.retries) + " retries a success at " + std::to_string(t) +
			      " threads, fairness " + digits(plain.fairness);
		}
		if (t == n)
			break;
	}
	printf("class: %s (%s)\n", class_name.c_str(), why.c_str());

	std::set<int> packages, cores;
	std::set<std::string> caches;

	for (const Cpu &cpu : list) {
		packages.insert(cpu.package);
		cores.insert(cpu.package << 16 | cpu.core);
		caches.insert(std::to_string(cpu.package) + ":" + cpu.cache);
	}
	size_t sockets = packages.size(), all_cores = cores.size();
	size_t clusters = std::max<size_t>(1, caches.size() / sockets);
	size_t smt = std::max<size_t>(1, n / all_cores);
	char date[20];
	time_t now = time(nullptr);

	strftime(date, sizeof(date), "%Y-%m-%d", gmtime(&now));
	std::string source = std::string("hf-lab classify, ") + date;
	std::string file;
	auto put = [&](const std::string &name, const std::string &value, const char *kind,
		       const std::string &from) {
		file += name + " = { value = " + value + ", kind = \"" + kind + "\", source = \"" +
			from + "\" }\n";
	};
	auto transfer = [&](const char *name, Distance d, double otherwise) {
		if (!by_distance[d].empty())
			put(name, digits(lab::quantile(by_distance[d], 0.5)), "measured",
			    source + ": median of " + std::to_string(by_distance[d].size()) +
				    " pairs");
		else
			put(name, digits(otherwise), "guess",
			    std::string("not measured: no two processors here are ") +
				    distance_names[d]);
	};
	double near = lab::quantile(by_distance[CLUSTER], 0.5);

	if (std::isnan(near))
		near = std::fmax(lab::quantile(by_distance[SOCKET], 0.5), 40.0);
	/* In two parts, so that REUSE does not take it for this file's own licence. */
	file = "# SPDX-License-"
	       "Identifier: MIT\n# Written by `hf-lab classify`. Parameters that it does not "
	       "measure are in machines/common.\ntitle = \"" +
	       cpu_name() + "\"\n";
#if defined(__aarch64__)
	put("arch", "\"aarch64\"", "measured", source);
#else
	put("arch", "\"x86_64\"", "measured", source);
#endif
	put("class", "\"" + class_name + "\"", class_name == "unknown" ? "guess" : "measured",
	    source + ": " + why);
	put("sockets", std::to_string(sockets), "measured", source);
	put("clusters", std::to_string(clusters), "measured", source);
	put("cores", std::to_string(std::max<size_t>(1, all_cores / sockets / clusters)),
	    "measured", source);
	put("smt", std::to_string(smt), "measured", source);
	put("ghz", digits(ghz), "measured", source + ": dependent additions");
	put("rmw_cycles", digits(std::max(add, swap_ns) * ghz), "measured", source);
	put("swap_cycles", digits(exchange * ghz), "measured", source);
	put("hint_cycles", digits(std::max(hint * ghz, 0.5)), "measured", source);
	transfer("transfer_smt_ns", SIBLING, 8);
	transfer("transfer_cluster_ns", CLUSTER, near);
	transfer("transfer_socket_ns", SOCKET, near);
	transfer("transfer_far_ns", FAR, 2.8 * near);
	/* An add at the line's home is slow even if no other processor uses the line. */
	bool far = add > 2 * swap_ns;

	put("far_add", far ? "1" : "0", "measured",
	    source + ": alone, an add takes " + digits(add) + " ns, a compare-and-swap " +
		    digits(swap_ns));
	if (far)
		put("far_ns", "10", "guess", "not measured");
#if defined(__aarch64__) && !defined(__ARM_FEATURE_ATOMICS)
	put("llsc", "1", "guess", "compiled without LSE");
#else
	put("llsc", "0", "measured", "one instruction");
#endif
	std::ofstream(out) << file;
	(void)load_machine(out); /* fails if it was not written */
	printf("wrote %s\n", out.c_str());
	if (n < 8)
		printf("%zu processors can't tell in which order a line serves its requests: "
		       "`simulate` takes all classes\n",
		       n);
	return 0;
}

} // namespace sim
