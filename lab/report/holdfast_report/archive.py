# SPDX-License-Identifier: MIT
"""Two files of results side by side (compare), and several of one machine as one (merge)."""

from __future__ import annotations

import argparse
import fnmatch
import json
from statistics import geometric_mean, median, quantiles

import msgspec

from .advice import same_code
from .blocks import NOTHING, Column, Table, fmt, fmt_time, text, unique
from .input import SCHEMA, load_results
from .program import write_file
from .rows import InputError, Results, Row
from .terminal import grid
from .verdict import noise_of

SAME = ("cpu", "cpus", "microcode", "kernel", "compiler", "commit", "governor")  # of files that can be merged
FIXED = ("threads", "rounds", "gap")  # numbers of a row that are no figures


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
    out = grid(Table("", [*columns, Column("new/old"), Column("noise"), text("")], lines))
    out += ["", "Noise: the largest of the two rows' spreads, of the gap between two measurements of the same code, and 1 %."]
    for table, said in verdicts.items():
        faster, slower, level = (said.count(word) for word in ("faster", "slower", ""))
        mean = fmt(geometric_mean(ratios[table])) if table in ratios else NOTHING
        out.append(f"{table}: new/old {mean} in the geometric mean; {faster} faster, {slower} slower, {level} within noise,"
                   f" {len(said) - faster - slower - level} not compared")
    if only == "*":
        out.append(f"Only in the old file: {len(old.rows) - len(both)} rows; only in the new one: {len(new.rows) - len(both)}.")
    return out


def levels_of(times: list[float]) -> list[dict]:
    """As in lab/bench.cpp: each of two levels has a fifth of five times or more, and between them is a gap of a quarter that is
    three times as wide as either."""
    times, n = sorted(times), len(times)
    fewest = max(2, (n + 4) // 5)

    def width(part: list[float]) -> float:  # without its outliers
        cut = len(part) // 8
        return part[len(part) - 1 - cut] - part[cut]

    for i in range(fewest, n - fewest + 1) if n >= 5 else ():
        low, high = times[:i], times[i:]
        gap = high[0] - low[-1]
        if low[-1] > 0 and gap > low[-1] / 4 and gap > 3 * width(low) and gap > 3 * width(high):
            return [{"ns_per_op": part[len(part) // 2], "share": len(part) / n} for part in (low, high)]
    return []


def merged_row(rows: list[dict]) -> dict:
    """The median of each figure; the spread and the levels of the files' times."""
    out = dict(rows[0])
    for key in unique([key for row in rows for key in row]):
        values = [row.get(key) for row in rows]
        numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
        if numbers and key not in FIXED:
            out[key] = median(numbers)
    times = [row["ns_per_op"] for row in rows if row["ns_per_op"] is not None]
    out |= {"rounds": len(rows), "checked": all(r["checked"] for r in rows), "starved": any(r.get("starved") for r in rows)}
    out["spread"] = None if not times else 0.0
    if len(times) > 1 and out["ns_per_op"]:
        first, _, third = quantiles(times, n=4, method="inclusive")
        out["spread"] = (third - first) / out["ns_per_op"]
    out.pop("levels", None)
    if levels := levels_of(times):
        out["levels"] = levels
    return out


def merge(names: list[str]) -> dict:
    """The file of all: a row has the medians of its files'. No aims: they are judged from the rows."""
    files = [load_results(name) for name in names]
    whole = [msgspec.json.decode(one.raw) for one in files]
    rows: dict[tuple, list[dict]] = {}
    for name, results, data in zip(names, files, whole):
        if results.busy:
            raise InputError(f"{name}: {results.busy}")
        for key in SAME:
            one, other = results.machine.get(key), files[0].machine.get(key)
            if one != other:
                raise InputError(f"{name} has another {key} than {names[0]} ({one}, {other}): `report.py compare` shows both")
        if any(results.settings.get(k) != files[0].settings.get(k) for k in ("window_ms", "rounds")):
            raise InputError(f"{name} was measured with another --window-ms or --rounds than {names[0]}")
        for row in data["rows"]:
            rows.setdefault(tuple(row[key] for key in ("table", "variant", "case", "threads")), []).append(row)
    out = {k: v for k, v in whole[0].items() if k not in ("aims", "quality")}
    limits = unique([limit for results in files for limit in results.limits])
    out |= {"schema": SCHEMA, "limits": limits, "rows": [merged_row(r) for r in rows.values()]}
    again = {(r["table"], r["base_variant"], r["case"], r["threads"]): r for r in out["rows"] if r["kind"] == "again"}
    for row in out["rows"]:
        twin = again.get(tuple(row[key] for key in ("table", "variant", "case", "threads")))
        row.pop("gap", None)
        if twin and twin["ns_per_op"] and row["ns_per_op"]:
            row["gap"] = max(twin["ns_per_op"] / row["ns_per_op"], row["ns_per_op"] / twin["ns_per_op"]) - 1
    return out


def run_compare(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="report.py compare", description="Print the rows that two files of results have.")
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="variants that match this shell pattern")
    args = parser.parse_args(argv)
    old, new = load_results(args.old), load_results(args.new)
    print(f"old  {args.old}: {machine_words(old)}", f"new  {args.new}: {machine_words(new)}", "", sep="\n")
    print(*compare(old, new, args.only), sep="\n")


def run_merge(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="report.py merge", description="Merge files of one program and machine into one.")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--json", required=True, metavar="FILE", help="the merged file; may be one of them")
    args = parser.parse_args(argv)
    write_file(args.json, json.dumps(merge(args.files), ensure_ascii=False))
