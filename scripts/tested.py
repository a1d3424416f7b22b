#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Generate the tables of docs/testing.md from the tests that `make test-all` runs.

    tested.py                  fail if docs/testing.md differs
    tested.py --stage STAGE    the same; compare the column of this stage, which must have been built
    tested.py --update         write the tables between the two marks

The columns of Linux programs come from the labels of the tests that ctest lists for a stage (tests/areas.txt), and from the
suites of the unit tests, which begin with the name of a row; so they need the stage's build folder. Each
stage checks its own column (the test readme.tested). --update keeps the column of a stage that has not been built, and
reports that. The columns of the ports come from the suites of the battery, which all ports run, and from the locks and
headers that their own programs name. The second table lists the stages of scripts/test.py, and the compilers of
tests/compilers/run.py.
"""
import argparse
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, folder) for folder in ("scripts", "tests/compilers")]

import areas  # noqa: E402
import run as compilers  # noqa: E402 (tests/compilers/run.py)
import test  # noqa: E402 (scripts/test.py)

PAGE = os.path.join(ROOT, "docs", "testing.md")
BEGIN, END = "<!-- tested: begin -->\n", "<!-- tested: end -->\n"

# Each is one area, or several.
ROWS = ["refcount", "spinlock", "lockref", "rcuref", "mutex, cond", "region, safe", "nofault", "report", "validate"]

# column: its stages. The first stage determines the cells; the others must test the same rows. tsan-clang and aarch64-lse
# are left out, since they only repeat the battery and the stress tests.
COLUMNS = {
    "Linux program, x86-64": ["release", "asan", "tsan"],
    "AArch64 (qemu)": ["aarch64"],
    "RISC-V, s390x (qemu)": ["riscv64", "s390x"],
    "freestanding": ["release"],
    "bare metal (QEMU, 4 × Cortex-A53)": ["bare"],
    "Linux module (QEMU; x86-64, arm64)": ["kernel"],
}

# Exceptions that can't be derived from files.
NOTES = {
    ("nofault", "AArch64 (qemu)"): "faults of DC ZVA not",
    ("region, safe", "RISC-V, s390x (qemu)"): "a file's end on s390x not",
}


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def registered(stage):
    """The tests that ctest runs for a stage; none if the stage has not been built."""
    tests = areas.tests(stage)
    return [] if any(re.match(r"unit_.*_NOT_BUILT$", test.name) for test in tests) else tests


def suites():
    """The suites of the battery."""
    lists = re.findall(r"#define BATTERY_SUITES\(X\)((?:.*\\\n)*.*)", text_of("tests", "battery", "battery.h"))
    return set(re.findall(r"\bX\((\w+)\)", lists[-1]))


def words(row, column, tests):
    """The words of a cell: how the row's headers are tested on the column's platform."""
    of_row = row.split(", ")
    names = "(%s)" % "|".join(of_row)
    battery = any(suite.startswith(tuple(of_row)) for suite in suites())

    def has(kind):
        """Whether a test of the row's areas is of this kind."""
        return any(re.match(kind, test.name) for test in tests if set(of_row) & set(test.labels))

    def has_unit_tests():
        return any(re.match(r"unit\w*tests\.(\w+/)?(validate)?%s" % names, test.name, re.IGNORECASE) for test in tests)

    is_emulated = column.endswith("(qemu)")
    is_program = column.startswith(("Linux program", "freestanding")) or is_emulated
    if column == "freestanding":  # the test `headers` compiles all that the battery includes
        return ["compiles"] * (battery and any(test.name == "headers" for test in tests))
    there = [
        ("tested", has_unit_tests() or battery and any(test.name == "battery" for test in tests) if is_program else battery),
        ("LL/SC and LSE", "aarch64" in COLUMNS[column] and battery and row != "nofault"),
    ]
    if column.startswith("Linux program"):
        there += [("model-checked", has(r"model\.(?!.*\.mutant)")), ("stressed", has(r"stress\.")),
                  ("every size and place", has(r"\w+\.sweep"))]
    elif not is_emulated:
        locks = re.search(r"#define HANDOFF_LOCKS\(X\)((?:.*\\\n)*.*)", text_of("port", "handoff.h"))[1] \
            if "handoff.h" in text_of("port", COLUMNS[column][0], "handoff.c") else ""
        kernels = COLUMNS[column] == ["kernel"]
        there += [
            ("contended", re.search(r", (hf|handoff)_%s" % names, locks)),
            ("against the kernel's", kernels and any("linux/%s.h" % name in text_of("port", "kernel", "differential.c")
                                                     for name in of_row)),
            ("on a user's pages", kernels and row == "nofault" and "user_memory" in text_of("port", "kernel", "Kbuild")),
        ]
    found = [word for word, good in there if good]
    return found + ([NOTES[row, column]] if found and (row, column) in NOTES else [])


def cells(column, page, stage):
    """The cells of a column; those on the page if the column's stage has not been built."""
    before = [line.split(" | ")[1 + list(COLUMNS).index(column)].rstrip(" |") for line in page.splitlines()
              if line[2:].split(" | ")[0] in ROWS]
    shows, *others = COLUMNS[column]
    if shows in ("bare", "kernel"):
        return [", ".join(words(row, column, [])) or "-" for row in ROWS]
    looked_at = stage if stage in others else shows
    if stage not in (None, looked_at):
        return before
    tests = registered(looked_at)
    if not tests:
        print("SKIPPED %s: the stage %s has not been built" % (column, looked_at))
        return before
    if looked_at == shows:
        return [", ".join(words(row, column, tests)) or "-" for row in ROWS]
    return [cell if cell == "-" or "tested" in words(row, column, tests) else "not tested by " + stage
            for row, cell in zip(ROWS, before)]


def stages():
    """Yields (name, description) of each stage."""
    presets = {preset["name"]: preset.get("displayName", "") for preset in
               json.loads(text_of("CMakePresets.json"))["configurePresets"]}
    help_of = dict(re.findall(r"^([a-z-]+):.*?## (.*)", text_of("Makefile"), re.MULTILINE))
    for name, function in test.STAGES.items():
        said = (function.__doc__ or name).strip().split("\n")[0]
        if said.startswith(("Configure,", "The port of")):  # one function for several stages
            said = presets.get(name) or help_of.get(name)
        yield name, (said[:1].lower() + said[1:]).rstrip(".")


def tables(page, stage):
    for column, names in COLUMNS.items():
        if missing := [name for name in names if name not in test.STAGES]:
            sys.exit("tested.py: %s: no stage %s" % (column, " ".join(missing)))
    columns = [cells(column, page, stage) for column in COLUMNS]
    lines = ["| | " + " | ".join(COLUMNS) + " |", "| --- " * (len(COLUMNS) + 1) + "|"]
    lines += ["| %s | %s |" % (row, " | ".join(column[n] for column in columns)) for n, row in enumerate(ROWS)]
    lines += ["", "| stage | what |", "| --- | --- |"]
    lines += ["| `%s` | %s |" % stage for stage in stages()]
    versions = ", ".join("%s %d to %d" % (name, min(these), max(these)) for name, these in compilers.VERSIONS.items())
    lines += ["", "Built without a warning by %s, those of them that the machine has; the stages use the system's own." % versions]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stage")
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    text = text_of("docs", "testing.md")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit("docs/testing.md: %s and %s must occur once each" % (BEGIN.strip(), END.strip()))
    before, rest = text.split(BEGIN)
    now, after = rest.split(END)
    wanted = tables(now, args.stage)
    if args.update:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(before + BEGIN + wanted + END + after)
        return 0
    if now != wanted:
        print("docs/testing.md is out of date: run scripts/tested.py --update. The tables should be")
        print(wanted)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
