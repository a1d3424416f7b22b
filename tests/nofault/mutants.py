#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Break clear and copy in the ways that they were broken before, and see the sweep find each.

    mutants.py --source-dir DIR --work-dir DIR --library FILE --cc COMPILER

Each mutant is the sweep linked with one changed file of src/ in place of the library's, and it names the
implementations that the flaw sits in: only these are swept, each alone, whatever the default is on this
processor. One that the processor can't run is skipped. (What only another thread can bring about, a page
that goes away between two stores to it, the sweep can't show; gone.c and objects.cpp do.)
"""
import argparse
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import ktap  # noqa: E402
import mutation  # noqa: E402

X86 = "arch/x86_64/nofault.c"
VECTOR = "nofault_vector.h"
GENERIC = "nofault_generic.c"

VECTORS = ["vector_sse2", "vector_avx2", "vector_avx512"]
HANDS = ["hand_sse2", "hand_avx2", "hand_avx512"]

COUNT = "wrong count"
DIES = r"status -11"  # SIGSEGV: a fault that nobody recovers

# (what is wrong, family, implementations that have the flaw, what the sweep finds, file that is changed,
# file that is compiled, text, other text)
MUTANTS = [
    ("words returned for bytes", "clear", ["rep_good"], COUNT, X86, X86,
     "clear_word_fault(p, left * 8 + len % 8)", "clear_word_fault(p, left + len % 8)"),
    ("result register not set behind a fault", "clear", ["hand_avx2", "hand_avx512"], COUNT, X86, X86,
     '"80:	mov	%rsi, %rax\\n"', '"80:\\n"'),
    ("a load's fault takes what is not stored for done", "copy",
     ["hand_avx2", "hand_avx512", "hand_mixed"], COUNT, X86, X86,
     '"	mov	%rdx, %rcx\\n" \\\n	"	jmp	hf__copy_to_page_end\\n"',
     '"	lea	-32(%rdx), %rax\\n" \\\n	"	ret\\n"'),
    ("wrong fix-up for the tail of a clear", "clear", [*VECTORS, *HANDS], COUNT,
     VECTOR, X86,
     "	return len < W ? len : W;\nfault3:\n	len -= W;\n", "	return len < W ? len : W;\nfault3:\n"),
    ("wrong fix-up for the tail of a copy", "copy", [*VECTORS, *HANDS], COUNT,
     VECTOR, X86,
     "	return hf__copy_to_page_end(to, from, len, 4 * W);\nfault3:\n	len -= W;\n",
     "	return hf__copy_to_page_end(to, from, len, 4 * W);\nfault3:\n"),
    ("the copy for ranges above its size near a page's end", "copy", ["hand_mixed"],
     "touched what it must not", X86, X86, 'COPY_256_BY_32("to_hand_avx512")',
     'COPY_256_BY_32("more_hand_avx512")'),
    ("count in whole words", "clear", ["original", "rep_good"], COUNT, X86, X86,
     "return here >= 8 ? len : len - here + hf_arch_rep_stosb(p, here);",
     "(void)p;\n	(void)here;\n	return len;"),
    ("a site left out", "clear", ["hand_avx2", "hand_avx512"], DIES, X86, X86,
     'TRY("movl	%eax, (%rdi)", "90f")', '"	movl	%eax, (%rdi)\\n"'),
    ("a store across pages", "clear", [*VECTORS, "hand_sse2"], COUNT, VECTOR, X86,
     "if (HF_UNLIKELY(hf__crosses_page(p, len)))\n		return VECTOR__OF(clear_crossing_)(p, len);",
     ""),
    ("what a load across pages would have fetched is lost", "copy", ["generic"], COUNT, GENERIC, GENERIC,
     "return len - here + hf__copy_bytes(dst, src, here);", "return len;"),
]


def build(args, number, changed, compiled, change):
    """The sweep with one flaw."""
    tree = mutation.copy(args.source_dir, os.path.join(args.work_dir, str(number)), "src")
    mutation.edit(os.path.join(tree, "src", changed), change)
    program = os.path.join(tree, "sweep")
    built = subprocess.run(
        [args.cc, "-std=gnu11", "-O1", "-I", os.path.join(args.source_dir, "include"),
         os.path.join(args.source_dir, "tests", "nofault", "sweep.c"),
         os.path.join(tree, "src", compiled), args.library, "-lpthread", "-o", program],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if built.returncode:
        raise mutation.Stale("can't be built:\n" + built.stdout)
    return program


def sweep(program, family, name, expected):
    ran = subprocess.run([program, "7", family, name], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    verdict = ktap.judge(ran.stdout)
    if verdict.skipped:
        raise mutation.Skip(verdict.skipped[0][1])
    if expected != DIES and "not ok: %s %s" % (family, name) not in verdict.faults:
        raise mutation.Survived("the sweep says nothing of %s %s:\n%s" % (family, name, ran.stdout))
    return mutation.must_fail(ran.returncode, ran.stdout,
                              expected if expected == DIES
                              else r"^# %s, .*: %s.*" % (re.escape(name), expected))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--source-dir", "--work-dir", "--library", "--cc"):
        parser.add_argument(name, required=True)
    args = parser.parse_args()
    programs = {}

    def one(number, family, name, expected, changed, compiled, before, after):
        if number not in programs:
            programs[number] = build(args, number, changed, compiled, mutation.swap(before, after))
        return sweep(programs[number], family, name, expected)

    return mutation.run_all(
        [("%s, %s %s" % (what, family, name), number, family, name, *rest)
         for number, (what, family, names, *rest) in enumerate(MUTANTS) for name in names], one)


if __name__ == "__main__":
    sys.exit(main())
