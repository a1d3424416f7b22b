# SPDX-License-Identifier: MIT
"""The mutants of run.py: changes of Holdfast in its copy of the tree, all in one image. While the image runs,
/sys/module/kernel/parameters/holdfast_mutant selects one, and holdfast_choice an implementation of user memory, so a mutant
costs no build, and most of those of user memory not even a boot."""

WORDS = "lib/holdfast/src/nofault/arch/x86_64_words.h"
USER_MEMORY = "lib/holdfast/user_memory.c"
QUEUED = "include/holdfast/internal/spinlock_queued.h"
SEAM = "lib/holdfast/port/kernel/seam.c"
LOCKREF = "include/holdfast/lockref.h"
REFCOUNT = "include/holdfast/refcount.h"

# (file, text that occurs once, its replacement). HF_MUTANT(n) is "mutant n is selected"; HF_LOCK_MUTANT(n), "and the lock is a
# module's", so that the kernel's own locks work and nothing but the test fails; HF_CHOICE(n), "implementation n is selected".
CHANGES = (
    (USER_MEMORY, "	(static_cpu_has(X86_FEATURE_FSRM)       ? operation##_fsrm(__VA_ARGS__)",
     "	(HF_CHOICE(1) ? operation##_original(__VA_ARGS__) : HF_CHOICE(2) ? operation##_rep_good(__VA_ARGS__) :"
     " HF_CHOICE(3) ? operation##_erms(__VA_ARGS__) : HF_CHOICE(4) ? operation##_fsrm(__VA_ARGS__) :"
     " static_cpu_has(X86_FEATURE_FSRM) ? operation##_fsrm(__VA_ARGS__)"),
    (WORDS, "return hf_detail_clear_bytes(p, len);", "return hf_detail_clear_bytes(p, len - (HF_MUTANT(1) && len));"),
    (WORDS, "return clear_word_fault(p, left * 8 + len % 8);",
     "return clear_word_fault(p, left * 8 + (HF_MUTANT(2) ? 0 : len % 8));"),
    (WORDS, "return here >= 8 ? len : len - here + hf_arch_rep_stosb(p, here);",
     "return HF_MUTANT(3) || here >= 8 ? len : len - here + hf_arch_rep_stosb(p, here);"),
    (WORDS, "return len - here + hf_arch_rep_movsb(to, from, here);",
     "return len - here + (HF_MUTANT(4) ? 0 : hf_arch_rep_movsb(to, from, here));"),
    (WORDS, "return hf_arch_rep_movsb(dst, src, len);",
     "return hf_arch_rep_movsb(dst, src, len - (HF_MUTANT(5) && len == 131));"),
    # AC is set again as the flags are written, which objtool does not see.
    (USER_MEMORY, "	return BY_FEATURE(clear, dst, len);",
     "	unsigned long left = BY_FEATURE(clear, dst, len);\n"
     "	if (HF_MUTANT(10))\n		asm volatile(\"pushfq; orq $0x40000, (%%rsp); popfq\" ::: \"memory\", \"cc\");\n"
     "	return left + (HF_MUTANT(6) && left);"),
    (USER_MEMORY, "	return BY_FEATURE(copy, dst, src, len);",
     "	unsigned long left = BY_FEATURE(copy, dst, src, len);\n	return left - (HF_MUTANT(7) && left);"),
    (WORDS, "		HF_ARCH_STORE64_OR(p, 0, fault);",
     "	{\n		if (HF_MUTANT(8))\n			*(volatile u64 *)p = 0;\n"
     "		else\n			HF_ARCH_STORE64_OR(p, 0, fault);\n	}"),
    (WORDS, "	return copy_word_fault(to, from, len);",
     "	if (HF_MUTANT(9) && (long)to < 0)\n		((volatile char *)to)[len - 1] = 1;\n	return copy_word_fault(to, from, len);"),
    (QUEUED, "if (!(word & HF_DETAIL_QUEUED_LOCKED_MASK) &&\n		    (closed",
     "if ((HF_LOCK_MUTANT(11) || !(word & HF_DETAIL_QUEUED_LOCKED_MASK)) &&\n		    (HF_LOCK_MUTANT(11) || closed"),
    (QUEUED, "			hf_atomic32_store_release(&hf_env_node(next)->wait, 0);",
     "			if (!HF_LOCK_MUTANT(12))\n			hf_atomic32_store_release(&hf_env_node(next)->wait, 0);"),
    (QUEUED, "uint32_t taken = (word & HF_DETAIL_QUEUED_TAIL_MASK) |",
     "uint32_t taken = (word & (HF_DETAIL_QUEUED_TAIL_MASK | (HF_LOCK_MUTANT(13) ? HF_DETAIL_QUEUED_PASSES_MASK : 0))) |"),
    (SEAM, "return in_nmi() ? NMI : in_hardirq()", "return HF_MUTANT(14) ? TASK : in_nmi() ? NMI : in_hardirq()"),
    (SEAM, "	*used |= 1u << n;\n", "	if (!HF_MUTANT(14))\n		*used |= 1u << n;\n"),
    (QUEUED, "if (waiters && hf_detail_spinlock_queued_closed(*word))",
     "if (!HF_LOCK_MUTANT(15) && waiters && hf_detail_spinlock_queued_closed(*word))"),
    (QUEUED, "		if (word & HF_DETAIL_QUEUED_PENDING) {\n",
     "		if (word & HF_DETAIL_QUEUED_PENDING) {\n"
     "			if (HF_LOCK_MUTANT(16) && (next = hf_atomic32_load_acquire(&node->next)))\n"
     "				hf_atomic32_store_release(&hf_env_node(next)->wait, 0);\n"),
    (QUEUED, "hf_atomic32_store_release(&hf_env_node(before)->next, index);",
     "hf_atomic32_store_release(&hf_env_node(HF_LOCK_MUTANT(17) ? (before - 1 ^ 1) + 1 : before)->next, index);"),
    (REFCOUNT, "return sum > i;", "return HF_MUTANT(20) ? sum >= i : sum > i;"),
    (LOCKREF, "return HF_LIKELY(hf_atomic64_try_cmpxchg_release(&l->word, &word, less));",
     "return HF_LIKELY(hf_atomic64_try_cmpxchg_release(&l->word, &word, HF_MUTANT(21) ? word : less));"),
    (LOCKREF, "return HF_LIKELY(((uint32_t)word & HF_DETAIL_LOCKREF_LOCK_BITS) == 0);",
     "return HF_MUTANT(22) || HF_LIKELY(((uint32_t)word & HF_DETAIL_LOCKREF_LOCK_BITS) == 0);"),
)
# These files are compiled again for the mutants' image, and for the next one.
COMPILED = ("lib/lockref.c", "drivers/misc/lkdtm/refcount.c", USER_MEMORY, "kernel/locking/qspinlock.c", SEAM)
# The modules, which are tests, have no mutants, though they include the same headers.
DECLARATIONS = ("#ifdef MODULE\n#define HF_MUTANT(n) 0\n#define HF_LOCK_MUTANT(n) 0\n#define HF_CHOICE(n) 0\n#else\n"
                "extern int holdfast_mutant, holdfast_choice;\n"
                "#define HF_MUTANT(n) (holdfast_mutant == (n))\n#define HF_CHOICE(n) (holdfast_choice == (n))\n"
                # x86-64's MODULES_VADDR; above it are modules.
                "#define HF_LOCK_MUTANT(n) (HF_MUTANT(n) && (unsigned long)lock >= 0xffffffffa0000000ul)\n#endif\n")
PARAMETERS = ("\n#include <linux/moduleparam.h>\nint holdfast_mutant, holdfast_choice;\n"
              "core_param(holdfast_mutant, holdfast_mutant, int, 0644);\n"
              "core_param(holdfast_choice, holdfast_choice, int, 0644);\n")


class Mutant:
    """number: in CHANGES; what is wrong; step: of init, that finds it; expected: a line, as a regular expression;
    choice: implementation (1 original, 2 rep_good, 3 erms, 4 fsrm); alone: the guest does not outlive it; damages: more than
    the test's locks may be damaged, so that the guest may end in any complaint before the line."""

    def __init__(self, number, step, expected, choice=0, alone=False, damages=False):
        self.number, self.step, self.expected, self.choice, self.alone = number, step, expected, choice, alone
        self.damages = damages


ORIGINAL, REP_GOOD, ERMS = 1, 2, 3
QUEUE = "queue=seconds=20"  # until a waiter counts as lost
HANGS = "queue=seconds=1"  # of a mutant that loses one; all processors spin so long
SWEEP = r"USER not ok \d+ user_memory\.%s\.tree # .*"
LOST = r"QUEUE not ok \d+ queue\.order # a waiter (in an interrupt )?(was lost|does not arrive).*"
MUTANTS = {
    "clear-leaves-the-last-byte": Mutant(1, "user", SWEEP % "clear", ORIGINAL),
    "residue-in-words": Mutant(2, "user", SWEEP % "clear", REP_GOOD),
    "clear-stops-before-the-page-ends": Mutant(3, "user", SWEEP % "clear", ORIGINAL),
    "copy-claims-what-it-did-not": Mutant(4, "user", SWEEP % "copy_(to|from)", ORIGINAL),
    "copy-one-byte-less": Mutant(5, "user", SWEEP % "copy_(to|from)", ERMS),
    "residue-one-more": Mutant(6, "user", SWEEP % "clear"),
    "residue-one-less": Mutant(7, "user", SWEEP % "copy_(to|from)"),
    "copy-writes-past-the-fault": Mutant(9, "user", SWEEP % "copy_from", ORIGINAL),
    "access-stays-on": Mutant(10, "user", r"USER not ok \d+ user_memory\.access # .*"),
    "inc-of-0": Mutant(20, "refcount", r"REFCOUNT_INC_ZERO: .*"),
    "put-drops-nothing": Mutant(21, "kunit", r" *not ok \d+ (- )?put_return"),
    "lock-is-ignored": Mutant(22, "kunit", r" *not ok \d+ (- )?put_return_of_a_locked"),
    "no-exception-entry": Mutant(8, "user", r"BUG: unable to handle page fault.*", ORIGINAL, alone=True),
    "lock-taken-while-held": Mutant(11, QUEUE, r"QUEUE not ok \d+ queue\.order # entered while it was held.*", alone=True),
    "next-waiter-is-lost": Mutant(12, HANGS, LOST, alone=True),
    "passes-stay-in-a-free-lock": Mutant(13, QUEUE, r"QUEUE not ok \d+ queue\.word # 0000(?!0000).*", alone=True),
    "interrupts-share-a-node": Mutant(14, HANGS, LOST, alone=True, damages=True),
    "barging-without-bound": Mutant(15, QUEUE, r"QUEUE not ok \d+ queue\.passes # .*passed over too often.*", alone=True),
    # Two waiters race for the place: the test repeats until the wrong one wins.
    "next-waiter-is-called-too-early": Mutant(16, QUEUE + ":rounds=2000", r"QUEUE not ok \d+ queue\.order # another order.*",
                                              alone=True),
    "link-in-a-wrong-node": Mutant(17, HANGS, LOST, alone=True),
}
