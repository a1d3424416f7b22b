/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_X86_64_ACCESS_H
#define HF_ARCH_X86_64_ACCESS_H
#pragma GCC system_header
/* access, for x86-64 - accesses that may fault, one instruction each, at any address. */
#define HF_DETAIL_ERROR int
#define HF_DETAIL_NO_ERROR "xorl %[error], %[error]"
#include "../access_one.h"

#define HF_ARCH_HAS_SITES 1
#define HF_ARCH_UNALIGNED_FAST 1
#define HF_ARCH_HAS_REP 1
#define HF_ARCH_HAS_PAIR 0

#define HF_ARCH_RELOC_NONE "R_X86_64_NONE"

#define HF_ARCH_CONTEXT_PC(context) ((context)->uc_mcontext.gregs[16])

/*
 * Below the red zone, and as the ABI wants it at a function's first instruction: the return address
 * would be at a multiple of 16, less 8, and DF is 0.
 */
#define HF_ARCH_CONTEXT_CALL(context, function, argument)                                          \
	((context)->uc_mcontext.gregs[15] =                                                        \
		 (((context)->uc_mcontext.gregs[15] - 128) & ~(long long)15) - 8,                  \
	 (context)->uc_mcontext.gregs[8] = (long long)(uintptr_t)(argument),                       \
	 (context)->uc_mcontext.gregs[16] = (long long)(uintptr_t)(function),                      \
	 (context)->uc_mcontext.gregs[17] &= ~(long long)0x400)

/* The control bits of MXCSR and of the x87 unit, whose stack is empty at a call. */
#define HF_ARCH_HAS_FP_CONTROL 1
struct hf_arch_fp_control {
	uint32_t mxcsr;
	uint16_t x87;
};

HF_INLINE struct hf_arch_fp_control hf_arch_fp_control_save(void)
{
	struct hf_arch_fp_control control;

	__asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(control.mxcsr), "=m"(control.x87));
	return control;
}

HF_INLINE void hf_arch_fp_control_restore(struct hf_arch_fp_control control)
{
	__asm__ volatile("ldmxcsr %0\n\tfninit\n\tfldcw %1"
			 :
			 : "m"(control.mxcsr), "m"(control.x87)
			 : "memory");
}

/*
 * Was the thread's last exception an access to this address? (The page fault is exception 14; CR2.)
 * Then the instruction faults again when the handler returns, unless the memory has come back.
 */
#define HF_ARCH_CONTEXT_FAULTED_AT(context, address)                                               \
	((context)->uc_mcontext.gregs[20] == 14 &&                                                 \
	 (uintptr_t)(context)->uc_mcontext.gregs[22] == (uintptr_t)(address))

/* An alignment check is exception 17. */
#define HF_ARCH_CONTEXT_UNALIGNED(context) ((context)->uc_mcontext.gregs[20] == 17)

/* Address bits that a processor with LAM may ignore. */
#define HF_ARCH_TAG_BITS ((uintptr_t)0x3f << 57)

/*
 * EFLAGS.AC of a signal handler, which is that of the code that it interrupted: with it, unaligned
 * accesses of compiled code fault. Returns the flags before.
 */
#define HF_ARCH_HAS_ALIGNMENT_CHECKS 1
HF_INLINE uint64_t hf_arch_alignment_checks_off(void)
{
	uint64_t flags = __builtin_ia32_readeflags_u64();

	if (HF_UNLIKELY(flags & 0x40000))
		__builtin_ia32_writeeflags_u64(flags & ~(uint64_t)0x40000);
	return flags;
}

HF_INLINE void hf_arch_alignment_checks_restore(uint64_t flags)
{
	if (HF_UNLIKELY(flags & 0x40000))
		__builtin_ia32_writeeflags_u64(flags);
}

#define HF_DETAIL_CMPXCHG_NOFAULT(bits, instruction)                                               \
	HF_INLINE int hf_arch_cmpxchg##bits##_nofault(volatile void *p, uint##bits##_t expected,   \
						      uint##bits##_t desired,                      \
						      uint##bits##_t *found)                       \
	{                                                                                          \
		int error = -HF_EFAULT;                                                            \
                                                                                                   \
		__asm__ volatile("1:\t" instruction " %[desired], (%[p])\n"                        \
				 "\tmovl\t$0, %[error]\n"                                          \
				 "2:\n" HF_SITE("1b", "2b")                                        \
				 : "+&a"(expected), [error] "+&r"(error)                           \
				 : [p] "r"(p), [desired] "r"(desired)                              \
				 : "memory", "cc");                                                \
		if (HF_LIKELY(!error))                                                             \
			*found = expected;                                                         \
		return error;                                                                      \
	}

#define HF_DETAIL_FETCH_NOFAULT(operation, bits, instruction)                                      \
	HF_INLINE int hf_arch_##operation##bits##_nofault(volatile void *p, uint##bits##_t value,  \
							  uint##bits##_t *found)                   \
	{                                                                                          \
		int error = -HF_EFAULT;                                                            \
                                                                                                   \
		__asm__ volatile("1:\t" instruction " %[value], (%[p])\n"                          \
				 "\txorl\t%[error], %[error]\n"                                    \
				 "2:\n" HF_SITE("1b", "2b")                                        \
				 : [value] "+&r"(value), [error] "+&r"(error)                      \
				 : [p] "r"(p)                                                      \
				 : "memory", "cc");                                                \
		if (HF_LIKELY(!error))                                                             \
			*found = value;                                                            \
		return error;                                                                      \
	}

HF_DETAIL_LOAD_NOFAULT(8, "movb (%[p]), %[read]", "q")
HF_DETAIL_LOAD_NOFAULT(16, "movw (%[p]), %[read]", "r")
HF_DETAIL_LOAD_NOFAULT(32, "movl (%[p]), %[read]", "r")
HF_DETAIL_LOAD_NOFAULT(64, "movq (%[p]), %[read]", "r")

HF_DETAIL_STORE_NOFAULT(8, "movb %[value], (%[p])", "q")
HF_DETAIL_STORE_NOFAULT(16, "movw %[value], (%[p])", "r")
HF_DETAIL_STORE_NOFAULT(32, "movl %[value], (%[p])", "r")
HF_DETAIL_STORE_NOFAULT(64, "movq %[value], (%[p])", "r")

HF_DETAIL_CMPXCHG_NOFAULT(32, "lock cmpxchgl")
HF_DETAIL_CMPXCHG_NOFAULT(64, "lock cmpxchgq")

HF_DETAIL_FETCH_NOFAULT(exchange, 32, "xchgl")
HF_DETAIL_FETCH_NOFAULT(exchange, 64, "xchgq")

HF_DETAIL_FETCH_NOFAULT(fetch_add, 32, "lock xaddl")
HF_DETAIL_FETCH_NOFAULT(fetch_add, 64, "lock xaddq")

#define HF_ARCH_LOAD8_OR(value, p, label) HF_ARCH_LOAD_OR("movb %1, %0", value, "q", p, label)
#define HF_ARCH_LOAD16_OR(value, p, label) HF_ARCH_LOAD_OR("movw %1, %0", value, "r", p, label)
#define HF_ARCH_LOAD32_OR(value, p, label) HF_ARCH_LOAD_OR("movl %1, %0", value, "r", p, label)
#define HF_ARCH_LOAD64_OR(value, p, label) HF_ARCH_LOAD_OR("movq %1, %0", value, "r", p, label)
#define HF_ARCH_STORE8_OR(p, value, label) HF_ARCH_STORE_OR("movb %1, %0", p, value, "qi", label)
#define HF_ARCH_STORE16_OR(p, value, label) HF_ARCH_STORE_OR("movw %1, %0", p, value, "ri", label)
#define HF_ARCH_STORE32_OR(p, value, label) HF_ARCH_STORE_OR("movl %1, %0", p, value, "ri", label)
#define HF_ARCH_STORE64_OR(p, value, label) HF_ARCH_STORE_OR("movq %1, %0", p, value, "re", label)

/*
 * Repeated instructions set (stos) or copy (movs) bytes, or words of 8 bytes. They stop between two
 * elements, with the registers updated: RCX, which these functions return, is exactly what is left,
 * whether they end or fault. They go upwards (ABI: the direction flag is clear).
 */
HF_INLINE size_t hf_arch_rep_stosb_of(volatile void *dst, uint8_t value, size_t len)
{
	__asm__ volatile("1:\trep stosb\n"
			 "2:\n" HF_SITE("1b", "2b")
			 : "+&D"(dst), "+&c"(len)
			 : "a"(value)
			 : "memory");
	return len;
}

/* A constant 0 takes an instruction less. */
HF_INLINE size_t hf_arch_rep_stosb(volatile void *dst, size_t len)
{
	__asm__ volatile("1:\trep stosb\n"
			 "2:\n" HF_SITE("1b", "2b")
			 : "+&D"(dst), "+&c"(len)
			 : "a"(0)
			 : "memory");
	return len;
}

HF_INLINE size_t hf_arch_rep_stosq(volatile void *dst, size_t words)
{
	__asm__ volatile("1:\trep stosq\n"
			 "2:\n" HF_SITE("1b", "2b")
			 : "+&D"(dst), "+&c"(words)
			 : "a"(0)
			 : "memory");
	return words;
}

HF_INLINE size_t hf_arch_rep_movsb(volatile void *dst, const volatile void *src, size_t len)
{
	__asm__ volatile("1:\trep movsb\n"
			 "2:\n" HF_SITE("1b", "2b")
			 : "+&D"(dst), "+&S"(src), "+&c"(len)
			 :
			 : "memory");
	return len;
}

HF_INLINE size_t hf_arch_rep_movsq(volatile void *dst, const volatile void *src, size_t words)
{
	__asm__ volatile("1:\trep movsq\n"
			 "2:\n" HF_SITE("1b", "2b")
			 : "+&D"(dst), "+&S"(src), "+&c"(words)
			 :
			 : "memory");
	return words;
}

/* A function of src/ written wholly in assembly; ENDBR is added. */
#define HF_ARCH_NAKED_FUNCTION(name, text)                                                         \
	__asm__(".pushsection .text\n"                                                             \
		"\t.p2align 6\n"                                                                   \
		"\t.globl " #name "\n"                                                             \
		"\t.hidden " #name "\n"                                                            \
		"\t.type " #name ", @function\n" #name ":\n"                                       \
		"\t.cfi_startproc\n"                                                               \
		"\tendbr64\n" text "\t.cfi_endproc\n"                                              \
		"\t.size " #name ", . - " #name "\n"                                               \
		".popsection\n");

/* A load that is not in the table of sites, and its length: to measure the cost of a signal. */
#define HF_ARCH_FAULTING_LOAD(p) __asm__ volatile(".byte 0x8a, 0x07" : : "D"(p) : "rax", "memory")
#define HF_ARCH_FAULTING_LOAD_BYTES 2

#endif
