# SPDX-License-Identifier: MIT
"""Published figures beside the measured ones: their sources, and the ratio that compares with theirs."""

from __future__ import annotations

from .blocks import NOTHING, Bullets, fmt
from .rows import Results, Row


class Sources:
    """Numbers the sources, so that tables stay narrow."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def mark(self, source: str) -> str:
        if source not in self.names:
            self.names.append(source)
        return f"[{self.names.index(source) + 1}]"

    def bullets(self) -> Bullets:
        return Bullets([(f"[{n}]", name, "") for n, name in enumerate(self.names, 1)])


def ratio_to(results: Results, row: Row | None, base_variant: str) -> str:
    """The row's ratio to a named variant of the same case, whatever the results' own baseline is."""
    if row is None:
        return "not measured"
    if not row.valid:
        return row.status
    if row.baseline == base_variant:
        return fmt(results.ratio(row))
    base = results.find(row.table, row.case, row.threads, base_variant)
    if base is None or not base.valid or not base.ns:
        return NOTHING
    return fmt(row.ns / base.ns)
