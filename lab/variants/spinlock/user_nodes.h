/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_USER_NODES_H
#define HF_LAB_USER_NODES_H
/*
 * user_nodes - queue nodes for threads of Linux user space, for mcs.h and queued.h.
 *
 * A thread claims a slot of HF_NODES nodes when it first needs one, and keeps it until it ends.
 * Link user_nodes.c once: an index in a lock must mean the same node for all its users. So a lock
 * can't be shared between processes or between copies of this file, and after a fork only the
 * parent may use it.
 *
 * Invariants   N1  a node is in use by at most one lock operation at a time.
 *              N2  a signal handler puts back every node that it gets, so a node that was free when
 *                  this thread checked it is still free when the thread marks it as used.
 *              N3  running out is not an error: the index is 0, and each lock works without a node.
 */
#include <stdbool.h>
#include <stdint.h>

#include "holdfast/internal/compiler.h"

#define HF_ENV_HAS_NODES 1
#define HF_NODES 8

HF_BEGIN_DECLS

/* The slot of a thread. */
struct hf_lab_slot {
	uint32_t base;          /* index of the slot's first node; 0 = no slot yet */
	uint8_t used[HF_NODES]; /* 1 = that node is in use */
};
extern __thread volatile struct hf_lab_slot hf_lab_slot;

/* Claims a slot for this thread; returns false if none is free. */
bool hf_lab_slot_claim(void);

HF_END_DECLS

/* hf_env_node_get - get a node. Returns its index, 1 to 32767, or 0 if none is free. */
HF_INLINE uint32_t hf_env_node_get(void)
{
	uint32_t n = 0;

	if (HF_UNLIKELY(!hf_lab_slot.base) && !hf_lab_slot_claim())
		return 0;
	/* Nearly always the first one is free. */
	while (HF_UNLIKELY(hf_lab_slot.used[n])) {
		if (++n == HF_NODES)
			return 0;
	}
	hf_lab_slot.used[n] = 1;
	__asm__ volatile("" ::: "memory"); /* N2 */
	return hf_lab_slot.base + n;
}

/* hf_env_node_put - put a node back; only the thread that got it may. */
HF_INLINE void hf_env_node_put(uint32_t index)
{
	__asm__ volatile("" ::: "memory"); /* N2 */
	hf_lab_slot.used[index - hf_lab_slot.base] = 0;
}

#include "holdfast/internal/node.h"

HF_BEGIN_DECLS
extern hf_node_t hf_lab_nodes[];
HF_END_DECLS

/* hf_env_node - the node with this index. */
HF_INLINE hf_node_t *hf_env_node(uint32_t index)
{
	return &hf_lab_nodes[index - 1];
}

#endif
