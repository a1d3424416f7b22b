/* SPDX-License-Identifier: MIT */
/*
 * signals - Linux user space: the table of sites, and the handler of SIGSEGV and SIGBUS.
 *
 * State
 *   ranges    the sites of each loaded object, in the object's memory; changed under `lock`
 *   tables    all sites with absolute addresses, sorted; two copies: `latch` selects the one that
 *             is read, and changes are made in the other
 *   saved     for each signal, the action that ours replaced
 *   inside    the threads that are in our handler
 *
 * Invariants
 *   H1  A handler reads the tables and nothing of an object that may be unloaded.
 *   H2  Tables are freed only when no handler can run any more; one that became too small is kept
 *       until then. Each has at least twice the room of the one before, so all together take at
 *       most four times what is needed.
 *   H3  `saved` is filled before our handler is installed, and never emptied: a handler that runs
 *       late still finds the previous action. A copy is changed only when no handler can be reading
 *       it.
 *   H4  All signals are blocked in our handler, also the C library's own two, one of which cancels
 *       a thread. Calling the previous handler, with the mask that it expects, is its last step.
 *   H5  A signal that would kill the process still kills it, and the core dump shows the fault. If
 *       the instruction will fault again, our handler blocks the signal in the context and returns:
 *       the kernel kills a thread that faults with its signal blocked, and meanwhile the faults of
 *       other threads are still recovered. Other signals are queued again, with the same siginfo and
 *       the default action, and delivered when our handler has returned.
 */
#define _GNU_SOURCE /* sigorset */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "grace.h"
#include "latch.h"

#include "../env/env.h"
#include "nofault.h"
#include "fault.h"
#include "jump.h"
#include "../process/process.h"
#include "../report/report.h"
#include "../profile/probe.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the last fault ----------------------------------------------------------------------- */

static __thread struct hf_nofault_fault last_fault __attribute__((tls_model("initial-exec")));

struct hf_nofault_fault hf_nofault_last(void)
{
	return last_fault;
}

/* ---- the table of sites ------------------------------------------------------------------- */

/* Handlers may read an entry while it is written; they then retry, by `latch`. */
struct site {
	hf_atomic64_t from, to;
};

struct site_table {
	struct site_table *before; /* the smaller one that it replaces */
	size_t room;
	hf_atomic64_t count; /* at most `room` */
	struct site sites[];
};

/* One object's sites. */
struct range {
	struct range *next;
	const struct hf_detail_site *start, *end;
	unsigned int units; /* translation units that registered it */
	bool stays;         /* it can't be unloaded before the process ends */
};

static struct range *ranges;
static hf_atomic64_t site_tables[2]; /* struct site_table *; 0 = no sites */
static struct hf_latch latch;
static struct hf_grace inside;

/* The process is exiting: destructors of objects that stay loaded have begun; threads may run. */
static bool exiting;

static uintptr_t absolute(const int32_t *word)
{
	return (uintptr_t)word + (uintptr_t)(intptr_t)*word;
}

static struct site_table *table_of(uint32_t version)
{
	return (struct site_table *)(uintptr_t)hf_atomic64_load_relaxed(&site_tables[version % 2]);
}

/* An entry while the sites are sorted. */
struct plain_site {
	uintptr_t from, to;
};

static int by_address(const void *a, const void *b)
{
	uintptr_t x = ((const struct plain_site *)a)->from;
	uintptr_t y = ((const struct plain_site *)b)->from;

	return (x > y) - (x < y);
}

static void *xalloc_check(void *memory)
{
	static const char line[] = "holdfast: no memory for the table of sites that may fault\n";

	if (!memory) {
		hf_detail_env_print(line, sizeof(line) - 1);
		hf_detail_env_abort();
		__builtin_unreachable(); /* else gcc warns of a store to NULL */
	}
	return memory;
}

/* Returns the sites of all ranges, sorted; NULL if there are none. */
static struct plain_site *collect(size_t *count)
{
	struct plain_site *sites;
	size_t n = 0;

	*count = 0;
	for (const struct range *r = ranges; r; r = r->next)
		*count += (size_t)(r->end - r->start);
	if (!*count)
		return NULL;
	sites = (struct plain_site *)xalloc_check(malloc(*count * sizeof(*sites)));
	for (const struct range *r = ranges; r; r = r->next) {
		for (const struct hf_detail_site *s = r->start; s < r->end; s++) {
			sites[n].from = absolute(&s->from);
			sites[n++].to = absolute(&s->to);
		}
	}
	qsort(sites, n, sizeof(*sites), by_address);
	return sites;
}

/* Returns the table that is not read now, with room for @count sites. H2 */
static struct site_table *with_room(uint32_t version, size_t count)
{
	struct site_table *made, *old = table_of(version);
	size_t room = old ? 2 * old->room : count;

	if (old ? old->room >= count : !count)
		return old;
	if (room < count)
		room = count;
	made = (struct site_table *)xalloc_check(
		malloc(sizeof(*made) + room * sizeof(made->sites[0])));
	made->before = old;
	made->room = room;
	hf_atomic64_store_relaxed(&made->count, 0);
	/* A handler may read this copy while it is being changed: the fields must be valid. */
	hf_atomic64_store_seq_cst(&site_tables[version % 2], (uintptr_t)made);
	return made;
}

/* Builds the table of all ranges and publishes it. Under `lock`. */
static void publish(void)
{
	uint32_t version = hf_latch_write_begin(&latch);
	size_t count;
	struct plain_site *sites = collect(&count);
	struct site_table *t = with_room(version, count);

	if (t)
		hf_atomic64_store_relaxed(&t->count, count);
	for (size_t i = 0; i < count; i++) {
		hf_atomic64_store_relaxed(&t->sites[i].from, sites[i].from);
		hf_atomic64_store_relaxed(&t->sites[i].to, sites[i].to);
	}
	hf_latch_publish(&latch, version);
	free(sites);
}

#if HF_ARCH_HAS_SITES
/* Searches one table, which may change meanwhile. */
static uintptr_t find_site_in(const struct site_table *t, uintptr_t pc)
{
	size_t low = 0, high = t ? (size_t)hf_atomic64_load_relaxed(&t->count) : 0, count = high;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (hf_atomic64_load_relaxed(&t->sites[middle].from) < pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < count && hf_atomic64_load_relaxed(&t->sites[low].from) == pc)
		return (uintptr_t)hf_atomic64_load_relaxed(&t->sites[low].to);
	return 0;
}

/* Returns where to continue after a fault at @pc; 0 = not a site. Async-signal-safe. */
static uintptr_t find_site(uintptr_t pc)
{
	uint32_t version;
	uintptr_t to;

	do {
		version = hf_latch_begin(&latch);
		to = find_site_in((const struct site_table *)(uintptr_t)hf_atomic64_load_acquire(
					  &site_tables[version % 2]),
				  pc);
	} while (hf_latch_retry(&latch, version));
	return to;
}
#endif

static bool is_of_program(const void *p)
{
	struct hf_detail_object object = { .address = p };

	return hf_detail_process_object(&object) && object.is_program;
}

/*
 * The shared library is linked with -z nodelete: once loaded it stays. The static one stays if it
 * is linked into the program.
 */
#ifdef HF_STAYS_LOADED
static bool stays_loaded(const void *p)
{
	(void)p;
	return true;
}
#else
#define stays_loaded is_of_program
#endif

static void add_range(const void *start, const void *end, bool stays)
{
	struct range *r;

	if (!start || start == end)
		return;
	(void)pthread_mutex_lock(&lock);
	for (r = ranges; r && r->start != start; r = r->next)
		;
	if (r) {
		r->units++;
	} else {
		r = (struct range *)calloc(1, sizeof(*r));
		if (r) {
			r->start = (const struct hf_detail_site *)start;
			r->end = (const struct hf_detail_site *)end;
			r->units = 1;
			r->stays = stays;
			r->next = ranges;
			ranges = r;
		}
		publish();
	}
	(void)pthread_mutex_unlock(&lock);
}

void hf_detail_sites_register(const void *start, const void *end)
{
	add_range(start, end, is_of_program(start));
}

void hf_detail_sites_unregister(const void *start, const void *end)
{
	struct range **at, *r;

	if (!start || start == end)
		return;
	(void)pthread_mutex_lock(&lock);
	for (at = &ranges; *at && (*at)->start != start; at = &(*at)->next)
		;
	r = *at;
	if (r && r->stays)
		exiting = true;
	if (r && !exiting && --r->units == 0) {
		*at = r->next;
		publish();
		free(r);
	}
	(void)pthread_mutex_unlock(&lock);
}

/* ---- recovering --------------------------------------------------------------------------- */

/* Not all C libraries name these. */
enum { HF_DETAIL_SEGV_MTEAERR = 8, HF_DETAIL_BUS_MCEERR_AO = 5, HF_DETAIL_SI_KERNEL = 128 };

/*
 * Was the signal raised by the thread's current access, because the memory is not accessible? Not
 * if it was sent, or for a memory error elsewhere, a memory tag error that is reported
 * asynchronously, or an unaligned address that is otherwise valid.
 */
static bool is_fault(int signal, const siginfo_t *info)
{
	if (info->si_code <= 0)
		return false;
	if (signal == SIGBUS)
		return info->si_code != BUS_ADRALN && info->si_code != HF_DETAIL_BUS_MCEERR_AO;
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

hf_atomic64_t hf_detail_fault_hook;

/* Offers a fault without a site or mark to the regions. */
static bool call_hook(int signal, const siginfo_t *info, void *context, sigjmp_buf **jump)
{
	hf_detail_fault_hook_t hook =
		(hf_detail_fault_hook_t)(uintptr_t)hf_atomic64_load_acquire(&hf_detail_fault_hook);

	return hook && hook(signal, info, context, jump);
}

/* 1 = hf_nofault_install() or hf_nofault_handle() was called: regions don't install the handler. */
static hf_atomic32_t decided;

/* Neither was called: hf_detail_nofault_watch() has set a handler, only to report that. */
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

/* True = recovered: the handler returns, or jumps if *jump was set. */
static bool recover(int signal, const siginfo_t *info, void *context, sigjmp_buf **jump)
{
	if (!is_fault(signal, info)) /* F3 */
		return false;
#if HF_ARCH_HAS_SITES
	ucontext_t *u = (ucontext_t *)context;
	uintptr_t to = find_site((uintptr_t)HF_ARCH_CONTEXT_PC(u));

	if (!to)
		return call_hook(signal, info, context, jump);
	if (HF_UNLIKELY(!hf_atomic32_load_relaxed(&decided))) {
		report_missing_install((uintptr_t)HF_ARCH_CONTEXT_PC(u));
		return false;
	}
	HF_ARCH_CONTEXT_PC(u) = (__typeof__(HF_ARCH_CONTEXT_PC(u)))to;
#else
	volatile struct hf_detail_mark *mark = hf_detail_mark;

	if (!mark ||
	    (has_address(signal, info) && !hf_detail_mark_accesses(mark, (uintptr_t)info->si_addr)))
		return call_hook(signal, info, context, jump);
	if (HF_UNLIKELY(!hf_atomic32_load_relaxed(&decided))) {
		report_missing_install(0);
		return false;
	}
	*jump = (sigjmp_buf *)(uintptr_t)&mark->where;
#endif
	last_fault.signal = signal;
	last_fault.code = info->si_code;
	last_fault.address = info->si_addr;
	HF_DETAIL_PROBE3(fault, info->si_addr, signal, info->si_code);
	return true;
}

/* Leaves the handler, after hf_grace_leave(), with the mask that its return would restore. */
static __attribute__((noreturn)) void leave_by_jump(sigjmp_buf *jump, const void *context)
{
	(void)pthread_sigmask(SIG_SETMASK, &((const ucontext_t *)context)->uc_sigmask, NULL);
	siglongjmp(*jump, 1);
}

bool hf_nofault_handle(int signal, const void *information, void *context)
{
	sigjmp_buf *jump = NULL;

	hf_atomic32_store_relaxed(&decided, 1);
	if (!information)
		return false;
	if (!recover(signal, (const siginfo_t *)information, context, &jump))
		return false;
	if (jump)
		leave_by_jump(jump, context);
	return true;
}

/* ---- passing on --------------------------------------------------------------------------- */

static const int signals[] = { SIGSEGV, SIGBUS };

enum { SIGNALS = 2 };

/* The previous actions; two copies, and the index of the valid one: H3. */
static struct {
	struct sigaction action[2];
	hf_atomic32_t current;
	hf_atomic32_t reset; /* 1 = it had SA_RESETHAND and was called: now the default action */
} saved[SIGNALS];

/* Under `lock`. */
static bool installed; /* by hf_nofault_install(); a handler that only watches is not installed */
static bool was_set;   /* a handler of ours was set, of either kind */

/* The kernel, too, ignores the flags here. */
static bool is_default(const struct sigaction *action)
{
	return action->sa_handler == SIG_DFL;
}

static bool is_ignored(const struct sigaction *action)
{
	return action->sa_handler == SIG_IGN;
}

static int set_action(int signal, void (*action)(int))
{
	struct sigaction simple;

	memset(&simple, 0, sizeof(simple));
	simple.sa_handler = action;
	return sigaction(signal, &simple, NULL);
}

/*
 * Exception to H5: qemu-user up to 8.1, which has no vDSO, mistakes a signal that a process queues
 * to itself with the si_code of a fault for a crash of qemu, and lets a SIGBUS repeat for ever if it
 * is blocked. There a memory fault is left to repeat with the default action, and other signals are
 * sent without their siginfo.
 */
static bool may_queue(const siginfo_t *info)
{
	return info->si_code <= 0 || getauxval(AT_SYSINFO_EHDR);
}

/* Will the instruction raise the signal again? Not if a process has queued it with this siginfo. */
static bool will_repeat(int signal, const siginfo_t *info, const void *context)
{
	return is_fault(signal, info) && info->si_code != HF_DETAIL_SI_KERNEL && may_queue(info) &&
	       HF_ARCH_CONTEXT_FAULTED_AT((const ucontext_t *)context, info->si_addr);
}

/* Returns false if a filter of system calls does not allow it. */
static bool queue_to_itself(int signal, siginfo_t *info)
{
	pid_t process = getpid(), thread = (pid_t)syscall(SYS_gettid);

	if (set_action(signal, SIG_DFL))
		return false;
	if (may_queue(info)) {
		if (!syscall(SYS_rt_tgsigqueueinfo, process, thread, signal, info))
			return true;
	} else if (is_fault(signal, info) && info->si_code != HF_DETAIL_SI_KERNEL) {
		return true;
	}
	return !syscall(SYS_tgkill, process, thread, signal);
}

/* H5 */
static void die_of(int signal, siginfo_t *info, void *context)
{
	if (will_repeat(signal, info, context) || !queue_to_itself(signal, info)) {
		(void)sigaddset(&((ucontext_t *)context)->uc_sigmask, signal);
		/* A signal that was sent does not repeat. A fault in our handler kills, too: H4. */
		if (info->si_code <= 0)
			*(volatile char *)(uintptr_t)signal = 0;
	}
}

/*
 * The kernel does not let a fault be ignored. A fault that repeats when our handler returns is left
 * to the kernel, with SIG_IGN set; a signal that was sent is ignored.
 */
static void ignore(int signal, siginfo_t *info, void *context)
{
	if (info->si_code <= 0 || (signal == SIGBUS && info->si_code == HF_DETAIL_BUS_MCEERR_AO))
		return;
	if (info->si_code == HF_DETAIL_SI_KERNEL ||
	    (signal == SIGSEGV && info->si_code == HF_DETAIL_SEGV_MTEAERR) ||
	    will_repeat(signal, info, context) || set_action(signal, SIG_IGN))
		die_of(signal, info, context);
}

/* Gets the previous action; returns true if it is a handler to call. */
static bool choose_before(int signal, siginfo_t *info, void *context, struct sigaction *before)
{
	unsigned int i = signal == SIGSEGV ? 0 : 1;

	*before = saved[i].action[hf_atomic32_load_acquire(&saved[i].current)];
	if (is_ignored(before)) {
		ignore(signal, info, context);
		return false;
	}
	if (is_default(before) || (before->sa_flags & (int)SA_RESETHAND &&
				   hf_atomic32_xchg_acq_rel(&saved[i].reset, 1) != 0)) {
		die_of(signal, info, context);
		return false;
	}
	return true;
}

/* The handler to call next, of one of the two kinds; both NULL: none. */
struct next {
	void (*informed)(int signal, siginfo_t *info, void *context);
	void (*plain)(int signal);
};

/* Not inlined: its stack frame is released before the next handler is called. */
static __attribute__((noinline)) struct next handle(int signal, siginfo_t *info, void *context)
{
	struct next next = { NULL, NULL };
	struct sigaction before;
	sigset_t mask;
	int error = errno; /* F2 */
	sigjmp_buf *jump = NULL;
	uint32_t parity = hf_grace_enter(&inside);
	bool passes = !recover(signal, info, context, &jump) &&
		      choose_before(signal, info, context, &before);

	hf_grace_leave(&inside, parity);
	errno = error;
	if (jump)
		leave_by_jump(jump, context);
	if (!passes)
		return next;
	/* The mask that the kernel would have set for it; our return restores the thread's. */
	sigorset(&mask, &((ucontext_t *)context)->uc_sigmask, &before.sa_mask);
	if (!(before.sa_flags & SA_NODEFER))
		(void)sigaddset(&mask, signal);
	(void)pthread_sigmask(SIG_SETMASK, &mask, NULL); /* H4 */
	if (before.sa_flags & SA_SIGINFO)
		next.informed = before.sa_sigaction;
	else
		next.plain = before.sa_handler;
	return next;
}

/* Ends in a tail call, if optimised: our code need not be mapped when the next handler returns. */
static void handler(int signal, siginfo_t *info, void *context)
{
	uint64_t flags = hf_arch_alignment_checks_off();
	struct next next = handle(signal, info, context);

	hf_arch_alignment_checks_restore(flags);
	if (next.informed)
		next.informed(signal, info, context);
	else if (next.plain)
		next.plain(signal);
}

/*
 * The handler that hf_detail_nofault_watch() sets in place of the default action. It calls no other
 * handler: one that the program sets after it may pass signals on to it, and be the one to which
 * `handler` passes them on, without recursion.
 */
static void watching_handler(int signal, siginfo_t *info, void *context)
{
	uint64_t flags = hf_arch_alignment_checks_off();
	sigjmp_buf *jump = NULL;
	int error = errno; /* F2 */
	uint32_t parity = hf_grace_enter(&inside);

	if (!recover(signal, info, context, &jump))
		die_of(signal, info, context);
	hf_grace_leave(&inside, parity);
	errno = error;
	if (jump)
		leave_by_jump(jump, context);
	hf_arch_alignment_checks_restore(flags);
}

/* ---- installing --------------------------------------------------------------------------- */

typedef void handler_function(int signal, siginfo_t *info, void *context);

static bool has_handler(const struct sigaction *action, handler_function *function)
{
	return action->sa_flags & SA_SIGINFO && action->sa_sigaction == function;
}

static bool is_ours(const struct sigaction *action)
{
	return has_handler(action, handler) || has_handler(action, watching_handler);
}

/* Returns our action, which replaces @before. */
static struct sigaction instead_of(const struct sigaction *before, handler_function *function)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = function;
	/*
	 * H4. sigfillset() would leave out the C library's own signals. A handler that interrupted
	 * ours could not fault, since our signal is blocked meanwhile.
	 */
	memset(&action.sa_mask, 0xff, sizeof(action.sa_mask));
	/* On the alternate stack if the previous handler was, or if there was none. */
	action.sa_flags = SA_SIGINFO | (before->sa_flags & SA_RESTART);
	if (before->sa_flags & SA_ONSTACK || is_default(before) || is_ignored(before))
		action.sa_flags |= SA_ONSTACK;
	return action;
}

/* Compares masks by signal: the C library does not initialise the unused bits. */
static bool same_action(const struct sigaction *a, const struct sigaction *b)
{
	if (a->sa_handler != b->sa_handler || a->sa_flags != b->sa_flags)
		return false;
	for (int signal = 1; signal < NSIG; signal++) {
		if (sigismember(&a->sa_mask, signal) != sigismember(&b->sa_mask, signal))
			return false;
	}
	return true;
}

static void save(unsigned int i, const struct sigaction *before)
{
	uint32_t other = 1 - hf_atomic32_load_relaxed(&saved[i].current);

	hf_grace_wait(&inside); /* H3 */
	saved[i].action[other] = *before;
	hf_atomic32_store_relaxed(&saved[i].reset, 0);
	hf_atomic32_store_release(&saved[i].current, other);
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
	if (has_handler(&found, handler) ||
	    (installed && !is_default(&found) && !is_ignored(&found) && !is_ours(&found)))
		return 0;
	do {
		before = found;
		save(i,
		     is_ours(&before) ? &default_action : &before); /* H3; the one that watches */
		action = instead_of(&before, handler);
		if (sigaction(signals[i], &action, &found))
			return -errno;
	} while (!has_handler(&found, handler) && !same_action(&found, &before));
	return 0;
}

/* -EBUSY: the handler is not ours, and nothing is changed. */
static int restore_one(unsigned int i)
{
	struct sigaction before = saved[i].action[hf_atomic32_load_relaxed(&saved[i].current)];
	struct sigaction found;

	if (hf_atomic32_load_relaxed(&saved[i].reset))
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

	(void)pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < SIGNALS && !error; i++) {
		error = install_one(i);
		if (error && i > 0 && !installed)
			(void)restore_one(0);
	}
	was_set = true;
	installed = installed || !error;
	if (!error)
		hf_atomic32_store_relaxed(&decided, 1);
	(void)pthread_mutex_unlock(&lock);
	return error;
}

/*
 * Sets the handler that watches, only if both signals have the default action. The caller may be a
 * signal handler that has interrupted an install, so this does not wait for the lock.
 */
void hf_detail_nofault_watch(void)
{
	struct sigaction action, before[SIGNALS];
	bool is_free = true;

	if (hf_atomic32_load_relaxed(&decided) || pthread_mutex_trylock(&lock))
		return;
	for (unsigned int i = 0; i < SIGNALS; i++)
		is_free = is_free && !sigaction(signals[i], NULL, &before[i]) &&
			  is_default(&before[i]);
	for (unsigned int i = 0; i < SIGNALS && is_free; i++) {
		was_set = true;
		action = instead_of(&before[i], watching_handler);
		if (!sigaction(signals[i], &action, &before[i]) && !is_default(&before[i]))
			(void)sigaction(signals[i], &before[i], NULL); /* just set by others */
	}
	(void)pthread_mutex_unlock(&lock);
}

/* Restores the default action where a handler watches. */
static void stop_watching(void)
{
	struct sigaction now;

	for (unsigned int i = 0; i < SIGNALS; i++) {
		if (!sigaction(signals[i], NULL, &now) && has_handler(&now, watching_handler))
			(void)set_action(signals[i], SIG_DFL);
	}
}

bool hf_detail_nofault_is_decided(void)
{
	return hf_atomic32_load_relaxed(&decided);
}

int hf_detail_nofault_ensure(void)
{
	return hf_detail_nofault_is_decided() ? 0 : hf_nofault_install();
}

static bool handlers_are_ours(void)
{
	struct sigaction action;

	for (unsigned int i = 0; i < SIGNALS; i++) {
		if (sigaction(signals[i], NULL, &action) || !is_ours(&action))
			return false;
	}
	return true;
}

bool hf_nofault_owned(void)
{
	return hf_detail_nofault_is_decided() && handlers_are_ours();
}

int hf_nofault_remove(void)
{
	struct sigaction ours;
	int error = 0;

	(void)pthread_mutex_lock(&lock);
	if (installed && (sigaction(signals[0], NULL, &ours) || !handlers_are_ours()))
		error = -EBUSY;
	for (unsigned int i = 0; i < SIGNALS && installed && !error; i++) {
		error = restore_one(i);
		if (error && i > 0)
			(void)sigaction(signals[0], &ours, NULL);
	}
	if (!error) {
		installed = false;
		stop_watching();
	}
	(void)pthread_mutex_unlock(&lock);
	return error;
}

/* ---- start, end, fork --------------------------------------------------------------------- */

static void nofault_before_fork(void)
{
	(void)pthread_mutex_lock(&lock);
}

static void nofault_after_fork(void)
{
	(void)pthread_mutex_unlock(&lock);
}

/* The other threads do not exist in the child; some may have been in a handler. */
static void nofault_in_child(void)
{
	hf_atomic32_store_relaxed(&inside.inside[0], 0);
	hf_atomic32_store_relaxed(&inside.inside[1], 0);
	nofault_after_fork();
}

/*
 * The loader may bind a function at its first call, which takes 3 KiB of stack; an alternate stack
 * has 1 KiB for us. So all functions that the handler calls are called once here.
 */
static void bind_early(void)
{
	struct sigaction action;
	sigset_t mask;
	sigjmp_buf where;

	(void)sigaction(SIGSEGV, NULL, &action);
	(void)sigorset(&mask, &action.sa_mask, &action.sa_mask);
	(void)sigaddset(&mask, SIGSEGV);
	(void)pthread_sigmask(SIG_BLOCK, NULL, &mask);
	(void)getauxval(AT_SYSINFO_EHDR);
	(void)getpid();
	(void)syscall(SYS_gettid);
	hf_env_yield();
	if (sigsetjmp(where, 0) == 0)
		siglongjmp(where, 1);
}

__attribute__((constructor(101))) static void start_nofault(void)
{
	bind_early();
	(void)pthread_atfork(nofault_before_fork, nofault_after_fork, nofault_in_child);
#if HF_ARCH_HAS_SITES
	add_range(hf_detail_sites_start, hf_detail_sites_end, stays_loaded(hf_detail_sites_start));
#endif
}

/* ---- unloading ---------------------------------------------------------------------------- */

enum {
	ENOUGH_NS = 200000, /* of CPU time, after which a signal's delivery is certainly over */
	PATIENCE_NS = 1000000000 /* the limit, for threads that are stopped or not scheduled */
};

static int64_t now(clockid_t clock)
{
	struct timespec t;

	return clock_gettime(clock, &t) ? -1 : (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* CPU time of a thread of this process, in nanoseconds; -1 = it has ended. */
static int64_t thread_has_run(pid_t thread)
{
	return now((clockid_t)(~(unsigned int)thread << 3 | 6)); /* as pthread_getcpuclockid() */
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

/*
 * A thread may be on its way to our handler's first instruction. Waits until each thread has run
 * for ENOUGH_NS, or sleeps.
 */
static void wait_for_deliveries(void)
{
	const int64_t start = now(CLOCK_MONOTONIC);
	const pid_t self = (pid_t)syscall(SYS_gettid);
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *entry;

	while (tasks && (entry = readdir(tasks)) != NULL) {
		pid_t thread = (pid_t)atoi(entry->d_name);
		int64_t ran = thread && thread != self ? thread_has_run(thread) : -1;

		while (ran >= 0 && !thread_sleeps(dirfd(tasks), entry->d_name) &&
		       now(CLOCK_MONOTONIC) - start < PATIENCE_NS) {
			int64_t runs = thread_has_run(thread);

			if (runs < 0 || runs - ran >= ENOUGH_NS)
				break;
			hf_env_yield();
		}
	}
	if (tasks)
		(void)closedir(tasks);
}

#if HF_ARCH_HAS_SITES
static void free_tables(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct site_table *t = table_of(i), *before;

		for (; t; t = before) {
			before = t->before;
			free(t);
		}
		hf_atomic64_store_relaxed(&site_tables[i], 0);
	}
}
#endif

/*
 * Unloaded with the plug-in that it is linked into: our handler must be removed, and no thread may
 * be in it. A handler that other code installed after ours may still call ours: that can't be
 * prevented here (docs/design/0009-nofault.md).
 */
__attribute__((destructor(101))) static void end_nofault(void)
{
#if HF_ARCH_HAS_SITES
	const void *ours = hf_detail_sites_start;

	hf_detail_sites_unregister(hf_detail_sites_start, hf_detail_sites_end);
#else
	const void *ours = &saved;
#endif

	if (stays_loaded(ours) || hf_nofault_remove())
		return;
	/*
	 * Wait for threads before the handler's first instruction; in it; after hf_grace_leave().
	 */
	if (was_set)
		wait_for_deliveries();
	hf_grace_wait(&inside);
	if (was_set)
		wait_for_deliveries();
#if HF_ARCH_HAS_SITES
	free_tables();
#endif
}
