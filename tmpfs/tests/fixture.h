/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_TMPFS_FIXTURE_H
#define HF_TESTS_TMPFS_FIXTURE_H
/* fixture - a file system that is checked and freed at the end of every test. */
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include <dirent.h>
#include <unistd.h>

#include "../../tests/unit/unit.h"
#include "side.h"

class TmpfsTest : public testing::Test {
protected:
	void SetUp() override { make({}); }

	void TearDown() override
	{
		prove();
		drop();
		for (int kind = 0; kind < HF_REPORT_KINDS; kind++)
			EXPECT_EQ(hf_report_count(static_cast<enum hf_report_kind>(kind)), 0u);
	}

	void make(const struct hf_tmpfs_options &options, unsigned int descriptors = 0)
	{
		drop();
		ASSERT_EQ(side_.make(options, descriptors), 0);
		root = side_.root;
	}

	void drop()
	{
		if (!fs)
			return;
		EXPECT_EQ(side_.end(), 0);
	}

	static void tell(void *, const char *line) { ADD_FAILURE() << line; }

	void prove() { EXPECT_EQ(hf_tmpfs_check(fs, tell, nullptr), 0); }

	/* ---- steps ------------------------------------------------------------------------- */

	/*
	 * Runs steps, separated by newlines or semicolons: `step = outcome`, or just a step, which
	 * must not fail. More steps: `check`; `limit PAGES INODES` (makes a new file system).
	 * Paths start at `start`; NULL = the root.
	 */
	void run(const std::string &script, struct hf_tmpfs_node *start = nullptr)
	{
		std::istringstream lines(script);

		side_.root = start ? start : root;
		for (std::string line; std::getline(lines, line);) {
			std::istringstream steps(line);

			for (std::string step; std::getline(steps, step, ';');)
				run_step(step);
		}
		side_.root = root;
	}

	/* Takes a reference, which is put at the end of the test. */
	struct hf_tmpfs_node *node(const char *path)
	{
		struct hf_tmpfs_node *found = nullptr;

		EXPECT_EQ(side_.lookup(path, &found), 0) << path;
		return found;
	}

	/* ---- calls ------------------------------------------------------------------------- */

	int open(const char *path, int flags = O_RDONLY, mode_t mode = 0644)
	{
		return static_cast<int>(side_.open(path, flags, mode));
	}

	/* Makes a file with these contents. */
	void file(const char *path, const std::string &data = "")
	{
		int fd = open(path, O_WRONLY | O_CREAT | O_EXCL);

		ASSERT_GE(fd, 0) << path;
		ASSERT_EQ(hf_tmpfs_write(t, fd, data.data(), data.size()),
			  static_cast<ssize_t>(data.size()));
		ASSERT_EQ(hf_tmpfs_close(t, fd), 0);
	}

	std::string read(int fd, size_t size, off_t at)
	{
		std::string data(size, '?');
		ssize_t got = hf_tmpfs_pread(t, fd, &data[0], size, at);

		EXPECT_GE(got, 0);
		data.resize(got < 0 ? 0 : static_cast<size_t>(got));
		return data;
	}

	struct stat stat(const char *path)
	{
		struct stat to = {};

		EXPECT_EQ(side_.stat(path, &to), 0) << path;
		return to;
	}

	side side_;
	struct hf_tmpfs *&fs = side_.fs;
	struct hf_tmpfs_table *&t = side_.t;
	struct hf_tmpfs_node *root = nullptr;

private:
	void run_step(std::string step)
	{
		size_t equals = step.find(" = ");
		std::string wanted = equals == step.npos ? "" : step.substr(equals + 3), call,
			    outcome;
		unsigned int pages = 0, inodes = 0;
		std::istringstream in(step = step.substr(0, equals));

		if (!(in >> call))
			return;
		wanted.erase(wanted.find_last_not_of(" \t") + 1);
		if (call == "limit") {
			struct hf_tmpfs_options options = {};

			in >> pages >> inodes;
			options.size = pages * HF_TMPFS_PAGE;
			options.inodes = inodes;
			make(options);
			side_.root = root;
		} else if (call == "check") {
			prove();
		} else {
			outcome = side_.step(step);
			if (wanted.empty())
				EXPECT_NE(outcome[0], 'E') << step << " = " << outcome;
			else
				EXPECT_EQ(outcome, wanted == "\"\"" ? "" : wanted) << step;
		}
	}
};

/* An allocator for a file system: counts bytes, and can make one allocation fail. */
struct own_memory {
	std::atomic<int64_t> bytes{ 0 };
	std::atomic<uint64_t> made{ 0 };    /* number of allocations */
	std::atomic<uint64_t> failing{ 0 }; /* the one of this number fails */

	~own_memory() { EXPECT_EQ(bytes, 0); }

	static void *allocate(void *data, size_t size)
	{
		auto *self = static_cast<own_memory *>(data);
		char *block;

		if (++self->made == self->failing)
			return nullptr;
		block = static_cast<char *>(aligned_alloc(64, 64 + (size + 63) / 64 * 64));
		if (!block)
			return nullptr;
		std::memcpy(block, &size, sizeof(size));
		self->bytes += static_cast<int64_t>(size);
		return block + 64;
	}
	static void release(void *data, void *memory)
	{
		char *block = static_cast<char *>(memory) - 64;
		size_t size;

		std::memcpy(&size, block, sizeof(size));
		static_cast<own_memory *>(data)->bytes -= static_cast<int64_t>(size);
		free(block);
	}
	struct hf_tmpfs_options options()
	{
		struct hf_tmpfs_options options = {};

		options.allocate = allocate;
		options.release = release;
		options.data = this;
		return options;
	}
};

#endif
