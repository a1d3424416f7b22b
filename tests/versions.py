#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check that every file which states the version agrees with include/holdfast/version.h.

    versions.py --source-dir DIR

CMake, Conan and pkg-config read the header, so they are not checked. CHANGELOG.md gets its entry at the
release. Exits with 1 on a failure.
"""
import glob
import os
import re
import sys

from checks import Checks, arguments, read

# (files, regular expression for the text before the version, must such a file exist?)
PLACES = [
    ("README.md", r"Version ", True),
    ("docs/packages.md", r"holdfast[-/]", True),
    ("docs/packages.md", r"\"holdfast\", version = \"", True),
    ("packaging/vcpkg/holdfast/vcpkg.json", r'"version": "', True),
    ("MODULE.bazel", r'^    version = "', True),
    ("packaging/meson/holdfast.wrap", r"^directory = holdfast-", True),
    ("packaging/meson/holdfast.wrap", r"^source_filename = holdfast-", True),
    ("packaging/meson/holdfast.wrap", r"--prefix=holdfast-", True),
    ("packaging/meson/holdfast.wrap", r"packagefiles/holdfast-", True),
    ("packaging/meson/packagefiles/holdfast/meson.build", r"^\tversion: '", True),
    ("tests/install/consumer/CMakeLists.txt", r"^find_package\(holdfast ", True),
    ("packaging/debian/**/changelog", r"\Aholdfast \(", False),
    ("packaging/debian/*.symbols", r"^ \(symver\)HOLDFAST\w+ ", False),
    ("bindings/rust/holdfast*/Cargo.toml", r'\A(?:#.*\n)*\[package\](?:\n(?!\[).*)*?\nversion = "', True),
    ("bindings/rust/holdfast-locks/Cargo.toml", r'^holdfast-sys = \{ version = "', True),
]


def version_of(root):
    parts = re.findall(r"^#define HF_VERSION_(MAJOR|MINOR|PATCH) (\d+)$",
                       read(root, "include", "holdfast", "version.h"), re.MULTILINE)
    if [name for name, _ in parts] != ["MAJOR", "MINOR", "PATCH"]:
        sys.exit("version.h does not define HF_VERSION_MAJOR, _MINOR and _PATCH in this order")
    return ".".join(number for _, number in parts)


def files(root):
    """Yields (path, regular expression for the text before the version)."""
    for pattern, before, _ in PLACES:
        for path in sorted(glob.glob(os.path.join(root, pattern), recursive=True)):
            yield path, before


def wrong(text, before, wanted):
    """Return the versions that were found; None if they are as wanted."""
    found = re.findall(before + r"(\d+\.\d+\.\d+)", text, re.MULTILINE)
    return None if found and set(found) == {wanted} else ", ".join(found) or "nothing"


def main():
    root, checks = arguments(__doc__, "source-dir").source_dir, Checks()
    version = version_of(root)
    for pattern, _, required in PLACES:
        if required and not glob.glob(os.path.join(root, pattern), recursive=True):
            checks.check(pattern, False, "no such file")
    for path, before in files(root):
        checks.wrong("%s, %s" % (os.path.relpath(path, root), before), wrong(read(path), before, version))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
