/* SPDX-License-Identifier: MIT */
#ifndef HF_ENV_LINUX_USER_NODES_H
#define HF_ENV_LINUX_USER_NODES_H
#pragma GCC system_header
/*
 * env, Linux user space: queue nodes - for spinlock/node.h, which includes this file. N1 to N5 are
 * those of linux_user.h, M1 that of spinlock/node_type.h.
 */
#include "../../spinlock/node_type.h"

HF_BEGIN_DECLS

/*
 * The nodes of all copies of the library in this process; NULL before its first constructor, or
 * without memory: then no thread has a slot.
 */
extern hf_node_t *hf_detail_node_table HF_DETAIL_LINKED(hf_detail_node_table) HF_API;

/* A waiter of another process: reported, abort. */
void hf_detail_node_refuse(const void *lock) HF_DETAIL_LINKED(hf_detail_node_refuse) HF_API
	__attribute__((noreturn, cold));

HF_END_DECLS

/**
 * hf_env_node - the node with this index
 * @index: what hf_env_node_get() returned
 *
 * Context:  any
 * Ordering: none
 * Return:   it, never NULL
 */
HF_INLINE hf_node_t *hf_env_node(uint32_t index)
{
	return &hf_detail_node_table[index - 1];
}

HF_INLINE hf_node_t *hf_detail_node_get_marked(uint32_t mark, uint32_t *index)
{
	hf_node_t *node;
	uint32_t n = 0;

	if (HF_UNLIKELY(!hf_detail_thread.base) && !hf_detail_slot_claim())
		return NULL;
	/* Nearly always the first is free. */
	for (node = hf_detail_thread.nodes; HF_UNLIKELY(hf_atomic32_load_relaxed(&node->at));
	     node++) {
		if (++n == HF_NODES)
			return NULL;
	}
	*index = hf_detail_thread.base + n;
	hf_atomic32_store_relaxed(&node->at, mark);
	hf_atomic_fence_signal(); /* N2 */
	return node;
}

/**
 * hf_env_node_get - take a queue node for this thread
 *
 * Context:  any thread, any signal handler
 * Ordering: none
 * Return:   its index, 1 to 32767; 0 = none is free
 */
HF_INLINE uint32_t hf_env_node_get(void)
{
	uint32_t index;

	return hf_detail_node_get_marked(HF_DETAIL_NODE_NO_LOCK, &index) ? index : 0;
}

/**
 * hf_env_node_put - give back what hf_env_node_get() or hf_env_node_get_for() returned
 *
 * Context:  by the same thread; by another only after the first has stopped using nodes for good
 * Ordering: none
 */
HF_INLINE void hf_env_node_put(uint32_t index)
{
	hf_atomic_fence_signal(); /* N2 */
	hf_atomic32_store_relaxed(&hf_env_node(index)->at, 0);
}

/* Nodes bear marks here: see spinlock/node_type.h. */
#define HF_ENV_HAS_NODE_MARKS 1

/**
 * hf_env_node_get_for - hf_env_node_get(), with the mark of this lock
 * @lock:  its address
 * @index: gets the node's index
 *
 * Return:   the node; NULL = none is free
 */
HF_INLINE hf_node_t *hf_env_node_get_for(const void *lock, uint32_t *index)
{
	return hf_detail_node_get_marked(hf_detail_node_mark(lock), index);
}

/**
 * hf_env_node_is_for - does that node bear the mark of this lock?
 * @index: not 0; any value that a lock's word may have
 * @lock:  its address
 *
 * Context:  any thread, any signal handler
 * Ordering: none; M1 says when the answer is certain
 * Return:   true = it does
 */
HF_INLINE bool hf_env_node_is_for(uint32_t index, const void *lock)
{
	return index - 1 < HF_SLOTS * HF_NODES &&
	       hf_detail_node_is_mark(hf_atomic32_load_relaxed(&hf_env_node(index)->at), lock);
}

/**
 * hf_env_node_refuse - a lock that can't be used between processes is: reported, abort
 * @lock: its address
 *
 * Context:  any
 * Ordering: none
 */
HF_INLINE void hf_env_node_refuse(const void *lock)
{
	hf_detail_node_refuse(lock);
}

#endif
