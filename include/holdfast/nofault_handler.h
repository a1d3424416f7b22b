/* SPDX-License-Identifier: MIT */
#ifndef HF_NOFAULT_HANDLER_H
#define HF_NOFAULT_HANDLER_H
#pragma GCC system_header
/*
 * nofault_handler - the handler of SIGSEGV and SIGBUS that lets the operations on memory that may
 * fault return an error, in user space.
 *
 * Use when / not when
 *   A program that calls an operation of nofault_copy.h, nofault_word.h or nofault_memory.h, or
 *   that begins a region (region.h), installs it once, early. A library leaves that to the program.
 *   A program with its own handler calls hf_nofault_handle() in it instead.
 *   SIGSEGV and SIGBUS must not be blocked: the system kills a process that faults with them
 *   blocked (as in a handler of one of the two without SA_NODEFER). There use safe.h.
 *   Without a handler the first fault kills the process; a line on standard error reports the
 *   missing install first, unless the program has only called one-word operations, strings, lists.
 *
 * Operations
 *   hf_nofault_install   once, early: from then on faults are recovered
 *   hf_nofault_remove    restores the previous handlers
 *   hf_nofault_handle    for a handler of your own: recovers a fault
 *   hf_nofault_check     for self-tests: why faults would not be recovered here
 *   hf_nofault_owned     is Holdfast's handler the installed one?
 *   hf_nofault_last      this thread's last recovered fault: signal, code, address
 *
 * Example  examples/nofault.c
 *
 * State
 *   Faults are recovered by an exception table (internal/nofault/site.h) of instructions that may
 *   fault and where to continue; the path without a fault has no extra instruction. Each executable
 *   and shared object that includes this header registers its entries when it is loaded. Inside a
 *   Linux kernel the table is the kernel's own, and this header is empty.
 *
 * Invariants
 *   F2  The handler takes no lock, allocates nothing, preserves errno, and reads only memory that
 *       is certainly mapped: a thread may fault anywhere, in a signal handler too.
 *   F3  A signal is recovered only if the processor raised it (si_code > 0) for an instruction that
 *       is in the table. Every other signal has the effect that it would have without Holdfast.
 *       Exceptions: docs/design/0009-nofault.md, limits.
 *   F4  A table that a handler may be reading is not freed, and the lookup writes nothing: a thread
 *       may be cancelled during it.
 *
 * Ordering
 *   hf_nofault_install and hf_nofault_remove: full barrier; the others: none.
 *
 * Source   docs/design/0009-nofault.md
 */
#include "internal/arch_access.h"
#include "internal/nofault/site.h"

#ifndef HF_ENV_HAS_CLEAR
#define HF_ENV_HAS_CLEAR 0
#endif

#if !HF_ENV_HAS_CLEAR
HF_BEGIN_DECLS

/**
 * hf_nofault_install - recover faults from now on: take over SIGSEGV and SIGBUS
 *
 * A further call reinstalls the handler if it was reset to SIG_DFL or SIG_IGN, and never replaces
 * another handler, which must call ours for signals that it does not handle. A thread's alternate
 * stack, if it has one, needs room for getauxval(AT_MINSIGSTKSZ) + 1024 bytes.
 *
 * Context:  any thread, several at once; not in a signal handler
 * Errors:   -errno of sigaction()
 * Return:   0, or an error, and nothing is changed
 */
int hf_nofault_install(void) HF_API_EACH;

/**
 * hf_nofault_remove - restore the previous handlers of the process: not for a library
 *
 * Context:  any thread, several at once; not in a signal handler
 * Errors:   -EBUSY (16): other code has replaced one of the handlers, and may call ours;
 *           -errno of sigaction()
 * Return:   0, also if nothing was installed; or an error, and nothing is changed
 */
int hf_nofault_remove(void) HF_API_EACH;

/**
 * hf_nofault_owned - is Holdfast's handler the installed one for SIGSEGV and SIGBUS?
 *
 * Context:  any thread, async-signal-safe
 * Return:   false: not installed, or other code has installed a handler since
 */
bool hf_nofault_owned(void) HF_API_EACH;

/* What hf_nofault_check() finds; in this order, if there are several. */
enum hf_nofault_obstacle {
	HF_NOFAULT_READY = 0,         /* none: faults are recovered */
	HF_NOFAULT_FILTERED = 1,      /* a filter of system calls (seccomp) refuses the queries */
	HF_NOFAULT_NOT_INSTALLED = 2, /* nor was hf_nofault_handle() called */
	HF_NOFAULT_OTHER_HANDLER = 3, /* it must call hf_nofault_handle(), or the one before it */
	HF_NOFAULT_BLOCKED = 4,       /* SIGSEGV or SIGBUS, in this thread */
	HF_NOFAULT_SMALL_STACK = 5,   /* this thread's alternate stack: hf_nofault_install() */
};

/**
 * hf_nofault_check - what would keep a fault of this thread from being recovered here?
 * @words: gets a constant string, never NULL, that describes the result in English; or NULL
 *
 * For a self-test at the start of a program or a thread. It does not fault. A program whose own
 * handler calls hf_nofault_handle() gets HF_NOFAULT_OTHER_HANDLER where all is well.
 *
 * Context:  any thread, async-signal-safe; not in seccomp's strict mode, which kills at a query
 * Return:   HF_NOFAULT_READY (0), or the first obstacle
 */
enum hf_nofault_obstacle hf_nofault_check(const char **words) HF_API_EACH;

/**
 * hf_nofault_handle - recover a fault, in a handler of your own for SIGSEGV and SIGBUS
 * @signal:  the handler's three arguments (SA_SIGINFO), unchanged
 * @info:    a siginfo_t
 * @context: a ucontext_t
 *
 * After the first call, which may be hf_nofault_handle(0, NULL, NULL) when the program starts,
 * regions no longer install the handler by themselves (region.h).
 *
 * Context:  a signal handler
 * Return:   true: recovered, return from the handler now; false: not a fault of Holdfast's,
 *           nothing was changed
 */
bool hf_nofault_handle(int signal, const void *info, void *context) HF_API_EACH;

/* A recovered fault. */
struct hf_nofault_fault {
	int signal;          /* SIGSEGV or SIGBUS; 0 = none yet */
	int code;            /* si_code: SEGV_MAPERR, SEGV_ACCERR, BUS_ADRERR, BUS_MCEERR_AR... */
	const void *address; /* the first byte that failed; NULL where the processor gives none
				(x86: not canonical), the start of its page where there is no
				more (s390x) */
};

/**
 * hf_nofault_last - this thread's last recovered fault
 *
 * Meaningful after an operation that failed or did not complete; no operation resets it.
 *
 * Context:  any thread; a signal handler that faults changes it for the thread
 * Return:   the fault; its signal is 0 if there was none
 */
struct hf_nofault_fault hf_nofault_last(void) HF_API_EACH;

HF_END_DECLS
#endif /* !HF_ENV_HAS_CLEAR */

/* Registers the exception table of this executable or shared object. */
#if HF_ARCH_HAS_SITES && defined(HF_ENV_REGISTER_SITES)
HF_ENV_REGISTER_SITES
#endif

#endif
