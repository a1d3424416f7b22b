# SPDX-License-Identifier: MIT
"""The blocks of the page: sections, text, bullets, tables; formatting and sorting of figures."""

from __future__ import annotations

import math

from msgspec import Struct

from .rows import Results, Row

NOTHING = "-"


class Section(Struct):
    title: str
    level: int = 1


class Text(Struct):
    text: str
    style: str = ""  # "", "note" or "fail"


class Bullets(Struct):
    entries: list[tuple[str, str, str]]  # lead, words (one or several lines), style

    @property
    def short(self) -> bool:
        """Whether the entries are names and values."""
        return all(lead and len(lead) <= 14 and not style for lead, _, style in self.entries)


class Column(Struct, frozen=True):
    name: str
    unit: str = ""
    number: bool = True


def text(name: str, unit: str = "") -> Column:
    return Column(name, unit, number=False)


class Table(Struct):
    title: str
    columns: list[Column]
    rows: list[tuple[list[str], str]]  # cells, style: "", base, default, peer, fail
    ratios: list[tuple[list[float], str]] = []  # of the time of ours to that of the best peer, or their range, by column

    def without_empty(self) -> Table:
        """Drop the number columns that are empty in all rows."""
        keep = [
            i
            for i, c in enumerate(self.columns)
            if not c.number or any(cells[i] not in (NOTHING, "") for cells, _ in self.rows)
        ]
        columns = [self.columns[i] for i in keep]
        return Table(self.title, columns, [([c[i] for i in keep], s) for c, s in self.rows])

    def lines(self) -> list[str]:
        """As plain text; long lines are not cut."""
        heads = [[c.name for c in self.columns], [c.unit for c in self.columns]]
        heads = heads if any(heads[1]) else heads[:1]
        widths = [max(map(len, column)) for column in zip(*heads, *(cells for cells, _ in self.rows))]
        lines = [*heads, ["-" * width for width in widths], *(cells for cells, _ in self.rows)]
        sides = [str.rjust if c.number else str.ljust for c in self.columns]
        return [" ".join(side(*cell) for side, *cell in zip(sides, cells, widths)).rstrip() for cells in lines]


def table_of(title: str, things: list, columns: list[tuple], style=lambda thing: "") -> Table:
    """A row for each thing; columns: (heading, function from a thing to its cell)."""
    lines = [([cell(thing) for _, cell in columns], style(thing)) for thing in things]
    return Table(title, [column for column, _ in columns], lines)


def fmt(value: float | None) -> str:
    """Two decimals at most, never an exponent: ratios, counts, cycles."""
    if value is None:
        return NOTHING
    if value >= 1000:
        return f"{value:,.0f}" if value >= 10000 else f"{value:.0f}"
    return f"{value:.1f}" if value >= 100 else f"{value:.2f}"


def fmt_time(value: float | None) -> str:
    """Nanoseconds; below 1 with many threads on their own locks."""
    return f"{value:.3f}" if value is not None and 0 < value < 1 else fmt(value)


def row_time(row: Row) -> str:
    """The time, or both levels with their shares."""
    if not row.levels:
        return fmt_time(row.ns)
    return " or ".join(f"{fmt_time(level.ns_per_op)} ({level.share * 100:.0f} %)" for level in row.levels)


def fmt_share(value: float | None) -> str:
    if value is None:
        return NOTHING
    percent = value * 100
    return f"{percent:.0f}" if percent >= 100 else f"{percent:.1f}"


def fmt_fairness(value: float | None) -> str:
    """Rounded down: 0.949 must not look like 0.95, the limit that it misses."""
    return NOTHING if value is None else f"{math.floor(value * 100 + 1e-9) / 100:.2f}"


def fmt_percent(difference: float) -> str:
    percent = difference * 100
    return f"{percent:+.0f} %" if abs(percent) >= 10 else f"{percent:+.1f} %"


def fmt_threads(threads: int) -> str:
    return f"{threads} thread" + ("" if threads == 1 else "s")


def cell_of(row: Row | None, words) -> str:
    """words(row), or why the row has no figure (R1)."""
    if row is None:
        return NOTHING
    return words(row) if row.valid else row.status


def by_speed(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda r: (not r.valid, r.ns if r.ns is not None else math.inf, r.variant))


def unique(values: list) -> list:
    return list(dict.fromkeys(values))


def row_style(results: Results, row: Row) -> str:
    if row.failed:
        return "fail"
    if row.kind == "default":
        return "default"
    if results.is_baseline(row):
        return "base"
    return "peer" if row.kind == "peer" else ""


def role(results: Results, row: Row) -> str:
    words = row.kind
    if row.kind == "default" and row.implements:
        words = f"default: {row.implements}"
    if row.waiter == "spins":
        words += ", spins"
    if results.is_baseline(row):
        words = "baseline" if row.kind in ("ours", "sweep") else f"{words}, baseline"
    return words


def fmt_ratio(results: Results, row: Row) -> str:
    return "FAILED" if row.failed else fmt(results.ratio(row))


def group_threads(rows: list[Row]) -> list[int]:
    return sorted(unique([r.threads for r in rows]))
