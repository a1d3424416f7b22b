#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the bare-metal image and its mutants, run them under QEMU, and judge their output.

    run.py [IMAGE...]           default: all; see IMAGES

An image passes if QEMU exits with 0 in time and all expected KTAP documents are complete, without a failed case.
A mutant must fail in the way that IMAGES names. Each passed case and each caught mutant counts; the last line is
"N passed, N failed". Exits with 1 if anything failed, with 77 if a program is missing.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))

import runner  # noqa: E402

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

PORT = ["start.S", "board.c", "seam.c", "libc.c", "main.c", "handoff.c", "seam_test.c"]
SRC = ["report/report.c", *("nofault/%s.c" % name for name in ("choose", "generic", "fill", "move", "search", "string", "list", "words")),
       "nofault/arch/aarch64.c", "cpu/cpu.c"]
LATE = ("-DBARE_BATTERY=0", "-DBARE_DELAYED=1", '-DHF_ATOMIC_HEADER="delayed_atomic.h"')

# Mutations of the headers: (file, text that occurs once, its replacement).
SATURATION = ("refcount.h", "#define HF_REFCOUNT_SATURATED (INT32_MIN / 2)",
              "#define HF_REFCOUNT_SATURATED (INT32_MIN / 4)")


NO_SITE = ("internal/arch/aarch64/access.h", 'HF_SITE("1b", "4b") HF_SITE("2b", "4b")',
           'HF_SITE("2b", "4b")')


# name: (flags, expected KTAP documents, mutation or None, how it must fail or None)
IMAGES = {
    "plain": ((), 3, None, None),
    "late": (LATE, 2, None, None),
    "mutant-saturation": ((), 3, SATURATION, r"not ok: \S*refcount"),
    "mutant-no-site": ((), 3, NO_SITE, r"Bail out! unexpected exception: entry 0x0+4 "),
}
for lock, file, release, relaxed in (
        ("cas", "variants/spinlock/cas.h", "(void)hf_atomic32_xchg_seq_cst(&lock->word, 0);",
         "hf_atomic32_store_relaxed(&lock->word, 0);"),
        ("cas_release", "variants/spinlock/cas_release.h", "hf_atomic32_store_release(&lock->word, 0);",
         "hf_atomic32_store_relaxed(&lock->word, 0);"),
        ("cas_prefetch", "variants/spinlock/cas_prefetch.h", "hf_atomic32_store_release(&lock->word, 0);",
         "hf_atomic32_store_relaxed(&lock->word, 0);"),
        ("wfe", "variants/spinlock/wfe.h", "hf_atomic32_store_release(&lock->word, 0);",
         "hf_atomic32_store_relaxed(&lock->word, 0);"),
        ("ticket", "spinlock_ticket.h", "hf_atomic32_store_release(&lock->serving,",
         "hf_atomic32_store_relaxed(&lock->serving,"),
        ("mcs", "variants/spinlock/mcs.h", "hf_atomic32_store_release(&hf_env_node(next)->wait, 0);",
         "hf_atomic32_store_relaxed(&hf_env_node(next)->wait, 0);"),
        ("queued", "internal/spinlock_queued.h", "hf_atomic32_store_low8_release(lock, 0);",
         "*(volatile uint8_t *)lock = 0;")):
    IMAGES["mutant-unlock-" + lock] = (LATE, 2, (file, release, relaxed),
                                       r"not ok: handoff\.%s\.shared\.[234]" % lock)


def sources_of(flags):
    """The paths of an image's sources."""
    sources = [os.path.join(HERE, file) for file in PORT]
    sources += [os.path.join(ROOT, "src", file) for file in SRC]
    if "-DBARE_BATTERY=0" not in flags:
        battery = os.path.join(ROOT, "tests", "battery")
        sources += sorted(os.path.join(battery, file) for file in os.listdir(battery)
                          if file.endswith(".c") and file != "main.c")
    return sources


def compiled(source, flags, folder, include):
    """Compiles a source with the headers in `include`. Returns the object's path."""
    os.makedirs(folder, exist_ok=True)
    output = os.path.join(folder, os.path.relpath(source, ROOT).replace("/", "_") + ".o")
    subprocess.run([CC, *CFLAGS, *flags, "-I", include, "-I", os.path.join(ROOT, "lab"), "-I", HERE,
                    "-I", os.path.join(ROOT, "src"), "-MD", "-c", source, "-o", output],
                   check=True)
    return output


def headers_of(output):
    """The headers that an object was compiled with."""
    with open(output[:-2] + ".d", encoding="utf-8") as text:
        return {os.path.realpath(word) for word in text.read().replace("\\\n", " ").split()[1:]}


UNCHANGED = {}  # (source, flags): the object with unchanged headers


def compile_unchanged(names):
    """Compiles what these images have in common: a mutant needs anew only the sources that include its header."""
    folders = {}
    wanted = dict.fromkeys((source, IMAGES[name][0]) for name in names for source in sources_of(IMAGES[name][0]))
    for _, flags in wanted:
        folders.setdefault(flags, os.path.join(BUILD, "objects-%d" % len(folders)))
    UNCHANGED.update(runner.each(lambda one: compiled(*one, folders[one[1]], os.path.join(ROOT, "include")), wanted))


def build(name, flags, mutation):
    """Returns the image's path."""
    folder = os.path.join(BUILD, name)
    os.makedirs(folder, exist_ok=True)
    header, include = None, None
    if mutation:
        include = runner.mutate(os.path.join(folder, "include"), mutation)
        header = os.path.join(ROOT, "lab" if mutation[0].startswith("variants/") else "include/holdfast", mutation[0])
    objects = []
    for source in sources_of(flags):
        objects.append(UNCHANGED[source, flags])
        if header in headers_of(objects[-1]):
            objects[-1] = compiled(source, flags, folder, include)
    image = os.path.join(folder, "image.elf")
    subprocess.run([CC, *CFLAGS, *LDFLAGS, *objects, "-o", image], check=True)
    return image


def run(name):
    """Builds and runs an image. Returns the verdict."""
    flags, documents, mutation, _ = IMAGES[name]
    image = build(name, flags, mutation)
    lines, faults = runner.emulate([QEMU, *MACHINE, "-kernel", image],
                                   os.path.join(BUILD, name, "console.log"), LIMIT)
    verdict = runner.judge(lines, documents)
    verdict.faults += faults
    return verdict


def main(names):
    wanted = runner.chosen("bare", names, IMAGES, (CC, QEMU))
    if not wanted:
        return runner.CANT_RUN
    total = runner.Sum()
    compile_unchanged(wanted)
    for name, verdict in runner.each(run, wanted):
        total.add(name, verdict, IMAGES[name][3])
    return total.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
