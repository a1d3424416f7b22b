/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_X86_64_CONSTANTS_H
#define HF_ARCH_X86_64_CONSTANTS_H
#pragma GCC system_header
/*
 * constants, for x86-64 - how threads wait, as numbers and policies; no instruction, so that a
 * simulator of this processor can take them. generic/constants.h says what each is.
 *
 * Times are in nanoseconds, because a number of PAUSEs takes a different time on each processor
 * (docs/design/0005-waiting.md). The lab's sweep chose the policies.
 */

/* Bytes that one core owns at a time. Intel's adjacent-line prefetcher moves lines in pairs. */
#define HF_ARCH_CACHE_LINE 64
#define HF_ARCH_NO_SHARING 128
#define HF_ARCH_BACKOFF_MIN_NS 100
#define HF_ARCH_BACKOFF_MAX_NS 1600
#define HF_ARCH_PENDING_NS 400

/* PAUSE takes 2 to 65 cycles on AMD, and 9 to 140 on Intel. */
#define HF_ARCH_HINT_NS 20

/* A LOCK-prefixed instruction orders everything (AMD APM vol. 2, 7.4; Intel SDM vol. 3, 8.2). */
#define HF_ARCH_RMW_IS_FULL_BARRIER 1

#define HF_ARCH_HAS_CMPXCHG8 1

#define HF_ARCH_WAIT_LOCK_SWAP HF_WAIT_BACKOFF
#define HF_ARCH_WAIT_COUNT_FEW HF_WAIT_BACKOFF
#define HF_ARCH_WAIT_COUNT_MANY HF_WAIT_LATE
#define HF_ARCH_WAIT_FREE_LOCK HF_WAIT_BACKOFF
#define HF_ARCH_WAIT_MY_TURN HF_WAIT_HINT
#define HF_ARCH_WAIT_MY_NODE HF_WAIT_HINT
#define HF_ARCH_WAIT_QUEUE HF_WAIT_BACKOFF

#endif
