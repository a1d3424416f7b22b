/* SPDX-License-Identifier: MIT */
/* handoff - the experiment of port/handoff.h on four cores; the others wait in WFE. */
#include "board.h"

#ifndef BARE_DELAYED
#define BARE_DELAYED 0
#endif

/*
 * The emulated time that a window lasts. Cores take turns of 100 ms unless they wait by WFE or
 * yield, so that some turns end while the lock is held. With late stores they yield after every
 * pair.
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

/* No lock is held: cores that share a thread all begin. */
static void handoff_end_pairs(void)
{
	bare_yield();
}

/*
 * The holder yields now and then, so that other cores meet a held lock and wait. Waiters in WFE
 * yield in turn. A waiter that spins burns its turn; and if that is core 0, with which QEMU begins
 * again after each turn, then a core that has yielded never runs again. So core 0 finds out how the
 * waiters of this window's lock wait: turns end every TURN_NS, so of two yields, each with every
 * other core waiting, one is long if they spin. The window becomes longer by that time, and no holder
 * yields again. If both are short, every holder yields.
 *
 * A yield is long only where others wait for the same lock, so its holder alone writes the variables.
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

/* Where stores may be late, other cores run before the store is done. */
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
	battery_env_line(
		"# Emulated: the counts are checked and mean something, the times do not.");
	failed = handoff_windows();
	put_text(&plan, "1..");
	put_number(&plan, number);
	battery_env_line(plan.text);
	return failed;
}
