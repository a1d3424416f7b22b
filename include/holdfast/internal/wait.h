/* SPDX-License-Identifier: MIT */
#ifndef HF_WAIT_H
#define HF_WAIT_H
#pragma GCC system_header
/*
 * wait - what a waiter does between two reads of a word.
 *
 *   HF_WAIT_NONE      nothing: read again at once
 *   HF_WAIT_HINT      one spin hint of the processor
 *   HF_WAIT_BACKOFF   hints for a time that doubles from HF_ARCH_BACKOFF_MIN_NS to
 *                     HF_ARCH_BACKOFF_MAX_NS
 *   HF_WAIT_LATE      four retries without delay, then hints for a time that doubles from 400 to
 *                     3200 ns
 *   HF_WAIT_MONITOR   let the processor watch the word (WFE on AArch64; elsewhere as HINT); only
 *                     where the wait is for one word to change
 *
 * Times are in nanoseconds, which the environment converts to hints, of 1 to 45 ns. The policy is
 * always a constant, so that the others leave no code. docs/design/0005-waiting.md says which lock
 * uses which. No function orders anything; the compiler does not move accesses across.
 */
#include "arch.h"
#include "env.h"

/* What to do, as above. */
enum hf_wait_policy { HF_WAIT_NONE, HF_WAIT_HINT, HF_WAIT_BACKOFF, HF_WAIT_LATE, HF_WAIT_MONITOR };

/* HF_WAIT_LATE: the retries without delay; the first wait, and the limit that doubling reaches. */
#define HF_WAIT_LATE_AFTER 4
#define HF_WAIT_LATE_MIN_NS 400
#define HF_WAIT_LATE_MAX_NS 3200

/* Up to so many processors are few: hf_wait_retry(). */
#define HF_WAIT_FEW_PROCESSORS 8

/* The state of one waiting loop: the next wait's length; the retries of HF_WAIT_LATE so far. */
typedef struct hf_wait {
	uint32_t ns;
	uint32_t late;
} hf_wait_t;

/* Before the first wait, which is the shortest. */
#define HF_WAIT_INIT                                                                               \
	{                                                                                          \
		HF_ARCH_BACKOFF_MIN_NS, 0                                                          \
	}

/* Spend about this time with spin hints; at least one. */
HF_INLINE void hf_wait_ns(uint32_t ns)
{
	uint32_t n;

	for (n = hf_env_spin_hints(ns); n; n--)
		hf_arch_relax();
}

/* Wait once before reading the word again. */
HF_INLINE void hf_wait_once(hf_wait_t *w, enum hf_wait_policy policy)
{
	if (policy == HF_WAIT_HINT || policy == HF_WAIT_MONITOR) {
		hf_arch_relax();
	} else if (policy == HF_WAIT_BACKOFF) {
		hf_wait_ns(w->ns);
		if (w->ns < HF_ARCH_BACKOFF_MAX_NS)
			w->ns *= 2;
	} else if (policy == HF_WAIT_LATE) {
		if (w->late < HF_WAIT_LATE_AFTER) {
			w->late++;
			w->ns = HF_WAIT_LATE_MIN_NS;
			return;
		}
		hf_wait_ns(w->ns);
		if (w->ns < HF_WAIT_LATE_MAX_NS)
			w->ns *= 2;
	}
}

/*
 * Wait before a count's compare-and-swap is retried; @many is the policy with many processors. With
 * few, a wait after the first failure lets the owner of the line continue, which was measured to be
 * faster. With many, most swaps succeed within a few retries, and an earlier wait hands the line to
 * threads that fail, too: docs/design/0023-hint-on-many-cores.md
 */
HF_INLINE void hf_wait_retry(hf_wait_t *w, enum hf_wait_policy many)
{
	if (many == HF_ARCH_WAIT_COUNT_FEW || hf_env_processors() <= HF_WAIT_FEW_PROCESSORS)
		hf_wait_once(w, HF_ARCH_WAIT_COUNT_FEW);
	else
		hf_wait_once(w, many);
}

#endif
