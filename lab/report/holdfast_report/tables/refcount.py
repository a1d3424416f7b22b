# SPDX-License-Identifier: MIT
"""Reference counts."""

from __future__ import annotations

from ..blocks import NOTHING, Column, Table, fmt, ns_cell
from ..family import Comparison, Family
from ..rows import Published, Results
from ..sources import ratio_to

CASE = "inc+dec_and_test"


def played_by(name: str) -> str | None:
    """The variant of Holdfast that plays the part of a published row."""
    if name == "atomic":
        return "unchecked"
    if "asm" in name:
        return "asm"
    if "cmpxchg" in name:
        return "cmpxchg"
    return "saturating" if "saturating" in name else None


class Refcount(Family):
    name = "refcount"
    order = 10
    about = (
        "inc+dec_and_test: take and drop a reference. inc_not_zero+put: take one only if the count is not zero, and"
        " drop it. rcuref does that without a loop, for memory that outlives the count."
    )
    other_contract = {
        "unchecked": "catches no misuse",
        "rcuref": "needs memory that outlives the count",
    }
    job = "to count references"
    simulated = ("refcount", "rcuref")
    verbs = "hf_refcount_*"

    def published(self, results: Results, published: list[Published], sources) -> list[Table]:
        rows = [p for p in published if p.table == "refcount_timing"]
        if not rows:
            return []
        out = []
        for p in rows:
            base = next((b for b in rows if (b.source, b.machine, b.row) == (p.source, p.machine, "atomic")), None)
            variant = played_by(p.row)
            mine = results.find(self.name, CASE, 1, variant) if variant else None
            value = f"{p.value:.2f}" if p.unit == "s" else f"{p.value / 1e9:.1f}"
            cells = [
                p.machine,
                p.row,
                fmt(p.value / base.value) if base else NOTHING,
                variant or NOTHING,
                ratio_to(results, mine, "unchecked"),
                value,
                "s" if p.unit == "s" else "10^9 cycles" if p.unit == "cycles" else p.unit,
                ns_cell(mine),
                sources.mark(p.source),
            ]
            out.append((cells, "base" if p.row == "atomic" else ""))
        columns = [
            Column("published machine", "", False),
            Column("published row", "", False),
            Column("published ratio", "x atomic"),
            Column("here", "same role", False),
            Column("ratio here", "x unchecked"),
            Column("published", "whole run"),
            Column("unit", "", False),
            Column("here", "ns/op"),
            Column("source", "", False),
        ]
        note = (
            "Published: one thread, 2^31-1 increments and then 2^31 dec-and-tests (LKDTM's timing), the whole run."
            f" Here: one thread, case {CASE}, each increment followed by its decrement. The ratios compare; the"
            " absolute figures are of different machines and different loops."
        )
        return [Table("refcount: published and measured", columns, out, note)]

    def compared(self, results: Results) -> list[Comparison]:
        rows = [r for r in results.of(self.name) if r.case == CASE]
        return self.compared_by_threads(results, f"{self.name}: {CASE}, ns (fairness)", rows)


TABLE = Refcount()
