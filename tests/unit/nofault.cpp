// SPDX-License-Identifier: MIT
// nofault: strings, the last fault, choosing, calibration, spans. (Words: the battery; the rest: the sweeps.)
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "holdfast/internal/cpu.h"
#include "holdfast/nofault.h"

#include "../../lab/variants/nofault/implementations.h"
namespace
{

const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));

// A good page, then one that is not.
struct Edge {
	explicit Edge(int protection = PROT_NONE)
	{
		start = static_cast<char *>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE,
						 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
		edge = start + page;
		memset(start, 'x', 2 * page);
		EXPECT_EQ(mprotect(edge, page, protection), 0);
	}
	~Edge() { munmap(start, 2 * page); }
	char *start, *edge;
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

TEST_F(NoFault, TheLastFaultIsTold)
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
			// No room for the end, or for one byte more.
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

TEST_F(NoFault, ChoosingByName)
{
	size_t count;
	const hf_variant_clear *clear = hf_variant_clears(&count);

	for (size_t i = 0; i < count; i++) {
		int result = hf_variant_clear_choose(clear[i].name);

		EXPECT_EQ(result, clear[i].is_legal() ? 0 : -ENOTSUP) << clear[i].name;
		if (!result) {
			EXPECT_STREQ(hf_variant_clear_chosen(), clear[i].name);
		}
		std::vector<char> bytes(3000, 'x');
		EXPECT_EQ(hf_clear_nofault(bytes.data() + 1, 2000), 0u);
		EXPECT_EQ(bytes[0], 'x');
		EXPECT_EQ(bytes[2000], 0);
		EXPECT_EQ(bytes[2001], 'x');
	}
	const hf_variant_copy *copy = hf_variant_copies(&count);

	for (size_t i = 0; i < count; i++) {
		int result = hf_variant_copy_choose(copy[i].name);

		EXPECT_EQ(result, copy[i].is_legal() ? 0 : -ENOTSUP) << copy[i].name;
		if (!result) {
			EXPECT_STREQ(hf_variant_copy_chosen(), copy[i].name);
		}
		std::vector<char> from(3000, 'y'), to(3000, 'x');
		EXPECT_EQ(hf_copy_nofault(to.data() + 1, from.data(), 2000), 0u);
		EXPECT_EQ(to[0], 'x');
		EXPECT_EQ(to[2000], 'y');
		EXPECT_EQ(to[2001], 'x');
	}
	EXPECT_EQ(hf_variant_clear_choose("generic"), 0);
	EXPECT_EQ(hf_variant_clear_choose("no such"), -EINVAL);
	EXPECT_EQ(hf_variant_copy_choose(""), -EINVAL);
	EXPECT_STREQ(hf_variant_clear_chosen(), "generic");
	EXPECT_EQ(hf_variant_clear_choose(nullptr), 0);
	EXPECT_STREQ(hf_variant_clear_chosen(), "default");
#if HF_ARCH_HAS_REP
	EXPECT_EQ(hf_variant_copy_choose("vector"), 0);
	EXPECT_STREQ(hf_variant_copy_chosen(), hf_cpu_has_avx512f() ? "vector_avx512"
					       : hf_cpu_has_avx2()  ? "vector_avx2"
								    : "vector_sse2");
#endif
}

// What an implementation leaves in registers must not reach the code around its call.
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

TEST_F(NoFault, CalibrationLeavesARightDefault)
{
	int result = hf_nofault_calibrate();

#if HF_ARCH_HAS_REP
	EXPECT_TRUE(result == 0 || result == -EAGAIN) << result;
#else
	EXPECT_EQ(result, -ENOTSUP);
#endif
	EXPECT_STREQ(hf_variant_clear_chosen(), "default");
	Edge e;

	for (size_t size : { size_t(1), size_t(40), size_t(300), page }) {
		EXPECT_EQ(hf_clear_nofault(e.edge - size, size + 17), 17u);
		EXPECT_EQ(std::string(e.edge - size, size), std::string(size, 0));
		std::vector<char> to(2 * page);
		EXPECT_EQ(hf_copy_nofault(to.data(), e.edge - size, size + 17), 17u);
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

	struct View {
		uint64_t *p;
		size_t n;
		uint64_t *data() const { return p; }
		size_t size() const { return n; }
	};
	Edge e;

	EXPECT_EQ(hf::clear_nofault(View{ reinterpret_cast<uint64_t *>(e.edge - 16), 5 }), 24u);
}

// The output of a child process that is started with this environment; it ends at once.
std::string said_at_start(const char *variable, const char *value, const char *test = "ChoiceIs")
{
	int ends[2];
	EXPECT_EQ(pipe(ends), 0);
	pid_t child = fork();

	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		close(STDOUT_FILENO);
		setenv(variable, value, 1);
		std::string filter = std::string("--gtest_filter=NoFaultStart.") + test;
		execl("/proc/self/exe", "unit_tests", filter.c_str(), nullptr);
		_exit(9);
	}
	close(ends[1]);
	std::string said;
	char buffer[256];

	for (ssize_t n; (n = read(ends[0], buffer, sizeof(buffer))) > 0;)
		said.append(buffer, static_cast<size_t>(n));
	close(ends[0]);
	int status = 0;
	waitpid(child, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) == 9)
		return "can't start";
	return said;
}

TEST(NoFaultStart, ChoiceIs)
{
	std::cerr << "clear=" << hf_variant_clear_chosen() << " copy=" << hf_variant_copy_chosen()
		  << "\n";
}

TEST(NoFaultStart, TheEnvironmentForcesOne)
{
	std::string said = said_at_start("HOLDFAST_CLEAR", "generic");

	if (said == "can't start")
		GTEST_SKIP() << "an emulated program can't start itself";
	EXPECT_EQ(said, "clear=generic copy=default\n");
	EXPECT_EQ(said_at_start("HOLDFAST_COPY", "generic"), "clear=default copy=generic\n");
}

#if HF_ARCH_HAS_REP
/* What is left of the features that decide, and whether the default gets on with that. */
TEST(NoFaultStart, FeaturesAre)
{
	char from[1000] = { 1 }, to[1000] = {};
	size_t left = hf_copy_nofault(to, from, sizeof(to)) + hf_clear_nofault(from, sizeof(from));

	std::cerr << "erms=" << hf_cpu_has_erms() << " avx2=" << hf_cpu_has_avx2()
		  << " avx512f=" << hf_cpu_has_avx512f() << " avx512vl=" << hf_cpu_has_avx512vl()
		  << " left=" << left << " right=" << (to[0] == 1 && from[0] == 0) << "\n";
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
	bool erms = hf_cpu_has_erms(), avx2 = hf_cpu_has_avx2(), wide = hf_cpu_has_avx512f();

	EXPECT_EQ(said_at_start(variable, "avx512vl", "FeaturesAre"),
		  line(erms, avx2, wide, false));
	EXPECT_EQ(said_at_start(variable, "avx512f", "FeaturesAre"),
		  line(erms, avx2, false, false));
	EXPECT_EQ(said_at_start(variable, "erms,avx2", "FeaturesAre"),
		  line(false, false, false, false));
	EXPECT_EQ(said_at_start(variable, "avx,erms", "FeaturesAre"),
		  "holdfast: HOLDFAST_CPU_WITHOUT=avx,erms: not all of these are known; see "
		  "holdfast/internal/cpu.h\n" +
			  line(false, avx2, wide, hf_cpu_has_avx512vl()));
}

TEST(Cpu, AgreesWithTheKernel)
{
	std::ifstream file("/proc/cpuinfo");
	std::string line, flags;

	while (std::getline(file, line)) {
		if (line.rfind("flags", 0) == 0)
			flags = line.substr(line.find(':') + 1) + " ";
	}
	if (flags.empty())
		GTEST_SKIP() << "no flags in /proc/cpuinfo";
	EXPECT_EQ(hf_cpu_has_erms(), flags.find(" erms ") != std::string::npos);
	EXPECT_EQ(hf_cpu_has_fsrm(), flags.find(" fsrm ") != std::string::npos);
	EXPECT_EQ(hf_cpu_has_avx2(), flags.find(" avx2 ") != std::string::npos);
	EXPECT_EQ(hf_cpu_has_avx512f(), flags.find(" avx512f ") != std::string::npos);
	EXPECT_EQ(hf_cpu_has_rep_good(), flags.find(" rep_good ") != std::string::npos);
	EXPECT_STRNE(hf_cpu_vendor(), "");
	EXPECT_NE(hf_cpu_family(), 0u);
}
#endif

TEST(Cpu, FeaturesOfOtherProcessorsAreAbsent)
{
#if HF_ARCH_HAS_REP
	EXPECT_FALSE(hf_cpu_has_lse());
	EXPECT_FALSE(hf_cpu_has_mops());
	EXPECT_EQ(hf_cpu_zva_size(), 0u);
#else
	EXPECT_FALSE(hf_cpu_has_erms());
	EXPECT_FALSE(hf_cpu_has_avx2());
	EXPECT_STREQ(hf_cpu_vendor(), "");
#endif
}

} // namespace
