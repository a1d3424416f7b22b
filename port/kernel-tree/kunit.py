#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the KUnit suites of kunit/ on the stock kernel and on the one with Holdfast, and on mutants of it.

    kunit.py [KERNEL]

KERNEL is 6.1 or 6.12. Builds both kernels as kselftest.py does. All 25 cases must pass on both; then each of MUTANTS, selected
while the image of run.py's mutants runs, must fail in the case that is named. The last line is "N passed, N failed". Exits
with 1 if anything failed, with 77 if a program or package is missing.
"""
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import run  # noqa: E402
from debian import Unavailable  # noqa: E402
from kselftest import Guest  # noqa: E402
from run import BUILD, say  # noqa: E402

# {what is wrong: (its number in mutants.py, the case that fails)}
MUTANTS = {
    "put-drops-nothing": (21, "put_return"),
    "lock-is-ignored": (22, "put_return_of_a_locked"),
}


def boot(label, guest, image, steps):
    """Boots an image. Returns (the console's lines, faults)."""
    folder = os.path.join(BUILD, "guests", "kunit-" + label)
    os.makedirs(folder, exist_ok=True)
    image = shutil.copy(image, folder)
    return run.boot("kunit-" + label, image, run.archive("kunit-" + label, guest), run.SMP, steps)


def run_mutants(total, kernel):
    guest = Guest(kernel, True)
    steps = [step for number, _ in MUTANTS.values() for step in ("mutant=%d" % number, "kunit", "mutant=0")]
    lines, _ = boot("mutants", guest, run.build_mutants(guest), steps)
    for name, (number, case) in MUTANTS.items():
        begin, verdict = "STEP mutant=%d" % number, run.runner.ktap.Verdict()
        part = lines[lines.index(begin):] if begin in lines else []
        part = part[:part.index("STEP mutant=0")] if "STEP mutant=0" in part else part
        verdict.faults = [line.strip() for line in part if re.match(r" *not ok ", line)]
        total.add("mutant " + name, verdict, r"(?m)not ok \d+ (- )?%s$" % case)


def main(kernel="6.1"):
    if missing := [name for name in ("make", "gcc", "flex", "bison", "bc", "xz", "mke2fs", "qemu-system-x86_64", "apt-get",
                                     "dpkg-deb") if not shutil.which(name)]:
        say("SKIPPED kunit: not installed: " + " ".join(missing))
        return run.CANT_RUN
    os.makedirs(BUILD, exist_ok=True)
    total = run.runner.Sum()
    try:
        for label, overlay in (("stock", False), ("holdfast", True)):
            guest = Guest(kernel, overlay)
            total.add(label, run.judge(*boot(label, guest, run.build(guest), ["kunit"]), guest, ["kunit"]))
        run_mutants(total, kernel)
    except Unavailable as why:
        say("SKIPPED kunit: %s" % why)
        return run.CANT_RUN
    return total.end()


if __name__ == "__main__":
    os.environ["PATH"] += ":/usr/sbin:/sbin"  # mke2fs
    sys.exit(main(*sys.argv[1:]))
