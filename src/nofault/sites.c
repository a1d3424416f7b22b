/* SPDX-License-Identifier: MIT */
/*
 * sites - Linux user space: the tables of the instructions that may fault, and where to continue.
 *
 * State
 *   Each loaded object with sites has a table: their absolute addresses, sorted. The tables are in
 *   a list, the newest first, which only grows; that of an unloaded object is empty, and the next
 *   object that fits into it gets it. All changes are made under `hf_detail_nofault_lock`.
 *
 * Invariants
 *   H1  A handler reads the tables and nothing of an object that may be unloaded.
 *   H2  Tables are freed only when no handler can run any more. So a handler may be left by a jump,
 *       or its thread cancelled, in the middle of a search.
 *   H6  A handler finds the site of the instruction that has faulted, and no other: the object that
 *       has the instruction is loaded, so its table does not change meanwhile, and no other table
 *       has that address. One that is being filled may be read in part, since its entries are
 *       atomic, but what is found there has another address.
 */
#include <pthread.h>
#include <stdlib.h>

#include "handler.h"

#include "../env/env.h"
#include "../process/process.h"

pthread_mutex_t hf_detail_nofault_lock = PTHREAD_MUTEX_INITIALIZER;

struct site {
	hf_atomic64_t from, to;
};

/* One object's sites. */
struct site_table {
	struct site_table *next;
	const struct hf_detail_site *start; /* in the object's memory; NULL = no object has it */
	size_t room;
	unsigned int units;  /* translation units that registered it */
	bool stays;          /* the object can't be unloaded before the process ends */
	hf_atomic64_t count; /* 0 = it is being filled, or no object has it */
	struct site sites[];
};

static hf_atomic64_t tables; /* struct site_table *, the newest */

/* The process is exiting: destructors of objects that stay loaded have begun; threads may run. */
static bool exiting;

static struct site_table *newest_table(void)
{
	return (struct site_table *)(uintptr_t)hf_atomic64_load_acquire(&tables);
}

static uintptr_t absolute(const int32_t *word)
{
	return (uintptr_t)word + (uintptr_t)(intptr_t)*word;
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

static void *allocate(size_t bytes)
{
	static const char line[] = "holdfast: no memory for the table of sites that may fault\n";
	void *memory = calloc(1, bytes);

	if (!memory) {
		hf_detail_env_print(line, sizeof(line) - 1);
		hf_detail_env_abort();
		__builtin_unreachable(); /* else gcc warns of a store to NULL */
	}
	return memory;
}

/* Returns an empty table with room for @count sites: H2. */
static struct site_table *with_room(size_t count)
{
	struct site_table *t = newest_table();

	while (t && (t->start || t->room < count))
		t = t->next;
	if (!t) {
		t = (struct site_table *)allocate(sizeof(*t) + count * sizeof(t->sites[0]));
		t->room = count;
		t->next = newest_table();
		hf_atomic64_store_release(&tables, (uintptr_t)t);
	}
	return t;
}

static void fill_table(struct site_table *t, const struct hf_detail_site *from, size_t count)
{
	struct plain_site *sorted = (struct plain_site *)allocate(count * sizeof(*sorted));

	for (size_t i = 0; i < count; i++) {
		sorted[i].from = absolute(&from[i].from);
		sorted[i].to = absolute(&from[i].to);
	}
	qsort(sorted, count, sizeof(sorted[0]), by_address);
	for (size_t i = 0; i < count; i++) {
		hf_atomic64_store_relaxed(&t->sites[i].from, sorted[i].from);
		hf_atomic64_store_relaxed(&t->sites[i].to, sorted[i].to);
	}
	hf_atomic64_store_release(&t->count, count);
	free(sorted);
}

#if HF_ARCH_HAS_SITES
uintptr_t hf_detail_sites_find(uintptr_t pc)
{
	for (const struct site_table *t = newest_table(); t; t = t->next) {
		size_t low = 0, high = (size_t)hf_atomic64_load_acquire(&t->count), count = high;

		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (hf_atomic64_load_relaxed(&t->sites[middle].from) < pc)
				low = middle + 1;
			else
				high = middle;
		}
		if (low < count && hf_atomic64_load_relaxed(&t->sites[low].from) == pc)
			return (uintptr_t)hf_atomic64_load_relaxed(&t->sites[low].to);
	}
	return 0;
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

/* Returns the table of the object whose sites start there, or NULL. Under the lock. */
static struct site_table *table_of(const void *start)
{
	struct site_table *t = newest_table();

	while (t && t->start != start)
		t = t->next;
	return t;
}

static void add_sites(const void *start, const void *end, bool stays)
{
	const struct hf_detail_site *from = (const struct hf_detail_site *)start;
	size_t count = (size_t)((const struct hf_detail_site *)end - from);
	struct site_table *t;

	if (!start || !count)
		return;
	(void)pthread_mutex_lock(&hf_detail_nofault_lock);
	t = table_of(start);
	if (t) {
		t->units++;
	} else {
		t = with_room(count);
		t->start = from;
		t->units = 1;
		t->stays = stays;
		fill_table(t, from, count);
	}
	(void)pthread_mutex_unlock(&hf_detail_nofault_lock);
}

void hf_detail_sites_register(const void *start, const void *end)
{
	add_sites(start, end, is_of_program(start));
}

void hf_detail_sites_unregister(const void *start, const void *end)
{
	struct site_table *t;

	if (!start || start == end)
		return;
	(void)pthread_mutex_lock(&hf_detail_nofault_lock);
	t = table_of(start);
	if (t && t->stays)
		exiting = true;
	if (t && !exiting && --t->units == 0) {
		hf_atomic64_store_relaxed(&t->count, 0);
		t->start = NULL;
	}
	(void)pthread_mutex_unlock(&hf_detail_nofault_lock);
}

bool hf_detail_sites_stay(void)
{
	return stays_loaded(&hf_detail_nofault_lock);
}

/* ---- start, end, fork --------------------------------------------------------------------- */

static void nofault_before_fork(void)
{
	(void)pthread_mutex_lock(&hf_detail_nofault_lock);
}

static void nofault_after_fork(void)
{
	(void)pthread_mutex_unlock(&hf_detail_nofault_lock);
}

__attribute__((constructor(101))) static void start_sites(void)
{
	(void)pthread_atfork(nofault_before_fork, nofault_after_fork, nofault_after_fork);
#if HF_ARCH_HAS_SITES
	add_sites(hf_detail_sites_start, hf_detail_sites_end, hf_detail_sites_stay());
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
	struct site_table *t = newest_table(), *next;

	hf_atomic64_store_relaxed(&tables, 0);
	for (; t; t = next) {
		next = t->next;
		free(t);
	}
}
