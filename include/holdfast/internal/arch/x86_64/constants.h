/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_X86_64_CONSTANTS_H
#define HF_ARCH_X86_64_CONSTANTS_H
#pragma GCC system_header
/*
 * constants, for x86-64 - how threads wait, as numbers and policies; no instruction, so that a
 * simulator of this processor can take them.
 *
 * Times are in nanoseconds, for a wait counted in PAUSEs is a different time on each processor;
 * docs/design/0005-waiting.md has what that does to a lock.
 * The policies were chosen by the lab's sweep.
 */

/* Bytes that one core owns at a time. Intel's adjacent-line prefetcher moves lines in pairs. */
#define HF_ARCH_CACHE_LINE 64
#define HF_ARCH_NO_SHARING 128

/* Backoff in nanoseconds: first wait, and the limit that doubling reaches. */
#define HF_ARCH_BACKOFF_MIN_NS 100
#define HF_ARCH_BACKOFF_MAX_NS 1600

/* The most nanoseconds between two looks of a queued lock's pending waiter. */
#define HF_ARCH_PENDING_NS 400

/*
 * One spin hint in nanoseconds, where the environment can't measure it: PAUSE takes 2 to 65 cycles on AMD and 9 to 140 on Intel.
 */
#define HF_ARCH_HINT_NS 20

/* A LOCK-prefixed instruction orders everything (AMD APM vol. 2, 7.4; Intel SDM vol. 3, 8.2). */
#define HF_ARCH_RMW_IS_FULL_BARRIER 1

/* 1 where a compare-and-swap of one byte is worth having beside that of a word. */
#define HF_ARCH_HAS_CMPXCHG8 1

/* How a thread waits (wait.h), by what it awaits; "swap": it retries a compare-and-swap. */
#define HF_ARCH_WAIT_LOCK_SWAP HF_WAIT_BACKOFF /* a lock, after a failed swap */
#define HF_ARCH_WAIT_COUNT_FEW HF_WAIT_BACKOFF /* a count, after a failed swap; few processors */
#define HF_ARCH_WAIT_COUNT_MANY HF_WAIT_LATE   /* the same, on many */
#define HF_ARCH_WAIT_FREE_LOCK HF_WAIT_BACKOFF /* a lock's word to become free */
#define HF_ARCH_WAIT_MY_TURN HF_WAIT_HINT      /* a word that all waiters read to name me */
#define HF_ARCH_WAIT_MY_NODE HF_WAIT_HINT      /* my own queue node to be written */
#define HF_ARCH_WAIT_QUEUE HF_WAIT_BACKOFF     /* my place in a queue that may be barged past */

#endif
