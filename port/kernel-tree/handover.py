#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure how a contended spinlock goes from CPU to CPU under emulation: the kernel's own, Holdfast's, and Holdfast's without
barging.

    handover.py

Builds the stock 6.1 kernel as run.py does, and boots it with twice as many emulated CPUs as this machine has processors, then
with as many. Prints a table: how often each lock was taken, in which time, how often by another CPU than before, and how long
these hand-overs took. No verdict. Exits with 1 if a line is missing, with 77 if a program or package is missing.
"""
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import run  # noqa: E402
from debian import Unavailable  # noqa: E402
from run import BUILD, ROOT, say  # noqa: E402

LINE = r"HANDOVER (\w+)" + r" (\d+)" * 10  # as the module prints them
LOCKS = ("kernel", "holdfast", "strict")
INIT = """#!/bin/busybox sh
# SPDX-License-Identifier: MIT
/bin/busybox dmesg -n 8
/bin/busybox insmod /holdfast_handover.ko khz=%d
/bin/busybox reboot -f
"""


def module(guest):
    """Builds the module for the guest. Returns its path."""
    folder = os.path.join(guest.folder(), "handover")
    run.replace(os.path.join(HERE, "handover"), folder)
    seam = run.runner.mutation.read(os.path.join(ROOT, "port", "kernel", "seam.c"))
    run.runner.mutation.write(os.path.join(folder, "port_seam.c"), seam.replace("../../src", os.path.join(ROOT, "src")))
    run.make(guest, os.path.join(BUILD, guest.kernel, "stock"), guest.folder(), "M=" + folder, "HF_ROOT=" + ROOT, "modules")
    return os.path.join(folder, "holdfast_handover.ko")


def main():
    if missing := [name for name in ("make", "gcc", "flex", "bison", "bc", "xz", "qemu-system-x86_64", "apt-get", "dpkg-deb")
                   if not shutil.which(name)]:
        say("SKIPPED handover: not installed: " + " ".join(missing))
        return run.CANT_RUN
    guest, folder = run.Guest(overlay=False), os.path.join(BUILD, "guests", "handover")
    os.makedirs(folder, exist_ok=True)
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        khz = round(float(re.search(r"^cpu MHz\s*: ([\d.]+)", file.read(), re.MULTILINE)[1]) * 1000)
    try:
        image = run.build(guest)
        init = (INIT % khz).encode()
        files = os.path.join(folder, "initramfs.gz")
        run.initramfs(files, os.path.join(BUILD, guest.kernel, "amd64"),
                      {"init": init, "holdfast_handover.ko": module(guest)})
    except Unavailable as why:
        say("SKIPPED handover: %s" % why)
        return run.CANT_RUN
    say("| CPUs | lock | taken | ms | hand-overs | ms each | < 10 us | < 100 us | < 1 ms | < 10 ms | more |\n"
        "| ---: | --- |" + " ---: |" * 9)
    found = 0
    for cpus in (2 * (os.cpu_count() or 1), os.cpu_count() or 1):
        machine = ["-accel", "tcg,thread=multi", "-smp", "%d,sockets=%d,cores=1,threads=1" % (cpus, cpus)]
        lines, _ = run.boot("handover", image, files, machine, [], "cpus=%d" % cpus)
        for name, *numbers in re.findall(LINE, "\n".join(lines)):
            count, takes, total, handovers, took, *bins = map(int, numbers)
            say("| %d | `%s` | %d | %d | %d | %.3f | %s |"
                % (count, name, takes, total, handovers, took / max(1, handovers), " | ".join(map(str, bins))))
            found += 1
    return found != 2 * len(LOCKS)


if __name__ == "__main__":
    sys.exit(main())
