/* SPDX-License-Identifier: MIT */
/*
 * run_profile - counts, for each place that makes locks or condition variables: how often they
 * were taken and waited for, how long they were waited for and held.
 *
 * State
 *   A record for each thread and place (run_thread.c). Its thread alone writes it, after the mutex
 *   was released, so counting neither makes the sections longer nor moves lines between
 *   processors. Waits are counted by stack, too, in the library's table of sites
 *   (src/profile/profile.h).
 *
 * Invariants
 *   P1  Nothing here takes a lock, except at a thread's first lock, or calls malloc().
 *   P2  Taking a stack may cost microseconds. A thread takes one before it waits for the first
 *       time in a call, and again when it has waited for 100 us since; waits in between count for
 *       the last stack of their call.
 */
#include <unistd.h>

#include "run.h"

/* Shorter waits and holds are not on the time line. */
enum { EVENT_NS = 10000 };

/* P2 */
enum { STACK_NS = 100000 };

struct hf_detail_table hf_run_sites;
struct hf_run_event *hf_run_events;
hf_atomic32_t hf_run_event_count;
uint64_t hf_run_begun;

/* ---- the library's own waits: see site.h ------------------------------------------------ */

HF_RUN_THREAD uint64_t hf_run_relocks;

uint64_t hf_run_profile_begin(void)
{
	return hf_run_is_watched(HF_RUN_PROFILE) ? hf_detail_env_now() : 0;
}

void hf_run_profile_end(uint64_t start, enum hf_detail_profile_kind kind)
{
	if (start && kind == HF_DETAIL_PROFILE_MUTEX)
		hf_run_relocks = start;
}

/* ---- records ---------------------------------------------------------------------------- */

/* Without memory: counts nothing. Threads may write it at the same time. */
static struct hf_run_record no_record;

static struct hf_run_record *record_of(uint32_t place)
{
	struct hf_run_thread *me = hf_run_thread();
	struct hf_run_record *record =
		me ? hf_detail_table_reach(&me->records, place + 1, sizeof(*record)) : NULL;

	return HF_LIKELY(record != NULL) ? record : &no_record;
}

static void add(struct hf_run_record *record, enum hf_run_count what, uint64_t n)
{
	hf_atomic64_t *to = &record->count[what];

	hf_atomic64_store_relaxed(to, hf_atomic64_load_relaxed(to) + n);
}

/* A time, and the longest one, which is counted behind it. */
static void add_time(struct hf_run_record *record, enum hf_run_count what, uint64_t ns)
{
	hf_atomic64_t *longest = &record->count[what + 1];

	add(record, what, ns);
	if (hf_atomic64_load_relaxed(longest) < ns)
		hf_atomic64_store_relaxed(longest, ns);
}

/* ---- the time line ---------------------------------------------------------------------- */

static void add_event(uint32_t what, uint32_t place, uint64_t start, uint64_t end)
{
	struct hf_run_event *event;
	uint32_t at;

	if (!hf_run_events || end - start < EVENT_NS)
		return;
	if (hf_atomic32_load_relaxed(&hf_run_event_count) >= HF_RUN_EVENTS)
		return;
	at = hf_atomic32_fetch_add_relaxed(&hf_run_event_count, 1);
	if (at >= HF_RUN_EVENTS)
		return;
	event = &hf_run_events[at];
	event->start = start;
	event->end = end;
	event->place = place;
	event->thread = (uint32_t)gettid();
	hf_atomic32_store_release(&event->what, what);
}

/* ---- where threads wait ----------------------------------------------------------------- */

static struct hf_run_call *call_of(struct hf_run_thread *me, uint32_t place, const void *caller)
{
	return &me->calls[((uintptr_t)caller * 31 + place) % HF_RUN_CALLS];
}

/* P2 */
static void note_stack(struct hf_run_thread *me, uint32_t place, const void *caller)
{
	struct hf_run_call *call = call_of(me, place, caller);
	struct hf_detail_stack stack;

	if (call->caller == caller && call->place == place && me->waited < STACK_NS)
		return;
	hf_run_stack(&stack, caller);
	*call = (struct hf_run_call){ caller, place,
				      hf_detail_wait_site(&hf_run_sites, 0, place, &stack) };
	me->waited = 0;
}

uint64_t hf_run_profile_waits(uint32_t place, const void *caller)
{
	struct hf_run_thread *me;

	if (!hf_run_is_watched(HF_RUN_PROFILE))
		return 0;
	me = hf_run_thread();
	if (me)
		note_stack(me, place, caller);
	return hf_detail_env_now();
}

static void count_site(uint32_t place, const void *caller, uint64_t ns)
{
	struct hf_run_thread *me = hf_run_thread();
	const struct hf_run_call *call;

	if (!me)
		return;
	me->waited += ns;
	call = call_of(me, place, caller);
	if (call->site && call->caller == caller && call->place == place)
		hf_detail_wait_add(call->site, ns);
}

/* ---- counting --------------------------------------------------------------------------- */

static HF_RUN_COLD void add_wait(struct hf_run_record *record, uint32_t place, uint64_t start,
				 uint64_t now, const void *caller)
{
	add(record, HF_RUN_WAITS, 1);
	add_time(record, HF_RUN_WAIT, now - start);
	count_site(place, caller, now - start);
	add_event(HF_RUN_HAS_WAITED, place, start, now);
}

uint64_t hf_run_profile_taken(uint32_t place, uint32_t *last, uint64_t start, const void *caller)
{
	struct hf_run_record *record = record_of(place);
	uint32_t serial = hf_run_thread_serial(); /* set by record_of() */
	uint64_t now = hf_detail_env_now();

	add(record, HF_RUN_USED, 1);
	if (last && *last != serial) {
		*last = serial;
		add(record, HF_RUN_ODD, 1);
	}
	if (HF_UNLIKELY(start))
		add_wait(record, place, start, now, caller);
	return now;
}

void hf_run_profile_waited(uint32_t place, uint64_t start, uint64_t end, bool timed_out,
			   const void *caller)
{
	struct hf_run_record *record = record_of(place);

	add(record, HF_RUN_TIMED_OUT, timed_out);
	add_wait(record, place, start, end, caller);
}

void hf_run_profile_held(uint32_t place, uint64_t since, uint64_t now)
{
	add_time(record_of(place), HF_RUN_HELD, now - since);
	if (HF_UNLIKELY(hf_run_events))
		add_event(HF_RUN_HAS_HELD, place, since, now);
}

void hf_run_profile_signalled(uint32_t place, bool woke)
{
	struct hf_run_record *record = record_of(place);

	add(record, HF_RUN_USED, 1);
	add(record, HF_RUN_ODD, !woke);
}

/* ---- start ------------------------------------------------------------------------------ */

void hf_run_profile_start(bool has_events)
{
	if (has_events)
		hf_run_events = hf_detail_env_map(HF_RUN_EVENTS * sizeof(*hf_run_events));
	hf_run_begun = hf_detail_env_now();
}

/*
 * The child's profile begins with nothing. What was not used is not touched: a shell forks often.
 */
void hf_run_profile_forked(void)
{
	uint32_t events = hf_atomic32_load_relaxed(&hf_run_event_count);

	hf_detail_table_unmap(&hf_run_sites, sizeof(struct hf_detail_wait_site));
	for (uint32_t i = 0; hf_run_events && i < events && i < HF_RUN_EVENTS; i++)
		hf_atomic32_store_relaxed(&hf_run_events[i].what, 0);
	hf_atomic32_store_relaxed(&hf_run_event_count, 0);
	hf_run_begun = hf_detail_env_now();
}
