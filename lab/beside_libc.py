#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare clear, copy and the other functions of memory that may fault with libc's, with less and less of the vectors.

beside_libc.py --hf-lab FILE [--runs N] [--rounds N] [--cases] [--anyway]

Runs the tables clear, copy and verbs of hf-lab in turns: as they are; with AVX-512 hidden from libc, by GLIBC_TUNABLES, and
from Holdfast, by HOLDFAST_CPU_WITHOUT; and with AVX2 hidden, too. So a machine with AVX-512 also shows what one without it
gets. Prints a Markdown table: speed of the default, of libc's, as the geometric mean over the cases and the least, and its
case. Each time is the least of the runs' medians. In the cases "cold" and "read" the memory is not in the cache, or its
first byte is read next. `words` are compared with a copy of aligned words, since memcpy() may tear them.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

WIDE = ["AVX512F", "AVX512VL", "AVX512BW", "AVX512DQ", "AVX512CD"]
# column: what is hidden from libc, and from Holdfast
COLUMNS = {
    "AVX-512": ([], []),
    "AVX2": (WIDE, ["avx512f", "avx512vl"]),
    "SSE2": ([*WIDE, "AVX2", "AVX"], ["avx512f", "avx512vl", "avx2"]),
}
TABLES = ("clear", "copy", "verbs")
BUSY = 3  # hf-lab's exit status


def without(names_of_libc, names):
    """The environment in which libc and Holdfast do not see these features."""
    environment = dict(os.environ)
    if names:
        environment["GLIBC_TUNABLES"] = "glibc.cpu.hwcaps=" + ",".join("-" + name for name in names_of_libc)
        environment["HOLDFAST_CPU_WITHOUT"] = ",".join(names)
    return environment


def operation(table, case):
    """The function that a case measures."""
    if table != "verbs":
        return table + (", cold or read" if case.endswith((" cold", " read")) else "")
    words = case.split()
    return " ".join(words[:2]) if words[0] == "move" else words[0]


def measure(args, column, times):
    """Run the tables once; keep the least time of each row."""
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "results.json")
        done = subprocess.run([args.hf_lab, *TABLES, "--threads", "1", "--rounds", str(args.rounds), "--seconds", "0", "--only",
                               "[ad][le][if]*", "--json", results, *(["--anyway"] if args.anyway else [])],
                              env=without(*COLUMNS[column]), stdout=subprocess.DEVNULL, check=False)
        if done.returncode not in (0, BUSY):
            sys.exit("beside_libc.py: hf-lab failed with exit status %d" % done.returncode)
        with open(results, encoding="utf-8") as file:
            data = json.load(file)
        if data["quality"]["withheld"]:
            sys.exit("beside_libc.py: this machine was too busy; measure again on an idle one, or with --anyway")
    for row in data["rows"]:
        if row["kind"] != "again" and row.get("ns_per_op"):
            key = row["table"], row["case"], row["variant"]
            times[key] = min(row["ns_per_op"], times.get(key, math.inf))


def speeds(times):
    """{function: [(libc's time / ours, case, libc's time, ours)]}"""
    found = {}
    for (table, case, variant), ours in times.items():
        if variant == "default":
            what = operation(table, case)
            peer = times.get((table, case, "libc" if table != "verbs" else "aligned" if what == "words" else "plain"))
            if peer:
                found.setdefault(what, []).append((peer / ours, case, peer, ours))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hf-lab", required=True, metavar="FILE")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="of each column (default: 3)")
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="of each row in a run (default: 7)")
    parser.add_argument("--cases", action="store_true", help="also print the times of each case")
    parser.add_argument("--anyway", action="store_true", help="print the table even if the machine was busy")
    args = parser.parse_args()
    has = subprocess.run([args.hf_lab, "cpu"], stdout=subprocess.PIPE, text=True, check=True).stdout.replace("-", "")
    columns = [column for column, (_, names) in COLUMNS.items()
               if column == "SSE2" or "avx2" in has and (names or "avx512vl" in has)]
    times = {column: {} for column in columns}
    for _ in range(args.runs):
        for column in columns:
            measure(args, column, times[column])
    found = {column: speeds(times[column]) for column in columns}
    print("| | " + " | ".join(columns) + " |\n| --- |" + " --- |" * len(columns))
    for what in next(iter(found.values())):
        cells = []
        for column in columns:
            cases = found[column][what]
            least = min(cases)
            cells.append("%.2f, %.2f (%s)" % (math.exp(sum(math.log(case[0]) for case in cases) / len(cases)), *least[:2]))
        print("| %s | %s |" % (what, " | ".join(cells)))
    if args.cases:
        for column in columns:
            for what, cases in found[column].items():
                for ratio, case, peer, ours in cases:
                    print("%-8s %-20s %-24s libc %10.2f ns, ours %10.2f, %.2f" % (column, what, case, peer, ours, ratio))
    return 0


if __name__ == "__main__":
    sys.exit(main())
