#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds tmpfs separately against an installed Holdfast, and runs the installed server's --version.

    installed.py --source-dir DIR --build-dir DIR --work-dir DIR --cmake PROGRAM --cc CC
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests"))

from checks import Checks, Failed, arguments, run  # noqa: E402


def installed(args):
    shutil.rmtree(args.work_dir, ignore_errors=True)
    prefix, source, build = (os.path.join(args.work_dir, name) for name in ("prefix", "source", "build"))
    run(args.cmake, "--install", args.build_dir, "--prefix", prefix)
    # A copy, so that nothing else of Holdfast's source is found beside it.
    shutil.copytree(os.path.join(args.source_dir, "tmpfs"), source)
    run(args.cmake, "-S", source, "-B", build, "-DCMAKE_PREFIX_PATH=" + prefix, "-DCMAKE_C_COMPILER=" + args.cc,
        "-DCMAKE_C_FLAGS=-Werror")
    run(args.cmake, "--build", build)
    run(args.cmake, "--install", build, "--prefix", prefix)
    said = run(os.path.join(prefix, "bin", "hf-tmpfs"), "--version")
    if not said.startswith("hf-tmpfs-fuse of Holdfast "):
        raise Failed(said)


def main():
    checks = Checks()
    checks.attempt("installed", installed, arguments(__doc__, "source-dir", "build-dir", "work-dir", "cmake", "cc"))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
