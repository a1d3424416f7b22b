#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the library and the battery with musl (docs/packages.md), without the kernel's headers, and run them.

    run.py --source-dir DIR --work-dir DIR

Exits with 77 if there is no musl-gcc.
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from checks import Checks, arguments, run, sources  # noqa: E402


def main():
    args = arguments(__doc__, "source-dir", "work-dir")
    if not shutil.which("musl-gcc"):
        print("SKIPPED musl: no musl-gcc (Debian: musl-tools)")
        return 77
    os.makedirs(args.work_dir, exist_ok=True)
    library, battery = sources(args.source_dir, "src"), sources(args.source_dir, "tests", "battery")
    command = ["musl-gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-UNDEBUG",
               "-I" + os.path.join(args.source_dir, "include"),
               "-I" + os.path.join(args.source_dir, "src")]

    def built_and_run(name, *more):
        program = os.path.join(args.work_dir, "battery_" + name)
        run(*command, *more, *library, *battery, "-o", program, "-pthread")
        run(sys.executable, os.path.join(args.source_dir, "tests", "ktap.py"), program)

    checks = Checks()
    checks.attempt("static", built_and_run, "static", "-static")
    checks.attempt("dynamic", built_and_run, "dynamic")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
