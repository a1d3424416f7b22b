#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the bare-metal image and its mutants, run them under QEMU, and judge their output.

    run.py [IMAGE...]           default: all; see IMAGES

An image passes if QEMU exits with 0 in time and all expected KTAP documents are complete, without a failed case.
A mutant must fail in the way that IMAGES names. Each passed case and each caught mutant counts; the last line is
"N passed, N failed". Exits with 1 if anything failed, with 77 if a program is missing.
"""
import csv
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
CXX = os.environ.get("HF_BARE_CXX", "aarch64-linux-gnu-g++")
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
LATE = ["-DBARE_BATTERY=0", "-DBARE_DELAYED=1", '-DHF_ATOMIC_HEADER="delayed_atomic.h"']

# Mutations of the headers: (file, text that occurs once, its replacement).
SATURATION = ("refcount.h", "#define HF_REFCOUNT_SATURATED (INT32_MIN / 2)",
              "#define HF_REFCOUNT_SATURATED (INT32_MIN / 4)")


NO_SITE = ("internal/arch/aarch64/access.h", 'HF_SITE("1b", "4b") HF_SITE("2b", "4b")',
           'HF_SITE("2b", "4b")')


# name: (flags, expected KTAP documents, seconds, mutation or None, how it must fail or None)
IMAGES = {
    "plain": ([], 3, LIMIT, None, None),
    "late": (LATE, 2, LIMIT, None, None),
    "mutant-saturation": ([], 3, LIMIT, SATURATION, r"not ok: \S*refcount"),
    "mutant-no-site": ([], 3, LIMIT, NO_SITE, r"Bail out! unexpected exception: entry 0x0+4 "),
    "mutant-fault": (["-DBARE_FAULT=1"], 3, LIMIT, None,
                     r"Bail out! unexpected exception: entry 0x0+4 core 0x0+ ESR 0x0+96\w+ "
                     r"ELR 0x0+402\w+ FAR 0x0+\n(.|\n)*exit status is 3"),
    "mutant-hang": (["-DBARE_FAULT=2"], 3, 3, None, r"did not end in 3 s"),
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
    IMAGES["mutant-unlock-" + lock] = (LATE, 2, LIMIT, (file, release, relaxed),
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


def flags_of(source, flags):
    """Those of an image's flags that change this source."""
    return tuple(flag for flag in flags if "BARE_FAULT" not in flag or source.endswith("bare/main.c"))


def compiled(source, flags, folder, include):
    """Compiles a source with the headers in `include`. Returns the object's path."""
    os.makedirs(folder, exist_ok=True)
    output = os.path.join(folder, os.path.relpath(source, ROOT).replace("/", "_") + ".o")
    subprocess.run([CC, *CFLAGS, *flags, "-I", include, "-I", os.path.join(ROOT, "lab"), "-I", HERE,
                    "-I", os.path.dirname(HERE), "-I", os.path.join(ROOT, "src"), "-MD", "-c", source, "-o", output],
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
    wanted = dict.fromkeys((source, flags_of(source, IMAGES[name][0])) for name in names
                           for source in sources_of(IMAGES[name][0]))
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
        objects.append(UNCHANGED[source, flags_of(source, flags)])
        if header in headers_of(objects[-1]):
            objects[-1] = compiled(source, flags, folder, include)
    image = os.path.join(folder, "image.elf")
    subprocess.run([CC, *CFLAGS, *LDFLAGS, *objects, "-o", image], check=True)
    return image


# The flags with which Zephyr 3.x compiles C and C++ for a Cortex-A53 without the host's C library.
ZEPHYR = ["-ffreestanding", "-Os", "-Werror", "-Wall", "-Wextra", "-Wformat", "-Wno-unused-parameter",
          "-fno-common", "-fno-strict-overflow", "-fno-strict-aliasing", "-ffunction-sections",
          "-fdata-sections", "-fno-pic", "-fno-pie", "-fno-asynchronous-unwind-tables",
          "-fno-reorder-functions", "-fno-defer-pop", "-mcpu=cortex-a53", "-mabi=lp64",
          "-mno-outline-atomics"]


def zephyr(name):
    """Compiles the headers and report.c with Zephyr's flags. Returns (names of those that compiled, the others)."""
    out = os.path.join(BUILD, name)
    os.makedirs(out, exist_ok=True)
    public = ["refcount.h", "lockref.h", "spinlock.h", "spinlock_ticket.h", "report.h",
              "refcount_lock.h"]
    unit = os.path.join(out, "headers.c")
    with open(unit, "w", encoding="utf-8") as text:
        text.writelines('#include "holdfast/%s"\n' % header for header in public)
        text.write("hf_spinlock_t lock;\nvoid use(void);\n"
                   "void use(void)\n{\n\tunsigned long key = hf_spinlock_lock_irqsave(&lock);\n\n"
                   "\thf_spinlock_unlock_irqrestore(&lock, key);\n}\n")
    passed, faults = [], []
    for what, flags in (("headers as C11", ["-std=c11"]), ("headers as C17", ["-std=c17"]),
                        ("headers as C++17", ["-x", "c++", "-std=c++17", "-fno-exceptions",
                                              "-fno-rtti"]),
                        ("report.c", ["-std=c11"])):
        source = os.path.join(ROOT, "src", "report", what) if what.endswith(".c") else unit
        compiler = CXX if "c++" in flags else CC
        done = subprocess.run([compiler, *flags, *ZEPHYR, "-I", os.path.join(ROOT, "include"), "-I",
                               os.path.join(ROOT, "src"), "-c", source, "-o",
                               os.path.join(out, "out.o")], check=False)
        (passed if done.returncode == 0 else faults).append(what)
    return passed, faults


def run(name):
    """Builds and runs an image. Returns (verdict, the console's lines)."""
    flags, documents, limit, mutation, _ = IMAGES[name]
    image = build(name, flags, mutation)
    lines, faults = runner.emulate([QEMU, *MACHINE, "-kernel", image],
                                   os.path.join(BUILD, name, "console.log"), limit)
    verdict = runner.judge(lines, documents)
    verdict.faults += faults
    return verdict, lines


def published():
    """The published cycles for a lock and unlock: {(variant, cores, shared): cycles}."""
    ours = {"baseline": "cas", "seqrel": "cas_release", "litmus": "wfe"}
    found = {}
    with open(os.path.join(ROOT, "lab", "reference", "published.csv"), encoding="utf-8") as table:
        for row in csv.DictReader(table):
            match = re.fullmatch(r"(\d)(NC|C|) total", row["column"]) or \
                re.fullmatch(r"(\d)(NC|C|) total", row["row"])
            variant = ours.get(row["row"]) or ours.get(row["column"])
            if row["table"] == "spinlock" and match and variant:
                found[variant, int(match[1]), match[2] == "C"] = row["value"]
    return found


def print_handoff(lines):
    """Prints the experiment's windows beside the published figures."""
    reference = published()
    print("Lock, increment, unlock. Emulated: the counts are checked, the times mean nothing; the "
          "emulator\ndetermines which core gets the lock. Published: cycles for a pair on four "
          "real cores.")
    print("%-14s%-8s%5s%44s%12s" % ("lock", "which", "cores", "pairs, core by core", "published"))
    for match in filter(None, (re.match(r"ok \d+ handoff\.(\w+)\.(own|shared)\.(\d) # pairs ([\d ]+) variable",
                                        line) for line in lines)):
        key = match[1], int(match[3]), match[2] == "shared"
        if key[1] == 1 and key[2]:
            key = match[1], 1, False
        print("%-14s%-8s%5s%44s%12s" % (match[1], match[2], match[3], match[4],
                                        reference.get(key, "-")))


def main(names):
    wanted = runner.chosen("bare", names, IMAGES, (CC, CXX, QEMU))
    if not wanted:
        return runner.CANT_RUN
    total = runner.Sum()
    compile_unchanged(wanted)
    for name, (verdict, lines) in runner.each(run, wanted):
        total.add(name, verdict, IMAGES[name][4])
        if name == "plain":
            print_handoff(lines)
    if not names:
        passed, faults = zephyr("zephyr-flags")
        runner.say("zephyr-flags: %d compiled, %d faults" % (len(passed), len(faults)))
        total.passed += len(passed)
        for fault in faults:
            total.fault("zephyr-flags", "does not compile: " + fault)
    return total.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
