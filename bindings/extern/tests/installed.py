#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Install, then link programs with libholdfast-extern, static and shared, by find_package and by pkg-config, and run them.

The programs do not include Holdfast's headers, and must find the library without LD_LIBRARY_PATH. Also runs the guide's
examples in Python with the installed library.
"""
import glob
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "tests"))

import checks  # noqa: E402


def run(*command, **environment):
    return checks.run(*command, env=dict(os.environ, **environment))


def main():
    args = checks.arguments(__doc__, "source-dir", "build-dir", "cmake", "cc")
    consumer = os.path.join(HERE, "consumer")
    work = os.path.join(args.build_dir, "tests", "extern")
    prefix, build = os.path.join(work, "prefix"), os.path.join(work, "build")
    shutil.rmtree(work, ignore_errors=True)

    def find_package():
        run(args.cmake, "-S", consumer, "-B", build, "-G", "Ninja", "-DCMAKE_PREFIX_PATH=" + prefix,
            "-DCMAKE_C_COMPILER=" + args.cc)
        run(args.cmake, "--build", build)
        for program in ("holdfast_extern", "holdfast_extern_shared"):
            run(os.path.join(build, program))

    def languages():
        library = glob.glob(os.path.join(prefix, "**", "libholdfast-extern.so.1"), recursive=True)[0]
        run(sys.executable, "-B", os.path.join(HERE, "languages.py"),
            "--source-dir", args.source_dir, "--libraries", os.path.dirname(library))

    said = checks.Checks()
    run(args.cmake, "--install", args.build_dir, "--prefix", prefix)
    said.attempt("find_package", find_package)
    said.attempt("languages", languages)
    if not shutil.which("pkg-config"):
        said.skip("pkg-config", "not installed")
        return said.end()
    found = [folder for folder, _, files in os.walk(prefix) if "holdfast-extern.pc" in files][0]
    flags = run("pkg-config", "--libs", "holdfast-extern", PKG_CONFIG_PATH=found).split()
    static = [re.sub("^-l(holdfast.*)", r"-l:lib\1.a", flag) for flag in flags] + ["-pthread"]
    for name, words in (("shared", flags), ("static", static)):
        program = os.path.join(build, "pkg_config_" + name)
        run(*args.cc.split(), os.path.join(consumer, "main.c"), "-o", program, *words)
        said.attempt("pkg-config, " + name, run, program)
    return said.end()


if __name__ == "__main__":
    checks.start(main)
