/* SPDX-License-Identifier: MIT */
/* rcuref_cases - the effect of get and put on a count in each zone, given as the word's bits. */
#include "battery.h"

#include "holdfast/rcuref.h"

static hf_rcuref_t r;

static uint32_t bits(void)
{
	return hf_atomic32_load_relaxed(&r.refs);
}

static void initialisers(void)
{
	hf_rcuref_t one = HF_RCUREF_INIT(1), many = HF_RCUREF_INIT(HF_RCUREF_MAX),
		    dead = HF_RCUREF_INIT(0);

	BATTERY_EQ(hf_rcuref_read(&one), 1);
	BATTERY_TRUE(hf_rcuref_read(&many) == HF_RCUREF_MAX);
	BATTERY_EQ(hf_rcuref_read(&dead), 0);
	BATTERY_TRUE(!hf_rcuref_get(&dead));
	hf_rcuref_init(&r, 1);
	BATTERY_TRUE(bits() == 0);
	hf_rcuref_init(&r, 0);
	BATTERY_TRUE(!hf_rcuref_get(&r));
	hf_rcuref_init_release(&r, 7);
	BATTERY_EQ(hf_rcuref_read(&r), 7);
	hf_rcuref_init_release(&r, 0);
	BATTERY_TRUE(!hf_rcuref_get(&r));
	BATTERY_QUIET();
}

#define NONE 0xffffffffu
#define MOST 0x7fffffffu
#define SATURATED 0xa0000000u
#define DEAD 0xe0000000u

enum operation { GET, GET_ACQUIRE, PUT };

/* The effect of an operation: the count before and after, the result, and the report. */
static const struct row {
	const char *name;
	enum operation op;
	uint32_t before, after;
	bool result;
	int kind;
} rows[] = {
	{ "get of 1", GET, 0, 1, true, QUIET },
	{ "get_acquire of 2", GET_ACQUIRE, 1, 2, true, QUIET },
	{ "put of 3", PUT, 2, 1, false, QUIET },
	{ "put of 2", PUT, 1, 0, false, QUIET },
	{ "put, the last", PUT, 0, DEAD, true, QUIET },
	{ "get to the limit", GET, MOST - 1, MOST, true, QUIET },
	{ "get past the limit", GET, MOST, SATURATED, true, HF_REPORT_RCUREF_OVF },
	/* No reference is left, but the last put has not marked it dead yet: a get revives it. */
	{ "get of none", GET, NONE, 0, true, QUIET },

	/* Failed gets leave it dead: half of the way to an end of the zone the count is reset. */
	{ "get, dead", GET, DEAD, DEAD + 1, false, QUIET },
	{ "get_acquire, dead", GET_ACQUIRE, DEAD, DEAD + 1, false, QUIET },
	{ "get, dead, half of the way up", GET, 0xf0000000u, DEAD, false, QUIET },
	{ "get, dead, at the upper end", GET, 0xfffffff0u, DEAD, false, QUIET },
	{ "get, dead, at the lower end", GET, 0xc0000000u, DEAD, false, QUIET },
	{ "put, dead", PUT, DEAD, DEAD - 1, false, HF_REPORT_RCUREF_DEAD },
	{ "put, dead, half of the way down", PUT, 0xd0000000u, DEAD, false, HF_REPORT_RCUREF_DEAD },

	/* A saturated count stays saturated in either direction: the object is never freed. */
	{ "get, saturated", GET, 0x80000000u, SATURATED, true, HF_REPORT_RCUREF_OVF },
	{ "put, saturated", PUT, SATURATED, SATURATED, false, QUIET },
	{ "put, saturated, at the upper end", PUT, 0xbfffffffu, SATURATED, false, QUIET },
};

static void check_reads(const char *name, uint32_t is)
{
	bool live = is <= MOST, saturated = is > MOST && is < 0xc0000000u;

	battery_true(bits() == is, name, __LINE__);
	battery_true(hf_rcuref_read(&r) == (live        ? is + 1
					    : saturated ? HF_RCUREF_MAX + 1
							: 0),
		     name, __LINE__);
	battery_true(hf_rcuref_headroom(&r) == (live ? MOST - is : 0), name, __LINE__);
}

static void each_count(void)
{
	for (unsigned int i = 0; i < BATTERY_COUNT(rows); i++) {
		const struct row *row = &rows[i];

		hf_atomic32_store_relaxed(&r.refs, row->before);
		check_reads(row->name, row->before);
		battery_equal(row->op == PUT   ? hf_rcuref_put(&r)
			      : row->op == GET ? hf_rcuref_get(&r)
					       : hf_rcuref_get_acquire(&r),
			      row->result, row->name, __LINE__);
		check_reads(row->name, row->after);
		BATTERY_REPORTED(row->kind, &r);
	}
}

static const struct battery_case cases[] = {
	{ "initialisers", initialisers, NULL },
	{ "each_count", each_count, NULL },
};

const struct battery_suite rcuref_suite = BATTERY_SUITE("rcuref", cases);
