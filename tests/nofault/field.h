/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_NOFAULT_FIELD_H
#define HF_TESTS_NOFAULT_FIELD_H
/*
 * field - for the sweeps: memory with a bad page in it, the sizes that are swept, the verdict.
 *
 *                       edge                   behind
 *   | good   | good      | bad page             | good   |
 *
 * All accessible bytes are FILL.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../src/nofault/nofault.h"
#include "../ktap.h"

enum kind { UNMAPPED, NO_ACCESS, READ_ONLY, PAST_END, KINDS };
static const char *const kind_names[] = { "unmapped", "PROT_NONE", "read-only", "past the end" };

enum { FILL = 0x55 };

enum { SIZES = 300, MOST = 513, MARGIN = 80 };

static size_t page;                /* bytes of one */
static bool emulated;              /* HF_SWEEP_EMULATED */
static unsigned long cases, wrong; /* since the last report() */

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void start_field(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	emulated = getenv("HF_SWEEP_EMULATED") != NULL;
	if (hf_nofault_install())
		die("hf_nofault_install");
}

enum { GOOD_PAGES = 30 };

struct field {
	unsigned char *good, *edge, *behind, *end;
};

static struct field make_field(enum kind kind)
{
	struct field f;
	size_t len = (GOOD_PAGES + 2) * page;
	int file = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS;

	if (kind == PAST_END) {
		file = memfd_create("sweep", 0);
		if (file < 0 || ftruncate(file, (off_t)(GOOD_PAGES * page)))
			die("memfd_create");
		flags = MAP_SHARED;
	}
	f.good = (unsigned char *)mmap(NULL, len, PROT_READ | PROT_WRITE, flags, file, 0);
	if (f.good == MAP_FAILED)
		die("mmap");
	f.edge = f.good + GOOD_PAGES * page;
	f.behind = f.edge + page;
	f.end = f.behind + page;
	if (mmap(f.behind, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0) != f.behind)
		die("mmap behind");
	if (kind == UNMAPPED && munmap(f.edge, page))
		die("munmap");
	if (kind == NO_ACCESS && mprotect(f.edge, page, PROT_NONE))
		die("mprotect");
	if (kind == READ_ONLY && mprotect(f.edge, page, PROT_READ))
		die("mprotect");
	if (file >= 0)
		close(file);
	memset(f.good, FILL, GOOD_PAGES * page);
	memset(f.behind, FILL, page);
	return f;
}

static void drop_field(const struct field *f)
{
	if (munmap(f->good, (size_t)(f->end - f->good)))
		die("munmap");
}

/* How many bytes from p on are accessible, at most len? */
static size_t good_bytes(const struct field *f, const unsigned char *p, size_t len)
{
	if (p >= f->edge && p < f->behind)
		return 0;
	if (p < f->edge && (size_t)(f->edge - p) < len)
		return (size_t)(f->edge - p);
	return len;
}

static bool is_all(const unsigned char *p, size_t len, unsigned char value)
{
	return len == 0 || (p[0] == value && memcmp(p, p + 1, len - 1) == 0);
}

/*
 * Does hf_nofault_last() name the first byte that failed? Emulators don't always have it right: there it
 * is not compared.
 */
static bool names(const unsigned char *byte)
{
	return emulated || hf_nofault_last().address == byte;
}

/* Every step-th size up to SIZES; then the sizes at which some implementation switches methods. */
static size_t size_after(size_t size, unsigned int step)
{
	static const size_t more[] = { 320, 383, 384, 385, 416, 511, 512, MOST };

	if (size + step <= SIZES)
		return size + step;
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		if (more[i] > size)
			return more[i];
	}
	return MOST + 1;
}

/* Where a large range may end: bytes behind the edge. */
static const size_t behind_edge[] = { 0, 1, 7, 16, 31, 33, 64, 127, 128, 129, 255, 500 };

enum { BEHIND = sizeof(behind_edge) / sizeof(behind_edge[0]) };

/* Low enough that the sizes used here take the code paths for large ranges. */
static void lower_limits(struct hf_detail_limits *limits, uint64_t repeat_from,
			 uint64_t stream_from)
{
	hf_atomic64_store_relaxed(&limits->repeat_from, repeat_from);
	hf_atomic64_store_relaxed(&limits->stream_from, stream_from);
	hf_atomic64_store_relaxed(&limits->other_from,
				  repeat_from < stream_from ? repeat_from : stream_from);
}

static void report(const char *family, const char *name)
{
	ktap_result(wrong == 0, "%s %s # %lu cases", family, name, cases);
	wrong = cases = 0;
}

#endif
