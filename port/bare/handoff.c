/* SPDX-License-Identifier: MIT */
/*
 * handoff - the published spinlock experiment: lock, increment a 64-bit variable, unlock.
 *
 * k cores do that for a window of time, each with a lock and variable of its own or all with the
 * same; the others wait in WFE. A window is right if every one of the k cores got the lock, and the
 * variables' final values are what the cores say that they added. A window is bounded by time and
 * never by a count, because in an emulator a core that waits in line may wait for long.
 */
#include "holdfast/spinlock.h"

#include "../../tests/battery/battery.h"
#include "board.h"
#include "handoff.h"

#ifndef BARE_DELAYED
#define BARE_DELAYED 0
#endif

/*
 * The emulated time that a window lasts. Cores take turns of 100 ms unless they wait or yield, so
 * that some turns end while the lock is held. With late stores they yield after every pair.
 */
#define WINDOW_NS (BARE_DELAYED ? 20000000u : 300000000u)
#define PAIRS_A_LOOK 16

struct cell {
	union {
		hf_spinlock_cas_t cas;
		hf_spinlock_cas_release_t cas_release;
		hf_spinlock_cas_prefetch_t cas_prefetch;
		hf_spinlock_wfe_t wfe;
		hf_spinlock_ticket_t ticket;
		hf_spinlock_queued_t queued;
	} lock;
	/* The published experiment's distance: nobody's lock or variable shares a line with another's. */
	uint64_t value HF_ALIGNED(HF_ARCH_NO_SHARING);
} HF_ALIGNED(HF_ARCH_NO_SHARING);

struct said {
	uint64_t pairs;
} HF_ALIGNED(HF_ARCH_NO_SHARING);

struct variant {
	const char *name;
	void (*init)(struct cell *cell);
	uint64_t (*loop)(struct cell *cell, uint64_t end);
};

static struct cell cells[BARE_CORES];
static struct said said[BARE_CORES];

/* The window that runs. */
static const struct variant *variant;
static unsigned int cores;
static bool shared;
static uint64_t window_end;

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

/* After an unlock: where stores may be late, the others come first, and then the store at last. */
static void between_pairs(void)
{
#if BARE_DELAYED
	bare_yield();
	delayed_drain();
#endif
}

/*
 * The holder yields now and then, so that the others meet a held lock, but only where they wait by
 * WFE, which yields in turn. Who spins would burn its 100 ms each time.
 */
#define VARIANT(name, holder_yields)                                                               \
	static void name##_init(struct cell *cell)                                                 \
	{                                                                                          \
		hf_spinlock_##name##_init(&cell->lock.name);                                       \
	}                                                                                          \
                                                                                                   \
	static uint64_t name##_loop(struct cell *cell, uint64_t end)                               \
	{                                                                                          \
		uint64_t pairs = 0;                                                                \
                                                                                                   \
		do {                                                                               \
			for (int i = 0; i < PAIRS_A_LOOK; i++) {                                   \
				hf_spinlock_##name##_lock(&cell->lock.name);                       \
				if (holder_yields && i == 0)                                       \
					bare_yield();                                              \
				delayed_store(&cell->value,                                        \
					      *(volatile uint64_t *)&cell->value + 1);             \
				hf_spinlock_##name##_unlock(&cell->lock.name);                     \
				between_pairs();                                                   \
			}                                                                          \
			pairs += PAIRS_A_LOOK;                                                     \
			bare_yield(); /* no lock is held: cores that share a thread all begin */   \
		} while (bare_now() < end);                                                        \
		return pairs;                                                                      \
	}

VARIANT(cas, false)
VARIANT(cas_release, false)
VARIANT(cas_prefetch, false)
VARIANT(wfe, true)
VARIANT(ticket, true)
VARIANT(queued, true)

static const struct variant variants[] = {
	{ "cas", cas_init, cas_loop },
	{ "cas_release", cas_release_init, cas_release_loop },
	{ "cas_prefetch", cas_prefetch_init, cas_prefetch_loop },
	{ "wfe", wfe_init, wfe_loop },
	{ "ticket", ticket_init, ticket_loop },
	{ "queued", queued_init, queued_loop },
};

static void work(unsigned int core)
{
	said[core].pairs = 0;
	if (core < cores)
		said[core].pairs = variant->loop(&cells[shared ? 0 : core], window_end);
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
	window_end = bare_now() + WINDOW_NS;
	bare_on_all(work);

	put_text(&line, " # pairs");
	for (unsigned int i = 0; i < BARE_CORES; i++) {
		uint64_t expected = shared ? 0 : said[i].pairs;

		values += cells[i].value;
		sum += said[i].pairs;
		if ((i < cores) != (said[i].pairs > 0))
			ok = false; /* a core was left out, or did what it should not */
		if (!shared && cells[i].value != expected)
			ok = false;
		put_text(&line, " ");
		put_number(&line, said[i].pairs);
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
