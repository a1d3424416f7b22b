/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_H
#define HF_ARCH_H
#pragma GCC system_header
/*
 * arch - which processor: the only place that chooses.
 *
 * Every folder arch/<cpu>/ has the same files, and each file offers the same functions in the same
 * order. arch/generic/ works everywhere (-DHF_ARCH_GENERIC forces it). A port or a model checker
 * names its own files in one header with -DHF_ARCH_HEADER='"my_arch.h"'.
 *
 *   spin.h       the spin hint, prefetch for store, waiting for a word: for atomic.h alone
 *   constants.h  how threads wait, as numbers and policies
 *   access.h     accesses that may fault; cpu.h, what the processor reports of itself:
 *                arch_access.h chooses these two, for the few files that need them
 */

#include "compiler.h"

#if defined(HF_ARCH_HEADER)
#include HF_ARCH_HEADER
#elif defined(HF_ARCH_GENERIC) || (defined(__aarch64__) && HF_TSAN)
/* ThreadSanitizer sees no assembly, and AArch64 waits in assembly. */
#include "arch/generic/spin.h"
#elif defined(__x86_64__)
#include "arch/x86_64/spin.h"
#elif defined(__aarch64__)
#include "arch/aarch64/spin.h"
#elif defined(__riscv) && __riscv_xlen == 64
#include "arch/riscv64/spin.h"
#else
#include "arch/generic/spin.h"
#endif

#endif
