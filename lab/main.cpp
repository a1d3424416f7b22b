/* SPDX-License-Identifier: MIT */
/* hf-lab - measures every implementation on this machine, beside its peers. */
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.hpp"
#include "locks.hpp"
#include "options.hpp"
#if HF_LAB_HAVE_SIM
#include "command.hpp"
#endif

using namespace lab;

namespace lab
{

const std::vector<Table> &tables()
{
	/* First those of the report's first screen: ^C leaves what has been measured. */
	static const std::vector<Table> list = {
		{ "refcount", "inc + dec_and_test and inc_not_zero + put, alone and contended",
		  "unchecked", refcount_cells },
		{ "mutex", "lock, increment, unlock by threads that may park: up to 8 a processor",
		  "peer:pthread_mutex", mutex_cells, "hf_mutex" },
		{ "cond", "condition variables: taking turns, a broadcast, a bounded queue",
		  "peer:pthread_cond", cond_cells, "hf_cond" },
		{ "rwlock",
		  "read and write locks: alone, contended, oversubscribed; by share of writes",
		  "peer:pthread_rwlock", rwlock_cells, "hf_rwlock" },
		{ "spinlock", "lock, increment, unlock: alone, contended, oversubscribed", "cas",
		  spinlock_cells },
		{ "lockref", "get + put on one hot object, and its retries", "unbounded",
		  lockref_cells },
		{ "clear", "clear memory that may fault, by size, beside memset", "libc",
		  clear_cells },
		{ "copy", "copy memory that may fault, by size, beside memcpy", "libc",
		  copy_cells },
		{ "region", "unmodified code that reads a mapping that may lose its pages",
		  "own handler", region_cells },
		{ "verbs",
		  "fill, move, compare, find and more of memory that may fault, beside libc",
		  "plain", verbs_cells },
		{ "holder", "get + put while another thread holds the lock for 1 ms of 2",
		  "bounded, spins", holder_cells },
		{ "handoff", "ticket and mcs, contended, with different bodies of the wait loop",
		  "ticket wait=none", handoff_cells, "ticket wait=none" },
		{ "loop",
		  "the loops of clear and copy with fault recovery, beside the same without",
		  "unguarded", loop_cells, "guarded" },
		{ "fault", "a recovered fault, beside a bare SIGSEGV", "bare SIGSEGV", fault_cells,
		  "load" },
		{ "guard", "a copy that meets no fault, beside other ways to survive one", "memcpy",
		  guard_cells },
		{ "validate", "lock and unlock with HF_VALIDATE, by the number of other locks held",
		  "off", validate_cells, "off" },
#if HF_LAB_HAVE_TMPFS
		{ "openclose", "open, read 64 bytes, close in tmpfs, with each implementation",
		  "default", openclose_cells },
		{ "sparse", "read a sparse file in tmpfs: clear, or copy a page of zeros",
		  "copy a zero page", sparse_cells },
		{ "readdir", "list a directory in tmpfs, a pass over all names", "default",
		  readdir_cells },
#endif
#if HF_LAB_HAVE_MOUNT
		{ "mount", "tmpfs as a mount, beside the kernel's and an example of libfuse",
		  "hf-tmpfs-fuse", mount_cells },
#endif
	};

	return list;
}

#ifndef HF_LAB_HAVE_PASSTHROUGH
#define HF_LAB_HAVE_PASSTHROUGH 1 /* without the table mount it is not missed */
#endif

std::vector<Missing> missing_peers()
{
	static const struct {
		bool have;
		const char *peer, *package;
	} all[] = {
		{ HF_LAB_HAVE_CK, "ConcurrencyKit's fas, ticket and mcs", "libck-dev" },
		{ HF_LAB_HAVE_TBB, "oneTBB's spin_mutex and queuing_mutex", "libtbb-dev" },
		{ HF_LAB_HAVE_ABSL, "absl::Mutex", "libabsl-dev" },
		{ HF_LAB_HAVE_ADAPTIVE, "the adaptive kind of pthread_mutex", "only glibc has it" },
		{ HF_LAB_HAVE_NSYNC, "nsync's mutex and condition variable", "libnsync-dev" },
		{ HF_LAB_HAVE_RUST,
		  "Rust's std::sync::Mutex, parking_lot, and their condition variables",
		  "cargo and librust-parking-lot-dev" },
		{ HF_LAB_HAVE_GLIB, "GLib's atomic reference count", "libglib2.0-dev" },
		{ HF_LAB_HAVE_TMPFS, "the tables openclose, sparse and readdir", "liburcu-dev" },
		{ HF_LAB_HAVE_SIM, "hf-lab simulate", "libboost-context-dev, libtomlplusplus-dev" },
		{ HF_LAB_HAVE_MOUNT, "the table mount", "libfuse3-dev" },
		{ HF_LAB_HAVE_PASSTHROUGH, "libfuse's passthrough_ll", "libfuse3-dev" },
	};
	std::vector<Missing> list;

	for (const auto &one : all) {
		if (!one.have)
			list.push_back({ one.peer, one.package });
	}
	return list;
}

} // namespace lab

static const char usage[] =
	R"(usage: hf-lab TABLE... [--threads LIST] [--window-ms N] [--rounds N] [--only PATTERN]
              [--seed N] [--seconds N] [--names N] [--anyway] [--json FILE]
       hf-lab list | cpu | --version
       hf-lab simulate ...   run the same headers on 1 to 512 simulated cores: --help
       hf-lab classify ...   measure the cache-transfer costs that it needs: --help

  TABLE           a table of `hf-lab list`, or `all`
  --threads LIST  numbers of threads, such as 1,2,8; more than processors = oversubscribed
  --window-ms N   length of one run, 1 to 10000
  --rounds N      runs of each row, 1 to 1000
  --only PATTERN  only variants that match this shell pattern, such as 'queued*'; the
                  baseline is always measured
  --seed N        seed of the random order in which the variants take turns
  --seconds N     how long it may take: as many runs as fit, by the times that the first
                  ones took; 0 = as long as it takes. `all` alone takes 300 seconds
  --names N       names in the directories of the tables mount and readdir
  --anyway        judge the results even if other programs disturb them: exit status 0
  --json FILE     also write the rows to FILE: to FILE.tmp after the first round of all tables
                  and after each table, which replaces FILE at the end or after ^C

Exit status: 0 = done; 1 = a count was wrong, in the rows that are named; 2 = error;
3 = other programs disturbed so many rows that no table decides anything;
130 = ended by ^C, with the results so far.
)";

constexpr int SECONDS_OF_ALL = 300;
constexpr int BUSY = 3; /* the exit status if others disturbed too many rows */

static std::string table_names()
{
	std::string names;

	for (const Table &table : tables())
		names += std::string(names.empty() ? "" : ", ") + table.name;
	return names;
}

static void list_tables()
{
	for (const Table &table : tables())
		printf("%-10s %s; baseline %s\n", table.name, table.what, table.baseline);
	for (const Missing &missing : missing_peers())
		printf("missing    %s (%s)\n", missing.peer.c_str(), missing.package.c_str());
}

/* Appends the tables of that name to the chosen ones. */
static void choose(std::vector<const Table *> *chosen, const std::string &name)
{
	bool found = false;

	for (const Table &table : tables()) {
		if (name != "all" && name != table.name)
			continue;
		found = true;
		if (std::find(chosen->begin(), chosen->end(), &table) == chosen->end())
			chosen->push_back(&table);
	}
	if (!found)
		fail("no table '" + name + "'; there are: " + table_names() + ", all");
}

/* The file for the results. A pipe or terminal is written once, at the end. */
class Output {
public:
	explicit Output(const std::string &name)
		: name_(name), plain_(!name.empty() && is_plain(name)),
		  temporary_(plain_ ? name + ".tmp" : name)
	{
		keep(""); /* fail now, not after minutes of measuring */
	}
	/* Called after each table: an interrupted run leaves its results so far in FILE.tmp. */
	void keep(const std::string &text) const
	{
		if (plain_)
			write(text);
	}
	void finish(const std::string &text) const
	{
		if (name_.empty())
			return;
		write(text);
		if (plain_ && rename(temporary_.c_str(), name_.c_str()))
			fail("can't write " + name_ + ": " + strerror(errno));
	}

private:
	std::string name_;
	bool plain_;
	std::string temporary_;

	static bool is_plain(const std::string &name)
	{
		struct stat st;

		return lstat(name.c_str(), &st) || S_ISREG(st.st_mode);
	}
	void write(const std::string &text) const
	{
		std::ofstream out(temporary_);

		out << text;
		out.close();
		if (out)
			return;
		const std::string why = strerror(errno);

		if (plain_)
			(void)remove(temporary_.c_str());
		fail("can't write " + temporary_ + ": " + why);
	}
};

/* The share of the processors that other programs use before anything is measured. */
static double watch_others()
{
	CpuTime then = cpu_time();

	usleep(500000);
	double share = others_share(then, cpu_time());

	if (share > DISTURBED)
		fprintf(stderr,
			"hf-lab: other programs, or the host, use %.0f %% of the processors: the "
			"results will say little\n",
			share * 100);
	return share;
}

/* Measures the tables, prints and writes what was measured; returns the exit status. */
static int measure_tables(const std::vector<const Table *> &chosen, const Settings &settings,
			  const std::string &json)
{
	std::vector<Plan> plans;
	Output output(json);

	for (const Table *table : chosen) {
		plans.push_back(plan(*table, settings));
		if (plans.back().cells.empty())
			plans.pop_back();
	}
	if (plans.empty())
		fail("nothing matches --only '" + settings.only + "'");
	if (settings.seconds) /* a third for the first round, two thirds for at least two more */
		shorten(&plans, settings.seconds * 1e3 / 3.3);
	double before = settings.anyway ? 0 : watch_others();
	std::vector<Row> rows;
	Run run = {};
	auto take = [&] {
		rows.clear();
		for (const Plan &one : plans) {
			std::vector<Row> more = rows_of(one);

			rows.insert(rows.end(), more.begin(), more.end());
		}
		run = this_run(rows, settings, plans, before);
	};

	catch_interrupt();
	{
		Limit limit(settings.seconds ? settings.seconds * 1e3 : INFINITY);
		Progress progress(plans, limit);

		measure(&plans, limit, &progress, [&] {
			take();
			output.keep(to_json(rows, run));
		});
	}
	if (rows.empty())
		fail("ended before anything was measured");
	for (const Plan &one : plans) {
		if (!one.cut().empty())
			fprintf(stderr, "hf-lab: %s\n", one.cut().c_str());
	}
	const std::string busy = run.busy();

	if (!busy.empty()) {
		printf("%s\n\n", busy.c_str());
		if (!isatty(STDOUT_FILENO))
			fprintf(stderr, "hf-lab: %s\n", busy.c_str());
	}
	if (json.empty() || chosen.size() == 1 || !isatty(STDOUT_FILENO))
		print_plain(rows);
	fflush(stdout);
	output.finish(to_json(rows, run));
	int status = report_failures(rows);

	return was_interrupted() ? 128 + SIGINT : status ? status : busy.empty() ? 0 : BUSY;
}

static int run(const std::vector<std::string> &words)
{
	auto help = [] { fputs(usage, stdout); };
	const std::map<std::string, std::function<void()>> alone = {
		{ "--help", help },
		{ "-h", help },
		{ "--version", [] { printf("hf-lab %s, commit %s\n", HF_LAB_VERSION, commit()); } },
		{ "list", list_tables },
		{ "cpu", print_cpu },
	};

	if (words.empty()) {
		fputs(usage, stderr);
		return 2;
	}
	const std::string &command = words[0];
	const std::vector<std::string> rest(words.begin() + 1, words.end());

	if (alone.count(command)) {
		if (!rest.empty())
			fail(command + " takes no arguments");
		alone.at(command)();
		return 0;
	}
	if (command == "simulate" || command == "classify") {
#if HF_LAB_HAVE_SIM
		return command == "simulate" ? sim::simulate_command(rest)
					     : sim::classify_command(rest);
#else
		fail(command + ": hf-lab was built without it, because libboost-context-dev "
			       "or libtomlplusplus-dev was missing");
#endif
	}
	Settings settings;
	int seconds = -1;
	std::string json;
	using text = const std::string &;
	const Options options = {
		{ "--only", [&](text, text v) { settings.only = v; } },
		{ "--json", [&](text, text v) { json = v; } },
		{ "--threads",
		  [&](text o, text v) {
			  settings.threads.clear();
			  for (const std::string &one : split(v))
				  settings.threads.push_back(to_integer(o, one, 1, 1024));
		  } },
		{ "--window-ms",
		  [&](text o, text v) { settings.window_ms = to_integer(o, v, 1, 10000); } },
		{ "--rounds",
		  [&](text o, text v) { settings.rounds = to_integer(o, v, 1, 1000); } },
		{ "--seed",
		  [&](text o, text v) {
			  settings.seed = static_cast<unsigned int>(to_integer(o, v, 0, 1 << 30));
		  } },
		{ "--seconds", [&](text o, text v) { seconds = to_integer(o, v, 0, 1000000); } },
		{ "--names",
		  [&](text o, text v) { settings.names = to_integer(o, v, 1, 100000000); } },
	};

	std::vector<const Table *> chosen;

	const std::map<std::string, bool *> switches = { { "--anyway", &settings.anyway } };

	for (const std::string &name : parse(words, options, "hf-lab --help", switches)) {
		choose(&chosen, name);
		if (name == "all" && !settings.rounds)
			settings.seconds = SECONDS_OF_ALL;
	}
	if (seconds >= 0)
		settings.seconds = seconds;
	if (chosen.empty())
		fail("which table? There are: " + table_names() + ", all");
	return measure_tables(chosen, settings, json);
}

int main(int argc, char **argv)
{
	try {
		return run({ argv + 1, argv + argc });
	} catch (const std::exception &error) {
		fprintf(stderr, "hf-lab: %s\n", error.what());
		return 2;
	}
}
