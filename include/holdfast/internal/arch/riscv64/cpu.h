/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_RISCV64_CPU_H
#define HF_ARCH_RISCV64_CPU_H
#pragma GCC system_header
/* cpu, for RISC-V of 64 bits - reports no features. */
#include "../generic/cpu.h"

#endif
