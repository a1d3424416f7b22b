/* SPDX-License-Identifier: MIT */
/*
 * meanwhile - another thread changes a signal handler while the library installs or removes its
 * own.
 *
 * Linked with --wrap=sigaction, so that the "other thread" runs exactly between two calls of the
 * library; and with --wrap=calloc, for the case that there is no memory to register an object's
 * sites.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "../ktap.h"
#include "child.h"

#include "holdfast/nofault.h"

#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(HF_ARCH_GENERIC)
#define KNOWS_FAULTS true
#else
#define KNOWS_FAULTS false
#endif

int __real_sigaction(int signal, const struct sigaction *action, struct sigaction *before);
int __wrap_sigaction(int signal, const struct sigaction *action, struct sigaction *before);

static sigjmp_buf back;
static int theirs_called;

static void theirs(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
	theirs_called++;
	siglongjmp(back, 1);
}

static void set_theirs(int signal)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = theirs;
	action.sa_flags = SA_SIGINFO;
	(void)__real_sigaction(signal, &action, NULL);
}

static bool is_theirs(int signal)
{
	struct sigaction now;

	return __real_sigaction(signal, NULL, &now) == 0 && now.sa_sigaction == theirs;
}

static volatile char *volatile nowhere = (volatile char *)(uintptr_t)16;

/* After this many calls for `victim` the other thread's handler is set; 0 = never. */
static int countdown, victim;
static bool is_dying;

int __wrap_sigaction(int signal, const struct sigaction *action, struct sigaction *before)
{
	int error;

	if (is_dying && action)
		_exit(7);
	error = __real_sigaction(signal, action, before);
	if (signal == victim && countdown > 0 && --countdown == 0)
		set_theirs(signal);
	return error;
}

static void start(int signal, int calls)
{
	(void)hf_nofault_remove();
	(void)__real_sigaction(SIGSEGV, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	(void)__real_sigaction(SIGBUS, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	theirs_called = 0;
	victim = signal;
	countdown = calls;
}

static bool recovers(void)
{
	uint8_t value = 0;

	return hf_load8_nofault(&value, (const void *)(uintptr_t)16) == -HF_EFAULT;
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

static bool has_no_memory;

void *__wrap_calloc(size_t count, size_t size)
{
	return has_no_memory ? NULL : __real_calloc(count, size);
}

static void register_without_memory(void)
{
	static const struct hf_detail_site site = { 0, 0 };

	has_no_memory = true;
	hf_detail_sites_register(&site, &site + 1);
}

/* Without them, faults at the object's sites would kill much later, and without a word. */
static bool dies_without_memory_for_sites(void)
{
	static const char expected[] = "holdfast: no memory for the table of sites";
	char line[200];
	int status = status_of_child(register_without_memory, line, sizeof(line));

	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT &&
	    strncmp(line, expected, sizeof(expected) - 1) == 0)
		return true;
	printf("# status %#x, on standard error: %s\n", (unsigned int)status, line);
	return false;
}

static bool passes_on(int signal)
{
	if (!sigsetjmp(back, 1))
		(void)raise(signal);
	return theirs_called == 1;
}

/* Between install()'s read of the current handler and its change. */
static bool set_while_installing(int signal)
{
	start(signal, 1);
	if (hf_nofault_install() || !hf_nofault_owned() || !recovers() || !passes_on(signal))
		return false;
	return hf_nofault_remove() == 0 && is_theirs(signal);
}

/* Between remove()'s last check and its change, which is after `calls` calls for this signal. */
static bool set_while_removing(int signal, int calls)
{
	bool other_is_ours;

	start(0, 0);
	if (hf_nofault_install())
		return false;
	victim = signal;
	countdown = calls;
	if (hf_nofault_remove() != -EBUSY || !is_theirs(signal) || countdown)
		return false;
	/* Nothing was changed: the other signal is still ours. */
	victim = 0;
	other_is_ours = signal == SIGSEGV || recovers();
	(void)__real_sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	return other_is_ours && hf_nofault_install() == 0 && hf_nofault_owned() && recovers();
}

static void fault_elsewhere(void)
{
	is_dying = true;
	*nowhere = 1;
}

/*
 * A fault that is not ours kills, and up to the end the action stays ours: a thread that faults in
 * a `_nofault` function meanwhile is recovered, and not in the core dump in place of the culprit.
 */
static bool dies_with_our_handler(void)
{
	char text[200];
	int status;

	start(0, 0);
	if (hf_nofault_install())
		return false;
	status = status_of_child(fault_elsewhere, text, sizeof(text));
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)
		return true;
	printf("# status %#x\n", (unsigned int)status);
	return false;
}

int main(void)
{
	(void)alarm(600);
	ktap_begin(6);
	ktap_result(dies_without_memory_for_sites(), "no memory for an object's sites");
	if (!KNOWS_FAULTS || !getauxval(AT_SYSINFO_EHDR))
		ktap_skip("the context does not tell the address of its fault, or qemu-user",
			  "another thread faults while this one dies");
	else
		ktap_result(dies_with_our_handler(), "another thread faults while this one dies");
	ktap_result(set_while_installing(SIGSEGV), "SIGSEGV is set while we install");
	ktap_result(set_while_installing(SIGBUS), "SIGBUS is set while we install");
	ktap_result(set_while_removing(SIGSEGV, 2), "SIGSEGV is set while we remove");
	ktap_result(set_while_removing(SIGBUS, 1), "SIGBUS is set while we remove");
	return ktap_end();
}
