/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_RISCV64_REFCOUNT_H
#define HF_ARCH_RISCV64_REFCOUNT_H
/* refcount, for RISC-V of 64 bits - there are no flags: as on any processor, a comparison in C. */
#include "../generic/refcount.h"

#endif
