#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Break clear and copy in the ways that they were broken before, and see the sweep find each.

    mutants.py --source-dir DIR --work-dir DIR --library FILE --cc COMPILER

Each mutant is the sweep linked with one changed file of src/ in place of the library's. It is found if
the sweep fails, or dies. (What only another thread can bring about, a page that goes away between two
stores to it, the sweep can't show; objects.cpp does.)
"""
import argparse
import os
import shutil
import subprocess
import sys

X86 = "arch/x86_64/nofault.c"
VECTOR = "nofault_vector.h"

# (what is wrong, file that is changed, file that is compiled, text, other text)
MUTANTS = [
    ("words returned for bytes", X86, X86,
     "clear_word_fault(p, left * 8 + len % 8)", "clear_word_fault(p, left + len % 8)"),
    ("result register not set behind a fault", X86, X86,
     '"80:	mov	%rsi, %rax\\n"', '"80:\\n"'),
    ("a load's fault takes what is not stored for done", X86, X86,
     '"95:	vzeroupper\\n"\n	"	mov	%rdx, %rcx\\n"\n	"	jmp	hf__copy_to_page_end\\n"',
     '"95:	vzeroupper\\n"\n	"	lea	-32(%rdx), %rax\\n"\n	"	ret\\n"'),
    ("wrong fix-up for the tail", VECTOR, X86,
     "fault3:\n	len -= W;\nfault2:", "fault3:\nfault2:"),
    ("count in whole words", X86, X86,
     "return here >= 8 ? len : len - here + hf_arch_rep_stosb(p, here);",
     "(void)p;\n	(void)here;\n	return len;"),
    ("a site left out", X86, X86,
     'TRY("movl	%eax, (%rdi)", "90f")', '"	movl	%eax, (%rdi)\\n"'),
    ("a store across pages", VECTOR, X86,
     "if (HF_UNLIKELY(hf__crosses_page(p, len)))\n		return VECTOR__OF(clear_crossing_)(p, len);",
     ""),
    ("what a load across pages would have fetched is lost", "nofault_generic.c",
     "nofault_generic.c", "return len - here + hf__copy_bytes(dst, src, here);", "return len;"),
]


def mutant(args, number, what, changed, compiled, text, other):
    tree = os.path.join(args.work_dir, str(number))
    shutil.copytree(os.path.join(args.source_dir, "src"), os.path.join(tree, "src"))
    path = os.path.join(tree, "src", changed)
    with open(path, encoding="utf-8") as file:
        before = file.read()
    if text not in before:
        return "the text to change is not in src/%s" % changed
    with open(path, "w", encoding="utf-8") as file:
        file.write(before.replace(text, other))
    program = os.path.join(tree, "sweep")
    built = subprocess.run(
        [args.cc, "-std=gnu11", "-O1", "-I", os.path.join(args.source_dir, "include"),
         os.path.join(args.source_dir, "tests", "nofault", "sweep.c"),
         os.path.join(tree, "src", compiled), args.library, "-lpthread", "-o", program],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if built.returncode:
        return "can't be built:\n" + built.stdout
    ran = subprocess.run([program, "7", "first"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, errors="replace", timeout=300, check=False)
    if ran.returncode == 0:
        return "the sweep does not find it"
    lines = [line for line in ran.stdout.splitlines() if line.startswith("#") and ":" in line]
    print("ok %s: %s" % (what, lines[0][2:] if lines else "status %d" % ran.returncode))
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--source-dir", "--work-dir", "--library", "--cc"):
        parser.add_argument(name, required=True)
    args = parser.parse_args()
    shutil.rmtree(args.work_dir, ignore_errors=True)
    failed = 0
    for number, one in enumerate(MUTANTS):
        wrong = mutant(args, number, *one)
        if wrong:
            print("FAILED %s: %s" % (one[0], wrong))
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
