#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts the measured table into README.md, between its two markers.

usage: readme.py RESULTS.json README.md
"""
import json
import re
import sys

BEGIN, END = "<!-- lab: begin -->", "<!-- lab: end -->"

# What the README shows: title, table, case ({n} = all processors), threads, variants.
PARTS = [
    ("inc + dec_and_test", "refcount", "inc+dec_and_test",
     ["unchecked", "cmpxchg", "saturating", "asm", "peer:shared_ptr"]),
    ("lock + increment + unlock", "spinlock", "{c} total",
     ["cas", "cas_release", "ticket", "mcs", "queued", "peer:ck_mcs", "peer:tbb_queuing_mutex",
      "peer:tbb_spin_mutex", "peer:pthread_spin", "peer:pthread_mutex"]),
    ("lockref get + put", "lockref", "get+put", ["unbounded", "bounded-100", "locked", "waitfree"]),
]
MUTEXES = ["hf_mutex", "peer:pthread_mutex", "peer:std_mutex", "peer:absl_mutex", "peer:tbb_spin_mutex",
           "peer:pthread_spin"]
SIZES = ["8 B", "64 B", "1 KiB", "16 KiB", "1 MiB", "64 MiB"]  # of clear and copy, hot and aligned


def cell(row):
    if row is None:
        return "-"
    if not row["checked"]:
        return "failed"
    text = f"{row['ns_per_op']:.1f}"
    if row["threads"] > 1:
        text += f" ({row['fairness']:.2f})"
    return text


def speed(row, base):
    if row is None or base is None:
        return "-"
    if not row["checked"] or not base["checked"]:
        return "failed"
    text = f"{row['size'] / row['ns_per_op']:.1f}"
    return text if row is base else text + f" ({row['ns_per_op'] / base['ns_per_op']:.2f})"


def mutexes(rows):
    """With more threads than processors too: fairness is over 100 ms."""
    here = {(r["variant"], r["threads"]): r for key, r in rows.items() if key[0] == "mutex"}
    threads = sorted({n for _, n in here})
    if not threads:
        return []
    lines = ["", "| ns for lock + increment + unlock (fairness over 100 ms) | "
             + " | ".join("%d thread%s" % (n, "" if n == 1 else "s") for n in threads) + " |",
             "| --- |" + " ---: |" * len(threads)]
    for variant in MUTEXES:
        cells = []
        for n in threads:
            row = here.get((variant, n))
            cells.append(cell(row and {**row, "fairness": row["fairness_100ms"]}))
        if set(cells) != {"-"}:
            lines.append(f"| {variant.replace('peer:', '')} | " + " | ".join(cells) + " |")
    return lines


def table(results):
    cpus = results["machine"]["cpus"]
    rows = {(r["table"], r["variant"], r["case"], r["threads"]): r for r in results["rows"]
            if r["kind"] != "sweep"}
    defaults = {(r["table"], r["is"]) for r in results["rows"]
                if r["kind"] == "default" and "is" in r}
    lines = [f"| ns for one operation | 1 thread | {cpus} threads on one object (fairness) |",
             "| --- | ---: | ---: |"]
    for title, name, case, variants in PARTS:
        lines.append(f"| **{title}** | | |")
        for variant in variants:
            cells = [cell(rows.get((name, variant,
                                    case.format(c="1" if n == 1 else f"{n}C"), n)))
                     for n in (1, cpus)]
            if cells == ["-", "-"]:
                continue
            mark = " (default)" if {(name, variant), (name, variant.split("-")[0])} & defaults \
                else ""
            lines.append(f"| {variant.replace('peer:', '')}{mark} | " + " | ".join(cells) + " |")
    lines += mutexes(rows)
    lines += ["", "| GB/s (ratio of times to libc's) | " + " | ".join(SIZES) + " |",
              "| --- |" + " ---: |" * len(SIZES)]
    for name, peer in (("clear", "memset"), ("copy", "memcpy")):
        for variant, words in (("default", "`hf_%s_nofault`" % name), ("libc", "`%s`" % peer)):
            here = [rows.get((name, variant, size, 1)) for size in SIZES]
            base = [rows.get((name, "libc", size, 1)) for size in SIZES]
            lines.append("| %s | " % words + " | ".join(map(speed, here, base)) + " |")
    machine = results["machine"]
    lines.append("")
    lines.append(f"{machine['cpu']}, {cpus} processors, {machine['compiler']}, "
                 f"{machine['date']}; `make lab`, then `make readme`. Wall time over all threads' "
                 "operations; fairness is the least over the most that a thread got.")
    return "\n".join(lines)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        results = json.load(file)
    with open(sys.argv[2], encoding="utf-8") as file:
        text = file.read()
    if BEGIN not in text or END not in text:
        sys.exit(f"readme.py: {sys.argv[2]} has no {BEGIN} and {END}")
    text = re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{table(results)}\n{END}", text,
                  flags=re.DOTALL)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
