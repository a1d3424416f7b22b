/* SPDX-License-Identifier: MIT */
/*
 * count - every operation of every implementation, called as if nobody else were there.
 *
 * run.py runs this in an emulator that logs each instruction. What is executed between two
 * instructions of a function whose name starts with "measure" is one call: of the operation, or of
 * what undoes it. The printed lines name them, in the same order. run.py counts the calls of the
 * operation, the last of which must be like the one before; the first may be longer (a thread's
 * first queue node).
 *
 * The rows are Holdfast's own and the lab's variants. A verb that may fail jumps to missed() where it does,
 * as a program branches on it. Every operation is checked for what it did. Exit status: 0, or 1
 * with the reason on standard error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/lockref_waitfree.h>
#include <holdfast/nofault.h>
#include <holdfast/refcount.h>
#include <holdfast/mutex.h>
#include <holdfast/spinlock.h>
#include <holdfast/spinlock_ticket.h>
#include "variants/spinlock/cas.h"
#include "variants/spinlock/cas_prefetch.h"
#include "variants/spinlock/cas_release.h"
#include "variants/spinlock/mcs.h"
#include "variants/spinlock/queued.h"
#include "variants/spinlock/wfe.h"

#include "counts.h"
#include "nofault/implementations.h"

enum { CALLS = 3 }; /* run.py knows it too */

/* gcc may know nothing of a function but its type: it must be called, and as it stands. */
#define APART __attribute__((noipa))

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

/* ---- what is counted ---------------------------------------------------------------------- */

typedef void (*verb_t)(void *object);

APART void measure(verb_t verb, verb_t undo, void *object)
{
	for (int i = 0; i < CALLS; i++) {
		verb(object);
		undo(object);
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

/* ---- refcount ----------------------------------------------------------------------------- */

#define REFCOUNT(name, verbs)                                                                      \
	static APART void refcount_##name##_inc(void *object)                                      \
	{                                                                                          \
		verbs##_inc((hf_refcount_t *)object);                                              \
	}                                                                                          \
	static APART void refcount_##name##_dec_and_test(void *object)                             \
	{                                                                                          \
		if (verbs##_dec_and_test((hf_refcount_t *)object))                                 \
			missed();                                                                  \
	}                                                                                          \
	static APART void refcount_##name##_inc_not_zero(void *object)                             \
	{                                                                                          \
		if (!verbs##_inc_not_zero((hf_refcount_t *)object))                                \
			missed();                                                                  \
	}

LAB_REFCOUNTS(REFCOUNT)
REFCOUNT(default, hf_refcount)

#define COUNT_REFCOUNT(name, ...)                                                                  \
	do {                                                                                       \
		hf_refcount_t r = HF_REFCOUNT_INIT(2);                                             \
                                                                                                   \
		puts("refcount inc " #name " undone");                                             \
		measure(refcount_##name##_inc, refcount_##name##_dec_and_test, &r);                \
		puts("refcount inc_not_zero " #name " undone");                                    \
		measure(refcount_##name##_inc_not_zero, refcount_##name##_dec_and_test, &r);       \
		puts("refcount dec_and_test " #name " undone");                                    \
		measure(refcount_##name##_dec_and_test, refcount_##name##_inc, &r);                \
		CHECK(!failed && hf_refcount_read(&r) == 2);                                       \
	} while (0);

/* ---- spinlock ----------------------------------------------------------------------------- */

#define SPINLOCK(name, verbs)                                                                      \
	static verbs##_t lock_##name; /* all bytes 0: free */                                      \
                                                                                                   \
	static APART void spinlock_##name##_lock(void *object)                                     \
	{                                                                                          \
		verbs##_lock((verbs##_t *)object);                                                 \
	}                                                                                          \
	static APART void spinlock_##name##_trylock(void *object)                                  \
	{                                                                                          \
		if (!verbs##_trylock((verbs##_t *)object))                                         \
			missed();                                                                  \
	}                                                                                          \
	static APART void spinlock_##name##_unlock(void *object)                                   \
	{                                                                                          \
		verbs##_unlock((verbs##_t *)object);                                               \
	}                                                                                          \
	static bool spinlock_##name##_is_locked(void)                                              \
	{                                                                                          \
		return verbs##_is_locked(&lock_##name);                                            \
	}

SPINLOCK(cas, hf_spinlock_cas)
SPINLOCK(cas_release, hf_spinlock_cas_release)
SPINLOCK(cas_prefetch, hf_spinlock_cas_prefetch)
SPINLOCK(wfe, hf_spinlock_wfe)
SPINLOCK(ticket, hf_spinlock_ticket)
SPINLOCK(mcs, hf_spinlock_mcs)
SPINLOCK(queued, hf_spinlock_queued)
SPINLOCK(default, hf_spinlock)

#define COUNT_SPINLOCK(name)                                                                       \
	do {                                                                                       \
		puts("spinlock lock " #name " undone");                                            \
		measure(spinlock_##name##_lock, spinlock_##name##_unlock, &lock_##name);           \
		puts("spinlock trylock " #name " undone");                                         \
		measure(spinlock_##name##_trylock, spinlock_##name##_unlock, &lock_##name);        \
		CHECK(!failed && !spinlock_##name##_is_locked());                                  \
		spinlock_##name##_lock(&lock_##name);                                              \
		puts("spinlock unlock " #name " undone");                                          \
		measure(spinlock_##name##_unlock, spinlock_##name##_lock, &lock_##name);           \
		CHECK(spinlock_##name##_is_locked());                                              \
		spinlock_##name##_unlock(&lock_##name);                                            \
	} while (0);

/* ---- mutex -------------------------------------------------------------------------------- */

#define MUTEX(name, verbs)                                                                         \
	static verbs##_t mutex_##name;                                                             \
                                                                                                   \
	static APART void mutex_##name##_lock(void *object)                                        \
	{                                                                                          \
		verbs##_lock((verbs##_t *)object);                                                 \
	}                                                                                          \
	static APART void mutex_##name##_trylock(void *object)                                     \
	{                                                                                          \
		if (!verbs##_trylock((verbs##_t *)object))                                         \
			missed();                                                                  \
	}                                                                                          \
	static APART void mutex_##name##_unlock(void *object)                                      \
	{                                                                                          \
		verbs##_unlock((verbs##_t *)object);                                               \
	}

MUTEX(private, hf_mutex)
MUTEX(shared, hf_mutex_shared)

#define COUNT_MUTEX(name, verbs)                                                                   \
	do {                                                                                       \
		puts("mutex lock " #name " undone");                                               \
		measure(mutex_##name##_lock, mutex_##name##_unlock, &mutex_##name);                \
		puts("mutex trylock " #name " undone");                                            \
		measure(mutex_##name##_trylock, mutex_##name##_unlock, &mutex_##name);             \
		CHECK(!failed && !verbs##_is_locked(&mutex_##name));                               \
		mutex_##name##_lock(&mutex_##name);                                                \
		puts("mutex unlock " #name " undone");                                             \
		measure(mutex_##name##_unlock, mutex_##name##_lock, &mutex_##name);                \
		CHECK(verbs##_is_locked(&mutex_##name));                                           \
		mutex_##name##_unlock(&mutex_##name);                                              \
	} while (0);

/* ---- lockref ------------------------------------------------------------------------------ */

#define LOCKREF(name, verbs)                                                                       \
	static APART void lockref_##name##_get(void *object)                                       \
	{                                                                                          \
		verbs##_get((hf_lockref_t *)object);                                               \
	}                                                                                          \
	static APART void lockref_##name##_get_not_zero(void *object)                              \
	{                                                                                          \
		if (!verbs##_get_not_zero((hf_lockref_t *)object))                                 \
			missed();                                                                  \
	}                                                                                          \
	static APART void lockref_##name##_get_not_dead(void *object)                              \
	{                                                                                          \
		if (!verbs##_get_not_dead((hf_lockref_t *)object))                                 \
			missed();                                                                  \
	}                                                                                          \
	static APART void lockref_##name##_put_return(void *object)                                \
	{                                                                                          \
		if (verbs##_put_return((hf_lockref_t *)object) < 0)                                \
			missed();                                                                  \
	}                                                                                          \
	static APART void lockref_##name##_put_or_lock(void *object)                               \
	{                                                                                          \
		if (!verbs##_put_or_lock((hf_lockref_t *)object))                                  \
			missed();                                                                  \
	}

LAB_LOCKREFS(LOCKREF)
LOCKREF(default, hf_lockref)

#define COUNT_LOCKREF(name, ...)                                                                   \
	do {                                                                                       \
		hf_lockref_t l = HF_LOCKREF_INIT(2);                                               \
                                                                                                   \
		puts("lockref get " #name " undone");                                              \
		measure(lockref_##name##_get, lockref_##name##_put_or_lock, &l);                   \
		puts("lockref get_not_zero " #name " undone");                                     \
		measure(lockref_##name##_get_not_zero, lockref_##name##_put_or_lock, &l);          \
		puts("lockref get_not_dead " #name " undone");                                     \
		measure(lockref_##name##_get_not_dead, lockref_##name##_put_or_lock, &l);          \
		puts("lockref put_return " #name " undone");                                       \
		measure(lockref_##name##_put_return, lockref_##name##_get, &l);                    \
		puts("lockref put_or_lock " #name " undone");                                      \
		measure(lockref_##name##_put_or_lock, lockref_##name##_get, &l);                   \
		CHECK(!failed && hf_lockref_read(&l) == 2);                                        \
	} while (0);

static APART void lockref_waitfree_get(void *object)
{
	hf_lockref_waitfree_get((hf_lockref_waitfree_t *)object);
}

static APART void lockref_waitfree_get_not_dead(void *object)
{
	if (!hf_lockref_waitfree_get_not_dead((hf_lockref_waitfree_t *)object))
		missed();
}

static APART void lockref_waitfree_put_return(void *object)
{
	if (hf_lockref_waitfree_put_return((hf_lockref_waitfree_t *)object) < 0)
		missed();
}

static APART void lockref_waitfree_put_or_lock(void *object)
{
	if (!hf_lockref_waitfree_put_or_lock((hf_lockref_waitfree_t *)object))
		missed();
}

static void count_waitfree(void)
{
	hf_lockref_waitfree_t l = HF_LOCKREF_WAITFREE_INIT(2);

	puts("lockref get waitfree undone");
	measure(lockref_waitfree_get, lockref_waitfree_put_or_lock, &l);
	puts("lockref get_not_dead waitfree undone");
	measure(lockref_waitfree_get_not_dead, lockref_waitfree_put_or_lock, &l);
	puts("lockref put_return waitfree undone");
	measure(lockref_waitfree_put_return, lockref_waitfree_get, &l);
	puts("lockref put_or_lock waitfree undone");
	measure(lockref_waitfree_put_or_lock, lockref_waitfree_get, &l);
	CHECK(!failed && hf_lockref_waitfree_read(&l) == 2);
}

/* ---- clear and copy ----------------------------------------------------------------------- */

static const struct {
	size_t bytes;
	const char *text;
} sizes[] = { { 8, "8" },     { 17, "17" },     { 64, "64" },
	      { 256, "256" }, { 1024, "1024" }, { 4096, "4096" } };

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), LARGEST = 4096, MARGIN = 64 };

/* Aligned to a page: where a range lies in its page makes a difference. */
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

/* The verbs, which find the function that is in use. */
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
	size_t clears, copies;
	const struct hf_variant_clear *clear = hf_variant_clears(&clears);
	const struct hf_variant_copy *copy = hf_variant_copies(&copies);

	LAB_REFCOUNTS(COUNT_REFCOUNT)
	COUNT_REFCOUNT(default)
	COUNT_SPINLOCK(cas)
	COUNT_SPINLOCK(cas_release)
	COUNT_SPINLOCK(cas_prefetch)
	COUNT_SPINLOCK(wfe)
	COUNT_SPINLOCK(ticket)
	COUNT_SPINLOCK(mcs)
	COUNT_SPINLOCK(queued)
	COUNT_SPINLOCK(default)
	COUNT_MUTEX(private, hf_mutex)
	COUNT_MUTEX(shared, hf_mutex_shared)
	LAB_LOCKREFS(COUNT_LOCKREF)
	COUNT_LOCKREF(default)
	count_waitfree();

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
	return 0;
}
