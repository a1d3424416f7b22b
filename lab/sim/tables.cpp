/* SPDX-License-Identifier: MIT */
/* tables - see tables.hpp. */
#include "tables.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <sstream>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sim
{

static const struct hf_sim_arch &arch_of(const Machine &machine)
{
	return machine.arch == "x86_64" ? hf_sim_arch_x86_64 : hf_sim_arch_aarch64;
}

static const struct hf_sim_variant *find(const Machine &machine, const std::string &table,
					 const std::string &name)
{
	const struct hf_sim_arch &arch = arch_of(machine);

	for (size_t i = 0; i < arch.count; i++) {
		if (table == arch.variants[i].table && name == arch.variants[i].name)
			return &arch.variants[i];
	}
	return nullptr;
}

std::vector<std::string> default_variants(const std::string &table)
{
	std::vector<std::string> names;

	for (size_t i = 0; i < hf_sim_arch_x86_64.count; i++) {
		if (table == hf_sim_arch_x86_64.variants[i].table)
			names.push_back(hf_sim_arch_x86_64.variants[i].name);
	}
	if (table == "lockref")
		names.insert(names.begin() + 2, { "bounded-15", "bounded wait=none" });
	return names;
}

static uint32_t number(const std::string &variant, const std::string &text)
{
	size_t end = 0;
	unsigned long n = 0;

	try {
		n = std::stoul(text, &end);
	} catch (const std::exception &) {
		end = 0;
	}
	if (end == 0 || end != text.size())
		throw std::runtime_error("'" + variant + "': no number in '" + text + "'");
	return static_cast<uint32_t>(n);
}

/* wait.h's policies, in their order. */
static int policy(const std::string &variant, const std::string &name)
{
	int n = 0;

	for (const char *one : { "none", "hint", "backoff", "late", "monitor" }) {
		if (name == one)
			return n;
		n++;
	}
	throw std::runtime_error("'" + variant + "': no wait policy '" + name + "'");
}

/* Sets the knobs that the variant names; returns its name without them. */
static std::string set_knobs(const std::string &variant)
{
	std::istringstream words(variant);
	std::string name, word;
	struct hf_sim_knobs &k = hf_sim_knobs;
	const std::map<std::string, uint32_t *> numbers = { { "passes", &k.passes },
							    { "patience", &k.patience_ns } };

	words >> name;
	while (words >> word) {
		if (word == "single") {
			k.single = true;
			continue;
		}
		size_t equals = word.find('=');
		std::string what = word.substr(0, equals);
		std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);

		if (what == "wait") {
			k.lock_swap = k.count_few = k.count_many = k.free_lock = k.my_turn =
				k.my_node = k.queue = policy(variant, value);
		} else if (what == "count") {
			k.count_few = k.count_many = policy(variant, value);
		} else if (word == "beside=mcs") {
			k.beside = true;
		} else if (numbers.count(what)) {
			*numbers.at(what) = number(variant, value);
		} else {
			throw std::runtime_error("'" + variant + "': no knob '" + what + "'");
		}
	}
	size_t dash = name.find('-');

	if (dash != std::string::npos) {
		k.retries = number(variant, name.substr(dash + 1));
		name.resize(dash);
	}
	return name;
}

/*
 * When 256 threads collapse, one success costs 256 transfers, and each thread should succeed a few
 * times: so the window grows with the number of threads.
 */
static double window_of(const Case &one)
{
	if (one.window_ns > 0)
		return one.window_ns;
	return 150000 + one.threads * (30000 + 8 * (one.work_ns + one.between_ns));
}

Outcome simulate(const Case &one)
{
	Outcome out = {};
	Run r;

	hf_sim_knobs = arch_of(one.machine).knobs;
	hf_sim_knobs.retries = hf_sim_defaults.retries;
	hf_sim_knobs.passes = hf_sim_defaults.passes;
	hf_sim_knobs.patience_ns = hf_sim_defaults.patience_ns;
	std::string name = set_knobs(one.variant);
	const struct hf_sim_variant *variant = find(one.machine, one.table, name);

	if (!variant)
		throw std::runtime_error("no variant '" + one.variant + "' in the table " +
					 one.table);
	if (hf_sim_knobs.single && variant->is_lock)
		throw std::runtime_error("'" + one.variant + "': a lock is a pair");
	void *object = new_object();

	variant->init(object);
	r.machine = &one.machine;
	r.threads = one.threads;
	r.window_ns = window_of(one);
	/* Long enough for each thread to do a pair, or to retry until it falls back to the lock. */
	r.warm_up_ns = std::max(r.window_ns / 4, one.threads * 25000.0);
	r.seed = one.seed;
	r.event_limit = one.event_limit;
	r.processors = one.processors;
	r.naps = one.naps;
	r.body = [&](int) { variant->body(object, one.between_ns, one.work_ns); };
	Result result = run(r);

	if (!result.cut && !variant->check(object, result.all))
		throw std::runtime_error("'" + one.variant + "', " + std::to_string(one.threads) +
					 " threads: a count is wrong");
	double n = static_cast<double>(std::max<uint64_t>(result.total(), 1));
	double all = static_cast<double>(std::max<uint64_t>(result.all, 1));
	const Stats &s = result.stats;

	out.ns_per_op = result.ns_per_op();
	out.fairness = result.fairness();
	out.retries = static_cast<double>(s.failed_swaps) /
		      static_cast<double>(std::max<uint64_t>(s.swaps - s.failed_swaps, 1));
	out.fallbacks = static_cast<double>(s.fallbacks) / all / 2; /* a pair is two of them */
	out.transfers = static_cast<double>(s.transfers) / all;
	out.longest_wait_ns = result.longest_wait_ns;
	out.lock_ns = static_cast<double>(s.lock_ps) / 1000 / all;
	out.unlock_ns = static_cast<double>(s.unlock_ps) / 1000 / all;
	out.events = s.events;
	out.naps = s.naps;
	out.operations = static_cast<uint64_t>(n);
	out.cut = result.cut;
	return out;
}

/*
 * Each process takes the next unclaimed case and writes its outcome to shared memory. Outcomes do
 * not depend on which process runs a case.
 */
std::vector<Outcome> simulate_all(const std::vector<Case> &cases, int jobs)
{
	struct Shared {
		size_t next;
		char error[400];
	};
	size_t bytes = sizeof(Shared) + cases.size() * sizeof(Outcome);
	void *memory =
		mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		throw std::runtime_error("no memory for the results");
	Shared *shared = static_cast<Shared *>(memory);
	Outcome *outcomes = reinterpret_cast<Outcome *>(shared + 1);
	std::vector<pid_t> children;
	time_t begin = time(nullptr), last = begin;
	/* Prints the progress on stderr every ten seconds. */
	auto report = [&](size_t done) {
		time_t now = time(nullptr);

		if (now - last < 10)
			return;
		last = now;
		fprintf(stderr, "hf-lab simulate: %zu of %zu runs, %ld s\n", done, cases.size(),
			static_cast<long>(now - begin));
	};
	auto work = [&](bool reports) {
		try {
			for (;;) {
				size_t i = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED);

				if (i >= cases.size())
					return true;
				outcomes[i] = simulate(cases[i]);
				if (reports)
					report(i + 1);
			}
		} catch (const std::exception &error) {
			strncpy(shared->error, error.what(), sizeof(shared->error) - 1);
			__atomic_store_n(&shared->next, cases.size(), __ATOMIC_RELAXED);
			return false;
		}
	};

	for (int i = 1; i < jobs && static_cast<size_t>(i) < cases.size(); i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(work(false) ? 0 : 1);
		if (child > 0)
			children.push_back(child);
	}
	(void)work(true);
	for (pid_t child : children) {
		int status;

		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		if (status != 0 && !shared->error[0])
			strcpy(shared->error, "a process of the simulator ended early");
	}
	std::string error = shared->error;
	std::vector<Outcome> list(outcomes, outcomes + cases.size());

	munmap(memory, bytes);
	if (!error.empty())
		throw std::runtime_error(error);
	return list;
}

Machine prepare(const Machine &file, const std::string &class_name, const Settings &settings)
{
	Machine machine = as_class(file, class_name);

	for (const auto &[name, value] : settings)
		set_parameter(&machine, name, value);
	calibrate(&machine);
	return machine;
}

/* True if this parameter has no effect on runs of the machine. */
static bool has_no_effect(const std::string &name, const Machine &machine)
{
	if (name == "hold_cycles")
		return machine.hold_cycles == 0;
	return name == "nearest_share" && machine.arbitration != Arbitration::NEAREST;
}

std::vector<Machine> sweep(const Machine &prepared, const Settings &settings)
{
	std::vector<Machine> list = { prepared };

	for (const auto &[name, parameter] : prepared.parameters) {
		bool is_set = has_no_effect(name, prepared);

		for (const auto &[set, value] : settings)
			is_set = is_set || set == name;
		for (double value : is_set ? std::vector<double>() : parameter.sweep) {
			Machine m = prepared;

			for (const char *transfer :
			     { "transfer_smt_ns", "transfer_cluster_ns", "transfer_socket_ns",
			       "transfer_far_ns" }) /* from before the calibration */
				set_parameter(&m, transfer, m.parameters[transfer].value);
			set_parameter(&m, name, value);
			calibrate(&m);
			list.push_back(m);
		}
	}
	return list;
}

std::vector<int> siblings_first(const Machine &machine, int threads)
{
	const int smt = static_cast<int>(machine.smt);
	std::vector<int> list;

	for (int i = 0; i < threads; i++) {
		int n = i % machine.processors();

		list.push_back(n / smt + n % smt * machine.caches());
	}
	return list;
}

static Range range_of(const std::vector<const Outcome *> &outcomes, double Outcome::*field)
{
	std::vector<double> values;

	for (const Outcome *outcome : outcomes)
		values.push_back(outcome->*field);
	std::sort(values.begin(), values.end());
	return { values[values.size() / 2], values.front(), values.back() };
}

std::vector<Row> rows_of(const Plan &plan)
{
	std::vector<Case> cases;
	std::vector<Row> rows;
	Case one = plan.of;
	std::vector<Machine> machines;
	/* A row: the first machine with each seed, then the other machines with seed 1. */
	auto add = [&] {
		Row row;

		one.machine = machines.front();
		row.of = one;
		for (int seed = 1; seed <= plan.seeds; seed++) {
			one.seed = static_cast<uint64_t>(seed);
			cases.push_back(one);
		}
		one.seed = 1;
		for (size_t m = 1; m < machines.size(); m++) {
			one.machine = machines[m];
			cases.push_back(one);
		}
		row.runs = static_cast<size_t>(plan.seeds) + machines.size() - 1;
		rows.push_back(row);
	};

	for (const std::string &class_name : plan.class_names) {
		machines = sweep(prepare(plan.file, class_name, plan.settings), plan.settings);
		if (!plan.sweep)
			machines.resize(1);
		for (const std::string &variant : plan.variants) {
			one.variant = variant;
			for (double between : plan.between) {
				one.between_ns = between;
				for (double work : plan.work) {
					one.work_ns = work;
					for (int threads : plan.threads) {
						one.threads = threads;
						add();
					}
				}
			}
		}
	}
	std::vector<Outcome> outcomes = simulate_all(cases, plan.jobs);
	size_t at = 0;

	for (Row &row : rows) {
		std::vector<const Outcome *> good;

		for (size_t i = 0; i < row.runs; i++, at++) {
			const Outcome &o = outcomes[at];

			row.cut += o.cut;
			if (o.operations > 0 && std::isfinite(o.ns_per_op))
				good.push_back(&o);
		}
		if (good.empty()) {
			row.ns_per_op = { INFINITY, INFINITY, INFINITY };
			continue;
		}
		row.ns_per_op = range_of(good, &Outcome::ns_per_op);
		row.fairness = range_of(good, &Outcome::fairness);
		row.retries = range_of(good, &Outcome::retries);
		row.fallbacks = range_of(good, &Outcome::fallbacks);
		row.transfers = range_of(good, &Outcome::transfers);
		row.longest_wait_ns = range_of(good, &Outcome::longest_wait_ns);
	}
	return rows;
}

} // namespace sim
