#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cost of the contention profile while it is off: one load in each slow path.

    cost.py --source-dir DIR --work-dir DIR --library LIBRARY --cc COMPILER

  slow     in the static library, each profiled slow path loads hf_detail_profile_on once (a condition variable's for each
           part of its wait, and where a waiter is moved), and no other function loads it
  fast     among all operations, compiled as by tests/codegen, only the spinlock's out-of-line slow path
           loads it, once

tests/codegen counts the fast paths' instructions.
"""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from checks import Checks, arguments  # noqa: E402

SLOW = {"hf_detail_mutex_lock_slow": 1, "hf_detail_mutex_shared_lock_slow": 1, "hf_detail_cond_wait": 3,
        "hf_detail_cond_shared_wait": 1, "hf_detail_unpark_all": 1, "wake_one": 2}
FAST = {"hf_detail_spinlock_lock_slow": 1}
OWN = "profile.c"  # the profile's own file

def readers(*files):
    """Return {function: number of its loads of hf_detail_profile_on}, and the names of all functions."""
    said = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", *files], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    found, functions, unit, function = {}, set(), "", ""
    for line in said.splitlines():
        if match := re.match(r"(\S+):\s+file format", line):
            unit = match[1]
        elif match := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            function = re.sub(r"\.(cold|part|isra|constprop)\b.*|_layout\d+$", "", match[1])
            functions.add(function)
        elif re.search(r"R_\S+\s+hf_detail_profile_on\b", line) and OWN not in unit:
            found[function] = found.get(function, 0) + 1
    return found, functions

def main():
    args = arguments(__doc__, "source-dir", "work-dir", "library", "cc")
    os.makedirs(args.work_dir, exist_ok=True)
    if not shutil.which("objdump"):
        print("SKIPPED tools.cost: objdump is not installed")
        return 77
    found, _ = readers(args.library)
    # AArch64 takes two relocations for one address.
    pair = {2: 1} if os.uname().machine == "aarch64" else {}
    found = {name: pair.get(n, n) for name, n in found.items()}
    checks = Checks()
    checks.check("slow", found == SLOW, "%s, expected %s" % (found, SLOW))
    paths = os.path.join(args.work_dir, "paths.o")
    subprocess.run([*args.cc.split(), "-std=gnu11", "-O2", "-c",
                    os.path.join(args.source_dir, "tests", "codegen", "paths.c"),
                    "-I" + os.path.join(args.source_dir, "include"),
                    "-I" + os.path.join(args.source_dir, "lab"),
                    "-I" + os.path.join(args.source_dir, "lab", "variants"), "-o", paths], check=True)
    found, functions = readers(paths)
    found = {name: pair.get(n, n) for name, n in found.items()}
    checks.check("fast", found == FAST, "%s, expected %s" % (found, FAST))
    for operation in ("mutex_lock_private", "mutex_unlock_private", "spinlock_lock_default", "lockref_get_default"):
        checks.check("fast: %s was compiled" % operation, operation in functions)
    return checks.end()

if __name__ == "__main__":
    sys.exit(main())
