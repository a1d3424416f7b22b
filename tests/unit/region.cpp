// SPDX-License-Identifier: MIT
// region: mappings that lose pages. What kills runs in a process of its own.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "holdfast/region.h"

#include "child.h"

namespace
{
const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));

/* What is at an offset of a file: never 0. */
char content(size_t at)
{
	return static_cast<char>(1 + (at * 7 + at / page) % 250);
}

class File {
public:
	explicit File(size_t pages) : size(pages * page), fd(memfd_create("region", MFD_CLOEXEC))
	{
		fill(0, pages);
	}
	~File() { close(fd); }
	File(const File &) = delete;
	File &operator=(const File &) = delete;

	const size_t size;
	const int fd;

	void fill(size_t from, size_t to) const
	{
		std::vector<char> bytes(page);

		for (size_t p = from; p < to; p++) {
			for (size_t i = 0; i < page; i++)
				bytes[i] = content(p * page + i);
			if (pwrite(fd, bytes.data(), page, static_cast<off_t>(p * page)) !=
			    static_cast<ssize_t>(page))
				abort();
		}
	}
	void cut(size_t bytes) const
	{
		if (ftruncate(fd, static_cast<off_t>(bytes)))
			abort();
	}
};

class Map {
public:
	explicit Map(const File &file_, int prot_ = PROT_READ | PROT_WRITE, int flags_ = MAP_SHARED)
		: file(file_), prot(prot_), flags(flags_), size(file.size),
		  at(static_cast<char *>(mmap(nullptr, file.size, prot, flags, file.fd, 0)))
	{
		if (at == MAP_FAILED)
			abort();
	}
	~Map() { munmap(at, size); }
	Map(const Map &) = delete;
	Map &operator=(const Map &) = delete;

	const File &file;
	const int prot, flags;
	const size_t size;
	char *const at;

	/* All of it, from a byte on. */
	int begin_file(hf_region_t *r, size_t from = 0) const
	{
		return hf_region_begin_file(r, at + from, size - from, prot, flags, file.fd, from);
	}
};

/* Somebody else's code. memcpy is called through a pointer that no compiler sees through. */
void *(*volatile copy)(void *, const void *, size_t) = memcpy;

std::vector<char> read(const char *at, size_t len)
{
	std::vector<char> bytes(len);

	copy(bytes.data(), at, len);
	return bytes;
}

/* Is it the file up to `bad`, and zeros from there on? `at` is where in the file it begins. */
bool is_file_to(const std::vector<char> &bytes, size_t bad, size_t at = 0)
{
	for (size_t i = 0; i < bytes.size(); i++) {
		if (bytes[i] != (i < bad ? content(at + i) : 0))
			return false;
	}
	return true;
}

void touch(const volatile char *p)
{
	(void)*p;
}

__attribute__((noinline)) void write_to(volatile char *p, char value)
{
	*p = value;
}

int in_child(const std::function<void()> &body)
{
	return unit::end_of_child([&] {
		MUST(hf_nofault_remove() == 0);
		signal(SIGSEGV, SIG_DFL); // not a sanitizer's
		signal(SIGBUS, SIG_DFL);
		MUST(hf_nofault_install() == 0);
		body();
	});
}

/* Some emulators don't. */
bool a_lost_page_has_its_address()
{
	static char *at;

	return in_child([&] {
		       struct sigaction action;
		       File file(1);
		       Map map(file);

		       at = map.at;
		       memset(&action, 0, sizeof(action));
		       action.sa_flags = SA_SIGINFO;
		       action.sa_sigaction = [](int, siginfo_t *info, void *) {
			       _exit(info->si_addr == at ? 0 : 1);
		       };
		       MUST(sigaction(SIGBUS, &action, nullptr) == 0);
		       file.cut(0);
		       touch(at);
	       }) == 0;
}

class Region : public ::testing::Test {
protected:
	hf_region_t r;
	hf_region_fault fault;

	void SetUp() override
	{
		ASSERT_EQ(hf_nofault_install(), 0);
		if (!a_lost_page_has_its_address())
			GTEST_SKIP() << "SIGBUS has a wrong address here (qemu-s390x)";
	}
};

TEST_F(Region, EveryPageByEachKindOfMapping)
{
	for (int prot : { PROT_READ, PROT_READ | PROT_WRITE }) {
		for (int flags : { MAP_SHARED, MAP_PRIVATE }) {
			for (size_t k = 0; k <= 9; k++) {
				File file(9);
				Map map(file, prot, flags);

				ASSERT_EQ(hf_region_begin(&r, map.at, map.size), 0);
				file.cut(k * page);
				std::vector<char> bytes = read(map.at, map.size);
				EXPECT_EQ(hf_region_end(&r, &fault), k * page);
				EXPECT_TRUE(is_file_to(bytes, k * page)) << k;
				EXPECT_EQ(fault.bad, k * page);
				EXPECT_EQ(fault.written, map.size);
				EXPECT_EQ(fault.error, 0);
			}
		}
	}
}

TEST_F(Region, AnyBaseAndLength)
{
	for (size_t from : { size_t(1), page - 1, page, page + 1, 2 * page + 8 }) {
		for (size_t len : { size_t(1), size_t(8), page - 9, page, page + 1, 3 * page }) {
			for (size_t k = 0; k <= 7; k++) {
				File file(7);
				Map map(file);
				size_t bad = k * page <= from         ? 0
					     : k * page >= from + len ? len
								      : k * page - from;

				ASSERT_EQ(hf_region_begin(&r, map.at + from, len), 0);
				file.cut(k * page);
				std::vector<char> bytes = read(map.at + from, len);
				EXPECT_EQ(hf_region_end(&r, nullptr), bad);
				EXPECT_TRUE(is_file_to(bytes, bad, from)) << from << " " << len;
				/* The pages around it are as they were. */
				if (k >= 1 && from >= page) {
					EXPECT_EQ(map.at[page - 1], content(page - 1));
				}
			}
		}
	}
}

TEST_F(Region, PartlyCoveredPagesBelongToTheRegion)
{
	for (size_t at : { page, 2 * page + 200 }) { // before its first byte; behind its last one
		File file(4);
		Map map(file);

		ASSERT_EQ(hf_region_begin(&r, map.at + page + 100, page), 0);
		file.cut(0);
		touch(map.at + at);
		touch(map.at + page + 100);
		EXPECT_EQ(hf_region_end(&r, nullptr), 0u);
	}
}

TEST_F(Region, OneFaultReplacesAllLostPages)
{
	File file(64);
	Map map(file);

	ASSERT_EQ(hf_region_begin(&r, map.at, map.size), 0);
	file.cut(page);
	touch(map.at + page);
	/* A page that were still the file's would fault, and with this that is fatal. */
	sigset_t both, before;

	sigemptyset(&both);
	sigaddset(&both, SIGBUS);
	pthread_sigmask(SIG_BLOCK, &both, &before);
	std::vector<char> bytes = read(map.at, map.size);
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
	EXPECT_TRUE(is_file_to(bytes, page));
	EXPECT_EQ(hf_region_end(&r, nullptr), page);
}

TEST_F(Region, ALowerLossKeepsWhatWasWrittenAboveIt)
{
	File file(8);
	Map map(file);

	ASSERT_EQ(hf_region_begin(&r, map.at, map.size), 0);
	file.cut(5 * page);
	write_to(map.at + 6 * page + 3, 'w');
	file.cut(2 * page);
	touch(map.at + 4 * page);
	EXPECT_EQ(map.at[6 * page + 3], 'w');
	touch(map.at + 2 * page);
	EXPECT_EQ(map.at[6 * page + 3], 'w');
	EXPECT_EQ(hf_region_end(&r, &fault), 2 * page);
	EXPECT_EQ(fault.written, 6 * page + 3);
}

TEST_F(Region, TheFirstWriteIsNoted)
{
	for (int flags : { MAP_SHARED, MAP_PRIVATE }) {
		File file(6);
		Map map(file, PROT_READ | PROT_WRITE, flags);

		ASSERT_EQ(hf_region_begin(&r, map.at, map.size), 0);
		write_to(map.at + page, 'a');
		file.cut(2 * page);
		touch(map.at + 4 * page);
		write_to(map.at + 5 * page + 1, 'b');
		write_to(map.at + 3 * page, 'c');
		write_to(map.at + 5 * page, 'd');
		EXPECT_EQ(map.at[5 * page + 1], 'b');
		EXPECT_EQ(map.at[3 * page], 'c');
		EXPECT_EQ(hf_region_end(&r, &fault), 3 * page); /* page 2 was not touched */
		EXPECT_EQ(fault.written, 5 * page + 1);
		EXPECT_EQ(map.at[page], 'a');
		/* Thrown away: the file has nothing of it. */
		file.cut(6 * page);
		char byte = 'x';
		ASSERT_EQ(pread(file.fd, &byte, 1, static_cast<off_t>(5 * page + 1)), 1);
		EXPECT_EQ(byte, 0);
	}
}

TEST_F(Region, WithoutAFileTheZerosStayAndCanBeWritten)
{
	File file(3);
	Map map(file);

	ASSERT_EQ(hf_region_begin(&r, map.at, map.size), 0);
	file.cut(page);
	touch(map.at + page);
	EXPECT_EQ(hf_region_end(&r, &fault), page);
	EXPECT_EQ(fault.written, map.size);
	file.fill(0, 3);
	EXPECT_EQ(map.at[page], 0);
	write_to(map.at + page, 'x');
	EXPECT_EQ(map.at[page], 'x');
}

TEST_F(Region, TheEndMapsTheFileAgain)
{
	File file(6);
	Map map(file);

	for (int round = 0; round < 3; round++) {
		ASSERT_EQ(map.begin_file(&r, 100), 0);
		file.cut(2 * page);
		std::vector<char> bytes = read(map.at, map.size);
		EXPECT_TRUE(is_file_to(bytes, 2 * page));
		write_to(map.at + 3 * page, 'x'); /* thrown away */
		EXPECT_EQ(hf_region_end(&r, &fault), 2 * page - 100);
		EXPECT_EQ(fault.written, 3 * page - 100);
		EXPECT_EQ(fault.error, 0);
		file.fill(2, 6);
		EXPECT_TRUE(is_file_to(read(map.at, map.size), map.size));
		/* Shared as before: what is written comes to the file. */
		write_to(map.at + 4 * page, 'y');
		char byte = 0;
		ASSERT_EQ(pread(file.fd, &byte, 1, static_cast<off_t>(4 * page)), 1);
		EXPECT_EQ(byte, 'y');
		write_to(map.at + 4 * page, content(4 * page));
	}
}

TEST_F(Region, MappedAgainPrivateAndReadOnlyAsItWas)
{
	EXPECT_EQ(in_child([&] {
			  File file(4);
			  Map map(file, PROT_READ | PROT_WRITE, MAP_PRIVATE);

			  MUST(map.begin_file(&r) == 0);
			  file.cut(page);
			  touch(map.at + page);
			  MUST(hf_region_end(&r, nullptr) == page);
			  file.fill(1, 4);
			  write_to(map.at + page, 'x');
			  char byte = 0;
			  MUST(pread(file.fd, &byte, 1, static_cast<off_t>(page)) == 1);
			  MUST(byte == content(page) && map.at[page] == 'x');
		  }),
		  0);
	EXPECT_EQ(in_child([&] {
			  File file(4);
			  Map map(file, PROT_READ, MAP_SHARED);

			  MUST(map.begin_file(&r) == 0);
			  file.cut(page);
			  touch(map.at + page);
			  MUST(hf_region_end(&r, nullptr) == page);
			  file.fill(1, 4);
			  MUST(is_file_to(read(map.at, map.size), map.size));
			  write_to(map.at + page, 'x');
		  }),
		  -SIGSEGV);
}

/* The flags that smaps shows for the mapping of an address. */
std::string flags_of(const char *address)
{
	std::ifstream maps("/proc/self/smaps");
	std::string line;
	unsigned long from, to, at = reinterpret_cast<unsigned long>(address);
	bool inside = false;

	while (std::getline(maps, line)) {
		if (sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2)
			inside = from <= at && at < to;
		else if (inside && line.rfind("VmFlags:", 0) == 0)
			return line + " ";
	}
	return "";
}

TEST_F(Region, MappedAgainLockedAndAdvisedAsThePagesBeside)
{
#ifdef HF_EMULATED
	GTEST_SKIP() << "/proc/self/smaps is the emulator's here";
#endif
	for (bool front : { true, false }) { // which page of the mapping is left
		File file(6);
		Map map(file, PROT_READ);
		size_t start = front ? 0 : 1, lost = front ? 2 : 1;

		ASSERT_EQ(madvise(map.at, map.size, MADV_DONTDUMP), 0);
		ASSERT_EQ(madvise(map.at, map.size, MADV_DONTFORK), 0);
		ASSERT_EQ(madvise(map.at, map.size, MADV_RANDOM), 0);
		ASSERT_EQ(mlock(map.at, map.size), 0);
		std::string before = flags_of(map.at);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // their mlock() does nothing
		ASSERT_NE(before.find(" lo "), std::string::npos) << before;
#endif
		ASSERT_EQ(hf_region_begin_file(&r, map.at + start * page, 4 * page, PROT_READ,
					       MAP_SHARED, file.fd, start * page),
			  0);
		file.cut(lost * page);
		touch(map.at + lost * page);
		EXPECT_EQ(flags_of(map.at + lost * page).find(" lo "), std::string::npos);
		if (!front) { // nothing of the mapping is left before the lost pages
			ASSERT_EQ(munmap(map.at, page), 0);
		}
		file.fill(lost, 6);
		EXPECT_EQ(hf_region_end(&r, &fault), (lost - start) * page);
		EXPECT_EQ(fault.error, 0);
		for (size_t at = start; at < start + 4; at++)
			EXPECT_EQ(flags_of(map.at + at * page), before) << at;
	}
}

TEST_F(Region, MappedAgainWhileTheFileIsShort)
{
	EXPECT_EQ(in_child([&] {
			  File file(4);
			  Map map(file);

			  MUST(map.begin_file(&r) == 0);
			  file.cut(2 * page);
			  touch(map.at + 3 * page);
			  MUST(hf_region_end(&r, nullptr) == 2 * page);
			  touch(map.at + page);
			  touch(map.at + 3 * page); /* no region is open */
		  }),
		  -SIGBUS);
}

TEST_F(Region, WithAFileTheFirstBadOffsetIsExact)
{
	for (size_t size : { size_t(0), size_t(1), page - 1, page + 17, 3 * page, 3 * page + 1,
			     4 * page - 1, 4 * page }) {
		File file(4);
		Map map(file);

		ASSERT_EQ(map.begin_file(&r), 0);
		file.cut(size);
		EXPECT_TRUE(is_file_to(read(map.at, map.size), size));
		EXPECT_EQ(hf_region_end(&r, nullptr), size);
	}
}

TEST_F(Region, AFileThatCannotBeMappedAgainIsReported)
{
	File file(2);
	Map map(file);
	int fd = dup(file.fd);

	ASSERT_EQ(hf_region_begin_file(&r, map.at, map.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				       0),
		  0);
	file.cut(0);
	touch(map.at);
	close(fd);
	errno = 77;
	EXPECT_EQ(hf_region_end(&r, &fault), 0u);
	EXPECT_EQ(errno, 77);
	EXPECT_EQ(fault.error, -EBADF);
	EXPECT_EQ(map.at[page], 0);
}

TEST_F(Region, BadArguments)
{
	File file(2);
	Map map(file);
	const int rw = PROT_READ | PROT_WRITE;

	EXPECT_EQ(hf_region_begin(&r, nullptr, 1), -EINVAL);
	EXPECT_EQ(hf_region_begin(&r, map.at, 0), -EINVAL);
	EXPECT_EQ(hf_region_begin(&r, map.at, SIZE_MAX), -EINVAL);
	EXPECT_EQ(hf_region_begin(&r, map.at, SIZE_MAX - reinterpret_cast<uintptr_t>(map.at)),
		  -EINVAL);
	EXPECT_EQ(hf_region_begin_process(&r, map.at, 0), -EINVAL);
	EXPECT_EQ(hf_region_call(
			  map.at, 0, [](void *) { abort(); }, nullptr, nullptr),
		  -EINVAL);
	EXPECT_EQ(hf_region_begin_file(&r, map.at, 0, rw, MAP_SHARED, file.fd, 0), -EINVAL);
	EXPECT_EQ(hf_region_begin_file(&r, map.at, page, rw, MAP_SHARED, -1, 0), -EBADF);
	EXPECT_EQ(hf_region_begin_file(&r, map.at, page, rw, 0, file.fd, 0), -EINVAL);
	EXPECT_EQ(
		hf_region_begin_file(&r, map.at, page, rw, MAP_SHARED | MAP_ANONYMOUS, file.fd, 0),
		-EINVAL);
	EXPECT_EQ(hf_region_begin_file(&r, map.at + 1, page, rw, MAP_SHARED, file.fd, 0), -EINVAL);
	EXPECT_EQ(hf_region_begin_file(&r, map.at, page, rw, MAP_SHARED, file.fd, 1), -EINVAL);
	EXPECT_EQ(hf_region_begin_file(&r, map.at, page, rw, MAP_SHARED, file.fd,
				       UINT64_MAX - page + 1),
		  -EINVAL);

	/* Ended twice, or by another thread. */
	ASSERT_EQ(hf_region_begin(&r, map.at, page), 0);
	std::thread([&] {
		EXPECT_EQ(hf_region_end(&r, &fault), 0u);
		EXPECT_EQ(fault.error, -EINVAL);
	}).join();
	EXPECT_EQ(hf_region_end(&r, &fault), page);
	EXPECT_EQ(fault.error, 0);
	EXPECT_EQ(hf_region_end(&r, &fault), 0u);
	EXPECT_EQ(fault.error, -EINVAL);
	EXPECT_EQ(hf_region_end(&r, nullptr), 0u);
}

TEST_F(Region, NestedAndInAnyOrder)
{
	File file(8);
	Map map(file);
	hf_region_t outer, inner, last;

	ASSERT_EQ(hf_region_begin(&outer, map.at, map.size), 0);
	ASSERT_EQ(hf_region_begin(&inner, map.at + 2 * page, 2 * page), 0);
	ASSERT_EQ(hf_region_begin(&last, map.at + 7 * page, page), 0);
	file.cut(3 * page);
	EXPECT_TRUE(is_file_to(read(map.at, map.size), 3 * page));
	EXPECT_EQ(hf_region_end(&outer, nullptr), 3 * page);
	EXPECT_EQ(hf_region_end(&last, nullptr), 0u);
	EXPECT_EQ(hf_region_end(&inner, nullptr), page);
}

TEST_F(Region, AnOpenRegionCannotBeBegunAgain)
{
	File file(3);
	Map map(file);
	hf_region_t first, second, whole;

	ASSERT_EQ(hf_region_begin(&first, map.at, page), 0);
	ASSERT_EQ(hf_region_begin(&second, map.at + page, page), 0);
	ASSERT_EQ(hf_region_begin_process(&whole, map.at, map.size), 0);
	for (hf_region_t *open : { &first, &second, &whole }) {
		EXPECT_EQ(hf_region_begin(open, map.at, page), -EBUSY);
		EXPECT_EQ(hf_region_begin_process(open, map.at, page), -EBUSY);
		EXPECT_EQ(
			hf_region_begin_file(open, map.at, page, PROT_READ, MAP_SHARED, file.fd, 0),
			-EBUSY);
	}
	file.cut(0);
	touch(map.at);
	EXPECT_EQ(hf_region_end(&first, nullptr), 0u);
	EXPECT_EQ(hf_region_begin(&first, map.at + 2 * page, page), 0);
	EXPECT_EQ(hf_region_end(&first, nullptr), page);
	EXPECT_EQ(hf_region_end(&second, nullptr), page);
	EXPECT_EQ(hf_region_end(&whole, nullptr), 0u);
}

// By a misuse that can't be refused: the handler still returns, and the fault kills.
TEST_F(Region, ASignalIsPassedOnWhereAListHasBecomeACircle)
{
	EXPECT_EQ(in_child([&] {
			  File file(2), other(1);
			  Map map(file), foreign(other);
			  hf_region_t first, second;

			  MUST(hf_region_begin(&first, map.at, page) == 0);
			  MUST(hf_region_begin(&second, map.at, page) == 0);
			  hf_atomic64_store_relaxed(&first.below, (uintptr_t)&second);
			  other.cut(0);
			  touch(foreign.at);
		  }),
		  -SIGBUS);
}

TEST_F(Region, AnEndedRegionServesNoFault)
{
	EXPECT_EQ(in_child([&] {
			  File file(4);
			  Map map(file);
			  hf_region_t first, second;

			  MUST(hf_region_begin(&first, map.at, 2 * page) == 0);
			  MUST(hf_region_begin(&second, map.at + 2 * page, 2 * page) == 0);
			  MUST(hf_region_end(&first, nullptr) == 2 * page);
			  file.cut(0);
			  touch(map.at + 2 * page);
			  MUST(hf_region_end(&second, nullptr) == 0);
			  touch(map.at);
		  }),
		  -SIGBUS);
}

TEST_F(Region, TwoMappingsOfOneFile)
{
	File file(4);
	Map one(file, PROT_READ), two(file, PROT_READ, MAP_PRIVATE);
	hf_region_t first, second;

	ASSERT_EQ(hf_region_begin(&first, one.at, one.size), 0);
	ASSERT_EQ(hf_region_begin(&second, two.at, two.size), 0);
	file.cut(page);
	EXPECT_TRUE(is_file_to(read(one.at, one.size), page));
	/* The other mapping has lost it too, but nobody has missed it there. */
	EXPECT_EQ(hf_region_end(&first, nullptr), page);
	EXPECT_EQ(two.at[0], content(0));
	EXPECT_EQ(hf_region_end(&second, nullptr), two.size);
}

TEST_F(Region, AHundredRegions)
{
	const size_t n = 100;
	File file(n);
	Map map(file);
	std::vector<hf_region_t> r(n);

	for (size_t i = 0; i < n; i++)
		ASSERT_EQ(hf_region_begin(&r[i], map.at + i * page, page), 0);
	file.cut(30 * page);
	EXPECT_TRUE(is_file_to(read(map.at, map.size), 30 * page));
	for (size_t i = 0; i < n; i++) {
		size_t at = i * 37 % n;

		EXPECT_EQ(hf_region_end(&r[at], nullptr), at < 30 ? page : 0);
	}
}

TEST_F(Region, Process)
{
	File file(8);
	Map map(file);
	hf_region_t whole, part;

	ASSERT_EQ(hf_region_begin_process(&whole, map.at, map.size), 0);
	ASSERT_EQ(hf_region_begin_process(&part, map.at + 6 * page, 2 * page), 0);
	file.cut(3 * page);
	std::vector<std::thread> threads;
	for (int t = 0; t < 4; t++) {
		threads.emplace_back(
			[&] { EXPECT_TRUE(is_file_to(read(map.at, map.size), 3 * page)); });
	}
	for (std::thread &thread : threads)
		thread.join();
	std::thread([&] { EXPECT_EQ(hf_region_end(&whole, nullptr), 3 * page); }).join();
	EXPECT_EQ(hf_region_end(&part, nullptr), 0u);
}

TEST_F(Region, ALossFoundByAnotherThreadIsReported)
{
	File file(8);
	Map map(file);
	hf_region_t before, after, beside;

	ASSERT_EQ(hf_region_begin(&before, map.at + 2 * page, 4 * page), 0);
	ASSERT_EQ(hf_region_begin(&beside, map.at, 2 * page), 0);
	file.cut(3 * page);
	std::atomic<int> step{ 0 };
	std::thread other([&] {
		hf_region_t own;

		EXPECT_EQ(hf_region_begin(&own, map.at, map.size), 0);
		touch(map.at + 3 * page);
		step = 1;
		while (step != 2)
			std::this_thread::yield();
		EXPECT_EQ(hf_region_end(&own, nullptr), 3 * page);
	});
	while (step != 1)
		std::this_thread::yield();
	/* Begun when the zeros are there already. */
	ASSERT_EQ(hf_region_begin(&after, map.at + 4 * page, 2 * page), 0);
	EXPECT_EQ(map.at[3 * page], 0);
	EXPECT_EQ(map.at[5 * page], 0);
	EXPECT_EQ(hf_region_end(&before, nullptr), page);
	EXPECT_EQ(hf_region_end(&beside, nullptr), 2 * page);
	step = 2;
	other.join();
	EXPECT_EQ(hf_region_end(&after, nullptr), 0u);
	/* All are closed: a range that was mapped anew since is good again. */
	ASSERT_NE(mmap(map.at, map.size, PROT_READ, MAP_SHARED | MAP_FIXED, file.fd, 0),
		  MAP_FAILED);
	ASSERT_EQ(hf_region_begin(&after, map.at, map.size), 0);
	EXPECT_EQ(hf_region_end(&after, nullptr), map.size);
}

TEST_F(Region, AWriteByAnotherThreadIsReported)
{
	File file(8);
	Map map(file);
	hf_region_t own;

	ASSERT_EQ(hf_region_begin(&own, map.at + 4 * page, 4 * page), 0);
	file.cut(2 * page);
	std::thread([&] {
		hf_region_t r;

		EXPECT_EQ(hf_region_begin(&r, map.at, map.size), 0);
		write_to(map.at + 2 * page, 'x');
		EXPECT_EQ(hf_region_end(&r, &fault), 2 * page);
		EXPECT_EQ(fault.written, 2 * page);
	}).join();
	write_to(map.at + 6 * page, 'x'); /* no fault: nobody sees it */
	EXPECT_EQ(hf_region_end(&own, &fault), 0u);
	EXPECT_EQ(fault.written, 0u);
}

/* ---- what kills ----------------------------------------------------------------------------- */

TEST_F(Region, ForeignBugsStillKill)
{
	/* Each: the mapping has 8 pages, a region from page 2 to 6, and the file 4. */
	auto with_region = [&](int prot, const std::function<void(char *)> &bug) {
		return in_child([&] {
			File file(8);
			Map map(file, prot);

			MUST(hf_region_begin(&r, map.at + 2 * page, 4 * page) == 0);
			file.cut(4 * page);
			touch(map.at + 4 * page);
			bug(map.at);
			MUST(false);
		});
	};
	const int rw = PROT_READ | PROT_WRITE;

	EXPECT_EQ(with_region(rw, [](char *at) { touch(at + 6 * page); }), -SIGBUS) << "behind it";
	EXPECT_EQ(with_region(rw,
			      [](char *at) {
				      mprotect(at + page, page, PROT_NONE);
				      touch(at + 2 * page - 1);
			      }),
		  -SIGSEGV)
		<< "in front of it";
	EXPECT_EQ(with_region(rw,
			      [](char *at) {
				      mprotect(at + 2 * page, page, PROT_NONE);
				      touch(at + 2 * page);
			      }),
		  -SIGSEGV)
		<< "no permission inside of it";
	EXPECT_EQ(with_region(rw,
			      [](char *at) {
				      mprotect(at + 2 * page, page, PROT_READ);
				      write_to(at + 3 * page - 1, 'x');
			      }),
		  -SIGSEGV)
		<< "a write to a page that is only read, inside of it";
	EXPECT_EQ(with_region(PROT_READ, [](char *at) { write_to(at + 2 * page, 'x'); }), -SIGSEGV)
		<< "a write to a mapping that is only read";
	EXPECT_EQ(with_region(rw,
			      [](char *at) {
				      munmap(at + 5 * page, page);
				      touch(at + 5 * page);
			      }),
		  -SIGSEGV)
		<< "unmapped inside of it";
	EXPECT_EQ(with_region(rw,
			      [](char *at) { std::thread([&] { touch(at + 7 * page); }).join(); }),
		  -SIGBUS)
		<< "by a thread that has no region";
	EXPECT_EQ(with_region(rw, [](char *) { raise(SIGBUS); }), -SIGBUS) << "sent";
	EXPECT_EQ(with_region(rw, [](char *) { abort(); }), -SIGABRT);
}

TEST_F(Region, AWriteIntoTheLostPartOfAReadOnlyMappingKills)
{
#ifdef HF_EMULATED
	GTEST_SKIP() << "qemu-user does not tell whether a mapping can be written";
#endif
	File probe(1);
	Map known(probe);
	if (madvise(known.at, page, 23) != 0)
		GTEST_SKIP() << "this kernel has no MADV_POPULATE_WRITE, by which it is known";
	EXPECT_EQ(in_child([&] {
			  File file(4);
			  Map map(file, PROT_READ);

			  MUST(hf_region_begin(&r, map.at, map.size) == 0);
			  file.cut(page);
			  touch(map.at + page);
			  write_to(map.at + page, 'x');
		  }),
		  -SIGSEGV);
}

TEST_F(Region, AWriteIntoTheLostPartOfAReadOnlyFileKills)
{
	EXPECT_EQ(in_child([&] {
			  File file(4);
			  Map map(file, PROT_READ);

			  MUST(map.begin_file(&r) == 0);
			  file.cut(page);
			  touch(map.at + page);
			  write_to(map.at + page, 'x');
		  }),
		  -SIGSEGV);
}

#if HF_ARCH_HAS_SITES
TEST_F(Region, AnInstructionFromALostPageKills)
{
	EXPECT_LT(in_child([&] {
			  File file(2);
			  Map map(file, PROT_READ | PROT_WRITE | PROT_EXEC);
			  void (*function)();

			  MUST(hf_region_begin(&r, map.at, map.size) == 0);
			  file.cut(0);
			  void *at = map.at + page;
			  memcpy(&function, &at, sizeof(function));
			  function();
		  }),
		  0);
}
#endif

/* ---- beside the other verbs ------------------------------------------------------------------ */

TEST_F(Region, AnOperationThatRecoversByItselfIsExact)
{
	File file(4);
	Map map(file);
	std::vector<char> bytes(map.size);

	ASSERT_EQ(hf_region_begin(&r, map.at, map.size), 0);
	file.cut(page);
	EXPECT_EQ(hf_copy_nofault(bytes.data(), map.at + 10, 2 * page), page + 10);
	EXPECT_EQ(hf_region_end(&r, nullptr), map.size);
}

TEST_F(Region, AHandlerOfTheProgramsOwn)
{
	EXPECT_EQ(in_child([&] {
			  struct sigaction action;

			  memset(&action, 0, sizeof(action));
			  action.sa_flags = SA_SIGINFO;
			  action.sa_sigaction = [](int signal, siginfo_t *info, void *context) {
				  if (!hf_nofault_handle(signal, info, context))
					  _exit(9);
			  };
			  MUST(hf_nofault_remove() == 0);
			  MUST(sigaction(SIGBUS, &action, nullptr) == 0);
			  MUST(sigaction(SIGSEGV, &action, nullptr) == 0);
			  File file(4);
			  Map map(file);

			  MUST(hf_region_begin(&r, map.at, map.size) == 0);
			  file.cut(page);
			  errno = 77;
			  write_to(map.at + 2 * page, 'x');
			  MUST(errno == 77);
			  MUST(hf_region_end(&r, &fault) == 2 * page && fault.written == 2 * page);
		  }),
		  0);
}

TEST_F(Region, AChildKeepsItsThreadsRegions)
{
	File file(4);
	Map map(file);
	hf_region_t own, of_all;
	std::atomic<int> step{ 0 };

	/* Another thread's region is not in the child, and its memory is not looked at there. */
	std::thread other([&] {
		hf_region_t r;

		EXPECT_EQ(hf_region_begin(&r, map.at, map.size), 0);
		step = 1;
		while (step != 2)
			std::this_thread::yield();
		EXPECT_EQ(hf_region_end(&r, nullptr), map.size);
	});
	while (step != 1)
		std::this_thread::yield();
	ASSERT_EQ(hf_region_begin(&own, map.at, 2 * page), 0);
	ASSERT_EQ(hf_region_begin_process(&of_all, map.at + 2 * page, 2 * page), 0);
	EXPECT_EQ(in_child([&] {
			  hf_region_t more;

			  MUST(hf_region_begin(&more, map.at, page) == 0);
			  file.cut(page);
			  touch(map.at + page);
			  touch(map.at + 3 * page);
			  MUST(hf_region_end(&more, nullptr) == page);
			  MUST(hf_region_end(&own, nullptr) == page);
			  MUST(hf_region_end(&of_all, nullptr) == page);
			  MUST(hf_region_begin(&more, map.at + page, page) == 0);
			  MUST(hf_region_end(&more, nullptr) == page);
		  }),
		  0);
	file.fill(0, 4);
	/* The child's zeros are its own. */
	EXPECT_TRUE(is_file_to(read(map.at, map.size), map.size));
	EXPECT_EQ(hf_region_end(&own, nullptr), 2 * page);
	EXPECT_EQ(hf_region_end(&of_all, nullptr), 2 * page);
	step = 2;
	other.join();
}

/* ---- a function that is left ----------------------------------------------------------------- */

struct Work {
	const Map *map;
	const File *file;
	size_t cut_at;
	std::vector<char> bytes;
	volatile bool finished;
	hf_region_t left_open[3];
};

TEST_F(Region, CallReturnsIfNothingIsLost)
{
	File file(4);
	Map map(file);
	Work work = {};

	work.map = &map;
	EXPECT_EQ(hf_region_call(
			  map.at, map.size,
			  [](void *arg) {
				  Work *w = static_cast<Work *>(arg);

				  w->bytes = read(w->map->at, w->map->size);
			  },
			  &work, &fault),
		  0);
	EXPECT_TRUE(is_file_to(work.bytes, map.size));
	EXPECT_EQ(fault.bad, map.size);
}

void cut_and_touch(void *arg)
{
	Work *w = static_cast<Work *>(arg);

	w->file->cut(w->cut_at * page);
	for (size_t at = 0; at < w->map->size; at += page)
		touch(w->map->at + at);
	w->finished = true;
}

TEST_F(Region, CallReturnsEarlyAndTheMappingStays)
{
	for (size_t k = 0; k < 5; k++) {
		File file(5);
		Map map(file);
		Work work = {};
		sigset_t before, after;

		work.map = &map;
		work.file = &file;
		work.cut_at = k;
		pthread_sigmask(SIG_BLOCK, nullptr, &before);
		EXPECT_EQ(hf_region_call(map.at, map.size, cut_and_touch, &work, &fault), -EFAULT);
		pthread_sigmask(SIG_BLOCK, nullptr, &after);
		for (int signal : { SIGSEGV, SIGBUS, SIGUSR1, SIGTERM })
			EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
		EXPECT_FALSE(work.finished);
		EXPECT_EQ(fault.bad, k * page);
		file.fill(0, 5);
		EXPECT_TRUE(is_file_to(read(map.at, map.size), map.size))
			<< "not a page was replaced";
	}
}

/* What the handler has entered it has left when it jumps: else the next save of what others set waits for ever. */
TEST_F(Region, TheHandlerCanBeInstalledAgainAfterAJump)
{
	EXPECT_EQ(in_child([&] {
			  File file(5);
			  Map map(file);
			  Work work = {};

			  work.map = &map;
			  work.file = &file;
			  MUST(hf_region_call(map.at, map.size, cut_and_touch, &work, nullptr) ==
			       -EFAULT);
			  signal(SIGBUS, SIG_DFL);
			  MUST(hf_nofault_install() == 0);
			  file.fill(0, 5);
			  MUST(hf_region_call(map.at, map.size, cut_and_touch, &work, nullptr) ==
			       -EFAULT);
		  }),
		  0);
}

TEST_F(Region, CallClosesWhatItsFunctionLeavesOpen)
{
	EXPECT_EQ(in_child([&] {
			  File file(5);
			  Map map(file), other(file);
			  hf_region_t outer;
			  Work work = {};

			  work.map = &map;
			  work.file = &file;
			  work.cut_at = 2;
			  MUST(hf_region_begin(&outer, other.at, page) == 0);
			  auto function = [](void *arg) {
				  Work *w = static_cast<Work *>(arg);

				  for (hf_region_t &r : w->left_open)
					  MUST(hf_region_begin(&r, w->map->at, page) == 0);
				  int error = hf_region_call(w->map->at, 2 * page, cut_and_touch, w,
							     nullptr);
				  /* The inner call has only two pages, and they are there. */
				  MUST(error == 77);
			  };
			  MUST(hf_region_call(map.at, map.size, function, &work, nullptr) ==
			       -EFAULT);
			  for (hf_region_t &r : work.left_open) {
				  MUST(hf_region_end(&r, &fault) == 0 && fault.error == -EINVAL);
			  }
			  memset(static_cast<void *>(work.left_open), 0xff, sizeof(work.left_open));
			  file.cut(0);
			  touch(other.at);
			  MUST(hf_region_end(&outer, nullptr) == 0);
		  }),
		  0);
}

TEST_F(Region, CallReportsAPageThatAnotherRegionReplaced)
{
	File file(4);
	Map map(file);
	Work work = {};

	work.map = &map;
	work.file = &file;
	EXPECT_EQ(hf_region_call(
			  map.at, map.size,
			  [](void *arg) {
				  Work *w = static_cast<Work *>(arg);

				  w->file->cut(page);
				  std::thread([w] {
					  hf_region_t r;

					  EXPECT_EQ(hf_region_begin(&r, w->map->at, w->map->size),
						    0);
					  touch(w->map->at + 2 * page);
					  EXPECT_EQ(hf_region_end(&r, nullptr), 2 * page);
				  }).join();
				  touch(w->map->at + 3 * page);
				  w->finished = true;
			  },
			  &work, &fault),
		  -EFAULT);
	EXPECT_TRUE(work.finished);
	EXPECT_EQ(fault.bad, 2 * page);
}

/* ---- many threads ---------------------------------------------------------------------------- */

TEST_F(Region, RegionsComeAndGoWhileOthersFault)
{
	/* Each thread cuts and fills a file of its own, whose mapping the others guard and read too. */
	const int threads = 4, rounds = 150;
	const size_t pages = 4;
	std::vector<std::unique_ptr<File>> files;
	std::vector<std::unique_ptr<Map>> maps;
	std::vector<std::thread> running;
	std::atomic<int> wrong{ 0 };

	for (int t = 0; t < threads; t++) {
		files.push_back(std::make_unique<File>(pages));
		maps.push_back(std::make_unique<Map>(*files.back(), PROT_READ));
	}
	for (int t = 0; t < threads; t++) {
		running.emplace_back([&, t] {
			for (int i = 0; i < rounds; i++) {
				size_t cut = static_cast<size_t>(i + t) % pages;
				int n = i % 3 == 0 ? t : (t + i) % threads;
				const File &file = *files[static_cast<size_t>(n)];
				const Map &map = *maps[static_cast<size_t>(n)];
				hf_region_t whole, part;

				if (map.begin_file(&whole) ||
				    hf_region_begin(&part, map.at + page, page))
					abort();
				if (n == t && i % 3 == 0)
					file.cut(cut * page);
				std::vector<char> bytes = read(map.at, map.size);
				size_t bad_part = hf_region_end(&part, nullptr);
				size_t bad = hf_region_end(&whole, nullptr);

				/* What is said to be there is the file. */
				for (size_t at = 0; at < bad; at++)
					wrong += bytes[at] != content(at);
				for (size_t at = 0; at < bad_part; at++)
					wrong += bytes[page + at] != content(page + at);
				if (n == t && i % 3 == 0)
					file.fill(cut, pages);
			}
		});
	}
	for (std::thread &thread : running)
		thread.join();
	EXPECT_EQ(wrong, 0);
}

TEST_F(Region, FirstWritesOfManyThreads)
{
	for (int round = 0; round < 20; round++) {
		File file(8);
		Map map(file);
		std::vector<std::thread> threads;
		std::atomic<int> ready{ 0 };

		file.cut(page);
		for (size_t t = 0; t < 4; t++) {
			threads.emplace_back([&, t] {
				hf_region_t r;
				hf_region_fault fault;

				if (hf_region_begin(&r, map.at, map.size))
					abort();
				ready++;
				while (ready < 4)
					std::this_thread::yield();
				for (size_t at = 1; at < 8; at++)
					write_to(map.at + at * page + t, 'x');
				EXPECT_EQ(hf_region_end(&r, &fault), page);
				EXPECT_LT(fault.written, map.size);
			});
		}
		for (std::thread &thread : threads)
			thread.join();
	}
}

/* ---- large pages ----------------------------------------------------------------------------- */

TEST_F(Region, HugePagesOfTheirOwnFileSystem)
{
	const size_t huge = 2 << 20;
	int fd = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB);
	if (fd < 0)
		GTEST_SKIP() << "no huge pages: " << strerror(errno);
	ASSERT_EQ(ftruncate(fd, 2 * huge), 0);
	char *at = static_cast<char *>(
		mmap(nullptr, 2 * huge, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	if (at == MAP_FAILED) {
		int error = errno;

		close(fd);
		GTEST_SKIP() << "no huge pages: " << strerror(error);
	}

	memset(at, 'x', 2 * huge);
	for (int round = 0; round < 2; round++) {
		ASSERT_EQ(hf_region_begin_file(&r, at, 2 * huge, PROT_READ | PROT_WRITE, MAP_SHARED,
					       fd, 0),
			  0);
		ASSERT_EQ(ftruncate(fd, huge), 0);
		EXPECT_EQ(at[huge - 1], 'x');
		EXPECT_EQ(at[2 * huge - 5], 0);
		write_to(at + huge + 5, 'y');
		EXPECT_EQ(hf_region_end(&r, &fault), huge);
		EXPECT_EQ(fault.error, 0);
		EXPECT_EQ(fault.written, huge + 5);
		ASSERT_EQ(ftruncate(fd, 2 * huge), 0);
		write_to(at + 2 * huge - 1, 'z');
	}
	munmap(at, 2 * huge);
	close(fd);
}

TEST_F(Region, TransparentHugePages)
{
	const size_t huge = 2 << 20;
	File file(2 * huge / page);
	char *room = static_cast<char *>(
		mmap(nullptr, 3 * huge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	char *at = room + (huge - reinterpret_cast<uintptr_t>(room) % huge);

	ASSERT_NE(mmap(at, 2 * huge, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file.fd, 0),
		  MAP_FAILED);
	if (madvise(at, 2 * huge, 25 /* MADV_COLLAPSE */)) {
		int error = errno;

		munmap(room, 3 * huge);
		GTEST_SKIP() << "no transparent huge page could be had: " << strerror(error);
	}
	for (size_t size : { huge + 3 * page, huge, 5 * page }) {
		ASSERT_EQ(hf_region_begin(&r, at, 2 * huge), 0);
		file.cut(size);
		EXPECT_TRUE(is_file_to(read(at, 2 * huge), size));
		EXPECT_EQ(hf_region_end(&r, nullptr), size);
	}
	munmap(room, 3 * huge);
}

/* ---- a loss ends ------------------------------------------------------------------------------- */

TEST_F(Region, AHealedLossIsNotInherited)
{
	File file(8);
	Map map(file);
	hf_region_t healer, other, early, late;

	ASSERT_EQ(map.begin_file(&healer), 0);
	ASSERT_EQ(hf_region_begin_process(&other, map.at, map.size), 0);
	file.cut(4 * page);
	touch(map.at + 6 * page);
	ASSERT_EQ(hf_region_begin(&early, map.at, map.size), 0); // there are zeros
	file.fill(4, 8);
	EXPECT_EQ(hf_region_end(&healer, nullptr), 6 * page);
	ASSERT_EQ(hf_region_begin(&late, map.at, map.size), 0);
	EXPECT_TRUE(is_file_to(read(map.at, map.size), map.size));
	EXPECT_EQ(hf_region_end(&late, nullptr), map.size);
	EXPECT_EQ(hf_region_end(&early, nullptr), 6 * page);
	EXPECT_EQ(hf_region_end(&other, nullptr), 6 * page);
}

// Of a part: what the healer had is whole again for those that begin, and the rest is not.
TEST_F(Region, APartlyHealedLoss)
{
	File file(9);
	Map map(file);
	hf_region_t all, part, late;
	const size_t from[] = { 0, 3, 6 };

	for (size_t healed : from) {
		ASSERT_EQ(hf_region_begin_process(&all, map.at, map.size), 0);
		ASSERT_EQ(hf_region_begin_file(&part, map.at + healed * page, 3 * page, PROT_READ,
					       MAP_SHARED, file.fd, healed * page),
			  0);
		file.cut(0);
		touch(map.at + healed * page); // the part's
		if (healed != 0)
			touch(map.at); // and all in front of it
		else
			touch(map.at + 3 * page);
		file.fill(0, 9);
		EXPECT_EQ(hf_region_end(&part, nullptr), 0u);
		for (size_t at : from) {
			bool zeros = at < healed || (healed == 0 && at > 0);

			ASSERT_EQ(hf_region_begin(&late, map.at + at * page, 3 * page), 0);
			EXPECT_EQ(read(map.at + at * page, 1)[0] == 0, zeros) << healed << at;
			EXPECT_EQ(hf_region_end(&late, nullptr), zeros ? 0 : 3 * page)
				<< healed << at;
		}
		EXPECT_EQ(hf_region_end(&all, nullptr), 0u);
		ASSERT_NE(mmap(map.at, map.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			       file.fd, 0),
			  MAP_FAILED);
	}
}

// The program has mapped it again by itself: what only took the loss over does not keep it alive.
TEST_F(Region, AnInheritedLossIsNotInheritedAgain)
{
	File file(2);
	Map map(file);
	hf_region_t first, second, third;

	ASSERT_EQ(hf_region_begin(&first, map.at, map.size), 0);
	file.cut(page);
	touch(map.at + page);
	ASSERT_EQ(hf_region_begin(&second, map.at, map.size), 0);
	EXPECT_EQ(hf_region_end(&first, nullptr), page);
	file.fill(0, 2);
	ASSERT_NE(mmap(map.at, map.size, PROT_READ, MAP_SHARED | MAP_FIXED, file.fd, 0),
		  MAP_FAILED);
	ASSERT_EQ(hf_region_begin(&third, map.at, map.size), 0);
	EXPECT_EQ(hf_region_end(&second, nullptr), page);
	EXPECT_TRUE(is_file_to(read(map.at, map.size), map.size));
	EXPECT_EQ(hf_region_end(&third, nullptr), map.size);
}

// One truncation, healed at once; threads that work back to back, each with a region a time.
TEST_F(Region, ThreadsSeeNoLossAfterItWasHealed)
{
	File file(64);
	Map map(file, PROT_READ);
	std::atomic<int> phase{ 0 };
	std::atomic<unsigned int> after{ 0 }, lost_after{ 0 }, lost{ 0 };
	std::vector<std::thread> threads;

	for (int i = 0; i < 4; i++) {
		threads.emplace_back([&] {
			while (phase < 3) {
				int when = phase;
				hf_region_t r;

				if (map.begin_file(&r))
					abort();
				for (size_t at = 0; at < map.size; at += 512)
					touch(map.at + at);
				bool whole = hf_region_end(&r, nullptr) == map.size;
				lost += !whole;
				after += when == 2;
				lost_after += when == 2 && !whole;
			}
		});
	}
	file.cut(32 * page);
	phase = 1;
	while (lost < 20)
		sched_yield();
	file.fill(32, 64);
	// All that are open now have ended.
	for (int i = 0; i < 200; i++)
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	phase = 2;
	while (after < 2000)
		sched_yield();
	phase = 3;
	for (std::thread &thread : threads)
		thread.join();
	EXPECT_EQ(lost_after, 0u);
}

// The code under the region unmaps its file, and something else is mapped there: that stays.
TEST_F(Region, TheEndDoesNotReplaceAnotherMapping)
{
	for (int kind = 0; kind < 4;
	     kind++) { // writable, a guard page, a hole, writable after a write
		File file(8);
		Map map(file);

		ASSERT_EQ(map.begin_file(&r), 0);
		file.cut(4 * page);
		touch(map.at + 5 * page);
		if (kind == 3)
			write_to(map.at + 5 * page, 1);
		munmap(map.at, map.size);
		if (kind != 2) {
			ASSERT_EQ(mmap(map.at, map.size, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
				  map.at);
			memset(map.at, 'Q', map.size);
			ASSERT_EQ(mprotect(map.at, map.size,
					   kind == 1 ? PROT_NONE : PROT_READ | PROT_WRITE),
				  0);
		}
		EXPECT_EQ(hf_region_end(&r, &fault), 4 * page);
		EXPECT_EQ(fault.error, -EEXIST) << kind;
		EXPECT_TRUE(kind == 1 || kind == 2 || map.at[6 * page] == 'Q');
	}
}

// Nobody has called hf_nofault_install(): the first begin does.
TEST_F(Region, BeginInstallsTheHandlerIfNobodyHas)
{
	const char *wanted = "HF_TESTS_REGION_FORGOTTEN";

	if (!getenv(wanted)) {
		pid_t child = fork();
		int status = 0;

		if (child == 0) {
			setenv(wanted, "1", 1);
			execl("/proc/self/exe", "unit_tests", "--gtest_filter=RegionAlone.*",
			      nullptr);
			_exit(9);
		}
		ASSERT_EQ(waitpid(child, &status, 0), child);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 9)
			GTEST_SKIP() << "an emulated program can't start itself";
		EXPECT_EQ(status, 0);
	}
}

TEST(RegionAlone, Forgotten)
{
	if (!getenv("HF_TESTS_REGION_FORGOTTEN"))
		return;
	File file(2);
	Map map(file);
	hf_region_t r;

	EXPECT_FALSE(hf_nofault_owned());
	ASSERT_EQ(hf_region_begin(&r, map.at, map.size), 0);
	EXPECT_TRUE(hf_nofault_owned());
	file.cut(page);
	touch(map.at + page);
	EXPECT_EQ(hf_region_end(&r, nullptr), page);
	EXPECT_EQ(hf_nofault_remove(), 0);
	ASSERT_EQ(hf_region_begin(&r, map.at, map.size), 0);
	EXPECT_FALSE(hf_nofault_owned()); // it was taken away on purpose
	EXPECT_EQ(hf_region_end(&r, nullptr), map.size);
}

// In C it is a macro.
TEST_F(Region, GuardsOfABlock)
{
	File file(2);
	Map map(file);
	hf_region_t r, other;
	int error = 1, refused = 1;

	{
		HF_REGION_GUARD(&r, map.at, map.size, error);
		EXPECT_EQ(error, 0);
		{
			HF_REGION_GUARD(&r, map.at, map.size, refused);
			EXPECT_EQ(refused, -EBUSY);
		}
		file.cut(page);
		touch(map.at + page); // the one that was refused has ended nothing
		EXPECT_EQ(hf_region_begin(&r, map.at, page), -EBUSY);
	}
	EXPECT_EQ(hf_region_begin(&r, map.at, page), 0);
	EXPECT_EQ(hf_region_end(&r, nullptr), page);
	{
		hf::process_region guard(map.at, map.size);

		EXPECT_EQ(guard.error(), 0);
		file.cut(0);
		std::thread([&] { touch(map.at); }).join();
		EXPECT_EQ(hf_region_begin(&other, map.at + page, page), 0);
		EXPECT_EQ(hf_region_end(&other, nullptr), 0u);
		EXPECT_EQ(guard.end(), 0u);
	}
}

/* ---- C++ --------------------------------------------------------------------------------------- */

TEST_F(Region, Guard)
{
	File file(4);
	Map map(file);

	{
		hf::region guard(map.at, map.size);

		ASSERT_EQ(guard.error(), 0);
		file.cut(page);
		touch(map.at + page);
		EXPECT_EQ(guard.end(&fault), page);
		EXPECT_EQ(guard.end(&fault), 0u);
		EXPECT_EQ(fault.error, -EINVAL);
	}
	{
		hf::region guard(map.at, 0);

		EXPECT_EQ(guard.error(), -EINVAL);
		EXPECT_EQ(guard.end(), 0u);
	}
	EXPECT_EQ(in_child([&] {
			  File short_file(2);
			  Map mapped(short_file);

			  {
				  hf::region guard(mapped.at, mapped.size, PROT_READ | PROT_WRITE,
						   MAP_SHARED, short_file.fd, 0);

				  short_file.cut(0);
				  touch(mapped.at);
			  }
			  touch(mapped.at); /* it has ended, and the file is mapped again */
		  }),
		  -SIGBUS);
}

} // namespace
