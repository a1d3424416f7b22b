/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_AARCH64_CONSTANTS_H
#define HF_ARCH_AARCH64_CONSTANTS_H
#pragma GCC system_header
/*
 * constants, for AArch64 - how threads wait, as numbers and policies; no instruction, so that a
 * simulator of this processor can take them. generic/constants.h says what each is.
 *
 * The policies were chosen from the literature, not measured: docs/design/0005-waiting.md.
 */

#define HF_ARCH_CACHE_LINE 64
#define HF_ARCH_NO_SHARING 128
#define HF_ARCH_BACKOFF_MIN_NS 20
#define HF_ARCH_BACKOFF_MAX_NS 320
#define HF_ARCH_PENDING_NS 160

/* ISB takes some tens of cycles. */
#define HF_ARCH_HINT_NS 20

/* A read-modify-write with acquire and release still lets plain accesses pass on either side. */
#define HF_ARCH_RMW_IS_FULL_BARRIER 0

#define HF_ARCH_HAS_CMPXCHG8 0

#define HF_ARCH_WAIT_LOCK_SWAP HF_WAIT_HINT
#define HF_ARCH_WAIT_COUNT_FEW HF_WAIT_LATE
#define HF_ARCH_WAIT_COUNT_MANY HF_WAIT_LATE
#define HF_ARCH_WAIT_FREE_LOCK HF_WAIT_MONITOR
#define HF_ARCH_WAIT_MY_TURN HF_WAIT_MONITOR
#define HF_ARCH_WAIT_MY_NODE HF_WAIT_MONITOR
#define HF_ARCH_WAIT_QUEUE HF_WAIT_MONITOR

#endif
