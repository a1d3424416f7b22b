/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_TMPFS_SIDE_H
#define HF_TESTS_TMPFS_SIDE_H
/*
 * side - runs a step, which is text, and returns its outcome as text: on a file system of the
 * library, or by system calls on the file system that is the thread's root.
 *
 *   mkdir /d 755          open 0 /d/f rw,creat 644      pread 0 5 1p          rename /a /b exchange
 *   pwrite 0 x*9 2p+1     fallocate 0 punch 0 1p        stat /d links size    seek 0 2^60 hole
 *
 * Open files are named by slots. A number may be a sum; 3p is three pages, 2^60 a power of two, max
 * and min are the limits of int64_t. In text x*9 means nine x, and "" the empty string. In data
 * that is read a dot stands for a zero byte, and c*N for a run of four or more. A write of @N is
 * one of N bytes, of which none can be read; so is a buffer of more than a MiB. The outcome of a
 * call that fails is the name of its errno.
 */
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tmpfs.h"

/* A page, and behind it 64 KiB without access, so that no buffer reaches into other memory. */
class bad_page {
public:
	bad_page()
		: map_(static_cast<char *>(mmap(nullptr, SIZE, PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)))
	{
		mprotect(map_ + 4096, SIZE - 4096, PROT_NONE);
	}
	~bad_page() { munmap(map_, SIZE); }
	bad_page(const bad_page &) = delete;
	bad_page &operator=(const bad_page &) = delete;
	char *bad() const { return map_ + 4096; }
	char *before(size_t good) const { return map_ + 4096 - good; }

private:
	static const size_t SIZE = 4096 + 65536;

	char *map_;
};

class side {
public:
	using words = std::vector<std::string>;

	virtual ~side() = default;

	struct hf_tmpfs *fs = nullptr; /* NULL: system calls */
	struct hf_tmpfs_table *t = nullptr;
	struct hf_tmpfs_node *root = nullptr; /* where paths start; need not be the root */

	bool slots_are_descriptors = false; /* and may be those of another thread */

	/* A file system with a table; 0, or an error. */
	int make(const struct hf_tmpfs_options &options, unsigned int descriptors = 0)
	{
		int error = fs ? 0 : hf_tmpfs_new(&fs, &options);

		root = error ? nullptr : hf_tmpfs_root(fs);
		return error ? error : hf_tmpfs_table_new(&t, fs, descriptors);
	}
	/* Frees them, with all files and nodes. */
	int end()
	{
		struct hf_tmpfs *old = fs;

		slots_.clear();
		hf_tmpfs_table_free(t);
		hf_tmpfs_nodes_put(fs);
		fs = nullptr;
		return hf_tmpfs_free(old);
	}

	/* ---- the calls: a result, or -errno ------------------------------------------------ */

	static long got(long result) { return result < 0 ? -errno : result; }

	/* The library's node of a path, with a reference. */
	int lookup(const char *path, struct hf_tmpfs_node **node)
	{
		if (path != std::string("/"))
			return hf_tmpfs_lookup(root, path, node);
		*node = hf_tmpfs_root(fs);
		hf_tmpfs_node_get(*node);
		return 0;
	}

	/* Calls f(node) with it. To follow a symlink fails, as with the option `nosymfollow`. */
	template <class F>
	long with(const char *path, bool follow, F f)
	{
		struct hf_tmpfs_node *node;
		long result = lookup(path, &node);
		struct stat st;

		if (result)
			return result;
		hf_tmpfs_stat(node, &st);
		result = follow && S_ISLNK(st.st_mode) ? -ELOOP : f(node);
		hf_tmpfs_node_put(node, 1);
		return result;
	}

	long open(const char *path, int flags, mode_t mode)
	{
		if (!fs)
			return got(::open(path, flags | O_NONBLOCK, mode)); /* FIFOs, too */
		return path == std::string("/")
			       ? hf_tmpfs_open(t, nullptr, nullptr, flags, mode, nullptr)
			       : hf_tmpfs_open(t, root, path, flags, mode, nullptr);
	}
	long close(int fd) { return fs ? hf_tmpfs_close(t, fd) : got(::close(fd)); }
	long read(int fd, char *to, size_t size)
	{
		return fs ? hf_tmpfs_read(t, fd, to, size) : got(::read(fd, to, size));
	}
	long pread(int fd, char *to, size_t size, off_t at)
	{
		return fs ? hf_tmpfs_pread(t, fd, to, size, at) : got(::pread(fd, to, size, at));
	}
	long write(int fd, const char *from, size_t size)
	{
		return fs ? hf_tmpfs_write(t, fd, from, size) : got(::write(fd, from, size));
	}
	long pwrite(int fd, const char *from, size_t size, off_t at)
	{
		return fs ? hf_tmpfs_pwrite(t, fd, from, size, at)
			  : got(::pwrite(fd, from, size, at));
	}
	long seek(int fd, off_t at, int whence)
	{
		return fs ? hf_tmpfs_lseek(t, fd, at, whence) : got(::lseek(fd, at, whence));
	}
	long ftruncate(int fd, off_t size)
	{
		return fs ? hf_tmpfs_ftruncate(t, fd, size) : got(::ftruncate(fd, size));
	}
	long truncate(const char *path, off_t size)
	{
		if (!fs || size < 0)
			return fs ? -EINVAL : got(::truncate(path, size));
		return with(path, true, [=](auto *node) { return hf_tmpfs_truncate(node, size); });
	}
	long fallocate(int fd, int mode, off_t at, off_t size)
	{
		return fs ? hf_tmpfs_fallocate(t, fd, mode, at, size)
			  : got(::fallocate(fd, mode, at, size));
	}
	long stat(const char *path, struct stat *to, bool follow = true)
	{
		if (!fs)
			return got(follow ? ::stat(path, to) : ::lstat(path, to));
		return with(path, follow, [=](auto *node) { return hf_tmpfs_stat(node, to), 0; });
	}
	long lstat(const char *path, struct stat *to) { return stat(path, to, false); }
	long fstat(int fd, struct stat *to)
	{
		return fs ? hf_tmpfs_fstat(t, fd, to) : got(::fstat(fd, to));
	}
	long link(const char *from, const char *to)
	{
		if (!fs)
			return got(::link(from, to));
		return with(from, false, [=](auto *node) { return hf_tmpfs_link(node, root, to); });
	}
	long unlink(const char *path)
	{
		return fs ? hf_tmpfs_unlink(root, path) : got(::unlink(path));
	}
	long rename(const char *from, const char *to, unsigned int flags)
	{
		return fs ? hf_tmpfs_rename(root, from, root, to, flags)
			  : got(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags));
	}
	long mkdir(const char *path, mode_t mode)
	{
		return fs ? hf_tmpfs_mkdir(root, path, mode, nullptr) : got(::mkdir(path, mode));
	}
	long mknod(const char *path, mode_t mode)
	{
		return fs ? hf_tmpfs_mknod(root, path, mode, 0, nullptr)
			  : got(::mknod(path, mode, 0));
	}
	/* All names of a directory in their order, each with its type. */
	long list(int fd, words *names)
	{
		struct hf_tmpfs_dirent entries[3];
		char buffer[4096];
		long count = seek(fd, 0, SEEK_SET);

		if (count < 0)
			return count;
		while (fs && (count = hf_tmpfs_readdir(t, fd, entries, 3)) > 0) {
			for (long i = 0; i < count; i++)
				add_name(names, entries[i].name, entries[i].type);
		}
		while (!fs &&
		       (count = got(syscall(SYS_getdents64, fd, buffer, sizeof(buffer)))) > 0) {
			for (long at = 0; at < count;) {
				auto *entry = reinterpret_cast<struct dirent64 *>(buffer + at);

				add_name(names, entry->d_name, entry->d_type);
				at += entry->d_reclen;
			}
		}
		return count;
	}

	/* ---- steps ------------------------------------------------------------------------- */

	std::string step(const std::string &line)
	{
		words w;

		for (size_t at = 0, end; (at = line.find_first_not_of(" \t", at)) != line.npos;
		     at = end) {
			end = std::min(line.find_first_of(" \t", at), line.size());
			w.push_back(line[at] == '"' ? "" : expand(line.substr(at, end - at)));
		}
		return step(w);
	}

	/* For an unused slot, a number that is no descriptor. */
	int fd(const std::string &slot) const
	{
		if (slots_are_descriptors)
			return std::stoi(slot);
		auto found = slots_.find(slot);

		return found == slots_.end() ? 1 << 20 : found->second;
	}

	void close_all()
	{
		for (const auto &slot : slots_)
			close(slot.second);
		slots_.clear();
	}

	static std::string text(long result)
	{
		return result < 0 ? strerrorname_np(static_cast<int>(-result))
				  : std::to_string(result);
	}

	static std::string bytes(long result, const std::string &data)
	{
		std::string all;
		size_t end = result < 0 ? 0 : static_cast<size_t>(result), run;

		for (size_t i = 0; i < end; i += run) {
			std::string one(1, data[i] ? data[i] : '.');

			for (run = 1; i + run < end && data[i + run] == data[i];)
				run++;
			if (run < 4)
				run = 1;
			all += run == 1 ? one : one + "*" + std::to_string(run);
		}
		return result < 0 ? text(result) : all;
	}

	/*
	 * Inodes are numbered in the order of their first appearance, since the real numbers
	 * differ.
	 */
	std::string describe(long result, const struct stat &st)
	{
		char all[200];
		auto known = inodes_.emplace(st.st_ino, inodes_.size()).first;

		if (result < 0)
			return text(result);
		std::snprintf(all, sizeof(all), "inode %zu mode %o links %lu size %lld blocks %lld",
			      known->second, st.st_mode, static_cast<unsigned long>(st.st_nlink),
			      S_ISDIR(st.st_mode) ? 0LL : static_cast<long long>(st.st_size),
			      S_ISREG(st.st_mode) ? static_cast<long long>(st.st_blocks) : 0LL);
		return all;
	}

	static int64_t number(const std::string &word)
	{
		size_t end = 3, more;
		int64_t value;

		if (word.rfind("max", 0) == 0 || word.rfind("min", 0) == 0)
			value = word[1] == 'a' ? INT64_MAX : INT64_MIN;
		else
			value = std::stoll(word, &end);
		if (word[end] == '^') {
			value = (value < 0 ? -1 : 1) *
				(int64_t(1) << std::stoll(word.substr(end + 1), &more));
			end += 1 + more;
		} else if (word[end] == 'p') {
			value *= HF_TMPFS_PAGE;
			end++;
		}
		return end < word.size() ? value + number(word.substr(end)) : value;
	}

	static std::vector<int64_t> extreme_offsets()
	{
		std::istringstream in("min min+1 -2^32 -4097 -4096 -1 0 1 4095 4096 10000 2^31-1 "
				      "2^31 2^32+1 2^52-1 2^52 2^62 max-2^31 max-2147479552 "
				      "max-4096 max-4095 max-1 max");
		std::vector<int64_t> all;

		for (std::string word; in >> word;)
			all.push_back(number(word));
		return all;
	}

private:
	static void add_name(words *names, const std::string &name, int type)
	{
		names->push_back(name + " " + std::to_string(type));
	}

	static std::string expand(const std::string &word)
	{
		std::string all;

		if (word.find('*') == word.npos)
			return word;
		for (size_t i = 0; i < word.size(); i++) {
			if (i > 0 && word[i] == '*' && isdigit(word[i + 1])) {
				size_t digits = 0;

				all.append(std::stoul(word.substr(i + 1), &digits) - 1,
					   word[i - 1]);
				i += digits;
			} else {
				all += word[i];
			}
		}
		return all;
	}

	/* Names and numbers, separated by commas. */
	static int flags(const std::string &list)
	{
		static const std::map<std::string, int> names = {
			{ "r", O_RDONLY },      { "w", O_WRONLY },      { "rw", O_RDWR },
			{ "creat", O_CREAT },   { "excl", O_EXCL },     { "trunc", O_TRUNC },
			{ "append", O_APPEND }, { "dir", O_DIRECTORY }, { "exchange", 2 },
			{ "allocate", 0 },      { "keep", 1 },          { "punch", 3 },
			{ "set", SEEK_SET },    { "cur", SEEK_CUR },    { "end", SEEK_END },
			{ "data", SEEK_DATA },  { "hole", SEEK_HOLE },  { "file", S_IFREG },
			{ "fifo", S_IFIFO },    { "socket", S_IFSOCK }, { "char", S_IFCHR },
		};
		int sum = 0;

		for (size_t at = 0, end; at < list.size(); at = end + 1) {
			end = std::min(list.find(',', at), list.size());
			auto found = names.find(list.substr(at, end - at));
			sum |= found == names.end()
				       ? static_cast<int>(number(list.substr(at, end - at)))
				       : found->second;
		}
		return sum;
	}

	static std::string field(const std::string &name, const struct stat &of)
	{
		const std::map<std::string, uint64_t> known = {
			{ "links", of.st_nlink },
			{ "size", static_cast<uint64_t>(of.st_size) },
			{ "pages", static_cast<uint64_t>(of.st_blocks) / 8 },
			{ "inode", of.st_ino },
		};
		char mode[20];

		std::snprintf(mode, sizeof(mode), "%o", of.st_mode);
		return name == "mode" ? mode : std::to_string(known.at(name));
	}

	/* The named fields; without names, those that two file systems have in common. */
	std::string fields(long result, const struct stat &of, const words &w)
	{
		std::string all;

		if (w.size() == 2)
			return describe(result, of);
		for (size_t i = 2; i < w.size(); i++)
			all += (i > 2 ? " " : "") + field(w[i], of);
		return result < 0 ? text(result) : all;
	}

	/* Stores a descriptor in its slot. */
	std::string opened(const std::string &slot, long result)
	{
		if (result < 0 || slots_are_descriptors)
			return text(result);
		if (slots_.count(slot))
			close(slots_[slot]);
		slots_[slot] = static_cast<int>(result);
		return "0";
	}

	static mode_t octal(const words &w, size_t at, mode_t otherwise)
	{
		return w.size() > at ? static_cast<mode_t>(std::stoul(w[at], nullptr, 8))
				     : otherwise;
	}

	std::string on_file(const words &w);
	std::string step(const words &w);

	std::map<std::string, int> slots_;
	std::map<ino_t, size_t> inodes_;
};

/* A step on an open file. */
inline std::string side::on_file(const words &w)
{
	const std::string &call = w[0];
	std::string data;
	int file = fd(w[1]);
	struct stat st = {};
	long result;

	if (call == "close") {
		slots_.erase(w[1]);
		return text(close(file));
	}
	if (call == "dup")
		return opened(w[2], fs ? hf_tmpfs_dup(t, file) : got(::dup(file)));
	if (call == "pread" && number(w[2]) > 1 << 20)
		return text(pread(file, bad_page().bad(), number(w[2]), number(w[3])));
	if (call == "pwrite" && w[2][0] == '@')
		return text(pwrite(file, bad_page().bad(), number(w[2].substr(1)), number(w[3])));
	if (call == "read" || call == "pread") {
		data.resize(static_cast<size_t>(number(w[2])));
		result = call == "read" ? read(file, &data[0], data.size())
					: pread(file, &data[0], data.size(), number(w[3]));
		return bytes(result, data);
	}
	if (call == "write")
		return text(write(file, w[2].data(), w[2].size()));
	if (call == "pwrite")
		return text(pwrite(file, w[2].data(), w[2].size(), number(w[3])));
	if (call == "seek")
		return text(seek(file, number(w[2]), flags(w[3])));
	if (call == "ftruncate")
		return text(ftruncate(file, number(w[2])));
	if (call == "fallocate")
		return text(fallocate(file, flags(w[2]), number(w[3]), number(w[4])));
	if (call == "fstat")
		return fields(result = fstat(file, &st), st, w);
	return "no such call";
}

inline std::string side::step(const words &w)
{
	const std::string &call = w[0];
	const char *path = w.size() > 1 ? w[1].c_str() : "",
		   *other = w.size() > 2 ? w[2].c_str() : "";
	struct hf_tmpfs_attributes to = {};
	struct statvfs vfs = {};
	struct stat st = {};
	long result;

	if (call == "mkdir")
		return text(mkdir(path, octal(w, 2, 0755)));
	if (call == "rmdir")
		return text(fs ? hf_tmpfs_rmdir(root, path) : got(::rmdir(path)));
	if (call == "unlink")
		return text(unlink(path));
	if (call == "link")
		return text(link(path, other));
	if (call == "symlink")
		return text(fs ? hf_tmpfs_symlink(path, root, other, nullptr)
			       : got(::symlink(path, other)));
	if (call == "rename")
		return text(
			rename(path, other, static_cast<unsigned>(w.size() > 3 ? flags(w[3]) : 0)));
	if (call == "mknod")
		return text(mknod(path, static_cast<mode_t>(flags(w[2])) | 0644));
	if (call == "open")
		return opened(w[1], open(other, w.size() > 3 ? flags(w[3]) : 0, octal(w, 4, 0644)));
	if (call == "stat")
		return fields(result = stat(path, &st), st, w);
	if (call == "lstat")
		return fields(result = lstat(path, &st), st, w);
	if (call == "truncate")
		return text(truncate(path, number(w[2])));
	if (call == "readlink") {
		std::string data(static_cast<size_t>(number(w.back())), '?');

		if (fs && data.empty())
			return text(-EINVAL);
		result = fs ? with(path, false,
				   [&](auto *node) {
					   return hf_tmpfs_readlink(node, &data[0], data.size());
				   })
			    : got(::readlink(path, &data[0], data.size()));
		return bytes(result, data);
	}
	if (call == "chmod") {
		to.set = HF_TMPFS_SET_MODE;
		to.mode = octal(w, 2, 0);
		return text(fs ? with(path, true,
				      [&](auto *node) { return hf_tmpfs_setattr(node, &to); })
			       : got(::chmod(path, to.mode)));
	}
	if (call == "free") {
		result = fs ? hf_tmpfs_statfs(fs, &vfs) : got(::statvfs("/", &vfs));
		return result < 0 ? text(result)
				  : std::to_string(vfs.f_bfree) + " " + std::to_string(vfs.f_ffree);
	}
	if (call == "list") { /* a slot, or a path */
		bool is_slot = slots_.count(w[1]) || (slots_are_descriptors && isdigit(w[1][0]));
		long dir = is_slot ? fd(w[1]) : open(path, O_RDONLY | O_DIRECTORY, 0);
		std::string all;
		words names;

		result = dir < 0 ? dir : list(static_cast<int>(dir), &names);
		if (!is_slot && dir >= 0)
			close(static_cast<int>(dir));
		std::sort(names.begin(), names.end());
		for (const std::string &name : names)
			all += (all.empty() ? "" : " ") + name.substr(0, name.find(' '));
		return result < 0 ? text(result) : all;
	}
	if (call == "file") { /* makes a new file with these contents */
		result = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
		if (result < 0)
			return text(result);
		write(static_cast<int>(result), other, w.size() > 2 ? w[2].size() : 0);
		return text(close(static_cast<int>(result)));
	}
	if (call == "contents") {
		std::string data(300000, '?');
		int file = static_cast<int>(open(path, O_RDONLY, 0));

		result = file < 0 ? file : pread(file, &data[0], data.size(), 0);
		if (file >= 0)
			close(file);
		return bytes(result, data);
	}
	return on_file(w);
}

#endif
