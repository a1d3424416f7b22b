#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The version stands in include/holdfast/version.h; every other place that has to name it agrees.

    versions.py --source-dir DIR

What CMake, Conan and pkg-config need they read from the header. Exits with 1 on a failure.
"""
import glob
import os
import re
import sys

from checks import Checks, arguments, read

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
    root, checks = arguments(__doc__, "source-dir").source_dir, Checks()
    parts = re.findall(r"^#define HF_VERSION_(MAJOR|MINOR|PATCH) (\d+)$",
                       read(root, "include", "holdfast", "version.h"), re.MULTILINE)
    if [name for name, _ in parts] != ["MAJOR", "MINOR", "PATCH"]:
        sys.exit("version.h: not three parts")
    version = ".".join(number for _, number in parts)
    for pattern, before, required in PLACES:
        files = sorted(glob.glob(os.path.join(root, pattern), recursive=True))
        if required and not files:
            checks.check(pattern, False, "it is not there")
        for file in files:
            checks.wrong("%s, %s" % (os.path.relpath(file, root), before), wrong(read(file), before, version))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
