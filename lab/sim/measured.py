#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the archived machines' measured rows to measured.csv in this folder, for `hf-lab simulate --validate`.

measured.py            check that measured.csv agrees with docs/results
measured.py --update   write it

The rows are shown without a tolerance, because the model is weakest with two processors, and the headers that were
measured may be older than those that are simulated. Names the archived machines without a machine file.
"""

import argparse
import csv
import gzip
import io
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ARCHIVE = HERE.parent.parent / "docs" / "results"
MEASURED = HERE / "measured.csv"
FIELDS = ("table", "source", "machine", "row", "column", "value", "unit", "note")

# From the processor's name in the results to its machine file.
MACHINES = {
    "AMD EPYC, family 26 model 2": "epyc-turin-2",
    "Intel(R) Xeon(R) Processor, family 6 model 207": "xeon-emerald-2",
}
TABLES = {
    "refcount": (r"inc\+dec_and_test", {n: n for n in ("unchecked", "cmpxchg", "saturating", "asm")}),
    "spinlock": (r".* total", {n: n for n in ("cas", "cas_release", "ticket", "mcs", "queued")}),
    "lockref": (r"get\+put", {"unbounded": "unbounded", "bounded-100": "bounded", "waitfree": "waitfree",
                              "locked": "locked"}),
    "mutex": (r"alone|contended.*|oversubscribed.*", {"hf_mutex": "mutex"}),
}


def load(path):
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return json.loads(data)


def section(case):
    """The times of a case such as 'contended, 0.1/0.2 µs' as 'ns in the section/ns between two', or ''."""
    found = re.search(r", ([\d.]+)/([\d.]+) ", case)
    return "%.0f/%.0f" % tuple(1000 * float(x) for x in found.groups()) if found else ""


def rows():
    """The lines of the file, and the archived machines without a machine file."""
    lines, unknown = [], []
    for path in sorted([*ARCHIVE.glob("*.json"), *ARCHIVE.glob("*.json.gz")]):
        results = load(path)
        machine = MACHINES.get(results["machine"]["cpu"])
        if not machine or results["machine"]["cpus"] != 2:
            unknown.append("%s: %s, %s processors" % (path.name, results["machine"]["cpu"], results["machine"]["cpus"]))
            continue
        for table, (cases, variants) in TABLES.items():
            for row in results["rows"]:
                if row["table"] != table or row["kind"] != "ours" or row["variant"] not in variants:
                    continue
                if not re.fullmatch(cases, row["case"]) or not row["checked"] or row["ns_per_op"] is None:
                    continue
                # Oversubscribed spinlocks waste whole time slices, and NC rows have no contention.
                if "NC" in row["case"] or (table != "mutex" and row["threads"] > 2):
                    continue
                lines.append((table, "docs/results/" + path.name, machine, variants[row["variant"]], row["threads"],
                              row["ns_per_op"], "ns/op", section(row["case"])))
    return lines, unknown


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    lines, unknown = rows()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    writer.writerows(lines)
    for name in unknown:
        print("SKIPPED %s: lab/sim/measured.py names no machine file for it" % name)
    if args.update:
        MEASURED.write_text(text.getvalue(), encoding="utf-8")
    elif MEASURED.read_text(encoding="utf-8") != text.getvalue():
        sys.exit("%s differs from docs/results: lab/sim/measured.py --update writes it again" % MEASURED.name)
    print("%s: %d rows" % (MEASURED.name, len(lines)))


if __name__ == "__main__":
    main()
