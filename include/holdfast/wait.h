/* SPDX-License-Identifier: MIT */
#ifndef HF_WAIT_H
#define HF_WAIT_H
/*
 * wait - what a waiter does between two looks at a word.
 *
 *   HF_WAIT_NONE      nothing: look again at once
 *   HF_WAIT_HINT      one spin hint of the processor
 *   HF_WAIT_BACKOFF   hints, their number doubling from HF_ARCH_BACKOFF_MIN to HF_ARCH_BACKOFF_MAX
 *   HF_WAIT_MONITOR   let the processor watch the word (WFE on AArch64; elsewhere as HINT); only
 *                     where the wait is for one word to change
 *
 * The policy is always a constant, so that the others leave no code. Which one a
 * lock uses by default is decided by the lab's sweep: docs/design/0005-waiting.md.
 */
#include "arch.h"

enum hf_wait_policy { HF_WAIT_NONE, HF_WAIT_HINT, HF_WAIT_BACKOFF, HF_WAIT_MONITOR };

/* How long this thread has waited, in hints; one for each time of waiting. */
typedef struct hf_wait {
	unsigned int hints;
} hf_wait_t;

#define HF_WAIT_INIT                                                                               \
	{                                                                                          \
		HF_ARCH_BACKOFF_MIN                                                                \
	}

/**
 * hf_wait_once - wait a little before the next look
 * @w:      this wait
 * @policy: a constant
 *
 * Ordering: none (the compiler does not move accesses across)
 */
HF_INLINE void hf_wait_once(hf_wait_t *w, enum hf_wait_policy policy)
{
	if (policy == HF_WAIT_HINT || policy == HF_WAIT_MONITOR) {
		hf_arch_relax();
	} else if (policy == HF_WAIT_BACKOFF) {
		for (unsigned int i = 0; i < w->hints; i++)
			hf_arch_relax();
		if (w->hints < HF_ARCH_BACKOFF_MAX)
			w->hints *= 2;
	}
}

#endif
