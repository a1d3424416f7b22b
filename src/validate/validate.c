/* SPDX-License-Identifier: MIT */
/* validate - tracks the locks that each thread holds, and the order in which locks are taken. */
#include "holdfast/validate.h"

#include "holdfast/internal/atomic.h"
#include "../env/env.h"
#include "../profile/table.h"
#include "../report/report.h"
#if defined(HF_ENV_HAS_COPIES)
#include "../process/process.h"
#include <limits.h>
#include <pthread.h>
#endif

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

/* Microseconds, so that it is one 32-bit word. */
static hf_atomic32_t limit_us = HF_ATOMIC_INIT(100000);

/* ---- threads that end with a lock held ------------------------------------------------------ */

#if defined(HF_ENV_HAS_COPIES)
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

HF_DETAIL_PROCESS_STATE(checks, 1);

struct validating {
	hf_atomic64_t first;   /* the first copy to take a lock: the address of its `validating` */
	hf_atomic32_t several; /* 1 = another one did, too */
};

static struct validating *validating; /* NULL = not started yet: assume one copy */

__attribute__((constructor(101))) static void start_validation(void)
{
	validating = hf_detail_process_share(checks, sizeof(*validating), HF_DETAIL_PROCESS_KEEP);
	has_at_end = pthread_key_create(&at_end, end_of_thread) == 0;
}

/* Lets another copy, or this one when it is loaded again, be the first. */
__attribute__((destructor(101))) static void end_validation(void)
{
	uint64_t me = (uint64_t)(uintptr_t)&validating;

	if (has_at_end)
		(void)pthread_key_delete(at_end);
	has_at_end = false;
	if (validating)
		(void)hf_atomic64_try_cmpxchg_relaxed(&validating->first, &me, 0);
}

/* Each copy has its own lists, so neither of two copies knows all that a thread holds. */
static bool is_one_of_several(void)
{
	uint64_t me = (uint64_t)(uintptr_t)&validating, first = 0;

	if (!validating)
		return false;
	if (HF_UNLIKELY(hf_atomic32_load_relaxed(&validating->several)))
		return true;
	if (HF_LIKELY(hf_atomic64_load_relaxed(&validating->first) == me) ||
	    hf_atomic64_try_cmpxchg_relaxed(&validating->first, &first, me) || first == me)
		return false;
	if (!hf_atomic32_xchg_acq_rel(&validating->several, 1))
		hf_detail_report_note(
			"validate: two copies of the library take locks, and each sees only its "
			"own: validation is off. Link everything with the shared library");
	return true;
}
#else
static void watch_end(void)
{
}

static bool is_one_of_several(void)
{
	return false;
}
#endif

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

/* ---- the order of locks ------------------------------------------------------------------- */

enum { PROBES = 32, GENERATIONS = 4096, LISTS = 4096, GATES = 4, SEARCHED = 1024, PLACES = 16 };

/*
 * An edge of the graph of orders: a lock that is known as `to` was taken while `from` was held. It
 * is found by a 64-bit hash of both. Edges with the same hash are taken for one; with 8,192 of them
 * the probability of that is 2^-38. Plain members are written before the edge gets into its list.
 */
static struct edge {
	hf_atomic64_t key; /* 0 = not yet in use */
	uint64_t from, to;
	const void *site;
	uint64_t next;               /* in the list: an index + 1; 0 = none */
	hf_atomic32_t gate[GATES];   /* the other locks that were held each time; 0 = none */
	hf_atomic32_t last_reported; /* of the cycles of which it is the first edge in the table */
} edges[HF_VALIDATE_PAIRS];

/* By some bits of a hash of `from`: the first edge's index + 1; 0 = none. */
static hf_atomic64_t lists[LISTS];

/* The class of each lock, as a 32-bit hash. */
static hf_atomic64_t classes[HF_VALIDATE_CLASSED];

/* How many locks have been at an address: a new lock must not inherit the pairs of an old one. */
static hf_atomic32_t generations[GENERATIONS];

static hf_atomic32_t order_is_off;
static hf_atomic32_t unwatched_pairs;

static uint32_t find_class(const void *lock)
{
	return number_of(classes, HF_VALIDATE_CLASSED, lock);
}

static void set_class(const void *lock, const void *key)
{
	if (key)
		set_number(classes, HF_VALIDATE_CLASSED, lock, (uint32_t)mix_address(key) | 1);
	else if (find_class(lock))
		set_number(classes, HF_VALIDATE_CLASSED, lock, 0);
}

/* V4. Finds or adds an edge. Returns NULL if there is no room. */
static struct edge *find_edge(uint64_t from, uint64_t to, bool *is_new)
{
	/* Identities may be small numbers: no two pairs of such have one sum. */
	uint64_t key = hf_detail_table_key(from * 0x9e3779b97f4a7c15u + to) | 1;

	*is_new = false;
	for (uint64_t i = 0, step = key >> 32 | 1; i < PROBES; i++) {
		struct edge *edge = &edges[((key >> 1) + i * step) % HF_VALIDATE_PAIRS];
		uint64_t found = hf_atomic64_load_relaxed(&edge->key);

		if (!found)
			*is_new = hf_atomic64_try_cmpxchg_relaxed(&edge->key, &found, key);
		if (*is_new || found == key)
			return edge;
	}
	return NULL;
}

static hf_atomic64_t *list_from(uint64_t lock)
{
	return &lists[hf_detail_table_key(lock) % LISTS];
}

static void note_no_room(void)
{
	if (hf_atomic32_fetch_add_relaxed(&unwatched_pairs, 1) == 0)
		hf_detail_report_note("validate: too many pairs of locks; the order of further "
				      "ones is not checked");
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
#define HF_DETAIL_VALIDATE_GRANTS true       /* a recursion */
#define HF_DETAIL_VALIDATE_KEEP(site) (site) /* what a report gets of an earlier place */

enum { TAKERS = 1024 };

/* The thread that last took a lock: a number made of bits of the address of its list. */
static hf_atomic64_t takers[TAKERS];

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
static void note_taker(const void *lock)
{
	(void)lock; /* it is in the mutex */
}

uint32_t hf_detail_validate_label(const void *lock)
{
	const volatile struct held *mine = find_held(lock);

	return mine ? mine->label : 0;
}
#endif

/* 0 = none: readers do not keep each other out. */
static uint32_t gate_of(const volatile struct held *mine)
{
	return mine->lock && !mine->is_shared ? (uint32_t)mine->identity : 0;
}

/*
 * The locks that this thread holds, but for the edge's own: those that it took first. Released, so
 * that a thread which drops one may read the edge's ends before it is in its list.
 */
static void set_gates(struct edge *edge, const volatile struct held *own)
{
	for (uint32_t i = 0, n = 0; i < held_count && n < GATES; i++) {
		if (&held[i] != own && gate_of(&held[i]))
			hf_atomic32_store_release(&edge->gate[n++], gate_of(&held[i]));
	}
}

/* Those that this thread does not hold are none. Returns whether there was one. */
static bool drop_gates(struct edge *edge)
{
	bool dropped = false;

	for (uint32_t n = 0; n < GATES; n++) {
		uint32_t gate = hf_atomic32_load_acquire(&edge->gate[n]), i = held_count;

		while (gate && i > 0 && gate_of(&held[i - 1]) != gate)
			i--;
		if (gate && i == 0) {
			hf_atomic32_store_relaxed(&edge->gate[n], 0);
			dropped = true;
		}
	}
	return dropped;
}

static bool share_a_gate(const struct edge *one, const struct edge *other)
{
	for (uint32_t i = 0; i < GATES * GATES; i++) {
		uint32_t gate = hf_atomic32_load_relaxed(&one->gate[i / GATES]);

		if (gate && gate == hf_atomic32_load_relaxed(&other->gate[i % GATES]))
			return true;
	}
	return false;
}

/* An edge that a search has reached, and which of the reached ones leads to it. */
struct step {
	uint16_t edge, before;
};

/* Two threads that hold one gate can't both wait in a cycle: its edges have none in common. */
static bool may_follow(const struct step *steps, uint32_t last, const struct edge *edge)
{
	for (;; last = steps[last].before) {
		if (share_a_gate(&edges[steps[last].edge], edge))
			return false;
		if (last == 0)
			return true;
	}
}

static bool leads_to(const struct step *steps, uint32_t count, uint64_t lock)
{
	while (count > 0 && edges[steps[count - 1].edge].to != lock)
		count--;
	return count > 0;
}

/*
 * Breadth first from @edge, so it finds the shortest of the cycles to which that edge belongs.
 * Returns the number of the step that closes it; 0 = none.
 */
static uint32_t find_cycle(const struct edge *edge, struct step steps[SEARCHED])
{
	uint32_t count = 1;

	steps[0] = (struct step){ (uint16_t)(edge - edges), 0 };
	for (uint32_t at = 0; at < count; at++) {
		uint64_t lock = edges[steps[at].edge].to;
		uint64_t next = hf_atomic64_load_seq_cst(list_from(lock)); /* V3 */

		for (; next; next = edges[next - 1].next) {
			const struct edge *found = &edges[next - 1];

			if (found->from != lock || leads_to(steps, count, found->to) ||
			    !may_follow(steps, at, found))
				continue;
			if (count == SEARCHED) {
				note_no_room();
				return 0;
			}
			steps[count] = (struct step){ (uint16_t)(next - 1), (uint16_t)at };
			if (found->to == edge->from)
				return count;
			count++;
		}
	}
	return 0;
}

/*
 * A new edge, or one that has lost a gate, may close a cycle. Each cycle is reported once, also if
 * two threads find it, each by its own edge: the cycle's sum is kept in the first of its edges.
 */
static __attribute__((__noinline__)) void search_cycle(const struct edge *edge,
						       struct hf_report_details *details)
{
	struct step steps[SEARCHED];
	uint32_t last = find_cycle(edge, steps), length = 0, sum = 0, first = UINT16_MAX;
	const void *places[PLACES];

	if (!last)
		return;
	for (uint32_t at = last;; at = steps[at].before) {
		uint32_t number = steps[at].edge;

		sum += (uint32_t)hf_atomic64_load_relaxed(&edges[number].key);
		first = number < first ? number : first;
		if (at == 0)
			break;
		length++;
	}
	if (hf_atomic32_xchg_acq_rel(&edges[first].last_reported, sum | 1) == (sum | 1))
		return;
	for (uint32_t at = last, n = length; n > 0; at = steps[at].before) {
		if (--n < PLACES)
			places[n] = edges[steps[at].edge].site;
	}
	details->other_site = places[0];
	details->places = places;
	details->place_count = length < PLACES ? length : PLACES;
	hf_detail_report_details(details);
}

/* This thread holds @first and is about to wait for @second. */
static void note_order(const volatile struct held *first, const void *second, const void *site)
{
	const void *lock = first->lock;
	uint32_t class1 = HF_DETAIL_VALIDATE_CLASS(first->label),
		 class2 = HF_DETAIL_VALIDATE_CLASS(HF_DETAIL_VALIDATE_LABEL(second));
	/*
	 * A lock that has lost its class may be of the other one's: then a class and one of its own
	 * locks would be a pair, which is in both orders where the class's locks are nested.
	 */
	bool by_address = class1 == class2 || (!class1 && HF_DETAIL_VALIDATE_LOST_CLASS(lock)) ||
			  (!class2 && HF_DETAIL_VALIDATE_LOST_CLASS(second));
	uint64_t id1 = by_address || !class1 ? first->identity : class1;
	uint64_t id2 = by_address || !class2 ? HF_DETAIL_VALIDATE_IDENTITY(second) : class2;
	struct hf_report_details details = {
		.kind = HF_REPORT_LOCK_ORDER, .object = second, .site = site, .other = lock
	};
	bool is_new;
	struct edge *edge = find_edge(id1, id2, &is_new);

	if (!edge) {
		note_no_room();
		return;
	}
	if (is_new) {
		edge->from = id1;
		edge->to = id2;
		edge->site = HF_DETAIL_VALIDATE_KEEP(site);
		set_gates(edge, first);
		edge->next = hf_atomic64_load_relaxed(list_from(id1));
		while (!hf_atomic64_try_cmpxchg_seq_cst(list_from(id1), &edge->next,
							(uint64_t)(edge - edges) + 1))
			; /* V3 */
	} else if (!drop_gates(edge)) {
		return;
	}
	search_cycle(edge, &details);
}

/* This thread is about to wait for @lock. */
static void note_orders(const void *lock, const void *site)
{
	uint32_t n = held_count;

	while (n-- > 0 && !hf_atomic32_load_relaxed(&order_is_off)) {
		if (held[n].lock)
			note_order(&held[n], lock, site);
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
	note_taker(lock);
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

static void report_long(const volatile struct held *mine, const void *site)
{
	uint64_t limit = (uint64_t)hf_atomic32_load_relaxed(&limit_us) * 1000;

	if (limit && hf_detail_env_now() - mine->since > limit)
		hf_report_at(HF_REPORT_LOCK_HELD_LONG, mine->lock, site);
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
	report_long(mine, HF_DETAIL_CALL_SITE);
	drop(mine);
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
	report_long(mine, HF_DETAIL_CALL_SITE);
	drop(mine);
	return true;
}

bool hf_validate_set_order(bool on)
{
	return !hf_atomic32_xchg_acq_rel(&order_is_off, !on);
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

uint32_t hf_validate_unwatched_pairs(void)
{
	return hf_atomic32_load_relaxed(&unwatched_pairs);
}

void hf_validate_set_hold_limit(uint64_t nanoseconds)
{
	uint64_t us = (nanoseconds + 999) / 1000;

	hf_atomic32_store_relaxed(&limit_us, us < UINT32_MAX ? (uint32_t)us : UINT32_MAX);
}

bool hf_validate_is_held(const void *lock)
{
	return !is_one_of_several() && find_held(lock) != NULL;
}
