#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compile the overlay's files for arm64, against the headers of Debian's 6.1 kernel for it, which port/kernel/run.py fetches.

    arm64.py

No arm64 kernel is linked or booted. An object passes if it compiles without a warning and defines the functions in OBJECTS.
The last line is "N passed, N failed". Exits with 1 if anything failed, with 77 if a program or a package is missing.
"""
import importlib.util
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import run  # noqa: E402
from debian import Unavailable  # noqa: E402
from run import ROOT, say  # noqa: E402

KERNEL = "6.1"
OVERLAY = os.path.join(HERE, "overlay")
# {source: functions that its object must define}
OBJECTS = {
    "lib/refcount.c": "refcount_dec_if_one refcount_dec_and_lock",
    "lib/lockref.c": "lockref_get lockref_put_or_lock lockref_mark_dead",
    "kernel/locking/qspinlock.c": "queued_spin_lock_slowpath",
    "lib/holdfast/user_memory_arm64.c": "__arch_clear_user __arch_copy_from_user __arch_copy_to_user",
}
# The overlay's headers are found before the kernel's.
KBUILD = """LINUXINCLUDE := -I%(overlay)s/include -I%(root)s/include $(LINUXINCLUDE)
ccflags-y := -I%(root)s -Werror -mno-outline-atomics
"""


def port():
    """port/kernel/run.py, which has the same name as ours."""
    folder = os.path.join(ROOT, "port", "kernel")
    sys.path.append(folder)  # for what it imports
    spec = importlib.util.spec_from_file_location("port_kernel_run", os.path.join(folder, "run.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.BUILD = os.path.join(ROOT, "build", "kernel")
    return module


def main():
    if missing := [name for name in ("make", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-nm", "apt-get", "dpkg-deb")
                   if not shutil.which(name)]:
        say("SKIPPED arm64: not installed: " + " ".join(missing))
        return run.CANT_RUN
    kernel, total = port(), run.runner.Sum()
    folder = os.path.join(run.BUILD, "arm64")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.makedirs(kernel.BUILD, exist_ok=True)
    try:
        version = kernel.fetch(KERNEL, ("amd64", "arm64"))
    except Unavailable as why:
        say("SKIPPED arm64: %s" % why)
        return run.CANT_RUN
    with open(os.path.join(folder, "Kbuild"), "w", encoding="utf-8") as file:
        file.write(KBUILD % {"overlay": OVERLAY, "root": ROOT})
    for source, wanted in OBJECTS.items():
        name = os.path.splitext(os.path.basename(source))[0]
        kernel.wrap(folder, name + ".c", os.path.join(OVERLAY, source))
        try:
            run.runner.kbuild(os.path.join(folder, "build.log"), "-C", kernel.headers_of(version, "arm64"), "M=" + folder,
                              "ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-", "CC=" + kernel.compiler(version, "arm64")[0],
                              name + ".o")
        except RuntimeError as fault:
            total.fault(source, str(fault))
            continue
        symbols = subprocess.run(["aarch64-linux-gnu-nm", os.path.join(folder, name + ".o")], stdout=subprocess.PIPE,
                                 text=True, check=True).stdout
        if absent := [one for one in wanted.split() if not re.search(r" T %s$" % one, symbols, re.MULTILINE)]:
            total.fault(source, "does not define " + " ".join(absent))
        else:
            say("%s: compiles" % source)
            total.passed += 1
    return total.end()


if __name__ == "__main__":
    sys.exit(main())
