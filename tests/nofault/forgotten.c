/* SPDX-License-Identifier: MIT */
/*
 * forgotten - without hf_nofault_install(), a fault in a `_nofault` function is reported and still
 * kills the process; no other fault is reported. Each case runs in a child of its own.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "holdfast/region.h"

#include "../ktap.h"
#include "child.h"

static char *const nowhere = (char *)0x123000;
static char memory[64];
static sigjmp_buf where;

static void clear(void)
{
	_exit(hf_clear_nofault(nowhere, 8) == 8 ? 0 : 2);
}

static void copy(void)
{
	_exit(hf_copy_nofault(memory, nowhere, sizeof(memory)) == sizeof(memory) ? 0 : 2);
}

static void find(void)
{
	size_t at;

	_exit(hf_find_nofault(nowhere, 0, 8, &at) == -HF_EFAULT ? 0 : 2);
}

static void words(void)
{
	static uint64_t to[2];

	_exit(hf_copy_nofault_words(to, nowhere, 2) == 2 ? 0 : 2);
}

/* Inline: no code of the library has run before the fault. */
static void load(void)
{
	uint32_t value;

	_exit(hf_load32_nofault(&value, nowhere) == -HF_EFAULT ? 0 : 2);
}

static void harmless(void)
{
	if (hf_copy_nofault(memory, "text", 4) != 0 || strcmp(hf_copy_chosen(), "other") == 0)
		_exit(3);
}

static void copies_then_loads(void)
{
	harmless();
	load();
}

static void copies_then_faults_elsewhere(void)
{
	harmless();
	*(volatile char *)nowhere = 0;
}

static void copies_then_is_killed(void)
{
	harmless();
	(void)raise(SIGSEGV);
}

static void copies_then_installs(void)
{
	harmless();
	if (hf_nofault_owned() || hf_nofault_install() || !hf_nofault_owned())
		_exit(4);
	copy();
}

static void installs(void)
{
	if (hf_nofault_install())
		_exit(4);
	copy();
}

static void checks(void)
{
	const char *why = NULL;

	harmless();
	if (hf_nofault_check(&why) != HF_NOFAULT_NOT_INSTALLED ||
	    !strstr(why, "hf_nofault_install()") || hf_nofault_install() ||
	    hf_nofault_check(&why) != HF_NOFAULT_READY || !strstr(why, "are recovered"))
		_exit(4);
	_exit(0);
}

static void removes_what_is_not_there(void)
{
	struct sigaction action;

	harmless();
	if (hf_nofault_remove() || sigaction(SIGSEGV, NULL, &action) ||
	    action.sa_handler != SIG_DFL)
		_exit(5);
	_exit(0);
}

static void jump(int signal)
{
	(void)signal;
	siglongjmp(where, 1);
}

static void has_its_own_handler(void)
{
	(void)signal(SIGSEGV, jump);
	(void)signal(SIGBUS, jump);
	if (sigsetjmp(where, 1) == 0)
		copy();
	_exit(0);
}

static void ignores_the_signal(void)
{
	(void)signal(SIGSEGV, SIG_IGN);
	copy();
}

/* A handler that the program sets after a first call. It passes on what is not recovered. */
static struct sigaction before_theirs[2];
static bool recoverable;
static volatile sig_atomic_t theirs_called;

static void theirs(int signal, siginfo_t *info, void *context)
{
	const struct sigaction *next = &before_theirs[signal == SIGBUS];

	if (recoverable || ++theirs_called > 1)
		_exit(6); /* ours did not recover it, or the handlers call each other */
	if (next->sa_flags & SA_SIGINFO)
		next->sa_sigaction(signal, info, context);
}

static void copies_then_sets_theirs(void)
{
	struct sigaction action = { .sa_sigaction = theirs, .sa_flags = SA_SIGINFO };

	harmless();
	if (sigaction(SIGSEGV, &action, &before_theirs[0]) ||
	    sigaction(SIGBUS, &action, &before_theirs[1]))
		_exit(4);
}

static void installs_over_theirs(void)
{
	copies_then_sets_theirs();
	if (hf_nofault_owned() || hf_nofault_install() || !hf_nofault_owned())
		_exit(4);
}

static void recovers_over_theirs(void)
{
	installs_over_theirs();
	recoverable = true;
	copy();
}

/* Ours passes it on to theirs, and that to what was there before: not to ours again. */
static void faults_elsewhere_over_theirs(void)
{
	installs_over_theirs();
	*(volatile char *)nowhere = 0;
}

static void gives_theirs_back(void)
{
	struct sigaction now;

	installs_over_theirs();
	if (hf_nofault_remove() || sigaction(SIGBUS, NULL, &now) || now.sa_sigaction != theirs)
		_exit(5);
	_exit(0);
}

static void begins_a_region_over_theirs(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int file = memfd_create("forgotten", 0);
	hf_region_t region;
	char *map;

	copies_then_sets_theirs();
	if (file < 0 || ftruncate(file, (off_t)page))
		_exit(4);
	map = (char *)mmap(NULL, page, PROT_READ, MAP_SHARED, file, 0);
	if (map == MAP_FAILED || hf_region_begin(&region, map, page) || ftruncate(file, 0))
		_exit(4);
	recoverable = true;
	(void)*(volatile char *)map;
	_exit(hf_region_end(&region, NULL) == 0 ? 0 : 2); /* all is lost */
}

static const struct {
	const char *name;
	void (*run)(void);
	int signal; /* 0 = exit status 0 */
	bool reported;
} cases[] = {
	{ "clear", clear, SIGSEGV, true },
	{ "copy", copy, SIGSEGV, true },
	{ "find", find, SIGSEGV, true },
	{ "words", words, SIGSEGV, true },
	{ "a load alone", load, SIGSEGV, false }, /* as nofault_handler.h says */
	{ "a copy, then a load", copies_then_loads, SIGSEGV, true },
	{ "a copy, then a fault elsewhere", copies_then_faults_elsewhere, SIGSEGV, false },
	{ "a copy, then a kill", copies_then_is_killed, SIGSEGV, false },
	{ "a copy, then an install", copies_then_installs, 0, false },
	{ "installed", installs, 0, false },
	{ "checked before and after an install", checks, 0, false },
	{ "removed without an install", removes_what_is_not_there, 0, false },
	{ "a handler of its own", has_its_own_handler, 0, false },
	{ "ignored", ignores_the_signal, SIGSEGV, false },
	{ "a copy, then a handler, then an install", recovers_over_theirs, 0, false },
	{ "the same, a fault elsewhere", faults_elsewhere_over_theirs, SIGSEGV, false },
	{ "the same, removed", gives_theirs_back, 0, false },
	{ "a copy, then a handler, then a region", begins_a_region_over_theirs, 0, false },
};

enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static void check(unsigned int i)
{
	static const char expected[] = "holdfast: a _nofault function faulted at 0x";
	char text[512];
	int status = status_of_child(cases[i].run, text, sizeof(text));
	bool ended, reported;

	ended = cases[i].signal ? WIFSIGNALED(status) && WTERMSIG(status) == cases[i].signal
				: WIFEXITED(status) && WEXITSTATUS(status) == 0;
	/* An emulator adds a line of its own. */
	reported = strstr(text, expected) && strstr(text, "hf_nofault_install()");
	if (!ktap_result(ended && reported == cases[i].reported, "%s", cases[i].name))
		printf("# status %#x, on standard error: %s\n", (unsigned int)status, text);
}

int main(void)
{
	struct sigaction action;
	bool is_taken = sigaction(SIGSEGV, NULL, &action) || action.sa_handler != SIG_DFL;

	ktap_begin(CASES);
	for (unsigned int i = 0; i < CASES; i++) {
		if (cases[i].run == begins_a_region_over_theirs && !getauxval(AT_SYSINFO_EHDR))
			ktap_skip("qemu-user 7.2 gives a wrong address with SIGBUS", "%s",
				  cases[i].name);
		else if (is_taken && (cases[i].signal || cases[i].run == removes_what_is_not_there))
			ktap_skip("a sanitizer has the signals", "%s", cases[i].name);
		else
			check(i);
	}
	return ktap_end();
}
