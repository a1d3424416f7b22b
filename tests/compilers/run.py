#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the library and headers with each installed version of gcc and clang: VERSIONS.

    run.py --source-dir DIR --work-dir DIR

  library    src/, with and without optimisation
  headers    all in one unit, every function emitted: C11 and C++17, strict and GNU
  programs   packaging/program.c and .cpp with each standard, and the options that programs are built with; they run
  refused    an unsupported target gets an explanatory #error: old or other compilers, 32-bit programs
  musl       the battery by musl-gcc, linked statically and dynamically

tests/headers already compiles the headers with the versions called `gcc` and `clang`.

Warnings are errors. Exits with 1 on a failure, with 77 if no compiler is installed.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from checks import Checks, Skip, arguments, read, run, sanitizer_prefix, sources, write  # noqa: E402
from versions import version_of as version_of_headers  # noqa: E402

VERSIONS = {"gcc": range(11, 15), "clang": range(14, 20)}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
# Each standard, and each way in which programs are built, once for C and once for C++ where it differs.
PROGRAMS = ["c gnu89 -O0", "c c99 -O1", "c gnu99 -O2 -static", "c c11 -O3 -flto", "c gnu17 -Os -static-pie",
            "c c2x -O2 -fsanitize=address,undefined", "c gnu11 -O1 -fsanitize=thread", "cpp c++11 -O0", "cpp c++14 -O2 -static",
            "cpp gnu++17 -O3 -flto", "cpp c++20 -Os -fsanitize=undefined", "cpp c++2b -O2 -DHF_VALIDATE=1"]
# Suppresses warnings in users' builds; removed here.
SYSTEM_HEADER = "#pragma GCC system_header\n"


def version_of(compiler):
    """Return the major version, 12 for gcc 12.2.0; None if the compiler is not installed."""
    if not shutil.which(compiler):
        return None
    done = subprocess.run([compiler, "-dumpversion"], stdout=subprocess.PIPE, text=True, check=False)
    match = re.match(r"(\d+)", done.stdout)
    return int(match[1]) if match and done.returncode == 0 else None


def find():
    """Return {name: (C compiler, C++ compiler)}, and the names that are not installed."""
    found, missing = {}, []
    for family, versions in VERSIONS.items():
        plain = {"gcc": "g++", "clang": "clang++"}[family]
        usual = version_of(family)
        for version in versions:
            name = "%s-%d" % (family, version)
            if version_of(name) == version:
                found[name] = (name, "%s-%d" % (plain, version))
            elif usual == version:
                found[name] = (family, plain)
            else:
                missing.append(name)
    return found, missing


def public_headers(source):
    return sorted(name for name in os.listdir(os.path.join(source, "include", "holdfast"))
                  if name.endswith(".h"))


class Check:
    """The checks of one compiler."""

    def __init__(self, args, name, c, cxx):
        self.source, self.c, self.cxx = args.source_dir, c, cxx
        self.folder = os.path.join(args.work_dir, name)
        self.include = os.path.join(args.work_dir, "include")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)

    def library(self):
        # As released; and without optimisation, where compilers warn about other things.
        for optimise in ("-O2", "-O0"):
            objects = []
            for file in sources(self.source, "src") + sources(self.source, "bindings", "extern", "src"):
                objects.append(os.path.join(self.folder, "lib%s_%s.o" % (
                    optimise, os.path.relpath(file, self.source).replace("/", "_"))))
                run(self.c, "-std=gnu11", optimise, *WARNINGS, "-Wa,--fatal-warnings", "-fPIC", "-fvisibility=hidden",
                    "-DHF_STATIC_LIBRARY", "-I" + os.path.join(self.source, "include"), "-c", file,
                    "-o", objects[-1])
            archive = os.path.join(self.folder, "libholdfast%s.a" % optimise)
            run("ar", "rcs", archive, *objects)

    def headers(self):
        unit = os.path.join(self.folder, "headers")
        text = "".join('#include "holdfast/%s"\n' % name for name in public_headers(self.source))
        for cxx, std in ((False, "c11"), (False, "gnu11"), (True, "c++17"), (True, "gnu++17")):
            if cxx and not version_of(self.cxx):
                continue
            file = write(unit + (".cpp" if cxx else ".c"), text)
            run(self.cxx if cxx else self.c, "-std=" + std, "-O1", *WARNINGS, "-Wshadow",
                "-fkeep-inline-functions" if self.c.startswith("gcc") else "-Wno-unused-function",
                "-I" + self.include, "-c", file, "-o", unit + ".o")

    def programs(self):
        missing = []
        for language, standard, *options in map(str.split, PROGRAMS):
            compiler = self.cxx if language == "cpp" else self.c
            program = os.path.join(self.folder, "program")
            try:
                prefix = sanitizer_prefix(compiler, *options, program=program)
            except Skip:
                missing.append(" ".join([standard, *options]))
                continue
            run(compiler, "-std=" + standard, *options, *WARNINGS, "-I" + os.path.join(self.source, "include"),
                os.path.join(self.source, "packaging", "program." + language), os.path.join(self.folder, "libholdfast-O2.a"),
                "-pthread", "-o", program)
            run(*prefix, program, version_of_headers(self.source))
        if missing:
            raise Skip("all others pass; not built here: " + ", ".join(missing))


# (target, compiler, options, regular expression for the first error)
OLD = ["-U__GNUC__", "-D__GNUC__=7"]
REFUSED = [
    ("32 bits", "gcc", ["-m32"], "64-bit pointers.*with -m64"),
    ("x32", "gcc", ["-mx32"], "64-bit pointers.*with -m64"),
    ("32-bit Arm", "clang", ["--target=armv7-none-eabi"], "64-bit pointers"),
    ("32-bit RISC-V", "clang", ["--target=riscv32-none-elf"], "64-bit pointers"),
    ("old gcc", "gcc", OLD, "needs gcc 8 or newer"),
    ("old clang", "clang", ["-U__clang_major__", "-D__clang_major__=9"], "needs clang 10 or newer"),
    ("C90", "gcc", ["-std=c90"], "needs C99 or newer, or GNU C"),
    ("C++98", "gcc", ["-x", "c++", "-std=c++98"], "needs C[+][+]11 or newer"),
    ("another compiler", "gcc", ["-U__GNUC__"], "MSVC lacks"),
]


def refused(args, checks):
    """Each public header refuses an unsupported compiler by an #error before any other error."""
    for name, compiler, options, words in REFUSED:
        if not shutil.which(compiler):
            checks.skip("refused " + name, "%s is not installed" % compiler)
            continue
        command = [compiler, "-x", "c", "-ffreestanding", "-fsyntax-only", "-I",
                   os.path.join(args.source_dir, "include"), *options, "-"]

        def compiled(header):
            return subprocess.run(command, input="#include <%s>\n" % header, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, check=False)
        if compiled("stdint.h").returncode:
            checks.skip("refused " + name, "%s does not support this target" % compiler)
            continue
        wrong = None
        for header in public_headers(args.source_dir):
            done = compiled("holdfast/" + header)
            first = re.search(r"error: (.*)", done.stdout)
            if not done.returncode or not first or not re.search(words, first[1]):
                wrong = "%s: %s" % (header, first[1] if first else "no error")
                break
        checks.wrong("refused " + name, wrong)


def musl(args, checks):
    if not shutil.which("musl-gcc"):
        checks.skip("musl", "no musl-gcc (Debian: musl-tools)")
        return
    files = sources(args.source_dir, "src") + sources(args.source_dir, "tests", "battery")

    def built_and_run(name, *more):
        program = os.path.join(args.work_dir, "battery_" + name)
        run("musl-gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-UNDEBUG", *more,
            "-I" + os.path.join(args.source_dir, "include"), "-I" + os.path.join(args.source_dir, "src"), *files, "-o", program,
            "-pthread")
        run(sys.executable, os.path.join(args.source_dir, "tests", "ktap.py"), program)

    checks.attempt("musl, static", built_and_run, "static", "-static")
    checks.attempt("musl, dynamic", built_and_run, "dynamic")


def main():
    args = arguments(__doc__, "source-dir", "work-dir")
    found, missing = find()
    checks = Checks()
    for name in missing:
        checks.skip(name, "it is not installed")
    if not found:
        return 77
    # A copy of the headers in which warnings are not suppressed.
    include = os.path.join(args.work_dir, "include")
    shutil.rmtree(include, ignore_errors=True)
    shutil.copytree(os.path.join(args.source_dir, "include"), include)
    for file in sources(include, pattern="*.h"):
        write(file, read(file).replace(SYSTEM_HEADER, ""))

    def one(name):
        check = Check(args, name, *found[name])
        if not version_of(check.cxx):
            checks.skip(name + " C++", "%s is not installed" % check.cxx)
        usual = version_of(name.split("-")[0]) == version_of(found[name][0])
        for step in (check.library, check.programs) if usual else (check.library, check.headers, check.programs):
            if not checks.attempt("%s %s" % (name, step.__name__), step) and step == check.library:
                break

    refused(args, checks)
    musl(args, checks)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(one, found))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
