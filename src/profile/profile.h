/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_PROFILE_H
#define HF_SRC_PROFILE_H
/*
 * profile - the recorder of waits, and its printer: of HOLDFAST_PROFILE, and of hf-run --profile.
 *
 * A site is what threads waited for, and where: in the library's table, which all copies in a
 * process share, a lock and one call; in hf-run's own, a place that makes mutexes, and a stack.
 *
 * Invariants
 *   P1  Counting takes no lock and never waits, because threads that have just taken a lock do it,
 *       and signal handlers. It allocates by mmap() only: once in so many new sites.
 *   P2  The memory is bounded: a table has 65,536 sites, of 136 bytes. Waits at further ones are
 *       counted as dropped.
 *   P3  Printing may happen in a signal handler, on a stack of 16 KiB, and while threads hold any
 *       lock: so neither malloc() nor stdio's streams, and what is large is mapped.
 *   P4  A site is printed if it has waits, which are counted last (release) and read first
 *       (acquire): its other members are then filled in, and its times are at least those of the
 *       waits.
 */
#include <stdio.h>

#include "symbol.h"
#include "table.h"

/* ---- profile.c: sites ------------------------------------------------------------------- */

/* Where threads waited for one lock, or for those of one place. */
struct hf_detail_wait_site {
	struct hf_detail_table_entry entry;
	uint64_t what; /* the lock's address; hf-run: the number of the place */
	uint32_t kind; /* enum hf_detail_profile_kind; hf-run: 0 */
	hf_atomic64_t waits, ns, longest;
	struct hf_detail_stack stack;
};

uint64_t hf_detail_stack_hash(const struct hf_detail_stack *stack);
/* Finds or adds a site; NULL = no room (P2). */
struct hf_detail_wait_site *hf_detail_wait_site(struct hf_detail_table *sites, uint32_t kind,
						uint64_t what, const struct hf_detail_stack *stack);
/* Counts a wait. */
void hf_detail_wait_add(struct hf_detail_wait_site *site, uint64_t ns);

/* ---- print.c ---------------------------------------------------------------------------- */

enum { HF_DETAIL_ROWS_SHOWN = 10, HF_DETAIL_SITES_SHOWN = 5, HF_DETAIL_NAME_ROOM = 1024 };

/* A site's counters, each read once: its thread may count on meanwhile. */
struct hf_detail_site_counts {
	const struct hf_detail_stack *stack;
	uint64_t waits, ns, longest;
};

struct hf_detail_site_counts hf_detail_wait_read(const struct hf_detail_wait_site *site);

/* One line of the profile, with the lines below it. Times are in nanoseconds. */
struct hf_detail_row {
	struct hf_detail_table_entry entry;
	const char *kind;   /* "mutex" */
	const char *origin; /* "made at", which @stack is; NULL: the objects have an address only */
	const void *object; /* the first one */
	bool is_static;     /* the object has a name */
	const struct hf_detail_stack *stack;
	uint64_t objects,
		used; /* how many objects; how often they were used: of rows without waits */
	uint64_t waits, wait, longest;
	uint32_t site_count;
	/* The longest waits first. */
	struct hf_detail_site_counts sites[HF_DETAIL_SITES_SHOWN];
};

struct hf_detail_printer {
	int file;
	size_t len;
	struct hf_detail_symbols *symbols;
	struct hf_detail_table rows;
	size_t row_bytes; /* hf-run's rows have more members, behind those above */
	const struct hf_detail_row **order; /* all rows, after hf_detail_printer_sort() */
	uint32_t row_count;
	char program[256], name[HF_DETAIL_NAME_ROOM], bytes[8192];
};

/* Returns NULL = no memory. The caller sets `file`. */
struct hf_detail_printer *hf_detail_printer_open(size_t row_bytes);
/* Writes what is left, and closes the file, unless that is standard error or -1. */
void hf_detail_printer_close(struct hf_detail_printer *p);

/* Finds or adds a row, whose members are 0; NULL = no memory. */
void *hf_detail_printer_row(struct hf_detail_printer *p, uint64_t key);
void hf_detail_row_add_site(struct hf_detail_row *row, const struct hf_detail_site_counts *site);
/* Once, when all rows are there: the longest waited for becomes the first one. */
void hf_detail_printer_sort(struct hf_detail_printer *p);

__attribute__((format(printf, 2, 3))) void hf_detail_put(struct hf_detail_printer *p,
							 const char *format, ...);
void hf_detail_flush(struct hf_detail_printer *p);
/* Valid until the next call. */
const char *hf_detail_name_of(struct hf_detail_printer *p, const void *address,
			      enum hf_detail_name how);
/* The table of the first rows. @put_more: a line about a row, behind its place; NULL = none. */
void hf_detail_put_rows(struct hf_detail_printer *p,
			void (*put_more)(struct hf_detail_printer *, const struct hf_detail_row *));

/* For "%llu.%03llu": ns as microseconds, or microseconds as milliseconds. */
#define HF_DETAIL_THOUSANDTHS(n) (unsigned long long)((n) / 1000), (unsigned long long)((n) % 1000)

HF_INLINE uint64_t hf_detail_mean(uint64_t total, uint64_t n)
{
	return n ? total / n : 0;
}

#endif
