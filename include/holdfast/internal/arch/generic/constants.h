/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_GENERIC_CONSTANTS_H
#define HF_ARCH_GENERIC_CONSTANTS_H
#pragma GCC system_header
/*
 * constants, for any processor - how threads wait, as numbers and policies; no instruction.
 *
 * Nothing here was measured. The policies are those of x86-64, except for a free lock: a hint
 * between two reads, because waiters only read the line.
 */

/* Bytes that one core owns at a time, and the distance that keeps two words from sharing. */
#define HF_ARCH_CACHE_LINE 64
#define HF_ARCH_NO_SHARING 128

/* Backoff in nanoseconds: first wait, and the limit that doubling reaches. */
#define HF_ARCH_BACKOFF_MIN_NS 32
#define HF_ARCH_BACKOFF_MAX_NS 1024

/* The most nanoseconds between two reads by a queued lock's pending waiter. */
#define HF_ARCH_PENDING_NS 128

/* One spin hint in nanoseconds, where the environment can't measure it: the loop around it. */
#define HF_ARCH_HINT_NS 1

/* 1 where an atomic read-modify-write is already a full memory barrier. */
#define HF_ARCH_RMW_IS_FULL_BARRIER 0

/* 1 where a compare-and-swap of one byte pays, beside that of a word. */
#define HF_ARCH_HAS_CMPXCHG8 0

/* How a thread waits (wait.h), by what it awaits; "swap": it retries a compare-and-swap. */
#define HF_ARCH_WAIT_LOCK_SWAP HF_WAIT_BACKOFF /* a lock, after a failed swap */
#define HF_ARCH_WAIT_COUNT_FEW HF_WAIT_BACKOFF /* a count, after a failed swap; few processors */
#define HF_ARCH_WAIT_COUNT_MANY HF_WAIT_LATE   /* the same, on many */
#define HF_ARCH_WAIT_FREE_LOCK HF_WAIT_HINT    /* a lock's word to become free */
#define HF_ARCH_WAIT_MY_TURN HF_WAIT_HINT      /* a word that all waiters read to name me */
#define HF_ARCH_WAIT_MY_NODE HF_WAIT_HINT      /* my own queue node to be written */
#define HF_ARCH_WAIT_QUEUE HF_WAIT_BACKOFF     /* my place in a queue that may be barged past */

#endif
