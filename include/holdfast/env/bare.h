/* SPDX-License-Identifier: MIT */
#ifndef HF_ENV_BARE_H
#define HF_ENV_BARE_H
/*
 * env, no operating system - what a port must supply.
 *
 * One context a core, and one more for each level of interrupt that takes locks: a slot is
 * core * levels + level. A port defines the functions below and
 *
 *   hf_node_t hf__nodes[SLOTS * HF_NODES];      (spinlock/node.h) zero at the start
 *   void hf_report(enum hf_report_kind, const volatile void *);   or links ours, src/report.c
 *
 * HF_NODES     nodes of one context: how many queue locks it can wait for or hold (mcs) at a time
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../compiler.h"

#define HF_NODES 8

HF_BEGIN_DECLS

/* A node for the context that runs now: 1 + slot * HF_NODES + n, at most 32767; 0 = none is free. */
uint32_t hf_env_node_get(void);

/* Gives back what hf_env_node_get() returned, in the same context. */
void hf_env_node_put(uint32_t index);

HF_END_DECLS

/* hf_env_preempt_disable, hf_env_preempt_enable - nobody preempts here, but interrupts. */
HF_INLINE void hf_env_preempt_disable(void)
{
}

HF_INLINE void hf_env_preempt_enable(void)
{
}

/* Interrupts exist: the locks have their _irqsave forms. */
#define HF_ENV_HAS_IRQ 1

HF_BEGIN_DECLS

/* Masks this core's interrupts and returns what to restore; restores it. */
unsigned long hf_env_irq_save(void);
void hf_env_irq_restore(unsigned long flags);

HF_END_DECLS

#endif
