/* SPDX-License-Identifier: MIT */
/*
 * run_print - writes the profile: as text, as JSON, and as a time line in the trace event format that
 * Perfetto (ui.perfetto.dev) and chrome://tracing read.
 *
 * It may run in a signal handler, and while threads hold any lock: so no malloc, no stdio streams, no
 * lock of the program. Numbers that change meanwhile are read one by one: sums may be some waits apart.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

enum { SHOWN = 10, SITES_SHOWN = 3, FRAMES_SHOWN = 5, NAME = 384 };

/* One place, all threads added up, in nanoseconds. */
struct row {
	const struct hf_run_place *place;
	uint64_t taken, contended, owners, unheard, wait, wait_longest, held, held_longest;
};

static struct row rows[HF_RUN_PLACES];
static uint32_t order[HF_RUN_PLACES];

static char target[PATH_MAX]; /* empty = standard error */
static bool is_first;         /* the process that hf-run started; the others are its children */
static char program[256];
static uint64_t ticks_elapsed, ns_elapsed;

/* ---- output --------------------------------------------------------------------------------------- */

struct out {
	int file;
	size_t len;
	char bytes[8192];
};

static void flush(struct out *out)
{
	size_t done = 0;

	while (done < out->len) {
		ssize_t n = write(out->file, out->bytes + done, out->len - done);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	out->len = 0;
}

__attribute__((format(printf, 2, 3))) static void put(struct out *out, const char *format, ...)
{
	va_list arguments;
	int len;

	if (out->len > sizeof(out->bytes) - 1024)
		flush(out);
	va_start(arguments, format);
	len = vsnprintf(out->bytes + out->len, 1024, format, arguments);
	va_end(arguments);
	out->len += len < 0 ? 0 : len < 1024 ? (size_t)len : 1023;
}

/* A string of JSON. */
static void put_string(struct out *out, const char *text)
{
	put(out, "\"");
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			put(out, "\\%c", *text);
		else if ((unsigned char)*text >= ' ')
			put(out, "%c", *text);
	}
	put(out, "\"");
}

/* For "%llu.%03llu": ns as microseconds, or microseconds as milliseconds. */
#define THOUSANDTHS(n) (unsigned long long)((n) / 1000), (unsigned long long)((n) % 1000)

/* For "%llu.%llu": a share in percent. */
#define PERCENT(part, whole)                                                                       \
	(unsigned long long)((whole) ? (part)*100 / (whole) : 0),                                  \
		(unsigned long long)((whole) ? (part)*1000 / (whole) % 10 : 0)

static uint64_t mean(uint64_t total, uint64_t n)
{
	return n ? total / n : 0;
}

/* ---- adding up -------------------------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 wide_t;

static uint64_t to_ns(uint64_t ticks)
{
	return ticks_elapsed ? (uint64_t)((wide_t)ticks * ns_elapsed / ticks_elapsed) : 0;
}

static uint64_t ns_of(const hf_atomic64_t *ticks)
{
	return to_ns(hf_atomic64_load_relaxed(ticks));
}

static void raise_to(uint64_t *longest, uint64_t ns)
{
	if (*longest < ns)
		*longest = ns;
}

static void add_record(const struct hf_run_record *record)
{
	uint64_t key = hf_atomic64_load_relaxed(&record->key);
	struct row *row = key ? &rows[hf_run_record_place(key)] : NULL;

	if (!row)
		return;
	row->taken += hf_atomic64_load_relaxed(&record->taken);
	row->contended += hf_atomic64_load_relaxed(&record->contended);
	row->owners += hf_atomic64_load_relaxed(&record->owners);
	row->unheard += hf_atomic64_load_relaxed(&record->unheard);
	row->wait += ns_of(&record->wait);
	row->held += ns_of(&record->held);
	raise_to(&row->wait_longest, ns_of(&record->wait_longest));
	raise_to(&row->held_longest, ns_of(&record->held_longest));
}

static void add_up(void)
{
	ticks_elapsed = hf_run_ticks() - hf_run_start_ticks;
	ns_elapsed = hf_env_deadline(0) - hf_run_start_ns;
	memset(rows, 0, sizeof(rows));
	for (uint32_t i = 0; i < HF_RUN_PLACES; i++) {
		if (hf_atomic32_load_acquire(&hf_run_places[i].filled) || !i)
			rows[i].place = &hf_run_places[i];
	}
	add_record(&hf_run_records[0]);
	for (uint32_t i = 0; i < hf_run_records_used(); i++) {
		uint32_t at = hf_atomic32_load_relaxed(&hf_run_used[i]);

		if (at)
			add_record(&hf_run_records[at]);
	}
}

static bool comes_before(const struct row *a, const struct row *b)
{
	return a->wait != b->wait ? a->wait > b->wait : a->taken > b->taken;
}

/* The rows of mutexes, or of condition variables, that were used: the longest waited for first. */
static uint32_t sort(bool conds, uint64_t *wait)
{
	uint32_t n = 0;

	*wait = 0;
	for (uint32_t i = 0; i < HF_RUN_PLACES; i++) {
		uint32_t at = n;

		if (!rows[i].place || rows[i].place->is_cond != conds ||
		    !(rows[i].taken | rows[i].owners))
			continue;
		for (; at && comes_before(&rows[i], &rows[order[at - 1]]); at--)
			order[at] = order[at - 1];
		order[at] = i;
		n++;
		*wait += rows[i].wait;
	}
	return n;
}

/* ---- names ---------------------------------------------------------------------------------------- */

static const char *name_of(const void *address, enum hf_run_name how)
{
	static char name[NAME];

	(void)hf_run_symbol(name, sizeof(name), address, how);
	return name;
}

static const char *kind_of(const struct hf_run_place *place)
{
	if (place == &hf_run_places[0])
		return "no room: more places than the table has";
	return place->kind == HF_RUN_MADE_BY_INIT ? "made at"
	       : place->kind == HF_RUN_IS_STATIC  ? "static, first used at"
						  : "made without a call, first used at";
}

/* The sites of a place, the longest waits first. Returns how many; at most SITES_SHOWN. */
static uint32_t find_sites(uint32_t place, const struct hf_run_site **found)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < HF_RUN_SITES; i++) {
		const struct hf_run_site *site = &hf_run_sites[i];
		uint32_t at = n;

		if (!hf_atomic32_load_acquire(&site->filled) || site->place != place ||
		    !hf_atomic64_load_relaxed(&site->waits))
			continue;
		while (at && hf_atomic64_load_relaxed(&site->wait) >
				     hf_atomic64_load_relaxed(&found[at - 1]->wait)) {
			if (at < SITES_SHOWN)
				found[at] = found[at - 1];
			at--;
		}
		if (at < SITES_SHOWN)
			found[at] = site;
		n += n < SITES_SHOWN;
	}
	return n;
}

/* ---- text ------------------------------------------------------------------------------------------- */

/* "get < handle < worker (/bin/app+0x12b3)": the callee first; the place is its call's. */
static void put_stack(struct out *out, const struct hf_run_stack *stack)
{
	uint32_t end = hf_run_stack_end(stack);
	const char *place;

	if (!stack->count)
		return;
	for (uint32_t i = 0; i < end && i < FRAMES_SHOWN; i++)
		put(out, "%s%s", i ? " < " : " ", name_of(stack->frame[i], HF_RUN_SHORT));
	place = strchr(name_of(stack->frame[0], HF_RUN_LONG), '(');
	put(out, "%s%s", place ? " " : "", place ? place : "");
}

static void put_places(struct out *out, const struct row *row)
{
	const struct hf_run_site *sites[SITES_SHOWN];
	uint32_t n = find_sites((uint32_t)(row - rows), sites);

	put(out, "holdfast:      ");
	if (row->place->kind == HF_RUN_IS_STATIC)
		put(out, "%s", name_of(row->place->object, HF_RUN_LONG));
	else
		put(out, "%s", kind_of(row->place));
	if (row->place->kind != HF_RUN_IS_STATIC)
		put_stack(out, &row->place->stack);
	put(out, "\n");
	for (uint32_t i = 0; i < n; i++) {
		uint64_t waits = hf_atomic64_load_relaxed(&sites[i]->waits);

		put(out, "holdfast:        waited %llu.%03llu ms, %llu time%s, at",
		    THOUSANDTHS(ns_of(&sites[i]->wait) / 1000), (unsigned long long)waits,
		    waits == 1 ? "" : "s");
		put_stack(out, &sites[i]->stack);
		put(out, "\n");
	}
}

/* What a reader should do about the mutex that was waited for longest. */
static void put_advice_for(struct out *out, const struct row *top, uint64_t threads)
{
	enum { LONG_NS = 10000 }; /* about what it costs to park and to wake a thread */
	uint64_t held = mean(top->held, top->taken);

	if (top->held * 2 > ns_elapsed)
		put(out,
		    "it is held for %llu.%llu %% of the run, %llu.%03llu us each time: do less "
		    "while it is held",
		    PERCENT(top->held, ns_elapsed), THOUSANDTHS(held));
	else if (mean(top->wait, top->contended) > top->held_longest * threads)
		put(out,
		    "a wait takes %llu.%03llu us, more than all threads could hold it: they wait "
		    "for a "
		    "processor, not for each other",
		    THOUSANDTHS(mean(top->wait, top->contended)));
	else if (held > LONG_NS)
		put(out, "it is held for %llu.%03llu us each time: do less while it is held",
		    THOUSANDTHS(held));
	else
		put(out,
		    "it is held for only %llu.%03llu us each time, but often: split it, or take "
		    "it less often",
		    THOUSANDTHS(held));
}

/* What a reader should do first. */
static void put_advice(struct out *out, uint32_t n, uint64_t wait)
{
	const struct row *top = n ? &rows[order[0]] : NULL;
	uint64_t threads = hf_atomic32_load_relaxed(&hf_run_thread_count);
	uint64_t time;

	threads = threads ? threads : 1;
	time = ns_elapsed * threads;
	if (!n)
		put(out, "no mutex of pthread was locked; other locks, such as those of Rust's "
			 "library, are not seen");
	else if (!wait)
		put(out, "no thread waited for a mutex");
	else
		put(out, "threads waited for mutexes for %llu.%llu %% of their time",
		    PERCENT(wait, time));
	if (wait * 100 < time) {
		put(out, "%s", wait ? ": there is little to gain" : "");
		return;
	}
	put(out, ", %llu.%llu %% of that for the first one; ", PERCENT(top->wait, wait));
	put_advice_for(out, top, threads);
}

static void put_mutexes(struct out *out, uint32_t n)
{
	if (!n)
		return;
	put(out, "holdfast:\nholdfast: %15s %10s %10s %8s %8s %10s | %12s %10s %10s | mutexes\n",
	    "waiting: all ms", "mean us", "max ms", "taken", "waited", "changes of", "held: all ms",
	    "mean us", "max ms");
	put(out, "holdfast: %15s %10s %10s %8s %8s %10s | %12s %10s %10s |\n", "", "", "", "", "%",
	    "owner", "", "", "");
	for (uint32_t i = 0; i < n && i < SHOWN; i++) {
		const struct row *row = &rows[order[i]];

		put(out,
		    "holdfast: %2u. %7llu.%03llu %6llu.%03llu %6llu.%03llu %8llu %6llu.%llu %10llu "
		    "| "
		    "%8llu.%03llu %6llu.%03llu %6llu.%03llu | %llu\n",
		    i + 1, THOUSANDTHS(row->wait / 1000),
		    THOUSANDTHS(mean(row->wait, row->contended)),
		    THOUSANDTHS(row->wait_longest / 1000), (unsigned long long)row->taken,
		    PERCENT(row->contended, row->taken + row->unheard),
		    (unsigned long long)row->owners, THOUSANDTHS(row->held / 1000),
		    THOUSANDTHS(mean(row->held, row->taken)), THOUSANDTHS(row->held_longest / 1000),
		    (unsigned long long)hf_atomic64_load_relaxed(&row->place->objects));
		put_places(out, row);
	}
	if (n > SHOWN)
		put(out, "holdfast: and %u more places that make mutexes\n", n - SHOWN);
}

static void put_conds(struct out *out, uint32_t n)
{
	if (!n)
		return;
	put(out,
	    "holdfast:\nholdfast: %15s %10s %10s %8s %8s %8s %12s | condition variables (a wait "
	    "may "
	    "be for work)\n",
	    "waiting: all ms", "mean us", "max ms", "waits", "too late", "signals", "for nobody");
	for (uint32_t i = 0; i < n && i < SHOWN; i++) {
		const struct row *row = &rows[order[i]];

		put(out,
		    "holdfast: %2u. %7llu.%03llu %6llu.%03llu %6llu.%03llu %8llu %8llu %8llu "
		    "%12llu | "
		    "%llu\n",
		    i + 1, THOUSANDTHS(row->wait / 1000), THOUSANDTHS(mean(row->wait, row->taken)),
		    THOUSANDTHS(row->wait_longest / 1000), (unsigned long long)row->taken,
		    (unsigned long long)row->contended, (unsigned long long)row->owners,
		    (unsigned long long)row->unheard,
		    (unsigned long long)hf_atomic64_load_relaxed(&row->place->objects));
		put_places(out, row);
	}
	if (n > SHOWN)
		put(out, "holdfast: and %u more places that make condition variables\n", n - SHOWN);
}

static void put_text(struct out *out)
{
	uint64_t wait, ignored;
	uint32_t n = sort(false, &wait), threads = hf_atomic32_load_relaxed(&hf_run_thread_count);

	put(out, "holdfast: profile of process %ld (%s), %llu.%03llu s, %u thread%s\nholdfast: ",
	    (long)getpid(), program, THOUSANDTHS(ns_elapsed / 1000000), threads,
	    threads == 1 ? "" : "s");
	put_advice(out, n, wait);
	put(out, "\n");
	put_mutexes(out, n);
	put_conds(out, sort(true, &ignored));
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

static void put_json_stack(struct out *out, const struct hf_run_stack *stack)
{
	put(out, "[");
	for (uint32_t i = 0; i < stack->count; i++) {
		put(out, "%s", i ? ", " : "");
		put_string(out, name_of(stack->frame[i], HF_RUN_LONG));
	}
	put(out, "]");
}

static void put_json_row(struct out *out, const struct row *row, bool is_cond)
{
	const struct hf_run_site *sites[SITES_SHOWN];
	uint32_t n = find_sites((uint32_t)(row - rows), sites);

	put(out, "{\"object\": ");
	put_string(out, row->place->kind == HF_RUN_IS_STATIC
				? name_of(row->place->object, HF_RUN_LONG)
				: "");
	put(out, ", \"objects\": %llu, \"place\": ",
	    (unsigned long long)hf_atomic64_load_relaxed(&row->place->objects));
	put_string(out, kind_of(row->place));
	put(out, ", \"stack\": ");
	put_json_stack(out, &row->place->stack);
	put(out, ", \"wait_ns\": %llu, \"wait_longest_ns\": %llu", (unsigned long long)row->wait,
	    (unsigned long long)row->wait_longest);
	if (is_cond)
		put(out,
		    ", \"waits\": %llu, \"timed_out\": %llu, \"signals\": %llu, \"unheard\": %llu",
		    (unsigned long long)row->taken, (unsigned long long)row->contended,
		    (unsigned long long)row->owners, (unsigned long long)row->unheard);
	else
		put(out,
		    ", \"taken\": %llu, \"contended\": %llu, \"timed_out\": %llu, "
		    "\"owner_changes\": %llu, \"held_ns\": %llu, \"held_longest_ns\": %llu",
		    (unsigned long long)row->taken, (unsigned long long)row->contended,
		    (unsigned long long)row->unheard, (unsigned long long)row->owners,
		    (unsigned long long)row->held, (unsigned long long)row->held_longest);
	put(out, ", \"waited_at\": [");
	for (uint32_t i = 0; i < n; i++) {
		put(out, "%s{\"waits\": %llu, \"wait_ns\": %llu, \"stack\": ", i ? ", " : "",
		    (unsigned long long)hf_atomic64_load_relaxed(&sites[i]->waits),
		    (unsigned long long)ns_of(&sites[i]->wait));
		put_json_stack(out, &sites[i]->stack);
		put(out, "}");
	}
	put(out, "]}");
}

static void put_json_rows(struct out *out, const char *name, bool conds)
{
	uint64_t ignored;
	uint32_t n = sort(conds, &ignored);

	put(out, ",\n \"%s\": [", name);
	for (uint32_t i = 0; i < n; i++) {
		put(out, "%s\n  ", i ? "," : "");
		put_json_row(out, &rows[order[i]], conds);
	}
	put(out, "]");
}

static void put_json(struct out *out)
{
	uint64_t wait;
	uint32_t n = sort(false, &wait);

	put(out, "{\"program\": ");
	put_string(out, program);
	put(out, ", \"process\": %ld, \"ns\": %llu, \"threads\": %u,\n \"advice\": \"",
	    (long)getpid(), (unsigned long long)ns_elapsed,
	    hf_atomic32_load_relaxed(&hf_run_thread_count));
	put_advice(out, n, wait);
	put(out, "\"");
	put_json_rows(out, "mutexes", false);
	put_json_rows(out, "condition_variables", true);
	put(out, "}\n");
}

/* ---- the time line ------------------------------------------------------------------------------------ */

static void put_event(struct out *out, const struct hf_run_event *event)
{
	static const char *const names[] = { "", "wait for", "hold", "wait at" };
	uint32_t what = hf_atomic32_load_acquire(&event->what);
	const struct hf_run_place *place = &hf_run_places[event->place];
	uint64_t start = to_ns(event->start - hf_run_start_ticks);
	char name[NAME + 16];

	if (!what || event->start < hf_run_start_ticks)
		return;
	(void)snprintf(name, sizeof(name), "%s %s", names[what],
		       name_of(place->kind == HF_RUN_IS_STATIC || !place->stack.count
				       ? place->object
				       : place->stack.frame[0],
			       HF_RUN_SHORT));
	put(out,
	    ",\n{\"ph\": \"X\", \"pid\": %ld, \"tid\": %u, \"ts\": %llu.%03llu, \"dur\": "
	    "%llu.%03llu, "
	    "\"name\": ",
	    (long)getpid(), event->thread, THOUSANDTHS(start),
	    THOUSANDTHS(to_ns(event->end - event->start)));
	put_string(out, name);
	put(out, "}");
}

static void put_trace(struct out *out)
{
	uint32_t n = hf_atomic32_load_relaxed(&hf_run_event_count);

	put(out,
	    "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n{\"ph\": \"M\", \"pid\": %ld, "
	    "\"name\": \"process_name\", \"args\": {\"name\": ",
	    (long)getpid());
	put_string(out, program);
	put(out, "}}");
	for (uint32_t i = 0; i < n && i < HF_RUN_EVENTS; i++)
		put_event(out, &hf_run_events[i]);
	put(out, "], \"otherData\": {\"left out\": %u}}\n",
	    n > HF_RUN_EVENTS ? n - HF_RUN_EVENTS : 0);
}

/* ---- files ------------------------------------------------------------------------------------------- */

/* The first process writes FILE, its children FILE.PID; @end: ".json", say. */
static void write_file(const char *end, void (*print)(struct out *))
{
	static struct out out;
	char path[PATH_MAX + 64];

	if (is_first)
		(void)snprintf(path, sizeof(path), "%s%s", target, end);
	else
		(void)snprintf(path, sizeof(path), "%s.%ld%s", target, (long)getpid(), end);
	out.len = 0;
	out.file = *target ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)
			   : STDERR_FILENO;
	if (out.file < 0) {
		(void)dprintf(STDERR_FILENO, "hf-run: %s can't be written\n", path);
		return;
	}
	print(&out);
	flush(&out);
	if (*target)
		(void)close(out.file);
}

void hf_run_print_to(const char *file, bool is_first_process)
{
	is_first = is_first_process;
	(void)snprintf(target, sizeof(target), "%s", file ? file : "");
}

/* A child that waited for nothing says nothing: `make -j4` has thousands of them. */
static bool is_worth_it(void)
{
	return is_first || hf_atomic32_load_relaxed(&hf_run_has_waited);
}

void hf_run_print_profile(void)
{
	bool was_busy = hf_run_is_busy;
	ssize_t len;

	if (!is_worth_it())
		return;
	len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	program[len > 0 ? len : 0] = '\0';
	hf_run_is_busy = true;
	add_up();
	hf_run_symbols_load();
	write_file("", put_text);
	if (*target) {
		write_file(".json", put_json);
		write_file(".trace.json", put_trace);
	}
	hf_run_symbols_unload();
	hf_run_is_busy = was_busy;
}
