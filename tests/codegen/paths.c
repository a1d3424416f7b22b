/* SPDX-License-Identifier: MIT */
/*
 * paths - every operation of every implementation, called without contention.
 *
 * run.py runs this in an emulator that logs each instruction. The instructions between two of a
 * function whose name starts with "measure" are one call: of the operation, or of the one that
 * undoes it. The printed lines name the operations, in the same order. The last two calls of an
 * operation must be equal; the first may be longer (a thread's first queue node).
 *
 * The rows are Holdfast's own functions and the lab's variants. An operation that fails branches to
 * missed(), as a program would branch on its result. The effect of every operation is checked.
 * Exit status: 0, or 1 with the reason on standard error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/lockref_waitfree.h>
#include <holdfast/nofault.h>
#include <holdfast/refcount.h>
#include <holdfast/mutex.h>
#include <holdfast/rwlock.h>
#include <holdfast/spinlock.h>
#include <holdfast/spinlock_ticket.h>
#include "variants/spinlocks.h"

#include "counts.h"
#include "owners.h"
#include "nofault/implementations.h"

enum { CALLS = 3 }; /* as in run.py */

/* Keeps calls real: no inlining, and gcc may rely on nothing but the function's type. */
#if defined(__clang__)
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noipa))
#endif

static bool failed;

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition);            \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static APART __attribute__((cold)) void missed(void)
{
	failed = true;
}

/* ---- measuring ---------------------------------------------------------------------------- */

typedef void (*operation_t)(void *object);

APART void measure(operation_t operation, operation_t undo, void *object)
{
	for (int i = 0; i < CALLS; i++) {
		operation(object);
		undo(object);
		__asm__ volatile(""); /* prevents a tail call */
	}
}

APART size_t measure_clear(hf_clear_function_t clear, void *dst, size_t len)
{
	size_t left = 0;

	for (int i = 0; i < CALLS; i++)
		left |= clear(dst, len);
	return left;
}

APART size_t measure_copy(hf_copy_function_t copy, void *dst, const void *src, size_t len)
{
	size_t left = 0;

	for (int i = 0; i < CALLS; i++)
		left |= copy(dst, src, len);
	return left;
}

APART size_t measure_compare(hf_compare_function_t compare, const void *a, const void *b,
			     size_t len)
{
	size_t equal = 0;

	for (int i = 0; i < CALLS; i++)
		equal += compare(a, b, len).at;
	return equal;
}

APART size_t measure_find(hf_find_function_t find, const void *p, uint8_t byte, size_t len)
{
	size_t before = 0;

	for (int i = 0; i < CALLS; i++)
		before += find(p, byte, len).at;
	return before;
}

/* A function that executes `code` on o, its object. */
#define OPERATION(name, type, code)                                                                \
	static APART void name(void *object)                                                       \
	{                                                                                          \
		type *o = (type *)object;                                                          \
                                                                                                   \
		code;                                                                              \
	}

/* Measure function family_operation_variant(object); undo(object) follows each call. */
#define ROW(family, operation, variant, undo, object)                                              \
	do {                                                                                       \
		puts(#family " " #operation " " #variant " undone");                               \
		measure(family##_##operation##_##variant, undo, object);                           \
	} while (0)

/* ---- refcount ----------------------------------------------------------------------------- */

/* Called by the last put; its instructions are not counted as the put's. */
APART void object_free(void *object)
{
	__asm__ volatile("" ::"r"(object) : "memory");
}

#define REFCOUNT(name, operations)                                                                 \
	OPERATION(refcount_inc_##name, hf_refcount_t, operations##_inc(o))                         \
	OPERATION(refcount_dec_and_test_##name, hf_refcount_t,                                     \
		  if (operations##_dec_and_test(o)) object_free(o))                                \
	OPERATION(refcount_inc_not_zero_##name, hf_refcount_t,                                     \
		  if (!operations##_inc_not_zero(o)) missed())

LAB_REFCOUNTS(REFCOUNT)
REFCOUNT(default, hf_refcount)
OPERATION(refcount_dec_default, hf_refcount_t, hf_refcount_dec(o))
OPERATION(refcount_put_last_default, hf_refcount_t, if (hf_refcount_dec_and_test(o)) object_free(o))
OPERATION(refcount_set_one, hf_refcount_t, hf_refcount_set(o, 1))

#define COUNT_REFCOUNT(name, ...)                                                                  \
	do {                                                                                       \
		hf_refcount_t r = HF_REFCOUNT_INIT(2);                                             \
                                                                                                   \
		ROW(refcount, inc, name, refcount_dec_and_test_##name, &r);                        \
		ROW(refcount, inc_not_zero, name, refcount_dec_and_test_##name, &r);               \
		ROW(refcount, dec_and_test, name, refcount_inc_##name, &r);                        \
		CHECK(!failed && hf_refcount_read(&r) == 2);                                       \
	} while (0);

static void count_refcount(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(2);

	LAB_REFCOUNTS(COUNT_REFCOUNT)
	COUNT_REFCOUNT(default)
	ROW(refcount, dec, default, refcount_inc_default, &r);
	CHECK(hf_refcount_read(&r) == 2);
	hf_refcount_set(&r, 1);
	ROW(refcount, put_last, default, refcount_set_one, &r);
}

/* ---- locks -------------------------------------------------------------------------------- */

#define LOCK(family, name, operations)                                                             \
	static operations##_t family##_##name; /* all bytes 0: free */                             \
                                                                                                   \
	OPERATION(family##_lock_##name, operations##_t, operations##_lock(o))                      \
	OPERATION(family##_trylock_##name, operations##_t, if (!operations##_trylock(o)) missed()) \
	OPERATION(family##_unlock_##name, operations##_t, operations##_unlock(o))                  \
                                                                                                   \
	static void count_##family##_##name(void)                                                  \
	{                                                                                          \
		operations##_t *lock = &family##_##name;                                           \
                                                                                                   \
		ROW(family, lock, name, family##_unlock_##name, lock);                             \
		ROW(family, trylock, name, family##_unlock_##name, lock);                          \
		CHECK(!failed && !operations##_is_locked(lock));                                   \
		operations##_lock(lock);                                                           \
		ROW(family, unlock, name, family##_lock_##name, lock);                             \
		CHECK(operations##_is_locked(lock));                                               \
		operations##_unlock(lock);                                                         \
	}

#define SPINLOCK(name, operations, ...) LOCK(spinlock, name, operations)
#define COUNT_SPINLOCK(name, ...) count_spinlock_##name();

LAB_SPINLOCKS(SPINLOCK)
LOCK(spinlock, ticket, hf_spinlock_ticket)
LOCK(spinlock, default, hf_spinlock)
LOCK(mutex, private, hf_mutex)
LOCK(mutex, shared, hf_mutex_shared)

/* A lock with BIAS, by a thread that has read before. */
static hf_rwlock_t rwlock_read;

OPERATION(rwlock_lock_read, hf_rwlock_t, hf_rwlock_read_lock(o))
OPERATION(rwlock_unlock_read, hf_rwlock_t, hf_rwlock_read_unlock(o))

static void count_rwlock_read(void)
{
	hf_rwlock_t *lock = &rwlock_read;

	hf_rwlock_read_lock(lock);
	hf_rwlock_read_unlock(lock);
	hf_atomic32_store_relaxed(&lock->word, HF_DETAIL_RWLOCK_BIAS);
	ROW(rwlock, lock, read, rwlock_unlock_read, lock);
	hf_rwlock_read_lock(lock);
	ROW(rwlock, unlock, read, rwlock_lock_read, lock);
	hf_rwlock_read_unlock(lock);
}

/* ---- lockref ------------------------------------------------------------------------------ */

#define LOCKREF(name, operations, type)                                                            \
	OPERATION(lockref_get_##name, type, operations##_get(o))                                   \
	OPERATION(lockref_get_not_dead_##name, type, if (!operations##_get_not_dead(o)) missed())  \
	OPERATION(lockref_put_return_##name, type, if (operations##_put_return(o) < 0) missed())   \
	OPERATION(lockref_put_or_lock_##name, type, if (!operations##_put_or_lock(o)) missed())

#define LOCKREF_CAS(name, operations)                                                              \
	LOCKREF(name, operations, hf_lockref_t)                                                    \
	OPERATION(lockref_get_not_zero_##name, hf_lockref_t,                                       \
		  if (!operations##_get_not_zero(o)) missed())

LAB_LOCKREFS(LOCKREF_CAS)
LOCKREF_CAS(default, hf_lockref)
OPERATION(lockref_put_not_zero_default, hf_lockref_t, if (!hf_lockref_put_not_zero(o)) missed())
LOCKREF(waitfree, hf_lockref_waitfree, hf_lockref_waitfree_t)

#define COUNT_LOCKREF(name, l)                                                                     \
	do {                                                                                       \
		ROW(lockref, get, name, lockref_put_or_lock_##name, l);                            \
		ROW(lockref, get_not_dead, name, lockref_put_or_lock_##name, l);                   \
		ROW(lockref, put_return, name, lockref_get_##name, l);                             \
		ROW(lockref, put_or_lock, name, lockref_get_##name, l);                            \
	} while (0)

#define COUNT_LOCKREF_CAS(name, ...)                                                               \
	do {                                                                                       \
		hf_lockref_t l = HF_LOCKREF_INIT(2);                                               \
                                                                                                   \
		COUNT_LOCKREF(name, &l);                                                           \
		ROW(lockref, get_not_zero, name, lockref_put_or_lock_##name, &l);                  \
		CHECK(!failed && hf_lockref_read(&l) == 2);                                        \
	} while (0);

static void count_lockref(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(2);
	hf_lockref_waitfree_t waitfree = HF_LOCKREF_WAITFREE_INIT(2);

	LAB_LOCKREFS(COUNT_LOCKREF_CAS)
	COUNT_LOCKREF_CAS(default)
	ROW(lockref, put_not_zero, default, lockref_get_default, &l);
	COUNT_LOCKREF(waitfree, &waitfree);
	CHECK(!failed && hf_lockref_read(&l) == 2 && hf_lockref_waitfree_read(&waitfree) == 2);
}

/* ---- owners.cpp: pointers that own a reference ---------------------------------------------- */

OPERATION(owner_revive_default, struct owners, hf_refcount_set(o->first, 1))

static void count_owners(void)
{
	hf_refcount_t object = HF_REFCOUNT_INIT(1);
	struct owners pair = { &object, NULL };

	ROW(owner, copy, default, owner_drop_default, &pair);
	ROW(owner, move, default, owner_move_back, &pair);
	CHECK(pair.first == &object && !pair.second && hf_refcount_read(&object) == 1);
	owner_copy_default(&pair);
	ROW(owner, drop, default, owner_copy_default, &pair);
	CHECK(hf_refcount_read(&object) == 2);
	hf_refcount_set(&object, 1);
	ROW(owner, drop_last, default, owner_revive_default, &pair);
}

/* ---- clear, copy, compare, find ----------------------------------------------------------- */

static const struct {
	size_t bytes;
	const char *text;
} sizes[] = { { 8, "8" }, { 17, "17" }, { 64, "64" }, { 256, "256" }, { 4096, "4096" } };

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), LARGEST = 4096, MARGIN = 64 };

/* Aligned to a page: the count depends on the range's position in its page. */
static unsigned char to[LARGEST + MARGIN] HF_ALIGNED(4096), from[LARGEST] HF_ALIGNED(4096);

static bool is_all(const unsigned char *p, size_t len, unsigned char value)
{
	return len == 0 || (p[0] == value && memcmp(p, p + 1, len - 1) == 0);
}

/* fputs: printf's many instructions would be in the emulator's log. */
static void say(const char *operation, const char *size, const char *name)
{
	fputs(operation, stdout);
	fputs(size, stdout);
	fputs(" ", stdout);
	fputs(name, stdout);
	fputs(" alone\n", stdout);
}

static void count_clear(const char *name, hf_clear_function_t clear)
{
	for (size_t i = 0; i < SIZES; i++) {
		size_t len = sizes[i].bytes;

		memset(to, '#', sizeof(to));
		say("clear ", sizes[i].text, name);
		CHECK(measure_clear(clear, to, len) == 0);
		CHECK(is_all(to, len, 0) && is_all(to + len, MARGIN, '#'));
	}
}

static void count_copy(const char *name, hf_copy_function_t copy)
{
	for (size_t i = 0; i < SIZES; i++) {
		size_t len = sizes[i].bytes;

		memset(to, '#', sizeof(to));
		say("copy ", sizes[i].text, name);
		CHECK(measure_copy(copy, to, from, len) == 0);
		CHECK(memcmp(to, from, len) == 0 && is_all(to + len, MARGIN, '#'));
	}
}

/* The ranges are equal. */
static void count_compare(const char *name, hf_compare_function_t compare)
{
	memcpy(to, from, LARGEST);
	for (size_t i = 0; i < SIZES; i++) {
		say("compare ", sizes[i].text, name);
		CHECK(measure_compare(compare, to, from, sizes[i].bytes) == CALLS * sizes[i].bytes);
	}
}

/* The byte is not in the range. */
static void count_find(const char *name, hf_find_function_t find)
{
	memset(to, '#', LARGEST);
	for (size_t i = 0; i < SIZES; i++) {
		say("find ", sizes[i].text, name);
		CHECK(measure_find(find, to, '?', sizes[i].bytes) == CALLS * sizes[i].bytes);
	}
}

/* The operations, which dispatch to the selected implementation. */
static APART size_t clear_default(void *dst, size_t len)
{
	return hf_clear_nofault(dst, len);
}

static APART size_t copy_default(void *dst, const void *src, size_t len)
{
	return hf_copy_nofault(dst, src, len);
}

int main(void)
{
	size_t clears, copies, searches;
	const struct hf_variant_clear *clear = hf_variant_clears(&clears);
	const struct hf_variant_copy *copy = hf_variant_copies(&copies);
	const struct hf_variant_memory *memory = hf_variant_memories(&searches);

	count_refcount();
	LAB_SPINLOCKS(COUNT_SPINLOCK)
	count_spinlock_ticket();
	count_spinlock_default();
	count_mutex_private();
	count_mutex_shared();
	count_rwlock_read();
	count_lockref();
	count_owners();

	for (size_t i = 0; i < LARGEST; i++)
		from[i] = (unsigned char)(i * 7 + i / 256 + 1);
	for (size_t i = 0; i < clears; i++) {
		if (clear[i].is_legal())
			count_clear(clear[i].name, clear[i].function);
	}
	count_clear("default", clear_default);
	for (size_t i = 0; i < copies; i++) {
		if (copy[i].is_legal())
			count_copy(copy[i].name, copy[i].function);
	}
	count_copy("default", copy_default);
	for (size_t i = 0; i < searches; i++) {
		if (memory[i].is_legal()) {
			count_compare(memory[i].name, memory[i].compare);
			count_find(memory[i].name, memory[i].find);
		}
	}
	return 0;
}
