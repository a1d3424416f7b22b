/* SPDX-License-Identifier: MIT */
#ifndef HF_ENV_BARE_H
#define HF_ENV_BARE_H
#pragma GCC system_header
/*
 * env, no operating system - what a bare-metal image or an RTOS must supply.
 *
 * Example   port/bare/seam.c, for four cores whose interrupts take no locks; docs/bare-metal.md
 *
 * A port supplies
 *   hf_env_node_get, hf_env_node_put     queue nodes, by core                 needed by spinlock.h
 *   hf_env_irq_save, hf_env_irq_restore  this core's interrupts               needed by _irqsave
 *   hf_env_preempt_disable, hf_env_preempt_enable   if HF_ENV_PREEMPTS is 1   needed by all locks
 *   hf_node_t hf_detail_nodes[SLOTS * HF_NODES]    internal/node.h           needed by spinlock.h
 *                                        zero at the start; no two slots in the same
 *                                        HF_ARCH_NO_SHARING bytes
 *   hf_report, hf_report_at              (report.h) or src/report/report.c, which in turn needs
 *   hf_detail_env_print, hf_detail_env_abort         (src/env/env.h) print a line; stop
 *
 * Slots        Each core has one slot, and one more for each level of interrupt that takes locks
 *              without masking: slot = core * levels + level. A slot has HF_NODES nodes, one for
 *              each queued lock that its context waits for at a time.
 *
 * Invariants   A node is in use by at most one lock operation at a time; an interrupt handler
 *              leaves the set of used nodes as it found it.
 *              A holder or a waiter stays on its core and is not preempted by another thread that
 *              takes locks there: one of a higher priority would spin for ever for a lock whose
 *              holder cannot run.
 *
 * Context      Any that takes locks. These functions take no Holdfast lock: they are called from
 *              inside of one. The compiler moves no access across those of preemption and
 *              interrupts, which nest.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../compiler.h"

/* Queue nodes per slot. */
#define HF_NODES 8

HF_BEGIN_DECLS

/**
 * hf_env_node_get - take a queue node for the context that runs now
 * hf_env_node_put - give it back
 * @index: what hf_env_node_get() returned
 *
 * Return:   1 + slot * HF_NODES + n, at most 32767; 0 = none is free: the lock waits outside of the
 *           queue
 */
uint32_t hf_env_node_get(void);
void hf_env_node_put(uint32_t index);

HF_END_DECLS

/*
 * Keep this core to the calling thread: before a lock is taken, and until it was released. Where
 * threads preempt each other the port defines HF_ENV_PREEMPTS 1 and supplies both (zephyr/seam.c).
 */
#if defined(HF_ENV_PREEMPTS) && HF_ENV_PREEMPTS
HF_BEGIN_DECLS
void hf_env_preempt_disable(void);
void hf_env_preempt_enable(void);
HF_END_DECLS
#else
HF_INLINE void hf_env_preempt_disable(void)
{
}

HF_INLINE void hf_env_preempt_enable(void)
{
}
#endif

/*
 * How many spin hints take this many nanoseconds? At least 1. Not measured: HF_ARCH_HINT_NS is the
 * typical hint, of arch/<cpu>/constants.h, which is included later.
 */
#define hf_env_spin_hints(ns) ((uint32_t)(ns) / HF_ARCH_HINT_NS + 1)

/*
 * How many processors may compete for a line? At least 1. A system with more than
 * HF_WAIT_FEW_PROCESSORS defines HF_ENV_PROCESSORS before: a number or an expression.
 */
#ifndef HF_ENV_PROCESSORS
#define HF_ENV_PROCESSORS 1
#endif
#define hf_env_processors() ((uint32_t)(HF_ENV_PROCESSORS))

#define HF_ENV_HAS_PARK 0
#define HF_ENV_HAS_REGION 0
#define HF_ENV_HAS_IRQ 1 /* the locks have their _irqsave forms */

HF_BEGIN_DECLS

/* Mask this core's interrupts: returns how they were; restore that. */
unsigned long hf_env_irq_save(void);
void hf_env_irq_restore(unsigned long flags);

HF_END_DECLS

#endif
