/* SPDX-License-Identifier: MIT */
/* lockref_waitfree_cases - get, put, death and their zones; each number is the count's 32 bits. */
#include "battery.h"

#include "holdfast/lockref_waitfree.h"

static hf_lockref_waitfree_t l;

static uint32_t bits(void)
{
	return hf_atomic64_load_high32_relaxed(&l.word);
}

static void set_bits(uint32_t value)
{
	hf_atomic64_store_high32_relaxed(&l.word, value);
}

/* Checks, at the end of a case, that the lock half excludes, and leaves the count alone. */
static void lock_is_free(void)
{
	uint32_t before = bits();

	if (!BATTERY_TRUE(hf_lockref_waitfree_trylock(&l)))
		return;
	BATTERY_TRUE(!hf_lockref_waitfree_trylock(&l));
	hf_lockref_waitfree_unlock(&l);
	BATTERY_TRUE(bits() == before);
}

static void make_dead(void)
{
	hf_lockref_waitfree_init(&l, 0);
	hf_lockref_waitfree_lock(&l);
	BATTERY_TRUE(hf_lockref_waitfree_mark_dead(&l, 0));
	hf_lockref_waitfree_unlock(&l);
}

static void initialisers(void)
{
	hf_lockref_waitfree_t none = HF_LOCKREF_WAITFREE_INIT(0),
			      three = HF_LOCKREF_WAITFREE_INIT(3);

	BATTERY_EQ(sizeof(l), 8);
	BATTERY_EQ(__alignof__(l), 8);
	BATTERY_EQ(hf_lockref_waitfree_read(&none), 0);
	BATTERY_EQ(hf_lockref_waitfree_read(&three), 3);
	BATTERY_TRUE(!hf_lockref_waitfree_is_dead(&none));
	hf_lockref_waitfree_init(&l, INT32_MAX);
	BATTERY_EQ(hf_lockref_waitfree_read(&l), INT32_MAX);
	lock_is_free();
	BATTERY_QUIET();
}

static void get_and_put(void)
{
	hf_lockref_waitfree_init(&l, 1);
	hf_lockref_waitfree_get(&l);
	BATTERY_TRUE(hf_lockref_waitfree_get_not_dead(&l));
	BATTERY_TRUE(hf_lockref_waitfree_get_not_dead_acquire(&l));
	BATTERY_EQ(hf_lockref_waitfree_read(&l), 4);
	BATTERY_EQ(hf_lockref_waitfree_put_return(&l), 3);
	BATTERY_TRUE(hf_lockref_waitfree_put_or_lock(&l));
	BATTERY_TRUE(hf_lockref_waitfree_put_or_lock(&l));
	BATTERY_EQ(hf_lockref_waitfree_read(&l), 1);
	BATTERY_EQ(hf_lockref_waitfree_put_return(&l), 0);
	BATTERY_TRUE(hf_lockref_waitfree_get_not_dead(&l)); /* none is not dead */
	BATTERY_EQ(hf_lockref_waitfree_read(&l), 1);
	lock_is_free();
	BATTERY_QUIET();
}

/* Where other lockrefs wait for the lock, these verbs go on. */
static void locked(void)
{
	hf_lockref_waitfree_init(&l, 1);
	hf_lockref_waitfree_lock(&l);
	hf_lockref_waitfree_get(&l);
	BATTERY_TRUE(hf_lockref_waitfree_get_not_dead(&l));
	BATTERY_EQ(hf_lockref_waitfree_put_return(&l), 2);
	BATTERY_TRUE(hf_lockref_waitfree_put_or_lock(&l));
	BATTERY_EQ(hf_lockref_waitfree_read(&l), 1);
	BATTERY_TRUE(!hf_lockref_waitfree_trylock(&l));
	hf_lockref_waitfree_unlock(&l);
	lock_is_free();
	BATTERY_QUIET();
}

/* The last put holds the lock, and no reference any more. */
static void last_put(void)
{
	hf_lockref_waitfree_init(&l, 1);
	if (!BATTERY_TRUE(!hf_lockref_waitfree_put_or_lock(&l)))
		return;
	BATTERY_EQ(hf_lockref_waitfree_read(&l), 0);
	BATTERY_TRUE(!hf_lockref_waitfree_trylock(&l));
	BATTERY_TRUE(hf_lockref_waitfree_mark_dead(&l, 0));
	BATTERY_TRUE(!hf_lockref_waitfree_mark_dead(&l, 0)); /* once */
	hf_lockref_waitfree_unlock(&l);
	BATTERY_TRUE(hf_lockref_waitfree_is_dead(&l));
	BATTERY_TRUE(!hf_lockref_waitfree_get_not_dead(&l));
	BATTERY_TRUE(!hf_lockref_waitfree_get_not_dead_acquire(&l));
	lock_is_free();
	BATTERY_QUIET();
}

/* A get comes between the last put and mark_dead. */
static void lives_again(void)
{
	hf_lockref_waitfree_init(&l, 1);
	if (!BATTERY_TRUE(!hf_lockref_waitfree_put_or_lock(&l)))
		return;
	BATTERY_TRUE(hf_lockref_waitfree_get_not_dead(&l));
	BATTERY_TRUE(!hf_lockref_waitfree_mark_dead(&l, 0));
	BATTERY_TRUE(!hf_lockref_waitfree_is_dead(&l));
	hf_lockref_waitfree_unlock(&l);
	BATTERY_EQ(hf_lockref_waitfree_read(&l), 1);
	lock_is_free();
	BATTERY_QUIET();
}

/* mark_dead succeeds only with exactly the number of references that exist. */
static void mark_dead(void)
{
	hf_lockref_waitfree_init(&l, 2);
	hf_lockref_waitfree_lock(&l);
	BATTERY_TRUE(!hf_lockref_waitfree_mark_dead(&l, 0));
	BATTERY_TRUE(!hf_lockref_waitfree_mark_dead(&l, 1));
	BATTERY_TRUE(!hf_lockref_waitfree_mark_dead(&l, 3));
	BATTERY_EQ(hf_lockref_waitfree_read(&l), 2);
	BATTERY_TRUE(hf_lockref_waitfree_mark_dead(&l, 2));
	BATTERY_TRUE(bits() == 0xc0000000u);
	BATTERY_TRUE(hf_lockref_waitfree_read(&l) < 0);
	BATTERY_TRUE(!hf_lockref_waitfree_mark_dead(&l, (int32_t)0xc0000000u));
	BATTERY_TRUE(!hf_lockref_waitfree_trylock(&l)); /* the lock half is as it was */
	hf_lockref_waitfree_unlock(&l);
	lock_is_free();
	BATTERY_QUIET();
}

static void mark_dead_unlocked(void)
{
	hf_lockref_waitfree_init(&l, 0);
	BATTERY_TRUE(!hf_lockref_waitfree_mark_dead(&l, 0));
	BATTERY_REPORTED(HF_REPORT_LOCKREF_UNLOCKED, &l);
	BATTERY_TRUE(hf_lockref_waitfree_get_not_dead(&l));
	make_dead();
	BATTERY_TRUE(!hf_lockref_waitfree_revive(&l, 1));
	BATTERY_REPORTED(HF_REPORT_LOCKREF_UNLOCKED, &l);
	BATTERY_TRUE(hf_lockref_waitfree_is_dead(&l));
	lock_is_free();
}

static void revive(void)
{
	make_dead();
	for (int i = 0; i < 10; i++)
		BATTERY_TRUE(!hf_lockref_waitfree_get_not_dead(&l));
	hf_lockref_waitfree_lock(&l);
	BATTERY_TRUE(
		hf_lockref_waitfree_revive(&l, 2)); /* whatever failed gets added to the count */
	BATTERY_TRUE(!hf_lockref_waitfree_revive(&l, 5));
	BATTERY_TRUE(!hf_lockref_waitfree_trylock(&l));
	hf_lockref_waitfree_unlock(&l);
	BATTERY_EQ(hf_lockref_waitfree_read(&l), 2);
	BATTERY_EQ(hf_lockref_waitfree_put_return(&l), 1);
	lock_is_free();
	BATTERY_QUIET();
}

/* Dead stays dead, however many gets try; half of the way to either end, the count is reset. */
static void dead(void)
{
	make_dead();
	for (int i = 0; i < 1000; i++)
		BATTERY_TRUE(!hf_lockref_waitfree_get_not_dead(&l));
	BATTERY_TRUE(bits() == 0xc0000000u + 1000);
	BATTERY_QUIET();
	set_bits(0xd0000000u);
	BATTERY_TRUE(!hf_lockref_waitfree_get_not_dead(&l));
	BATTERY_TRUE(bits() == 0xc0000000u);
	set_bits(0xdffffff0u);
	BATTERY_TRUE(!hf_lockref_waitfree_get_not_dead(&l));
	BATTERY_TRUE(bits() == 0xc0000000u);
	BATTERY_QUIET();
	set_bits(0xa0000010u);
	BATTERY_EQ(hf_lockref_waitfree_put_return(&l), -1);
	BATTERY_TRUE(bits() == 0xc0000000u);
	BATTERY_REPORTED(HF_REPORT_LOCKREF_PUT, &l);
	lock_is_free();
}

static void misuse_of_the_dead(void)
{
	make_dead();
	hf_lockref_waitfree_get(&l);
	BATTERY_REPORTED(HF_REPORT_LOCKREF_DEAD, &l);
	BATTERY_TRUE(hf_lockref_waitfree_put_or_lock(&l));
	BATTERY_REPORTED(HF_REPORT_LOCKREF_PUT, &l);
	BATTERY_EQ(hf_lockref_waitfree_put_return(&l), -1);
	BATTERY_REPORTED(HF_REPORT_LOCKREF_PUT, &l);
	BATTERY_TRUE(hf_lockref_waitfree_is_dead(&l));
	lock_is_free();
}

/* A put too many on a live one is reported, and the object leaks. */
static void put_too_many(void)
{
	hf_lockref_waitfree_init(&l, 0);
	BATTERY_EQ(hf_lockref_waitfree_put_return(&l), -1);
	BATTERY_REPORTED(HF_REPORT_LOCKREF_PUT, &l);
	BATTERY_TRUE(bits() == 0x90000000u);
	hf_lockref_waitfree_init(&l, 0);
	BATTERY_TRUE(hf_lockref_waitfree_put_or_lock(&l));
	BATTERY_REPORTED(HF_REPORT_LOCKREF_PUT, &l);
	BATTERY_TRUE(bits() == 0x90000000u);
	lock_is_free();
}

static void overflow(void)
{
	hf_lockref_waitfree_init(&l, INT32_MAX - 1);
	hf_lockref_waitfree_get(&l);
	BATTERY_EQ(hf_lockref_waitfree_put_return(&l), INT32_MAX - 1);
	hf_lockref_waitfree_get(&l);
	BATTERY_QUIET();
	hf_lockref_waitfree_get(&l);
	BATTERY_REPORTED(HF_REPORT_LOCKREF_OVF, &l);
	BATTERY_TRUE(bits() == 0x90000000u);
	hf_lockref_waitfree_init(&l, INT32_MAX);
	BATTERY_TRUE(hf_lockref_waitfree_get_not_dead(&l));
	BATTERY_REPORTED(HF_REPORT_LOCKREF_OVF, &l);
	BATTERY_TRUE(bits() == 0x90000000u);
	lock_is_free();
}

/* Saturated stays so in either direction, on both sides of dead, and mark_dead fails. */
static void saturated(void)
{
	static const uint32_t some[] = { 0x80000000u, 0x90000000u, 0x9ffffff0u, 0xe0000010u,
					 0xfffffff0u };

	for (unsigned int i = 0; i < BATTERY_COUNT(some); i++) {
		set_bits(some[i]);
		BATTERY_EQ(hf_lockref_waitfree_read(&l), INT32_MAX);
		BATTERY_TRUE(!hf_lockref_waitfree_is_dead(&l));
		BATTERY_TRUE(hf_lockref_waitfree_get_not_dead(&l));
		BATTERY_REPORTED(HF_REPORT_LOCKREF_OVF, &l);
		BATTERY_TRUE(bits() == 0x90000000u);
		if (some[i] == 0x80000000u)
			continue; /* one past the top: a put makes it INT32_MAX again */
		set_bits(some[i]);
		BATTERY_EQ(hf_lockref_waitfree_put_return(&l), INT32_MAX);
		BATTERY_TRUE(bits() == 0x90000000u);
		set_bits(some[i]);
		BATTERY_TRUE(hf_lockref_waitfree_put_or_lock(&l));
		BATTERY_TRUE(bits() == 0x90000000u);
		BATTERY_QUIET();
	}
	hf_lockref_waitfree_lock(&l);
	BATTERY_TRUE(!hf_lockref_waitfree_mark_dead(&l, 0));
	BATTERY_TRUE(!hf_lockref_waitfree_mark_dead(&l, INT32_MAX));
	BATTERY_TRUE(!hf_lockref_waitfree_revive(&l, 1));
	hf_lockref_waitfree_unlock(&l);
	BATTERY_TRUE(bits() == 0x90000000u);
	lock_is_free();
	BATTERY_QUIET();
}

static const struct battery_case cases[] = {
	{ "initialisers", initialisers, NULL },
	{ "get_and_put", get_and_put, NULL },
	{ "locked", locked, NULL },
	{ "last_put", last_put, NULL },
	{ "lives_again", lives_again, NULL },
	{ "mark_dead", mark_dead, NULL },
	{ "mark_dead_unlocked", mark_dead_unlocked, NULL },
	{ "revive", revive, NULL },
	{ "dead", dead, NULL },
	{ "misuse_of_the_dead", misuse_of_the_dead, NULL },
	{ "put_too_many", put_too_many, NULL },
	{ "overflow", overflow, NULL },
	{ "saturated", saturated, NULL },
};

const struct battery_suite lockref_waitfree_suite = BATTERY_SUITE("lockref.waitfree", cases);
