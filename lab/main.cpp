/* SPDX-License-Identifier: MIT */
/* hf-lab - measures every implementation on this machine, beside its peers. */
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/stat.h>

#include "archive.hpp"
#if HF_LAB_HAVE_SIM
#include "command.hpp"
#endif

using namespace lab;

namespace lab
{

const std::vector<Table> &tables()
{
	static const std::vector<Table> list = {
		{ "refcount", "inc + dec_and_test and inc_not_zero + put, alone and contended",
		  "unchecked", refcount_cells, refcount_aims },
		{ "spinlock", "lock, increment, unlock: alone, contended, oversubscribed", "cas",
		  spinlock_cells, nullptr },
		{ "mutex", "lock, increment, unlock by threads that may park: up to 8 a processor",
		  "peer:pthread_mutex", mutex_cells, mutex_aims, "hf_mutex" },
		{ "cond", "condition variables: taking turns, a broadcast, a bounded queue",
		  "peer:pthread_cond", cond_cells, cond_aims, "hf_cond" },
		{ "lockref", "get + put on one hot object, and its retries", "unbounded",
		  lockref_cells, lockref_aims },
		{ "holder", "get + put while another thread holds the lock for 1 ms of 2",
		  "bounded, spins", holder_cells, holder_aims },
		{ "handoff", "ticket and mcs, contended, with different bodies of the wait loop",
		  "ticket wait=none", handoff_cells, nullptr, "ticket wait=none" },
		{ "clear", "clear memory that may fault, by size, beside memset", "libc",
		  clear_cells, memory_aims },
		{ "copy", "copy memory that may fault, by size, beside memcpy", "libc", copy_cells,
		  memory_aims },
		{ "verbs",
		  "fill, move, compare, find and more of memory that may fault, beside libc",
		  "plain", verbs_cells, verbs_aims },
		{ "loop",
		  "the loops of clear and copy with fault recovery, beside the same without",
		  "unguarded", loop_cells, loop_aims, "guarded" },
		{ "fault", "a recovered fault, beside a bare SIGSEGV", "bare SIGSEGV", fault_cells,
		  fault_aims, "load" },
		{ "guard", "a copy that meets no fault, beside other ways to survive one", "memcpy",
		  guard_cells, nullptr },
		{ "region", "unmodified code that reads a mapping that may lose its pages",
		  "own handler", region_cells, region_aims },
#if HF_LAB_HAVE_TMPFS
		{ "openclose", "open, read 64 bytes, close in tmpfs, with each implementation",
		  "default", openclose_cells, openclose_aims },
		{ "sparse", "read a sparse file in tmpfs: clear, or copy a page of zeros",
		  "copy a zero page", sparse_cells, sparse_aims },
		{ "readdir", "list a directory in tmpfs, a pass over all names", "default",
		  readdir_cells, nullptr },
#endif
#if HF_LAB_HAVE_MOUNT
		{ "mount", "tmpfs as a mount, beside the kernel's and an example of libfuse",
		  "hf-tmpfs-fuse", mount_cells, nullptr },
#endif
	};

	return list;
}

std::vector<Missing> missing_peers()
{
	std::vector<Missing> list;

#if !HF_LAB_HAVE_CK
	list.push_back({ "ConcurrencyKit's fas, ticket and mcs", "libck-dev" });
#endif
#if !HF_LAB_HAVE_TBB
	list.push_back({ "oneTBB's spin_mutex and queuing_mutex", "libtbb-dev" });
#endif
#if !HF_LAB_HAVE_ABSL
	list.push_back({ "absl::Mutex", "libabsl-dev" });
#endif
#ifndef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
	list.push_back({ "the adaptive kind of pthread_mutex", "only glibc has it" });
#endif
#if !HF_LAB_HAVE_NSYNC
	list.push_back({ "nsync's mutex and condition variable", "libnsync-dev" });
#endif
#if !HF_LAB_HAVE_RUST
	list.push_back({ "Rust's std::sync::Mutex, parking_lot, and their condition variables",
			 "cargo and librust-parking-lot-dev" });
#endif
#if !HF_LAB_HAVE_GLIB
	list.push_back({ "GLib's atomic reference count", "libglib2.0-dev" });
#endif
#if !HF_LAB_HAVE_TMPFS
	list.push_back({ "the tables openclose, sparse and readdir", "liburcu-dev" });
#endif
#if !HF_LAB_HAVE_SIM
	list.push_back({ "hf-lab simulate",
			 "libboost-context-dev, libtomlplusplus-dev, nlohmann-json3-dev" });
#endif
#if !HF_LAB_HAVE_MOUNT
	list.push_back({ "the table mount", "libfuse3-dev" });
#elif !HF_LAB_HAVE_PASSTHROUGH
	list.push_back({ "libfuse's passthrough_ll", "libfuse3-dev" });
#endif
	return list;
}

} // namespace lab

static const char usage[] =
	R"(usage: hf-lab TABLE... [--threads LIST] [--window-ms N] [--rounds N] [--only PATTERN]
              [--seed N] [--seconds N] [--json FILE]
       hf-lab compare OLD NEW [--only PATTERN]
       hf-lab merge FILE... --json FILE
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
  --seconds N     for a first look: reduce the number of runs and then their length until
                  all tables take about N seconds; no run begins after 2 N
  --json FILE     also write the rows to FILE: to FILE.tmp after each table, which replaces
                  FILE at the end or after ^C

  compare         print the rows that two files (.json, .json.gz) have in common, and which
                  differences exceed the noise
  merge           merge files of one program and machine: a row that several files have gets
                  the median of theirs, and the aims are computed from the merged rows

Exit status: 0 = done; 1 = a count was wrong, in the rows that are named; 2 = error;
130 = ended by ^C, with the results so far.
)";

[[noreturn]] static void fail(const std::string &what)
{
	throw std::runtime_error(what);
}

static int integer(const std::string &option, const std::string &text, int least, int most)
{
	char *end;

	errno = 0;
	long value = strtol(text.c_str(), &end, 10);

	if (text.empty() || *end || errno || value < least || value > most) {
		fail(option + " takes a whole number from " + std::to_string(least) + " to " +
		     std::to_string(most) + ", not '" + text + "'");
	}
	return static_cast<int>(value);
}

static std::vector<int> integers(const std::string &option, const std::string &text)
{
	std::vector<int> list;
	size_t at = 0;

	for (;;) {
		size_t comma = text.find(',', at);

		list.push_back(integer(option, text.substr(at, comma - at), 1, 1024));
		if (comma == std::string::npos)
			return list;
		at = comma + 1;
	}
}

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
		/* Fail now, not after minutes of measuring. */
		if (plain_)
			write("");
	}
	/* Called after each table: an interrupted run leaves its results so far in FILE.tmp. */
	void keep(const std::string &text)
	{
		if (plain_)
			write(text);
	}
	void finish(const std::string &text)
	{
		if (name_.empty())
			return;
		write(text);
		if (plain_ && rename(temporary_.c_str(), name_.c_str()))
			fail_to_write(name_);
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
	[[noreturn]] static void fail_to_write(const std::string &name)
	{
		fail("can't write " + name + ": " + strerror(errno));
	}
	void write(const std::string &text) const
	{
		errno = 0;
		std::ofstream out(temporary_);

		out << text;
		out.close();
		if (out)
			return;
		int error = errno;

		if (plain_)
			(void)remove(temporary_.c_str());
		errno = error;
		fail_to_write(temporary_);
	}
};

static void set_option(const std::string &option, const std::string &value, Settings *settings,
		       std::string *json)
{
	if (option == "--threads")
		settings->threads = integers(option, value);
	else if (option == "--window-ms")
		settings->window_ms = integer(option, value, 1, 10000);
	else if (option == "--rounds")
		settings->rounds = integer(option, value, 1, 1000);
	else if (option == "--seed")
		settings->seed = static_cast<unsigned int>(integer(option, value, 0, 1 << 30));
	else if (option == "--seconds")
		settings->seconds = integer(option, value, 1, 1000000);
	else if (option == "--only")
		settings->only = value;
	else
		*json = value;
}

static bool is_option(const std::string &word)
{
	for (const char *option : { "--threads", "--window-ms", "--rounds", "--only", "--seed",
				    "--seconds", "--json" }) {
		if (word == option)
			return true;
	}
	return false;
}

static int run(const std::vector<std::string> &words)
{
	std::vector<const Table *> chosen;
	Settings settings;
	std::string json;

	if (words.empty()) {
		fputs(usage, stderr);
		return 2;
	}
	for (const char *alone : { "--help", "-h", "help", "--version", "list", "--list", "cpu" }) {
		if (words[0] == alone && words.size() > 1)
			fail(words[0] + " takes no arguments");
	}
	if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
		fputs(usage, stdout);
		return 0;
	}
	if (words[0] == "--version") {
		printf("hf-lab %s, commit %s\n", HF_LAB_VERSION, commit());
		return 0;
	}
	if (words[0] == "list" || words[0] == "--list") {
		list_tables();
		return 0;
	}
	if (words[0] == "cpu") {
		print_cpu();
		return 0;
	}
	if (words[0] == "simulate" || words[0] == "classify") {
#if HF_LAB_HAVE_SIM
		std::vector<std::string> rest(words.begin() + 1, words.end());

		return words[0] == "simulate" ? sim::simulate_command(rest)
					      : sim::classify_command(rest);
#else
		fail(words[0] + ": hf-lab was built without it, because libboost-context-dev, "
				"libtomlplusplus-dev or nlohmann-json3-dev was missing");
#endif
	}
	bool comparing = words[0] == "compare", merging = words[0] == "merge";
	std::vector<std::string> files;

	for (size_t i = comparing || merging; i < words.size(); i++) {
		size_t equals = words[i].find('=');
		std::string option = words[i].substr(0, equals);

		if (option[0] != '-') {
			if (comparing || merging)
				files.push_back(words[i]);
			else
				choose(&chosen, words[i]);
			continue;
		}
		if (!is_option(option) || (comparing && option != "--only") ||
		    (merging && option != "--json"))
			fail("no option '" + option + "'; see hf-lab --help");
		if (equals == std::string::npos && i + 1 == words.size())
			fail(option + " needs a value");
		set_option(option,
			   equals == std::string::npos ? words[++i] : words[i].substr(equals + 1),
			   &settings, &json);
	}
	if (comparing) {
		if (files.size() != 2)
			fail("compare takes two files, the old one and the new one");
		return compare(files[0], files[1], settings.only);
	}
	if (merging) {
		if (files.empty() || json.empty())
			fail("merge takes files, and --json FILE for the merged results");
		/* Read the inputs before the output is opened: it may be one of them. */
		std::string text = merge(files);

		Output(json).finish(text);
		return 0;
	}
	if (chosen.empty())
		fail("which table? There are: " + table_names() + ", all");

	std::vector<Plan> plans;
	double ms = 0;

	for (const Table *table : chosen) {
		plans.push_back(plan(*table, settings));
		ms += plans.back().ms;
	}
	if (ms == 0)
		fail("nothing matches --only '" + settings.only + "'");
	if (settings.seconds)
		ms = shorten(&plans, settings.seconds * 1e3);
	Output output(json);
	std::vector<Row> rows;
	std::vector<Aim> aims;

	std::vector<std::string> cut;

	catch_interrupt();
	{
		Progress progress(ms);
		Limit limit(settings.seconds ? now_ns() + 2e9 * settings.seconds : INFINITY);
		double behind_ms = ms;

		for (Plan &one : plans) {
			if (one.cells.empty())
				continue;
			behind_ms -= one.ms;
			std::vector<Row> more =
				measure(&one, settings, limit.before(behind_ms), &progress);
			std::vector<Aim> its_aims = more.empty() ? std::vector<Aim>()
								 : aims_of(*one.table, more);

			rows.insert(rows.end(), more.begin(), more.end());
			aims.insert(aims.end(), its_aims.begin(), its_aims.end());
			if (!one.cut.empty())
				cut.push_back(one.cut);
			output.keep(to_json(rows, aims, this_run(rows, settings, cut)));
		}
	}
	if (rows.empty())
		fail("ended before anything was measured");
	for (const std::string &words : cut)
		fprintf(stderr, "hf-lab: %s\n", words.c_str());
	if (json.empty() || chosen.size() == 1)
		print_plain(rows);
	print_aims(aims);
	fflush(stdout);
	output.finish(to_json(rows, aims, this_run(rows, settings, cut)));
	int status = report_failures(rows);

	return was_interrupted() ? 128 + SIGINT : status;
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
