/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_RCU_H
#define HF_TMPFS_RCU_H
/*
 * rcu - what tmpfs uses of liburcu, told to ThreadSanitizer.
 *
 * liburcu is not built with the sanitizer, which sees neither its grace periods nor what its hash
 * table publishes. Two edges are told to it by hand, and no more:
 *
 *   end of a read side, call_rcu  -->  callback          one name for the whole program
 *   insertion of a node           -->  its comparison    the node's address
 *
 * The first is what a grace period orders. A section that began before the callback was queued ends
 * before it runs; one that begins later can't see the object. So the edge says no more than that
 * for the objects that matter. The flavour is bp: a thread that reads is registered by itself.
 */
#include <stddef.h>

#include <urcu/urcu-bp.h>
#include <urcu/rculfhash.h>

#include "holdfast/compiler.h"

#if HF_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define HF__RCU_TELL(what, address) __tsan_##what((void *)(uintptr_t)(address))
#else
#define HF__RCU_TELL(what, address) (void)(address)
#endif

static inline void hf__rcu_read_lock(void)
{
	urcu_bp_read_lock();
}

static inline void hf__rcu_read_unlock(void)
{
	HF__RCU_TELL(release, &urcu_bp_flavor);
	urcu_bp_read_unlock();
}

static inline void hf__rcu_call(struct rcu_head *head, void (*callback)(struct rcu_head *head))
{
	HF__RCU_TELL(release, &urcu_bp_flavor);
	urcu_bp_call_rcu(head, callback);
}

/* A callback's first and last line. */
static inline void hf__rcu_callback_begin(void)
{
	HF__RCU_TELL(acquire, &urcu_bp_flavor);
}

static inline void hf__rcu_callback_end(void)
{
	HF__RCU_TELL(release, &urcu_bp_flavor);
}

/* All callbacks queued before have run. */
static inline void hf__rcu_barrier(void)
{
	urcu_bp_barrier();
	HF__RCU_TELL(acquire, &urcu_bp_flavor);
}

/* Before a node is put into the table, and before it is compared. */
static inline void hf__rcu_publish(const struct cds_lfht_node *node)
{
	HF__RCU_TELL(release, node);
}

static inline void hf__rcu_found(const struct cds_lfht_node *node)
{
	HF__RCU_TELL(acquire, node);
}

#endif
