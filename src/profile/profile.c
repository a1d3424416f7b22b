/* SPDX-License-Identifier: MIT */
/*
 * profile - Linux user space: prints, at exit, which locks were waited for, how often and how long.
 *
 * State
 *   hf_detail_profile_on   1 = HOLDFAST_PROFILE is set; written before main(), read by slow paths
 *   table            one entry for each lock and call site that was waited for: one table for all
 *                    copies of the library in a process; empty again in the child of a fork
 *   output           how many copies there are, and where the profile goes
 *
 *   An entry goes from FREE to BUSY to READY, and never back.
 *
 * Invariants
 *   P1  Counting allocates nothing, takes no lock and never waits, because threads that have just
 *       taken a lock do it, and signal handlers. An entry that another thread is filling in (BUSY)
 *       is skipped; so a lock and site may have two entries, which are added up when the profile is
 *       printed.
 *   P2  The memory is bounded. A wait that finds no entry within SLOTS_LOOKED_AT steps is counted
 *       as dropped.
 *   P3  The last copy prints: at exit, or when the only plug-in that has a copy is unloaded.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "holdfast/internal/atomic.h"
#include "holdfast/internal/profile.h"
#include "holdfast/report.h"

#include "../env/env.h"
#include "../process/process.h"
#include "symbol.h"

enum { ENTRIES = 4096, SLOTS_LOOKED_AT = 64, LOCKS_SHOWN = 10, SITES_SHOWN = 5 };

enum { FREE, BUSY, READY };

struct entry {
	hf_atomic64_t lock, site; /* addresses; constant once the entry is READY */
	hf_atomic64_t waits, ns, longest;
	hf_atomic32_t state, kind;
};

struct profile_table {
	struct entry entry[ENTRIES];
	hf_atomic64_t dropped, dropped_ns; /* P2 */
};

struct output {
	hf_atomic32_t copies;
	char file[PATH_MAX]; /* empty = standard error */
};

HF_DETAIL_DEBUGGERS_KNOW(sizeof(struct entry) == 48 && offsetof(struct entry, site) == 8 &&
			 offsetof(struct entry, longest) == 32 &&
			 offsetof(struct entry, kind) == 44);

/* The child of a fork starts with an empty profile, but with as many copies of the library. */
HF_DETAIL_PROCESS_STATE(profile, 1);
HF_DETAIL_PROCESS_STATE(profout, 1);

uint32_t hf_detail_profile_on;

static struct profile_table *profile_table;
static struct output *output;

/* ---- counting ----------------------------------------------------------------------------- */

static uint32_t place_of(uint64_t lock, uint64_t site)
{
	return (uint32_t)((lock * 0x9e3779b97f4a7c15u ^ site * 0xc2b2ae3d27d4eb4fu) >> 40) %
	       ENTRIES;
}

/* The entry of a lock and a site, or NULL. P1, P2 */
static struct entry *find(enum hf_detail_profile_kind kind, uint64_t lock, uint64_t site)
{
	uint32_t at = place_of(lock, site);

	for (uint32_t i = 0; i < SLOTS_LOOKED_AT; i++) {
		struct entry *e = &profile_table->entry[(at + i) % ENTRIES];
		uint32_t state = hf_atomic32_load_acquire(&e->state);

		if (state == FREE && hf_atomic32_try_cmpxchg_relaxed(&e->state, &state, BUSY)) {
			hf_atomic64_store_relaxed(&e->lock, lock);
			hf_atomic64_store_relaxed(&e->site, site);
			hf_atomic32_store_relaxed(&e->kind, (uint32_t)kind);
			hf_atomic32_store_release(&e->state, READY);
			return e;
		}
		/* A failed compare-and-swap may read READY, but does not acquire the contents. */
		if (state == READY)
			state = hf_atomic32_load_acquire(&e->state);
		if (state == READY && hf_atomic64_load_relaxed(&e->lock) == lock &&
		    hf_atomic64_load_relaxed(&e->site) == site &&
		    hf_atomic32_load_relaxed(&e->kind) == (uint32_t)kind)
			return e;
	}
	return NULL;
}

static void raise_to(hf_atomic64_t *longest, uint64_t ns)
{
	uint64_t found = hf_atomic64_load_relaxed(longest);

	while (found < ns && !hf_atomic64_try_cmpxchg_relaxed(longest, &found, ns))
		;
}

void hf_detail_profile_add(uint64_t start, enum hf_detail_profile_kind kind,
			   const volatile void *lock, const void *site)
{
	uint64_t ns = hf_detail_env_now() - start;
	struct entry *e;

	if (!site)
		site = HF_DETAIL_CALL_SITE;
	e = find(kind, (uintptr_t)lock, (uintptr_t)site);
	(void)hf_atomic64_fetch_add_relaxed(e ? &e->waits : &profile_table->dropped, 1);
	(void)hf_atomic64_fetch_add_relaxed(e ? &e->ns : &profile_table->dropped_ns, ns);
	if (e)
		raise_to(&e->longest, ns);
}

/* ---- printing ----------------------------------------------------------------------------- */

static char program[128]; /* this process's path, empty if unknown */

struct row {
	enum hf_detail_profile_kind kind;
	uint64_t lock, site, waits, ns, longest;
};

static const char *const wait_names[] = {
	[HF_DETAIL_PROFILE_MUTEX] = "mutex",
	[HF_DETAIL_PROFILE_MUTEX_SHARED] = "mutex between processes",
	[HF_DETAIL_PROFILE_SPINLOCK] = "spinlock",
	[HF_DETAIL_PROFILE_COND] = "condition variable",
	[HF_DETAIL_PROFILE_COND_SHARED] = "condition variable between processes",
};

static bool is_cond(enum hf_detail_profile_kind kind)
{
	return kind == HF_DETAIL_PROFILE_COND || kind == HF_DETAIL_PROFILE_COND_SHARED;
}

static bool same_lock(const struct row *a, const struct row *b)
{
	return a->kind == b->kind && a->lock == b->lock;
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int by_lock(const void *one, const void *other)
{
	const struct row *a = (const struct row *)one, *b = (const struct row *)other;

	if (a->kind != b->kind)
		return COMPARE(a->kind, b->kind);
	if (a->lock != b->lock)
		return COMPARE(a->lock, b->lock);
	return COMPARE(a->site, b->site);
}

/* The longest total first. */
static int by_cost(const void *one, const void *other)
{
	const struct row *a = (const struct row *)one, *b = (const struct row *)other;

	if (a->ns != b->ns)
		return COMPARE(b->ns, a->ns);
	if (a->waits != b->waits)
		return COMPARE(b->waits, a->waits);
	return by_lock(one, other);
}

static int by_lock_and_cost(const void *one, const void *other)
{
	return same_lock((const struct row *)one, (const struct row *)other) ? by_cost(one, other)
									     : by_lock(one, other);
}

static void add_row(struct row *to, const struct row *from)
{
	to->waits += from->waits;
	to->ns += from->ns;
	if (to->longest < from->longest)
		to->longest = from->longest;
}

/* Adds a row to the last one if both are of one lock (@by_site: and site), else appends it. */
static void append_row(struct row *rows, size_t *n, const struct row *row, bool by_site)
{
	struct row *last = *n ? &rows[*n - 1] : NULL;

	if (last && same_lock(last, row) && (!by_site || last->site == row->site))
		add_row(last, row);
	else
		rows[(*n)++] = *row;
}

/* Copies the table, one row for each lock and site (P1). Returns their number. */
static size_t collect_rows(struct row *rows)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < ENTRIES; i++) {
		const struct entry *e = &profile_table->entry[i];

		if (hf_atomic32_load_acquire(&e->state) != READY)
			continue;
		rows[n].kind = (enum hf_detail_profile_kind)hf_atomic32_load_relaxed(&e->kind);
		rows[n].lock = hf_atomic64_load_relaxed(&e->lock);
		rows[n].site = hf_atomic64_load_relaxed(&e->site);
		rows[n].waits = hf_atomic64_load_relaxed(&e->waits);
		rows[n].ns = hf_atomic64_load_relaxed(&e->ns);
		rows[n].longest = hf_atomic64_load_relaxed(&e->longest);
		n += rows[n].waits != 0;
	}
	qsort(rows, n, sizeof(*rows), by_lock);
	for (size_t i = 0; i < n; i++)
		append_row(rows, &kept, &rows[i], true);
	qsort(rows, kept, sizeof(*rows), by_lock_and_cost);
	return kept;
}

/* Makes one row for each lock, or condition variable, the costliest first. Returns how many. */
static size_t sum_up(const struct row *rows, size_t n, bool conds, struct row *locks)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_cond(rows[i].kind) == conds)
			append_row(locks, &count, &rows[i], false);
	}
	qsort(locks, count, sizeof(*locks), by_cost);
	return count;
}

__attribute__((format(printf, 2, 3))) static void line(int file, const char *format, ...)
{
	char text[512] = "holdfast: ";
	size_t len = strlen(text);
	const char *at = text;
	va_list arguments;
	int more;

	va_start(arguments, format);
	more = vsnprintf(text + len, sizeof(text) - len - 1, format, arguments);
	va_end(arguments);
	len += more < 0 ? 0 : (size_t)more;
	if (len > sizeof(text) - 2)
		len = sizeof(text) - 2;
	text[len++] = '\n';
	while (len > 0) {
		ssize_t n = write(file, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		at += n;
		len -= (size_t)n;
	}
}

/* For "%10llu.%03u": milliseconds. */
#define MS(ns) (unsigned long long)((ns) / 1000000), (unsigned int)((ns) / 1000 % 1000)

/* "      12.345         7       3.210    at 0x1234 worker+0x14 (/bin/app+0x234)" */
static void print_row(int file, const struct row *row, const char *what, uint64_t address)
{
	/* Reports use /proc/self/maps, but that does not say which object a .bss belongs to. */
	struct hf_detail_object object = { .address = (const void *)(uintptr_t)address };
	char name[128] = "", behind[32] = "", place[256] = "";
	struct hf_detail_symbol symbol;

	if (hf_detail_process_object(&object)) {
		(void)snprintf(place, sizeof(place), " (%s+0x%lx)",
			       *object.name ? object.name : program,
			       (unsigned long)(address - object.start));
		if (hf_detail_symbol(*object.name ? object.name : "/proc/self/exe",
				     address - object.shift, &symbol)) {
			if (symbol.behind)
				(void)snprintf(behind, sizeof(behind), "+0x%llx",
					       (unsigned long long)symbol.behind);
			(void)snprintf(name, sizeof(name), " %s%s", symbol.name, behind);
		}
	}
	line(file, "%10llu.%03u %10llu %8llu.%03u  %s 0x%llx%s%s", MS(row->ns),
	     (unsigned long long)row->waits, MS(row->longest), what, (unsigned long long)address,
	     name, place);
}

/* Prints the call sites that waited longest for a lock. @rows: of all locks, by_lock_and_cost(). */
static void print_sites(int file, const struct row *rows, size_t n, const struct row *lock)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		if (same_lock(&rows[i], lock) && ++count <= SITES_SHOWN)
			print_row(file, &rows[i], "  at", rows[i].site);
	}
	if (count > SITES_SHOWN)
		line(file, "%*s and %zu more call sites", 36, "", count - SITES_SHOWN);
}

static void print_some(int file, const struct row *rows, size_t n, bool conds, struct row *locks)
{
	size_t count = sum_up(rows, n, conds, locks);
	struct row rest = { HF_DETAIL_PROFILE_MUTEX, 0, 0, 0, 0, 0 };

	if (!count)
		return;
	line(file, "      total ms      waits   longest ms  %s",
	     conds ? "condition variable (not contention: a thread waits there for its work)"
		   : "lock");
	for (size_t i = 0; i < count; i++) {
		if (i < LOCKS_SHOWN) {
			print_row(file, &locks[i], wait_names[locks[i].kind], locks[i].lock);
			print_sites(file, rows, n, &locks[i]);
		} else {
			add_row(&rest, &locks[i]);
		}
	}
	if (count > LOCKS_SHOWN)
		line(file, "%10llu.%03u %10llu %12s  in %zu more of them", MS(rest.ns),
		     (unsigned long long)rest.waits, "", count - LOCKS_SHOWN);
}

static int open_output(void)
{
	int file;

	if (!output->file[0])
		return STDERR_FILENO;
	do
		file = open(output->file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	while (file < 0 && errno == EINTR);
	if (file < 0)
		hf_detail_env_warn("HOLDFAST_PROFILE", output->file, " can't be written\n");
	return file;
}

static void print_profile(void)
{
	struct row *rows = (struct row *)calloc(2 * ENTRIES, sizeof(*rows));
	uint64_t dropped = hf_atomic64_load_relaxed(&profile_table->dropped);
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	int file = rows ? open_output() : -1;
	size_t n;

	if (file >= 0) {
		program[len > 0 ? len : 0] = '\0';
		n = collect_rows(rows);
		line(file, "profile of process %lu (%s)%s", (unsigned long)getpid(), program,
		     n || dropped ? "" : ": no lock was waited for");
		print_some(file, rows, n, false, rows + ENTRIES);
		print_some(file, rows, n, true, rows + ENTRIES);
		if (dropped)
			line(file, "%10llu.%03u %10llu %12s  dropped: the table has %d entries",
			     MS(hf_atomic64_load_relaxed(&profile_table->dropped_ns)),
			     (unsigned long long)dropped, "", ENTRIES);
	}
	if (file > STDERR_FILENO)
		(void)close(file);
	free(rows);
}

/* ---- start and end ------------------------------------------------------------------------ */

__attribute__((constructor(101))) static void start_profile(void)
{
	const char *value = hf_detail_env_variable("HOLDFAST_PROFILE");

	if (!value || !*value || strcmp(value, "0") == 0)
		return;
	if (strlen(value) >= sizeof(output->file)) {
		hf_detail_env_warn("HOLDFAST_PROFILE", value, " is too long\n");
		return;
	}
	profile_table = (struct profile_table *)hf_detail_process_share(
		profile, sizeof(*profile_table), HF_DETAIL_PROCESS_WIPE);
	output = (struct output *)hf_detail_process_share(profout, sizeof(*output),
							  HF_DETAIL_PROCESS_KEEP);
	if (!profile_table || !output)
		return;
	if (hf_atomic32_fetch_add_relaxed(&output->copies, 1) == 0)
		strcpy(output->file, strcmp(value, "1") == 0 ? "" : value);
	hf_detail_profile_on = 1;
}

/* P3. Destructors that run later may still wait for locks; the profile lacks those waits. */
__attribute__((destructor(101))) static void end_profile(void)
{
	if (hf_detail_profile_on && hf_atomic32_fetch_add_relaxed(&output->copies, UINT32_MAX) == 1)
		print_profile();
}
