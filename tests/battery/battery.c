/* SPDX-License-Identifier: MIT */
/* battery - runs the suites, checks, and writes KTAP; without any C library. */
#include "battery.h"

static const struct battery_suite *const suites[] = {
	&report_suite,
	&refcount_unchecked_suite,
	&refcount_cmpxchg_suite,
	&refcount_saturating_suite,
	&refcount_asm_suite,
	&refcount_default_suite,
	&refcount_lock_suite,
	&rcuref_suite,
	&spinlock_cas_suite,
	&spinlock_cas_release_suite,
	&spinlock_cas_prefetch_suite,
	&spinlock_wfe_suite,
	&spinlock_ticket_suite,
	&spinlock_mcs_suite,
	&spinlock_queued_suite,
	&spinlock_default_suite,
	&lockref_unbounded_suite,
	&lockref_bounded_suite,
	&lockref_locked_suite,
	&lockref_default_suite,
	&lockref_waitfree_suite,
	&nofault_suite,
};

static struct battery_seen seen;
static bool case_failed;

/* ---- Lines -------------------------------------------------------------------------------- */

struct line {
	char text[160];
	unsigned int length;
};

static void put_text(struct line *line, const char *text)
{
	while (*text && line->length < sizeof(line->text) - 1)
		line->text[line->length++] = *text++;
	line->text[line->length] = '\0';
}

static void put_number(struct line *line, long number)
{
	unsigned long rest = number < 0 ? 0ul - (unsigned long)number : (unsigned long)number;
	char digits[24];
	unsigned int at = sizeof(digits) - 1;

	digits[at] = '\0';
	do {
		digits[--at] = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	if (number < 0)
		digits[--at] = '-';
	put_text(line, &digits[at]);
}

static void print(struct line *line)
{
	battery_world_line(line->text);
	line->length = 0;
}

/* "    1..7": the plan. */
static void print_plan(const char *indent, unsigned int count)
{
	struct line line = { .length = 0 };

	put_text(&line, indent);
	put_text(&line, "1..");
	put_number(&line, (long)count);
	print(&line);
}

/* "    not ok 3 NAME": a result. */
static void print_result(const char *indent, bool ok, unsigned int number, const char *name)
{
	struct line line = { .length = 0 };

	put_text(&line, indent);
	put_text(&line, ok ? "ok " : "not ok ");
	put_number(&line, (long)number);
	put_text(&line, " ");
	put_text(&line, name);
	print(&line);
}

/* "    # line 40: ": why a case fails; the caller goes on from there. */
static void begin_failure(struct line *line, int at)
{
	case_failed = true;
	line->length = 0;
	put_text(line, "    # line ");
	put_number(line, at);
	put_text(line, ": ");
}

/* ---- Checks ------------------------------------------------------------------------------- */

static void record(enum hf_report_kind kind, const void *object, void *data)
{
	(void)data;
	seen.calls++;
	seen.kind = kind;
	seen.object = object;
}

void battery_record(void)
{
	hf_report_set_handler(record, NULL);
	(void)hf_report_set_mode(HF_REPORT_MODE_WARN);
}

const struct battery_seen *battery_seen(void)
{
	return &seen;
}

void battery_forget(void)
{
	hf_report_reset();
	seen.calls = 0;
	seen.kind = HF_REPORT_KINDS;
	seen.object = NULL;
}

/* Reports of all kinds together. */
static unsigned long all_reports(void)
{
	unsigned long sum = 0;

	for (int kind = 0; kind < HF_REPORT_KINDS; kind++)
		sum += hf_report_count((enum hf_report_kind)kind);
	return sum;
}

/* Adds what was reported to a line. */
static void put_seen(struct line *line)
{
	put_number(line, (long)all_reports());
	put_text(line, " counted, ");
	put_number(line, (long)seen.calls);
	put_text(line, " told, last ");
	put_text(line, seen.calls ? hf_report_text(seen.kind) : "none");
}

bool battery_quiet(int at)
{
	bool ok = all_reports() == 0 && seen.calls == 0;
	struct line line;

	if (!ok) {
		begin_failure(&line, at);
		put_text(&line, "should be quiet, but ");
		put_seen(&line);
		print(&line);
	}
	battery_forget();
	return ok;
}

bool battery_reported(enum hf_report_kind kind, const volatile void *object, int at)
{
	bool ok = all_reports() == 1 && hf_report_count(kind) == 1 && seen.calls == 1 &&
		  seen.kind == kind && seen.object == object;
	struct line line;

	if (!ok) {
		begin_failure(&line, at);
		put_text(&line, "should be told once of ");
		put_text(&line, hf_report_text(kind));
		put_text(&line, ", but ");
		put_seen(&line);
		if (seen.calls && seen.object != object)
			put_text(&line, " of another object");
		print(&line);
	}
	battery_forget();
	return ok;
}

bool battery_true(bool is_so, const char *what, int at)
{
	struct line line;

	if (!is_so) {
		begin_failure(&line, at);
		put_text(&line, "not so: ");
		put_text(&line, what);
		print(&line);
	}
	return is_so;
}

bool battery_equal(long actual, long expected, const char *what, int at)
{
	struct line line;

	if (actual != expected) {
		begin_failure(&line, at);
		put_text(&line, what);
		put_text(&line, " is ");
		put_number(&line, actual);
		put_text(&line, ", not ");
		put_number(&line, expected);
		print(&line);
	}
	return actual == expected;
}

/* ---- Running ------------------------------------------------------------------------------ */

static unsigned int run_suite(const struct battery_suite *suite)
{
	struct line line = { .length = 0 };
	unsigned int failed = 0;

	battery_world_line("    KTAP version 1");
	put_text(&line, "    # Subtest: ");
	put_text(&line, suite->name);
	print(&line);
	print_plan("    ", suite->count);
	for (unsigned int i = 0; i < suite->count; i++) {
		case_failed = false;
		battery_record();
		battery_forget();
		suite->cases[i].run();
		(void)battery_quiet(0); /* what a case did not ask for */
		print_result("    ", !case_failed, i + 1, suite->cases[i].name);
		failed += case_failed;
	}
	return failed;
}

unsigned int battery_run(void)
{
	unsigned int failed = 0;

	battery_world_line("KTAP version 1");
	print_plan("", BATTERY_COUNT(suites));
	for (unsigned int i = 0; i < BATTERY_COUNT(suites); i++) {
		unsigned int failed_here = run_suite(suites[i]);

		print_result("", failed_here == 0, i + 1, suites[i]->name);
		failed += failed_here;
	}
	hf_report_set_handler(NULL, NULL);
	return failed;
}
