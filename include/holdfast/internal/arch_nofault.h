/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_NOFAULT_H
#define HF_ARCH_NOFAULT_H
#pragma GCC system_header
/* arch_nofault - which processor, for nofault and cpu: as arch.h chooses, but for a sanitizer. */
#include "compiler.h"

#if defined(HF_ARCH_GENERIC)
#include "arch/generic/cpu.h"
#include "arch/generic/nofault.h"
#elif defined(__x86_64__)
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/nofault.h"
#elif defined(__aarch64__)
#include "arch/aarch64/cpu.h"
#include "arch/aarch64/nofault.h"
#elif defined(__riscv) && __riscv_xlen == 64
#include "arch/riscv64/cpu.h"
#include "arch/riscv64/nofault.h"
#else
#include "arch/generic/cpu.h"
#include "arch/generic/nofault.h"
#endif

#endif
