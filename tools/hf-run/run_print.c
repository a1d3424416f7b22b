/* SPDX-License-Identifier: MIT */
/*
 * run_print - writes the profile: as text (src/profile/print.c), as JSON, and as a time line in the
 * trace event format that Perfetto (ui.perfetto.dev) and chrome://tracing read. All of it may run
 * in a signal handler: P3 of src/profile/profile.h.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

/* What is counted, in JSON, in the order of enum hf_run_count; NULL: it is not counted. */
static const char *const of_mutexes[HF_RUN_COUNTS] = { "taken",           "contended",
						       "timed_out",       "wait_ns",
						       "wait_longest_ns", "owner_changes",
						       "held_ns",         "held_longest_ns" };
static const char *const of_readers[HF_RUN_COUNTS] = { "taken", "contended", "timed_out", "wait_ns",
						       "wait_longest_ns" };
static const char *const of_conds[HF_RUN_COUNTS] = { "signals", "waits",           "timed_out",
						     "wait_ns", "wait_longest_ns", "unheard" };
static const char *const of_glibcs[HF_RUN_COUNTS] = { NULL, "waits", "timed_out", "wait_ns",
						      "wait_longest_ns" };

static const struct {
	const char *name, *const *counts;
} kinds[] = {
	[HF_RUN_MUTEX] = { "mutex", of_mutexes },
	[HF_RUN_COND] = { "condition variable", of_conds },
	[HF_RUN_READ] = { "read lock", of_readers },
	[HF_RUN_WRITE] = { "write lock", of_mutexes },
	[HF_RUN_SEMAPHORE] = { "semaphore", of_glibcs },
	[HF_RUN_BARRIER] = { "barrier", of_glibcs },
	[HF_RUN_JOIN] = { "join", of_glibcs },
	[HF_RUN_ONCE] = { "once", of_glibcs },
	[HF_RUN_FUTEX] = { "futex", of_glibcs },
};

/* One place, all threads added up. */
struct row {
	struct hf_detail_row common;
	const struct hf_run_place *place;
	uint64_t count[HF_RUN_COUNTS];
};

static char target[PATH_MAX]; /* empty = standard error */
static bool is_first;         /* this is the process that hf-run started */

#define THOUSANDTHS HF_DETAIL_THOUSANDTHS

__extension__ typedef unsigned __int128 hf_run_wide_t;

/* For "%llu.%llu": a share in percent. */
#define PERCENT(part, whole) permille(part, whole) / 10, permille(part, whole) % 10

static unsigned long long permille(uint64_t part, uint64_t whole)
{
	return whole ? (unsigned long long)((hf_run_wide_t)part * 1000 / whole) : 0;
}

/* ---- adding up -------------------------------------------------------------------------- */

static const char *origin_of(uint32_t number, const struct hf_run_place *place)
{
	if (!number)
		return "no room: more places than the table has";
	return place->origin == HF_RUN_WAITED_AT      ? "waited for at"
	       : place->origin == HF_RUN_MADE_BY_INIT ? "made at"
	       : place->origin == HF_RUN_IS_STATIC    ? "static, first used at"
						      : "made without a call, first used at";
}

static struct row *row_of(struct hf_detail_printer *p, uint32_t number)
{
	struct row *row = hf_detail_printer_row(p, hf_detail_table_key(number));

	if (row && !row->place) {
		row->place = hf_run_place(number);
		row->common.kind = kinds[row->place->kind].name;
		row->common.origin = origin_of(number, row->place);
		row->common.object = row->place->object;
		row->common.is_static = row->place->origin == HF_RUN_IS_STATIC;
		row->common.stack = &row->place->stack;
		row->common.objects = hf_atomic64_load_relaxed(&row->place->objects);
	}
	return row;
}

static bool is_longest(int what)
{
	return what == HF_RUN_LONGEST || what == HF_RUN_HELD_LONGEST;
}

static void add_record(struct hf_detail_printer *p, uint32_t place,
		       const struct hf_run_record *record)
{
	uint64_t count[HF_RUN_COUNTS];
	struct row *row;

	for (int i = 0; i < HF_RUN_COUNTS; i++)
		count[i] = hf_atomic64_load_relaxed(&record->count[i]);
	row = count[HF_RUN_USED] | count[HF_RUN_WAITS] ? row_of(p, place) : NULL;
	for (int i = 0; row && i < HF_RUN_COUNTS; i++) {
		if (!is_longest(i))
			row->count[i] += count[i];
		else if (row->count[i] < count[i])
			row->count[i] = count[i];
	}
	if (!row)
		return;
	row->common.used = row->count[HF_RUN_USED];
	row->common.waits = row->count[HF_RUN_WAITS];
	row->common.wait = row->count[HF_RUN_WAIT];
	row->common.longest = row->count[HF_RUN_LONGEST];
}

static void add_thread(struct hf_detail_printer *p, const struct hf_detail_table *records)
{
	for (uint32_t i = 1; i <= hf_detail_table_count(records); i++) {
		const struct hf_run_record *record =
			hf_detail_table_at(records, i, sizeof(*record));

		if (record)
			add_record(p, i - 1, record);
	}
}

static void add_up(struct hf_detail_printer *p)
{
	for (uint32_t i = 1; i <= hf_detail_table_count(&hf_run_threads); i++)
		add_thread(p, &hf_run_thread_at(i)->records);
	for (uint32_t i = 1; i <= hf_detail_table_count(&hf_run_sites); i++) {
		const struct hf_detail_wait_site *site =
			hf_detail_table_at(&hf_run_sites, i, sizeof(*site));
		struct hf_detail_site_counts counts = hf_detail_wait_read(site);
		struct row *row = counts.waits ? row_of(p, (uint32_t)site->what) : NULL;

		if (row && row->place->origin != HF_RUN_WAITED_AT) /* whose place is the site */
			hf_detail_row_add_site(&row->common, &counts);
	}
}

/* ---- text ------------------------------------------------------------------------------- */

/* What is counted of the row beside its waits. */
static void put_counts(struct hf_detail_printer *p, const struct hf_detail_row *common)
{
	const uint64_t *count = ((const struct row *)common)->count;
	enum hf_run_kind kind = ((const struct row *)common)->place->kind;

	switch (kind) {
	case HF_RUN_MUTEX:
	case HF_RUN_READ:
	case HF_RUN_WRITE:
		hf_detail_put(
			p, "holdfast:      taken: %llu, %llu.%llu %% after a wait",
			(unsigned long long)count[HF_RUN_USED],
			PERCENT(count[HF_RUN_WAITS], count[HF_RUN_USED] + count[HF_RUN_TIMED_OUT]));
		if (kind != HF_RUN_READ)
			hf_detail_put(
				p,
				", %llu by another thread than before; held: %llu.%03llu ms, mean "
				"%llu.%03llu us, at most %llu.%03llu ms",
				(unsigned long long)count[HF_RUN_ODD],
				THOUSANDTHS(count[HF_RUN_HELD] / 1000),
				THOUSANDTHS(hf_detail_mean(count[HF_RUN_HELD], count[HF_RUN_USED])),
				THOUSANDTHS(count[HF_RUN_HELD_LONGEST] / 1000));
		hf_detail_put(p, "\n");
		break;
	case HF_RUN_COND:
		hf_detail_put(p,
			      "holdfast:      timed out: %llu; signals: %llu, %llu without a "
			      "waiter; a wait may be for work\n",
			      (unsigned long long)count[HF_RUN_TIMED_OUT],
			      (unsigned long long)count[HF_RUN_USED],
			      (unsigned long long)count[HF_RUN_ODD]);
		break;
	default:
		if (count[HF_RUN_TIMED_OUT])
			hf_detail_put(p, "holdfast:      timed out: %llu\n",
				      (unsigned long long)count[HF_RUN_TIMED_OUT]);
	}
}

/* How the threads' time was spent, in nanoseconds. A wait that spins is running, too. */
struct spent {
	uint64_t run; /* how long the process has run */
	uint64_t threads, all, running, waiting, ready, elsewhere;
};

static struct spent spent(const struct hf_detail_printer *p)
{
	struct hf_run_times times = hf_run_times();
	struct spent spent = { .run = hf_detail_env_now() - hf_run_begun,
			       .threads = times.threads,
			       .all = times.all_ns,
			       .running = times.running_ns,
			       .ready = times.ready_ns };
	uint64_t known;

	for (uint32_t i = 0; i < p->row_count; i++)
		spent.waiting += p->order[i]->wait;
	known = spent.running + spent.waiting + spent.ready;
	spent.elsewhere = known < spent.all ? spent.all - known : 0;
	return spent;
}

/* What a reader should do about the mutex that was waited for longest. */
static void put_advice_for(struct hf_detail_printer *p, const struct row *top,
			   const struct spent *spent)
{
	enum { LONG_NS = 10000 }; /* about what it costs to park and to wake a thread */
	uint64_t held = hf_detail_mean(top->count[HF_RUN_HELD], top->common.used);
	uint64_t wait = hf_detail_mean(top->common.wait, top->common.waits);

	if (top->count[HF_RUN_HELD] * 2 > spent->run)
		hf_detail_put(p,
			      "it is held for %llu.%llu %% of the run, %llu.%03llu us each time: "
			      "do less while it is held",
			      PERCENT(top->count[HF_RUN_HELD], spent->run), THOUSANDTHS(held));
	else if (wait > top->count[HF_RUN_HELD_LONGEST] * spent->threads)
		hf_detail_put(p,
			      "a wait takes %llu.%03llu us, more than all threads could hold it: "
			      "they wait for a processor, not for each other",
			      THOUSANDTHS(wait));
	else if (held > LONG_NS)
		hf_detail_put(p,
			      "it is held for %llu.%03llu us each time: do less while it is held",
			      THOUSANDTHS(held));
	else
		hf_detail_put(p,
			      "it is held for only %llu.%03llu us each time, but often: split it, "
			      "or take it less often",
			      THOUSANDTHS(held));
}

/* What a reader should do first. */
static void put_advice(struct hf_detail_printer *p, const struct spent *spent)
{
	const struct row *top = NULL;
	uint64_t wait = 0;

	for (uint32_t i = 0; i < p->row_count; i++) {
		const struct row *row = (const struct row *)p->order[i];

		if (row->place->kind != HF_RUN_MUTEX)
			continue;
		top = top ? top : row;
		wait += row->common.wait;
	}
	if (!top)
		hf_detail_put(p, "no mutex of pthread was locked");
	else if (!wait)
		hf_detail_put(p, "no thread waited for a mutex");
	else
		hf_detail_put(p, "threads waited for mutexes for %llu.%llu %% of their time",
			      PERCENT(wait, spent->all));
	if (wait && wait * 100 < spent->all) {
		hf_detail_put(p, ": there is little to gain");
	} else if (wait) {
		hf_detail_put(p, ", %llu.%llu %% of that for the first one; ",
			      PERCENT(top->common.wait, wait));
		put_advice_for(p, top, spent);
	}
}

static void put_text(struct hf_detail_printer *p)
{
	struct spent s = spent(p);

	hf_detail_put(
		p,
		"holdfast: profile of process %ld (%s), %llu.%03llu s, %llu thread%s\n"
		"holdfast: of the threads' time %llu.%llu %% was running, %llu.%llu %% in the "
		"waits below, %llu.%llu %% ready without a processor, %llu.%llu %% elsewhere in "
		"the kernel: files, sockets, sleep\n"
		"holdfast: ",
		(long)getpid(), p->program, THOUSANDTHS(s.run / 1000000),
		(unsigned long long)s.threads, s.threads == 1 ? "" : "s", PERCENT(s.running, s.all),
		PERCENT(s.waiting, s.all), PERCENT(s.ready, s.all), PERCENT(s.elsewhere, s.all));
	put_advice(p, &s);
	hf_detail_put(p, "\n");
	hf_detail_put_rows(p, put_counts);
}

/* ---- JSON ------------------------------------------------------------------------------- */

static void put_string(struct hf_detail_printer *p, const char *text)
{
	hf_detail_put(p, "\"");
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			hf_detail_put(p, "\\%c", *text);
		else if ((unsigned char)*text >= ' ')
			hf_detail_put(p, "%c", *text);
	}
	hf_detail_put(p, "\"");
}

static void put_number(struct hf_detail_printer *p, const char *name, uint64_t number)
{
	hf_detail_put(p, ", \"%s\": %llu", name, (unsigned long long)number);
}

static void put_json_stack(struct hf_detail_printer *p, const struct hf_detail_stack *stack)
{
	hf_detail_put(p, ", \"stack\": [");
	for (uint32_t i = 0; i < stack->count; i++) {
		hf_detail_put(p, "%s", i ? ", " : "");
		put_string(p, hf_detail_name_of(p, stack->frame[i], HF_DETAIL_NAME_LONG));
	}
	hf_detail_put(p, "]");
}

static void put_json_row(struct hf_detail_printer *p, const struct hf_detail_row *common)
{
	const struct row *row = (const struct row *)common;

	hf_detail_put(p, "{\"kind\": \"%s\", \"object\": ", common->kind);
	put_string(p, common->is_static ? hf_detail_name_of(p, common->object, HF_DETAIL_NAME_LONG)
					: "");
	hf_detail_put(p, ", \"place\": ");
	put_string(p, common->origin);
	put_number(p, "objects", common->objects);
	put_json_stack(p, common->stack);
	for (int i = 0; i < HF_RUN_COUNTS; i++) {
		if (kinds[row->place->kind].counts[i])
			put_number(p, kinds[row->place->kind].counts[i], row->count[i]);
	}
	hf_detail_put(p, ", \"waited_at\": [");
	for (uint32_t i = 0; i < common->site_count && i < HF_DETAIL_SITES_SHOWN; i++) {
		const struct hf_detail_site_counts *site = &common->sites[i];

		hf_detail_put(p, "%s{\"waits\": %llu", i ? ", " : "",
			      (unsigned long long)site->waits);
		put_number(p, "wait_ns", site->ns);
		put_number(p, "wait_longest_ns", site->longest);
		put_json_stack(p, site->stack);
		hf_detail_put(p, "}");
	}
	hf_detail_put(p, "]}");
}

static void put_json(struct hf_detail_printer *p)
{
	struct spent s = spent(p);

	hf_detail_put(p, "{\"program\": ");
	put_string(p, p->program);
	put_number(p, "process", (uint64_t)getpid());
	put_number(p, "ns", s.run);
	put_number(p, "threads", s.threads);
	put_number(p, "threads_ns", s.all);
	put_number(p, "running_ns", s.running);
	put_number(p, "waiting_ns", s.waiting);
	put_number(p, "ready_ns", s.ready);
	put_number(p, "elsewhere_ns", s.elsewhere);
	hf_detail_put(p, ",\n \"advice\": \"");
	put_advice(p, &s);
	hf_detail_put(p, "\",\n \"rows\": [");
	for (uint32_t i = 0; i < p->row_count; i++) {
		hf_detail_put(p, "%s\n  ", i ? "," : "");
		put_json_row(p, p->order[i]);
	}
	hf_detail_put(p, "]}\n");
}

/* ---- the time line ---------------------------------------------------------------------- */

static void put_event(struct hf_detail_printer *p, const struct hf_run_event *event)
{
	uint32_t what = hf_atomic32_load_acquire(&event->what);
	const struct hf_run_place *place = hf_run_place(event->place);
	bool has_name = place->origin == HF_RUN_IS_STATIC || !place->stack.count;
	size_t len;

	if (!what || event->start < hf_run_begun)
		return;
	hf_detail_put(p,
		      ",\n{\"ph\": \"X\", \"pid\": %ld, \"tid\": %u, \"ts\": %llu.%03llu, "
		      "\"dur\": %llu.%03llu, \"name\": ",
		      (long)getpid(), event->thread, THOUSANDTHS(event->start - hf_run_begun),
		      THOUSANDTHS(event->end - event->start));
	len = (size_t)sprintf(p->name, what == HF_RUN_HAS_HELD ? "hold " : "wait for ");
	hf_detail_symbol(p->symbols, p->name + len, sizeof(p->name) - len,
			 has_name ? place->object : place->stack.frame[0], HF_DETAIL_NAME_SHORT);
	put_string(p, p->name);
	hf_detail_put(p, "}");
}

static void put_trace(struct hf_detail_printer *p)
{
	uint32_t n = hf_atomic32_load_relaxed(&hf_run_event_count);

	hf_detail_put(p,
		      "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n{\"ph\": \"M\", "
		      "\"pid\": %ld, \"name\": \"process_name\", \"args\": {\"name\": ",
		      (long)getpid());
	put_string(p, p->program);
	hf_detail_put(p, "}}");
	for (uint32_t i = 0; i < n && i < HF_RUN_EVENTS; i++)
		put_event(p, &hf_run_events[i]);
	hf_detail_put(p, "], \"otherData\": {\"left out\": %u}}\n",
		      n > HF_RUN_EVENTS ? n - HF_RUN_EVENTS : 0);
}

/* ---- files ------------------------------------------------------------------------------ */

/* @end: ".json", say */
static void write_file(struct hf_detail_printer *p, const char *end,
		       void (*print)(struct hf_detail_printer *))
{
	static const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;

	p->file = STDERR_FILENO;
	if (*target) {
		(void)snprintf(p->bytes, sizeof(p->bytes), "%s%s", target, end);
		p->file = open(p->bytes, flags, 0666);
		if (p->file < 0) {
			(void)dprintf(STDERR_FILENO, "hf-run: %s can't be written\n", p->bytes);
			return;
		}
	}
	print(p);
	hf_detail_flush(p);
	if (*target)
		(void)close(p->file);
	p->file = -1;
}

void hf_run_print_to(const char *file, bool is_first_process)
{
	is_first = is_first_process;
	if (!file || !*file || is_first)
		(void)snprintf(target, sizeof(target), "%s", file ? file : "");
	else
		(void)snprintf(target, sizeof(target), "%s.%ld", file, (long)getpid());
}

void hf_run_print_profile(void)
{
	struct hf_detail_printer *p;
	bool was_busy = hf_run_is_busy;

	/* A child that waited for nothing writes nothing: `make -j4` has thousands of them. */
	if (!is_first && !hf_detail_table_count(&hf_run_sites))
		return;
	hf_run_is_busy = true;
	p = hf_detail_printer_open(sizeof(struct row));
	if (p) {
		add_up(p);
		hf_detail_printer_sort(p);
		write_file(p, "", put_text);
		if (*target) {
			write_file(p, ".json", put_json);
			write_file(p, ".trace.json", put_trace);
		}
		hf_detail_printer_close(p);
	}
	hf_run_is_busy = was_busy;
}
