#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How much is there to read? The lines of the files that docs/design/0017 and 0038 count.

    lines.py             check that each file which a walk of 0017 names exists, and has the names that its row mentions
    lines.py --update    write the files' lines into the tables of 0017, and the column "now" of 0038

The columns are those of the day on which --update last ran: a change of a file does not make the pages wrong.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WALKS = os.path.join(ROOT, "docs", "design", "0017-walks.md")
ROOMS = os.path.join(ROOT, "docs", "design", "0038-rooms.md")

# row of 0038: (folders, folders left out)
FOLDERS = {
    "include and src": (["include", "src"], []),
    "tests, without tmpfs's": (["tests"], []),
    "tmpfs, its tests and documents included": (["tmpfs"], []),
    "tools": (["tools"], []),
    "lab, without report and variants": (["lab"], ["lab/report", "lab/variants"]),
    "lab/variants": (["lab/variants"], []),
    "lab/report": (["lab/report"], []),
    "bindings": (["bindings"], []),
    "docs": (["docs"], []),
    "Python, in all folders": (["*.py"], []),
    "all": (["."], []),
}


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def lines(folders, without=()):
    """The lines of git's text files, without pictures and packed results."""
    listed = subprocess.run(["git", "ls-files", "-z", "--", *folders, *(":!" + name for name in without)], cwd=ROOT,
                            stdout=subprocess.PIPE, text=True, check=True).stdout
    return sum(text_of(os.path.join(ROOT, name)).count("\n") for name in listed.split("\0")
               if name and not name.endswith((".gz", ".svg", ".png")) and not os.path.islink(os.path.join(ROOT, name))
               and os.path.isfile(os.path.join(ROOT, name)))


def rows(text):
    """Yields (line, path, words) of each row of a walk: | 1 | lines | `path` | words |"""
    for line in text.splitlines():
        match = re.match(r"\| \d+ \| ([\d,]* ?)\| `([^`]+)` \| (.*) \|$", line)
        if match:
            yield line, match[2], match[3]


def check(text):
    """Returns what is wrong: files that do not exist, and names that their file does not have."""
    wrong = []
    for _, path, words in rows(text):
        if not os.path.exists(os.path.join(ROOT, path)):
            wrong.append("no file " + path)
            continue
        there = text_of(os.path.join(ROOT, path))
        wrong += ["%s has no %s" % (path, name) for name in re.findall(r"`([a-z_0-9]+)`", words)
                  if not re.search(r"\b%s" % name, there)]
    return wrong


def update():
    text = text_of(WALKS)
    for line, path, words in list(rows(text)):
        number = line.split(" | ")[0]
        count = text_of(os.path.join(ROOT, path)).count("\n")
        text = text.replace(line, "%s | %s | `%s` | %s |" % (number, format(count, ","), path, words))
    with open(WALKS, "w", encoding="utf-8") as file:
        file.write(text)
    text = text_of(ROOMS)
    for name, (folders, without) in FOLDERS.items():
        text = re.sub(r"(?m)^(\| %s \|.*\|) [\d,]* ?\|$" % re.escape(name),
                      lambda match: "%s %s |" % (match[1], format(lines(folders, without), ",")), text)
    with open(ROOMS, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        update()
    found = check(text_of(WALKS))
    print("\n".join(found or ["0017: each file exists, and has the names that its row mentions"]))
    sys.exit(bool(found))
