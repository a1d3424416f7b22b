#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Link programs in the ways that linkers drop and rename things in, and run them.

Each compiler and linker that is here, with and without optimisation of the whole program, with
--gc-sections and -z start-stop-gc: no warning, and all faults are recovered.
"""
import argparse
import os
import shutil
import subprocess
import sys

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
                          timeout=300, check=False)
    return done.returncode, done.stdout


def supports(work, compiler, linker, flags):
    source = os.path.join(work, "empty.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write("int main(void) { return 0; }\n")
    return call(*compiler, "-fuse-ld=" + linker, *flags, source, "-o",
                os.path.join(work, "empty"))[0] == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source-dir", required=True)
    parser.add_argument("--work-dir", required=True)
    parser.add_argument("--static", required=True, help="the libraries, as built")
    parser.add_argument("--shared", required=True)
    parser.add_argument("--cc", required=True)
    args = parser.parse_args()
    here = os.path.join(args.source_dir, "tests", "nofault", "link")
    include = "-I" + os.path.join(args.source_dir, "include")
    shutil.rmtree(args.work_dir, ignore_errors=True)
    os.makedirs(args.work_dir)
    program = os.path.join(args.work_dir, "program")
    sources = [os.path.join(folder, name)
               for folder, _, names in os.walk(os.path.join(args.source_dir, "src"))
               for name in sorted(names) if name.endswith(".c")]
    libraries = {
        "static": [args.static],
        "shared": [args.shared, "-Wl,-rpath," + os.path.dirname(args.shared)],
    }
    failed = cases = 0

    def one(what, command):
        nonlocal failed, cases
        code, output = call(*command, "-pthread", "-o", program)
        output = "\n".join(line for line in output.splitlines() if "lto-wrapper" not in line)
        if code == 0:
            code, more = call(program)
            output += more
        ok = code == 0 and not output
        print("%sok %s" % ("" if ok else "not ", what), flush=True)
        if not ok:
            print("# exit %d\n# %s" % (code, output.replace("\n", "\n# ")))
        cases += 1
        failed += not ok

    compilers = [args.cc.split()]
    if shutil.which("clang") and "clang" not in args.cc:
        compilers.append(["clang"])
    for compiler in compilers:
        for linker in ("bfd", "gold", "lld"):
            for way, flags in WAYS.items():
                name = "%s, %s, %s" % (" ".join(compiler), linker, way)
                if not supports(args.work_dir, compiler, linker, flags):
                    print("SKIPPED %s: not here" % name)
                    continue
                start = [*compiler, "-O1", "-Wall", "-fuse-ld=" + linker, *flags, include]
                for kind, library in libraries.items():
                    for source in ("faults", "none"):
                        one("%s, %s library, %s" % (name, kind, source),
                            [*start, os.path.join(here, source + ".c"), *library])
                # The library's own sources too, of one linker: the others see the same objects.
                if way == "lto" and linker == "bfd":
                    one(name + ", the library's sources",
                        [*start, os.path.join(here, "faults.c"), *sources])
    print("%d programs, %d wrong" % (cases, failed))
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
