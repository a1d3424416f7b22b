/* SPDX-License-Identifier: MIT */
/* report_cases - report.h in every environment: kinds, counters, modes, handler, reset. */
#include "battery.h"

static int thing, other_thing;

/* Every kind has its own text, as has a value that is no kind, and is reported as itself. */
static void texts(void)
{
	for (int a = 0; a < HF_REPORT_KINDS; a++) {
		const char *text = hf_report_text((enum hf_report_kind)a);

		BATTERY_TRUE(text && text[0] != '\0');
		BATTERY_TRUE(text != hf_report_text(HF_REPORT_KINDS));
		for (int b = 0; b < a; b++)
			BATTERY_TRUE(text != hf_report_text((enum hf_report_kind)b));
		hf_report((enum hf_report_kind)a, &thing);
		BATTERY_REPORTED(a, &thing);
	}
	BATTERY_TRUE(hf_report_text(HF_REPORT_KINDS) != NULL);
	BATTERY_QUIET();
}

/*
 * The handler is called once for a kind, whatever the object; the counter counts every time. Reset
 * clears the counters, and the handler is called again.
 */
static void once_a_kind(void)
{
	hf_report(HF_REPORT_ADD_OVF, &thing);
	hf_report(HF_REPORT_ADD_OVF, &thing);
	hf_report(HF_REPORT_ADD_OVF, &other_thing);
	BATTERY_EQ(battery_seen()->calls, 1);
	BATTERY_EQ(hf_report_count(HF_REPORT_ADD_OVF), 3);
	BATTERY_EQ(hf_report_count(HF_REPORT_SUB_UAF), 0);

	hf_report(HF_REPORT_SUB_UAF, &other_thing);
	BATTERY_EQ(battery_seen()->calls, 2);
	BATTERY_EQ(battery_seen()->kind, HF_REPORT_SUB_UAF);
	BATTERY_TRUE(battery_seen()->object == &other_thing);
	BATTERY_EQ(hf_report_count(HF_REPORT_ADD_OVF), 3);
	BATTERY_EQ(hf_report_count(HF_REPORT_SUB_UAF), 1);
	hf_report_reset();
	BATTERY_EQ(hf_report_count(HF_REPORT_ADD_OVF), 0);
	hf_report(HF_REPORT_ADD_OVF, &thing);
	BATTERY_EQ(hf_report_count(HF_REPORT_ADD_OVF), 1);
	BATTERY_EQ(battery_seen()->calls, 3);
	battery_forget();
}

/* Counting only: no handler is called until the mode is warn again. */
static void mode_count(void)
{
	BATTERY_EQ(hf_report_set_mode(HF_REPORT_MODE_COUNT), HF_REPORT_MODE_WARN);
	hf_report(HF_REPORT_ADD_UAF, &thing);
	hf_report(HF_REPORT_ADD_UAF, &thing);
	BATTERY_EQ(hf_report_count(HF_REPORT_ADD_UAF), 2);
	BATTERY_EQ(battery_seen()->calls, 0);
	BATTERY_EQ(hf_report_set_mode(HF_REPORT_MODE_WARN), HF_REPORT_MODE_COUNT);
	hf_report(HF_REPORT_ADD_UAF, &thing);
	BATTERY_EQ(hf_report_count(HF_REPORT_ADD_UAF), 3);
	BATTERY_EQ(battery_seen()->calls, 1);
	battery_forget();
}

/* Quiet: not even counted. */
static void mode_quiet(void)
{
	BATTERY_EQ(hf_report_set_mode(HF_REPORT_MODE_QUIET), HF_REPORT_MODE_WARN);
	hf_report(HF_REPORT_ADD_UAF, &thing);
	BATTERY_EQ(hf_report_set_mode(HF_REPORT_MODE_WARN), HF_REPORT_MODE_QUIET);
	BATTERY_QUIET();
}

static void take_note(enum hf_report_kind kind, const void *object, void *data)
{
	struct battery_seen *note = data;

	note->calls++;
	note->kind = kind;
	note->object = object;
}

/* A handler gets the kind, the object and its own data; the former handler is called no more. */
static void handler(void)
{
	struct battery_seen first = { 0, HF_REPORT_KINDS, NULL }, second = first;

	hf_report_set_handler(take_note, &first);
	hf_report(HF_REPORT_LOCKREF_OVF, &thing);
	BATTERY_EQ(first.calls, 1);
	BATTERY_EQ(first.kind, HF_REPORT_LOCKREF_OVF);
	BATTERY_TRUE(first.object == &thing);

	hf_report_set_handler(take_note, &second);
	hf_report(HF_REPORT_LOCKREF_DEAD, &other_thing);
	BATTERY_EQ(first.calls, 1);
	BATTERY_EQ(second.calls, 1);
	BATTERY_EQ(second.kind, HF_REPORT_LOCKREF_DEAD);
	BATTERY_TRUE(second.object == &other_thing);
	BATTERY_EQ(battery_seen()->calls, 0);

	battery_record();
	battery_forget();
}

/* A value that is no kind is reported every time, and counted nowhere. */
static void no_kind(void)
{
	hf_report(HF_REPORT_KINDS, &thing);
	hf_report(HF_REPORT_KINDS, &thing);
	BATTERY_EQ(battery_seen()->calls, 2);
	BATTERY_EQ(battery_seen()->kind, HF_REPORT_KINDS);
	BATTERY_EQ(hf_report_count(HF_REPORT_KINDS), 0);
	for (int kind = 0; kind < HF_REPORT_KINDS; kind++)
		BATTERY_EQ(hf_report_count((enum hf_report_kind)kind), 0);
	battery_forget();
}

static const struct battery_case cases[] = {
	{ "TEXTS", texts, NULL },           { "ONCE_A_KIND", once_a_kind, NULL },
	{ "MODE_COUNT", mode_count, NULL }, { "MODE_QUIET", mode_quiet, NULL },
	{ "HANDLER_DATA", handler, NULL },  { "NO_KIND", no_kind, NULL },
};

const struct battery_suite report_suite = BATTERY_SUITE("report", cases);
