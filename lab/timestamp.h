/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_TIMESTAMP_H
#define HF_LAB_TIMESTAMP_H
/*
 * timestamp - reads the processor's time counter, whose rate ns_per_tick() measures. Loads and
 * read-modify-writes before it are complete; a store may still be in the store buffer.
 *
 *   x86-64    RDTSC between two LFENCEs: its rate is constant and the same on all cores, on
 *             processors of the last decade
 *   AArch64   CNTVCT_EL0, the generic timer: often 25 to 100 MHz, so that one tick is 10 to 40 ns;
 *             1 GHz from Armv8.6 on
 *   RISC-V    RDTIME: its rate is constant and the same on all harts (Zicntr)
 *   others    0
 */
#include <cstdint>

static inline uint64_t hf_lab_timestamp()
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high)::"memory");
	return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
	uint64_t value;

	__asm__ volatile("isb\n\tmrs	%0, cntvct_el0\n\tisb" : "=r"(value)::"memory");
	return value;
#elif defined(__riscv)
	uint64_t time;

	__asm__ volatile("fence\n\trdtime %0\n\tfence" : "=r"(time) : : "memory");
	return time;
#else
	return 0;
#endif
}

#endif
