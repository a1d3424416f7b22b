#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Install, then run what the Debian package's tests run with libholdfast-extern: packaging/debian/tests/extern, and the guide's
examples in Python. The programs must find the library without LD_LIBRARY_PATH."""
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "tests"))

import checks  # noqa: E402


def main():
    args = checks.arguments(__doc__, "source-dir", "build-dir", "cmake", "cc")
    work = os.path.join(args.build_dir, "tests", "extern")
    prefix = os.path.join(work, "prefix")
    shutil.rmtree(work, ignore_errors=True)
    checks.run(args.cmake, "--install", args.build_dir, "--prefix", prefix)
    packages = next(folder for folder, _, files in os.walk(prefix) if "holdfast-extern.pc" in files)
    said = checks.Checks()

    def links():
        if not shutil.which("pkg-config"):
            raise checks.Skip("pkg-config is not installed")
        checks.run("sh", os.path.join(args.source_dir, "packaging", "debian", "tests", "extern"), cwd=args.source_dir,
                   env=dict(os.environ, AUTOPKGTEST_TMP=work, CMAKE_PREFIX_PATH=prefix, CMAKE_GENERATOR="Ninja", CC=args.cc,
                            PKG_CONFIG_PATH=packages))

    def languages():
        checks.run(sys.executable, "-B", os.path.join(HERE, "languages.py"), "--source-dir", args.source_dir,
                   "--libraries", os.path.dirname(packages))

    said.attempt("find_package, pkg-config", links)
    said.attempt("languages", languages)
    return said.end()


if __name__ == "__main__":
    checks.start(main)
