/* SPDX-License-Identifier: MIT */
/* lines - who has which line. lines.h has N1 to N3. */
#include "lines.h"

#include "../parking/parking.h"

/* How many lines a thread examines before it takes a new one (N2). */
enum { EXAMINED = 4 };

/* 2 to the power of 32 times the process, and the thread. */
static uint32_t process_of(uint64_t owner)
{
	return (uint32_t)(owner >> 32);
}

#ifndef HF_DETAIL_PARKING_IS_MODEL
#include <pthread.h>

#include "../env/env.h"
#include "../process/process.h"

HF_DETAIL_PROCESS_STATE(lines, 1);

HF_DETAIL_DEBUGGERS_KNOW(sizeof(struct hf_detail_rwlock_line) == 64 &&
			 offsetof(struct hf_detail_rwlock_line, owner) == 56 &&
			 offsetof(struct hf_detail_rwlock_lines, line) == 64);

__thread struct hf_detail_rwlock_line *hf_detail_rwlock_line;

struct hf_detail_rwlock_lines *hf_detail_rwlock_lines(void)
{
	return (struct hf_detail_rwlock_lines *)hf_detail_process_share(
		lines, sizeof(struct hf_detail_rwlock_lines), HF_DETAIL_PROCESS_KEEP);
}

/* ---- fork (N3) ---------------------------------------------------------------------------- */

static __thread uint64_t forking_thread;

static void before_fork(void)
{
	forking_thread = hf_detail_env_thread();
}

static void in_child(void)
{
	struct hf_detail_rwlock_lines *lines = hf_detail_rwlock_lines();
	uint32_t used = lines ? hf_detail_rwlock_lines_used(lines) : 0;
	uint64_t me = hf_detail_env_thread();

	for (uint32_t n = 0; n < used; n++) {
		struct hf_detail_rwlock_line *line = &lines->line[n];
		uint64_t owner = hf_atomic64_load_relaxed(&line->owner);

		if (owner == forking_thread || owner == me) {
			hf_atomic64_store_relaxed(&line->owner, me);
			continue;
		}
		for (int i = 0; i < HF_DETAIL_RWLOCK_SLOTS; i++) {
			if (hf_atomic64_load_relaxed(&line->slot[i])) /* else copies no page */
				hf_atomic64_store_relaxed(&line->slot[i], 0);
		}
		if (owner)
			hf_atomic64_store_relaxed(&line->owner, 0);
	}
}

__attribute__((constructor(101))) static void start_lines(void)
{
	(void)hf_detail_rwlock_lines();
	(void)pthread_atfork(before_fork, NULL, in_child);
}
#endif

/* ---- a line for this thread ------------------------------------------------------------------ */

static bool line_is_empty(const struct hf_detail_rwlock_line *line)
{
	for (int i = 0; i < HF_DETAIL_RWLOCK_SLOTS; i++) {
		if (hf_atomic64_load_relaxed(&line->slot[i]))
			return false;
	}
	return true;
}

/* A line whose owner is free or gone -> @me. Acquire: its old owner's last stores come first. */
static bool take_over(struct hf_detail_rwlock_line *line, uint64_t me)
{
	uint64_t owner = hf_atomic64_load_acquire(&line->owner);

	return (!owner || (process_of(owner) == process_of(me) &&
			   hf_detail_env_thread_is_gone(owner) && line_is_empty(line))) &&
	       hf_atomic64_try_cmpxchg_acquire(&line->owner, &owner, me);
}

struct hf_detail_rwlock_line *hf_detail_rwlock_claim(void)
{
	struct hf_detail_rwlock_lines *lines = hf_detail_rwlock_lines();
	uint64_t me = hf_detail_env_thread();
	uint32_t used = lines ? hf_detail_rwlock_lines_used(lines) : 0;

	for (uint32_t n = 0; n < used; n++) {
		if (hf_atomic64_load_relaxed(&lines->line[n].owner) == me)
			return &lines->line[n]; /* of another copy of the library */
	}
	for (int i = 0; i < EXAMINED && used; i++) {
		uint32_t n = hf_atomic32_fetch_add_relaxed(&lines->next, 1) % used;

		if (take_over(&lines->line[n], me))
			return &lines->line[n];
	}
	while (lines && used < HF_RWLOCK_LINES) {
		used = hf_atomic32_fetch_add_relaxed(&lines->used, 1); /* N1 */
		if (used < HF_RWLOCK_LINES && take_over(&lines->line[used], me))
			return &lines->line[used];
	}
	return NULL;
}

hf_atomic64_t *hf_detail_rwlock_find_slot(uint64_t value)
{
	struct hf_detail_rwlock_lines *lines = hf_detail_rwlock_lines();
	uint64_t me = hf_detail_env_thread();
	uint32_t used = lines ? hf_detail_rwlock_lines_used(lines) : 0;

	for (uint32_t n = 0; n < used; n++) {
		struct hf_detail_rwlock_line *line = &lines->line[n];

		for (int i = 0; i < HF_DETAIL_RWLOCK_SLOTS; i++) {
			if (hf_atomic64_load_relaxed(&line->slot[i]) == value &&
			    hf_atomic64_load_relaxed(&line->owner) == me)
				return &line->slot[i];
		}
	}
	return NULL;
}

/* ---- BIAS ----------------------------------------------------------------------------------- */

enum { NOT_KNOWN, HAS_BARRIER, HAS_NONE };

bool hf_detail_bias_pays(void)
{
	struct hf_detail_rwlock_lines *lines = hf_detail_rwlock_lines();
	uint32_t has;

	if (!lines || hf_env_deadline(0) < hf_atomic64_load_relaxed(&lines->bias_from))
		return false;
	has = hf_atomic32_load_relaxed(&lines->has_barrier);
	if (HF_UNLIKELY(has == NOT_KNOWN)) {
		has = hf_env_barrier_now() ? HAS_BARRIER : HAS_NONE;
		hf_atomic32_store_relaxed(&lines->has_barrier, has);
	}
	return has == HAS_BARRIER;
}

/*
 * If membarrier() has been forbidden since the lock got BIAS: a processor writes out what it has
 * stored within microseconds, so a reader that has entered is visible after 10 ms.
 */
enum { STORES_VISIBLE_NS = 10000000 };

void hf_detail_bias_revoke(uint32_t rest)
{
	struct hf_detail_rwlock_lines *lines = hf_detail_rwlock_lines();
	uint64_t start = hf_env_deadline(0), end, until;

	if (!hf_env_barrier_now()) {
		hf_atomic32_store_relaxed(&lines->has_barrier, HAS_NONE);
		until = hf_env_deadline(STORES_VISIBLE_NS);
		while (!hf_detail_is_past(until))
			(void)hf_env_park(&lines->has_barrier, HAS_NONE, until, HF_ENV_PRIVATE);
		hf_atomic_fence_seq_cst();
	}
	end = hf_env_deadline(0);
	hf_atomic64_store_relaxed(&lines->bias_from, end + rest * (end - start));
}
