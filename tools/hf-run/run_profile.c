/* SPDX-License-Identifier: MIT */
/*
 * run_profile - counts, for each place that makes mutexes or condition variables: how often they were
 * taken and waited for, how long they were waited for and held.
 *
 * State
 *   A record for each thread and place. Its thread alone writes it, after the mutex was released, so
 *   that counting neither makes the sections longer nor moves lines between processors. Threads that
 *   have ended leave their number, and with it their records, to others.
 *
 * Invariants
 *   P1  Nothing here takes a lock, except to get a number at a thread's first lock, or allocates.
 *   P2  Taking a stack costs microseconds. A thread takes one before it waits for the first time in a
 *       call, and again when it has waited STACK_EACH times as long as that costs; waits in between
 *       count for the last stack of their call.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "run.h"

enum { THREADS = 1024, CACHED = 64, LOOKED_AT = 64 };

/* Shorter waits and holds are not on the time line. */
enum { EVENT_NS = 10000, STACK_EACH_NS = 100000 };

struct hf_run_record hf_run_records[HF_RUN_RECORDS];
hf_atomic32_t hf_run_used[HF_RUN_RECORDS], hf_run_used_count, hf_run_has_waited;
struct hf_run_site hf_run_sites[HF_RUN_SITES];
struct hf_run_event *hf_run_events;
hf_atomic32_t hf_run_event_count, hf_run_thread_count;
uint64_t hf_run_start_ticks, hf_run_start_ns;

/* ---- time -------------------------------------------------------------------------------------- */

/* Is the processor's counter even, and the same on all processors? The kernel knows. */
static bool has_counter;

uint64_t hf_run_ticks(void)
{
	if (HF_LIKELY(has_counter)) {
#if defined(__x86_64__)
		return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
		uint64_t ticks;

		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
		return ticks;
#endif
	}
	return hf_env_deadline(0);
}

static void find_counter(void)
{
#if defined(__aarch64__)
	has_counter = true;
#elif defined(__x86_64__)
	static const char name[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	unsigned int a = 0, b = 0, c = 0, d = 0;
	char source[64] = "";
	int file = open(name, O_RDONLY | O_CLOEXEC);

	if (file >= 0) {
		(void)!read(file, source, sizeof(source) - 1);
		(void)close(file);
	}
	(void)__get_cpuid(0x80000007, &a, &b, &c, &d);
	has_counter = strncmp(source, "tsc", 3) == 0 ||
		      (strncmp(source, "kvm-clock", 9) == 0 && (d & 1u << 8));
#endif
}

static uint64_t ticks_each_100_us = 100000;

/* ---- the library's own waits: see site.h --------------------------------------------------------- */

HF_RUN_THREAD uint64_t hf_run_relocks;

uint64_t hf_run_profile_begin(void)
{
	return (hf_run_watch & HF_RUN_PROFILE) && !hf_run_is_busy ? hf_run_ticks() : 0;
}

void hf_run_profile_end(uint64_t start, enum hf_detail_profile_kind kind)
{
	if (start && kind == HF_DETAIL_PROFILE_MUTEX)
		hf_run_relocks = start;
}

/* ---- threads -------------------------------------------------------------------------------------- */

/* 0 = has none yet. THREADS and more share records: their counts may lose some. */
static HF_RUN_THREAD uint32_t my_number;
/* Not used again after the thread's end. */
static HF_RUN_THREAD uint32_t my_serial;
static hf_atomic32_t serials;
static hf_mutex_t numbers_lock;
static uint32_t free_numbers[THREADS], free_count;
static pthread_key_t at_end;
static bool has_at_end;

struct cached {
	uint32_t place;
	struct hf_run_record *record;
};
static HF_RUN_THREAD struct cached cache[CACHED];

static void end_of_thread(void *number)
{
	hf_mutex_lock(&numbers_lock);
	if (free_count < THREADS)
		free_numbers[free_count++] = (uint32_t)(uintptr_t)number;
	hf_mutex_unlock(&numbers_lock);
	my_number = 0;
	memset(cache, 0, sizeof(cache));
}

static HF_RUN_COLD uint32_t find_number(void)
{
	my_serial = hf_atomic32_fetch_add_relaxed(&serials, 1) + 1;
	hf_mutex_lock(&numbers_lock);
	if (free_count)
		my_number = free_numbers[--free_count];
	else if (hf_atomic32_load_relaxed(&hf_run_thread_count) < THREADS)
		my_number = hf_atomic32_fetch_add_relaxed(&hf_run_thread_count, 1) + 1;
	else
		my_number = THREADS;
	hf_mutex_unlock(&numbers_lock);
	if (has_at_end && my_number < THREADS)
		(void)pthread_setspecific(at_end, (void *)(uintptr_t)my_number);
	return my_number;
}

static uint32_t thread_number(void)
{
	return HF_LIKELY(my_number) ? my_number : find_number();
}

/* ---- records ---------------------------------------------------------------------------------- */

static HF_RUN_COLD struct hf_run_record *find_record(uint32_t place)
{
	uint64_t key = (uint64_t)thread_number() << 32 | (place + 1);
	uint32_t start = (uint32_t)((key ^ key >> 27) * 0x9e3779b97f4a7c15u >> 32);

	for (uint32_t i = 0; i < LOOKED_AT; i++) {
		struct hf_run_record *record =
			&hf_run_records[1 + (start + i) % (HF_RUN_RECORDS - 1)];
		uint64_t found = hf_atomic64_load_relaxed(&record->key);

		if (!found && hf_atomic64_try_cmpxchg_relaxed(&record->key, &found, key)) {
			uint32_t n = hf_atomic32_fetch_add_relaxed(&hf_run_used_count, 1);

			hf_atomic32_store_relaxed(&hf_run_used[n],
						  (uint32_t)(record - hf_run_records));
			found = key;
		}
		if (found == key)
			return record;
	}
	hf_atomic64_store_relaxed(&hf_run_records[0].key, 1); /* of place 0: no room */
	return &hf_run_records[0];
}

static struct hf_run_record *record_of(uint32_t place)
{
	struct cached *at = &cache[place % CACHED];

	if (HF_UNLIKELY(!at->record || at->place != place))
		*at = (struct cached){ place, find_record(place) };
	return at->record;
}

static void add(hf_atomic64_t *to, uint64_t n)
{
	hf_atomic64_store_relaxed(to, hf_atomic64_load_relaxed(to) + n);
}

static void raise_to(hf_atomic64_t *longest, uint64_t ticks)
{
	if (hf_atomic64_load_relaxed(longest) < ticks)
		hf_atomic64_store_relaxed(longest, ticks);
}

/* ---- the time line ------------------------------------------------------------------------------ */

static void add_event(uint32_t what, uint32_t place, uint64_t start, uint64_t end)
{
	struct hf_run_event *event;
	uint32_t at;

	if (!hf_run_events || end - start < ticks_each_100_us / (100000 / EVENT_NS))
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

/* ---- where threads wait -------------------------------------------------------------------------- */

/* This thread's wait: the call, the site it counts for, and how long it waited since its last stack. */
enum { CALLS = 16 };

struct call {
	const void *caller;
	uint32_t place;
	struct hf_run_site *site;
};

static HF_RUN_THREAD struct call calls[CALLS];
static HF_RUN_THREAD uint64_t waited;

static struct hf_run_site *find_site(uint32_t place, const struct hf_run_stack *stack)
{
	uint64_t key = ((hf_run_stack_hash(stack) ^ place) * 0xbf58476d1ce4e5b9u) | 1;

	for (uint32_t i = 0; i < LOOKED_AT; i++) {
		struct hf_run_site *site =
			&hf_run_sites[1 + (uint32_t)((key >> 32) + i) % (HF_RUN_SITES - 1)];
		uint64_t found = hf_atomic64_load_relaxed(&site->key);

		if (!found && hf_atomic64_try_cmpxchg_relaxed(&site->key, &found, key)) {
			site->place = place;
			site->stack = *stack;
			hf_atomic32_store_release(&site->filled, 1);
			return site;
		}
		if (found == key)
			return site;
	}
	return NULL;
}

static struct call *call_of(uint32_t place, const void *caller)
{
	return &calls[((uintptr_t)caller * 31 + place) % CALLS];
}

void hf_run_profile_waits(uint32_t place, const void *caller)
{
	struct call *call = call_of(place, caller);
	struct hf_run_stack stack;

	(void)thread_number(); /* a thread counts from when it waits */
	if (call->caller == caller && call->place == place && waited < ticks_each_100_us)
		return;
	hf_run_stack(&stack, caller);
	*call = (struct call){ caller, place, find_site(place, &stack) };
	waited = 0;
}

static void count_site(uint32_t place, const void *caller, uint64_t ticks)
{
	struct call *call = call_of(place, caller);
	struct hf_run_site *site = call->caller == caller && call->place == place ? call->site
										  : NULL;
	uint64_t longest;

	waited += ticks;
	if (!hf_atomic32_load_relaxed(&hf_run_has_waited))
		hf_atomic32_store_relaxed(&hf_run_has_waited, 1);
	if (!site)
		return;
	(void)hf_atomic64_fetch_add_relaxed(&site->waits, 1);
	(void)hf_atomic64_fetch_add_relaxed(&site->wait, ticks);
	longest = hf_atomic64_load_relaxed(&site->longest);
	while (longest < ticks && !hf_atomic64_try_cmpxchg_relaxed(&site->longest, &longest, ticks))
		;
}

/* ---- counting --------------------------------------------------------------------------------- */

/* The counter of another processor may be some ticks behind. */
static uint64_t since_start(uint64_t now, uint64_t start)
{
	return now > start ? now - start : 0;
}

static HF_RUN_COLD void add_wait(struct hf_run_record *record, uint32_t place, uint64_t start,
				 uint64_t now, const void *caller)
{
	uint64_t ticks = since_start(now, start);

	add(&record->contended, 1);
	add(&record->wait, ticks);
	raise_to(&record->wait_longest, ticks);
	count_site(place, caller, ticks);
	add_event(HF_RUN_WAITED, place, start, start + ticks);
}

void hf_run_profile_taken(struct hf_run_mutex *m, uint64_t start, const void *caller)
{
	struct hf_run_record *record = record_of(m->place); /* and my_serial is set */
	uint64_t now = hf_run_ticks();

	add(&record->taken, 1);
	if (m->last != my_serial) {
		m->last = my_serial;
		add(&record->owners, 1);
	}
	if (HF_UNLIKELY(start))
		add_wait(record, m->place, start, now, caller);
	m->since = now;
}

void hf_run_profile_gave_up(uint32_t place, uint64_t start, const void *caller)
{
	struct hf_run_record *record = record_of(place);

	add(&record->unheard, 1);
	add_wait(record, place, start, hf_run_ticks(), caller);
}

void hf_run_profile_held(uint32_t place, uint64_t since, uint64_t now)
{
	struct hf_run_record *record = record_of(place);
	uint64_t ticks = since_start(now, since);

	add(&record->held, ticks);
	raise_to(&record->held_longest, ticks);
	if (HF_UNLIKELY(hf_run_events))
		add_event(HF_RUN_HELD, place, since, since + ticks);
}

void hf_run_profile_cond_waited(uint32_t place, uint64_t start, uint64_t end, bool signalled,
				const void *caller)
{
	struct hf_run_record *record = record_of(place);
	uint64_t ticks = since_start(end, start);

	add(&record->taken, 1);
	add(&record->contended, !signalled);
	add(&record->wait, ticks);
	raise_to(&record->wait_longest, ticks);
	count_site(place, caller, ticks);
	add_event(HF_RUN_COND_WAITED, place, start, start + ticks);
}

void hf_run_profile_signalled(uint32_t place, bool woke)
{
	struct hf_run_record *record = record_of(place);

	add(&record->owners, 1);
	add(&record->unheard, !woke);
}

/* ---- start ---------------------------------------------------------------------------------------- */

static void begin(void)
{
	hf_run_start_ticks = hf_run_ticks();
	hf_run_start_ns = hf_env_deadline(0);
}

/* Ticks of 100 us, to within some percent. */
static void calibrate(void)
{
	uint64_t ns = hf_env_deadline(0), ticks = hf_run_ticks();

	while (hf_env_deadline(0) - ns < 100000)
		;
	ticks_each_100_us = hf_run_ticks() - ticks;
}

void hf_run_profile_start(bool has_events)
{
	find_counter();
	calibrate();
	has_at_end = pthread_key_create(&at_end, end_of_thread) == 0;
	if (has_events) {
		hf_run_events = mmap(NULL, HF_RUN_EVENTS * sizeof(*hf_run_events),
				     PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (hf_run_events == MAP_FAILED)
			hf_run_events = NULL;
	}
	begin();
}

static void clear(hf_atomic64_t *first, size_t count)
{
	for (size_t i = 0; i < count; i++)
		hf_atomic64_store_relaxed(&first[i], 0);
}

static void clear_record(struct hf_run_record *record)
{
	if (hf_atomic64_load_relaxed(&record->key))
		clear(&record->taken, (size_t)(&record->held_longest - &record->taken) + 1);
}

/*
 * The child's profile begins with nothing. Its one thread keeps its number and its records. What was not
 * used is not touched: a shell forks for each command.
 */
void hf_run_profile_forked(void)
{
	hf_mutex_init(&numbers_lock);
	for (uint32_t i = 0; i < hf_run_records_used(); i++)
		clear_record(&hf_run_records[hf_atomic32_load_relaxed(&hf_run_used[i])]);
	clear_record(&hf_run_records[0]);
	for (uint32_t i = 0; hf_atomic32_load_relaxed(&hf_run_has_waited) && i < HF_RUN_SITES; i++)
		clear(&hf_run_sites[i].waits, 3);
	hf_atomic32_store_relaxed(&hf_run_has_waited, 0);
	for (uint32_t i = 0; hf_run_events && i < HF_RUN_EVENTS &&
			     i < hf_atomic32_load_relaxed(&hf_run_event_count);
	     i++)
		hf_atomic32_store_relaxed(&hf_run_events[i].what, 0);
	hf_atomic32_store_relaxed(&hf_run_event_count, 0);
	begin();
}
