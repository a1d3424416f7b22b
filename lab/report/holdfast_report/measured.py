# SPDX-License-Identifier: MIT
"""Tables of measured figures. Each row of the results stands in exactly one of them (R5)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from .blocks import (
    NOTHING,
    Column,
    Table,
    by_speed,
    fmt,
    fmt_fairness,
    fmt_ratio,
    fmt_share,
    fmt_threads,
    fmt_time,
    role,
    row_style,
    unique,
    wait_order,
)
from .rows import Results, Row
from .verdict import fastest


@dataclass(frozen=True)
class Field:
    """A figure that the rows of some table have beside the common ones."""

    key: str  # in the file
    name: str
    unit: str
    show: Callable[[float | None], str]

    @property
    def column(self) -> Column:
        return Column(self.name, self.unit)

    def cell(self, row: Row) -> str:
        return self.show(row.more.get(self.key))


CYCLES = Field("cycles_per_op", "cycles", "per op", fmt)


def ratio_column(rows: list[Row], name: str = "ratio") -> Column:
    bases = unique([r.baseline for r in rows if r.baseline])
    return Column(name, f"x {bases[0]}" if len(bases) == 1 else "x baseline")


def rounds_cell(results: Results, row: Row) -> str:
    """The rounds of the row, where rows differ in it; the reading guide has it where they do not."""
    return NOTHING if results.rounds is not None or row.rounds is None else str(row.rounds)


def check_cell(row: Row) -> str:
    """Whether its count was right; and why it has no figure, or not all of them."""
    if row.valid:
        return f"{row.status}, starved" if row.starved else row.status
    why = row.why or ("starved" if row.starved else "")
    return f"{row.status}: {why}" if why else row.status


def plain_table(results: Results, title: str, rows: list[Row], fields: tuple[Field, ...]) -> Table:
    """One case: a line per variant, the fastest first; a sweep in its own order."""
    fields = (*fields, CYCLES)
    columns = [
        Column("variant", "", False),
        Column("role", "", False),
        ratio_column(rows),
        Column("time", "ns/op"),
        Column("spread", "% IQR/median"),
        Column("fairness", "least/most"),
        *(f.column for f in fields),
        Column("rounds", "count"),
        Column("count check", "", False),
    ]
    out = []
    for r in rows if all(r.kind == "sweep" for r in rows) else by_speed(rows):
        cells = [
            r.variant,
            role(results, r),
            fmt_ratio(results, r),
            fmt_time(r.ns),
            fmt_share(r.spread),
            fmt_fairness(r.fairness),
            *(f.cell(r) for f in fields),
            rounds_cell(results, r),
            check_cell(r),
        ]
        out.append((cells, row_style(results, r)))
    return Table(title, columns, out).without_empty()


def sweep_table(results: Results, title: str, rows: list[Row], fields: tuple[Field, ...]) -> Table:
    locks = unique([r.lock for r in rows])
    best = {lock: fastest([r for r in rows if r.lock == lock]) for lock in locks}
    columns = [
        Column("lock", "", False),
        Column("wait", "", False),
        ratio_column(rows),
        Column("time", "ns/op"),
        Column("spread", "% IQR/median"),
        Column("fairness", "least/most"),
        *(f.column for f in fields),
        Column("rounds", "count"),
        Column("count check", "", False),
        Column("of the lock", "", False),
    ]
    out = []
    waits = wait_order(rows)
    for r in sorted(rows, key=lambda r: (locks.index(r.lock), waits.index(r.wait))):
        cells = [
            r.lock,
            r.wait,
            fmt_ratio(results, r),
            fmt_time(r.ns),
            fmt_share(r.spread),
            fmt_fairness(r.fairness),
            *(f.cell(r) for f in fields),
            rounds_cell(results, r),
            check_cell(r),
            "fastest" if r is best[r.lock] else "",
        ]
        out.append((cells, "fail" if r.failed else ""))
    return Table(title, columns, out).without_empty()


def sweep_tables(results: Results, family) -> list[Table]:
    out = []
    sweeps = results.of(family.name, "sweep")
    for case, threads in unique([(r.case, r.threads) for r in sweeps]):
        here = [r for r in sweeps if (r.case, r.threads) == (case, threads)]
        waits = [r for r in here if r.wait]
        others = [r for r in here if not r.wait]
        where = f"{case}, {fmt_threads(threads)}"
        if waits:
            out.append(sweep_table(results, f"{family.name}, wait sweep, {where}", waits, family.fields))
        if others:
            # Names that differ in a number alone are one implementation with one limit after the other.
            limits = len({re.sub(r"\d+$", "", r.variant) for r in others}) == 1 and others[0].variant[-1:].isdigit()
            kind = "retry limits" if limits else "sweep"
            out.append(plain_table(results, f"{family.name}, {kind}, {where}", others, family.fields))
    return out
