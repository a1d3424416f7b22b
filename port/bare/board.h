/* SPDX-License-Identifier: MIT */
#ifndef BARE_BOARD_H
#define BARE_BOARD_H
/*
 * board - QEMU's virt board with four Cortex-A53 cores: console, time, cores, exit.
 *
 * Holdfast does not use this header: the functions that it requires of a port are in seam.c.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BARE_CORES 4

/* The registers at an exception, in the order in which start.S saves them. */
struct bare_frame {
	uint64_t x[31];
	uint64_t elr; /* the address of the exception, at which the core continues on return */
	uint64_t spsr;
	uint64_t unused;
};

/* Returns the number of the current core: 0 to BARE_CORES - 1. */
unsigned int bare_core(void);

/* Writes bytes to the console. Only one core at a time may call this. */
void bare_print(const char *text, size_t len);

/* Returns nanoseconds since an arbitrary moment. */
uint64_t bare_now(void);

/* Ends the emulator with this status. */
void bare_exit(unsigned int status) __attribute__((noreturn));

/* Starts the other cores, which wait in WFE for work. Returns false if one did not start. */
bool bare_start_cores(void);

/* Runs work(core) on every core, and returns when all are done. The caller is core 0. */
void bare_on_all(void (*work)(unsigned int core));

/* seam_test.c: prints a KTAP document, and returns how many cases failed. */
unsigned int seam_test_run(void);

/* Lets another core run if an emulator runs all cores in turn by one thread. */
static inline void bare_yield(void)
{
	__asm__ volatile("yield" ::: "memory");
}

#endif
