/* SPDX-License-Identifier: MIT */
/*
 * objects - for run.py: accesses that a sanitizer must report, and some that it must not. Exit
 * status 0 = no report.
 *
 *   objects list                     prints the table below: NAME READS WRITES (0 or 1)
 *   objects reads|writes OPERATION   reads or writes beyond the end of a heap block
 *   objects uses OPERATION           uses what the operation has written
 *   objects WHAT                     see main()
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/nofault.h>

enum { BLOCK = 24, OVER = 32, NOWHERE = 4096 };

static char source[64] __attribute__((aligned(8))) =
	"abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0";
static char room[64] __attribute__((aligned(8)));
static char global[16];

/* MemorySanitizer reports an uninitialised value when a branch depends on it. */
static int uses(const void *p, size_t len)
{
	int sum = 0;

	for (size_t i = 0; i < len; i++)
		sum += ((const char *)p)[i];
	if (sum == 12345)
		abort();
	return 0;
}

/*
 * Runs each operation on `len` bytes of both, or on the word that ends there. Returns how many of
 * the last bytes it has written. An operation in the table without a function here is a compile
 * error.
 */
/* clang-format off */
#define OPERATION(name) static size_t do_##name(char *to, char *from, size_t len)
#define DONE(left) ((left) ? (exit(3), 0) : len)

OPERATION(hf_clear_nofault) { (void)from; return DONE(hf_clear_nofault(to, len)); }
OPERATION(hf_copy_nofault) { return DONE(hf_copy_nofault(to, from, len)); }
OPERATION(hf_copy_from_nofault) { return DONE(hf_copy_from_nofault(to, from, len)); }
OPERATION(hf_copy_to_nofault) { return DONE(hf_copy_to_nofault(to, from, len)); }
OPERATION(hf_fill_nofault) { (void)from; return DONE(hf_fill_nofault(to, 1, len)); }
OPERATION(hf_copy_nofault_words) { return DONE(hf_copy_nofault_words(to, from, len / 8)); }
OPERATION(hf_strncpy_nofault) { return DONE(hf_strncpy_nofault(to, from, len) != (long)len); }

/* Moves between overlapping ranges, within whichever block is on the heap. */
OPERATION(hf_move_nofault)
{
	size_t left;

	if (to == room)
		left = hf_move_nofault(from, from + 8, len - 8);
	else {
		memset(to, 0, 16);
		left = hf_move_nofault(to + 8, to, len - 8);
	}
	return left ? (exit(3), 0) : len;
}

OPERATION(hf_compare_nofault)
{
	size_t equal;
	int result;

	(void)to;
	memcpy(room, source, sizeof(room));
	memcpy(room, from, BLOCK);
	result = hf_compare_nofault(room, from, len, &equal);
	return result == -HF_EFAULT || equal < BLOCK;
}

OPERATION(hf_find_nofault)
{
	size_t at;

	(void)to;
	return hf_find_nofault(from, 0x7e, len, &at) == -HF_EFAULT || at < BLOCK;
}

OPERATION(hf_length_nofault)
{
	size_t at;

	(void)to;
	return hf_length_nofault(from, len, &at) == -HF_EFAULT || at < BLOCK;
}

OPERATION(hf_copy_iovec_nofault)
{
	struct hf_iovec a[2] = { { to, 8 }, { to + 8, len - 8 } }, b = { from, len };
	struct hf_iovec_stop stop;

	if (hf_copy_iovec_nofault(a, 2, &b, 1, &stop))
		exit(3);
	return stop.done == len ? len : 0;
}

/* Runs `call` on the last word of each range; `found` is what it read. Returns `written`. */
#define WORD(operation, bits, call, written)                                                       \
	OPERATION(hf_##operation##bits##_nofault)                                                  \
	{                                                                                          \
		uint##bits##_t found;                                                              \
                                                                                                   \
		(void)found;                                                                       \
                                                                                                   \
		to += len - bits / 8;                                                              \
		from += len - bits / 8;                                                            \
		if (call)                                                                          \
			exit(3);                                                                   \
		return written;                                                                    \
	}
#define PLAIN(bits)                                                                                \
	WORD(load, bits, hf_load##bits##_nofault(&found, from), found == 77)                       \
	WORD(store, bits, hf_store##bits##_nofault(to, 7), bits / 8)
#define ATOMIC(bits)                                                                               \
	WORD(cmpxchg, bits, hf_cmpxchg##bits##_nofault(to, 1, 2, &found), found == 77)             \
	WORD(exchange, bits, hf_exchange##bits##_nofault(to, 1, &found), bits / 8)                 \
	WORD(fetch_add, bits, hf_fetch_add##bits##_nofault(to, 1, &found), found == 77)

/* clang-format on */
PLAIN(8)
PLAIN(16)
PLAIN(32)
PLAIN(64)
ATOMIC(32)
ATOMIC(64)

static const struct {
	const char *name;
	size_t (*function)(char *to, char *from, size_t len);
	int reads, writes;
} operations[] = {
#define ROW(name, reads, writes)                                                                   \
	{                                                                                          \
#name, do_##name, reads, writes                                                    \
	}
	ROW(hf_clear_nofault, 0, 1),       ROW(hf_copy_nofault, 1, 1),
	ROW(hf_copy_from_nofault, 1, 1),   ROW(hf_copy_to_nofault, 1, 1),
	ROW(hf_strncpy_nofault, 1, 1),     ROW(hf_fill_nofault, 0, 1),
	ROW(hf_move_nofault, 1, 1),        ROW(hf_compare_nofault, 1, 0),
	ROW(hf_find_nofault, 1, 0),        ROW(hf_length_nofault, 1, 0),
	ROW(hf_copy_iovec_nofault, 1, 1),  ROW(hf_copy_nofault_words, 1, 1),
	ROW(hf_load8_nofault, 1, 0),       ROW(hf_load16_nofault, 1, 0),
	ROW(hf_load32_nofault, 1, 0),      ROW(hf_load64_nofault, 1, 0),
	ROW(hf_store8_nofault, 0, 1),      ROW(hf_store16_nofault, 0, 1),
	ROW(hf_store32_nofault, 0, 1),     ROW(hf_store64_nofault, 0, 1),
	ROW(hf_cmpxchg32_nofault, 1, 1),   ROW(hf_cmpxchg64_nofault, 1, 1),
	ROW(hf_exchange32_nofault, 1, 1),  ROW(hf_exchange64_nofault, 1, 1),
	ROW(hf_fetch_add32_nofault, 1, 1), ROW(hf_fetch_add64_nofault, 1, 1),
};

enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

/* Unmapped and non-canonical addresses: each is a fault, which is not reported. */
static int wild(void)
{
	static const uintptr_t nowhere[] = {
		8,
		NOWHERE,
		0x100000000,
		0x7ffffffffff8,
		0x7fffffffffff,
		0x800000000000,
		0x8000000000000000,
		0xffff800000000000,
		UINTPTR_MAX - 63,
		UINTPTR_MAX - 3,
	};
	char variable[64] = "";
	uint64_t word;
	uint8_t byte;
	size_t at;

	for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
		char *p = (char *)nowhere[i];

		if (hf_copy_nofault(variable, p, 16) != 16 ||
		    hf_copy_nofault(p, variable, 16) != 16 || hf_clear_nofault(p, 64) != 64 ||
		    hf_fill_nofault(p, 1, 64) != 64 || hf_move_nofault(p, p + 1, 16) != 16 ||
		    hf_find_nofault(p, 1, 64, &at) != -HF_EFAULT || at ||
		    hf_compare_nofault(p, variable, 64, &at) != -HF_EFAULT || at ||
		    hf_length_nofault(p, 64, &at) != -HF_EFAULT || at ||
		    hf_strncpy_nofault(variable, p, 16) != -HF_EFAULT ||
		    hf_load64_nofault(&word, p) != -HF_EFAULT ||
		    hf_load8_nofault(&byte, p) != -HF_EFAULT ||
		    hf_store8_nofault(p, 1) != -HF_EFAULT)
			return 2;
	}
	return 0;
}

static int of_operation(const char *what, const char *name)
{
	char *block = (char *)malloc(BLOCK);
	size_t i, n;

	for (i = 0; i < OPERATIONS && strcmp(operations[i].name, name); i++)
		;
	if (!block || i == OPERATIONS)
		return 9;
	if (!strcmp(what, "uses")) {
		if (!strncmp(name, "hf_cmpxchg", 10) || !strncmp(name, "hf_fetch", 8))
			memset(block, 1, BLOCK); /* the operation reads it */
		n = operations[i].function(block, source, BLOCK);
		return uses(block + BLOCK - n, n);
	}
	memset(block, 1, BLOCK);
	if (!strcmp(what, "reads"))
		(void)operations[i].function(operations[i].writes && !strstr(name, "cmpxchg") &&
							     !strstr(name, "exchange") &&
							     !strstr(name, "fetch")
						     ? room
						     : block,
					     block, OVER);
	else
		(void)operations[i].function(block, source, OVER);
	return 0;
}

int main(int argc, char **argv)
{
	const char *wanted = argc > 1 ? argv[1] : "";
	char *block = (char *)malloc(BLOCK), variable[16];
	uint64_t word = 0;

	if (!block || hf_nofault_install())
		return 9;
	if (!strcmp(wanted, "list")) {
		for (size_t i = 0; i < OPERATIONS; i++)
			printf("%s %d %d\n", operations[i].name, operations[i].reads,
			       operations[i].writes);
		return 0;
	}
	if (argc > 2)
		return of_operation(wanted, argv[2]);
	if (!strcmp(wanted, "clear over a variable"))
		return hf_clear_nofault(variable, 17) != 0;
	if (!strcmp(wanted, "clear over a global"))
		return hf_clear_nofault(global, 17) != 0;
	if (!strcmp(wanted, "store to a freed block")) {
		free(block);
		return hf_store64_nofault(block, 1) != 0;
	}
	if (!strcmp(wanted, "use of what was not copied")) {
		if (hf_copy_nofault(block, (const char *)(uintptr_t)NOWHERE, BLOCK) != BLOCK)
			return 1;
		return uses(block, BLOCK);
	}
	/* "nothing": correct operations, and unmapped addresses */
	for (size_t i = 0; i < OPERATIONS; i++) {
		char *to = (char *)malloc(BLOCK), *from = (char *)malloc(BLOCK);

		if (!to || !from)
			return 9;
		memset(to, 1, BLOCK);
		memset(from, 1, BLOCK);
		(void)operations[i].function(to, from, BLOCK);
		free(to);
		free(from);
	}
	if (hf_clear_nofault(variable, sizeof(variable)) || uses(variable, sizeof(variable)) ||
	    hf_load64_nofault(&word, source) || (word & 1) == 0)
		return 1;
	free(block);
	return wild();
}
