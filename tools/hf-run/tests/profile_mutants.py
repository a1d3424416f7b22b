#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build hf-run's library with one flaw each in what records or prints a profile, which a known program must show.

    profile_mutants.py --source-dir DIR --work-dir DIR --parts LIBRARY --programs NAME=PATH,... --cc COMPILER

Each row names the case: a program, and what is expected of its end and its profile.
"""
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "tests"))

import mutation  # noqa: E402
from checks import Failed, arguments, read, run, sources, start  # noqa: E402

SECONDS = 60  # a hang is caught
PROFILE = ("src", "profile")


def rows(profile, name):
    return [row for row in profile["mutexes"] if name in row["object"]]


def exact(profile):
    row = rows(profile, "known")[0]
    return row["taken"] == 4002 and row["contended"] >= 1 and "wait_once" in str(row["waited_at"])


def many(profile):
    return len(rows(profile, "many")) == 10000 and all(row["taken"] == 2 for row in rows(profile, "many"))


def sorted_rows(profile):
    waits = [row["wait_ns"] for row in profile["mutexes"]]
    return waits == sorted(waits, reverse=True)


def wrapped(profile):
    return sorted(row["objects"] for row in profile["mutexes"] if "make_wrapped" in str(row["stack"][:1])) == [10, 10]


def any_profile(_profile):
    return True


CASES = {  # the program, its argument, what is true of the profile
    "exact": ("counts", "exit", exact), "many": ("counts", "many", many), "wrapped": ("counts", "wrapped", wrapped),
    "relock": ("counts", "relock", sorted_rows), "small": ("counts", "small", any_profile), "own": ("own", "", any_profile),
}

# Name, file, before, after, case.
MUTANTS = [
    ("table.half_a_key", "table.c", "\t\tif (entry->key == key)", "\t\tif (entry->key >> 48 == key >> 48)", "many"),
    ("table.part_ends_early", "table.c", "\treturn first ? first + index * bytes : NULL;",
     "\treturn first ? first + index % 1024 * bytes : NULL;", "many"),
    ("table.one_part", "table.c", "\t\tif (part >= HF_DETAIL_TABLE_PARTS)\n", "\t\tif (part >= 6)\n", "many"),
    ("print.sorted_upwards", "print.c", "a->wait > b->wait : a->used", "a->wait < b->wait : a->used", "relock"),
    ("profile.no_stack", "profile.c", "\tsite->stack.count = stack->count;\n", "", "exact"),
    ("place.first_one_only", "run_profile.c", "reach(&me->records, place + 1, ", "reach(&me->records, 2, ", "exact"),
    ("stack.first_address_only", "run_memo.c", "\tfor (uint32_t i = 0; i < memo->stack.count; i++) {",
     "\tfor (uint32_t i = 0; i < 1; i++) {", "wrapped"),
    ("stack.by_libgcc", "run_place.c", "\tif (is_unwinding)\n\t\treturn find_table(address, bases);\n", "", "own"),
    ("symbol.fstat", "symbol.c", "\toff_t end = lseek(file, 0, SEEK_END);\n",
     "\tstruct stat status;\n\toff_t end = fstat(file, &status) == 0 ? status.st_size : -1;\n", "own"),
    ("print.on_the_stack", "print.c", "\tva_list arguments;\n\tint len;\n\n\tif (p->len >",
     "\tvolatile char more[65536];\n\tva_list arguments;\n\tint len;\n\n\tfor (int i = 65535; i > 0; i -= 1024)\n"
     "\t\tmore[i] = 0;\n\tif (p->len >", "small"),
]


def path_of(folder, file):
    return os.path.join(folder, *(("tools", "hf-run") if file.startswith("run_") else PROFILE), file)


def compiled(options, folder, source):
    """Compile one of the folder's files. Return the object file."""
    include = [word for part in ("include", "tools/hf-run") for word in ("-I", os.path.join(folder, part))]
    run(options.cc, "-std=gnu11", "-O1", "-fPIC", "-fvisibility=hidden", "-fexceptions", "-ftls-model=initial-exec", "-pthread",
        "-D_GNU_SOURCE=", "-DHF_STAYS_LOADED", "-include", "sys/stat.h", *include,
        *([] if "run_" in os.path.basename(source) else ["-include", os.path.join(folder, "tools", "hf-run", "site.h")]),
        "-c", source, "-o", source + ".o")
    return source + ".o"


def fault_of(options, folder, objects, case):
    """Link the library, and run the case. Return a status and a line that says what is wrong, or 0 and nothing."""
    library, output = os.path.join(folder, "lib.so"), os.path.join(folder, "profile")
    run(options.cc, "-shared", "-pthread", *objects, options.parts, "-o", library, "-Wl,-z,now,-z,nodelete",
        "-Wl,--version-script=" + os.path.join(folder, "tools", "hf-run", "run.map"))
    program, argument, is_right = CASES[case]
    try:
        done = subprocess.run([options.programs[program], *argument.split()], capture_output=True, timeout=SECONDS, check=False,
                              env=dict(os.environ, LD_PRELOAD=library, HF_RUN_PROFILE=output, HF_RUN_SIGNAL="12"))
    except subprocess.TimeoutExpired:
        return 1, "%s hangs" % case
    if done.returncode != 7:
        return 1, "%s ends with status %d" % (case, done.returncode)
    return (0, "") if is_right(json.loads(read(output + ".json"))) else (1, "%s has a wrong profile" % case)


def main():
    options = arguments(__doc__, "source-dir", "work-dir", "parts", "programs", "cc")
    options.programs = dict(word.split("=", 1) for word in options.programs.split(","))

    def copy(name):
        return mutation.copy(options.source_dir, os.path.join(options.work_dir, name), "include", "tools/hf-run", "src")

    whole = copy("unchanged")
    objects = {os.path.basename(path): compiled(options, whole, path)
               for path in sources(whole, "tools", "hf-run", pattern="run_*.c") + sources(whole, *PROFILE, pattern="*.c")}
    for case in CASES:
        wrong = fault_of(options, whole, objects.values(), case)[1]
        if wrong:
            raise Failed("the library without a flaw: " + wrong)
    print("ok unchanged", flush=True)

    def one(name, file, before, after, case):
        folder = copy(name)
        mutation.edit(path_of(folder, file), mutation.swap(before, after))
        flawed = compiled(options, folder, path_of(folder, file))
        status, wrong = fault_of(options, folder, {**objects, file: flawed}.values(), case)
        return mutation.must_fail(status, wrong, "^%s " % case)

    return mutation.run_all([(mutant[0], *mutant) for mutant in MUTANTS], one, jobs=2)


start(main)
