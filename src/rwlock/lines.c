/* SPDX-License-Identifier: MIT */
/* lines - which thread owns which line. lines.h has N1 to N4. */
#include "lines.h"

#include "../parking/parking.h"

/* How many lines are used before any is freed (N2). */
#ifndef HF_RWLOCK_SWEEP
#define HF_RWLOCK_SWEEP 16
#endif

/* The bits of an owner: the thread; from bit 32 on the process, a number below 4,194,304; N4. */
#define VERSION_ONE ((uint64_t)1 << 54)

/* The process and the thread; 0 = the line is free. */
static uint64_t thread_of(uint64_t owner)
{
	return owner & (VERSION_ONE - 1);
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

/* A line without an empty slot: a thread that gets no other one does not search again. */
static struct hf_detail_rwlock_line full_line = {
	{ HF_ATOMIC_INIT(1), HF_ATOMIC_INIT(1), HF_ATOMIC_INIT(1), HF_ATOMIC_INIT(1),
	  HF_ATOMIC_INIT(1), HF_ATOMIC_INIT(1), HF_ATOMIC_INIT(1) },
	HF_ATOMIC_INIT(0),
};
#define NO_LINE (&full_line)

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
	uint32_t used = hf_detail_rwlock_lines_used(lines);
	uint64_t me = hf_detail_env_thread();

	for (uint32_t n = 0; n < used; n++) {
		struct hf_detail_rwlock_line *line = &lines->line[n];
		uint64_t owner = hf_atomic64_load_relaxed(&line->owner), thread = thread_of(owner);

		if (thread == forking_thread || thread == me) {
			hf_atomic64_store_relaxed(&line->owner, owner - thread + me);
			continue;
		}
		for (int i = 0; i < HF_DETAIL_RWLOCK_SLOTS; i++) {
			if (hf_atomic64_load_relaxed(&line->slot[i])) /* else copies no page */
				hf_atomic64_store_relaxed(&line->slot[i], 0);
		}
		if (thread)
			hf_atomic64_store_relaxed(&line->owner, owner - thread);
	}
	if (lines)
		(void)hf_atomic32_fetch_add_relaxed(&lines->forks, 1);
}

__attribute__((constructor(101))) static void start_lines(void)
{
	(void)hf_detail_rwlock_lines();
	(void)pthread_atfork(before_fork, NULL, in_child);
}
#else
#define NO_LINE NULL
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

/* N4. A new owner has seen the last one's stores. */
static bool change_owner(struct hf_detail_rwlock_line *line, uint64_t owner, uint64_t thread)
{
	uint64_t version = owner - thread_of(owner) + VERSION_ONE;

	return hf_atomic64_try_cmpxchg_acq_rel(&line->owner, &owner, version + thread);
}

/* Takes a line of @thread, 0 if it must be free. NULL = there is none. */
static struct hf_detail_rwlock_line *take_line(struct hf_detail_rwlock_lines *lines, uint32_t used,
					       uint64_t thread, uint64_t me)
{
	for (uint32_t n = 0; n < used; n++) {
		struct hf_detail_rwlock_line *line = &lines->line[n];
		uint64_t owner = hf_atomic64_load_relaxed(&line->owner);

		for (; thread_of(owner) == thread; owner = hf_atomic64_load_relaxed(&line->owner)) {
			if (change_owner(line, owner, me))
				return line;
		}
	}
	return NULL;
}

/*
 * Frees the lines of threads that are gone (N2). One that ended inside a lock keeps its own. A line
 * that another thread frees at the same time does not count as kept: else each such race would let
 * the lines become more.
 */
static void sweep(struct hf_detail_rwlock_lines *lines, uint32_t used, uint64_t me)
{
	uint32_t kept = 0;

	for (uint32_t n = 0; n < used; n++) {
		struct hf_detail_rwlock_line *line = &lines->line[n];
		uint64_t owner = hf_atomic64_load_acquire(&line->owner), thread = thread_of(owner);

		if (thread && thread >> 32 == me >> 32 && hf_detail_env_thread_is_gone(thread) &&
		    line_is_empty(line))
			(void)change_owner(line, owner, 0);
		else
			kept += thread != 0;
	}
	hf_atomic32_store_relaxed(&lines->sweep_from, 2 * kept);
}

static bool is_time_to_sweep(const struct hf_detail_rwlock_lines *lines, uint32_t used)
{
	return used == HF_RWLOCK_LINES ||
	       (used >= HF_RWLOCK_SWEEP && used >= hf_atomic32_load_relaxed(&lines->sweep_from));
}

struct hf_detail_rwlock_line *hf_detail_rwlock_claim(void)
{
	struct hf_detail_rwlock_lines *lines = hf_detail_rwlock_lines();
	uint64_t me = hf_detail_env_thread();
	uint32_t used = hf_detail_rwlock_lines_used(lines);
	struct hf_detail_rwlock_line *line;

	if (!lines)
		return NO_LINE;
	/* Of another copy; or its thread is gone, and this one has its number (N4). */
	line = take_line(lines, used, me, me);
	if (!line)
		line = take_line(lines, used, 0, me);
	if (!line && is_time_to_sweep(lines, used)) {
		sweep(lines, used, me);
		line = take_line(lines, used, 0, me);
	}
	while (!line && used < HF_RWLOCK_LINES) {
		used = hf_atomic32_fetch_add_relaxed(&lines->used, 1); /* N1 */
		if (used < HF_RWLOCK_LINES && change_owner(&lines->line[used], 0, me))
			line = &lines->line[used];
	}
	return line ? line : NO_LINE;
}

hf_atomic64_t *hf_detail_rwlock_find_slot(uint64_t value)
{
	hf_atomic64_t *found = NULL;
	struct hf_detail_rwlock_lines *lines = hf_detail_rwlock_lines();
	uint64_t me = hf_detail_env_thread();
	uint32_t used = hf_detail_rwlock_lines_used(lines);

	for (uint32_t n = 0; n < used && !found; n++) {
		struct hf_detail_rwlock_line *line = &lines->line[n];

		if (thread_of(hf_atomic64_load_relaxed(&line->owner)) == me)
			found = hf_detail_rwlock_slot_with(line, value, NULL);
	}
	return found;
}

/* ---- BIAS ----------------------------------------------------------------------------------- */

bool hf_detail_bias_pays(void)
{
	struct hf_detail_rwlock_lines *lines = hf_detail_rwlock_lines();
	uint64_t from = lines ? hf_atomic64_load_relaxed(&lines->bias_from) : HF_ENV_FOREVER;

	if (HF_UNLIKELY(!from)) {
		from = hf_env_barrier_now() ? 1 : HF_ENV_FOREVER;
		hf_atomic64_store_relaxed(&lines->bias_from, from);
	}
	return hf_env_deadline(0) >= from;
}

/*
 * If membarrier() has been forbidden since the lock got BIAS: a processor writes out what it has
 * stored within microseconds, so a reader that has entered is visible after 10 ms.
 */
enum { STORES_VISIBLE_NS = 10000000 };

void hf_detail_bias_revoke(uint32_t rest)
{
	struct hf_detail_rwlock_lines *lines = hf_detail_rwlock_lines();
	uint64_t start = hf_env_deadline(0), end;

	if (!hf_env_barrier_now()) {
		rest = UINT32_MAX;
		while (!hf_detail_is_past(start + STORES_VISIBLE_NS))
			hf_env_yield();
		hf_atomic_fence_seq_cst();
	}
	end = hf_env_deadline(0);
	hf_atomic64_store_relaxed(&lines->bias_from, end + rest * (end - start));
}
