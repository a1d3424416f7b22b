# SPDX-License-Identifier: MIT
"""Two files of results side by side."""

from __future__ import annotations

import argparse
import fnmatch
from statistics import geometric_mean

from .blocks import NOTHING, Column, Table, fmt, fmt_time, text
from .input import load_results
from .noise import noise_of
from .rows import InputError, Results
from .summary import same_code


def machine_words(results: Results) -> str:
    known = [str(results.machine.get(key, "not known")) for key in ("cpu", "cpus", "kernel", "compiler", "commit", "date")]
    return ", ".join(known[:1] + [known[1] + " processors"] + known[2:])


def compare(old: Results, new: Results, only: str) -> list[str]:
    """The lines of the rows that both files have; a difference within the noise is neither faster nor slower."""
    gap = {}
    for results in (old, new):
        for table, most, _ in same_code(results):
            gap[table] = max(most, gap.get(table, 0))
    both = [(old.index.get(r.key), r) for r in new.rows if fnmatch.fnmatchcase(r.variant, only)]
    both = [(before, after) for before, after in both if before is not None]
    if not both:
        raise InputError("no row is in both files" + (f" that matches {only}" if only != "*" else ""))
    lines, verdicts, ratios = [], {}, {}
    for before, after in both:
        words, noise = [NOTHING, NOTHING], max(noise_of(before, after), gap.get(after.table, 0))
        unusable = [f"{r.status} in the {which} file" for r, which in ((before, "old"), (after, "new")) if not r.valid or not r.ns]
        verdict = unusable[0] if unusable else ""
        if not verdict:
            ratio = after.ns / before.ns
            ratios.setdefault(after.table, []).append(ratio)
            words = [f"{ratio:.3f}", f"{noise * 100:.0f} %"]
            verdict = "slower" if ratio > 1 + noise else "faster" if ratio < 1 / (1 + noise) else ""
        verdicts.setdefault(after.table, []).append(verdict)
        times = [fmt_time(before.ns), fmt_time(after.ns)]
        lines.append(([after.table, after.variant, after.case, str(after.threads), *times, *words, verdict], ""))
    columns = [text("table"), text("variant"), text("case"), Column("threads"), Column("old", "ns/op"), Column("new", "ns/op")]
    out = Table("", [*columns, Column("new/old"), Column("noise"), text("")], lines).lines()
    out += ["", "Noise: the largest of the two rows' spreads, of the gap between two measurements of the same code, and 1 %."]
    for table, said in verdicts.items():
        faster, slower, level = (said.count(word) for word in ("faster", "slower", ""))
        mean = fmt(geometric_mean(ratios[table])) if table in ratios else NOTHING
        out.append(f"{table}: new/old {mean} in the geometric mean; {faster} faster, {slower} slower, {level} within noise,"
                   f" {len(said) - faster - slower - level} not compared")
    if only == "*":
        out.append(f"Only in the old file: {len(old.rows) - len(both)} rows; only in the new one: {len(new.rows) - len(both)}.")
    return out


def run(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="report.py compare", description="Print the rows that two files of results have.")
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="variants that match this shell pattern")
    args = parser.parse_args(argv)
    old, new = load_results(args.old), load_results(args.new)
    print(f"old  {args.old}: {machine_words(old)}", f"new  {args.new}: {machine_words(new)}", "", sep="\n")
    print(*compare(old, new, args.only), sep="\n")
