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

#if !HF_ENV_HAS_CLEAR
#include "../../lab/variants/nofault/implementations.h"
#endif

enum { ROOM = 512, SIZES = 130, FILL = 0x55 };

static unsigned char expected[ROOM], found[ROOM], pattern[ROOM];

static void set(unsigned char *to, size_t len, unsigned char byte)
{
	for (size_t i = 0; i < len; i++)
		((volatile unsigned char *)to)[i] = byte;
}

/* Fills the accessible bytes, and `expected`. */
static bool fill(unsigned char *edge)
{
	for (size_t i = 0; i < ROOM; i++)
		pattern[i] = (unsigned char)(i * 7 + 1);
	set(expected, ROOM, FILL);
	return BATTERY_EQ(hf_copy_to_nofault(edge - ROOM, expected, ROOM), 0);
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

/* Ranges of `size` bytes that begin `good` bytes before the edge: it is in the range, or behind it. */
#define EACH_RANGE(size, good)                                                                     \
	for (size_t size = 0; size <= SIZES; size += size < 20 ? 1 : 11)                           \
		for (size_t good = 0; good <= size + 2; good += good < 20 ? 1 : 7)

static void clear_each_range(size_t (*clear)(void *dst, size_t len))
{
	unsigned char *edge = battery_env_edge();

	if (!BATTERY_TRUE(edge != NULL))
		return;
	EACH_RANGE(size, good)
	{
		size_t done = size < good ? size : good;

		if (!fill(edge))
			return;
		set(expected + ROOM - good, done, 0);
		if (!BATTERY_EQ(clear(edge - good, size), size - done) ||
		    !BATTERY_TRUE(as_expected(edge)))
			return;
	}
}

static size_t clear_default(void *dst, size_t len)
{
	return hf_clear_nofault(dst, len);
}

static void clear_stops_at_the_edge(void)
{
	clear_each_range(clear_default);
}

static void copy_to_each_range(size_t (*copy)(void *dst, const void *src, size_t len))
{
	unsigned char *edge = battery_env_edge();

	if (!BATTERY_TRUE(edge != NULL))
		return;
	EACH_RANGE(size, good)
	{
		size_t done = size < good ? size : good;

		if (!fill(edge))
			return;
		for (size_t i = 0; i < done; i++)
			expected[ROOM - good + i] = pattern[i];
		if (!BATTERY_EQ(copy(edge - good, pattern, size), size - done) ||
		    !BATTERY_TRUE(as_expected(edge)))
			return;
	}
}

static size_t copy_to_default(void *dst, const void *src, size_t len)
{
	return hf_copy_to_nofault(dst, src, len);
}

static void copy_to_stops_at_the_edge(void)
{
	copy_to_each_range(copy_to_default);
}

static void copy_from_each_range(size_t (*copy)(void *dst, const void *src, size_t len))
{
	unsigned char *edge = battery_env_edge();

	if (!BATTERY_TRUE(edge != NULL) || !fill(edge))
		return;
	if (!BATTERY_EQ(hf_copy_to_nofault(edge - ROOM, pattern, ROOM), 0))
		return;
	EACH_RANGE(size, good)
	{
		size_t done = size < good ? size : good;

		set(found, ROOM, FILL);
		set(expected, ROOM, FILL);
		for (size_t i = 0; i < done; i++)
			expected[i] = pattern[ROOM - good + i];
		if (!BATTERY_EQ(copy(found, edge - good, size), size - done) ||
		    !BATTERY_TRUE(same(found, expected, ROOM)))
			return;
	}
}

static size_t copy_from_default(void *dst, const void *src, size_t len)
{
	return hf_copy_from_nofault(dst, src, len);
}

static void copy_from_stops_at_the_edge(void)
{
	copy_from_each_range(copy_from_default);
}

#if !HF_ENV_HAS_CLEAR
/* Each implementation, where they can be called by name and all memory belongs to the program. */
static void each_implementation(void)
{
	const struct hf_variant_clear *clear;
	const struct hf_variant_copy *copy;
	size_t clears, copies;

	clear = hf_variant_clears(&clears);
	for (size_t i = 0; i < clears; i++) {
		if (clear[i].is_legal())
			clear_each_range(clear[i].function);
	}
	copy = hf_variant_copies(&copies);
	for (size_t i = 0; i < copies; i++) {
		if (!copy[i].is_legal())
			continue;
		copy_to_each_range(copy[i].function);
		copy_from_each_range(copy[i].function);
	}
	BATTERY_TRUE(clears > 0 && copies > 0);
}
#endif

static void both_sides(void)
{
	unsigned char *edge = battery_env_edge();

	if (!BATTERY_TRUE(edge != NULL) || !fill(edge))
		return;
	BATTERY_EQ(hf_copy_nofault(edge - 64, edge - 128, 64), 0);
	BATTERY_EQ(hf_copy_nofault(edge - 10, edge - 128, 64), 54);
	BATTERY_EQ(hf_copy_nofault(edge - 128, edge - 10, 64), 54);
	BATTERY_TRUE(as_expected(edge));
}

static void loads_and_stores(void)
{
	unsigned char *edge = battery_env_edge();
	uint8_t byte = 1;
	uint16_t two = 1;
	uint32_t four = 1;
	uint64_t eight = 1;

	if (!BATTERY_TRUE(edge != NULL) || !fill(edge))
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
	unsigned char *edge = battery_env_edge();
	uint32_t four = 7;
	uint64_t eight = 7;

	if (!BATTERY_TRUE(edge != NULL) || !fill(edge))
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
	unsigned char *edge = battery_env_edge();
	uint32_t four = 7;
	uint64_t eight = 7;

	if (!BATTERY_TRUE(edge != NULL) || !fill(edge))
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
static void fill_stops_at_the_edge(void)
{
	unsigned char *edge = battery_env_edge();

	if (!BATTERY_TRUE(edge != NULL))
		return;
	EACH_RANGE(size, good)
	{
		size_t done = size < good ? size : good;

		if (!fill(edge))
			return;
		set(expected + ROOM - good, done, 0x81);
		if (!BATTERY_EQ(hf_fill_nofault(edge - good, 0x81, size), size - done) ||
		    !BATTERY_TRUE(as_expected(edge)))
			return;
	}
}

/* Moves each range by `by` bytes, where source and destination overlap. */
static bool move_each_range(unsigned char *edge, size_t by)
{
	EACH_RANGE(size, good)
	{
		size_t done = size < good ? size : good, first = ROOM - good, left;

		if (size <= by)
			continue;
		/*
		 * Copying upwards: the source is `by` bytes above the destination and reaches the
		 * edge first.
		 */
		done = good < by ? 0 : done < good - by ? done : good - by;
		if (!fill(edge) || !BATTERY_EQ(hf_copy_to_nofault(edge - ROOM, pattern, ROOM), 0))
			return false;
		for (size_t i = 0; i < ROOM; i++)
			expected[i] = pattern[i];
		for (size_t i = 0; i < done; i++)
			expected[first + i] = pattern[first + by + i];
		if (!BATTERY_EQ(hf_move_nofault(edge - good, edge - good + by, size),
				size - done) ||
		    !BATTERY_TRUE(as_expected(edge)))
			return false;
		/*
		 * Copying downwards: if the range's end is inaccessible nothing is copied, else
		 * everything.
		 */
		left = good < size + by ? size : 0;
		for (size_t i = 0; i < ROOM; i++)
			expected[i] = pattern[i];
		for (size_t i = 0; !left && i < size; i++)
			expected[first + by + i] = pattern[first + i];
		if (!BATTERY_EQ(hf_copy_to_nofault(edge - ROOM, pattern, ROOM), 0) ||
		    !BATTERY_EQ(hf_move_nofault(edge - good + by, edge - good, size), left) ||
		    !BATTERY_TRUE(as_expected(edge)))
			return false;
	}
	return true;
}

static void move_stops_at_the_edge(void)
{
	unsigned char *edge = battery_env_edge();

	if (BATTERY_TRUE(edge != NULL) && move_each_range(edge, 1))
		move_each_range(edge, 9);
}

static void search_and_comparison_stop_at_the_edge(void)
{
	unsigned char *edge = battery_env_edge();
	size_t at;

	if (!BATTERY_TRUE(edge != NULL) || !fill(edge))
		return;
	EACH_RANGE(size, good)
	{
		size_t done = size < good ? size : good;

		at = 999;
		if (!BATTERY_EQ(hf_find_nofault(edge - good, 0x54, size, &at),
				done < size ? -HF_EFAULT : -HF_ENOENT) ||
		    !BATTERY_EQ(at, done) ||
		    !BATTERY_EQ(hf_compare_nofault(edge - good, expected, size, &at),
				done < size ? -HF_EFAULT : 0) ||
		    !BATTERY_EQ(at, done))
			return;
		if (!done)
			continue;
		/* The last accessible byte. */
		edge[(long)done - (long)good - 1] = 0;
		if (!BATTERY_EQ(hf_length_nofault((char *)edge - good, size, &at), 0) ||
		    !BATTERY_EQ(at, done - 1) ||
		    !BATTERY_EQ(hf_compare_nofault(edge - good, expected, size, &at), -1) ||
		    !BATTERY_EQ(at, done - 1) ||
		    !BATTERY_EQ(hf_compare_nofault(expected, edge - good, size, &at), 1))
			return;
		edge[(long)done - (long)good - 1] = FILL;
	}
}

static void lists_and_words(void)
{
	unsigned char *edge = battery_env_edge();
	struct hf_iovec to[3], from[2];
	struct hf_iovec_stop stop;

	if (!BATTERY_TRUE(edge != NULL) || !fill(edge))
		return;
	to[0].base = edge - 100;
	to[0].len = 10;
	to[1].base = NULL;
	to[1].len = 0;
	to[2].base = edge - 7;
	to[2].len = 20;
	from[0].base = pattern;
	from[0].len = 13;
	from[1].base = pattern + 40;
	from[1].len = 50;
	BATTERY_EQ(hf_copy_iovec_nofault(to, 3, from, 2, &stop), 13);
	BATTERY_TRUE(stop.done == 17 && stop.dst == 2 && stop.dst_offset == 7 && stop.src == 1 &&
		     stop.src_offset == 4);
	for (size_t i = 0; i < 10; i++)
		expected[ROOM - 100 + i] = pattern[i];
	for (size_t i = 0; i < 7; i++)
		expected[ROOM - 7 + i] = i < 3 ? pattern[10 + i] : pattern[40 + i - 3];
	BATTERY_TRUE(as_expected(edge));

	BATTERY_EQ(hf_copy_nofault_words(edge - 24, edge - 104, 3), 0);
	BATTERY_EQ(hf_copy_nofault_words(edge - 24, edge - 104, 7), 4);
	BATTERY_EQ(hf_copy_nofault_words(edge - 104, edge - 16, 5), 3);
	BATTERY_EQ(hf_copy_nofault_words(edge - 20, edge - 104, 2), 2);
	for (size_t i = 0; i < 24; i++)
		expected[ROOM - 24 + i] = expected[ROOM - 104 + i];
	for (size_t i = 0; i < 16; i++)
		expected[ROOM - 104 + i] = expected[ROOM - 16 + i];
	BATTERY_TRUE(as_expected(edge));
}
#endif

static const struct battery_case cases[] = {
	{ "clear_stops_at_the_edge", clear_stops_at_the_edge, NULL },
	{ "copy_to_stops_at_the_edge", copy_to_stops_at_the_edge, NULL },
	{ "copy_from_stops_at_the_edge", copy_from_stops_at_the_edge, NULL },
#if !HF_ENV_HAS_CLEAR
	{ "each_implementation", each_implementation, NULL },
#endif
	{ "both_sides", both_sides, NULL },
	{ "loads_and_stores", loads_and_stores, NULL },
	{ "compare_and_swap", compare_and_swap, NULL },
	{ "exchange_and_add", exchange_and_add, NULL },
#if !HF_ENV_HAS_CLEAR
	{ "fill_stops_at_the_edge", fill_stops_at_the_edge, NULL },
	{ "move_stops_at_the_edge", move_stops_at_the_edge, NULL },
	{ "search_and_comparison_stop_at_the_edge", search_and_comparison_stop_at_the_edge, NULL },
	{ "lists_and_words", lists_and_words, NULL },
#endif
};

const struct battery_suite nofault_suite = BATTERY_SUITE("nofault", cases);
