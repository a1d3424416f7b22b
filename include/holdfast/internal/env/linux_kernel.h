/* SPDX-License-Identifier: MIT */
#ifndef HF_ENV_LINUX_KERNEL_H
#define HF_ENV_LINUX_KERNEL_H
/*
 * env, inside a Linux kernel - for modules, and for a kernel's own tree; tried with 6.1 and 6.12.
 *
 * Examples     port/kernel, a module: docs/kernel.md. port/kernel-tree, a kernel whose refcount_t
 *              and lockref are Holdfast's: so this header includes nothing that includes
 *              <linux/refcount.h> (linux_kernel_user_memory.h does).
 *
 * Slots        A CPU and the context that runs on it: task, softirq, hardirq, NMI. Each interrupts
 *              only those before it, and leaves the slots as it found them; code of a slot runs
 *              with preemption disabled, as every lock function does: so a node is in use by at
 *              most one lock operation at a time. CPUs from 2047 on, which 15 bits can't name, have
 *              no node: their locks wait outside of the queue.
 *
 * Validation   HF_VALIDATE is for user space; a kernel has lockdep.
 *
 * The module links port/kernel/seam.c, src/report/report.c, and for nofault.h
 * port/kernel/nofault.c. Two modules that share locks link these once, and export them.
 */
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/limits.h>
#include <linux/preempt.h>
#include <linux/stddef.h>
#include <linux/types.h>

#include "../compiler.h"

/* Names of C's standard headers, which a kernel does not have; some of its files define them. */
#ifndef INT32_MIN
#define INT32_MIN S32_MIN
#endif
#ifndef INT32_MAX
#define INT32_MAX S32_MAX
#endif
#ifndef UINT32_MAX
#define UINT32_MAX U32_MAX
#endif

/* Queue nodes per slot. */
#define HF_NODES 4

/* As in bare.h; a CPU has 4 contexts, and each of them HF_NODES nodes, from 1 on. */
uint32_t hf_env_node_get(void);
void hf_env_node_put(uint32_t index);

/* The nodes are per-CPU data: see internal/node.h. */
#define HF_ENV_HAS_NODES 1
struct hf_node;
struct hf_node *hf_env_node(uint32_t index);

HF_INLINE void hf_env_preempt_disable(void)
{
	preempt_disable();
}

HF_INLINE void hf_env_preempt_enable(void)
{
	preempt_enable();
}

/* As in bare.h: not measured. */
#define hf_env_spin_hints(ns) ((uint32_t)(ns) / HF_ARCH_HINT_NS + 1)

HF_INLINE uint32_t hf_env_processors(void)
{
	return num_online_cpus();
}

#define HF_ENV_HAS_PARK 0 /* a module has the kernel's own mutex */
#define HF_ENV_HAS_REGION 0
#define HF_ENV_HAS_IRQ 1

HF_INLINE unsigned long hf_env_irq_save(void)
{
	unsigned long flags;

	local_irq_save(flags);
	return flags;
}

HF_INLINE void hf_env_irq_restore(unsigned long flags)
{
	local_irq_restore(flags);
}

/* A report names its call site as the kernel's traces do. */
#define HF_ENV_HAS_PLACES 1

/* Each kind of misuse warns once, and again after a write to debugfs's clear_warn_once. */
#define HF_ENV_HAS_REARM 1

/* What nofault.h needs of a kernel: its includes are too many for this header. */
#define HF_ENV_FAULTS_HEADER "../env/linux_kernel_user_memory.h"

#endif
