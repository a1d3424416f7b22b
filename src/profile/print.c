/* SPDX-License-Identifier: MIT */
/* print - the text of a profile. P1 to P3 are defined in profile.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../env/env.h"
#include "profile.h"

enum { FRAMES_SHOWN = 5, LONGEST_PUT = 2048 };

/* ---- output ----------------------------------------------------------------------------- */

/*
 * A pipe whose reader is gone must not end the process here, and one that is full and does not
 * block must not lose a line.
 */
void hf_detail_flush(struct hf_detail_printer *p)
{
	struct pollfd ready = { .fd = p->file, .events = POLLOUT };
	static const struct timespec now;
	sigset_t pipe, pending, before;
	size_t done = 0;

	(void)sigemptyset(&pipe);
	(void)sigaddset(&pipe, SIGPIPE);
	(void)pthread_sigmask(SIG_BLOCK, &pipe, &before);
	(void)sigpending(&pending);
	while (done < p->len) {
		ssize_t n = write(p->file, p->bytes + done, p->len - done);

		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || (errno != EINTR && (errno != EAGAIN || poll(&ready, 1, -1) < 0)))
			break;
	}
	if (!sigismember(&pending, SIGPIPE) && done < p->len)
		(void)sigtimedwait(&pipe, NULL, &now);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	p->len = 0;
}

void hf_detail_put(struct hf_detail_printer *p, const char *format, ...)
{
	va_list arguments;
	int len;

	if (p->len > sizeof(p->bytes) - LONGEST_PUT)
		hf_detail_flush(p);
	va_start(arguments, format);
	len = vsnprintf(p->bytes + p->len, LONGEST_PUT, format, arguments);
	va_end(arguments);
	p->len += len < 0 ? 0 : len < LONGEST_PUT ? (size_t)len : LONGEST_PUT - 1;
}

const char *hf_detail_name_of(struct hf_detail_printer *p, const void *address,
			      enum hf_detail_name how)
{
	hf_detail_symbol(p->symbols, p->name, sizeof(p->name), address, how);
	return p->name;
}

struct hf_detail_printer *hf_detail_printer_open(size_t row_bytes)
{
	struct hf_detail_printer *p = hf_detail_env_map(sizeof(*p));

	if (!p)
		return NULL;
	p->row_bytes = row_bytes;
	p->symbols = hf_detail_symbols_load();
	(void)!readlink("/proc/self/exe", p->program, sizeof(p->program) - 1);
	return p;
}

void hf_detail_printer_close(struct hf_detail_printer *p)
{
	hf_detail_flush(p);
	if (p->file > STDERR_FILENO)
		(void)close(p->file);
	hf_detail_symbols_unload(p->symbols);
	if (p->order)
		(void)munmap((void *)p->order, p->row_count * sizeof(*p->order));
	hf_detail_table_unmap(&p->rows, p->row_bytes);
	(void)munmap(p, sizeof(*p));
}

/* ---- rows ------------------------------------------------------------------------------- */

void *hf_detail_printer_row(struct hf_detail_printer *p, uint64_t key)
{
	uint32_t number = hf_detail_table_put(&p->rows, key, NULL, p->row_bytes, UINT32_MAX);

	return number ? hf_detail_table_at(&p->rows, number, p->row_bytes) : NULL;
}

struct hf_detail_site_counts hf_detail_wait_read(const struct hf_detail_wait_site *site)
{
	return (struct hf_detail_site_counts){
		.stack = &site->stack,
		.waits = hf_atomic64_load_acquire(&site->waits), /* P4 */
		.ns = hf_atomic64_load_relaxed(&site->ns),
		.longest = hf_atomic64_load_relaxed(&site->longest),
	};
}

void hf_detail_row_add_site(struct hf_detail_row *row, const struct hf_detail_site_counts *site)
{
	uint32_t at = row->site_count++;

	for (at = at < HF_DETAIL_SITES_SHOWN ? at : HF_DETAIL_SITES_SHOWN;
	     at && row->sites[at - 1].ns < site->ns; at--) {
		if (at < HF_DETAIL_SITES_SHOWN)
			row->sites[at] = row->sites[at - 1];
	}
	if (at < HF_DETAIL_SITES_SHOWN)
		row->sites[at] = *site;
}

static bool comes_before(const void *one, const void *other)
{
	const struct hf_detail_row *a = one, *b = other;

	return a->wait != b->wait ? a->wait > b->wait : a->used > b->used;
}

void hf_detail_printer_sort(struct hf_detail_printer *p)
{
	uint32_t count = hf_detail_table_count(&p->rows);

	p->order = count ? hf_detail_env_map(count * sizeof(*p->order)) : NULL;
	p->row_count = p->order ? count : 0;
	for (uint32_t i = 0; i < p->row_count; i++)
		p->order[i] = hf_detail_table_at(&p->rows, i + 1, p->row_bytes);
	if (p->order)
		hf_detail_sort((const void **)p->order, count, comes_before);
}

/* ---- text ------------------------------------------------------------------------------- */

/* "get < handle < worker (/bin/app+0x12b3)": the callee first; the place is its call's. */
static void put_stack(struct hf_detail_printer *p, const struct hf_detail_stack *stack)
{
	uint32_t end = hf_detail_stack_end(p->symbols, stack);
	const char *place;

	for (uint32_t i = 0; i < end && i < FRAMES_SHOWN; i++)
		hf_detail_put(p, "%s%s", i ? " < " : " ",
			      hf_detail_name_of(p, stack->frame[i], HF_DETAIL_NAME_SHORT));
	place = end ? strstr(hf_detail_name_of(p, stack->frame[0], HF_DETAIL_NAME_LONG), " (/")
		    : NULL;
	hf_detail_put(p, "%s", place ? place : "");
}

static void print_place(struct hf_detail_printer *p, const struct hf_detail_row *row)
{
	hf_detail_put(p, "holdfast:      ");
	if (row->is_static)
		hf_detail_put(p, "%s", hf_detail_name_of(p, row->object, HF_DETAIL_NAME_LONG));
	else if (row->origin)
		hf_detail_put(p, "%s", row->origin);
	else
		hf_detail_put(p, "0x%lx%s%s", (unsigned long)(uintptr_t)row->object,
			      row->objects > 1 ? " and others" : "",
			      row->stack ? ", waited for at" : "");
	if (!row->is_static && row->stack)
		put_stack(p, row->stack);
	hf_detail_put(p, "\n");
}

static void put_sites(struct hf_detail_printer *p, const struct hf_detail_row *row)
{
	for (uint32_t i = 0; i < row->site_count && i < HF_DETAIL_SITES_SHOWN; i++) {
		const struct hf_detail_site_counts *site = &row->sites[i];

		hf_detail_put(p, "holdfast:        waited %llu.%03llu ms, %llu time%s, ",
			      HF_DETAIL_THOUSANDTHS(site->ns / 1000),
			      (unsigned long long)site->waits, site->waits == 1 ? "" : "s");
		if (site->waits != 1)
			hf_detail_put(p, "at most %llu.%03llu ms, ",
				      HF_DETAIL_THOUSANDTHS(site->longest / 1000));
		hf_detail_put(p, "at");
		put_stack(p, site->stack);
		hf_detail_put(p, "\n");
	}
	if (row->site_count > HF_DETAIL_SITES_SHOWN)
		hf_detail_put(p, "holdfast:        and at %u more call sites\n",
			      row->site_count - HF_DETAIL_SITES_SHOWN);
}

void hf_detail_put_rows(struct hf_detail_printer *p,
			void (*put_more)(struct hf_detail_printer *, const struct hf_detail_row *))
{
	uint64_t wait = 0, waits = 0;

	if (p->row_count)
		hf_detail_put(p, "holdfast:\nholdfast: %15s %10s %10s %8s %8s | kind\n",
			      "waiting: all ms", "mean us", "max ms", "waits", "objects");
	for (uint32_t i = 0; i < p->row_count; i++) {
		const struct hf_detail_row *row = p->order[i];

		if (i >= HF_DETAIL_ROWS_SHOWN) {
			wait += row->wait;
			waits += row->waits;
			continue;
		}
		hf_detail_put(p, "holdfast: %2u. %7llu.%03llu %6llu.%03llu %6llu.%03llu %8llu",
			      i + 1, HF_DETAIL_THOUSANDTHS(row->wait / 1000),
			      HF_DETAIL_THOUSANDTHS(hf_detail_mean(row->wait, row->waits)),
			      HF_DETAIL_THOUSANDTHS(row->longest / 1000),
			      (unsigned long long)row->waits);
		/* "%.0": nothing if it is 0, which is not known. */
		hf_detail_put(p, " %8.0llu | %s\n", (unsigned long long)row->objects, row->kind);
		print_place(p, row);
		if (put_more)
			put_more(p, row);
		put_sites(p, row);
	}
	if (p->row_count > HF_DETAIL_ROWS_SHOWN)
		hf_detail_put(p,
			      "holdfast: and %u more rows, waited for %llu.%03llu ms, %llu times\n",
			      p->row_count - HF_DETAIL_ROWS_SHOWN,
			      HF_DETAIL_THOUSANDTHS(wait / 1000), (unsigned long long)waits);
}
