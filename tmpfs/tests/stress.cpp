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
 *   listed    a directory grows and shrinks during listings and look-ups: each name that stays is
 *             always found, and listed once
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

struct system {
	explicit system(uint64_t pages, uint64_t inodes)
	{
		struct hf_tmpfs_options options = {};

		options.size = pages * 4096;
		options.inodes = inodes;
		options.allocate = allocate;
		options.release = release;
		if (hf_tmpfs_new(&fs, &options) || hf_tmpfs_table_new(&shared, fs, 12))
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

		stress::check(faults == 0, who, "%d faults", faults);
		hf_tmpfs_table_free(shared);
		hf_tmpfs_nodes_put(fs);
		faults = hf_tmpfs_free(fs);
		stress::check(faults == 0, who, "free: %d", faults);
		for (int kind = 0; kind < HF_REPORT_KINDS; kind++) {
			uint32_t n = hf_report_count(static_cast<enum hf_report_kind>(kind));

			stress::check(n == 0, who, "%u reports of good use: %s", n,
				      hf_report_text(static_cast<enum hf_report_kind>(kind)));
		}
	}

	struct hf_tmpfs *fs;
	struct hf_tmpfs_table *shared;
};

/* ---- random -------------------------------------------------------------------------------- */

/* A thread, which uses the shared table and a private one. */
class actor {
public:
	actor(system &in, int seed)
		: random_(seed), generator_(static_cast<uint64_t>(seed), 12, true)
	{
		if (hf_tmpfs_table_new(&own_, in.fs, 8))
			std::abort();
		for (side &on : sides_) {
			on.fs = in.fs;
			on.t = &on == sides_ ? in.shared : own_;
			on.slots_are_descriptors = true;
		}
	}
	~actor()
	{
		/* About half of the nodes are left for the check and hf_tmpfs_nodes_put(). */
		for (side &on : sides_) {
			if (on.root && random_.below(2))
				hf_tmpfs_node_put(on.root, 1);
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
	/* Picks a node that later steps start from, which may be removed meanwhile; or none. */
	bool change_root(side &on)
	{
		struct hf_tmpfs_attributes to = {};
		struct hf_tmpfs_node *found;
		struct stat st;
		char target[100];

		if (!on.root)
			on.root = hf_tmpfs_node_root(on.fs);
		if (random_.below(4) == 0 ||
		    hf_tmpfs_node_lookup(on.root, generator_.path().c_str(), &found)) {
			hf_tmpfs_node_put(on.root, 1);
			on.root = nullptr;
			return false;
		}
		hf_tmpfs_node_get(on.root);
		hf_tmpfs_node_put(on.root, 2);
		on.root = found;
		to.set = HF_TMPFS_SET_MTIME;
		hf_tmpfs_node_stat(found, &st);
		(void)hf_tmpfs_node_setattr(found, &to);
		(void)hf_tmpfs_node_readlink(found, target, sizeof(target));
		(void)hf_tmpfs_node_truncate(found, random_.below(40000));
		return hf_tmpfs_node_open(on.t, found, random_.below(2) ? O_RDONLY : O_RDWR) >= 0;
	}

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
	std::atomic<uint64_t> renames(0), reads(0);
	system system(0, 0);

	auto put = [&](struct hf_tmpfs_table *t, const char *path, uint64_t n) {
		int fd = hf_tmpfs_open(t, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
		uint64_t twice[2] = { n, ~n };

		stress::check(fd >= 0 && hf_tmpfs_write(t, fd, twice, 16) == 16 &&
				      hf_tmpfs_close(t, fd) == 0,
			      "replaced", "can't write");
	};
	put(system.shared, "/hot", 0);
	hf_tmpfs_mkdir(system.fs, "/dir", 0755);
	stress::run_threads(THREADS, [&](int me) {
		stress::deadline end(MILLISECONDS / 2);
		struct hf_tmpfs_table *t;
		std::string own = (me % 2 ? "/dir/new" : "/new") + std::to_string(me);
		uint64_t n = 0;

		if (hf_tmpfs_table_new(&t, system.fs, 8))
			std::abort();
		do {
			n++;
			if (me < THREADS / 2) {
				put(t, own.c_str(), n);
				int error = hf_tmpfs_rename(system.fs, own.c_str(), "/hot", 0);
				stress::check(error == 0, "replaced", "rename: %d", error);
				continue;
			}
			uint64_t twice[2] = {};
			int fd = hf_tmpfs_open(t, "/hot", O_RDONLY, 0);

			if (!stress::check(fd >= 0, "replaced", "open: %d", fd))
				break;
			stress::check(hf_tmpfs_read(t, fd, twice, 16) == 16 &&
					      twice[0] == ~twice[1],
				      "replaced", "read half a file");
			hf_tmpfs_close(t, fd);
		} while (!end.passed());
		(me < THREADS / 2 ? renames : reads) += n;
		hf_tmpfs_table_free(t);
	});
	stress::did("tmpfs", "replaced: renames", renames);
	stress::did("tmpfs", "replaced: opens", reads);
	system.end("replaced");
}

/* ---- reused -------------------------------------------------------------------------------- */

/*
 * One thread opens two files, which get the descriptors 0 and 1, and closes them. The pool is last-
 * in, first-out, so the two swap their memory each time: a reader that does not check the
 * descriptor again after it has taken a reference reads the other file.
 */
void reused()
{
	std::atomic<uint64_t> opens(0), reads(0);
	system system(0, 0);

	for (const char *path : { "/0", "/1" }) {
		int fd = hf_tmpfs_open(system.shared, path, O_WRONLY | O_CREAT, 0644);

		hf_tmpfs_write(system.shared, fd, path + 1, 1);
		hf_tmpfs_close(system.shared, fd);
	}
	stress::run_threads(THREADS, [&](int me) {
		stress::deadline end(MILLISECONDS);
		stress::random random(me);
		uint64_t n = 0;

		do {
			if (me == 0) {
				int a = hf_tmpfs_open(system.shared, "/0", O_RDONLY, 0);
				int b = hf_tmpfs_open(system.shared, "/1", O_RDONLY, 0);

				stress::check(a == 0 && b == 1, "reused", "open: %d, %d", a, b);
				stress::check(!hf_tmpfs_close(system.shared, a) &&
						      !hf_tmpfs_close(system.shared, b),
					      "reused", "close");
				n++;
				continue;
			}
			int fd = static_cast<int>(random.below(2));
			char c = 0;
			ssize_t got = hf_tmpfs_pread(system.shared, fd, &c, 1, 0);

			stress::check(got == -EBADF || (got == 1 && c == '0' + fd), "reused",
				      "descriptor %d: %zd, '%c'", fd, got, c);
			n += got == 1;
		} while (!end.passed());
		(me == 0 ? opens : reads) += n;
	});
	stress::did("tmpfs", "reused: opens", opens);
	stress::did("tmpfs", "reused: reads", reads);
	system.end("reused");
}

/* ---- held ---------------------------------------------------------------------------------- */

void held()
{
	std::atomic<uint64_t> files(0), nodes(0);
	system system(0, 2);

	stress::run_threads(THREADS, [&](int me) {
		stress::deadline end(MILLISECONDS / 2);
		struct hf_tmpfs_node *root = hf_tmpfs_node_root(system.fs), *node;
		struct stat st;

		do {
			if (me == 0) {
				/*
				 * While another thread has a node of the last file, no inode is
				 * free.
				 */
				int fd = hf_tmpfs_node_create(system.shared, root, "f", O_RDWR,
							      0644, &node);

				if (fd < 0) {
					stress::check(fd == -ENOSPC, "held", "create: %d", fd);
					continue;
				}
				hf_tmpfs_close(system.shared, fd);
				hf_tmpfs_node_put(node, 1);
				stress::check(hf_tmpfs_node_unlink(root, "f") == 0, "held",
					      "unlink");
				files++;
				continue;
			}
			if (hf_tmpfs_node_lookup(root, "f", &node))
				continue;
			hf_tmpfs_node_stat(node, &st);
			stress::check(st.st_mode == (S_IFREG | 0644) && st.st_nlink <= 1, "held",
				      "mode %o, %u links", st.st_mode,
				      static_cast<unsigned int>(st.st_nlink));
			hf_tmpfs_node_put(node, 1);
			nodes++;
		} while (!end.passed() || nodes == 0 || files == 0);
		hf_tmpfs_node_put(root, 1);
	});
	stress::check(files > 0, "held", "no file was made");
	stress::did("tmpfs", "held: files", files);
	stress::did("tmpfs", "held: nodes", nodes);
	system.end("held");
}

/* ---- listed -------------------------------------------------------------------------------- */

/* Makes and removes many names, and exchanges some of those that stay. */
void change(struct system &system, struct hf_tmpfs_table *t, int stay, stress::random &random)
{
	const int MASS = 300;
	auto mass = [](int n) { return "/d/mass" + std::to_string(n); };
	auto stays = [&] {
		return "/d/stay" + std::to_string(random.below(static_cast<uint32_t>(stay)));
	};

	for (int n = 0; n < MASS; n++)
		hf_tmpfs_close(t, hf_tmpfs_open(t, mass(n).c_str(), O_CREAT, 0644));
	(void)hf_tmpfs_rename(system.fs, stays().c_str(), stays().c_str(), HF_TMPFS_EXCHANGE);
	(void)hf_tmpfs_rename(system.fs, mass(0).c_str(), stays().c_str(), 0);
	for (int n = 1; n < MASS; n++)
		stress::check(hf_tmpfs_unlink(system.fs, mass(n).c_str()) == 0, "listed", "unlink");
}

void listed()
{
	const int STAY = 40;
	std::atomic<uint64_t> changes(0), found(0), listings(0);
	system system(0, 0);

	hf_tmpfs_mkdir(system.fs, "/d", 0755);
	for (int i = 0; i < STAY; i++)
		hf_tmpfs_mknod(system.fs, ("/d/stay" + std::to_string(i)).c_str(), S_IFREG, 0);
	stress::run_threads(THREADS, [&](int me) {
		stress::deadline end(MILLISECONDS);
		stress::random random(me);
		struct hf_tmpfs_table *t;
		struct hf_tmpfs_dirent entries[16];
		struct stat st;

		if (hf_tmpfs_table_new(&t, system.fs, 4))
			std::abort();
		do {
			if (me == 0) {
				change(system, t, STAY, random);
				changes++;
			} else if (me == 1) {
				int seen[STAY] = {}, fd = hf_tmpfs_open(t, "/d", O_RDONLY, 0),
				    count;

				while ((count = hf_tmpfs_readdir(t, fd, entries, 16)) > 0) {
					for (int i = 0; i < count; i++) {
						if (!std::strncmp(entries[i].name, "stay", 4))
							seen[std::atoi(entries[i].name + 4)]++;
					}
				}
				hf_tmpfs_close(t, fd);
				for (int i = 0; i < STAY; i++)
					stress::check(seen[i] == 1, "listed", "stay%d: %d times", i,
						      seen[i]);
				listings++;
			} else {
				std::string path = "/d/stay" + std::to_string(random.below(STAY));
				int error = hf_tmpfs_stat(system.fs, path.c_str(), &st);

				stress::check(error == 0, "listed", "%s: %d", path.c_str(), error);
				found++;
			}
		} while (!end.passed() || !changes || !found || !listings);
		hf_tmpfs_table_free(t);
	});
	stress::did("tmpfs", "listed: changes", changes);
	stress::did("tmpfs", "listed: listings", listings);
	stress::did("tmpfs", "listed: found", found);
	system.end("listed");
}

/* ---- punched ------------------------------------------------------------------------------- */

void punched()
{
	std::atomic<uint64_t> punches(0), reads(0);
	system system(0, 0);
	int fd = hf_tmpfs_open(system.shared, "/f", O_RDWR | O_CREAT, 0644);

	hf_tmpfs_ftruncate(system.shared, fd, 4096);
	stress::run_threads(THREADS, [&](int me) {
		stress::deadline end(MILLISECONDS / 2);
		std::string data(4096, 'a'), got(4096, 0);
		uint64_t n = 0;

		do {
			n++;
			if (me == 0) {
				stress::check(hf_tmpfs_pwrite(system.shared, fd, data.data(), 4096,
							      0) == 4096 &&
						      hf_tmpfs_fallocate(system.shared, fd, 3, 0,
									 4096) == 0,
					      "punched", "write or punch");
				continue;
			}
			stress::check(hf_tmpfs_pread(system.shared, fd, &got[0], 4096, 0) == 4096,
				      "punched", "read");
			size_t odd = got.find_first_not_of(std::string("a\0", 2));
			stress::check(odd == std::string::npos, "punched",
				      "byte %zu is of freed memory", odd);
		} while (!end.passed());
		(me == 0 ? punches : reads) += n;
	});
	stress::did("tmpfs", "punched: punches", punches);
	stress::did("tmpfs", "punched: reads", reads);
	hf_tmpfs_close(system.shared, fd);
	system.end("punched");
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
	if (part.empty() || part == "listed")
		listed();
	if (part.empty() || part == "punched")
		punched();
	return stress::result();
}
