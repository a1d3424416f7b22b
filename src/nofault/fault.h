/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_NOFAULT_FAULT_H
#define HF_SRC_NOFAULT_FAULT_H
/*
 * fault - the hook by which regions handle a fault of this thread that has no site. Its address is
 * set once (0 = none), so that a program without regions does not link them. It runs in the signal
 * handler, or in the program's own that calls hf_nofault_handle(): it takes no lock and allocates
 * nothing.
 */
#include <signal.h>

#include "holdfast/internal/atomic.h"

/* A function that does not return, called in place of the faulting instruction. */
struct hf_detail_detour {
	void (*function)(void *argument); /* NULL = none: the instruction is repeated */
	void *argument;
};

/*
 * Takes the signal handler's arguments; SIGSEGV or SIGBUS, raised by an instruction of this thread.
 * Returns true: handled, by @detour if that was set; false: not handled, nothing was changed.
 */
typedef bool (*hf_detail_fault_hook_t)(int signal, const siginfo_t *info, void *context,
				       struct hf_detail_detour *detour);

/* Has the program chosen its handler: has it called hf_nofault_install() or hf_nofault_handle()? */
bool hf_detail_handler_is_chosen(void) __attribute__((visibility("hidden")));

/* hf_nofault_install(), unless the program has chosen its handler. Returns 0 or -errno. */
int hf_detail_nofault_install_unless_chosen(void) __attribute__((visibility("hidden")));

extern hf_atomic64_t hf_detail_fault_hook __attribute__((visibility("hidden")));

#endif
