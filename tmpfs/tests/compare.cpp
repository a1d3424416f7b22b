// SPDX-License-Identifier: MIT
/*
 * compare - random operations on two file systems, call by call: same result, same errno, same bytes.
 *
 *   compare [--seed N] [--sequences N] [--operations N] [--left DIR] [--flaw KIND]
 *
 * The left one is the library, or a folder (a mount of hf-tmpfs-fuse); the right one is the kernel's
 * own tmpfs, mounted for this with the same limits. Both are a root of their own: each folder is used
 * by a thread that has chroot()ed into it. A mount frees what is closed or unlinked behind the call; it
 * gets some time after each one to come to the same space and inodes in use. A sequence is made from its seed alone, so that one that
 * differs can be shrunk: operations are left out as long as there is still a difference.
 *
 * --flaw KIND has the left one lie in one call, which must be found, and shrunk to a few operations:
 * then it is a failure if not. Where several errors are due, kernels differ in which one they give;
 * this was written with Linux 6.18 on the right. Exits with 1 on a difference, 77 if no tmpfs can be
 * mounted here.
 */
#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tmpfs.h"

namespace
{

const uint64_t PAGES = 64, INODES = 24;
const int SLOTS = 6;

enum kind {
	OPEN,
	CLOSE,
	DUP,
	READ,
	PREAD,
	WRITE,
	PWRITE,
	SEEK,
	FTRUNCATE,
	TRUNCATE,
	FALLOCATE,
	STAT,
	LSTAT,
	FSTAT,
	LINK,
	SYMLINK,
	READLINK,
	UNLINK,
	RENAME,
	MKDIR,
	RMDIR,
	READDIR,
	STATFS,
	CHMOD,
	KINDS
};
const char *const kind_names[KINDS] = { "open",      "close",    "dup",    "read",      "pread",
					"write",     "pwrite",   "lseek",  "ftruncate", "truncate",
					"fallocate", "stat",     "lstat",  "fstat",     "link",
					"symlink",   "readlink", "unlink", "rename",    "mkdir",
					"rmdir",     "readdir",  "statfs", "chmod" };
/* How often each is drawn. */
const unsigned int weights[KINDS] = { 20, 8, 3, 4, 8, 6, 12, 8, 5, 3, 6, 4,
				      4,  3, 6, 6, 4, 8, 14, 8, 5, 3, 2, 2 };

struct operation {
	enum kind kind;
	std::string path, other;
	int slot, slot2, flags;
	mode_t mode;
	int64_t at;
	size_t size;
	unsigned char byte;

	std::string text() const
	{
		char line[600];

		std::snprintf(line, sizeof(line),
			      "%s(path=\"%s\", other=\"%s\", slot=%d,%d, flags=%#x, mode=%o, "
			      "at=%lld, size=%zu, byte=%u)",
			      kind_names[kind], path.c_str(), other.c_str(), slot, slot2,
			      static_cast<unsigned int>(flags), mode, static_cast<long long>(at),
			      size, byte);
		return line;
	}
};

/* ---- what is done -------------------------------------------------------------------------- */

class generator {
public:
	explicit generator(uint64_t seed) : random_(seed) {}

	operation next()
	{
		operation op = {};
		unsigned int total = 0, drawn, kind = 0;

		for (unsigned int weight : weights)
			total += weight;
		for (drawn = below(total); drawn >= weights[kind]; kind++)
			drawn -= weights[kind];
		op.kind = static_cast<enum kind>(kind);
		op.path = path();
		op.other = op.kind == SYMLINK ? target() : path();
		op.slot = static_cast<int>(below(SLOTS));
		op.slot2 = static_cast<int>(below(SLOTS));
		op.mode = static_cast<mode_t>(below(8) * 64 + below(8) * 8 + below(8));
		op.at = place();
		op.size = below(4) ? below(6000) : below(30000);
		op.byte = static_cast<unsigned char>(1 + below(255));
		op.flags = flags(op.kind);
		if (op.kind == FALLOCATE || op.kind == FTRUNCATE || op.kind == TRUNCATE)
			op.size += 4096 * below(4);
		return op;
	}

private:
	uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

	int64_t place()
	{
		/* No data in the last page that there can be: the kernel's SEEK_DATA misses it. */
		static const int64_t far[] = { -1,    INT64_MAX, int64_t(1) << 28, 4096, 8192,
					       12288, 16384 };

		if (below(12) == 0)
			return far[below(7)];
		return below(3) ? below(50000) : 4096 * below(16);
	}

	std::string path()
	{
		static const char *const names[] = { "a", "b", "c", "d", "e" };
		std::string path = below(3) ? "/" : "";
		uint32_t depth = 1 + below(3);

		if (below(60) == 0)
			return below(2) ? "/" : "";
		if (below(60) == 0)
			return std::string(below(2) ? 255 : 256, 'n');
		for (uint32_t i = 0; i < depth; i++) {
			uint32_t dots = below(20);

			path += dots == 0 ? "." : dots == 1 ? ".." : names[below(5)];
			if (i + 1 < depth || below(15) == 0)
				path += below(20) ? "/" : "//";
		}
		return path;
	}

	/* A long one takes a page of the kernel's, and none here. */
	std::string target()
	{
		std::string target = below(20) ? path() : "";

		return target.size() > 100 ? "a" : target;
	}

	int flags(enum kind kind)
	{
		static const int whence[] = {
			SEEK_SET, SEEK_CUR, SEEK_END, SEEK_DATA, SEEK_HOLE, 77
		};
		static const int access[] = { O_RDONLY, O_WRONLY, O_RDWR, O_RDWR };
		int flags = 0;

		switch (kind) {
		case OPEN:
			flags = access[below(4)];
			flags |= below(2) ? O_CREAT : 0;
			flags |= below(6) ? 0 : O_EXCL;
			flags |= below(6) ? 0 : O_TRUNC;
			flags |= below(6) ? 0 : O_APPEND;
			flags |= below(8) ? 0 : O_NOFOLLOW;
			/* Both together mean different things to different kernels. */
			flags |= below(8) || (flags & O_CREAT) ? 0 : O_DIRECTORY;
			/* So does O_EXCL alone. */
			return flags & O_CREAT ? flags : flags & ~O_EXCL;
		case SEEK:
			return whence[below(6)];
		case FALLOCATE:
			return static_cast<int>(below(10) ? (below(2) ? 3 : below(2)) : below(5));
		case RENAME:
			return static_cast<int>(below(2) ? 0 : below(5) == 0 ? 3 : below(3));
		default:
			return 0;
		}
	}

	std::mt19937_64 random_;
};

/* ---- a side -------------------------------------------------------------------------------- */

/* The calls; negative = -errno. */
class side {
public:
	virtual ~side() {}
	virtual long open(const char *path, int flags, mode_t mode) = 0;
	virtual long close(int fd) = 0;
	virtual long dup(int fd) = 0;
	virtual long read(int fd, char *to, size_t size) = 0;
	virtual long pread(int fd, char *to, size_t size, off_t at) = 0;
	virtual long write(int fd, const char *from, size_t size) = 0;
	virtual long pwrite(int fd, const char *from, size_t size, off_t at) = 0;
	virtual long seek(int fd, off_t at, int whence) = 0;
	virtual long ftruncate(int fd, off_t size) = 0;
	virtual long truncate(const char *path, off_t size) = 0;
	virtual long fallocate(int fd, int mode, off_t at, off_t size) = 0;
	virtual long stat(const char *path, bool follow, struct stat *to) = 0;
	virtual long fstat(int fd, struct stat *to) = 0;
	virtual long link(const char *from, const char *to) = 0;
	virtual long symlink(const char *target, const char *path) = 0;
	virtual long readlink(const char *path, char *to, size_t size) = 0;
	virtual long unlink(const char *path) = 0;
	virtual long rename(const char *from, const char *to, unsigned int flags) = 0;
	virtual long mkdir(const char *path, mode_t mode) = 0;
	virtual long rmdir(const char *path) = 0;
	virtual long list(int fd, std::vector<std::string> *names) = 0;
	virtual long statfs(struct statvfs *to) = 0;
	virtual long chmod(const char *path, mode_t mode) = 0;
	/* Runs it where the calls may be made. */
	virtual void run(const std::function<void()> &f) { f(); }
	/* Waits, but not for ever, until as much is free as there. */
	virtual void settle(const struct statvfs &like) { (void)like; }
	/* Is all in order at the end? */
	virtual bool prove() { return true; }
};

void tell(void *, const char *line)
{
	std::printf("check: %s\n", line);
}

class library : public side {
public:
	explicit library(bool limited)
	{
		struct hf_tmpfs_options options = {};

		if (limited) {
			options.size = PAGES * 4096;
			options.inodes = INODES;
		}
		if (hf_tmpfs_new(&fs_, &options) || hf_tmpfs_table_new(&t_, fs_, 0))
			std::abort();
	}
	~library() override
	{
		hf_tmpfs_table_free(t_);
		if (hf_tmpfs_free(fs_))
			std::abort();
	}
	long open(const char *path, int flags, mode_t mode) override
	{
		return hf_tmpfs_open(t_, path, flags, mode);
	}
	long close(int fd) override { return hf_tmpfs_close(t_, fd); }
	long dup(int fd) override { return hf_tmpfs_dup(t_, fd); }
	long read(int fd, char *to, size_t size) override
	{
		return hf_tmpfs_read(t_, fd, to, size);
	}
	long pread(int fd, char *to, size_t size, off_t at) override
	{
		return hf_tmpfs_pread(t_, fd, to, size, at);
	}
	long write(int fd, const char *from, size_t size) override
	{
		return hf_tmpfs_write(t_, fd, from, size);
	}
	long pwrite(int fd, const char *from, size_t size, off_t at) override
	{
		return hf_tmpfs_pwrite(t_, fd, from, size, at);
	}
	long seek(int fd, off_t at, int whence) override
	{
		return hf_tmpfs_lseek(t_, fd, at, whence);
	}
	long ftruncate(int fd, off_t size) override { return hf_tmpfs_ftruncate(t_, fd, size); }
	long truncate(const char *path, off_t size) override
	{
		return hf_tmpfs_truncate(fs_, path, size);
	}
	long fallocate(int fd, int mode, off_t at, off_t size) override
	{
		return hf_tmpfs_fallocate(t_, fd, mode, at, size);
	}
	long stat(const char *path, bool follow, struct stat *to) override
	{
		return follow ? hf_tmpfs_stat(fs_, path, to) : hf_tmpfs_lstat(fs_, path, to);
	}
	long fstat(int fd, struct stat *to) override { return hf_tmpfs_fstat(t_, fd, to); }
	long link(const char *from, const char *to) override
	{
		return hf_tmpfs_link(fs_, from, to);
	}
	long symlink(const char *target, const char *path) override
	{
		return hf_tmpfs_symlink(fs_, target, path);
	}
	long readlink(const char *path, char *to, size_t size) override
	{
		return hf_tmpfs_readlink(fs_, path, to, size);
	}
	long unlink(const char *path) override { return hf_tmpfs_unlink(fs_, path); }
	long rename(const char *from, const char *to, unsigned int flags) override
	{
		return hf_tmpfs_rename(fs_, from, to, flags);
	}
	long mkdir(const char *path, mode_t mode) override
	{
		return hf_tmpfs_mkdir(fs_, path, mode);
	}
	long rmdir(const char *path) override { return hf_tmpfs_rmdir(fs_, path); }
	long list(int fd, std::vector<std::string> *names) override
	{
		struct hf_tmpfs_dirent entries[5];
		long count = hf_tmpfs_lseek(t_, fd, 0, SEEK_SET);

		if (count < 0)
			return count;
		while ((count = hf_tmpfs_readdir(t_, fd, entries, 5)) > 0) {
			for (long i = 0; i < count; i++)
				names->push_back(std::string(entries[i].name) + " " +
						 std::to_string(entries[i].type));
		}
		return count;
	}
	long statfs(struct statvfs *to) override { return hf_tmpfs_statfs(fs_, to); }
	long chmod(const char *path, mode_t mode) override
	{
		struct hf_tmpfs_attributes to = {};

		to.set = HF_TMPFS_SET_MODE;
		to.mode = mode;
		return hf_tmpfs_setattr(fs_, path, true, &to);
	}
	bool prove() override { return hf_tmpfs_check(fs_, tell, nullptr) == 0; }

private:
	struct hf_tmpfs *fs_ = nullptr;
	struct hf_tmpfs_table *t_ = nullptr;
};

/* System calls, in a thread whose root the folder is. */
class folder : public side {
public:
	explicit folder(const std::string &path) : path_(path)
	{
		run([] {
			remove_in("/");
			(void)!::chmod("/", 01777);
		});
	}
	~folder() override
	{
		run([] { remove_in("/"); });
	}
	/* Each time a thread of its own: no state but the folder's. */
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

	static long result(long got) { return got < 0 ? -errno : got; }
	long open(const char *path, int flags, mode_t mode) override
	{
		return result(::open(path, flags, mode));
	}
	long close(int fd) override { return result(::close(fd)); }
	long dup(int fd) override { return result(::dup(fd)); }
	long read(int fd, char *to, size_t size) override { return result(::read(fd, to, size)); }
	long pread(int fd, char *to, size_t size, off_t at) override
	{
		return result(::pread(fd, to, size, at));
	}
	long write(int fd, const char *from, size_t size) override
	{
		return result(::write(fd, from, size));
	}
	long pwrite(int fd, const char *from, size_t size, off_t at) override
	{
		return result(::pwrite(fd, from, size, at));
	}
	long seek(int fd, off_t at, int whence) override { return result(::lseek(fd, at, whence)); }
	long ftruncate(int fd, off_t size) override { return result(::ftruncate(fd, size)); }
	long truncate(const char *path, off_t size) override
	{
		return result(::truncate(path, size));
	}
	long fallocate(int fd, int mode, off_t at, off_t size) override
	{
		return result(::fallocate(fd, mode, at, size));
	}
	long stat(const char *path, bool follow, struct stat *to) override
	{
		return result(follow ? ::stat(path, to) : ::lstat(path, to));
	}
	long fstat(int fd, struct stat *to) override { return result(::fstat(fd, to)); }
	long link(const char *from, const char *to) override { return result(::link(from, to)); }
	long symlink(const char *target, const char *path) override
	{
		return result(::symlink(target, path));
	}
	long readlink(const char *path, char *to, size_t size) override
	{
		return result(::readlink(path, to, size));
	}
	long unlink(const char *path) override { return result(::unlink(path)); }
	long rename(const char *from, const char *to, unsigned int flags) override
	{
		return result(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags));
	}
	long mkdir(const char *path, mode_t mode) override { return result(::mkdir(path, mode)); }
	long rmdir(const char *path) override { return result(::rmdir(path)); }
	long list(int fd, std::vector<std::string> *names) override
	{
		char buffer[4096];
		long got = result(::lseek(fd, 0, SEEK_SET));

		if (got < 0)
			return got;
		while ((got = result(syscall(SYS_getdents64, fd, buffer, sizeof(buffer)))) > 0) {
			for (long at = 0; at < got;) {
				auto *entry = reinterpret_cast<struct dirent64 *>(buffer + at);

				names->push_back(std::string(entry->d_name) + " " +
						 std::to_string(entry->d_type));
				at += entry->d_reclen;
			}
		}
		return got;
	}
	long statfs(struct statvfs *to) override { return result(::statvfs("/", to)); }
	long chmod(const char *path, mode_t mode) override { return result(::chmod(path, mode)); }
	void settle(const struct statvfs &like) override
	{
		struct statvfs st = {};

		for (int i = 0; i < 3000 && settles_; i++) {
			if (::statvfs("/", &st) == 0 && st.f_bfree == like.f_bfree &&
			    st.f_ffree == like.f_ffree)
				return;
			if (i > 100)
				usleep(1000);
		}
		settles_ = false; /* a difference, which shows at the next look at all there is */
	}

private:
	static void remove_in(const std::string &path)
	{
		DIR *dir = opendir(path.c_str());

		if (!dir)
			return;
		while (struct dirent *entry = readdir(dir)) {
			std::string name = entry->d_name, full = path + "/" + name;

			if (name == "." || name == "..")
				continue;
			if (::unlink(full.c_str()) != 0) {
				remove_in(full);
				::rmdir(full.c_str());
			}
		}
		closedir(dir);
	}

	std::string path_;
	bool settles_ = true;
};

/* ---- one sequence on one side --------------------------------------------------------------- */

/* What a call gave: its result, and what else is to be the same. */
class player {
public:
	player(side &on, int flaw) : on_(on), flaw_(flaw) { std::fill(fds_, fds_ + SLOTS, -1); }
	~player() { close_all(); }

	std::string play(const operation &op)
	{
		std::string more;
		long result = call(op, &more);

		if (op.kind == flaw_ && result >= 0)
			more += " (a lie)";
		if (result < 0)
			return std::string(strerrorname_np(static_cast<int>(-result))) + more;
		return std::to_string(result) + more;
	}

	/* All names, with what they are and what is in them. */
	std::string dump()
	{
		std::string all;

		dump_dir("/", &all);
		describe_fs(&all);
		return all;
	}

private:
	int fd(int slot) const { return fds_[slot] < 0 ? 1 << 20 : fds_[slot]; }

	void set(int slot, long fd)
	{
		if (fd < 0)
			return;
		if (fds_[slot] >= 0)
			on_.close(fds_[slot]);
		fds_[slot] = static_cast<int>(fd);
	}

	/*
	 * The kernel counts a removed directory's inode for as long as a file is open that was in it;
	 * the library does not. So none is open when one goes.
	 */
	void close_all()
	{
		for (int &fd : fds_) {
			if (fd >= 0)
				on_.close(fd);
			fd = -1;
		}
	}

	bool is_dir(int slot)
	{
		struct stat st;

		return on_.fstat(fd(slot), &st) == 0 && S_ISDIR(st.st_mode);
	}

	long call(const operation &op, std::string *more)
	{
		std::string data(op.size, static_cast<char>(op.byte));
		std::vector<std::string> names;
		struct stat st = {};
		long result;

		switch (op.kind) {
		case OPEN:
			result = on_.open(op.path.c_str(), op.flags, op.mode);
			set(op.slot, result);
			return result < 0 ? result : 0;
		case CLOSE:
			result = on_.close(fd(op.slot));
			fds_[op.slot] = -1;
			return result;
		case DUP:
			result = on_.dup(fd(op.slot));
			if (op.slot == op.slot2 && result >= 0)
				on_.close(static_cast<int>(result));
			else
				set(op.slot2, result);
			return result < 0 ? result : 0;
		case READ:
			result = on_.read(fd(op.slot), &data[0], op.size);
			return add_data(result, data, more);
		case PREAD:
			result = on_.pread(fd(op.slot), &data[0], op.size, op.at);
			return add_data(result, data, more);
		case WRITE:
			return on_.write(fd(op.slot), data.data(), op.size);
		case PWRITE:
			return on_.pwrite(fd(op.slot), data.data(), op.size, op.at);
		case SEEK: /* where a directory's entries lie is each one's own business */
			return is_dir(op.slot) ? 0 : on_.seek(fd(op.slot), op.at, op.flags);
		case FTRUNCATE:
			return on_.ftruncate(fd(op.slot), op.at);
		case TRUNCATE:
			return on_.truncate(op.path.c_str(), op.at);
		case FALLOCATE:
			return on_.fallocate(fd(op.slot), op.flags, op.at,
					     static_cast<off_t>(op.size));
		case STAT:
		case LSTAT:
			result = on_.stat(op.path.c_str(), op.kind == STAT, &st);
			return describe(result, st, more);
		case FSTAT:
			result = on_.fstat(fd(op.slot), &st);
			return describe(result, st, more);
		case LINK:
			return on_.link(op.path.c_str(), op.other.c_str());
		case SYMLINK:
			return on_.symlink(op.other.c_str(), op.path.c_str());
		case READLINK:
			result = on_.readlink(op.path.c_str(), &data[0],
					      std::min<size_t>(op.size, 9));
			return add_data(result, data, more);
		case UNLINK:
			return on_.unlink(op.path.c_str());
		case RENAME:
			if (on_.stat(op.other.c_str(), false, &st) == 0 && S_ISDIR(st.st_mode))
				close_all();
			return on_.rename(op.path.c_str(), op.other.c_str(),
					  static_cast<unsigned int>(op.flags));
		case MKDIR:
			return on_.mkdir(op.path.c_str(), op.mode);
		case RMDIR:
			close_all();
			return on_.rmdir(op.path.c_str());
		case READDIR:
			if (!is_dir(op.slot))
				return 0;
			result = on_.list(fd(op.slot), &names);
			std::sort(names.begin(), names.end());
			for (const std::string &name : names)
				*more += " " + name;
			return result;
		case STATFS:
			return describe_fs(more);
		case CHMOD:
			return on_.chmod(op.path.c_str(), op.mode);
		case KINDS:
			break;
		}
		std::abort();
	}

	static long add_data(long result, const std::string &data, std::string *more)
	{
		/* Runs of the same byte: short to read when they differ. */
		for (size_t i = 0, n = 0; result > 0 && i < static_cast<size_t>(result); i += n) {
			for (n = 1; i + n < static_cast<size_t>(result) && data[i + n] == data[i];)
				n++;
			*more += " " + std::to_string(n) + "x" +
				 std::to_string(static_cast<unsigned char>(data[i]));
		}
		return result;
	}

	long describe(long result, const struct stat &st, std::string *more)
	{
		char text[200];

		if (result < 0)
			return result;
		auto known = inodes_.emplace(st.st_ino, inodes_.size()).first;
		/* A directory's size is not the same thing on both sides. */
		std::snprintf(text, sizeof(text),
			      " inode %zu mode %o links %lu size %lld blocks %lld", known->second,
			      st.st_mode, static_cast<unsigned long>(st.st_nlink),
			      S_ISDIR(st.st_mode) ? 0LL : static_cast<long long>(st.st_size),
			      S_ISREG(st.st_mode) ? static_cast<long long>(st.st_blocks) : 0LL);
		*more += text;
		return result;
	}

	long describe_fs(std::string *more)
	{
		struct statvfs st = {};
		long result = on_.statfs(&st);

		*more += " blocks " + std::to_string(st.f_blocks) + " free " +
			 std::to_string(st.f_bfree) + " inodes " + std::to_string(st.f_files) +
			 " free " + std::to_string(st.f_ffree);
		return result;
	}

	void dump_dir(const std::string &path, std::string *all)
	{
		std::vector<std::string> names;
		long fd = on_.open(path.c_str(), O_RDONLY | O_DIRECTORY, 0);

		if (fd < 0) {
			*all += "\n" + path + " can't be opened";
			return;
		}
		on_.list(static_cast<int>(fd), &names);
		on_.close(static_cast<int>(fd));
		std::sort(names.begin(), names.end());
		for (const std::string &name : names) {
			std::string full = path + name.substr(0, name.find(' '));
			struct stat st;

			if (name[0] == '.')
				continue;
			*all += "\n" + full;
			describe(on_.stat(full.c_str(), false, &st), st, all);
			if (S_ISDIR(st.st_mode))
				dump_dir(full + "/", all);
			else if (S_ISREG(st.st_mode))
				dump_file(full, all);
		}
	}

	void dump_file(const std::string &path, std::string *all)
	{
		std::string data(300000, '\0');
		long fd = on_.open(path.c_str(), O_RDONLY, 0);

		if (fd < 0)
			return;
		add_data(on_.pread(static_cast<int>(fd), &data[0], data.size(), 0), data, all);
		on_.close(static_cast<int>(fd));
	}

	side &on_;
	int flaw_;
	int fds_[SLOTS];
	std::map<ino_t, size_t> inodes_;
};

/* ---- both ---------------------------------------------------------------------------------- */

struct settings {
	uint64_t seed = 1, sequences = 20, operations = 2000;
	std::string left; /* empty = the library */
	std::string right;
	int flaw = -1;
};

/* What is in use after each operation: on one side, then to be waited for on the other. */
using usage = std::vector<struct statvfs>;

/* Each operation's outcome, and every now and then all there is. */
std::vector<std::string> play_all(side &on, const std::vector<operation> &operations, int flaw,
				  usage *used, const usage *like)
{
	std::vector<std::string> outcomes;

	on.run([&] {
		player player(on, flaw);

		for (size_t i = 0; i < operations.size(); i++) {
			std::string outcome = player.play(operations[i]);

			if (used) {
				used->push_back({});
				on.statfs(&used->back());
			}
			if (like)
				on.settle((*like)[i]);
			if (i % 100 == 99 || i + 1 == operations.size())
				outcome += player.dump();
			outcomes.push_back(outcome);
		}
	});
	if (!on.prove())
		outcomes.back() += " (and the check found faults)";
	return outcomes;
}

/* The number of the first operation that differs; -1 = none. */
long first_difference(const settings &how, const std::vector<operation> &operations, bool say)
{
	std::unique_ptr<side> left, right(new folder(how.right));
	std::vector<std::string> a, b;
	bool mounted = !how.left.empty();
	usage used;

	if (operations.empty())
		return -1;
	if (mounted)
		left.reset(new folder(how.left));
	else
		left.reset(new library(true));
	b = play_all(*right, operations, -1, mounted ? &used : nullptr, nullptr);
	a = play_all(*left, operations, how.flaw, nullptr, mounted ? &used : nullptr);
	for (size_t i = 0; i < operations.size(); i++) {
		if (a[i] == b[i])
			continue;
		if (say)
			std::printf("left:  %s\nright: %s\n", a[i].c_str(), b[i].c_str());
		return static_cast<long>(i);
	}
	return -1;
}

/* Leaves out whatever can be left out. */
std::vector<operation> shrink(const settings &how, std::vector<operation> operations)
{
	for (size_t chunk = operations.size() / 2; chunk > 0;) {
		bool shorter = false;

		for (size_t at = 0; at + 1 < operations.size();) {
			std::vector<operation> fewer = operations;
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

/* The same? With a flaw: found? */
bool compare(const settings &how, uint64_t seed)
{
	generator generator(seed);
	std::vector<operation> operations;
	long differs;

	for (uint64_t i = 0; i < how.operations; i++)
		operations.push_back(generator.next());
	differs = first_difference(how, operations, false);
	if (differs < 0)
		return how.flaw < 0;
	operations.resize(static_cast<size_t>(differs) + 1);
	operations = shrink(how, operations);
	if (how.flaw >= 0)
		return operations.size() <= 5;
	std::printf("seed %llu: operation %ld differs; %zu operations show it:\n",
		    static_cast<unsigned long long>(seed), differs, operations.size());
	for (const operation &op : operations)
		std::printf("  %s\n", op.text().c_str());
	first_difference(how, operations, true);
	return false;
}

[[noreturn]] void skip(const char *why)
{
	std::printf("%s: %s\n", why, strerror(errno));
	std::exit(77);
}

/* A tmpfs that nobody else sees, with the library's limits. Root, or a user who may be one here. */
std::string mount_tmpfs()
{
	static char name[] = "/tmp/holdfast-compare-XXXXXX";
	char options[80];
	unsigned int uid = geteuid(), gid = getegid();

	std::snprintf(options, sizeof(options), "size=%llu,nr_inodes=%llu,mode=1777",
		      static_cast<unsigned long long>(PAGES * 4096),
		      static_cast<unsigned long long>(INODES));
	if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0)
		skip("no namespace of its own");
	if (uid != 0) {
		for (const char *file : { "setgroups", "uid_map", "gid_map" }) {
			std::string path = std::string("/proc/self/") + file, text = "deny";
			unsigned int id = file[0] == 'u' ? uid : gid;
			FILE *to = fopen(path.c_str(), "w");

			if (file[1] == 'i')
				text = "0 " + std::to_string(id) + " 1";
			if (!to || fputs(text.c_str(), to) < 0 || fclose(to) != 0)
				skip("can't be root in a namespace");
		}
	}
	if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 || !mkdtemp(name) ||
	    mount("tmpfs", name, "tmpfs", 0, options) != 0)
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
		else if (option == "--flaw") {
			for (int kind = 0; kind < KINDS; kind++) {
				if (!std::strcmp(kind_names[kind], argv[i + 1]))
					how.flaw = kind;
			}
			if (how.flaw < 0)
				return 2;
		} else
			return 2;
	}
	how.right = mount_tmpfs();
	for (uint64_t i = 0; i < how.sequences && failures < 3; i++)
		failures += !compare(how, how.seed + i);
	std::printf("%llu sequences of %llu operations, seeds from %llu: %d differ\n",
		    static_cast<unsigned long long>(how.sequences),
		    static_cast<unsigned long long>(how.operations),
		    static_cast<unsigned long long>(how.seed), failures);
	return failures ? 1 : 0;
}
