/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_TMPFS_GENERATOR_H
#define HF_TESTS_TMPFS_GENERATOR_H
/* generator - random steps (side.h) on a few names, so that many hit the same file. */
#include <random>

#include "side.h"

/*
 * Each call, its weight, and its arguments: see generator::argument(). The last needs privileges.
 */
const char drawn_calls[] =
	"open 30 SPFM  close 8 S  dup 3 SS  read 4 SN  pread 8 SNO  write 6 SD  pwrite 12 SDO "
	"seek 8 SOW  ftruncate 5 SO  truncate 3 PO  fallocate 6 SAOL  stat 4 P  lstat 4 P  fstat 3 "
	"S "
	"link 6 PP  symlink 6 TP  readlink 4 Pc  unlink 8 P  rename 14 PPR  mkdir 8 PM  rmdir 5 P "
	"list 5 l  free 2 -  chmod 2 PM  contents 2 P  mknod 3 PK";

class generator {
public:
	/* `plain`: paths that the library resolves without a kernel. */
	generator(uint64_t seed, uint32_t slots, bool privileged, bool plain)
		: random_(seed), slots_(slots), plain_(plain)
	{
		std::istringstream in(drawn_calls);
		std::string call, kinds;
		unsigned int weight;

		while (in >> call >> weight >> kinds && (privileged || call != "mknod"))
			calls_.insert(calls_.end(), weight, { call, kinds });
	}

	/* A step. */
	std::string next()
	{
		const auto &one = calls_[below(static_cast<uint32_t>(calls_.size()))];
		std::string step = one.first;

		for (char kind : one.second)
			step += " " + argument(kind);
		return step;
	}

private:
	uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

	std::string number(uint32_t n) { return std::to_string(below(n)); }

	std::string argument(char kind)
	{
		static const std::map<char, std::vector<std::string>> choices = {
			{ 'W', { "set", "cur", "end", "data", "hole", "77" } },
			{ 'A', { "punch", "keep", "allocate", "punch", "2" } },
			{ 'R', { "0", "0", "0", "1", "2", "3" } },
			{ 'K', { "socket", "char", "file" } },
			{ '-', { "" } },
		};
		std::string size = number(below(4) ? 6000 : 30000);

		switch (kind) {
		case 'S': /* a slot */
			return number(slots_);
		case 'P':
			return path();
		case 'T': /* a symlink's target */
			return target();
		case 'N': /* a size */
			return size;
		case 'D': /* data */
			return size == "0" ? "\"\""
					   : static_cast<char>('a' + below(26)) + ("*" + size);
		case 'O': /* an offset */
			return place();
		case 'L':
			return size + "+" + number(4) + "p";
		case 'M': /* a mode */
			return number(8) + number(8) + number(8);
		case 'F':
			return open_flags();
		case 'l':
			return below(2) ? number(slots_) : path();
		case 'c':
			return number(10);
		default:
			return one_of(choices.at(kind));
		}
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

		if (!plain_ && below(60) == 0)
			return below(2) ? "/" : "\"\"";
		if (!plain_ && below(60) == 0)
			return below(2) ? "n*255" : "n*256";
		for (uint32_t i = 0; i < depth; i++) {
			uint32_t dots = plain_ ? 2 : below(20);

			path += dots == 0   ? "."
				: dots == 1 ? ".."
					    : one_of({ "a", "b", "c", "d", "e" });
			if (i + 1 < depth || (!plain_ && below(15) == 0))
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

		/*
		 * O_CREAT with O_DIRECTORY, and O_EXCL without O_CREAT, mean different things to
		 * different kernels.
		 */
		flags += creates ? ",creat" : "";
		flags += below(6) || !creates ? "" : ",excl";
		flags += below(6) ? "" : ",trunc";
		flags += below(6) ? "" : ",append";
		flags += below(3) || creates ? "" : ",dir";
		return flags;
	}

	std::mt19937_64 random_;
	uint32_t slots_;
	bool plain_;
	std::vector<std::pair<std::string, std::string>> calls_;
};

#endif
