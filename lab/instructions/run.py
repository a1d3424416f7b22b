#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Count the instructions of every operation of every implementation, on every processor.

    run.py --source-dir DIR --work-dir DIR [--update] [COLUMN...]

An emulator (qemu, one instruction at a time, a fixed model of each processor) logs the instructions
that count.c executes; a row is what one call executes, its return included, while nobody else is
there.
The same compiler gives the same table on every machine.

  expected.txt   the table as it was reviewed. A difference is a failure; --update writes the file anew.
                 expected-gcc14.txt is that of another major version of gcc, and names the state of
                 expected.txt that it was made beside: when that has changed since it is out of date,
                 until it is made again by that gcc. Of a column that no file or an old one has only
                 the aims are checked; a line says so.
  aims           what should hold of the table: AIMS below. A missed aim is a failure too, unless
                 expected.txt lists it as known.
  mutants        an instruction more in a few fast paths: exactly their rows must fail.

Exits with 1 on a failure, with 77 if no column can be counted here.
"""
import argparse
import concurrent.futures
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "tests"))

import mutation  # noqa: E402

EXPECTED = os.path.join(HERE, "expected.txt")
OTHER = os.path.join(HERE, "expected-gcc%s.txt")
CALLS = 3  # of each operation, as in count.c

# As tests/codegen: optimised, and without what some distributions add to each function.
FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fno-stack-protector", "-fno-pie",
         "-fno-ipa-icf"]
LINK = ["-static", "-no-pie", "-lpthread"]
ARM = ["-mno-outline-atomics", "-mbranch-protection=none"]

# column: (what -dumpmachine starts with, compilers to try, flags, emulator, processor)
COLUMNS = {
    "aarch64": ("aarch64", ["gcc", "aarch64-linux-gnu-gcc"], ARM + ["-march=armv8-a"],
                "qemu-aarch64", "cortex-a57"),
    "aarch64-lse": ("aarch64", ["gcc", "aarch64-linux-gnu-gcc"], ARM + ["-march=armv8.1-a"],
                    "qemu-aarch64", "neoverse-n1"),
    "riscv64": ("riscv64", ["gcc", "riscv64-linux-gnu-gcc"], [], "qemu-riscv64", "rv64"),
    "x86-64": ("x86_64", ["gcc", "x86_64-linux-gnu-gcc"], ["-fcf-protection=none"], "qemu-x86_64",
               "Haswell-noTSX"),
}

# (name, rows, other rows, n): the rows together have at most n instructions more than the others.
AIMS = [
    ("refcount inc: at most 2 more than the plain atomic's",
     ["refcount inc default"], ["refcount inc unchecked"], 2),
    ("queued lock and unlock: no more than the ticket lock's",
     ["spinlock lock queued", "spinlock unlock queued"],
     ["spinlock lock ticket", "spinlock unlock ticket"], 0),
    ("lock and unlock: no more than the queued lock's",
     ["spinlock lock default", "spinlock unlock default"],
     ["spinlock lock queued", "spinlock unlock queued"], 0),
]

# (file, text, the same with an instruction more, the rows that execute it), on MUTANT_COLUMN.
MUTANT_COLUMN = "x86-64"
NOP = '__asm__ volatile("nop");\n'
MUTANTS = [
    ("include/holdfast/refcount.h", "	hf_detail_refcount_add(1, r, NULL);\n",
     "	" + NOP + "	hf_detail_refcount_add(1, r, NULL);\n", r"refcount inc (saturating|default)"),
    ("include/holdfast/spinlock.h", "	hf_atomic32_store_release(&lock->word, 0); /*",
     "	" + NOP + "	hf_atomic32_store_release(&lock->word, 0); /*", r"spinlock unlock default"),
    ("include/holdfast/internal/spinlock_queued.h", "	hf_atomic32_store_low8_release(lock, 0);",
     "	" + NOP + "	hf_atomic32_store_low8_release(lock, 0);", r"spinlock unlock queued"),
    ("include/holdfast/lockref.h", "	*count = hf_detail_lockref_count(less);\n",
     "	*count = hf_detail_lockref_count(less);\n	" + NOP,
     r"lockref put_\w+ (?!locked|waitfree)\w+"),
    ("include/holdfast/lockref_waitfree.h", "	hf_env_preempt_enable();\n	return true;",
     "	hf_env_preempt_enable();\n	" + NOP + "	return true;",
     r"lockref put_or_lock waitfree"),
    ("src/nofault/generic.c", "	left = hf_detail_clear_bytes(dst, head);\n",
     "	left = hf_detail_clear_bytes(dst, head);\n	" + NOP, r"clear \d+ generic"),
]


class Skip(Exception):
    pass


# ---- count --------------------------------------------------------------------------------------

def output(*command, **more):
    # What the environment chooses is not what is counted.
    plain = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST")}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", check=False, timeout=300, env=plain, **more)
    if done.returncode:
        raise RuntimeError("%s\n%s%s" % (" ".join(command), done.stdout, done.stderr))
    return done.stdout


def tools(column):
    """(compiler, its major version, nm, emulator) or Skip."""
    wanted, compilers, _, emulator, _ = COLUMNS[column]
    for compiler in filter(shutil.which, compilers):
        if (output(compiler, "-dumpmachine").startswith(wanted) and
                "Free Software Foundation" in output(compiler, "--version")):
            break
    else:
        raise Skip("no compiler for it: tried %s" % ", ".join(compilers))
    if not shutil.which(emulator):
        raise Skip("no " + emulator)
    nm = output(compiler, "-print-prog-name=nm").strip()
    return compiler, output(compiler, "-dumpversion").split(".")[0].strip(), nm, emulator


def build(column, source, folder):
    compiler, _, _, _ = tools(column)
    program = os.path.join(folder, "count")
    sources = sorted(glob.glob(os.path.join(source, "src", "**", "*.c"), recursive=True))
    sources.append(os.path.join(source, "lab", "variants", "spinlock", "user_nodes.c"))
    output(compiler, *FLAGS, *COLUMNS[column][2], "-I", os.path.join(source, "include"),
           "-I", os.path.join(source, "lab"), "-I", os.path.join(os.path.dirname(HERE), "variants"),
           os.path.join(HERE, "count.c"),
           os.path.join(source, "lab", "variants", "nofault", "implementations.c"), *sources, *LINK, "-o", program)
    return program


def measuring(nm, program):
    """{address: is it where a function starts} of all code in functions measure..."""
    inside = {}
    for line in output(nm, "-S", program).splitlines():
        if match := re.fullmatch(r"([0-9a-f]+) ([0-9a-f]+) [tT] measure\w*", line):
            start, size = int(match[1], 16), int(match[2], 16)
            inside.update({at: at == start for at in range(start, start + size)})
    if not inside:
        raise RuntimeError("no function measure in " + program)
    return inside


def calls(log, inside, repeats):
    """How many instructions each call executed.

    With `repeats`, an instruction that is executed again at once is one: x86's string instructions,
    which an emulator runs in steps.
    """
    found, count, before = [], 0, None
    with open(log, encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("Trace "):
                continue
            at = int(line.split("/", 2)[1], 16)
            if at in inside:
                if count and not inside[at]:  # at the start it comes from main, and is no return
                    found.append(count)
                count = 0
            elif not (repeats and at == before):
                count += 1
            before = at
    return found


def count(column, source, folder):
    """{row: instructions}"""
    _, _, nm, emulator = tools(column)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    program, log = build(column, source, folder), os.path.join(folder, "log")
    single = next((option for option in ("-one-insn-per-tb", "-singlestep")
                   if option in output(emulator, "-h")), "-singlestep")
    said = output(emulator, "-cpu", COLUMNS[column][4], single, "-d", "exec,nochain", "-D", log,
                  program)
    found = calls(log, measuring(nm, program), column == "x86-64")
    os.remove(log)
    table = {}
    for line in said.splitlines():
        row, kind = line.rsplit(" ", 1)
        step = 2 if kind == "undone" else 1
        mine, found = found[:CALLS * step:step], found[CALLS * step:]
        if len(mine) != CALLS or mine[-1] != mine[-2] or row in table:
            raise RuntimeError("%s: %s: calls of %s instructions" % (column, row, mine))
        table[row] = mine[-1]
    if found:
        raise RuntimeError("%s: %d calls more than were announced" % (column, len(found)))
    return table


# ---- the table, and the file --------------------------------------------------------------------

def in_order(tables):
    """All rows: by family, operation, size, and then as count.c has them."""
    rows = list(dict.fromkeys(row for table in tables.values() for row in table))
    operations = list(dict.fromkeys(row.rsplit(" ", 1)[0] for row in rows))
    families = list(dict.fromkeys(row.split(" ")[0] for row in rows))
    return sorted(rows, key=lambda row: (families.index(row.split(" ")[0]),
                                         operations.index(row.rsplit(" ", 1)[0]),
                                         row.endswith(" default")))


def missed(tables):
    """["column: name: is, may be"]"""
    return ["%s: %s: %d, not %d" % (column, name, have, may)
            for name, rows, others, n in AIMS
            for column, table in tables.items()
            for have, may in [(sum(table[row] for row in rows),
                               sum(table[row] for row in others) + n)] if have > may]


def text(tables, majors):
    columns = [column for column in COLUMNS if column in tables]
    line = "%-12s%-14s%-15s" + "%12s" * len(columns)
    shown = [line % ("family", "operation", "variant", *columns),
             line % ("gcc", "", "", *[majors[column] for column in columns])]
    shown += [line % (*row.split(" "), *[tables[column].get(row, "-") for column in columns])
              for row in in_order(tables)]
    shown += ["missed  " + miss for miss in missed(tables)]
    return "\n".join(line.rstrip() for line in shown) + "\n"


def read_expected(path):
    """({column: {row: instructions}}, {column: major version}, [missed])"""
    tables, majors, misses, columns = {}, {}, [], None
    if not os.path.exists(path):
        return tables, majors, misses
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if not words or line.startswith("#"):
                continue
            if columns is None:
                columns = words[3:]
                tables = {column: {} for column in columns}
            elif words[0] == "gcc":
                majors = dict(zip(columns, words[1:]))
            elif words[0] == BESIDE:
                if words[1] != state_of_expected():
                    majors = {}
            elif words[0] == "missed":
                misses.append(line[len("missed"):].strip())
            else:
                for column, value in zip(columns, words[3:]):
                    if value != "-":
                        tables[column][" ".join(words[:3])] = int(value)
    return tables, majors, misses


BESIDE = "beside"  # in place of a family


def state_of_expected():
    """A number that depends on all of expected.txt."""
    with open(EXPECTED, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:12]


def file_for(majors):
    """Where the table of these compilers stands, or will."""
    one = set(majors.values())
    if len(one) == 1 and one != set(read_expected(EXPECTED)[1].values()):
        return OTHER % one.pop()
    return EXPECTED


def write_expected(tables, majors):
    path = file_for(majors)
    with open(EXPECTED, encoding="utf-8") as lines:
        head = [line for line in lines if line.startswith("#")]
    with open(path, "w", encoding="utf-8") as out:
        out.write("".join(head) + "\n" + text(tables, majors))
        if path != EXPECTED:
            out.write("%s %s\n" % (BESIDE, state_of_expected()))


def differences(now, then):
    """{row: (then, now)}"""
    return {row: (then.get(row, "nothing"), now.get(row, "nothing"))
            for row in dict.fromkeys([*then, *now]) if then.get(row) != now.get(row)}


# ---- the test -----------------------------------------------------------------------------------

def mutated(args, now):
    """What is wrong with how the mutants fail; nothing if each row does that should, and no other."""
    folder = os.path.join(args.work_dir, "mutant")
    tree = mutation.copy(args.source_dir, os.path.join(folder, "tree"), "include", "src", os.path.join("lab", "variants"))
    try:
        for name, before, after, _ in MUTANTS:
            mutation.edit(os.path.join(tree, name), mutation.swap(before, after))
    except mutation.Stale as why:
        return [str(why)]
    found = differences(count(MUTANT_COLUMN, tree, os.path.join(folder, "run")), now)
    wrong = []
    for row in now:
        wanted = any(re.fullmatch(rows, row) for _, _, _, rows in MUTANTS)
        before, after = found.get(row, (now[row], now[row]))
        # More than one where the compiler then chooses other registers, or doesn't inline.
        if after <= before if wanted else after != before:
            wrong.append("%s: %s, with a mutant %s" % (row, before, after))
    for name, _, _, rows in MUTANTS:
        if not any(re.fullmatch(rows, row) for row in now):
            wrong.append("no row for the mutant of " + name)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source-dir", required=True)
    parser.add_argument("--work-dir", required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("column", nargs="*", help="default: all of " + " ".join(COLUMNS))
    args = parser.parse_args()
    tables, majors, failures = {}, {}, []

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        running = {}
        for column in args.column or COLUMNS:
            try:
                majors[column] = tools(column)[1]
            except Skip as why:
                print("SKIPPED %s: %s" % (column, why))
                continue
            running[column] = pool.submit(count, column, args.source_dir,
                                          os.path.join(args.work_dir, column))
        tables = {column: job.result() for column, job in running.items()}
    if not tables:
        return 77
    print(text(tables, majors))

    if args.update:
        if set(tables) != set(COLUMNS):
            sys.exit("--update needs all columns")
        write_expected(tables, majors)
        return 0
    expected, versions, known = read_expected(file_for(majors))
    compared = [column for column in tables if versions.get(column) == majors[column]]
    passed = 0
    for column, table in tables.items():
        if column not in compared:
            print("SKIPPED %s: this is gcc %s, and %s is for %s: only the aims are checked"
                  % (column, majors[column], os.path.basename(file_for(majors)),
                     "gcc " + versions[column] if column in versions else "an older expected.txt"
                     if os.path.exists(file_for(majors)) else "nobody yet"))
            continue
        found = differences(table, expected[column])
        passed += len(table) - len(found)
        failures += ["%s, %s: expected %s, found %s" % (column, row, *values)
                     for row, values in found.items()]
    now = missed(tables)
    passed += len(AIMS) * len(tables) - len(now)
    failures += ["an aim is missed: " + miss for miss in now if miss not in known]
    failures += ["expected.txt says that this is missed, and it is not: " + miss for miss in known
                 if miss not in now and miss.split(":")[0] in compared]
    for miss in now:
        if miss in known:
            print("an aim is known to be missed: " + miss)
    if MUTANT_COLUMN in tables:
        wrong = mutated(args, tables[MUTANT_COLUMN])
        passed += not wrong
        failures += ["mutants: " + one for one in wrong]
    else:
        print("SKIPPED mutants: without " + MUTANT_COLUMN)
    for failure in failures:
        print("FAILED " + failure)
    print("%d passed, %d failed" % (passed, len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as error:
        sys.exit(str(error))
