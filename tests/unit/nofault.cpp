// SPDX-License-Identifier: MIT
// nofault: strings, hf_nofault_last(), spans, hostile lengths, untorn words. The battery tests single
// words, the sweeps every size and every position of a fault.
#include "unit.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../src/cpu/cpu.h"
#include "holdfast/nofault.h"

#include "../../lab/variants/nofault/implementations.h"

namespace
{

const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));

static_assert(sizeof(hf_iovec) == sizeof(iovec) &&
		      offsetof(hf_iovec, base) == offsetof(iovec, iov_base) &&
		      offsetof(hf_iovec, len) == offsetof(iovec, iov_len),
	      "a pointer to one may be cast to the other");

// Three pages; only the middle one, from `edge` on, is inaccessible.
struct Edge {
	explicit Edge(int protection = PROT_NONE)
	{
		start = static_cast<char *>(mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE,
						 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
		edge = start + page;
		behind = edge + page;
		memset(start, 'x', 3 * page);
		protect(protection);
	}
	~Edge() { munmap(start, 3 * page); }
	void protect(int protection) { EXPECT_EQ(mprotect(edge, page, protection), 0); }
	char *start, *edge, *behind;
};

class NoFault : public testing::Test {
protected:
	void SetUp() override { ASSERT_EQ(hf_nofault_install(), 0); }
	void TearDown() override
	{
		hf_variant_clear_choose(nullptr);
		hf_variant_copy_choose(nullptr);
	}
};

/* The address reported for a SIGSEGV at p: s390x knows the page only. */
char *reported(char *p)
{
#if defined(__s390x__)
	return p - reinterpret_cast<uintptr_t>(p) % page;
#else
	return p;
#endif
}

TEST_F(NoFault, TheLastFaultIsReported)
{
	Edge e;
	uint8_t value;

	ASSERT_EQ(hf_load8_nofault(&value, e.edge + 3), -EFAULT);
	EXPECT_EQ(hf_nofault_last().signal, SIGSEGV);
	EXPECT_EQ(hf_nofault_last().code, SEGV_ACCERR);
	EXPECT_EQ(hf_nofault_last().address, reported(e.edge + 3));
	munmap(e.edge, page);
	ASSERT_EQ(hf_load8_nofault(&value, e.edge + 5), -EFAULT);
	EXPECT_EQ(hf_nofault_last().code, SEGV_MAPERR);
	EXPECT_EQ(hf_nofault_last().address, reported(e.edge + 5));

	FILE *file = tmpfile();
	ASSERT_NE(file, nullptr);
	void *empty = mmap(nullptr, page, PROT_READ, MAP_SHARED, fileno(file), 0);

	ASSERT_EQ(hf_load8_nofault(&value, static_cast<char *>(empty) + 7), -EFAULT);
	EXPECT_EQ(hf_nofault_last().signal, SIGBUS);
	EXPECT_EQ(hf_nofault_last().code, BUS_ADRERR);
#if !(defined(__s390x__) && defined(HF_EMULATED)) /* qemu-user 7.2 exchanges its halves there */
	EXPECT_EQ(hf_nofault_last().address, static_cast<char *>(empty) + 7);
#endif
	munmap(empty, page);
	fclose(file);
}

TEST_F(NoFault, StringsOfEachLengthAndAlignment)
{
	Edge e;

	for (size_t length = 0; length < 40; length++) {
		for (size_t into = 0; into < 9; into++) {
			char *src = e.edge - length - 1 - into;
			std::vector<char> dst(64, '#');

			memset(e.start, 'x', page);
			src[length] = 0;
			ASSERT_EQ(hf_strncpy_nofault(dst.data(), src, 60), long(length));
			ASSERT_STREQ(dst.data(), std::string(length, 'x').c_str());
			ASSERT_EQ(dst[length + 1], '#');
			// No room for the terminator; then just enough.
			ASSERT_EQ(hf_strncpy_nofault(dst.data(), src, length), long(length));
			ASSERT_EQ(hf_strncpy_nofault(dst.data(), src, length + 1), long(length));
		}
	}
}

TEST_F(NoFault, AStringThatFaultsIsCopiedUpToTheFault)
{
	Edge e;

	for (size_t before = 0; before < 40; before++) {
		std::vector<char> dst(64, '#');

		ASSERT_EQ(hf_strncpy_nofault(dst.data(), e.edge - before, 60), -EFAULT);
		for (size_t i = 0; i < dst.size(); i++)
			ASSERT_EQ(dst[i], i < before ? 'x' : '#') << before << " " << i;
		// The destination faults.
		std::string text(60, 'y');
		memset(e.start, 'x', page);
		ASSERT_EQ(hf_strncpy_nofault(e.edge - before, text.c_str(), 60), -EFAULT);
		ASSERT_EQ(std::string(e.edge - before, before), std::string(before, 'y'));
		memset(e.start, 'x', page);
	}
}

// An implementation may not clobber registers that the code around its call uses.
TEST_F(NoFault, FormsInALoopOfArithmetic)
{
	Edge e;

	for (const char *name : { "fsrm", "default" }) {
		if (hf_variant_clear_choose(name) || hf_variant_copy_choose(name))
			continue;
		size_t sum = 0, expected = 0, zero = 0;

		for (size_t size = 0; size < 200; size++) {
			for (size_t before : { size_t(0), size / 2, size }) {
				sum += 3 * hf_clear_nofault(e.edge - before, size) + zero;
				expected += 3 * (size - before);
				char other[200];
				sum += size - hf_copy_nofault(other, e.edge - before, size);
				expected += before;
				memset(e.edge - before, 'x', before);
			}
		}
		EXPECT_EQ(sum, expected) << name;
	}
}

TEST_F(NoFault, Spans)
{
	std::vector<int> numbers(100, 7), copy(100), few(10);
	std::array<char, 5> letters{ 'a', 'b', 'c', 'd', 'e' };
	std::string text = "text";

	EXPECT_EQ(hf::copy_nofault(copy, numbers), 0u);
	EXPECT_EQ(copy, numbers);
	EXPECT_EQ(hf::copy_nofault(few, numbers), 90 * sizeof(int));
	EXPECT_EQ(few, std::vector<int>(10, 7));
	EXPECT_EQ(hf::clear_nofault(numbers), 0u);
	EXPECT_EQ(numbers, std::vector<int>(100));
	EXPECT_EQ(hf::clear_nofault(letters), 0u);
	EXPECT_EQ(letters[4], 0);
	EXPECT_EQ(hf::clear_nofault(text), 0u);
	EXPECT_EQ(text, std::string(4, 0));

	std::vector<uint16_t> small(50, 7);
	std::array<uint64_t, 4> four{ 1, 2, 3, 4 };
	std::vector<uint64_t> three(3);

	EXPECT_EQ(hf::fill_nofault(small, 0xff), 0u);
	EXPECT_EQ(small, std::vector<uint16_t>(50, 0xffff));
	EXPECT_EQ(hf::copy_nofault_words(three, four), 1u);
	EXPECT_EQ(three, (std::vector<uint64_t>{ 1, 2, 3 }));

	struct View {
		uint64_t *p;
		size_t n;
		uint64_t *data() const { return p; }
		size_t size() const { return n; }
	};
	Edge e;

	EXPECT_EQ(hf::clear_nofault(View{ reinterpret_cast<uint64_t *>(e.edge - 16), 5 }), 24u);
}

/* ---- fill, move, lists and words ----------------------------------------------------------- */

TEST_F(NoFault, MovesThatDoNotOverlapAreCopies)
{
	char text[] = "abcdefgh....";

	EXPECT_FALSE(hf_move_is_down(text + 4, text, 4));
	EXPECT_FALSE(hf_move_is_down(text, text, 4));
	EXPECT_TRUE(hf_move_is_down(text + 3, text, 4));
	EXPECT_EQ(hf_move_nofault(text + 4, text, 4), 0u);
	EXPECT_STREQ(text, "abcdabcd....");
	EXPECT_EQ(hf_move_nofault(text, text, sizeof(text)), 0u);
	EXPECT_STREQ(text, "abcdabcd....");
	EXPECT_EQ(hf_move_nofault(nullptr, nullptr, 0), 0u);
}

// A length that wraps around the address space, like a negative number. The kernel's half of the
// address space lies in between: an upward operation stops at the end of the page, a downward one
// does nothing.
TEST_F(NoFault, ALengthThatWrapsAroundTouchesNothingElse)
{
	Edge p(PROT_READ | PROT_WRITE);
	char *src = p.edge - 100, byte = 0;
	std::string before;
	hf_iovec to = { &byte, 1 };
	std::vector<size_t> sizes;
	size_t at;

	p.protect(PROT_NONE);
	for (size_t i = 0; i < page; i++)
		p.start[i] = static_cast<char>(1 + i % 250);
	before.assign(p.start, page);
	for (size_t k = 0; k < 70; k++) {
		sizes.push_back(SIZE_MAX - k);
		sizes.push_back(SIZE_MAX - reinterpret_cast<uintptr_t>(src) - 64 + 2 * k);
	}
	for (size_t size : sizes) {
		for (ptrdiff_t distance : { -64, -8, -1, 1, 8, 64 }) {
			char *dst = src + distance;
			bool down = distance > 0;
			size_t done = down ? 0 : 100;

			bool wraps = size > -reinterpret_cast<uintptr_t>(dst);
			if (down && !wraps)
				continue; // its last byte is the kernel's
			ASSERT_EQ(hf_move_is_down(dst, src, size), down);
			ASSERT_EQ(size - hf_move_nofault(dst, src, size), done) << distance;
			ASSERT_EQ(std::string(dst, done), before.substr(page - 100, done));
			ASSERT_EQ(std::string(p.start, dst), before.substr(0, dst - p.start));
			memcpy(p.start, before.data(), page);
		}
		ASSERT_EQ(size - hf_copy_nofault(src - 500, src, size), 100u);
		ASSERT_EQ(std::string(src - 500, 100), before.substr(page - 100));
		memcpy(p.start, before.data(), page);
#if !(defined(__aarch64__) && defined(HF_EMULATED)) /* qemu-user's fault of DC ZVA is elsewhere */
		ASSERT_EQ(size - hf_clear_nofault(src, size), 100u);
#endif
		ASSERT_EQ(size - hf_fill_nofault(src, 9, size), 100u);
		ASSERT_EQ(std::string(p.start, src), before.substr(0, page - 100));
		memcpy(p.start, before.data(), page);
		ASSERT_EQ(hf_find_nofault(src, 0, size, &at), -HF_EFAULT);
		ASSERT_EQ(at, 100u);
		ASSERT_EQ(hf_compare_nofault(src, src, size, &at), -HF_EFAULT);
		ASSERT_EQ(at, 100u);
		ASSERT_EQ(hf_length_nofault(src, size, &at), -HF_EFAULT);
		ASSERT_EQ(hf_strncpy_nofault(p.start, src, size), -HF_EFAULT);
		ASSERT_EQ(std::string(p.start, 100), before.substr(page - 100));
		memcpy(p.start, before.data(), page);
		ASSERT_EQ(size - hf_copy_nofault_words(p.edge - 104, p.edge - 96, size), 12u);
		memcpy(p.start, before.data(), page);
		// The sum of the lengths overflows: EINVAL, as with readv().
		hf_iovec from = { src, size },
			 twice[2] = { { src, size / 2 + 1 }, { src, size / 2 + 1 } };
		hf_iovec_stop stop = { 7, 7, 7, 7, 7 };
		ASSERT_EQ(hf_copy_iovec_nofault(&to, 1, &from, 1, &stop), -HF_EINVAL);
		ASSERT_EQ(stop.done + stop.dst + stop.src + byte, 0u);
		ASSERT_EQ(hf_copy_iovec_nofault(&from, 1, &to, 1, nullptr), -HF_EINVAL);
		ASSERT_EQ(hf_copy_iovec_nofault(&to, 1, twice, 2, nullptr), -HF_EINVAL);
	}
	EXPECT_EQ(std::string(p.start, page), before);
}

/* Two pages, the first of which can't be written: nothing behind the fault may be touched. */
TEST_F(NoFault, AListTouchesNothingBehindTheFault)
{
	Edge e;
	char bytes[64] = {};

	for (size_t size = 1; size <= sizeof(bytes); size++) {
		for (size_t before = 1; before <= size; before++) {
			hf_iovec to = { e.behind - before, size }, from = { bytes, size };

			ASSERT_EQ(hf_copy_iovec_nofault(&to, 1, &from, 1, nullptr),
				  static_cast<long>(size));
			ASSERT_EQ(std::string(e.behind, sizeof(bytes)),
				  std::string(sizeof(bytes), 'x'));
		}
	}
}

TEST_F(NoFault, WordsAreNotTorn)
{
	alignas(64) static std::array<std::atomic<uint64_t>, 64> shared;
	std::array<uint64_t, 64> copy{};
	std::atomic<bool> stop{ false };
	uint64_t torn = 0;
	std::thread writer([&] {
		for (uint64_t i = 0; !stop; i++) {
			for (auto &word : shared)
				word.store(i % 2 ? ~uint64_t(0) : 0, std::memory_order_relaxed);
		}
	});

	for (int i = 0; i < 2000; i++) {
		ASSERT_EQ(hf_copy_nofault_words(copy.data(), &shared, copy.size()), 0u);
		for (uint64_t word : copy)
			torn += word != 0 && word != ~uint64_t(0);
	}
	stop = true;
	writer.join();
	EXPECT_EQ(torn, 0u);
}

TEST_F(NoFault, ExchangeAndAddLoseNothing)
{
	uint64_t sum = 0;

	unit::run_threads(4, [&](int) {
		uint64_t found;

		for (int i = 0; i < 20000; i++)
			EXPECT_EQ(hf_fetch_add64_nofault(&sum, 3, &found), 0);
	});
	EXPECT_EQ(sum, 4u * 20000 * 3);
}

/* ---- the environment ------------------------------------------------------------------------- */

// What a test prints in a new process with this variable in its environment.
std::string output_at_start(const char *variable, const char *value, const char *test)
{
	unit::outcome outcome =
		unit::start_alone(std::string("NoFaultStart.") + test, variable, value);

	return outcome.status == 0 ? outcome.err : "can't start";
}

#if HF_ARCH_HAS_REP
/*
 * Prints which of the CPU features that select an implementation are not hidden, and whether the
 * default works with them.
 */
TEST(NoFaultStart, FeaturesAre)
{
	char from[1000] = { 1 }, to[1000] = {};
	size_t left = hf_copy_nofault(to, from, sizeof(to)) + hf_clear_nofault(from, sizeof(from));

	std::cerr << "erms=" << hf_detail_cpu_has(HF_DETAIL_CPU_ERMS)
		  << " avx2=" << hf_detail_cpu_has(HF_DETAIL_CPU_AVX2)
		  << " avx512f=" << hf_detail_cpu_has(HF_DETAIL_CPU_AVX512F)
		  << " avx512vl=" << hf_detail_cpu_has(HF_DETAIL_CPU_AVX512VL) << " left=" << left
		  << " right=" << (to[0] == 1 && from[0] == 0) << "\n";
}

TEST(NoFaultStart, TheEnvironmentHidesFeatures)
{
	const char *variable = "HOLDFAST_CPU_WITHOUT";
	auto line = [](bool erms, bool avx2, bool avx512f, bool avx512vl) {
		std::ostringstream text;

		text << "erms=" << erms << " avx2=" << avx2 << " avx512f=" << avx512f
		     << " avx512vl=" << avx512vl << " left=0 right=1\n";
		return text.str();
	};
	/* All that the processor has: the environment of this test may hide some. */
	std::string all = output_at_start(variable, "", "FeaturesAre");
	auto has = [&](const char *name) {
		return all.find(name + std::string("=1")) != std::string::npos;
	};
	bool erms = has("erms"), avx2 = has("avx2"), wide = has("avx512f"), vl = has("avx512vl");

	EXPECT_EQ(all, line(erms, avx2, wide, vl));
	EXPECT_EQ(output_at_start(variable, "avx512vl", "FeaturesAre"),
		  line(erms, avx2, wide, false));
	EXPECT_EQ(output_at_start(variable, "avx512f", "FeaturesAre"),
		  line(erms, avx2, false, false));
	EXPECT_EQ(output_at_start(variable, "erms,avx2", "FeaturesAre"),
		  line(false, false, false, false));
	EXPECT_EQ(output_at_start(variable, "avx,erms", "FeaturesAre"),
		  "holdfast: HOLDFAST_CPU_WITHOUT=avx,erms: not all of these are known; see "
		  "holdfast/internal/cpu_feature.h\n" +
			  line(false, avx2, wide, vl));
}

TEST(Cpu, AgreesWithTheKernel)
{
	if (std::getenv("HOLDFAST_CPU_WITHOUT"))
		GTEST_SKIP() << "HOLDFAST_CPU_WITHOUT hides features";
	std::ifstream file("/proc/cpuinfo");
	std::string line, flags;

	while (std::getline(file, line)) {
		if (line.rfind("flags", 0) == 0)
			flags = line.substr(line.find(':') + 1) + " ";
	}
	if (flags.empty())
		GTEST_SKIP() << "no flags in /proc/cpuinfo";
	auto has = [&](const char *name) { return flags.find(name) != std::string::npos; };

	EXPECT_EQ(hf_detail_cpu_has(HF_DETAIL_CPU_ERMS), has(" erms "));
	EXPECT_EQ(hf_detail_cpu_has(HF_DETAIL_CPU_FSRM), has(" fsrm "));
	EXPECT_EQ(hf_detail_cpu_has(HF_DETAIL_CPU_AVX2), has(" avx2 "));
	EXPECT_EQ(hf_detail_cpu_has(HF_DETAIL_CPU_AVX512F), has(" avx512f "));
	EXPECT_EQ(hf_detail_cpu_has(HF_DETAIL_CPU_REP_GOOD), has(" rep_good "));
	EXPECT_STRNE(hf_detail_cpu_known().vendor, "");
	EXPECT_NE(hf_detail_cpu_known().family, 0u);
}
#endif

} // namespace
