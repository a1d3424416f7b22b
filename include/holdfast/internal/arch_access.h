/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_ACCESS_H
#define HF_ARCH_ACCESS_H
#pragma GCC system_header
/*
 * arch_access - which processor, for nofault: chosen as in arch.h, whether a sanitizer is on or
 * not.
 *
 * Each arch/<cpu>/access.h has
 *
 *   hf_arch_load8_nofault, 16, 32, 64     *value = *p; any alignment
 *   hf_arch_store8_nofault, 16, 32, 64    *p = value; any alignment
 *   hf_arch_cmpxchg32_nofault, 64         if *p == expected, *p = desired. *found = *p before
 *   hf_arch_exchange32_nofault, 64        *found = *p; *p = value
 *   hf_arch_fetch_add32_nofault, 64       *found = *p; *p += value
 *
 * which return 0, or -HF_EFAULT and leave the result as it was; the last three take an aligned word
 * and are sequentially consistent. And for src/, without a check, HF_ARCH_LOAD8_OR(value, p, label)
 * to HF_ARCH_STORE64_OR(p, value, label): a fault jumps to the label. It defines as 1 or 0
 *
 *   HF_ARCH_HAS_SITES        a fault is recovered by a table of sites (nofault/site.h)
 *   HF_ARCH_UNALIGNED_FAST   an access at any address is about as fast as an aligned one
 *   HF_ARCH_HAS_REP          one repeated instruction clears and copies: hf_arch_rep_stosb, ...
 *   HF_ARCH_HAS_PAIR         clear and copy have forms with pairs of registers
 *
 * with sites also HF_ARCH_RELOC_NONE, the relocation that changes nothing; HF_ARCH_CONTEXT_PC, the
 * program counter of a ucontext_t; and HF_ARCH_CONTEXT_CALL, which makes the return from the signal
 * call a function on the stack of the interrupted code. It may define what has a default below.
 */
#include "compiler.h"

#if defined(HF_ARCH_GENERIC)
#include "arch/generic/cpu.h"
#include "arch/generic/access.h"
#elif defined(__x86_64__)
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/access.h"
#elif defined(__aarch64__)
#include "arch/aarch64/cpu.h"
#include "arch/aarch64/access.h"
#elif defined(__riscv) && __riscv_xlen == 64
#include "arch/generic/cpu.h"
#include "arch/riscv64/access.h"
#else
#include "arch/generic/cpu.h"
#include "arch/generic/access.h"
#endif

/* A context that does not tell the address of the thread's last fault. */
#ifndef HF_ARCH_CONTEXT_FAULTED_AT
#define HF_ARCH_CONTEXT_FAULTED_AT(context, address) ((void)(context), (void)(address), false)
#endif

/* Is BUS_ADRALN, with this context, an unaligned address, and not a lost page? */
#ifndef HF_ARCH_CONTEXT_UNALIGNED
#define HF_ARCH_CONTEXT_UNALIGNED(context) ((void)(context), true)
#endif

/* The bits of an address that the processor may ignore, and that a fault's address lacks. */
#ifndef HF_ARCH_TAG_BITS
#define HF_ARCH_TAG_BITS 0
#endif

/* The floating-point control bits that a callee keeps. */
#ifndef HF_ARCH_HAS_FP_CONTROL
struct hf_arch_fp_control {
	int none;
};
HF_INLINE struct hf_arch_fp_control hf_arch_fp_control_save(void)
{
	struct hf_arch_fp_control control = { 0 };

	return control;
}
#define hf_arch_fp_control_restore(control) ((void)(control))
#endif

/* For signal handlers: unaligned accesses of compiled code don't fault. */
#ifndef HF_ARCH_HAS_ALIGNMENT_CHECKS
#define hf_arch_alignment_checks_off() 0
#define hf_arch_alignment_checks_restore(flags) ((void)(flags))
#endif

#endif
