#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the bare-metal image and its mutants, run them under QEMU, and judge their output.

    run.py [IMAGE...]           default: all; see IMAGES

An image passes if QEMU exits with 0 in time and all expected KTAP documents are complete, without a failed case.
A mutant must fail in the way that IMAGES names. Each passed case and each caught mutant counts; the last line is
"N passed, N failed". Exits with 1 if anything failed, with 77 if a program is missing.
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))

import runner  # noqa: E402
from checks import sources  # noqa: E402

BUILD = os.path.join(ROOT, "build", "bare")
CC = os.environ.get("HF_BARE_CC", "aarch64-linux-gnu-gcc")
QEMU = os.environ.get("HF_BARE_QEMU", "qemu-system-aarch64")
LIMIT = 1200  # seconds for one image; it takes ten on an idle machine

# One host thread runs the four cores in turn, and the clock counts instructions (64 ns each), so that each run is the same
# and does not depend on the host's load.
MACHINE = ["-M", "virt,gic-version=3", "-cpu", "cortex-a53", "-smp", "4", "-m", "64",
           "-accel", "tcg,thread=single", "-icount", "shift=6,sleep=off",
           "-display", "none", "-serial", "stdio", "-monitor", "none", "-nodefaults", "-no-reboot",
           "-semihosting-config", "enable=on,target=native"]

CFLAGS = ["-std=gnu11", "-O2", "-g", "-ffreestanding", "-fno-pic", "-fno-stack-protector",
          "-fno-tree-loop-distribute-patterns", "-fno-asynchronous-unwind-tables",
          "-mcpu=cortex-a53", "-mno-outline-atomics", "-mgeneral-regs-only", "-mstrict-align",
          "-Wall", "-Wextra", "-Wshadow", "-Werror", "-DBARE_STACK=0x8000",
          "-DBATTERY_VARIANTS=1"]
LDFLAGS = ["-nostdlib", "-static", "-Wl,--build-id=none", "-Wl,-z,noexecstack",
           "-Wl,--no-warn-rwx-segments", "-T", os.path.join(HERE, "link.ld")]

PORT = ["start.S", "board.c", "seam.c", "libc.c", "main.c", "seam_test.c"]
SRC = ["report/report.c", *("nofault/%s.c" % name for name in ("choose", "generic", "memory", "search", "string", "list", "words")),
       "nofault/arch/aarch64.c", "cpu/cpu.c"]

# Mutations of the headers: (file, text that occurs once, its replacement).
SATURATION = ("refcount.h", "#define HF_REFCOUNT_SATURATED (INT32_MIN / 2)",
              "#define HF_REFCOUNT_SATURATED (INT32_MIN / 4)")
# A ticket lock that does not wait for its turn.
EXCLUSION = ("spinlock_ticket.h", "	while (serving != mine) {\n", "	while (false) {\n")
NO_SITE = ("internal/arch/aarch64/access.h", 'HF_SITE("1b", "4b") HF_SITE("2b", "4b")',
           'HF_SITE("2b", "4b")')

# name: (mutation or None, how it must fail or None)
IMAGES = {
    "plain": (None, None),
    "mutant-saturation": (SATURATION, r"not ok: \S*refcount"),
    "mutant-no-site": (NO_SITE, r"Bail out! unexpected exception: entry 0x0+4 "),
    "mutant-exclusion": (EXCLUSION, r"not ok: seam\.exclusion"),
}
SOURCES = [*(os.path.join(HERE, file) for file in PORT), *(os.path.join(ROOT, "src", file) for file in SRC),
           *(path for path in sources(ROOT, "tests", "battery") if os.path.basename(path) != "main.c")]


def compiled(source, folder, include):
    """Compiles a source with the headers in `include`. Returns the object's path."""
    os.makedirs(folder, exist_ok=True)
    output = os.path.join(folder, os.path.relpath(source, ROOT).replace("/", "_") + ".o")
    subprocess.run([CC, *CFLAGS, "-I", include, "-I", os.path.join(ROOT, "lab"), "-I", os.path.join(ROOT, "src"), "-MD", "-c",
                    source, "-o", output], check=True)
    return output


def headers_of(output):
    """The headers that an object was compiled with."""
    with open(output[:-2] + ".d", encoding="utf-8") as text:
        return {os.path.realpath(word) for word in text.read().replace("\\\n", " ").split()[1:]}


def build(name, mutation, unchanged):
    """Returns the image's path. A mutant needs anew only the sources that include its header."""
    folder = os.path.join(BUILD, name)
    os.makedirs(folder, exist_ok=True)
    objects = dict(unchanged)
    if mutation:
        include = runner.mutate(os.path.join(folder, "include"), mutation)
        for source, output in unchanged.items():
            if os.path.join(ROOT, "include", "holdfast", mutation[0]) in headers_of(output):
                objects[source] = compiled(source, folder, include)
    image = os.path.join(folder, "image.elf")
    subprocess.run([CC, *CFLAGS, *LDFLAGS, *objects.values(), "-o", image], check=True)
    return image


def run(name, unchanged):
    """Builds and runs an image. Returns the verdict."""
    image = build(name, IMAGES[name][0], unchanged)
    lines, faults = runner.emulate([QEMU, *MACHINE, "-kernel", image],
                                   os.path.join(BUILD, name, "console.log"), LIMIT)
    verdict = runner.judge(lines, 2)
    verdict.faults += faults
    return verdict


def main(names):
    wanted = runner.chosen("bare", names, IMAGES, (CC, QEMU))
    if not wanted:
        return runner.CANT_RUN
    total = runner.Sum()
    unchanged = dict(runner.each(lambda source: compiled(source, os.path.join(BUILD, "objects"), os.path.join(ROOT, "include")),
                                 SOURCES))
    for name, verdict in runner.each(lambda name: run(name, unchanged), wanted):
        total.add(name, verdict, IMAGES[name][1])
    return total.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
