/* SPDX-License-Identifier: MIT */
/*
 * run_start - starts what the environment asks for, and ends it in each way a program may end.
 *
 *   HF_RUN_PROFILE    empty: a profile on standard error; otherwise the file
 *   HF_RUN_VALIDATE   "report" or "fail"
 *   HF_RUN_LOST       "", "fail" or a file: run_lost.c
 *   HF_RUN_SIGNAL     the number of a signal at which the profile is written meanwhile
 *   HF_RUN_PROCESS    the process that hf-run started; the others are its children
 *
 * Ends
 *   exit(), return from main()   by on_exit(), which runs after all destructors, since this library
 *                                is initialised before the program
 *   _exit(), _Exit()             they are ours, too
 *   quick_exit()                 by at_quick_exit(), likewise last; its status is only changed by
 *                                a lost page
 *   INT, TERM, HUP               if the program leaves them to the default: run_signal.c
 *   The child of a vfork() ends nothing: its memory is that of the parent, another process.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

enum { STATUS_OF_REPORTS = 99 };

HF_RUN_THREAD const void *hf_run_call_site;
uint32_t hf_run_watch;

static pid_t process;
static bool fails; /* --validate=fail */

/* Returns the status to end with. */
static int end(int status)
{
	/* Nothing is watched: no system call either, since a sandbox may not allow it. */
	if ((!hf_run_watch && !hf_run_lost_fails()) || process != getpid())
		return status;
	process = 0; /* once */
	if (hf_run_watch & HF_RUN_PROFILE)
		hf_run_print_profile();
	if ((hf_run_watch & HF_RUN_VALIDATE) && hf_run_validate_reports()) {
		(void)dprintf(STDERR_FILENO, "holdfast: %u report%s\n", hf_run_validate_reports(),
			      hf_run_validate_reports() > 1 ? "s" : "");
		if (fails && status == 0)
			return STATUS_OF_REPORTS;
	}
	return hf_run_lost_fails() ? STATUS_OF_REPORTS : status;
}

static void at_exit(int status, void *unused)
{
	int new_status = end(status);

	(void)unused;
	if (new_status != status) {
		(void)fflush(NULL);
		hf_run_real()->_exit(new_status);
	}
}

HF_RUN_EXPORT __attribute__((noreturn)) void _exit(int status)
{
	hf_run_real()->_exit(end(status));
}

HF_RUN_EXPORT __attribute__((noreturn)) void _Exit(int status)
{
	hf_run_real()->_exit(end(status));
}

/* quick_exit() runs no functions of on_exit(). */
static void at_quick(void)
{
	(void)end(0);
	if (hf_run_lost_fails())
		hf_run_real()->_exit(STATUS_OF_REPORTS);
}

void hf_run_end_by_signal(void)
{
	(void)end(0);
}

void hf_run_request(void)
{
	if (process == getpid())
		hf_run_print_profile();
}

static void forked(void)
{
	process = getpid();
	if (hf_run_watch)
		hf_run_threads_forked();
	if (hf_run_watch & HF_RUN_PROFILE) {
		hf_run_print_to(secure_getenv("HF_RUN_PROFILE"), false);
		hf_run_profile_forked();
	}
}

static void start_profile(const char *file)
{
	const char *first = secure_getenv("HF_RUN_PROCESS");
	const char *number = secure_getenv("HF_RUN_SIGNAL");

	hf_run_print_to(file, !first || atol(first) == (long)getpid());
	hf_run_profile_start(*file != '\0');
	hf_run_watch |= HF_RUN_PROFILE;
	hf_run_signals_start(number ? atoi(number) : 0);
}

__attribute__((constructor)) static void start(void)
{
	/* Secure: a setuid program must not write a file that its user names. */
	const char *profile = secure_getenv("HF_RUN_PROFILE");
	const char *validate = secure_getenv("HF_RUN_VALIDATE");
	const char *lost = secure_getenv("HF_RUN_LOST");
	int kept = errno;

	hf_run_check_layout();
	process = getpid();
	if (profile || (validate && *validate)) {
		hf_run_threads_start();
		hf_run_stacks_start();
	}
	(void)pthread_atfork(NULL, NULL, forked);
	if (validate && *validate) {
		fails = strcmp(validate, "fail") == 0;
		hf_run_validate_start();
		hf_run_watch |= HF_RUN_VALIDATE;
	}
	if (profile)
		start_profile(profile);
	if (lost)
		hf_run_lost_start(lost);
	(void)on_exit(at_exit, NULL);
	if (hf_run_watch || lost)
		(void)at_quick_exit(at_quick);
	errno = kept; /* main() begins with 0 */
}
