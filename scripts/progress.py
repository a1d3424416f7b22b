#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run hf-lab, and print what its line of progress announced beside the time that was really left.

    progress.py [HF_LAB ARGUMENT...]    default: build/release/lab/hf-lab all --json build/lab/progress.json

Prints a row for each 10 seconds, and last the row at 20 % with the share by which it missed. The lines of hf-lab that are
no progress are shown while it runs; its own output goes to build/lab/progress.txt.
"""
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINE = re.compile(r"(?P<what>[^:]*): +(?P<percent>\d+) % done, (?P<left>\d+) s left; (?P<cell>.*)")
EVERY = 10  # seconds


def table(lines, end):
    """The rows of the table, of (time, percent, seconds left, words) each: the first of each period."""
    rows, period = [], -1
    for at, percent, left, words in lines:
        if int(at / EVERY) > period:
            period = int(at / EVERY)
            rows.append("| %.0f | %d | %d | %.0f | %s |" % (at, percent, left, end - at, words))
    return rows


def verdict(lines, end):
    """The first line from 20 % on: what it announced, what was left, and the difference as a share of the whole run."""
    for at, percent, left, _ in lines:
        if percent >= 20:
            return ("at %d %% it announced %d s, and %.0f s were left: the end was off by %.0f %% of the whole run"
                    % (percent, left, end - at, 100 * abs(at + left - end) / end))
    return "there was no line at 20 % or later"


def main(command):
    folder = os.path.join(ROOT, "build", "lab")
    os.makedirs(folder, exist_ok=True)
    command = command or [os.path.join(ROOT, "build/release/lab/hf-lab"), "all", "--json", os.path.join(folder, "progress.json")]
    lines, begun = [], time.monotonic()
    with open(os.path.join(folder, "progress.txt"), "w", encoding="utf-8") as out, \
            subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True, errors="replace") as lab:
        for line in lab.stderr:
            if match := LINE.match(line):
                lines.append((time.monotonic() - begun, int(match["percent"]), int(match["left"]),
                              "%s, %s" % (match["what"], match["cell"])))
            else:
                print(line, end="", flush=True)
    end = time.monotonic() - begun
    print("| second | % | announced s left | were left | cell |\n| ---: | ---: | ---: | ---: | --- |")
    print("\n".join(table(lines, end)))
    print(verdict(lines, end))
    return lab.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
