/* SPDX-License-Identifier: MIT */
/*
 * alternate_stack - the least alternate stack that nofault.h promises, getauxval(AT_MINSIGSTKSZ) +
 * 1024 bytes, is enough for each way through the handler, also where nothing of the C library has
 * been called before. Below it lies memory that can't be written, so a byte too much kills.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <holdfast/region.h>

#include "../ktap.h"

enum { PAGE = 4096, PAGES = 16, NESTED = 20 };

static unsigned char *map;
static int file;

static void cut(off_t pages)
{
	if (ftruncate(file, pages * PAGE))
		_exit(7);
}

static void touch(void *unused)
{
	(void)unused;
	(void)*(volatile unsigned char *)(map + 5 * PAGE);
}

static int word(void)
{
	uint64_t value;

	return hf_load64_nofault(&value, (void *)8) == -HF_EFAULT;
}

static int lost(void)
{
	hf_region_t region;

	if (hf_region_begin_file(&region, map, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
				 MAP_SHARED, file, 0))
		return 0;
	cut(1);
	touch(NULL);
	return hf_region_end(&region, NULL) == PAGE;
}

static int written(void)
{
	hf_region_t region;

	if (hf_region_begin(&region, map, (size_t)PAGES * PAGE))
		return 0;
	cut(1);
	touch(NULL);
	map[6 * PAGE] = 1;
	return hf_region_end(&region, NULL) == 5 * PAGE;
}

static int left(void)
{
	cut(1);
	return hf_region_call(map, (size_t)PAGES * PAGE, touch, NULL, NULL) == -HF_EFAULT;
}

static int passed_on(void)
{
	int *volatile nowhere = (int *)16;

	*nowhere = 1;
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
	int signal; /* that ends it */
} cases[] = {
	{ "a word", word, 0 },
	{ "a lost page", lost, 0 },
	{ "a lost page, written", written, 0 },
	{ "a function that is left", left, 0 },
	{ "a bug, which kills", passed_on, SIGSEGV },
};

enum { CASES = sizeof(cases) / sizeof(cases[0]) };

int main(void)
{
	size_t least = getauxval(AT_MINSIGSTKSZ) + 1024;
	size_t room = (least + PAGE - 1) / PAGE * PAGE;
	char *guard = (char *)mmap(NULL, room + PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack;

	memset(&stack, 0, sizeof(stack));
	stack.ss_sp = guard + PAGE;
	stack.ss_size = least;
	if (guard == MAP_FAILED || mprotect(guard, PAGE, PROT_NONE) || hf_nofault_install())
		return 1;
	file = memfd_create("alternate_stack", 0);
	cut(PAGES);
	map = (unsigned char *)mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
				    file, 0);
	ktap_begin(CASES);
	for (int i = 0; i < CASES; i++) {
		pid_t child;
		int status = -1;

		cut(PAGES);
		child = fork();
		if (child == 0) {
			hf_region_t nested[NESTED];

			for (int n = 0; n < NESTED; n++) {
				if (hf_region_begin(&nested[n], map + PAGE, PAGE))
					_exit(8);
			}
			if (sigaltstack(&stack, NULL))
				_exit(9);
			_exit(!cases[i].run());
		}
		(void)waitpid(child, &status, 0);
		ktap_result(cases[i].signal
				    ? WIFSIGNALED(status) && WTERMSIG(status) == cases[i].signal
				    : status == 0,
			    "%s # status %#x", cases[i].name, status);
	}
	return ktap_end();
}
