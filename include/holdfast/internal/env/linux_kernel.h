/* SPDX-License-Identifier: MIT */
#ifndef HF_ENV_LINUX_KERNEL_H
#define HF_ENV_LINUX_KERNEL_H
/*
 * env, inside a Linux kernel - for modules; tried with 6.1 on x86-64 and arm64.
 *
 * Worked example  port/kernel, a module; docs/kernel.md takes it from there to one of your own.
 *
 * Slots        A CPU and the context that runs on it: task, softirq, hardirq, NMI. Each interrupts
 *              only those before it, so there are four slots a CPU. HF_NODES nodes a slot: how many
 *              queue locks a context can wait for, or hold (mcs), at one time. More is no error:
 *              the index is 0 then, and on the CPUs from 2047 on, which 15 bits can't name.
 *
 * Invariants   K1  a node is in use by at most one lock operation at a time: a slot is only used by
 *                  what runs on its CPU in its context with preemption off. Every lock verb turns
 *                  preemption off before it takes a node, and on again after it has given it back.
 *              K2  an interrupt handler leaves the slots as it found them.
 *
 * Validation   HF_VALIDATE is for user space; a kernel has lockdep.
 *
 * The module links port/kernel/seam.c, src/report/report.c, and for nofault.h port/kernel/nofault.c. Two
 * modules that share locks link these once, and export them.
 */
#include <linux/cpumask.h>
#include <linux/extable.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/stddef.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#include "../compiler.h"

/* The names of C's own headers, which a kernel does not have. */
#define INT32_MIN S32_MIN
#define INT32_MAX S32_MAX
#define UINT32_MAX U32_MAX

/* Queue nodes of a slot. */
#define HF_NODES 4

/**
 * hf_env_node_get - take a queue node for this CPU and context
 *
 * Context:  any; preemption is off (K1)
 * Ordering: none
 * Return:   1 + ((cpu * 4 + context) * HF_NODES) + n, at most 32767; 0 = none is free
 */
uint32_t hf_env_node_get(void);

/**
 * hf_env_node_put - give back what hf_env_node_get() returned, on the same CPU and in the same
 * context
 *
 * Ordering: none
 */
void hf_env_node_put(uint32_t index);

/* The nodes are a CPU's own: see spinlock/node.h. */
#define HF_ENV_HAS_NODES 1
struct hf_node;
struct hf_node *hf_env_node(uint32_t index);

/* hf_env_preempt_disable, hf_env_preempt_enable - the kernel's. */
HF_INLINE void hf_env_preempt_disable(void)
{
	preempt_disable();
}

HF_INLINE void hf_env_preempt_enable(void)
{
	preempt_enable();
}

/**
 * hf_env_spin_hints - how many spin hints take about so long? (a macro: HF_ARCH_HINT_NS comes later)
 * @ns: nanoseconds
 *
 * Nothing is measured here: by the typical hint of arch/<cpu>/constants.h.
 *
 * Ordering: none
 * Return:   at least 1
 */
#define hf_env_spin_hints(ns) ((uint32_t)(ns) / HF_ARCH_HINT_NS + 1)

/**
 * hf_env_processors - how many processors may compete for a line?
 *
 * Ordering: none
 * Return:   at least 1; those that are online
 */
HF_INLINE uint32_t hf_env_processors(void)
{
	return num_online_cpus();
}

/* A module has the kernel's own mutex: nothing parks here. */
#define HF_ENV_HAS_PARK 0

/* No mapping loses pages here, and none is replaced: no region.h, no safe.h. */
#define HF_ENV_HAS_REGION 0

/* Interrupts exist: the locks have their _irqsave forms. */
#define HF_ENV_HAS_IRQ 1

/* hf_env_irq_save, hf_env_irq_restore - the kernel's; of this CPU, and they nest. */
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

/* ---- Memory that may fault: a user's ------------------------------------------------------ */

/* A site is an entry of the kernel's own exception table, which each module has. */
#if defined(CONFIG_X86_64)
#define HF_ENV_SITE(from, to)                                                                      \
	".pushsection __ex_table,\"a\"\n"                                                          \
	".balign 4\n"                                                                              \
	".long (" from ") - .\n"                                                                   \
	".long (" to ") - .\n"                                                                     \
	".long " __stringify(EX_TYPE_UACCESS) "\n"                                                 \
					      ".popsection\n"
#elif defined(CONFIG_ARM64)
/* No register gets the fault: both are the zero register, number 31. */
#define HF_ENV_SITE(from, to)                                                                      \
	".pushsection __ex_table,\"a\"\n"                                                          \
	".balign 4\n"                                                                              \
	".long (" from ") - .\n"                                                                   \
	".long (" to ") - .\n"                                                                     \
	".short " __stringify(EX_TYPE_UACCESS_ERR_ZERO) ", (31 << 5) | 31\n"                       \
							".popsection\n"
#endif

/**
 * hf_env_user_begin, hf_env_user_end - let this CPU touch the user's memory; end that
 *
 * Context:  that of the task; nothing is called in between
 * Ordering: none
 */
HF_INLINE void hf_env_user_begin(void)
{
#if defined(CONFIG_X86_64)
	__uaccess_begin_nospec();
#elif defined(CONFIG_ARM64)
	uaccess_enable_privileged();
#endif
}

HF_INLINE void hf_env_user_end(void)
{
#if defined(CONFIG_X86_64)
	__uaccess_end();
#elif defined(CONFIG_ARM64)
	uaccess_disable_privileged();
#endif
}

/* For nofault.h: `access`, which touches `len` bytes at p; or `fails`, if they are not a user's. */
#define HF_ENV_TOUCH(p, len, fails, access)                                                        \
	({                                                                                         \
		__typeof__(fails) hf_detail_result = (fails);                                      \
                                                                                                   \
		if (access_ok((const void __user *)(uintptr_t)(p), (len))) {                       \
			hf_env_user_begin();                                                       \
			hf_detail_result = (access);                                               \
			hf_env_user_end();                                                         \
		}                                                                                  \
		hf_detail_result;                                                                  \
	})

/* nofault.h has the kernel's form of clear and copy: hf_env_clear and more. */
#define HF_ENV_HAS_CLEAR 1

/*
 * Does the processor clear by a repeated instruction, whatever the size? Then it stands at the call
 * site; the kernel patches the branch away. (6.1 does not know FSRS by name; FSRM came before it,
 * and is what the published measurement had.)
 */
#if defined(X86_FEATURE_FSRS)
#define HF_ENV_CLEAR_INLINE static_cpu_has(X86_FEATURE_FSRS)
#elif defined(X86_FEATURE_FSRM)
#define HF_ENV_CLEAR_INLINE static_cpu_has(X86_FEATURE_FSRM)
#endif

/**
 * hf_env_clear, hf_env_copy, hf_env_copy_from, hf_env_copy_to - the kernel's form of clear and copy
 * @dst, @src, @len: as hf_clear_nofault() and hf_copy_nofault() are given them
 *
 * Context:  that of the task
 * Ordering: none
 * Return:   bytes NOT done
 */
HF_MUST_CHECK size_t hf_env_clear(void *dst, size_t len);
HF_MUST_CHECK size_t hf_env_copy(void *dst, const void *src, size_t len);
HF_MUST_CHECK size_t hf_env_copy_from(void *dst, const void *src, size_t len);
HF_MUST_CHECK size_t hf_env_copy_to(void *dst, const void *src, size_t len);

#endif
