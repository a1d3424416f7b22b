/* SPDX-License-Identifier: MIT */
#ifndef PORT_HANDOFF_H
#define PORT_HANDOFF_H
/*
 * handoff - the published spinlock experiment: lock, increment a 64-bit variable, unlock.
 *
 * k cores do that for a window of time, either each with its own lock and variable or all with the
 * same ones. A window is correct if exactly these k cores got the lock, and if the final values of
 * the variables are the sums of the cores' counts. A window ends by time instead of by a count,
 * because a core may wait for long in an emulator.
 *
 * Before it includes this file a port defines HANDOFF_CORES, HANDOFF_WINDOW_NS, and HANDOFF_DELAYED
 * (1: the store of the increment is delayed, so that a missing release is noticed even in an
 * emulator, which performs stores in order; see delayed_atomic.h). The port defines the functions
 * below, and calls handoff_windows().
 */
#include "holdfast/lockref.h"
#include "holdfast/spinlock.h"
#include "holdfast/spinlock_ticket.h"
#include "variants/spinlock/cas.h"
#include "variants/spinlock/cas_prefetch.h"
#include "variants/spinlock/cas_release.h"
#include "variants/spinlock/mcs.h"
#include "variants/spinlock/wfe.h"

#include "../tests/battery/line.h"

/* ---- Supplied by the port ------------------------------------------------------------------- */

static inline unsigned int handoff_core(void);
static uint64_t handoff_now(void); /* in nanoseconds */

/* Runs work(core) on every core, and returns when all are done. */
static void handoff_on_all(void (*work)(unsigned int core));

/* Between these two the thread stays on its core. The second lets other cores run. */
static void handoff_begin_pairs(void);
static void handoff_end_pairs(void);

/* Called by a holder: may let other cores run, so that they find the lock held and wait. */
static void handoff_holding(void);

/* Called after an unlock, before the core performs its delayed store. */
static void handoff_unlocked(void);

/* Called at the end of each window. The name has no spaces. */
static void handoff_result(bool ok, const char *name, const char *remark);

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

static struct cell cells[HANDOFF_CORES];
static struct core_state states[HANDOFF_CORES];

/* The current window. */
static const struct variant *variant;
static unsigned int cores;
static bool shared;
static volatile uint64_t window_end;

#if HANDOFF_DELAYED
void delayed_store(uint64_t *p, uint64_t value)
{
	states[handoff_core()].late_value = value;
	states[handoff_core()].late = p;
}

void delayed_drain(void)
{
	struct core_state *state = &states[handoff_core()];

	if (state->late) {
		*(volatile uint64_t *)state->late = state->late_value;
		state->late = NULL;
	}
}
#else
static void delayed_store(uint64_t *p, uint64_t value)
{
	*(volatile uint64_t *)p = value;
}

static void delayed_drain(void)
{
}
#endif

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
			handoff_begin_pairs();                                                     \
			for (int i = 0; i < PAIRS_A_LOOK; i++) {                                   \
				prefix##_lock(&cell->lock.lock_name);                              \
				if (i == 0)                                                        \
					handoff_holding();                                         \
				delayed_store(&cell->value,                                        \
					      *(volatile uint64_t *)&cell->value + 1);             \
				prefix##_unlock(&cell->lock.lock_name);                            \
				handoff_unlocked();                                                \
				delayed_drain();                                                   \
			}                                                                          \
			handoff_end_pairs();                                                       \
			pairs += PAIRS_A_LOOK;                                                     \
		} while (handoff_now() < window_end);                                              \
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

static bool window(void)
{
	uint64_t values = 0, sum = 0;
	struct line name = { .length = 0 }, remark = { .length = 0 };
	bool ok;

	lockref_put_was_last = false;
	for (unsigned int i = 0; i < HANDOFF_CORES; i++) {
		variant->init(&cells[i]);
		cells[i].value = 0;
	}
	window_end = handoff_now() + HANDOFF_WINDOW_NS;
	handoff_on_all(work);

	ok = !lockref_put_was_last;
	put_text(&remark, "pairs");
	for (unsigned int i = 0; i < HANDOFF_CORES; i++) {
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

	put_text(&name, "handoff.");
	put_text(&name, variant->name);
	put_text(&name, shared ? ".shared." : ".own.");
	put_number(&name, cores);
	handoff_result(ok, name.text, remark.text);
	return ok;
}

/* Runs all windows of all locks. Returns how many were wrong. */
static unsigned int handoff_windows(void)
{
	unsigned int failed = 0;

	for (variant = variants; variant < variants + sizeof(variants) / sizeof(*variants);
	     variant++) {
		for (unsigned int s = 0; s < 2; s++) {
			shared = s == 1;
			for (cores = 1; cores <= HANDOFF_CORES; cores++)
				failed += !window();
		}
	}
	return failed;
}

#endif
