#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that each file of tmpfs uses only files of lower layers, and only public headers of Holdfast.

    floors.py --source DIR
"""
import os
import re
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
    ["attributes", "data", "name"],
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


def main():
    args, checks = arguments(__doc__, "source"), Checks()
    checks.wrong("includes", "\n".join(included(args.source)))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
