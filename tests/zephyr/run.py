#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Test zephyr/seam.c and its mutants on a fake of Zephyr with a preempting scheduler.

    run.py --source-dir DIR --work-dir DIR --cc COMPILER
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import ktap  # noqa: E402
import mutation  # noqa: E402
from checks import arguments  # noqa: E402

# (the flaw, text of zephyr/seam.c, its replacement, the case that must fail)
MUTANTS = [
    ("preemption is not disabled", "	unsigned int key = arch_irq_lock();\n	unsigned int core",
     "	unsigned int key = 0;\n	unsigned int core", "not ok 1 spinlock: its holder"),
    ("the first of two enables unmasks", "if (--cores[core].depth == 0)", "cores[core].depth--;",
     "not ok 2 two locks"),
    ("one depth for all cores", "	if (cores[core].depth++ == 0)\n		cores[core].key = key;",
     "	if (cores[0].depth++ == 0)\n		cores[core].key = key;", "not ok 4 one core"),
    ("interrupts are unmasked that were masked before", "arch_irq_unlock(cores[core].key);", "arch_irq_unlock(0);",
     "not ok 3 interrupts stay masked"),
]


def build_and_run(options, source, folder):
    """Returns (exit status, output) of the test with the seam of `source`."""
    program = os.path.join(folder, "seam_test")
    here = os.path.join(options.source_dir, "tests", "zephyr")
    os.makedirs(folder, exist_ok=True)
    subprocess.run(
        [options.cc, "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror",
         '-DHF_ENV_HEADER="holdfast/internal/env/bare.h"', "-DHF_ENV_PREEMPTS=1",
         "-DHF_ENV_PROCESSORS=CONFIG_MP_MAX_NUM_CPUS", "-mno-outline-atomics"
         if os.uname().machine == "aarch64" else "-pipe",
         "-I" + os.path.join(here, "fake"), "-I" + os.path.join(options.source_dir, "include"),
         "-I" + os.path.join(options.source_dir, "src"), "-o", program,
         os.path.join(here, "seam_test.c"), os.path.join(source, "zephyr", "seam.c"),
         os.path.join(options.source_dir, "src", "report", "report.c")], check=True)
    return mutation.run(program)


def mutant(options, number, before, after, expected):
    folder = os.path.join(options.work_dir, "mutant%d" % number)
    mutation.copy(options.source_dir, folder, "zephyr", "src/env/env.h")
    mutation.edit(os.path.join(folder, "zephyr", "seam.c"), mutation.swap(before, after))
    try:
        return mutation.must_fail(*build_and_run(options, folder, folder), expected)
    except subprocess.TimeoutExpired:
        raise mutation.Survived("it hangs without output") from None


def main():
    options = arguments(__doc__, "source-dir", "work-dir", "cc")
    status, output = build_and_run(options, options.source_dir, options.work_dir)
    print(output, end="")
    if status or ktap.judge(output, 1).faults:
        return 1
    return mutation.run_all(
        [(name, options, number, before, after, expected)
         for number, (name, before, after, expected) in enumerate(MUTANTS)],
        mutant, os.cpu_count())


if __name__ == "__main__":
    sys.exit(main())
