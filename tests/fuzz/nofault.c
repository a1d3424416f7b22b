/* SPDX-License-Identifier: MIT */
/*
 * fuzz nofault - any implementation, operation, size, place and kind of page, against a byte loop.
 *
 * For libFuzzer; run.py builds and runs it. An input is 10 bytes: the operation, the implementation, the
 * kind of bad page on each side, the size, and where each side starts.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../lab/variants/nofault/implementations.h"

/* No unmapped page: the fuzzer's own allocations may land there. The sweep has it. */
enum { KINDS = 3, GOOD = 16384, PAGE = 4096, FILL = 0x55 };

/* GOOD bytes, a bad page, a good page. */
static unsigned char *fields[2][KINDS];

static unsigned char *make_field(int kind)
{
	int file = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	unsigned char *p;

	if (kind == 2) {
		file = memfd_create("fuzz", 0);
		if (file < 0 || ftruncate(file, GOOD))
			abort();
		flags = MAP_SHARED;
	}
	p = (unsigned char *)mmap(NULL, GOOD + 2 * PAGE, PROT_READ | PROT_WRITE, flags, file, 0);
	if (p == MAP_FAILED)
		abort();
	if (mmap(p + GOOD + PAGE, PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		abort();
	if (kind < 2 && mprotect(p + GOOD, PAGE, kind == 0 ? PROT_NONE : PROT_READ))
		abort();
	return p;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (sysconf(_SC_PAGESIZE) != PAGE || hf_nofault_install())
		abort();
	for (int kind = 0; kind < KINDS; kind++) {
		fields[0][kind] = make_field(kind);
		fields[1][kind] = make_field(kind);
	}
	return 0;
}

static void must(bool so, const char *what, const char *name, size_t size, size_t start,
		 size_t left)
{
	if (so)
		return;
	fprintf(stderr, "%s: %s: size %zu at %zu, %zu left\n", name, what, size, start, left);
	abort();
}

static size_t good_bytes(size_t start, size_t size, bool reads, int kind)
{
	if (reads && kind == 1)
		return size; /* it can be read */
	if (start >= GOOD + PAGE)
		return size;
	if (start >= GOOD)
		return 0;
	return size < GOOD - start ? size : GOOD - start;
}

/* Can the byte at that place of a field be read, or written? */
static bool can_have(size_t at, bool reads, int kind)
{
	return at < GOOD || at >= GOOD + PAGE || (reads && kind == 1);
}

/* Up or down, as it must; within one field. */
static void fuzz_move(const struct hf_variant_memory *m, unsigned char *field, int kind, size_t to,
		      size_t from, size_t size)
{
	static unsigned char expected[GOOD + 2 * PAGE];
	bool down = hf_move_is_down(field + to, field + from, size);
	size_t done, left;

	for (size_t i = 0; i < GOOD + 2 * PAGE; i++) {
		if (can_have(i, false, kind))
			field[i] = (unsigned char)(i * 7 + i / 256);
		expected[i] = can_have(i, true, kind) ? field[i] : 0;
	}
	for (done = 0; done < size; done++) {
		size_t i = down ? size - 1 - done : done;

		if (!can_have(from + i, true, kind) || !can_have(to + i, false, kind))
			break;
		expected[to + i] = expected[from + i];
	}
	left = m->move(field + to, field + from, size);
	must(left == size - done, "move: wrong count", m->name, size, to, left);
	must(memcmp(field, expected, GOOD) == 0, "move: wrong bytes", m->name, size, to, left);
	must(memcmp(field + GOOD + PAGE, expected + GOOD + PAGE, PAGE) == 0,
	     "move: wrong bytes behind the bad page", m->name, size, to, left);
}

/* The first that differs, or is found, is at `hit`, if that can be read. */
static void fuzz_search(const struct hf_variant_memory *m, bool compares,
			unsigned char *const field[2], const int kind[2], const size_t start[2],
			size_t size, size_t hit)
{
	size_t can = good_bytes(start[0], size, true, kind[0]), other;
	struct hf_memory_result r;
	long expected;

	other = compares ? good_bytes(start[1], size, true, kind[1]) : can;
	can = other < can ? other : can;
	for (size_t side = 0; side < 1 + (size_t)compares; side++) {
		for (size_t i = 0; i < GOOD + 2 * PAGE; i++) {
			if (can_have(i, false, kind[side]))
				field[side][i] = 0;
		}
	}
	if (hit < can && can_have(start[0] + hit, false, kind[0])) {
		field[0][start[0] + hit] = 0x80;
		expected = compares ? 1 : 0;
	} else {
		hit = can;
		expected = can < size ? -HF_EFAULT : compares ? 0 : -HF_ENOENT;
	}
	r = compares ? m->compare(field[0] + start[0], field[1] + start[1], size)
		     : m->find(field[0] + start[0], 0x80, size);
	must(r.result == expected, compares ? "compare: wrong result" : "find: wrong result",
	     m->name, size, start[0], r.at);
	must(r.at == hit, compares ? "compare: wrong place" : "find: wrong place", m->name, size,
	     start[0], r.at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static unsigned char expected[GOOD + 2 * PAGE];
	size_t clears, copies, size, start, from, left, can;
	const struct hf_variant_clear *clear = hf_variant_clears(&clears);
	const struct hf_variant_copy *copy = hf_variant_copies(&copies);
	unsigned char *to_field, *from_field;
	const char *name;

	if (len < 10)
		return -1;
	to_field = fields[0][data[2] % KINDS];
	from_field = fields[1][data[3] % KINDS];
	size = (data[4] | (size_t)data[5] << 8) % 9000;
	if (data[7] & 0x80)
		size %= 80; /* where most ways end */
	start = (data[6] | (size_t)data[7] << 8) % (GOOD + PAGE);
	from = (data[8] | (size_t)data[9] << 8) % (GOOD + PAGE);
	if (start + size > GOOD + 2 * PAGE)
		size = GOOD + 2 * PAGE - start;
	if (from + size > GOOD + 2 * PAGE)
		size = GOOD + 2 * PAGE - from;
	if (data[0] % 6 >= 3) {
		size_t count;
		const struct hf_variant_memory *m = hf_variant_memories(&count);
		unsigned char *const fields_of[2] = { to_field, from_field };
		const int kinds[2] = { data[2] % KINDS, data[3] % KINDS };
		const size_t starts[2] = { start, from };

		m += data[1] % count;
		if (!m->is_legal())
			return -1;
		if (data[0] % 6 == 3) {
			/* Near the start, so that they overlap. */
			from = start + data[8] % 256;
			size = size < GOOD + 2 * PAGE - from ? size : GOOD + 2 * PAGE - from;
			if (data[9] % 2)
				fuzz_move(m, to_field, kinds[0], start, from, size);
			else
				fuzz_move(m, to_field, kinds[0], from, start, size);
		} else {
			fuzz_search(m, data[0] % 6 == 4, fields_of, kinds, starts, size,
				    size ? (data[8] | (size_t)data[9] << 8) * 7 % size : 0);
		}
		return 0;
	}
	memset(to_field, FILL, GOOD);
	memset(to_field + GOOD + PAGE, FILL, PAGE);
	memset(expected, FILL, sizeof(expected));
	can = good_bytes(start, size, false, data[2] % KINDS);
	if (data[0] % 6 == 2) {
		size_t count;
		const struct hf_variant_memory *m = hf_variant_memories(&count);

		m += data[1] % count;
		if (!m->is_legal())
			return -1;
		name = m->name;
		memset(expected + start, data[8], can);
		left = m->fill(to_field + start, data[8], size);
	} else if (data[0] % 6 == 0) {
		clear += data[1] % clears;
		if (!clear->is_legal())
			return -1;
		name = clear->name;
		for (size_t i = 0; i < can; i++)
			expected[start + i] = 0;
		left = clear->function(to_field + start, size);
	} else {
		size_t readable = good_bytes(from, size, true, data[3] % KINDS);

		copy += data[1] % copies;
		if (!copy->is_legal())
			return -1;
		name = copy->name;
		for (size_t i = 0; i < GOOD; i++)
			from_field[i] = (unsigned char)(i * 7 + i / 256 + data[0]);
		for (size_t i = 0; i < PAGE; i++)
			from_field[GOOD + PAGE + i] = (unsigned char)(i * 5 + data[0]);
		can = can < readable ? can : readable;
		for (size_t i = 0; i < can; i++)
			expected[start + i] = from_field[from + i];
		left = copy->function(to_field + start, from_field + from, size);
	}
	must(left == size - can, "wrong count", name, size, start, left);
	must(memcmp(to_field, expected, GOOD) == 0, "wrong bytes", name, size, start, left);
	must(memcmp(to_field + GOOD + PAGE, expected + GOOD + PAGE, PAGE) == 0,
	     "wrong bytes behind the bad page", name, size, start, left);
	return 0;
}
