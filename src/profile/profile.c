/* SPDX-License-Identifier: MIT */
/*
 * profile - records waits; and, in Linux user space with HOLDFAST_PROFILE, prints at exit which
 * locks were waited for. P1 to P3 are defined in profile.h.
 *
 * State
 *   hf_detail_profile_on   1 = HOLDFAST_PROFILE is set; written before main(), read by slow paths
 *   recorded         one table of sites for all copies of the library in a process; empty again in
 *                    the child of a fork
 *   output           how many copies there are, and where the profile goes. The last copy prints:
 *                    at exit, or when the only plug-in that has a copy is unloaded
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "holdfast/internal/profile.h"
#include "holdfast/report.h"

#include "../env/env.h"
#include "../process/process.h"
#include "profile.h"

enum { MOST_SITES = 65536 }; /* P2 */

uint32_t hf_detail_profile_on;

/* share/gdb/holdfast.py reads sites. */
HF_DETAIL_DEBUGGERS_KNOW(sizeof(struct hf_detail_wait_site) == 136 &&
			 offsetof(struct hf_detail_wait_site, what) == 24 &&
			 offsetof(struct hf_detail_wait_site, kind) == 32 &&
			 offsetof(struct hf_detail_wait_site, waits) == 40 &&
			 offsetof(struct hf_detail_wait_site, stack) == 64 &&
			 offsetof(struct hf_detail_table, count) == 132);

/* ---- sites ------------------------------------------------------------------------------ */

uint64_t hf_detail_stack_hash(const struct hf_detail_stack *stack)
{
	uint64_t hash = stack->count;

	for (uint32_t i = 0; i < stack->count; i++)
		hash = hf_detail_table_key(hash ^ (uintptr_t)stack->frame[i]);
	return hash;
}

struct hf_detail_wait_site *hf_detail_wait_site(struct hf_detail_table *sites, uint32_t kind,
						uint64_t what, const struct hf_detail_stack *stack)
{
	const struct hf_detail_wait_site site = { .what = what, .kind = kind, .stack = *stack };
	uint64_t key = hf_detail_table_key(what ^ (uint64_t)kind << 60) ^
		       hf_detail_table_key(hf_detail_stack_hash(stack));
	uint32_t number = hf_detail_table_put(sites, key, &site, sizeof(site), MOST_SITES);

	return number ? hf_detail_table_at(sites, number, sizeof(site)) : NULL;
}

void hf_detail_wait_add(struct hf_detail_wait_site *site, uint64_t ns)
{
	uint64_t longest = hf_atomic64_load_relaxed(&site->longest);

	(void)hf_atomic64_fetch_add_relaxed(&site->ns, ns);
	while (longest < ns && !hf_atomic64_try_cmpxchg_relaxed(&site->longest, &longest, ns))
		;
	(void)hf_atomic64_fetch_sub_release(&site->waits, UINT64_MAX); /* + 1; P4 */
}

/* ---- HOLDFAST_PROFILE: counting --------------------------------------------------------- */

struct recorded {
	struct hf_detail_table sites;
	hf_atomic64_t dropped, dropped_ns; /* P2 */
};

struct output {
	hf_atomic32_t copies;
	char file[PATH_MAX]; /* empty = standard error */
};

/* The child of a fork starts with an empty profile, but with as many copies of the library. */
HF_DETAIL_PROCESS_STATE(profile, 2);
HF_DETAIL_PROCESS_STATE(profout, 1);

static struct recorded *recorded;
static struct output *output;

void hf_detail_profile_add(uint64_t start, enum hf_detail_profile_kind kind,
			   const volatile void *lock, const void *site)
{
	uint64_t ns = hf_detail_env_now() - start;
	const struct hf_detail_stack stack = { 1, { site ? site : HF_DETAIL_CALL_SITE } };
	struct hf_detail_wait_site *found;

	found = hf_detail_wait_site(&recorded->sites, (uint32_t)kind, (uintptr_t)lock, &stack);
	if (found) {
		hf_detail_wait_add(found, ns);
		return;
	}
	(void)hf_atomic64_fetch_add_relaxed(&recorded->dropped, 1);
	(void)hf_atomic64_fetch_add_relaxed(&recorded->dropped_ns, ns);
}

/* ---- HOLDFAST_PROFILE: printing --------------------------------------------------------- */

static const char *const wait_names[] = {
	[HF_DETAIL_PROFILE_MUTEX] = "mutex",
	[HF_DETAIL_PROFILE_MUTEX_SHARED] = "mutex between processes",
	[HF_DETAIL_PROFILE_SPINLOCK] = "spinlock",
	[HF_DETAIL_PROFILE_COND] = "condition variable",
	[HF_DETAIL_PROFILE_COND_SHARED] = "condition variable between processes",
	[HF_DETAIL_PROFILE_RWLOCK_READ] = "rwlock, to read",
	[HF_DETAIL_PROFILE_RWLOCK_WRITE] = "rwlock, to write",
};

/*
 * A lock has a row of its own. Condition variables that are not static have one for each call that
 * waits there: a server has one for each connection, whose addresses say nothing.
 */
static void add_site(struct hf_detail_printer *p, const struct hf_detail_wait_site *site)
{
	const void *lock = (const void *)(uintptr_t)site->what;
	bool is_static = hf_detail_symbol_is_in_object(p->symbols, lock);
	bool is_by_call = !is_static && (site->kind == HF_DETAIL_PROFILE_COND ||
					 site->kind == HF_DETAIL_PROFILE_COND_SHARED);
	uint64_t id = is_by_call ? (uintptr_t)site->stack.frame[0] : site->what;
	uint64_t key = hf_detail_table_key(id ^ (uint64_t)site->kind << 60) + is_by_call;
	struct hf_detail_site_counts counts = hf_detail_wait_read(site);
	struct hf_detail_row *row = counts.waits ? hf_detail_printer_row(p, key) : NULL;

	if (!row)
		return;
	row->kind = wait_names[site->kind];
	row->is_static = is_static;
	row->object = row->object ? row->object : lock;
	row->objects += is_by_call || !row->objects;
	row->waits += counts.waits;
	row->wait += counts.ns;
	row->longest = row->longest < counts.longest ? counts.longest : row->longest;
	if (is_by_call)
		row->stack = &site->stack;
	else
		hf_detail_row_add_site(row, &counts);
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
	struct hf_detail_printer *p = hf_detail_printer_open(sizeof(struct hf_detail_row));
	uint64_t dropped = hf_atomic64_load_relaxed(&recorded->dropped);
	uint64_t dropped_ns = hf_atomic64_load_relaxed(&recorded->dropped_ns);

	if (!p)
		return;
	p->file = open_output();
	for (uint32_t i = 1; i <= hf_detail_table_count(&recorded->sites); i++)
		add_site(p, hf_detail_table_at(&recorded->sites, i,
					       sizeof(struct hf_detail_wait_site)));
	hf_detail_put(p, "holdfast: profile of process %lu (%s)%s\n", (unsigned long)getpid(),
		      p->program,
		      dropped || hf_detail_table_count(&p->rows) ? "" : ": no lock was waited for");
	hf_detail_printer_sort(p);
	hf_detail_put_rows(p, NULL);
	if (dropped)
		hf_detail_put(
			p,
			"holdfast: and %llu more waits, %llu.%03llu ms: the table has room for "
			"%d places\n",
			(unsigned long long)dropped, HF_DETAIL_THOUSANDTHS(dropped_ns / 1000),
			MOST_SITES);
	hf_detail_printer_close(p);
}

/* ---- HOLDFAST_PROFILE: start and end ---------------------------------------------------- */

__attribute__((constructor(101))) static void start_profile(void)
{
	const char *value = hf_detail_env_variable("HOLDFAST_PROFILE");

	if (!value || !*value || strcmp(value, "0") == 0)
		return;
	if (strlen(value) >= sizeof(output->file)) {
		hf_detail_env_warn("HOLDFAST_PROFILE", value, " is too long\n");
		return;
	}
	recorded = (struct recorded *)hf_detail_process_share(profile, sizeof(*recorded),
							      HF_DETAIL_PROCESS_WIPE);
	output = (struct output *)hf_detail_process_share(profout, sizeof(*output),
							  HF_DETAIL_PROCESS_KEEP);
	if (!recorded || !output)
		return;
	if (hf_atomic32_fetch_add_relaxed(&output->copies, 1) == 0)
		strcpy(output->file, strcmp(value, "1") == 0 ? "" : value);
	hf_detail_profile_on = 1;
}

/* Destructors that run later may still wait for locks; the profile lacks those waits. */
__attribute__((destructor(101))) static void end_profile(void)
{
	if (hf_detail_profile_on && hf_atomic32_fetch_add_relaxed(&output->copies, UINT32_MAX) == 1)
		print_profile();
}
