// SPDX-License-Identifier: MIT
// region: mappings that lose pages. Tests that end by a signal run in a child process.
#include "unit.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include <cfenv>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

#include "filter.h"
#include "region_map.h"

namespace
{
using unit::Map, unit::page, unit::RW, unit::content, unit::touch, unit::write_to;

/* Third-party code: memcpy through a volatile pointer, so that the compiler can't inline it. */
void *(*volatile copy)(void *, const void *, size_t) = memcpy;

std::vector<char> read(const char *at, size_t len)
{
	std::vector<char> bytes(len);

	copy(bytes.data(), at, len);
	return bytes;
}

std::vector<char> read(const Map &map)
{
	return read(map.at, map.size);
}

/* Are these bytes, from offset @at of the file, the file's up to @bad and zeros from there on? */
bool is_file_to(const std::vector<char> &bytes, size_t bad, size_t at = 0)
{
	for (size_t i = 0; i < bytes.size(); i++) {
		if (bytes[i] != (i < bad ? content(at + i) : 0))
			return false;
	}
	return true;
}

int in_child(const std::function<void()> &body)
{
	return unit::in_child([&] {
		MUST(hf_nofault_remove() == 0);
		signal(SIGSEGV, SIG_DFL); // removes a sanitizer's handler
		signal(SIGBUS, SIG_DFL);
		MUST(hf_nofault_install() == 0);
		body();
	});
}

hf_region_t r;
hf_region_fault fault;

using Region = unit::RegionTest;

/* How the kernel tells what is mapped at an address. */
enum class Known { by_query, by_lines, not_at_all };

void restrict_to(Known known)
{
	if (known == Known::by_lines) /* PROCMAP_QUERY */
		unit::filter({ unit::load_number(),
			       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
			       unit::load_argument(1),
			       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
					_IOC(_IOC_READ | _IOC_WRITE, 'f', 17, 104), 0, 1),
			       unit::result(SECCOMP_RET_ERRNO | ENOTTY),
			       unit::result(SECCOMP_RET_ALLOW) });
	if (known == Known::not_at_all)
		unit::refuse({ SYS_openat }, EMFILE);
}

/* Runs @body in a child for each way, and returns how the last one ended that ended wrong. */
int in_children(const std::function<void(Known)> &body, int wanted = 0)
{
	int wrong = wanted;

	for (Known known : { Known::by_query, Known::by_lines, Known::not_at_all }) {
#ifdef HF_EMULATED
		if (known != Known::by_query)
			continue; // there are no filters
#endif
		int ended = in_child([&] {
			restrict_to(known);
			body(known);
		});

		if (ended != wanted)
			wrong = ended;
	}
	return wrong;
}

/* Memory of others, at this place. */
char *put_memory(char *at, size_t len, int prot = RW)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	char *memory = static_cast<char *>(mmap(at, len, RW, flags, -1, 0));

	MUST(memory == at);
	memset(memory, 'm', len);
	MUST(mprotect(memory, len, prot) == 0);
	return memory;
}

/* ---- scripts -------------------------------------------------------------------------------- */

/* Runs functions in another thread, one at a time, and waits for each. */
class Other {
public:
	~Other()
	{
		next_ = nullptr;
		step_++;
		thread_.join();
	}
	void run(std::function<void()> f)
	{
		next_ = std::move(f);
		int done = ++step_ + 1;

		while (step_ != done)
			std::this_thread::yield();
	}

private:
	std::function<void()> next_;
	std::atomic<int> step_{ 0 }; /* odd: next_ is to be called */
	std::thread thread_{ [this] {
		for (;; step_++) {
			while (step_ % 2 == 0)
				std::this_thread::yield();
			if (!next_)
				return;
			next_();
		}
	} };
};

/*
 * A mapping, some regions, and steps:
 *
 *   begin, file, process R FROM TO     begin a region: hf_region_begin(), _file(), _process()
 *   busy R                             all three refuse to begin R
 *   end R BAD [WRITTEN [ERROR]]        end R, which must report these offsets
 *   not-open R                         hf_region_end() refuses R
 *   cut AT, fill                       truncate the file, or write all of it again
 *   map                                the program maps the file again
 *   touch AT, write AT                 read a byte, or write the byte w
 *   is AT BYTE, stored AT BYTE         memory, or the file, has 0, w, m, or what the file had (f)
 *   reads AT [N]                       its first N pages have the file's data up to AT, then zeros
 *   block                              block SIGBUS: from now on a fault kills
 *   none, read, unmap PAGE             make the page inaccessible or read-only, or unmap it
 *   other PAGE N [r, n]                memory of others instead, full of m; read-only, inaccessible
 *   refuses AT                         the byte can't be written
 *   known                              the rest only where the kernel tells what is mapped
 *   raise, abort
 *
 * Places are in pages, or pages plus or minus bytes (2+17, 3-1). Another thread runs the steps
 * marked with `2:`.
 */
class Script {
public:
	Script(size_t pages, int prot, int flags, Known known = Known::by_query)
		: map_(pages, prot, flags), known_(known)
	{
	}

	void play(const std::string &text)
	{
		std::istringstream steps(text);

		for (std::string step; std::getline(steps, step, ';');) {
			size_t mark = step.find("2:");
			bool of_other = mark != std::string::npos;
			auto one = [&] {
				if (play_one(of_other ? step.substr(mark + 2) : step))
					return;
				fprintf(stderr, "%s: wrong in %s\n", step.c_str(), text.c_str());
				_exit(1);
			};

			if (of_other)
				other_.run(one);
			else
				one();
		}
	}

private:
	Map map_;
	Known known_;
	std::map<std::string, hf_region_t> regions_;
	Other other_;

	static size_t place(const std::string &text)
	{
		char *end;
		size_t at = strtoul(text.c_str(), &end, 10) * page;

		return at + static_cast<size_t>(strtol(end, nullptr, 10));
	}
	/* @what: 0, w, m, or f for what the file has at first. */
	static char byte(const std::string &what, size_t at)
	{
		return what == "0" ? 0 : what == "f" ? content(at) : what[0];
	}
	bool play_one(const std::string &step)
	{
		std::istringstream words(step);
		std::string operation, first, second, third, fourth;
		hf_region_fault fault;

		words >> operation >> first >> second >> third >> fourth;
		hf_region_t *r = &regions_[first];
		size_t at = place(first), from = place(second), len = place(third) - from;
		sigset_t bus;

		if (operation == "begin")
			return map_.begin(r, from, len) == 0;
		if (operation == "file")
			return map_.begin_file(r, from, len) == 0;
		if (operation == "process")
			return map_.begin_process(r, from, len) == 0;
		if (operation == "busy")
			return map_.begin(r) == -EBUSY && map_.begin_process(r) == -EBUSY &&
			       map_.begin_file(r) == -EBUSY;
		if (operation == "end")
			return hf_region_end(r, &fault) == from && fault.bad == from &&
			       fault.error == (known_ == Known::not_at_all ? -EMFILE
					       : fourth == "EEXIST"        ? -EEXIST
									   : 0) &&
			       (third.empty() || fault.written == place(third));
		if (operation == "not-open")
			return hf_region_end(r, &fault) == 0 && fault.error == -EINVAL &&
			       hf_region_end(r, nullptr) == 0;
		if (operation == "cut")
			map_.cut(at);
		else if (operation == "fill")
			map_.fill(0, map_.size / page);
		else if (operation == "map")
			return map_.map_again();
		else if (operation == "touch")
			touch(map_.at + at);
		else if (operation == "write")
			write_to(map_.at + at, 'w');
		else if (operation == "is")
			return map_.at[at] == byte(second, at);
		else if (operation == "stored")
			return map_.file_has(at) == byte(second, at);
		else if (operation == "reads")
			return is_file_to(read(map_.at, second.empty() ? map_.size : from), at);
		else if (operation == "block")
			return sigemptyset(&bus) == 0 && sigaddset(&bus, SIGBUS) == 0 &&
			       pthread_sigmask(SIG_BLOCK, &bus, nullptr) == 0;
		else if (operation == "none")
			return mprotect(map_.at + at, page, PROT_NONE) == 0;
		else if (operation == "read")
			return mprotect(map_.at + at, page, PROT_READ) == 0;
		else if (operation == "unmap")
			return munmap(map_.at + at, page) == 0;
		else if (operation == "other")
			put_memory(map_.at + at, from,
				   third == "r"   ? PROT_READ
				   : third == "n" ? PROT_NONE
						  : RW);
		else if (operation == "refuses")
			return hf_clear_nofault(map_.at + at, 1) == 1;
		else if (operation == "known" && known_ == Known::not_at_all)
			_exit(0);
		else if (operation == "known")
			return true;
		else if (operation == "raise")
			raise(SIGBUS);
		else if (operation == "abort")
			abort();
		else
			return false;
		return true;
	}
};

/* The mapping has 8 pages, a region from page 2 to 6, and the file 4. */
#define IN_THE_MIDDLE "begin R 2 6; cut 4; touch 4; "
/* Page 2 was not touched; what was written is thrown away. */
#define FIRST_WRITE                                                                                \
	"begin R 0 6; write 1; cut 2; touch 4; write 5+1; write 3; write 5; is 5+1 w; is 3 w;"     \
	"end R 3 5+1; is 1 w; cut 6; stored 5+1 0"
/* The new mapping is shared too: writes reach the file. */
#define MAPPED_AGAIN                                                                               \
	"file R 0+100 6; cut 2; reads 2; write 3; end R 2-100 3-100; fill; reads 6;"               \
	"write 4; stored 4 w; fill;"

const struct {
	const char *name;
	size_t pages;
	const char *steps;
	int end = 0; /* -n: by signal n */
	int prot = RW, flags = MAP_SHARED;
} scripts[] = {
	{ "pages that are covered in part belong to the region: the first", 4,
	  "begin R 1+100 2+100; cut 0; touch 1; touch 1+100; end R 0" },
	{ "and the last", 4, "begin R 1+100 2+100; cut 0; touch 2+200; touch 1+100; end R 0" },
	{ "one fault replaces all lost pages", 64,
	  "begin R 0 64; cut 1; touch 1; block; reads 1; end R 1" },
	{ "a lower loss keeps what was written above it", 8,
	  "begin R 0 8; cut 5; write 6+3; cut 2; touch 4; is 6+3 w; touch 2; is 6+3 w;"
	  "end R 2 6+3" },
	{ "the first write is noted", 6, FIRST_WRITE },
	{ "the first write to a private mapping is noted", 6, FIRST_WRITE, 0, RW, MAP_PRIVATE },
	{ "without a file the zeros stay, and can be written", 3,
	  "begin R 0 3; cut 1; touch 1; end R 1 3; fill; is 1 0; write 1; is 1 w" },
	{ "the end maps the file again", 6, MAPPED_AGAIN MAPPED_AGAIN MAPPED_AGAIN },
	{ "a private mapping is mapped again as private", 4,
	  "file R 0 4; cut 1; touch 1; end R 1; fill; write 1; stored 1 f; is 1 w", 0, RW,
	  MAP_PRIVATE },
	{ "a read-only mapping is mapped again as read-only", 4,
	  "file R 0 4; cut 1; touch 1; end R 1; fill; reads 4; write 1", -SIGSEGV, PROT_READ,
	  MAP_SHARED },
	{ "mapped again while the file is still short", 4,
	  "file R 0 4; cut 2; touch 3; end R 2; touch 1; touch 3", -SIGBUS },
	{ "nested regions are ended in any order", 8,
	  "begin A 0 8; begin B 2 4; begin C 7 8; cut 3; reads 3; end A 3; end C 0; end B 1" },
	{ "a region in the middle of the list is ended", 8,
	  "begin A 0 2; begin B 2 4; begin C 4 6; begin D 6 8; end B 2; end C 2; cut 1; touch 1;"
	  "touch 7; end D 1; end A 1" },
	{ "a region of the process: any thread may fault in it and end it", 8,
	  "process A 0 8; process B 6 8; cut 3; 2: reads 3; reads 3; 2: end A 3; end B 0" },
	{ "an open region cannot be begun again", 3,
	  "begin A 0 1; begin B 1 2; process P 0 3; busy A; busy B; busy P; cut 0; touch 0;"
	  "end A 0; begin A 2 3; end A 1; end B 1; end P 0" },
	{ "ended by another thread, or twice", 2,
	  "begin R 0 1; 2: not-open R; end R 1; not-open R" },
	{ "an ended region serves no fault", 4,
	  "begin A 0 2; begin B 2 4; end A 2; cut 0; touch 2; end B 0; touch 0", -SIGBUS },
	/*
	 * Also to a region that begins after the loss. A range that is mapped again is no longer
	 * lost.
	 */
	{ "a loss that another thread finds is reported", 8,
	  "begin A 2 6; begin B 0 2; cut 3; 2: begin O 0 8; 2: touch 3; begin C 4 6; is 3 0;"
	  "is 5 0; end A 1; end B 2; 2: end O 3; end C 0; map; begin C 0 8; end C 8" },
	/* A later write does not fault, and is not reported. */
	{ "a write by another thread is reported", 8,
	  "begin A 4 8; cut 2; 2: begin O 0 8; 2: write 2; 2: end O 2 2; write 6; end A 0 0" },
	/* A write opens more pages than its own: later writes to those do not fault. */
	{ "a write above a region opens its pages, too", 8,
	  "begin B 0 3; begin A 0 8; cut 1; touch 1; write 5; write 2; end B 1 1; end A 1 5" },
	{ "pages that are lost after a write are open at once", 8,
	  "begin B 0 3; begin A 0 8; cut 5; write 6; cut 1; touch 1; write 2; end B 1 1;"
	  "end A 1 6" },
	{ "a region that begins over open pages", 8,
	  "begin A 0 8; cut 1; touch 1; write 3; begin B 0 8; write 2; end B 1 1; end A 1 3" },
	{ "pages that a write has not opened are not noted as written", 8,
	  "begin C 4 6; begin B 1 3; begin A 0 8; cut 1; touch 1; other 3 1; write 2;"
	  "end C 0 2; end B 0 1; end A 1 2" },
	{ "a healed loss is not inherited", 8,
	  "file A 0 8; process P 0 8; cut 4; touch 6; begin B 0 8; fill; end A 6; begin C 0 8;"
	  "reads 8; end C 8; end B 6; end P 6" },
	{ "a loss that was inherited is not inherited again", 2,
	  "begin A 0 2; cut 1; touch 1; begin B 0 2; end A 1; fill; map; begin C 0 2; end B 1;"
	  "reads 2; end C 2" },

	{ "a fault behind the region", 8, IN_THE_MIDDLE "touch 6", -SIGBUS },
	{ "a fault in front of it", 8, IN_THE_MIDDLE "none 1; touch 2-1", -SIGSEGV },
	{ "no permission inside", 8, IN_THE_MIDDLE "none 2; touch 2", -SIGSEGV },
	{ "a write to a page that is only read", 8, IN_THE_MIDDLE "read 2; write 3-1", -SIGSEGV },
	{ "a write to a mapping that is only read", 8, IN_THE_MIDDLE "write 2", -SIGSEGV, PROT_READ,
	  MAP_SHARED },
	{ "unmapped inside", 8, IN_THE_MIDDLE "unmap 5; touch 5", -SIGSEGV },
	{ "a fault of a thread that has no region", 8, IN_THE_MIDDLE "2: touch 7", -SIGBUS },
	{ "a SIGBUS that is sent", 8, IN_THE_MIDDLE "raise", -SIGBUS },
	{ "abort", 8, IN_THE_MIDDLE "abort", -SIGABRT },
	{ "a write into the lost part of a read-only file", 4,
	  "file R 0 4; cut 1; touch 1; write 1", -SIGSEGV, PROT_READ, MAP_SHARED },
#ifndef HF_EMULATED /* qemu-user does not tell whether a mapping can be written */
	{ "a write into the lost part of a read-only mapping", 4,
	  "begin R 0 4; cut 1; touch 1; write 1", -SIGSEGV, PROT_READ, MAP_SHARED },
#endif
};

TEST_F(Region, Scripts)
{
	for (const auto &s : scripts)
		EXPECT_EQ(in_child([&] { Script(s.pages, s.prot, s.flags).play(s.steps); }), s.end)
			<< s.name;
}

/* Is all of a range locked? */
bool is_locked(const char *at, size_t len)
{
	std::ifstream maps("/proc/self/smaps");
	std::string line;
	unsigned long from, to, next = reinterpret_cast<unsigned long>(at), end = next + len;
	bool inside = false;

	while (next < end && std::getline(maps, line)) {
		if (sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2)
			inside = from <= next && next < to;
		else if (inside && line.rfind("VmFlags:", 0) == 0 &&
			 (line + " ").find(" lo ") != std::string::npos)
			next = to;
	}
	return next >= end;
}

TEST_F(Region, MappedAgainLockedIfTheFlagsSaySo)
{
#if defined(HF_EMULATED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	GTEST_SKIP() << "/proc/self/smaps is the emulator's here, or mlock() does nothing";
#endif
	for (int locked : { 0, MAP_LOCKED }) {
		Map map(6, PROT_READ, MAP_SHARED | locked);

		ASSERT_EQ(is_locked(map.at, map.size), locked != 0);
		ASSERT_EQ(map.begin_file(&r), 0);
		map.cut(2 * page);
		touch(map.at + 2 * page);
		map.fill(2, 6);
		EXPECT_EQ(hf_region_end(&r, &fault), 2 * page);
		EXPECT_EQ(fault.error, 0);
		EXPECT_EQ(is_locked(map.at, map.size), locked != 0);
	}
}

/* ---- what lies there now --------------------------------------------------------------------- */

/* For each way in which the kernel tells what is mapped. If it does not, the end returns EMFILE. */
const struct {
	const char *name, *steps;
	int prot = RW;
} others[] = {
	{ "memory that has come to its place is not replaced",
	  "begin R 0 8; other 6 2; cut 1; reads 1 6; is 6 m; is 8-1 m; end R 1 8; is 6 m; is 8-1 m",
	  PROT_READ },
	{ "with a file",
	  "file R 0 8; other 6 2; cut 1; reads 1 6; is 6 m; is 8-1 m; end R 1 8 EEXIST; is 6 m;"
	  "is 8-1 m",
	  PROT_READ },
	{ "of the process",
	  "process R 0 8; other 6 2; cut 1; reads 1 6; is 6 m; is 8-1 m; end R 1 8; is 6 m;"
	  "is 8-1 m",
	  PROT_READ },
	{ "a hole is not mapped over",
	  "file R 0 8; cut 1; touch 1; unmap 4; unmap 5; end R 1 8 EEXIST; refuses 4" },
	{ "memory that has come to its place does not become writable",
	  "begin R 0 8; cut 1; touch 1; other 5 1 r; end R 1 8; refuses 5; is 5 m; known; write 3;"
	  "write 7" },
	{ "after a write",
	  "begin R 0 8; cut 1; touch 1; other 5 1 r; write 2; end R 1 2; refuses 5; is 5 m; known;"
	  "write 3; write 7" },
	{ "another mapping instead of all is kept",
	  "file R 0 8; cut 4; touch 5; other 0 8; end R 4 8 EEXIST; is 6 m" },
	{ "one that can't be accessed",
	  "file R 0 8; cut 4; touch 5; other 0 8 n; end R 4 8 EEXIST; refuses 6" },
	{ "after a write of a byte",
	  "file R 0 8; cut 4; touch 5; write 5; other 0 8; end R 4 5 EEXIST; is 6 m" },
	{ "a hole instead of all",
	  "file R 0 8; cut 4; touch 5; unmap 0; unmap 1; unmap 2; unmap 3; unmap 4; unmap 5;"
	  "unmap 6; unmap 7; end R 4 8 EEXIST; refuses 6" },
};

TEST_F(Region, MemoryOfOthersStays)
{
	for (const auto &s : others) {
		int end = in_children(
			[&](Known known) { Script(8, s.prot, MAP_SHARED, known).play(s.steps); });

		EXPECT_EQ(end, 0) << s.name;
	}
}

TEST_F(Region, AMappingThatWasCutInTwoIsServedAndMappedAgain)
{
	auto end = in_children([](Known known) {
		Map map(8);

		MUST(map.begin_file(&r) == 0);
		MUST(mprotect(map.at + 4 * page, 2 * page, PROT_READ) == 0);
		map.cut(page);
		MUST(is_file_to(read(map), page));
		map.fill(1, 8);
		MUST(hf_region_end(&r, &fault) == page);
		MUST(fault.error == (known == Known::not_at_all ? -EMFILE : 0));
		MUST(is_file_to(read(map), known == Known::not_at_all ? page : map.size));
	});
	EXPECT_EQ(end, 0);
}

// Its bug, not a loss of the region.
TEST_F(Region, ALostPageOfAnotherFileKills)
{
	for (size_t offset : { 0, 1 }) { // other place, and other file
		auto end = in_children(
			[=](Known known) {
				Map map(4), other(4);
				int file = offset ? map.fd : other.fd;

				MUST(map.begin_file(&r) == 0);
				MUST(mmap(map.at, 2 * page, RW, MAP_SHARED | MAP_FIXED, file,
					  static_cast<off_t>(offset * page)) == map.at);
				map.cut(0);
				other.cut(0);
				if (known == Known::not_at_all)
					raise(SIGBUS);
				touch(map.at);
			},
			-SIGBUS);
		EXPECT_EQ(end, -SIGBUS) << offset;
	}
}

/* Two new file systems, whose first files have the same inode. */
class TwoFiles {
public:
	TwoFiles()
	{
		if (unshare(CLONE_NEWNS) ||
		    mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr))
			_exit(77);
		for (int &fd : file) {
			std::string name = "/tmp/" + std::to_string(&fd - file);

			if (mount("none", "/tmp", "tmpfs", 0, nullptr))
				_exit(77);
			fd = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
			MUST(fd >= 0);
		}
		struct stat one, two;

		MUST(fstat(file[0], &one) == 0 && fstat(file[1], &two) == 0);
		MUST(one.st_ino == two.st_ino && one.st_dev != two.st_dev);
	}
	int file[2];
};

TEST_F(Region, AFileWithTheSameInodeOnAnotherDeviceIsNotReplaced)
{
	auto one = [](Known known) {
		TwoFiles two;
		const size_t size = 4 * page;

		MUST(ftruncate(two.file[0], static_cast<off_t>(size)) == 0);
		MUST(ftruncate(two.file[1], static_cast<off_t>(size)) == 0);
		char *at = static_cast<char *>(
			mmap(nullptr, size, PROT_READ, MAP_SHARED, two.file[0], 0));
		MUST(at != MAP_FAILED);
		restrict_to(known);
		MUST(hf_region_begin_file(&r, at, size, PROT_READ, MAP_SHARED, two.file[0], 0) ==
		     0);
		MUST(ftruncate(two.file[0], 0) == 0);
		touch(at);
		MUST(mmap(at, size, RW, MAP_SHARED | MAP_FIXED, two.file[1], 0) == at);
		memset(at, 'm', size);
		MUST(hf_region_end(&r, &fault) == 0 && fault.error == -EEXIST);
		MUST(at[0] == 'm' && at[size - 1] == 'm');
	};

	for (Known known : { Known::by_query, Known::by_lines }) {
#ifdef HF_EMULATED
		if (known != Known::by_query)
			continue;
#endif
		int end = in_child([&] { one(known); });

		if (end == 77)
			GTEST_SKIP() << "may not mount here";
		EXPECT_EQ(end, 0);
	}
}

// /proc/self is the first thread's, which has no mappings once it has ended.
TEST_F(Region, AProcessWhoseFirstThreadHasEnded)
{
#ifdef HF_EMULATED
	GTEST_SKIP() << "the emulator ends with its first thread";
#endif
	EXPECT_EQ(in_child([] {
			  new std::thread([] {
				  unit::wait_until([] {
					  std::ifstream maps("/proc/self/maps");

					  return maps.get() == EOF;
				  });
				  Map map(4);

				  MUST(map.begin_file(&r) == 0);
				  map.cut(page);
				  MUST(is_file_to(read(map), page));
				  MUST(hf_region_end(&r, &fault) == page && fault.error == 0);
				  _exit(0);
			  });
			  syscall(SYS_exit, 0); // of this thread alone
			  MUST(false);
		  }),
		  0);
}

TEST_F(Region, WithAFileTheFirstBadOffsetIsExact)
{
	for (size_t size : { size_t(0), size_t(1), page - 1, page + 17, 3 * page, 3 * page + 1,
			     4 * page - 1, 4 * page }) {
		Map map(4);

		ASSERT_EQ(map.begin_file(&r), 0);
		map.cut(size);
		EXPECT_TRUE(is_file_to(read(map), size));
		EXPECT_EQ(hf_region_end(&r, nullptr), size);
	}
}

TEST_F(Region, AFileThatCannotBeMappedAgainIsReported)
{
	Map map(2);
	int fd = dup(map.fd);

	ASSERT_EQ(hf_region_begin_file(&r, map.at, map.size, RW, MAP_SHARED, fd, 0), 0);
	map.cut(0);
	touch(map.at);
	close(fd);
	errno = 77;
	EXPECT_EQ(hf_region_end(&r, &fault), 0u);
	EXPECT_EQ(errno, 77);
	EXPECT_EQ(fault.error, -EBADF);
	EXPECT_EQ(map.at[page], 0);
}

// The address of a fault has no tag, also where the processor ignores that of a pointer.
TEST_F(Region, ABaseWithATag)
{
	if (!HF_ARCH_TAG_BITS)
		GTEST_SKIP() << "pointers have no tags on this processor";
	Map map(4);
	hf_region_t region;
	auto tagged =
		reinterpret_cast<char *>(reinterpret_cast<uintptr_t>(map.at) | (uintptr_t)5 << 57);

	ASSERT_EQ(hf_region_begin(&region, tagged, map.size), 0);
	map.cut(page);
	EXPECT_EQ(*static_cast<volatile char *>(map.at + 2 * page), 0);
	EXPECT_EQ(hf_region_end(&region, nullptr), 2 * page);
}

TEST_F(Region, BadArguments)
{
	Map map(2);
	const struct {
		size_t from, len;
		int flags, fd;
		uint64_t offset;
		int error;
	} files[] = {
		{ 0, 0, MAP_SHARED, map.fd, 0, -EINVAL },
		{ 0, page, MAP_SHARED, -1, 0, -EBADF },
		{ 0, page, 0, map.fd, 0, -EINVAL },
		{ 0, page, MAP_SHARED | MAP_ANONYMOUS, map.fd, 0, -EINVAL },
		{ 1, page, MAP_SHARED, map.fd, 0, -EINVAL },
		{ 0, page, MAP_SHARED, map.fd, 1, -EINVAL },
		{ 0, page, MAP_SHARED, map.fd, UINT64_MAX - page + 1, -EINVAL },
	};

	EXPECT_EQ(hf_region_begin(&r, nullptr, 1), -EINVAL);
	for (size_t len : { size_t(0), SIZE_MAX, SIZE_MAX - reinterpret_cast<uintptr_t>(map.at) })
		EXPECT_EQ(hf_region_begin(&r, map.at, len), -EINVAL) << len;
	EXPECT_EQ(hf_region_begin_process(&r, map.at, 0), -EINVAL);
	EXPECT_EQ(hf_region_call(
			  map.at, 0, [](void *) { abort(); }, nullptr, nullptr),
		  -EINVAL);
	for (const auto &f : files)
		EXPECT_EQ(hf_region_begin_file(&r, map.at + f.from, f.len, RW, f.flags, f.fd,
					       f.offset),
			  f.error)
			<< &f - files;
}

// An undetectable misuse makes the list circular: the handler must still return, and the fault
// kill.
TEST_IN_CHILD(Region, ASignalIsPassedOnWhereAListHasBecomeACircle, -SIGBUS)
{
	Map map(2), foreign(1);
	hf_region_t first, second;

	MUST(map.begin(&first, 0, page) == 0);
	MUST(map.begin(&second, 0, page) == 0);
	hf_atomic64_store_relaxed(&first.below, (uintptr_t)&second);
	foreign.cut(0);
	touch(foreign.at);
}

#if HF_ARCH_HAS_SITES
TEST_F(Region, AnInstructionFromALostPageKills)
{
	EXPECT_LT(in_child([&] {
			  Map map(2, PROT_READ | PROT_WRITE | PROT_EXEC);
			  void (*function)();

			  MUST(map.begin(&r) == 0);
			  map.cut(0);
			  void *at = map.at + page;
			  memcpy(&function, &at, sizeof(function));
			  function();
		  }),
		  0);
}
#endif

/* ---- beside the other operations ------------------------------------------------------------- */

TEST_F(Region, AnOperationThatRecoversByItselfIsExact)
{
	Map map(4);
	std::vector<char> bytes(map.size);

	ASSERT_EQ(map.begin(&r), 0);
	map.cut(page);
	EXPECT_EQ(hf_copy_nofault(bytes.data(), map.at + 10, 2 * page), page + 10);
	EXPECT_EQ(hf_region_end(&r, nullptr), map.size);
}

TEST_IN_CHILD(Region, AHandlerOfTheProgramsOwn, 0)
{
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
	Map map(4);

	MUST(map.begin(&r) == 0);
	map.cut(page);
	errno = 77;
	write_to(map.at + 2 * page, 'x');
	MUST(errno == 77);
	MUST(hf_region_end(&r, &fault) == 2 * page && fault.written == 2 * page);
}

TEST_F(Region, AChildKeepsItsThreadsRegions)
{
	Map map(4);
	hf_region_t own, of_all, others;
	Other other;

	/* Another thread's region is not in the child, and its memory is not looked at there. */
	other.run([&] { EXPECT_EQ(map.begin(&others), 0); });
	/* This thread has none: what the child's list of threads may have is the other. */
	EXPECT_EQ(in_child([&] {
			  hf_region_t more;

			  MUST(map.begin(&more, 0, 2 * page) == 0);
			  map.cut(page);
			  touch(map.at + page);
			  MUST(hf_region_end(&more, nullptr) == page);
			  MUST(map.begin(&more, page, page) == 0);
			  MUST(hf_region_end(&more, nullptr) == page);
		  }),
		  0);
	map.fill(0, 4);
	ASSERT_EQ(map.begin(&own, 0, 2 * page), 0);
	ASSERT_EQ(map.begin_process(&of_all, 2 * page, 2 * page), 0);
	EXPECT_EQ(in_child([&] {
			  hf_region_t more;

			  MUST(map.begin(&more, 0, page) == 0);
			  map.cut(page);
			  touch(map.at + page);
			  touch(map.at + 3 * page);
			  MUST(hf_region_end(&more, nullptr) == page);
			  MUST(hf_region_end(&own, nullptr) == page);
			  MUST(hf_region_end(&of_all, nullptr) == page);
			  MUST(map.begin(&more, page, page) == 0);
			  MUST(hf_region_end(&more, nullptr) == page);
		  }),
		  0);
	map.fill(0, 4);
	/* The child's zeros are its own. */
	EXPECT_TRUE(is_file_to(read(map), map.size));
	EXPECT_EQ(hf_region_end(&own, nullptr), 2 * page);
	EXPECT_EQ(hf_region_end(&of_all, nullptr), 2 * page);
	other.run([&] { EXPECT_EQ(hf_region_end(&others, nullptr), map.size); });
}

// The other's object may be on its stack, which is given to a new thread of the child.
TEST_F(Region, AChildHasNoProcessRegionsThatOtherThreadsHaveBegun)
{
	Map map(4), more(4);
	hf_region_t own, others[2];
	Other other;

	ASSERT_EQ(map.begin_process(&own, 0, 2 * page), 0);
	for (hf_region_t &one : others)
		other.run([&] { EXPECT_EQ(map.begin_process(&one, 2 * page, 2 * page), 0); });
	EXPECT_EQ(in_child([&] {
			  memset(static_cast<void *>(others), 0x41, sizeof(others));
			  MUST(more.begin(&r) == 0);
			  more.cut(page);
			  touch(more.at + page);
			  MUST(hf_region_end(&r, nullptr) == page);
			  MUST(hf_region_end(&others[0], &fault) == 0 && fault.error == -EINVAL);
			  map.cut(0);
			  touch(map.at);
			  MUST(hf_region_end(&own, nullptr) == 0);
		  }),
		  0);
	for (hf_region_t &one : others)
		EXPECT_EQ(hf_region_end(&one, nullptr), 2 * page);
	EXPECT_EQ(hf_region_end(&own, nullptr), 2 * page);
}

/* ---- threads that end ------------------------------------------------------------------------ */

TEST_F(Region, ARegionThatIsOpenAtItsThreadsEndIsClosedAndReported)
{
	Map map(4);
	unit::reports report;
	static hf_region_t first, second;

	std::thread([&] {
		EXPECT_EQ(map.begin(&first), 0);
		EXPECT_EQ(hf_region_end(&first, nullptr), map.size);
	}).join();
	EXPECT_EQ(report.total(), 0u);
	std::thread([&] {
		EXPECT_EQ(map.begin(&first), 0);
		EXPECT_EQ(map.begin(&second), 0);
	}).join();
	EXPECT_TRUE(report.one(HF_REPORT_REGION_OPEN_AT_EXIT, &second));
	/*
	 * They are not looked at any more, nor by a thread that gets the memory of the one that
	 * ended.
	 */
	memset(static_cast<void *>(&first), 0x41, sizeof(first));
	memset(static_cast<void *>(&second), 0x41, sizeof(second));
	auto loses = [&] {
		Map lost(4);

		EXPECT_EQ(lost.begin(&r), 0);
		lost.cut(page);
		touch(lost.at + page);
		EXPECT_EQ(hf_region_end(&r, nullptr), page);
	};
	loses();
	std::thread(loses).join();
	EXPECT_EQ(report.total(), 0u);
}

/* A key whose destructor counts its rounds up to the last one, and calls a function in one. */
class AtRound {
public:
	AtRound(int round, std::function<void()> f) : round_(round), f_(std::move(f))
	{
		MUST(pthread_key_create(&key_,
					[](void *at) { static_cast<AtRound *>(at)->next(); }) == 0);
	}
	~AtRound() { pthread_key_delete(key_); }
	AtRound(const AtRound &) = delete;
	AtRound &operator=(const AtRound &) = delete;
	void arm() { MUST(pthread_setspecific(key_, this) == 0); }

private:
	pthread_key_t key_;
	int round_, rounds_ = 0;
	std::function<void()> f_;

	void next()
	{
		if (++rounds_ < round_)
			arm();
		else
			f_();
	}
};

TEST_F(Region, ADestructorOfTheThreadMayEndARegion)
{
	Map map(4);
	unit::reports report;
	AtRound second(2, [&] { EXPECT_EQ(hf_region_end(&r, nullptr), map.size); });

	std::thread([&] {
		EXPECT_EQ(map.begin(&r), 0);
		second.arm();
	}).join();
	EXPECT_EQ(report.total(), 0u);
}

// One that begins where nothing runs afterwards: the next thread with its memory makes a circle.
TEST_IN_CHILD_UNLESS(Region, AListOfThreadsThatHasBecomeACircleIsFollowedToNoEnd, 0, unit::tsan,
		     "ThreadSanitizer drops a thread's state before its last destructors")
{
	Map map(4);
	AtRound last(PTHREAD_DESTRUCTOR_ITERATIONS, [&] { MUST(map.begin(&r, 0, page) == 0); });
	const struct rlimit limit = { 5, 5 };
	hf_region_t own;

	/* In seconds of processor time, which a busy machine does not use up. */
	MUST(setrlimit(RLIMIT_CPU, &limit) == 0);
	std::thread([&] { last.arm(); }).join();
	std::thread([&] {
		MUST(map.begin(&own) == 0);
		map.cut(page);
		touch(map.at + page);
		MUST(hf_region_end(&own, nullptr) == page);
	}).join();
}

/* ---- non-local exit from a function ---------------------------------------------------------- */

int call(const Map &map, size_t len, std::function<void()> f)
{
	auto run = [](void *function) { (*static_cast<std::function<void()> *>(function))(); };

	return hf_region_call(map.at, len, run, &f, &fault);
}

void cut_and_touch(const Map &map, size_t size)
{
	map.cut(size);
	for (size_t at = 0; at < map.size; at += page)
		touch(map.at + at);
}

TEST_F(Region, CallReturnsEarlyAndTheMappingStays)
{
	for (size_t k = 0; k <= 5; k++) { // 5: nothing is lost
		Map map(5);
		volatile bool finished = false;
		sigset_t before, after;

		pthread_sigmask(SIG_BLOCK, nullptr, &before);
		EXPECT_EQ(call(map, map.size,
			       [&] {
				       cut_and_touch(map, k * page);
				       finished = true;
			       }),
			  k < 5 ? -EFAULT : 0);
		pthread_sigmask(SIG_BLOCK, nullptr, &after);
		for (int signal : { SIGSEGV, SIGBUS, SIGUSR1, SIGTERM })
			EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
		EXPECT_EQ(finished, k == 5);
		EXPECT_EQ(fault.bad, k * page);
		map.fill(0, 5);
		EXPECT_TRUE(is_file_to(read(map), map.size)) << "no page may be replaced";
	}
}

/* The handler must leave its read-side section before it jumps, else the next install hangs. */
TEST_IN_CHILD(Region, TheHandlerCanBeInstalledAgainAfterAJump, 0)
{
	Map map(5);

	MUST(call(map, map.size, [&] { cut_and_touch(map, 0); }) == -EFAULT);
	signal(SIGBUS, SIG_DFL);
	MUST(hf_nofault_install() == 0);
	map.fill(0, 5);
	MUST(call(map, map.size, [&] { cut_and_touch(map, 0); }) == -EFAULT);
}

TEST_IN_CHILD(Region, CallClosesWhatItsFunctionLeavesOpen, 0)
{
	Map map(5), other(map, RW, MAP_SHARED);
	hf_region_t outer, left_open[3];

	MUST(other.begin(&outer, 0, page) == 0);
	MUST(call(map, map.size, [&] {
		     for (hf_region_t &one : left_open)
			     MUST(map.begin(&one, 0, page) == 0);
		     /* The inner call has only two pages, and they are there. */
		     (void)call(map, 2 * page, [&] { cut_and_touch(map, 2 * page); });
		     MUST(false);
	     }) == -EFAULT);
	for (hf_region_t &one : left_open)
		MUST(hf_region_end(&one, &fault) == 0 && fault.error == -EINVAL);
	memset(static_cast<void *>(left_open), 0xff, sizeof(left_open));
	map.cut(0);
	touch(other.at);
	MUST(hf_region_end(&outer, nullptr) == 0);
}

/* The jump after the return from the signal keeps what a callee must keep. */
TEST_F(Region, CallKeepsTheRoundingOfItsCaller)
{
	Map map(2);
	int before = fegetround();

	ASSERT_EQ(fesetround(FE_UPWARD), 0);
	EXPECT_EQ(call(map, map.size,
		       [&] {
			       fesetround(FE_DOWNWARD);
			       cut_and_touch(map, 0);
		       }),
		  -EFAULT);
	int after = fegetround();

	fesetround(before);
	EXPECT_EQ(after, FE_UPWARD);
}

#if defined(__x86_64__)
TEST_F(Region, CallKeepsTheStateOfTheProcessor)
{
	const unsigned int FLUSHES = 0x8040, DF = 0x400;
	Map map(2);
	unsigned int before = __builtin_ia32_stmxcsr(), after;
	uint16_t x87 = 0x27f, x87_before, x87_after; // double precision
	struct {
		uint32_t control, status, tags, rest[4];
	} unit;

	__asm__ volatile("fnstcw %0" : "=m"(x87_before));
	__builtin_ia32_ldmxcsr(before | FLUSHES);
	__asm__ volatile("fldcw %0" : : "m"(x87));
	int error = call(map, map.size, [&] {
		map.cut(0);
		__builtin_ia32_ldmxcsr(before);
		__asm__ volatile("fninit\n\tfld1\n\tstd\n\tmovb (%0), %%al\n\tcld\n\tfstp %%st"
				 :
				 : "r"(map.at)
				 : "rax", "cc", "memory");
	});
	after = __builtin_ia32_stmxcsr();
	uint64_t flags = __builtin_ia32_readeflags_u64();
	__asm__ volatile("cld\n\tfnstcw %0\n\tfnstenv %1" : "=m"(x87_after), "=m"(unit));
	__builtin_ia32_ldmxcsr(before);
	__asm__ volatile("fldcw %0" : : "m"(x87_before));
	EXPECT_EQ(error, -EFAULT);
	EXPECT_EQ(after & FLUSHES, FLUSHES);
	EXPECT_EQ(x87_after, x87);
	EXPECT_EQ(unit.tags & 0xffff, 0xffffu) << "the x87 stack is empty";
	EXPECT_EQ(flags & DF, 0u);
}
#endif

TEST_F(Region, CallKeepsTheProtectionKeys)
{
	Map map(2);
	int key = pkey_alloc(0, PKEY_DISABLE_WRITE);

	if (key < 0)
		GTEST_SKIP() << "no protection keys: " << strerror(errno);
	EXPECT_EQ(call(map, map.size, [&] { cut_and_touch(map, 0); }), -EFAULT);
	EXPECT_EQ(pkey_get(key), PKEY_DISABLE_WRITE);
	pkey_free(key);
}

TEST_IN_CHILD_UNLESS(Region, CallKeepsAnAlternateStackThatDisarmsItself, 0, unit::emulated,
		     "the emulator does not know SS_AUTODISARM")
{
	const int autodisarm = static_cast<int>(1u << 31); /* not in all headers */
	std::vector<char> memory(1 << 16);
	stack_t stack, after;
	Map map(2);

	memset(&stack, 0, sizeof(stack));
	stack.ss_sp = memory.data();
	stack.ss_size = memory.size();
	stack.ss_flags = autodisarm;
	MUST(sigaltstack(&stack, nullptr) == 0);
	MUST(call(map, map.size, [&] { cut_and_touch(map, 0); }) == -EFAULT);
	MUST(sigaltstack(nullptr, &after) == 0);
	MUST(after.ss_sp == stack.ss_sp && !(after.ss_flags & SS_DISABLE));
}

/* A handler of the program's own is left by its return. */
TEST_IN_CHILD(Region, CallIsLeftAfterTheProgramsHandlerHasReturned, 0)
{
	static int returned;
	struct sigaction action;
	Map map(2);

	memset(&action, 0, sizeof(action));
	action.sa_flags = SA_SIGINFO;
	action.sa_sigaction = [](int signal, siginfo_t *info, void *context) {
		MUST(hf_nofault_handle(signal, info, context));
		returned++;
	};
	MUST(hf_nofault_remove() == 0);
	MUST(sigaction(SIGBUS, &action, nullptr) == 0);
	MUST(call(map, map.size, [&] { cut_and_touch(map, 0); }) == -EFAULT);
	MUST(returned == HF_ARCH_HAS_SITES);
}

TEST_F(Region, AnExceptionOfTheFunctionEndsTheRegion)
{
	Map map(4);

	for (int i = 0; i < 2; i++) {
		EXPECT_THROW((void)call(map, map.size, [] { throw std::runtime_error("parse"); }),
			     std::runtime_error);
		std::vector<char> other_frames(1 << 16, 'm');
		ASSERT_EQ(map.begin(&r), 0);
		EXPECT_EQ(hf_region_end(&r, nullptr), map.size);
	}
}

TEST_F(Region, APthreadExitOfTheFunctionEndsTheRegion)
{
	Map map(4);
	unit::reports report;
	pthread_t thread;

	ASSERT_EQ(pthread_create(
			  &thread, nullptr,
			  [](void *at) -> void * {
				  auto exits = [](void *) { pthread_exit(nullptr); };
				  const Map &m = *static_cast<Map *>(at);

				  (void)!hf_region_call(m.at, m.size, exits, nullptr, nullptr);
				  return nullptr;
			  },
			  &map),
		  0);
	pthread_join(thread, nullptr);
	EXPECT_EQ(report.total(), 0u);
}

TEST_F(Region, RegionCallThrowsAtALostPage)
{
	Map map(4);
	int calls = 0;

	hf::region_call(map.at, map.size, [&] { calls++; });
	EXPECT_EQ(calls, 1);
	EXPECT_THROW(hf::region_call(map.at, map.size, [] { throw std::runtime_error("parse"); }),
		     std::runtime_error);
	try {
		const auto reads = [&] { cut_and_touch(map, page); };

		hf::region_call(map.at, map.size, reads);
		ADD_FAILURE() << "nothing was thrown";
	} catch (const hf::region_error &lost) {
		EXPECT_EQ(lost.error, -EFAULT);
		EXPECT_EQ(lost.fault.bad, page);
		EXPECT_STREQ(lost.what(), "holdfast: a page of the mapping is lost");
	}
	try {
		hf::region_call(map.at, 0, [&] { calls++; });
		ADD_FAILURE() << "nothing was thrown";
	} catch (const hf::region_error &refused) {
		EXPECT_EQ(refused.error, -EINVAL);
	}
	EXPECT_EQ(calls, 1);
	ASSERT_EQ(map.begin(&r), 0);
	EXPECT_EQ(hf_region_end(&r, nullptr), map.size);
}

TEST_F(Region, CallReportsAPageThatAnotherRegionReplaced)
{
	Map map(4);
	Other other;
	bool finished = false;

	EXPECT_EQ(call(map, map.size,
		       [&] {
			       map.cut(page);
			       other.run([&] {
				       hf_region_t own;

				       EXPECT_EQ(map.begin(&own), 0);
				       touch(map.at + 2 * page);
				       EXPECT_EQ(hf_region_end(&own, nullptr), 2 * page);
			       });
			       touch(map.at + 3 * page);
			       finished = true;
		       }),
		  -EFAULT);
	EXPECT_TRUE(finished);
	EXPECT_EQ(fault.bad, 2 * page);
}

/* ---- many threads ---------------------------------------------------------------------------- */

TEST_F(Region, FirstWritesOfManyThreads)
{
	for (int round = 0; round < 20; round++) {
		Map map(8);
		std::atomic<int> ready{ 0 };

		map.cut(page);
		unit::run_threads(4, [&](int t) {
			hf_region_t r;
			hf_region_fault fault;

			if (map.begin(&r))
				abort();
			ready++;
			unit::wait_until([&] { return ready == 4; });
			for (size_t at = 1; at < 8; at++)
				write_to(map.at + at * page + static_cast<size_t>(t), 'x');
			EXPECT_EQ(hf_region_end(&r, &fault), page);
			EXPECT_LT(fault.written, map.size);
		});
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
	char *at = static_cast<char *>(mmap(nullptr, 2 * huge, RW, MAP_SHARED, fd, 0));
	if (at == MAP_FAILED) {
		int error = errno;

		close(fd);
		GTEST_SKIP() << "no huge pages: " << strerror(error);
	}

	memset(at, 'x', 2 * huge);
	for (int round = 0; round < 2; round++) {
		ASSERT_EQ(hf_region_begin_file(&r, at, 2 * huge, RW, MAP_SHARED, fd, 0), 0);
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
	Map map(2 * huge / page);
	char *room = static_cast<char *>(
		mmap(nullptr, 3 * huge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	char *at = room + (huge - reinterpret_cast<uintptr_t>(room) % huge);

	ASSERT_NE(mmap(at, 2 * huge, RW, MAP_SHARED | MAP_FIXED, map.fd, 0), MAP_FAILED);
	if (madvise(at, 2 * huge, 25 /* MADV_COLLAPSE */)) {
		int error = errno;

		munmap(room, 3 * huge);
		GTEST_SKIP() << "no transparent huge page could be had: " << strerror(error);
	}
	for (size_t size : { huge + 3 * page, huge, 5 * page }) {
		ASSERT_EQ(hf_region_begin(&r, at, 2 * huge), 0);
		map.cut(size);
		EXPECT_TRUE(is_file_to(read(at, 2 * huge), size));
		EXPECT_EQ(hf_region_end(&r, nullptr), size);
	}
	munmap(room, 3 * huge);
}

/* ---- a loss ends ----------------------------------------------------------------------------- */

// Healing a part: new regions see that part as whole again, and the rest as lost.
TEST_F(Region, APartlyHealedLoss)
{
	Map map(9);
	hf_region_t all, part, late;
	const size_t from[] = { 0, 3, 6 };

	for (size_t healed : from) {
		ASSERT_EQ(map.begin_process(&all), 0);
		ASSERT_EQ(map.begin_file(&part, healed * page, 3 * page), 0);
		map.cut(0);
		touch(map.at + healed * page);           // the part's
		touch(map.at + (healed ? 0 : 3 * page)); // and all in front of it
		map.fill(0, 9);
		EXPECT_EQ(hf_region_end(&part, nullptr), 0u);
		for (size_t at : from) {
			bool zeros = at < healed || (healed == 0 && at > 0);

			ASSERT_EQ(map.begin(&late, at * page, 3 * page), 0);
			EXPECT_EQ(read(map.at + at * page, 1)[0] == 0, zeros) << healed << at;
			EXPECT_EQ(hf_region_end(&late, nullptr), zeros ? 0 : 3 * page)
				<< healed << at;
		}
		EXPECT_EQ(hf_region_end(&all, nullptr), 0u);
		ASSERT_TRUE(map.map_again());
	}
}

// What is healed in the middle leaves two parts: new regions see both as lost.
TEST_F(Region, ALossHealedInTheMiddle)
{
	Map map(9);
	hf_region_t all, part, late;

	ASSERT_EQ(map.begin_process(&all), 0);
	ASSERT_EQ(map.begin_file(&part, 3 * page, 3 * page), 0);
	map.cut(0);
	touch(map.at);
	map.fill(0, 9);
	EXPECT_EQ(hf_region_end(&part, nullptr), 0u);
	EXPECT_EQ(map.at[3 * page], content(3 * page));
	for (size_t at : { 0, 6 }) {
		ASSERT_EQ(map.begin(&late, at * page, 3 * page), 0);
		EXPECT_EQ(map.at[at * page], 0);
		EXPECT_EQ(hf_region_end(&late, nullptr), 0u);
	}
	EXPECT_EQ(hf_region_end(&all, nullptr), 0u);
	ASSERT_TRUE(map.map_again());
}

// Without a call of hf_nofault_install(), the first hf_region_begin() installs the handler.
TEST_F(Region, BeginInstallsTheHandlerIfNobodyHas)
{
	unit::outcome outcome =
		unit::start_alone("RegionAlone.Forgotten", "HF_TESTS_REGION_FORGOTTEN", "1");

	if (outcome.status == unit::CANT_START)
		GTEST_SKIP() << "an emulated program can't start itself";
	EXPECT_EQ(outcome.status, 0) << outcome.out;
}

TEST(RegionAlone, Forgotten)
{
	if (!getenv("HF_TESTS_REGION_FORGOTTEN"))
		return;
	Map map(2);
	hf_region_t r;

	EXPECT_FALSE(hf_nofault_owned());
	ASSERT_EQ(map.begin(&r), 0);
	EXPECT_TRUE(hf_nofault_owned());
	map.cut(page);
	touch(map.at + page);
	EXPECT_EQ(hf_region_end(&r, nullptr), page);
	EXPECT_EQ(hf_nofault_remove(), 0);
	ASSERT_EQ(map.begin(&r), 0);
	EXPECT_FALSE(hf_nofault_owned()); // the program removed it on purpose
	EXPECT_EQ(hf_region_end(&r, nullptr), map.size);
}

// In C it is a macro.
TEST_F(Region, GuardsOfABlock)
{
	Map map(2);
	hf_region_t r, other;
	int error = 1, refused = 1;

	{
		HF_REGION_GUARD(&r, map.at, map.size, error);
		EXPECT_EQ(error, 0);
		{
			HF_REGION_GUARD(&r, map.at, map.size, refused);
			EXPECT_EQ(refused, -EBUSY);
		}
		map.cut(page);
		touch(map.at + page); // the refused guard has ended nothing
		EXPECT_EQ(map.begin(&r, 0, page), -EBUSY);
	}
	EXPECT_EQ(map.begin(&r, 0, page), 0);
	EXPECT_EQ(hf_region_end(&r, nullptr), page);
	{
		hf::process_region guard(map.at, map.size);

		EXPECT_EQ(guard.error(), 0);
		map.cut(0);
		std::thread([&] { touch(map.at); }).join();
		EXPECT_EQ(map.begin(&other, page, page), 0);
		EXPECT_EQ(hf_region_end(&other, nullptr), 0u);
		EXPECT_EQ(guard.end(), 0u);
	}
}

/* ---- C++ ------------------------------------------------------------------------------------- */

TEST_F(Region, Guard)
{
	Map map(4);

	{
		hf::region guard(map.at, map.size);

		ASSERT_EQ(guard.error(), 0);
		map.cut(page);
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
			  Map mapped(2);

			  {
				  hf::region guard(mapped.at, mapped.size, RW, MAP_SHARED,
						   mapped.fd, 0);

				  mapped.cut(0);
				  touch(mapped.at);
			  }
			  touch(mapped.at); /* it has ended, and the file is mapped again */
		  }),
		  -SIGBUS);
}

} // namespace
