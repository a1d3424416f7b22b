/* SPDX-License-Identifier: MIT */
/*
 * sweep - clear and copy against a byte loop: every implementation, every size up to 300 and some more up
 * to 513, every place of the fault around a page's edge, every kind of page that faults.
 *
 *   sweep [STEP [FAMILY NAME]]
 *
 *       STEP            every STEP-th size only (sanitizers and emulators are slow); default 1
 *       FAMILY NAME     only this implementation, whatever the default is here: clear or copy, and one
 *                       of hf_variant_clears(), or default_sse2 or default_avx2 (x86-64)
 *
 * The field
 *                       edge                   behind
 *   | good   | good      | bad page             | good   |
 *            |   range   . . .
 *            start = edge - before
 *
 * A range of `size` bytes starts `before` bytes ahead of the edge (or inside of the bad page). What is
 * good is known, so the right result is: as many bytes done as there are good ones in front, all of
 * them right, and not one byte touched anywhere else: neither before the range, nor in the destination
 * behind the last byte done, nor in the good page behind the bad one.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../lab/variants/nofault/implementations.h"
#include "../../src/nofault/nofault.h"
#include "../ktap.h"
#include "field.h"

#include "holdfast/internal/cpu.h"

enum { AROUND = 256, OTHER_FILL = 0xaa };

static unsigned char pattern[1 << 17];

/* ---- judging ------------------------------------------------------------------------------ */

static void complain(const char *name, const char *what, const char *kind, size_t size, long before,
		     size_t expected, size_t left)
{
	if (++wrong <= 20)
		printf("# %s, %s, size %zu, start %ld before the edge: %s; %zu left, expected "
		       "%zu\n",
		       name, kind, size, before, what, left, expected);
}

/* Is FILL where nothing may be touched: ahead of `start`, behind the last byte done, behind the hole? */
static bool is_untouched(const struct field *f, const unsigned char *start, size_t done)
{
	const unsigned char *low = start - MARGIN;

	if (start < f->edge && !is_all(low, MARGIN, FILL))
		return false;
	if (start < f->edge && start + done < f->edge) {
		size_t rest = (size_t)(f->edge - (start + done));

		if (!is_all(start + done, rest < MARGIN ? rest : MARGIN, FILL))
			return false;
	}
	return is_all(f->behind, 2 * MOST < page ? 2 * MOST : page, FILL);
}

static void clear_one(const char *name, hf_clear_function_t clear, const struct field *f,
		      enum kind kind, unsigned char *start, size_t size)
{
	size_t can = good_bytes(f, start, size), left = clear(start, size);

	cases++;
	if (left != size - can)
		complain(name, "wrong count", kind_names[kind], size, f->edge - start, size - can,
			 left);
	else if (!is_all(start, can, 0))
		complain(name, "not cleared", kind_names[kind], size, f->edge - start, size - can,
			 left);
	else if (!is_untouched(f, start, can))
		complain(name, "touched what it must not", kind_names[kind], size, f->edge - start,
			 size - can, left);
	else if (left && !names(start + can))
		complain(name, "wrong address", kind_names[kind], size, f->edge - start, size - can,
			 left);
	if (start < f->edge) {
		size_t dirty = (size_t)(f->edge - start) < size + MARGIN ? (size_t)(f->edge - start)
									 : size + MARGIN;

		memset(start, FILL, dirty);
	}
	memset(f->behind, FILL, page);
}

/* Fills what is readable on either side of a source: more than the widest access that goes wrong. */
static void set_around(const struct field *s, unsigned char *src, size_t readable,
		       unsigned char value)
{
	unsigned char *low = src - s->good < AROUND ? s->good : src - AROUND;
	unsigned char *end = src + readable;

	if (src >= s->edge)
		return;
	memset(low, value, (size_t)(src - low));
	if (end < s->edge)
		memset(end, value, s->edge - end < AROUND ? (size_t)(s->edge - end) : AROUND);
}

/* Copies from `src` in field s to `dst` in field d. */
static void copy_one(const char *name, hf_copy_function_t copy, const struct field *s,
		     const struct field *d, const char *kind, unsigned char *src,
		     unsigned char *dst, size_t size)
{
	size_t readable = good_bytes(s, src, size), writable = good_bytes(d, dst, size), left;
	size_t can = readable < writable ? readable : writable;

	/* What lies around the source is not what lies around the destination: a copy of it shows. */
	set_around(s, src, readable, OTHER_FILL);
	if (src < s->edge)
		memcpy(src, pattern + size % 61, readable);
	left = copy(dst, src, size);
	cases++;
	if (left != size - can)
		complain(name, "wrong count", kind, size, (long)readable, size - can, left);
	else if (memcmp(can ? dst : d->good, can ? pattern + size % 61 : d->good, can))
		complain(name, "not copied", kind, size, (long)readable, size - can, left);
	else if (!is_untouched(d, dst, can))
		complain(name, "touched what it must not", kind, size, (long)readable, size - can,
			 left);
	else if (left && !(readable <= writable && names(src + can)) &&
		 !(writable <= readable && names(dst + can)))
		complain(name, "wrong address", kind, size, (long)readable, size - can, left);
	if (dst < d->edge) {
		size_t dirty = (size_t)(d->edge - dst) < size + MARGIN ? (size_t)(d->edge - dst)
								       : size + MARGIN;

		memset(dst, FILL, dirty);
	}
	memset(d->behind, FILL, page);
	if (src < s->edge)
		memset(src, FILL, readable);
	set_around(s, src, readable, FILL);
}

/*
 * qemu-user 7.2 dies of an assertion of its own when DC ZVA faults. Where HF_SWEEP_EMULATED says that
 * this is an emulator, faults are swept for the sizes that don't use it, and the others without.
 */
enum { MACHINE_FAILS_FROM = 256 };

static bool machine_fails(const char *name)
{
	return emulated && hf_cpu_zva_size() &&
	       (strcmp(name, "dc_zva") == 0 || strncmp(name, "default", 7) == 0);
}

/* ---- the sweep ---------------------------------------------------------------------------- */

static const size_t large[] = {
	511,  1024, 1500,      2047,      2048,  4095,  4096,        4097,
	4200, 8191, 8192 + 33, 12288 + 5, 20000, 65536, 65536 + 129, 100001
};

enum { LARGE = sizeof(large) / sizeof(large[0]) };

static void sweep_clear(const char *name, hf_clear_function_t clear, unsigned int step)
{
	for (int k = 0; k < KINDS; k++) {
		enum kind kind = (enum kind)k;
		struct field f = make_field(kind);

		bool fails = machine_fails(name);

		if (fails)
			printf("SKIPPED clear %s, %s, faults in sizes from %d on: the emulator "
			       "itself "
			       "fails\n",
			       name, kind_names[kind], MACHINE_FAILS_FROM);
		for (size_t size = 0; size <= MOST; size = size_after(size, step)) {
			bool whole = fails && size >= MACHINE_FAILS_FROM;

			for (size_t before = whole ? size : 0; before <= size + 2; before++)
				clear_one(name, clear, &f, kind, f.edge - before, size);
			if (whole)
				continue;
			/* From the bad page into the good one behind it. */
			for (size_t into = 1; into <= size && into <= 130; into += 3)
				clear_one(name, clear, &f, kind, f.behind - into, size);
		}
		for (size_t i = 0; i < LARGE; i++) {
			for (size_t j = 0; j < BEHIND; j++) {
				for (size_t o = 0; o < 2; o++) {
					size_t before = large[i] - behind_edge[j];

					if (fails) {
						clear_one(name, clear, &f, kind,
							  f.edge - large[i] - o * 7, large[i]);
						continue;
					}
					clear_one(name, clear, &f, kind, f.edge - before,
						  large[i] + o * (page + 100));
				}
			}
		}
		drop_field(&f);
	}
}

static void sweep_copy(const char *name, hf_copy_function_t copy, unsigned int step)
{
	for (int k = 0; k < KINDS; k++) {
		struct field bad = make_field((enum kind)k), other = make_field(UNMAPPED);
		char source[64], destination[64], both[64];

		snprintf(source, sizeof(source), "source %s", kind_names[k]);
		snprintf(destination, sizeof(destination), "destination %s", kind_names[k]);
		snprintf(both, sizeof(both), "destination %s, source unmapped", kind_names[k]);
		for (size_t size = 0; size <= MOST; size = size_after(size, step)) {
			for (size_t before = 0; before <= size + 2; before++) {
				size_t away = 2048 + (size * 7 + before) % 97;
				size_t near = size + 1 - (size * 5 + before * 3) % (size + 2);

				if (k != READ_ONLY)
					copy_one(name, copy, &bad, &other, source,
						 bad.edge - before, other.edge - away, size);
				copy_one(name, copy, &other, &bad, destination, other.edge - away,
					 bad.edge - before, size);
				if ((size + before) % 3 == 0)
					copy_one(name, copy, &other, &bad, both, other.edge - near,
						 bad.edge - before, size);
			}
			for (size_t into = 1; into <= size && into <= 130; into += 3)
				copy_one(name, copy, &other, &bad, destination, other.edge - 2048,
					 bad.behind - into, size);
		}
		for (size_t i = 0; i < LARGE; i++) {
			for (size_t j = 0; j < BEHIND; j++) {
				size_t before = large[i] - behind_edge[j];
				unsigned char *away = other.good + 2 * MARGIN + j * 3;

				if (k != READ_ONLY)
					copy_one(name, copy, &bad, &other, source,
						 bad.edge - before, away, large[i]);
				copy_one(name, copy, &other, &bad, destination, away,
					 bad.edge - before, large[i]);
			}
		}
		drop_field(&bad);
		drop_field(&other);
	}
}

/* ---- the default through the header, and with other limits -------------------------------- */

static size_t clear_default(void *dst, size_t len)
{
	return hf_clear_nofault(dst, len);
}

static size_t copy_default(void *dst, const void *src, size_t len)
{
	return hf_copy_nofault(dst, src, len);
}

/* Does it take other ways from the limits on? */
static bool has_limits(const char *name)
{
	return !strncmp(name, "hand_", 5);
}

/* Those of the lists that have limits, with the limits as they are now. */
static void sweep_limits(const char *way, unsigned int step)
{
	size_t clears, copies;
	const struct hf_variant_clear *clear = hf_variant_clears(&clears);
	const struct hf_variant_copy *copy = hf_variant_copies(&copies);
	char name[64];

	for (size_t i = 0; i < clears; i++) {
		if (!clear[i].is_legal() || !has_limits(clear[i].name))
			continue;
		snprintf(name, sizeof(name), "%s, %s", clear[i].name, way);
		sweep_clear(name, clear[i].function, step);
		report("clear", name);
	}
	for (size_t i = 0; i < copies; i++) {
		if (!copy[i].is_legal() || !has_limits(copy[i].name))
			continue;
		snprintf(name, sizeof(name), "%s, %s", copy[i].name, way);
		sweep_copy(name, copy[i].function, step);
		report("copy", name);
	}
}

/* ---- one implementation by its name ------------------------------------------------------- */

static const struct hf_variant_clear *find_clear(const char *name)
{
	size_t count;
	const struct hf_variant_clear *found = hf_variant_clears(&count);

	for (size_t i = 0; i < count; i++) {
		if (!strcmp(found[i].name, name))
			return &found[i];
	}
	return NULL;
}

static const struct hf_variant_copy *find_copy(const char *name)
{
	size_t count;
	const struct hf_variant_copy *found = hf_variant_copies(&count);

	for (size_t i = 0; i < count; i++) {
		if (!strcmp(found[i].name, name))
			return &found[i];
	}
	return NULL;
}

static int sweep_named(const char *family, const char *name, unsigned int step)
{
	const struct hf_variant_clear *clear = NULL;
	const struct hf_variant_copy *copy = NULL;

	if (!strcmp(family, "clear"))
		clear = find_clear(name);
	else if (!strcmp(family, "copy"))
		copy = find_copy(name);
	if (!clear && !copy) {
		fprintf(stderr, "sweep: there is no %s %s\n", family, name);
		return 2;
	}
	ktap_begin(1);
	if (clear ? !clear->is_legal() : !copy->is_legal()) {
		ktap_skip("this processor can't run it", "%s %s", family, name);
		return ktap_end();
	}
	if (clear)
		sweep_clear(name, clear->function, step);
	else
		sweep_copy(name, copy->function, step);
	report(family, name);
	return ktap_end();
}

int main(int argc, char **argv)
{
	unsigned int step = argc > 1 ? (unsigned int)atoi(argv[1]) : 1, planned = 0;
	size_t clears, copies;
	const struct hf_variant_clear *clear = hf_variant_clears(&clears);
	const struct hf_variant_copy *copy = hf_variant_copies(&copies);

	if (step < 1 || argc == 3 || argc > 4) {
		fprintf(stderr, "usage: sweep [STEP [FAMILY NAME]]\n");
		return 2;
	}
	start_field();
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (unsigned char)(i * 7 + i / 256 + 1);
	if (argc == 4)
		return sweep_named(argv[2], argv[3], step);
	for (size_t i = 0; i < clears; i++)
		planned += clear[i].is_legal() * (has_limits(clear[i].name) ? 3 : 1);
	for (size_t i = 0; i < copies; i++)
		planned += copy[i].is_legal() * (has_limits(copy[i].name) ? 3 : 1);
	ktap_begin(planned + 2);
	for (size_t i = 0; i < clears; i++) {
		if (!clear[i].is_legal()) {
			printf("# clear %s can't run on this processor\n", clear[i].name);
			continue;
		}
		sweep_clear(clear[i].name, clear[i].function, step);
		report("clear", clear[i].name);
	}
	for (size_t i = 0; i < copies; i++) {
		if (!copy[i].is_legal()) {
			printf("# copy %s can't run on this processor\n", copy[i].name);
			continue;
		}
		sweep_copy(copy[i].name, copy[i].function, step);
		report("copy", copy[i].name);
	}
	/* Whichever it is, it was swept in all sizes above: here in fewer, through the header. */
	sweep_clear("default", clear_default, 5 * step);
	report("clear", "default");
	sweep_copy("default", copy_default, 5 * step);
	report("copy", "default");
	lower_limits(&hf_detail_clear_limits, UINT64_MAX, 300);
	lower_limits(&hf_detail_copy_limits, UINT64_MAX, 300);
	sweep_limits("streaming", 5 * step);
	lower_limits(&hf_detail_clear_limits, 300, 20000);
	lower_limits(&hf_detail_copy_limits, 300, 20000);
	sweep_limits("repeated", 5 * step);
	return ktap_end();
}
