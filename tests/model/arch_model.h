/* SPDX-License-Identifier: MIT */
#ifndef HF_MODEL_ARCH_H
#define HF_MODEL_ARCH_H
/*
 * arch, inside the model checker - a processor that guarantees only what C11 does.
 *
 * HF_ARCH_HAS_CMPXCHG8 may be redefined before each inclusion of spinlock.h.
 */
#include "holdfast/internal/atomic.h"

#define HF_ARCH_CACHE_LINE 64
#define HF_ARCH_NO_SHARING 128

/* One hint suffices: it lets all other threads run. */
#define HF_ARCH_BACKOFF_MIN_NS 1
#define HF_ARCH_BACKOFF_MAX_NS 1
#define HF_ARCH_PENDING_NS 1
#define HF_ARCH_HINT_NS 1

#define HF_ARCH_RMW_IS_FULL_BARRIER 0

#ifndef HF_ARCH_HAS_CMPXCHG8
#define HF_ARCH_HAS_CMPXCHG8 0
#endif

#define HF_ARCH_WAIT_LOCK_SWAP HF_WAIT_HINT
#define HF_ARCH_WAIT_FREE_LOCK HF_WAIT_MONITOR
#define HF_ARCH_WAIT_MY_TURN HF_WAIT_HINT
#define HF_ARCH_WAIT_MY_NODE HF_WAIT_HINT
#define HF_ARCH_WAIT_QUEUE HF_WAIT_BACKOFF
#define HF_ARCH_WAIT_COUNT_FEW HF_WAIT_NONE
#define HF_ARCH_WAIT_COUNT_MANY HF_WAIT_NONE

inline void hf_arch_relax(const hf_model::where &at = HF_MODEL_HERE)
{
	rl::yield(1, at);
}

#endif
