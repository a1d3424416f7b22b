/* SPDX-License-Identifier: MIT */
/*
 * lockref_cases - the effect of each lockref operation, and the handling of misuse. The lab runs
 * the same cases for its variants (lab/variants/in_place.h).
 */
#include "battery.h"

#include "holdfast/lockref.h"

/* A variant that always takes the lock waits for it in put_return. */
static bool put_return_swaps(void)
{
#ifdef LAB_LOCKREF_locked
	return false;
#else
	return true;
#endif
}

/* Initialises a dead lockref with a free lock. */
static void dead(hf_lockref_t *l)
{
	hf_lockref_init(l, 1);
	hf_lockref_lock(l);
	hf_lockref_mark_dead(l);
	hf_lockref_unlock(l);
}

/* Checks, at the end of a case, that the lock half is free and works. */
static void lock_is_free(hf_lockref_t *l)
{
	int32_t count = hf_lockref_read(l);

	if (!BATTERY_TRUE(hf_lockref_trylock(l)))
		return;
	BATTERY_TRUE(!hf_lockref_trylock(l));
	hf_lockref_unlock(l);
	BATTERY_EQ(hf_lockref_read(l), count);
}

static void layout(void)
{
	struct {
		char before;
		hf_lockref_t l;
		char after;
	} padded;

	BATTERY_EQ(sizeof(hf_lockref_t), 8);
	BATTERY_EQ(__alignof__(hf_lockref_t), 8);
	BATTERY_EQ((uintptr_t)&padded.l % 8, 0);
	BATTERY_EQ(sizeof(padded), 24);
}

static void init(void)
{
	static hf_lockref_t shared = HF_LOCKREF_INIT(3);
	static const int32_t counts[] = { 0, 1, 2, HF_LOCKREF_MAX };
	hf_lockref_t l;

	BATTERY_EQ(hf_lockref_read(&shared), 3);
	lock_is_free(&shared);
	for (unsigned int i = 0; i < BATTERY_COUNT(counts); i++) {
		hf_lockref_init(&l, counts[i]);
		BATTERY_EQ(hf_lockref_read(&l), counts[i]);
		BATTERY_TRUE(!hf_lockref_is_dead(&l));
		lock_is_free(&l);
	}
	BATTERY_QUIET();
}

/* The lock half provides exclusion and preserves the count; its holder may store the count. */
static void lock(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(5);

	hf_lockref_lock(&l);
	BATTERY_TRUE(!hf_lockref_trylock(&l));
	BATTERY_EQ(hf_lockref_read(&l), 5);
	hf_lockref_set_count(&l, 9);
	BATTERY_EQ(hf_lockref_read(&l), 9);
	BATTERY_TRUE(!hf_lockref_trylock(&l));
	hf_lockref_unlock(&l);
	BATTERY_EQ(hf_lockref_read(&l), 9);
	lock_is_free(&l);
	BATTERY_QUIET();
}

enum operation { GET, GET_NOT_ZERO, GET_NOT_DEAD, PUT_RETURN, PUT_NOT_ZERO, PUT_OR_LOCK };

/* Returns the operation's result, or true if it has none. */
static int apply(enum operation op, hf_lockref_t *l)
{
	switch (op) {
	case GET:
		hf_lockref_get(l);
		return true;
	case GET_NOT_ZERO:
		return hf_lockref_get_not_zero(l);
	case GET_NOT_DEAD:
		return hf_lockref_get_not_dead(l);
	case PUT_RETURN:
		return hf_lockref_put_return(l);
	case PUT_NOT_ZERO:
		return hf_lockref_put_not_zero(l);
	default:
		return hf_lockref_put_or_lock(l);
	}
}

#define MOST HF_LOCKREF_MAX
#define DEAD HF_LOCKREF_DEAD

/* The effect of an operation: the count before and after, the result, and the report. */
static const struct row {
	const char *name;
	enum operation op;
	int32_t before, after;
	int result;
	int kind;
} rows[] = {
	{ "get of 1", GET, 1, 2, true, QUIET },
	{ "get of 0", GET, 0, 1, true, QUIET },
	{ "get of the largest", GET, MOST - 2, MOST - 1, true, QUIET },
	{ "get, pinned", GET, MOST, MOST, true, HF_REPORT_LOCKREF_OVF },
	{ "get, dead", GET, DEAD, DEAD, true, HF_REPORT_LOCKREF_DEAD },
	{ "get_not_zero of 0", GET_NOT_ZERO, 0, 0, false, QUIET },
	{ "get_not_zero of 1", GET_NOT_ZERO, 1, 2, true, QUIET },
	{ "get_not_zero, pinned", GET_NOT_ZERO, MOST, MOST, true, HF_REPORT_LOCKREF_OVF },
	{ "get_not_zero, dead", GET_NOT_ZERO, DEAD, DEAD, false, QUIET },
	{ "get_not_dead of 0", GET_NOT_DEAD, 0, 1, true, QUIET },
	{ "get_not_dead of 1", GET_NOT_DEAD, 1, 2, true, QUIET },
	{ "get_not_dead, pinned", GET_NOT_DEAD, MOST, MOST, true, HF_REPORT_LOCKREF_OVF },
	{ "get_not_dead, dead", GET_NOT_DEAD, DEAD, DEAD, false, QUIET },
	{ "put_return of 2", PUT_RETURN, 2, 1, 1, QUIET },
	{ "put_return of 1", PUT_RETURN, 1, 0, 0, QUIET },
	{ "put_return of 0", PUT_RETURN, 0, 0, -1, QUIET },
	{ "put_return of the largest", PUT_RETURN, MOST - 1, MOST - 2, MOST - 2, QUIET },
	{ "put_return, pinned", PUT_RETURN, MOST, MOST, MOST, QUIET },
	{ "put_return, dead", PUT_RETURN, DEAD, DEAD, -1, QUIET },
	{ "put_not_zero of 3", PUT_NOT_ZERO, 3, 2, true, QUIET },
	{ "put_not_zero of 2", PUT_NOT_ZERO, 2, 1, true, QUIET },
	{ "put_not_zero of 1", PUT_NOT_ZERO, 1, 1, false, QUIET },
	{ "put_not_zero of 0", PUT_NOT_ZERO, 0, 0, false, QUIET },
	{ "put_not_zero, pinned", PUT_NOT_ZERO, MOST, MOST, true, QUIET },
	{ "put_not_zero, dead", PUT_NOT_ZERO, DEAD, DEAD, false, QUIET },
	{ "put_or_lock of 3", PUT_OR_LOCK, 3, 2, true, QUIET },
	{ "put_or_lock of 2", PUT_OR_LOCK, 2, 1, true, QUIET },
	{ "put_or_lock of 1", PUT_OR_LOCK, 1, 1, false, QUIET },
	{ "put_or_lock of 0", PUT_OR_LOCK, 0, 0, false, QUIET },
	{ "put_or_lock, pinned", PUT_OR_LOCK, MOST, MOST, true, QUIET },
	{ "put_or_lock, dead", PUT_OR_LOCK, DEAD, DEAD, false, QUIET },
};

static void each_count(void)
{
	for (unsigned int i = 0; i < BATTERY_COUNT(rows); i++) {
		const struct row *row = &rows[i];
		hf_lockref_t l;
		int result;

		if (row->before == DEAD)
			dead(&l);
		else
			hf_lockref_init(&l, row->before);
		result = apply(row->op, &l);
		battery_equal(result, row->result, row->name, __LINE__);
		battery_equal(hf_lockref_read(&l), row->after, row->name, __LINE__);
		if (row->op == PUT_OR_LOCK && !result) {
			if (!battery_true(!hf_lockref_trylock(&l), row->name, __LINE__))
				return; /* the lock should be held */
			hf_lockref_unlock(&l);
		}
		lock_is_free(&l);
		BATTERY_REPORTED(row->kind, &l);
	}
}

static void put_return_locked(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(2);

	hf_lockref_lock(&l);
	BATTERY_EQ(hf_lockref_put_return(&l), -1);
	BATTERY_EQ(hf_lockref_read(&l), 2);
	BATTERY_TRUE(!hf_lockref_trylock(&l));
	hf_lockref_unlock(&l);
	BATTERY_EQ(hf_lockref_put_return(&l), 1);
	lock_is_free(&l);
	BATTERY_QUIET();
}

static void mark_dead(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(4);

	BATTERY_TRUE(!hf_lockref_is_dead(&l));
	hf_lockref_lock(&l);
	hf_lockref_mark_dead(&l);
	BATTERY_EQ(hf_lockref_read(&l), -128);
	BATTERY_TRUE(hf_lockref_is_dead(&l));
	BATTERY_TRUE(!hf_lockref_trylock(&l));
	hf_lockref_unlock(&l);
	BATTERY_EQ(hf_lockref_read(&l), -128);
	BATTERY_TRUE(hf_lockref_is_dead(&l));
	lock_is_free(&l);
	BATTERY_QUIET();
}

static void mark_dead_unlocked(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(4);

	hf_lockref_mark_dead(&l);
	BATTERY_EQ(hf_lockref_read(&l), 4);
	BATTERY_TRUE(!hf_lockref_is_dead(&l));
	lock_is_free(&l);
	BATTERY_REPORTED(HF_REPORT_LOCKREF_UNLOCKED, &l);
}

static const struct battery_case cases[] = {
	{ "LAYOUT", layout, NULL },
	{ "INIT", init, NULL },
	{ "LOCK", lock, NULL },
	{ "EACH_COUNT", each_count, NULL },
	{ "PUT_RETURN_LOCKED", put_return_locked, put_return_swaps },
	{ "MARK_DEAD", mark_dead, NULL },
	{ "MARK_DEAD_UNLOCKED", mark_dead_unlocked, NULL },
};

const struct battery_suite lockref_suite = BATTERY_SUITE("lockref", cases);
