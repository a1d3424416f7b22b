/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_RISCV64_CONSTANTS_H
#define HF_ARCH_RISCV64_CONSTANTS_H
#pragma GCC system_header
/* constants, for RISC-V of 64 bits - nothing was measured on hardware: those of any processor. */
#include "../generic/constants.h"

#endif
