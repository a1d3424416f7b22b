#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program under AddressSanitizer, MemorySanitizer and Valgrind, with a library that is not instrumented.

The sanitizers report each invalid access that the program makes, and no correct operation. Valgrind, with the
documented option, reports nothing, and all counts are right.
"""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from checks import Checks, Skip, arguments, read, sanitizer_prefix  # noqa: E402

# What a report says, and after which arguments.
HEAP = "AddressSanitizer: heap-buffer-overflow"
OVERRUNS = [("AddressSanitizer: stack-buffer-overflow", "clear over a variable"),
            ("AddressSanitizer: global-buffer-overflow", "clear over a global"),
            ("AddressSanitizer: heap-use-after-free", "store to a freed block")]
SANITIZERS = {
    "address": ("AddressSanitizer", OVERRUNS, ("gcc", "clang")),
    "memory": ("MemorySanitizer", [("MemorySanitizer: use-of-uninitialized-value", "use of what was not copied")],
               ("clang",)),
}
# The declarations in the headers that nofault.h includes.
OPERATIONS = re.compile(r"^(?:HF_INLINE )?HF_MUST_CHECK [\w ]+?(hf_\w*nofault\w*)\(", re.MULTILINE)


def call(*command):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=1800, check=False,
                          env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"))
    return done.returncode, done.stdout


def main():
    args = arguments(__doc__, "source-dir", "work-dir", "library")
    source = os.path.join(args.source_dir, "tests", "nofault", "sanitize", "objects.c")
    shutil.rmtree(args.work_dir, ignore_errors=True)
    os.makedirs(args.work_dir)
    program = os.path.join(args.work_dir, "program")
    declared = {name for header in ("copy", "word", "memory")
                for name in OPERATIONS.findall(read(args.source_dir, "include", "holdfast", "nofault_%s.h" % header))}
    checks = Checks()

    def build(compiler, *flags):
        return call(compiler, "-g", "-O1", *flags, "-I" + os.path.join(args.source_dir, "include"),
                    source, args.library, "-pthread", "-o", program)

    for sanitizer, (title, reports, compilers) in SANITIZERS.items():
        for compiler in compilers:
            name = "%s, %s" % (compiler, title)
            if not shutil.which(compiler):
                checks.skip(name, "it is not installed")
                continue
            try:
                start = [*sanitizer_prefix(compiler, "-fsanitize=" + sanitizer, program=program), program]
            except Skip:
                start = [program]
            code, output = build(compiler, "-fsanitize=" + sanitizer)
            if code:
                checks.check(name + ": builds", False, output)
                continue
            code, output = call(*start, "nothing")
            checks.check(name + ": no report", code == 0, output)
            operations = [line.split() for line in call(*start, "list")[1].splitlines()]
            checks.check(name + ": the table has the operations of the header",
                         {operation for operation, _, _ in operations} == declared)
            if sanitizer == "address":
                reports = [*reports, *((HEAP, "reads", name) for name, reads, _ in operations if reads == "1"),
                           *((HEAP, "writes", name) for name, _, writes in operations if writes == "1")]
            else:
                for operation, _, _ in operations:
                    code, output = call(*start, "uses", operation)
                    checks.check(name + ": uses " + operation, code == 0, output)
            for report, *what in reports:
                code, output = call(*start, *what)
                checks.check(name + ": " + " ".join(what), code != 0 and report in output, output)

    # Without the option, Valgrind's signal handlers see outdated registers.
    if shutil.which("valgrind"):
        code, output = build("gcc")
        for tool in ("memcheck", "helgrind"):
            option = "--vex-iropt-register-updates=allregs-at-each-insn"
            code, output = call("valgrind", "-q", "--tool=" + tool, option, program, "nothing")
            checks.check("valgrind " + tool, code == 0, output)
    else:
        checks.skip("valgrind", "it is not installed")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
