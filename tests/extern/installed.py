#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Install, then build and run a program without Holdfast's headers against libholdfast-extern.

Static and shared, by find_package and by pkg-config: a program finds the library without a word to the
loader. And the guide's examples in Python, which load the installed library.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys


def run(*command, **environment):
    print("+", " ".join(command), flush=True)
    return subprocess.run(command, check=True, text=True, env=dict(os.environ, **environment),
                          stdout=subprocess.PIPE if command[0] == "pkg-config" else None).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("source-dir", "build-dir", "cmake", "cc"):
        parser.add_argument("--" + name, required=True)
    args = parser.parse_args()
    consumer = os.path.join(args.source_dir, "tests", "extern", "consumer")
    work = os.path.join(args.build_dir, "tests", "extern")
    prefix, build = os.path.join(work, "prefix"), os.path.join(work, "build")
    shutil.rmtree(work, ignore_errors=True)

    run(args.cmake, "--install", args.build_dir, "--prefix", prefix)
    run(args.cmake, "-S", consumer, "-B", build, "-G", "Ninja", "-DCMAKE_PREFIX_PATH=" + prefix,
        "-DCMAKE_C_COMPILER=" + args.cc)
    run(args.cmake, "--build", build)
    for program in ("holdfast_extern", "holdfast_extern_shared"):
        run(os.path.join(build, program))

    library = glob.glob(os.path.join(prefix, "**", "libholdfast-extern.so.0"), recursive=True)[0]
    run(sys.executable, "-B", os.path.join(args.source_dir, "tests", "extern", "languages.py"),
        "--source-dir", args.source_dir, "--libraries", os.path.dirname(library))

    if not shutil.which("pkg-config"):
        print("SKIPPED pkg-config: it is not here")
        return 0
    found = [folder for folder, _, files in os.walk(prefix) if "holdfast-extern.pc" in files][0]
    flags = run("pkg-config", "--libs", "holdfast-extern", PKG_CONFIG_PATH=found).split()
    static = [re.sub("^-l(holdfast.*)", r"-l:lib\1.a", flag) for flag in flags] + ["-pthread"]
    for name, words in (("shared", flags), ("static", static)):
        program = os.path.join(build, "pkg_config_" + name)
        run(*args.cc.split(), os.path.join(consumer, "main.c"), "-o", program, *words)
        run(program)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(str(error))
