#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Count the instructions of every operation, and check the fast paths against rules.

    run.py --source-dir DIR --work-dir DIR [--update] [COLUMN...]

An emulator (qemu, one instruction at a time, a fixed model of each processor) logs the instructions
that paths.c executes. A row is one uncontended call, its return included; the disassembly tells which
instructions they are. The same compiler gives the same table on every machine.

  expected.txt  the number of instructions, for the compiler versions that it names; for others the
                column is skipped. --update writes the file again, for review.
  rules         RULES and SPECS below, except for KNOWN. For a compiler version that is not in
                expected.txt violations are printed, and are no failure.
  mutants       changes of shipped code: exactly the rows or rules named with each must fail.

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

# ---- the limits of each path --------------------------------------------------------------------

# (row or row@column, limits). The first match applies; a row without a match is only counted.
#   branches  at most so many conditional branches, those of an exclusive pair not counted
#   order     AArch64: orderings of its loads and stores, "acquire" and "release"; default none
#   atomics   how many atomic instructions; an exclusive pair is one; default 1
#   bytes     the access size of the atomic instruction
#   setcc     whether a flag may be kept in a register; default yes
#   barrier   the barrier instruction on AArch64; default, and always on x86-64: none
#   straight  whether no branch may be taken; default yes
#   through   functions that it may jump into; default none
#   store     whether it must be one store and the return; default no
#   cost      (other row, n): at most n instructions more than that one
SPECS = [
    (r"refcount inc default", dict(branches=1, setcc=False, cost=("refcount inc unchecked", 4))),
    (r"refcount dec default", dict(branches=1, setcc=False, order="release")),
    (r"refcount dec_and_test default", dict(branches=1, setcc=False, order="release")),
    (r"refcount put_last default", dict(branches=2, setcc=False, order="release", straight=False,
                                        barrier="dmb ishld", through=r"object_free")),
    (r"refcount inc_not_zero default", dict(branches=2, setcc=False)),

    # The next ticket may be another thread's: a load, an addition and a store.
    (r"spinlock unlock ticket", dict(branches=0, atomics=0, order="release")),
    (r"spinlock unlock (default|queued)", dict(branches=0, atomics=0, order="release", store=True)),
    (r"spinlock (lock|trylock) queued@x86-64.*", dict(branches=2, bytes=1)),
    (r"spinlock lock ticket", dict(branches=1, bytes=4, order="acquire")),
    (r"spinlock trylock (default|queued|ticket)|spinlock lock (default|queued)",
     dict(branches=1, bytes=4, order="acquire", setcc=False)),

    (r"mutex (lock|trylock) private", dict(branches=1, bytes=4, order="acquire", setcc=False)),
    # A plain store, then a check of the parking table, which does not access the mutex.
    (r"mutex unlock private", dict(branches=1, atomics=0, order="release")),

    (r"lockref get\w* waitfree", dict(branches=2, bytes=8)),
    (r"lockref put\w* waitfree", dict(branches=2, bytes=8, order="release")),
    (r"lockref get\w* default", dict(branches=3, bytes=8)),
    (r"lockref put\w* default", dict(branches=3, bytes=8, order="release")),

    # A pointer that owns a reference: load, null test, store, and the inc, for which x86-64 also moves
    # a register. A drop jumps to the deleter, out of line.
    (r"owner copy default", dict(branches=2, setcc=False, cost=("refcount inc default", 5))),
    (r"owner move default", dict(branches=0, atomics=0)),
    (r"owner drop default", dict(branches=2, setcc=False, order="release",
                                 cost=("refcount dec_and_test default", 3))),
    (r"owner drop_last default", dict(branches=3, barrier="dmb ishld", order="release", straight=False,
                                      through=r"_ZN2hf10refcounted.*8last_put.*|object_free")),

]

# (column, rows, rule, reason): known violations by the compilers of expected.txt. An entry that is
# no longer violated is a failure.
KNOWN = [
    ("x86-64-clang", r"refcount inc default", "cost", "it recomputes the sum for the report"),
    ("x86-64-clang", r"spinlock lock ticket", "straight", "it leaves a loop by a taken branch"),
    ("x86-64-clang", r"(refcount inc_not_zero|lockref (?!get )\w+) \w+", "stack",
     "it sets up the frame for the cold path's call first"),
]

# (name, rows, other rows): the rows together may not be longer than the others. For gcc only: clang
# merges the ticket lock's load, addition and store into one instruction.
AIMS = [
    ("queued lock and unlock are not longer than the ticket lock's",
     ["spinlock lock queued", "spinlock unlock queued"],
     ["spinlock lock ticket", "spinlock unlock ticket"]),
    ("lock and unlock are not longer than the queued lock's",
     ["spinlock lock default", "spinlock unlock default"],
     ["spinlock lock queued", "spinlock unlock queued"]),
]


def limits_of(row, column):
    return next((limits for pattern, limits in SPECS
                 if re.fullmatch(pattern, row) or re.fullmatch(pattern, row + "@" + column)), None)


# ---- instructions -------------------------------------------------------------------------------

class Instruction:
    """One line of a disassembly, and whether it was a branch that was taken."""

    PREFIXES = r"(?:(?:lock|rep[nz]*|bnd|notrack|data16|cs|ds|es|ss|fs|gs)\s+)*"

    def __init__(self, address, symbol, text):
        text = re.sub(r"\s*(?://|# |<).*", "", text)
        match = re.match(r"(%s\S+)\s*(.*)" % self.PREFIXES, text)
        self.address, self.symbol = address, symbol
        self.mnemonic, self.operands = match[1], match[2].strip()
        self.taken = False
        self.of_pair = False  # of an exclusive pair, from the load to the branch back

    def __str__(self):
        return ("%s %s" % (self.mnemonic, self.operands)).strip()

    def is_a(self, pattern):
        return re.fullmatch(pattern, self.mnemonic)


class X86:
    CALL = r"callq?"
    CONDITIONAL = r"j(?!mp).*|loop.*"
    BRANCH = r"(j|loop).*"
    BARRIER = r"[mls]fence|cpuid|serialize"
    SETCC = r"set\w+"

    @staticmethod
    def is_stack(i):
        return i.is_a(r"(push|pop|enter|leave).*") or re.search(r"%[re]?sp\b", i.operands)

    @staticmethod
    def order(path):
        return None  # not seen in the instructions

    @staticmethod
    def atomics(path):
        return [i for i in path if i.mnemonic.startswith("lock ") or
                i.is_a(r"xchg.*") and "(" in i.operands]

    @staticmethod
    def bytes(i):
        suffix = re.search(r"(?:add|sub|inc|dec|or|and|xchg)([bwlq])$", i.mnemonic)
        register = re.match(r"%(\w+)", i.operands)
        if not register:
            return dict(b=1, w=2, l=4, q=8)[suffix[1]] if suffix else 0
        name = register[1]
        if re.fullmatch(r"[a-d][lh]|[sd]il|[sb]pl|r\d+b", name):
            return 1
        return 8 if re.fullmatch(r"r[a-z]{2}|r\d+", name) else 4 if name[0] in "er" else 2

    @staticmethod
    def is_store(i):
        return i.is_a(r"mov[bwlq]?") and re.search(r"\)$", i.operands)


class Arm:
    CALL = r"bl|blr\w*"
    CONDITIONAL = r"b\..*|cbn?z|tbn?z"
    BRANCH = r"b|br\w*|" + CONDITIONAL
    BARRIER = r"dmb|dsb|isb"
    SETCC = r"csetm?"
    LSE = r"(swp|(ld|st)(add|clr|eor|set|[su]max|[su]min))"

    @staticmethod
    def is_stack(i):
        return re.search(r"\bsp\b", i.operands)

    @staticmethod
    def order(path):
        acquire = r"lda(r|xr|pr)[bh]?|(casp?|%s)al?[bh]?" % Arm.LSE
        release = r"stl(r|xr)[bh]?|(casp?|%s)a?l[bh]?" % Arm.LSE
        return " ".join(name for name, pattern in (("acquire", acquire), ("release", release))
                        if any(i.is_a(pattern) for i in path))

    @staticmethod
    def atomics(path):
        """Marks what is part of an exclusive pair, and returns each pair's load."""
        found, load, stored = [], None, False
        for i in path:
            if i.is_a(r"lda?xr[bh]?"):
                load = i
                found.append(i)
            elif i.is_a(r"(casp?|%s)[al]*[bh]?" % Arm.LSE):
                found.append(i)
            if load:
                i.of_pair = True
                if stored and i.is_a(Arm.CONDITIONAL):
                    load = None
            stored = i.is_a(r"stl?xr[bh]?")
        return found

    @staticmethod
    def bytes(i):
        part = dict(b=1, h=2).get(i.mnemonic[-1])
        return part or (8 if i.operands.startswith("x") else 4)

    @staticmethod
    def is_store(i):
        return i.is_a(r"stlr[bh]?")


def machine(column):
    """None: its instructions are only counted."""
    return X86 if column.startswith("x86-64") else Arm if column.startswith("aarch64") else None


# ---- rules --------------------------------------------------------------------------------------

class Path:
    """The instructions of a call and their limits. `found` is {row: [instruction]}."""

    def __init__(self, column, row, found, limits):
        self.m, self.limits, self.found = machine(column), limits, found
        self.code = [i for i in found[row] if i.symbol != "object_free"]
        self.function = self.code[0].symbol
        self.atomics = self.m.atomics(self.code)  # on Arm this also marks the exclusive pairs

    def first(self, wanted):
        return next((i for i in self.code if wanted(i)), None)


# Each rule returns what is wrong, or a false value.

def call(p):
    i = p.first(lambda i: i.is_a(p.m.CALL))
    return i and "calls %s" % i.operands


def cold(p):
    """The path stays in its function: gcc moves what it takes for unlikely into <function>.cold."""
    i = p.first(lambda i: i.symbol != p.function and
                not re.fullmatch(p.limits.get("through", ""), i.symbol))
    return i and not call(p) and "runs through %s" % i.symbol  # behind a call: that is call's finding


def straight(p):
    i = p.first(lambda i: i.taken)
    return i and p.limits.get("straight", True) and not cold(p) and "takes a branch: %s" % i


def barrier(p):
    wanted = [p.limits["barrier"]] if p.m is Arm and "barrier" in p.limits else []
    found = [str(i) for i in p.code if i.is_a(p.m.BARRIER)]
    return found != wanted and "has the barriers %s, not %s" % (found, wanted)


def order(p):
    found = p.m.order(p.code)
    return found is not None and found != p.limits.get("order", "") and "orders: %s" % (found or "nothing")


def stack(p):
    i = p.first(p.m.is_stack)
    return i and "uses the stack: %s" % i


def atomics(p):
    wanted = p.limits.get("atomics", 1)
    return len(p.atomics) != wanted and "has %d atomic instructions, not %d" % (
        len(p.atomics), wanted)


def branches(p):
    n = sum(1 for i in p.code if i.is_a(p.m.CONDITIONAL) and not i.of_pair)
    return n > p.limits["branches"] and "has %d conditional branches, more than %d" % (
        n, p.limits["branches"])


def setcc(p):
    i = p.first(lambda i: i.is_a(p.m.SETCC))
    return i and not p.limits.get("setcc", True) and "keeps a flag: %s" % i


def byte(p):
    return p.limits.get("bytes") in (1, 4) and width(p)


def word64(p):
    return p.limits.get("bytes") == 8 and width(p)


def width(p):
    i = next((i for i in p.atomics if p.m.bytes(i) != p.limits["bytes"]), None)
    return i and "changes %d bytes, not %d: %s" % (p.m.bytes(i), p.limits["bytes"], i)


def store(p):
    return p.limits.get("store") and not (
        len(p.code) == 2 and p.m.is_store(p.code[0])) and "is not one store"


def cost(p):
    if "cost" not in p.limits:
        return None
    base, more = p.limits["cost"]
    n = len(p.found[base])
    return len(p.code) > n + more and "has %d instructions, %s has %d" % (len(p.code), base, n)


RULES = [call, cold, straight, barrier, order, stack, atomics, branches, setcc, byte, word64, store, cost]


def broken(column, row, found):
    """{rule: what is wrong}; empty if the row is only counted."""
    limits = limits_of(row, column)
    if limits is None or machine(column) is None:
        return {}
    wrong = {rule.__name__: rule(Path(column, row, found, limits)) for rule in RULES}
    return {rule: text for rule, text in wrong.items() if text}


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


def measuring(nm, program):
    """{address: whether a function starts there} of all code in the functions measure*"""
    inside = {}
    for line in output(nm, "-S", program).splitlines():
        if match := re.fullmatch(r"([0-9a-f]+) ([0-9a-f]+) [tT] measure\w*", line):
            start, size = int(match[1], 16), int(match[2], 16)
            inside.update({at: at == start for at in range(start, start + size)})
    if not inside:
        raise Failed("no function measure in " + program)
    return inside


def disassembly(objdump, program):
    """{address: (function, text, address of the next instruction)}"""
    code, symbol, before = {}, None, None
    for line in output(objdump, "-d", "--no-show-raw-insn", program).splitlines():
        if match := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            symbol = match[1]
        elif match := re.match(r"\s*([0-9a-f]+):\s+(.+)", line):
            at = int(match[1], 16)
            code[at] = [symbol, match[2], None]
            if before:
                code[before][2] = at
            before = at
    return code


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


def instructions(column, code, addresses):
    """The instructions at the addresses, which were executed in this order."""
    found = []
    for at, then in zip(addresses, [*addresses[1:], None]):
        symbol, text, following = code[at]
        found.append(Instruction(at, symbol, text))
        found[-1].taken = bool(found[-1].is_a(machine(column).BRANCH)) and then != following
    return found


def traced(column, emulator, program, log):
    """What the program prints; `log` gets each instruction that it executes."""
    single = next((option for option in ("-one-insn-per-tb", "-singlestep")
                   if option in output(emulator, "-h")), "-singlestep")
    return output(emulator, "-cpu", COLUMNS[column][4], single, "-d", "exec,nochain", "-D", log, program)


def look(column, source, folder, unchanged=None, edited=()):
    """({row: number of instructions}, {row: [instruction]} of the rows that rules apply to)"""
    _, _, nm, objdump, emulator = tools(column)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    program, log = build(column, source, folder, unchanged, edited), os.path.join(folder, "log")
    printed = traced(column, emulator, program, log)
    found = calls(log, measuring(nm, program), column.startswith("x86-64"))
    code = disassembly(objdump, program) if machine(column) else {}
    os.remove(log)
    table, paths = {}, {}
    for line in printed.splitlines():
        row, kind = line.rsplit(" ", 1)
        step = 2 if kind == "undone" else 1
        mine, found = found[:CALLS * step:step], found[CALLS * step:]
        lengths = [len(one) for one in mine]
        if len(mine) != CALLS or lengths[-1] != lengths[-2] or row in table:
            raise Failed("%s: calls of %s instructions" % (row, lengths))
        if machine(column) and not row.startswith(("clear", "copy", "compare", "find")):
            paths[row] = instructions(column, code, mine[-1])
            lengths = [sum(i.symbol != "object_free" for i in paths[row])]
        table[row] = lengths[-1]
    if found:
        raise Failed("%d calls more than were printed" % len(found))
    return table, paths


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
BARRIER = '__asm__ volatile("dmb ish");\n'
CALL = '	__asm__ volatile("bl object_free" ::: "x30", "memory");\n'
REFCOUNT, LOCKREF = "include/holdfast/refcount.h", "include/holdfast/lockref.h"
WAITFREE = "include/holdfast/lockref_waitfree.h"
SPINLOCK, QUEUED = "include/holdfast/spinlock.h", "include/holdfast/internal/spinlock_queued.h"
INC = "	hf_detail_refcount_add(1, r, NULL);\n"
SUB = "hf_atomic32_fetch_sub_release(&r->refs, (uint32_t)i)"
DEC = "hf_atomic32_fetch_sub_release(&r->refs, 1)"
WAITFREE_GET = "	if (HF_UNLIKELY((int64_t)word < 0))\n		hf_detail_waitfree_get_misuse(l, word);\n"

# Mutants that add an instruction, all in one build of MORE_COLUMN: (file, text, the text with the
# instruction, the rows that execute it). Exactly these rows must become longer.
MORE_COLUMN = "x86-64"
MORE = [
    (REFCOUNT, INC, "	" + NOP + INC, r"refcount inc (saturating|default)|owner copy default"),
    (SPINLOCK, "	hf_atomic32_store_release(&lock->word, 0); /*",
     "	" + NOP + "	hf_atomic32_store_release(&lock->word, 0); /*", r"spinlock unlock default"),
    (QUEUED, "	hf_atomic32_store_low8_release(lock, 0);",
     "	" + NOP + "	hf_atomic32_store_low8_release(lock, 0);", r"spinlock unlock queued"),
    (LOCKREF, "	*count = hf_detail_lockref_count(less);\n",
     "	*count = hf_detail_lockref_count(less);\n	" + NOP, r"lockref put_\w+ (?!locked|waitfree)\w+"),
    (WAITFREE, "	hf_env_preempt_enable();\n	return true;",
     "	hf_env_preempt_enable();\n	" + NOP + "	return true;", r"lockref put_or_lock waitfree"),
    ("src/nofault/generic.c", "	left = hf_detail_clear_bytes(dst, head);\n",
     "	left = hf_detail_clear_bytes(dst, head);\n	" + NOP, r"clear \d+ generic"),
]

# Mutants that break rules, all in one build of RULE_COLUMN: (file, text, mutant, the rows that
# break the rules, the rules). No other row may break a rule, and these rows no other rule.
RULE_COLUMN = "aarch64-lse"
BROKEN = [
    (REFCOUNT, SUB, "hf_atomic32_fetch_add_relaxed(&r->refs, 0 - (uint32_t)i)",
     r"(refcount (dec_and_test|put_last)|owner drop\w*) default", ["order"]),
    (REFCOUNT, "		hf_atomic32_fence_acquire(&r->refs);\n		return true;\n",
     "		return true;\n", r"(refcount put|owner drop)_last default", ["barrier"]),
    (REFCOUNT, DEC, "hf_atomic32_fetch_add_relaxed(&r->refs, UINT32_MAX)", r"refcount dec default",
     ["order"]),
    (REFCOUNT, INC, "	" + BARRIER + INC, r"(refcount inc|owner copy) default", ["barrier"]),
    (SPINLOCK, "return hf_atomic32_try_cmpxchg_acquire(&lock->word, &unlocked, 1);",
     "return hf_atomic32_try_cmpxchg_relaxed(&lock->word, &unlocked, 1);",
     r"spinlock (lock|trylock) default", ["order"]),
    (SPINLOCK, "hf_atomic32_store_release(&lock->word, 0); /* L1",
     "hf_atomic32_store_relaxed(&lock->word, 0); /* L1", r"spinlock unlock default",
     ["order", "store"]),
    (LOCKREF, "return HF_LIKELY(hf_atomic64_try_cmpxchg_release(&l->word, &word, less));",
     "return HF_LIKELY(hf_atomic64_try_cmpxchg_relaxed(&l->word, &word, less));",
     r"lockref put\w+ default", ["order"]),
    (WAITFREE, WAITFREE_GET, CALL + WAITFREE_GET, r"lockref get waitfree", ["call", "stack"]),
]


def mutated(column, edits, args):
    """look() at the code with (file, text, mutant) changed."""
    folder = os.path.join(args.work_dir, "mutant-" + column)
    tree = mutation.copy(args.source_dir, os.path.join(folder, "tree"), "include", "src",
                         os.path.join("lab", "variants"))
    try:
        for name, before, after in edits:
            mutation.edit(os.path.join(tree, name), mutation.swap(before, after))
    except mutation.Stale as why:
        raise Failed(str(why)) from None
    return look(column, tree, os.path.join(folder, "run"), os.path.join(args.work_dir, column), [edit[0] for edit in edits])


def check_more(args, now):
    found, _ = mutated(MORE_COLUMN, [mutant[:3] for mutant in MORE], args)
    wrong = []
    for row, before in now.items():
        wanted = any(re.fullmatch(mutant[3], row) for mutant in MORE)
        # By more than one if the compiler chooses other registers, or does not inline.
        if found[row] <= before if wanted else found[row] != before:
            wrong.append("%s: %s, with a mutant %s" % (row, before, found[row]))
    wrong += ["no row for " + mutant[3] for mutant in MORE
              if not any(re.fullmatch(mutant[3], row) for row in now)]
    if wrong:
        raise Failed("; ".join(wrong))


def check_rules(args, now):
    _, found = mutated(RULE_COLUMN, [mutant[:3] for mutant in BROKEN], args)
    breaks = {(row, rule) for row in found for rule in broken(RULE_COLUMN, row, found)}
    wanted = {(row, rule) for *_, rows, rules in BROKEN for row in now if re.fullmatch(rows, row)
              for rule in rules}
    if breaks != wanted:
        raise Failed("not found: %s; also found: %s"
                     % (sorted(wanted - breaks), sorted(breaks - wanted)))


# ---- the test -----------------------------------------------------------------------------------

def check_column(checks, column, table, paths, expected):
    """expected: the reviewed table, or None for a compiler without one."""
    unused = {known for known in KNOWN if known[0] == column}
    for row in paths:
        rules = broken(column, row, paths)
        covered = {known for known in KNOWN if known[0] == column and known[2] in rules and
                   re.fullmatch(known[1], row)}
        unused -= covered
        wrong = ["%s (rule %s): %s" % (text, rule, "; ".join(map(str, paths[row])))
                 for rule, text in rules.items() if rule not in {known[2] for known in covered}]
        if expected is not None and limits_of(row, column):
            checks.wrong("%s: rules: %s" % (column, row), "; ".join(wrong))
        elif wrong:
            print("not reviewed: %s: %s: %s" % (column, row, "; ".join(wrong)))
    if expected is not None:
        checks.wrong("%s: counts" % column, "\n".join(differences(table, expected)))
        checks.wrong("%s: known" % column, "not broken: %s" % unused if unused else "")
    for name, rows, others in [] if column.endswith("clang") else AIMS:
        have, may = (sum(table[row] for row in some) for some in (rows, others))
        checks.check("%s: %s" % (column, name), have <= may, "%d, %d" % (have, may))


def main():
    args = arguments(__doc__, "source-dir", "work-dir", update={"action": "store_true"}, names="column")
    checks, versions, running, found = Checks(), {}, {}, {}

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for column in args.column or COLUMNS:
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
    for column, (table, paths) in found.items():
        is_reviewed = reviewed.get(column) == versions[column]
        if not is_reviewed:
            checks.skip(column, "this is %s, expected.txt is for %s: only the aims are checked"
                        % (versions[column], reviewed.get(column, "no compiler")))
        check_column(checks, column, table, paths, expected[column] if is_reviewed else None)
    for name, column, check in (("an instruction more", MORE_COLUMN, check_more),
                                ("a rule broken", RULE_COLUMN, check_rules)):
        if column in tables and reviewed.get(column) == versions[column]:
            checks.attempt("mutants: " + name, check, args, tables[column])
        else:
            checks.skip("mutants: " + name, "not the compiler of expected.txt's column " + column)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
