/* SPDX-License-Identifier: MIT */
#ifndef HF_MODEL_ARCH_H
#define HF_MODEL_ARCH_H
/*
 * arch, inside the model checker - a processor that promises nothing beyond C11.
 *
 * The counting functions say in C what their description says. So refcount/asm.h is checked around
 * them; the real ones are inline assembly, which no checker of this kind reads.
 *
 * HF_ARCH_HAS_CMPXCHG8 may be redefined before each inclusion of spinlock/queued.h.
 */
#include "holdfast/internal/atomic.h"

#define HF_ARCH_CACHE_LINE 64
#define HF_ARCH_NO_SHARING 128

/* One hint is as good as many: each lets all others run. */
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
#define HF_ARCH_WAIT_LOCKREF_MANY HF_WAIT_NONE
#define HF_ARCH_WAIT_REFCOUNT_MANY HF_WAIT_NONE

inline void hf_arch_relax(const hf_model::where &at = HF_MODEL_HERE)
{
	rl::yield(1, at);
}

#define HF_ARCH_HAS_REFCOUNT 1

enum hf_arch_refcount_sub { HF_ARCH_SUB_LIVE, HF_ARCH_SUB_ZERO, HF_ARCH_SUB_MISUSE };

/* refcount/asm.h hands over the address of a hf_atomic32_t, as that of the word that it really is. */
inline bool hf_arch_refcount_inc(uint32_t *p, int32_t *old,
				 const hf_model::where &at = HF_MODEL_HERE)
{
	*old = (int32_t)hf_atomic32_fetch_add_relaxed((hf_atomic32_t *)p, 1, at);
	return *old <= 0 || *old == INT32_MAX;
}

inline bool hf_arch_refcount_dec(uint32_t *p, const hf_model::where &at = HF_MODEL_HERE)
{
	return (int32_t)hf_atomic32_fetch_sub_release((hf_atomic32_t *)p, 1, at) <= 1;
}

inline enum hf_arch_refcount_sub
hf_arch_refcount_dec_and_test(uint32_t *p, const hf_model::where &at = HF_MODEL_HERE)
{
	int32_t old = (int32_t)hf_atomic32_fetch_sub_release((hf_atomic32_t *)p, 1, at);

	if (old == 1)
		return HF_ARCH_SUB_ZERO;
	return old <= 0 ? HF_ARCH_SUB_MISUSE : HF_ARCH_SUB_LIVE;
}

#endif
