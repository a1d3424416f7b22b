/* SPDX-License-Identifier: MIT */
/*
 * run_validate - the library's validation, chosen at run time.
 *
 * The class of a lock is the place that made it (run_place.c), as a stack: all locks of a program
 * may be made in one wrapper. A lock without init is a class of its own. Class and identity are in
 * the lock: they are exact, and memory that becomes another one inherits nothing.
 *
 * A program may free a lock that it holds, as an object that is torn down under its own lock does.
 * So only the lock that a call is about is read here, not those that the thread holds meanwhile. It
 * may be a struct hf_run_rwlock, which has the members used here where a mutex has them.
 */
#include <errno.h>
#include <unistd.h>

#include "holdfast/report.h"
#include "holdfast/validate.h"

#include "run.h"

static hf_atomic32_t identities, reports;

uint32_t hf_run_label(const void *lock)
{
	return ((const struct hf_run_mutex *)lock)->place;
}

uint32_t hf_run_class(uint32_t place)
{
	return place && hf_run_place(place)->origin == HF_RUN_MADE_BY_INIT ? place : 0;
}

uint64_t hf_run_identity(const void *lock)
{
	uint32_t *identity = &((struct hf_run_mutex *)(uintptr_t)lock)->identity;
	uint32_t found = __atomic_load_n(identity, __ATOMIC_RELAXED);

	if (!found) {
		uint32_t next = hf_atomic32_fetch_add_relaxed(&identities, 1) + HF_RUN_PLACES;

		if (__atomic_compare_exchange_n(identity, &found, next, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			found = next;
	}
	return found; /* above all classes */
}

/* ---- where pairs were taken ------------------------------------------------------------- */

enum { STACKS = 8192 };

/* At least one for each entry of the table of pairs; the last one stands for all without room. */
static struct hf_detail_stack stacks[STACKS];
static hf_atomic32_t stack_count;

const void *hf_run_keep_stack(const void *site)
{
	uint32_t at = hf_atomic32_load_relaxed(&stack_count);

	while (at < STACKS - 1 && !hf_atomic32_try_cmpxchg_relaxed(&stack_count, &at, at + 1))
		;
	if (at < STACKS - 1) /* threads share the last one, which stays empty */
		hf_run_stack(&stacks[at], site);
	return &stacks[at];
}

/* ---- reports ---------------------------------------------------------------------------- */

/* One report of each kind and place is enough, and of 256 in all. */
static struct hf_detail_table seen;

struct seen {
	struct hf_detail_table_entry entry;
	hf_atomic32_t times;
};

static bool is_new(const struct hf_report_details *details)
{
	uint64_t bits = (uintptr_t)details->site ^ (uint64_t)details->kind << 56;
	uint32_t number = hf_detail_table_put(&seen, hf_detail_table_key(bits), NULL,
					      sizeof(struct seen), 256);
	struct seen *found = number ? hf_detail_table_at(&seen, number, sizeof(*found)) : NULL;

	return found && hf_atomic32_fetch_add_relaxed(&found->times, 1) == 0;
}

static const char *name_of(struct hf_detail_printer *p, const void *address)
{
	return hf_detail_name_of(p, address, HF_DETAIL_NAME_LONG);
}

/* From one frame on, to main() or the thread's function. */
static void describe_stack(struct hf_detail_printer *p, const struct hf_detail_stack *stack,
			   uint32_t from)
{
	uint32_t end = hf_detail_stack_end(p->symbols, stack);

	for (uint32_t i = from; i < end; i++)
		hf_detail_put(p, "holdfast:     %s %s\n", i ? "by" : "at",
			      name_of(p, stack->frame[i]));
}

/* @number: of its place. The mutex may be gone. */
static void describe(struct hf_detail_printer *p, const char *what, const void *lock,
		     uint32_t number)
{
	const struct hf_run_place *place = hf_run_place(number);

	if (!number || place->origin == HF_RUN_IS_STATIC)
		hf_detail_put(p, "holdfast:   %s %s\n", what, name_of(p, lock));
	else
		hf_detail_put(p, "holdfast:   %s %p, %s %s\n", what, lock,
			      place->origin == HF_RUN_MADE_BY_INIT ? "made at" : "first used at",
			      name_of(p, place->stack.frame[0]));
	if (number && place->origin == HF_RUN_MADE_BY_INIT)
		describe_stack(p, &place->stack, 1);
}

/* As the library's, but for those that say what it does: here the call has its effect (R3). */
static const char *text_of(enum hf_report_kind kind)
{
	switch (kind) {
	case HF_REPORT_LOCK_RECURSION:
		return "lock: recursion, a deadlock unless another thread unlocks it";
	case HF_REPORT_LOCK_WRONG_OWNER:
		return "lock: unlock by a thread that does not hold it; it is unlocked";
	case HF_REPORT_LOCK_UNLOCKED:
		return "lock: unlock of a lock that nobody holds";
	default:
		return hf_report_text(kind);
	}
}

static void print(struct hf_detail_printer *p, const struct hf_report_details *details)
{
	struct hf_detail_stack stack;

	hf_detail_put(p, "holdfast: %s\n", text_of(details->kind));
	if (details->kind == HF_REPORT_LOCK_HELD_AT_EXIT) {
		describe(p, "lock", details->object, hf_detail_validate_label(details->object));
		hf_detail_put(p, "holdfast:     taken at %s\n", name_of(p, details->site));
		return;
	}
	hf_run_stack(&stack, details->site);
	describe(p, details->other ? "locking" : "lock", details->object,
		 hf_run_label(details->object));
	describe_stack(p, &stack, 0);
	if (details->other) {
		describe(p, "while holding", details->other,
			 hf_detail_validate_label(details->other));
		for (uint32_t i = 0; i < details->place_count; i++) {
			hf_detail_put(p, i ? "holdfast:   then\n"
					   : "holdfast:   the other order was taken\n");
			describe_stack(p, details->places[i], 0);
		}
	}
}

static void handle(const struct hf_report_details *details, void *data)
{
	bool was_busy = hf_run_is_busy;
	struct hf_detail_printer *p;
	int kept = errno;

	(void)data;
	hf_report_reset(); /* the next one of this kind is a report, too */
	if (!is_new(details))
		return;
	(void)hf_atomic32_fetch_add_relaxed(&reports, 1);
	hf_run_is_busy = false;
	p = hf_detail_printer_open(sizeof(struct hf_detail_row));
	if (p) {
		p->file = STDERR_FILENO;
		print(p, details);
		hf_detail_printer_close(p);
	}
	hf_run_is_busy = was_busy;
	errno = kept;
}

uint32_t hf_run_validate_reports(void)
{
	return hf_atomic32_load_relaxed(&reports);
}

void hf_run_validate_start(void)
{
	hf_validate_set_hold_limit(0);
	hf_report_set_details_handler(handle, NULL);
}
