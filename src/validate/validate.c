/* SPDX-License-Identifier: MIT */
/* validate - the locks that each thread holds; order.c has the orders in which they are taken. */
#include "order.h"

#include <limits.h>
#include <pthread.h>

#include "holdfast/internal/atomic.h"
#include "../env/env.h"
#include "../process/process.h"
#include "../profile/table.h"
#include "../report/report.h"

/*
 * What was known of a lock when it was taken is copied: its memory may be freed, or become
 * something else, while it is on the list, so only its address is used afterwards.
 */
struct held {
	const void *lock;
	const void *site; /* where it was taken */
	uint64_t since;
	uint64_t identity;
	uint32_t label; /* of its class */
	uint32_t depth : 31;
	uint32_t is_shared : 1; /* by a reader */
};

/*
 * Volatile: a signal handler uses the list, and leaves it as it was (V1). It may interrupt between
 * any two steps, so entries from held_count on have no lock: one that is counted before it is
 * filled in matches no lock.
 */
static __thread volatile struct held held[HF_VALIDATE_HELD];
static __thread volatile uint32_t held_count;
static __thread volatile uint32_t unwatched; /* locks held beyond HF_VALIDATE_HELD */

static hf_atomic64_t hold_limit = HF_ATOMIC_INIT(100000000); /* in nanoseconds */

/* ---- threads that end with a lock held ------------------------------------------------------ */

static pthread_key_t at_end;
static bool has_at_end;
static __thread intptr_t rounds; /* of this thread's key destructors; 0 = at_end is not set */

/*
 * Other destructors may still release the thread's locks. So this function asks to be called again,
 * until the last round but one: in the last round the sanitizers destroy their own state of the
 * thread.
 */
static void end_of_thread(void *value)
{
	(void)value;
	if (held_count > 0 && ++rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
		(void)pthread_setspecific(at_end, &rounds);
		return;
	}
	while (held_count > 0) {
		uint32_t last = held_count - 1;

		hf_report_at(HF_REPORT_LOCK_HELD_AT_EXIT, held[last].lock, held[last].site);
		held_count = last;
	}
	rounds = 0;
}

/* Makes end_of_thread() run when this thread ends. Called for each lock that is taken. */
static void watch_end(void)
{
	if (rounds == 0 && has_at_end) {
		rounds = 1;
		(void)pthread_setspecific(at_end, &rounds);
	}
}

/* ---- several copies of the library ---------------------------------------------------------- */

HF_DETAIL_PROCESS_STATE(checks, 2);

enum { SEVERAL = 1 };

/* The copy that takes locks, by the address of its `user`; 0 = none yet; or SEVERAL do. */
static hf_atomic64_t *user; /* NULL = not started yet: assume one copy */

__attribute__((constructor(101))) static void start_validation(void)
{
	user = hf_detail_process_share(checks, sizeof(*user), HF_DETAIL_PROCESS_KEEP);
	has_at_end = pthread_key_create(&at_end, end_of_thread) == 0;
}

/* Lets another copy, or this one when it is loaded again, be the first. */
__attribute__((destructor(101))) static void end_validation(void)
{
	uint64_t me = (uint64_t)(uintptr_t)&user;

	if (has_at_end)
		(void)pthread_key_delete(at_end);
	has_at_end = false;
	if (user)
		(void)hf_atomic64_try_cmpxchg_relaxed(user, &me, 0);
}

/* Each copy has its own lists, so neither of two copies knows all that a thread holds. */
static bool is_one_of_several(void)
{
	uint64_t me = (uint64_t)(uintptr_t)&user;
	uint64_t found = user ? hf_atomic64_load_relaxed(user) : me;

	if (HF_LIKELY(found == me) ||
	    (found == 0 && (hf_atomic64_try_cmpxchg_relaxed(user, &found, me) || found == me)))
		return false;
	if (found != SEVERAL && hf_atomic64_try_cmpxchg_relaxed(user, &found, SEVERAL))
		hf_detail_report_note(
			"validate: two copies of the library take locks, and each sees only its "
			"own: validation is off. Link everything with the shared library");
	return true;
}

/* ---- the locks that this thread holds ------------------------------------------------------- */

static volatile struct held *find_held(const void *lock)
{
	uint32_t n = held_count;

	while (n-- > 0) {
		if (held[n].lock == lock)
			return &held[n];
	}
	return NULL;
}

/* Removes an entry from the list; the last one takes its place. */
static void drop(volatile struct held *mine)
{
	volatile struct held *last = &held[held_count - 1];

	mine->lock = NULL; /* while its other members are the last one's */
	mine->site = last->site;
	mine->since = last->since;
	mine->identity = last->identity;
	mine->label = last->label;
	mine->depth = last->depth;
	mine->is_shared = last->is_shared;
	mine->lock = last->lock;
	last->lock = NULL;
	held_count = held_count - 1;
}

/* ---- what a lock is known by ----------------------------------------------------------------- */

static uint64_t mix_address(const void *address)
{
	return hf_detail_table_key((uint64_t)(uintptr_t)address + 1);
}

/*
 * Returns the number of a lock, from a table indexed by some bits of a hash of its address; an
 * entry has the other bits. Locks may share an entry: returns 0 if it was last set for another
 * lock.
 */
static uint32_t number_of(const hf_atomic64_t *table, uint32_t size, const void *lock)
{
	uint64_t bits = mix_address(lock), found = hf_atomic64_load_relaxed(&table[bits % size]);

	return found >> 32 == bits >> 32 ? (uint32_t)found : 0;
}

static void set_number(hf_atomic64_t *table, uint32_t size, const void *lock, uint32_t number)
{
	uint64_t bits = mix_address(lock);

	hf_atomic64_store_relaxed(&table[bits % size], bits >> 32 << 32 | number);
}

enum { GENERATIONS = 4096 };

static hf_atomic64_t classes[HF_VALIDATE_CLASSED]; /* the class of each lock, as a hash */

/* How many locks have been at an address: a new lock must not inherit the pairs of an old one. */
static hf_atomic32_t generations[GENERATIONS];

static uint32_t find_class(const void *lock)
{
	return number_of(classes, HF_VALIDATE_CLASSED, lock);
}

static void set_class(const void *lock, const void *key)
{
	if (key || find_class(lock))
		set_number(classes, HF_VALIDATE_CLASSED, lock,
			   key ? (uint32_t)mix_address(key) | 1 : 0);
}

/*
 * What a lock is known by when it is taken: its label, from which its class follows (0 = none), and
 * its identity. hf-run keeps both in the mutex, where they are exact, and has its own definitions.
 */
#ifndef HF_DETAIL_VALIDATE_LABEL
#define HF_DETAIL_VALIDATE_LABEL(lock) find_class(lock)
#define HF_DETAIL_VALIDATE_CLASS(label) (label)
#define HF_DETAIL_VALIDATE_IDENTITY(lock) identity(lock)
#define HF_DETAIL_VALIDATE_LOST_CLASS(lock) may_have_lost_class(lock)
#define HF_DETAIL_VALIDATE_TAKEN_BY_ANOTHER(lock) was_taken_by_another(lock)
#define HF_DETAIL_VALIDATE_TAKEN(lock) note_taker(lock)
#define HF_DETAIL_VALIDATE_GRANTS true /* a recursion */

enum { TAKERS = 1024 };

static hf_atomic64_t takers[TAKERS]; /* the thread that last took a lock */

static uint32_t my_number(void)
{
	return (uint32_t)((uintptr_t)held >> 4);
}

static bool was_taken_by_another(const void *lock)
{
	uint32_t last = number_of(takers, TAKERS, lock);

	return last && last != my_number();
}

static void note_taker(const void *lock)
{
	set_number(takers, TAKERS, lock, my_number());
}

/* @lock has no class in the table. True = it may have had one: its entry is another lock's. */
static bool may_have_lost_class(const void *lock)
{
	uint64_t bits = mix_address(lock),
		 found = hf_atomic64_load_relaxed(&classes[bits % HF_VALIDATE_CLASSED]);

	return found && found >> 32 != bits >> 32;
}

static uint64_t identity(const void *lock)
{
	uint64_t bits = mix_address(lock);

	return hf_detail_table_key(bits +
				   hf_atomic32_load_relaxed(&generations[bits % GENERATIONS]));
}
#else
uint32_t hf_detail_validate_label(const void *lock)
{
	const volatile struct held *mine = find_held(lock);

	return mine ? mine->label : 0;
}
#endif

/* ---- taking and releasing -------------------------------------------------------------------- */

/*
 * This thread is about to wait for @lock. A lock that has lost its class may be of the class of the
 * other one: then a class and one of its own locks would be a pair, which is in both orders where
 * the locks of the class are nested. Such a pair is compared by address.
 */
static void note_orders(const void *lock, const void *site)
{
	uint32_t class2 = HF_DETAIL_VALIDATE_CLASS(HF_DETAIL_VALIDATE_LABEL(lock));
	bool has_lost = !class2 && HF_DETAIL_VALIDATE_LOST_CLASS(lock);
	struct hf_detail_order_held all;

	all.count = held_count;
	for (uint32_t i = 0; i < all.count; i++)
		all.lock[i] = held[i].lock && !held[i].is_shared ? (uint32_t)held[i].identity : 0;
	for (uint32_t i = all.count; i-- > 0;) {
		const volatile struct held *first = &held[i];
		uint32_t class1 = HF_DETAIL_VALIDATE_CLASS(first->label);
		bool by_address = class1 == class2 || has_lost ||
				  (!class1 && HF_DETAIL_VALIDATE_LOST_CLASS(first->lock));
		struct hf_report_details details = { .kind = HF_REPORT_LOCK_ORDER,
						     .object = lock,
						     .site = site,
						     .other = first->lock };

		if (details.other)
			hf_detail_order_note(
				by_address || !class1 ? first->identity : class1,
				by_address || !class2 ? HF_DETAIL_VALIDATE_IDENTITY(lock) : class2,
				&all, i, &details);
	}
}

bool hf_detail_validate_lock(const void *lock, bool is_locked)
{
	volatile struct held *mine = find_held(lock);

	if (is_one_of_several())
		return true;
	if (mine && mine->is_shared) {
		hf_report_at(HF_REPORT_LOCK_UPGRADE, lock, HF_DETAIL_CALL_SITE);
		return true;
	}
	if (mine && is_locked && !HF_DETAIL_VALIDATE_TAKEN_BY_ANOTHER(lock)) {
		hf_report_at(HF_REPORT_LOCK_RECURSION, lock, HF_DETAIL_CALL_SITE);
		if (!HF_DETAIL_VALIDATE_GRANTS)
			return true;
		mine->depth = mine->depth + 1;
		return false;
	}
	if (mine)
		drop(mine); /* V2 */
	note_orders(lock, HF_DETAIL_CALL_SITE);
	return true;
}

bool hf_detail_validate_lock_shared(const void *lock)
{
	volatile struct held *mine = find_held(lock);

	if (is_one_of_several() || (mine && mine->is_shared))
		return true;
	if (mine) {
		hf_report_at(HF_REPORT_LOCK_RECURSION, lock, HF_DETAIL_CALL_SITE);
		mine->depth = mine->depth + 1;
		return false;
	}
	note_orders(lock, HF_DETAIL_CALL_SITE);
	return true;
}

static void add_held(const void *lock, bool is_shared, const void *site)
{
	uint32_t n = held_count;

	watch_end();
	if (n == HF_VALIDATE_HELD) {
		unwatched = unwatched + 1;
		return;
	}
	held_count = n + 1; /* first: a handler that interrupts now uses the next (V1) */
	held[n].since = hf_detail_env_now();
	held[n].site = site;
	held[n].label = HF_DETAIL_VALIDATE_LABEL(lock);
	held[n].identity = HF_DETAIL_VALIDATE_IDENTITY(lock);
	held[n].depth = 1;
	held[n].is_shared = is_shared;
	held[n].lock = lock;
}

void hf_detail_validate_locked(const void *lock)
{
	volatile struct held *mine = find_held(lock);

	if (is_one_of_several())
		return;
	HF_DETAIL_VALIDATE_TAKEN(lock);
	if (mine)
		drop(mine); /* V2, by trylock */
	add_held(lock, false, HF_DETAIL_CALL_SITE);
}

void hf_detail_validate_locked_shared(const void *lock)
{
	volatile struct held *mine = find_held(lock);

	if (is_one_of_several())
		return;
	if (!mine)
		add_held(lock, true, HF_DETAIL_CALL_SITE);
	else if (mine->is_shared)
		mine->depth = mine->depth + 1;
	else
		mine->is_shared = 1; /* a downgrade */
}

/* This thread no longer holds the lock at all. */
static void let_go(volatile struct held *mine, const void *site)
{
	uint64_t limit = hf_atomic64_load_relaxed(&hold_limit);

	if (limit && hf_detail_env_now() - mine->since > limit)
		hf_report_at(HF_REPORT_LOCK_HELD_LONG, mine->lock, site);
	drop(mine);
}

bool hf_detail_validate_unlock(const void *lock, bool is_locked)
{
	volatile struct held *mine = find_held(lock);

	if (is_one_of_several())
		return true;
	if (mine && mine->is_shared) {
		hf_report_at(HF_REPORT_LOCK_WRONG_KIND, lock, HF_DETAIL_CALL_SITE);
		return false;
	}
	if (mine && (!is_locked || HF_DETAIL_VALIDATE_TAKEN_BY_ANOTHER(lock))) {
		drop(mine); /* V2 */
		mine = NULL;
	}
	if (!mine) {
		if (is_locked && unwatched > 0) {
			unwatched = unwatched - 1;
			return true;
		}
		hf_report_at(is_locked ? HF_REPORT_LOCK_WRONG_OWNER : HF_REPORT_LOCK_UNLOCKED, lock,
			     HF_DETAIL_CALL_SITE);
		return false;
	}
	if (mine->depth > 1) {
		mine->depth = mine->depth - 1;
		return false;
	}
	let_go(mine, HF_DETAIL_CALL_SITE);
	return true;
}

/* Many threads may read a lock, so who took it last says nothing. */
bool hf_detail_validate_unlock_shared(const void *lock)
{
	volatile struct held *mine = find_held(lock);

	if (is_one_of_several())
		return true;
	if (!mine && unwatched > 0) {
		unwatched = unwatched - 1;
		return true;
	}
	if (!mine || (!mine->is_shared && mine->depth == 1)) {
		hf_report_at(mine ? HF_REPORT_LOCK_WRONG_KIND : HF_REPORT_LOCK_WRONG_OWNER, lock,
			     HF_DETAIL_CALL_SITE);
		return false;
	}
	if (mine->depth > 1) {
		mine->depth = mine->depth - 1;
		return mine->is_shared;
	}
	let_go(mine, HF_DETAIL_CALL_SITE);
	return true;
}

void hf_detail_validate_init(const void *lock)
{
	hf_validate_forget(lock);
	set_class(lock, HF_DETAIL_CALL_SITE);
}

void hf_validate_set_class(const void *lock, const char *name)
{
	set_class(lock, name);
}

void hf_validate_forget(const void *lock)
{
	set_class(lock, NULL);
	hf_atomic32_add_relaxed(&generations[mix_address(lock) % GENERATIONS], 1);
}

void hf_validate_set_hold_limit(uint64_t nanoseconds)
{
	hf_atomic64_store_relaxed(&hold_limit, nanoseconds);
}

bool hf_validate_is_held(const void *lock)
{
	return !is_one_of_several() && find_held(lock) != NULL;
}
