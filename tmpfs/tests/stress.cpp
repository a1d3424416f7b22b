// SPDX-License-Identifier: MIT
/*
 * stress - all operations concurrently, by threads that share a descriptor table or have their own.
 *
 *   tmpfs_stress [PART [OPERATIONS]]     default: all parts, each for a limited time; `random` can
 *                                        instead run this number of operations
 *
 *   random    random operations on few names and on nodes, so that threads collide; then every
 *             count is checked
 *   replaced  renames over one name: it always exists, and never with half a file
 *   reused    descriptors are closed and reopened while others read: a read gets the file that was
 *             open at that descriptor, or EBADF
 *   held      a file is unlinked and created again while others look it up: each node found belongs
 *             to a valid file
 *   punched   holes are punched while others read; freed memory is overwritten, so that a late read
 *             shows
 */
#include "../../tests/stress/stress.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include <malloc.h>

#include "generator.h"

namespace
{

const int THREADS = 4;
const int MILLISECONDS = 1500;

struct system : side {
	explicit system(uint64_t pages, uint64_t inodes)
	{
		struct hf_tmpfs_options options = {};

		options.size = pages * 4096;
		options.inodes = inodes;
		options.allocate = allocate;
		options.release = release;
		if (make(options, 12))
			std::abort();
	}
	/* Overwrites freed memory, so that a read after free is noticed. */
	static void *allocate(void *, size_t size)
	{
		return aligned_alloc(64, (size + 63) / 64 * 64);
	}
	static void release(void *, void *memory)
	{
		std::memset(memory, '#', malloc_usable_size(memory));
		std::free(memory);
	}
	static void tell(void *, const char *line) { stress::check(false, "check", "%s", line); }
	/* Checks every count, and that nothing is left. */
	void end(const char *who)
	{
		int faults = hf_tmpfs_check(fs, tell, nullptr);

		if (!stress::check(faults == 0, who, "%d faults", faults))
			return; /* freeing what is wrong might not end */
		faults = side::end();
		stress::check(faults == 0, who, "free: %d", faults);
		stress::no_reports(who);
	}
	/* A file in the shared table; the descriptor, or an error. */
	int create(const char *path, int flags = O_CREAT | O_RDWR)
	{
		return static_cast<int>(open(path, flags, 0644));
	}
};

/*
 * The first threads repeatedly call `writer` and the others `reader`, until the time is over. Both
 * return whether they did something.
 */
template <class W, class R>
void play(system &on, const char *who, int milliseconds, int writers, W writer, R reader)
{
	stress::counts<2> done{};

	/* On a busy machine the time may be over before both have done something. */
	for (int turn = 0; turn < 40 && !(done[0] && done[1]) && !stress::failures; turn++) {
		auto more = stress::run_for<2>(
			THREADS, milliseconds,
			[&](int me, stress::random &random, stress::counts<2> &n) {
				if (me < writers)
					n[0] += writer(me);
				else
					n[1] += reader(random);
			});

		done[0] += more[0];
		done[1] += more[1];
	}
	stress::did("tmpfs", (std::string(who) + ": writer").c_str(), done[0]);
	stress::did("tmpfs", (std::string(who) + ": readers").c_str(), done[1]);
	on.end(who);
}

/* ---- random -------------------------------------------------------------------------------- */

/* A thread, which uses the shared table and a private one. */
class actor {
public:
	actor(system &in, int seed)
		: top_(in.root), random_(seed),
		  generator_(static_cast<uint64_t>(seed), 12, true, true)
	{
		if (hf_tmpfs_table_new(&own_, in.fs, 8))
			std::abort();
		for (side &on : sides_) {
			on.fs = in.fs;
			on.t = &on == sides_ ? in.t : own_;
			on.root = in.root;
			on.slots_are_descriptors = true;
		}
	}
	~actor()
	{
		/* About half of the nodes are left for the check and hf_tmpfs_nodes_put(). */
		for (side &on : sides_) {
			if (random_.below(2))
				leave(on);
		}
		hf_tmpfs_table_free(own_);
	}

	/* Returns whether the operation succeeded: most fail. */
	bool once()
	{
		side &on = sides_[random_.below(2)];
		std::string outcome;

		if (random_.below(8) == 0)
			return change_root(on);
		outcome = on.step(generator_.next());
		/*
		 * The generator writes letters only: any other byte is from memory that was freed.
		 */
		for (char c : outcome) {
			if (!stress::check(isalnum(c) || strchr(" .*-/", c), "random",
					   "read byte %d, which was never written", c))
				break;
		}
		return outcome[0] != 'E';
	}

private:
	/* Starts at the root again. */
	void leave(side &on)
	{
		if (on.root != top_)
			hf_tmpfs_node_put(on.root, 1);
		on.root = top_;
	}

	/* Picks a node at which later paths start, and which may be removed meanwhile. */
	bool change_root(side &on)
	{
		struct hf_tmpfs_attributes to = {};
		struct hf_tmpfs_node *found;
		struct stat st;
		char target[100];

		if (random_.below(4) == 0 ||
		    hf_tmpfs_lookup(on.root, generator_.path().c_str(), &found)) {
			leave(on);
			return false;
		}
		hf_tmpfs_node_get(found);
		hf_tmpfs_node_put(found, found == top_ ? 2 : 1);
		leave(on);
		on.root = found;
		to.set = HF_TMPFS_SET_MTIME;
		hf_tmpfs_stat(found, &st);
		(void)hf_tmpfs_setattr(found, &to);
		(void)hf_tmpfs_readlink(found, target, sizeof(target));
		(void)hf_tmpfs_truncate(found, random_.below(40000));
		return hf_tmpfs_open(on.t, found, nullptr, random_.below(2) ? O_RDONLY : O_RDWR, 0,
				     nullptr) >= 0;
	}

	struct hf_tmpfs_node *top_;
	stress::random random_;
	generator generator_;
	side sides_[2];
	struct hf_tmpfs_table *own_;
};

void random_operations(uint64_t operations)
{
	std::atomic<uint64_t> done(0), worked(0);
	system system(200, 40);

	stress::run_threads(THREADS, [&](int me) {
		stress::deadline end(3 * MILLISECONDS);
		actor actor(system, me);
		uint64_t mine = 0, mine_worked = 0;

		while (operations ? mine < operations / THREADS : !end.passed()) {
			mine_worked += actor.once();
			mine++;
		}
		done += mine;
		worked += mine_worked;
	});
	stress::check(worked > 0, "random", "nothing worked");
	stress::did("tmpfs", "random", done, { { "without an error", worked } });
	system.end("random");
}

/* ---- replaced ------------------------------------------------------------------------------ */

void replaced()
{
	uint64_t turns[THREADS] = {};
	system on(0, 0);

	auto put = [&](const std::string &path, uint64_t n) {
		int fd = on.create(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC);
		uint64_t twice[2] = { n, ~n };

		stress::check(fd >= 0 && on.write(fd, reinterpret_cast<char *>(twice), 16) == 16 &&
				      on.close(fd) == 0,
			      "replaced", "can't write");
	};
	put("/hot", 0);
	on.mkdir("/dir", 0755);
	play(
		on, "replaced", MILLISECONDS / 2, 2,
		[&](int me) {
			std::string own = me ? "/dir/new" : "/new";

			put(own, ++turns[me]);
			long error = on.rename(own.c_str(), "/hot", 0);
			return stress::check(error == 0, "replaced", "rename: %ld", error);
		},
		[&](stress::random &) {
			uint64_t twice[2] = {};
			int fd = on.create("/hot", O_RDONLY);

			if (!stress::check(fd >= 0, "replaced", "open: %d", fd))
				return false;
			stress::check(on.read(fd, reinterpret_cast<char *>(twice), 16) == 16 &&
					      twice[0] == ~twice[1],
				      "replaced", "read half a file");
			return on.close(fd) == 0;
		});
}

/* ---- reused -------------------------------------------------------------------------------- */

/*
 * One thread opens two files, which get the descriptors 0 and 1, and closes them. The pool is last-
 * in, first-out, so the two swap their memory each time: a reader that does not check the
 * descriptor again after it has taken a reference reads the other file.
 */
void reused()
{
	system on(0, 0);

	for (const char *path : { "/0", "/1" }) {
		int fd = on.create(path);

		on.write(fd, path + 1, 1);
		on.close(fd);
	}
	play(
		on, "reused", MILLISECONDS, 1,
		[&](int) {
			int a = on.create("/0", O_RDONLY), b = on.create("/1", O_RDONLY);

			stress::check(a == 0 && b == 1, "reused", "open: %d, %d", a, b);
			return stress::check(!on.close(a) && !on.close(b), "reused", "close");
		},
		[&](stress::random &random) {
			int fd = static_cast<int>(random.below(2));
			char c = 0;
			long got = on.pread(fd, &c, 1, 0);

			stress::check(got == -EBADF || (got == 1 && c == '0' + fd), "reused",
				      "descriptor %d: %ld, '%c'", fd, got, c);
			return got == 1;
		});
}

/* ---- held ---------------------------------------------------------------------------------- */

void held()
{
	system on(0, 2);

	play(
		on, "held", MILLISECONDS / 2, 1,
		[&](int) {
			/* While another thread has a node of the last file, no inode is free. */
			struct hf_tmpfs_node *node;
			int fd = hf_tmpfs_open(on.t, nullptr, "/f", O_CREAT | O_RDWR, 0644, &node);

			if (fd < 0)
				return !stress::check(fd == -ENOSPC, "held", "create: %d", fd);
			on.close(fd);
			hf_tmpfs_node_put(node, 1);
			return stress::check(on.unlink("/f") == 0, "held", "unlink");
		},
		[&](stress::random &) {
			struct hf_tmpfs_node *node;
			struct stat st;

			if (hf_tmpfs_lookup(on.root, "f", &node))
				return false;
			hf_tmpfs_stat(node, &st);
			stress::check(st.st_mode == (S_IFREG | 0644) && st.st_nlink <= 1, "held",
				      "mode %o, %u links", st.st_mode,
				      static_cast<unsigned int>(st.st_nlink));
			hf_tmpfs_node_put(node, 1);
			return true;
		});
}

/* ---- punched ------------------------------------------------------------------------------- */

void punched()
{
	const std::string data(4096, 'a');
	system on(0, 0);
	int fd = on.create("/f");

	on.ftruncate(fd, 4096);
	play(
		on, "punched", MILLISECONDS / 2, 1,
		[&](int) {
			return stress::check(on.pwrite(fd, data.data(), 4096, 0) == 4096 &&
						     on.fallocate(fd, 3, 0, 4096) == 0,
					     "punched", "write or punch");
		},
		[&](stress::random &) {
			std::string got(4096, 0);

			stress::check(on.pread(fd, &got[0], 4096, 0) == 4096, "punched", "read");
			size_t odd = got.find_first_not_of(std::string("a\0", 2));
			return stress::check(odd == std::string::npos, "punched",
					     "byte %zu is of freed memory", odd);
		});
}

} // namespace

int main(int argc, char **argv)
{
	std::string part = argc > 1 ? argv[1] : "";
	uint64_t operations = argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 0;

	if (operations)
		alarm(3600);
	else
		stress::begin();
	if (part.empty() || part == "random")
		random_operations(operations);
	if (part.empty() || part == "replaced")
		replaced();
	if (part.empty() || part == "reused")
		reused();
	if (part.empty() || part == "held")
		held();
	if (part.empty() || part == "punched")
		punched();
	return stress::result();
}
