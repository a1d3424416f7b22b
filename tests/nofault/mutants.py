#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Break clear, copy and the others in the ways that they were or may be broken, and see the sweeps find each.

    mutants.py --source-dir DIR --work-dir DIR --library FILE --cc COMPILER

Each mutant is a sweep linked with one changed file of src/ in place of the library's, and it names the
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

X86 = "nofault/arch/x86_64.c"
VECTOR = "nofault/vector.h"
SET = "nofault/vector_set.h"
GENERIC = "nofault/generic.c"
MEMORY = "nofault/memory.c"
MEMORY_H = "nofault/memory.h"
MEMORY_VECTOR = "nofault/memory_vector.h"
# Of the lab: compiled into all of them.
REP_GOOD = "../lab/variants/clear/rep_good.h"
WORDS = "../lab/variants/nofault/words.h"
NOTHING = None

VECTORS = ["vector_sse2", "vector_avx2", "vector_avx512"]
HANDS = ["hand_sse2", "hand_avx2", "hand_avx512"]
WIDE = ["sse2", "avx2"]  # of fill, move, compare and find

COUNT = "wrong count"
BYTES = "wrong bytes"
RESULT = "wrong result"
PLACE = "wrong place"
ADDRESS = "wrong address"
DIES = r"status -11"  # SIGSEGV: a fault that nobody recovers

# (what is wrong, family, implementations that have the flaw, what the sweep finds, file that is changed,
# file that is compiled, text, other text)
MUTANTS = [
    ("words returned for bytes", "clear", ["rep_good"], COUNT, REP_GOOD, NOTHING,
     "hf_variant_clear_fault(p, left * 8 + len % 8)", "hf_variant_clear_fault(p, left + len % 8)"),
    ("result register not set behind a fault", "clear", ["hand_avx2", "hand_avx512"], COUNT, X86, X86,
     '"80:	mov	%rsi, %rax\\n"', '"80:\\n"'),
    ("a load's fault takes what is not stored for done", "copy",
     ["hand_avx2", "hand_avx512", "hand_mixed"], COUNT, X86, X86,
     '"	mov	%rdx, %rcx\\n" \\\n	"	jmp	hf_detail_copy_to_page_end\\n"',
     '"	lea	-32(%rdx), %rax\\n" \\\n	"	ret\\n"'),
    ("wrong fix-up for the tail of a clear", "clear", [*VECTORS, *HANDS], COUNT,
     SET, X86,
     "	return len < W ? len : W;\nfault3:\n	len -= W;\n", "	return len < W ? len : W;\nfault3:\n"),
    ("wrong fix-up for the tail of a copy", "copy", [*VECTORS, *HANDS], COUNT,
     VECTOR, X86,
     "	return hf_detail_copy_to_page_end(to, from, len, 4 * W);\nfault3:\n	len -= W;\n",
     "	return hf_detail_copy_to_page_end(to, from, len, 4 * W);\nfault3:\n"),
    ("the copy for ranges above its size near a page's end", "copy", ["hand_mixed"],
     "touched what it must not", X86, X86, 'COPY_256_BY_32("to_hand_avx512")',
     'COPY_256_BY_32("more_hand_avx512")'),
    ("count in whole words", "clear", ["original", "rep_good"], COUNT, WORDS, NOTHING,
     "return here >= 8 ? len : len - here + hf_arch_rep_stosb(p, here);",
     "(void)p;\n	(void)here;\n	return len;"),
    ("a site left out", "clear", ["hand_avx2", "hand_avx512"], DIES, X86, X86,
     'TRY("movl	%eax, (%rdi)", "90f")', '"	movl	%eax, (%rdi)\\n"'),
    ("a store across pages", "clear", [*VECTORS, "hand_sse2"], COUNT, SET, X86,
     "if (HF_UNLIKELY(hf_detail_crosses_page(p, len)))\n		return SET__OF(_crossing_)(p, len SET_ARGUMENT);",
     ""),
    ("a store across pages", "fill", [*WIDE, "avx512"], COUNT, SET, X86,
     "if (HF_UNLIKELY(hf_detail_crosses_page(p, len)))\n		return SET__OF(_crossing_)(p, len SET_ARGUMENT);",
     ""),
    ("a small fill's first page is lost", "fill", [*WIDE, "avx512"], COUNT, MEMORY_VECTOR, X86,
     "return hf_detail_fill_bytes(p + done, byte, len - done);", "return len - done;"),
    ("the end of a fill is not done", "fill", ["generic"], "not filled", MEMORY, MEMORY,
     "	return hf_detail_fill_bytes(p, value, len);\nfault3:", "	return 0;\nfault3:"),
    ("a move goes the wrong way", "move", WIDE, COUNT, MEMORY_VECTOR, X86,
     "return hf_move_is_down(dst, src, len)", "return !hf_move_is_down(dst, src, len)"),
    ("a move upwards loads what it has overwritten", "move", WIDE, BYTES, MEMORY_VECTOR, X86,
     "	to += head;\n	from += head;",
     "	VECTOR_LOAD_OR(a, (const VECTOR *)(from + head), generic);\n	to += head;\n	from += head;"),
    ("a move downwards leaves its end", "move", WIDE, BYTES, MEMORY_VECTOR, X86,
     "	VECTOR_STORE_OR((VECTOR *)(to + len - W), last, first_fault);\n", ""),
    ("what a load across pages would have moved is lost", "move", WIDE, COUNT, MEMORY_VECTOR, X86,
     "return down ? hf_detail_move_down_generic(to, from, len)\n\t\t    : hf_detail_move_up_generic(to, from, len);",
     "return len;"),
    ("an address that is not the first one's", "move", ["generic"], ADDRESS, MEMORY, MEMORY,
     "	return hf_detail_move_down_bytes(dst, src, len);\n}", "	return len < 16 ? hf_detail_move_down_bytes(dst, src, len) : len;\n}"),
    ("bytes compared as signed numbers", "compare", WIDE, RESULT, MEMORY_VECTOR, X86,
     "x < y ? -1 : 1", "(int8_t)x < (int8_t)y ? -1 : 1"),
    ("bytes compared as signed numbers", "compare", ["generic"], RESULT, MEMORY, MEMORY,
     "x < y ? -1 : 1", "(int8_t)x < (int8_t)y ? -1 : 1"),
    ("a fault hides the difference before it", "compare", WIDE, RESULT, MEMORY_VECTOR, X86,
     "	return hf_detail_compare_bytes(p, q, len, at);\n}\n\n#undef ALL_EQUAL",
     "	return (struct hf_memory_result){ at, -HF_EFAULT };\n}\n\n#undef ALL_EQUAL"),
    ("a fault hides the hit before it", "find", WIDE, RESULT, MEMORY_VECTOR, X86,
     "	return hf_detail_find_bytes(p, byte, len, at);\n}",
     "	return (struct hf_memory_result){ at, -HF_EFAULT };\n}"),
    ("a byte of 1 behind a hit is one, too", "find", WIDE, RESULT, MEMORY_VECTOR, X86,
     "FIRST_OF(hits) / 8;\n			return FOUND(at < 4", "7 - (size_t)__builtin_clzll(hits) / 8;\n			return FOUND(at < 4"),
    ("the two ends of a small range taken for one", "find", WIDE, RESULT, MEMORY_VECTOR, X86,
     "FOUND(at < 4 ? at : at + len - 8)", "FOUND(at)"),
    ("the end is not looked at", "find", WIDE, RESULT, MEMORY_VECTOR, X86,
     "		at = len - 4 * W;\n		FIND_FOUR(at);", "		at = len - 5 * W;\n		FIND_FOUR(at);"),
    ("a fault in a search is at its end", "find", ["generic"], RESULT, MEMORY, MEMORY,
     "	return result(len, -HF_ENOENT);\nfault:\n	return result(at, -HF_EFAULT);",
     "	return result(len, -HF_ENOENT);\nfault:\n	return result(len, -HF_EFAULT);"),
    ("words before a fault are lost", "words", ["default"], COUNT, MEMORY, MEMORY,
     "HF_ARCH_LOAD64_OR(d, from + 3, one_by_one);", "HF_ARCH_LOAD64_OR(d, from + 3, fault);"),
    ("a range of the source taken for done", "iovec", ["default"], PLACE, MEMORY, MEMORY,
     "		from.offset += len - left;", "		from.offset += len;"),
    ("what a load across pages would have fetched is lost", "copy", ["generic"], COUNT, GENERIC, GENERIC,
     "return len - here + hf_detail_copy_bytes(dst, src, here);", "return len;"),
]


def build(args, number, family, changed, compiled, change):
    """The sweep of that family, with one flaw."""
    tree = mutation.copy(args.source_dir, os.path.join(args.work_dir, str(number)), "src",
                         os.path.join("lab", "variants"))
    mutation.edit(os.path.join(tree, "src", changed), change)
    program = os.path.join(tree, "sweep")
    source = "sweep.c" if family in ("clear", "copy") else "sweep_memory.c"
    built = subprocess.run(
        [args.cc, "-std=gnu11", "-O1", "-I", os.path.join(args.source_dir, "include"),
         os.path.join(args.source_dir, "tests", "nofault", source),
         *([os.path.join(tree, "src", compiled)] if compiled else []),
         os.path.join(tree, "lab", "variants", "nofault", "implementations.c"), args.library, "-lpthread", "-o", program],
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
            programs[number] = build(args, number, family, changed, compiled, mutation.swap(before, after))
        return sweep(programs[number], family, name, expected)

    return mutation.run_all(
        [("%s, %s %s" % (what, family, name), number, family, name, *rest)
         for number, (what, family, names, *rest) in enumerate(MUTANTS) for name in names], one)


if __name__ == "__main__":
    sys.exit(main())
