/* SPDX-License-Identifier: MIT */
/* check - Linux user space: what would keep a fault of this thread from being recovered. */
#define _GNU_SOURCE /* SA_ONSTACK */
#include <errno.h>
#include <signal.h>
#include <sys/auxv.h>

#include "fault.h"
#include "holdfast/nofault.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

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
	static const int signals[] = { SIGSEGV, SIGBUS };
	size_t frame = getauxval(AT_MINSIGSTKSZ);
	struct sigaction action;
	bool uses_stack = false;
	stack_t stack;
	sigset_t mask;

	for (int i = 0; i < 2; i++) {
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
