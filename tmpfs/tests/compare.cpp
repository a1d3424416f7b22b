// SPDX-License-Identifier: MIT
/*
 * compare - random operations on two file systems: each call must return the same result, errno
 * and bytes.
 *
 *   compare [--seed N] [--sequences N] [--operations N] [--left DIR] [--extremes yes]
 *
 * The left one is the library, or a folder (a mount of hf-tmpfs-fuse); the right one is the
 * kernel's tmpfs, mounted by this program with the same limits; beside the library, which leaves
 * symlinks to the kernel, with `nosymfollow`. A folder is used by a thread that
 * has chroot()ed into it. A mount frees closed and unlinked files after the call has returned, so
 * the test waits after each call until both have the same space and inodes free. A sequence depends
 * on its seed only; if its outcomes differ, operations are removed for as long as a difference
 * remains.
 *
 * --extremes: instead, every call with extreme offsets and lengths.
 *
 * Where several errors apply, kernels differ in which one they return; this follows Linux 6.18.
 * Exits with 1 on a difference, 77 if no tmpfs can be mounted here.
 */
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>

#include <sched.h>
#include <sys/mount.h>

#include "generator.h"

namespace
{

const uint64_t PAGES = 64, INODES = 24;
const unsigned long NOSYMFOLLOW = 256; /* MS_NOSYMFOLLOW, of Linux 5.10 */

/* ---- one of the two ------------------------------------------------------------------------ */

void tell(void *, const char *line)
{
	std::printf("check: %s\n", line);
}

/* Plays a sequence of operations on one file system. */
class player : public side {
public:
	/* Calls f in the thread that may use this file system. */
	virtual void run(const std::function<void()> &f) { f(); }
	/* Waits, for a limited time, until as much is free as on the other side. */
	virtual void settle(const std::string &like) { (void)like; }
	/* Checks the file system at the end of a sequence. */
	virtual bool prove() { return hf_tmpfs_check(fs, tell, nullptr) == 0; }

	/*
	 * Runs a step, except where the two may differ: positions in a directory are not compared.
	 * The kernel counts a removed directory's inode until the last open file that was in it is
	 * closed, the library does not; so all files are closed before a directory goes.
	 */
	std::string play(const std::string &step)
	{
		std::istringstream in(step);
		std::string call, slot, other;
		struct stat st;

		in >> call >> slot >> other;
		bool is_dir = fstat(fd(slot), &st) == 0 && S_ISDIR(st.st_mode);
		if (call == "seek" && is_dir)
			return "0";
		const std::string &gone = call == "rmdir" ? slot : other;
		if ((call == "rmdir" || call == "rename") && lstat(gone.c_str(), &st) == 0 &&
		    S_ISDIR(st.st_mode))
			close_all();
		return side::step(step);
	}

	/* The whole tree: each name with its attributes and contents. */
	std::string dump(const std::string &path = "/")
	{
		std::string all = path == "/" ? "\nfree " + step("free") : "";
		long dir = open(path.c_str(), O_RDONLY | O_DIRECTORY, 0);
		struct stat st;
		words names;

		if (dir < 0)
			return all + "\n" + path + " can't be opened";
		list(static_cast<int>(dir), &names);
		close(static_cast<int>(dir));
		std::sort(names.begin(), names.end());
		for (const std::string &name : names) {
			std::string full = path + name.substr(0, name.find(' '));

			if (name[0] == '.')
				continue;
			all += "\n" + full + " " + describe(lstat(full.c_str(), &st), st);
			if (S_ISDIR(st.st_mode))
				all += dump(full + "/");
			else if (S_ISREG(st.st_mode))
				all += " " + step("contents " + full);
		}
		return all;
	}
};

class library : public player {
public:
	library()
	{
		struct hf_tmpfs_options options = {};

		options.size = PAGES * 4096;
		options.inodes = INODES;
		if (make(options))
			std::abort();
	}
	~library() override
	{
		if (end())
			std::abort();
	}
};

/* A folder, by system calls of a thread that has chroot()ed into it. */
class folder : public player {
public:
	explicit folder(const std::string &path) : path_(path)
	{
		run([] {
			remove_all();
			(void)!::chmod("/", 01777);
		});
	}
	~folder() override { run(remove_all); }
	/* A new thread each time, so that no state is kept but the files. */
	void run(const std::function<void()> &f) override
	{
		bool inside = false;

		std::thread([&] {
			inside = unshare(CLONE_FS) == 0 && chroot(path_.c_str()) == 0 &&
				 chdir("/") == 0;
			::umask(0);
			if (inside)
				f();
		}).join();
		if (!inside) {
			std::printf("can't enter %s\n", path_.c_str());
			std::exit(77);
		}
	}
	void settle(const std::string &like) override
	{
		for (int i = 0; i < 3000 && settles_; i++) {
			if (step("free") == like)
				return;
			if (i > 100)
				usleep(1000);
		}
		settles_ = false; /* a difference, which the next dump will show */
	}
	bool prove() override { return true; }

private:
	static void remove_all()
	{
		std::error_code error;

		for (const auto &entry : std::filesystem::directory_iterator("/", error))
			std::filesystem::remove_all(entry.path(), error);
	}

	std::string path_;
	bool settles_ = true;
};

/* ---- both ---------------------------------------------------------------------------------- */

struct settings {
	uint64_t seed = 1, sequences = 20, operations = 2000;
	std::string left; /* empty = the library */
	std::string right;
	bool extremes = false;
};

using steps = std::vector<std::string>;

/*
 * The outcome of each operation, with a dump of the tree after the last, and after every hundredth
 * unless all are extreme.
 * Records the free space after each operation in *is_free, or waits until it is as in *like.
 */
steps play_all(player &on, const settings &how, const steps &operations, steps *is_free,
	       const steps *like)
{
	const size_t every = how.extremes ? operations.size() : 100;
	steps outcomes;

	on.run([&] {
		for (size_t i = 0; i < operations.size(); i++) {
			std::string outcome = on.play(operations[i]);

			if (is_free)
				is_free->push_back(on.step("free"));
			if (like)
				on.settle((*like)[i]);
			if (i % every == every - 1 || i + 1 == operations.size())
				outcome += on.dump();
			outcomes.push_back(outcome);
		}
		on.close_all();
	});
	if (!on.prove())
		outcomes.back() += " (and the check found faults)";
	return outcomes;
}

/* The number of the first operation that differs; -1 = none. */
long first_difference(const settings &how, const steps &operations, bool say)
{
	std::unique_ptr<player> left, right(new folder(how.right));
	steps a, b, is_free;
	bool mounted = !how.left.empty(), settles = mounted && !how.extremes;

	if (operations.empty())
		return -1;
	if (mounted)
		left.reset(new folder(how.left));
	else
		left.reset(new library);
	b = play_all(*right, how, operations, settles ? &is_free : nullptr, nullptr);
	a = play_all(*left, how, operations, nullptr, settles ? &is_free : nullptr);
	for (size_t i = 0; i < operations.size(); i++) {
		if (a[i] == b[i])
			continue;
		if (say)
			std::printf("left:  %s\nright: %s\n", a[i].c_str(), b[i].c_str());
		return static_cast<long>(i);
	}
	return -1;
}

/* Removes all operations without which the difference remains. */
steps shrink(const settings &how, steps operations)
{
	for (size_t chunk = operations.size() / 2; chunk > 0;) {
		bool shorter = false;

		for (size_t at = 0; at + 1 < operations.size();) {
			steps fewer = operations;
			auto begin = fewer.begin() + static_cast<long>(at);
			long differs;

			fewer.erase(begin, begin + static_cast<long>(std::min(
							   chunk, operations.size() - 1 - at)));
			differs = first_difference(how, fewer, false);
			if (differs < 0) {
				at += chunk;
				continue;
			}
			fewer.resize(static_cast<size_t>(differs) + 1);
			operations = fewer;
			shorter = true;
		}
		if (!shorter || chunk > operations.size())
			chunk /= 2;
	}
	return operations;
}

steps random_steps(const settings &how, uint64_t seed)
{
	generator generator(seed, 6, geteuid() == 0, how.left.empty());
	steps operations;

	for (uint64_t i = 0; i < how.operations; i++)
		operations.push_back(generator.next());
	return operations;
}

/*
 * Reads and writes of more than a page use a bad buffer, because kernels differ in how far they
 * copy. The file is truncated before each fallocate, because the two count trees of far pages
 * differently.
 */
steps extreme_steps()
{
	std::vector<std::string> offsets, modes = { "0", "1", "3", "2", "2^20" };
	steps all = { "file /f x*10000", "open 0 /f rw" };
	auto add = [&](const std::string &step) { all.push_back(step); };

	for (int64_t at : side::extreme_offsets())
		offsets.push_back(std::to_string(at));
	for (const std::string &at : offsets) {
		for (const char *size : { "1", "100", "4096", "2147479552", "2147479553" }) {
			add(std::string("pread 0 ") + size + " " + at);
			add(std::string("pwrite 0 ") + (size[0] == '2' ? "@" : "w*") + size + " " +
			    at);
			add("fstat 0");
		}
		add("pread 0 0 " + at);
		add("pwrite 0 \"\" " + at);
		for (const char *call : { "ftruncate 0 ", "truncate /f " }) {
			add(call + at);
			add(std::string(call) + "10000");
		}
		add("pread 0 20000 0");
	}
	for (const char *first : { "ftruncate 0 10000", "ftruncate 0 max", "pwrite 0 w 2^62" }) {
		add(first);
		for (const std::string &from : offsets) {
			for (const std::string &at : offsets) {
				for (const char *whence : { "set", "cur", "end", "data", "hole",
							    "5", "-1", "2147483647" }) {
					add("seek 0 " + from + " set");
					add("seek 0 " + at + " " + whence);
				}
			}
		}
	}
	for (const std::string &at : offsets) {
		for (const char *length : { "min", "min+1", "-1", "0", "1", "4096", "100000",
					    "2^50", "max-4096", "max-4095", "max-1", "max" }) {
			for (const std::string &mode : modes) {
				add("ftruncate 0 0");
				add("fallocate 0 " + mode + " " + at + " " + length);
				add("fstat 0");
			}
		}
	}
	add("ftruncate 0 0");
	return all;
}

/* Returns whether no outcome differs. */
bool compare(const settings &how, uint64_t seed, steps operations)
{
	long differs = first_difference(how, operations, false);

	if (differs < 0)
		return true;
	operations.resize(static_cast<size_t>(differs) + 1);
	operations = shrink(how, operations);
	std::printf("seed %llu: operation %ld differs; %zu operations show it:\n",
		    static_cast<unsigned long long>(seed), differs, operations.size());
	for (const std::string &operation : operations)
		std::printf("  %s\n", operation.c_str());
	first_difference(how, operations, true);
	return false;
}

[[noreturn]] void skip(const char *why)
{
	std::printf("%s: %s\n", why, strerror(errno));
	std::exit(77);
}

/* Mounts a tmpfs with the same limits in a new mount namespace. */
std::string mount_tmpfs(unsigned long flags)
{
	static char name[] = "/tmp/holdfast-compare-XXXXXX";
	char options[80];
	unsigned int uid = geteuid(), gid = getegid();

	std::snprintf(options, sizeof(options), "size=%llu,nr_inodes=%llu,mode=1777",
		      static_cast<unsigned long long>(PAGES * 4096),
		      static_cast<unsigned long long>(INODES));
	if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0)
		skip("can't create a mount namespace");
	if (uid != 0) {
		for (const char *file : { "setgroups", "uid_map", "gid_map" }) {
			std::string path = std::string("/proc/self/") + file, text = "deny";
			unsigned int id = file[0] == 'u' ? uid : gid;
			FILE *to = fopen(path.c_str(), "w");

			if (file[1] == 'i')
				text = "0 " + std::to_string(id) + " 1";
			if (!to || fputs(text.c_str(), to) < 0 || fclose(to) != 0)
				skip("can't become root in a user namespace");
		}
	}
	if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 || !mkdtemp(name) ||
	    mount("tmpfs", name, "tmpfs", flags, options) != 0)
		skip("can't mount a tmpfs");
	std::atexit([] {
		umount2(name, MNT_DETACH);
		rmdir(name);
	});
	return name;
}

} // namespace

int main(int argc, char **argv)
{
	settings how;
	int failures = 0;

	for (int i = 1; i + 1 < argc; i += 2) {
		std::string option = argv[i];

		if (option == "--seed")
			how.seed = std::strtoull(argv[i + 1], nullptr, 0);
		else if (option == "--sequences")
			how.sequences = std::strtoull(argv[i + 1], nullptr, 0);
		else if (option == "--operations")
			how.operations = std::strtoull(argv[i + 1], nullptr, 0);
		else if (option == "--left")
			how.left = argv[i + 1];
		else if (option == "--extremes")
			how.extremes = true;
		else
			return 2;
	}
	if (how.extremes)
		how.sequences = 1;
	how.right = mount_tmpfs(how.left.empty() ? NOSYMFOLLOW : 0);
	for (uint64_t i = 0; i < how.sequences && failures < 3; i++)
		failures +=
			!compare(how, how.seed + i,
				 how.extremes ? extreme_steps() : random_steps(how, how.seed + i));
	std::printf("%llu sequences of %llu operations, seeds from %llu: %d differ\n",
		    static_cast<unsigned long long>(how.sequences),
		    static_cast<unsigned long long>(how.operations),
		    static_cast<unsigned long long>(how.seed), failures);
	return failures ? 1 : 0;
}
