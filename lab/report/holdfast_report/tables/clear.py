# SPDX-License-Identifier: MIT
"""Clearing memory, by size, beside memset."""

from __future__ import annotations

from ..blocks import NOTHING, Column, Table, fmt
from ..rows import Published, Results
from ..sized import Sized, speed_of
from ..sources import ratio_to


class Clear(Sized):
    name = "clear"
    order = 140
    about = (
        "hf_clear_nofault beside memset. aligned and misaligned (by 1): one buffer again and again, in the caches as"
        " far as it fits. cold: each operation on memory that was last touched 64 MiB ago. read: the first byte of the"
        " result is read, and the next operation waits for it. The other columns are the implementations"
        " called by themselves; default chooses by size."
    )
    job = "to clear memory that may fault"
    verbs = "hf_clear_nofault"
    libc = "memset"

    def published(self, results: Results, published: list[Published], sources) -> list[Table]:
        rows = [p for p in published if p.table == self.name]
        if not rows:
            return []
        out = []
        for p in rows:
            same = "16 KiB" if p.column.startswith("16 KiB") else None
            mine = results.find(self.name, same, 1, p.row) if same else None
            base = next(b for b in rows if (b.source, b.machine, b.column) == (p.source, p.machine, p.column))
            # A speed or a time: which is better differs, the ratio is of times in both.
            ratio = base.value / p.value if p.unit == "GB/s" else p.value / base.value
            here = f"{fmt(speed_of(mine))} GB/s" if mine and mine.valid else mine.status if mine else "not measured"
            cells = [
                p.machine,
                p.row,
                p.column,
                f"{p.value:g}",
                p.unit,
                fmt(ratio),
                here,
                ratio_to(results, mine, base.row) if mine else NOTHING,
                sources.mark(p.source),
            ]
            out.append((cells, "base" if p is base else ""))
        columns = [
            Column("published machine", "", False),
            Column("implementation", "", False),
            Column("quantity", "", False),
            Column("published"),
            Column("unit", "", False),
            Column("ratio of times", f"published, x {rows[0].row}"),
            Column("here", "clear, 16 KiB, aligned", False),
            Column("ratio here", f"x {rows[0].row}"),
            Column("source", "", False),
        ]
        note = (
            "The published 16 KiB are reads of /dev/zero: a system call and a clear of the user's buffer. Here the"
            " clear alone. The test suite of git is not run here."
        )
        return [Table("clear: published and measured", columns, out, note)]


TABLE = Clear()
