#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/testing.md's tables of what `make test` runs, made from what it runs.

    tested.py            fail if docs/testing.md says something else
    tested.py --update   write them, between its two marks

Nothing is listed by hand here but the headers' names and NOTES: a cell is made of the files that a stage
builds and runs (the same that tests/CMakeLists.txt and the ports' runners take), the second table of the
stages of scripts/test.py with their presets' names, and the compilers of tests/compilers/run.py.
"""
import glob
import importlib.util
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "testing.md")
BEGIN, END = "<!-- tested: begin -->\n", "<!-- tested: end -->\n"

# row: the stems of its files
ROWS = {
    "refcount": ["refcount", "refcount_lock"],
    "spinlock": ["spinlock"],
    "lockref": ["lockref", "lockref_waitfree"],
    "rcuref": ["rcuref"],
    "mutex, cond": ["mutex", "cond"],
    "region, safe": ["region", "safe"],
    "nofault": ["nofault"],
    "report": ["report"],
    "validate": ["validate"],
}

# column: the stages that make it
COLUMNS = {
    "Linux program, x86-64": ["release", "asan", "tsan", "tsan-clang"],
    "AArch64 (qemu)": ["aarch64", "aarch64-lse"],
    "RISC-V, s390x (qemu)": ["riscv64", "s390x"],
    "freestanding": ["release"],
    "bare metal (QEMU, 4 × Cortex-A53)": ["bare"],
    "Linux module (QEMU; x86-64, arm64)": ["kernel"],
}

# What no file shows.
NOTES = {
    ("nofault", "AArch64 (qemu)"): "faults of DC ZVA not",
    ("region, safe", "RISC-V, s390x (qemu)"): "a file's end on s390x not",
}


def module(*path):
    """A script of ours, as a module."""
    file = os.path.join(ROOT, *path)
    spec = importlib.util.spec_from_file_location(path[-1][:-3], file)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def there(*patterns):
    return any(glob.glob(os.path.join(ROOT, "tests", pattern)) for pattern in patterns)


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def cell(row, column):
    """What is done with these headers there."""
    stems, words = ROWS[row], []
    unit = any(there("unit/%s.cpp" % stem, "unit/%s_*.cpp" % stem) for stem in stems)
    battery = any(there("battery/%s_cases.c" % stem) for stem in stems)
    rosters = ["SPINLOCKS" if stem == "spinlock" else "HF_%s_ROSTER" % stem.upper() for stem in stems]
    if column == "Linux program, x86-64":
        words += ["tested"] * (unit or battery)
        words += ["model-checked"] * any(there("model/%s.cpp" % stem) for stem in stems)
        words += ["stressed"] * any(there("stress/%s.cpp" % stem) for stem in stems)
        words += ["every size and place"] * any(there("%s/sweep.c" % stem) for stem in stems)
    elif column.endswith("(qemu)"):
        words += ["tested"] * (unit or battery)
        words += ["LL/SC and LSE"] * ("aarch64-lse" in COLUMNS[column] and battery and row != "nofault")
    elif column == "freestanding":
        words += ["compiles"] * battery  # tests/headers: all that the battery includes
    elif column.startswith("bare metal"):
        words += ["tested"] * battery
        words += ["contended"] * any(roster in text_of("port", "bare", "handoff.c") for roster in rosters)
    else:
        words += ["tested"] * battery
        words += ["contended"] * any(roster in text_of("port", "kernel", "handoff.c") for roster in rosters)
        words += ["against the kernel's"] * any(
            re.search(r"linux/%s\.h" % stem, text_of("port", "kernel", "differential.c")) for stem in stems)
        words += ["on a user's pages"] * (row == "nofault" and "user_memory" in text_of("port", "kernel", "Kbuild"))
    if (row, column) in NOTES and words:
        words.append(NOTES[row, column])
    return ", ".join(words) or "-"


def compilers():
    """"gcc 11 to 14, clang 14 to 19\""""
    versions = module("tests", "compilers", "run.py").VERSIONS
    return ", ".join("%s %d to %d" % (name, min(these), max(these)) for name, these in versions.items())


def stages():
    """(name, what it is) of all stages."""
    presets = {preset["name"]: preset.get("displayName", "") for preset in
               json.loads(text_of("CMakePresets.json"))["configurePresets"]}
    help_of = dict(re.findall(r"^([a-z-]+):.*?## (.*)", text_of("Makefile"), re.MULTILINE))
    for name, function in module("scripts", "test.py").STAGES.items():
        said = (function.__doc__ or name).strip().split("\n")[0]
        if said.startswith(("Configure,", "The port of")):  # one function for several stages
            said = presets.get(name) or help_of.get(name)
        yield name, (said[:1].lower() + said[1:]).rstrip(".")


def tables():
    test = module("scripts", "test.py")
    for column, names in COLUMNS.items():
        if missing := [name for name in names if name not in test.STAGES]:
            sys.exit("tested.py: %s: no stage %s" % (column, " ".join(missing)))
    lines = ["| | " + " | ".join(COLUMNS) + " |", "| --- " * (len(COLUMNS) + 1) + "|"]
    lines += ["| %s | %s |" % (row, " | ".join(cell(row, column) for column in COLUMNS)) for row in ROWS]
    lines += ["", "| stage | what |", "| --- | --- |"]
    lines += ["| `%s` | %s |" % stage for stage in stages()]
    lines += ["", "Built without a warning by %s, those of them that the machine has; the stages use the "
              "system's own." % compilers()]
    return "\n".join(lines) + "\n"


def main(arguments):
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit("docs/testing.md: not one %s and one %s" % (BEGIN.strip(), END.strip()))
    before, rest = text.split(BEGIN)
    now, after = rest.split(END)
    wanted = tables()
    if arguments == ["--update"]:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(before + BEGIN + wanted + END + after)
        return 0
    if now != wanted:
        print("docs/testing.md does not say what is tested: scripts/tested.py --update writes it. It should be")
        print(wanted)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
