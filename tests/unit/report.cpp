/* SPDX-License-Identifier: MIT */
/* report - reports of a process: lines on standard error, the summary at exit, HOLDFAST_REPORT. */
#include "unit.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "holdfast/refcount.h"

namespace
{

using unit::in_child;

/* What f() prints to standard error. */
template <class F>
std::string printed(F f)
{
	testing::internal::CaptureStderr();
	f();
	return testing::internal::GetCapturedStderr();
}

/* The same without the call sites; a line that lacks one gets NO SITE. */
template <class F>
std::string printed_without_sites(F f)
{
	std::istringstream lines(printed(f));
	std::string text;

	for (std::string line; std::getline(lines, line);) {
		size_t site = line.find("; at 0x");

		text += line.substr(0, site) + (site == line.npos ? " NO SITE\n" : "\n");
	}
	return text;
}

std::string line_for(enum hf_report_kind kind, const void *object)
{
	char line[200];

	std::snprintf(line, sizeof(line), "holdfast: 0x%lx: %s\n",
		      reinterpret_cast<unsigned long>(object), hf_report_text(kind));
	return line;
}

class Report : public testing::Test {
protected:
	void SetUp() override
	{
		hf_report_set_mode(HF_REPORT_MODE_WARN);
		hf_report_set_handler(nullptr, nullptr);
		hf_report_reset();
	}
	void TearDown() override { SetUp(); }
};

TEST_F(Report, EveryKindHasALine)
{
	const uintptr_t addresses[] = { 0, 0xf, 0x10, 0xabcdef0123456789, UINTPTR_MAX };

	for (int i = 0; i < HF_REPORT_KINDS; i++) {
		auto kind = static_cast<enum hf_report_kind>(i);
		auto *object = reinterpret_cast<const void *>(addresses[i % std::size(addresses)]);

		EXPECT_EQ(printed_without_sites([&] { hf_report(kind, object); }),
			  line_for(kind, object));
	}
}

/* Cold, so that compilers keep the misuse inside; no tail call, so that the site is inside, too. */
__attribute__((cold, noinline)) int misuse(hf_refcount_t *r)
{
	hf_refcount_inc(r);
	return hf_refcount_read(r);
}

__attribute__((cold, noinline)) int report_it(const void *object)
{
	hf_report(HF_REPORT_ADD_UAF, object);
	return *static_cast<const volatile char *>(object);
}

template <class Function>
bool is_inside(const void *site, Function *function)
{
	return uintptr_t(site) - reinterpret_cast<uintptr_t>(function) < 4096;
}

TEST_F(Report, TheSiteIsTheCall)
{
	struct hf_report_details seen = {};
	hf_refcount_t r = HF_REFCOUNT_INIT(0);

	hf_report_set_details_handler(
		[](const struct hf_report_details *details, void *data) {
			*static_cast<struct hf_report_details *>(data) = *details;
		},
		&seen);
	misuse(&r);
	EXPECT_EQ(seen.kind, HF_REPORT_ADD_UAF);
	EXPECT_EQ(seen.object, &r);
	EXPECT_TRUE(is_inside(seen.site, misuse)) << seen.site;
	EXPECT_EQ(seen.other, nullptr);
	EXPECT_EQ(seen.other_site, nullptr);

	hf_report_reset();
	report_it(&r);
	EXPECT_TRUE(is_inside(seen.site, report_it)) << seen.site;

	/* One handler: the other setter replaces this one. */
	seen = {};
	hf_report_set_handler([](enum hf_report_kind, const void *, void *) {}, nullptr);
	hf_report_reset();
	misuse(&r);
	EXPECT_EQ(seen.object, nullptr);
}

/* The line has the object file's path and the offset in it, as addr2line takes them. */
TEST_F(Report, TheSiteHasItsObject)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(0);
	void *site = nullptr;
	unsigned long offset = 0;
	Dl_info info;

	std::string line = printed([&] {
		errno = 77;
		misuse(&r);
		EXPECT_EQ(errno, 77);
	});
	size_t at = line.find("; at 0x"), name = line.rfind('/'), plus = line.rfind("+0x");
	ASSERT_TRUE(at < name && name < plus && plus < line.npos) << line;
	EXPECT_EQ(std::sscanf(&line[at], "; at %p (/", &site), 1);
	EXPECT_EQ(line.substr(name + 1, plus - name - 1), program_invocation_short_name);
	EXPECT_EQ(std::sscanf(&line[plus], "+%lx)", &offset), 1);
	EXPECT_EQ(line.substr(line.size() - 2), ")\n");
	EXPECT_TRUE(is_inside(site, misuse));
	ASSERT_TRUE(dladdr(site, &info));
	EXPECT_EQ(offset, uintptr_t(site) - uintptr_t(info.dli_fbase));
}

/* Where no file can be opened, the line lacks the object file. */
TEST_IN_CHILD_UNLESS(Report, TheSiteWithoutItsObject, 0, unit::asan,
		     "AddressSanitizer ends a program that has no descriptors")
{
	hf_refcount_t r = HF_REFCOUNT_INIT(0);
	struct rlimit limit;
	std::string line = line_for(HF_REPORT_ADD_UAF, &r);

	getrlimit(RLIMIT_NOFILE, &limit);
	std::string all = printed([&] {
		struct rlimit none = { 0, limit.rlim_max };

		setrlimit(RLIMIT_NOFILE, &none);
		misuse(&r);
		setrlimit(RLIMIT_NOFILE, &limit);
	});
	line.back() = ';';
	EXPECT_EQ(all.compare(0, line.size(), line), 0) << all;
	EXPECT_EQ(all.find('('), std::string::npos) << all;
}

TEST_F(Report, ThreadsAreCountedAndReportedOnce)
{
	unit::reports reports;

	unit::run_threads(4, [](int) {
		for (int i = 0; i < 1000; i++)
			hf_report(HF_REPORT_ADD_OVF, nullptr);
	});
	EXPECT_EQ(hf_report_count(HF_REPORT_ADD_OVF), 4000u);
	EXPECT_EQ(reports.calls(), 1u);
}

hf_refcount_t misused_in_handler = HF_REFCOUNT_INIT(0);

TEST_F(Report, FromASignalHandler)
{
	unit::handler handler(SIGUSR1, [](int) { hf_refcount_inc(&misused_in_handler); });

	EXPECT_EQ(printed_without_sites([] { raise(SIGUSR1); }),
		  line_for(HF_REPORT_ADD_UAF, &misused_in_handler));
}

/* Standard error has no reader: the report must neither block nor kill the process. */
TEST_IN_CHILD(Report, StandardErrorIsClosed, 0)
{
	close(STDERR_FILENO);
	hf_report(HF_REPORT_ADD_OVF, nullptr);
	MUST(hf_report_count(HF_REPORT_ADD_OVF) == 1);
}

using ReportDeathTest = Report;

void handler_was_here(enum hf_report_kind, const void *, void *)
{
	std::fputs("the handler was here\n", stderr);
}

/* Also for a kind that was reported before. The handler is called first. */
TEST_F(ReportDeathTest, AbortModeReportsAndAborts)
{
	(void)printed([] { hf_report(HF_REPORT_ADD_OVF, nullptr); });
	hf_report_set_mode(HF_REPORT_MODE_ABORT);
	for (enum hf_report_kind kind : { HF_REPORT_ADD_UAF, HF_REPORT_ADD_OVF })
		EXPECT_EXIT(hf_report(kind, nullptr), testing::KilledBySignal(SIGABRT),
			    std::string("holdfast: 0x0: ") + hf_report_text(kind));
	hf_report_set_handler(handler_was_here, nullptr);
	EXPECT_EXIT(hf_report(HF_REPORT_ADD_OVF, nullptr), testing::KilledBySignal(SIGABRT),
		    "the handler was here");
}

/* ---- HOLDFAST_REPORT, which is read when the program starts --------------------------------- */

/* Misuses a count in a new process. Its end prints a summary; that of its child must not. */
TEST(ReportStart, MisuseTwice)
{
	if (!std::getenv("HOLDFAST_UNIT_CHILD"))
		return;
	hf_refcount_t r = HF_REFCOUNT_INIT(0);

	hf_refcount_inc(&r);
	hf_refcount_set(&r, 0);
	hf_refcount_inc(&r);
	std::printf("counted %u;", unsigned(hf_report_count(HF_REPORT_ADD_UAF)));
	std::fflush(stdout);
	if (std::string(std::getenv("HOLDFAST_UNIT_CHILD")) == "_exit")
		_exit(0);
	pid_t child = fork();

	if (child > 0)
		waitpid(child, nullptr, 0);
	std::exit(0);
}

/* @value: HOLDFAST_REPORT's value; nullptr = unset. @how: the child ends by this function. */
unit::outcome run_with(const char *value, const char *how)
{
	return unit::run_process([=] {
		if (value)
			setenv("HOLDFAST_REPORT", value, 1);
		else
			unsetenv("HOLDFAST_REPORT");
		unit::exec_test("ReportStart.MisuseTwice", "HOLDFAST_UNIT_CHILD", how);
	});
}

bool has_line(const std::string &text)
{
	return text.find("holdfast: 0x") != std::string::npos &&
	       text.find(hf_report_text(HF_REPORT_ADD_UAF)) != std::string::npos;
}

/* How a child ends and what it prints; only its first misuse has a line. */
TEST(ReportEnvironment, Modes)
{
	const std::string more = std::string("holdfast: 1 more, not shown: ") +
				 hf_report_text(HF_REPORT_ADD_UAF) + "\n";
	const struct {
		const char *value, *how;
		int status;
		const char *out;
		bool line, summary, complaint; /* on standard error */
	} rows[] = {
		{ nullptr, "_exit", 0, "counted 2;", true, false, false },
		{ "", "_exit", 0, "counted 2;", true, false, false },
		{ "warn", "_exit", 0, "counted 2;", true, false, false },
		{ "warn", "exit", 0, "counted 2;", true, true, false },
		{ "count", "_exit", 0, "counted 2;", false, false, false },
		{ "count", "exit", 0, "counted 2;", false, false, false },
		{ "quiet", "_exit", 0, "counted 0;", false, false, false },
		{ "quiet", "exit", 0, "counted 0;", false, false, false },
		{ "abort", "_exit", SIGABRT, "", true, false, false },
		{ "shout", "_exit", 0, "counted 2;", true, false, true },
		{ "Abort", "_exit", 0, "counted 2;", true, false, true },
		{ "warn,count", "_exit", 0, "counted 2;", true, false, true },
		{ "warn ", "_exit", 0, "counted 2;", true, false, true },
	};

	for (const auto &row : rows) {
		unit::outcome outcome = run_with(row.value, row.how);

		if (outcome.status == unit::CANT_START)
			GTEST_SKIP() << "an emulated program can't start itself";
		std::string name = row.value ? row.value : "";
		size_t summary = outcome.err.find(more);

		SCOPED_TRACE(name + ", " + row.how + ": " + outcome.err);
		/* A program may also leave a core. */
		EXPECT_EQ(outcome.status & 0x7f, row.status);
		EXPECT_EQ(outcome.status >> 8, 0);
		EXPECT_EQ(outcome.out.substr(
				  std::min(outcome.out.find("counted"), outcome.out.size())),
			  row.out);
		EXPECT_EQ(has_line(outcome.err), row.line);
		EXPECT_EQ(outcome.err.empty(), !row.line);
		EXPECT_EQ(summary != std::string::npos, row.summary);
		EXPECT_EQ(outcome.err.find("not shown", summary + 30), std::string::npos);
		EXPECT_EQ(outcome.err.find("HOLDFAST_REPORT=" + name) != std::string::npos,
			  row.complaint);
		EXPECT_EQ(outcome.err.find("warn, abort, count, quiet") != std::string::npos,
			  row.complaint);
	}
}

} // namespace
