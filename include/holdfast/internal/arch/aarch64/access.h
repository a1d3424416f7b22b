/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_AARCH64_ACCESS_H
#define HF_ARCH_AARCH64_ACCESS_H
#pragma GCC system_header
/*
 * access, for AArch64 - accesses that may fault, one instruction each.
 *
 * A store that crosses into another page may do one part and fault for the other: code that needs
 * exact counts does not let one cross. An exclusive or a DC ZVA that faults has done nothing.
 */
#define HF_DETAIL_ERROR long
#define HF_DETAIL_NO_ERROR "mov %[error], #0"
#include "../access_one.h"

#define HF_ARCH_HAS_SITES 1
#define HF_ARCH_UNALIGNED_FAST 1
#define HF_ARCH_HAS_REP 0
#define HF_ARCH_HAS_PAIR 1

#define HF_ARCH_RELOC_NONE "R_AARCH64_NONE"

#define HF_ARCH_CONTEXT_PC(context) ((context)->uc_mcontext.pc)

/* Address bits that loads and stores ignore ("top byte ignore"). */
#define HF_ARCH_TAG_BITS ((uintptr_t)0xff << 56)

#define HF_ARCH_CONTEXT_CALL(context, function, argument)                                          \
	((context)->uc_mcontext.sp &= ~(unsigned long long)15,                                     \
	 (context)->uc_mcontext.regs[0] = (uintptr_t)(argument),                                   \
	 (context)->uc_mcontext.pc = (uintptr_t)(function))

/* FPCR: rounding, flush to zero. */
#define HF_ARCH_HAS_FP_CONTROL 1
struct hf_arch_fp_control {
	uint64_t fpcr;
};

HF_INLINE struct hf_arch_fp_control hf_arch_fp_control_save(void)
{
	struct hf_arch_fp_control control;

	__asm__ volatile("mrs\t%0, fpcr" : "=r"(control.fpcr));
	return control;
}

HF_INLINE void hf_arch_fp_control_restore(struct hf_arch_fp_control control)
{
	__asm__ volatile("msr\tfpcr, %0" : : "r"(control.fpcr) : "memory");
}

/*
 * Was the thread's last exception an access to this address? Then the instruction faults again when
 * the handler returns, unless the memory has come back.
 */
#define HF_ARCH_CONTEXT_FAULTED_AT(context, address)                                               \
	((uintptr_t)(context)->uc_mcontext.fault_address == (uintptr_t)(address))

/* An exclusive pair only: a second form, with LSE, is not worth it. */
#define HF_DETAIL_CMPXCHG_NOFAULT(bits, w)                                                         \
	HF_INLINE int hf_arch_cmpxchg##bits##_nofault(volatile void *p, uint##bits##_t expected,   \
						      uint##bits##_t desired,                      \
						      uint##bits##_t *found)                       \
	{                                                                                          \
		long error = -HF_EFAULT;                                                           \
		uint##bits##_t read;                                                               \
		uint32_t failed;                                                                   \
                                                                                                   \
		__asm__ volatile(                                                                  \
			"1:\tldaxr\t%" w "[read], [%[p]]\n"                                        \
			"\tcmp\t%" w "[read], %" w "[expected]\n"                                  \
			"\tb.ne\t3f\n"                                                             \
			"2:\tstlxr\t%w[failed], %" w "[desired], [%[p]]\n"                         \
			"\tcbnz\t%w[failed], 1b\n"                                                 \
			"3:\tmov\t%[error], #0\n"                                                  \
			"4:\n" HF_SITE("1b", "4b") HF_SITE("2b", "4b")                             \
			: [read] "=&r"(read), [failed] "=&r"(failed), [error] "+&r"(error)         \
			: [p] "r"(p), [expected] "r"(expected), [desired] "r"(desired)             \
			: "memory", "cc");                                                         \
		if (HF_LIKELY(!error))                                                             \
			*found = read;                                                             \
		return (int)error;                                                                 \
	}

/* `sum`: the instruction that computes `stored` from `read` and `value`. */
#define HF_DETAIL_FETCH_NOFAULT(operation, bits, w, sum)                                           \
	HF_INLINE int hf_arch_##operation##bits##_nofault(volatile void *p, uint##bits##_t value,  \
							  uint##bits##_t *found)                   \
	{                                                                                          \
		long error = -HF_EFAULT;                                                           \
		uint##bits##_t read, stored;                                                       \
		uint32_t failed;                                                                   \
                                                                                                   \
		__asm__ volatile("1:\tldaxr\t%" w "[read], [%[p]]\n"                               \
				 "\t" sum "\n"                                                     \
				 "2:\tstlxr\t%w[failed], %" w "[stored], [%[p]]\n"                 \
				 "\tcbnz\t%w[failed], 1b\n"                                        \
				 "\tmov\t%[error], #0\n"                                           \
				 "3:\n" HF_SITE("1b", "3b") HF_SITE("2b", "3b")                    \
				 : [read] "=&r"(read), [stored] "=&r"(stored),                     \
				   [failed] "=&r"(failed), [error] "+&r"(error)                    \
				 : [p] "r"(p), [value] "r"(value)                                  \
				 : "memory");                                                      \
		if (HF_LIKELY(!error))                                                             \
			*found = read;                                                             \
		return (int)error;                                                                 \
	}

HF_DETAIL_LOAD_NOFAULT(8, "ldrb %w[read], [%[p]]", "r")
HF_DETAIL_LOAD_NOFAULT(16, "ldrh %w[read], [%[p]]", "r")
HF_DETAIL_LOAD_NOFAULT(32, "ldr %w[read], [%[p]]", "r")
HF_DETAIL_LOAD_NOFAULT(64, "ldr %x[read], [%[p]]", "r")

HF_DETAIL_STORE_NOFAULT(8, "strb %w[value], [%[p]]", "rZ")
HF_DETAIL_STORE_NOFAULT(16, "strh %w[value], [%[p]]", "rZ")
HF_DETAIL_STORE_NOFAULT(32, "str %w[value], [%[p]]", "rZ")
HF_DETAIL_STORE_NOFAULT(64, "str %x[value], [%[p]]", "rZ")

HF_DETAIL_CMPXCHG_NOFAULT(32, "w")
HF_DETAIL_CMPXCHG_NOFAULT(64, "x")

HF_DETAIL_FETCH_NOFAULT(exchange, 32, "w", "mov\t%w[stored], %w[value]")
HF_DETAIL_FETCH_NOFAULT(exchange, 64, "x", "mov\t%x[stored], %x[value]")

HF_DETAIL_FETCH_NOFAULT(fetch_add, 32, "w", "add\t%w[stored], %w[read], %w[value]")
HF_DETAIL_FETCH_NOFAULT(fetch_add, 64, "x", "add\t%x[stored], %x[read], %x[value]")

#define HF_ARCH_LOAD8_OR(value, p, label) HF_ARCH_LOAD_OR("ldrb %w0, %1", value, "r", p, label)
#define HF_ARCH_LOAD16_OR(value, p, label) HF_ARCH_LOAD_OR("ldrh %w0, %1", value, "r", p, label)
#define HF_ARCH_LOAD32_OR(value, p, label) HF_ARCH_LOAD_OR("ldr %w0, %1", value, "r", p, label)
#define HF_ARCH_LOAD64_OR(value, p, label) HF_ARCH_LOAD_OR("ldr %0, %1", value, "r", p, label)
#define HF_ARCH_STORE8_OR(p, value, label) HF_ARCH_STORE_OR("strb %w1, %0", p, value, "rZ", label)
#define HF_ARCH_STORE16_OR(p, value, label) HF_ARCH_STORE_OR("strh %w1, %0", p, value, "rZ", label)
#define HF_ARCH_STORE32_OR(p, value, label) HF_ARCH_STORE_OR("str %w1, %0", p, value, "rZ", label)
#define HF_ARCH_STORE64_OR(p, value, label) HF_ARCH_STORE_OR("str %x1, %0", p, value, "rZ", label)

/* HF_ARCH_LOAD_PAIR_OR, HF_ARCH_STORE_PAIR_OR - two uint64_t at p + offset, which is a constant. */
#define HF_ARCH_LOAD_PAIR_OR(first, second, p, offset, label)                                      \
	__asm__ volatile goto("1:\tldp %0, %1, [%2, %3]\n" HF_SITE("1b", "%l[" #label "]")         \
			      : "=&r"(first), "=&r"(second)                                        \
			      : "r"(p), "i"(offset)                                                \
			      : "memory"                                                           \
			      : label)
#define HF_ARCH_STORE_PAIR_OR(p, offset, first, second, label)                                     \
	__asm__ volatile goto("1:\tstp %x0, %x1, [%2, %3]\n" HF_SITE("1b", "%l[" #label "]")       \
			      :                                                                    \
			      : "rZ"(first), "rZ"(second), "r"(p), "i"(offset)                     \
			      : "memory"                                                           \
			      : label)

/* HF_ARCH_ZERO_BLOCK_OR - DC ZVA: clear the block at p, which is aligned to a block's size. */
#define HF_ARCH_ZERO_BLOCK_OR(p, label)                                                            \
	__asm__ volatile goto("1:\tdc zva, %0\n" HF_SITE("1b", "%l[" #label "]")                   \
			      :                                                                    \
			      : "r"(p)                                                             \
			      : "memory"                                                           \
			      : label)

/* A load that is not in the table of sites, and its length: to measure the cost of a signal. */
#define HF_ARCH_FAULTING_LOAD(p) __asm__ volatile("ldrb w9, [%0]" : : "r"(p) : "x9", "memory")
#define HF_ARCH_FAULTING_LOAD_BYTES 4

#endif
