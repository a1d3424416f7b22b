/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_NOFAULT_HANDLER_H
#define HF_SRC_NOFAULT_HANDLER_H
/*
 * handler - what handler.c, install.c and sites.c share: our handlers, the actions that they
 * replaced, and the table of the instructions that may fault.
 */
#include <signal.h>

#include "grace.h"
#include "holdfast/nofault.h"

#pragma GCC visibility push(hidden)

enum { HF_DETAIL_SIGNALS = 2 }; /* SIGSEGV, SIGBUS: in this order */

/* The previous action; two copies, and the index of the valid one: H3 of handler.c. */
extern struct hf_detail_saved_action {
	struct sigaction action[2];
	hf_atomic32_t current;
	hf_atomic32_t reset; /* 1 = it had SA_RESETHAND and was called: now the default action */
} hf_detail_saved[HF_DETAIL_SIGNALS];

extern struct hf_grace hf_detail_inside; /* the threads that are in our handlers */

typedef void hf_detail_handler_t(int signal, siginfo_t *info, void *context);
hf_detail_handler_t hf_detail_handler, hf_detail_watching_handler;

int hf_detail_set_action(int signal, void (*action)(int));

/* install.c: the program has called hf_nofault_install() or hf_nofault_handle(). */
void hf_detail_handler_set_chosen(void);

/* The kernel, too, ignores the flags here. */
static inline bool hf_detail_is_default(const struct sigaction *action)
{
	return action->sa_handler == SIG_DFL;
}

static inline bool hf_detail_is_ignored(const struct sigaction *action)
{
	return action->sa_handler == SIG_IGN;
}

/* sites.c: returns where to continue after a fault at @pc; 0 = not a site. Async-signal-safe. */
uintptr_t hf_detail_sites_find(uintptr_t pc);

/* Does the object that this copy of the library is in stay loaded until the process ends? */
bool hf_detail_sites_stay(void);

/* At the end: removes the object's own sites; and frees the tables, when no handler can run. */
void hf_detail_sites_leave(void);
void hf_detail_sites_free(void);

#pragma GCC visibility pop

#endif
