/* SPDX-License-Identifier: MIT */
/*
 * sweep_memory - fill, move, compare, find, lists and words against byte loops: every implementation,
 * every size up to 300 and some more, every place of the fault around a page's edge; every kind of page
 * that faults, where one is not mapped with each size and the others with each third.
 *
 *   sweep_memory [STEP [FAMILY NAME]]
 *
 *       STEP            every STEP-th size only (sanitizers and emulators are slow); default 1
 *       FAMILY NAME     only this: fill, move, compare or find and one of hf_variant_memories();
 *                       or words or iovec, and default
 *
 * The field: field.h. Each verb is held to what a loop over bytes would do with the same memory, and to
 * touching nothing else.
 */
#define _GNU_SOURCE
#include "../../lab/variants/nofault/implementations.h"
#include "../../src/nofault/memory.h"
#include "../ktap.h"
#include "field.h"

__attribute__((format(printf, 3, 4))) static void complain(const char *name, const char *kind,
							   const char *format, ...)
{
	va_list arguments;

	if (++wrong > 20)
		return;
	printf("# %s, %s, ", name, kind);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
}

/* The same numbers in each run. */
static uint32_t any(uint32_t below)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

static const size_t large[] = { 1024, 1500, 2048, 4095, 4096, 4097, 8192 + 33, 20000, 65536 + 129 };

enum { LARGE = sizeof(large) / sizeof(large[0]) };

/* ---- fill --------------------------------------------------------------------------------- */

static void fill_one(const struct hf_variant_memory *m, const struct field *f, enum kind kind,
		     unsigned char *start, size_t size)
{
	uint8_t value = (uint8_t)(size * 37 + 0x81) == FILL ? 0 : (uint8_t)(size * 37 + 0x81);
	size_t can = good_bytes(f, start, size), left = m->fill(start, value, size);
	size_t to_edge = start < f->edge ? (size_t)(f->edge - start) : 0;
	size_t rest = to_edge > can ? to_edge - can : 0;

	cases++;
	if (left != size - can)
		complain(m->name, kind_names[kind],
			 "size %zu, start %zu before the edge: wrong count: %zu left, not %zu",
			 size, to_edge, left, size - can);
	else if (left && !names(start + can))
		complain(m->name, kind_names[kind],
			 "size %zu, start %zu before the edge: wrong address", size, to_edge);
	else if (!is_all(start, can, value))
		complain(m->name, kind_names[kind],
			 "size %zu, start %zu before the edge: not filled", size, to_edge);
	else if ((to_edge && !is_all(start - MARGIN, MARGIN, FILL)) ||
		 (to_edge && !is_all(start + can, rest < MARGIN ? rest : MARGIN, FILL)) ||
		 (start < f->behind && !is_all(f->behind, page, FILL)))
		complain(m->name, kind_names[kind],
			 "size %zu, start %zu before the edge: touched what it must not", size,
			 to_edge);
	if (to_edge)
		memset(start, FILL, to_edge < size + MARGIN ? to_edge : size + MARGIN);
	memset(f->behind, FILL, page);
}

static void sweep_fill(const struct hf_variant_memory *m, unsigned int step)
{
	for (int k = 0; k < KINDS; k++) {
		enum kind kind = (enum kind)k;
		struct field f = make_field(kind);

		for (size_t size = 0; size <= MOST; size = size_after(size, k ? 3 * step : step)) {
			for (size_t before = 0; before <= size + 2; before++)
				fill_one(m, &f, kind, f.edge - before, size);
			for (size_t into = 1; into <= size && into <= 130; into += 3)
				fill_one(m, &f, kind, f.behind - into, size);
		}
		for (size_t i = 0; i < LARGE; i++) {
			for (size_t j = 0; j < BEHIND; j++)
				fill_one(m, &f, kind, f.edge - large[i] + behind_edge[j],
					 large[i] + (j & 1) * (page + 100));
		}
		drop_field(&f);
	}
}

/* ---- move --------------------------------------------------------------------------------- */

static bool can_read(const struct field *f, enum kind kind, const unsigned char *p)
{
	return p < f->edge || p >= f->behind || kind == READ_ONLY;
}

static bool can_write(const struct field *f, const unsigned char *p)
{
	return p < f->edge || p >= f->behind;
}

/* Sets what can be had of a span, or compares it with another's: `same` is false if they differ. */
static bool span(const struct field *f, unsigned char *low, unsigned char *high,
		 unsigned char *image, bool set)
{
	unsigned char *end = high < f->edge ? high : f->edge;
	bool same = true;

	if (low < end) {
		size_t len = (size_t)(end - low);

		if (set)
			memcpy(low, image, len);
		else
			same = memcmp(low, image, len) == 0;
	}
	if (high > f->behind) {
		unsigned char *from = low > f->behind ? low : f->behind;
		size_t len = (size_t)(high - from);

		if (set)
			memcpy(from, image + (from - low), len);
		else
			same = same && memcmp(from, image + (from - low), len) == 0;
	}
	return same;
}

static void move_one(const struct hf_variant_memory *m, const struct field *f, enum kind kind,
		     unsigned char *dst, unsigned char *src, size_t size)
{
	static unsigned char image[1 << 17];
	unsigned char *low = (dst < src ? dst : src) - MARGIN;
	unsigned char *high = (dst < src ? src : dst) + size + MARGIN;
	bool down = hf_move_is_down(dst, src, size);
	size_t done, left, salt = any(251);

	if (high > f->end)
		high = f->end;
	for (unsigned char *p = low; p < high; p++)
		image[p - low] = can_write(f, p) ? (unsigned char)((size_t)(p - low) * 7 + salt)
						 : 0;
	span(f, low, high, image, true);
	for (done = 0; done < size; done++) {
		size_t i = down ? size - 1 - done : done;

		if (!can_read(f, kind, src + i) || !can_write(f, dst + i))
			break;
		image[dst + i - low] = image[src + i - low];
	}
	left = m->move(dst, src, size);
	cases++;
	if (left != size - done)
		complain(m->name, kind_names[kind],
			 "size %zu, to %ld before the edge, from %ld: wrong count: %zu left, not "
			 "%zu",
			 size, (long)(f->edge - dst), (long)(f->edge - src), left, size - done);
	else if (left && !names(src + (down ? left - 1 : done)) &&
		 !names(dst + (down ? left - 1 : done)))
		complain(m->name, kind_names[kind],
			 "size %zu, to %ld before the edge, from %ld: wrong address", size,
			 (long)(f->edge - dst), (long)(f->edge - src));
	else if (!span(f, low, high, image, false))
		complain(m->name, kind_names[kind],
			 "size %zu, to %ld before the edge, from %ld: wrong bytes", size,
			 (long)(f->edge - dst), (long)(f->edge - src));
}

static void sweep_move(const struct hf_variant_memory *m, unsigned int step)
{
	static const size_t distances[] = { 0,  1,  2,  3,  4,  7,  8,  9,   15,  16,  17, 24,
					    31, 32, 33, 48, 63, 64, 65, 100, 127, 128, 200 };
	enum { DISTANCES = sizeof(distances) / sizeof(distances[0]) };

	for (int k = 0; k < KINDS; k++) {
		enum kind kind = (enum kind)k;
		struct field f = make_field(kind);

		for (size_t size = 0; size <= MOST; size = size_after(size, k ? 3 * step : step)) {
			for (size_t before = 0; before <= size + 202; before++) {
				size_t d = distances[any(DISTANCES)];

				/* Only what overlaps. */
				d = d < size ? d : size ? d % size : 0;
				move_one(m, &f, kind, f.edge - before, f.edge - before + d, size);
				move_one(m, &f, kind, f.edge - before + d, f.edge - before, size);
			}
			for (size_t into = 1; into <= size && into <= 130; into += 3) {
				size_t d = size ? distances[any(DISTANCES)] % size : 0;

				move_one(m, &f, kind, f.behind - into, f.behind - into + d, size);
				move_one(m, &f, kind, f.behind - into + d, f.behind - into, size);
			}
		}
		for (size_t i = 0; i < LARGE; i++) {
			for (size_t j = 0; j < BEHIND; j++) {
				unsigned char *at = f.edge - large[i] - any(64) + behind_edge[j];
				size_t d = distances[any(DISTANCES)];

				move_one(m, &f, kind, at, at + d, large[i]);
				move_one(m, &f, kind, at + d, at, large[i]);
				/* Across the bad page. */
				at = f.behind + behind_edge[j] + 300 - large[i];
				if (large[i] > page + 400) {
					move_one(m, &f, kind, at, at + d, large[i]);
					move_one(m, &f, kind, at + d, at, large[i]);
				}
			}
		}
		drop_field(&f);
	}
}

/* ---- find --------------------------------------------------------------------------------- */

enum { NONE = -1 };

static void find_one(const struct hf_variant_memory *m, const struct field *f, enum kind kind,
		     unsigned char *start, size_t size, long hit, uint8_t wanted)
{
	size_t can = kind == READ_ONLY ? size : good_bytes(f, start, size), at;
	struct hf_memory_result r;
	long expected;

	/* What a search in words takes for a hit if it is careless. */
	for (size_t i = 0; i < can; i++) {
		if (can_write(f, start + i))
			start[i] = wanted ^ (i & 1 ? 0x01 : 0x80);
	}
	if (start <= f->edge)
		start[-1] = wanted;
	if (can == size && can_write(f, start + size))
		start[size] = wanted;
	if (hit >= 0 && (size_t)hit < can)
		start[hit] = wanted;
	at = hit >= 0 && (size_t)hit < can ? (size_t)hit : can;
	expected = at < can ? 0 : can < size ? -HF_EFAULT : -HF_ENOENT;
	r = m->find(start, wanted, size);
	cases++;
	if (r.result != expected || r.at != at || (expected == -HF_EFAULT && !names(start + at)))
		complain(m->name, kind_names[kind],
			 "size %zu, start %ld before the edge, hit at %ld: wrong result: %ld at "
			 "%zu, "
			 "not %ld at %zu",
			 size, (long)(f->edge - start), hit, r.result, r.at, expected, at);
}

static void sweep_find(const struct hf_variant_memory *m, unsigned int step)
{
	static const uint8_t bytes[] = { 0x00, 0x80, 0xff, 0x01, 0x7f, 0x41 };

	for (int k = 0; k < KINDS; k++) {
		enum kind kind = (enum kind)k;
		struct field f = make_field(kind);

		if (kind == READ_ONLY)
			continue; /* it can be read */
		for (size_t size = 0; size <= MOST; size = size_after(size, k ? 3 * step : step)) {
			for (size_t before = 0; before <= size + 2; before++) {
				unsigned char *start = f.edge - before;
				size_t can = before < size ? before : size;

				find_one(m, &f, kind, start, size, NONE, bytes[any(6)]);
				if (!can)
					continue;
				find_one(m, &f, kind, start, size, 0, bytes[any(6)]);
				find_one(m, &f, kind, start, size, (long)can - 1, bytes[any(6)]);
				find_one(m, &f, kind, start, size, (long)any((uint32_t)can),
					 bytes[any(6)]);
			}
			/* No fault: a hit at each place, at some alignments. */
			for (size_t hit = 0; k == 0 && hit < size; hit++)
				find_one(m, &f, kind, f.edge - 2048 + any(64), size, (long)hit,
					 bytes[any(6)]);
		}
		for (size_t i = 0; i < LARGE; i++) {
			for (size_t j = 0; j < BEHIND; j++) {
				unsigned char *start = f.edge - large[i] + behind_edge[j];
				size_t can = (size_t)(f.edge - start);

				find_one(m, &f, kind, start, large[i], NONE, bytes[any(6)]);
				find_one(m, &f, kind, start, large[i], (long)can - 1,
					 bytes[any(6)]);
				find_one(m, &f, kind, start, large[i], (long)any((uint32_t)can),
					 bytes[any(6)]);
			}
		}
		/* A length that nothing has: up to the end of memory. */
		find_one(m, &f, kind, f.edge - 77, SIZE_MAX / 2, 76, 0);
		drop_field(&f);
	}
}

/* ---- compare ------------------------------------------------------------------------------ */

/* They are equal up to `differ` (NONE: everywhere), where a's byte is less if `less`. */
static void compare_one(const struct hf_variant_memory *m, const struct field *f,
			const struct field *g, const char *kind, unsigned char *a, unsigned char *b,
			size_t size, long differ, bool less)
{
	size_t can_a = good_bytes(f, a, size), can_b = good_bytes(g, b, size), at;
	size_t can = can_a < can_b ? can_a : can_b;
	struct hf_memory_result r;
	long expected;

	for (size_t i = 0; i < can_a && can_write(f, a + i); i++)
		a[i] = (unsigned char)(i * 7 + size);
	for (size_t i = 0; i < can_b && can_write(g, b + i); i++)
		b[i] = (unsigned char)(i * 7 + size);
	/* Around them they differ. */
	if (a <= f->edge && b <= g->edge) {
		a[-1] = 1;
		b[-1] = 2;
	}
	if (can_a == size && can_write(f, a + size) && can_b == size && can_write(g, b + size)) {
		a[size] = 1;
		b[size] = 2;
	}
	at = can;
	expected = can < size ? -HF_EFAULT : 0;
	if (differ >= 0 && (size_t)differ < can) {
		/* As signed numbers it would be the other way round; and what follows says otherwise. */
		a[differ] = less ? 0x7f : 0x80;
		b[differ] = less ? 0x80 : 0x7f;
		if ((size_t)differ + 1 < can)
			a[differ + 1] = (unsigned char)(b[differ + 1] + (less ? 1 : -1));
		at = (size_t)differ;
		expected = less ? -1 : 1;
	}
	r = m->compare(a, b, size);
	cases++;
	if (r.result != expected || r.at != at ||
	    (expected == -HF_EFAULT && !names(a + at) && !names(b + at)))
		complain(m->name, kind,
			 "size %zu, %zu and %zu before the fault, different at %ld: wrong result: "
			 "%ld "
			 "at %zu, not %ld at %zu",
			 size, can_a, can_b, differ, r.result, r.at, expected, at);
}

static void sweep_compare(const struct hf_variant_memory *m, unsigned int step)
{
	for (int k = 0; k < KINDS; k++) {
		struct field f = make_field((enum kind)k), g = make_field(UNMAPPED);
		const char *kind = kind_names[k];

		if (k == READ_ONLY) {
			drop_field(&g);
			drop_field(&f);
			continue;
		}
		for (size_t size = 0; size <= MOST; size = size_after(size, k ? 3 * step : step)) {
			for (size_t before = 0; before <= size + 2; before++) {
				unsigned char *a = f.edge - before;
				unsigned char *b = g.edge - 2048 + any(64);
				size_t can = before < size ? before : size;

				compare_one(m, &f, &g, kind, a, b, size, NONE, false);
				compare_one(m, &g, &f, kind, b, a, size, NONE, false);
				if (!can)
					continue;
				compare_one(m, &f, &g, kind, a, b, size, (long)can - 1, true);
				compare_one(m, &g, &f, kind, b, a, size, (long)any((uint32_t)can),
					    any(2));
				/* Both sides fault. */
				compare_one(m, &f, &g, kind, a, g.edge - any((uint32_t)size + 2),
					    size, NONE, false);
			}
			for (size_t differ = 0; k == 0 && differ < size; differ++)
				compare_one(m, &f, &g, kind, f.edge - 2048 + any(64),
					    g.edge - 2048 + any(64), size, (long)differ, any(2));
		}
		for (size_t i = 0; i < LARGE; i++) {
			for (size_t j = 0; j < BEHIND; j++) {
				unsigned char *a = f.edge - large[i] + behind_edge[j];
				unsigned char *b = g.good + 2 * MARGIN + j * 3;
				size_t can = (size_t)(f.edge - a);

				compare_one(m, &f, &g, kind, a, b, large[i], NONE, false);
				compare_one(m, &g, &f, kind, b, a, large[i], (long)can - 1, true);
				compare_one(m, &g, &f, kind, b, a, large[i],
					    (long)any((uint32_t)can), any(2));
			}
		}
		drop_field(&g);
		drop_field(&f);
	}
}

/* ---- whole words -------------------------------------------------------------------------- */

static void words_one(const struct field *s, const struct field *d, const char *kind,
		      unsigned char *src, unsigned char *dst, size_t words)
{
	size_t readable = good_bytes(s, src, words * 8), writable = good_bytes(d, dst, words * 8);
	size_t can = readable < writable ? readable : writable, left;

	for (size_t i = 0; i < readable && src < s->edge; i++)
		src[i] = (unsigned char)(i * 7 + words);
	left = hf_copy_nofault_words(dst, src, words);
	cases++;
	if (left != words - can / 8)
		complain("default", kind, "%zu words, %zu bytes before the fault: wrong count: %zu",
			 words, can, left);
	else if (dst < d->edge && memcmp(dst, src, can))
		complain("default", kind, "%zu words, %zu bytes before the fault: not copied",
			 words, can);
	else if (dst < d->edge &&
		 (!is_all(dst - MARGIN, MARGIN, FILL) ||
		  !is_all(dst + can,
			  d->edge - (dst + can) < MARGIN ? (size_t)(d->edge - (dst + can)) : MARGIN,
			  FILL)))
		complain("default", kind,
			 "%zu words, %zu bytes before the fault: touched what it must not", words,
			 can);
	if (dst < d->edge)
		memset(dst, FILL, can);
	if (src < s->edge)
		memset(src, FILL, readable);
}

static void sweep_words(unsigned int step)
{
	for (int k = 0; k < KINDS; k++) {
		struct field f = make_field((enum kind)k), g = make_field(UNMAPPED);

		for (size_t words = 0; words <= 70; words += step) {
			for (size_t before = 0; before <= words + 1; before++) {
				if (k != READ_ONLY)
					words_one(&f, &g, "source", f.edge - 8 * before,
						  g.edge - 2048, words);
				words_one(&g, &f, "destination", g.edge - 2048, f.edge - 8 * before,
					  words);
			}
		}
		cases += 2;
		if (hf_copy_nofault_words(f.edge - 2047, g.edge - 2048, 3) != 3 ||
		    hf_copy_nofault_words(f.edge - 2048, g.edge - 2044, 3) != 3 ||
		    !is_all(f.edge - 2048, 64, FILL))
			complain("default", kind_names[k], "not aligned: wrong count");
		drop_field(&g);
		drop_field(&f);
	}
}

/* ---- lists of ranges ---------------------------------------------------------------------- */

enum { RANGES = 5 };

/* A list whose ranges lie apart, one of them at the edge or behind it. Returns its bytes. */
static size_t make_list(const struct field *f, struct hf_iovec *list, size_t count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		list[i].len = any(3) ? any(200) : 0;
		list[i].base = f->edge - 4096 + 600 * i + any(64);
		if (i + 1 == count || (i && !any(4)))
			list[i].base = f->edge - any((uint32_t)list[i].len + 2);
		bytes += list[i].len;
	}
	return bytes;
}

/* The byte `at` of a list: the range that it is in, and the byte of that; false = behind the end. */
static bool place_of(const struct hf_iovec *list, size_t count, size_t at, size_t *range,
		     size_t *offset)
{
	for (*range = 0, *offset = at; *range < count; ++*range) {
		if (*offset < list[*range].len)
			return true;
		*offset -= list[*range].len;
	}
	*offset = 0;
	return false;
}

static void iovec_one(const struct field *s, const struct field *d, enum kind source_kind,
		      const char *kind)
{
	static unsigned char before[4096], after[4096];
	struct hf_iovec to[RANGES], from[RANGES];
	size_t to_count = any(RANGES + 1), from_count = any(RANGES + 1);
	size_t room = make_list(d, to, to_count), all = make_list(s, from, from_count), done, left;
	size_t total = all < room ? all : room;
	struct hf_iovec_stop stop = { 1, 1, 1, 1, 1 }, expected;

	for (size_t i = 0; i < sizeof(before); i++)
		(s->edge - 4096)[i] = (unsigned char)(i * 7 + i / 256 + 1);
	memset(d->edge - 4096, FILL, 4096);
	memcpy(after, d->edge - 4096, 4096);
	for (done = 0; done < total; done++) {
		size_t a, b, c, e;

		(void)place_of(to, to_count, done, &a, &b);
		(void)place_of(from, from_count, done, &c, &e);
		unsigned char *p = (unsigned char *)to[a].base + b;
		unsigned char *q = (unsigned char *)from[c].base + e;

		if (!can_write(d, p) || !can_read(s, source_kind, q))
			break;
		/* Its ranges may overlap one another: what is behind the edge is in the bad page. */
		after[p - (d->edge - 4096)] = *q;
	}
	expected.done = done;
	(void)place_of(to, to_count, done, &expected.dst, &expected.dst_offset);
	(void)place_of(from, from_count, done, &expected.src, &expected.src_offset);
	left = (size_t)hf_copy_iovec_nofault(to, to_count, from, from_count, &stop);
	cases++;
	if (left != total - done)
		complain("default", kind, "%zu bytes: wrong count: %zu left, not %zu", total, left,
			 total - done);
	else if (memcmp(&stop, &expected, sizeof(stop)))
		complain("default", kind,
			 "%zu bytes: wrong place: %zu: %zu+%zu, %zu+%zu, not %zu: "
			 "%zu+%zu, %zu+%zu",
			 total, stop.done, stop.dst, stop.dst_offset, stop.src, stop.src_offset,
			 done, expected.dst, expected.dst_offset, expected.src,
			 expected.src_offset);
	else if (memcmp(d->edge - 4096, after, 4096))
		complain("default", kind, "%zu bytes: not copied", total);
}

static void sweep_iovec(unsigned int step)
{
	for (int k = 0; k < KINDS; k++) {
		struct field f = make_field((enum kind)k), g = make_field(UNMAPPED);

		for (unsigned int i = 0; i < 40000; i += step) {
			if (k != READ_ONLY)
				iovec_one(&f, &g, (enum kind)k, "source");
			iovec_one(&g, &f, UNMAPPED, "destination");
		}
		drop_field(&g);
		drop_field(&f);
	}
}

/* ---- all of them -------------------------------------------------------------------------- */

/* The functions that the header calls; each is swept by itself too. */
static size_t default_fill(void *dst, uint8_t value, size_t len)
{
	return hf_fill_nofault(dst, value, len);
}

static size_t default_move(void *dst, const void *src, size_t len)
{
	return hf_move_nofault(dst, src, len);
}

static struct hf_memory_result default_compare(const void *a, const void *b, size_t len)
{
	struct hf_memory_result r = { 0, 0 };

	r.result = hf_compare_nofault(a, b, len, &r.at);
	return r;
}

static struct hf_memory_result default_find(const void *p, uint8_t byte, size_t len)
{
	struct hf_memory_result r = { 0, 0 };

	r.result = byte ? hf_find_nofault(p, byte, len, &r.at)
			: hf_length_nofault((const char *)p, len, &r.at);
	return r;
}

static const struct hf_variant_memory by_header = { "default",       default_fill, default_move,
						    default_compare, default_find, NULL };

static const struct {
	const char *name;
	void (*sweep)(const struct hf_variant_memory *m, unsigned int step);
} families[] = {
	{ "fill", sweep_fill },
	{ "move", sweep_move },
	{ "compare", sweep_compare },
	{ "find", sweep_find },
};

enum { FAMILIES = sizeof(families) / sizeof(families[0]) };

static int sweep_named(const char *family, const char *name, unsigned int step)
{
	size_t count;
	const struct hf_variant_memory *m = hf_variant_memories(&count);
	bool is_words = !strcmp(family, "words"), is_iovec = !strcmp(family, "iovec");

	ktap_begin(1);
	if ((is_words || is_iovec) && !strcmp(name, "default")) {
		(is_words ? sweep_words : sweep_iovec)(step);
		report(family, name);
		return ktap_end();
	}
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < FAMILIES; j++) {
			if (strcmp(families[j].name, family) || strcmp(m[i].name, name))
				continue;
			if (m[i].is_legal()) {
				families[j].sweep(&m[i], step);
				report(family, name);
			} else {
				ktap_skip("this processor can't run it", "%s %s", family, name);
			}
			return ktap_end();
		}
	}
	fprintf(stderr, "sweep_memory: there is no %s %s\n", family, name);
	return 2;
}

static void sweep_limits(const char *way, unsigned int step)
{
	size_t count;
	const struct hf_variant_memory *m = hf_variant_memories(&count);
	char name[64];

	/* The first has words only. */
	for (size_t i = 1; i < count; i++) {
		if (!m[i].is_legal())
			continue;
		snprintf(name, sizeof(name), "%s, %s", m[i].name, way);
		sweep_fill(&m[i], step);
		report("fill", name);
	}
}

int main(int argc, char **argv)
{
	unsigned int step = argc > 1 ? (unsigned int)atoi(argv[1]) : 1, legal = 0;
	size_t count;
	const struct hf_variant_memory *m = hf_variant_memories(&count);

	if (step < 1 || argc == 3 || argc > 4) {
		fprintf(stderr, "usage: sweep_memory [STEP [FAMILY NAME]]\n");
		return 2;
	}
	start_field();
	if (argc == 4)
		return sweep_named(argv[2], argv[3], step);
	for (size_t i = 0; i < count; i++)
		legal += m[i].is_legal();
	ktap_begin(FAMILIES * (legal + 1) + 2 * (legal - 1) + 2);
	for (size_t i = 0; i < count; i++) {
		if (!m[i].is_legal()) {
			printf("# %s can't run on this processor\n", m[i].name);
			continue;
		}
		for (size_t j = 0; j < FAMILIES; j++) {
			families[j].sweep(&m[i], step);
			report(families[j].name, m[i].name);
		}
	}
	/* Whichever they are, they were swept in all sizes above: here in fewer, through the header. */
	for (size_t j = 0; j < FAMILIES; j++) {
		families[j].sweep(&by_header, 7 * step);
		report(families[j].name, "default");
	}
	sweep_words(step);
	report("words", "default");
	sweep_iovec(step);
	report("iovec", "default");
	lower_limits(&hf_detail_clear_limits, UINT64_MAX, 300);
	sweep_limits("streaming", 5 * step);
	lower_limits(&hf_detail_clear_limits, 300, 20000);
	sweep_limits("repeated", 5 * step);
	return ktap_end();
}
