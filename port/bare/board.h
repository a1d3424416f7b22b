/* SPDX-License-Identifier: MIT */
#ifndef BARE_BOARD_H
#define BARE_BOARD_H
/*
 * board - QEMU's virt board with four Cortex-A53 cores: console, time, cores, the end.
 *
 * Nothing of Holdfast needs this header. What Holdfast needs of a port is in seam.c.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BARE_CORES 4

/* The registers at an exception, in the order in which start.S saves them. */
struct bare_frame {
	uint64_t x[31];
	uint64_t elr; /* where it happened, and where the core goes on */
	uint64_t spsr;
	uint64_t unused;
};

/* Which core runs this: 0 to BARE_CORES - 1. */
unsigned int bare_core(void);

/* Writes bytes to the console. One core at a time. */
void bare_print(const char *text, size_t len);

/* Nanoseconds since some moment. */
uint64_t bare_now(void);

/* Ends the emulator with this status. */
void bare_exit(unsigned int status) __attribute__((noreturn));

/* Starts the other cores; each waits in WFE until there is work. False if one refused. */
bool bare_start_cores(void);

/* Runs work(core) on every core, core 0 being the caller, and returns when all have done it. */
void bare_on_all(void (*work)(unsigned int core));

/* Lets another core run if cores take turns, as in an emulator with one thread. */
static inline void bare_yield(void)
{
	__asm__ volatile("yield" ::: "memory");
}

#endif
