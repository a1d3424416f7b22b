/* SPDX-License-Identifier: MIT */
/*
 * lockref_waitfree_cases - the effect of each operation on a count in each zone, with the lock free
 * and held.
 */
#include "battery.h"

#include "holdfast/lockref_waitfree.h"

static hf_lockref_waitfree_t l;

/* The count's 32 bits: they show the zone, which read() does not. */
static uint32_t bits(void)
{
	return hf_atomic64_load_high32_relaxed(&l.word);
}

/* Checks, at the end of a case, that the lock half excludes, and leaves the count alone. */
static void lock_is_free(const char *name)
{
	uint32_t before = bits();

	if (!battery_true(hf_lockref_waitfree_trylock(&l), name, __LINE__))
		return;
	battery_true(!hf_lockref_waitfree_trylock(&l), name, __LINE__);
	hf_lockref_waitfree_unlock(&l);
	battery_true(bits() == before, name, __LINE__);
}

static void initialisers(void)
{
	hf_lockref_waitfree_t none = HF_LOCKREF_WAITFREE_INIT(0),
			      three = HF_LOCKREF_WAITFREE_INIT(3);

	BATTERY_EQ(sizeof(l), 8);
	BATTERY_EQ(__alignof__(l), 8);
	BATTERY_EQ(hf_lockref_waitfree_read(&none), 0);
	BATTERY_EQ(hf_lockref_waitfree_read(&three), 3);
	hf_lockref_waitfree_init(&l, INT32_MAX);
	BATTERY_EQ(hf_lockref_waitfree_read(&l), INT32_MAX);
	lock_is_free("init");
	BATTERY_QUIET();
}

#define MOST 0x7fffffffu
#define SATURATED 0x90000000u
#define DEAD 0xc0000000u

enum operation { GET, GET_NOT_DEAD, GET_ACQUIRE, PUT_RETURN, PUT_OR_LOCK, MARK_DEAD, REVIVE };

/* The effect of an operation: the count before and after, the result, and the report. */
static const struct row {
	const char *name;
	enum operation op;
	uint32_t before, after;
	int32_t result;
	int kind;
	uint32_t argument; /* of mark_dead and revive */
} rows[] = {
	{ "get of 1", GET, 1, 2, true, QUIET, 0 },
	{ "get to the limit", GET, MOST - 1, MOST, true, QUIET, 0 },
	{ "get past the limit", GET, MOST, SATURATED, true, HF_REPORT_LOCKREF_OVF, 0 },
	{ "get, dead", GET, DEAD, DEAD + 1, true, HF_REPORT_LOCKREF_DEAD, 0 },
	{ "get_not_dead of none", GET_NOT_DEAD, 0, 1, true, QUIET, 0 },
	{ "get_not_dead past the limit", GET_NOT_DEAD, MOST, SATURATED, true, HF_REPORT_LOCKREF_OVF,
	  0 },
	{ "get_not_dead_acquire", GET_ACQUIRE, 2, 3, true, QUIET, 0 },
	{ "get_not_dead_acquire, dead", GET_ACQUIRE, DEAD, DEAD + 1, false, QUIET, 0 },
	{ "put_return of 4", PUT_RETURN, 4, 3, 3, QUIET, 0 },
	{ "put_return of 1", PUT_RETURN, 1, 0, 0, QUIET, 0 },
	{ "put_return of the limit", PUT_RETURN, MOST, MOST - 1, INT32_MAX - 1, QUIET, 0 },
	/* One put too many on a live object saturates the count: the object leaks. */
	{ "put_return of none", PUT_RETURN, 0, SATURATED, -1, HF_REPORT_LOCKREF_PUT, 0 },
	{ "put_return, dead", PUT_RETURN, DEAD, DEAD - 1, -1, HF_REPORT_LOCKREF_PUT, 0 },
	{ "put_or_lock of 2", PUT_OR_LOCK, 2, 1, true, QUIET, 0 },
	{ "put_or_lock, the last", PUT_OR_LOCK, 1, 0, false, QUIET, 0 },
	{ "put_or_lock of none", PUT_OR_LOCK, 0, SATURATED, true, HF_REPORT_LOCKREF_PUT, 0 },
	{ "put_or_lock, dead", PUT_OR_LOCK, DEAD, DEAD - 1, true, HF_REPORT_LOCKREF_PUT, 0 },

	/* Succeeds only with the exact number of references, and only once. */
	{ "mark_dead of none", MARK_DEAD, 0, DEAD, true, QUIET, 0 },
	{ "mark_dead, found again", MARK_DEAD, 1, 1, false, QUIET, 0 },
	{ "mark_dead, too few", MARK_DEAD, 2, 2, false, QUIET, 1 },
	{ "mark_dead, too many", MARK_DEAD, 2, 2, false, QUIET, 3 },
	{ "mark_dead of 2", MARK_DEAD, 2, DEAD, true, QUIET, 2 },
	{ "mark_dead, dead", MARK_DEAD, DEAD, DEAD, false, QUIET, DEAD },
	{ "mark_dead again", MARK_DEAD, DEAD, DEAD, false, QUIET, 0 },
	{ "mark_dead, saturated", MARK_DEAD, SATURATED, SATURATED, false, QUIET, 0 },
	{ "mark_dead, saturated", MARK_DEAD, SATURATED, SATURATED, false, QUIET, MOST },
	/* Failed gets are not added to the count. */
	{ "revive", REVIVE, DEAD + 10, 2, true, QUIET, 2 },
	{ "revive, alive", REVIVE, 2, 2, false, QUIET, 5 },
	{ "revive, saturated", REVIVE, SATURATED, SATURATED, false, QUIET, 1 },

	/* Dead stays dead: a count more than half of the way to either end of the zone is reset. */
	{ "dead, half of the way up", GET_NOT_DEAD, 0xcfffffffu, 0xd0000000u, false, QUIET, 0 },
	{ "dead, beyond it", GET_NOT_DEAD, 0xd0000000u, DEAD, false, QUIET, 0 },
	{ "dead, at the upper end", GET_NOT_DEAD, 0xdffffff0u, DEAD, false, QUIET, 0 },
	{ "dead, half of the way down", PUT_RETURN, 0xb0000001u, 0xb0000000u, -1,
	  HF_REPORT_LOCKREF_PUT, 0 },
	{ "dead, at the lower end", PUT_RETURN, 0xa0000010u, DEAD, -1, HF_REPORT_LOCKREF_PUT, 0 },

	/* Saturated counts stay saturated, on both sides of the dead zone. */
	{ "saturated, get", GET_NOT_DEAD, 0x80000000u, SATURATED, true, HF_REPORT_LOCKREF_OVF, 0 },
	{ "saturated, get", GET_NOT_DEAD, SATURATED, SATURATED, true, HF_REPORT_LOCKREF_OVF, 0 },
	{ "saturated, get", GET_NOT_DEAD, 0x9ffffff0u, SATURATED, true, HF_REPORT_LOCKREF_OVF, 0 },
	{ "saturated, get", GET_NOT_DEAD, 0xe0000010u, SATURATED, true, HF_REPORT_LOCKREF_OVF, 0 },
	{ "saturated, get", GET_NOT_DEAD, 0xfffffff0u, SATURATED, true, HF_REPORT_LOCKREF_OVF, 0 },
	{ "saturated, put", PUT_RETURN, SATURATED, SATURATED, INT32_MAX, QUIET, 0 },
	{ "saturated, put", PUT_RETURN, 0x9ffffff0u, SATURATED, INT32_MAX, QUIET, 0 },
	{ "saturated, put", PUT_RETURN, 0xe0000010u, SATURATED, INT32_MAX, QUIET, 0 },
	{ "saturated, put", PUT_OR_LOCK, SATURATED, SATURATED, true, QUIET, 0 },
	{ "saturated, put", PUT_OR_LOCK, 0x9ffffff0u, SATURATED, true, QUIET, 0 },
	{ "saturated, put", PUT_OR_LOCK, 0xfffffff0u, SATURATED, true, QUIET, 0 },
};

/* Returns the operation's result, or true if it has none. */
static int32_t apply(const struct row *row)
{
	switch (row->op) {
	case GET:
		hf_lockref_waitfree_get(&l);
		return true;
	case GET_NOT_DEAD:
		return hf_lockref_waitfree_get_not_dead(&l);
	case GET_ACQUIRE:
		return hf_lockref_waitfree_get_not_dead_acquire(&l);
	case PUT_RETURN:
		return hf_lockref_waitfree_put_return(&l);
	case PUT_OR_LOCK:
		return hf_lockref_waitfree_put_or_lock(&l);
	case MARK_DEAD:
		return hf_lockref_waitfree_mark_dead(&l, (int32_t)row->argument);
	default:
		return hf_lockref_waitfree_revive(&l, (int32_t)row->argument);
	}
}

/* Checks what read() and is_dead() return for a count: a number, dead, or INT32_MAX. */
static void check_reads(const char *name, uint32_t is)
{
	bool dead = is >= 0xa0000000u && is < 0xe0000000u;

	battery_true(bits() == is, name, __LINE__);
	battery_true(hf_lockref_waitfree_is_dead(&l) == dead, name, __LINE__);
	battery_equal(hf_lockref_waitfree_read(&l),
		      dead         ? -1
		      : is <= MOST ? (int32_t)is
				   : INT32_MAX,
		      name, __LINE__);
}

/* Checks a row with the lock free or held, unless the operation takes the lock or requires it. */
static void check(const struct row *row, bool held)
{
	bool locks = row->op == PUT_OR_LOCK && !row->result;

	if (held ? locks : row->op >= MARK_DEAD)
		return;
	hf_lockref_waitfree_init(&l, 0);
	if (held)
		hf_lockref_waitfree_lock(&l);
	hf_atomic64_store_high32_relaxed(&l.word, row->before);
	check_reads(row->name, row->before);
	battery_equal(apply(row), row->result, row->name, __LINE__);
	check_reads(row->name, row->after);
	BATTERY_REPORTED(row->kind, &l);
	if (held || locks) {
		if (!battery_true(!hf_lockref_waitfree_trylock(&l), row->name, __LINE__))
			return; /* the lock should be held */
		hf_lockref_waitfree_unlock(&l);
	}
	lock_is_free(row->name);
}

static void each_count(void)
{
	for (unsigned int i = 0; i < BATTERY_COUNT(rows); i++) {
		check(&rows[i], false);
		check(&rows[i], true);
	}
}

static void without_the_lock(void)
{
	hf_lockref_waitfree_init(&l, 0);
	BATTERY_TRUE(!hf_lockref_waitfree_mark_dead(&l, 0));
	BATTERY_REPORTED(HF_REPORT_LOCKREF_UNLOCKED, &l);
	check_reads("mark_dead", 0);
	hf_atomic64_store_high32_relaxed(&l.word, DEAD);
	BATTERY_TRUE(!hf_lockref_waitfree_revive(&l, 1));
	BATTERY_REPORTED(HF_REPORT_LOCKREF_UNLOCKED, &l);
	check_reads("revive", DEAD);
	lock_is_free("without the lock");
}

static const struct battery_case cases[] = {
	{ "initialisers", initialisers, NULL },
	{ "each_count", each_count, NULL },
	{ "without_the_lock", without_the_lock, NULL },
};

const struct battery_suite lockref_waitfree_suite = BATTERY_SUITE("lockref.waitfree", cases);
