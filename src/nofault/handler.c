/* SPDX-License-Identifier: MIT */
/*
 * handler - Linux user space: the handler of SIGSEGV and SIGBUS: a fault is recovered, offered to
 * the regions, passed on to the handler before ours, or fatal.
 *
 * Invariants
 *   H3  `hf_detail_saved` is filled before our handler is installed, and never emptied: a handler
 *       that runs late still finds the previous action. A copy is changed only when no handler can
 *       be reading it.
 *   H4  In our handler all signals are blocked but those that it may raise itself (install.c): a
 *       handler that interrupted ours could not fault, since our signal is blocked meanwhile. Also
 *       the C library's own two, one of which cancels a thread. Calling the previous handler, with
 *       the mask that it expects, is the last step.
 *   H5  A signal that would kill the process still kills it, and the core dump shows the fault. If
 *       the instruction will fault again, our handler blocks the signal in the context and returns:
 *       the kernel kills a thread that faults with its signal blocked, and other threads' faults
 *       are recovered meanwhile. Other signals are queued again, with the same siginfo and the
 *       default action, and delivered when our handler has returned.
 */
#define _GNU_SOURCE /* sigorset */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "handler.h"

#include "../env/env.h"
#include "../profile/probe.h"
#include "../report/report.h"

hf_atomic64_t hf_detail_fault_hook;
hf_atomic32_t hf_detail_handler_chosen;
struct hf_grace hf_detail_inside;
struct hf_detail_saved_action hf_detail_saved[HF_DETAIL_SIGNALS];

/* ---- recovering --------------------------------------------------------------------------- */

static __thread struct hf_nofault_fault last_fault __attribute__((tls_model("initial-exec")));

struct hf_nofault_fault hf_nofault_last(void)
{
	return last_fault;
}

/* Not all C libraries name these. */
enum { HF_DETAIL_SEGV_MTEAERR = 8, HF_DETAIL_BUS_MCEERR_AO = 5, HF_DETAIL_SI_KERNEL = 128 };

/*
 * Did the thread's current access raise the signal, because the memory is not accessible? Not if it
 * was sent, or for a memory error elsewhere, a memory tag error that is reported late, or an
 * unaligned address that is valid. (gVisor gives BUS_ADRALN for a lost page, too.)
 */
static bool is_fault(int signal, const siginfo_t *info, const void *context)
{
	(void)context; /* not every processor says what the exception was */
	if (info->si_code <= 0)
		return false;
	if (signal == SIGBUS)
		return info->si_code != HF_DETAIL_BUS_MCEERR_AO &&
		       (info->si_code != BUS_ADRALN ||
			!HF_ARCH_CONTEXT_UNALIGNED((const ucontext_t *)context));
	return signal == SIGSEGV && info->si_code != HF_DETAIL_SEGV_MTEAERR;
}

#if !HF_ARCH_HAS_SITES
/* qemu-user 7.2, which has no vDSO, exchanges the halves of a SIGBUS's address on s390x. */
static bool has_address(int signal, const siginfo_t *info)
{
	return info->si_code != HF_DETAIL_SI_KERNEL &&
	       (signal == SIGSEGV || getauxval(AT_SYSINFO_EHDR));
}
#endif

/* Offers a fault without a site or mark to the regions. */
static bool call_hook(int signal, const siginfo_t *info, void *context,
		      struct hf_detail_detour *detour)
{
	hf_detail_fault_hook_t hook =
		(hf_detail_fault_hook_t)(uintptr_t)hf_atomic64_load_acquire(&hf_detail_fault_hook);

	return hook && hook(signal, info, context, detour);
}

/* No handler was chosen: hf_detail_nofault_watch() has set ours, only to report that. */
HF_COLD void report_missing_install(uintptr_t pc)
{
	char line[128], *at = line;
	const char *end = line + sizeof(line);

	at = hf_detail_put_text(at, end, "holdfast: a _nofault function faulted at 0x");
	at = hf_detail_put_number(at, end, pc, 16);
	at = hf_detail_put_text(at, end,
				"; hf_nofault_install() was not called, so the process dies\n");
	hf_detail_env_print(line, (size_t)(at - line));
}

/* True = recovered: the handler returns, or takes the detour that was set. */
static bool recover(int signal, const siginfo_t *info, void *context,
		    struct hf_detail_detour *detour)
{
	ucontext_t *u = (ucontext_t *)context;
	uintptr_t pc = 0, to;

	(void)u;                              /* without sites */
	if (!is_fault(signal, info, context)) /* F3: it may have been sent */
		return false;
#if HF_ARCH_HAS_SITES
	pc = (uintptr_t)HF_ARCH_CONTEXT_PC(u);
	to = hf_detail_sites_find(pc);
#else
	to = hf_detail_jump_find(has_address(signal, info), (uintptr_t)info->si_addr);
#endif
	if (!to)
		return call_hook(signal, info, context, detour);
	if (HF_UNLIKELY(!hf_detail_handler_is_chosen())) {
		report_missing_install(pc);
		return false;
	}
#if HF_ARCH_HAS_SITES
	HF_ARCH_CONTEXT_PC(u) = (__typeof__(HF_ARCH_CONTEXT_PC(u)))to;
#else
	*detour = (struct hf_detail_detour){ hf_detail_jump_to, (void *)to };
#endif
	last_fault.signal = signal;
	last_fault.code = info->si_code;
	last_fault.address = info->si_addr;
	HF_DETAIL_PROBE3(fault, info->si_addr, signal, info->si_code);
	return true;
}

/*
 * The handler's last step, after hf_grace_leave(). The return from the signal calls the function,
 * since a jump out of the handler would lose what the kernel restores: the mask, vector registers,
 * protection keys, an alternate stack with SS_AUTODISARM. Without sites only the mask is restored.
 */
static void take_detour(const struct hf_detail_detour *detour, void *context)
{
	ucontext_t *u = (ucontext_t *)context;

	if (!detour->function)
		return;
#if HF_ARCH_HAS_SITES
	HF_ARCH_CONTEXT_CALL(u, detour->function, detour->argument);
#else
	(void)pthread_sigmask(SIG_SETMASK, &u->uc_sigmask, NULL);
	detour->function(detour->argument);
#endif
}

bool hf_nofault_handle(int signal, const void *information, void *context)
{
	struct hf_detail_detour detour = { NULL, NULL };

	hf_atomic32_store_relaxed(&hf_detail_handler_chosen, 1);
	if (!information || !recover(signal, (const siginfo_t *)information, context, &detour))
		return false;
	take_detour(&detour, context);
	return true;
}

/* ---- passing on --------------------------------------------------------------------------- */

int hf_detail_set_action(int signal, void (*action)(int))
{
	struct sigaction simple;

	memset(&simple, 0, sizeof(simple));
	simple.sa_handler = action;
	return sigaction(signal, &simple, NULL);
}

/*
 * Exception to H5: qemu-user up to 8.1, which has no vDSO, takes a signal that a process queues to
 * itself with the si_code of a fault for a crash of its own, and repeats a blocked SIGBUS for ever.
 * There a memory fault repeats with the default action, and other signals lack their siginfo.
 */
static bool may_queue(const siginfo_t *info)
{
	return info->si_code <= 0 || getauxval(AT_SYSINFO_EHDR);
}

/* Will the instruction raise the signal again? Not if a process has queued it with this siginfo. */
static bool will_repeat(int signal, const siginfo_t *info, const void *context)
{
	return is_fault(signal, info, context) && info->si_code != HF_DETAIL_SI_KERNEL &&
	       may_queue(info) &&
	       HF_ARCH_CONTEXT_FAULTED_AT((const ucontext_t *)context, info->si_addr);
}

/* Returns false if a filter of system calls does not allow it. */
static bool queue_to_itself(int signal, siginfo_t *info, const void *context)
{
	pid_t process = getpid(), thread = (pid_t)syscall(SYS_gettid);

	if (hf_detail_set_action(signal, SIG_DFL))
		return false;
	if (may_queue(info)) {
		if (!syscall(SYS_rt_tgsigqueueinfo, process, thread, signal, info))
			return true;
	} else if (is_fault(signal, info, context) && info->si_code != HF_DETAIL_SI_KERNEL) {
		return true;
	}
	return !syscall(SYS_tgkill, process, thread, signal);
}

/* Has the kernel kill the process as it would without us: H5. */
static void die_of(int signal, siginfo_t *info, void *context)
{
	if (will_repeat(signal, info, context) || !queue_to_itself(signal, info, context)) {
		(void)sigaddset(&((ucontext_t *)context)->uc_sigmask, signal);
		/* A signal that was sent does not repeat. A fault in our handler kills, too: H4. */
		if (info->si_code <= 0)
			*(volatile char *)(uintptr_t)signal = 0;
	}
}

/* The kernel does not let a fault be ignored: one that repeats is left to it, with SIG_IGN set. */
static void ignore(int signal, siginfo_t *info, void *context)
{
	if (info->si_code <= 0 || (signal == SIGBUS && info->si_code == HF_DETAIL_BUS_MCEERR_AO))
		return;
	if (info->si_code == HF_DETAIL_SI_KERNEL ||
	    (signal == SIGSEGV && info->si_code == HF_DETAIL_SEGV_MTEAERR) ||
	    will_repeat(signal, info, context) || hf_detail_set_action(signal, SIG_IGN))
		die_of(signal, info, context);
}

/* Gets the previous action; returns true if it is a handler to call. */
static bool choose_before(int signal, siginfo_t *info, void *context, struct sigaction *before)
{
	unsigned int i = signal == SIGSEGV ? 0 : 1;

	*before = hf_detail_saved[i].action[hf_atomic32_load_acquire(&hf_detail_saved[i].current)];
	if (hf_detail_is_ignored(before)) {
		ignore(signal, info, context);
		return false;
	}
	if (hf_detail_is_default(before) ||
	    (before->sa_flags & (int)SA_RESETHAND &&
	     hf_atomic32_xchg_acq_rel(&hf_detail_saved[i].reset, 1) != 0)) {
		die_of(signal, info, context);
		return false;
	}
	return true;
}

/*
 * Returns the handler to call next, or NULL. It gets all three arguments, as from the kernel,
 * whether it has asked for them (SA_SIGINFO) or not. Not inlined: its stack frame is released
 * before that handler is called. @watches: calls none.
 */
static __attribute__((noinline)) hf_detail_handler_t *handle(int signal, siginfo_t *info,
							     void *context, bool watches)
{
	struct hf_detail_detour detour = { NULL, NULL };
	int error = errno; /* F2 of nofault_handler.h: it is kept */
	uint32_t parity = hf_grace_enter(&hf_detail_inside);
	bool passes = false;
	struct sigaction before;
	sigset_t mask;

	if (!recover(signal, info, context, &detour)) {
		if (watches)
			die_of(signal, info, context);
		else
			passes = choose_before(signal, info, context, &before);
	}
	hf_grace_leave(&hf_detail_inside, parity);
	errno = error;
	take_detour(&detour, context);
	if (!passes)
		return NULL;
	/* The mask that the kernel would have set for it; our return restores the thread's. */
	sigorset(&mask, &((ucontext_t *)context)->uc_sigmask, &before.sa_mask);
	if (!(before.sa_flags & SA_NODEFER))
		(void)sigaddset(&mask, signal);
	(void)pthread_sigmask(SIG_SETMASK, &mask, NULL); /* H4: the last step before the call */
	return before.sa_sigaction;
}

/* Ends in a tail call, if optimised: our code need not be mapped when the next handler returns. */
void hf_detail_handler(int signal, siginfo_t *info, void *context)
{
	uint64_t flags = hf_arch_alignment_checks_off();
	hf_detail_handler_t *next = handle(signal, info, context, false);

	hf_arch_alignment_checks_restore(flags);
	if (next)
		next(signal, info, context);
}

/*
 * The handler that hf_detail_nofault_watch() sets in place of the default action. It calls no other
 * handler: one that the program sets after it may pass signals on to it, and be the one to which
 * hf_detail_handler() passes them on, without recursion.
 */
void hf_detail_watching_handler(int signal, siginfo_t *info, void *context)
{
	uint64_t flags = hf_arch_alignment_checks_off();

	(void)handle(signal, info, context, true);
	hf_arch_alignment_checks_restore(flags);
}
