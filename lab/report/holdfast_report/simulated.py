# SPDX-License-Identifier: MIT
"""What the simulator says of more processors than the machine has: lab/sim/ranges.csv, made by lab/sim/ranges.py."""

from __future__ import annotations

import csv
import functools
from dataclasses import dataclass
from pathlib import Path

from .blocks import unique
from .rows import InputError, Results

RANGES = Path(__file__).resolve().parents[2] / "sim" / "ranges.csv"
FIELDS = ("arch", "machine", "table", "variant", "base", "work", "threads", "speed", "fairness", "ns_per_op", "cut")
NAMED = (8, 28, 64)  # numbers of processors that the advice names
LEVEL = 1.05  # no model tells a smaller lead from none


@dataclass(frozen=True)
class Range:
    """One variant with so many threads, each on a processor, over all classes."""

    arch: str
    machine: str
    table: str
    variant: str
    base: str  # what its speed is compared with
    work: str  # ns between two operations: '0', or '300-2000'
    threads: int
    speed: str  # times that of the base: '1.2..3.4'
    fairness: str
    ns: str

    @property
    def slowest(self) -> float:
        return float(self.speed.split("..")[0])

    @property
    def fastest(self) -> float:
        return float(self.speed.split("..")[-1])


@functools.cache
def load(path: Path = RANGES) -> list[Range]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
    except OSError as e:
        raise InputError(f"cannot read {path} ({e.strerror})") from None
    if not lines or tuple(lines[0]) != FIELDS:
        raise InputError(f"{path} was not written by lab/sim/ranges.py")
    text = ("arch", "machine", "table", "variant", "base", "work")
    return [
        Range(*(x[f] for f in text), int(x["threads"]), x["speed"], x["fairness"], x["ns_per_op"])
        for x in lines
    ]


def times(speed: str) -> str:
    return speed.replace("..", " to ") + " times"


def lead_of(table: list[Range], threads: int, contracts: dict[str, str]) -> str:
    """'at 64 mcs 1.6 to 2.9 times': faster than the base in every class; else what may be, by most. '' if nothing."""
    here = [r for r in table if r.threads == threads and r.variant != r.base and r.speed]
    here = [r for r in here if not contracts.get(r.variant, "").startswith("catches")]

    def name(r: Range) -> str:
        return r.variant + ("*" if r.variant in contracts else "")

    better = sorted((r for r in here if r.slowest >= LEVEL), key=lambda r: -r.slowest)
    if better:
        return f"at {threads} " + ", ".join(f"{name(r)} {times(r.speed)}" for r in better)
    most = max(here, key=lambda r: r.fastest, default=None)
    if most is None or most.fastest < LEVEL:
        return ""
    return f"at {threads} perhaps {name(most)}, {times(most.speed)}"


def words(results: Results, tables: tuple[str, ...], contracts: dict[str, str]) -> list[str]:
    """A sentence a table, for processors that the machine does not have; none if it has them all."""
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
            parts = [f"{r.ns.replace('..', ' to ')} ns at {r.threads}" for r in rows]
            low = min(float(r.fairness.split("..")[0]) for r in rows)
            high = max(float(r.fairness.split("..")[-1]) for r in rows)
            fair = f"fairness over some ms {low:g} to {high:g}"
            out.append(f"{lead}: an operation of all processors together takes " + ", ".join(parts) + f"; {fair}.")
            continue
        parts = [p for p in (lead_of(rows, t, contracts) for t in threads) if p]
        said = "; ".join(parts) if parts else f"no other is faster, at {threads[0]} to {threads[-1]}"
        text = f"{lead}, speed over {rows[0].base}: {said}."
        starred = unique([r.variant for r in rows if f"{r.variant}*" in text])
        out.append(text + "".join(f" *{v} {contracts[v]}." for v in starred))
    return out
