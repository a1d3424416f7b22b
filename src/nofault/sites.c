/* SPDX-License-Identifier: MIT */
/*
 * sites - Linux user space: the table of the instructions that may fault, and where to continue.
 *
 * State
 *   ranges    the sites of each loaded object, in the object's memory; changed under `sites_lock`
 *   tables    all sites with absolute addresses, sorted; two copies: `latch` selects the one that
 *             is read, and changes are made in the other
 *
 * Invariants
 *   H1  A handler reads the tables and nothing of an object that may be unloaded.
 *   H2  Tables are freed only when no handler can run any more; one that became too small is kept
 *       until then. Each has at least twice the room of the one before, so all together take at
 *       most four times what is needed.
 */
#include <pthread.h>
#include <stdlib.h>

#include "handler.h"
#include "latch.h"

#include "../env/env.h"
#include "../process/process.h"

static pthread_mutex_t sites_lock = PTHREAD_MUTEX_INITIALIZER;

/* Handlers may read an entry while it is written; they then retry, by `latch`. */
struct site {
	hf_atomic64_t from, to;
};

struct site_table {
	struct site_table *before; /* the smaller one that it replaces */
	size_t room;
	hf_atomic64_t count; /* at most `room` */
	struct site sites[];
};

/* One object's sites. */
struct range {
	struct range *next;
	const struct hf_detail_site *start, *end;
	unsigned int units; /* translation units that registered it */
	bool stays;         /* it can't be unloaded before the process ends */
};

static struct range *ranges;
static hf_atomic64_t site_tables[2]; /* struct site_table *; 0 = no sites */
static struct hf_latch latch;

/* The process is exiting: destructors of objects that stay loaded have begun; threads may run. */
static bool exiting;

static uintptr_t absolute(const int32_t *word)
{
	return (uintptr_t)word + (uintptr_t)(intptr_t)*word;
}

static struct site_table *table_of(uint32_t version)
{
	return (struct site_table *)(uintptr_t)hf_atomic64_load_relaxed(&site_tables[version % 2]);
}

/* An entry while the sites are sorted. */
struct plain_site {
	uintptr_t from, to;
};

static int by_address(const void *a, const void *b)
{
	uintptr_t x = ((const struct plain_site *)a)->from;
	uintptr_t y = ((const struct plain_site *)b)->from;

	return (x > y) - (x < y);
}

static void *xalloc_check(void *memory)
{
	static const char line[] = "holdfast: no memory for the table of sites that may fault\n";

	if (!memory) {
		hf_detail_env_print(line, sizeof(line) - 1);
		hf_detail_env_abort();
		__builtin_unreachable(); /* else gcc warns of a store to NULL */
	}
	return memory;
}

/* Returns the sites of all ranges, sorted; NULL if there are none. */
static struct plain_site *collect(size_t *count)
{
	struct plain_site *sites;
	size_t n = 0;

	*count = 0;
	for (const struct range *r = ranges; r; r = r->next)
		*count += (size_t)(r->end - r->start);
	if (!*count)
		return NULL;
	sites = (struct plain_site *)xalloc_check(malloc(*count * sizeof(*sites)));
	for (const struct range *r = ranges; r; r = r->next) {
		for (const struct hf_detail_site *s = r->start; s < r->end; s++) {
			sites[n].from = absolute(&s->from);
			sites[n++].to = absolute(&s->to);
		}
	}
	qsort(sites, n, sizeof(*sites), by_address);
	return sites;
}

/* Returns the table that is not read now, with room for @count sites. H2 */
static struct site_table *with_room(uint32_t version, size_t count)
{
	struct site_table *made, *old = table_of(version);
	size_t room = old ? 2 * old->room : count;

	if (old ? old->room >= count : !count)
		return old;
	if (room < count)
		room = count;
	made = (struct site_table *)xalloc_check(
		malloc(sizeof(*made) + room * sizeof(made->sites[0])));
	made->before = old;
	made->room = room;
	hf_atomic64_store_relaxed(&made->count, 0);
	/* A handler may read this copy while it is being changed: the fields must be valid. */
	hf_atomic64_store_seq_cst(&site_tables[version % 2], (uintptr_t)made);
	return made;
}

/* Builds the table of all ranges and publishes it. Under `sites_lock`. */
static void publish(void)
{
	uint32_t version = hf_latch_write_begin(&latch);
	size_t count;
	struct plain_site *sites = collect(&count);
	struct site_table *t = with_room(version, count);

	if (t)
		hf_atomic64_store_relaxed(&t->count, count);
	for (size_t i = 0; i < count; i++) {
		hf_atomic64_store_relaxed(&t->sites[i].from, sites[i].from);
		hf_atomic64_store_relaxed(&t->sites[i].to, sites[i].to);
	}
	hf_latch_publish(&latch, version);
	free(sites);
}

#if HF_ARCH_HAS_SITES
/* Searches one table, which may change meanwhile. */
static uintptr_t find_site_in(const struct site_table *t, uintptr_t pc)
{
	size_t low = 0, high = t ? (size_t)hf_atomic64_load_relaxed(&t->count) : 0, count = high;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (hf_atomic64_load_relaxed(&t->sites[middle].from) < pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < count && hf_atomic64_load_relaxed(&t->sites[low].from) == pc)
		return (uintptr_t)hf_atomic64_load_relaxed(&t->sites[low].to);
	return 0;
}

uintptr_t hf_detail_sites_find(uintptr_t pc)
{
	uint32_t version;
	uintptr_t to;

	do {
		version = hf_latch_begin(&latch);
		to = find_site_in((const struct site_table *)(uintptr_t)hf_atomic64_load_acquire(
					  &site_tables[version % 2]),
				  pc);
	} while (hf_latch_retry(&latch, version));
	return to;
}
#endif

static bool is_of_program(const void *p)
{
	struct hf_detail_object object = { .address = p };

	return hf_detail_process_object(&object) && object.is_program;
}

/*
 * The shared library is linked with -z nodelete: once loaded it stays. The static one stays if it
 * is linked into the program.
 */
#ifdef HF_STAYS_LOADED
static bool stays_loaded(const void *p)
{
	(void)p;
	return true;
}
#else
#define stays_loaded is_of_program
#endif

static void add_range(const void *start, const void *end, bool stays)
{
	struct range *r;

	if (!start || start == end)
		return;
	(void)pthread_mutex_lock(&sites_lock);
	for (r = ranges; r && r->start != start; r = r->next)
		;
	if (r) {
		r->units++;
	} else {
		r = (struct range *)xalloc_check(calloc(1, sizeof(*r)));
		r->start = (const struct hf_detail_site *)start;
		r->end = (const struct hf_detail_site *)end;
		r->units = 1;
		r->stays = stays;
		r->next = ranges;
		ranges = r;
		publish();
	}
	(void)pthread_mutex_unlock(&sites_lock);
}

void hf_detail_sites_register(const void *start, const void *end)
{
	add_range(start, end, is_of_program(start));
}

void hf_detail_sites_unregister(const void *start, const void *end)
{
	struct range **at, *r;

	if (!start || start == end)
		return;
	(void)pthread_mutex_lock(&sites_lock);
	for (at = &ranges; *at && (*at)->start != start; at = &(*at)->next)
		;
	r = *at;
	if (r && r->stays)
		exiting = true;
	if (r && !exiting && --r->units == 0) {
		*at = r->next;
		publish();
		free(r);
	}
	(void)pthread_mutex_unlock(&sites_lock);
}

bool hf_detail_sites_stay(void)
{
	return stays_loaded(&sites_lock);
}

/* ---- start, end, fork --------------------------------------------------------------------- */

static void sites_before_fork(void)
{
	(void)pthread_mutex_lock(&sites_lock);
}

static void sites_after_fork(void)
{
	(void)pthread_mutex_unlock(&sites_lock);
}

__attribute__((constructor(101))) static void start_sites(void)
{
	(void)pthread_atfork(sites_before_fork, sites_after_fork, sites_after_fork);
#if HF_ARCH_HAS_SITES
	add_range(hf_detail_sites_start, hf_detail_sites_end, hf_detail_sites_stay());
#endif
}

void hf_detail_sites_leave(void)
{
#if HF_ARCH_HAS_SITES
	hf_detail_sites_unregister(hf_detail_sites_start, hf_detail_sites_end);
#endif
}

void hf_detail_sites_free(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct site_table *t = table_of(i), *before;

		for (; t; t = before) {
			before = t->before;
			free(t);
		}
		hf_atomic64_store_relaxed(&site_tables[i], 0);
	}
}
