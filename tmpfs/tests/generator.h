/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_TMPFS_GENERATOR_H
#define HF_TESTS_TMPFS_GENERATOR_H
/* generator - random steps (side.h) on a few names, so that many hit the same file. */
#include <random>

#include "side.h"

const unsigned int ONLY_ALL = 1000;

/* The weight of each call. */
const std::vector<std::pair<std::string, unsigned int>> drawn_calls = {
	{ "open", 30 },
	{ "close", 8 },
	{ "dup", 3 },
	{ "read", 4 },
	{ "pread", 8 },
	{ "write", 6 },
	{ "pwrite", 12 },
	{ "seek", 8 },
	{ "ftruncate", 5 },
	{ "truncate", 3 },
	{ "fallocate", 6 },
	{ "stat", 4 },
	{ "lstat", 4 },
	{ "fstat", 3 },
	{ "link", 6 },
	{ "symlink", 6 },
	{ "readlink", 4 },
	{ "unlink", 8 },
	{ "rename", 14 },
	{ "mkdir", 8 },
	{ "rmdir", 5 },
	{ "list", 5 },
	{ "free", 2 },
	{ "chmod", 2 },
	{ "setxattr", ONLY_ALL + 2 },
	{ "getxattr", ONLY_ALL + 2 },
	{ "removexattr", ONLY_ALL + 1 },
	{ "mknod", ONLY_ALL + 2 },
	{ "flink", ONLY_ALL + 4 },
	{ "contents", ONLY_ALL + 2 },
};

class generator {
public:
	/* `all`: also attributes, special files and nameless files, which are not compared. */
	generator(uint64_t seed, uint32_t slots, bool all = false)
		: random_(seed), slots_(slots), all_(all)
	{
		for (const auto &call : drawn_calls) {
			if (all || call.second < ONLY_ALL)
				calls_.insert(calls_.end(), call.second % ONLY_ALL, call.first);
		}
	}

	/* A step. */
	std::string next()
	{
		const std::string &call = one_of(calls_);

		return call + " " + arguments(call);
	}

private:
	uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

	std::string number(uint32_t n) { return std::to_string(below(n)); }

	std::string arguments(const std::string &call)
	{
		std::string slot = number(slots_), mode = number(8) + number(8) + number(8);
		std::string size = number(below(4) ? 6000 : 30000);
		std::string data = static_cast<char>('a' + below(26)) + std::string("*") + size;

		std::string name = below(2) ? " user.a" : " user.b";

		if (size == "0")
			data = "\"\"";
		if (call == "open")
			return slot + " " + path() + " " + open_flags() + " " + mode;
		if (call == "close" || call == "fstat")
			return slot;
		if (call == "list")
			return below(2) ? slot : path();
		if (call == "dup")
			return slot + " " + number(slots_);
		if (call == "read")
			return slot + " " + size;
		if (call == "pread")
			return slot + " " + size + " " + place();
		if (call == "write")
			return slot + " " + data;
		if (call == "pwrite")
			return slot + " " + data + " " + place();
		if (call == "seek")
			return slot + " " + place() + " " +
			       one_of({ "set", "cur", "end", "data", "hole", "77" });
		if (call == "ftruncate")
			return slot + " " + place();
		if (call == "truncate")
			return path() + " " + place();
		if (call == "fallocate")
			return slot + " " +
			       (below(10) ? one_of({ "punch", "keep", "allocate", "punch" })
					  : number(5)) +
			       " " + place() + " " + size + "+" + number(4) + "p";
		if (call == "link")
			return path() + " " + path();
		if (call == "symlink")
			return target() + " " + path();
		if (call == "readlink")
			return path() + " " + number(10);
		if (call == "rename")
			return path() + " " + path() + " " +
			       (below(2)   ? "0"
				: below(5) ? number(3)
					   : "3");
		if (call == "mkdir" || call == "chmod")
			return path() + " " + mode;
		if (call == "setxattr")
			return path() + name + " v*" + std::to_string(1 + below(9000)) + " " +
			       number(3);
		if (call == "getxattr")
			return path() + name + " " + number(9000);
		if (call == "removexattr")
			return path() + name;
		if (call == "mknod")
			return path() + " " + one_of({ "fifo", "char", "file" });
		if (call == "flink")
			return slot + " " + path();
		return call == "free" ? "" : path();
	}

	std::string one_of(const std::vector<std::string> &words)
	{
		return words[below(static_cast<uint32_t>(words.size()))];
	}

	std::string place()
	{
		/* No data in the last page that there can be: the kernel's SEEK_DATA misses it. */
		if (below(12) == 0)
			return one_of({ "-1", "max", "2^28", "1p", "2p", "3p", "4p" });
		return below(3) ? number(50000) : number(16) + "p";
	}

public:
	std::string path()
	{
		std::string path = below(3) ? "/" : "";
		uint32_t depth = 1 + (below(2) ? 0 : below(3));

		if (below(60) == 0)
			return below(2) ? "/" : "\"\"";
		if (below(60) == 0)
			return below(2) ? "n*255" : "n*256";
		for (uint32_t i = 0; i < depth; i++) {
			uint32_t dots = below(20);

			path += dots == 0   ? "."
				: dots == 1 ? ".."
					    : one_of({ "a", "b", "c", "d", "e" });
			if (i + 1 < depth || below(15) == 0)
				path += below(20) ? "/" : "//";
		}
		return path;
	}

private:
	/* No long target: the kernel's tmpfs may count a page where the library counts none. */
	std::string target()
	{
		std::string target = below(20) ? path() : "\"\"";

		return target[0] == 'n' ? "a" : target;
	}

	std::string open_flags()
	{
		std::string flags = one_of({ "r", "w", "rw", "rw" });
		bool creates = below(2);

		if (all_ && below(8) == 0)
			return "tmpfile,rw";

		/*
		 * O_CREAT with O_DIRECTORY, and O_EXCL without O_CREAT, mean different things to
		 * different kernels.
		 */
		flags += creates ? ",creat" : "";
		flags += below(6) || !creates ? "" : ",excl";
		flags += below(6) ? "" : ",trunc";
		flags += below(6) ? "" : ",append";
		flags += below(8) ? "" : ",nofollow";
		flags += below(3) || creates ? "" : ",dir";
		return flags;
	}

	std::mt19937_64 random_;
	uint32_t slots_;
	bool all_;
	std::vector<std::string> calls_;
};

#endif
