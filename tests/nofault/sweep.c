/* SPDX-License-Identifier: MIT */
/*
 * sweep - compares the memory functions with byte loops: every implementation, every size up to 300
 * and some larger ones, every position of the fault around a page's edge, every kind of faulting
 * page; and random sizes and positions.
 *
 *   sweep [STEP [FAMILY NAME]]
 *
 *       STEP            every STEP-th size only (sanitizers and emulators are slow); default 1.
 *                       Above 40 also every third place only, which finds the same mutants, above
 *                       100 every seventh
 *       FAMILY NAME     only this: clear, copy, fill, move, compare or find, and an implementation
 *                       (lab/variants/nofault/implementations.h) or default; or words or iovec, and
 *                       default. Ends at the 20th wrong case
 *
 * Each range lies near a bad page; all accessible bytes are FILL:
 *
 *                       edge                   behind
 *   | good   | good      | bad page             | good   |
 *
 * A function must process exactly as many bytes as a byte loop would, all of them correctly, and
 * must not touch any other byte: neither before the range, nor in the destination after the last
 * processed byte, nor in the good page behind the bad one.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../lab/variants/nofault/implementations.h"
#include "../../src/nofault/memory.h"
#include "../../src/nofault/implementation.h"
#include "../ktap.h"

#include "../../src/cpu/cpu.h"

/* ---- fields ------------------------------------------------------------------------------- */

enum kind { UNMAPPED, NO_ACCESS, READ_ONLY, PAST_END, KINDS };
static const char *const kind_names[] = { "unmapped", "PROT_NONE", "read-only", "past the end" };

enum { FILL = 0x55, GOOD_PAGES = 30 };
enum { SIZES = 300, MOST = 513, MARGIN = 80 };

static size_t page;                /* bytes of one */
static bool emulated;              /* HF_SWEEP_EMULATED */
static size_t places = 1;          /* every how many places are tested */
static unsigned long cases, wrong; /* since the last report() */

static void die(const char *what)
{
	perror(what);
	exit(2);
}

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

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool can_read(const struct field *f, enum kind kind, const unsigned char *p)
{
	return p < f->edge || p >= f->behind || kind == READ_ONLY;
}

static bool can_write(const struct field *f, const unsigned char *p)
{
	return p < f->edge || p >= f->behind;
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
 * Does hf_nofault_last() name the first byte that failed? Emulators don't always have it right:
 * there it is not compared.
 */
static bool names(const unsigned char *byte)
{
	return emulated || hf_nofault_last().address == byte;
}

/* Is FILL intact before `start`, after the last processed byte, and behind the bad page? */
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

/* ---- ranges ------------------------------------------------------------------------------- */

/* A function of one implementation, and the fields that it is swept in. */
struct operation {
	const char *family, *name;
	bool (*is_legal)(void); /* on this processor? NULL: yes */
	/* Tests one range, which begins in or near `bad`; or, if `whole`, everything. */
	void (*range)(const struct operation *v, unsigned char *start, size_t size);
	void (*whole)(const struct operation *v, unsigned int step);
	unsigned int every;  /* factor on STEP: the default is swept under its own name too */
	unsigned int others; /* further factor, on pages that are not `unmapped` */
	bool reads_only;     /* so a read-only page does not fault */
	bool has_limits;     /* it uses another method from some size on */
	hf_clear_function_t clear;
	hf_fill_function_t fill;
	hf_copy_function_t copy; /* or move */
	hf_compare_function_t compare;
	hf_find_function_t find;
	enum kind kind;
	struct field bad, other; /* `other`: for the other range; unmapped */
};

static bool alone; /* only one function is swept */

static void report(const char *family, const char *name)
{
	ktap_result(wrong == 0, "%s %s # %lu cases", family, name, cases);
	wrong = cases = 0;
}

/*
 * Counts a case; `what` is wrong with it, or NULL. `where`: which side is at the bad page, or "".
 */
__attribute__((format(printf, 4, 5))) static void
judge(const struct operation *v, const char *where, const char *what, const char *format, ...)
{
	va_list arguments;

	cases++;
	if (!what || ++wrong > 20)
		return;
	printf("# %s, %s%s, ", v->name, where, kind_names[v->kind]);
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

/* A random size; below 80 most implementations switch methods. */
enum { ANY_RANGES = 3000, ANY_SIZE = 7800 }; /* none ends behind the field */

static size_t any_size(void)
{
	return any(any(2) ? ANY_SIZE : 80);
}

/* A random start for that size; most of these ranges cross the edge. */
static unsigned char *any_start(const struct field *f, size_t size)
{
	return f->edge - (any(4) ? any((uint32_t)size + 3) : size + any(300));
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

/* Large sizes, and how far behind the edge they may end. */
static const size_t large[] = {
	511,  1024, 1500,      2047,      2048,  4095,  4096,        4097,
	4200, 8191, 8192 + 33, 12288 + 5, 20000, 65536, 65536 + 129, 100001
};

static const size_t behind_edge[] = { 0, 1, 7, 16, 31, 33, 64, 127, 128, 129, 255, 500 };

enum {
	LARGE = sizeof(large) / sizeof(large[0]),
	BEHIND = sizeof(behind_edge) / sizeof(behind_edge[0])
};

static unsigned char pattern[1 << 17];

/*
 * qemu-user 7.2 fails an assertion when DC ZVA faults. So with HF_SWEEP_EMULATED, sizes that use it
 * are swept without faults.
 */
enum { MACHINE_FAILS_FROM = 256 };

static bool machine_fails(const struct operation *v)
{
	return v->clear && emulated && hf_detail_cpu_zva_size() &&
	       (strcmp(v->name, "dc_zva") == 0 || strcmp(v->name, "default") == 0);
}

/* Tests every size up to SIZES at each place near the bad page, then larger and random ones. */
static void all_ranges(const struct operation *v, unsigned int size_step, unsigned int step)
{
	const struct field *f = &v->bad;

	for (size_t size = 0; size <= MOST; size = size_after(size, size_step)) {
		for (size_t before = 0; before <= size + 2; before += places)
			v->range(v, f->edge - before, size);
		/* From the bad page into the good one behind it. */
		for (size_t into = 1; into <= size && into <= 130; into += 3 * places)
			v->range(v, f->behind - into, size);
	}
	for (size_t i = 0; i < LARGE * BEHIND; i += places)
		v->range(v, f->edge - large[i / BEHIND] + behind_edge[i % BEHIND],
			 large[i / BEHIND]);
	for (unsigned int i = 0; i < ANY_RANGES; i += step) {
		size_t size = any_size();

		v->range(v, any_start(f, size), size);
	}
}

/* Sweeps each kind of page. */
static void sweep(struct operation v, unsigned int step)
{
	if (machine_fails(&v))
		printf("SKIPPED %s %s, faults in sizes from %d on: the emulator itself fails\n",
		       v.family, v.name, MACHINE_FAILS_FROM);
	for (int k = 0; k < KINDS; k++) {
		v.kind = (enum kind)k;
		if (v.reads_only && k == READ_ONLY)
			continue;
		v.bad = make_field(v.kind);
		v.other = make_field(UNMAPPED);
		if (v.range)
			all_ranges(&v, k == UNMAPPED ? step : v.others * step, step);
		else
			v.whole(&v, step);
		drop_field(&v.bad);
		drop_field(&v.other);
	}
}

/* ---- clear and fill ------------------------------------------------------------------------- */

static void set_one(const struct operation *v, unsigned char *start, size_t size)
{
	const struct field *f = &v->bad;
	uint8_t other = (uint8_t)(size * 37 + 0x81), value = v->clear || other == FILL ? 0 : other;
	size_t can = good_bytes(f, start, size), left;
	const char *what = NULL;

	if (can < size && size >= MACHINE_FAILS_FROM && machine_fails(v))
		return;
	left = v->clear ? v->clear(start, size) : v->fill(start, value, size);
	if (left != size - can)
		what = "wrong count";
	else if (!is_all(start, can, value))
		what = "wrong bytes";
	else if (!is_untouched(f, start, can))
		what = "touched what it must not";
	else if (left && !names(start + can))
		what = "wrong address";
	judge(v, "", what, "size %zu, start %ld before the edge, %zu left, not %zu", size,
	      (long)(f->edge - start), left, size - can);
	refill(f, start, size);
}

/* A length beyond the end of the address space, where no size takes another method. */
static void set_beyond(const struct operation *v)
{
	uint64_t other_from = hf_atomic64_load_relaxed(&hf_detail_clear_limits.other_from);

	hf_atomic64_store_relaxed(&hf_detail_clear_limits.other_from, UINT64_MAX);
	set_one(v, v->bad.edge - 1077, SIZE_MAX - 4 * page);
	hf_atomic64_store_relaxed(&hf_detail_clear_limits.other_from, other_from);
}

static void set_range(const struct operation *v, unsigned char *start, size_t size)
{
	set_one(v, start, size);
	if (size > MOST) /* across the bad page */
		set_one(v, start, size + page + 100);
	if (!size && start == v->bad.edge)
		set_beyond(v);
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
		     const char *where, unsigned char *src, unsigned char *dst, size_t size)
{
	size_t readable = good_bytes(s, src, size), writable = good_bytes(d, dst, size), left;
	size_t can = least(readable, writable);
	const unsigned char *text = pattern + size % 61;
	const char *what = NULL;

	/*
	 * Source and destination have different surroundings, so that copying too much is detected.
	 */
	set_around(s, src, readable, OTHER_FILL);
	if (src < s->edge)
		memcpy(src, text, readable);
	left = v->copy(dst, src, size);
	if (left != size - can)
		what = "wrong count";
	else if (can && memcmp(dst, text, can))
		what = "wrong bytes";
	else if (!is_untouched(d, dst, can))
		what = "touched what it must not";
	else if (left && !(readable <= writable && names(src + can)) &&
		 !(writable <= readable && names(dst + can)))
		what = "wrong address";
	judge(v, where, what, "size %zu, %zu readable, %zu left, not %zu", size, readable, left,
	      size - can);
	refill(d, dst, size);
	if (src < s->edge)
		memset(src, FILL, readable);
	set_around(s, src, readable, FILL);
}

static void copy_range(const struct operation *v, unsigned char *start, size_t size)
{
	unsigned char *away = size <= MOST ? v->other.edge - 2048 - any(97)
					   : v->other.good + 2 * MARGIN + any(40);

	if (v->kind != READ_ONLY && start <= v->bad.edge)
		copy_one(v, &v->bad, &v->other, "source ", start, away, size);
	copy_one(v, &v->other, &v->bad, "destination ", away, start, size);
	if (!any(3))
		copy_one(v, &v->other, &v->bad, "source unmapped, destination ",
			 v->other.edge - (size + 1 - any((uint32_t)size + 2)), start, size);
	if (size && !any(16)) /* NULL is an address as any other */
		judge(v, "source NULL, ",
		      v->copy(away, NULL, size) != size || !is_untouched(&v->other, away, 0)
			      ? "not refused"
			      : NULL,
		      "size %zu", size);
}

/* ---- move --------------------------------------------------------------------------------- */

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

static void move_one(const struct operation *v, unsigned char *dst, unsigned char *src, size_t size)
{
	static unsigned char image[1 << 17];
	const struct field *f = &v->bad;
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

		if (!can_read(f, v->kind, src + i) || !can_write(f, dst + i))
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
	judge(v, "", what, "size %zu, to %ld before the edge, from %ld, %zu left, not %zu", size,
	      (long)(f->edge - dst), (long)(f->edge - src), left, size - done);
}

static void move_range(const struct operation *v, unsigned char *start, size_t size)
{
	static const size_t distances[] = { 0,  1,  2,  3,  4,  7,  8,  9,   15,  16,  17, 24,
					    31, 32, 33, 48, 63, 64, 65, 100, 127, 128, 200 };
	size_t d = distances[any(sizeof(distances) / sizeof(distances[0]))];

	/* Half of them further before the edge, so that only the higher range crosses it. */
	if (start <= v->bad.edge && any(2))
		start -= any(200);
	if (size <= MOST) /* overlapping */
		d = d < size ? d : size ? d % size : 0;
	move_one(v, start, start + d, size);
	move_one(v, start + d, start, size);
	if (size > page + 400) {
		/* Across the bad page. */
		start = v->bad.behind + any(800) + 300 - size;
		move_one(v, start, start + d, size);
		move_one(v, start + d, start, size);
	}
}

/* ---- find --------------------------------------------------------------------------------- */

enum { NONE = -1 };

static void find_one(const struct operation *v, unsigned char *start, size_t size, long hit)
{
	static const uint8_t bytes[] = { 0x00, 0x80, 0xff, 0x01, 0x7f, 0x41 };
	uint8_t wanted = bytes[any(sizeof(bytes))];
	const struct field *f = &v->bad;
	size_t can = good_bytes(f, start, size), at;
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
	judge(v, "",
	      r.result != expected || r.at != at || (expected == -HF_EFAULT && !names(start + at))
		      ? "wrong result"
		      : NULL,
	      "size %zu, start %ld before the edge, hit at %ld, %ld at %zu, not %ld at %zu", size,
	      (long)(f->edge - start), hit, r.result, r.at, expected, at);
}

static void find_range(const struct operation *v, unsigned char *start, size_t size)
{
	size_t can = good_bytes(&v->bad, start, size);

	find_one(v, start, size, NONE);
	if (can) {
		find_one(v, start, size, 0);
		find_one(v, start, size, (long)can - 1);
		find_one(v, start, size, (long)any((uint32_t)can));
	}
	if (v->kind != UNMAPPED || size > MOST || start != v->bad.edge - size)
		return;
	/* Once for each size, without a fault: a hit at each place, at some alignments. */
	for (long hit = 0; hit < (long)size; hit++)
		find_one(v, v->bad.edge - 2048 + any(64), size, hit);
	/* Lengths beyond the end of the address space. */
	if (!size) {
		find_one(v, v->bad.edge - 77, SIZE_MAX / 2, 76);
		find_one(v, v->bad.edge - 1077, SIZE_MAX, 1076);
		find_one(v, v->bad.edge - 1077, SIZE_MAX, NONE);
	}
}

/* ---- compare ------------------------------------------------------------------------------ */

/* They are equal up to `differ` (NONE: everywhere), where a's byte is less if `less`. */
static void compare_one(const struct operation *v, const struct field *f, const struct field *g,
			unsigned char *a, unsigned char *b, size_t size, long differ, bool less)
{
	size_t can_a = good_bytes(f, a, size), can_b = good_bytes(g, b, size), at;
	size_t can = least(can_a, can_b);
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
	judge(v, "",
	      r.result != expected || r.at != at ||
			      (expected == -HF_EFAULT && !names(a + at) && !names(b + at))
		      ? "wrong result"
		      : NULL,
	      "size %zu, %zu and %zu before the fault, different at %ld, %ld at %zu, not %ld at "
	      "%zu",
	      size, can_a, can_b, differ, r.result, r.at, expected, at);
}

static void compare_range(const struct operation *v, unsigned char *start, size_t size)
{
	const struct field *f = &v->bad, *g = &v->other;
	size_t can = good_bytes(f, start, size);
	unsigned char *b = size <= MOST ? g->edge - 2048 + any(64) : g->good + 2 * MARGIN + any(40);

	compare_one(v, f, g, start, b, size, NONE, false);
	compare_one(v, g, f, b, start, size, NONE, false);
	/* Both sides fault. */
	compare_one(v, f, g, start, g->edge - any((uint32_t)size + 2), size, NONE, false);
	if (can) {
		compare_one(v, f, g, start, b, size, (long)can - 1, true);
		compare_one(v, g, f, b, start, size, (long)any((uint32_t)can), any(2));
	}
	if (v->kind != UNMAPPED || size > MOST || start != f->edge - size)
		return;
	/* Once for each size, without a fault: a difference at each place. */
	for (long differ = 0; differ < (long)size; differ++)
		compare_one(v, f, g, f->edge - 2048 + any(64), g->edge - 2048 + any(64), size,
			    differ, any(2));
}

/* ---- whole words -------------------------------------------------------------------------- */

static void words_one(const struct operation *v, const struct field *s, const struct field *d,
		      const char *where, unsigned char *src, unsigned char *dst, size_t words)
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
	judge(v, where, what, "%zu words, %zu bytes before the fault, %zu left", words, can, left);
	if (dst < d->edge)
		memset(dst, FILL, can);
	if (src < s->edge)
		memset(src, FILL, readable);
}

static void sweep_words(const struct operation *v, unsigned int step)
{
	const struct field *f = &v->bad, *g = &v->other;

	for (size_t words = 0; words <= 70; words += words < 8 ? 1 : step) {
		for (size_t before = 0; before <= words + 1; before++) {
			if (v->kind != READ_ONLY)
				words_one(v, f, g, "source ", f->edge - 8 * before, g->edge - 2048,
					  words);
			words_one(v, g, f, "destination ", g->edge - 2048, f->edge - 8 * before,
				  words);
		}
	}
	judge(v, "",
	      hf_copy_nofault_words(f->edge - 2047, g->edge - 2048, 3) != 3 ||
			      hf_copy_nofault_words(f->edge - 2048, g->edge - 2044, 3) != 3 ||
			      !is_all(f->edge - 2048, 64, FILL)
		      ? "wrong count"
		      : NULL,
	      "not aligned");
}

/* ---- lists of ranges ---------------------------------------------------------------------- */

enum { RANGES = 5 };

/*
 * Makes a list of separate ranges, of which at least one reaches the edge. Returns its number of
 * bytes.
 */
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
		      enum kind source_kind, const char *where)
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
		/*
		 * Its ranges may overlap one another: what is behind the edge is in the bad page.
		 */
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
	judge(v, where, what,
	      "%zu bytes, %zu left, stopped at %zu: %zu+%zu, %zu+%zu, not %zu: %zu+%zu, %zu+%zu",
	      total, left, stop.done, stop.dst, stop.dst_offset, stop.src, stop.src_offset, done,
	      expected.dst, expected.dst_offset, expected.src, expected.src_offset);
}

static void sweep_iovec(const struct operation *v, unsigned int step)
{
	for (unsigned int i = 0; i < 40000; i += step) {
		if (v->kind != READ_ONLY)
			iovec_one(v, &v->bad, &v->other, v->kind, "source ");
		iovec_one(v, &v->other, &v->bad, UNMAPPED, "destination ");
	}
}

/* ---- all of them -------------------------------------------------------------------------- */

/*
 * The header's functions, which call the default implementation; that is also swept under its own
 * name.
 */
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

/* Adds fill, move, compare and find. */
static void add_memory(const struct hf_variant_memory *m, unsigned int every, bool has_limits)
{
	struct operation common = { "fill",
				    m->name,
				    m->is_legal,
				    .range = set_range,
				    .every = every,
				    .others = 3,
				    .has_limits = has_limits,
				    .fill = m->fill };

	add(common);
	common.family = "move";
	common.range = move_range;
	common.has_limits = false;
	common.copy = m->move;
	add(common);
	common.family = "compare";
	common.range = compare_range;
	common.reads_only = true;
	common.compare = m->compare;
	add(common);
	common.family = "find";
	common.range = find_range;
	common.find = m->find;
	add(common);
}

static void list_all(void)
{
	static const struct hf_variant_memory defaults = { "default",       hf_fill_nofault,
							   hf_move_nofault, default_compare,
							   default_find,    NULL };
	size_t n;
	const struct hf_variant_clear *clear = hf_variant_clears(&n);

	for (size_t i = 0; i < n; i++)
		add((struct operation){ "clear", clear[i].name, clear[i].is_legal,
					.range = set_range, .every = 1, .others = 1,
					.has_limits = !strncmp(clear[i].name, "hand_", 5),
					.clear = clear[i].function });
	const struct hf_variant_copy *copy = hf_variant_copies(&n);

	for (size_t i = 0; i < n; i++)
		add((struct operation){ "copy", copy[i].name, copy[i].is_legal, .range = copy_range,
					.every = 1, .others = 1,
					.has_limits = !strncmp(copy[i].name, "hand_", 5),
					.copy = copy[i].function });
	const struct hf_variant_memory *m = hf_variant_memories(&n);

	for (size_t i = 0; i < n; i++)
		add_memory(&m[i], 1, i > 0); /* the first has only words */
	add((struct operation){ "clear", "default", .range = set_range, .every = 5, .others = 1,
				.clear = hf_clear_nofault });
	add((struct operation){ "copy", "default", .range = copy_range, .every = 5, .others = 1,
				.copy = hf_copy_nofault });
	add_memory(&defaults, 7, false);
	add((struct operation){ "words", "default", .whole = sweep_words, .every = 1 });
	add((struct operation){ "iovec", "default", .whole = sweep_iovec, .every = 1 });
}

static bool is_legal(const struct operation *v)
{
	return !v->is_legal || v->is_legal();
}

/* Low enough that the sizes used here take the code paths for large ranges. */
static void lower_limits(struct hf_detail_limits *limits, uint64_t repeat_from,
			 uint64_t stream_from)
{
	hf_atomic64_store_relaxed(&limits->repeat_from, repeat_from);
	hf_atomic64_store_relaxed(&limits->stream_from, stream_from);
	hf_atomic64_store_relaxed(&limits->other_from,
				  repeat_from < stream_from ? repeat_from : stream_from);
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
		sweep(v, 5 * step);
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
	page = (size_t)sysconf(_SC_PAGESIZE);
	emulated = getenv("HF_SWEEP_EMULATED") != NULL;
	places = step > 100 ? 7 : step > 40 ? 3 : 1;
	if (hf_nofault_install())
		die("hf_nofault_install");
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
			sweep(*v, v->every * step);
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
