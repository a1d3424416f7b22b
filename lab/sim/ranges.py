#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the simulations that the lab's page and its advice show.

ranges.py --hf-lab FILE --out FOLDER    run all, and write FOLDER/*.json for lab/report/report.py
                        --update        also write ranges.csv in this folder, which the report cites
ranges.py --hf-lab FILE --check         run a small part, and compare it with ranges.csv
"""

import argparse
import csv
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
RANGES = HERE / "ranges.csv"
TABLES = ("lockref", "refcount", "rcuref", "spinlock", "mutex")
THREADS = (8, 28, 64)
WORK = (300, 2000)
BETWEEN = {"lockref": 30, "refcount": 30, "rcuref": 30}  # ns within a pair: programs do not put immediately after a get

# A machine for each architecture that has constants. The second is Graviton3 with more cores.
MACHINES = {"x86_64": ("milan-2x64",), "aarch64": ("graviton3", "--set", "cores=256")}

# Speeds are relative to this variant, or else to the product's own.
BASES = {"rcuref": "inc_not_zero"}

# The limit of a run in events, not in time, so that every host cuts the same runs.
EVENTS = 500000
FIELDS = ("arch", "machine", "table", "variant", "base", "work", "threads", "speed", "fairness", "ns_per_op", "cut")
CHECKED = (8, 28)


def simulate(hf_lab, arch, table, threads, folder, quiet=False):
    """The rows of one table on one machine; they are also in @folder."""
    path = Path(folder, "%s-%s.json" % (arch, table))
    command = [hf_lab, "simulate", "--machine", *MACHINES[arch], "--table", table]
    command += ["--between", str(BETWEEN.get(table, 0))]
    command += ["--threads", ",".join(map(str, threads)), "--work", ",".join(map(str, WORK)), "--seeds", "1"]
    command += ["--no-sweep", "--limit-s", "3600", "--limit-events", str(EVENTS), "--json", str(path)]
    start = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE if quiet else None, text=True,
                          check=False)
    if done.returncode:
        sys.exit("ranges.py: %s: exit status %d\n%s" % (" ".join(command), done.returncode, done.stderr or ""))
    if not quiet:
        print("  %-8s %-8s %3.0f s" % (arch, table, time.monotonic() - start), flush=True)
    return json.loads(path.read_text(encoding="utf-8"))["rows"]


def text(values):
    """'1.2..3.4', the minimum and maximum; with two digits, since the model is not more exact."""
    low, high = ("%.2g" % v if v < 100 else "%.0f" % v for v in (min(values), max(values)))
    return low if low == high else low + ".." + high


def ranges(arch, table, rows):
    """A line for each variant and number of threads, with ranges over all classes and works."""
    key = lambda r: (r["class"], r["work_ns"], r["threads"])  # noqa: E731
    base = BASES.get(table) or next(r["variant"] for r in rows if r["default"])
    of_base = {key(r): r for r in rows if r["variant"] == base}
    lines = []
    for variant in dict.fromkeys(r["variant"] for r in rows):
        for threads in sorted({r["threads"] for r in rows}):
            here = [r for r in rows if (r["variant"], r["threads"]) == (variant, threads)]
            good = [r for r in here if r["ns_per_op"][1] is not None]
            both = [r for r in good if of_base[key(r)]["ns_per_op"][1] is not None]
            speeds = [of_base[key(r)]["ns_per_op"][1] / r["ns_per_op"][1] for r in both]
            lines.append({
                "arch": arch, "machine": MACHINES[arch][0], "table": table, "variant": variant, "base": base,
                "work": "-".join(map(str, WORK)), "threads": str(threads),
                "speed": text(speeds) if speeds else "", "cut": str(sum(r["cut"] for r in here)),
                "fairness": text([r["fairness"][1] for r in good]) if good else "",
                "ns_per_op": text([r["ns_per_op"][1] for r in good]) if good else "",
            })
    return lines


def numbers(cell):
    return [float(x) for x in cell.split("..")] if cell else []


def alike(a, b):
    """Equal within 10 %: another compiler may round differently, which changes a run."""
    if any(a[f] != b[f] for f in FIELDS if f not in ("speed", "fairness", "ns_per_op")):
        return False
    for field in ("speed", "fairness", "ns_per_op"):
        x, y = numbers(a[field]), numbers(b[field])
        x, y = (x * 2 if len(x) == 1 else x), (y * 2 if len(y) == 1 else y)
        if len(x) != len(y) or not all(math.isclose(p, q, rel_tol=0.1, abs_tol=0.02) for p, q in zip(x, y)):
            return False
    return True


def check(hf_lab):
    with RANGES.open(encoding="utf-8", newline="") as file:
        have = list(csv.DictReader(file))
    wrong = [line for line in have if line["threads"] not in map(str, THREADS)]
    with tempfile.TemporaryDirectory() as folder:
        for arch in MACHINES:
            for table in TABLES:
                want = ranges(arch, table, simulate(hf_lab, arch, table, CHECKED, folder, quiet=True))
                some = [x for x in have if (x["arch"], x["table"]) == (arch, table) and int(x["threads"]) in CHECKED]
                if len(some) != len(want):
                    wrong.append("%s, %s: %d lines, not %d" % (arch, table, len(some), len(want)))
                wrong += ["%s\n  now %s" % pair for pair in zip(some, want) if not alike(*pair)]
    if wrong:
        print("\n".join(map(str, wrong[:10])))
        sys.exit("ranges.csv is stale: the simulation now gives other values for %d of its lines. Write it again by"
                 " `make simulation UPDATE=1`" % len(wrong))
    print("%s: %d lines; the simulation gives the same values with %s threads"
          % (RANGES.name, len(have), " and ".join(map(str, CHECKED))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hf-lab", required=True, metavar="FILE")
    parser.add_argument("--out", metavar="FOLDER")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if args.check:
        check(args.hf_lab)
        return
    if not args.out:
        parser.error("--out or --check")
    Path(args.out).mkdir(parents=True, exist_ok=True)
    lines = []
    for arch in MACHINES:
        for table in TABLES:
            lines += ranges(arch, table, simulate(args.hf_lab, arch, table, THREADS, args.out))
    if args.update:
        with RANGES.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)
        print("written: %s" % RANGES)


if __name__ == "__main__":
    main()
