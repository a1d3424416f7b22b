/* SPDX-License-Identifier: MIT */
/*
 * run_signal - handlers that this library has in place of the default. With a profile, signals that
 * would end the process have one, which writes the profile first; with --lost-pages, faults. The
 * program sees, and sets, the default in its place.
 *
 *   INT, TERM, HUP   on_terminate(), in place of the default
 *   HF_RUN_SIGNAL    on_request(), in place of the default: writes the profile, and goes on
 *   BUS, SEGV        with --lost-pages: run_lost.c's, in place of the default
 *
 * A program that asks what the handler is must not find ours: CPython, for example, installs its
 * own for SIGINT only where it finds the default. sigset() and System V's signal() are left out.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

static int requests; /* the signal of requests; 0 = none */
static bool is_on;

static void on_terminate(int number)
{
	struct sigaction action;

	hf_run_end_by_signal();
	memset(&action, 0, sizeof(action));
	(void)hf_run_real()->sigaction(number, &action, NULL);
	(void)raise(number);
}

static void on_request(int number)
{
	int kept = errno;

	(void)number;
	hf_run_request();
	errno = kept;
}

/* What this process has in place of the default; NULL = the default. */
static void (*handler_of(int number))(int)
{
	if (number == SIGBUS || number == SIGSEGV)
		return hf_run_lost_handler(number);
	if (!is_on)
		return NULL;
	if (number == requests)
		return on_request;
	return number == SIGINT || number == SIGTERM || number == SIGHUP ? on_terminate : NULL;
}

static struct sigaction action_of(int number)
{
	struct sigaction action;

	if (number == SIGBUS || number == SIGSEGV)
		return hf_run_lost_action();
	memset(&action, 0, sizeof(action));
	action.sa_handler = handler_of(number);
	action.sa_flags = SA_RESTART;
	(void)sigfillset(&action.sa_mask);
	if (action.sa_handler == on_terminate) { /* which raises it again */
		action.sa_flags |= (int)SA_NODEFER;
		(void)sigdelset(&action.sa_mask, number);
	}
	return action;
}

/* Neither the default, nor ignored, nor ours in place of the default. */
static bool is_handler(int number, void (*handler)(int))
{
	return handler != SIG_DFL && handler != SIG_IGN && handler != handler_of(number);
}

HF_RUN_EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	void (*ours)(int) = handler_of(number);
	struct sigaction in_place;
	int error;

	if (ours && action && action->sa_handler == SIG_DFL) {
		in_place = action_of(number);
		action = &in_place;
	}
	error = hf_run_real()->sigaction(number, action, old);
	if (ours && !error && old && old->sa_handler == ours)
		memset(old, 0, sizeof(*old));
	if (ours && !error && action && is_handler(number, action->sa_handler))
		hf_run_lost_leaves(number);
	return error;
}

HF_RUN_EXPORT void (*signal(int number, void (*handler)(int)))(int)
{
	void (*ours)(int) = handler_of(number);
	void (*old)(int) = hf_run_real()->signal(number, handler);
	struct sigaction in_place;

	if (!ours || old == SIG_ERR)
		return old;
	if (handler == SIG_DFL) {
		in_place = action_of(number);
		(void)hf_run_real()->sigaction(number, &in_place, NULL);
	}
	if (is_handler(number, handler))
		hf_run_lost_leaves(number);
	return old == ours ? SIG_DFL : old;
}

HF_RUN_ALIAS(sigaction);

/* The kernel kills a thread that loses a page while the signal is blocked. */
HF_RUN_EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t without;

	if (set && how != SIG_UNBLOCK && hf_run_lost_handler(SIGBUS) && !hf_run_is_busy) {
		without = *set;
		(void)sigdelset(&without, SIGBUS);
		(void)sigdelset(&without, SIGSEGV);
		set = &without;
	}
	return hf_run_real()->pthread_sigmask(how, set, old);
}

HF_RUN_EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	int error = pthread_sigmask(how, set, old);

	if (error)
		errno = error;
	return error ? -1 : 0;
}

/* What is ignored stays so: a shell's background process, or one of nohup. */
void hf_run_take_over(int number)
{
	struct sigaction action, old;

	if (number && hf_run_real()->sigaction(number, NULL, &old) == 0 &&
	    old.sa_handler == SIG_DFL) {
		action = action_of(number);
		(void)hf_run_real()->sigaction(number, &action, NULL);
	}
}

void hf_run_signals_start(int request)
{
	requests = request;
	is_on = true;
	hf_run_take_over(SIGINT);
	hf_run_take_over(SIGTERM);
	hf_run_take_over(SIGHUP);
	hf_run_take_over(requests);
}
