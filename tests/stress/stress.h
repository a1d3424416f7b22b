/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_STRESS_H
#define HF_TESTS_STRESS_H
/*
 * stress - what the stress tests share.
 *
 * All are bounded in time and not in operations: under an emulator or a sanitizer, or on a busy
 * machine, they do less. What they did they print and check; doing nothing is a failure.
 */
#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include <sched.h>
#include <unistd.h>

#include "holdfast/report.h"

#if defined(__clang__)
/* Locks are taken through macros and pointers here, and misused on purpose: it could not follow. */
#pragma clang diagnostic ignored "-Wthread-safety-analysis"
#endif

namespace stress
{

inline std::atomic<unsigned int> failures(0);

/* Prints the failure, and makes main() fail. The first few times: a race fails a million times. */
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
const int SHARE = 2; /* it shows no order that the host wouldn't: less to wait for */
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

/* All threads come here before any goes on. To be used again and again. */
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

/* Runs f(0) to f(n - 1), each in a thread, from the moment when all of them are there. */
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

/* A sequence of its own for each thread, and cheap. */
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

/* One line of what was done. Nothing done is a failure. */
inline void did(const char *who, const char *what, uint64_t operations, const char *more = "")
{
	std::printf("%-26s %-22s %12llu operations%s\n", who, what,
		    static_cast<unsigned long long>(operations), more);
	std::fflush(stdout);
	check(operations > 0, who, "%s: nothing was done", what);
}

/* main()'s first line: a lock that is broken hangs. */
inline void begin()
{
	alarm(200);
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
