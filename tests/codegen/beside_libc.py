#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Count the instructions of memset() and the like, and of Holdfast's functions for memory that may fault.

    beside_libc.py --source-dir DIR --work-dir DIR

Prints a Markdown table: for aarch64, riscv64 and x86-64, each operation and
size the instructions of libc's function and of ours, with their calls, in an emulator. "*": ours are more than a fifth longer.
A repeated instruction counts as one. It checks no limit: the C library is the system's.
"""
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]

import run as codegen  # noqa: E402
from checks import Skip, arguments  # noqa: E402

FIFTH = 1.2


def count(column, source, folder):
    """{operation: {size: (libc's instructions, ours)}}"""
    compiler, _, nm, _, emulator = codegen.tools(column)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    program, log = os.path.join(folder, "beside_libc"), os.path.join(folder, "log")
    codegen.output(compiler, *codegen.C, *codegen.FLAGS, *codegen.COLUMNS[column][2], "-I", os.path.join(source, "include"),
                   os.path.join(HERE, "beside_libc.c"), *codegen.library(source), *codegen.LINK, "-o", program)
    printed = codegen.traced(column, emulator, program, log)
    found = [len(call) for call in codegen.calls(log, codegen.measuring(nm, program), column.startswith("x86-64"))]
    os.remove(log)
    table = {}
    for line in printed.splitlines():
        name, size = line.split(",")
        mine, found = found[:2 * codegen.CALLS], found[2 * codegen.CALLS:]
        table.setdefault(name, {})[size] = mine[codegen.CALLS - 1], mine[-1]
    return table


def main():
    args = arguments(__doc__, "source-dir", "work-dir")
    tables = {}
    for column in ("aarch64", "riscv64", "x86-64"):
        try:
            tables[column] = count(column, args.source_dir, os.path.join(args.work_dir, column))
        except Skip as why:
            print("%s: %s" % (column, why), file=sys.stderr)
    if not tables:
        return 77
    sizes = [(column, size) for column, table in tables.items() for size in next(iter(table.values()))]
    print("| libc, ours | %s |\n| --- |%s" % (" | ".join("%s: %s B" % pair for pair in sizes), " ---: |" * len(sizes)))
    for name in next(iter(tables.values())):
        cells = ["%d, %d%s" % (libc, ours, "*" if ours > FIFTH * libc else "")
                 for libc, ours in (tables[column][name][size] for column, size in sizes)]
        print("| %s | %s |" % (name, " | ".join(cells)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
