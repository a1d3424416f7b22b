/* SPDX-License-Identifier: MIT */
/* rcuref_cases - get and put in each zone; the hexadecimal numbers are the word's bits. */
#include "battery.h"

#include "holdfast/rcuref.h"

static hf_rcuref_t r;

static uint32_t bits(void)
{
	return hf_atomic32_load_relaxed(&r.refs);
}

static void set_bits(uint32_t value)
{
	hf_atomic32_store_relaxed(&r.refs, value);
}

static void live(void)
{
	hf_rcuref_init(&r, 1);
	BATTERY_EQ(hf_rcuref_read(&r), 1);
	BATTERY_TRUE(hf_rcuref_get(&r));
	BATTERY_TRUE(hf_rcuref_get_acquire(&r));
	BATTERY_EQ(hf_rcuref_read(&r), 3);
	BATTERY_TRUE(!hf_rcuref_put(&r));
	BATTERY_TRUE(!hf_rcuref_put(&r));
	BATTERY_EQ(hf_rcuref_read(&r), 1);
	BATTERY_TRUE(hf_rcuref_put(&r));
	BATTERY_EQ(hf_rcuref_read(&r), 0);
	BATTERY_QUIET();
}

static void initialisers(void)
{
	hf_rcuref_t one = HF_RCUREF_INIT(1), many = HF_RCUREF_INIT(HF_RCUREF_MAX),
		    dead = HF_RCUREF_INIT(0);

	BATTERY_EQ(hf_rcuref_read(&one), 1);
	BATTERY_TRUE(hf_rcuref_read(&many) == HF_RCUREF_MAX);
	BATTERY_EQ(hf_rcuref_read(&dead), 0);
	BATTERY_TRUE(!hf_rcuref_get(&dead));
	hf_rcuref_init(&r, 0);
	BATTERY_TRUE(!hf_rcuref_get(&r));
	hf_rcuref_init_release(&r, 7);
	BATTERY_EQ(hf_rcuref_read(&r), 7);
	hf_rcuref_init_release(&r, 0);
	BATTERY_TRUE(!hf_rcuref_get(&r));
	BATTERY_QUIET();
}

/* Failed gets leave it dead: half of the way to either end of the zone the count is reset. */
static void dead(void)
{
	hf_rcuref_init(&r, 1);
	BATTERY_TRUE(hf_rcuref_put(&r));
	for (int i = 0; i < 100; i++)
		BATTERY_TRUE(!hf_rcuref_get(&r));
	BATTERY_TRUE(!hf_rcuref_get_acquire(&r));
	BATTERY_EQ(hf_rcuref_headroom(&r), 0);
	BATTERY_QUIET();
	set_bits(0xf0000000u);
	BATTERY_TRUE(!hf_rcuref_get(&r));
	BATTERY_TRUE(bits() == 0xe0000000u);
	set_bits(0xfffffff0u);
	BATTERY_TRUE(!hf_rcuref_get(&r));
	BATTERY_TRUE(bits() == 0xe0000000u);
	BATTERY_QUIET();
}

/* One put too many is reported, and no object dies twice. */
static void put_too_many(void)
{
	hf_rcuref_init(&r, 1);
	BATTERY_TRUE(hf_rcuref_put(&r));
	BATTERY_TRUE(!hf_rcuref_put(&r));
	BATTERY_REPORTED(HF_REPORT_RCUREF_DEAD, &r);
	BATTERY_TRUE(!hf_rcuref_get(&r));
	set_bits(0xd0000000u);
	BATTERY_TRUE(!hf_rcuref_put(&r));
	BATTERY_REPORTED(HF_REPORT_RCUREF_DEAD, &r);
	BATTERY_TRUE(bits() == 0xe0000000u);
	set_bits(0xc0000000u);
	BATTERY_TRUE(!hf_rcuref_get(&r));
	BATTERY_TRUE(bits() == 0xe0000000u);
	BATTERY_QUIET();
}

/* No reference is left, but the last put has not marked it dead yet: a get revives it. */
static void none(void)
{
	set_bits(0xffffffffu);
	BATTERY_EQ(hf_rcuref_read(&r), 0);
	BATTERY_TRUE(hf_rcuref_get(&r));
	BATTERY_EQ(hf_rcuref_read(&r), 1);
	BATTERY_TRUE(hf_rcuref_put(&r));
	BATTERY_QUIET();
}

static void top(void)
{
	hf_rcuref_init(&r, HF_RCUREF_MAX - 1);
	BATTERY_EQ(hf_rcuref_headroom(&r), 1);
	BATTERY_TRUE(hf_rcuref_get(&r));
	BATTERY_EQ(hf_rcuref_headroom(&r), 0);
	BATTERY_TRUE(hf_rcuref_read(&r) == HF_RCUREF_MAX);
	BATTERY_QUIET();
	BATTERY_TRUE(hf_rcuref_get(&r));
	BATTERY_REPORTED(HF_REPORT_RCUREF_OVF, &r);
	BATTERY_TRUE(bits() == 0xa0000000u);
	BATTERY_TRUE(hf_rcuref_read(&r) == HF_RCUREF_MAX + 1);
}

/* A saturated count stays saturated in either direction: the object is never freed. */
static void saturated(void)
{
	set_bits(0x80000000u);
	BATTERY_EQ(hf_rcuref_headroom(&r), 0);
	BATTERY_TRUE(hf_rcuref_get(&r));
	BATTERY_REPORTED(HF_REPORT_RCUREF_OVF, &r);
	BATTERY_TRUE(bits() == 0xa0000000u);
	BATTERY_TRUE(!hf_rcuref_put(&r));
	BATTERY_TRUE(bits() == 0xa0000000u);
	set_bits(0xbfffffffu);
	BATTERY_TRUE(!hf_rcuref_put(&r));
	BATTERY_TRUE(bits() == 0xa0000000u);
	BATTERY_QUIET();
}

static void left(void)
{
	hf_rcuref_init(&r, 1);
	BATTERY_TRUE(hf_rcuref_headroom(&r) == HF_RCUREF_MAX - 1);
	BATTERY_TRUE(hf_rcuref_get(&r));
	BATTERY_TRUE(hf_rcuref_headroom(&r) == HF_RCUREF_MAX - 2);
	BATTERY_QUIET();
}

static const struct battery_case cases[] = {
	{ "live", live, NULL }, { "initialisers", initialisers, NULL },
	{ "dead", dead, NULL }, { "put_too_many", put_too_many, NULL },
	{ "none", none, NULL }, { "top", top, NULL },
	{ "left", left, NULL }, { "saturated", saturated, NULL },
};

const struct battery_suite rcuref_suite = BATTERY_SUITE("rcuref", cases);
