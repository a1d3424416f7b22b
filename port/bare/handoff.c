/* SPDX-License-Identifier: MIT */
/*
 * handoff - the published spinlock experiment: lock, increment a 64-bit variable, unlock.
 *
 * k cores do that for a window of time, each with a lock and variable of its own or all with the
 * same; the other cores wait in WFE. A window is right if each of the k cores got the lock, and the
 * variables' final values are what the cores counted. A window is bounded by time and never by a
 * count, because in an emulator a waiter may wait for long. Each lock has its windows.
 */
#include "holdfast/spinlock.h"
#include "holdfast/spinlock_ticket.h"
#include "variants/spinlock/cas.h"
#include "variants/spinlock/cas_prefetch.h"
#include "variants/spinlock/cas_release.h"
#include "variants/spinlock/mcs.h"
#include "variants/spinlock/wfe.h"

#include "../../tests/battery/battery.h"
#include "board.h"
#include "handoff.h"

#ifndef BARE_DELAYED
#define BARE_DELAYED 0
#endif

/*
 * The emulated time that a window lasts. Cores take turns of 100 ms unless they wait by WFE or
 * yield, so that some turns end while the lock is held. With late stores they yield after every
 * pair.
 */
#define TURN_NS 100000000u
#define WINDOW_NS (BARE_DELAYED ? 20000000u : 300000000u)
#define PAIRS_A_LOOK 16

/* hf_spinlock_t, which is `queued` here, the product's other lock, and the lab's variants. */
#define SPINLOCKS(X)                                                                               \
	X(cas, hf_spinlock_cas)                                                                    \
	X(cas_release, hf_spinlock_cas_release)                                                    \
	X(cas_prefetch, hf_spinlock_cas_prefetch)                                                  \
	X(wfe, hf_spinlock_wfe)                                                                    \
	X(ticket, hf_spinlock_ticket)                                                              \
	X(mcs, hf_spinlock_mcs)                                                                    \
	X(queued, hf_spinlock)

struct cell {
	union {
#define X(name, prefix) prefix##_t name;
		SPINLOCKS(X)
#undef X
	} lock;
	/* The published experiment's distance: no two locks or variables share a line. */
	uint64_t value HF_ALIGNED(HF_ARCH_NO_SHARING);
} HF_ALIGNED(HF_ARCH_NO_SHARING);

struct result {
	uint64_t pairs;
} HF_ALIGNED(HF_ARCH_NO_SHARING);

struct variant {
	const char *name;
	void (*init)(struct cell *cell);
	uint64_t (*loop)(struct cell *cell);
};

static struct cell cells[BARE_CORES];
static struct result results[BARE_CORES];

/* The window that runs. */
static const struct variant *variant;
static unsigned int cores;
static bool shared;
static volatile uint64_t window_end;
static volatile bool waiters_spin; /* see yield_holding() */
static volatile unsigned int short_yields;

#if BARE_DELAYED
static struct {
	uint64_t *to;
	uint64_t value;
} HF_ALIGNED(HF_ARCH_NO_SHARING) late[BARE_CORES];

void delayed_store(uint64_t *p, uint64_t value)
{
	late[bare_core()].value = value;
	late[bare_core()].to = p;
}

void delayed_drain(void)
{
	uint64_t *to = late[bare_core()].to;

	if (to) {
		*(volatile uint64_t *)to = late[bare_core()].value;
		late[bare_core()].to = NULL;
	}
}
#else
static void delayed_store(uint64_t *p, uint64_t value)
{
	*(volatile uint64_t *)p = value;
}
#endif

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
static void yield_holding(void)
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

/* After an unlock: where stores may be late, other cores run first, and then the store is done. */
static void between_pairs(void)
{
#if BARE_DELAYED
	bare_yield();
	delayed_drain();
#endif
}

/* Each lock has a loop of its own, in which its verbs are inlined. */
#define X(name, prefix)                                                                            \
	static void name##_init(struct cell *cell)                                                 \
	{                                                                                          \
		prefix##_init(&cell->lock.name);                                                   \
	}                                                                                          \
                                                                                                   \
	static uint64_t name##_loop(struct cell *cell)                                             \
	{                                                                                          \
		uint64_t pairs = 0;                                                                \
                                                                                                   \
		do {                                                                               \
			for (int i = 0; i < PAIRS_A_LOOK; i++) {                                   \
				prefix##_lock(&cell->lock.name);                                   \
				if (i == 0)                                                        \
					yield_holding();                                           \
				delayed_store(&cell->value,                                        \
					      *(volatile uint64_t *)&cell->value + 1);             \
				prefix##_unlock(&cell->lock.name);                                 \
				between_pairs();                                                   \
			}                                                                          \
			pairs += PAIRS_A_LOOK;                                                     \
			bare_yield(); /* no lock is held: cores that share a thread all begin */   \
		} while (bare_now() < window_end);                                                 \
		return pairs;                                                                      \
	}
SPINLOCKS(X)
#undef X

static const struct variant variants[] = {
#define X(name, prefix) { #name, name##_init, name##_loop },
	SPINLOCKS(X)
#undef X
};

static void work(unsigned int core)
{
	results[core].pairs = 0;
	if (core < cores)
		results[core].pairs = variant->loop(&cells[shared ? 0 : core]);
}

/* ---- Lines ---------------------------------------------------------------------------------- */

struct line {
	char text[160];
	unsigned int length;
};

static void put_text(struct line *line, const char *text)
{
	while (*text && line->length < sizeof(line->text) - 1)
		line->text[line->length++] = *text++;
	line->text[line->length] = '\0';
}

static void put_number(struct line *line, uint64_t number)
{
	char digits[24];
	unsigned int at = sizeof(digits) - 1;

	digits[at] = '\0';
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	put_text(line, &digits[at]);
}

/* ---- Windows -------------------------------------------------------------------------------- */

static bool window(unsigned int number)
{
	uint64_t values = 0, sum = 0;
	struct line line = { .length = 0 };
	bool ok = true;

	for (unsigned int i = 0; i < BARE_CORES; i++) {
		variant->init(&cells[i]);
		cells[i].value = 0;
	}
	waiters_spin = false;
	short_yields = 0;
	window_end = bare_now() + WINDOW_NS;
	bare_on_all(work);

	put_text(&line, " # pairs");
	for (unsigned int i = 0; i < BARE_CORES; i++) {
		uint64_t expected = shared ? 0 : results[i].pairs;

		values += cells[i].value;
		sum += results[i].pairs;
		if ((i < cores) != (results[i].pairs > 0))
			ok = false; /* a core was left out, or did what it should not */
		if (!shared && cells[i].value != expected)
			ok = false;
		put_text(&line, " ");
		put_number(&line, results[i].pairs);
	}
	put_text(&line, " variable ");
	put_number(&line, values);
	if (values != sum)
		ok = false;

	struct line result = { .length = 0 };

	put_text(&result, ok ? "ok " : "not ok ");
	put_number(&result, number);
	put_text(&result, " handoff.");
	put_text(&result, variant->name);
	put_text(&result, shared ? ".shared." : ".own.");
	put_number(&result, cores);
	put_text(&result, line.text);
	battery_world_line(result.text);
	return ok;
}

unsigned int handoff_run(void)
{
	unsigned int number = 0, failed = 0;
	struct line plan = { .length = 0 };

	battery_world_line("KTAP version 1");
	put_text(&plan, "1..");
	put_number(&plan, BATTERY_COUNT(variants) * 2 * BARE_CORES);
	battery_world_line(plan.text);
	battery_world_line(
		"# Emulated: the counts are checked and mean something, the times do not.");
	for (unsigned int v = 0; v < BATTERY_COUNT(variants); v++) {
		variant = &variants[v];
		for (unsigned int s = 0; s < 2; s++) {
			shared = s == 1;
			for (cores = 1; cores <= BARE_CORES; cores++)
				failed += !window(++number);
		}
	}
	return failed;
}
