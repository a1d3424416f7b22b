/* SPDX-License-Identifier: MIT */
/* battery - runs the suites, checks, and writes KTAP; without any C library. */
#include "battery.h"
#include "line.h"

static const struct battery_suite *const suites[] = {
#define X(name) &name##_suite,
	BATTERY_SUITES(X)
#undef X
};

static struct battery_seen seen;
static bool case_failed;

/* ---- Lines -------------------------------------------------------------------------------- */

static void print(struct line *line)
{
	battery_env_line(line->text);
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

/* Starts the line that says why a case fails: "    # line 40: ". */
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

/* Appends the reports so far to a line. */
static void put_seen(struct line *line)
{
	put_number(line, (long)all_reports());
	put_text(line, " counted, ");
	put_number(line, (long)seen.calls);
	put_text(line, " handled, last ");
	put_text(line, seen.calls ? hf_report_text(seen.kind) : "none");
}

bool battery_quiet(int at)
{
	bool ok = all_reports() == 0 && seen.calls == 0;
	struct line line;

	if (!ok) {
		begin_failure(&line, at);
		put_text(&line, "expected no report, but ");
		put_seen(&line);
		print(&line);
	}
	battery_forget();
	return ok;
}

bool battery_reported(int expected, const volatile void *object, int at)
{
	enum hf_report_kind kind = (enum hf_report_kind)expected;
	struct line line;
	bool ok;

	if (expected == QUIET)
		return battery_quiet(at);
	ok = all_reports() == 1 && hf_report_count(kind) == 1 && seen.calls == 1 &&
	     seen.kind == kind && seen.object == object;
	if (!ok) {
		begin_failure(&line, at);
		put_text(&line, "expected one report of ");
		put_text(&line, hf_report_text(kind));
		put_text(&line, ", but ");
		put_seen(&line);
		if (seen.calls && seen.object != object)
			put_text(&line, " for another object");
		print(&line);
	}
	battery_forget();
	return ok;
}

bool battery_true(bool condition, const char *what, int at)
{
	struct line line;

	if (!condition) {
		begin_failure(&line, at);
		put_text(&line, "not so: ");
		put_text(&line, what);
		print(&line);
	}
	return condition;
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

/* "spinlock.ticket": a suite, and the selected implementation if it has several. */
static void put_name(struct line *line, const struct battery_suite *suite, const char *of)
{
	put_text(line, suite->name);
	if (of) {
		put_text(line, ".");
		put_text(line, of);
	}
}

static bool applies(const struct battery_case *c)
{
	return !c->applies || c->applies();
}

/* Runs the suite's cases once; `of` is as in put_name(). */
static unsigned int run_cases(const struct battery_suite *suite, const char *of)
{
	struct line line = { .length = 0 };
	unsigned int failed = 0, planned = 0, number = 0;

	battery_env_line("    KTAP version 1");
	put_text(&line, "    # Subtest: ");
	put_name(&line, suite, of);
	print(&line);
	for (unsigned int i = 0; i < suite->count; i++)
		planned += applies(&suite->cases[i]);
	print_plan("    ", planned);
	for (unsigned int i = 0; i < suite->count; i++) {
		if (!applies(&suite->cases[i]))
			continue;
		case_failed = false;
		battery_record();
		battery_forget();
		suite->cases[i].run();
		(void)battery_quiet(0); /* unexpected reports */
		print_result("    ", !case_failed, ++number, suite->cases[i].name);
		failed += case_failed;
	}
	return failed;
}

/* How often the suite's cases run: the number of its implementations. */
static unsigned int turns(const struct battery_suite *suite)
{
	unsigned int count = 0;

	if (!suite->select)
		return 1;
	while (suite->select(count))
		count++;
	return count;
}

unsigned int battery_run(void)
{
	unsigned int planned = 0, number = 0, failed = 0;

	for (unsigned int i = 0; i < BATTERY_COUNT(suites); i++)
		planned += turns(suites[i]);
	battery_env_line("KTAP version 1");
	print_plan("", planned);
	for (unsigned int i = 0; i < BATTERY_COUNT(suites); i++) {
		for (unsigned int turn = 0; turn < turns(suites[i]); turn++) {
			const char *of = suites[i]->select ? suites[i]->select(turn) : NULL;
			unsigned int failed_here = run_cases(suites[i], of);
			struct line name = { .length = 0 };

			put_name(&name, suites[i], of);
			print_result("", failed_here == 0, ++number, name.text);
			failed += failed_here;
		}
	}
	hf_report_set_handler(NULL, NULL);
	return failed;
}
