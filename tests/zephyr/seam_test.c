/* SPDX-License-Identifier: MIT */
/*
 * seam_test - zephyr/seam.c on a fake of Zephyr: two cores, and a high-priority thread that an
 * interrupt makes ready.
 *
 * The interrupt preempts the running thread at once or, if it is masked, when it is unmasked, as a
 * processor and Zephyr's scheduler do: here it calls what the high-priority thread does, which is
 * to take a lock. If the preempted thread holds it, Zephyr would hang, because the holder never
 * runs again. The fake uses trylock, and counts how often it would have hung.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <zephyr/irq.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

#include <holdfast/spinlock.h>

#include "../ktap.h"

/* ---- Zephyr ------------------------------------------------------------------------------- */

static struct core {
	struct _cpu cpu;
	bool is_masked;
	bool is_pending; /* the interrupt came while it was masked */
} cores[CONFIG_MP_MAX_NUM_CPUS] = { { .cpu.id = 0 }, { .cpu.id = 1 } };

/* The core that the test simulates now. */
static struct core *core = &cores[0];

/* The interrupt comes after this many calls; 0 = never. */
static unsigned int comes_in;

static hf_spinlock_t lock = HF_SPINLOCK_INIT, other = HF_SPINLOCK_INIT;
static unsigned int preemptions, hangs;

/* What the high-priority thread does, until it waits for the next interrupt. */
static void high_thread(void)
{
	preemptions++;
	if (!hf_spinlock_trylock(&lock)) {
		hangs++;
		return;
	}
	hf_spinlock_unlock(&lock);
}

static void interrupt(void)
{
	if (core->is_masked)
		core->is_pending = true;
	else
		high_thread();
}

/* The seam calls Zephyr here: the interrupt may come now. */
static void step(void)
{
	if (comes_in && --comes_in == 0)
		interrupt();
}

unsigned int arch_irq_lock(void)
{
	unsigned int key;

	step();
	key = core->is_masked;
	core->is_masked = true;
	return key;
}

void arch_irq_unlock(unsigned int key)
{
	step();
	core->is_masked = key;
	if (!core->is_masked && core->is_pending) {
		core->is_pending = false;
		interrupt();
	}
}

struct _cpu *arch_curr_cpu(void)
{
	step();
	return &core->cpu;
}

void printk(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vprintf(format, list);
	va_end(list);
}

void k_panic(void)
{
	abort();
}

/* ---- the cases ---------------------------------------------------------------------------- */

static void begin(void)
{
	preemptions = hangs = 0;
}

/* The high-priority thread has not run yet. */
static bool is_held_off(void)
{
	return preemptions == 0;
}

/* It has run once, and interrupts are unmasked. */
static bool has_run(void)
{
	return preemptions == 1 && hangs == 0 && !core->is_masked;
}

static bool spinlock(void)
{
	bool ok;

	begin();
	hf_spinlock_lock(&lock);
	interrupt();
	ok = is_held_off();
	hf_spinlock_unlock(&lock);
	return ok && has_run();
}

static bool any_order(void)
{
	unsigned long flags;
	bool ok;

	begin();
	hf_spinlock_lock(&other);
	flags = hf_spinlock_lock_irqsave(&lock);
	hf_spinlock_unlock(&other);
	interrupt();
	ok = is_held_off();
	hf_spinlock_unlock_irqrestore(&lock, flags);
	return ok && has_run();
}

static bool masked_before(void)
{
	unsigned int key = arch_irq_lock();
	bool ok;

	begin();
	hf_spinlock_lock(&lock);
	interrupt();
	hf_spinlock_unlock(&lock);
	ok = is_held_off() && core->is_masked;
	arch_irq_unlock(key);
	return ok && has_run();
}

static bool cores_apart(void)
{
	bool ok;

	begin();
	hf_spinlock_lock(&lock);
	core = &cores[1];
	hf_spinlock_lock(&other);
	ok = core->is_masked;
	hf_spinlock_unlock(&other);
	ok = ok && !core->is_masked;
	core = &cores[0];
	ok = ok && core->is_masked;
	interrupt();
	ok = ok && is_held_off();
	hf_spinlock_unlock(&lock);
	return ok && has_run();
}

/* An interrupt between any two calls of Zephyr's functions. */
static bool everywhere(void)
{
	unsigned int steps = 0;
	bool ok = true;

	for (unsigned int left = 0; !left; steps++) {
		begin();
		comes_in = steps + 1;
		hf_spinlock_lock(&lock);
		hf_spinlock_unlock(&lock);
		left = comes_in;
		comes_in = 0;
		ok = ok && (left ? is_held_off() : has_run());
	}
	return ok && steps > 2;
}

/* Each core has HF_NODES nodes, all of them different; then acquiring one fails. */
static bool nodes(void)
{
	uint32_t index[CONFIG_MP_MAX_NUM_CPUS * HF_NODES];
	bool ok = true;

	for (unsigned int i = 0; i < CONFIG_MP_MAX_NUM_CPUS * HF_NODES; i++) {
		core = &cores[i / HF_NODES];
		index[i] = hf_env_node_get();
		ok = ok && index[i] >= 1 && index[i] <= CONFIG_MP_MAX_NUM_CPUS * HF_NODES;
		for (unsigned int k = 0; k < i; k++)
			ok = ok && index[i] != index[k];
	}
	ok = ok && hf_env_node_get() == 0;
	for (unsigned int i = 0; i < CONFIG_MP_MAX_NUM_CPUS * HF_NODES; i++) {
		core = &cores[i / HF_NODES];
		hf_env_node_put(index[i]);
	}
	core = &cores[0];
	return ok && hf_env_node_get() == index[0];
}

int main(void)
{
	ktap_begin(6);
	ktap_result(spinlock(), "spinlock: its holder is not preempted");
	ktap_result(any_order(), "two locks, released in the order in which they were taken");
	ktap_result(masked_before(), "interrupts stay masked if they were before");
	ktap_result(cores_apart(), "one core does not unmask another");
	ktap_result(everywhere(), "an interrupt between any two steps");
	ktap_result(nodes(), "nodes of two cores");
	return ktap_end();
}
