# SPDX-License-Identifier: MIT
"""A table of the lab with one line per size, compared with libc."""

from __future__ import annotations

import re

from .blocks import Column, Table, cell_of, fmt, fmt_ratio, fmt_share, unique
from .family import Family, comparison
from .rows import Results, Row

COMPARED = (8, 64, 1024, 16384, 1 << 20, 64 << 20)


def size_of(row: Row) -> float:
    """Bytes, from the case's name: the figure may be rounded to six digits."""
    match = re.match(r"(\d+) (B|KiB|MiB|GiB)\b", row.case)
    return int(match[1]) << 10 * ("B", "KiB", "MiB", "GiB").index(match[2]) if match else row.more["size"]


def way_of(case: str) -> str:
    """A case without its size: '64 B cold' -> 'cold'."""
    return re.sub(r"^\S+ \S+\s*", "", case) or "aligned"


def speed_of(row: Row) -> float | None:
    """GB/s: bytes in a nanosecond."""
    return size_of(row) / row.ns if row.ns else None


def size_words(size: float) -> str:
    for power, word in ((20, "M"), (10, "K")):
        if size >= 1 << power:
            return f"{size / (1 << power):.0f} {word}iB"
    return f"{size:.0f} B"


class Sized(Family):
    needs: tuple[str, ...] = ("size",)
    libc: str = ""  # the function with which it is compared

    def measured(self, results: Results) -> list[Table]:
        """A line per size, a column per implementation: GB/s, and the ratio of the times to libc's."""
        rows = results.of(self.name, "ours", "default", "peer", "again")
        variants = unique([r.variant for r in rows])
        out = []

        def cell(row: Row) -> str:
            ratio = "" if results.is_baseline(row) else f" ({fmt_ratio(results, row)})"
            return fmt(speed_of(row)) + ratio

        for way in unique([way_of(r.case) for r in rows]):
            lines = []
            for size in sorted(unique([size_of(r) for r in rows if way_of(r.case) == way])):
                here = {r.variant: r for r in rows if way_of(r.case) == way and size_of(r) == size}
                name = re.sub(r"^(\S+ \S+).*", r"\1", next(iter(here.values())).case)
                noise = [r.spread for r in here.values() if r.spread is not None]
                cells = [name, *(cell_of(here.get(v), cell) for v in variants), fmt_share(max(noise, default=None))]
                lines.append((cells, "fail" if any(r.failed for r in here.values()) else ""))
            columns = [Column("size")]
            columns += [Column(v, "GB/s" if v == rows[0].baseline else "GB/s (ratio)") for v in variants]
            columns.append(Column("largest spread", "% IQR/median"))
            out.append(Table(f"{self.name}, {way}", columns, lines).without_empty())
        return out

    def compared(self, results: Results) -> list[Table]:
        aligned = [r for r in results.compared(self.name) if way_of(r.case) == "aligned"]
        lines = {
            self.names: [r for r in aligned if r.kind == "default"],
            self.libc: [r for r in aligned if r.kind == "peer"],
        }

        def cell(row: Row) -> str:
            ratio = results.ratio(row) if row.kind == "default" else None
            return f"{speed_of(row):.1f}" + (f" ({ratio:.2f})" if ratio else "")

        there = {size_of(r) for r in lines[self.names]}
        sizes = [size for size in COMPARED if size in there]
        return comparison(results, f"{self.name}: GB/s (ratio of times to libc's)", sizes, lines, size_of, size_words, cell)
