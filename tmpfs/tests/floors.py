#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that each file of tmpfs uses only files of lower layers, and only public headers of Holdfast.

    floors.py --source DIR [--library FILE --nm PROGRAM]

Checks the files' includes and, if the library is given, the symbols that its objects call; among them no timed wait
that depends on the time of day.
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests"))

from checks import Checks, arguments  # noqa: E402

LAYERS = [
    ["base", "list", "siphash", "tmpfs", "tsan"],
    ["clock", "memory", "rcu"],
    ["objects"],
    ["pages"],
    ["inode"],
    ["dentry", "node"],
    ["walk"],
    ["attributes", "data", "name", "xattr"],
    ["table"],
    ["io"],
    ["check", "fs"],
]
LAYER = {stem: number for number, stems in enumerate(LAYERS) for stem in stems}


def allowed(stem, other):
    """Whether file `stem` may use file `other`. The mount may use only the public header."""
    if stem.startswith("fuse"):
        return other in ("fuse_front", "tmpfs")
    return other == stem or LAYER.get(other, 99) < LAYER[stem]


def included(folder):
    """A line for each include of a higher layer, or of a private header of Holdfast."""
    wrong = []
    for name in sorted(os.listdir(folder)):
        stem, suffix = os.path.splitext(name)
        if suffix not in (".c", ".h"):
            continue
        if stem not in LAYER and not stem.startswith("fuse"):
            wrong.append("%s is in no layer" % name)
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        wrong += ["%s includes %s.h" % (name, other) for other in re.findall(r'#include "(\w+)\.h"', text)
                  if not allowed(stem, other)]
        wrong += ["%s uses %s" % (name, word)
                  for word in re.findall(r"holdfast/[\w/]*/\w+\.h|\bhf_detail_\w+|\bHF_DETAIL_\w+", text)]
    return wrong


def called(library, nm):
    """A line for each symbol of a higher layer that an object calls."""
    said = subprocess.run([nm, "-A", "-P", library], stdout=subprocess.PIPE, text=True, check=True).stdout
    home, needs = {}, []
    for line in said.splitlines():
        match = re.match(r".*?[\[:](\w+)\.c\.o\]?:? (\w+) (\w)", line)
        if match and match[3] in "TDBR":
            home[match[2]] = match[1]
        elif match and match[3] == "U":
            needs.append((match[1], match[2]))
    assert len(home) > 100, "no symbols in %s" % library
    # A timed wait of these is by the time of day, which may be set.
    clocks = ["%s.c calls %s()" % need for need in needs if need[1] in ("sem_timedwait", "pthread_cond_timedwait")]
    return clocks + ["%s.c calls %s() of %s.c" % (stem, symbol, home[symbol]) for stem, symbol in needs
            if symbol in home and not allowed(stem, home[symbol])]


def main():
    args, checks = arguments(__doc__, "source", library={}, nm={"default": "nm"}), Checks()
    checks.wrong("includes", "\n".join(included(args.source)))
    if args.library:
        checks.wrong("calls", "\n".join(called(args.library, args.nm)))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
