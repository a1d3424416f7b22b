/* SPDX-License-Identifier: MIT */
#ifndef HF_NODE_H
#define HF_NODE_H
#pragma GCC system_header
/*
 * node - the queue node at which a waiter of a queued lock spins.
 *
 * A node is named by its index (1 to 32767, from hf_env_node_get()), so that a lock can hold it in
 * 15 bits. Nodes of different slots are never in the same HF_ARCH_NO_SHARING bytes. The environment
 * decides which slot gets which node, and where the nodes are: internal/env/bare.h.
 */
#include "atomic.h"

/* A queue node. */
typedef struct hf_node {
	hf_atomic32_t next; /* index of my successor; 0 = none yet */
	hf_atomic32_t wait; /* 1 = wait; 0 = my predecessor has made me the head of the queue */
} HF_ALIGNED(16) hf_node_t;

/* An environment with nodes of its own defines HF_ENV_HAS_NODES and hf_env_node(). */
#ifndef HF_ENV_HAS_NODES
HF_BEGIN_DECLS
extern hf_node_t hf_detail_nodes[] HF_API;
HF_END_DECLS

/* hf_env_node - the node with this index. */
HF_INLINE hf_node_t *hf_env_node(uint32_t index)
{
	return &hf_detail_nodes[index - 1];
}
#endif

#endif
