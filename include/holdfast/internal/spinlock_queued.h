/* SPDX-License-Identifier: MIT */
#ifndef HF_SPINLOCK_QUEUED_H
#define HF_SPINLOCK_QUEUED_H
#pragma GCC system_header
/*
 * spinlock_queued - first come, first served in 4 bytes, with bounded barging.
 *
 * spinlock.h's lock where holders keep their processor: only its first waiter causes cache traffic,
 * and it bounds how often, and how long, the next waiter is passed over. It does not park: while
 * its next waiter is descheduled the lock stalls, so user space has another lock. With some 24
 * processors and more that all want it and do other work in between, an MCS lock is up to three
 * times as fast (simulated: docs/design/0026; lab/variants/spinlock/mcs.h).
 *
 * Needs the nodes of node.h, of this environment alone: it can't share the lock with another.
 *
 * State
 *   One 32-bit word; 0 = free, and without waiters.
 *
 *      31            17  16  15             8 7               0
 *     |      tail      | P |     passes      |     locked      |
 *
 *     locked   1 while the lock is held. The holder releases by storing 0 to this byte.
 *     passes   how often others have barged past the next waiter; 255 = closed: barging is
 *              forbidden
 *     P        pending: the next waiter waits at this word, without a node
 *     tail     index of the last node in the queue behind it; 0 = no queue
 *
 *   (tail, pending, passes, locked):
 *
 *     lock      (0,0,0,0) -> (0,0,0,1)           uncontended: take it                       T1
 *               (t,p,n,0) -> (t,p,n+1,1)         barge: it is free this moment, n < limit   T2
 *               (0,0,0,1) -> (0,1,0,1)           become the pending waiter                  T3
 *               (t,p,n,l) -> (me,p,n,l)          else join the queue                        T4
 *     head      (t,0,n,l) -> (t,1,n,l)           the head of the queue becomes pending;     T5
 *                                                t = 0 if it was the last; else it makes
 *                                                its successor the head
 *     pending   (t,1,n,0) -> (t,0,0,1)           the next waiter takes the lock             T6
 *               (t,1,n,1) -> (t,1,255,1)         close: waited long enough                  T7
 *     unlock    (t,p,n,1) -> (t,p,n,0)                                                      T8
 *
 *   Where HF_ARCH_HAS_CMPXCHG8, T1 and T2 read the upper half first and then swap the locked byte
 *   alone, and the holder that barged (T2) increments passes by a store: a processor that has just
 *   stored a byte (T8) would have to wait for that store before it could swap the whole word.
 *
 *   The next waiter takes a lock that it finds free, unless others have barged since it last
 *   looked: then it lets them go on until the passes or its patience are used up. With
 *   HF_SPINLOCK_QUEUED_PASSES = 0 the lock is strictly first come, first served.
 *
 * Invariants
 *   I1  only the holder stores to the locked byte of a held lock, and only 0 (T8); only the holder
 *       stores to passes (T2). All else is a compare-and-swap of the whole word, so no transition
 *       of another thread is ever overwritten, except T7, which is then repeated.
 *   I2  locked goes from 0 to 1 only by compare-and-swap (T1, T2, T6): one winner.
 *   I3  pending is set by one waiter at a time (T3, T5) and cleared only by that one (T6).
 *   I4  the pending waiter is passed over at most HF_SPINLOCK_QUEUED_PASSES times by threads that
 *       read the word since. One that read it before may barge uncounted: in the byte form, once
 *       because it saw no pending waiter (T1) and once because it saw barging permitted (T2). T6
 *       resets the count to 0.
 *   I5  a node is used from T4 until its owner is no longer the head (T5): never while it holds
 *       the lock, so a thread needs one node for a lock operation in progress.
 *   I6  my predecessor clears my node's wait only after it has acquired the link that my release
 *       store made: so my wait = 1 comes before its wait = 0.
 *   I7  passes is not 0 only while there are waiters: only then the holder increments it, and no
 *       waiter can take the lock before that; the next waiter clears it (T6). So all bits of a free
 *       lock without waiters are 0, which hf_spinlock_is_locked() and a lockref rely on.
 *
 * Ordering
 *   lock acquire: T1, T2 and T6 read the 0 that T8 stored with release, or a word that was made
 *   from it by compare-and-swaps only, which continue its release sequence. T3, T5 and T7 publish
 *   nothing; T4 hands a node over, and is release and acquire for that.
 *
 * Source  docs/design/0004-queued-spinlock.md; the field's queued spinlocks (locked byte, pending
 *         bit, tail); the barging is ours
 */
#include "wait.h"
#include "node.h"

/* How often others may barge past the next waiter: 0 (never) to 254. */
#ifndef HF_SPINLOCK_QUEUED_PASSES
#define HF_SPINLOCK_QUEUED_PASSES 128
#endif
HF_STATIC_ASSERT((HF_SPINLOCK_QUEUED_PASSES) < 255, "255 means closed");

/* Nanoseconds of waiting before the next waiter forbids barging, whatever the count. */
#ifndef HF_SPINLOCK_QUEUED_PATIENCE_NS
#define HF_SPINLOCK_QUEUED_PATIENCE_NS 1000
#endif

#define HF_DETAIL_QUEUED_LOCKED 0x1u
#define HF_DETAIL_QUEUED_LOCKED_MASK 0xffu
#define HF_DETAIL_QUEUED_PASS 0x100u
#define HF_DETAIL_QUEUED_PASSES_MASK 0xff00u
#define HF_DETAIL_QUEUED_PENDING 0x10000u
#define HF_DETAIL_QUEUED_TAIL_SHIFT 17
#define HF_DETAIL_QUEUED_TAIL_MASK 0xfffe0000u
#define HF_DETAIL_QUEUED_WAITERS_MASK 0xffff0000u

/* The word, read so that no byte's store has to leave the store buffer first. */
HF_INLINE uint32_t hf_detail_spinlock_queued_read(const hf_atomic32_t *lock)
{
#if HF_ARCH_HAS_CMPXCHG8
	return (uint32_t)hf_atomic32_load_high16_relaxed(lock) << 16 |
	       (uint32_t)hf_atomic32_load_mid8_relaxed(lock) << 8 |
	       hf_atomic32_load_low8_relaxed(lock);
#else
	return hf_atomic32_load_relaxed(lock);
#endif
}

/* T1: 0,0,0,0 -> 0,0,0,1 */
HF_INLINE bool hf_detail_spinlock_queued_trylock(hf_atomic32_t *lock)
{
#if HF_ARCH_HAS_CMPXCHG8
	if (HF_UNLIKELY(hf_atomic32_load_high16_relaxed(lock)))
		return false;
	return hf_atomic32_try_cmpxchg_low8_acquire(lock, 0, HF_DETAIL_QUEUED_LOCKED);
#else
	uint32_t free_lock = 0;

	return hf_atomic32_try_cmpxchg_acquire(lock, &free_lock, HF_DETAIL_QUEUED_LOCKED);
#endif
}

/* Does the count forbid barging past the next waiter? Ignores whether there is a waiter. */
HF_INLINE bool hf_detail_spinlock_queued_closed(uint32_t word)
{
	return (word & HF_DETAIL_QUEUED_PASSES_MASK) / HF_DETAIL_QUEUED_PASS + 1 >
	       HF_SPINLOCK_QUEUED_PASSES;
}

/* The next waiter: wait until the lock is free, and take it. This thread has set pending. */
HF_INLINE void hf_detail_spinlock_queued_wait_pending(hf_atomic32_t *lock,
						      enum hf_wait_policy policy)
{
	uint32_t patience = HF_SPINLOCK_QUEUED_PATIENCE_NS;
	hf_wait_t wait = HF_WAIT_INIT;
	uint32_t word = hf_atomic32_load_relaxed(lock);
	uint32_t seen = 0; /* passes when last read */

	for (;;) {
		uint32_t passes = word & HF_DETAIL_QUEUED_PASSES_MASK;
		bool closed = hf_detail_spinlock_queued_closed(word);
		bool patient = patience > wait.ns;

		if (!(word & HF_DETAIL_QUEUED_LOCKED_MASK) &&
		    (closed || !patient || passes == seen)) {
			uint32_t taken = (word & HF_DETAIL_QUEUED_TAIL_MASK) |
					 HF_DETAIL_QUEUED_LOCKED;

			/* T6: t,1,n,0 -> t,0,0,1: only I clear pending (I3) */
			if (hf_atomic32_try_cmpxchg_acquire(lock, &word, taken))
				return;
			continue;
		}
		seen = passes;
		if (closed) {
			/* Barging is forbidden now: the lock is mine when it is released. */
			if (policy == HF_WAIT_MONITOR)
				(void)hf_atomic32_wait_change_acquire(lock, word);
			else if (policy != HF_WAIT_NONE)
				hf_wait_once(&wait, HF_WAIT_HINT);
		} else if (patient) {
			patience -= wait.ns;
			hf_wait_once(&wait, policy == HF_WAIT_MONITOR ? HF_WAIT_BACKOFF : policy);
			if (wait.ns > HF_ARCH_PENDING_NS)
				wait.ns = HF_ARCH_PENDING_NS;
		} else {
			/* T7: t,1,n,1 -> t,1,255,1. If the word has changed, decide again. */
			(void)hf_atomic32_try_cmpxchg_relaxed(lock, &word,
							      word | HF_DETAIL_QUEUED_PASSES_MASK);
			continue;
		}
		word = hf_atomic32_load_relaxed(lock);
	}
}

/* T2: t,p,n,0 -> t,p,n+1,1, or T1 without waiters: take a free lock if barging is permitted. */
HF_INLINE bool hf_detail_spinlock_queued_try_barge(hf_atomic32_t *lock, uint32_t *word)
{
	while (!(*word & HF_DETAIL_QUEUED_LOCKED_MASK)) {
		bool waiters = *word & HF_DETAIL_QUEUED_WAITERS_MASK;

		if (waiters && hf_detail_spinlock_queued_closed(*word))
			return false; /* I4: it was passed over often enough */
#if HF_ARCH_HAS_CMPXCHG8
		/* 0 -> 1 by a swap: one winner (I2) */
		if (hf_atomic32_try_cmpxchg_low8_acquire(lock, 0, HF_DETAIL_QUEUED_LOCKED)) {
			uint8_t passes = hf_atomic32_load_mid8_relaxed(lock);

			/* As the holder (I1); waiters wait for me, so T6 will clear it (I7). */
			if (hf_atomic32_load_high16_relaxed(lock) &&
			    passes + 1 <= HF_SPINLOCK_QUEUED_PASSES)
				hf_atomic32_store_mid8_relaxed(lock, passes + 1);
			return true;
		}
		*word = hf_detail_spinlock_queued_read(lock);
#else
		/* 0 -> 1 by a swap: one winner (I2) */
		if (hf_atomic32_try_cmpxchg_acquire(lock, word,
						    *word + HF_DETAIL_QUEUED_LOCKED +
							    (waiters ? HF_DETAIL_QUEUED_PASS : 0)))
			return true;
#endif
	}
	return false;
}

/* Without a node this thread can't queue: retry barging until it succeeds. */
HF_COLD void hf_detail_spinlock_queued_lock_without_node(hf_atomic32_t *lock)
{
	hf_wait_t wait = HF_WAIT_INIT;
	uint32_t word = hf_detail_spinlock_queued_read(lock);

	while (!hf_detail_spinlock_queued_try_barge(lock, &word)) {
		/* If no passes are allowed, it can succeed only while the queue is empty. */
		hf_wait_once(&wait, HF_WAIT_BACKOFF);
		word = hf_detail_spinlock_queued_read(lock);
	}
}

/* Wait for a lock that hf_detail_spinlock_queued_trylock() did not get, and take it. */
HF_INLINE void hf_detail_spinlock_queued_slow(hf_atomic32_t *lock, enum hf_wait_policy policy)
{
	uint32_t word = hf_detail_spinlock_queued_read(lock);
	hf_wait_t wait = HF_WAIT_INIT;
	uint32_t index, before, next;
	hf_node_t *node;

	for (;;) {
		if (hf_detail_spinlock_queued_try_barge(lock, &word))
			return;
		if (word & HF_DETAIL_QUEUED_WAITERS_MASK)
			break;
		/* T3: 0,0,0,1 -> 0,1,0,1 */
		if (hf_atomic32_try_cmpxchg_relaxed(lock, &word, word | HF_DETAIL_QUEUED_PENDING)) {
			hf_detail_spinlock_queued_wait_pending(lock, policy);
			return;
		}
	}

	index = hf_env_node_get();
	if (HF_UNLIKELY(!index)) {
		hf_detail_spinlock_queued_lock_without_node(lock);
		return;
	}
	node = hf_env_node(index);
	hf_atomic32_store_relaxed(&node->next, 0);
	hf_atomic32_store_relaxed(&node->wait, 1);
	word = hf_atomic32_load_relaxed(lock);
	/* T4: t,p,n,l -> me,p,n,l. Release: the node's two stores. */
	while (!hf_atomic32_try_cmpxchg_acq_rel(lock, &word,
						(word & ~HF_DETAIL_QUEUED_TAIL_MASK) |
							index << HF_DETAIL_QUEUED_TAIL_SHIFT))
		;
	before = word >> HF_DETAIL_QUEUED_TAIL_SHIFT;
	if (before) {
		/* After my wait = 1, so that my predecessor's wait = 0 comes later (I6). */
		hf_atomic32_store_release(&hf_env_node(before)->next, index);
		while (hf_atomic32_load_acquire(&node->wait)) {
			if (policy == HF_WAIT_MONITOR)
				(void)hf_atomic32_wait_change_acquire(&node->wait, 1);
			else
				hf_wait_once(&wait, HF_ARCH_WAIT_MY_NODE);
		}
	}

	/*
	 * The head of the queue becomes pending as soon as no other thread is (I3).
	 * T5: t,0,n,l -> t,1,n,l, or me,0,n,l -> 0,1,n,l if it was the last.
	 */
	word = hf_atomic32_load_relaxed(lock);
	for (;;) {
		bool last = word >> HF_DETAIL_QUEUED_TAIL_SHIFT == index;
		uint32_t tail = last ? 0 : word & HF_DETAIL_QUEUED_TAIL_MASK;

		if (word & HF_DETAIL_QUEUED_PENDING) {
			if (policy == HF_WAIT_MONITOR)
				(void)hf_atomic32_wait_change_acquire(lock, word);
			else
				hf_wait_once(&wait, policy);
			word = hf_atomic32_load_relaxed(lock);
			continue;
		}
		if (!hf_atomic32_try_cmpxchg_relaxed(lock, &word,
						     tail | HF_DETAIL_QUEUED_PENDING |
							     (word & ~HF_DETAIL_QUEUED_TAIL_MASK)))
			continue;
		if (!last) {
			/* Acquire: my successor's wait = 1 comes before my wait = 0 (I6). */
			while (!(next = hf_atomic32_load_acquire(&node->next)))
				hf_wait_once(&wait, HF_WAIT_HINT);
			hf_atomic32_store_release(&hf_env_node(next)->wait, 0);
		}
		break;
	}
	hf_env_node_put(index); /* I5: I am no longer the head of the queue */
	hf_detail_spinlock_queued_wait_pending(lock, policy);
}

HF_INLINE void hf_detail_spinlock_queued_unlock(hf_atomic32_t *lock)
{
	hf_atomic32_store_low8_release(lock, 0); /* T8: t,p,n,1 -> t,p,n,0, by the holder (I1) */
}

#endif
