/* SPDX-License-Identifier: MIT */
/* command - the options of `hf-lab simulate`, and what it prints. */
#include "command.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <unistd.h>

#include "options.hpp"
#include "tables.hpp"

namespace sim
{

static const char usage[] =
	R"(usage: hf-lab simulate --machine NAME|FILE.toml [--table NAME] [--threads LIST]
                       [--work LIST] [--between LIST] [--class LIST] [--variants LIST] [--seeds N]
                       [--set NAME=VALUE]... [--no-sweep] [--window-us N]
                       [--against NAME] [--limit-events N] [--jobs N]
       hf-lab simulate --validate [--no-sweep] [--jobs N]
       hf-lab simulate --one-run VARIANT --machine NAME [--seed N] [--no-naps] ...

  Runs the library's own headers on 1 to 512 simulated cores. The results are simulated, not
  measured. hf-lab(1) describes the options; lab/sim/tables.hpp lists the knobs of variants.

Exit status: 0 = done; 1 = a figure is outside of its tolerance; 2 = error.
)";

using lab::fail;
using lab::split;
using lab::to_integer;
using lab::to_number;

/* "1.2", or "1.2..3.4" if low and high differ. */
static std::string range_text(const Range &r, const char *format)
{
	char low[40], high[40];

	snprintf(low, sizeof(low), format, r.low);
	snprintf(high, sizeof(high), format, r.high);
	if (std::string(low) == high)
		return low;
	return std::string(low) + ".." + high;
}

static void print_rows(const Plan &plan, const std::vector<Row> &rows)
{
	int cut = 0;

	printf("SIMULATED, not measured: %s\n", plan.file.title.c_str());
	printf("%-8s %-24s %-12s %7s %7s %7s %16s %14s %12s %12s %12s\n", "table", "variant",
	       "class", "threads", "between", "work ns", "ns/op", "retries", "fallbacks",
	       "transfers", "fairness");
	for (const Row &r : rows) {
		printf("%-8s %-24s %-12s %7d %7.0f %7.0f %16s %14s %12s %12s %12s%s\n",
		       r.of.table.c_str(), r.of.variant.c_str(), r.of.machine.class_name.c_str(),
		       r.of.threads, r.of.between_ns, r.of.work_ns,
		       range_text(r.ns_per_op, "%.1f").c_str(),
		       range_text(r.retries, "%.2f").c_str(),
		       r.of.table == "lockref" ? range_text(r.fallbacks, "%.2f").c_str() : "-",
		       range_text(r.transfers, "%.1f").c_str(),
		       range_text(r.fairness, "%.2f").c_str(), r.cut ? " cut" : "");
		cut += r.cut;
	}
	if (cut)
		printf("cut: %d runs reached --limit-events; their rows are marked, and cover less "
		       "simulated time\n",
		       cut);
	printf("Ranges: over the seeds, and over the values of guessed parameters.\n");
}

template <class T>
static void add_unique(std::vector<T> *list, const T &one)
{
	if (std::find(list->begin(), list->end(), one) == list->end())
		list->push_back(one);
}

static std::string short_number(double value)
{
	char text[40];

	snprintf(text, sizeof(text), value >= 10 ? "%.0f" : value >= 2 ? "%.1f" : "%.2f", value);
	return text;
}

static std::string least_to_most(const std::vector<double> &values)
{
	if (values.empty())
		return "-";
	std::string low = short_number(*std::min_element(values.begin(), values.end()));
	std::string high = short_number(*std::max_element(values.begin(), values.end()));

	return low == high ? low : low + ".." + high;
}

/* The row of this variant that equals @row in everything else. */
static const Row &matching_row(const std::vector<Row> &rows, const Row &row,
			       const std::string &variant)
{
	for (const Row &other : rows) {
		if (other.of.variant == variant && other.of.threads == row.of.threads &&
		    other.of.work_ns == row.of.work_ns &&
		    other.of.between_ns == row.of.between_ns &&
		    other.of.machine.class_name == row.of.machine.class_name)
			return other;
	}
	fail("--against: no row of '" + variant + "'");
}

/*
 * Prints a line for each variant and a column for each number of threads: the range over all
 * classes and works. With several values of --between there is a line for each of them, and none
 * for the base.
 */
static void print_against(const std::vector<Row> &rows, const std::string &base)
{
	std::vector<std::pair<std::string, double>> lines; /* variant, between */
	std::vector<std::string> variants;
	std::vector<double> betweens;
	std::vector<int> threads;
	bool cut = false;

	for (const Row &row : rows) {
		add_unique(&variants, row.of.variant);
		add_unique(&betweens, row.of.between_ns);
		add_unique(&threads, row.of.threads);
	}
	if (std::find(variants.begin(), variants.end(), base) == variants.end())
		fail("--against: '" + base + "' is not among the variants");
	for (const Row &row : rows) {
		if (betweens.size() == 1 || row.of.variant != base)
			add_unique(&lines, { row.of.variant, row.of.between_ns });
	}
	for (const char *what : { "speed", "fairness", "longest wait, us" }) {
		std::string line = "| --- |";

		printf("\n| %s", what);
		for (int t : threads) {
			printf(" | %d", t);
			line += " --- |";
		}
		printf(" |\n%s\n", line.c_str());
		for (const auto &[variant, between_ns] : lines) {
			printf("| %s", variant.c_str());
			if (betweens.size() > 1)
				printf(", %.0f ns", between_ns);
			for (int t : threads) {
				std::vector<double> values;
				bool cell_cut = false;
				/* A run without a completed operation has no time per operation. */
				auto add = [&](double value) {
					if (std::isfinite(value))
						values.push_back(value);
				};

				for (const Row &row : rows) {
					if (row.of.variant != variant || row.of.threads != t ||
					    row.of.between_ns != between_ns)
						continue;
					const Row &other = matching_row(rows, row, base);
					bool counts = std::isfinite(row.ns_per_op.middle);

					cell_cut = cell_cut || row.cut ||
						   (what[0] == 's' && other.cut);
					if (what[0] == 's')
						add(other.ns_per_op.middle / row.ns_per_op.middle);
					else if (what[0] == 'f' && counts)
						add(row.fairness.middle);
					else if (counts)
						add(row.longest_wait_ns.middle / 1000);
				}
				printf(" | %s%s", least_to_most(values).c_str(),
				       cell_cut ? "*" : "");
				cut = cut || cell_cut;
			}
			printf(" |\n");
		}
	}
	if (cut)
		printf("\n* a run of it was cut at --limit-events: less simulated time, or none\n");
}

static int one_run(const Plan &plan, const std::string &variant)
{
	Case one = plan.of;

	one.machine = prepare(plan.file, plan.class_names.front(), plan.settings);
	one.variant = variant;
	one.threads = plan.threads.front();
	one.work_ns = plan.work.front();
	one.between_ns = plan.between.front();
	Outcome o = simulate(one);

	printf("events %llu operations %llu naps %llu ns/op %.6f retries %.6f transfers %.6f "
	       "fairness %.4f lock %.2f unlock %.2f longest_wait %.0f ns\n",
	       static_cast<unsigned long long>(o.events),
	       static_cast<unsigned long long>(o.operations),
	       static_cast<unsigned long long>(o.naps), o.ns_per_op, o.retries, o.transfers,
	       o.fairness, o.lock_ns, o.unlock_ns, o.longest_wait_ns);
	return 0;
}

/* "2,8,64", or "1..256" with each number twice the previous one. */
static std::vector<int> thread_list(const std::string &option, const std::string &text)
{
	std::vector<int> list;

	for (const std::string &one : split(text)) {
		size_t dots = one.find("..");
		int first = to_integer(option, one.substr(0, dots), 1, 1024);
		int last = dots == std::string::npos
				   ? first
				   : to_integer(option, one.substr(dots + 2), first, 1024);

		for (int t = first; t < last; t *= 2)
			list.push_back(t);
		list.push_back(last);
	}
	return list;
}

static std::vector<double> times(const std::string &option, const std::string &text)
{
	std::vector<double> list;

	for (const std::string &one : split(text))
		list.push_back(to_number(option, one, 0, 1e9));
	return list;
}

int simulate_command(const std::vector<std::string> &words)
{
	Plan plan;
	std::string machine, alone, against;
	bool no_sweep = false, validates = false, no_naps = false;
	bool help = false;
	using text = const std::string &;
	const std::map<std::string, bool *> switches = { { "--validate", &validates },
							 { "--no-sweep", &no_sweep },
							 { "--no-naps", &no_naps },
							 { "--help", &help },
							 { "-h", &help } };
	const lab::Options options = {
		{ "--machine", [&](text, text v) { machine = v; } },
		{ "--table", [&](text, text v) { plan.of.table = v; } },
		{ "--threads", [&](text o, text v) { plan.threads = thread_list(o, v); } },
		{ "--work", [&](text o, text v) { plan.work = times(o, v); } },
		{ "--between", [&](text o, text v) { plan.between = times(o, v); } },
		{ "--class", [&](text, text v) { plan.class_names = split(v); } },
		{ "--variants", [&](text, text v) { plan.variants = split(v); } },
		{ "--seeds", [&](text o, text v) { plan.seeds = to_integer(o, v, 1, 100); } },
		{ "--seed",
		  [&](text o, text v) {
			  plan.of.seed = static_cast<uint64_t>(to_integer(o, v, 0, 1 << 30));
		  } },
		{ "--window-us",
		  [&](text o, text v) { plan.of.window_ns = 1000 * to_number(o, v, 1, 1e9); } },
		{ "--limit-events",
		  [&](text o, text v) {
			  plan.of.event_limit = static_cast<uint64_t>(to_number(o, v, 1, 1e15));
		  } },
		{ "--jobs", [&](text o, text v) { plan.jobs = to_integer(o, v, 1, 64); } },
		{ "--against", [&](text, text v) { against = v; } },
		{ "--one-run", [&](text, text v) { alone = v; } },
		{ "--set",
		  [&](text o, text v) {
			  size_t equals = v.find('=');

			  if (equals == std::string::npos)
				  fail("--set takes NAME=VALUE, not '" + v + "'");
			  plan.settings.push_back(
				  { v.substr(0, equals),
				    to_number(o, v.substr(equals + 1), -1e12, 1e12) });
		  } },
	};

	plan.of.table = "lockref";
	plan.jobs = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
	for (const std::string &word :
	     lab::parse(words, options, "hf-lab simulate --help", switches))
		fail("no option '" + word + "'; see hf-lab simulate --help");
	if (help) {
		fputs(usage, stdout);
		return 0;
	}
	plan.sweep = !no_sweep;
	plan.of.naps = !no_naps;
	if (validates)
		return validate(plan.jobs, plan.sweep);
	if (machine.empty()) {
		std::string names;

		for (const std::string &name : machine_names())
			names += (names.empty() ? "" : ", ") + name;
		fail("which --machine? There are: " + names);
	}
	if (default_variants(plan.of.table).empty())
		fail("no table '" + plan.of.table +
		     "'; there are: lockref, refcount, rcuref, spinlock");
	plan.file = load_machine(machine_path(machine));
	bool all = plan.threads.empty();

	for (int threads : { 1, 2, 8, 28, 64 }) {
		if (all && threads <= plan.file.processors())
			plan.threads.push_back(threads);
	}
	if (plan.class_names.empty())
		plan.class_names = classes_of(plan.file);
	if (plan.variants.empty())
		plan.variants = default_variants(plan.of.table);
	if (!alone.empty())
		return one_run(plan, alone);
	std::vector<Row> rows = rows_of(plan);

	if (against.empty()) {
		print_rows(plan, rows);
	} else {
		printf("SIMULATED, not measured: %s; against %s, over all classes and works\n",
		       plan.file.title.c_str(), against.c_str());
		print_against(rows, against);
	}
	return 0;
}

} // namespace sim
