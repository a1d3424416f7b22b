/* SPDX-License-Identifier: MIT */
/*
 * handoff - the published spinlock experiment: lock, increment a 64-bit variable, unlock.
 *
 * k cores do that for a window of time, either each with its own lock and variable or all with the
 * same ones; the others wait in WFE. A window is correct if exactly these k cores got the lock, and
 * if the final values of the variables are the sums of the cores' counts. A window ends by time
 * instead of by a count, because a core may wait for long in an emulator.
 *
 * BARE_DELAYED   1 = the store of the increment is delayed, so that a missing release is noticed
 *                even in an emulator, which performs stores in order (delayed_atomic.h)
 */
#include "board.h"

#ifndef BARE_DELAYED
#define BARE_DELAYED 0
#endif

#include "../../tests/battery/battery.h"
#include "holdfast/lockref.h"
#include "holdfast/spinlock.h"
#include "holdfast/spinlock_ticket.h"
#include "variants/spinlock/cas.h"
#include "variants/spinlock/cas_prefetch.h"
#include "variants/spinlock/cas_release.h"
#include "variants/spinlock/mcs.h"
#include "variants/spinlock/wfe.h"

#include "../../tests/battery/line.h"

/*
 * The emulated duration of a window. QEMU runs each core for 100 ms unless it waits by WFE or
 * yields, so some turns end while a lock is held. With late stores the cores yield after each pair.
 */
#define TURN_NS 100000000u
#define WINDOW_NS (BARE_DELAYED ? 20000000u : 300000000u)

/* ---- Locks ---------------------------------------------------------------------------------- */

/* A get and a put precede each lock. There is always one more reference, so no put is the last. */
typedef hf_lockref_t handoff_lockref_t;
static bool lockref_put_was_last;

static inline void handoff_lockref_init(hf_lockref_t *l)
{
	hf_lockref_init(l, 1);
}

static inline void handoff_lockref_lock(hf_lockref_t *l)
{
	hf_lockref_get(l);
	if (!hf_lockref_put_or_lock(l)) {
		lockref_put_was_last = true;
		hf_lockref_unlock(l);
	}
	hf_lockref_lock(l);
}

static inline void handoff_lockref_unlock(hf_lockref_t *l)
{
	hf_lockref_unlock(l);
}

/* queued is hf_spinlock_t, ticket the product's other spinlock; the others are lab variants. */
#define HANDOFF_LOCKS(X)                                                                           \
	X(cas, hf_spinlock_cas)                                                                    \
	X(cas_release, hf_spinlock_cas_release)                                                    \
	X(cas_prefetch, hf_spinlock_cas_prefetch)                                                  \
	X(wfe, hf_spinlock_wfe)                                                                    \
	X(ticket, hf_spinlock_ticket)                                                              \
	X(mcs, hf_spinlock_mcs)                                                                    \
	X(queued, hf_spinlock)                                                                     \
	X(lockref, handoff_lockref)

struct cell {
	union {
#define X(name, prefix) prefix##_t name;
		HANDOFF_LOCKS(X)
#undef X
	} lock;
	/* As in the published experiment, no two locks or variables share a cache line. */
	uint64_t value HF_ALIGNED(HF_ARCH_NO_SHARING);
} HF_ALIGNED(HF_ARCH_NO_SHARING);

struct core_state {
	uint64_t pairs;
	uint64_t *late; /* the address of the delayed store, or NULL */
	uint64_t late_value;
} HF_ALIGNED(HF_ARCH_NO_SHARING);

struct variant {
	const char *name;
	void (*init)(struct cell *cell);
	uint64_t (*loop)(struct cell *cell);
};

static struct cell cells[BARE_CORES];
static struct core_state states[BARE_CORES];

/* The current window. */
static const struct variant *variant;
static unsigned int cores;
static bool shared;
static volatile uint64_t window_end;

static volatile bool waiters_spin; /* see while_holding() */
static volatile unsigned int short_yields;

#if BARE_DELAYED
void delayed_store(uint64_t *p, uint64_t value)
{
	states[bare_core()].late_value = value;
	states[bare_core()].late = p;
}

void delayed_drain(void)
{
	struct core_state *state = &states[bare_core()];

	if (state->late) {
		*(volatile uint64_t *)state->late = state->late_value;
		state->late = NULL;
	}
}

/* The other cores run before the store is performed, unless the unlock was a release. */
static void after_unlock(void)
{
	bare_yield();
	delayed_drain();
}
#else
static void delayed_store(uint64_t *p, uint64_t value)
{
	*(volatile uint64_t *)p = value;
}

static void after_unlock(void)
{
}
#endif

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
static void while_holding(void)
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

/* Each lock has its own loop, so that its operations are inlined. */
#define PAIRS_A_LOOK 16
#define X(lock_name, prefix)                                                                       \
	static void lock_name##_init(struct cell *cell)                                            \
	{                                                                                          \
		prefix##_init(&cell->lock.lock_name);                                              \
	}                                                                                          \
                                                                                                   \
	static uint64_t lock_name##_loop(struct cell *cell)                                        \
	{                                                                                          \
		uint64_t pairs = 0;                                                                \
                                                                                                   \
		do {                                                                               \
			for (int i = 0; i < PAIRS_A_LOOK; i++) {                                   \
				prefix##_lock(&cell->lock.lock_name);                              \
				if (i == 0)                                                        \
					while_holding();                                           \
				delayed_store(&cell->value,                                        \
					      *(volatile uint64_t *)&cell->value + 1);             \
				prefix##_unlock(&cell->lock.lock_name);                            \
				after_unlock();                                                    \
			}                                                                          \
			bare_yield(); /* no lock is held: all cores may begin */                   \
			pairs += PAIRS_A_LOOK;                                                     \
		} while (bare_now() < window_end);                                                 \
		return pairs;                                                                      \
	}
HANDOFF_LOCKS(X)
#undef X

static const struct variant variants[] = {
#define X(name, prefix) { #name, name##_init, name##_loop },
	HANDOFF_LOCKS(X)
#undef X
};

/* ---- Windows -------------------------------------------------------------------------------- */

static void work(unsigned int core)
{
	states[core].pairs = core < cores ? variant->loop(&cells[shared ? 0 : core]) : 0;
}

static unsigned int number;

static void print_result(bool ok, const char *remark)
{
	struct line line = { .length = 0 };

	put_text(&line, ok ? "ok " : "not ok ");
	put_number(&line, ++number);
	put_text(&line, " handoff.");
	put_text(&line, variant->name);
	put_text(&line, shared ? ".shared." : ".own.");
	put_number(&line, cores);
	put_text(&line, " # ");
	put_text(&line, remark);
	battery_env_line(line.text);
}

static bool window(void)
{
	uint64_t values = 0, sum = 0;
	struct line remark = { .length = 0 };
	bool ok;

	lockref_put_was_last = false;
	for (unsigned int i = 0; i < BARE_CORES; i++) {
		variant->init(&cells[i]);
		cells[i].value = 0;
	}
	waiters_spin = false;
	short_yields = 0;
	window_end = bare_now() + WINDOW_NS;
	bare_on_all(work);

	ok = !lockref_put_was_last;
	put_text(&remark, "pairs");
	for (unsigned int i = 0; i < BARE_CORES; i++) {
		values += cells[i].value;
		sum += states[i].pairs;
		if ((i < cores) != (states[i].pairs > 0))
			ok = false; /* a core did not get the lock, or one did that should not */
		if (!shared && cells[i].value != states[i].pairs)
			ok = false;
		put_text(&remark, " ");
		put_number(&remark, (long)states[i].pairs);
	}
	put_text(&remark, " variable ");
	put_number(&remark, (long)values);
	ok = ok && values == sum;

	print_result(ok, remark.text);
	return ok;
}

unsigned int handoff_run(void)
{
	struct line plan = { .length = 0 };
	unsigned int failed = 0;

	battery_env_line("KTAP version 1");
	battery_env_line("# Emulated: the counts are checked; the times mean nothing.");
	for (variant = variants; variant < variants + sizeof(variants) / sizeof(*variants);
	     variant++) {
		for (unsigned int s = 0; s < 2; s++) {
			shared = s == 1;
			for (cores = 1; cores <= BARE_CORES; cores++)
				failed += !window();
		}
	}
	put_text(&plan, "1..");
	put_number(&plan, number);
	battery_env_line(plan.text);
	return failed;
}
