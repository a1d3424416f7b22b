/* SPDX-License-Identifier: MIT */
#ifndef HF_SPINLOCK_NODE_H
#define HF_SPINLOCK_NODE_H
/*
 * node - where a thread that waits in a queue looks, in a line of its own.
 *
 * A node is named by its index (1 to 32767, from hf_env_node_get()), so that a lock can hold it in
 * 15 bits. The nodes of one slot share HF_ARCH_NO_SHARING bytes with nobody else's.
 */
#include "../atomic.h"

typedef struct hf_node {
	hf_atomic32_t next; /* index of the one behind me; 0 = none yet */
	hf_atomic32_t wait; /* 1 = wait; 0 = the one before me has passed on its turn */
} HF_ALIGNED(16) hf_node_t;

#if !defined(HF_ENV_HAS_NODES)
HF_BEGIN_DECLS
extern hf_node_t hf__nodes[] HF_API;
HF_END_DECLS

/* hf_env_node - the node with this index. */
HF_INLINE hf_node_t *hf_env_node(uint32_t index)
{
	return &hf__nodes[index - 1];
}
#endif

#endif
