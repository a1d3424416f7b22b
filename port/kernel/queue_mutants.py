# SPDX-License-Identifier: MIT
"""Flaws of the queued spinlock and of its nodes, all in one copy of the code: the number in `holdfast_mutant` selects one
when the module is loaded, so that a mutant costs no build, and some no boot."""

QUEUED, SEAM = "internal/spinlock_queued.h", "seam.c"

# (file, text that occurs once, its replacement). M(n) is "mutant n is selected".
CHANGES = (
    (QUEUED, "if (!(word & HF_DETAIL_QUEUED_LOCKED_MASK) &&\n		    (closed",
     "if ((M(1) || !(word & HF_DETAIL_QUEUED_LOCKED_MASK)) &&\n		    (M(1) || closed"),
    (QUEUED, "			hf_atomic32_store_release(&hf_env_node(next)->wait, 0);",
     "			if (!M(2))\n			hf_atomic32_store_release(&hf_env_node(next)->wait, 0);"),
    (QUEUED, "uint32_t taken = (word & HF_DETAIL_QUEUED_TAIL_MASK) |",
     "uint32_t taken = (word & (HF_DETAIL_QUEUED_TAIL_MASK | (M(3) ? HF_DETAIL_QUEUED_PASSES_MASK : 0))) |"),
    (SEAM, "return in_nmi() ? NMI : in_hardirq()", "return M(4) ? TASK : in_nmi() ? NMI : in_hardirq()"),
    (SEAM, "	*used |= 1u << n;\n", "	if (!M(4))\n		*used |= 1u << n;\n"),
    (QUEUED, "if (waiters && hf_detail_spinlock_queued_closed(*word))",
     "if (!M(5) && waiters && hf_detail_spinlock_queued_closed(*word))"),
    (QUEUED, "hf_atomic32_store_release(&hf_env_node(before)->next, index);",
     "hf_atomic32_store_release(&hf_env_node(M(6) ? (before - 1 ^ 1) + 1 : before)->next, index);"),
)
DECLARATION = "extern int holdfast_mutant;\n#define M(n) (holdfast_mutant == (n))\n"

# name: (its number, how queue.c must fail)
MUTANTS = {
    "taken-while-held": (1, r"not ok \d+ queue\.order # entered while it was held"),
    "next-is-lost": (2, r"not ok \d+ queue\.order # a waiter was lost"),
    "passes-stay": (3, r"not ok \d+ queue\.word # 0000[1-9a-f]"),
    "interrupts-share-a-node": (4, r"not ok \d+ queue\.order # a waiter was lost"),
    "barging-without-bound": (5, r"not ok \d+ queue\.passes # the first waiter is passed over too often"),
    "link-in-another-node": (6, r"not ok \d+ queue\.order # a waiter was lost"),
}
# After these the module can be unloaded, and the next one be loaded. After the others CPUs hang.
UNLOADS = ("passes-stay", "barging-without-bound")
