/* SPDX-License-Identifier: MIT */
/* order - the graph of the orders in which locks are taken, and its cycles. */
#include "order.h"

#include "holdfast/internal/atomic.h"
#include "../profile/table.h"
#include "../report/report.h"

#ifndef HF_DETAIL_VALIDATE_KEEP              /* hf-run has its own */
#define HF_DETAIL_VALIDATE_KEEP(site) (site) /* what a later report prints as the place */
#endif

enum { PROBES = 32, LISTS = 4096, GATES = 4, SEARCHED = 1024, PLACES = 16 };

/*
 * A lock that is known as `to` was taken while `from` was held. An edge is found by a 64-bit hash
 * of both. Edges with the same hash are taken for one; with 8,192 of them the probability of that
 * is 2^-38. Plain members are written before the edge gets into its list.
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

static hf_atomic32_t order_is_off;
static hf_atomic32_t unwatched_pairs;

static void note_no_room(void)
{
	if (hf_atomic32_fetch_add_relaxed(&unwatched_pairs, 1) == 0)
		hf_detail_report_note("validate: too many pairs of locks; the order of further "
				      "ones is not checked");
}

/* Finds or adds an edge, by compare-and-swap (V4 of validate.h). NULL = there is no room. */
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

/* ---- gates -------------------------------------------------------------------------------- */

/*
 * The gates are the first locks that this thread holds, without the edge's own. Released, so that a
 * thread that drops one may read the edge's ends before the edge is in its list.
 */
static void set_gates(struct edge *edge, const struct hf_detail_order_held *held, uint32_t own)
{
	for (uint32_t i = 0, n = 0; i < held->count && n < GATES; i++) {
		if (i != own && held->lock[i])
			hf_atomic32_store_release(&edge->gate[n++], held->lock[i]);
	}
}

/* Removes the gates that this thread does not hold. Returns whether there was one. */
static bool drop_gates(struct edge *edge, const struct hf_detail_order_held *held)
{
	bool dropped = false;

	for (uint32_t n = 0; n < GATES; n++) {
		uint32_t gate = hf_atomic32_load_acquire(&edge->gate[n]), i = held->count;

		while (gate && i > 0 && held->lock[i - 1] != gate)
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

/* ---- cycles ------------------------------------------------------------------------------- */

/* An edge that a search has reached, which of the reached ones leads to it, and after how many. */
struct step {
	uint16_t edge, before, length;
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

	steps[0] = (struct step){ (uint16_t)(edge - edges), 0, 0 };
	for (uint32_t at = 0; at < count; at++) {
		uint64_t lock = edges[steps[at].edge].to;
		uint64_t next = hf_atomic64_load_seq_cst(list_from(lock));

		for (; next; next = edges[next - 1].next) {
			const struct edge *found = &edges[next - 1];

			if (found->from != lock || leads_to(steps, count, found->to) ||
			    !may_follow(steps, at, found))
				continue;
			if (count == SEARCHED) {
				note_no_room();
				return 0;
			}
			steps[count] = (struct step){ (uint16_t)(next - 1), (uint16_t)at,
						      (uint16_t)(steps[at].length + 1) };
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
	uint32_t last = find_cycle(edge, steps), length = steps[last].length, sum;
	uint32_t first = steps[0].edge;
	const void *places[PLACES];

	if (!last)
		return;
	sum = (uint32_t)hf_atomic64_load_relaxed(&edges[first].key);
	for (uint32_t at = last; at > 0; at = steps[at].before) {
		uint32_t number = steps[at].edge;

		sum += (uint32_t)hf_atomic64_load_relaxed(&edges[number].key);
		first = number < first ? number : first;
		if (steps[at].length <= PLACES)
			places[steps[at].length - 1] = edges[number].site;
	}
	if (hf_atomic32_xchg_acq_rel(&edges[first].last_reported, sum | 1) == (sum | 1))
		return;
	details->other_site = places[0];
	details->places = places;
	details->place_count = length < PLACES ? length : PLACES;
	hf_detail_report_details(details);
}

void hf_detail_order_note(uint64_t from, uint64_t to, const struct hf_detail_order_held *held,
			  uint32_t own, struct hf_report_details *details)
{
	bool is_new;
	struct edge *edge;

	if (hf_atomic32_load_relaxed(&order_is_off))
		return;
	edge = find_edge(from, to, &is_new);
	if (!edge) {
		note_no_room();
		return;
	}
	if (is_new) {
		edge->from = from;
		edge->to = to;
		edge->site = HF_DETAIL_VALIDATE_KEEP(details->site);
		set_gates(edge, held, own);
		edge->next = hf_atomic64_load_relaxed(list_from(from));
		/* Sequentially consistent, as the search's loads: one of two sees both (V3). */
		while (!hf_atomic64_try_cmpxchg_seq_cst(list_from(from), &edge->next,
							(uint64_t)(edge - edges) + 1))
			;
	} else if (!drop_gates(edge, held)) {
		return;
	}
	search_cycle(edge, details);
}

bool hf_validate_set_order(bool on)
{
	return !hf_atomic32_xchg_acq_rel(&order_is_off, !on);
}

uint32_t hf_validate_unwatched_pairs(void)
{
	return hf_atomic32_load_relaxed(&unwatched_pairs);
}
