#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Count the instructions of every operation, and check the orders of its accesses.

    run.py --source-dir DIR --work-dir DIR [--update]

An emulator (qemu, one instruction at a time, a fixed model of each processor) logs the instructions
that paths.c executes. A row is one uncontended call, its return included. The same compiler gives
the same table on every machine.

  expected.txt  the number of instructions, for the compiler versions that it names; for others the
                column is skipped. --update writes the file again, for review.
  orders        on AArch64 the disassembly shows which instructions acquire and release: ORDERS.
  mutants       changes of shipped code: exactly the rows named with each must change.

Exits with 1 on a failure, with 77 if no column can be counted.
"""
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import mutation  # noqa: E402
from checks import Checks, Failed, Skip, arguments, read  # noqa: E402

EXPECTED = os.path.join(HERE, "expected.txt")
CALLS = 3  # of each operation, as in paths.c

# Optimised, without what some distributions add to each function. -fno-ipa-icf: identical functions
# are not merged.
FLAGS = ["-O2", "-Wall", "-Wextra", "-Werror", "-fno-stack-protector", "-fno-pie"]
C, CXX = ["-std=gnu11"], ["-std=gnu++17", "-fno-exceptions", "-fno-rtti"]
LINK = ["-static", "-no-pie", "-lpthread"]
GCC = ["-fno-ipa-icf"]
X86 = ["-fcf-protection=none"]
ARM = ["-mno-outline-atomics", "-mbranch-protection=none"]

# column: (what -dumpmachine starts with, compilers to try, flags, emulator, processor)
COLUMNS = {
    "aarch64": ("aarch64", ["gcc", "aarch64-linux-gnu-gcc"], GCC + ARM + ["-march=armv8-a"],
                "qemu-aarch64", "cortex-a57"),
    "aarch64-lse": ("aarch64", ["gcc", "aarch64-linux-gnu-gcc"], GCC + ARM + ["-march=armv8.1-a"],
                    "qemu-aarch64", "neoverse-n1"),
    "riscv64": ("riscv64", ["gcc", "riscv64-linux-gnu-gcc"], GCC, "qemu-riscv64", "rv64"),
    "x86-64": ("x86_64", ["gcc", "x86_64-linux-gnu-gcc"], GCC + X86, "qemu-x86_64", "Haswell-noTSX"),
    "x86-64-clang": ("x86_64", ["clang"], [*X86, "-Wno-unused-command-line-argument"],
                     "qemu-x86_64", "Haswell-noTSX"),
}

# (rows, the orders of their loads and stores) on AArch64; the first match applies. Rows without a match are only counted.
ORDERS = [
    (r"refcount (inc|inc_not_zero) default|owner (copy|move) default|lockref get\w* (default|waitfree)", ""),
    (r"refcount (dec|dec_and_test|put_last) default|owner drop\w* default|lockref put\w* (default|waitfree)", "release"),
    (r"(spinlock|mutex) (lock|trylock) (default|queued|ticket|private)", "acquire"),
    (r"(spinlock|mutex) unlock (default|queued|ticket|private)", "release"),
]
ACQUIRES = r"lda(r|xr|pr)[bh]?|(casp?|%s)al?[bh]?"
RELEASES = r"stl(r|xr)[bh]?|(casp?|%s)a?l[bh]?"
LSE = r"(swp|(ld|st)(add|clr|eor|set|[su]max|[su]min))"


def orders_of(mnemonics):
    return " ".join(name for name, pattern in (("acquire", ACQUIRES), ("release", RELEASES))
                    if any(re.fullmatch(pattern % LSE, mnemonic) for mnemonic in mnemonics))


def wanted_orders(row):
    return next((orders for pattern, orders in ORDERS if re.fullmatch(pattern, row)), None)


# ---- build, run, count --------------------------------------------------------------------------

def output(*command):
    # The library's settings in the environment would change what it executes.
    plain = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST")}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", check=False, timeout=1800, env=plain)
    if done.returncode:
        raise Failed("%s\n%s%s" % (" ".join(command), done.stdout, done.stderr))
    return done.stdout


def tools(column):
    """(compiler, its name and major version, nm, objdump, emulator) or Skip."""
    wanted, compilers, flags, emulator, _ = COLUMNS[column]
    for compiler in filter(shutil.which, compilers):
        gnu = "Free Software Foundation" in output(compiler, "--version")
        if output(compiler, "-dumpmachine").startswith(wanted) and gnu == ("-fno-ipa-icf" in flags):
            break
    else:
        raise Skip("no compiler for it: tried %s" % ", ".join(compilers))
    binutils = [output(compiler, "-print-prog-name=" + tool).strip() for tool in ("nm", "objdump")]
    for tool in (*binutils, emulator):
        if not shutil.which(tool):
            raise Skip("no " + tool)
    name = "%s-%s" % ("gcc" if gnu else "clang", output(compiler, "-dumpversion").split(".")[0].strip())
    return compiler, name, *binutils, emulator


def library(source):
    """The library's files."""
    return sorted(glob.glob(os.path.join(source, "src", "**", "*.c"), recursive=True))


def build(column, source, folder, unchanged=None, edited=()):
    """Return the program. What includes none of the `edited` files is taken from `unchanged`, the folder of the code without
    edits, which has each object's dependencies beside it."""
    compiler, flags = tools(column)[0], FLAGS + COLUMNS[column][2]
    for part in ("include", "lab", os.path.join("lab", "variants")):
        flags = [*flags, "-I", os.path.join(source, part)]
    program, objects = os.path.join(folder, "paths"), []
    sources = [os.path.join(HERE, "paths.c"), os.path.join(HERE, "owners.cpp"), *library(source)]
    sources += [os.path.join(source, "lab", "variants", *name) for name in
                (("spinlock", "user_nodes.c"), ("nofault", "implementations.c"))]
    for path in sources:
        name = re.sub(r"\W+", "_", os.path.relpath(path, HERE if path.startswith(HERE) else source)) + ".o"
        before = os.path.join(unchanged, name) if unchanged else None
        if before and not any(os.path.normpath(word).endswith("/" + file) for word in read(before + ".d").split()
                              for file in edited):
            objects.append(before)
            continue
        objects.append(os.path.join(folder, name))
        output(compiler, *(CXX if path.endswith(".cpp") else C), *flags, "-MD", "-MF", objects[-1] + ".d", "-c", path,
               "-o", objects[-1])
    output(compiler, *flags, *objects, *LINK, "-o", program)
    return program


def addresses(nm, program, function):
    """{address: whether a function starts there} of all code in the functions whose name matches"""
    inside = {}
    for line in output(nm, "-S", program).splitlines():
        if match := re.fullmatch(r"([0-9a-f]+) ([0-9a-f]+) [tT] (\w+)", line):
            if re.fullmatch(function, match[3]):
                start, size = int(match[1], 16), int(match[2], 16)
                inside.update({at: at == start for at in range(start, start + size)})
    if not inside:
        raise Failed("no function %s in %s" % (function, program))
    return inside


def measuring(nm, program):
    """What calls the operations."""
    return addresses(nm, program, r"measure\w*")


def disassembly(objdump, program):
    """{address: mnemonic}"""
    lines = re.findall(r"^\s*([0-9a-f]+):\s+(\S+)", output(objdump, "-d", "--no-show-raw-insn", program), re.MULTILINE)
    return {int(at, 16): mnemonic for at, mnemonic in lines}


def calls(log, inside, repeats):
    """The addresses that each call executed.

    With `repeats`, consecutive executions of one instruction count once: an emulator runs x86's string
    instructions in steps.
    """
    found, call_, before = [], [], None
    with open(log, encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("Trace "):
                continue
            at = int(line.split("/", 2)[1], 16)
            if at in inside:
                if call_ and not inside[at]:  # a function's start is its call by main, no return
                    found.append(call_)
                call_ = []
            elif not (repeats and at == before):
                call_.append(at)
            before = at
    return found


def traced(column, emulator, program, log):
    """What the program prints; `log` gets each instruction that it executes."""
    single = next((option for option in ("-one-insn-per-tb", "-singlestep")
                   if option in output(emulator, "-h")), "-singlestep")
    return output(emulator, "-cpu", COLUMNS[column][4], single, "-d", "exec,nochain", "-D", log, program)


def look(column, source, folder, unchanged=None, edited=()):
    """({row: number of instructions}, {row: orders} of the rows of ORDERS, on AArch64)"""
    _, _, nm, objdump, emulator = tools(column)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    program, log = build(column, source, folder, unchanged, edited), os.path.join(folder, "log")
    printed = traced(column, emulator, program, log)
    found = calls(log, measuring(nm, program), column.startswith("x86-64"))
    code = disassembly(objdump, program) if column.startswith("aarch64") else {}
    # The deleter is not the operation's. (RISC-V's column counts it.)
    freeing = {} if column == "riscv64" else addresses(nm, program, "object_free")
    os.remove(log)
    table, orders = {}, {}
    for line in printed.splitlines():
        row, kind = line.rsplit(" ", 1)
        step = 2 if kind == "undone" else 1
        mine, found = found[:CALLS * step:step], found[CALLS * step:]
        if len(mine) != CALLS or len(mine[-1]) != len(mine[-2]) or row in table:
            raise Failed("%s: calls of %s instructions" % (row, [len(one) for one in mine]))
        executed = [at for at in mine[-1] if at not in freeing]
        table[row] = len(executed)
        if code and wanted_orders(row) is not None:
            orders[row] = orders_of([code[at] for at in executed])
    if found:
        raise Failed("%d calls more than were printed" % len(found))
    return table, orders


# ---- the table, and the file --------------------------------------------------------------------

def in_order(tables):
    """All rows by family and operation; within these as paths.c has them, `default` last."""
    rows = list(dict.fromkeys(row for table in tables.values() for row in table))
    operations = list(dict.fromkeys(row.rsplit(" ", 1)[0] for row in rows))
    families = list(dict.fromkeys(row.split(" ")[0] for row in rows))
    return sorted(rows, key=lambda row: (families.index(row.split(" ")[0]),
                                         operations.index(row.rsplit(" ", 1)[0]),
                                         row.endswith(" default")))


def text_of(tables, versions):
    columns = [column for column in COLUMNS if column in tables]
    line = "%-12s%-14s%-14s" + "%13s" * len(columns)
    shown = [line % ("family", "operation", "variant", *columns),
             line % ("compiler", "", "", *[versions[column] for column in columns])]
    shown += [line % (*row.split(" "), *[tables[column].get(row, "-") for column in columns])
              for row in in_order(tables)]
    return "\n".join(line.rstrip() for line in shown) + "\n"


def read_expected():
    """({column: {row: instructions}}, {column: compiler})"""
    with open(EXPECTED, encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and line[0] != "#"]
    columns, versions = lines[0][3:], dict(zip(lines[0][3:], lines[1][1:]))
    return {column: {" ".join(words[:3]): int(words[3 + n]) for words in lines[2:] if words[3 + n] != "-"}
            for n, column in enumerate(columns)}, versions


def write_expected(tables, versions):
    with open(EXPECTED, encoding="utf-8") as lines:
        head = [line for line in lines if line.startswith("#")]
    with open(EXPECTED, "w", encoding="utf-8") as out:
        out.write("".join(head) + "\n" + text_of(tables, versions))


def differences(now, then):
    """["row: expected, found"]"""
    return ["%s: expected %s, found %s" % (row, then.get(row, "nothing"), now.get(row, "nothing"))
            for row in dict.fromkeys([*then, *now]) if then.get(row) != now.get(row)]


# ---- mutants ------------------------------------------------------------------------------------

NOP = '__asm__ volatile("nop");\n'
REFCOUNT, LOCKREF = "include/holdfast/refcount.h", "include/holdfast/lockref.h"
SPINLOCK, QUEUED = "include/holdfast/spinlock.h", "include/holdfast/internal/spinlock_queued.h"
WAITFREE = "include/holdfast/lockref_waitfree.h"
INC = "	hf_detail_refcount_add(1, r, NULL);\n"

# All in one build of MUTATED: (file, text, mutant, the rows that change). Exactly these rows change, in their length or orders.
MUTATED = "aarch64-lse"
MUTANTS = [
    (REFCOUNT, INC, "	" + NOP + INC, r"refcount inc (saturating|default)|owner copy default"),
    (QUEUED, "	hf_atomic32_store_low8_release(lock, 0);",
     "	" + NOP + "	hf_atomic32_store_low8_release(lock, 0);", r"spinlock unlock queued"),
    (WAITFREE, "	hf_env_preempt_enable();\n	return true;",
     "	hf_env_preempt_enable();\n	" + NOP + "	return true;", r"lockref put_or_lock waitfree"),
    ("src/nofault/generic.c", "	return hf_detail_set_words(dst, true, 0, len);\n",
     "	" + NOP + "	return hf_detail_set_words(dst, true, 0, len);\n", r"clear \d+ (generic|dc_zva|stp|default)"),
    (REFCOUNT, "hf_atomic32_fetch_sub_release(&r->refs, (uint32_t)i)",
     "hf_atomic32_fetch_add_relaxed(&r->refs, 0 - (uint32_t)i)",
     r"refcount dec_and_test default|(refcount put|owner drop)_last default|owner drop default"),
    (REFCOUNT, "hf_atomic32_fetch_sub_release(&r->refs, 1)", "hf_atomic32_fetch_add_relaxed(&r->refs, UINT32_MAX)",
     r"refcount dec default"),
    (SPINLOCK, "return hf_atomic32_try_cmpxchg_acquire(&lock->word, &unlocked, 1);",
     "return hf_atomic32_try_cmpxchg_relaxed(&lock->word, &unlocked, 1);", r"spinlock (lock|trylock) default"),
    (SPINLOCK, "hf_atomic32_store_release(&lock->word, 0); /* by the holder",
     "hf_atomic32_store_relaxed(&lock->word, 0); /* by the holder", r"spinlock unlock default"),
    (LOCKREF, "return HF_LIKELY(hf_atomic64_try_cmpxchg_release(&l->word, &word, less));",
     "return HF_LIKELY(hf_atomic64_try_cmpxchg_relaxed(&l->word, &word, less));", r"lockref put\w+ default"),
]


def check_mutants(args, table, orders):
    folder = os.path.join(args.work_dir, "mutants")
    tree = mutation.copy(args.source_dir, os.path.join(folder, "tree"), "include", "src", os.path.join("lab", "variants"))
    try:
        for name, before, after, _ in MUTANTS:
            mutation.edit(os.path.join(tree, name), mutation.swap(before, after))
    except mutation.Stale as why:
        raise Failed(str(why)) from None
    now, now_orders = look(MUTATED, tree, os.path.join(folder, "run"), os.path.join(args.work_dir, MUTATED),
                           [mutant[0] for mutant in MUTANTS])
    changed = {row for row in table if (now[row], now_orders.get(row)) != (table[row], orders.get(row))}
    wanted = {row for row in table for mutant in MUTANTS if re.fullmatch(mutant[3], row)}
    wrong = ["no row for " + mutant[3] for mutant in MUTANTS if not any(re.fullmatch(mutant[3], row) for row in table)]
    if wrong or changed != wanted:
        raise Failed("not found: %s; also found: %s %s" % (sorted(wanted - changed), sorted(changed - wanted), wrong))


# ---- the test -----------------------------------------------------------------------------------

def main():
    args = arguments(__doc__, "source-dir", "work-dir", update={"action": "store_true"})
    checks, versions, running, found = Checks(), {}, {}, {}

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for column in COLUMNS:
            try:
                versions[column] = tools(column)[1]
            except Skip as why:
                checks.skip(column, why)
                continue
            running[column] = pool.submit(look, column, args.source_dir,
                                          os.path.join(args.work_dir, column))
        for column, job in running.items():
            try:
                found[column] = job.result()
            except Failed as why:
                checks.check(column, False, why)
    if not running:
        return 77
    tables = {column: table for column, (table, _) in found.items()}
    if args.update:
        if set(tables) != set(COLUMNS):
            sys.exit("--update needs all columns")
        write_expected(tables, versions)
    expected, reviewed = read_expected()
    if tables:
        print(text_of(tables, versions))
    for column, (table, orders) in found.items():
        if reviewed.get(column) != versions[column]:
            checks.skip(column, "this is %s, expected.txt is for %s" % (versions[column], reviewed.get(column, "no compiler")))
            continue
        checks.wrong("%s: counts" % column, "\n".join(differences(table, expected[column])))
        if orders:
            checks.wrong("%s: orders" % column, "\n".join("%s: %s" % one for one in orders.items()
                                                          if one[1] != wanted_orders(one[0])))
    if MUTATED in found and reviewed.get(MUTATED) == versions[MUTATED]:
        checks.attempt("mutants", check_mutants, args, *found[MUTATED])
    else:
        checks.skip("mutants", "not the compiler of expected.txt's column " + MUTATED)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
