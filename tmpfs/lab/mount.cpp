/* SPDX-License-Identifier: MIT */
/*
 * mount - the table `mount`: system calls on a mount of hf-tmpfs-fuse.
 *
 * Compared with the kernel's tmpfs (/dev/shm), which needs no server, and with libfuse's example
 * passthrough_ll over that tmpfs: the same path through the kernel's FUSE, to a file system that
 * only forwards calls. (Debian packages passthrough_ll as source code.)
 *
 * Each thread has its own files and directory. Each run has its own mount, whose server must exit
 * with 0; ours then has checked every count.
 */
#include "bench.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include <csignal>
#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel_tmpfs.hpp"

namespace lab
{
namespace
{

const char *const OURS = "hf-tmpfs-fuse";
const char *const KERNEL = "kernel tmpfs";
const char *const PEER = "passthrough_ll on tmpfs";
constexpr int NAMES = 100;         /* in the directory that is listed */
constexpr int NAMES_MADE = 100000; /* one after the other, unless --names says otherwise */
constexpr size_t BLOCK = 4096;
constexpr size_t FILE_SIZE = 16 << 20;

/* ---- operations ---------------------------------------------------------------------------- */

struct Place {
	std::string top;
	std::string file, other, dir; /* exists; does not; contains NAMES names */
	int fd = -1;
	char *block = nullptr;
	uint64_t random = 1;
	bool failed = false;
};

typedef bool (*operation_t)(Place &place);

bool write_at(Place &place, size_t at)
{
	return ::pwrite(place.fd, place.block, BLOCK, static_cast<off_t>(at)) == BLOCK;
}

const struct {
	const char *name;
	operation_t operation;
} cases[] = {
	{ "create, close, unlink",
	  [](Place &place) {
		  int fd = ::open(place.other.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0644);

		  return fd >= 0 && ::close(fd) == 0 && ::unlink(place.other.c_str()) == 0;
	  } },
	{ "open, close",
	  [](Place &place) {
		  int fd = ::open(place.file.c_str(), O_RDONLY);

		  return fd >= 0 && ::close(fd) == 0;
	  } },
	{ "stat",
	  [](Place &place) {
		  struct stat st;

		  return ::stat(place.file.c_str(), &st) == 0 && st.st_size == FILE_SIZE;
	  } },
	{ "read 4 KiB",
	  [](Place &place) { return ::pread(place.fd, place.block, BLOCK, 1 << 16) == BLOCK; } },
	{ "write 4 KiB", [](Place &place) { return write_at(place, 1 << 16); } },
	{ "write 4 KiB, random", /* all pages of the file are allocated */
	  [](Place &place) {
		  place.random = place.random * 6364136223846793005u + 1442695040888963407u;
		  return write_at(place, (place.random >> 33) % (FILE_SIZE / BLOCK) * BLOCK);
	  } },
	{ "readdir, 100 names",
	  [](Place &place) {
		  DIR *dir = ::opendir(place.dir.c_str());
		  int count = 0;

		  while (dir && ::readdir(dir))
			  count++;
		  return dir && ::closedir(dir) == 0 && count == NAMES + 2;
	  } },
};

struct Run {
	operation_t operation = nullptr;
	std::vector<Place> places;
};

uint64_t repeat(void *state, int thread, const int *stop)
{
	Run *run = static_cast<Run *>(state);
	Place &place = run->places[static_cast<size_t>(thread)];
	uint64_t n = 0;
	bool ok = true;

	do { /* at least once, however short the run */
		ok &= run->operation(place);
		n++;
	} while (!__atomic_load_n(stop, __ATOMIC_RELAXED));
	place.failed = !ok;
	return n;
}

/* ---- mounts -------------------------------------------------------------------------------- */

std::string temporary(const char *pattern)
{
	std::string path = pattern;

	return mkdtemp(path.data()) ? path : "";
}

/* Waits for a program; returns its exit status, or -1. */
int wait_for(pid_t child)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* Starts a program without output. */
pid_t start(const std::vector<std::string> &words)
{
	std::vector<char *> pointers;
	pid_t child;

	for (const std::string &word : words)
		pointers.push_back(const_cast<char *>(word.c_str()));
	pointers.push_back(nullptr);
	child = fork();
	if (child == 0) {
		int null = ::open("/dev/null", O_RDWR);

		dup2(null, 1);
		dup2(null, 2);
		execvp(pointers[0], pointers.data());
		_exit(127);
	}
	return child;
}

bool is_mounted(const std::string &path)
{
	struct stat here, above;

	return stat(path.c_str(), &here) == 0 && stat((path + "/..").c_str(), &above) == 0 &&
	       here.st_dev != above.st_dev;
}

/* A directory in the variant's file system, which is mounted if the variant has a server. */
class Where {
public:
	explicit Where(const std::string &variant)
	{
		if (variant != OURS)
			under = temporary("/dev/shm/hf-lab-XXXXXX");
		if (variant == KERNEL) {
			path = under;
			return;
		}
		path = temporary("/tmp/hf-lab-XXXXXX");
		if (variant == OURS)
			server = start({ HF_LAB_SERVER, path, "-f", "-o", "size=0,nr_inodes=0" });
		else
			server = start({ HF_LAB_PASSTHROUGH, path, "-f", "-o",
					 "cache=always,source=" + under });
		while (server > 0 && !is_mounted(path) && waitpid(server, nullptr, WNOHANG) == 0)
			usleep(1000);
	}

	/* Unmounts; true if the server exited normally. The files must have been removed before. */
	bool end()
	{
		bool ok = true;

		if (server > 0) {
			ok = wait_for(start(geteuid() == 0
						    ? std::vector<std::string>{ "umount", path }
						    : std::vector<std::string>{ "fusermount3", "-u",
										path })) == 0;
			if (!ok)
				kill(server, SIGKILL);
			ok &= wait_for(server) == 0;
			rmdir(path.c_str());
		}
		if (!under.empty())
			rmdir(under.c_str());
		return ok;
	}

	bool good() const { return !path.empty() && (server < 0 || is_mounted(path)); }

	std::string path;

private:
	std::string under;
	pid_t server = -1;
};

bool fill(Place &place, int number)
{
	const std::string of = "/" + std::to_string(number);
	std::string megabyte(1 << 20, 'x');

	place.file = place.top + of + "file";
	place.other = place.top + of + "other";
	place.dir = place.top + of + "dir";
	place.block = static_cast<char *>(std::aligned_alloc(BLOCK, BLOCK));
	std::fill(place.block, place.block + BLOCK, 'y');
	place.fd = ::open(place.file.c_str(), O_CREAT | O_RDWR, 0644);
	bool ok = ::mkdir(place.dir.c_str(), 0755) == 0;
	for (size_t at = 0; at < FILE_SIZE; at += megabyte.size())
		ok &= ::write(place.fd, megabyte.data(), megabyte.size()) ==
		      static_cast<ssize_t>(megabyte.size());
	for (int i = 0; i < NAMES; i++)
		ok &= ::close(::open((place.dir + "/a name " + std::to_string(i)).c_str(),
				     O_CREAT | O_WRONLY, 0644)) == 0;
	return ok;
}

bool empty(Place &place)
{
	bool ok = ::close(place.fd) == 0 && ::unlink(place.file.c_str()) == 0;

	for (int i = 0; i < NAMES; i++)
		ok &= ::unlink((place.dir + "/a name " + std::to_string(i)).c_str()) == 0;
	ok &= ::rmdir(place.dir.c_str()) == 0;
	std::free(place.block);
	return ok;
}

std::vector<Sample> run_one(const std::string &variant, operation_t operation, int threads,
			    int window_ms)
{
	Where where(variant);
	bool ok = where.good();
	Sample sample;
	Run run;

	run.operation = operation;
	run.places.resize(static_cast<size_t>(threads));
	for (int i = 0; ok && i < threads; i++) {
		run.places[static_cast<size_t>(i)].top = where.path;
		ok &= fill(run.places[static_cast<size_t>(i)], i);
	}
	if (ok) {
		Window window = run_window(threads, window_ms, repeat, { &run });

		sample = sample_of(window, true);
		/* The processor time that the server takes is part of the cost, no disturbance. */
		sample.disturbed = false;
		for (Place &place : run.places)
			ok &= !place.failed && empty(place);
	}
	ok &= where.end();
	sample.checked = ok;
	return { sample };
}

/*
 * The time to create a name in a directory that has nearly so many: the mean of the last 10,000, or
 * of the last half. Ours are not removed one by one, but by the unmount, which checks the counts.
 */
std::vector<Sample> run_names(const std::string &variant, int names)
{
	const int last = std::min(10000, (names + 1) / 2);
	Where where(variant);
	bool ok = where.good();
	Sample sample;
	double begin = 0;
	int made = 0;

	for (; ok && made < names; made++) {
		if (made == names - last)
			begin = now_ns();
		int fd = ::open((where.path + "/n" + std::to_string(made)).c_str(),
				O_CREAT | O_EXCL | O_WRONLY, 0644);

		ok = fd >= 0 && ::close(fd) == 0;
	}
	sample.ns_per_op = (now_ns() - begin) / last;
	if (variant != OURS) /* the underlying directory outlives the mount */
		while (made > 0)
			ok &= ::unlink((where.path + "/n" + std::to_string(--made)).c_str()) == 0;
	sample.checked = where.end() && ok;
	return { sample };
}

/* ---- waits --------------------------------------------------------------------------------- */

/*
 * The longest wait of a create, close and unlink, and of a stat of the big file, while 2 GiB of
 * that file are allocated, and while they are freed. The kernel must not answer the stat from its
 * cache.
 */
constexpr off_t BIG = off_t(2) << 30;

struct Probe {
	std::function<bool()> call;
	double longest = 0;
	bool ok = true;

	void repeat(const std::atomic<bool> &over)
	{
		do {
			double begin = now_ns();

			ok &= call();
			longest = std::max(longest, now_ns() - begin);
			usleep(500);
		} while (!over);
	}
};

std::vector<Sample> run_waits(const std::string &variant)
{
	Where where(variant);
	const std::string big = where.path + "/big", small = where.path + "/small";
	std::vector<Sample> samples;
	bool ok = where.good();
	int file = ok ? ::open(big.c_str(), O_CREAT | O_RDWR, 0644) : -1;

	for (bool grow : { true, false }) {
		std::atomic<bool> over{ false };
		Probe probes[] = {
			{ [&] {
				int fd = ::open(small.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0644);

				return fd >= 0 && ::close(fd) == 0 && ::unlink(small.c_str()) == 0;
			} },
			{ [&] {
				struct statx to;

				return statx(AT_FDCWD, big.c_str(), AT_STATX_FORCE_SYNC,
					     STATX_BASIC_STATS, &to) == 0;
			} },
		};
		std::vector<std::thread> threads;

		for (Probe &probe : probes)
			threads.emplace_back([&] { probe.repeat(over); });
		ok &= (grow ? ::fallocate(file, 0, 0, BIG) : ::ftruncate(file, 0)) == 0;
		over = true;
		for (std::thread &thread : threads)
			thread.join();
		for (const Probe &probe : probes) {
			samples.emplace_back();
			samples.back().ns_per_op = probe.longest;
			ok &= probe.ok;
		}
	}
	ok &= ::close(file) == 0 && ::unlink(big.c_str()) == 0;
	ok &= where.end();
	for (Sample &sample : samples)
		sample.checked = ok;
	return samples;
}

const char *const WAITS[] = { "longest create while 2 GiB are allocated",
			      "longest stat of the file while 2 GiB are allocated",
			      "longest create while 2 GiB are freed",
			      "longest stat of the file while 2 GiB are freed" };

bool have_memory(const std::string &variant)
{
	long free_bytes = sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
	struct statvfs st;

	if (variant != OURS &&
	    (statvfs("/dev/shm", &st) ||
	     static_cast<double>(st.f_bavail) * static_cast<double>(st.f_bsize) < BIG))
		return false;
	return free_bytes > BIG + BIG / 2;
}

/* Called once, before there are cells: most containers don't allow mounts. */
bool can_mount()
{
	Where where(OURS);
	bool ok = where.good();

	return where.end() && ok;
}

} // namespace

std::vector<Cell> mount_cells(const Settings &settings)
{
	std::vector<std::string> variants;
	std::vector<Cell> cells;

	if (!can_mount()) {
		std::fprintf(stderr, "mount: skipped: nothing can be mounted here\n");
		return cells;
	}
	variants = { OURS };
	if (have_kernel_tmpfs()) {
		variants.push_back(KERNEL);
		if (HF_LAB_HAVE_PASSTHROUGH)
			variants.push_back(PEER);
	}
	for (int threads : settings.threads.empty() ? std::vector<int>{ 1, 2 } : settings.threads) {
		for (const auto &one : cases) {
			for (const std::string &variant : variants) {
				operation_t operation = one.operation;
				Cell cell;

				cell.rows.push_back({ "mount", variant,
						      variant == OURS ? "default" : "peer",
						      one.name, threads });
				cell.window_ms = 20;
				cell.setup_ms = 30;
				cell.rounds = 7;
				cell.run = [variant, operation, threads](int ms) {
					return run_one(variant, operation, threads, ms);
				};
				cells.push_back(cell);
			}
		}
	}
	for (const std::string &variant : variants) {
		Cell cell;

		if (variant == PEER || settings.window_ms)
			continue;
		if (!have_memory(variant)) {
			std::fprintf(stderr, "mount: no memory for a file of 2 GiB: %s\n",
				     variant.c_str());
			continue;
		}
		for (const char *what : WAITS)
			cell.rows.emplace_back("mount", variant,
					       variant == OURS ? "default" : "peer", what);
		cell.window_ms = 0;
		cell.setup_ms = variant == OURS ? 2500 : 700;
		cell.rounds = 1;
		cell.run = [variant](int) { return run_waits(variant); };
		cells.push_back(cell);
	}
	/*
	 * The peer keeps a descriptor open for each name that the kernel knows: more than a process
	 * may have. Short runs have no time for it.
	 */
	for (const std::string &variant : variants) {
		const int names = settings.names ? settings.names : NAMES_MADE;
		const bool is_short = settings.window_ms ||
				      (settings.seconds && settings.seconds < 200);
		Cell cell;

		if (variant == PEER || (is_short && !settings.names))
			continue;
		cell.rows = { Row("mount", variant, variant == OURS ? "default" : "peer",
				  "create, " + names_name(names)) };
		cell.window_ms = 0;
		cell.setup_ms = names * (variant == OURS ? 0.1 : 0.01);
		cell.rounds = 1;
		cell.run = [variant, names](int) { return run_names(variant, names); };
		cells.push_back(cell);
	}
	return cells;
}

} // namespace lab
