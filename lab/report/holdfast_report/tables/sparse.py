# SPDX-License-Identifier: MIT
"""Reading a file that is one hole."""

from __future__ import annotations

from ..blocks import Column, Table
from ..family import Family
from ..measured import Field
from ..rows import Published, Results


def seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


class Sparse(Family):
    name = "sparse"
    order = 200
    about = (
        "Reading a file of 64 GiB that is one hole, through a buffer: by clearing the buffer, with each implementation,"
        " or by copying a page of zeros into it again and again."
    )
    fields = (Field("s_per_tb", "1 TB", "s", seconds),)

    def published(self, results: Results, published: list[Published], sources) -> list[Table]:
        out = []
        for p in published:
            if p.table != "sparse_read":
                continue
            variant = "copy a zero page" if p.row == "copy of the zero page" else "clear: original"
            here = []
            for mine, name in (
                ((variant, ""), ("clear: default", ", default")) if "clear_user" in p.row else ((variant, ""),)
            ):
                row = results.find(self.name, "16 KiB buffer", 1, mine)
                if row and row.more.get("s_per_tb"):
                    here.append("FAILED" if row.failed else f"{row.more['s_per_tb']:.1f}{name}")
            cells = [p.machine, p.row, p.column, f"{p.value:g}", p.unit, "; ".join(here) or "not measured"]
            out.append(([*cells, sources.mark(p.source)], ""))
        if not out:
            return []
        columns = [
            Column("published machine", "", False),
            Column("way", "", False),
            Column("quantity", "", False),
            Column("published"),
            Column("unit", "", False),
            Column("here", "s for 1 TB, 16 KiB buffer"),
            Column("source", "", False),
        ]
        note = "Published: read() of the kernel's tmpfs. Here: pread of tmpfs/, without a system call."
        return [Table("sparse: published and measured", columns, out, note)]


TABLE = Sparse()
