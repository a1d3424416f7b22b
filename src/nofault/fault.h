/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_NOFAULT_FAULT_H
#define HF_SRC_NOFAULT_FAULT_H
/*
 * fault - the hook by which regions handle a fault of this thread that has no site.
 *
 * Its address is set once (0 = none), so that a program without regions does not link them. It runs
 * in the signal handler, with all signals blocked, or in the program's own handler that calls
 * hf_nofault_handle(): it is async-signal-safe, takes no lock and allocates nothing.
 */
#include <setjmp.h>
#include <signal.h>

#include "holdfast/internal/atomic.h"

/*
 * Takes the signal handler's arguments; SIGSEGV or SIGBUS, raised by an instruction of this thread.
 * Returns true: handled, and the handler returns, or jumps to *jump if that was set, after
 * hf_grace_leave(); false: not handled, nothing was changed.
 */
typedef bool (*hf_detail_fault_hook_t)(int signal, const siginfo_t *info, void *context,
				       sigjmp_buf **jump);

/*
 * Installs the handler, unless it has been installed before or the program's own calls
 * hf_nofault_handle(). Returns 0 or -errno.
 */
int hf_detail_nofault_ensure(void) __attribute__((visibility("hidden")));

/* Was hf_nofault_install() or hf_nofault_handle() called? */
bool hf_detail_nofault_is_decided(void) __attribute__((visibility("hidden")));

extern hf_atomic64_t hf_detail_fault_hook __attribute__((visibility("hidden")));

#endif
