#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hold the fast paths to their instructions.

    run.py --source-dir DIR --build-dir DIR [--update] [TARGET...]

The fast path of a verb is what a processor executes when nobody else is there: drive.c calls every
function of paths.c in that state, an emulator (qemu, one instruction at a time) logs the
instructions that were executed, and the disassembly shows what they are. Nothing is guessed from
the layout of the code. Then

  rules      what must hold for every compiler: RULES and SPECS below. This is the test. Of a version
             that expected.txt does not have, nobody has reviewed what it breaks: that is shown, and
             a skip.
  known      a rule that a path breaks today, with the reason: known.txt. If nothing breaks it any
             more that is a failure too: the line must go.
  expected   the very mnemonics, for the compiler versions that expected.txt names; skipped for
             others. --update writes what is found: a change is then seen in review. The sections
             of other versions than BASE's say which section of BASE's they were made beside: when
             that has changed since, they are out of date, and skipped until they are made again.
  bad.c      paths that break one rule each; that rule must find it, and no other.

Exits with 1 on a failure, with 77 if no target can be run here.
"""
import argparse
import fnmatch
import hashlib
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
EXPECTED = os.path.join(HERE, "expected.txt")
KNOWN = os.path.join(HERE, "known.txt")

C_FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fno-stack-protector", "-fno-pie"]
CXX_FLAGS = ["-std=gnu++17", *C_FLAGS[1:], "-fno-exceptions", "-fno-rtti"]
LINK = ["-nostdlib", "-static", "-no-pie"]
GCC = ["-fno-ipa-icf"]  # equal functions stay apart: each has a path of its own
X86 = ["-fcf-protection=none"]
ARM = ["-mno-outline-atomics", "-mbranch-protection=none"]

# name: (what -dumpmachine starts with, compilers to try, flags, objdump, emulator)
TARGETS = {
    "x86_64-gcc": ("x86_64", ["gcc", "x86_64-linux-gnu-gcc"], GCC + X86, "objdump",
                   "qemu-x86_64"),
    "x86_64-clang": ("x86_64", ["clang"], X86, "objdump", "qemu-x86_64"),
    "aarch64-gcc-llsc": ("aarch64", ["gcc", "aarch64-linux-gnu-gcc"],
                         GCC + ARM + ["-march=armv8-a"], "objdump", "qemu-aarch64"),
    "aarch64-gcc-lse": ("aarch64", ["gcc", "aarch64-linux-gnu-gcc"],
                        GCC + ARM + ["-march=armv8.1-a"], "objdump", "qemu-aarch64"),
}

# Those of the system that the project is developed on.
BASE = {"gcc": "12", "clang": "14"}

# ---- what each path is held to ------------------------------------------------------------------

# (path or path@target, limits), the first that matches:
#   branches  at most so many conditional branches, those of an exclusive pair not counted
#   atomics   how many atomic instructions; an exclusive pair is one. Not given: 1
#   bytes     the size of what the atomic instruction changes
#   setcc     may a flag be kept in a register? Not given: yes
#   barrier   may there be one? Not given: no
#   stack     may it be used? Not given: no
#   straight  must no branch be taken? Not given: yes
#   through   functions that it may jump into. Not given: none
#   store     nothing but one store and the return. Not given: no
#   cost      (other path, n): at most n instructions more than that one
#
# A family's last rules are for all of its implementations, also those that nobody has written yet.
# Before them stand the implementations that are held to less, each with the reason, or to more.
SPECS = [
    (r"refcount_(inc|dec|put)", dict(branches=1, setcc=False)),
    (r"refcount_dec_and_test", dict(branches=2)),
    (r"refcount_(dec_and_test|put)/last", dict(branches=3, barrier=True, straight=False)),
    (r"refcount_inc_not_zero", dict(branches=2)),

    # The next ticket may be another thread's: a load, an addition and a store.
    (r"spinlock_ticket_unlock", dict(branches=0, atomics=0)),
    (r"spinlock_queued_(lock|trylock)@x86_64.*", dict(branches=2, bytes=1)),
    (r"spinlock_\w+_(lock|trylock)", dict(branches=1, bytes=4)),
    (r"spinlock_\w+_unlock", dict(branches=0, atomics=0, store=True)),

    (r"mutex_(lock|trylock)", dict(branches=1, bytes=4)),
    # A plain store, then a look for waiters in a table: nothing atomic, nothing of the mutex after it.
    (r"mutex_unlock", dict(branches=1, atomics=0)),

    (r"lockref_waitfree_(get|put)\w*", dict(branches=2, bytes=8)),
    (r"lockref_(get|put)\w*", dict(branches=3, bytes=8)),

    # A pointer that owns a reference: load, test for null, store, and the inc, for which x86-64 moves a
    # register besides. A drop jumps to what frees, out of line.
    (r"owner_copy", dict(branches=3, setcc=False, cost=("refcount_inc", 5))),
    (r"owner_move", dict(branches=0, atomics=0)),
    (r"owner_drop", dict(branches=3, setcc=False, cost=("refcount_put", 3))),
    (r"owner_drop/last", dict(branches=4, barrier=True, straight=False,
                              through=r"_ZN2hf10refcounted.*8last_put.*")),

    (r"bad_byte", dict(branches=2, bytes=1)),
    (r"bad_word64", dict(branches=2, bytes=8)),
    (r"bad_store", dict(branches=0, atomics=0, store=True)),
    (r"bad_cost", dict(branches=2, cost=("good", 3))),
    (r"good|bad_\w+", dict(branches=2, setcc=False)),
]

def limits_of(path, target):
    for pattern, limits in SPECS:
        if re.fullmatch(pattern, path) or re.fullmatch(pattern, "%s@%s" % (path, target)):
            return limits
    raise KeyError("no rule is written for " + path)


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


class X86:
    @staticmethod
    def is_return(i):
        return re.fullmatch(r"(rep[z]? )?ret[q]?", i.mnemonic)

    @staticmethod
    def is_call(i):
        return re.fullmatch(r"call[q]?", i.mnemonic)

    @staticmethod
    def is_conditional(i):
        return re.fullmatch(r"j(?!mp).*|loop.*", i.mnemonic)

    @staticmethod
    def is_branch(i):
        return i.mnemonic.startswith(("j", "loop"))

    @staticmethod
    def is_barrier(i):
        return i.mnemonic in ("mfence", "lfence", "sfence", "cpuid", "serialize")

    @staticmethod
    def is_stack(i):
        return re.match(r"push|pop|enter|leave", i.mnemonic) or re.search(r"%[re]?sp\b", i.operands)

    @staticmethod
    def is_setcc(i):
        return re.fullmatch(r"set\w+", i.mnemonic)

    @staticmethod
    def atomics(path):
        return [i for i in path if i.mnemonic.startswith("lock ") or
                re.match(r"xchg", i.mnemonic) and "(" in i.operands]

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
        return re.fullmatch(r"mov[bwlq]?", i.mnemonic) and re.search(r"\)$", i.operands)


class Arm:
    PAIR_LOAD = r"lda?xr[bh]?"
    PAIR_STORE = r"stl?xr[bh]?"

    @staticmethod
    def is_return(i):
        return i.mnemonic in ("ret", "retaa", "retab")

    @staticmethod
    def is_call(i):
        return re.fullmatch(r"bl|blr\w*", i.mnemonic)

    @staticmethod
    def is_conditional(i):
        return re.fullmatch(r"b\..*|cbn?z|tbn?z", i.mnemonic)

    @staticmethod
    def is_branch(i):
        return re.fullmatch(r"b|br\w*", i.mnemonic) or Arm.is_conditional(i)

    @staticmethod
    def is_barrier(i):
        return i.mnemonic in ("dmb", "dsb", "isb")

    @staticmethod
    def is_stack(i):
        return re.search(r"\bsp\b", i.operands)

    @staticmethod
    def is_setcc(i):
        return i.mnemonic in ("cset", "csetm")

    @staticmethod
    def atomics(path):
        """Marks what is part of an exclusive pair, and returns each pair's load."""
        found, load, stored = [], None, False
        for i in path:
            if re.fullmatch(Arm.PAIR_LOAD, i.mnemonic):
                load = i
                found.append(i)
            elif re.fullmatch(r"casp?[al]*[bh]?|swp[al]*[bh]?|"
                              r"(ld|st)(add|clr|eor|set|[su]max|[su]min)[al]*[bh]?", i.mnemonic):
                found.append(i)
            if load:
                i.of_pair = True
                if stored and Arm.is_conditional(i):
                    load = None
            stored = re.fullmatch(Arm.PAIR_STORE, i.mnemonic)
        return found

    @staticmethod
    def bytes(i):
        part = dict(b=1, h=2).get(i.mnemonic[-1])
        return part or (8 if i.operands.startswith("x") else 4)

    @staticmethod
    def is_store(i):
        return re.fullmatch(r"stlr[bh]?", i.mnemonic)


def machine(target):
    return X86 if target.startswith("x86_64") else Arm


# ---- rules --------------------------------------------------------------------------------------

class Path:
    """What a function executes, and what is asked of it."""

    def __init__(self, target, name, found):
        self.m, self.code, self.limits = machine(target), found[name], limits_of(name, target)
        self.function, self.found = name.split("/")[0], found
        self.atomics = self.m.atomics(self.code)  # on Arm this also marks the exclusive pairs

    def first(self, wanted):
        return next((i for i in self.code if wanted(i)), None)


# Each returns what is wrong, or nothing.

def call(p):
    i = p.first(p.m.is_call)
    return i and "calls %s" % i.operands


def cold(p):
    """It stays in its function: gcc moves what it believes to be unlikely into <function>.cold."""
    i = p.first(lambda i: i.symbol != p.function and
                not re.fullmatch(p.limits.get("through", ""), i.symbol))
    return i and not call(p) and "runs through %s" % i.symbol  # what a call runs is call's matter


def straight(p):
    i = p.first(lambda i: i.taken)
    return i and p.limits.get("straight", True) and not cold(p) and "takes a branch: %s" % i


def barrier(p):
    i = p.first(p.m.is_barrier)
    return i and not p.limits.get("barrier") and "has a barrier: %s" % i


def stack(p):
    i = p.first(p.m.is_stack)
    return i and not p.limits.get("stack") and "uses the stack: %s" % i


def atomics(p):
    wanted = p.limits.get("atomics", 1)
    return len(p.atomics) != wanted and "has %d atomic instructions, not %d" % (
        len(p.atomics), wanted)


def branches(p):
    n = sum(1 for i in p.code if p.m.is_conditional(i) and not i.of_pair)
    return n > p.limits["branches"] and "has %d conditional branches, more than %d" % (
        n, p.limits["branches"])


def setcc(p):
    i = p.first(p.m.is_setcc)
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


RULES = [call, cold, straight, barrier, stack, atomics, branches, setcc, byte, word64, store, cost]


def broken(target, name, found):
    """{rule: what is wrong}"""
    said = {rule.__name__: rule(Path(target, name, found)) for rule in RULES}
    return {rule: text for rule, text in said.items() if text}


# ---- build, run, look ---------------------------------------------------------------------------

class Skip(Exception):
    pass


def output(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False, timeout=120)
    if done.returncode:
        raise RuntimeError("%s\n%s" % (" ".join(command), done.stdout))
    return done.stdout


def tools(target):
    """(compiler, major version, flags, objdump, emulator) or Skip."""
    wanted, compilers, flags, objdump, emulator = TARGETS[target]
    for compiler in filter(shutil.which, compilers):
        have = output(compiler, "-dumpmachine").strip()
        if have.startswith(wanted):
            break
    else:
        raise Skip("no compiler for it: tried %s" % ", ".join(compilers))
    dumpers = [wanted + "-linux-gnu-" + objdump, objdump]
    dumper = next(filter(shutil.which, dumpers), None)
    for tool, found in ((objdump, dumper), (emulator, shutil.which(emulator))):
        if not found:
            raise Skip("no %s" % tool)
    return compiler, output(compiler, "-dumpversion").split(".")[0].strip(), flags, dumper, emulator


def disassembly(objdump, program):
    """{address: instruction}"""
    code, symbol = {}, None
    for line in output(objdump, "-d", "--no-show-raw-insn", program).splitlines():
        if match := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            symbol = match[1]
        elif match := re.match(r"\s*([0-9a-f]+):\s+(.+)", line):
            address = int(match[1], 16)
            code[address] = Instruction(address, symbol, match[2])
    return code


def trace(emulator, program, log):
    """The addresses of all instructions, in the order in which they were executed."""
    single = next((option for option in ("-one-insn-per-tb", "-singlestep")
                   if option in output(emulator, "-h")), "-singlestep")
    if os.path.exists(log):
        os.remove(log)
    output(emulator, single, "-d", "exec,nochain", "-D", log, program)
    with open(log, encoding="utf-8") as lines:
        return [int(match[1], 16) for match in
                (re.match(r"Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/", line) for line in lines)
                if match]


PATHS = r"(refcount|spinlock|mutex|lockref|owner)_\w+|good|bad_\w+"


def paths(target, code, executed):
    """{path: [instruction]}: from a function's first instruction to its return.

    What the last put calls at its end is not its own.
    """
    m, found, ends = machine(target), {}, sorted(code)
    following = dict(zip(ends, ends[1:]))
    current, depth = None, 0
    for at, then in zip(executed, executed[1:] + [None]):
        if at not in code:
            raise RuntimeError("executed, but not in the disassembly: %x" % at)
        i = code[at]
        if current is None and re.fullmatch(PATHS, i.symbol):
            name = i.symbol if i.symbol not in found else i.symbol + "/last"
            if name in found:
                raise RuntimeError("%s is called too often" % i.symbol)
            current, depth = found.setdefault(name, []), 0
        if current is None:
            continue
        one = Instruction(at, i.symbol, str(i))
        one.taken = bool(m.is_branch(i)) and then != following.get(at)
        if i.symbol != "object_free":
            current.append(one)
        depth += bool(m.is_call(i)) - bool(m.is_return(i))
        if depth < 0:
            current = None
    for i in code.values():
        if re.fullmatch(PATHS, i.symbol) and i.symbol not in found:
            raise RuntimeError("drive.c does not call " + i.symbol)
    return found


def look(target, source, build):
    """(compiler and major version, {path: [instruction]})"""
    compiler, major, flags, objdump, emulator = tools(target)
    folder = os.path.join(build, "tests", "codegen", target)
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, "paths")
    objects = []
    for name in ("paths.c", "owners.cpp", "bad.c", "drive.c"):
        objects.append(os.path.join(folder, name + ".o"))
        output(compiler, *(CXX_FLAGS if name.endswith(".cpp") else C_FLAGS), *flags,
               "-I", os.path.join(source, "include"), "-I", os.path.join(source, "lab"),
               "-c", os.path.join(HERE, name), "-o", objects[-1])
    output(compiler, *LINK, *objects, "-o", program)
    code = disassembly(objdump, program)
    found = paths(target, code, trace(emulator, program, os.path.join(folder, "trace")))
    return "%s %s" % (target, major), found


# ---- expected.txt and known.txt -----------------------------------------------------------------

def lists(found):
    """{path: "count  mnemonic; ..."}, without those of bad.c."""
    shown = {path: "%3d  %s" % (len(code), "; ".join(i.mnemonic for i in code))
             for path, code in found.items() if not re.match(r"good|bad_", path)}
    return shown


BESIDE = ""  # in place of a path


def read_expected():
    """{section: {path: list}}; BESIDE, if it is there, is no path"""
    sections, section = {}, None
    with open(EXPECTED, encoding="utf-8") as lines:
        for line in lines:
            if match := re.match(r"\[(.+)\]$", line):
                section = sections.setdefault(match[1], {})
            elif match := re.match(r"made beside (\w+)$", line):
                section[BESIDE] = match[1]
            elif match := re.match(r"([a-z]\S+)\s+(\d+|=)\s+(.*)", line):
                section[match[1]] = "%3s  %s" % (match[2], match[3])
    return sections


def base_of(section, sections):
    """A number that depends on all of the section that this one belongs beside; None: it is one itself."""
    target, major = section.split()
    base = "%s %s" % (target, BASE["clang" if "clang" in target else "gcc"])
    if section == base:
        return None
    text = "".join("%s %s\n" % line for line in sections.get(base, {}).items())
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def write_expected(sections):
    with open(EXPECTED, encoding="utf-8") as lines:
        head = [line for line in lines if line.startswith("#")]
    with open(EXPECTED, "w", encoding="utf-8") as out:
        out.writelines(head)
        for section in sorted(sections):
            out.write("\n[%s]\n" % section)
            if BESIDE in sections[section]:
                out.write("made beside %s\n" % sections[section].pop(BESIDE))
            for path, text in sections[section].items():
                out.write("%-37s%s\n" % (path, text))


class Known:
    """One line of known.txt; target (or target-version) and path may have wildcards."""

    def __init__(self, line, place):
        match = re.fullmatch(r"(\S+)\s+(\S+)\s+(\S+)\s+(\S.*)", line)
        if not match or match[3] not in [rule.__name__ for rule in RULES]:
            sys.exit("%s: not `target path rule reason`" % place)
        self.line = line
        self.target, self.path, self.rule, self.reason = match.groups()
        self.used = False

    def covers(self, target, path, rule):
        fits = fnmatch.fnmatchcase(path, self.path) and rule == self.rule
        self.used = self.used or fits
        return fits

    def is_for(self, target, major):
        return any(fnmatch.fnmatchcase(name, self.target) for name in (target, target + "-" + major))

    def is_unused(self, looked_at):
        """Only if every target, or the version, that it is about was looked at: {target: major}"""
        about = [target for target in TARGETS if fnmatch.fnmatchcase(target, self.target)]
        if not about:
            return not self.used and any(self.is_for(*one) for one in looked_at.items())
        return not self.used and all(target in looked_at for target in about)


def read_known():
    with open(KNOWN, encoding="utf-8") as lines:
        return [Known(line.strip(), "%s:%d" % (KNOWN, number))
                for number, line in enumerate(lines, 1) if line.strip() and line[0] != "#"]


def drop_lines(unused):
    """Takes lines out of known.txt. Nothing is ever added by itself."""
    with open(KNOWN, encoding="utf-8") as lines:
        kept = [line for line in lines if line.strip() not in unused]
    with open(KNOWN, "w", encoding="utf-8") as out:
        out.writelines(kept)


# ---- the test -----------------------------------------------------------------------------------

class Result:
    def __init__(self):
        self.failed, self.passed, self.known, self.skipped = 0, 0, 0, 0

    def say(self, good, text):
        if good:
            self.passed += 1
        else:
            self.failed += 1
            print("  FAILED %s" % text)
        return good


def check_bad(result, target, found):
    """Every path of bad.c breaks its rule and no other, and the good one none."""
    wanted = dict({"bad_" + rule.__name__: [rule.__name__] for rule in RULES}, good=[])
    wrong = 0
    for path, rules in wanted.items():
        now = list(broken(target, path, found)) if path in found else ["it is not there"]
        wrong += not result.say(now == rules, "%s: %s breaks %s, but: %s" % (
            target, path, ", ".join(rules) or "nothing", ", ".join(now) or "nothing"))
    if not wrong:
        print("  bad.c: each of the %d rules was broken once, and noticed" % len(RULES))


def check_paths(result, target, major, found, known, reviewed):
    """Returns how many rules are broken that nobody has reviewed."""
    unreviewed = 0
    here = [k for k in known if k.is_for(target, major)]
    for path, text in lists(found).items():
        print("  %-37s%s" % (path, text))
        rules = broken(target, path, found)
        for rule, why in rules.items():
            excuse = [k for k in here if k.covers(target, path, rule)]
            if excuse:
                result.known += 1
                print("    known (%s): it %s. %s" % (rule, why, excuse[0].reason))
            elif reviewed:
                result.say(False, "%s: %s %s (rule %s)" % (target, path, why, rule))
            else:
                unreviewed += 1
                print("    not reviewed: it %s (rule %s)" % (why, rule))
        result.passed += len(RULES) - len(rules)
    return unreviewed


def check_expected(result, section, found, expected, unreviewed):
    if section not in expected:
        result.skipped += 1
        print("SKIPPED %s: expected.txt is for %s: the mnemonics are not checked, and %d of the rules are "
              "broken by code of this version, which nobody has reviewed"
              % (section, ", ".join(sorted(expected)), unreviewed))
        return
    beside = base_of(section, expected)
    if beside and expected[section][BESIDE] != beside:
        result.skipped += 1
        print("SKIPPED %s: its part of expected.txt is older than that of %s: only the rules are checked, "
              "not the mnemonics (make it again by --update)" % (section, BASE))
        return
    now, wanted = lists(found), {k: v for k, v in expected[section].items() if k != BESIDE}
    for path in sorted(set(now) | set(wanted)):
        result.say(now.get(path) == wanted.get(path), "%s: %s\n    expected %s\n    found    %s" % (
            section, path, wanted.get(path, "nothing"), now.get(path, "nothing")))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source-dir", required=True)
    parser.add_argument("--build-dir", required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("target", nargs="*", help="default: all of " + " ".join(TARGETS))
    args = parser.parse_args()
    expected, known, result = read_expected(), read_known(), Result()
    exact = {}  # targets with the compiler version that the files were written for

    for target in args.target or TARGETS:
        try:
            section, found = look(target, args.source_dir, args.build_dir)
        except Skip as why:
            result.skipped += 1
            print("SKIPPED %s: %s" % (target, why))
            continue
        print("[%s]  instructions, and which" % section)
        check_bad(result, target, found)
        reviewed = args.update or section in expected
        unreviewed = check_paths(result, target, section.split()[1], found, known, reviewed)
        if reviewed:
            exact[target] = section.split()[1]
        if args.update:
            expected[section] = lists(found)
            if beside := base_of(section, expected):
                expected[section][BESIDE] = beside
        else:
            check_expected(result, section, found, expected, unreviewed)
    if args.update:
        write_expected(expected)
        drop_lines([k.line for k in known if k.is_unused(exact)])
    else:
        for k in known:
            result.say(not k.is_unused(exact),
                       "nothing breaks this any more, take it out of known.txt: " + k.line)
    print("%d passed, %d known, %d failed, %d skipped"
          % (result.passed, result.known, result.failed, result.skipped))
    if result.failed:
        return 1
    return 0 if result.passed else 77


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as error:
        sys.exit(str(error))
