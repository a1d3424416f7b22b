/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_WORK_HPP
#define HF_LAB_WORK_HPP
/*
 * work - what threads do inside and between critical sections, for the tables of locks.
 *
 * Work is a chain of multiplications in a register, which touches no memory. The time of a step is
 * measured once for each process, as the shortest of many tries, so that all rows do the same
 * steps.
 */
#include <cmath>
#include <cstdint>
#include <sys/resource.h>

#include "bench.hpp"

namespace lab
{

inline void work(uint64_t steps)
{
	uint64_t x = steps;

	for (; steps; steps--) {
		x = x * 6364136223846793005u + 1;
		__asm__ volatile("" : "+r"(x)); /* each step waits for the one before it */
	}
}

/* The number of steps of work that take `ns`. */
inline uint64_t steps_of(double ns)
{
	static const double ns_a_step = [] {
		constexpr uint64_t STEPS = 20000;
		double begin = now_ns(), least = INFINITY;

		do {
			double before = now_ns();

			work(STEPS);
			least = std::fmin(least, now_ns() - before);
		} while (now_ns() - begin < 20e6);
		return least / static_cast<double>(STEPS);
	}();

	return static_cast<uint64_t>(std::llround(ns / ns_a_step));
}

/* Context switches of this thread so far, voluntary or not. */
inline double thread_switches()
{
	rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return static_cast<double>(usage.ru_nvcsw + usage.ru_nivcsw);
}

} // namespace lab

#endif
