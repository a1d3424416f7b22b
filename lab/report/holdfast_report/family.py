# SPDX-License-Identifier: MIT
"""Family: a table of the lab; tables.py and sized.py have subclasses."""

from __future__ import annotations

import re

from msgspec import Struct

from .blocks import Column, Table, cell_of, fmt_threads, group_threads, text, unique
from .measured import Field, plain_table, sweep_tables
from .noise import range_of
from .rows import Results, Row


class Family(Struct):
    name: str
    about: str = ""  # explains the cases
    job: str = ""  # what its default is used for
    names: str = ""  # of the default: hf_..._*
    fields: tuple[Field, ...] = ()  # figures that only its rows have
    needs: tuple[str, ...] = ()  # figures that every row must have
    lone: bool = False  # the default is the row of kind "ours" that has this name in `names`
    shared_cases: str = ""  # the cases that docs/results.md shows by threads: a regular expression, and in words:
    shared_words: str = ""

    def case_words(self, case: str, threads: int) -> str:
        return f"{case}, {fmt_threads(threads)}"

    def is_implementation(self, row: Row, name: str | None) -> bool:
        """Whether the row is the implementation of that name, or of one in the list."""
        return row.kind == "ours" and row.variant in (name or "").split(", ")

    def is_default(self, row: Row) -> bool:
        return row.kind == "ours" and row.variant == self.names if self.lone else row.kind == "default"

    def in_order(self, rows: list[Row]) -> list[Row]:
        return rows

    def measured(self, results: Results) -> list[Table]:
        rows = self.in_order(results.of(self.name, "ours", "default", "peer", "again"))
        out = []
        for case in unique([r.case for r in rows]):
            for threads in group_threads([r for r in rows if r.case == case]):
                here = [r for r in rows if r.place == (case, threads)]
                out.append(plain_table(results, f"{self.name}, {self.case_words(case, threads)}", here, self.fields))
        return out + sweep_tables(results, self.name, self.fields)

    def compared(self, results: Results) -> list[Table]:
        """For docs/results.md, a line per variant: with one thread, and with one per CPU on one object."""
        wanted = self.shared_cases.replace("{cpus}", str(results.cpus))
        rows = [r for r in self.shown(results.compared(self.name)) if re.fullmatch(wanted, r.case)]
        defaults = [r for r in rows if r.kind == "default"]
        threads = [t for t in group_threads(rows) if t in (1, results.cpus)]
        lines = by_name([r for r in rows if r.kind != "default"])
        lines |= {r.label: defaults for r in defaults if r.threads == 1}
        title = f"{self.name}: {self.shared_words}, ns (fairness)"
        return comparison(results, title, threads, lines, lambda r: r.threads, fmt_threads)

    def shown(self, rows: list[Row]) -> list[Row]:
        """The rows in docs/results.md."""
        return rows


def by_name(rows: list[Row]) -> dict[str, list[Row]]:
    return {name: [r for r in rows if r.name == name] for name in unique([r.name for r in rows])}


def compared_cell(row: Row, fairness=lambda row: row.fairness) -> str:
    time = " or ".join(f"{level.ns_per_op:.1f}" for level in row.levels) or f"{row.ns:.1f}"
    return time + (f" ({fairness(row):.2f})" if row.threads > 1 and fairness(row) is not None else "")


def comparison(
    results: Results, title: str, keys: list, lines: dict[str, list[Row]], key_of, words=str, cell=compared_cell
) -> list[Table]:
    """A table with a column per key and a line per name."""
    if not keys or not lines:
        return []

    def cells(rows: list[Row]) -> list[str]:
        return [cell_of(next((r for r in rows if key_of(r) == key), None), cell) for key in keys]

    columns = [text(""), *(Column(words(key)) for key in keys)]
    every = [r for rows in lines.values() for r in rows if r.valid and r.ns]
    first = next(iter(lines))  # ours, where nothing chooses a default
    mine = [r for r in every if r.kind == "default"] or [r for r in every if r.name == first and r.kind == "ours"]
    ratios = []
    for row in mine:
        peers = [r for r in every if key_of(r) == key_of(row) and r.kind == "peer" and r.parks]
        if peers and key_of(row) in keys:
            best = min(peers, key=lambda r: r.cost)
            found = range_of(results, row, lambda r, best=best: r.cost / best.cost)
            ratios.append((found, f"{words(key_of(row))}: {best.name}"))
    return [Table(title, columns, [([name, *cells(rows)], "") for name, rows in lines.items()], ratios)]
