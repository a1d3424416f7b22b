/* SPDX-License-Identifier: MIT */
/*
 * bad - paths that each break one rule of run.py, which must find it: a check that finds nothing
 * shows nothing. In assembly, so that no compiler can put them right.
 *
 * PATH gives a function its code, the return aside; what is COLD runs in another section.
 */
#include "paths.h"

#define PATH(name, code)                                                                           \
	__asm__(".pushsection .text\n\t.globl " #name "\n\t.type " #name ",%function\n" #name      \
		":\n\t" code "\n\tret\n\t.size " #name ",.-" #name "\n\t.popsection");
#define COLD(name, code)                                                                           \
	__asm__(".pushsection .text.unlikely,\"ax\"\n\t.type " #name ",%function\n" #name          \
		":\n\t" code "\n\t.size " #name ",.-" #name "\n\t.popsection");

#if defined(__x86_64__)
#define ATOMIC "lock addl $1, (%rdi)\n\t"

PATH(good, ATOMIC "jle 1f\n\tret\n1:\n\tcall bad_cold.cold")
PATH(bad_call, ATOMIC "call bad_call.callee")
COLD(bad_call.callee, "ret")
PATH(bad_cold, ATOMIC "jmp bad_cold.cold\nbad_cold.back:")
COLD(bad_cold.cold, "jmp bad_cold.back")
PATH(bad_straight, ATOMIC "jg 1f\n\tud2\n1:")
PATH(bad_barrier, ATOMIC "mfence")
PATH(bad_stack, "push %rbx\n\t" ATOMIC "pop %rbx")
PATH(bad_atomics, ATOMIC "xchg %eax, (%rdi)")
PATH(bad_branches, ATOMIC "jle 1f\n\tje 1f\n\tjs 1f\n\tret\n1:")
PATH(bad_setcc, ATOMIC "sets %al\n\ttest %al, %al\n\tjne 1f\n\tret\n1:")
PATH(bad_byte, "xor %eax, %eax\n\tlock cmpxchg %edx, (%rdi)")
PATH(bad_word64, "xor %eax, %eax\n\tlock cmpxchg %edx, (%rdi)")
PATH(bad_cost, ATOMIC "nop\n\tnop\n\tnop\n\tnop\n\tnop")
PATH(bad_store, "movl (%rdi), %eax\n\tmovl %eax, (%rdi)")
#elif defined(__aarch64__)
#if defined(__ARM_FEATURE_ATOMICS)
#define ATOMIC "mov w1, #1\n\tldadd w1, w1, [x0]\n\tcmp w1, #0\n\t"
#define ATOMIC_AGAIN "swp w1, w1, [x0]"
#define SWAP "casa w1, w2, [x0]"
#else
#define ATOMIC "1:\n\tldxr w1, [x0]\n\tadds w1, w1, #1\n\tstxr w2, w1, [x0]\n\tcbnz w2, 1b\n\t"
#define ATOMIC_AGAIN "1:\n\tldxr w1, [x0]\n\tstxr w2, wzr, [x0]\n\tcbnz w2, 1b"
#define SWAP "1:\n\tldxr w1, [x0]\n\tstxr w3, w2, [x0]\n\tcbnz w3, 1b"
#endif

PATH(good, ATOMIC "b.lt 2f\n\tret\n2:\n\tb bad_cold.cold")
PATH(bad_call, "mov x9, x30\n\t" ATOMIC "bl bad_call.callee\n\tmov x30, x9")
COLD(bad_call.callee, "ret")
PATH(bad_cold, ATOMIC "b bad_cold.cold\nbad_cold.back:")
COLD(bad_cold.cold, "b bad_cold.back")
PATH(bad_straight, ATOMIC "b.ge 2f\n\tudf #0\n2:")
PATH(bad_barrier, ATOMIC "dmb ish")
PATH(bad_stack, "stp x29, x30, [sp, #-16]!\n\t" ATOMIC "ldp x29, x30, [sp], #16")
PATH(bad_atomics, ATOMIC ATOMIC_AGAIN)
PATH(bad_branches, ATOMIC "b.lt 2f\n\tb.vs 2f\n\tb.mi 2f\n\tret\n2:")
PATH(bad_setcc, ATOMIC "cset w3, lt\n\tcbnz w3, 2f\n\tret\n2:")
PATH(bad_byte, SWAP)
PATH(bad_word64, SWAP)
PATH(bad_cost, ATOMIC "nop\n\tnop\n\tnop\n\tnop\n\tnop")
PATH(bad_store, "ldr w1, [x0]\n\tstlr w1, [x0]")
#endif
