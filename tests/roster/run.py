#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A new implementation is its header and one roster row: add three, and find them everywhere.

    run.py --source-dir DIR --work-dir DIR --cmake CMAKE --cc CC --cxx CXX

In a copy of the tree, the header of one spinlock is written again under
another name, and gets an include and a row in its family's roster. Nothing else is changed, which is
counted. Then the new name must be in what each of these shows:

    battery         its KTAP, with no fault
    stress          what the stress programs print
    headers         the checks of it as the family's default
    codegen         the listing of fast paths
    instructions    the rows of the table
    lab             the rows of hf-lab's table
    bare            the strings of the bare-metal image

CONTRIBUTING.md says what a real one needs besides: words, a model, and three texts to review.
"""
import argparse
import concurrent.futures
import json
import os
import platform
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import ktap  # noqa: E402
import mutation  # noqa: E402

NEW = "throwaway"

# family: whose header is written again
FAMILIES = {"spinlock": "ticket"}

HOST = platform.machine()
CODEGEN = {"x86_64": "x86_64-gcc", "aarch64": "aarch64-gcc-lse"}
INSTRUCTIONS = {"x86_64": "x86-64", "aarch64": "aarch64-lse"}
CANT_RUN = 77


class Failed(Exception):
    """A step that must work did not."""


def run(*command, status=(0,), **more):
    """The output, standard error too."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False, **more)
    if done.returncode not in status:
        raise Failed("%s: exit status %d\n%s" % (" ".join(command), done.returncode,
                                                 done.stdout[-1500:]))
    return done.stdout


def python(code, *arguments):
    """Runs code of the copy: its runners' functions."""
    return run(sys.executable, "-B", "-c", code, *arguments)


# ---- the copy ------------------------------------------------------------------------------------

def sources(folder):
    """What belongs to the project: what git knows or would add, or all but what is built."""
    if os.path.exists(os.path.join(folder, ".git")) and shutil.which("git"):
        names = run("git", "-C", folder, "ls-files", "-z", "--cached", "--others",
                    "--exclude-standard").split("\0")
        return sorted(name for name in names if os.path.isfile(os.path.join(folder, name)))
    found = []
    for top, folders, names in os.walk(folder):
        if top == folder:
            folders[:] = [name for name in folders if name not in ("build", ".git")]
        found += [os.path.relpath(os.path.join(top, name), folder) for name in names]
    return sorted(found)


def renamed(text, family, old):
    """A header's text under the new name: all names that it defines."""
    for case in (str, str.upper):
        text = text.replace("%s_%s" % (case(family), case(old)), "%s_%s" % (case(family), case(NEW)))
    return re.sub(r"^(#define HF_DETAIL_%s) %s$" % (family.upper(), old), r"\1 " + NEW, text,
                  flags=re.MULTILINE)


def add(tree, family, old):
    """The header, the include and the row. Returns the files that this touched."""
    top = os.path.join("include", "holdfast")
    header = os.path.join(top, family, NEW + ".h")
    with open(os.path.join(tree, top, family, old + ".h"), encoding="utf-8") as file:
        text = renamed(file.read(), family, old)
    with open(os.path.join(tree, header), "w", encoding="utf-8") as file:
        file.write(text)
    roster = os.path.join(top, family + ".h")
    include = '#include "%s/%s.h"\n'
    mutation.edit(os.path.join(tree, roster), mutation.swap(
        include % (family, old), include % (family, old) + include % (family, NEW)))

    def row(text):
        found = re.findall(r"^\tX\(%s,.*?\)" % old, text, re.MULTILINE)
        if len(found) != 1:
            raise mutation.Stale("%d rows of %s" % (len(found), old))
        another = re.sub(r"\b%s\b" % old, NEW, found[0])
        another = re.sub(r"\b%s\b" % old.upper(), NEW.upper(), another)
        return text.replace(found[0], another + " \\\n" + found[0])

    mutation.edit(os.path.join(tree, roster), row)
    return {header, roster}


def changed(source, tree):
    """The files in which the copy differs."""
    def read(folder, name):
        with open(os.path.join(folder, name), "rb") as file:
            return file.read()
    here, there = set(sources(source)), set(sources(tree))
    return (here ^ there) | {name for name in here & there if read(source, name) != read(tree, name)}


# ---- where it must be ----------------------------------------------------------------------------

class Place:
    """What one tool shows of the copy: text in which `<family>.<name>` is looked for."""

    def __init__(self, args, tree):
        self.args, self.tree, self.work = args, tree, args.work_dir
        self.build = os.path.join(self.work, "build")

    def path(self, *parts):
        return os.path.join(self.tree, *parts)

    def make(self):
        run(self.args.cmake, "-S", self.tree, "-B", self.build, "-G", "Ninja",
            # Nothing is measured: not optimised, for it is built in half of the time.
            "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS_RELEASE=-O0", "-DCMAKE_CXX_FLAGS_RELEASE=-O0",
            "-DHOLDFAST_BUILD_TMPFS=OFF", "-DHOLDFAST_BUILD_EXAMPLES=OFF",
            "-DCMAKE_C_COMPILER=" + self.args.cc, "-DCMAKE_CXX_COMPILER=" + self.args.cxx)
        run(self.args.cmake, "--build", self.build, "-j", "2", "--target", "battery", "hf-lab",
            *["stress_" + family for family in FAMILIES])

    def battery(self):
        text = run(os.path.join(self.build, "tests", "battery"))
        verdict = ktap.judge(text)
        if verdict.faults:
            raise Failed("\n".join(verdict.faults))
        return "\n".join(verdict.passed)

    def stress(self):
        return "".join(run(os.path.join(self.build, "tests", "stress_" + family))
                       for family in FAMILIES)

    def headers(self):
        return run(sys.executable, "-B", self.path("tests", "headers", "run.py"), "--source-dir",
                   self.tree, "--build-dir", os.path.join(self.work, "headers"),
                   *["HF_%s_DEFAULT=%s" % (family.upper(), NEW) for family in FAMILIES],
                   status=(0, CANT_RUN))

    def codegen(self):
        # It fails: expected.txt has nothing of the new ones.
        target = CODEGEN.get(HOST)
        if not target:
            raise mutation.Skip("not for " + HOST)
        text = run(sys.executable, "-B", self.path("tests", "codegen", "run.py"), "--source-dir",
                   self.tree, "--build-dir", os.path.join(self.work, "codegen"), target,
                   status=(0, 1, CANT_RUN))
        if skipped := re.search(r"^SKIPPED %s: (.*)" % target, text, re.MULTILINE):
            if not re.search(r"^\[%s" % target, text, re.MULTILINE):
                raise mutation.Skip(skipped[1])
        return "\n".join(re.findall(r"^  (\w+ +(?:\d|=).*)", text, re.MULTILINE))

    def instructions(self):
        column = INSTRUCTIONS.get(HOST)
        if not column:
            raise mutation.Skip("not for " + HOST)
        text = python("import sys; sys.path.insert(0, sys.argv[1]); import run\n"
                      "try:\n    run.tools(sys.argv[2])\n"
                      "except run.Skip as why:\n    sys.exit(print('SKIPPED', why))\n"
                      "print('\\n'.join(run.count(*sys.argv[2:])))",
                      self.path("lab", "instructions"), column, self.tree,
                      os.path.join(self.work, "instructions"))
        if text.startswith("SKIPPED"):
            raise mutation.Skip(text.split(None, 1)[1].strip())
        # "spinlock lock ticket": family, operation, implementation
        return re.sub(r"(?m)^(\w+) \S+ (\w+)$", r"\1.\2", text)

    def lab(self):
        found = []
        for family in FAMILIES:
            results = os.path.join(self.work, family + ".json")
            said = run(os.path.join(self.build, "lab", "hf-lab"), family, "--window-ms", "1",
                       "--rounds", "1", "--threads", "1", "--only", NEW + "*", "--json", results,
                       status=(0, 2))
            if "nothing matches" not in said:
                with open(results, encoding="utf-8") as file:
                    found += ["%s.%s" % (row["table"], row["variant"])
                              for row in json.load(file)["rows"]]
        return "\n".join(found)

    def bare(self):
        compiler = os.environ.get("HF_BARE_CC", "aarch64-linux-gnu-gcc")
        if not shutil.which(compiler):
            raise mutation.Skip("no " + compiler)
        image = python("import sys; sys.path.insert(0, sys.argv[1]); import run\n"
                       "print(run.build('plain', [], None))", self.path("port", "bare"))
        with open(image.split()[-1], "rb") as file:
            return "\n".join(word.decode() for word in re.findall(rb"[\x20-\x7e]{4,}", file.read()))


def look(place, name):
    """[(state, text)], one for each family."""
    try:
        text = getattr(place, name)()
    except mutation.Skip as why:
        return [("SKIPPED", "%s: %s" % (name, why))]
    except Failed as why:
        return [("FAILED", "%s: %s" % (name, why))]
    return [("ok", "%s: %s %s" % (name, family, NEW))
            if re.search(r"%s(_DEFAULT=|[._])%s" % (family, NEW), text, re.IGNORECASE) else
            ("FAILED", "%s: has no %s %s" % (name, family, NEW)) for family in FAMILIES]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--source-dir", "--work-dir", "--cmake", "--cc", "--cxx"):
        parser.add_argument(name, required=True)
    args = parser.parse_args()
    args.work_dir, args.source_dir = map(os.path.abspath, (args.work_dir, args.source_dir))
    shutil.rmtree(args.work_dir, ignore_errors=True)
    tree = mutation.copy(args.source_dir, os.path.join(args.work_dir, "tree"),
                         *sources(args.source_dir))
    touched = set().union(*(add(tree, family, old) for family, old in FAMILIES.items()))
    place, said = Place(args, tree), []

    def one_by_one(names):
        for name in names:
            for state, text in look(place, name):
                said.append(state)
                print("%s %s" % (state, text), flush=True)

    def built():
        try:
            place.make()
        except Failed as why:
            said.append("FAILED")
            print("FAILED build: %s" % why, flush=True)
            return
        one_by_one(("battery", "stress", "lab"))

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for job in (pool.submit(built),
                    pool.submit(one_by_one, ("bare", "codegen", "instructions", "headers"))):
            job.result()
    files = changed(args.source_dir, tree)
    state = "ok" if files == touched else "FAILED"
    said.append(state)
    print("%s files touched, two for each: %s" % (state, " ".join(sorted(files))))
    print("%d passed, %d failed" % (said.count("ok"), said.count("FAILED")))
    return 1 if "FAILED" in said else 0


if __name__ == "__main__":
    sys.exit(main())
