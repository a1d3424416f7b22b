/* SPDX-License-Identifier: MIT */
/*
 * run_lost - --lost-pages: a page that a mapped file has lost becomes zeros, as under a region, and
 * is reported, where the program would die of SIGBUS.
 *
 * One handler for the whole address space: nothing is done when a file is mapped, so that a program
 * without a loss pays nothing. What was mapped, and of which file, is asked at the loss.
 *
 * State
 *   Each mapping that has lost pages has an entry in `losses`. The zeros' tag is its number, so
 *   what follows a lost page tells whether the mapping has lost others before:
 *
 *        m.from            page                 m.to
 *        |  the file       |  lost: zeros       |  zeros with the tag of m's entry: a later loss
 *        |-----------------|--------------------|  of a mapping that was reported
 *
 * Invariants
 *   L1  A loss is counted and reported before the zeros are mapped, and one thread at a time is in
 *       the handler: so no thread reads zeros before their report is written, and _exit(), exec()
 *       or SIGKILL cannot lose it. Other threads that fault meanwhile wait.
 *   L2  Nothing is allocated but for a function's name, which is kept: src/profile/symbol.h maps
 *       memory, and unmaps it. All else is in static memory, so that little stack is used.
 *   L3  Only the rest of the mapping in which a page was lost is replaced, and only if it is a
 *       file's.
 *   L4  A handler that the program sets for SIGBUS replaces ours, so it comes first; where the
 *       program sets the default, ours is set (run_signal.c). For SIGSEGV, too: it notes the first
 *       write into a lost part. If the program handles that itself, the zeros are writable at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "holdfast/internal/arch_access.h"

#include "../../src/env/env.h"
#include "../../src/region/zeros.h"
#include "run.h"

enum { PATH_ROOM = 240, NAMES = 16 };

/* A mapping that has lost pages. Number 0: there was no room for it. */
struct loss {
	uintptr_t from; /* its start, and what it was there: is it still the same mapping? */
	uint64_t device, inode, offset;
	bool is_writable, is_shared, is_written;
	char path[PATH_ROOM];
};

/* All but these three: written by the lock's holder. */
static struct loss losses[HF_DETAIL_ZEROS_TAGS];
static uint32_t loss_count = 1;
static struct hf_detail_printer printer;

static bool is_on, fails;      /* --lost-pages; --lost-pages=fail */
static const char *file;       /* where reports are appended; NULL = standard error */
static hf_atomic32_t has_lost; /* 1 = this process has lost a page */

/* ---- one thread at a time ------------------------------------------------------------------- */

/* The process whose thread has it; 0 = none. A child that was made by clone() takes its copy. */
static hf_atomic32_t holder;

static void take_turn(void)
{
	uint32_t me = (uint32_t)getpid(), found = 0;

	for (uint32_t n = 0; !hf_atomic32_try_cmpxchg_seq_cst(&holder, &found, me); n++) {
		if (found == me) {
			found = 0;
			hf_detail_env_pause(n);
		}
	}
}

static void end_turn(void)
{
	hf_atomic32_store_release(&holder, 0);
}

/* ---- reports ------------------------------------------------------------------------------ */

/* The same few instructions read many mappings. */
static const char *name_of(const void *address)
{
	static struct {
		const void *address;
		char name[HF_DETAIL_NAME_ROOM];
	} names[NAMES];
	unsigned int at = (unsigned int)((uintptr_t)address >> 2) % NAMES;

	if (names[at].address != address) {
		struct hf_detail_symbols *symbols = hf_detail_symbols_load();

		hf_detail_symbol(symbols, names[at].name, sizeof(names[at].name), address,
				 HF_DETAIL_NAME_LONG);
		hf_detail_symbols_unload(symbols);
		names[at].address = address;
	}
	return names[at].name;
}

/* Opened for each report: a daemon closes descriptors that it does not know. */
static void write_report(void)
{
	int opened = file ? open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;

	printer.file = opened >= 0 ? opened : STDERR_FILENO;
	hf_detail_flush(&printer);
	if (opened >= 0)
		(void)close(opened);
}

/* The file's size, if the path is still its name: says why the page is missing. */
static void put_size(const char *path, const struct hf_detail_mapping *m, uint64_t offset)
{
	struct stat status;

	if (stat(path, &status) || status.st_ino != m->inode || !S_ISREG(status.st_mode))
		return;
	hf_detail_put(&printer, "; the file has %lld bytes", (long long)status.st_size);
	if ((uint64_t)status.st_size > offset)
		hf_detail_put(&printer,
			      ", so its disk is full or cannot be read, or it has grown again");
}

/* L1 */
static void report_loss(const char *path, const struct hf_detail_mapping *m, uintptr_t page,
			const void *code)
{
	uint64_t offset = m->offset + (page - m->from);

	hf_detail_put(&printer, "holdfast: lost pages: %s: from byte %llu on, read by %s", path,
		      (unsigned long long)offset, name_of(code));
	hf_detail_put(&printer, " in process %d; %llu bytes were mapped, from byte %llu on",
		      (int)getpid(), (unsigned long long)(m->to - m->from),
		      (unsigned long long)m->offset);
	put_size(path, m, offset);
	hf_detail_put(&printer, "\n");
	if (!hf_atomic32_load_relaxed(&has_lost))
		hf_detail_put(&printer, "holdfast: lost pages: the process reads zeros there: what "
					"it computes from them is not the file's\n");
	write_report();
	hf_atomic32_store_relaxed(&has_lost, 1);
}

/* ---- a page is lost ----------------------------------------------------------------------- */

/* A device other than a disk has reasons of its own for SIGBUS. */
static bool is_device(const char *path)
{
	struct stat status;

	return strncmp(path, "/dev/", 5) == 0 && strncmp(path, "/dev/shm/", 9) != 0 &&
	       (stat(path, &status) || !S_ISBLK(status.st_mode));
}

/*
 * Not anonymous memory: if it is shared or of huge pages, its name begins so. Nor huge pages of a
 * file; where m->page is not known (0, before Linux 6.11), they refuse zeros in their middle.
 */
static bool is_file(const struct hf_detail_mapping *m, const char *path)
{
	return path[0] == '/' && strncmp(path, "/SYSV", 5) != 0 &&
	       strncmp(path, "/anon_hugepage", 14) != 0 && !is_device(path) &&
	       (m->page == 0 || m->page == (uint64_t)sysconf(_SC_PAGESIZE));
}

static bool is_mapping_of(const struct loss *loss, const struct hf_detail_mapping *m)
{
	return loss->from == m->from && loss->offset == m->offset && loss->device == m->device &&
	       loss->inode == m->inode;
}

/* The entry of a mapping that has lost a page before; 0 = none. */
static uint32_t find_loss(const struct hf_detail_mapping *m)
{
	struct hf_detail_mapping next;
	uint32_t tag;

	if (hf_detail_mapping_at(m->to, &next) || next.from != m->to || !hf_detail_is_zeros(&next))
		return 0;
	tag = hf_detail_zeros_tag(&next);
	return tag && is_mapping_of(&losses[tag], m) ? tag : 0;
}

static uint32_t add_loss(const struct hf_detail_mapping *m, const char *path)
{
	struct loss *loss = &losses[loss_count];

	if (loss_count == HF_DETAIL_ZEROS_TAGS)
		return 0;
	*loss = (struct loss){ .from = m->from,
			       .device = m->device,
			       .inode = m->inode,
			       .offset = m->offset,
			       .is_writable = m->writable,
			       .is_shared = m->shared };
	(void)memcpy(loss->path, path, PATH_ROOM);
	return loss_count++;
}

/* L4 */
static bool sees_writes(void)
{
	struct sigaction action;

	return hf_run_real()->sigaction(SIGSEGV, NULL, &action) == 0 &&
	       action.sa_handler == hf_run_lost_handler(SIGSEGV) &&
	       hf_atomic32_load_relaxed(&hf_detail_zeros_mark) == HF_DETAIL_MARK_SHOWN;
}

/* Returns false: not a lost page of a file, or the kernel refuses. */
static bool replace(uintptr_t address, const void *code)
{
	static char path[PATH_ROOM];
	uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE), page = address & ~(size - 1);
	struct hf_detail_mapping m;
	int error = hf_detail_mapping_named(page, &m, path, sizeof(path));
	uint32_t tag;

	if (error == -ENOENT || (!error && m.from > page))
		return true; /* unmapped meanwhile: the access is repeated, and judged anew */
	if (error) { /* there is no /proc, or no descriptor: the page alone is lost for certain */
		m = (struct hf_detail_mapping){ .from = page, .to = page + size };
		if (!hf_atomic32_load_relaxed(&has_lost))
			report_loss("(/proc does not say what)", &m, page, code);
		return hf_detail_map_zeros(page, m.to, PROT_READ | PROT_WRITE,
					   HF_DETAIL_ZEROS_UNMARKED);
	}
	if (hf_detail_is_zeros(&m))
		return true; /* another thread was faster */
	if (!is_file(&m, path))
		return false;
	tag = find_loss(&m);
	if (!tag) {
		report_loss(path, &m, page, code);
		tag = add_loss(&m, path);
	}
	if (!hf_detail_map_zeros(page, m.to, PROT_READ, (int)tag))
		return false;
	if (m.writable && (!tag || !sees_writes()))
		(void)mprotect((void *)page, m.to - page, PROT_READ | PROT_WRITE);
	return true;
}

/* ---- a write into a lost part ------------------------------------------------------------- */

static bool open_lost(uintptr_t address, const void *code)
{
	uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE), page = address & ~(size - 1);
	struct hf_detail_mapping m;
	struct loss *loss;

	if (hf_detail_mapping_at(page, &m) || m.from > page || !hf_detail_is_zeros(&m))
		return false;
	loss = &losses[hf_detail_zeros_tag(&m)];
	if (!loss->is_writable)
		return false;
	if (loss->is_shared && !loss->is_written) {
		loss->is_written = true;
		hf_detail_put(&printer,
			      "holdfast: lost pages: %s: written at byte %llu by %s: what is "
			      "written there is lost\n",
			      loss->path,
			      (unsigned long long)(loss->offset + (address - loss->from)),
			      name_of(code));
		write_report();
	}
	/* Limits of writable memory (RLIMIT_DATA, overcommit_memory 2) may allow a page only. */
	return hf_detail_open_zeros(&m, m.from, m.to) ||
	       (errno == ENOMEM && hf_detail_open_zeros(&m, page, page + size));
}

/* ---- the handler -------------------------------------------------------------------------- */

/* Not one that was sent. An instruction that is fetched from a lost page is a bug. */
static bool is_access(const siginfo_t *info, const ucontext_t *context)
{
	uintptr_t code = (uintptr_t)HF_ARCH_CONTEXT_PC(context), at = (uintptr_t)info->si_addr;

	return HF_ARCH_CONTEXT_FAULTED_AT(context, at) &&
	       (code ^ at) >= (uintptr_t)sysconf(_SC_PAGESIZE);
}

/* The process dies of it when the handler returns, and a core dump shows the fault. */
static void die_of(int number, siginfo_t *info)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	(void)hf_run_real()->sigaction(number, &action, NULL);
	if (syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), number, info))
		(void)raise(number);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;
	const void *code = (const void *)(uintptr_t)HF_ARCH_CONTEXT_PC(u);
	uintptr_t address = (uintptr_t)info->si_addr & ~HF_ARCH_TAG_BITS;
	bool is_lost = number == SIGBUS && info->si_code == BUS_ADRERR;
	bool is_write = number == SIGSEGV && info->si_code == SEGV_ACCERR;
	bool is_served = false, was_busy = hf_run_is_busy;
	int kept = errno, state;

	if ((is_lost || is_write) && is_access(info, u)) {
		/* open() and write() would act on a cancellation. */
		(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
		hf_run_is_busy = true; /* so pthread_sigmask() leaves our signals blocked, too */
		take_turn();
		is_served = is_lost ? replace(address, code) : open_lost(address, code);
		end_turn();
		hf_run_is_busy = was_busy;
		(void)pthread_setcancelstate(state, NULL);
	}
	if (!is_served)
		die_of(number, info);
	errno = kept;
}

void (*hf_run_lost_handler(int number))(int)
{
	return is_on && (number == SIGBUS || number == SIGSEGV) ? (void (*)(int))(uintptr_t)on_fault
								: NULL;
}

/*
 * All signals are blocked but those that the handler itself may raise (src/nofault/install.c). Not
 * on an alternate stack, which may be too small for a report.
 */
struct sigaction hf_run_lost_action(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_fault;
	action.sa_flags = SA_SIGINFO | SA_RESTART;
	(void)sigfillset(&action.sa_mask);
	(void)sigdelset(&action.sa_mask, SIGSYS);
	(void)sigdelset(&action.sa_mask, SIGTRAP);
	(void)sigdelset(&action.sa_mask, SIGILL);
	return action;
}

void hf_run_lost_leaves(int number)
{
	static const char text[] = "holdfast: lost pages: the program handles SIGBUS itself, so "
				   "lost pages are left to its handler\n";
	static hf_atomic32_t is_reported;
	uint32_t none = 0;

	if (is_on && number == SIGBUS && hf_atomic32_try_cmpxchg_relaxed(&is_reported, &none, 1))
		hf_detail_env_print(text, sizeof(text) - 1);
}

/* ---- start and end ------------------------------------------------------------------------ */

void hf_run_lost_start(const char *where)
{
	sigset_t both;

	fails = strcmp(where, "fail") == 0;
	file = *where == '/' ? where : NULL;
	is_on = true;
	hf_run_take_over(SIGBUS);
	hf_run_take_over(SIGSEGV);
	(void)sigemptyset(&both);
	(void)sigaddset(&both, SIGBUS);
	(void)sigaddset(&both, SIGSEGV);
	(void)pthread_sigmask(SIG_UNBLOCK, &both, NULL);
}

bool hf_run_lost_fails(void)
{
	return fails && hf_atomic32_load_relaxed(&has_lost);
}
