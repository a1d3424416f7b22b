/* SPDX-License-Identifier: MIT */
/*
 * seam_test - tests seam.c and board.c: interrupt masking, nodes, four cores with MMUs, which
 * exclude each other by each kind of lock.
 */
#include "holdfast/lockref.h"
#include "holdfast/spinlock.h"
#include "holdfast/spinlock_ticket.h"

#include "../../tests/battery/battery.h"
#include "board.h"

#define IRQ_MASKED 0x80ul

static uint64_t state[BARE_CORES];
static unsigned int numbers[BARE_CORES];

static bool is_masked(void)
{
	unsigned long flags;

	__asm__ volatile("mrs	%0, daif" : "=r"(flags)::"memory");
	return flags & IRQ_MASKED;
}

/* Interrupts are masked at first. Save masks them, restore undoes that, and they nest. */
static bool interrupts(void)
{
	bool ok = is_masked();
	unsigned long outer, inner;

	/* There are no interrupts, even unmasked: the interrupt controller is not set up. */
	__asm__ volatile("msr	daifclr, #2" ::: "memory");
	outer = hf_env_irq_save();
	ok = ok && is_masked();
	inner = hf_env_irq_save();
	hf_env_irq_restore(inner);
	ok = ok && is_masked();
	hf_env_irq_restore(outer);
	ok = ok && !is_masked();
	__asm__ volatile("msr	daifset, #2" ::: "memory");
	return ok;
}

/* A core gets HF_NODES different nodes, then none. A node that was put back can be got again. */
static bool nodes(void)
{
	uint32_t index[HF_NODES], again;
	bool ok = true;

	for (unsigned int i = 0; i < HF_NODES; i++) {
		index[i] = hf_env_node_get();
		ok = ok && index[i] >= 1 && index[i] <= BARE_CORES * HF_NODES;
		for (unsigned int k = 0; k < i; k++)
			ok = ok && index[i] != index[k];
	}
	ok = ok && hf_env_node_get() == 0;
	hf_env_node_put(index[3]);
	again = hf_env_node_get();
	ok = ok && again == index[3];
	for (unsigned int i = 0; i < HF_NODES; i++)
		hf_env_node_put(index[i]);
	return ok;
}

static void look(unsigned int core)
{
	__asm__ volatile("mrs	%0, sctlr_el1" : "=r"(state[core]));
	numbers[core] = hf_env_node_get();
	hf_env_node_put(numbers[core]);
	if (bare_core() != core)
		numbers[core] = 0;
}

/* Each core has its MMU and caches on, knows its number, and gets its own nodes. */
static bool all_cores(void)
{
	bool ok = true;

	bare_on_all(look);
	for (unsigned int core = 0; core < BARE_CORES; core++) {
		ok = ok && (state[core] & 0x1005) == 0x1005;
		ok = ok && numbers[core] && (numbers[core] - 1) / HF_NODES == core;
	}
	return ok;
}

enum { ROUNDS = 500 };

static hf_spinlock_t spinlock = HF_SPINLOCK_INIT;
static hf_spinlock_ticket_t ticket = HF_SPINLOCK_TICKET_INIT;
static hf_lockref_t ref = HF_LOCKREF_INIT(1);
static volatile uint64_t sums[3];

/* Lets another core run in between: without exclusion it would add to the same number. */
static void add(volatile uint64_t *sum)
{
	uint64_t before = *sum;

	bare_yield();
	*sum = before + 1;
}

static void contend(unsigned int core)
{
	(void)core;
	for (int i = 0; i < ROUNDS; i++) {
		hf_spinlock_lock(&spinlock);
		add(&sums[0]);
		hf_spinlock_unlock(&spinlock);
	}
	for (int i = 0; i < ROUNDS; i++) {
		hf_spinlock_ticket_lock(&ticket);
		add(&sums[1]);
		hf_spinlock_ticket_unlock(&ticket);
	}
	for (int i = 0; i < ROUNDS; i++) {
		hf_lockref_get(&ref);
		if (!hf_lockref_put_or_lock(&ref)) /* never the last reference */
			hf_lockref_unlock(&ref);
		hf_lockref_lock(&ref);
		add(&sums[2]);
		hf_lockref_unlock(&ref);
	}
}

static bool exclusion(void)
{
	bool ok = true;

	bare_on_all(contend);
	for (int i = 0; i < 3; i++)
		ok = ok && sums[i] == ROUNDS * BARE_CORES;
	return ok && hf_lockref_read(&ref) == 1;
}

unsigned int seam_test_run(void)
{
	static const struct {
		const char *good, *bad;
		bool (*run)(void);
	} cases[] = {
		{ "ok 1 seam.interrupts", "not ok 1 seam.interrupts", interrupts },
		{ "ok 2 seam.nodes", "not ok 2 seam.nodes", nodes },
		{ "ok 3 seam.all_cores", "not ok 3 seam.all_cores", all_cores },
		{ "ok 4 seam.exclusion", "not ok 4 seam.exclusion", exclusion },
	};
	unsigned int failed = 0;

	battery_env_line("KTAP version 1");
	battery_env_line("1..4");
	for (unsigned int i = 0; i < BATTERY_COUNT(cases); i++) {
		bool ok = cases[i].run();

		battery_env_line(ok ? cases[i].good : cases[i].bad);
		failed += !ok;
	}
	return failed;
}
