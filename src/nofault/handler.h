/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_NOFAULT_HANDLER_H
#define HF_SRC_NOFAULT_HANDLER_H
/*
 * handler - what handler.c, install.c and sites.c share: our handlers, the actions that they
 * replaced, and the tables of the instructions that may fault; and what src/region needs of them.
 */
#include <pthread.h>
#include <signal.h>

#include "grace.h"
#include "holdfast/nofault.h"

#pragma GCC visibility push(hidden)

enum { HF_DETAIL_SIGNALS = 2 }; /* SIGSEGV, SIGBUS: in this order */

/* sites.c: of the tables, and of install.c. Held during fork(). */
extern pthread_mutex_t hf_detail_nofault_lock;

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

/* 1 = the program has called hf_nofault_install() or hf_nofault_handle(). */
extern hf_atomic32_t hf_detail_handler_chosen;

static inline bool hf_detail_handler_is_chosen(void)
{
	return hf_atomic32_load_relaxed(&hf_detail_handler_chosen);
}

/* A function that does not return, called in place of the faulting instruction. */
struct hf_detail_detour {
	void (*function)(void *argument); /* NULL = none: the instruction is repeated */
	void *argument;
};

/*
 * The hook by which regions handle a fault of this thread that has no site: an address, 0 = none,
 * so that a program without regions does not link them. It runs in the signal handler, or in the
 * program's own that calls hf_nofault_handle(): it takes no lock and allocates nothing. It takes
 * the handler's arguments: SIGSEGV or SIGBUS, raised by an instruction of this thread. Returns
 * true: handled, by @detour if that was set; false: not handled, nothing was changed.
 */
typedef bool (*hf_detail_fault_hook_t)(int signal, const siginfo_t *info, void *context,
				       struct hf_detail_detour *detour);
extern hf_atomic64_t hf_detail_fault_hook;

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

/*
 * jump.c, where there are no sites: the mark that this thread's operation has set, if a fault at
 * @address, or at one that is not known, is that of the operation (F3 of nofault_handler.h); else
 * 0: it is that of a signal handler that has interrupted it. Where an address is that of the first
 * byte of its page (s390x), the page must be the operation's.
 */
uintptr_t hf_detail_jump_find(bool is_known, uintptr_t address);
__attribute__((noreturn)) void hf_detail_jump_to(void *mark);

#pragma GCC visibility pop

#endif
