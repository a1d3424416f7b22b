/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_NOFAULT_FAULT_H
#define HF_SRC_NOFAULT_FAULT_H
/*
 * nofault_fault - a fault of this thread that has no site: who else may handle it?
 *
 * One function, whose address is set before it is first needed and never taken back (0 = none): so
 * a program that does not use what sets it does not link it. It runs in the signal handler, with all
 * signals blocked, or in the program's own handler that calls hf_nofault_handle(): it is
 * async-signal-safe, takes no lock and allocates nothing.
 */
#include <setjmp.h>
#include <signal.h>

#include "holdfast/internal/atomic.h"

/*
 * The signal handler's arguments; SIGSEGV or SIGBUS, raised by an instruction of this thread. Returns
 * true: handled, the handler returns to `context`, or if *jump was set jumps there, when it has left
 * what it had entered; false: it is not for it, nothing was changed.
 */
typedef bool (*hf_detail_fault_hook_t)(int signal, const siginfo_t *info, void *context,
				       sigjmp_buf **jump);

/*
 * Installs the handler, unless it has been installed before or the program's own calls
 * hf_nofault_handle(). Returns 0 or -errno.
 */
int hf_detail_nofault_ensure(void) __attribute__((visibility("hidden")));

extern hf_atomic64_t hf_detail_fault_hook __attribute__((visibility("hidden")));

#endif
