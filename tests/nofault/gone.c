/* SPDX-License-Identifier: MIT */
/*
 * gone - a page disappears in the middle of an operation, after each single instruction of it.
 *
 * In the sweep, pages do not change during an operation, so only the first access to a page can
 * fault. But another process that truncates a file can remove a page between two stores to it. Here
 * the processor traps after every instruction (the trap flag; x86-64 only), and after the n-th one
 * the page loses its permissions. For every n until the operation completes, exactly the bytes
 * reported as done must be done.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../lab/variants/nofault/implementations.h"
#include "../../src/nofault/implementation.h"
#include "../ktap.h"

enum { PAGE = 4096, FILL = 0x55, TRAP_FLAG = 0x100 };

static unsigned char *destination, *source, *victim;
static volatile unsigned long step,
	last_step; /* instructions so far; the last one before the page goes */

static void on_trap(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	if (++step != last_step)
		return;
	(void)mprotect(victim, PAGE, PROT_NONE);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

static inline __attribute__((always_inline)) void trap_each(void)
{
	__asm__ volatile("pushfq\n\torq	$0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
}

static inline __attribute__((always_inline)) void trap_none(void)
{
	__asm__ volatile("pushfq\n\tandq	$~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
}

/* Runs one operation; `clear` or `copy` is NULL. Returns the number of bytes left. */
static __attribute__((noinline)) size_t run(hf_clear_function_t clear, hf_copy_function_t copy,
					    unsigned char *to, const unsigned char *from,
					    size_t len)
{
	size_t left;

	step = 0;
	trap_each();
	left = clear ? clear(to, len) : copy(to, from, len);
	trap_none();
	return left;
}

static unsigned long cases;

static bool is_right(const unsigned char *to, const unsigned char *from, size_t len, size_t left,
		     bool clears)
{
	size_t done = len - left;

	if (left > len || to[-1] != FILL || to[len] != FILL)
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char wanted = i >= done ? FILL : clears ? 0 : from[i];

		if (to[i] != wanted)
			return false;
	}
	return true;
}

/* Runs one operation for every n. Returns false after printing what is wrong. */
static bool every_step(const char *name, hf_clear_function_t clear, hf_copy_function_t copy,
		       size_t len, size_t offset)
{
	unsigned char *to = destination + 64 + offset, *from = source + 64 + 3 * offset;

	for (last_step = 1;; last_step++) {
		size_t left;

		memset(to - 1, FILL, len + 2);
		left = run(clear, copy, to, from, len);
		bool went = step >= last_step;

		(void)mprotect(victim, PAGE, PROT_READ | PROT_WRITE);
		cases++;
		if (!is_right(to, from, len, left, clear != NULL)) {
			printf("# %s: %zu bytes at %zu, %s goes after instruction %lu: %zu left is "
			       "wrong\n",
			       name, len, offset,
			       victim == source ? "the source" : "the destination", last_step,
			       left);
			return false;
		}
		if (!went) {
			if (left)
				printf("# %s: %zu left of %zu, and no page went\n", name, left,
				       len);
			return left == 0;
		}
	}
}

static bool every_size(const char *name, hf_clear_function_t clear, hf_copy_function_t copy)
{
	static const size_t sizes[] = { 1,   2,   3,   7,   8,   15,  16,  24,  31,
					32,  33,  48,  64,  65,  97,  128, 129, 192,
					200, 256, 257, 300, 384, 385, 512, 513, 700 };
	/* A string instruction traps after each byte, and a loop of words has many steps. */
	bool is_slow = strncmp(name, "vector_", 7) && strncmp(name, "hand_", 5) &&
		       strcmp(name, "default");

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (is_slow && sizes[i] > 65)
			break;
		for (size_t offset = 0; offset < 10; offset += 9) {
			if (!every_step(name, clear, copy, sizes[i], offset))
				return false;
		}
	}
	return true;
}

static void report(bool ok, const char *family, const char *name)
{
	ktap_result(ok, "%s %s # %lu cases", family, name, cases);
	cases = 0;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	const struct hf_variant_clear *clear;
	const struct hf_variant_copy *copy;
	size_t clears, copies;
	unsigned int planned = 3; /* the default: clear, copy, copy */

	destination = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	source = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (destination == MAP_FAILED || source == MAP_FAILED ||
	    sigaction(SIGTRAP, &action, NULL) || hf_nofault_install()) {
		perror("gone");
		return 2;
	}
	memset(destination, FILL, PAGE);
	for (size_t i = 0; i < PAGE; i++)
		source[i] = (unsigned char)(i * 7 + 1) == FILL ? 1 : (unsigned char)(i * 7 + 1);
	clear = hf_variant_clears(&clears);
	copy = hf_variant_copies(&copies);
	for (size_t i = 0; i < clears; i++)
		planned += clear[i].is_legal();
	for (size_t i = 0; i < copies; i++)
		planned += 2 * copy[i].is_legal();
	ktap_begin(planned);
	victim = destination;
	for (size_t i = 0; i < clears; i++) {
		if (clear[i].is_legal())
			report(every_size(clear[i].name, clear[i].function, NULL), "clear",
			       clear[i].name);
	}
	report(every_size("default", hf_clear_nofault, NULL), "clear", "default");
	for (int side = 0; side < 2; side++) {
		const char *family = side ? "copy, the source goes" : "copy, the destination goes";

		victim = side ? source : destination;
		for (size_t i = 0; i < copies; i++) {
			if (copy[i].is_legal())
				report(every_size(copy[i].name, NULL, copy[i].function), family,
				       copy[i].name);
		}
		report(every_size("default", NULL, hf_copy_nofault), family, "default");
	}
	return ktap_end();
}
