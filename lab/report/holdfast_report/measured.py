# SPDX-License-Identifier: MIT
"""Tables of measured figures. Each row of the results is in exactly one of them (R4)."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from .blocks import (
    NOTHING, Column, Table, by_speed, fmt, fmt_fairness, fmt_ratio, fmt_share, fmt_threads, role, row_style,
    row_time, table_of, text, unique,
)
from .figures import fastest
from .noise import noise_of
from .rows import Results, Row


class Field(Struct, frozen=True):
    """A figure that only some tables have."""

    key: str  # in the file
    name: str
    unit: str
    show: Callable[[float], str] = fmt
    per: float = 1  # the shown unit, in units of the file

    def cell(self, row: Row) -> str:
        value = row.more.get(self.key)
        return NOTHING if value is None else self.show(value / self.per)


GAP = Field("gap", "gap", "%", fmt_share)


def check_cell(row: Row) -> str:
    """Whether the count was right, and why figures are missing."""
    if row.valid:
        return f"{row.status}, starved" if row.starved else row.status
    why = row.why or ("starved" if row.starved else "")
    return f"{row.status}: {why}" if why else row.status


def columns_of(results: Results, rows: list[Row], fields: tuple[Field, ...]) -> list[tuple]:
    """With a column of rounds if rows differ in them; otherwise the reading guide names the number."""
    many = results.rounds is None
    bases = unique([r.baseline for r in rows if r.baseline])
    return [
        (Column("ratio", f"x {bases[0]}" if len(bases) == 1 else "x baseline"), lambda r: fmt_ratio(results, r)),
        (Column("time", "ns/op"), row_time),
        (Column("spread", "% IQR/median"), lambda r: fmt_share(r.spread)),
        (Column("fairness", "least/most"), lambda r: fmt_fairness(r.fairness)),
        *((Column(f.name, f.unit), f.cell) for f in (*fields, GAP)),
        (Column("rounds", "count"), lambda r: str(r.rounds) if many and r.rounds is not None else NOTHING),
        (text("count check"), check_cell),
    ]


def plain_table(results: Results, title: str, rows: list[Row], fields: tuple[Field, ...]) -> Table:
    """One case, fastest variant first."""
    columns = [(text("variant"), lambda r: r.variant), (text("role"), lambda r: role(results, r))]
    columns += columns_of(results, rows, fields)
    return table_of(title, by_speed(rows), columns, lambda r: row_style(results, r)).without_empty()


def sweep_table(results: Results, title: str, rows: list[Row], fields: tuple[Field, ...]) -> Table:
    """A line per lock and wait policy; marks the fastest of each lock, and those level with it (R2)."""
    locks, waits = unique([r.lock for r in rows]), unique([r.wait for r in rows])
    best = {lock: fastest([r for r in rows if r.lock == lock]) for lock in locks}

    def place(row: Row) -> str:
        winner = best[row.lock]
        if winner is None or not row.valid or row is winner:
            return "fastest" if row is winner else ""
        return "level" if row.ns - winner.ns <= winner.ns * noise_of(row, winner) else ""

    columns = [(text("lock"), lambda r: r.lock), (text("wait"), lambda r: r.wait or NOTHING)]
    columns += [*columns_of(results, rows, fields), (text("of the lock"), place)]
    lines = sorted(rows, key=lambda r: (locks.index(r.lock), waits.index(r.wait)))
    return table_of(title, lines, columns, lambda r: "fail" if r.failed else "").without_empty()


def sweep_tables(results: Results, name: str, fields: tuple[Field, ...]) -> list[Table]:
    sweeps = results.of(name, "sweep")
    out = []
    for case, threads in unique([r.place for r in sweeps]):
        here = [r for r in sweeps if r.place == (case, threads)]
        out.append(sweep_table(results, f"{name}, wait sweep, {case}, {fmt_threads(threads)}", here, fields))
    return out
