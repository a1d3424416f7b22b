/* SPDX-License-Identifier: MIT */
/*
 * bad - paths that each break one rule of run.py, which must find it: a check that finds nothing
 * shows nothing. In assembly, so that no compiler can put them right. bad_good_code breaks none.
 *
 * PATH gives a function its code, the return aside; what is COLD runs in another section.
 */
#define PATH(name, code)                                                                           \
	__asm__(".pushsection .text\n\t.globl " #name "\n\t.type " #name ",%function\n" #name      \
		":\n\t" code "\n\tret\n\t.size " #name ",.-" #name "\n\t.popsection");
#define COLD(name, code)                                                                           \
	__asm__(".pushsection .text.unlikely,\"ax\"\n\t.type " #name ",%function\n" #name          \
		":\n\t" code "\n\t.size " #name ",.-" #name "\n\t.popsection");

#if defined(__x86_64__)
#define ATOMIC "lock addl $1, (%rdi)\n\t"

PATH(bad_good_code, ATOMIC "jle 1f\n\tret\n1:\n\tcall bad_cold.cold")
PATH(bad_call_code, ATOMIC "call bad_call.callee")
COLD(bad_call.callee, "ret")
PATH(bad_cold_code, ATOMIC "jmp bad_cold.cold\nbad_cold.back:")
COLD(bad_cold.cold, "jmp bad_cold.back")
PATH(bad_straight_code, ATOMIC "jg 1f\n\tud2\n1:")
PATH(bad_barrier_code, ATOMIC "mfence")
PATH(bad_stack_code, "push %rbx\n\t" ATOMIC "pop %rbx")
PATH(bad_atomics_code, ATOMIC "xchg %eax, (%rdi)")
PATH(bad_branches_code, ATOMIC "jle 1f\n\tje 1f\n\tjs 1f\n\tret\n1:")
PATH(bad_setcc_code, ATOMIC "sets %al\n\ttest %al, %al\n\tjne 1f\n\tret\n1:")
PATH(bad_byte_code, "xor %eax, %eax\n\tlock cmpxchg %edx, (%rdi)")
PATH(bad_word64_code, "xor %eax, %eax\n\tlock cmpxchg %edx, (%rdi)")
PATH(bad_cost_code, ATOMIC "nop\n\tnop\n\tnop\n\tnop\n\tnop")
PATH(bad_store_code, "movl (%rdi), %eax\n\tmovl %eax, (%rdi)")
#elif defined(__aarch64__)
#if defined(__ARM_FEATURE_ATOMICS)
#define ATOMIC "mov w1, #1\n\tldadd w1, w1, [x0]\n\tcmp w1, #0\n\t"
#define ATOMIC_AGAIN "swp w1, w1, [x0]"
#define ORDERED "mov w1, #1\n\tldaddl w1, w1, [x0]"
#define SWAP "cas w1, w2, [x0]"
#else
#define ATOMIC "1:\n\tldxr w1, [x0]\n\tadds w1, w1, #1\n\tstxr w2, w1, [x0]\n\tcbnz w2, 1b\n\t"
#define ATOMIC_AGAIN "1:\n\tldxr w1, [x0]\n\tstxr w2, wzr, [x0]\n\tcbnz w2, 1b"
#define ORDERED "1:\n\tldxr w1, [x0]\n\tstlxr w2, w1, [x0]\n\tcbnz w2, 1b"
#define SWAP "1:\n\tldxr w1, [x0]\n\tstxr w3, w2, [x0]\n\tcbnz w3, 1b"
#endif

PATH(bad_good_code, ATOMIC "b.lt 2f\n\tret\n2:\n\tb bad_cold.cold")
PATH(bad_call_code, "mov x9, x30\n\t" ATOMIC "bl bad_call.callee\n\tmov x30, x9")
COLD(bad_call.callee, "ret")
PATH(bad_cold_code, ATOMIC "b bad_cold.cold\nbad_cold.back:")
COLD(bad_cold.cold, "b bad_cold.back")
PATH(bad_straight_code, ATOMIC "b.ge 2f\n\tudf #0\n2:")
PATH(bad_barrier_code, ATOMIC "dmb ish")
PATH(bad_stack_code, "stp x29, x30, [sp, #-16]!\n\t" ATOMIC "ldp x29, x30, [sp], #16")
PATH(bad_atomics_code, ATOMIC ATOMIC_AGAIN)
PATH(bad_branches_code, ATOMIC "b.lt 2f\n\tb.vs 2f\n\tb.mi 2f\n\tret\n2:")
PATH(bad_setcc_code, ATOMIC "cset w3, lt\n\tcbnz w3, 2f\n\tret\n2:")
PATH(bad_byte_code, SWAP)
PATH(bad_word64_code, SWAP)
PATH(bad_cost_code, ATOMIC "nop\n\tnop\n\tnop\n\tnop\n\tnop")
PATH(bad_order_code, ORDERED)
PATH(bad_store_code, "ldr w1, [x0]\n\tstlr w1, [x0]")
#endif
