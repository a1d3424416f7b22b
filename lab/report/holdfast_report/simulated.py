# SPDX-License-Identifier: MIT
"""Simulated results for more processors than the machine has: lab/sim/ranges.csv, made by lab/sim/ranges.py."""

from __future__ import annotations

import functools
from pathlib import Path

import msgspec

from .blocks import unique
from .program import ROOT, read_csv
from .rows import Results

RANGES = ROOT / "lab" / "sim" / "ranges.csv"
NAMED = (8, 28, 64)  # numbers of processors that the advice names
LEVEL = 1.05  # smaller leads are below the model's accuracy


class Range(msgspec.Struct):
    """A variant with one thread per processor, over all classes; a range is '1.2..3.4'."""

    arch: str
    machine: str
    table: str
    variant: str
    base: str  # the variant with which its speed is compared
    work: str  # ns between two operations: '0', or '300-2000'
    threads: int
    speed: str  # times that of the base
    fairness: str
    ns_per_op: str


def ends(of: str) -> list[float]:
    return [float(end) for end in of.split("..")]


def range_words(of: str) -> str:
    return of.replace("..", " to ")


@functools.cache
def load(path: Path = RANGES) -> list[Range]:
    return read_csv(path, Range, "write it with lab/sim/ranges.py")


def lead_of(table: list[Range], threads: int, contracts: dict[str, str]) -> str:
    """'at 64 mcs 1.6 to 2.9 times': faster than the base in every class; else the best in some class; '' if none is."""
    here = [r for r in table if r.threads == threads and r.variant != r.base and r.speed]
    here = [r for r in here if not contracts.get(r.variant, "").startswith("catches")]
    words = {r.variant: f"{r.variant}{'*' * (r.variant in contracts)}" for r in here}
    better = sorted((r for r in here if ends(r.speed)[0] >= LEVEL), key=lambda r: -ends(r.speed)[0])
    if better:
        return f"at {threads} " + ", ".join(f"{words[r.variant]} {range_words(r.speed)} times" for r in better)
    most = max(here, key=lambda r: ends(r.speed)[-1], default=None)
    if most is None or ends(most.speed)[-1] < LEVEL:
        return ""
    return f"at {threads} perhaps {words[most.variant]}, {range_words(most.speed)} times"


def words(results: Results, tables: tuple[str, ...], contracts: dict[str, str]) -> list[str]:
    """A sentence per table, for numbers of processors above the machine's."""
    arch = results.machine.get("architecture") or "x86_64"
    out = []
    for table in tables:
        rows = [r for r in load() if (r.arch, r.table) == (arch, table)]
        rows = [r for r in rows if r.threads in NAMED and r.threads > (results.cpus or 0)]
        if not rows:
            continue
        threads = unique([r.threads for r in rows])
        work = rows[0].work.replace("-", " to ")
        lead = f"Simulated, not measured, for more processors ({rows[0].machine}, all classes, {work} ns between two"
        lead += " operations; lab/sim/ranges.csv)"
        if len(unique([r.variant for r in rows])) == 1:
            times = ", ".join(f"{range_words(r.ns_per_op)} ns at {r.threads}" for r in rows)
            fair = [end for r in rows for end in ends(r.fairness)]
            fair = f"fairness over some ms {min(fair):g} to {max(fair):g}"
            out.append(f"{lead}: an operation of all processors together takes {times}; {fair}.")
            continue
        parts = [p for p in (lead_of(rows, t, contracts) for t in threads) if p]
        best = "; ".join(parts) if parts else f"no other is faster, at {threads[0]} to {threads[-1]}"
        text = f"{lead}, speed over {rows[0].base}: {best}."
        starred = [v for v in unique([r.variant for r in rows]) if f"{v}*" in text]
        out.append(text + "".join(f" *{v} {contracts[v]}." for v in starred))
    return out
