# SPDX-License-Identifier: MIT
"""Figures that aims.py compares with bounds: functions from a place in some results to a Figure."""

from __future__ import annotations

import re
from collections.abc import Callable
from statistics import geometric_mean

from msgspec import Struct

from .noise import noise_of
from .rows import Results, Row


class Figure(Struct):
    value: float | None
    detail: str = ""
    noise: float | None = None  # a smaller miss is none: the figure is level with its bound


class Place(Struct):
    """The rows of one case with one number of threads; of a whole table, if the case is ""."""

    results: Results
    table: str
    case: str
    threads: int
    rows: list[Row]  # without second measurements

    def row(self, variant: str, case: str = "", threads: int = 0) -> Row | None:
        return self.results.find(self.table, case or self.case, threads or self.threads, variant)

    def pick(self, which: str | Callable) -> Row | None:
        """The variant of that name, or the row that a function of aims.py chooses."""
        return self.row(which) if isinstance(which, str) else which(self)

    def gap(self, row: Row | None, field: str) -> float | None:
        """The relative difference between two measurements of a row's figure."""
        again = row and self.row(f"{row.variant} again")
        first, second = (value_of(r, field) for r in (row, again or None))
        return max(first / second, second / first) - 1 if first and second else None


def measured(row: Row | None) -> bool:
    return row is not None and row.valid and row.ns > 0


def value_of(row: Row | None, field: str) -> float | None:
    """A figure of a row, if it has a time and passed its check."""
    if not measured(row):
        return None
    return getattr(row, field) if field in ("ns", "fairness") else row.more.get(field)


def times(row: Row | None, other: Row | None) -> float | None:
    """The row's time over the other's: within the rounds, where the file has that, else of the medians."""
    if not measured(row) or not measured(other):
        return None
    if row.place == other.place:
        if other.variant == row.baseline and row.ratio:
            return row.ratio
        if row.more.get("to_default") == 1 and other.more.get("to_default"):
            return 1 / other.more["to_default"]
        if other.more.get("to_default") == 1 and row.more.get("to_default"):
            return row.more["to_default"]
    return row.ns / other.ns


def fastest(rows: list, key=lambda row: row.ns):
    return min((r for r in rows if measured(r) and key(r) is not None), key=key, default=None)


def time(of: str, beside, **at) -> Callable:
    """The time of ours over that of the other; `at`: the other's case or threads, if they are not ours."""

    def figure(place):
        row, other = place.row(of), place.row(beside, **at) if at else place.pick(beside)
        named = other.variant if other and not isinstance(beside, str) else ""
        return Figure(times(row, other), named, noise_of(row, other) if row and other else None)

    return figure


def speed(of: str, beside, **at) -> Callable:
    """The other's time over that of ours."""
    inverse = time(of, beside, **at)

    def figure(place):
        found = inverse(place)
        return Figure(found.value and 1 / found.value, found.detail, found.noise)

    return figure


def field(of: str, beside, name: str, least: float = 0, most: float = float("inf")) -> Callable:
    """A figure of ours over that of the other; `least`: smaller ones count as that; `most`: a larger one of the other."""

    def figure(place):
        row, other = place.row(of), place.pick(beside)
        ours, theirs = value_of(row, name), value_of(other, name)
        named = other.variant if other and not isinstance(beside, str) else ""
        if ours is None or theirs is None or max(theirs, least) <= 0:
            return Figure(None, named)
        return Figure(max(ours, least) / min(max(theirs, least), most), named, place.gap(row, name))

    return figure


def value(of: str, name: str, per: float = 1) -> Callable:
    def figure(place):
        found = value_of(place.row(of), name)
        return Figure(found if found is None else found / per, "", place.gap(place.row(of), name))

    return figure


def over_cases(cases: str, beside, regret: bool = False) -> Callable:
    """A function that gives (speed of the default beside the other, or its regret, the case, the other) of each case."""

    def pairs(place) -> list:
        found = []
        for row in place.rows:
            if row.variant != "default" or not re.fullmatch(cases, row.case):
                continue
            other = beside(place, row) if callable(beside) else place.row(beside, row.case, row.threads)
            ratio = times(row, other)
            if ratio is not None and (not regret or measured(place.row("libc", row.case, row.threads))):
                found.append((max(1.0, ratio) if regret else 1 / ratio, row.case, other))
        return found

    return pairs


def mean(pairs: Callable, least: bool = False) -> Callable:
    def figure(place):
        found = pairs(place)
        words = f"geometric mean of {len(found)} cases"
        if least:
            words += f"; least in {min(found, key=lambda one: one[0])[1] if found else ''}"
        return Figure(geometric_mean(one[0] for one in found) if found else None, words)

    return figure


def worst(pairs: Callable, regret: bool = False) -> Callable:
    def figure(place):
        found = pairs(place)
        if not found:
            return Figure(None)
        ratio, case, other = (max if regret else min)(found, key=lambda one: one[0])
        return Figure(ratio, f"{case}, where {other.variant} is best" if regret else case)

    return figure
