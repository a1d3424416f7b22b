/* SPDX-License-Identifier: MIT */
/*
 * lockref_cases - what a lockref does, and what it makes of misuse. The lab runs the same cases for
 * its variants (lab/variants/in_place.h).
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

/* Makes it dead, with a lock that is free. */
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

/* The lock half excludes, and leaves the count alone; its holder may store the count. */
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

static void get(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(1);

	hf_lockref_get(&l);
	BATTERY_EQ(hf_lockref_read(&l), 2);
	hf_lockref_get(&l);
	BATTERY_EQ(hf_lockref_read(&l), 3);
	hf_lockref_init(&l, 0);
	hf_lockref_get(&l);
	BATTERY_EQ(hf_lockref_read(&l), 1);
	lock_is_free(&l);
	BATTERY_QUIET();
}

static void get_not_zero(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(0);

	BATTERY_TRUE(!hf_lockref_get_not_zero(&l));
	BATTERY_EQ(hf_lockref_read(&l), 0);
	hf_lockref_init(&l, 1);
	BATTERY_TRUE(hf_lockref_get_not_zero(&l));
	BATTERY_EQ(hf_lockref_read(&l), 2);
	dead(&l);
	BATTERY_TRUE(!hf_lockref_get_not_zero(&l));
	BATTERY_EQ(hf_lockref_read(&l), HF_LOCKREF_DEAD);
	lock_is_free(&l);
	BATTERY_QUIET();
}

static void get_not_dead(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(0);

	BATTERY_TRUE(hf_lockref_get_not_dead(&l));
	BATTERY_EQ(hf_lockref_read(&l), 1);
	BATTERY_TRUE(hf_lockref_get_not_dead(&l));
	BATTERY_EQ(hf_lockref_read(&l), 2);
	dead(&l);
	BATTERY_TRUE(!hf_lockref_get_not_dead(&l));
	BATTERY_EQ(hf_lockref_read(&l), HF_LOCKREF_DEAD);
	lock_is_free(&l);
	BATTERY_QUIET();
}

static void put_return(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(2);

	BATTERY_EQ(hf_lockref_put_return(&l), 1);
	BATTERY_EQ(hf_lockref_read(&l), 1);
	BATTERY_EQ(hf_lockref_put_return(&l), 0);
	BATTERY_EQ(hf_lockref_read(&l), 0);
	BATTERY_EQ(hf_lockref_put_return(&l), -1);
	BATTERY_EQ(hf_lockref_read(&l), 0);
	lock_is_free(&l);
	dead(&l);
	BATTERY_EQ(hf_lockref_put_return(&l), -1);
	BATTERY_EQ(hf_lockref_read(&l), HF_LOCKREF_DEAD);
	lock_is_free(&l);
	BATTERY_QUIET();
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

/* false = the lock is held, and the count as it was. */
static void put_or_lock(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(3);

	BATTERY_TRUE(hf_lockref_put_or_lock(&l));
	BATTERY_EQ(hf_lockref_read(&l), 2);
	lock_is_free(&l);
	BATTERY_TRUE(hf_lockref_put_or_lock(&l));
	BATTERY_EQ(hf_lockref_read(&l), 1);
	lock_is_free(&l);

	if (!BATTERY_TRUE(!hf_lockref_put_or_lock(&l)))
		return;
	BATTERY_EQ(hf_lockref_read(&l), 1);
	if (BATTERY_TRUE(!hf_lockref_trylock(&l)))
		hf_lockref_unlock(&l);

	hf_lockref_init(&l, 0);
	if (!BATTERY_TRUE(!hf_lockref_put_or_lock(&l)))
		return;
	BATTERY_EQ(hf_lockref_read(&l), 0);
	if (BATTERY_TRUE(!hf_lockref_trylock(&l)))
		hf_lockref_unlock(&l);

	dead(&l);
	if (!BATTERY_TRUE(!hf_lockref_put_or_lock(&l)))
		return;
	BATTERY_EQ(hf_lockref_read(&l), HF_LOCKREF_DEAD);
	if (BATTERY_TRUE(!hf_lockref_trylock(&l)))
		hf_lockref_unlock(&l);
	lock_is_free(&l);
	BATTERY_QUIET();
}

/* false = nothing was done, and the lock is free. */
static void put_not_zero(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(3);

	BATTERY_TRUE(hf_lockref_put_not_zero(&l));
	BATTERY_EQ(hf_lockref_read(&l), 2);
	BATTERY_TRUE(hf_lockref_put_not_zero(&l));
	BATTERY_EQ(hf_lockref_read(&l), 1);
	lock_is_free(&l);
	BATTERY_TRUE(!hf_lockref_put_not_zero(&l));
	BATTERY_EQ(hf_lockref_read(&l), 1);
	lock_is_free(&l);
	hf_lockref_init(&l, 0);
	BATTERY_TRUE(!hf_lockref_put_not_zero(&l));
	BATTERY_EQ(hf_lockref_read(&l), 0);
	lock_is_free(&l);
	hf_lockref_init(&l, HF_LOCKREF_MAX);
	BATTERY_TRUE(hf_lockref_put_not_zero(&l));
	BATTERY_EQ(hf_lockref_read(&l), HF_LOCKREF_MAX);
	lock_is_free(&l);
	dead(&l);
	BATTERY_TRUE(!hf_lockref_put_not_zero(&l));
	BATTERY_EQ(hf_lockref_read(&l), HF_LOCKREF_DEAD);
	lock_is_free(&l);
	BATTERY_QUIET();
}

/* A whole life: the last put decides under the lock, and no get succeeds afterwards. */
static void last_put(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(1);

	BATTERY_TRUE(hf_lockref_get_not_dead(&l));
	BATTERY_TRUE(hf_lockref_put_or_lock(&l));
	if (!BATTERY_TRUE(!hf_lockref_put_or_lock(&l)))
		return;
	hf_lockref_mark_dead(&l);
	BATTERY_TRUE(!hf_lockref_trylock(&l));
	hf_lockref_unlock(&l);
	BATTERY_TRUE(hf_lockref_is_dead(&l));
	BATTERY_TRUE(!hf_lockref_get_not_dead(&l));
	BATTERY_TRUE(!hf_lockref_get_not_zero(&l));
	BATTERY_EQ(hf_lockref_put_return(&l), -1);
	BATTERY_EQ(hf_lockref_read(&l), HF_LOCKREF_DEAD);
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

/* At INT32_MAX the count is pinned: neither gets nor puts change it; only the gets are misuse. */
static void get_overflow(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(HF_LOCKREF_MAX - 2);

	hf_lockref_get(&l);
	BATTERY_EQ(hf_lockref_read(&l), HF_LOCKREF_MAX - 1);
	BATTERY_EQ(hf_lockref_put_return(&l), HF_LOCKREF_MAX - 2);
	BATTERY_QUIET();

	hf_lockref_init(&l, HF_LOCKREF_MAX);
	hf_lockref_get(&l);
	BATTERY_EQ(hf_lockref_read(&l), INT32_MAX);
	BATTERY_REPORTED(HF_REPORT_LOCKREF_OVF, &l);
	BATTERY_TRUE(hf_lockref_get_not_zero(&l));
	BATTERY_EQ(hf_lockref_read(&l), INT32_MAX);
	BATTERY_REPORTED(HF_REPORT_LOCKREF_OVF, &l);
	BATTERY_TRUE(hf_lockref_get_not_dead(&l));
	BATTERY_EQ(hf_lockref_read(&l), INT32_MAX);
	BATTERY_REPORTED(HF_REPORT_LOCKREF_OVF, &l);

	BATTERY_EQ(hf_lockref_put_return(&l), INT32_MAX);
	BATTERY_EQ(hf_lockref_read(&l), INT32_MAX);
	BATTERY_TRUE(hf_lockref_put_or_lock(&l));
	BATTERY_EQ(hf_lockref_read(&l), INT32_MAX);
	BATTERY_TRUE(!hf_lockref_is_dead(&l));
	lock_is_free(&l);
	BATTERY_QUIET();
}

static void get_dead(void)
{
	hf_lockref_t l;

	dead(&l);
	BATTERY_QUIET();
	hf_lockref_get(&l);
	BATTERY_TRUE(hf_lockref_is_dead(&l));
	BATTERY_TRUE(!hf_lockref_get_not_dead(&l));
	lock_is_free(&l);
	BATTERY_REPORTED(HF_REPORT_LOCKREF_DEAD, &l);
}

/* Dead is for ever: no number of gets revives a dead object. */
static void get_dead_again(void)
{
	hf_lockref_t l;

	dead(&l);
	for (int i = 0; i < 1000; i++) {
		hf_lockref_get(&l);
		if (!BATTERY_TRUE(hf_lockref_is_dead(&l)) ||
		    !BATTERY_TRUE(!hf_lockref_get_not_dead(&l)))
			break;
	}
	lock_is_free(&l);
	BATTERY_TRUE(hf_report_count(HF_REPORT_LOCKREF_DEAD) > 1);
	battery_forget();
}

static const struct battery_case cases[] = {
	{ "LAYOUT", layout, NULL },
	{ "INIT", init, NULL },
	{ "LOCK", lock, NULL },
	{ "GET", get, NULL },
	{ "GET_NOT_ZERO", get_not_zero, NULL },
	{ "GET_NOT_DEAD", get_not_dead, NULL },
	{ "PUT_RETURN", put_return, NULL },
	{ "PUT_RETURN_LOCKED", put_return_locked, put_return_swaps },
	{ "PUT_OR_LOCK", put_or_lock, NULL },
	{ "PUT_NOT_ZERO", put_not_zero, NULL },
	{ "LAST_PUT", last_put, NULL },
	{ "MARK_DEAD", mark_dead, NULL },
	{ "MARK_DEAD_UNLOCKED", mark_dead_unlocked, NULL },
	{ "GET_OVERFLOW", get_overflow, NULL },
	{ "GET_DEAD", get_dead, NULL },
	{ "GET_DEAD_AGAIN", get_dead_again, NULL },
};

const struct battery_suite lockref_suite = BATTERY_SUITE("lockref", cases);
