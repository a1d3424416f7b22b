# SPDX-License-Identifier: MIT
"""When two rows differ, and which row is fastest."""

from __future__ import annotations

from .blocks import by_speed
from .rows import Row

LEAST = 0.01  # smaller differences are below the lab's accuracy


def noise_of(a: Row, b: Row) -> float:
    return max(a.spread or 0.0, b.spread or 0.0, a.gap or 0.0, b.gap or 0.0, LEAST)  # R2


def gap(a: Row, b: Row) -> float:
    """The relative difference of two valid measurements above 0."""
    return max(a.ns / b.ns, b.ns / a.ns) - 1


def fastest(rows: list[Row]) -> Row | None:
    good = [r for r in rows if r.valid]  # R1
    return by_speed(good)[0] if good else None
