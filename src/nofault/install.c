/* SPDX-License-Identifier: MIT */
/*
 * install - Linux user space: sets our handler of SIGSEGV and SIGBUS, restores the one before, and
 * waits until no thread is in it before the library is unloaded.
 */
#define _GNU_SOURCE /* sigorset */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "handler.h"
#include "implementation.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

static const int signals[] = { SIGSEGV, SIGBUS };

/*
 * H4: blocked are all signals but those that our handler may raise itself, since the kernel kills a
 * thread that raises a blocked one: by a system call that a filter traps (seccomp, Wine), a
 * breakpoint of a debugger in the process, or an instruction that the program emulates.
 */
static const int raised_by_us[] = { SIGSYS, SIGTRAP, SIGILL };

/* Under `hf_detail_nofault_lock`. */
static bool installed; /* by hf_nofault_install(); a handler that only watches is not installed */
static bool was_set;   /* a handler of ours was set, of either kind */

/* ---- installing --------------------------------------------------------------------------- */

/* Without SA_SIGINFO, too: code that sets our handler again by signal() drops the flags. */
static bool has_handler(const struct sigaction *action, hf_detail_handler_t *function)
{
	return action->sa_sigaction == function;
}

static bool is_ours(const struct sigaction *action)
{
	return has_handler(action, hf_detail_handler) ||
	       has_handler(action, hf_detail_watching_handler);
}

static bool is_intact(const struct sigaction *action)
{
	return is_ours(action) && action->sa_flags & SA_SIGINFO;
}

/* Returns our action, which replaces @before. */
static struct sigaction instead_of(const struct sigaction *before, hf_detail_handler_t *function)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = function;
	/* H4 of handler.c. sigfillset() would leave out the C library's own signals. */
	memset(&action.sa_mask, 0xff, sizeof(action.sa_mask));
	for (unsigned int i = 0; i < sizeof(raised_by_us) / sizeof(raised_by_us[0]); i++)
		(void)sigdelset(&action.sa_mask, raised_by_us[i]);
	/* On the alternate stack if the previous handler was, or if there was none. */
	action.sa_flags = SA_SIGINFO | (before->sa_flags & SA_RESTART);
	if (before->sa_flags & SA_ONSTACK || hf_detail_is_default(before) ||
	    hf_detail_is_ignored(before))
		action.sa_flags |= SA_ONSTACK;
	return action;
}

/* The C library does not initialise the bits of a mask behind the kernel's. */
static bool same_action(const struct sigaction *a, const struct sigaction *b)
{
	return a->sa_handler == b->sa_handler && a->sa_flags == b->sa_flags &&
	       !memcmp(&a->sa_mask, &b->sa_mask, _NSIG / 8);
}

/* Under the lock. */
static const struct sigaction *saved_action(unsigned int i)
{
	return &hf_detail_saved[i].action[hf_atomic32_load_relaxed(&hf_detail_saved[i].current)];
}

static void save(unsigned int i, const struct sigaction *before)
{
	uint32_t other = 1 - hf_atomic32_load_relaxed(&hf_detail_saved[i].current);

	hf_grace_wait(&hf_detail_inside); /* H3 of handler.c: no handler reads the other copy */
	hf_detail_saved[i].action[other] = *before;
	hf_atomic32_store_relaxed(&hf_detail_saved[i].reset, 0);
	hf_atomic32_store_release(&hf_detail_saved[i].current, other);
}

/*
 * Repeats until the replaced action is the saved one: other code may change it between the two
 * calls. A handler that was installed after ours may call ours; if ours also called it, the two
 * would recurse without end, so it is left in place.
 */
static int install_one(unsigned int i)
{
	static const struct sigaction default_action; /* SIG_DFL is 0 */
	struct sigaction action, before, found;

	if (sigaction(signals[i], NULL, &found))
		return -errno;
	if ((has_handler(&found, hf_detail_handler) && is_intact(&found)) ||
	    (installed && !hf_detail_is_default(&found) && !hf_detail_is_ignored(&found) &&
	     !is_ours(&found)))
		return 0;
	do {
		before = found;
		if (!has_handler(&before, hf_detail_handler)) /* else the saved one stays */
			save(i, is_ours(&before) ? &default_action : &before);
		action = instead_of(saved_action(i), hf_detail_handler);
		if (sigaction(signals[i], &action, &found))
			return -errno;
	} while (!has_handler(&found, hf_detail_handler) && !same_action(&found, &before));
	return 0;
}

/* -EBUSY: the handler is not ours, and nothing is changed. */
static int restore_one(unsigned int i)
{
	struct sigaction before = *saved_action(i), found;

	if (hf_atomic32_load_relaxed(&hf_detail_saved[i].reset))
		before.sa_handler = SIG_DFL; /* as SA_RESETHAND does; the rest stays */
	if (sigaction(signals[i], &before, &found))
		return -errno;
	if (is_ours(&found))
		return 0;
	(void)sigaction(signals[i], &found, NULL);
	return -EBUSY;
}

int hf_nofault_install(void)
{
	int error = 0;

	(void)pthread_mutex_lock(&hf_detail_nofault_lock);
	for (unsigned int i = 0; i < HF_DETAIL_SIGNALS && !error; i++) {
		error = install_one(i);
		if (error && i > 0 && !installed)
			(void)restore_one(0);
	}
	was_set = true;
	installed = installed || !error;
	if (!error)
		hf_atomic32_store_relaxed(&hf_detail_handler_chosen, 1);
	(void)pthread_mutex_unlock(&hf_detail_nofault_lock);
	return error;
}

/*
 * Sets the handler that watches, only if both signals have the default action. The caller may be a
 * signal handler that has interrupted an install, so this does not wait for the lock.
 */
void hf_detail_nofault_watch(void)
{
	struct sigaction action, before[HF_DETAIL_SIGNALS];
	bool is_free = true;

	if (hf_detail_handler_is_chosen() || pthread_mutex_trylock(&hf_detail_nofault_lock))
		return;
	for (unsigned int i = 0; i < HF_DETAIL_SIGNALS; i++)
		is_free = is_free && !sigaction(signals[i], NULL, &before[i]) &&
			  hf_detail_is_default(&before[i]);
	for (unsigned int i = 0; i < HF_DETAIL_SIGNALS && is_free; i++) {
		was_set = true;
		action = instead_of(&before[i], hf_detail_watching_handler);
		if (!sigaction(signals[i], &action, &before[i]) &&
		    !hf_detail_is_default(&before[i]))
			(void)sigaction(signals[i], &before[i], NULL); /* just set by others */
	}
	(void)pthread_mutex_unlock(&hf_detail_nofault_lock);
}

static void stop_watching(void)
{
	struct sigaction now;

	for (unsigned int i = 0; i < HF_DETAIL_SIGNALS; i++) {
		if (!sigaction(signals[i], NULL, &now) &&
		    has_handler(&now, hf_detail_watching_handler))
			(void)hf_detail_set_action(signals[i], SIG_DFL);
	}
}

static bool both_handlers(bool (*are_so)(const struct sigaction *action))
{
	struct sigaction action;

	for (unsigned int i = 0; i < HF_DETAIL_SIGNALS; i++) {
		if (sigaction(signals[i], NULL, &action) || !are_so(&action))
			return false;
	}
	return true;
}

bool hf_nofault_owned(void)
{
	return hf_detail_handler_is_chosen() && both_handlers(is_intact);
}

int hf_nofault_remove(void)
{
	struct sigaction ours;
	int error = 0;

	(void)pthread_mutex_lock(&hf_detail_nofault_lock);
	if (installed && (sigaction(signals[0], NULL, &ours) || !both_handlers(is_ours)))
		error = -EBUSY;
	for (unsigned int i = 0; i < HF_DETAIL_SIGNALS && installed && !error; i++) {
		error = restore_one(i);
		if (error && i > 0)
			(void)sigaction(signals[0], &ours, NULL);
	}
	if (!error) {
		installed = false;
		stop_watching();
	}
	(void)pthread_mutex_unlock(&hf_detail_nofault_lock);
	return error;
}

/* ---- what would keep a fault of this thread from being recovered ---------------------------- */

enum { HANDLER_NEEDS = 1024 }; /* bytes, beside the kernel's frame */

/* Bytes of the stack on which the handler would run; SIZE_MAX if that is the thread's own. */
static size_t room_on(const stack_t *stack)
{
	const char *here = (const char *)__builtin_frame_address(0);

	if (stack->ss_flags & SS_DISABLE)
		return SIZE_MAX;
	if (stack->ss_flags & SS_ONSTACK)
		return (size_t)(here - (const char *)stack->ss_sp);
	return stack->ss_size;
}

static enum hf_nofault_obstacle obstacle(void)
{
	size_t frame = getauxval(AT_MINSIGSTKSZ);
	struct sigaction action;
	bool uses_stack = false;
	stack_t stack;
	sigset_t mask;

	for (unsigned int i = 0; i < HF_DETAIL_SIGNALS; i++) {
		if (sigaction(signals[i], NULL, &action))
			return HF_NOFAULT_FILTERED;
		uses_stack = uses_stack || action.sa_flags & SA_ONSTACK;
	}
	if (pthread_sigmask(SIG_SETMASK, NULL, &mask) || sigaltstack(NULL, &stack))
		return HF_NOFAULT_FILTERED;
	if (!hf_detail_handler_is_chosen())
		return HF_NOFAULT_NOT_INSTALLED;
	if (!hf_nofault_owned())
		return HF_NOFAULT_OTHER_HANDLER;
	if (sigismember(&mask, SIGSEGV) || sigismember(&mask, SIGBUS))
		return HF_NOFAULT_BLOCKED;
	if (uses_stack && room_on(&stack) < (frame ? frame : (size_t)MINSIGSTKSZ) + HANDLER_NEEDS)
		return HF_NOFAULT_SMALL_STACK;
	return HF_NOFAULT_READY;
}

enum hf_nofault_obstacle hf_nofault_check(const char **words)
{
	static const char *const all[] = {
		[HF_NOFAULT_READY] = "faults are recovered",
		[HF_NOFAULT_NOT_INSTALLED] =
			"neither hf_nofault_install() nor hf_nofault_handle() was called",
		[HF_NOFAULT_OTHER_HANDLER] =
			("SIGSEGV or SIGBUS has another handler: faults are recovered only if it "
			 "calls hf_nofault_handle(), or the handler before it; or signal() has set "
			 "Holdfast's again, without SA_SIGINFO: install it again"),
		[HF_NOFAULT_BLOCKED] =
			"SIGSEGV or SIGBUS is blocked in this thread: a fault kills the process",
		[HF_NOFAULT_SMALL_STACK] =
			"this thread's alternate signal stack has too little room for the handler",
		[HF_NOFAULT_FILTERED] =
			"a filter of system calls (seccomp) hides the signal handlers or the mask",
	};
	int kept = errno; /* a filter, or an old kernel, which has no AT_MINSIGSTKSZ */
	enum hf_nofault_obstacle found = obstacle();

	errno = kept;
	if (words)
		*words = all[found];
	return found;
}

/* ---- start, end, fork --------------------------------------------------------------------- */

/* The other threads do not exist in the child; some may have been in a handler. */
static void nofault_in_child(void)
{
	hf_atomic32_store_relaxed(&hf_detail_inside.inside[0], 0);
	hf_atomic32_store_relaxed(&hf_detail_inside.inside[1], 0);
}

/*
 * The loader may bind a function at its first call, on 3 KiB of the stack; an alternate stack has 1
 * KiB for us. So all functions that the handler calls are called once here.
 */
static void bind_early(void)
{
	struct sigaction action;
	sigset_t mask;
	sigjmp_buf where;
	int kept = errno; /* getauxval() sets it where there is no vDSO; main() begins with 0 */

	(void)sigaction(SIGSEGV, NULL, &action);
	(void)sigorset(&mask, &action.sa_mask, &action.sa_mask);
	(void)sigaddset(&mask, SIGSEGV);
	(void)pthread_sigmask(SIG_BLOCK, NULL, &mask);
	(void)getauxval(AT_SYSINFO_EHDR);
	(void)getpid();
	(void)syscall(SYS_gettid);
	hf_env_yield();
	errno = kept;
	if (sigsetjmp(where, 0) == 0)
		siglongjmp(where, 1);
}

__attribute__((constructor(101))) static void start_nofault(void)
{
	bind_early();
	(void)pthread_atfork(NULL, NULL, nofault_in_child);
}

/* ---- unloading ---------------------------------------------------------------------------- */

enum {
	ENOUGH_NS = 200000, /* of CPU time, after which a signal's delivery is certainly over */
	PATIENCE_NS = 1000000000 /* the limit, for threads that are stopped or not scheduled */
};

/* CPU time of a thread of this process, in nanoseconds; -1 = it has ended. */
static int64_t thread_has_run(pid_t thread)
{
	clockid_t clock = (clockid_t)(~(unsigned int)thread << 3 | 6); /* pthread_getcpuclockid() */
	struct timespec t;

	return clock_gettime(clock, &t) ? -1 : (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Is it blocked in the kernel? Then no signal is being delivered to it. */
static bool thread_sleeps(int tasks, const char *name)
{
	char path[32], text[256];
	const char *end = NULL;
	ssize_t got;
	int file;

	(void)snprintf(path, sizeof(path), "%.20s/stat", name);
	file = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return true; /* it has ended */
	got = read(file, text, sizeof(text) - 1);
	(void)close(file);
	if (got > 0) {
		text[got] = 0;
		end = strrchr(text, ')'); /* ends its name; its state follows */
	}
	return end && end[1] && end[2] != 'R' && end[2] != 'D';
}

/* A thread may be on its way to our handler: waits until each has run for ENOUGH_NS, or sleeps. */
static void wait_for_deliveries(void)
{
	const uint64_t start = hf_detail_env_now();
	const pid_t self = (pid_t)syscall(SYS_gettid);
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *entry;

	while (tasks && (entry = readdir(tasks)) != NULL) {
		pid_t thread = (pid_t)atoi(entry->d_name);
		int64_t ran = thread && thread != self ? thread_has_run(thread) : -1;

		for (uint32_t n = 0; ran >= 0 && !thread_sleeps(dirfd(tasks), entry->d_name) &&
				     hf_detail_env_now() - start < PATIENCE_NS;
		     n++) {
			int64_t runs = thread_has_run(thread);

			if (runs < 0 || runs - ran >= ENOUGH_NS)
				break;
			hf_detail_env_pause(n);
		}
	}
	if (tasks)
		(void)closedir(tasks);
}

/*
 * Unloaded with the plug-in that it is linked into: our handler must be removed, and no thread may
 * be in it. A handler that other code installed after ours may still call ours: that can't be
 * prevented here (docs/design/0009-nofault.md).
 */
__attribute__((destructor(101))) static void end_nofault(void)
{
	hf_detail_sites_leave();
	if (hf_detail_sites_stay() || hf_nofault_remove())
		return;
	/* Wait for threads before the handler's first instruction; in it; after its last step. */
	if (was_set)
		wait_for_deliveries();
	hf_grace_wait(&hf_detail_inside);
	if (was_set)
		wait_for_deliveries();
	hf_detail_sites_free();
}
