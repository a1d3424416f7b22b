/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_RISCV64_CONSTANTS_H
#define HF_ARCH_RISCV64_CONSTANTS_H
#pragma GCC system_header
/* constants, for 64-bit RISC-V - the generic ones: nothing was measured on hardware. */
#include "../generic/constants.h"

#endif
