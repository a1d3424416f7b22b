#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What each operation costs in a stock kernel and in ours: instructions, by gcc and clang; and the size of the code.

    cost.py [KERNEL]

KERNEL is 6.1 or 6.12. Builds the stock kernel and ours as run.py does, with gcc; with clang only the objects that differ.
cost/count.c executes each operation on its usual path, uncontended, one instruction at a time, so that the counts don't depend
on the machine. A count includes the return, and what the alternatives remove on a real processor. Prints two tables. Exits
with 77 if a program is missing.
"""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import run  # noqa: E402
from run import BUILD, say  # noqa: E402

TREES = ("stock", "holdfast")
# The objects that hold the functions which differ, where this kernel has them.
COMMON = ("lib/refcount.o", "lib/lockref.o", "kernel/locking/qspinlock.o", "arch/x86/lib/copy_user_64.o",
          "arch/x86/lib/usercopy_64.o", "arch/x86/lib/clear_page_64.o")
OURS = ("lib/holdfast/src/report/report.o", "lib/holdfast/port/kernel/seam.o", "lib/holdfast/user_memory.o")


def text(path):
    """The bytes of an object's code: all its executable sections."""
    listing = subprocess.run(["objdump", "-h", "-w", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return sum(int(line.split()[2], 16) for line in listing.splitlines() if " CODE" in line)


def folders(kernel):
    """Yields (compiler, tree's name, tree, build folder). gcc's are those of run.py. clang has a tree and a folder
    of its own, in which Holdfast then replaces the kernel's files: what is built first for any object is built once."""
    for name in TREES:
        guest = run.Guest(kernel, name == "holdfast")
        run.build(guest)
        yield "gcc", name, os.path.join(BUILD, kernel, name), guest.folder()
    tree, out = os.path.join(BUILD, kernel, "clang"), os.path.join(BUILD, "build-%s-clang" % kernel)
    for folder in (tree, out):
        shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(out)
    subprocess.run(["cp", "-al", os.path.join(BUILD, kernel, "stock"), tree], check=True)
    config = os.path.join(out, "all.config")
    run.runner.mutation.write(config, "".join(map(run.runner.mutation.read, run.configs(guest))))
    make(tree, out, "clang", "KCONFIG_ALLCONFIG=" + config, "allnoconfig")
    make(tree, out, "clang", "prepare")
    for name in TREES:
        if name == "holdfast":
            run.put_into(tree)
            for one in COMMON:
                if os.path.exists(os.path.join(out, one)):
                    os.remove(os.path.join(out, one))
        yield "clang", name, tree, out


def make(tree, out, compiler, *targets):
    run.runner.kbuild(os.path.join(out, "build.log"), "-C", tree, "O=" + out, "ARCH=x86_64", "CC=" + compiler, *targets)


def measure(compiler, name, tree, out):
    """Builds the objects. Returns ({operation: instructions}, {object: bytes})."""
    objects = [one for one in [*COMMON, *(OURS if name == "holdfast" else ())] if has_source(tree, one)]
    if compiler != "gcc":
        make(tree, out, compiler, "-j1", *objects)  # Kbuild enters arch/x86/lib twice
    ops = os.path.join(out, "cost")
    shutil.rmtree(ops, ignore_errors=True)
    shutil.copytree(os.path.join(HERE, "cost"), ops)
    run.runner.kbuild(os.path.join(out, "build.log"), "-C", tree, "O=" + out, "ARCH=x86_64", "CC=" + compiler, "M=" + ops,
                      "ops.o")
    program = os.path.join(ops, "count")
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-mno-red-zone", "-no-pie", "-static",
                    "-Wl,--unresolved-symbols=ignore-all", "-Wl,-z,noexecstack", "-o", program,
                    *(os.path.join(ops, one) for one in ("count.c", "ops.o")),
                    *(os.path.join(out, one) for one in ("lib/refcount.o", "lib/lockref.o"))], check=True)
    done = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=False)
    counts = {match[1]: int(match[2]) for match in re.finditer(r"^OP (?:op_)?(\w+) (\d+)$", done.stdout, re.MULTILINE)}
    if done.returncode:
        say("%s, %s: an operation left its usual path after %s" % (name, compiler, list(counts)[-1:]))
    sizes = {one: text(os.path.join(out, one)) for one in objects}
    if compiler == "gcc":
        sizes["vmlinux.o"] = text(os.path.join(out, "vmlinux.o"))
    return counts, sizes


def has_source(tree, one):
    return any(os.path.exists(os.path.join(tree, one[:-2] + suffix)) for suffix in (".c", ".S"))


def table(title, columns, rows):
    say("\n| %s | %s |\n| --- |%s" % (title, " | ".join("%s, %s" % column for column in columns), " ---: |" * len(columns)))
    for row, values in rows:
        say("| `%s` | %s |" % (row, " | ".join("-" if value is None else str(value) for value in values)))


def main(kernel="6.1"):
    if not run.runner.chosen("cost", [kernel], run.KERNELS, ("clang", "objdump", *run.PROGRAMS)):
        return run.CANT_RUN
    os.makedirs(BUILD, exist_ok=True)
    found = {(compiler, name): measure(compiler, name, tree, out) for compiler, name, tree, out in folders(kernel)}
    columns = list(found)
    for index, title in enumerate(("operation (instructions)", "object (bytes of code)")):
        rows = list(dict.fromkeys(row for column in columns for row in found[column][index]))
        table(title, columns, [(row, [found[column][index].get(row) for column in columns]) for row in rows])
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
