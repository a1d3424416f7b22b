// SPDX-License-Identifier: MIT
/*
 * memory - how much memory a file system uses, and how it behaves without memory. Most parts
 * measure the whole process, so each of them runs in a new one.
 *
 *   stalled   a reader stays in its read-side section: two writers stop until it leaves
 *   chains    a directory's table is not rebuilt while readers may use the one before the last
 *   idle      memory freed last is returned without a further call
 *   table     a directory's table of names shrinks
 *   back      after everything has been deleted, resident memory is within 10 percent of the start
 *   start     with almost no address space: creating a file system returns an error or works
 *   slabs     the allocator of objects alone
 */
#include "fixture.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <thread>

#include <sys/resource.h>
#include <urcu/urcu-bp.h>

#include "memory.h"

namespace
{

const size_t MIB = 1 << 20;

/* A field of /proc/self/statm, in bytes: 0 = address space, 1 = resident. */
size_t statm(int field)
{
	std::ifstream file("/proc/self/statm");
	size_t value = 0;

	for (int i = 0; i <= field; i++)
		file >> value;
	return value * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

/* By the pages themselves: on many processors statm may be wrong by megabytes in some kernels. */
size_t resident()
{
	std::ifstream file("/proc/self/smaps_rollup");
	std::string word;
	size_t kib = 0;

	while (file >> word) {
		if (word == "Rss:" && file >> kib)
			return kib * 1024;
	}
	return statm(1);
}

/* The peak of resident memory. */
size_t peak()
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return static_cast<size_t>(usage.ru_maxrss) * 1024;
}

std::string name(const char *kind, int n)
{
	return kind + std::to_string(n);
}

/* A file system, which is checked at the end. */
struct system_at_work : side {
	explicit system_at_work(uint64_t size = 0)
	{
		struct hf_tmpfs_options options = {};

		options.size = size;
		EXPECT_EQ(make(options), 0);
	}
	explicit system_at_work(const struct hf_tmpfs_options &options)
	{
		EXPECT_EQ(make(options), 0);
	}
	~system_at_work()
	{
		EXPECT_EQ(hf_tmpfs_check(fs, nullptr, nullptr), 0);
		EXPECT_EQ(end(), 0);
	}
	/* Writes 1 MiB and truncates it. */
	void fill_and_truncate(int fd)
	{
		static const std::vector<char> data(MIB, 'x');

		(void)pwrite(fd, data.data(), MIB, 0);
		(void)ftruncate(fd, 0);
	}
	int create(const std::string &path)
	{
		return static_cast<int>(open(path.c_str(), O_CREAT | O_RDWR, 0644));
	}
};

/* A thread that stays in a read-side section until end(). */
struct stalled_reader {
	std::atomic<bool> reading{ false }, go_on{ false };
	std::thread thread;

	stalled_reader()
		: thread([this] {
			  urcu_bp_read_lock();
			  reading = true;
			  while (!go_on)
				  usleep(1000);
			  urcu_bp_read_unlock();
		  })
	{
		while (!reading)
			usleep(1000);
	}
	void end()
	{
		go_on = true;
		thread.join();
	}
};

class TmpfsMemory : public testing::Test {
protected:
	/* Runs the part in a child process, which must have no failures. */
	static void alone(std::function<void()> part)
	{
		EXPECT_EQ(unit::in_child([&] {
				  part();
				  fflush(stdout);
				  MUST(!testing::Test::HasFailure());
			  }),
			  0);
	}
};

/* Correct code passes at any speed; broken code gets a second to write too much. */
TEST_F(TmpfsMemory, Stalled)
{
	alone([] {
		const int ROUNDS = 200;
		system_at_work system(8 * MIB);
		std::atomic<int> rounds{ 0 }, ended{ 0 };
		std::vector<std::thread> writers;
		stalled_reader reader;

		for (int me = 0; me < 2; me++) {
			writers.emplace_back([&, me] {
				int fd = system.create(name("/f", me));

				for (int i = 0; i < ROUNDS; i++, rounds++)
					system.fill_and_truncate(fd);
				ended++;
			});
		}
		for (int i = 0; i < 1000 && ended < 1; i++)
			usleep(1000);
		EXPECT_LT(rounds, 12) << "MiB wait for a grace period that can't end";
		EXPECT_LT(peak(), 40 * MIB);
		reader.end();
		for (std::thread &writer : writers)
			writer.join();
		EXPECT_EQ(rounds, 2 * ROUNDS);
	});
}

TEST_F(TmpfsMemory, Back)
{
	alone([] {
		const int FILES = 20000;
		system_at_work system;
		std::vector<char> data(5000, 'x');
		size_t start = 0, most = 0, end = 0;

		for (int round = 0; round < 2; round++) {
			/* The first round is small: it warms up. */
			int files = round ? FILES : 500;

			start = resident();
			for (int i = 0; i < files; i++) {
				std::string path = name("/f", i);
				int fd = system.create(path);

				ASSERT_EQ(system.write(fd, data.data(), data.size()), 5000);
				system.close(fd);
			}
			most = resident();
			/* Truncated while open, unlinked, in any order. */
			for (int i = 0; i < files; i++) {
				std::string path = name("/f", i * 7 % files);

				ASSERT_EQ(system.truncate(path.c_str(), i % 3), 0);
				ASSERT_EQ(system.unlink(path.c_str()), 0);
			}
		}
		EXPECT_GT(most, start + size_t(FILES) * 8192);
		for (int i = 0; i < 10000; i++) {
			end = resident();
			if (end <= start + start / 10)
				break;
			usleep(1000);
		}
		EXPECT_LE(end, start + start / 10) << "at most " << most;
	});
}

/* A directory's table is not rebuilt while readers may use the links of the one before. */
TEST_F(TmpfsMemory, ChainsWait)
{
	alone([] {
		const int NAMES = 20000;
		system_at_work system;
		std::atomic<int> made{ 0 };
		stalled_reader reader;

		std::thread writer([&] {
			for (; made < NAMES; made++)
				ASSERT_EQ(system.mknod(name("/f", made).c_str(), S_IFREG), 0);
		});
		for (int i = 0; i < 1000 && made < NAMES; i++)
			usleep(1000);
		EXPECT_LT(made, 1000);
		reader.end();
		writer.join();
		EXPECT_EQ(made, NAMES);
	});
}

/* Even a small amount of freed memory is returned without a further call. */
TEST_F(TmpfsMemory, Idle)
{
	own_memory memory;
	system_at_work system(memory.options());
	int64_t start;

	ASSERT_EQ(system.mkdir("/d", 0755), 0);
	start = memory.bytes;
	for (int round = 0; round < 3; round++) {
		for (const char *path : { "/d/e", "/d/f" }) {
			ASSERT_EQ(system.mkdir(path, 0755), 0);
			ASSERT_EQ(hf_tmpfs_rmdir(system.root, path), 0);
		}
		/* The directory keeps a table for its next names. */
		for (int i = 0; i < 10000 && memory.bytes > start + 256; i++)
			usleep(1000);
		EXPECT_LE(memory.bytes, start + 256);
	}
}

/* A directory whose names were removed has a small table again. */
TEST_F(TmpfsMemory, Table)
{
	const int NAMES = 50000;
	own_memory memory;
	system_at_work system(memory.options());
	int64_t start;

	ASSERT_EQ(system.mknod("/f", S_IFREG), 0);
	ASSERT_EQ(system.mkdir("/d", 0755), 0);
	start = memory.bytes;
	for (int i = 0; i < NAMES; i++)
		ASSERT_EQ(system.link("/f", name("/d/", i).c_str()), 0);
	/* A check waits for a grace period. */
	EXPECT_EQ(hf_tmpfs_check(system.fs, nullptr, nullptr), 0);
	for (int i = 0; i < NAMES; i++) {
		if (i == NAMES - 1000) {
			EXPECT_EQ(hf_tmpfs_check(system.fs, nullptr, nullptr), 0);
		}
		ASSERT_EQ(system.unlink(name("/d/", i).c_str()), 0);
	}
	EXPECT_EQ(hf_tmpfs_check(system.fs, nullptr, nullptr), 0);
	/* It was 128 KiB or more. It may not be at its smallest: each step needs a grace period. */
	EXPECT_LT(memory.bytes, start + 100000);
}

void limit_address_space(size_t more)
{
	struct rlimit limit = { statm(0) + more, RLIM_INFINITY };

	ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

/* A fixed pool for objects, for when the system has no memory. */
struct pool {
	alignas(64) static char memory[256 << 10];
	static size_t used;

	static void *allocate(void *, size_t size)
	{
		void *at = memory + used;

		used += (size + 63) / 64 * 64;
		return used <= sizeof(memory) ? at : nullptr;
	}
	static void release(void *, void *) {}
};

alignas(64) char pool::memory[256 << 10];
size_t pool::used;

/* From no memory at all to enough, page by page: an error, never an abort. */
TEST_F(TmpfsMemory, Start)
{
	for (size_t pages = 0; pages < 200; pages += pages < 40 ? 1 : 10) {
		for (bool own : { false, true }) {
			alone([pages, own] {
				struct hf_tmpfs_options options = {};
				struct hf_tmpfs_table *t;
				struct hf_tmpfs *fs;
				struct stat st;
				int error;

				if (own) {
					options.allocate = pool::allocate;
					options.release = pool::release;
				}
				limit_address_space(pages * 4096);
				error = hf_tmpfs_new(&fs, &options);
				if (error) {
					EXPECT_TRUE(error == -ENOMEM || error == -EAGAIN) << error;
					return;
				}
				error = hf_tmpfs_table_new(&t, fs, 0);
				EXPECT_TRUE(error == 0 || error == -ENOMEM) << error;
				hf_tmpfs_stat(hf_tmpfs_root(fs), &st);
				if (!error)
					hf_tmpfs_table_free(t);
				EXPECT_EQ(hf_tmpfs_free(fs), 0);
			});
		}
	}
}

TEST_F(TmpfsMemory, Slabs)
{
	struct tmpfs_memory memory = {};
	struct object {
		unsigned char *at;
		size_t size;
		unsigned char byte;
	};
	std::vector<object> objects;
	uint32_t random = 1;

	for (int i = 0; i < 60000; i++) {
		random = random * 1664525u + 1013904223u;
		bool more = i < 20000 ? random >> 29 : i < 40000 ? random >> 31 : false;

		if (more) {
			size_t size = 1 + (random >> 8) % ((random & 7) ? 5000 : 50000);
			auto *at = static_cast<unsigned char *>(tmpfs_memory_get(&memory, size));

			ASSERT_NE(at, nullptr);
			ASSERT_EQ(reinterpret_cast<uintptr_t>(at) % 64, 0u);
			std::memset(at, i & 255, size);
			objects.push_back({ at, size, static_cast<unsigned char>(i & 255) });
		} else if (!objects.empty()) {
			std::swap(objects[(random >> 8) % objects.size()], objects.back());
			object one = objects.back();

			objects.pop_back();
			for (size_t j = 0; j < one.size; j++)
				ASSERT_EQ(one.at[j], one.byte) << "overwritten";
			tmpfs_memory_put(&memory, one.at, one.size);
		}
	}
	for (const object &one : objects)
		tmpfs_memory_put(&memory, one.at, one.size);
	EXPECT_LE(memory.reserves, unsigned(TMPFS_MEMORY_RESERVE));
	EXPECT_LE(memory.slabs, 1u) << "all are empty, and an eighth may stay";
	EXPECT_TRUE(tmpfs_memory_end(&memory));
}

} // namespace
