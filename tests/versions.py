#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The version stands in include/holdfast/version.h; every other place that has to name it agrees.

    versions.py --source-dir DIR

What CMake, Conan and pkg-config need they read from the header. Exits with 1 on a failure.
"""
import argparse
import glob
import os
import re
import sys

# (files, what stands before the version, must there be one?)
PLACES = [
    ("CHANGELOG.md", r"^(?:## \[|The first version, )", True),
    ("docs/packages.md", r"holdfast[-/]", True),
    ("packaging/vcpkg/holdfast/vcpkg.json", r'"version": "', True),
    ("packaging/meson/holdfast.wrap", r"^directory = holdfast-", True),
    ("packaging/meson/holdfast.wrap", r"^source_filename = holdfast-", True),
    ("packaging/meson/holdfast.wrap", r"--prefix=holdfast-", True),
    ("packaging/meson/holdfast.wrap", r"packagefiles/holdfast-", True),
    ("packaging/meson/packagefiles/holdfast/meson.build", r"^\tversion: '", True),
    ("packaging/debian/**/changelog", r"\Aholdfast \(", False),
    ("bindings/rust/holdfast*/Cargo.toml", r'\A(?:#.*\n)*\[package\](?:\n(?!\[).*)*?\nversion = "', True),
]


def wrong(text, before, wanted):
    """What stands there instead, or None."""
    found = re.findall(before + r"(\d+\.\d+\.\d+)", text, re.MULTILINE)
    return None if found and set(found) == {wanted} else ", ".join(found) or "nothing"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source-dir", required=True)
    root = parser.parse_args().source_dir
    with open(os.path.join(root, "include", "holdfast", "version.h"), encoding="utf-8") as header:
        parts = re.findall(r"^#define HF_VERSION_(MAJOR|MINOR|PATCH) (\d+)$", header.read(), re.MULTILINE)
    if [name for name, _ in parts] != ["MAJOR", "MINOR", "PATCH"]:
        sys.exit("version.h: not three parts")
    version, failed = ".".join(number for _, number in parts), 0
    for pattern, before, required in PLACES:
        files = sorted(glob.glob(os.path.join(root, pattern), recursive=True))
        if required and not files:
            print("not ok %s: it is not there" % pattern)
            failed += 1
        for file in files:
            with open(file, encoding="utf-8") as source:
                text = source.read()
            other = wrong(text, before, version)
            print("%s %s: %s" % ("not ok" if other else "ok", os.path.relpath(file, root), other or version))
            failed += other is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
