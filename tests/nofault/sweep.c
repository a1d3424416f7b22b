/* SPDX-License-Identifier: MIT */
/*
 * sweep - compares the memory functions with byte loops: every implementation, every size up to 300
 * and some larger ones, every position of the fault around a page's edge, every kind of faulting
 * page; and random sizes and positions.
 *
 *   sweep [STEP [FAMILY NAME]]
 *
 *       STEP            every STEP-th size only (sanitizers and emulators are slow); default 1
 *       FAMILY NAME     only this: clear, copy, fill, move, compare or find, and an implementation
 *                       (lab/variants/nofault/implementations.h) or default; or words or iovec, and
 *                       default. It ends at the 20th wrong case
 *
 * A range of `size` bytes starts `before` bytes ahead of the edge (or inside the bad page; field.h
 * draws it). A function must process exactly as many bytes as a byte loop would, all of them
 * correctly, and must not touch any other byte: neither before the range, nor in the destination
 * after the last processed byte, nor in the good page after the bad one.
 */
#define _GNU_SOURCE
#include "../../lab/variants/nofault/implementations.h"
#include "../../src/nofault/memory.h"
#include "../ktap.h"
#include "field.h"

#include "holdfast/internal/cpu.h"

/* One function of one implementation. */
struct operation {
	const char *family, *name;
	bool (*is_legal)(void); /* on this processor? NULL: yes */
	void (*sweep)(const struct operation *v, unsigned int step);
	unsigned int every;  /* factor on STEP: the default is swept under its own name too */
	unsigned int others; /* further factor, on pages that are not `unmapped` */
	bool has_limits;     /* it uses another method from some size on */
	hf_clear_function_t clear;
	hf_fill_function_t fill;
	hf_copy_function_t copy; /* or move */
	hf_compare_function_t compare;
	hf_find_function_t find;
};

static bool alone; /* one function is swept */

static unsigned int step_of(const struct operation *v, int kind, unsigned int step)
{
	return kind == UNMAPPED ? step : v->others * step;
}

/* Counts a case; `what` is wrong with it, or NULL. */
__attribute__((format(printf, 4, 5))) static void judge(const struct operation *v, const char *kind,
							const char *what, const char *format, ...)
{
	va_list arguments;

	cases++;
	if (!what || ++wrong > 20)
		return;
	printf("# %s, %s, ", v->name, kind);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf(": %s\n", what);
	if (alone && wrong == 20) {
		report(v->family, v->name);
		exit(ktap_end());
	}
}

/* Pseudo-random, the same in each run. */
static uint32_t any(uint32_t below)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* In addition, this many random ranges on each kind of page. */
enum { ANY_RANGES = 3000, ANY_SIZE = 7800 }; /* none ends behind the field */

static size_t any_size(void)
{
	return any(any(2) ? ANY_SIZE : 80); /* below 80 most implementations switch methods */
}

/* A random start for that size; most of these ranges cross the edge. */
static unsigned char *any_start(const struct field *f, size_t size)
{
	return f->edge - (any(4) ? any((uint32_t)size + 3) : size + any(300));
}

static const size_t large[] = {
	511,  1024, 1500,      2047,      2048,  4095,  4096,        4097,
	4200, 8191, 8192 + 33, 12288 + 5, 20000, 65536, 65536 + 129, 100001
};

enum { LARGE = sizeof(large) / sizeof(large[0]) };

static unsigned char pattern[1 << 17];

/* Is FILL intact before `start`, after the last processed byte, and after the bad page? */
static bool is_untouched(const struct field *f, const unsigned char *start, size_t done)
{
	if (start < f->edge &&
	    (!is_all(start - MARGIN, MARGIN, FILL) ||
	     !is_all(start + done, least((size_t)(f->edge - start) - done, MARGIN), FILL)))
		return false;
	return is_all(f->behind, least(2 * MOST, page), FILL);
}

/* Sets FILL again where a range of that size may have changed it. */
static void refill(const struct field *f, unsigned char *start, size_t size)
{
	if (start < f->edge)
		memset(start, FILL, least((size_t)(f->edge - start), size + MARGIN));
	memset(f->behind, FILL, page);
}

/* ---- clear and fill ------------------------------------------------------------------------- */

static void set_one(const struct operation *v, const struct field *f, enum kind kind,
		    unsigned char *start, size_t size)
{
	uint8_t other = (uint8_t)(size * 37 + 0x81), value = v->clear || other == FILL ? 0 : other;
	size_t can = good_bytes(f, start, size);
	size_t left = v->clear ? v->clear(start, size) : v->fill(start, value, size);
	const char *what = NULL;

	if (left != size - can)
		what = "wrong count";
	else if (!is_all(start, can, value))
		what = "wrong bytes";
	else if (!is_untouched(f, start, can))
		what = "touched what it must not";
	else if (left && !names(start + can))
		what = "wrong address";
	judge(v, kind_names[kind], what, "size %zu, start %ld before the edge, %zu left, not %zu",
	      size, (long)(f->edge - start), left, size - can);
	refill(f, start, size);
}

/*
 * qemu-user 7.2 fails an assertion when DC ZVA faults. So with HF_SWEEP_EMULATED, sizes that use it are swept
 * without faults.
 */
enum { MACHINE_FAILS_FROM = 256 };

static bool machine_fails(const struct operation *v)
{
	return v->clear && emulated && hf_detail_cpu_zva_size() &&
	       (strcmp(v->name, "dc_zva") == 0 || strcmp(v->name, "default") == 0);
}

static void sweep_set(const struct operation *v, unsigned int step)
{
	bool fails = machine_fails(v);

	for (int k = 0; k < KINDS; k++) {
		enum kind kind = (enum kind)k;
		struct field f = make_field(kind);

		if (fails)
			printf("SKIPPED clear %s, %s, faults in sizes from %d on: the emulator "
			       "itself fails\n",
			       v->name, kind_names[kind], MACHINE_FAILS_FROM);
		for (size_t size = 0; size <= MOST; size = size_after(size, step_of(v, k, step))) {
			bool whole = fails && size >= MACHINE_FAILS_FROM;

			for (size_t before = whole ? size : 0; before <= size + 2; before++)
				set_one(v, &f, kind, f.edge - before, size);
			if (whole)
				continue;
			/* From the bad page into the good one behind it. */
			for (size_t into = 1; into <= size && into <= 130; into += 3)
				set_one(v, &f, kind, f.behind - into, size);
		}
		for (size_t i = 0; i < LARGE * BEHIND * 2; i++) {
			size_t len = large[i / 2 / BEHIND], more = i % 2;
			unsigned char *start = f.edge - len;

			if (fails)
				set_one(v, &f, kind, start - more * 7, len);
			else
				set_one(v, &f, kind, start + behind_edge[i / 2 % BEHIND],
					len + more * (page + 100));
		}
		for (unsigned int i = 0; !fails && i < ANY_RANGES; i += step) {
			size_t size = any_size();

			set_one(v, &f, kind, any_start(&f, size), size);
		}
		drop_field(&f);
	}
}

/* ---- copy ----------------------------------------------------------------------------------- */

enum { AROUND = 256, OTHER_FILL = 0xaa };

/* Fills the readable bytes on either side of a source, more than the widest access. */
static void set_around(const struct field *s, unsigned char *src, size_t readable,
		       unsigned char value)
{
	unsigned char *low = src - s->good < AROUND ? s->good : src - AROUND;
	unsigned char *end = src + readable;

	if (src >= s->edge)
		return;
	memset(low, value, (size_t)(src - low));
	if (end < s->edge)
		memset(end, value, least((size_t)(s->edge - end), AROUND));
}

/* Copies from `src` in field s to `dst` in field d. */
static void copy_one(const struct operation *v, const struct field *s, const struct field *d,
		     const char *kind, unsigned char *src, unsigned char *dst, size_t size)
{
	size_t readable = good_bytes(s, src, size), writable = good_bytes(d, dst, size), left;
	size_t can = least(readable, writable);
	const char *what = NULL;

	/*
	 * Source and destination have different surroundings, so that copying too much is detected.
	 */
	set_around(s, src, readable, OTHER_FILL);
	if (src < s->edge)
		memcpy(src, pattern + size % 61, readable);
	left = v->copy(dst, src, size);
	if (left != size - can)
		what = "wrong count";
	else if (memcmp(can ? dst : d->good, can ? pattern + size % 61 : d->good, can))
		what = "wrong bytes";
	else if (!is_untouched(d, dst, can))
		what = "touched what it must not";
	else if (left && !(readable <= writable && names(src + can)) &&
		 !(writable <= readable && names(dst + can)))
		what = "wrong address";
	judge(v, kind, what, "size %zu, %zu readable, %zu left, not %zu", size, readable, left,
	      size - can);
	refill(d, dst, size);
	if (src < s->edge)
		memset(src, FILL, readable);
	set_around(s, src, readable, FILL);
}

static void sweep_copy(const struct operation *v, unsigned int step)
{
	for (int k = 0; k < KINDS; k++) {
		struct field bad = make_field((enum kind)k), other = make_field(UNMAPPED);
		char source[64], destination[64], both[64];

		snprintf(source, sizeof(source), "source %s", kind_names[k]);
		snprintf(destination, sizeof(destination), "destination %s", kind_names[k]);
		snprintf(both, sizeof(both), "destination %s, source unmapped", kind_names[k]);
		for (size_t size = 0; size <= MOST; size = size_after(size, step_of(v, k, step))) {
			for (size_t before = 0; before <= size + 2; before++) {
				size_t away = 2048 + (size * 7 + before) % 97;
				size_t near = size + 1 - (size * 5 + before * 3) % (size + 2);

				if (k != READ_ONLY)
					copy_one(v, &bad, &other, source, bad.edge - before,
						 other.edge - away, size);
				copy_one(v, &other, &bad, destination, other.edge - away,
					 bad.edge - before, size);
				if ((size + before) % 3 == 0)
					copy_one(v, &other, &bad, both, other.edge - near,
						 bad.edge - before, size);
			}
			for (size_t into = 1; into <= size && into <= 130; into += 3)
				copy_one(v, &other, &bad, destination, other.edge - 2048,
					 bad.behind - into, size);
		}
		for (size_t i = 0; i < LARGE; i++) {
			for (size_t j = 0; j < BEHIND; j++) {
				size_t before = large[i] - behind_edge[j];
				unsigned char *away = other.good + 2 * MARGIN + j * 3;

				if (k != READ_ONLY)
					copy_one(v, &bad, &other, source, bad.edge - before, away,
						 large[i]);
				copy_one(v, &other, &bad, destination, away, bad.edge - before,
					 large[i]);
			}
		}
		for (unsigned int i = 0; i < ANY_RANGES; i += step) {
			size_t size = any_size();
			unsigned char *at = any_start(&bad, size), *far = any_start(&other, size);

			if (k != READ_ONLY)
				copy_one(v, &bad, &other, source, at, far, size);
			copy_one(v, &other, &bad, both, far, at, size);
		}
		drop_field(&bad);
		drop_field(&other);
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

/*
 * Copies @image to the accessible parts of [low, high) if @set; else returns whether they equal it.
 */
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

static void move_one(const struct operation *v, const struct field *f, enum kind kind,
		     unsigned char *dst, unsigned char *src, size_t size)
{
	static unsigned char image[1 << 17];
	unsigned char *low = (dst < src ? dst : src) - MARGIN;
	unsigned char *high = (dst < src ? src : dst) + size + MARGIN;
	bool down = hf_move_is_down(dst, src, size);
	size_t done, left, salt = any(251);
	const char *what = NULL;

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
	left = v->copy(dst, src, size);
	if (left != size - done)
		what = "wrong count";
	else if (left && !names(src + (down ? left - 1 : done)) &&
		 !names(dst + (down ? left - 1 : done)))
		what = "wrong address";
	else if (!span(f, low, high, image, false))
		what = "wrong bytes";
	judge(v, kind_names[kind], what,
	      "size %zu, to %ld before the edge, from %ld, %zu left, not %zu", size,
	      (long)(f->edge - dst), (long)(f->edge - src), left, size - done);
}

static void sweep_move(const struct operation *v, unsigned int step)
{
	static const size_t distances[] = { 0,  1,  2,  3,  4,  7,  8,  9,   15,  16,  17, 24,
					    31, 32, 33, 48, 63, 64, 65, 100, 127, 128, 200 };
	enum { DISTANCES = sizeof(distances) / sizeof(distances[0]) };

	for (int k = 0; k < KINDS; k++) {
		enum kind kind = (enum kind)k;
		struct field f = make_field(kind);

		for (size_t size = 0; size <= MOST; size = size_after(size, step_of(v, k, step))) {
			for (size_t before = 0; before <= size + 202; before++) {
				size_t d = distances[any(DISTANCES)];

				/* Only what overlaps. */
				d = d < size ? d : size ? d % size : 0;
				move_one(v, &f, kind, f.edge - before, f.edge - before + d, size);
				move_one(v, &f, kind, f.edge - before + d, f.edge - before, size);
			}
			for (size_t into = 1; into <= size && into <= 130; into += 3) {
				size_t d = size ? distances[any(DISTANCES)] % size : 0;

				move_one(v, &f, kind, f.behind - into, f.behind - into + d, size);
				move_one(v, &f, kind, f.behind - into + d, f.behind - into, size);
			}
		}
		for (size_t i = 0; i < LARGE; i++) {
			for (size_t j = 0; j < BEHIND; j++) {
				unsigned char *at = f.edge - large[i] - any(64) + behind_edge[j];
				size_t d = distances[any(DISTANCES)];

				move_one(v, &f, kind, at, at + d, large[i]);
				move_one(v, &f, kind, at + d, at, large[i]);
				/* Across the bad page. */
				at = f.behind + behind_edge[j] + 300 - large[i];
				if (large[i] > page + 400) {
					move_one(v, &f, kind, at, at + d, large[i]);
					move_one(v, &f, kind, at + d, at, large[i]);
				}
			}
		}
		for (unsigned int i = 0; i < ANY_RANGES; i += step) {
			size_t size = any_size(), d = any(256);
			unsigned char *at = any_start(&f, size);

			move_one(v, &f, kind, at, at + d, size);
			move_one(v, &f, kind, at + d, at, size);
		}
		drop_field(&f);
	}
}

/* ---- find --------------------------------------------------------------------------------- */

enum { NONE = -1 };

static void find_one(const struct operation *v, const struct field *f, enum kind kind,
		     unsigned char *start, size_t size, long hit, uint8_t wanted)
{
	size_t can = kind == READ_ONLY ? size : good_bytes(f, start, size), at;
	struct hf_memory_result r;
	long expected;

	/* Bytes that a faulty word-wise search would report as a hit. */
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
	r = v->find(start, wanted, size);
	judge(v, kind_names[kind],
	      r.result != expected || r.at != at || (expected == -HF_EFAULT && !names(start + at))
		      ? "wrong result"
		      : NULL,
	      "size %zu, start %ld before the edge, hit at %ld, %ld at %zu, not %ld at %zu", size,
	      (long)(f->edge - start), hit, r.result, r.at, expected, at);
}

static void sweep_find(const struct operation *v, unsigned int step)
{
	static const uint8_t bytes[] = { 0x00, 0x80, 0xff, 0x01, 0x7f, 0x41 };

	for (int k = 0; k < KINDS; k++) {
		enum kind kind = (enum kind)k;
		struct field f = make_field(kind);

		if (kind == READ_ONLY)
			continue; /* it can be read */
		for (size_t size = 0; size <= MOST; size = size_after(size, step_of(v, k, step))) {
			for (size_t before = 0; before <= size + 2; before++) {
				unsigned char *start = f.edge - before;
				size_t can = before < size ? before : size;

				find_one(v, &f, kind, start, size, NONE, bytes[any(6)]);
				if (!can)
					continue;
				find_one(v, &f, kind, start, size, 0, bytes[any(6)]);
				find_one(v, &f, kind, start, size, (long)can - 1, bytes[any(6)]);
				find_one(v, &f, kind, start, size, (long)any((uint32_t)can),
					 bytes[any(6)]);
			}
			/* No fault: a hit at each place, at some alignments. */
			for (long hit = NONE; k == 0 && hit < (long)size; hit++)
				find_one(v, &f, kind, f.edge - 2048 + any(64), size, hit,
					 bytes[any(6)]);
		}
		for (size_t i = 0; i < LARGE; i++) {
			for (size_t j = 0; j < BEHIND; j++) {
				unsigned char *start = f.edge - large[i] + behind_edge[j];
				size_t can = (size_t)(f.edge - start);

				find_one(v, &f, kind, start, large[i], NONE, bytes[any(6)]);
				find_one(v, &f, kind, start, large[i], (long)can - 1,
					 bytes[any(6)]);
				find_one(v, &f, kind, start, large[i], (long)any((uint32_t)can),
					 bytes[any(6)]);
			}
		}
		for (unsigned int i = 0; i < ANY_RANGES; i += step) {
			size_t size = any_size();

			find_one(v, &f, kind, any_start(&f, size), size,
				 (long)any((uint32_t)size + 1), bytes[any(6)]);
		}
		/* The largest length: up to the end of the address space. */
		find_one(v, &f, kind, f.edge - 77, SIZE_MAX / 2, 76, 0);
		drop_field(&f);
	}
}

/* ---- compare ------------------------------------------------------------------------------ */

/* They are equal up to `differ` (NONE: everywhere), where a's byte is less if `less`. */
static void compare_one(const struct operation *v, const struct field *f, const struct field *g,
			const char *kind, unsigned char *a, unsigned char *b, size_t size,
			long differ, bool less)
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
		/*
		 * Comparing signed bytes, or the bytes after this one, would give the opposite
		 * result.
		 */
		a[differ] = less ? 0x7f : 0x80;
		b[differ] = less ? 0x80 : 0x7f;
		if ((size_t)differ + 1 < can)
			a[differ + 1] = (unsigned char)(b[differ + 1] + (less ? 1 : -1));
		at = (size_t)differ;
		expected = less ? -1 : 1;
	}
	r = v->compare(a, b, size);
	judge(v, kind,
	      r.result != expected || r.at != at ||
			      (expected == -HF_EFAULT && !names(a + at) && !names(b + at))
		      ? "wrong result"
		      : NULL,
	      "size %zu, %zu and %zu before the fault, different at %ld, %ld at %zu, not %ld at "
	      "%zu",
	      size, can_a, can_b, differ, r.result, r.at, expected, at);
}

static void sweep_compare(const struct operation *v, unsigned int step)
{
	for (int k = 0; k < KINDS; k++) {
		struct field f = make_field((enum kind)k), g = make_field(UNMAPPED);
		const char *kind = kind_names[k];

		if (k == READ_ONLY) {
			drop_field(&g);
			drop_field(&f);
			continue;
		}
		for (size_t size = 0; size <= MOST; size = size_after(size, step_of(v, k, step))) {
			for (size_t before = 0; before <= size + 2; before++) {
				unsigned char *a = f.edge - before;
				unsigned char *b = g.edge - 2048 + any(64);
				size_t can = before < size ? before : size;

				compare_one(v, &f, &g, kind, a, b, size, NONE, false);
				compare_one(v, &g, &f, kind, b, a, size, NONE, false);
				if (!can)
					continue;
				compare_one(v, &f, &g, kind, a, b, size, (long)can - 1, true);
				compare_one(v, &g, &f, kind, b, a, size, (long)any((uint32_t)can),
					    any(2));
				/* Both sides fault. */
				compare_one(v, &f, &g, kind, a, g.edge - any((uint32_t)size + 2),
					    size, NONE, false);
			}
			for (long differ = NONE; k == 0 && differ < (long)size; differ++)
				compare_one(v, &f, &g, kind, f.edge - 2048 + any(64),
					    g.edge - 2048 + any(64), size, differ, any(2));
		}
		for (size_t i = 0; i < LARGE; i++) {
			for (size_t j = 0; j < BEHIND; j++) {
				unsigned char *a = f.edge - large[i] + behind_edge[j];
				unsigned char *b = g.good + 2 * MARGIN + j * 3;
				size_t can = (size_t)(f.edge - a);

				compare_one(v, &f, &g, kind, a, b, large[i], NONE, false);
				compare_one(v, &g, &f, kind, b, a, large[i], (long)can - 1, true);
				compare_one(v, &g, &f, kind, b, a, large[i],
					    (long)any((uint32_t)can), any(2));
			}
		}
		for (unsigned int i = 0; i < ANY_RANGES; i += step) {
			size_t size = any_size();

			compare_one(v, &f, &g, kind, any_start(&f, size), any_start(&g, size), size,
				    (long)any((uint32_t)size + 1), any(2));
		}
		drop_field(&g);
		drop_field(&f);
	}
}

/* ---- whole words -------------------------------------------------------------------------- */

static void words_one(const struct operation *v, const struct field *s, const struct field *d,
		      const char *kind, unsigned char *src, unsigned char *dst, size_t words)
{
	size_t readable = good_bytes(s, src, words * 8), writable = good_bytes(d, dst, words * 8);
	size_t can = least(readable, writable), left;
	const char *what = NULL;

	for (size_t i = 0; i < readable && src < s->edge; i++)
		src[i] = (unsigned char)(i * 7 + words);
	left = hf_copy_nofault_words(dst, src, words);
	if (left != words - can / 8)
		what = "wrong count";
	else if (dst < d->edge && memcmp(dst, src, can))
		what = "wrong bytes";
	else if (!is_untouched(d, dst, can))
		what = "touched what it must not";
	judge(v, kind, what, "%zu words, %zu bytes before the fault, %zu left", words, can, left);
	if (dst < d->edge)
		memset(dst, FILL, can);
	if (src < s->edge)
		memset(src, FILL, readable);
}

static void sweep_words(const struct operation *v, unsigned int step)
{
	for (int k = 0; k < KINDS; k++) {
		struct field f = make_field((enum kind)k), g = make_field(UNMAPPED);

		for (size_t words = 0; words <= 70; words += step) {
			for (size_t before = 0; before <= words + 1; before++) {
				if (k != READ_ONLY)
					words_one(v, &f, &g, "source", f.edge - 8 * before,
						  g.edge - 2048, words);
				words_one(v, &g, &f, "destination", g.edge - 2048,
					  f.edge - 8 * before, words);
			}
		}
		judge(v, kind_names[k],
		      hf_copy_nofault_words(f.edge - 2047, g.edge - 2048, 3) != 3 ||
				      hf_copy_nofault_words(f.edge - 2048, g.edge - 2044, 3) != 3 ||
				      !is_all(f.edge - 2048, 64, FILL)
			      ? "wrong count"
			      : NULL,
		      "not aligned");
		drop_field(&g);
		drop_field(&f);
	}
}

/* ---- lists of ranges ---------------------------------------------------------------------- */

enum { RANGES = 5 };

/* Makes a list of separate ranges, of which at least one reaches the edge. Returns its number of bytes. */
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

/* Finds the range that contains byte @at of a list, and the offset in it; false = past the end. */
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

static void iovec_one(const struct operation *v, const struct field *s, const struct field *d,
		      enum kind source_kind, const char *kind)
{
	static unsigned char before[4096], after[4096];
	struct hf_iovec to[RANGES], from[RANGES];
	size_t to_count = any(RANGES + 1), from_count = any(RANGES + 1);
	size_t room = make_list(d, to, to_count), all = make_list(s, from, from_count), done, left;
	size_t total = all < room ? all : room;
	struct hf_iovec_stop stop = { 1, 1, 1, 1, 1 }, expected;
	const char *what = NULL;

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
	if (left != total - done)
		what = "wrong count";
	else if (memcmp(&stop, &expected, sizeof(stop)))
		what = "wrong place";
	else if (memcmp(d->edge - 4096, after, 4096))
		what = "wrong bytes";
	judge(v, kind, what,
	      "%zu bytes, %zu left, stopped at %zu: %zu+%zu, %zu+%zu, not %zu: %zu+%zu, %zu+%zu",
	      total, left, stop.done, stop.dst, stop.dst_offset, stop.src, stop.src_offset, done,
	      expected.dst, expected.dst_offset, expected.src, expected.src_offset);
}

static void sweep_iovec(const struct operation *v, unsigned int step)
{
	for (int k = 0; k < KINDS; k++) {
		struct field f = make_field((enum kind)k), g = make_field(UNMAPPED);

		for (unsigned int i = 0; i < 40000; i += step) {
			if (k != READ_ONLY)
				iovec_one(v, &f, &g, (enum kind)k, "source");
			iovec_one(v, &g, &f, UNMAPPED, "destination");
		}
		drop_field(&g);
		drop_field(&f);
	}
}

/* ---- all of them -------------------------------------------------------------------------- */

/* The header's functions, which call the default implementation; that is also swept under its own name. */
static size_t default_clear(void *dst, size_t len)
{
	return hf_clear_nofault(dst, len);
}

static size_t default_copy(void *dst, const void *src, size_t len)
{
	return hf_copy_nofault(dst, src, len);
}

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

static struct operation operations[80];
static unsigned int count;

static void add(struct operation operation)
{
	if (count == sizeof(operations) / sizeof(operations[0]))
		abort();
	operations[count++] = operation;
}

static void list_all(void)
{
	size_t n;
	const struct hf_variant_clear *clear = hf_variant_clears(&n);

	for (size_t i = 0; i < n; i++)
		add((struct operation){ "clear", clear[i].name, clear[i].is_legal, sweep_set, 1, 1,
					!strncmp(clear[i].name, "hand_", 5),
					.clear = clear[i].function });
	const struct hf_variant_copy *copy = hf_variant_copies(&n);

	for (size_t i = 0; i < n; i++)
		add((struct operation){ "copy", copy[i].name, copy[i].is_legal, sweep_copy, 1, 1,
					!strncmp(copy[i].name, "hand_", 5),
					.copy = copy[i].function });
	const struct hf_variant_memory *m = hf_variant_memories(&n);

	for (size_t i = 0; i < n; i++, m++) {
		/* The first has words only. */
		add((struct operation){ "fill", m->name, m->is_legal, sweep_set, 1, 3, i > 0,
					.fill = m->fill });
		add((struct operation){ "move", m->name, m->is_legal, sweep_move, 1, 3,
					.copy = m->move });
		add((struct operation){ "compare", m->name, m->is_legal, sweep_compare, 1, 3,
					.compare = m->compare });
		add((struct operation){ "find", m->name, m->is_legal, sweep_find, 1, 3,
					.find = m->find });
	}
	add((struct operation){ "clear", "default", NULL, sweep_set, 5, 1,
				.clear = default_clear });
	add((struct operation){ "copy", "default", NULL, sweep_copy, 5, 1, .copy = default_copy });
	add((struct operation){ "fill", "default", NULL, sweep_set, 7, 3, .fill = default_fill });
	add((struct operation){ "move", "default", NULL, sweep_move, 7, 3, .copy = default_move });
	add((struct operation){ "compare", "default", NULL, sweep_compare, 7, 3,
				.compare = default_compare });
	add((struct operation){ "find", "default", NULL, sweep_find, 7, 3, .find = default_find });
	add((struct operation){ "words", "default", NULL, sweep_words, 1, .others = 1 });
	add((struct operation){ "iovec", "default", NULL, sweep_iovec, 1, .others = 1 });
}

static bool is_legal(const struct operation *v)
{
	return !v->is_legal || v->is_legal();
}

/* Sweeps the implementations that have size limits again, with limits other than this machine's. */
static void sweep_limits(const char *way, uint64_t repeat_from, uint64_t stream_from,
			 unsigned int step)
{
	lower_limits(&hf_detail_clear_limits, repeat_from, stream_from);
	lower_limits(&hf_detail_copy_limits, repeat_from, stream_from);
	for (unsigned int i = 0; i < count; i++) {
		struct operation v = operations[i];
		char name[64];

		if (!v.has_limits || !is_legal(&v))
			continue;
		snprintf(name, sizeof(name), "%s, %s", v.name, way);
		v.name = name;
		v.sweep(&v, 5 * step);
		report(v.family, name);
	}
}

int main(int argc, char **argv)
{
	unsigned int step = argc > 1 ? (unsigned int)atoi(argv[1]) : 1, planned = 0;

	alone = argc == 4;
	if (step < 1 || argc == 3 || argc > 4) {
		fprintf(stderr, "usage: sweep [STEP [FAMILY NAME]]\n");
		return 2;
	}
	start_field();
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (unsigned char)(i * 7 + i / 256 + 1);
	list_all();
	for (unsigned int i = 0; i < count; i++)
		planned += is_legal(&operations[i]) ? operations[i].has_limits ? 3 : 1 : 0;
	ktap_begin(alone ? 1 : planned);
	for (unsigned int i = 0; i < count; i++) {
		const struct operation *v = &operations[i];

		if (alone && (strcmp(argv[2], v->family) || strcmp(argv[3], v->name)))
			continue;
		if (is_legal(v)) {
			v->sweep(v, v->every * step);
			report(v->family, v->name);
		} else if (alone) {
			ktap_skip("this processor can't run it", "%s %s", v->family, v->name);
		} else {
			printf("# %s %s can't run on this processor\n", v->family, v->name);
		}
		if (alone)
			return ktap_end();
	}
	if (alone) {
		fprintf(stderr, "sweep: there is no %s %s\n", argv[2], argv[3]);
		return 2;
	}
	sweep_limits("streaming", UINT64_MAX, 300, step);
	sweep_limits("repeated", 300, 20000, step);
	return ktap_end();
}
