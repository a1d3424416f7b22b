/* SPDX-License-Identifier: MIT */
/*
 * nofault_cases - clear, copy and single words at the edge of memory that is not there.
 *
 *      battery_world_edge() - ROOM            the edge
 *      |  good bytes                          |  none
 *
 * In a kernel that memory is a user's, so the cases look at it by copies only.
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

/* Sets the good bytes, and what is expected of them. */
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

/* Ranges with `good` bytes before the edge: each size with each place of the edge, and beyond. */
#define EACH_RANGE(size, good)                                                                     \
	for (size_t size = 0; size <= SIZES; size += size < 20 ? 1 : 11)                           \
		for (size_t good = 0; good <= size + 2; good += good < 20 ? 1 : 7)

static void clear_each_range(size_t (*clear)(void *dst, size_t len))
{
	unsigned char *edge = battery_world_edge();

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
	unsigned char *edge = battery_world_edge();

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
	unsigned char *edge = battery_world_edge();

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
/* Each implementation, where they can be called by name and all memory is the program's. */
static void each_implementation(void)
{
	const struct hf_clear_implementation *clear;
	const struct hf_copy_implementation *copy;
	size_t clears, copies;

	clear = hf_clear_implementations(&clears);
	for (size_t i = 0; i < clears; i++) {
		if (clear[i].is_legal())
			clear_each_range(clear[i].function);
	}
	copy = hf_copy_implementations(&copies);
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
	unsigned char *edge = battery_world_edge();

	if (!BATTERY_TRUE(edge != NULL) || !fill(edge))
		return;
	BATTERY_EQ(hf_copy_nofault(edge - 64, edge - 128, 64), 0);
	BATTERY_EQ(hf_copy_nofault(edge - 10, edge - 128, 64), 54);
	BATTERY_EQ(hf_copy_nofault(edge - 128, edge - 10, 64), 54);
	BATTERY_TRUE(as_expected(edge));
}

static void loads_and_stores(void)
{
	unsigned char *edge = battery_world_edge();
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
	unsigned char *edge = battery_world_edge();
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
}

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
};

const struct battery_suite nofault_suite = BATTERY_SUITE("nofault", cases);
