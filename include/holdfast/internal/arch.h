/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_H
#define HF_ARCH_H
#pragma GCC system_header
/*
 * arch - which processor: the only place that chooses.
 *
 * A folder arch/<cpu>/ has spin.h and constants.h, which this file chooses, and access.h and cpu.h,
 * which arch_access.h chooses, or uses those of arch/generic/, which work everywhere
 * (-DHF_ARCH_GENERIC forces them). docs/guide/porting.md says what each must offer. A port or a
 * model checker names its own file with -DHF_ARCH_HEADER='"my_arch.h"'.
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
