/* SPDX-License-Identifier: MIT */
/*
 * linux_user_nofault - Linux user space: the table of sites, and the handler of SIGSEGV and SIGBUS.
 *
 * State
 *   ranges    the sites of each loaded object, as they are in its memory; changed under `lock`
 *   table     all sites with absolute addresses, sorted; a new one for each change, published whole
 *   saved     for each signal what was there before us
 *
 * Invariants
 *   H1  A handler reads `table` and nothing of an object that may be unloaded.
 *   H2  A table is freed after hf_grace_wait(), when no handler can be in it.
 *   H3  `saved` is filled before our handler is installed, and never emptied: a handler that is
 *       late still finds where to pass on to.
 *   H4  Our handler is not interrupted, and passes on with the mask that the one before would have.
 */
#define _GNU_SOURCE /* dl_iterate_phdr, sigorset */
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "holdfast/nofault/grace.h"

#include "env.h"
#include "nofault.h"
#include "nofault_fault.h"
#include "nofault_jump.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the last fault ----------------------------------------------------------------------- */

static __thread struct hf_nofault_fault last __attribute__((tls_model("initial-exec")));

struct hf_nofault_fault hf_nofault_last(void)
{
	return last;
}

/* ---- the table of sites ------------------------------------------------------------------- */

struct site {
	uintptr_t from, to;
};

struct table {
	size_t count;
	struct site sites[];
};

/* One object's sites. */
struct range {
	struct range *next;
	const struct hf__site *start, *end;
	unsigned int units; /* translation units that registered it */
	bool stays;         /* it can't be unloaded before the process ends */
};

static struct range *ranges;
static hf_atomic64_t table; /* struct table *; 0 = no sites */
static struct hf_grace grace;

/* The destructors of what stays have begun to run: the process ends, and its threads may still run. */
static bool exiting;

static uintptr_t absolute(const int32_t *word)
{
	return (uintptr_t)word + (uintptr_t)(intptr_t)*word;
}

static int by_address(const void *a, const void *b)
{
	uintptr_t x = ((const struct site *)a)->from, y = ((const struct site *)b)->from;

	return (x > y) - (x < y);
}

/* Makes the table of all ranges and publishes it. Under `lock`. */
static void publish(void)
{
	struct table *made = NULL, *old;
	size_t count = 0;

	for (const struct range *r = ranges; r; r = r->next)
		count += (size_t)(r->end - r->start);
	if (count) {
		made = (struct table *)malloc(sizeof(*made) + count * sizeof(made->sites[0]));
		if (!made) {
			static const char line[] =
				"holdfast: no memory for the table of sites that may fault\n";

			hf__env_print(line, sizeof(line) - 1);
			hf__env_abort();
		}
		made->count = 0;
		for (const struct range *r = ranges; r; r = r->next) {
			for (const struct hf__site *s = r->start; s < r->end; s++) {
				made->sites[made->count].from = absolute(&s->from);
				made->sites[made->count++].to = absolute(&s->to);
			}
		}
		qsort(made->sites, count, sizeof(made->sites[0]), by_address);
	}
	old = (struct table *)(uintptr_t)hf_atomic64_load_relaxed(&table);
	hf_atomic64_store_seq_cst(&table, (uintptr_t)made);
	if (old) {
		hf_grace_wait(&grace); /* H2 */
		free(old);
	}
}

#if HF_ARCH_HAS_SITES
/* Where to go on after a fault at `pc`; 0 = it is no site. Async-signal-safe. */
static uintptr_t find(uintptr_t pc)
{
	uint32_t parity = hf_grace_enter(&grace);
	const struct table *t = (const struct table *)(uintptr_t)hf_atomic64_load_seq_cst(&table);
	size_t low = 0, high = t ? t->count : 0;
	uintptr_t to = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->sites[middle].from < pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (t && low < t->count && t->sites[low].from == pc)
		to = t->sites[low].to;
	hf_grace_leave(&grace, parity);
	return to;
}
#endif

struct object {
	uintptr_t address;
	bool is_program, first;
};

static int look_at(struct dl_phdr_info *info, size_t size, void *data)
{
	struct object *object = (struct object *)data;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    object->address - start < info->dlpi_phdr[i].p_memsz)
			object->is_program = object->first;
	}
	object->first = false;
	return 1; /* the first object is the program */
}

static bool is_of_program(const void *p)
{
	struct object object = { (uintptr_t)p, false, true };

	(void)dl_iterate_phdr(look_at, &object);
	return object.is_program;
}

/*
 * Our shared library is linked with -z nodelete: once loaded it stays. As a static one it stays if it
 * is part of the program.
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
			r->start = (const struct hf__site *)start;
			r->end = (const struct hf__site *)end;
			r->units = 1;
			r->stays = stays;
			r->next = ranges;
			ranges = r;
		}
		publish();
	}
	(void)pthread_mutex_unlock(&lock);
}

void hf__sites_register(const void *start, const void *end)
{
	add_range(start, end, is_of_program(start));
}

void hf__sites_unregister(const void *start, const void *end)
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

/* Raised by an access of this thread, and not by kill() or for something that happened elsewhere? */
static bool is_fault(int signal, const siginfo_t *info)
{
	if (info->si_code <= 0)
		return false;
#ifdef BUS_MCEERR_AO
	if (signal == SIGBUS && info->si_code == BUS_MCEERR_AO)
		return false;
#endif
	return signal == SIGSEGV || signal == SIGBUS;
}

hf_atomic64_t hf__fault_hook;

/* A fault that has no site, or no mark. */
static bool ask_hook(int signal, const siginfo_t *info, void *context)
{
	hf__fault_hook_t hook =
		(hf__fault_hook_t)(uintptr_t)hf_atomic64_load_acquire(&hf__fault_hook);

	return hook && hook(signal, info, context);
}

bool hf_nofault_handle(int signal, const void *information, void *context)
{
	const siginfo_t *info = (const siginfo_t *)information;

	if (!is_fault(signal, info)) /* F3 */
		return false;
#if HF_ARCH_HAS_SITES
	ucontext_t *u = (ucontext_t *)context;
	uintptr_t to = find((uintptr_t)HF_ARCH_CONTEXT_PC(u));

	if (!to)
		return ask_hook(signal, info, context);
	HF_ARCH_CONTEXT_PC(u) = (__typeof__(HF_ARCH_CONTEXT_PC(u)))to;
#else
	volatile struct hf__mark *mark = hf__mark;

	if (!mark)
		return ask_hook(signal, info, context);
	/* The jump leaves the handler, so what its return would have done is done here. */
	(void)pthread_sigmask(SIG_SETMASK, &((ucontext_t *)context)->uc_sigmask, NULL);
#endif
	last.signal = signal;
	last.code = info->si_code;
	last.address = info->si_addr;
#if !HF_ARCH_HAS_SITES
	siglongjmp(*(sigjmp_buf *)(uintptr_t)&mark->where, 1);
#endif
	return true;
}

/* ---- passing on --------------------------------------------------------------------------- */

static const int signals[] = { SIGSEGV, SIGBUS };

enum { SIGNALS = 2 };

/* What was there before. Two, and which holds: a handler may be reading one while another is set. */
static struct {
	struct sigaction action[2];
	hf_atomic32_t current;
	hf_atomic32_t reset; /* SA_RESETHAND, and it was called: it is the default now */
} saved[SIGNALS];

static bool installed; /* under `lock` */

/*
 * As if the signal had come with the default action: the process dies of it. A fault happens again
 * when this handler returns, now with no handler in the way; what was sent is sent again, with the same
 * information, and comes when this handler returns.
 */
static void die_of(int signal, siginfo_t *info)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = SIG_DFL;
	(void)sigaction(signal, &action, NULL);
	if (!is_fault(signal, info))
		(void)syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), signal,
			      info);
}

static void pass_on(int signal, siginfo_t *info, void *context)
{
	unsigned int i = signal == SIGSEGV ? 0 : 1;
	const struct sigaction *before =
		&saved[i].action[hf_atomic32_load_acquire(&saved[i].current)];
	bool is_default = !(before->sa_flags & SA_SIGINFO) && before->sa_handler == SIG_DFL;
	bool is_ignored = !(before->sa_flags & SA_SIGINFO) && before->sa_handler == SIG_IGN;
	sigset_t mask;

	if (before->sa_flags & (int)SA_RESETHAND && !is_default && !is_ignored)
		is_default = hf_atomic32_xchg_acq_rel(&saved[i].reset, 1) != 0;
	if (is_ignored && !is_fault(signal, info))
		return;
	if (is_default || is_ignored) { /* the system does not let a fault be ignored */
		die_of(signal, info);
		return;
	}
	/* Its mask, as the system would have set it; our return restores the thread's. */
	sigorset(&mask, &((ucontext_t *)context)->uc_sigmask, &before->sa_mask);
	if (!(before->sa_flags & SA_NODEFER))
		(void)sigaddset(&mask, signal);
	(void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
	if (before->sa_flags & SA_SIGINFO)
		before->sa_sigaction(signal, info, context);
	else
		before->sa_handler(signal);
}

static void handler(int signal, siginfo_t *info, void *context)
{
	int error = errno; /* F2 */

	if (!hf_nofault_handle(signal, info, context))
		pass_on(signal, info, context);
	errno = error;
}

/* ---- installing --------------------------------------------------------------------------- */

static bool is_ours(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO && action->sa_sigaction == handler;
}

static int install_one(unsigned int i)
{
	struct sigaction action, before;
	uint32_t other = 1 - hf_atomic32_load_relaxed(&saved[i].current);

	if (sigaction(signals[i], NULL, &before))
		return -errno;
	saved[i].action[other] = before;
	hf_atomic32_store_relaxed(&saved[i].reset, 0);
	hf_atomic32_store_release(&saved[i].current, other); /* H3 */
	memset(&action, 0, sizeof(action));
	action.sa_sigaction = handler;
	/* H4: a handler that interrupted ours could not fault, since our signal is blocked meanwhile. */
	(void)sigfillset(&action.sa_mask);
	/* On the alternate stack if the one before was, or if there is none that could mind. */
	action.sa_flags = SA_SIGINFO | (before.sa_flags & SA_RESTART);
	if (before.sa_flags & SA_ONSTACK ||
	    (!(before.sa_flags & SA_SIGINFO) &&
	     (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)))
		action.sa_flags |= SA_ONSTACK;
	return sigaction(signals[i], &action, NULL) ? -errno : 0;
}

static int restore_one(unsigned int i)
{
	struct sigaction before = saved[i].action[hf_atomic32_load_relaxed(&saved[i].current)];

	if (hf_atomic32_load_relaxed(&saved[i].reset)) {
		memset(&before, 0, sizeof(before));
		before.sa_handler = SIG_DFL;
	}
	return sigaction(signals[i], &before, NULL) ? -errno : 0;
}

int hf_nofault_install(void)
{
	int error = 0;

	(void)pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < SIGNALS && !installed && !error; i++) {
		error = install_one(i);
		if (error && i > 0)
			(void)restore_one(0);
	}
	installed = installed || !error;
	(void)pthread_mutex_unlock(&lock);
	return error;
}

bool hf_nofault_owned(void)
{
	struct sigaction action;

	for (unsigned int i = 0; i < SIGNALS; i++) {
		if (sigaction(signals[i], NULL, &action) || !is_ours(&action))
			return false;
	}
	return true;
}

int hf_nofault_remove(void)
{
	int error = 0;

	(void)pthread_mutex_lock(&lock);
	if (installed && !hf_nofault_owned())
		error = -EBUSY;
	for (unsigned int i = 0; i < SIGNALS && installed && !error; i++)
		error = restore_one(i);
	if (!error)
		installed = false;
	(void)pthread_mutex_unlock(&lock);
	return error;
}

/* ---- start, end, fork --------------------------------------------------------------------- */

static void before_fork(void)
{
	(void)pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	(void)pthread_mutex_unlock(&lock);
}

/* The other threads are not here, and some of them may have been in a handler. */
static void in_child(void)
{
	hf_atomic32_store_relaxed(&grace.inside[0], 0);
	hf_atomic32_store_relaxed(&grace.inside[1], 0);
	after_fork();
}

__attribute__((constructor(101))) static void start(void)
{
	(void)pthread_atfork(before_fork, after_fork, in_child);
#if HF_ARCH_HAS_SITES
	add_range(hf__sites_start, hf__sites_end, stays_loaded(hf__sites_start));
#endif
}

/* Unloaded with the plug-in that it is linked into: nothing of us may stay behind. */
__attribute__((destructor(101))) static void end(void)
{
#if HF_ARCH_HAS_SITES
	const void *ours = hf__sites_start;

	hf__sites_unregister(hf__sites_start, hf__sites_end);
#else
	const void *ours = &table;
#endif
	if (!stays_loaded(ours))
		(void)hf_nofault_remove();
}
