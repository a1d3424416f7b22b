// SPDX-License-Identifier: MIT
/*
 * stress - all operations at once, from threads that share a table and from such that have their own.
 *
 *   tmpfs_stress [PART [OPERATIONS]]     default: all; for a time, or so many operations (`make soak`)
 *
 *   random    any operation on few names, and on nodes that are kept while these go, so that they
 *             meet; then every count is proved
 *   replaced  a name that is renamed over all the time is there all the time, with a whole file
 *   reused    descriptors that are closed and opened under their readers: a read is of a file that
 *             was open at that descriptor, or EBADF
 *   held      nodes of a file that is unlinked and made anew all the time: whoever has one has the file
 *   listed    a directory that grows and shrinks beside listings and look-ups: names that stay are
 *             found each time, and listed once each time
 *   punched   pages that are taken away under their readers; what is freed is overwritten
 */
#include "../../tests/stress/stress.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include <malloc.h>

#include "tmpfs.h"

namespace
{

const int THREADS = 4;
const int MILLISECONDS = 1500;

struct world {
	explicit world(uint64_t pages, uint64_t inodes)
	{
		struct hf_tmpfs_options options = {};

		options.size = pages * 4096;
		options.inodes = inodes;
		options.allocate = allocate;
		options.release = release;
		if (hf_tmpfs_new(&fs, &options) || hf_tmpfs_table_new(&shared, fs, 12))
			std::abort();
	}
	/* Whoever still reads what has been freed shall see that he does. */
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
	/* All counts are right, and nothing is left. */
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

class actor {
public:
	actor(world &in, int seed) : fs_(in.fs), random_(seed), tables_{ in.shared, nullptr }
	{
		if (hf_tmpfs_table_new(&tables_[1], fs_, 8))
			std::abort();
	}
	~actor()
	{
		/* Every second one leaves its nodes to the check, and to the end. */
		for (struct hf_tmpfs_node *node : nodes_) {
			if (node && random_.below(2))
				hf_tmpfs_node_put(node, 1);
		}
		hf_tmpfs_table_free(tables_[1]);
	}

	/* Returns whether it worked: errors are most of what happens here. */
	bool once()
	{
		struct hf_tmpfs_table *t = tables_[random_.below(2)];
		int fd = static_cast<int>(random_.below(12));
		off_t at = random_.below(8) ? random_.below(40000)
					    : off_t(1) << (12 + random_.below(40));
		size_t size = random_.below(sizeof(buffer_));
		struct stat st;
		struct statvfs vfs;
		struct hf_tmpfs_dirent entries[7];
		struct hf_tmpfs_attributes to = {};

		if (random_.below(4) == 0)
			return node_once(t, at);
		switch (random_.below(35)) {
		case 0:
		case 1:
		case 2:
		case 3:
			return hf_tmpfs_open(t, path(), O_RDWR | O_CREAT, 0644) >= 0;
		case 4:
			return hf_tmpfs_open(t, path(), O_RDONLY, 0) >= 0;
		case 5:
			return hf_tmpfs_open(t, path(), O_RDWR | O_TRUNC | O_APPEND, 0) >= 0;
		case 6:
		case 7:
		case 8:
		case 9:
			return hf_tmpfs_close(t, fd) == 0;
		case 10:
			return hf_tmpfs_dup(t, fd) >= 0;
		case 11:
			return hf_tmpfs_read(t, fd, buffer_, size) >= 0;
		case 12:
			return read(t, fd, size, at);
		case 13:
		case 14:
			std::memset(buffer_, 'a' + static_cast<int>(random_.below(26)), size);
			return hf_tmpfs_pwrite(t, fd, buffer_, size, at) >= 0;
		case 15:
			std::memset(buffer_, 'A', size);
			return hf_tmpfs_write(t, fd, buffer_, size) >= 0;
		case 16:
			return hf_tmpfs_lseek(t, fd, at,
					      random_.below(2) ? SEEK_DATA : SEEK_HOLE) >= 0;
		case 17:
			return hf_tmpfs_ftruncate(t, fd, at) == 0;
		case 18:
			return hf_tmpfs_fallocate(t, fd, random_.below(2) ? 3 : 0,
						  random_.below(40000),
						  1 + random_.below(30000)) == 0;
		case 19:
			return hf_tmpfs_stat(fs_, path(), &st) == 0;
		case 20:
			return hf_tmpfs_link(fs_, path(), path()) == 0;
		case 21:
			return hf_tmpfs_symlink(fs_, path(), path()) == 0;
		case 22:
			return hf_tmpfs_unlink(fs_, path()) == 0;
		case 23:
		case 24:
			return hf_tmpfs_rename(fs_, path(), path(), random_.below(3)) == 0;
		case 25:
			return hf_tmpfs_mkdir(fs_, path(), 0755) == 0;
		case 26:
			return hf_tmpfs_rmdir(fs_, path()) == 0;
		case 27:
			return hf_tmpfs_readdir(t, fd, entries, 7) >= 0;
		case 28:
			to.set = HF_TMPFS_SET_MODE;
			return hf_tmpfs_setattr(fs_, path(), true, &to) == 0 &&
			       hf_tmpfs_readlink(fs_, path(), buffer_, 100) >= 0;
		case 29:
			return hf_tmpfs_mknod(fs_, path(), S_IFIFO | 0644, 0) == 0;
		case 30:
			return hf_tmpfs_rename(fs_, path(), path(), HF_TMPFS_WHITEOUT) == 0;
		case 31:
			return hf_tmpfs_setxattr(fs_, path(), true,
						 random_.below(2) ? "user.a" : "user.b", buffer_,
						 size, 0) == 0 &&
			       hf_tmpfs_listxattr(fs_, path(), true, buffer_, 100) >= 0;
		case 32:
			return hf_tmpfs_getxattr(fs_, path(), true, "user.a", buffer_, size) >= 0 &&
			       hf_tmpfs_removexattr(fs_, path(), true, "user.a") == 0;
		case 33:
			return hf_tmpfs_open(t, path(), O_RDWR | O_TMPFILE, 0600) >= 0 &&
			       hf_tmpfs_flink(t, fd, path()) == 0;
		default:
			return hf_tmpfs_statfs(fs_, &vfs) == 0 && hf_tmpfs_fstat(t, fd, &st) == 0;
		}
	}

private:
	/* Nothing but what is written here can be read here. */
	bool read(struct hf_tmpfs_table *t, int fd, size_t size, off_t at)
	{
		ssize_t got = hf_tmpfs_pread(t, fd, buffer_, size, at);

		for (ssize_t i = 0; i < got; i++) {
			char c = buffer_[i];

			if (!stress::check(c == 0 || (c >= 'a' && c <= 'z') || c == 'A', "random",
					   "read a byte %d that nobody wrote", c))
				break;
		}
		return got >= 0;
	}

	/* One of ours, which may have been removed long ago, or what is found from there. */
	struct hf_tmpfs_node *node()
	{
		struct hf_tmpfs_node *&slot = nodes_[random_.below(6)];
		struct hf_tmpfs_node *found;

		if (!slot)
			slot = hf_tmpfs_node_root(fs_);
		if (random_.below(4) == 0 && !hf_tmpfs_node_lookup(slot, path() + 1, &found)) {
			hf_tmpfs_node_put(slot, 1);
			slot = found;
		}
		hf_tmpfs_node_get(slot); /* the next one may take its place */
		return slot;
	}

	bool keep(int error, struct hf_tmpfs_node *made)
	{
		if (error < 0)
			return false;
		if (nodes_[0])
			hf_tmpfs_node_put(nodes_[0], 1);
		nodes_[0] = made;
		return true;
	}

	bool node_once(struct hf_tmpfs_table *t, off_t at)
	{
		struct hf_tmpfs_node *a = node(), *b = node(), *made = nullptr;
		struct hf_tmpfs_attributes to = {};
		struct stat st;
		int result;

		switch (random_.below(14)) {
		case 0:
			result = hf_tmpfs_node_open(t, a, random_.below(2) ? O_RDONLY : O_RDWR);
			break;
		case 1:
			result = hf_tmpfs_node_create(t, a, path() + 1, O_RDWR, 0644, &made);
			keep(result, made);
			break;
		case 2:
			result = hf_tmpfs_node_mkdir(a, path() + 1, 0755, &made);
			keep(result, made);
			break;
		case 3:
			result = hf_tmpfs_node_symlink("a", a, path() + 1, &made);
			keep(result, made);
			break;
		case 4:
			result = hf_tmpfs_node_link(a, b, path() + 1);
			break;
		case 5:
		case 6:
			result = hf_tmpfs_node_rename(a, path() + 1, b, path() + 1,
						      random_.below(3));
			break;
		case 7:
			result = hf_tmpfs_node_unlink(a, path() + 1);
			break;
		case 8:
			result = hf_tmpfs_node_rmdir(a, path() + 1);
			break;
		case 9:
			result = hf_tmpfs_node_truncate(a, at);
			break;
		case 10:
			result = static_cast<int>(hf_tmpfs_node_readlink(a, buffer_, 100));
			break;
		case 11:
			to.set = HF_TMPFS_SET_MTIME;
			result = hf_tmpfs_node_setattr(a, &to);
			break;
		case 12:
			result = 0;
			for (struct hf_tmpfs_node *&slot : nodes_) {
				if (slot)
					hf_tmpfs_node_put(slot, 1);
				slot = nullptr;
			}
			break;
		default:
			result = 0;
			hf_tmpfs_node_stat(a, &st);
		}
		hf_tmpfs_node_put(a, 1);
		hf_tmpfs_node_put(b, 1);
		return result >= 0;
	}

	const char *path()
	{
		char *to = paths_[++turn_ % 2];
		size_t length = 0;

		for (uint32_t depth = 1 + random_.below(3); depth > 0; depth--) {
			to[length++] = '/';
			if (random_.below(10) == 0)
				to[length++] = '.', to[length++] = '.';
			else
				to[length++] = static_cast<char>('a' + random_.below(4));
		}
		to[length] = '\0';
		return to;
	}

	struct hf_tmpfs *fs_;
	stress::random random_;
	struct hf_tmpfs_table *tables_[2];
	struct hf_tmpfs_node *nodes_[6] = {};
	char paths_[2][20], buffer_[9000];
	unsigned int turn_ = 0;
};

void random_operations(uint64_t operations)
{
	std::atomic<uint64_t> done(0), worked(0);
	world world(200, 40);
	char more[40];

	stress::run_threads(THREADS, [&](int me) {
		stress::deadline end(MILLISECONDS);
		actor actor(world, me);
		uint64_t mine = 0, mine_worked = 0;

		while (operations ? mine < operations / THREADS : !end.passed()) {
			mine_worked += actor.once();
			mine++;
		}
		done += mine;
		worked += mine_worked;
	});
	std::snprintf(more, sizeof(more), ", %llu without an error",
		      static_cast<unsigned long long>(worked));
	stress::check(worked > 0, "random", "nothing worked");
	stress::did("tmpfs", "random", done, more);
	world.end("random");
}

/* ---- replaced ------------------------------------------------------------------------------ */

void replaced()
{
	std::atomic<uint64_t> renames(0), reads(0);
	world world(0, 0);

	auto put = [&](struct hf_tmpfs_table *t, const char *path, uint64_t n) {
		int fd = hf_tmpfs_open(t, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
		uint64_t twice[2] = { n, ~n };

		stress::check(fd >= 0 && hf_tmpfs_write(t, fd, twice, 16) == 16 &&
				      hf_tmpfs_close(t, fd) == 0,
			      "replaced", "can't write");
	};
	put(world.shared, "/hot", 0);
	hf_tmpfs_mkdir(world.fs, "/dir", 0755);
	stress::run_threads(THREADS, [&](int me) {
		stress::deadline end(MILLISECONDS / 2);
		struct hf_tmpfs_table *t;
		std::string own = (me % 2 ? "/dir/new" : "/new") + std::to_string(me);
		uint64_t n = 0;

		if (hf_tmpfs_table_new(&t, world.fs, 8))
			std::abort();
		do {
			n++;
			if (me < THREADS / 2) {
				put(t, own.c_str(), n);
				int error = hf_tmpfs_rename(world.fs, own.c_str(), "/hot", 0);
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
	world.end("replaced");
}

/* ---- reused -------------------------------------------------------------------------------- */

/*
 * One thread opens two files, which get the descriptors 0 and 1, and closes them. The pool gives last
 * what it got first, so the two change their memory each time: who takes a file without looking at the
 * descriptor again reads the other one.
 */
void reused()
{
	std::atomic<uint64_t> opens(0), reads(0);
	world world(0, 0);

	for (const char *path : { "/0", "/1" }) {
		int fd = hf_tmpfs_open(world.shared, path, O_WRONLY | O_CREAT, 0644);

		hf_tmpfs_write(world.shared, fd, path + 1, 1);
		hf_tmpfs_close(world.shared, fd);
	}
	stress::run_threads(THREADS, [&](int me) {
		stress::deadline end(MILLISECONDS);
		stress::random random(me);
		uint64_t n = 0;

		do {
			if (me == 0) {
				int a = hf_tmpfs_open(world.shared, "/0", O_RDONLY, 0);
				int b = hf_tmpfs_open(world.shared, "/1", O_RDONLY, 0);

				stress::check(a == 0 && b == 1, "reused", "open: %d, %d", a, b);
				stress::check(!hf_tmpfs_close(world.shared, a) &&
						      !hf_tmpfs_close(world.shared, b),
					      "reused", "close");
				n++;
				continue;
			}
			int fd = static_cast<int>(random.below(2));
			char c = 0;
			ssize_t got = hf_tmpfs_pread(world.shared, fd, &c, 1, 0);

			stress::check(got == -EBADF || (got == 1 && c == '0' + fd), "reused",
				      "descriptor %d: %zd, '%c'", fd, got, c);
			n += got == 1;
		} while (!end.passed());
		(me == 0 ? opens : reads) += n;
	});
	stress::did("tmpfs", "reused: opens", opens);
	stress::did("tmpfs", "reused: reads", reads);
	world.end("reused");
}

/* ---- held ---------------------------------------------------------------------------------- */

void held()
{
	std::atomic<uint64_t> files(0), nodes(0);
	world world(0, 2);

	stress::run_threads(THREADS, [&](int me) {
		stress::deadline end(MILLISECONDS / 2);
		struct hf_tmpfs_node *root = hf_tmpfs_node_root(world.fs), *node;
		struct stat st;

		do {
			if (me == 0) {
				/* As long as somebody has the last one, there is no inode for another. */
				int fd = hf_tmpfs_node_create(world.shared, root, "f", O_RDWR, 0644,
							      &node);

				if (fd < 0) {
					stress::check(fd == -ENOSPC, "held", "create: %d", fd);
					continue;
				}
				hf_tmpfs_close(world.shared, fd);
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
	world.end("held");
}

/* ---- listed -------------------------------------------------------------------------------- */

/* Names come in masses and go again, and those that stay change places. */
void change(struct world &world, struct hf_tmpfs_table *t, int stay, stress::random &random)
{
	const int MASS = 300;
	auto mass = [](int n) { return "/d/mass" + std::to_string(n); };
	auto stays = [&] {
		return "/d/stay" + std::to_string(random.below(static_cast<uint32_t>(stay)));
	};

	for (int n = 0; n < MASS; n++)
		hf_tmpfs_close(t, hf_tmpfs_open(t, mass(n).c_str(), O_CREAT, 0644));
	(void)hf_tmpfs_rename(world.fs, stays().c_str(), stays().c_str(), HF_TMPFS_EXCHANGE);
	(void)hf_tmpfs_rename(world.fs, mass(0).c_str(), stays().c_str(), 0);
	for (int n = 1; n < MASS; n++)
		stress::check(hf_tmpfs_unlink(world.fs, mass(n).c_str()) == 0, "listed", "unlink");
}

void listed()
{
	const int STAY = 40;
	std::atomic<uint64_t> changes(0), found(0), listings(0);
	world world(0, 0);

	hf_tmpfs_mkdir(world.fs, "/d", 0755);
	for (int i = 0; i < STAY; i++)
		hf_tmpfs_mknod(world.fs, ("/d/stay" + std::to_string(i)).c_str(), S_IFREG, 0);
	stress::run_threads(THREADS, [&](int me) {
		stress::deadline end(MILLISECONDS);
		stress::random random(me);
		struct hf_tmpfs_table *t;
		struct hf_tmpfs_dirent entries[16];
		struct stat st;

		if (hf_tmpfs_table_new(&t, world.fs, 4))
			std::abort();
		do {
			if (me == 0) {
				change(world, t, STAY, random);
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
				int error = hf_tmpfs_stat(world.fs, path.c_str(), &st);

				stress::check(error == 0, "listed", "%s: %d", path.c_str(), error);
				found++;
			}
		} while (!end.passed() || !changes || !found || !listings);
		hf_tmpfs_table_free(t);
	});
	stress::did("tmpfs", "listed: changes", changes);
	stress::did("tmpfs", "listed: listings", listings);
	stress::did("tmpfs", "listed: found", found);
	world.end("listed");
}

/* ---- punched ------------------------------------------------------------------------------- */

void punched()
{
	std::atomic<uint64_t> punches(0), reads(0);
	world world(0, 0);
	int fd = hf_tmpfs_open(world.shared, "/f", O_RDWR | O_CREAT, 0644);

	hf_tmpfs_ftruncate(world.shared, fd, 4096);
	stress::run_threads(THREADS, [&](int me) {
		stress::deadline end(MILLISECONDS / 2);
		std::string data(4096, 'a'), got(4096, 0);
		uint64_t n = 0;

		do {
			n++;
			if (me == 0) {
				stress::check(hf_tmpfs_pwrite(world.shared, fd, data.data(), 4096,
							      0) == 4096 &&
						      hf_tmpfs_fallocate(world.shared, fd, 3, 0,
									 4096) == 0,
					      "punched", "write or punch");
				continue;
			}
			stress::check(hf_tmpfs_pread(world.shared, fd, &got[0], 4096, 0) == 4096,
				      "punched", "read");
			size_t odd = got.find_first_not_of(std::string("a\0", 2));
			stress::check(odd == std::string::npos, "punched",
				      "byte %zu of what was freed", odd);
		} while (!end.passed());
		(me == 0 ? punches : reads) += n;
	});
	stress::did("tmpfs", "punched: punches", punches);
	stress::did("tmpfs", "punched: reads", reads);
	hf_tmpfs_close(world.shared, fd);
	world.end("punched");
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
