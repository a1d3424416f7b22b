/* SPDX-License-Identifier: MIT */
/*
 * beside_libc - functions of memory that may fault, each after the C library's function.
 *
 * beside_libc.py runs this in an emulator that logs each instruction, as run.py does with paths.c.
 * The printed lines name the operations, in the same order. Ranges are aligned to a page; a move is
 * by 13 bytes; a comparison meets no difference and a search no hit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/nofault.h>

enum { CALLS = 3, LARGEST = 4096, BY = 13 }; /* CALLS: as in run.py */

#define APART __attribute__((noinline, noclone))

static char to[LARGEST + 64] __attribute__((aligned(4096)));
static char from[LARGEST + 64] __attribute__((aligned(4096)));
static volatile size_t wrong; /* not 0 after a call with a wrong result */
static volatile size_t size;  /* so that the compiler can't replace the calls */

APART void measure(void (*operation)(void))
{
	for (int i = 0; i < CALLS; i++) {
		operation();
		__asm__ volatile(""); /* prevents a tail call */
	}
}

#define PAIR(name, libc, ours)                                                                     \
	static APART void name##_libc(void)                                                        \
	{                                                                                          \
		size_t n = size;                                                                   \
                                                                                                   \
		wrong = (libc);                                                                    \
	}                                                                                          \
	static APART void name##_ours(void)                                                        \
	{                                                                                          \
		size_t n = size, at = n;                                                           \
                                                                                                   \
		wrong = (ours) || at != n;                                                         \
	}

PAIR(clear, memset(to, 0, n) != to, hf_clear_nofault(to, n))
PAIR(fill, memset(to, 0x42, n) != to, hf_fill_nofault(to, 0x42, n))
PAIR(copy, memcpy(to, from, n) != to, hf_copy_nofault(to, from, n))
PAIR(move_up, memmove(to, to + BY, n) != to, hf_move_nofault(to, to + BY, n))
PAIR(move_down, memmove(to + BY, to, n) != to + BY, hf_move_nofault(to + BY, to, n))
PAIR(compare, memcmp(to, from, n), hf_compare_nofault(to, from, n, &at))
PAIR(find, memchr(to, 0x43, n) != NULL, hf_find_nofault(to, 0x43, n, &at) != -HF_ENOENT)
PAIR(length, strnlen(to, n) != n, hf_length_nofault(to, n, &at) != -HF_ENOENT)

static const struct {
	const char *name;
	void (*libc)(void), (*ours)(void);
} operations[] = {
#define ROW(name, text)                                                                            \
	{                                                                                          \
		text, name##_libc, name##_ours                                                     \
	}
	ROW(clear, "clear"),     ROW(copy, "copy"),           ROW(fill, "fill"),
	ROW(move_up, "move up"), ROW(move_down, "move down"), ROW(compare, "compare"),
	ROW(find, "find"),       ROW(length, "length"),
};

static void count(const char *name, size_t n, void (*operation)(void))
{
	memset(to, 0x42, sizeof(to));
	memset(from, 0x42, sizeof(from));
	size = n;
	measure(operation);
	if (wrong) {
		fprintf(stderr, "a wrong result: %s of %zu bytes\n", name, n);
		exit(1);
	}
}

int main(void)
{
	static const size_t sizes[] = { 16, 256, LARGEST };

	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
			count(operations[i].name, sizes[j], operations[i].libc);
			count(operations[i].name, sizes[j], operations[i].ours);
			printf("%s,%zu\n", operations[i].name, sizes[j]);
		}
	}
	return 0;
}
