/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_RISCV64_ACCESS_H
#define HF_ARCH_RISCV64_ACCESS_H
#pragma GCC system_header
/*
 * access, for RISC-V of 64 bits - accesses that may fault, one instruction each.
 *
 * A misaligned access may be trapped and done by hand, or not be done at all: nothing here relies
 * on one.
 */
#define HF_DETAIL_ERROR long
#define HF_DETAIL_NO_ERROR "li %[error], 0"
#include "../access_one.h"

#define HF_ARCH_HAS_SITES 1
#define HF_ARCH_UNALIGNED_FAST 0
#define HF_ARCH_HAS_REP 0
#define HF_ARCH_HAS_PAIR 0

#define HF_ARCH_RELOC_NONE "R_RISCV_NONE"

/* Address bits that a processor with pointer masking may ignore. */
#define HF_ARCH_TAG_BITS ((uintptr_t)0x7f << 57)

#define HF_ARCH_CONTEXT_PC(context) ((context)->uc_mcontext.__gregs[0])

#define HF_ARCH_CONTEXT_CALL(context, function, argument)                                          \
	((context)->uc_mcontext.__gregs[2] &= ~15ul,                                               \
	 (context)->uc_mcontext.__gregs[10] = (unsigned long)(argument),                           \
	 (context)->uc_mcontext.__gregs[0] = (unsigned long)(function))

#if defined(__riscv_flen)
/* The rounding mode. */
#define HF_ARCH_HAS_FP_CONTROL 1
struct hf_arch_fp_control {
	unsigned long mode;
};

HF_INLINE struct hf_arch_fp_control hf_arch_fp_control_save(void)
{
	struct hf_arch_fp_control control;

	__asm__ volatile("frrm\t%0" : "=r"(control.mode));
	return control;
}

HF_INLINE void hf_arch_fp_control_restore(struct hf_arch_fp_control control)
{
	__asm__ volatile("fsrm\t%0" : : "r"(control.mode) : "memory");
}
#endif

#define HF_DETAIL_CMPXCHG_NOFAULT(bits, w)                                                         \
	HF_INLINE int hf_arch_cmpxchg##bits##_nofault(volatile void *p, uint##bits##_t expected,   \
						      uint##bits##_t desired,                      \
						      uint##bits##_t *found)                       \
	{                                                                                          \
		/* LR.W extends the sign: the value to compare with must be extended too. */       \
		long error = -HF_EFAULT, read, failed, value = (long)(int##bits##_t)expected;      \
                                                                                                   \
		__asm__ volatile(                                                                  \
			"1:\tlr." w ".aqrl\t%[read], (%[p])\n"                                     \
			"\tbne\t%[read], %[value], 3f\n"                                           \
			"2:\tsc." w ".rl\t%[failed], %[desired], (%[p])\n"                         \
			"\tbnez\t%[failed], 1b\n"                                                  \
			"3:\tli\t%[error], 0\n"                                                    \
			"4:\n" HF_SITE("1b", "4b") HF_SITE("2b", "4b")                             \
			: [read] "=&r"(read), [failed] "=&r"(failed), [error] "+&r"(error)         \
			: [p] "r"(p), [value] "r"(value), [desired] "r"(desired)                   \
			: "memory");                                                               \
		if (HF_LIKELY(!error))                                                             \
			*found = (uint##bits##_t)read;                                             \
		return (int)error;                                                                 \
	}

#define HF_DETAIL_FETCH_NOFAULT(operation, bits, instruction)                                      \
	HF_INLINE int hf_arch_##operation##bits##_nofault(volatile void *p, uint##bits##_t value,  \
							  uint##bits##_t *found)                   \
	{                                                                                          \
		long error = -HF_EFAULT, read;                                                     \
                                                                                                   \
		__asm__ volatile("1:\t" instruction ".aqrl\t%[read], %[value], (%[p])\n"           \
				 "\tli\t%[error], 0\n"                                             \
				 "2:\n" HF_SITE("1b", "2b")                                        \
				 : [read] "=&r"(read), [error] "+&r"(error)                        \
				 : [p] "r"(p), [value] "r"(value)                                  \
				 : "memory");                                                      \
		if (HF_LIKELY(!error))                                                             \
			*found = (uint##bits##_t)read;                                             \
		return (int)error;                                                                 \
	}

HF_DETAIL_LOAD_NOFAULT(8, "lbu %[read], (%[p])", "r")
HF_DETAIL_LOAD_NOFAULT(16, "lhu %[read], (%[p])", "r")
HF_DETAIL_LOAD_NOFAULT(32, "lw %[read], (%[p])", "r")
HF_DETAIL_LOAD_NOFAULT(64, "ld %[read], (%[p])", "r")

HF_DETAIL_STORE_NOFAULT(8, "sb %z[value], (%[p])", "rJ")
HF_DETAIL_STORE_NOFAULT(16, "sh %z[value], (%[p])", "rJ")
HF_DETAIL_STORE_NOFAULT(32, "sw %z[value], (%[p])", "rJ")
HF_DETAIL_STORE_NOFAULT(64, "sd %z[value], (%[p])", "rJ")

HF_DETAIL_CMPXCHG_NOFAULT(32, "w")
HF_DETAIL_CMPXCHG_NOFAULT(64, "d")

HF_DETAIL_FETCH_NOFAULT(exchange, 32, "amoswap.w")
HF_DETAIL_FETCH_NOFAULT(exchange, 64, "amoswap.d")

HF_DETAIL_FETCH_NOFAULT(fetch_add, 32, "amoadd.w")
HF_DETAIL_FETCH_NOFAULT(fetch_add, 64, "amoadd.d")

#define HF_ARCH_LOAD8_OR(value, p, label) HF_ARCH_LOAD_OR("lbu %0, %1", value, "r", p, label)
#define HF_ARCH_LOAD16_OR(value, p, label) HF_ARCH_LOAD_OR("lhu %0, %1", value, "r", p, label)
#define HF_ARCH_LOAD32_OR(value, p, label) HF_ARCH_LOAD_OR("lw %0, %1", value, "r", p, label)
#define HF_ARCH_LOAD64_OR(value, p, label) HF_ARCH_LOAD_OR("ld %0, %1", value, "r", p, label)
#define HF_ARCH_STORE8_OR(p, value, label) HF_ARCH_STORE_OR("sb %z1, %0", p, value, "rJ", label)
#define HF_ARCH_STORE16_OR(p, value, label) HF_ARCH_STORE_OR("sh %z1, %0", p, value, "rJ", label)
#define HF_ARCH_STORE32_OR(p, value, label) HF_ARCH_STORE_OR("sw %z1, %0", p, value, "rJ", label)
#define HF_ARCH_STORE64_OR(p, value, label) HF_ARCH_STORE_OR("sd %z1, %0", p, value, "rJ", label)

/* A load that is not in the table of sites, and its length: to measure the cost of a signal. */
#define HF_ARCH_FAULTING_LOAD(p)                                                                   \
	__asm__ volatile(".option push\n.option norvc\nlbu t0, 0(%0)\n.option pop"                 \
			 :                                                                         \
			 : "r"(p)                                                                  \
			 : "t0", "memory")
#define HF_ARCH_FAULTING_LOAD_BYTES 4

#endif
