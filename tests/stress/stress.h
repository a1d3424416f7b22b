/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_STRESS_H
#define HF_TESTS_STRESS_H
/*
 * stress - what the stress tests share.
 *
 * Most tests are bounded by time: under an emulator or a sanitizer, or on a busy machine, they do
 * less. Each prints and checks the number of operations; 0 is a failure.
 */
#include <array>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <sched.h>
#include <unistd.h>

#include "holdfast/report.h"

#if defined(__clang__)
/* The tests lock through macros and pointers: the analysis can't follow. */
#pragma clang diagnostic ignored "-Wthread-safety-analysis"
#endif

namespace stress
{

inline std::atomic<unsigned int> failures(0);

/*
 * Prints the failure, and makes main() fail. Only the first few are printed: a race may fail a
 * million times.
 */
__attribute__((format(printf, 3, 4))) inline bool check(bool ok, const char *where,
							const char *format, ...)
{
	va_list arguments;

	if (ok || failures++ >= 20)
		return ok;
	std::printf("FAILED %s: ", where);
	va_start(arguments, format);
	std::vprintf(format, arguments);
	va_end(arguments);
	std::printf("\n");
	std::fflush(stdout);
	return ok;
}

#ifdef HF_EMULATED
const int SHARE = 2; /* an emulator shows no other reordering than the host: run half as long */
#else
const int SHARE = 1;
#endif

class deadline {
public:
	explicit deadline(int milliseconds)
		: end_(std::chrono::steady_clock::now() +
		       std::chrono::milliseconds(milliseconds / SHARE))
	{
	}
	bool passed() const { return std::chrono::steady_clock::now() >= end_; }

private:
	std::chrono::steady_clock::time_point end_;
};

/* A reusable barrier: no thread continues before all have arrived. */
class barrier {
public:
	explicit barrier(int threads) : threads_(threads) {}
	void wait()
	{
		unsigned int round = round_.load();

		if (arrived_.fetch_add(1) + 1 == threads_) {
			arrived_ = 0;
			round_++;
			return;
		}
		while (round_.load() == round)
			sched_yield();
	}

private:
	const int threads_;
	std::atomic<int> arrived_{ 0 };
	std::atomic<unsigned int> round_{ 0 };
};

/* Runs f(0) to f(n - 1) in one thread each; none starts before all threads exist. */
template <class F>
void run_threads(int n, F f)
{
	barrier start(n);
	std::vector<std::thread> threads;

	for (int i = 0; i < n; i++) {
		threads.emplace_back([&start, &f, i] {
			start.wait();
			f(i);
		});
	}
	for (auto &thread : threads)
		thread.join();
}

/* A cheap random number generator, one per thread. */
class random {
public:
	explicit random(int seed) : state_(0x9e3779b9u * uint32_t(seed + 1)) {}
	uint32_t below(uint32_t n)
	{
		state_ ^= state_ << 13;
		state_ ^= state_ >> 17;
		state_ ^= state_ << 5;
		return uint32_t(uint64_t(state_) * n >> 32);
	}

private:
	uint32_t state_;
};

/* Counts of a thread; each test has its own indices. */
template <size_t N>
using counts = std::array<uint64_t, N>;

/* The sums over all threads. */
template <size_t N>
class totals {
public:
	void add(const counts<N> &n)
	{
		std::lock_guard<std::mutex> guard(lock_);

		for (size_t i = 0; i < N; i++)
			sum_[i] += n[i];
	}
	uint64_t operator[](size_t i) const { return sum_[i]; }
	const counts<N> &get() const { return sum_; }

private:
	std::mutex lock_;
	counts<N> sum_{};
};

/* Each thread calls f(its number, random numbers, its counts) until the end. Returns the sums. */
template <size_t N, class F>
counts<N> run_for(int threads, int milliseconds, F f)
{
	totals<N> sum;

	run_threads(threads, [&](int me) {
		deadline end(milliseconds);
		random random(me);
		counts<N> mine{};

		do {
			f(me, random, mine);
		} while (!end.passed());
		sum.add(mine);
	});
	return sum.get();
}

/* Checks that two counts are equal. */
inline void same(uint64_t a, const char *of_a, uint64_t b, const char *of_b, const char *where)
{
	check(a == b, where, "%" PRIu64 " %s, %" PRIu64 " %s", a, of_a, b, of_b);
}

/* Prints one line of what was done; fails if that is nothing. */
inline void did(const char *who, const char *what, uint64_t operations,
		std::initializer_list<std::pair<const char *, uint64_t>> more = {})
{
	std::printf("%-26s %-22s %12" PRIu64 " operations", who, what, operations);
	for (const auto &one : more)
		std::printf(", %" PRIu64 " %s", one.second, one.first);
	std::printf("\n");
	std::fflush(stdout);
	check(operations > 0, who, "%s: nothing was done", what);
}

inline void no_reports(const char *who)
{
	for (int kind = 0; kind < HF_REPORT_KINDS; kind++) {
		uint32_t n = hf_report_count(static_cast<enum hf_report_kind>(kind));

		check(n == 0, who, "%u reports of good use: %s", n,
		      hf_report_text(static_cast<enum hf_report_kind>(kind)));
	}
}

/* main() calls this first: a broken lock may hang the test. */
inline void begin()
{
	alarm(900);
}

/* main()'s last line. */
inline int result()
{
	if (failures > 0)
		std::printf("%u checks failed\n", failures.load());
	return failures > 0 ? 1 : 0;
}

} // namespace stress

#endif
