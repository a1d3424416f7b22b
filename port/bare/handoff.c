/* SPDX-License-Identifier: MIT */
/* handoff - the experiment of port/handoff.h on one to four cores; the others wait in WFE. */
#include "board.h"

#ifndef BARE_DELAYED
#define BARE_DELAYED 0
#endif

/*
 * The emulated duration of a window. QEMU runs each core for 100 ms unless it waits by WFE or
 * yields, so some turns end while a lock is held. With late stores the cores yield after each pair.
 */
#define TURN_NS 100000000u
#define HANDOFF_WINDOW_NS (BARE_DELAYED ? 20000000u : 300000000u)
#define HANDOFF_DELAYED BARE_DELAYED
#define HANDOFF_CORES BARE_CORES

#include "../../tests/battery/battery.h"
#include "../handoff.h"
#include "handoff.h"

static volatile bool waiters_spin; /* see handoff_holding() */
static volatile unsigned int short_yields;
static unsigned int number;

static inline unsigned int handoff_core(void)
{
	return bare_core();
}

static uint64_t handoff_now(void)
{
	return bare_now();
}

static void handoff_on_all(void (*work_of)(unsigned int core))
{
	waiters_spin = false;
	short_yields = 0;
	bare_on_all(work_of);
}

static void handoff_begin_pairs(void)
{
}

/* No lock is held here. The yield lets all cores begin, since they share one host thread. */
static void handoff_end_pairs(void)
{
	bare_yield();
}

/*
 * Holders yield so that other cores find the lock held and wait. Waiters in WFE yield in turn, but
 * a waiter that spins uses up its turn. If that is core 0, with which QEMU begins again after each
 * turn, a core that has yielded never runs again. So core 0 finds out how the waiters of this
 * window's lock wait, by two yields during which all other cores wait: if they spin, one yield
 * takes long, since turns end every TURN_NS. Then the window is extended by that time, and no
 * holder yields again. If both yields are short, every holder yields.
 *
 * A yield takes long only if other cores wait for the same lock, so only its holder writes the
 * variables.
 */
static void handoff_holding(void)
{
	uint64_t before, took;

	if (waiters_spin || (bare_core() != 0 && short_yields < 2))
		return;
	before = bare_now();
	bare_yield();
	took = bare_now() - before;
	if (took > TURN_NS / 2) {
		waiters_spin = true;
		window_end += took;
	} else if (bare_core() == 0) {
		short_yields++;
	}
}

/* If stores may be late, other cores run before the store is performed. */
static void handoff_unlocked(void)
{
#if BARE_DELAYED
	bare_yield();
#endif
}

static void handoff_result(bool ok, const char *name, const char *remark)
{
	struct line line = { .length = 0 };

	put_text(&line, ok ? "ok " : "not ok ");
	put_number(&line, ++number);
	put_text(&line, " ");
	put_text(&line, name);
	put_text(&line, " # ");
	put_text(&line, remark);
	battery_env_line(line.text);
}

unsigned int handoff_run(void)
{
	struct line plan = { .length = 0 };
	unsigned int failed;

	battery_env_line("KTAP version 1");
	battery_env_line("# Emulated: the counts are checked; the times mean nothing.");
	failed = handoff_windows();
	put_text(&plan, "1..");
	put_number(&plan, number);
	battery_env_line(plan.text);
	return failed;
}
