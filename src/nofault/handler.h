/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_NOFAULT_HANDLER_H
#define HF_SRC_NOFAULT_HANDLER_H
/*
 * handler - what handler.c and install.c share: our handlers, and the actions that they replaced.
 */
#include <signal.h>

#include "grace.h"

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

#pragma GCC visibility pop

#endif
