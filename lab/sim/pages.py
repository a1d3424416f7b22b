#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Update or check the simulated tables of docs/design, each of which has its command above it.

pages.py --hf-lab FILE --update    write the tables again; takes some minutes
         --hf-lab FILE --check     compare their columns of up to 28 threads; takes some seconds

A command is an indented block that begins with `hf-lab simulate --machine` and has --against. The tables between it and
the next command are its output: those with the headings `speed`, `fairness` and `longest wait, µs`, or some of them.
"""

import argparse
import re
import shlex
import subprocess
import sys
from pathlib import Path

PAGES = Path(__file__).resolve().parents[2] / "docs" / "design"
COMMAND = re.compile(r"^(?: {4}hf-lab simulate --machine[^\n]*\n)(?: {4,}[^\n]*\n)*", re.MULTILINE)
TABLE = re.compile(r"^\| (speed|fairness|longest wait, µs) \|.*\n\| --- .*\n(?:\|.*\n)+", re.MULTILINE)
CHECKED = 28  # threads


def cells(table):
    """{(row, column): text} of a table."""
    lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table.splitlines()]
    return {(line[0], column): cell for line in lines[2:] for column, cell in zip(lines[0][1:], line[1:])}


def alike(a, b):
    """Equal within 10 %: another compiler may round differently, which changes a run."""
    x, y = ([float(n) for n in re.findall(r"\d+(?:\.\d+)?", text)] for text in (a, b))
    x, y = (n * 2 if len(n) == 1 else n for n in (x, y))
    return bool(x) and len(x) == len(y) and all(abs(p - q) <= 0.1 * max(p, q) + 0.02 for p, q in zip(x, y))


def simulate(hf_lab, command, most):
    """{heading: table} that the command prints with at most so many threads."""
    words = shlex.split(re.sub(r"\\\n|\n(?= )", " ", command))[1:]
    at = words.index("--threads") + 1
    words[at] = ",".join(n for n in words[at].split(",") if int(n) <= most)
    # A page may break the list of variants after a comma.
    at = words.index("--variants") + 1 if "--variants" in words else 0
    words[at] = re.sub(r",\s+", ",", words[at])
    done = subprocess.run([hf_lab, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit("pages.py: hf-lab %s: exit status %d\n%s" % (shlex.join(words), done.returncode, done.stderr))
    printed = done.stdout.replace("longest wait, us", "longest wait, µs") + "\n"
    return {match[1]: match[0] for match in TABLE.finditer(printed)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hf-lab", required=True)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--update", action="store_true")
    what.add_argument("--check", action="store_true")
    args = parser.parse_args()
    commands, stale = 0, []
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        starts = [match for match in COMMAND.finditer(text) if "--against" in match[0]]
        for match, end in reversed(list(zip(starts, [match.start() for match in starts[1:]] + [len(text)]))):
            commands += 1
            tables = simulate(args.hf_lab, match[0], CHECKED if args.check else sys.maxsize)
            below = text[match.end():end]
            if args.update:
                below = TABLE.sub(lambda table, new=tables: new[table[1]], below)
                text = text[:match.end()] + below + text[end:]
                continue
            found = list(TABLE.finditer(below))
            if not found:
                stale.append("%s: no table below `%s`" % (page.name, match[0].split("\n")[0].strip()))
            for table in found:
                written = cells(table[0])
                for place, now in cells(tables[table[1]]).items():
                    if not alike(written.get(place, ""), now):
                        stale.append("%s: %s of %s at %s threads: %s, now %s"
                                     % (page.name, table[1], *place, written.get(place), now))
        if args.update:
            page.write_text(text, encoding="utf-8")
    if not commands:
        sys.exit("pages.py: no command found in %s" % PAGES)
    print("\n".join(stale + ["%d commands, %d cells stale" % (commands, len(stale))]))
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
