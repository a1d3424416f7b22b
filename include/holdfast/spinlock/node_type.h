/* SPDX-License-Identifier: MIT */
#ifndef HF_SPINLOCK_NODE_TYPE_H
#define HF_SPINLOCK_NODE_TYPE_H
#pragma GCC system_header
/*
 * node_type - a queue node, and the marks of nodes in use.
 *
 * Where HF_ENV_HAS_NODE_MARKS is 1 a node in use bears the mark of its lock, so that a lock can tell
 * an index of its own queue from one that means nothing here: that of a thread of another process, or
 * of one that a fork has left behind.
 *
 * Invariants   M1  a node bears a lock's mark before its index is in the lock's word, and until the
 *                  index is out of it. So an index that was read from the word (acquire), and that can't
 *                  have been taken out of it since, leads to a node with that mark, or is foreign.
 *              M2  of a mark only the distance from the start of a page counts: a lock that is mapped
 *                  twice has the same mark at both of its addresses.
 */
#include "../internal/atomic.h"

/* A queue node. */
typedef struct hf_node {
	hf_atomic32_t next; /* index of my successor; 0 = none yet */
	hf_atomic32_t wait; /* 1 = wait; 0 = my predecessor has handed its turn over */
	hf_atomic32_t at;   /* the mark of the lock that it is taken for; 0 = it is free */
} HF_ALIGNED(16) hf_node_t;

/* The mark of a lock: bits of its address, which is even. Never 0. */
HF_INLINE uint32_t hf_detail_node_mark(const void *lock)
{
	return (uint32_t)(uintptr_t)lock | 1;
}

/* A node that was taken for no lock bears this one. */
#define HF_DETAIL_NODE_NO_LOCK 2u

/* Is it the mark of this lock? M2. */
HF_INLINE bool hf_detail_node_is_mark(uint32_t mark, const void *lock)
{
	return ((mark ^ hf_detail_node_mark(lock)) & 4095) == 0;
}

#endif
