/* SPDX-License-Identifier: MIT */
/*
 * nofault_cases - clear, copy, single words and more at the edge of unmapped memory.
 *
 *      battery_env_edge() - ROOM            the edge
 *      |  accessible bytes                    |  none
 *
 * In a kernel this is user memory, so the cases access it only through copies.
 */
#include "battery.h"

#include "holdfast/nofault.h"

enum { ROOM = 512, SIZES = 130, FILL = 0x55 };

static unsigned char expected[ROOM], found[ROOM], pattern[ROOM];

static void set(unsigned char *to, size_t len, unsigned char byte)
{
	for (size_t i = 0; i < len; i++)
		((volatile unsigned char *)to)[i] = byte;
}

static void put(unsigned char *to, const unsigned char *from, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((volatile unsigned char *)to)[i] = from[i];
}

/* Fills the accessible bytes, and `expected`. Returns the edge; NULL = the case has failed. */
static unsigned char *fill(void)
{
	unsigned char *edge = battery_env_edge();

	for (size_t i = 0; i < ROOM; i++)
		pattern[i] = (unsigned char)(i * 7 + 1);
	set(expected, ROOM, FILL);
	return BATTERY_TRUE(edge != NULL) &&
			       BATTERY_EQ(hf_copy_to_nofault(edge - ROOM, expected, ROOM), 0)
		       ? edge
		       : NULL;
}

static bool same(const unsigned char *a, const unsigned char *b, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (a[i] != b[i])
			return false;
	}
	return true;
}

static bool as_expected(unsigned char *edge)
{
	return hf_copy_from_nofault(found, edge - ROOM, ROOM) == 0 && same(found, expected, ROOM);
}

enum operation { CLEAR, COPY_TO, COPY_FROM };

/* The range of `size` bytes that begins `good` bytes before the edge. */
static bool stops_at_the_edge(enum operation operation, size_t size, size_t good)
{
	unsigned char *edge = fill();
	size_t done = size < good ? size : good, left;

	if (!edge)
		return false;
	if (operation == CLEAR) {
		left = hf_clear_nofault(edge - good, size);
		set(expected + ROOM - good, done, 0);
	} else if (operation == COPY_TO) {
		left = hf_copy_to_nofault(edge - good, pattern, size);
		put(expected + ROOM - good, pattern, done);
	} else {
		if (!BATTERY_EQ(hf_copy_to_nofault(edge - ROOM, pattern, ROOM), 0))
			return false;
		set(found, ROOM, FILL);
		left = hf_copy_from_nofault(found, edge - good, size);
		put(expected, pattern + ROOM - good, done);
		return BATTERY_EQ(left, size - done) && BATTERY_TRUE(same(found, expected, ROOM));
	}
	return BATTERY_EQ(left, size - done) && BATTERY_TRUE(as_expected(edge));
}

/* Each size with each position of the edge in the range, and with the edge behind it. */
static void each_range(enum operation operation)
{
	for (size_t size = 0; size <= SIZES; size += size < 20 ? 1 : 11) {
		for (size_t good = 0; good <= size + 2; good += good < 20 ? 1 : 7) {
			if (!stops_at_the_edge(operation, size, good))
				return;
		}
	}
}

static void clear_stops_at_the_edge(void)
{
	each_range(CLEAR);
}

static void copy_to_stops_at_the_edge(void)
{
	each_range(COPY_TO);
}

static void copy_from_stops_at_the_edge(void)
{
	each_range(COPY_FROM);
}

static void both_sides(void)
{
	unsigned char *edge = fill();

	if (!edge)
		return;
	BATTERY_EQ(hf_copy_nofault(edge - 64, edge - 128, 64), 0);
	BATTERY_EQ(hf_copy_nofault(edge - 10, edge - 128, 64), 54);
	BATTERY_EQ(hf_copy_nofault(edge - 128, edge - 10, 64), 54);
	BATTERY_TRUE(as_expected(edge));
}

static void loads_and_stores(void)
{
	unsigned char *edge = fill();
	uint8_t byte = 1;
	uint16_t two = 1;
	uint32_t four = 1;
	uint64_t eight = 1;

	if (!edge)
		return;
	BATTERY_EQ(hf_load8_nofault(&byte, edge), -HF_EFAULT);
	BATTERY_EQ(hf_load16_nofault(&two, edge - 1), -HF_EFAULT);
	BATTERY_EQ(hf_load32_nofault(&four, edge - 3), -HF_EFAULT);
	BATTERY_EQ(hf_load64_nofault(&eight, edge - 7), -HF_EFAULT);
	BATTERY_TRUE(byte == 1 && two == 1 && four == 1 && eight == 1);
	BATTERY_EQ(hf_load8_nofault(&byte, edge - 1), 0);
	BATTERY_EQ(hf_load16_nofault(&two, edge - 2), 0);
	BATTERY_EQ(hf_load32_nofault(&four, edge - 4), 0);
	BATTERY_EQ(hf_load64_nofault(&eight, edge - 8), 0);
	BATTERY_TRUE(byte == 0x55 && two == 0x5555 && four == 0x55555555 &&
		     eight == 0x5555555555555555);

	BATTERY_EQ(hf_store8_nofault(edge, 0), -HF_EFAULT);
	BATTERY_EQ(hf_store64_nofault(edge, 0), -HF_EFAULT);
	BATTERY_TRUE(as_expected(edge));
	BATTERY_EQ(hf_store8_nofault(edge - 1, 0), 0);
	BATTERY_EQ(hf_store16_nofault(edge - 4, 0), 0);
	BATTERY_EQ(hf_store32_nofault(edge - 12, 0), 0);
	BATTERY_EQ(hf_store64_nofault(edge - 24, 0), 0);
	set(expected + ROOM - 1, 1, 0);
	set(expected + ROOM - 4, 2, 0);
	set(expected + ROOM - 12, 4, 0);
	set(expected + ROOM - 24, 8, 0);
	BATTERY_TRUE(as_expected(edge));
}

static void compare_and_swap(void)
{
	unsigned char *edge = fill();
	uint32_t four = 7;
	uint64_t eight = 7;

	if (!edge)
		return;
	BATTERY_EQ(hf_cmpxchg32_nofault(edge, 0, 1, &four), -HF_EFAULT);
	BATTERY_EQ(hf_cmpxchg64_nofault(edge, 0, 1, &eight), -HF_EFAULT);
	BATTERY_EQ(hf_cmpxchg32_nofault(edge - 6, 0, 1, &four), -HF_EINVAL);
	BATTERY_TRUE(four == 7 && eight == 7);
	BATTERY_EQ(hf_cmpxchg32_nofault(edge - 4, 0, 1, &four), 0);
	BATTERY_EQ(hf_cmpxchg64_nofault(edge - 16, 0, 1, &eight), 0);
	BATTERY_TRUE(four == 0x55555555 && eight == 0x5555555555555555);
	BATTERY_TRUE(as_expected(edge));
	BATTERY_EQ(hf_cmpxchg32_nofault(edge - 4, four, 0, &four), 0);
	BATTERY_EQ(hf_cmpxchg64_nofault(edge - 16, eight, 0, &eight), 0);
	set(expected + ROOM - 4, 4, 0);
	set(expected + ROOM - 16, 8, 0);
	BATTERY_TRUE(as_expected(edge));
	/* The high bit: a processor may extend the sign of what it reads. */
	BATTERY_EQ(hf_store32_nofault(edge - 4, 0x80000001), 0);
	BATTERY_EQ(hf_cmpxchg32_nofault(edge - 4, 0x80000001, 0, &four), 0);
	BATTERY_TRUE(four == 0x80000001);
	BATTERY_TRUE(as_expected(edge));
}

static void exchange_and_add(void)
{
	unsigned char *edge = fill();
	uint32_t four = 7;
	uint64_t eight = 7;

	if (!edge)
		return;
	BATTERY_EQ(hf_exchange32_nofault(edge, 1, &four), -HF_EFAULT);
	BATTERY_EQ(hf_exchange64_nofault(edge, 1, &eight), -HF_EFAULT);
	BATTERY_EQ(hf_fetch_add32_nofault(edge, 1, &four), -HF_EFAULT);
	BATTERY_EQ(hf_fetch_add64_nofault(edge, 1, &eight), -HF_EFAULT);
	BATTERY_EQ(hf_exchange32_nofault(edge - 6, 1, &four), -HF_EINVAL);
	BATTERY_EQ(hf_exchange64_nofault(edge - 12, 1, &eight), -HF_EINVAL);
	BATTERY_EQ(hf_fetch_add32_nofault(edge - 6, 1, &four), -HF_EINVAL);
	BATTERY_EQ(hf_fetch_add64_nofault(edge - 12, 1, &eight), -HF_EINVAL);
	BATTERY_TRUE(four == 7 && eight == 7);
	BATTERY_TRUE(as_expected(edge));
	/* All bytes are FILL: no byte of the first sum carries, then every byte does. */
	BATTERY_EQ(hf_fetch_add32_nofault(edge - 4, 0x01010101, &four), 0);
	BATTERY_EQ(hf_fetch_add64_nofault(edge - 16, 0x0101010101010101, &eight), 0);
	BATTERY_TRUE(four == 0x55555555 && eight == 0x5555555555555555);
	set(expected + ROOM - 4, 4, FILL + 1);
	set(expected + ROOM - 16, 8, FILL + 1);
	BATTERY_TRUE(as_expected(edge));
	BATTERY_EQ(hf_exchange32_nofault(edge - 4, 0xffffffff, &four), 0);
	BATTERY_EQ(hf_exchange64_nofault(edge - 16, (uint64_t)-1, &eight), 0);
	BATTERY_TRUE(four == 0x56565656 && eight == 0x5656565656565656);
	set(expected + ROOM - 4, 4, 0xff);
	set(expected + ROOM - 16, 8, 0xff);
	BATTERY_TRUE(as_expected(edge));
	BATTERY_EQ(hf_fetch_add32_nofault(edge - 4, 1, &four), 0);
	BATTERY_EQ(hf_fetch_add64_nofault(edge - 16, 1, &eight), 0);
	BATTERY_TRUE(four == 0xffffffff && eight == (uint64_t)-1);
	set(expected + ROOM - 4, 4, 0);
	set(expected + ROOM - 16, 8, 0);
	BATTERY_TRUE(as_expected(edge));
}

#if !HF_ENV_HAS_CLEAR
/* One range each; tests/nofault/sweep.c tries all ranges. */
static void fill_search_and_move(void)
{
	unsigned char *edge = fill();
	size_t at = 999;

	if (!edge)
		return;
	BATTERY_EQ(hf_fill_nofault(edge - 70, 0x81, 90), 20);
	set(expected + ROOM - 70, 70, 0x81);
	BATTERY_TRUE(as_expected(edge));
	BATTERY_EQ(hf_find_nofault(edge - 90, 0x81, 90, &at), 0);
	BATTERY_EQ(at, 20);
	BATTERY_EQ(hf_find_nofault(edge - 60, FILL, 90, &at), -HF_EFAULT);
	BATTERY_EQ(at, 60);
	BATTERY_EQ(hf_compare_nofault(edge - 90, expected, 100, &at), 1);
	BATTERY_EQ(at, 20);
	set(found, ROOM, 0x81);
	BATTERY_EQ(hf_compare_nofault(found, edge - 60, 90, &at), -HF_EFAULT);
	BATTERY_EQ(at, 60);
	BATTERY_EQ(hf_store8_nofault(edge - 1, 0), 0);
	set(expected + ROOM - 1, 1, 0);
	BATTERY_EQ(hf_length_nofault((char *)edge - 60, 90, &at), 0);
	BATTERY_EQ(at, 59);

	/* Copied upwards: the source reaches the edge first. */
	BATTERY_EQ(hf_move_nofault(edge - 90, edge - 80, 100), 20);
	put(expected + ROOM - 90, expected + ROOM - 80, 80);
	BATTERY_TRUE(as_expected(edge));
	/* Copied downwards: nothing, if the end is inaccessible. */
	BATTERY_EQ(hf_move_nofault(edge - 80, edge - 90, 100), 100);
	BATTERY_TRUE(as_expected(edge));
}

static void lists_and_words(void)
{
	unsigned char *edge = fill();
	struct hf_iovec to[3] = { { edge - 100, 10 }, { NULL, 0 }, { edge - 7, 20 } };
	struct hf_iovec from[2] = { { pattern, 13 }, { pattern + 40, 50 } };
	struct hf_iovec_stop stop;

	if (!edge)
		return;
	BATTERY_EQ(hf_copy_iovec_nofault(to, 3, from, 2, &stop), 13);
	BATTERY_TRUE(stop.done == 17 && stop.dst == 2 && stop.dst_offset == 7 && stop.src == 1 &&
		     stop.src_offset == 4);
	put(expected + ROOM - 100, pattern, 10);
	put(expected + ROOM - 7, pattern + 10, 3);
	put(expected + ROOM - 4, pattern + 40, 4);
	BATTERY_TRUE(as_expected(edge));

	BATTERY_EQ(hf_copy_nofault_words(edge - 24, edge - 104, 3), 0);
	BATTERY_EQ(hf_copy_nofault_words(edge - 24, edge - 104, 7), 4);
	BATTERY_EQ(hf_copy_nofault_words(edge - 104, edge - 16, 5), 3);
	BATTERY_EQ(hf_copy_nofault_words(edge - 20, edge - 104, 2), 2);
	put(expected + ROOM - 24, expected + ROOM - 104, 24);
	put(expected + ROOM - 104, expected + ROOM - 16, 16);
	BATTERY_TRUE(as_expected(edge));
}
#endif

static const struct battery_case cases[] = {
	{ "clear_stops_at_the_edge", clear_stops_at_the_edge, NULL },
	{ "copy_to_stops_at_the_edge", copy_to_stops_at_the_edge, NULL },
	{ "copy_from_stops_at_the_edge", copy_from_stops_at_the_edge, NULL },
	{ "both_sides", both_sides, NULL },
	{ "loads_and_stores", loads_and_stores, NULL },
	{ "compare_and_swap", compare_and_swap, NULL },
	{ "exchange_and_add", exchange_and_add, NULL },
#if !HF_ENV_HAS_CLEAR
	{ "fill_search_and_move", fill_search_and_move, NULL },
	{ "lists_and_words", lists_and_words, NULL },
#endif
};

const struct battery_suite nofault_suite = BATTERY_SUITE("nofault", cases);
