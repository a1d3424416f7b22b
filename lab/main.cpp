/* SPDX-License-Identifier: MIT */
/* hf-lab - measures every implementation on this machine, beside its peers. */
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <string>

#include "bench.hpp"

using namespace lab;

namespace lab
{

const std::vector<Table> &tables()
{
	static const std::vector<Table> list = {
		{ "refcount", "inc + dec_and_test and inc_not_zero + put, alone and contended",
		  "unchecked", refcount_cells },
		{ "spinlock", "lock, increment, unlock: alone, contended, oversubscribed", "cas",
		  spinlock_cells },
		{ "mutex", "lock, increment, unlock by threads that may sleep: up to 8 a processor",
		  "peer:pthread_mutex", mutex_cells },
		{ "lockref", "get + put on one hot object, and its retries", "unbounded",
		  lockref_cells },
		{ "holder", "get + put while another thread holds the lock for 1 ms of 2",
		  "bounded, spins", holder_cells },
		{ "handoff", "what the body of a wait loop does to ticket and mcs, contended",
		  "ticket wait=none", handoff_cells },
		{ "clear", "clear memory that may fault, by size, beside memset", "libc",
		  clear_cells },
		{ "copy", "copy memory that may fault, by size, beside memcpy", "libc",
		  copy_cells },
		{ "loop", "the loops of clear and copy with the guard, beside the same without",
		  "unguarded", loop_cells },
		{ "fault", "a recovered fault, beside a bare SIGSEGV", "bare SIGSEGV",
		  fault_cells },
		{ "guard", "a copy without a fault, beside other ways to survive one", "memcpy",
		  guard_cells },
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
#if !HF_LAB_HAVE_GLIB
	list.push_back({ "GLib's atomic reference count", "libglib2.0-dev" });
#endif
#if !HF_LAB_HAVE_TMPFS
	list.push_back({ "the tables openclose, sparse and readdir", "liburcu-dev" });
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
	"usage: hf-lab TABLE [--threads LIST] [--window-ms N] [--rounds N] [--only PATTERN]\n"
	"              [--seed N] [--json FILE]\n"
	"       hf-lab list\n"
	"       hf-lab cpu\n"
	"\n"
	"  TABLE           one of `hf-lab list`, or `all`\n"
	"  --threads LIST  numbers of threads, such as 1,2,8 (spinlock: above the processors = \n"
	"                  oversubscribed)\n"
	"  --window-ms N   length of one run, 1 to 10000\n"
	"  --rounds N      runs a row, 1 to 1000\n"
	"  --only PATTERN  only variants that match this shell pattern, such as 'queued*'; the\n"
	"                  baseline is always measured\n"
	"  --seed N        of the order in which the variants take turns\n"
	"  --json FILE     write the rows there too\n";

[[noreturn]] static void fail(const std::string &what)
{
	fprintf(stderr, "hf-lab: %s\n", what.c_str());
	exit(2);
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

static int run(int argc, char **argv)
{
	std::vector<const Table *> chosen;
	Settings settings;
	std::string json;

	if (argc < 2) {
		fputs(usage, stderr);
		return 2;
	}
	std::string name = argv[1];

	if (name == "--help" || name == "-h" || name == "help") {
		fputs(usage, stdout);
		return 0;
	}
	if (name == "list") {
		if (argc > 2)
			fail("list takes no arguments");
		for (const Table &table : tables())
			printf("%-10s %s; baseline %s\n", table.name, table.what, table.baseline);
		for (const Missing &missing : missing_peers())
			printf("missing    %s (%s)\n", missing.peer.c_str(),
			       missing.package.c_str());
		return 0;
	}
	if (name == "cpu") {
		if (argc > 2)
			fail("cpu takes no arguments");
		print_cpu();
		return 0;
	}
	for (const Table &table : tables()) {
		if (name == "all" || name == table.name)
			chosen.push_back(&table);
	}
	if (chosen.empty())
		fail("no table '" + name + "'; there are: " + table_names() + ", all");
	for (int i = 2; i < argc; i++) {
		std::string option = argv[i];

		if (option != "--threads" && option != "--window-ms" && option != "--rounds" &&
		    option != "--only" && option != "--seed" && option != "--json")
			fail("no option '" + option + "'; see hf-lab --help");
		if (i + 1 == argc)
			fail(option + " needs a value");
		std::string value = argv[++i];

		if (option == "--threads")
			settings.threads = integers(option, value);
		else if (option == "--window-ms")
			settings.window_ms = integer(option, value, 1, 10000);
		else if (option == "--rounds")
			settings.rounds = integer(option, value, 1, 1000);
		else if (option == "--seed")
			settings.seed =
				static_cast<unsigned int>(integer(option, value, 0, 1 << 30));
		else if (option == "--only")
			settings.only = value;
		else
			json = value;
	}

	/* Find out now and not after minutes of measuring. */
	std::ofstream out;

	if (!json.empty()) {
		out.open(json);
		if (!out)
			fail("can't write " + json + ": " + strerror(errno));
	}
	std::vector<Row> rows;

	for (const Table *table : chosen) {
		std::vector<Row> more = measure(*table, settings);

		rows.insert(rows.end(), more.begin(), more.end());
	}
	if (rows.empty())
		fail("nothing matches --only '" + settings.only + "'");
	if (json.empty() || chosen.size() == 1)
		print_plain(rows);
	print_memory_verdict(rows);
	print_mutex_verdict(rows);
	print_lockref_verdict(rows);
#if HF_LAB_HAVE_TMPFS
	print_tmpfs_verdict(rows);
#endif
	if (!json.empty()) {
		out << to_json(rows, settings);
		out.close();
		if (!out)
			fail("can't write " + json + ": " + strerror(errno));
	}
	for (const Row &row : rows) {
		if (!row.checked())
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	try {
		return run(argc, argv);
	} catch (const std::exception &error) {
		fail(error.what());
	}
}
