/* SPDX-License-Identifier: MIT */
/* report - counts and prints misuse; the environment decides where a line goes. */
#include "report.h"

#include "holdfast/internal/atomic.h"
#include "../env/env.h"
#include "../profile/probe.h"

static const char *const texts[HF_REPORT_KINDS] = {
	[HF_REPORT_ADD_NOT_ZERO_OVF] = "refcount: overflow in not_zero; saturated, leaking memory",
	[HF_REPORT_ADD_OVF] = "refcount: overflow; saturated, leaking memory",
	[HF_REPORT_ADD_UAF] = "refcount: addition on 0; use after free",
	[HF_REPORT_SUB_UAF] = "refcount: underflow; use after free",
	[HF_REPORT_DEC_LEAK] = "refcount: decrement hit 0; leaking memory",
	[HF_REPORT_LOCKREF_OVF] = "lockref: overflow; pinned, leaking memory",
	[HF_REPORT_LOCKREF_DEAD] = "lockref: get on a dead object; use after free",
	[HF_REPORT_LOCKREF_UNLOCKED] = "lockref: mark_dead or revive without the lock; not done",
	[HF_REPORT_LOCKREF_PUT] = "lockref: put without a reference; leaking memory",
	[HF_REPORT_LOCKREF_UNPROTECTED] = "lockref: put outside of a read-side critical section",
	[HF_REPORT_RCUREF_OVF] = "rcuref: overflow; saturated, leaking memory",
	[HF_REPORT_RCUREF_DEAD] = "rcuref: put on a dead object; use after free",
	[HF_REPORT_RCUREF_UNPROTECTED] = "rcuref: put outside of a read-side critical section",
	[HF_REPORT_LOCK_RECURSION] = "lock: recursion; granted, the caller holds it already",
	[HF_REPORT_LOCK_WRONG_OWNER] = "lock: unlock by a thread that does not hold it; not done",
	[HF_REPORT_LOCK_UNLOCKED] = "lock: unlock of a lock that nobody holds; not done",
	[HF_REPORT_LOCK_HELD_LONG] = "lock: held beyond the limit",
	[HF_REPORT_LOCK_ORDER] = "lock: order inverted, a deadlock if they are taken at once",
	[HF_REPORT_SATURATED] = "refcount: saturated already; it stays so, leaking memory",
	[HF_REPORT_LOCK_HELD_AT_EXIT] = "lock: held by a thread that ends; it stays locked",
	[HF_REPORT_REGION_OPEN_AT_EXIT] = "region: open in a thread that ends; it is closed",
	[HF_REPORT_LOCK_UPGRADE] = "lock: write-locked by a thread that reads it; deadlock",
	[HF_REPORT_LOCK_WRONG_KIND] = "lock: a reader unlocks as a writer, or the reverse",
	[HF_REPORT_LOCK_DEPTH_OVF] = "lock: locked too often by its holder; it stays locked",
};

/* This copy's state, in use until the copies of the library share one. */
static struct hf_detail_report_state own;
static struct hf_detail_report_state *state = &own;

/* For debuggers, by unique names. packaging/share/gdb/holdfast.py knows this number of kinds. */
HF_STATIC_ASSERT(HF_REPORT_KINDS == 24, "packaging/share/gdb/holdfast.py");
static const hf_atomic32_t *const hf_detail_report_counts __attribute__((used)) = own.counts;
static const char *const *const hf_detail_report_texts __attribute__((used)) = texts;

/* The handler that was set through this copy. */
static struct hf_detail_report_handler mine;

HF_STATIC_ASSERT((int)HF_REPORT_KINDS <= (int)HF_DETAIL_REPORT_ROOM,
		 "later versions have room for more");

const char *hf_report_text(enum hf_report_kind kind)
{
	return (unsigned int)kind < HF_REPORT_KINDS ? texts[kind] : "unknown kind of misuse";
}

char *hf_detail_put_text(char *to, const char *end, const char *text)
{
	while (*text && to < end)
		*to++ = *text++;
	return to;
}

char *hf_detail_put_number(char *to, const char *end, uint64_t number, unsigned int base)
{
	char digits[21] = "", *digit = digits + sizeof(digits) - 1;

	do
		*--digit = "0123456789abcdef"[number % base];
	while (number /= base);
	return hf_detail_put_text(to, end, digit);
}

HF_COLD char *put_address(char *to, const char *end, const char *before, const void *address)
{
	to = hf_detail_put_text(to, end, before);
	to = hf_detail_put_text(to, end, "0x");
	return hf_detail_put_number(to, end, (uintptr_t)address, 16);
}

/* "; at 0x1234 (/bin/app+0x234)"; the object only in environments with HF_ENV_HAS_PLACES. */
HF_COLD char *put_at(char *to, const char *end, const char *before, const void *site)
{
	if (!site)
		return to;
	to = put_address(to, end, before, site);
#if defined(HF_ENV_HAS_PLACES)
	to += hf_detail_env_place(to, (size_t)(end - to), site);
#endif
	return to;
}

/* Misuse is found inside of locks and in signal handlers: no stdio, no allocation, no lock. */
HF_COLD void print_line(const struct hf_report_details *details)
{
	char line[512] = "";
	const char *end = line + sizeof(line) - 1;
	char *at = line;

	at = put_address(at, end, "holdfast: ", details->object);
	at = hf_detail_put_text(at, end, ": ");
	at = hf_detail_put_text(at, end, hf_report_text(details->kind));
	at = put_at(at, end, "; at ", details->site);
	if (details->other) {
		at = put_address(at, end, ", with ", details->other);
		at = hf_detail_put_text(at, end, " held");
		for (uint32_t i = 0; i < details->place_count; i++)
			at = put_at(at, end, i ? ", then at " : "; the other way round at ",
				    details->places[i]);
	}
	*at++ = '\n';
	hf_detail_env_print(line, (size_t)(at - line));
}

static void warn(const struct hf_report_details *details)
{
	uint32_t which = hf_atomic32_load_acquire(&state->current_handler);
	const struct hf_detail_report_handler *to = &state->handlers[which];

	if (to->handler)
		to->handler(details->kind, details->object, to->data);
	else if (to->details_handler)
		to->details_handler(details, to->data);
	else
		print_line(details);
}

/* Stops at UINT32_MAX: a counter must not appear to be lower again. */
static void count(hf_atomic32_t *counter)
{
	uint32_t n = hf_atomic32_load_relaxed(counter);

	while (n != UINT32_MAX && !hf_atomic32_try_cmpxchg_relaxed(counter, &n, n + 1))
		;
}

static void reset_counters(hf_atomic32_t counters[HF_REPORT_KINDS])
{
	for (int i = 0; i < HF_REPORT_KINDS; i++)
		hf_atomic32_store_relaxed(&counters[i], 0);
}

void hf_detail_report_details(const struct hf_report_details *details)
{
	enum hf_report_mode now = (enum hf_report_mode)hf_atomic32_load_relaxed(&state->mode);
	enum hf_report_kind kind = details->kind;
	bool known = (unsigned int)kind < HF_REPORT_KINDS;

	HF_DETAIL_PROBE4(misuse, kind, details->object, details->site, hf_report_text(kind));
	if (now == HF_REPORT_MODE_QUIET)
		return;
	if (known)
		count(&state->counts[kind]);
	if (now == HF_REPORT_MODE_COUNT)
		return;
#if defined(HF_ENV_HAS_REARM)
	if (hf_detail_env_is_rearmed())
		reset_counters(state->warned); /* each kind may warn again; the counters stay */
#endif
	if (now == HF_REPORT_MODE_ABORT) {
		warn(details);
		hf_detail_env_abort();
		return; /* a tail call, so objtool expects no code after it */
	}
	if (!known || hf_atomic32_xchg_acq_rel(&state->warned[kind], 1) == 0)
		warn(details);
	else
		count(&state->hidden[kind]);
}

void hf_report_at(enum hf_report_kind kind, const volatile void *object, const void *site)
{
	struct hf_report_details details = { .kind = kind,
					     .object = (const void *)object,
					     .site = site ? site : HF_DETAIL_CALL_SITE };

	hf_detail_report_details(&details);
}

void hf_report(enum hf_report_kind kind, const volatile void *object)
{
	hf_report_at(kind, object, HF_DETAIL_CALL_SITE);
}

/* @more: how many reports were not shown; 0 = the text is not about reports */
HF_COLD void print_text(uint32_t more, const char *text)
{
	char line[200] = "";
	const char *end = line + sizeof(line) - 1;
	char *at = hf_detail_put_text(line, end, "holdfast: ");

	if (more) {
		at = hf_detail_put_number(at, end, more, 10);
		at = hf_detail_put_text(at, end, " more, not shown: ");
	}
	at = hf_detail_put_text(at, end, text);
	*at++ = '\n';
	hf_detail_env_print(line, (size_t)(at - line));
}

void hf_detail_report_note(const char *text)
{
	uint32_t now = hf_atomic32_load_relaxed(&state->mode);

	if (now != HF_REPORT_MODE_QUIET && now != HF_REPORT_MODE_COUNT)
		print_text(0, text);
}

void hf_detail_report_summary(void)
{
	uint32_t which = hf_atomic32_load_acquire(&state->current_handler);
	bool is_shown = hf_atomic32_load_relaxed(&state->mode) == HF_REPORT_MODE_WARN &&
			!state->handlers[which].handler && !state->handlers[which].details_handler;

	for (int i = 0; i < HF_REPORT_KINDS; i++) {
		uint32_t more = hf_atomic32_load_relaxed(&state->hidden[i]);

		if (more && is_shown)
			print_text(more, texts[i]);
	}
	reset_counters(state->hidden);
}

bool hf_detail_report_share(struct hf_detail_report_state *shared)
{
	bool is_first = !hf_atomic32_xchg_acq_rel(&shared->is_started, 1);

	for (int i = 0; i < HF_REPORT_KINDS; i++) {
		/* Add what was reported before this constructor ran. */
		hf_atomic32_add_relaxed(&shared->counts[i],
					hf_atomic32_load_relaxed(&own.counts[i]));
		hf_atomic32_add_relaxed(&shared->hidden[i],
					hf_atomic32_load_relaxed(&own.hidden[i]));
		if (hf_atomic32_load_relaxed(&own.warned[i]))
			hf_atomic32_store_relaxed(&shared->warned[i], 1);
	}
	state = shared;
	return is_first;
}

void hf_detail_report_forked(void)
{
	reset_counters(state->hidden);
}

static void set_handler(hf_report_handler_t handler, hf_report_details_handler_t details_handler,
			void *data)
{
	uint32_t other = 1 - hf_atomic32_load_relaxed(&state->current_handler);

	mine = (struct hf_detail_report_handler){ handler, details_handler, data };
	state->handlers[other] = mine;
	hf_atomic32_store_release(&state->current_handler, other);
}

void hf_detail_report_leave(void)
{
	const struct hf_detail_report_handler *now =
		&state->handlers[hf_atomic32_load_acquire(&state->current_handler)];

	if ((mine.handler || mine.details_handler) && now->handler == mine.handler &&
	    now->details_handler == mine.details_handler && now->data == mine.data)
		set_handler(NULL, NULL, NULL);
}

void hf_report_set_handler(hf_report_handler_t handler, void *data)
{
	set_handler(handler, NULL, data);
}

void hf_report_set_details_handler(hf_report_details_handler_t handler, void *data)
{
	set_handler(NULL, handler, data);
}

enum hf_report_mode hf_report_set_mode(enum hf_report_mode new_mode)
{
	return (enum hf_report_mode)hf_atomic32_xchg_acq_rel(&state->mode, (uint32_t)new_mode);
}

uint32_t hf_report_count(enum hf_report_kind kind)
{
	return (unsigned int)kind < HF_REPORT_KINDS ? hf_atomic32_load_relaxed(&state->counts[kind])
						    : 0;
}

void hf_report_reset(void)
{
	reset_counters(state->counts);
	reset_counters(state->warned);
	reset_counters(state->hidden);
}
