/* SPDX-License-Identifier: MIT */
#ifndef HF_SPINLOCK_NODE_H
#define HF_SPINLOCK_NODE_H
#pragma GCC system_header
/*
 * node - where a waiter in a queue spins, in a line of its own.
 *
 * A node is named by its index (1 to 32767, from hf_env_node_get()), so that a lock can hold it in
 * 15 bits. The nodes of one slot share HF_ARCH_NO_SHARING bytes with no other slot's.
 *
 * What a node is stands in node_type.h; whose it is, and where, the world knows.
 */
#include "../internal/atomic.h"
#include "node_type.h"

#ifdef HF_ENV_NODES_HEADER
#include HF_ENV_NODES_HEADER
#elif !defined(HF_ENV_HAS_NODES)
HF_BEGIN_DECLS
extern hf_node_t hf_detail_nodes[] HF_API;
HF_END_DECLS

/* hf_env_node - the node with this index. */
HF_INLINE hf_node_t *hf_env_node(uint32_t index)
{
	return &hf_detail_nodes[index - 1];
}
#endif

/* A world in which no index is foreign has no marks. */
#ifndef HF_ENV_HAS_NODE_MARKS
#define HF_ENV_HAS_NODE_MARKS 0

HF_INLINE hf_node_t *hf_env_node_get_for(const void *lock, uint32_t *index)
{
	(void)lock;
	*index = hf_env_node_get();
	return *index ? hf_env_node(*index) : NULL;
}

HF_INLINE bool hf_env_node_is_for(uint32_t index, const void *lock)
{
	(void)index;
	(void)lock;
	return true;
}

HF_INLINE void hf_env_node_refuse(const void *lock)
{
	(void)lock;
}
#endif

#endif
