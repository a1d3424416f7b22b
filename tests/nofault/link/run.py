#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Link programs in ways in which linkers may drop or rename the table of sites, and run them.

Each installed compiler and linker, with and without LTO, --gc-sections and -z start-stop-gc: no warning, and
all faults are recovered.
"""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from checks import Checks, arguments, sources, write  # noqa: E402

GC = ["-ffunction-sections", "-Wl,--gc-sections"]
WAYS = {
    "plain": [],
    "gc": GC,
    "start-stop-gc": [*GC, "-Wl,-z,start-stop-gc"],
    "lto": ["-flto"],
    "lto, start-stop-gc": ["-flto", *GC, "-Wl,-z,start-stop-gc"],
}


def call(*command):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=1800, check=False)
    return done.returncode, done.stdout


def supports(work, compiler, linker, flags):
    source = write(os.path.join(work, "empty.c"), "int main(void) { return 0; }\n")
    return call(*compiler, "-fuse-ld=" + linker, *flags, source, "-o",
                os.path.join(work, "empty"))[0] == 0


def main():
    args = arguments(__doc__, "source-dir", "work-dir", "static", "shared", "cc")
    include = "-I" + os.path.join(args.source_dir, "include")
    shutil.rmtree(args.work_dir, ignore_errors=True)
    os.makedirs(args.work_dir)
    program = os.path.join(args.work_dir, "program")
    faults = os.path.join(args.source_dir, "tests", "nofault", "link", "faults.c")
    none = write(os.path.join(args.work_dir, "none.c"),
                 "#include <holdfast/nofault.h>\nint main(void) { return hf_nofault_install(); }\n")
    libraries = {
        "static": [args.static],
        "shared": [args.shared, "-Wl,-rpath," + os.path.dirname(args.shared)],
    }
    checks = Checks()

    def one(what, command):
        code, output = call(*command, "-pthread", "-o", program)
        output = "\n".join(line for line in output.splitlines() if "lto-wrapper" not in line)
        if code == 0:
            code, more = call(program)
            output += more
        checks.check(what, code == 0 and not output, "exit status %d\n%s" % (code, output))

    compilers = [args.cc.split()]
    if shutil.which("clang") and "clang" not in args.cc:
        compilers.append(["clang"])
    for compiler in compilers:
        for linker in ("bfd", "gold", "lld"):
            for way, flags in WAYS.items():
                name = "%s, %s, %s" % (" ".join(compiler), linker, way)
                if not supports(args.work_dir, compiler, linker, flags):
                    checks.skip(name, "not installed, or not supported")
                    continue
                start = [*compiler, "-O1", "-Wall", "-fuse-ld=" + linker, *flags, include]
                for kind, library in libraries.items():
                    one("%s, %s library, sites" % (name, kind), [*start, faults, *library])
                    one("%s, %s library, no sites" % (name, kind), [*start, none, *library])
                # With one linker also from the library's sources; the others would get the same objects.
                if way == "lto" and linker == "bfd":
                    one(name + ", the library's sources",
                        [*start, faults, *sources(args.source_dir, "src")])
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
