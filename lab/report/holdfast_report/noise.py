# SPDX-License-Identifier: MIT
"""When two rows differ; two measurements of the same as a range."""

from __future__ import annotations

from .rows import Results, Row

LEAST = 0.01  # smaller differences are below the lab's accuracy
RANGE = 0.1  # two measurements of the same that differ by more are shown as a range


def noise_of(a: Row, b: Row) -> float:
    return max(a.spread or 0.0, b.spread or 0.0, a.gap or 0.0, b.gap or 0.0, LEAST)  # R2


def gap(a: Row, b: Row) -> float:
    """The relative difference of two valid measurements above 0."""
    return max(a.ns / b.ns, b.ns / a.ns) - 1


def range_of(results: Results, row: Row, value) -> list[float]:
    """value(row), or the least and the most of its two measurements if they differ."""
    again = results.find(row.table, row.case, row.threads, f"{row.variant} again")
    least, most = sorted(value(r) for r in (row, again if again and again.valid and again.ns else row))
    return [least, most] if most > least * (1 + RANGE) else [value(row)]
