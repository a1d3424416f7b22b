/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_UNIT_H
#define HF_TESTS_UNIT_H
/* unit - shared by the unit tests: recorded reports, threads, time, signals, child processes. */
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <type_traits>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

#include <cxxabi.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "holdfast/internal/env.h"
#include "holdfast/report.h"

#if defined(__clang__)
/*
 * The tests lock through macros and pointers, and misuse locks on purpose: the analysis can't
 * follow.
 */
#pragma clang diagnostic ignored "-Wthread-safety-analysis"
#endif

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace unit
{

#ifdef HF_EMULATED
inline constexpr bool emulated = true;
#else
inline constexpr bool emulated = false;
#endif
inline constexpr bool tsan = HF_TSAN;
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool asan = true;
#else
inline constexpr bool asan = false;
#endif

/*
 * Kills a test that hangs, as a broken lock does, and a child that outlives its test. Beside 8 busy
 * processes on one processor a working test takes up to 15 seconds.
 */
const unsigned int PATIENCE = 280; /* seconds: mutants may run for 300 */
class watchdog : public testing::EmptyTestEventListener {
	void OnTestStart(const testing::TestInfo &) override { alarm(PATIENCE); }
	void OnTestEnd(const testing::TestInfo &) override { alarm(0); }
};
inline const bool watched =
	(testing::UnitTest::GetInstance()->listeners().Append(new watchdog), true);

/* Records all reports during its lifetime. Only one may exist at a time. */
class reports {
public:
	reports()
	{
		hf_report_set_mode(HF_REPORT_MODE_WARN);
		hf_report_reset();
		hf_report_set_details_handler(record, this);
	}
	~reports()
	{
		hf_report_set_handler(nullptr, nullptr);
		hf_report_reset();
	}
	reports(const reports &) = delete;
	reports &operator=(const reports &) = delete;

	/* Reports of all kinds since the last reset(). */
	static uint64_t total()
	{
		uint64_t sum = 0;

		for (int kind = 0; kind < HF_REPORT_KINDS; kind++)
			sum += hf_report_count(static_cast<enum hf_report_kind>(kind));
		return sum;
	}
	/* Was there one report since the last reset(), of @kind and for @object? Resets. */
	bool one(enum hf_report_kind kind, const void *object)
	{
		bool is = total() == 1 && hf_report_count(kind) == 1 && calls_ == 1 &&
			  details_.kind == kind && details_.object == object;

		reset();
		return is;
	}
	void reset()
	{
		hf_report_reset();
		calls_ = 0;
		details_ = {};
	}
	unsigned int calls() const { return calls_; }
	/* The last report. */
	const struct hf_report_details *operator->() const { return &details_; }

private:
	static void record(const struct hf_report_details *details, void *data)
	{
		auto *self = static_cast<reports *>(data);

		self->details_ = *details;
		self->calls_++;
	}

	std::atomic<unsigned int> calls_{ 0 };
	struct hf_report_details details_ = {};
};

/* Names typed tests after their types: Spinlock/spinlock_ticket.IsLockable. */
struct type_names {
	template <class T>
	static std::string GetName(int)
	{
		int status = 0;
		char *text = abi::__cxa_demangle(typeid(T).name(), nullptr, nullptr, &status);
		std::string name = text ? text : "type";

		std::free(text);
		return name.substr(name.rfind(':') + 1);
	}
};

inline void sleep_ms(int milliseconds)
{
	std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

/* Waits until the condition is true: yields at first, sleeps later. */
template <class F>
void wait_until(F is_so)
{
	for (int i = 0; !is_so(); i++) {
		if (i < 100)
			sched_yield();
		else
			std::this_thread::sleep_for(std::chrono::microseconds(50));
	}
}

/* Runs f(0) to f(n - 1) in one thread each; none starts before all threads exist. */
template <class F>
void run_threads(int n, F f)
{
	std::atomic<int> missing(n);
	std::vector<std::thread> threads;

	for (int i = 0; i < n; i++) {
		threads.emplace_back([&missing, &f, i] {
			missing--;
			wait_until([&missing] { return missing == 0; });
			f(i);
		});
	}
	for (auto &thread : threads)
		thread.join();
}

/* Threads that start at once; join() waits for all of them. */
class thread_group {
public:
	~thread_group() { join(); }
	template <class F>
	pthread_t add(F f)
	{
		threads_.emplace_back(f);
		return threads_.back().native_handle();
	}
	void join()
	{
		for (auto &thread : threads_)
			thread.join();
		threads_.clear();
	}

private:
	std::vector<std::thread> threads_;
};

const uint64_t MS = 1000000;

inline uint64_t now_ns()
{
	return hf_env_deadline(0);
}

/* Runs f() in a child process, which exits with its result; status_of() waits for the child. */
template <class F>
pid_t start_process(F f)
{
	pid_t child = fork();

	if (child == 0) {
		alarm(PATIENCE - 40); /* before its parent */
		_exit(f());
	}
	return child;
}

inline int status_of(pid_t child)
{
	int status = -1;

	waitpid(child, &status, 0);
	return status;
}

enum { CANT_START = 9 << 8 };
struct outcome {
	int status; /* of waitpid() */
	std::string out, err;
};

/* Runs f() in a child process and returns what it printed. */
template <class F>
outcome run_process(F f)
{
	FILE *files[2] = { std::tmpfile(), std::tmpfile() };
	outcome outcome = {};

	outcome.status = status_of(start_process([&] {
		dup2(fileno(files[0]), STDOUT_FILENO);
		dup2(fileno(files[1]), STDERR_FILENO);
		f();
		return WEXITSTATUS(CANT_START);
	}));
	for (int i = 0; i < 2; i++) {
		std::rewind(files[i]);
		for (int c; (c = std::fgetc(files[i])) != EOF;)
			(i ? outcome.err : outcome.out).push_back(static_cast<char>(c));
		std::fclose(files[i]);
	}
	return outcome;
}

/* Becomes this program again, for one test and with one more variable in its environment. */
inline void exec_test(const std::string &test, const char *variable, const char *value)
{
	setenv(variable, value, 1);
	execl("/proc/self/exe", "unit_tests", ("--gtest_filter=" + test).c_str(), nullptr);
}

inline outcome start_alone(const std::string &test, const char *variable, const char *value)
{
	return run_process([&] { exec_test(test, variable, value); });
}

/* An object that child processes share. */
template <class T>
class shared_object {
public:
	shared_object()
	{
		void *memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			throw std::runtime_error("mmap");
		object_ = new (memory) T();
	}
	~shared_object() { munmap(object_, sizeof(T)); }
	shared_object(const shared_object &) = delete;
	shared_object &operator=(const shared_object &) = delete;
	T *operator->() const { return object_; }

private:
	T *object_;
};

/*
 * Interrupts the thread that created it at random moments. The timer is one-shot and rearmed by the
 * thread itself, so that the thread makes progress however long the handler takes.
 */
class interrupter {
public:
	explicit interrupter(int signal)
	{
		struct sigevent event = {};

		event.sigev_notify = SIGEV_THREAD_ID;
		event.sigev_signo = signal;
		event.sigev_notify_thread_id = static_cast<pid_t>(syscall(SYS_gettid));
		if (timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0)
			throw std::runtime_error("timer_create");
	}
	~interrupter() { timer_delete(timer_); }
	interrupter(const interrupter &) = delete;
	interrupter &operator=(const interrupter &) = delete;

	/* The thread calls this often; `fired` is how often its handler has run. */
	void arm(uint64_t fired)
	{
		struct itimerspec when = {};

		if (fired < armed_)
			return;
		armed_ = fired + 1;
		random_ = random_ * 1664525u + 1013904223u;
		when.it_value.tv_nsec = 1000 + static_cast<long>(random_ >> 16);
		timer_settime(timer_, 0, &when, nullptr);
	}

private:
	timer_t timer_;
	uint64_t armed_ = 0;
	uint32_t random_ = 1;
};

/* Installs a handler, and puts back the old one. */
class handler {
public:
	handler(int signal, void (*function)(int)) : signal_(signal)
	{
		struct sigaction action = {};

		action.sa_handler = function;
		action.sa_flags = SA_RESTART;
		sigaction(signal, &action, &old_);
	}
	~handler() { sigaction(signal_, &old_, nullptr); }
	handler(const handler &) = delete;
	handler &operator=(const handler &) = delete;

private:
	int signal_;
	struct sigaction old_;
};

/*
 * Runs body() in a child. Returns 0, 1 to 250 = the line (mod 250) of a MUST() that failed, 251 =
 * an EXPECT that failed, which the child has printed, or -n = signal n.
 */
template <typename F>
int in_child(F body)
{
	static_assert(std::is_void<decltype(body())>::value,
		      "the result of body() would be lost: use MUST()");
	int status = status_of(start_process([&] {
		body();
		std::fflush(stdout);
		return testing::Test::HasFailure() ? 251 : 0;
	}));

	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace unit

/* Ends the child if the condition is false. */
#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			_exit(__LINE__ % 250 + 1);                                                 \
	} while (0)

/* A test whose body runs in a child process through in_child(); @end: how the child must exit. */
#define TEST_IN_CHILD(suite, name, end) TEST_IN_CHILD_UNLESS(suite, name, end, false, "")
#define TEST_IN_CHILD_UNLESS(suite, name, end, skipped, why)                                       \
	static void suite##_##name();                                                              \
	TEST_F(suite, name)                                                                        \
	{                                                                                          \
		if (skipped)                                                                       \
			GTEST_SKIP() << (why);                                                     \
		EXPECT_EQ(in_child(suite##_##name), end);                                          \
	}                                                                                          \
	static void suite##_##name()

#endif
